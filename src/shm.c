#include "shm.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

int lb_shm_create(struct lb_shm *shm, size_t size, struct lb_err *err)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return lb_fail(err, LB_ST_UNAVAILABLE, errno,
			"cannot map %zu MiB of address space for the figures: %s (ulimit -v, "
			"vm.overcommit_memory)",
			size >> 20, strerror(errno));
	*shm = (struct lb_shm){.base = p, .size = size};
	return 0;
}

void *lb_shm_alloc(struct lb_shm *shm, size_t n, size_t size, size_t align)
{
	size_t at = (shm->used + align - 1) & ~(align - 1), bytes;

	if (__builtin_mul_overflow(n, size, &bytes) || at > shm->size || bytes > shm->size - at)
		return NULL;
	shm->used = at + bytes;
	return shm->base + at;
}

void lb_shm_done(struct lb_shm *shm)
{
	if (shm && shm->base)
		munmap(shm->base, shm->size);
}
