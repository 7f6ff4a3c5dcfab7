/*
 * The write interlock: whether a LUN may be written to, and why not. A guard that cannot read or
 * decide refuses.
 *
 * Refused, and nothing overrides it: what is in use. It is mounted (in any mount namespace),
 * swapped on, claimed by another device, open in another process, exported, or read-only; itself, a
 * partition of it, what lies on it, or a loop device's own storage.
 * Refused unless --overwrite names the LUN: anything that libblkid knows, on it or its partitions;
 * Oracle ASM, also by the copy of its header; data that is neither zeros nor lunbench's own; what
 * cannot be read.
 */
#ifndef LB_GUARD_H
#define LB_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#include "lun.h"

struct lb_verdict {
	bool may_write;
	bool can_override; /* refused, but --overwrite would do */
	char what[512]; /* what is on it and who uses it: `ext4 file system "data", mounted on /u01`
			 */
	char say[256];  /* what to do or to say if it is meant; "": nothing helps */
};

/*
 * Judges each of the N LUNS that is open (fd >= 0) and not refused or passed over; VERDICTS[i] is
 * LUNS[i]'s. OVERWRITE are the IDs of --overwrite. Opens nothing for writing, changes nothing, and
 * no udev takes notice. Returns how many may not be written to. Reads from the LUNs, so it may hang
 * where one does.
 */
size_t lb_guard_examine(const struct lb_lun *luns, size_t n, const char *const *overwrite,
	size_t n_overwrite, struct lb_verdict *verdicts);

struct lb_use;

/*
 * The verdict on one LUN that is open and whose USE is known (lb_guard_use()), without any
 * --overwrite. May hang, too.
 */
void lb_guard_look(const struct lb_lun *lun, const struct lb_use *use, struct lb_verdict *verdict);

/*
 * lb_guard_examine() before a write. When none is refused, each LUN is opened
 * O_RDWR|O_EXCL|O_DIRECT and all are judged once more while so held. If all is well that descriptor
 * takes the place of LUN's fd, to be used by all workers and held to the end (the one for reading
 * is closed, and what was locked through it is lost). Otherwise all LUNs keep the one they have.
 * Scratch LUNs are opened too. Returns how many LUNs are refused: 0, or none may be written to.
 */
size_t lb_guard_open(struct lb_lun *luns, size_t n, const char *const *overwrite,
	size_t n_overwrite, struct lb_verdict *verdicts);

/* Whether ID, of --overwrite, names one of LUNS: if not, it is a usage error. */
bool lb_guard_names_any(const struct lb_lun *luns, size_t n, const char *id);

/*
 * Settles the fate of each LUN that its verdict refuses: LB_ST_USAGE, and why, in one line for
 * each. SUMMARY becomes one sentence over all: nothing was written, and what can be done.
 */
void lb_guard_refuse(
	struct lb_lun *luns, size_t n, const struct lb_verdict *verdicts, char summary[512]);

#endif
