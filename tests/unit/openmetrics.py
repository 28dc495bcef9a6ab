#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Hold expositions to OpenMetrics: openmetrics.py FILE... Each is read by the parsers of Prometheus's client.

Prints one line for each sample: NAME{LABEL=VALUE,...} NUMBER. The strict parser takes no unknown units, no
counter without _total, no family twice. The old text format has to take it too: it is what
node_exporter reads.
"""
import sys

from prometheus_client import parser as text
from prometheus_client.openmetrics import parser as strict


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8", newline="") as file:
            exposition = file.read()
        # The parser drops the second of two alike, so it is looked for before.
        names = [line.rsplit(" ", 1)[0] for line in exposition.split("\n") if line and line[0] != "#"]
        if len(names) != len(set(names)):
            sys.exit("a series twice")
        seen = set()
        for family in strict.text_string_to_metric_families(exposition):
            if not family.documentation:
                sys.exit(f"{family.name} has no help")
            for sample in family.samples:
                labels = ",".join(f"{k}={v!r}" for k, v in sorted(sample.labels.items()))
                series = f"{sample.name}{{{labels}}}"
                seen.add(series)
                print(series, sample.value)
        old = {s.name for f in text.text_string_to_metric_families(exposition) for s in f.samples}
        if old != {series.split("{")[0] for series in seen}:
            sys.exit(f"the text format's parser reads otherwise: {sorted(old)}")


main()
