#include "zipf.h"

#include <math.h>
#include <stdbool.h>

/*
 * From here on the hat is flat over one rank, to 10^-18 of it, and a look at it would see no more
 * than the rounding of the areas.
 */
#define FLAT 1e9

/* The hat x^-theta; its integral from 1 on; and the inverse of that. Log where theta is 1. */
static double hat(const struct lb_zipf *z, double x)
{
	return exp(-z->theta * log(x));
}

static bool is_log(const struct lb_zipf *z)
{
	return fabs(1 - z->theta) < 1e-9;
}

static double area(const struct lb_zipf *z, double x)
{
	double a = 1 - z->theta;

	return is_log(z) ? log(x) : expm1(a * log(x)) / a;
}

static double area_inverse(const struct lb_zipf *z, double y)
{
	double a = 1 - z->theta, t = a * y;

	if (is_log(z))
		return exp(y);
	return exp(log1p(t > -1 ? t : -1) / a); /* rounding may have gone past the end of the hat */
}

void lb_zipf_init(struct lb_zipf *z, uint64_t n, double theta)
{
	z->theta = theta;
	z->n = (double)n;
	z->area_1 = area(z, 1.5) - 1;
	z->area_n = area(z, z->n + 0.5);
	z->sure = 2 - area_inverse(z, area(z, 2.5) - hat(z, 2));
}

uint64_t lb_zipf_draw(const struct lb_zipf *z, struct lb_rng *rng)
{
	for (;;) {
		double chance = (double)(lb_rng_next(rng) >> 11) * 0x1p-53;
		double y = z->area_n + chance * (z->area_1 - z->area_n);
		double x = area_inverse(z, y), k = floor(x + 0.5);

		k = k < 1 ? 1 : k > z->n ? z->n : k;
		if (k - x <= z->sure || k > FLAT || y >= area(z, k + 0.5) - hat(z, k))
			return (uint64_t)k - 1;
	}
}
