#include "identity.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A way to begin an ID, and what multipath writes in its place; the longer of two comes first. */
struct prefix {
	const char *text, *canonical;
	bool is_hex;
};

static const struct prefix prefixes[] = {
	{"wwn-0x", "3", true},
	{"0x", "3", true},
	{"naa.", "3", true},
	{"eui.", "2", true},
	{"t10.", "1", false},
	{"uuid.", "uuid.", false},
	{"nvme.", "nvme.", false},
	{"iqn.", "8iqn.", false},
};

/* Hex digits and nothing else, at least eight bytes of them; not only zeros. */
static bool is_name_of_hex(const char *s)
{
	return strlen(s) >= 16 && strspn(s, "0123456789abcdefABCDEF") == strlen(s) &&
	       strspn(s, "0") != strlen(s);
}

static void lower(char *s)
{
	for (; *s; s++)
		*s = (char)tolower((unsigned char)*s);
}

/* As udev does it: none at the ends, and each run of blanks inside is one _. */
static void fold_blanks(char *s)
{
	char *to = s;

	s += strspn(s, " \t\n");
	for (; *s; s++) {
		if (!isspace((unsigned char)*s))
			*to++ = *s;
		else if (s[1] && !isspace((unsigned char)s[1]))
			*to++ = '_';
	}
	*to = '\0';
}

void lb_wwid_canonical(char *buf, size_t n, const char *text)
{
	const char *canonical = "";
	bool is_hex = false;
	char id[256];

	buf[0] = '\0';
	text += strspn(text, " \t\n");
	if (!strncmp(text, "mpath-", 6))
		text += 6;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t len = strlen(prefixes[i].text);

		if (!strncasecmp(text, prefixes[i].text, len)) {
			text += len;
			canonical = prefixes[i].canonical;
			is_hex = prefixes[i].is_hex;
			break;
		}
	}
	snprintf(id, sizeof(id), "%.*s", (int)sizeof(id) - 1, text);
	fold_blanks(id);
	if (!id[0] || (is_hex && !is_name_of_hex(id)))
		return;
	/* of multipath's own the first character is the kind */
	if (is_hex || !strcmp(canonical, "uuid.") ||
		(!canonical[0] && strchr("23", id[0]) && is_name_of_hex(id + 1)))
		lower(id);
	snprintf(buf, n, "%s%.*s", canonical, (int)(n - 1 - strlen(canonical)), id);
}

bool lb_wwid_matches(const struct lb_lun *lun, const char *id)
{
	char canonical[sizeof(lun->wwid)];

	if (!lun->wwid[0])
		return !strcmp(lun->name, id);
	lb_wwid_canonical(canonical, sizeof(canonical), id);
	return !strcmp(lun->wwid, canonical);
}
