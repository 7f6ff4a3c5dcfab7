/* What a result must never be written over. */
#ifndef LB_OUTPUT_CHECK_H
#define LB_OUTPUT_CHECK_H

#include <sys/stat.h>

#include "config.h"
#include "err.h"

/*
 * PATH, of which ST tells, is in use as something else: a block device, a target of CFG (NULL: not
 * known), its --targets file, swap, or the file behind a loop device. Returns 0, or negative with
 * ERR (LB_ST_USAGE), which names OPTION: a forgotten file name must not eat a LUN. Opens no device.
 */
int lb_output_check_use(const char *option, const char *path, const struct stat *st,
	const struct lb_config *cfg, struct lb_err *err);

/*
 * FD, of PATH, a regular file that is open for reading, holds something that is no result of
 * lunbench. An empty file will do. Returns as above.
 */
int lb_output_check_content(const char *option, const char *path, int fd, struct lb_err *err);

#endif
