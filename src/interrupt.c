// SPDX-License-Identifier: GPL-2.0-or-later
#include "interrupt.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>

void interrupt_begin(struct interrupt *in)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	in->signal = 0;
	sigemptyset(&in->set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction now;

		/* Blocked, an ignored signal would be kept, too. */
		if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaddset(&in->set, signals[i]);
	}
	sigprocmask(SIG_BLOCK, &in->set, &in->old);
}

bool interrupt_sleep(struct interrupt *in, int64_t ms)
{
	struct timespec left = { ms / 1000, ms % 1000 * 1000000 };
	int signal;

	if (in->signal)
		return true;
	do {
		signal = sigtimedwait(&in->set, NULL, &left);
	} while (signal < 0 && errno == EINTR);
	if (signal > 0)
		in->signal = signal;
	return in->signal != 0;
}

bool interrupt_came(struct interrupt *in)
{
	return interrupt_sleep(in, 0);
}

void interrupt_end(struct interrupt *in)
{
	const struct timespec now = { 0, 0 };

	/* What they were to stop is done, or undone. */
	while (sigtimedwait(&in->set, NULL, &now) > 0)
		;
	sigprocmask(SIG_SETMASK, &in->old, NULL);
}
