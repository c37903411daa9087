#!/usr/bin/env python3
"""The tests that a pattern means.

    matching.py BUILD PATTERN

PATTERN is a regular expression, case ignored. Prints what to run: `test NAME` for tests of that name, or,
where no test has it, `case PROGRAM NAME` for each case of a Catch2 program whose name or tags match; and
`needs TARGET` for what must be built first: a file relative to BUILD, or all for a test of the build folder itself.
"""
import json
import os
import re
import subprocess
import sys

build, pattern = sys.argv[1], re.compile(sys.argv[2], re.IGNORECASE)
CASE = re.compile(r'TEST_CASE\(\s*"((?:[^"\\]|\\.)*)"\s*(?:,\s*"([^"]*)")?')


def ask(what):
    return json.loads(subprocess.check_output(["meson", "introspect", what, build]))


found = []
targets = {t["id"]: t for t in ask("--targets")}
file_of = {key: os.path.relpath(t["filename"][0], build) for key, t in targets.items()}
for test in ask("--tests"):
    if pattern.search(test["name"]):
        found += ["needs " + file_of[key] for key in test["depends"]] + ["test " + test["name"]]
        found += ["needs all"] if os.path.abspath(build) in test["cmd"] else []
if not found:
    for key, target in targets.items():
        groups = target["target_sources"] if target["name"].startswith("test_") else []
        sources = {s for g in groups for kind in ("sources", "unity_sources") for s in g.get(kind, [])}
        for source in sorted(s for s in sources if os.path.exists(s)):
            with open(source, encoding="utf-8") as text:
                for case, tags in CASE.findall(text.read()):
                    if pattern.search(case) or pattern.search(tags):
                        found += ["needs " + file_of[key], f"case {file_of[key]} {case}"]
print("\n".join(dict.fromkeys(found)))
