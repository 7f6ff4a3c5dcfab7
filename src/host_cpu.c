#include "host_cpu.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

int lb_host_cpu_parse(FILE *stat, const cpu_set_t *cpus, struct lb_host_cpu *out)
{
	enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, KINDS };
	struct lb_host_cpu sum = {0};
	char line[1024];
	int found = 0;

	/* these lines come first, each shorter than LINE */
	while (fgets(line, sizeof(line), stat) && !strncmp(line, "cpu", 3)) {
		uint64_t t[KINDS] = {0};
		unsigned int cpu;

		/* guests' time is in the users' already */
		if (sscanf(line,
			    "cpu%u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
			    " %" SCNu64 " %" SCNu64 " %" SCNu64,
			    &cpu, &t[USER], &t[NICE], &t[SYSTEM], &t[IDLE], &t[IOWAIT], &t[IRQ],
			    &t[SOFTIRQ], &t[STEAL]) < 1 + IDLE + 1 ||
			cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, cpus))
			continue;
		found++;
		for (int i = 0; i < KINDS; i++) {
			sum.all += t[i];
			if (i != IDLE && i != IOWAIT)
				sum.busy += t[i];
		}
	}
	if (!found || found < CPU_COUNT(cpus))
		return -ENOENT;
	*out = sum;
	return 0;
}

int lb_host_cpu_read(const cpu_set_t *cpus, struct lb_host_cpu *out)
{
	cpu_set_t set = *cpus;
	FILE *stat;
	int ret;

	if (!CPU_COUNT(&set) && sched_getaffinity(0, sizeof(set), &set))
		return -errno;
	stat = fopen("/proc/stat", "re");
	if (!stat)
		return -errno;
	ret = lb_host_cpu_parse(stat, &set, out);
	fclose(stat);
	return ret;
}
