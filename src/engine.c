#include "engine.h"

#include <string.h>

const struct lb_engine_ops *const lb_engines[] = {
	&lb_engine_io_uring, &lb_engine_libaio, &lb_engine_sync, &lb_engine_null, NULL};

const struct lb_engine_ops *lb_engine_by_name(const char *name)
{
	for (const struct lb_engine_ops *const *e = lb_engines; *e; e++)
		if (strcmp((*e)->name, name) == 0)
			return *e;
	return NULL;
}
