// SPDX-License-Identifier: GPL-2.0-or-later
/* Memory: names, a command line, code and stacks that are not what one expects, or not for long. */
#include "hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char evil[] = "\033]0;owned\007\033[2J\r\n\x9b" "31m\xc2\x9b" "2J\xe2\x80\xae\xff\xfe\t\\\"$(reboot)";

static void evil_thread(void)
{
	prctl(PR_SET_NAME, "\033[2J\n\x9b" "31m\xff");
	rest();
}

/* The name on the command line takes an exec. */
void run_names(void)
{
	char *const argv[] = { (char *)"qemu-system-x86_64", (char *)"names", (char *)"-name", (char *)evil,
			       (char *)"-uuid", (char *)"no\033uuid", NULL };

	if (!saved_argv[2])
		need(execv("/proc/self/exe", argv), "exec");
	prctl(PR_SET_NAME, "\033[31m)(\nx \xff");
	vhost_open();
	tap_open("\033[31m\xff\x9b" "\"<&");
	start_thread(evil_thread);
	ready(getpid());
	rest();
}

void run_cmdline(void)
{
	enum { ARGS = 20, EACH = 105000 };	/* an argument is at most 128 KiB */
	const struct rlimit stack = { 64 << 20, 64 << 20 };
	static char *argv[ARGS + 3];

	if (!saved_argv[2]) {
		setrlimit(RLIMIT_STACK, &stack);
		argv[0] = (char *)"qemu-system-x86_64";
		argv[1] = (char *)"cmdline";
		for (int i = 2; i < ARGS + 2; i++) {
			argv[i] = malloc(EACH + 1);
			memset(argv[i], i % 2 ? ',' : '-', EACH);
			argv[i][EACH] = '\0';
		}
		need(execv("/proc/self/exe", argv), "exec");
	}
	vhost_open();
	tap_open("");
	ready(getpid());
	rest();
}

/* What stands at argv[0] and after it, in turn: each could be taken for a whole command line. */
static void rewrite(void)
{
	static const char *const lines[] = {
		"qemu-system-x86_64\0-name\0guest=good\0-netdev\0tap,fds=3:4,vhost=on,vhostfds=5:6\0",
		"qemu-system-x86_64\0-netdev\0{\"type\":\"tap\",\"fd\":\"3\",\"vhostfd\":\"",
		"kvm\0-name\0\033[2J\0-smbios\0type=1,uuid=", "crosvm\0--name\0good", "",
	};
	char *end = saved_argv[0];

	/* All of what exec laid out, as one piece. */
	for (int i = 0; saved_argv[i]; i++)
		end = saved_argv[i] + strlen(saved_argv[i]);
	for (;;) {
		const char *line = lines[rnd(5)];
		size_t room = (size_t)(end - saved_argv[0]);

		for (size_t i = 0; i < room; i++)
			saved_argv[0][i] = line[i % 60];
		nap_us(rnd(100));
	}
}

void run_rewrite(void)
{
	char *const argv[] = { (char *)"qemu-system-x86_64", (char *)"rewrite", (char *)"again",
			       (char *)"-name", (char *)"0123456789012345678901234567890123456789012345678901234567890",
			       NULL };

	if (!saved_argv[2])
		need(execv("/proc/self/exe", argv), "exec");
	vhost_open();
	tap_open("");
	start_thread(rewrite);
	ready(getpid());
	rest();
}

/* A page with all that is left of the program: unmaps what a list says, then waits in ppoll() for ever. */
extern const char stub_start[], stub_end[];
__asm__(".pushsection .text\n"
	"stub_start:\n"
	"1:	mov (%rbx), %rdi\n"		/* start of a mapping, 0 at the end */
	"	test %rdi, %rdi\n"
	"	jz 2f\n"
	"	mov 8(%rbx), %rsi\n"
	"	add $16, %rbx\n"
	"	mov $11, %eax\n"		/* munmap */
	"	syscall\n"
	"	jmp 1b\n"
	"2:	xor %edi, %edi\n"
	"	xor %esi, %esi\n"
	"	xor %edx, %edx\n"
	"	xor %r10d, %r10d\n"
	"	mov $271, %eax\n"		/* ppoll */
	"	syscall\n"
	"	jmp 2b\n"
	"stub_end:\n"
	".popsection\n");

void run_unmap(void)
{
	uint64_t *list, start, stop;
	char line[512];
	char *page;
	size_t n = 0;
	FILE *maps;

	page = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	memcpy(page, stub_start, (size_t)(stub_end - stub_start));
	list = (uint64_t *)(void *)(page + 1024);
	vhost_open();
	ready(getpid());
	maps = fopen("/proc/self/maps", "r");
	if (!maps)
		die("maps: %s", strerror(errno));
	while (fgets(line, sizeof(line), maps) && n < 400)
		if (sscanf(line, "%lx-%lx", &start, &stop) == 2 && (start > (uintptr_t)page || stop <= (uintptr_t)page)) {
			list[n++] = start;
			list[n++] = stop - start;
		}
	list[n] = 0;
	/* Else the kernel looks for it in memory that is gone. */
	need(syscall(SYS_rseq, (char *)__builtin_thread_pointer() + __rseq_offset, 32, RSEQ_FLAG_UNREGISTER, RSEQ_SIG),
	     "rseq");
	__asm__ volatile("jmp *%1" : : "b"(list), "r"(page) : "memory");
	__builtin_unreachable();
}

/* Waits on a stack of its own, the part below which comes and goes. */
static char *volatile low_stack;

static void idle_on_stack(void)
{
	char here;

	low_stack = (char *)(((uintptr_t)&here & ~4095ul) - 12288);
	for (;;)
		poll(NULL, 0, -1);
}

static void flip(void)
{
	for (;;) {
		mprotect(low_stack, 8192, rnd(2) ? PROT_NONE : PROT_READ);
		nap_us(rnd(200));
		mprotect(low_stack, 8192, PROT_READ | PROT_WRITE);
		nap_us(rnd(200));
	}
}

void run_flip(void)
{
	vhost_open();
	start_thread(idle_on_stack);
	while (!low_stack)
		nap_us(1000);
	start_thread(flip);
	ready(getpid());
	/* Not to be chosen: busy. */
	for (;;)
		sched_yield();
}

/* The pages below the stack are not there, and who touches them waits for an answer that does not come. */
void run_uffd(void)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	need(fd, "userfaultfd");
	need(ioctl(fd, UFFDIO_API, &api), "UFFDIO_API");
	vhost_open();
	start_thread(idle_on_stack);
	while (!low_stack)
		nap_us(1000);
	nap_us(20000);
	need(madvise(low_stack, 8192, MADV_DONTNEED), "madvise");
	reg.range = (struct uffdio_range){ .start = (uintptr_t)low_stack, .len = 8192 };
	need(ioctl(fd, UFFDIO_REGISTER, &reg), "UFFDIO_REGISTER");
	ready(getpid());
	for (;;)
		sched_yield();
}
