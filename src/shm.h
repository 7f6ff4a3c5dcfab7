/* Memory that the two processes share, at the same addresses; made before they part. */
#ifndef LB_SHM_H
#define LB_SHM_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

/* Takes address space only: pages cost memory when they are first written. */
struct lb_shm {
	char *base;
	size_t size, used;
};

int lb_shm_create(struct lb_shm *shm, size_t size, struct lb_err *err);

/* N zeroed objects of SIZE bytes, aligned to ALIGN (a power of two); NULL when it is used up. */
void *lb_shm_alloc(struct lb_shm *shm, size_t n, size_t size, size_t align);

void lb_shm_done(struct lb_shm *shm);

#endif
