#!/usr/bin/env python3
"""Prints the lines of code in each folder beside the limits of CONTRIBUTING.md: lines.py ROOT [--mend]

A folder over its limit is an error. So is a limit more than 1 % above its folder: limits only fall. --mend lowers
such limits, and never raises one. A commit that raises a limit has a line "Price: FEATURE, LINES" in its message; where
ROOT is a git repository, the commits since the last tag are checked, and the five largest rises are printed.
"""
import pathlib
import re
import subprocess
import sys

ROW = re.compile(r"^\| (`[\w/ `]+`) \| ([\w+, ]+) \| ([\d,]+) \|$", re.M)
ENDINGS = {"C++": (".cpp", ".hpp"), "Python": (".py",), "JavaScript": (".js",), "scripts": (".sh", "")}
root = pathlib.Path(sys.argv[1])
page = root / "CONTRIBUTING.md"
text = page.read_text(encoding="utf-8")
bad = []


def is_code(file, endings):
    if file.suffix not in endings or "__pycache__" in file.parts:
        return False
    if file.suffix:
        return True
    with open(file, "rb") as f:
        return f.read(2) == b"#!"


def lines_in(folders, languages):
    endings = [e for language in languages.split(", ") for e in ENDINGS[language]]
    sources = [s for f in folders for s in (root / f).rglob("*") if s.is_file() and is_code(s, endings)]
    return sum(s.read_bytes().count(b"\n") for s in sources), len(sources)


def checked(row):
    names, languages, limit = row.group(1), row.group(2), int(row.group(3).replace(",", ""))
    lines, files = lines_in(re.findall(r"[\w/]+", names), languages)
    word = ""
    if lines > limit:
        word = f"{lines - limit} lines too many: take some out, or raise the limit in a commit with a Price"
    elif lines < limit * 0.99:
        word = f"the limit is too high: tests/lines.py . --mend lowers it to {lines:,}"
        limit = lines if "--mend" in sys.argv else limit
    print(f"{names:<42} {languages:<19} {files:>5} files {lines:>7,} lines  limit {limit:>7,}  {word}".rstrip())
    if word and not (lines <= limit and "--mend" in sys.argv):
        bad.append(names)
    return f"| {names} | {languages} | {limit:,} |"


def git(*words):
    done = subprocess.run(["git", "-C", root, *words], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else ""


def limits(commit):
    return {row[:2]: int(row[2].replace(",", "")) for row in ROW.findall(git("show", f"{commit}:CONTRIBUTING.md"))}


def rises():
    """(lines, folders, languages, commit) of each limit that a commit raised since the last tag."""
    since = git("describe", "--tags", "--abbrev=0").strip()
    for commit in git("log", "--format=%h", f"{since}..HEAD" if since else "HEAD", "--", "CONTRIBUTING.md").split():
        before, after = limits(f"{commit}~"), limits(commit)
        for row in after.keys() & before.keys():
            if after[row] > before[row]:
                yield after[row] - before[row], *row, commit


mended = ROW.sub(checked, text)
if mended != text:
    page.write_text(mended, encoding="utf-8")
if not ROW.search(text):
    bad.append("no table of limits in CONTRIBUTING.md")
raised = sorted(rises(), reverse=True)
for lines, names, languages, commit in raised[:5]:
    print(f"raised by {lines:,} in {commit}: {names} {languages}: {git('log', '-1', '--format=%s', commit).strip()}")
for commit in {row[-1] for row in raised}:
    if not re.search(r"^Price: .+", git("log", "-1", "--format=%B", commit), re.M):
        print(f"{commit} raises a limit without a line 'Price: FEATURE, LINES' in its message")
        bad.append(commit)
sys.exit(bool(bad))
