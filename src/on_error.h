/* What becomes of a LUN whose I/O fails: --on-error, --max-errors, and devices that are gone. */
#ifndef LB_ON_ERROR_H
#define LB_ON_ERROR_H

#include "worker.h"

/* IO has failed at T, before or in the window: gives its LUN up, or ends the run, if that is due.
 */
void lb_on_error(struct lb_worker *w, const struct lb_io *io, uint64_t t);

#endif
