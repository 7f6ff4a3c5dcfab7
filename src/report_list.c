/* lunbench list: as a table, and as the document of schema/lunbench-list-1.schema.json. */
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "json_out.h"
#include "list.h"
#include "table.h"
#include "units.h"

static void add_printable(struct lb_table *t, const char *s)
{
	char shown[1024];

	lb_table_add(t, "%s", lb_printable(shown, sizeof(shown), s));
}

/* "3PARdata VV"; of a map that is no disk what it is made by; else what kind of device. */
static void add_what(struct lb_table *t, const struct lb_lun *lun)
{
	char text[192];

	if (lun->kind == LB_LUN_FILE)
		snprintf(text, sizeof(text), "file");
	else if (lun->dm_name[0] && strcmp(lun->dm_type, "mpath"))
		snprintf(text, sizeof(text), "%s map",
			lun->dm_type[0] ? lun->dm_type : "device-mapper");
	else
		snprintf(text, sizeof(text), "%s%s%s", lun->vendor,
			lun->vendor[0] && lun->model[0] ? " " : "", lun->model);
	add_printable(t, text);
}

static void add_blocks(struct lb_table *t, const struct lb_lun *lun)
{
	if (!lun->logical_block)
		lb_table_add(t, "%s", "");
	else if (lun->physical_block == lun->logical_block)
		lb_table_add(t, "%u", lun->logical_block);
	else
		lb_table_add(t, "%u/%u", lun->logical_block, lun->physical_block);
}

/* Who uses it; a suspended map comes first, since everything would hang on it. */
static void add_use(struct lb_table *t, const struct lb_list_row *row)
{
	const struct lb_lun *lun = &row->lun;
	char text[1024], *end = text, *last = text + sizeof(text);

	text[0] = '\0';
	if (row->suspended[0])
		end += snprintf(end, (size_t)(last - end), "%s is SUSPENDED", row->suspended);
	if (lun->read_only == 1)
		end += snprintf(end, (size_t)(last - end), "%sread-only", end > text ? "; " : "");
	if (lun->in_use[0])
		snprintf(end, (size_t)(last - end), "%s%s", end > text ? "; " : "", lun->in_use);
	else if (lun->held_by.n)
		snprintf(end, (size_t)(last - end), "%s%s, unused", end > text ? "; " : "",
			lun->held_by.name[0]);
	add_printable(t, text);
}

static uint32_t shown_paths(const struct lb_lun *lun)
{
	return lun->n_paths < LB_PATHS_MAX ? lun->n_paths : LB_PATHS_MAX;
}

/* Its states as multipath -ll has them: "failed running" is one that only device-mapper gave up. */
static void add_path(struct lb_table *t, const struct lb_path *path)
{
	char text[64];

	lb_table_add(t, "  %s", path->name);
	add_printable(t, path->controller[0] ? path->controller : path->hctl);
	lb_table_add(t, "%s", "");
	add_printable(t, path->transport);
	lb_table_add(t, "%s", "");
	lb_table_add(t, "%s", "");
	snprintf(text, sizeof(text), "%s%s%s", path->dm_state,
		path->dm_state[0] && path->state[0] ? " " : "", path->state);
	add_printable(t, text);
	lb_table_add(t, "%s", "");
	if (path->queue_depth >= 0)
		lb_table_add(t, "queue depth %" PRIi64, path->queue_depth);
	else
		add_printable(t, path->address);
}

/* by enum lb_write */
static const char *const write_words[] = {"unknown", "allowed", "refused", "no answer"};

static void add_row(struct lb_table *t, const struct lb_list_row *row)
{
	const struct lb_lun *lun = &row->lun;
	char size[32];

	add_printable(t, lun->name);
	add_printable(t, lun->kernel_name);
	lb_table_add(t, "%s", lb_format_about_size(size, sizeof(size), lun->size_bytes));
	add_what(t, lun);
	add_printable(t, lun->wwid);
	add_blocks(t, lun);
	if (strcmp(lun->dm_type, "mpath") && !lun->n_paths)
		lb_table_add(t, "%s", "");
	else
		lb_table_add(t, "%u of %u", lun->n_paths_up, lun->n_paths);
	lb_table_add(t, "%s", write_words[row->write]);
	add_use(t, row);
	for (uint32_t i = 0; i < shown_paths(lun); i++)
		add_path(t, &lun->paths[i]);
}

