/* The log of events: what is added stays, from several threads too, and what has no room is
 * counted. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "event.h"

#define ROOM    4000u
#define THREADS 4
#define EACH    (ROOM / THREADS)

static struct lb_event rows[ROOM];

static struct lb_events empty(uint32_t room)
{
	memset(rows, 0, sizeof(rows));
	return (struct lb_events){.at = rows, .room = room};
}

static void an_event_is_kept_and_its_end_set_later(void **state)
{
	struct lb_events log = empty(2);
	struct lb_event *ev = lb_event_add(&log,
		&(struct lb_event){.kind = LB_EV_STALL, .lun = 3, .begin_ns = 5, .end_ns = 9});

	(void)state;
	assert_ptr_equal(ev, &rows[0]);
	ev->end_ns = 12;
	assert_int_equal(lb_events_n(&log), 1);
	assert_int_equal(rows[0].is_there, 1);
	assert_int_equal(rows[0].lun, 3);
	assert_int_equal(rows[0].begin_ns, 5);
	assert_int_equal(rows[0].end_ns, 12);
}

static void what_has_no_room_is_counted(void **state)
{
	struct lb_events log = empty(2);
	struct lb_event ev = {.kind = LB_EV_LOST};

	(void)state;
	assert_non_null(lb_event_add(&log, &ev));
	assert_non_null(lb_event_add(&log, &ev));
	for (int i = 0; i < 3; i++)
		assert_null(lb_event_add(&log, &ev));
	assert_int_equal(lb_events_n(&log), 2);
	assert_int_equal(log.dropped, 3);
}

static void *add_each(void *log)
{
	for (uint32_t i = 0; i < EACH + 10; i++)
		lb_event_add(log, &(struct lb_event){.kind = LB_EV_PATH, .begin_ns = i + 1});
	return NULL;
}

static void threads_do_not_take_each_others_place(void **state)
{
	struct lb_events log = empty(ROOM);
	pthread_t id[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&id[i], NULL, add_each, &log), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(id[i], NULL);
	assert_int_equal(lb_events_n(&log), ROOM);
	assert_int_equal(log.dropped, THREADS * 10);
	for (uint32_t i = 0; i < ROOM; i++) {
		assert_int_equal(rows[i].is_there, 1);
		assert_true(rows[i].begin_ns > 0);
	}
}

static void every_kind_has_a_name(void **state)
{
	(void)state;
	for (int i = 0; i < LB_EV_KINDS; i++)
		assert_non_null(lb_event_names[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_is_kept_and_its_end_set_later),
		cmocka_unit_test(what_has_no_room_is_counted),
		cmocka_unit_test(threads_do_not_take_each_others_place),
		cmocka_unit_test(every_kind_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
