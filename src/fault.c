#include "fault.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The counters of another process: each is read once, whole. */
#define READ(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

static bool is_of(const struct lb_fault *row, uint8_t op, int32_t res)
{
	return row->op == op && (row->res == res || (row->res >= 0 && res >= 0));
}

/* The row for that; a new one is not counted yet. */
static struct lb_fault *find(struct lb_faults *f, uint8_t op, int32_t res)
{
	uint32_t n = atomic_load_explicit(&f->n, memory_order_relaxed);

	for (uint32_t i = 0; i < n; i++)
		if (is_of(&f->row[i], op, res))
			return &f->row[i];
	return n < LB_FAULT_ROWS ? &f->row[n] : &f->rest[op];
}

/* ROW, if it was new, is there for others now. */
static void show(struct lb_faults *f, const struct lb_fault *row)
{
	uint32_t n = atomic_load_explicit(&f->n, memory_order_relaxed);

	if (n < LB_FAULT_ROWS && row == &f->row[n])
		atomic_store_explicit(&f->n, n + 1, memory_order_release);
}

static void begin(struct lb_faults *f, struct lb_fault *row, uint8_t op, int32_t res)
{
	row->op = op;
	row->res = res;
	row->is_rest = row == &f->rest[op];
}

void lb_fault_note(
	struct lb_faults *f, uint8_t op, int32_t res, struct lb_fault_at at, bool in_window)
{
	struct lb_fault *row = find(f, op, res);

	if (!row->n) {
		begin(f, row, op, res);
		row->first = at;
	}
	row->last = at;
	row->n++;
	row->n_outside += !in_window;
	show(f, row);
}

static void add_row(struct lb_faults *into, const struct lb_fault *from)
{
	struct lb_fault *row =
		from->is_rest ? &into->rest[from->op] : find(into, from->op, from->res);
	uint64_t n = READ(from->n);

	if (!n)
		return;
	if (!row->n || from->first.ns < row->first.ns) {
		begin(into, row, from->op, from->res);
		row->first = from->first;
	}
	if (!row->n || from->last.ns > row->last.ns)
		row->last = from->last;
	row->n += n;
	row->n_outside += READ(from->n_outside);
	show(into, row);
}

void lb_faults_add(struct lb_faults *into, const struct lb_faults *from, uint8_t op)
{
	const struct lb_fault *row;

	for (uint32_t i = 0; (row = lb_faults_row(from, i)); i++)
		if (op == LB_FAULT_OPS || row->op == op)
			add_row(into, row);
}

const struct lb_fault *lb_faults_row(const struct lb_faults *f, uint32_t i)
{
	uint32_t n = atomic_load_explicit(&f->n, memory_order_acquire);

	if (i < n)
		return &f->row[i];
	for (uint32_t op = 0; op < LB_FAULT_OPS; op++)
		if (READ(f->rest[op].n) && i-- == n)
			return &f->rest[op];
	return NULL;
}

const struct lb_fault *lb_faults_first(const struct lb_faults *f)
{
	const struct lb_fault *first = NULL, *row;

	for (uint32_t i = 0; (row = lb_faults_row(f, i)); i++)
		if (!first || row->first.ns < first->first.ns)
			first = row;
	return first;
}

/* As the kernel's block layer uses them: blk_errors in block/blk-core.c. */
static const struct {
	int error;
	const char *words;
} meanings[] = {
	{EIO, "I/O error"},
	{ENODEV, "device gone"},
	{ENXIO, "device gone"},
	{EBADE, "reservation conflict"},
	{ENOSPC, "pool or device full"},
	{ENODATA, "medium error"},
	{EREMOTEIO, "target error"},
	{ETIMEDOUT, "no answer in time"},
	{ETIME, "no answer in time"},
	{ENOLINK, "path failed"},
	{EILSEQ, "checksum wrong"},
	{EOPNOTSUPP, "not supported"},
	{EROFS, "read-only"},
	{ENOMEM, "host out of memory"},
	{EBUSY, "device out of resources"},
	{EAGAIN, "would have waited"},
	{EINVAL, "refused as invalid"},
};

const char *lb_fault_words(int32_t res)
{
	if (res == 0)
		return "nothing moved";
	if (res > 0)
		return "moved in part";
	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
		if (meanings[i].error == -res)
			return meanings[i].words;
	return strerrordesc_np(-res) ? strerrordesc_np(-res) : "unknown error";
}

const char *lb_fault_name(char *buf, size_t size, int32_t res)
{
	const char *name = res < 0 ? strerrorname_np(-res) : "short";

	if (name)
		snprintf(buf, size, "%s", name);
	else
		snprintf(buf, size, "errno %d", -res);
	return buf;
}
