/* Does what it is told, one order a word; "say" takes the next word as well. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void gently(int signal) { (void)signal; _exit(7); }

int main(int count, char **words) {
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 1; i < count; i++) {
		if (!strcmp(words[i], "say") && i + 1 < count)
			printf("[%s]\n", words[++i]);
		else if (!strcmp(words[i], "complain") && i + 1 < count)
			fprintf(stderr, "<%s>\n", words[++i]);
		else if (!strcmp(words[i], "whoami"))
			printf("uid=%d gid=%d pid=%d\n", getuid(), getgid(), getpid());
		else if (!strcmp(words[i], "where")) {
			char here[256];
			printf("cwd=%s\n", getcwd(here, sizeof here));
		} else if (!strcmp(words[i], "see") && i + 1 < count) {
			struct stat found;
			const char *path = words[++i];
			printf("%s %s\n", path, stat(path, &found) ? "absent" : "there");
		} else if (!strcmp(words[i], "touch") && i + 1 < count) {
			const char *path = words[++i];
			FILE *file = fopen(path, "w");
			printf("%s %s\n", path, file ? "written" : "refused");
		} else if (!strcmp(words[i], "show") && i + 1 < count) {
			char line[256];
			FILE *file = fopen(words[++i], "r");
			while (file && fgets(line, sizeof line, file))
				fputs(line, stdout);
		} else if (!strcmp(words[i], "flood"))
			for (int line = 0; line < 100000; line++)
				printf("line %d\n", line);
		else if (!strcmp(words[i], "stretch") && i + 1 < count) {
			for (long left = atol(words[++i]) << 20; left > 0; left--)
				putchar('x');
			putchar('\n');
		} else if (!strcmp(words[i], "await") && i + 1 < count) {
			struct stat found;
			for (i++; stat(words[i], &found);)
				usleep(10000);
		} else if (!strcmp(words[i], "exit") && i + 1 < count)
			return atoi(words[++i]);
		else if (!strcmp(words[i], "gently"))
			signal(SIGTERM, gently);
		else if (!strcmp(words[i], "stubbornly"))
			signal(SIGTERM, SIG_IGN);
		else if (!strcmp(words[i], "wait")) {
			puts("waiting");
			for (;;)
				pause();
		}
	}
	return 0;
}
