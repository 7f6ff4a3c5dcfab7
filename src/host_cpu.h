/* How busy the CPUs of this host are, whoever uses them. */
#ifndef LB_HOST_CPU_H
#define LB_HOST_CPU_H

#include <sched.h>
#include <stdint.h>
#include <stdio.h>

/* Of some CPUs together since the host began, in the kernel's ticks (of 10 ms, mostly). */
struct lb_host_cpu {
	uint64_t busy, all;
};

/*
 * Reads the lines of STAT (/proc/stat, proc(5)) that are about CPUS; waiting for I/O is not busy.
 * Returns 0, or -ENOENT when one of CPUS is not told of, as in a container that numbers them anew.
 */
int lb_host_cpu_parse(FILE *stat, const cpu_set_t *cpus, struct lb_host_cpu *out);

/* The same of /proc/stat itself; CPUS empty: all that this process may use. */
int lb_host_cpu_read(const cpu_set_t *cpus, struct lb_host_cpu *out);

#endif
