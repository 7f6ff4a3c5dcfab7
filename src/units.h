/* Numbers as people write and read them. No locale is ever consulted: the point is a point. */
#ifndef LB_UNITS_H
#define LB_UNITS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Parsers: the whole of S must be the number, without blanks or sign. They return 0, -EINVAL (not
 * such a number, unknown suffix), -EDOM (not a whole number of bytes or nanoseconds) or -ERANGE
 * (past 64 bits).
 *
 * size: bytes; suffixes k m g t p in either case, alone or followed by B or iB, all powers of 1024;
 * a fraction is taken when it makes whole bytes (0.5M).
 * duration: seconds, or with ns, us, ms, s, m, h, d; a fraction is taken.
 * percent: a number and %; parts per million come out, so up to four decimals are whole.
 * rate: per second; suffixes k and M, powers of 1000; thousandths come out.
 */
int lb_parse_u64(const char *s, uint64_t *out);
int lb_parse_size(const char *s, uint64_t *bytes);
int lb_parse_duration(const char *s, uint64_t *ns);
int lb_parse_percent(const char *s, uint64_t *ppm);
int lb_parse_rate(const char *s, uint64_t *milli_per_s);

/*
 * Formatters write at most N bytes with the NUL into BUF and return BUF. They do not round but
 * where it is said; 32 bytes hold any value.
 */
char *lb_format_size(char *buf, size_t n, uint64_t bytes);  /* "16k", "1.5M", "16777217" */
char *lb_format_duration(char *buf, size_t n, uint64_t ns); /* "30s", "1.5ms", "2h30m" */

char *lb_format_about_size(char *buf, size_t n, uint64_t bytes); /* three digits: "1.46T" */
char *lb_format_latency(char *buf, size_t n, uint64_t ns); /* three digits: "5.13ms", "311us" */

/*
 * Bytes of the well-formed UTF-8 sequence that S begins with (1 at its end), or 0. Unicode 15,
 * table 3-7: no overlong forms, no surrogates, nothing past U+10FFFF.
 */
size_t lb_utf8_len(const char *s);

/*
 * S made fit for a terminal: control characters, those of text direction too, and invalid UTF-8
 * become \xNN. Writes at most N bytes with the NUL, cut at a whole character; returns BUF.
 */
char *lb_printable(char *buf, size_t n, const char *s);

/* The same of a name: where it is too long its middle becomes "...", since names differ in their
 * ends. */
char *lb_shorten(char *buf, size_t n, const char *s);

#endif
