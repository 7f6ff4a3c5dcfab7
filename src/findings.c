#include "result.h"

int lb_findings_make(struct lb_result *r, const struct lb_board *board)
{
	(void)r;
	(void)board;
	return 0;
}
