#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"

struct unit {
	const char *suffix; /* of a size in lower case */
	uint64_t factor;
};

#define KI 1024ull

static const struct unit size_units[] = {
	{"p", KI *KI *KI *KI *KI},
	{"t", KI *KI *KI *KI},
	{"g", KI *KI *KI},
	{"m", KI *KI},
	{"k", KI},
	{"", 1},
};

static const struct unit time_units[] = {
	{"d", 86400 * LB_NSEC_PER_SEC},
	{"h", 3600 * LB_NSEC_PER_SEC},
	{"m", 60 * LB_NSEC_PER_SEC},
	{"s", LB_NSEC_PER_SEC},
	{"ms", LB_NSEC_PER_MSEC},
	{"us", LB_NSEC_PER_USEC},
	{"ns", 1},
	{"", LB_NSEC_PER_SEC},
};

static const struct unit rate_units[] = {{"k", 1000000}, {"M", 1000000000}, {"", 1000}};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* The digits and one point at the start of S: where they end, or NULL when they are no number. */
static const char *number_end(const char *s)
{
	size_t whole = strspn(s, "0123456789"), frac;

	if (!whole)
		return NULL;
	s += whole;
	if (*s != '.')
		return s;
	frac = strspn(s + 1, "0123456789");
	return frac ? s + 1 + frac : NULL;
}

/* The number in [S, END) times FACTOR, exactly: no fraction is too long, none is rounded. */
static int scale(const char *s, const char *end, uint64_t factor, uint64_t *out)
{
	const char *point = memchr(s, '.', (size_t)(end - s));
	uint64_t value = 0, carry = 0, rest = 0, t;
	bool is_over = false;

	/* a fraction is multiplied as on paper, from its last digit: the carry is what is whole */
	for (const char *p = end; point && --p > point;) {
		t = (uint64_t)(*p - '0') * factor + carry;
		rest |= t % 10;
		carry = t / 10;
	}
	if (rest)
		return -EDOM;
	for (const char *p = s; p < (point ? point : end); p++)
		is_over |= __builtin_mul_overflow(value, 10, &value) ||
			   __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value);
	is_over |= __builtin_mul_overflow(value, factor, &value) ||
		   __builtin_add_overflow(value, carry, &value);
	if (is_over)
		return -ERANGE;
	*out = value;
	return 0;
}

int lb_parse_u64(const char *s, uint64_t *out)
{
	const char *end = number_end(s);

	if (!end || *end || memchr(s, '.', (size_t)(end - s)))
		return -EINVAL;
	return scale(s, end, 1, out);
}

int lb_parse_size(const char *s, uint64_t *bytes)
{
	const char *end = number_end(s), *suffix = end;
	char letter[2] = "";

	if (!end)
		return -EINVAL;
	if (*suffix >= 'A') {
		letter[0] = (char)(*suffix++ | 0x20);
		if (!strcasecmp(suffix, "b") || !strcasecmp(suffix, "ib"))
			suffix = "";
	}
	for (size_t i = 0; !*suffix && i < COUNT(size_units); i++)
		if (!strcmp(letter, size_units[i].suffix))
			return scale(s, end, size_units[i].factor, bytes);
	return -EINVAL;
}

int lb_parse_duration(const char *s, uint64_t *ns)
{
	const char *end = number_end(s);

	for (size_t i = 0; end && i < COUNT(time_units); i++)
		if (!strcmp(end, time_units[i].suffix))
			return scale(s, end, time_units[i].factor, ns);
	return -EINVAL;
}

int lb_parse_percent(const char *s, uint64_t *ppm)
{
	const char *end = number_end(s);

	if (!end || strcmp(end, "%"))
		return -EINVAL;
	return scale(s, end, 10000, ppm);
}

int lb_parse_rate(const char *s, uint64_t *milli_per_s)
{
	const char *end = number_end(s);

	for (size_t i = 0; end && i < COUNT(rate_units); i++)
		if (!strcmp(end, rate_units[i].suffix))
			return scale(s, end, rate_units[i].factor, milli_per_s);
	return -EINVAL;
}

char *lb_format_size(char *buf, size_t n, uint64_t bytes)
{
	static const char *const quarters[] = {"", ".25", ".5", ".75"};

	/* in the largest unit that says it exactly and shortly */
	for (const struct unit *u = size_units; u->factor > 1; u++) {
		uint64_t quarter = u->factor / 4;

		if (bytes < u->factor || bytes % quarter || bytes / u->factor > 99999)
			continue;
		snprintf(buf, n, "%" PRIu64 "%s%c", bytes / u->factor,
			quarters[bytes / quarter % 4],
			u->suffix[0] == 'k' ? 'k' : u->suffix[0] - 32);
		return buf;
	}
	snprintf(buf, n, "%" PRIu64, bytes);
	return buf;
}

