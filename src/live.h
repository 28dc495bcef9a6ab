/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A terminal's screen that is drawn again and again, and is as before afterwards. */
#ifndef LIVE_H
#define LIVE_H

#include <stdio.h>

struct live {
	FILE *f;
	int width, height;
	void (*tstp)(int);	/* what SIGTSTP did before */
};

void live_start(struct live *l, FILE *f);
/* Its size now: that of a window changes. */
void live_measure(struct live *l);
/* 0, or -1 and errno. */
int live_draw(struct live *l, const char *text);
void live_end(struct live *l);

#endif
