// SPDX-License-Identifier: GPL-2.0-or-later
/* A fuzzer without libFuzzer: each file of a directory once, as TAP. What was once found stays found. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

static void replay(int dir, const char *name, size_t number)
{
	_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ uint8_t *data = NULL;
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		printf("not ok %zu - %s: cannot be read\n", number, name);
		return;
	}
	data = xcalloc((size_t)st.st_size, 1);
	if (read(fd, data, (size_t)st.st_size) != st.st_size) {
		printf("not ok %zu - %s: cannot be read\n", number, name);
		return;
	}
	/* A finding ends the program; the plan then says that a test is missing. */
	LLVMFuzzerTestOneInput(data, (size_t)st.st_size);
	printf("ok %zu - %s\n", number, name);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	_cleanup_closedir_ DIR *dir = opendir(argc > 1 ? argv[1] : FUZZ_CORPUS);
	struct dirent *entry;
	size_t n = 0;

	if (!dir) {
		perror(FUZZ_CORPUS);
		return 1;
	}
	while ((entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	printf("1..%zu\n", n);
	fflush(stdout);
	rewinddir(dir);
	n = 0;
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			replay(dirfd(dir), entry->d_name, ++n);
	return 0;
}
