#!/usr/bin/env python3
"""Prints the lines of C++ in each folder beside the limits of CONTRIBUTING.md: lines.py ROOT [--mend]

A folder over its limit is an error. So is a limit more than 1 % above its folder: limits only fall. --mend lowers
such limits, and never raises one.
"""
import pathlib
import re
import sys

ROW = re.compile(r"^\| (`[\w/ `]+`) \| ([\d,]+) \|$", re.M)
root = pathlib.Path(sys.argv[1])
page = root / "CONTRIBUTING.md"
text = page.read_text(encoding="utf-8")
bad = []


def lines_in(folders):
    sources = [s for f in folders for end in ("cpp", "hpp") for s in (root / f).rglob("*." + end)]
    return sum(s.read_bytes().count(b"\n") for s in sources), len(sources)


def checked(row):
    names, limit = row.group(1), int(row.group(2).replace(",", ""))
    lines, files = lines_in(re.findall(r"[\w/]+", names))
    word = ""
    if lines > limit:
        word = f"{lines - limit} lines too many: take some out"
    elif lines < limit * 0.99:
        word = f"the limit is too high: tests/lines.py . --mend lowers it to {lines:,}"
        limit = lines if "--mend" in sys.argv else limit
    print(f"{names:<42} {files:>5} files {lines:>7,} lines  limit {limit:>7,}  {word}".rstrip())
    if word and not (lines <= limit and "--mend" in sys.argv):
        bad.append(names)
    return f"| {names} | {limit:,} |"


mended = ROW.sub(checked, text)
if mended != text:
    page.write_text(mended, encoding="utf-8")
if not ROW.search(text):
    bad.append("no table of limits in CONTRIBUTING.md")
sys.exit(bool(bad))
