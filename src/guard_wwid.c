#include "guard_wwid.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "guard_sys.h"

/* As multipath has it: scsi_id(8) puts the designator's type before its digits. */
static void canonical(char *buf, size_t n, const char *id)
{
	static const char *const forms[][2] = {
		{"naa.", "3"}, {"eui.", "2"}, {"wwn-0x", "3"}, {"0x", "3"}, {"mpath-", ""}};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		size_t len = strlen(forms[i][0]);

		if (!strncasecmp(id, forms[i][0], len)) {
			snprintf(buf, n, "%s%s", forms[i][1], id + len);
			return;
		}
	}
	snprintf(buf, n, "%s", id);
}

static bool has_wwid(const struct lb_lun *lun, char *buf, size_t n)
{
	char text[160];

	if (lun->kind != LB_LUN_BLOCK || lb_guard_sys_disk(lun->dev))
		return false;
	if (lb_guard_sys_text(lun->dev, "dm/name", text, sizeof(text))) {
		/* of maps, only multipath's are a LUN of their own */
		if (!lb_guard_sys_text(lun->dev, "dm/uuid", text, sizeof(text)) ||
			strncmp(text, "mpath-", 6))
			return false;
	} else if (!lb_guard_sys_text(lun->dev, "device/wwid", text, sizeof(text)) &&
		   !lb_guard_sys_text(lun->dev, "wwid", text, sizeof(text))) {
		return false;
	}
	canonical(buf, n, text);
	return buf[0] != '\0';
}

const char *lb_guard_wwid(const struct lb_lun *lun, char *buf, size_t n)
{
	if (!has_wwid(lun, buf, n))
		snprintf(buf, n, "%s", lun->name);
	return buf;
}

bool lb_guard_wwid_matches(const struct lb_lun *lun, const char *id)
{
	char own[192], other[192];

	if (!has_wwid(lun, own, sizeof(own)))
		return !strcmp(lun->name, id);
	canonical(other, sizeof(other), id);
	return !strcasecmp(own, other);
}
