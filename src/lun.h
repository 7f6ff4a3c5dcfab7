/* The LUNs: open, geometry, what sysfs tells of them, and which of the targets given are fit. */
#ifndef LB_LUN_H
#define LB_LUN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "config.h"
#include "err.h"

enum lb_lun_kind { LB_LUN_BLOCK, LB_LUN_FILE, LB_LUN_SCRATCH };

/* What became of a target. */
enum lb_lun_fate { LB_FATE_PENDING, LB_FATE_USED, LB_FATE_PASSED_OVER, LB_FATE_REFUSED };

#define LB_LUN_UNKNOWN (-1) /* of the int64_t fields: sysfs does not tell */

#define LB_PATHS_MAX 32 /* that are kept; more are counted */
#define LB_NAMES_MAX 16

/* One way to a LUN. Empty: unknown, or there is no such thing for its kind. */
struct lb_path {
	char name[32];       /* its kernel name */
	char hctl[24];       /* SCSI: host:channel:target:lun */
	char state[24];      /* of the device: "running", "offline", NVMe's "live" */
	char dm_state[8];    /* of the path in a multipath map: "active", "failed" */
	char controller[16]; /* NVMe: "nvme0" */
	char transport[16];  /* of that: "tcp", "rdma", "fc", "pcie", "loop" */
	char address[160];   /* as its transport has it: "traddr=10.0.0.5,trsvcid=4420" */
	int64_t queue_depth; /* -1 unknown */
};

/* Names of what stands in some relation to a LUN: N of them, the first LB_NAMES_MAX kept. */
struct lb_names {
	uint32_t n;
	char name[LB_NAMES_MAX][128];
};

/*
 * A target and, once opened, the LUN. It lies in memory that both processes see at one address: no
 * pointers but `name`, to what was there before they parted. Empty strings: unknown.
 */
struct lb_lun {
	const char *name;      /* as typed; or scratch_name */
	char scratch_name[24]; /* "scratch0"... */
	enum lb_lun_kind kind;
	enum lb_lun_fate fate;
	enum lb_status refusal; /* LB_ST_USAGE or LB_ST_UNAVAILABLE when refused */
	char why[512];          /* refused or passed over: one sentence, no newline */

	int fd;               /* the child's; -1: not open */
	dev_t dev;            /* st_rdev of a block device, else st_dev */
	ino_t ino;            /* of a file */
	char kernel_name[64]; /* sda, dm-3; of a file: "" */
	uint64_t size_bytes;
	uint32_t logical_block, physical_block; /* bytes; of a file: what O_DIRECT needs, twice */
	char vendor[64], model[64], revision[32], serial[128];
	char scheduler[32];
	int64_t queue_depth;  /* the device's own; -1 unknown */
	int64_t nr_requests;  /* of the block layer's queue; -1 unknown */
	int64_t max_io_bytes; /* larger I/O is split by the kernel; -1 unknown */
	int64_t rotational;   /* 1, 0; -1 unknown */
	bool has_nowait;      /* false: io_uring must hand each I/O to kernel threads */
	/* identity; by sysfs, and the type of maps by an ioctl */
	char wwid[256];           /* canonical, see identity.h; a part of a LUN has none */
	char dm_name[128];        /* alias of a device-mapper map; else "" */
	char dm_uuid[136];        /* as the kernel keeps it, DM_UUID_LEN */
	char dm_type[16];         /* "mpath", "lvm", "part", "crypt", or the first target's */
	char write_cache[16];     /* "write back", "write through" */
	int64_t optimal_io_bytes; /* -1 unknown */
	int64_t read_only;        /* 1, 0; -1 unknown */
	char map[128];            /* alias of the multipath map that it is a path of */
	bool is_host_cached;      /* is, or lies on, a loop device without direct I/O */
	bool is_partition;        /* of a disk; a map of a partition has dm_type "part" */
	bool wwid_not_unique;     /* a target of another size has the same one */
	uint32_t n_paths;    /* of a map, or native NVMe's; the first LB_PATHS_MAX in `paths` */
	uint32_t n_paths_up; /* by lb_path_is_up() */
	struct lb_path paths[LB_PATHS_MAX];
	struct lb_names held_by; /* maps and arrays on it or its partitions, mounts, swap */
	struct lb_names lies_on; /* all below it, through slaves/; a partition's disk */
	char in_use[320]; /* "mounted on /u01", "swap", "held by vg-lv"; "" not that we know */
	/* the part of it that is used */
	uint64_t region_start, region_end; /* bytes; end - start is a multiple of the xfer size */
};

/*
 * Names the targets of CFG, none opened yet: LUNS[cfg->n_targets + cfg->scratch.count], the scratch
 * ones last. Called before the processes part, so that both can read them.
 */
void lb_luns_init(struct lb_lun *luns, const struct lb_config *cfg);

/*
 * Opens every target of CFG (LUNS: of lb_luns_init()), O_RDONLY|O_DIRECT, and settles each one's
 * fate: all of them, so that every unfit one is named. Nothing is created but scratch files, which
 * are unlinked as soon as they are open and filled with incompressible data; they stay pending
 * while another target is refused. *AT is set to the index being worked on (the other process
 * watches it: an open may hang) and *FILLED_BYTES grows as scratch is filled. Returns 0, also when
 * there are refusals; negative with ERR when no single LUN is at fault (open files, scratch), and
 * then there may be refusals too.
 */
int lb_luns_open(struct lb_lun *luns, const struct lb_config *cfg, _Atomic uint32_t *at,
	_Atomic uint64_t *filled_bytes, struct lb_err *err);

/* Its fate is settled: refused, with STATUS and a sentence. */
void lb_lun_refuse(struct lb_lun *lun, enum lb_status status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * What LUN's name stands for: kind, dev, ino, and the size of a file. Returns a descriptor that
 * only names it (O_PATH), which the caller closes; nothing is opened, so nothing hangs. Negative:
 * its fate is settled, it is no LUN.
 */
int lb_lun_look(struct lb_lun *lun);

/*
 * Opens what LUN's name stands for, O_RDONLY|O_DIRECT, into its fd, and measures it: size and
 * blocks. May hang where the device does. False: its fate is settled; then fd may be open all the
 * same.
 */
bool lb_lun_open(struct lb_lun *lun);

void lb_luns_close(struct lb_lun *luns, size_t n);

/* sectors and requests done by the kernel's count, /sys/dev/block/M:m/stat. -ENOENT for files. */
struct lb_kernel_stat {
	uint64_t read_ios, read_sectors, write_ios, write_sectors;
};
int lb_lun_kernel_stat(const struct lb_lun *lun, struct lb_kernel_stat *out);

#endif
