// SPDX-License-Identifier: GPL-2.0-or-later
#include "live.h"

#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>

/* ECMA-48 and xterm's: another screen, no cursor; and back. */
#define ENTER "\033[?1049h\033[?25l"
#define LEAVE "\033[?25h\033[?1049l"
#define HOME "\033[H"
#define CLEAR_LINE "\033[K"
#define CLEAR_REST "\033[J"

void live_measure(struct live *l)
{
	struct winsize ws;

	l->width = 80;
	l->height = 24;
	if (ioctl(fileno(l->f), TIOCGWINSZ, &ws) < 0)
		return;
	if (ws.ws_col)
		l->width = ws.ws_col;
	if (ws.ws_row)
		l->height = ws.ws_row;
}

void live_start(struct live *l, FILE *f)
{
	*l = (struct live){ .f = f };
	/* Stopped, it would leave the shell on this screen and without a cursor. */
	l->tstp = signal(SIGTSTP, SIG_IGN);
	fputs(ENTER, f);
	live_measure(l);
}

int live_draw(struct live *l, const char *text)
{
	fputs(HOME, l->f);
	for (const char *end; *text; text = end + (*end == '\n')) {
		end = strchrnul(text, '\n');
		/* No newline after the last line: it would scroll the screen. */
		fprintf(l->f, "%.*s" CLEAR_LINE "%s", (int)(end - text), text,
			end[0] && end[1] ? "\r\n" : "");
	}
	fputs(CLEAR_REST, l->f);
	return fflush(l->f) == EOF ? -1 : 0;
}

void live_end(struct live *l)
{
	fputs(LEAVE, l->f);
	fflush(l->f);
	signal(SIGTSTP, l->tstp);
}
