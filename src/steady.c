#include "steady.h"

#include <math.h>

#define RANGE_MOST_PCT 20.0
#define SLOPE_MOST_PCT 10.0

struct lb_steady_fit lb_steady_judge(const double v[LB_STEADY_WINDOWS])
{
	struct lb_steady_fit fit = {0};
	double low = v[0], high = v[0], sum = 0, moment = 0, squares = 0;

	for (int i = 0; i < LB_STEADY_WINDOWS; i++) {
		double x = i - (LB_STEADY_WINDOWS - 1) / 2.0;

		low = fmin(low, v[i]);
		high = fmax(high, v[i]);
		sum += v[i];
		moment += x * v[i];
		squares += x * x;
	}
	fit.mean = sum / LB_STEADY_WINDOWS;
	if (!(fit.mean > 0))
		return fit;
	fit.range_pct = 100 * (high - low) / fit.mean;
	fit.slope_pct = 100 * fabs(moment / squares) * (LB_STEADY_WINDOWS - 1) / fit.mean;
	fit.is_steady = fit.range_pct <= RANGE_MOST_PCT && fit.slope_pct <= SLOPE_MOST_PCT;
	return fit;
}
