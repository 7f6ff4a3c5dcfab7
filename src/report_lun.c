/* What a LUN is, as the rows of every document have it. */
#include "report.h"

#include "json_out.h"

/* Of what sysfs tells: negative is unknown. */
static void put_known(struct lb_json *j, const char *key, int64_t v)
{
	if (v < 0)
		lb_json_null(j, key);
	else
		lb_json_i64(j, key, v);
}

static void put_known_bool(struct lb_json *j, const char *key, int64_t v)
{
	if (v < 0)
		lb_json_null(j, key);
	else
		lb_json_bool(j, key, v);
}

static void put_names(struct lb_json *j, const char *key, const struct lb_names *names)
{
	lb_json_open(j, key, '[');
	for (uint32_t i = 0; i < names->n && i < LB_NAMES_MAX; i++)
		lb_json_str(j, NULL, names->name[i]);
	lb_json_close(j, ']');
}

static void put_paths(struct lb_json *j, const struct lb_lun *lun)
{
	lb_json_open(j, "paths", '[');
	for (uint32_t i = 0; i < lun->n_paths && i < LB_PATHS_MAX; i++) {
		const struct lb_path *path = &lun->paths[i];

		lb_json_open(j, NULL, '{');
		lb_json_str(j, "name", path->name);
		lb_json_text(j, "hctl", path->hctl);
		lb_json_text(j, "state", path->state);
		lb_json_text(j, "dm_state", path->dm_state);
		put_known(j, "queue_depth", path->queue_depth);
		lb_json_text(j, "controller", path->controller);
		lb_json_text(j, "transport", path->transport);
		lb_json_text(j, "address", path->address);
		lb_json_close(j, '}');
	}
	lb_json_close(j, ']');
}

void lb_report_lun(struct lb_json *j, const struct lb_lun *lun)
{
	static const char *const kinds[] = {"block", "file", "scratch"};

	lb_json_str(j, "name", lun->name);
	lb_json_str(j, "kind", kinds[lun->kind]);
	lb_json_text(j, "kernel_name", lun->kernel_name);
	lb_json_text(j, "wwid", lun->wwid);
	lb_json_text(j, "vendor", lun->vendor);
	lb_json_text(j, "product", lun->model);
	lb_json_text(j, "revision", lun->revision);
	lb_json_text(j, "serial", lun->serial);
	lb_json_text(j, "dm_name", lun->dm_name);
	lb_json_text(j, "dm_uuid", lun->dm_uuid);
	lb_json_text(j, "dm_type", lun->dm_type);
	lb_json_u64(j, "size_bytes", lun->size_bytes);
	put_known(j, "logical_block_bytes", (int64_t)lun->logical_block - !lun->logical_block);
	put_known(j, "physical_block_bytes", (int64_t)lun->physical_block - !lun->physical_block);
	put_known(j, "optimal_io_bytes", lun->optimal_io_bytes);
	lb_json_text(j, "scheduler", lun->scheduler);
	put_known(j, "queue_depth", lun->queue_depth);
	put_known(j, "nr_requests", lun->nr_requests);
	put_known(j, "max_io_bytes", lun->max_io_bytes);
	put_known_bool(j, "rotational", lun->rotational);
	lb_json_text(j, "write_cache", lun->write_cache);
	put_known_bool(j, "read_only", lun->read_only);
	put_paths(j, lun);
	put_names(j, "held_by", &lun->held_by);
	put_names(j, "lies_on", &lun->lies_on);
}

void lb_report_target(struct lb_json *j, const struct lb_lun *lun)
{
	static const char *const fates[] = {"unknown", "fit", "passed_over", "refused"};
	bool is_refused = lun->fate == LB_FATE_REFUSED;

	lb_json_open(j, NULL, '{');
	lb_json_str(j, "name", lun->name);
	lb_json_str(j, "fate", fates[lun->fate]);
	put_known(j, "status", is_refused ? (int)lun->refusal : -1);
	lb_json_text(j, "why", is_refused || lun->fate == LB_FATE_PASSED_OVER ? lun->why : "");
	lb_json_close(j, '}');
}
