/* Writes the JSON of every scene to DIR/NAME.json, for check_json.py. */
#include "report.h"
#include "scenes.h"

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	for (size_t i = 0; i < N_SCENES; i++) {
		struct made *m = scene(i);
		char path[4096];
		FILE *f;

		snprintf(path, sizeof(path), "%s/%s.json", argv[1], scenes[i].name);
		f = fopen(path, "w");
		if (!f || lb_report_json(f, &m->r) != 0 || fclose(f) != 0) {
			perror(path);
			return 1;
		}
		made_done(m);
	}
	return 0;
}
