/* What the images of these tests run. It tells who it is and what it sees, then does as its first
 * argument says: `wait` for SIGTERM, be `deaf` to it, be a `parent` who is deaf and waits for a
 * child that is not, or `exit` with the last argument. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void end(int signal) { (void)signal; write(1, "asked to end\n", 13); _exit(0); }

static void show(const char *path)
{
	char line[512];
	FILE *file = fopen(path, "r");
	while (file && fgets(line, sizeof line, file))
		if (strstr(line, "CapEff") || strstr(line, ":  "))
			fprintf(stderr, "%s %s", path, line);
}

int main(int count, char **words)
{
	const char *order = count > 1 ? words[1] : "exit";
	signal(SIGTERM, strcmp(order, "deaf") ? end : SIG_IGN);
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < count; i++)
		printf("<%s>\n", words[i]);
	fprintf(stderr, "uid %d gid %d pid %d\n", getuid(), getgid(), getpid());
	fprintf(stderr, "boot %s\n", access("/boot", R_OK) ? "absent" : access("/boot", W_OK) ? "read-only" : "writable");
	fprintf(stderr, "scx %s\n", access("/var/run/scx", W_OK) ? "read-only" : "writable");
	fprintf(stderr, "proxy %s\n", getenv("http_proxy") ? "known" : "unknown");
	show("/proc/self/status");
	show("/proc/net/dev");
	if (!strcmp(order, "exit"))
		return count > 2 ? atoi(words[count - 1]) : 0;
	if (!strcmp(order, "parent") && fork()) {
		signal(SIGTERM, SIG_IGN);
		printf("has a child\n");
		return wait(NULL) < 0;
	}
	for (;;)
		pause();
}
