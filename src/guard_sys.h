/* What the write interlock asks sysfs of a device, by its number. No I/O reaches the device. */
#ifndef LB_GUARD_SYS_H
#define LB_GUARD_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Called with each device found and its name; false ends the walk. */
typedef bool lb_guard_each(void *arg, dev_t dev, const char *name);

/* Whether sysfs knows DEV at all. */
bool lb_guard_sys_knows(dev_t dev);

/* A line of the file ATTR in DEV's directory, without its end; false, and "" in BUF: none. */
bool lb_guard_sys_text(dev_t dev, const char *attr, char *buf, size_t n);

/* The same as a number; false: none. */
bool lb_guard_sys_number(dev_t dev, const char *attr, uint64_t *v);

/* The disk of which DEV is a partition; 0: it is none. */
dev_t lb_guard_sys_disk(dev_t dev);

/* Each device in DEV's directory SUB ("holders", "slaves"). -errno when it cannot be read; a
 * device that never has one is no error. */
int lb_guard_sys_links(dev_t dev, const char *sub, lb_guard_each *each, void *arg);

/* Each partition that the kernel has of DEV. */
int lb_guard_sys_partitions(dev_t dev, lb_guard_each *each, void *arg);

/* DEV as people know it: the alias of a map, else the kernel's name. Returns BUF. */
char *lb_guard_sys_name(dev_t dev, char *buf, size_t n);

#endif
