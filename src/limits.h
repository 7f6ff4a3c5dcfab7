/* The limits of this host that a run may meet, and how much of each is used up. */
#ifndef LB_LIMITS_H
#define LB_LIMITS_H

#include <stdint.h>

#define LB_UNLIMITED UINT64_MAX /* or not known: then the kernel will say so itself */

struct lb_limit {
	uint64_t max, used; /* used by all who share it */
};

struct lb_limits {
	struct lb_limit aio;          /* fs.aio-max-nr, fs.aio-nr: slots */
	struct lb_limit files;        /* RLIMIT_NOFILE, the hard one; open in this process */
	struct lb_limit locked;       /* RLIMIT_MEMLOCK in bytes; unlimited for who may lock all */
	struct lb_limit user_tasks;   /* RLIMIT_NPROC of this user; unlimited for root */
	struct lb_limit pids;         /* kernel.pid_max; tasks of the host */
	struct lb_limit tasks;        /* kernel.threads-max; the same */
	struct lb_limit group_tasks;  /* of the pids cgroup that leaves least */
	struct lb_limit maps;         /* vm.max_map_count; of this process */
	struct lb_limit memory;       /* bytes of the host that are not to be had */
	struct lb_limit group_memory; /* of the memory cgroup that leaves least, without file cache
				       */
	char group_tasks_path[192], group_memory_path[192]; /* below the mount point */
};

/*
 * Fills L for the calling process. /proc and cgroup mounts are looked for below ROOT ("": this
 * host's; a test's own else). Never fails: what is not told is LB_UNLIMITED.
 */
void lb_limits_gather(struct lb_limits *l, const char *root);

#endif
