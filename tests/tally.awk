# SPDX-License-Identifier: GPL-2.0-or-later
# Reads the output of test programs between "# begin NAME" and "# end NAME STATUS [SECONDS]" (TAP, with any
# number of plans), shows it under a label, and writes "passed failed skipped" and what failed to files:
#   awk -v label=7.3 -v expect="a b" -v counts=FILE -v failures=FILE -f tests/tally.awk
# A program that never begins, does not end, or does not keep its plan, is a failure of its own. What failed
# stands there with the first lines of what the test said of it.
function show(line) { print "[" label "] " line; fflush() }
function failure(what) { failed++; print "[" label "] " what >>failures; show("FAILED " what) }
function finish(status) {
	if (!has_plan || seen != plan)
		failure(name ": ended early: " seen + 0 " of " (has_plan ? plan : "an unknown number of") " tests ran" status)
	else if (status != "" && !bad)
		failure(name ": its tests passed, but it ended with" status)
	name = ""
}
BEGIN { split(expect, names, " "); for (i in names) missing[names[i]] }
/^# begin / {
	if (name != "") finish("")
	name = $3
	plan = seen = bad = has_plan = reasons = 0
	delete missing[name]
	next
}
/^# end / && $3 == name {
	if ($5 != "") show("# " name " took " $5 " s")
	finish($4 == 0 ? "" : " exit status " $4)
	next
}
name == "" { if ($0 != "") show($0); next }
/^[ \t]*1\.\.[0-9]+/ { has_plan = 1; sub(/^[ \t]*1\.\./, ""); plan += $1; if (/# *[Ss][Kk][Ii][Pp]/ && $1 == 0) { skipped++; show(name ": " $0) } next }
/^not ok/ { seen++; bad++; sub(/^not ok *[0-9]* *(- *)?/, ""); failure(name ": " $0); reasons = 6; next }
/^ok/ {
	reasons = 0
	seen++
	if (/# *[Ss][Kk][Ii][Pp] *$/) failure(name ": a skip without a reason: " $0)
	else if (/# *[Ss][Kk][Ii][Pp]/) skipped++
	else passed++
	sub(/^ok *[0-9]* *(- *)?/, "")
	show("ok " name ": " $0)
	next
}
$0 != "" { show("  " $0); if (reasons-- > 0) print "  " $0 >>failures }
END {
	if (name != "") finish("")
	for (n in missing) failure(n ": did not run")
	print passed + 0, failed + 0, skipped + 0 >counts
}
