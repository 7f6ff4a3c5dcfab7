/* WWIDs: one form for each LUN in the world, whoever tells it and however it is typed. */
#ifndef LB_IDENTITY_H
#define LB_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>

#include "lun.h"

/*
 * TEXT in the one form that is compared, which is multipath's: "3" and the hex digits of an NAA
 * name, "2" and those of an EUI-64 (or NVMe's NGUID), "1" and a T10 vendor ID, "8" and any other
 * SCSI name. TEXT is what sysfs has (device/wwid of SCSI: "naa.", "eui.", "t10."; wwid of NVMe:
 * "eui.", "uuid.", "nvme."), what multipath has (also behind "mpath-", as in a map's uuid), or a
 * link of udev ("wwn-0x", or "0x"). Anything else stays as it is. Writes "" when TEXT says nothing,
 * as an NAA of zeros does.
 * Rules: scsi_id(8), SPC-5 7.7.6, Linux's scsi_vpd_lun_id() and nvme's wwid_show().
 */
void lb_wwid_canonical(char *buf, size_t n, const char *text);

/*
 * Whether ID, as a user types it in any of those forms, names LUN; by its name (as typed) only
 * where it has no WWID.
 */
bool lb_wwid_matches(const struct lb_lun *lun, const char *id);

#endif
