#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Hold JSON documents on standard input to a schema: validate.py SCHEMA KIND...

One or more KINDs (state, changes, checks) name what the documents, in this order, must be; the
last counts for the rest. The schema allows unknown keys because it may grow; here a key that it
does not name is an error, so that none is printed and forgotten.
"""
import json
import sys

import jsonschema


def strict(node):
    """The schema with every object closed."""
    if isinstance(node, list):
        return [strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    closed = {key: strict(value) for key, value in node.items()}
    if node.get("type") == "object" and "properties" in node:
        closed["additionalProperties"] = False
    return closed


def no_duplicates(pairs):
    keys = [key for key, _ in pairs]
    if len(keys) != len(set(keys)):
        raise ValueError(f"duplicate key in {keys}")
    return dict(pairs)


def documents(text):
    decoder = json.JSONDecoder(object_pairs_hook=no_duplicates)
    at = 0
    while at < len(text):
        document, at = decoder.raw_decode(text, at)
        if text[at:at + 1] != "\n":
            raise ValueError("no newline after the document")
        at += 1
        yield document


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="ascii") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    schema = strict(schema)
    kinds = sys.argv[2:]
    count = 0
    for document in documents(sys.stdin.buffer.read().decode("ascii")):
        kind = kinds[min(count, len(kinds) - 1)]
        validator = jsonschema.Draft202012Validator(
            {"$defs": schema["$defs"], "$ref": f"#/$defs/{kind}"})
        count += 1
        for error in validator.iter_errors(document):
            sys.exit(f"document {count}: {error.json_path}: {error.message[:300]}")
    if count == 0:
        sys.exit("no document")
    print(f"{count} documents valid")


main()