/* NS in units of FACTOR (a power of ten), with as many decimals as it needs. */
static void format_decimal(char *buf, size_t n, uint64_t ns, const struct unit *u)
{
	uint64_t rest = ns % u->factor;
	char frac[16] = "";
	size_t len = 0;

	for (uint64_t f = u->factor / 10; rest; f /= 10) {
		frac[len++] = (char)('0' + rest / f);
		rest %= f;
	}
	snprintf(buf, n, "%" PRIu64 "%s%s%s", ns / u->factor, len ? "." : "", frac, u->suffix);
}

char *lb_format_duration(char *buf, size_t n, uint64_t ns)
{
	const struct unit *u = time_units, *seconds = &time_units[3];
	bool is_long = ns >= 60 * LB_NSEC_PER_SEC;
	size_t len = 0;

	if (n)
		buf[0] = '\0';
	for (; is_long && u < seconds; u++) {
		if (ns >= u->factor && len < n)
			len += (size_t)snprintf(
				buf + len, n - len, "%" PRIu64 "%s", ns / u->factor, u->suffix);
		ns %= u->factor;
	}
	if (is_long && !ns)
		return buf;
	for (u = seconds; !is_long && ns && ns < u->factor;)
		u++;
	if (len < n)
		format_decimal(buf + len, n - len, ns, u);
	return buf;
}

char *lb_format_about_size(char *buf, size_t n, uint64_t bytes)
{
	static const char letters[] = "kMGTPE";
	double v = (double)bytes;
	int u = -1;

	while (v >= 1024 && u < 5) {
		v /= 1024;
		u++;
	}
	if (u < 0)
		snprintf(buf, n, "%" PRIu64, bytes);
	else
		snprintf(buf, n, "%.*f%c",
			v >= 100 || v == (double)(uint64_t)v ? 0
			: v >= 10                            ? 1
							     : 2,
			v, letters[u]);
	return buf;
}

char *lb_format_latency(char *buf, size_t n, uint64_t ns)
{
	static const struct unit units[] = {{"s", LB_NSEC_PER_SEC}, {"ms", LB_NSEC_PER_MSEC},
		{"us", LB_NSEC_PER_USEC}, {"ns", 1}};
	const struct unit *u = units;
	double v;

	while (ns < u->factor && u->factor > 1)
		u++;
	v = (double)ns / (double)u->factor;
	snprintf(buf, n, "%.*f%s",
		ns % u->factor == 0 || v >= 100 ? 0
		: v >= 10                       ? 1
						: 2,
		v, u->suffix);
	return buf;
}

size_t lb_utf8_len(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned char low = 0x80, high = 0xbf;
	size_t len;

	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	len = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (s[0] == 0xe0)
		low = 0xa0;
	else if (s[0] == 0xed)
		high = 0x9f;
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f;
	if (s[1] < low || s[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

/*
 * Controls of C0 and C1, and those that turn the order of text around: a name with them would show
 * as another one. Unicode 15, the property Bidi_Control. S begins with a sequence of LEN bytes.
 */
static bool is_control(const unsigned char *s, size_t len)
{
	if (len == 1)
		return s[0] < 0x20 || s[0] == 0x7f;
	if (len == 2) /* U+0080 to U+009F, U+061C */
		return (s[0] == 0xc2 && s[1] < 0xa0) || (s[0] == 0xd8 && s[1] == 0x9c);
	if (len != 3 || s[0] != 0xe2)
		return false;
	/* U+200E, U+200F, U+202A to U+202E; U+2066 to U+2069 */
	return (s[1] == 0x80 && (s[2] == 0x8e || s[2] == 0x8f || (s[2] >= 0xaa && s[2] <= 0xae))) ||
	       (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9);
}

/* The character that S begins with, as a terminal may have it, into TO[5]. Returns
 * how many bytes of S it is; *WIDTH: of TO. */
static size_t print_one(char to[5], const char *s, size_t *width)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t len = lb_utf8_len(s);
	bool is_raw = len && !is_control(p, len);

	if (!is_raw)
		len = 1; /* the bytes that follow a control's first are no UTF-8 either */
	*width = is_raw ? len : 4;
	if (is_raw)
		memcpy(to, s, len);
	else
		snprintf(to, 5, "\\x%02x", p[0]);
	return len;
}

char *lb_printable(char *buf, size_t n, const char *s)
{
	size_t used = 0, width;
	char one[5];

	if (!n)
		return buf;
	for (; *s; used += width) {
		s += print_one(one, s, &width);
		if (width > n - 1 - used)
			break;
		memcpy(buf + used, one, width);
	}
	buf[used] = '\0';
	return buf;
}

char *lb_shorten(char *buf, size_t n, const char *s)
{
	static const char gap[] = "...";
	size_t whole = 0, width, room;
	char one[5];

	for (const char *p = s; *p; whole += width)
		p += print_one(one, p, &width);
	if (whole < n || n < 2 * sizeof(gap))
		return lb_printable(buf, n, s);
	room = n - sizeof(gap); /* of both ends */
	lb_printable(buf, room / 2 + 1, s);
	strcat(buf, gap);
	for (; whole > room - room / 2; whole -= width)
		s += print_one(one, s, &width);
	lb_printable(buf + strlen(buf), n - strlen(buf), s);
	return buf;
}
