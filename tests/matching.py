#!/usr/bin/env python3
"""What of the tests a pattern means.

    matching.py BUILD PATTERN

PATTERN is a regular expression, case ignored. Prints a line for each thing to run: `test NAME` for tests of
that name, or, where no test has it, `program FILE CASE` for each case of a Catch2 program.
"""
import json
import re
import subprocess
import sys

build, pattern = sys.argv[1], re.compile(sys.argv[2], re.IGNORECASE)


def ask(what):
    return json.loads(subprocess.check_output(["meson", "introspect", what, build]))


names = [t["name"] for t in ask("--tests") if pattern.search(t["name"])]
for name in names:
    print("test", name)
if not names:
    for target in ask("--targets"):
        if not target["name"].startswith("test_"):
            continue
        sources = [s for group in target["target_sources"] for s in group.get("sources", [])]
        sources += [s for group in target["target_sources"] for s in group.get("unity_sources", [])]
        for source in sources:
            try:
                text = open(source, encoding="utf-8").read()
            except OSError:  # made by the build
                continue
            for case, tags in re.findall(r'TEST_CASE\(\s*"((?:[^"\\]|\\.)*)"\s*(?:,\s*"([^"]*)")?', text):
                if pattern.search(case) or pattern.search(tags):
                    print("program", target["filename"][0], case)
