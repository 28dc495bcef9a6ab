// SPDX-License-Identifier: GPL-2.0-or-later
#include "options.h"

#include <getopt.h>
#include <string.h>

#include "nearest.h"
#include "procfs.h"
#include "util.h"

/* Beyond any short option's character: what getopt_long returns for long ones. */
#define LONG_BASE 256

/* What one pass of getopt_long needs, built from the sets. */
struct parser {
	struct option *longs;
	size_t n_longs;
	const struct option_spec **specs;	/* of the same index */
	size_t n_specs;
	void **bases;
	size_t n_bases;
	char shorts[128];
};

static void parser_free(struct parser *p)
{
	free(p->longs);
	free(p->specs);
	free(p->bases);
}

static void parser_add(struct parser *p, const struct option_spec *spec, void *base)
{
	size_t len = strlen(p->shorts);
	struct option *o = ARRAY_ADD(p->longs, p->n_longs);

	o->name = spec->name;
	o->has_arg = spec->metavar ? required_argument : no_argument;
	o->val = LONG_BASE + (int)p->n_specs;
	*ARRAY_ADD(p->specs, p->n_specs) = spec;
	*ARRAY_ADD(p->bases, p->n_bases) = base;
	if (spec->letter && len + 3 <= sizeof(p->shorts))
		snprintf(p->shorts + len, sizeof(p->shorts) - len, "%c%s", spec->letter,
			 spec->metavar ? ":" : "");
}

static void parser_init(struct parser *p, const struct option_set *sets, size_t n_sets,
			bool leading)
{
	memset(p, 0, sizeof(*p));
	/* ':' tells a missing argument from an unknown option; '+' stops at an operand */
	strcpy(p->shorts, leading ? "+:" : ":");
	for (size_t i = 0; i < n_sets; i++)
		for (const struct option_spec *s = sets[i].specs; s && s->name; s++)
			parser_add(p, s, sets[i].base);
	(void)ARRAY_ADD(p->longs, p->n_longs); /* the terminator */
}

static int find_index(const struct parser *p, int code)
{
	if (code >= LONG_BASE)
		return code - LONG_BASE;
	for (size_t i = 0; i < p->n_specs; i++)
		if (p->specs[i]->letter == code)
			return (int)i;
	return -1;
}

static bool ambiguous(const struct parser *p, const char *typed)
{
	const char *name = typed + strspn(typed, "-");
	size_t len = strcspn(name, "="), n = 0;

	for (size_t i = 0; i < p->n_specs; i++)
		n += strncmp(p->specs[i]->name, name, len) == 0;
	return n > 1;
}

/* The long option that who typed "--name" or "--name=value" may have meant; NULL for none. */
static const char *nearest(const struct parser *p, const char *typed)
{
	_cleanup_free_ char *name = xstrdup(typed + strspn(typed, "-"));
	const char *best = NULL;
	size_t least = NEAREST_NONE;

	name[strcspn(name, "=")] = '\0';
	for (size_t i = 0; i < p->n_specs; i++)
		best = nearest_of(name, best, p->specs[i]->name, &least);
	return best;
}

/* Words for the option that getopt_long has just refused. */
static int refused(const struct parser *p, int code, char *const argv[], struct error *e)
{
	const char *typed = argv[optind > 0 ? optind - 1 : 0];
	int index = optopt ? find_index(p, optopt) : -1;
	const char *near;

	if (code == ':' && index >= 0)
		return error_set(e, STATUS_USAGE, 0, NULL, "option --%s needs an argument %s",
				 p->specs[index]->name, p->specs[index]->metavar);
	if (index >= 0)
		return error_set(e, STATUS_USAGE, 0, NULL, "option --%s takes no argument",
				 p->specs[index]->name);
	if (optopt)
		return error_set(e, STATUS_USAGE, 0, NULL, "unknown option -%c", optopt);
	if (ambiguous(p, typed))
		return error_set(e, STATUS_USAGE, 0, NULL, "ambiguous option %s", typed);
	near = nearest(p, typed);
	return error_set(e, STATUS_USAGE, 0, NULL, "unknown option %s%s%s%s", typed,
			 near ? "; did you mean --" : "", near ? near : "", near ? "?" : "");
}

static void store(const struct option_spec *spec, void *base, const char *arg)
{
	char *at = (char *)base + spec->offset;

	switch (spec->type) {
	case OPTION_FLAG:
		*(bool *)at = true;
		break;
	case OPTION_COUNT:
		++*(int *)at;
		break;
	case OPTION_CHOICE:
		*(int *)at = (int)spec->value;
		break;
	case OPTION_STRING:
		*(const char **)at = arg;
		break;
	}
}

int options_parse(const struct option_set *sets, size_t n_sets, int argc, char **argv,
		  bool leading, struct error *e)
{
	struct parser p;
	int code, rc = 0;

	parser_init(&p, sets, n_sets, leading);
	opterr = 0;
	optind = 0; /* glibc: start afresh, and look at '+' again */
	while (!rc && (code = getopt_long(argc, argv, p.shorts, p.longs, NULL)) != -1) {
		int index = code == '?' || code == ':' ? -1 : find_index(&p, code);

		if (index < 0)
			rc = refused(&p, code, argv, e);
		else
			store(p.specs[index], p.bases[index], optarg);
	}
	parser_free(&p);
	return rc ? rc : optind;
}

void options_help(FILE *f, const struct option_spec *specs)
{
	for (const struct option_spec *s = specs; s && s->name; s++) {
		char left[64];

		snprintf(left, sizeof(left), "%c%c%c --%s%s%s", s->letter ? '-' : ' ',
			 s->letter ? s->letter : ' ', s->letter ? ',' : ' ', s->name,
			 s->metavar ? " " : "", s->metavar ? s->metavar : "");
		fprintf(f, "  %-22s %s\n", left, s->help);
	}
}

void options_dump(FILE *f, const char *command, const struct option_spec *specs)
{
	for (const struct option_spec *s = specs; s && s->name; s++) {
		const char *metavar = s->metavar ? s->metavar : "-";

		fprintf(f, "%s\t--%s\t%s\n", command, s->name, metavar);
		if (s->letter)
			fprintf(f, "%s\t-%c\t%s\n", command, s->letter, metavar);
	}
}

int parse_uint(const char *s, uint64_t max, uint64_t *value)
{
	return proc_number(s, strlen(s), max, value) ? 0 : -1;
}
