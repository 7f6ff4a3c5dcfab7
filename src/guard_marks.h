/* Marks that libblkid does not look for, or not where they are: Oracle ASM's, LVM's names. */
#ifndef LB_GUARD_MARKS_H
#define LB_GUARD_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lun.h"

/* Reads with O_DIRECT, at any offset. */
struct lb_guard_reader {
	int fd;
	uint32_t align; /* bytes, a power of two */
	size_t room;
	unsigned char *buf;
};

/* For reads of FD, a LUN's, of at most ROOM bytes. 0 or -ENOMEM. */
int lb_guard_reader_init(struct lb_guard_reader *r, int fd, const struct lb_lun *lun, size_t room);
void lb_guard_reader_done(struct lb_guard_reader *r);

/* N bytes at AT into the reader's own buffer, where DATA points, until the next read. 0 or -errno;
 * -EIO when there are fewer. */
int lb_guard_read(struct lb_guard_reader *r, uint64_t at, size_t n, unsigned char **data);

/*
 * Whether the SIZE bytes at START are an Oracle ASM disk: ORCLDISK at byte 32 of its header, or of
 * the header's copy, 8192 bytes before the end of the second allocation unit of 1 to 64 MB. 1: TEXT
 * says which; 0: no; -errno.
 */
int lb_guard_asm(struct lb_guard_reader *r, uint64_t start, uint64_t size, char *text, size_t n);

/* The volume group of the LVM2 physical volume there. False: it is not told. */
bool lb_guard_volume_group(
	struct lb_guard_reader *r, uint64_t start, uint64_t size, char *vg, size_t n);

#endif
