/* The one clock that I/O is timed on: monotonic, in nanoseconds. */
#ifndef LB_CLOCK_H
#define LB_CLOCK_H

#include <stdint.h>
#include <time.h>

#define LB_NSEC_PER_SEC  1000000000ull
#define LB_NSEC_PER_MSEC 1000000ull
#define LB_NSEC_PER_USEC 1000ull
#define LB_NEVER         UINT64_MAX /* a time that does not come */

static inline uint64_t lb_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * LB_NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

static inline double lb_seconds(uint64_t ns)
{
	return (double)ns / (double)LB_NSEC_PER_SEC;
}

/* From FROM_NS to NS; negative when that is earlier. */
static inline double lb_seconds_since(uint64_t from_ns, uint64_t ns)
{
	return ns >= from_ns ? lb_seconds(ns - from_ns) : -lb_seconds(from_ns - ns);
}

#endif