/* Why, in a line of its own: it is as long as it must be. *LAST: the unknown of the last note. */
static void put_note(FILE *out, const struct lb_list_row *row, const char **last)
{
	const struct lb_verdict *v = &row->verdict;
	char shown[1024];

	lb_printable(shown, sizeof(shown), v->what);
	if (row->write == LB_WRITE_REFUSED) {
		fprintf(out, "    write refused: %s%s%s\n", shown,
			!v->say[0]        ? ""
			: v->can_override ? "; if all of it may be lost: "
					  : "; first: ",
			v->say);
	} else if (row->write == LB_WRITE_UNKNOWN && v->what[0] &&
		   (!*last || strcmp(*last, v->what) != 0)) {
		fprintf(out, "    write unknown: %s\n", shown);
		*last = v->what;
	}
}

/* TABLE, as text, with a note after each LUN that has one. */
static void put_with_notes(FILE *out, const struct lb_list *list, const char *table)
{
	const char *last = NULL;

	for (size_t i = 0; i <= list->n; i++) {
		const struct lb_list_row *row = i ? &list->rows[i - 1] : NULL;

		if (row && row->lun.fate != LB_FATE_USED)
			continue;
		for (uint32_t lines = row ? 1 + shown_paths(&row->lun) : 1; lines; lines--) {
			size_t len = strcspn(table, "\n") + 1;

			fwrite(table, 1, len, out);
			table += len;
		}
		if (row)
			put_note(out, row, &last);
	}
}

static int print(FILE *out, const struct lb_list *list, const struct lb_table *t)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	int rc = f ? lb_table_print(t, f) : -ENOMEM;

	if (f && fclose(f))
		rc = -ENOMEM;
	if (!rc)
		put_with_notes(out, list, text);
	free(text);
	return rc;
}

int lb_report_list(FILE *out, const struct lb_list *list)
{
	static const char *const head[] = {
		"LUN", "kernel", "size", "what", "WWID", "block", "paths", "write", "in use"};
	struct lb_table t = {.align = "llrllrlll"};
	bool any = false;
	int rc = 0;

	for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
		lb_table_add(&t, "%s", head[i]);
	for (size_t i = 0; i < list->n; i++) {
		if (list->rows[i].lun.fate != LB_FATE_USED)
			continue;
		add_row(&t, &list->rows[i]);
		any = true;
	}
	if (any)
		rc = print(out, list, &t);
	else if (!list->is_of_targets)
		fputs("no LUNs here\n", out);
	lb_table_done(&t);
	return rc ? rc : ferror(out) ? -EIO : 0;
}

static void put_write(struct lb_json *j, const struct lb_list_row *row)
{
	const bool is_known = row->write == LB_WRITE_ALLOWED || row->write == LB_WRITE_REFUSED;

	lb_json_bool_if(j, "write_refused", is_known, row->write == LB_WRITE_REFUSED);
	lb_json_text(j, "write_refused_because",
		row->write == LB_WRITE_ALLOWED ? "" : row->verdict.what);
	lb_json_bool_if(
		j, "write_override", row->write == LB_WRITE_REFUSED, row->verdict.can_override);
}

int lb_report_list_json(FILE *out, const struct lb_list *list)
{
	struct lb_json j = {.out = out};

	lb_json_open(&j, NULL, '{');
	lb_json_str(&j, "schema", "lunbench-list/1");
	lb_json_str(&j, "version", LB_VERSION);
	lb_json_i64(&j, "status", list->status);
	lb_json_text(&j, "host", list->host);
	lb_json_text(&j, "kernel", list->kernel);
	lb_json_open(&j, "targets", '[');
	for (size_t i = 0; list->is_of_targets && i < list->n; i++)
		lb_report_target(&j, &list->rows[i].lun);
	lb_json_close(&j, ']');
	lb_json_open(&j, "luns", '[');
	for (size_t i = 0; i < list->n; i++) {
		const struct lb_list_row *row = &list->rows[i];

		if (row->lun.fate != LB_FATE_USED)
			continue;
		lb_json_open(&j, NULL, '{');
		lb_report_lun(&j, &row->lun);
		lb_json_text(&j, "in_use", row->lun.in_use);
		lb_json_text(&j, "path_of", row->lun.map);
		lb_json_text(&j, "suspended", row->suspended);
		put_write(&j, row);
		lb_json_close(&j, '}');
	}
	lb_json_close(&j, ']');
	lb_json_close(&j, '}');
	return ferror(out) ? -EIO : 0;
}
