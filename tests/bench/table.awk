# SPDX-License-Identifier: GPL-2.0-or-later
# The one table of "make bench". A row: where, what, unit, p10, median, p90, ratio, against what, goal
# ("<=1.3" or ">=5", of the ratio), separated by tabs; empty where it has none. Fails when a goal is missed.
BEGIN {
	FS = "\t"
	split("where|what|unit|p10|median|p90|ratio|of|goal", head, "|")
	for (i = 1; i <= 9; i++) cell[0, i] = head[i]
}
NF != 9 { print "table.awk: not a row: " $0 > "/dev/stderr"; bad = 1; next }
{
	n++
	for (i = 1; i <= 9; i++) cell[n, i] = $i == "" ? "-" : $i
	if ($7 != "") cell[n, 7] = $7 "x"
	if ($9 == "") next
	limit = substr($9, 3) + 0
	met = $7 != "" && ($9 ~ /^<=/ ? $7 + 0 <= limit : $7 + 0 >= limit)
	cell[n, 9] = $9 (met ? " met" : " MISSED")
	if (!met) bad = 1
}
END {
	for (r = 0; r <= n; r++) for (i = 1; i <= 9; i++)
		if (length(cell[r, i]) > width[i]) width[i] = length(cell[r, i])
	for (r = 0; r <= n; r++) {
		line = ""
		for (i = 1; i <= 9; i++)
			line = line sprintf(i >= 4 && i <= 7 ? "%" width[i] "s  " : "%-" width[i] "s  ", cell[r, i])
		sub(/ +$/, "", line)
		print line
	}
	if (!n) bad = 1
	exit bad
}
