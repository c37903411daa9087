#!/usr/bin/env python3
"""A command's output in a page, beside its output today. Run as a program, tries itself."""
import difflib
import doctest
import itertools
import re

# A time, a rate of speed or an amount of memory, with the blanks before it.
VARIES = re.compile(r" *(?<![\w.])\d[\d,]*(?:\.\d+)?k? ?(?:(?:s|ms|µs|tok/s|GFLOP/s|MB)(?![\w/])|:\d\d(?= left))")
NUMBER = re.compile(r"[-−+]?\d[\d,]*(?:\.\d+)?(?:e[-−+]?\d+)?")


def numbered(line):
    """A line without its times, and without any numbers."""
    line = VARIES.sub(" #", line.rstrip())
    return line, "".join(NUMBER.sub("#", line).split())


def same(expected, printed, part=0):
    """part 1: but for all numbers."""
    if expected.rstrip().endswith("..."):
        wanted = numbered(expected.rstrip()[:-3])[part]
        return numbered(printed)[part].startswith(wanted)
    return numbered(expected)[part] == numbered(printed)[part]


def differs(expected, printed):
    """The first line of the page that is not where it should be, or None.

    >>> differs(["a 1  2.0 s\\n", "...\\n", "d ...\\n"], ["a 1  13.5 s\\n", "b\\n", "d 4\\n"])
    >>> print(differs(["a 1\\n"], ["a 2\\n"]))
    on the page: a 1
            printed: a 2
    >>> print(differs(["...\\n", "c\\n"], ["a\\n", "b\\n"]))
    on the page: c
            printed: (nothing like it)
    >>> differs(["a\\n"], ["a\\n", "b\\n"])
    'not on the page: b'
    """
    at, skip = 0, False
    for line in expected:
        if line.strip() == "...":
            skip = True
            continue
        while skip and at < len(printed) and not same(line, printed[at]):
            at += 1
        if at == len(printed) or not same(line, printed[at]):
            last = printed[at] if at < len(printed) else "(nothing more)" if not skip else "(nothing like it)"
            return f"on the page: {line.rstrip()}\n        printed: {last.rstrip()}"
        at, skip = at + 1, False
    return None if skip or at == len(printed) else f"not on the page: {printed[at].rstrip()}"


def lines_of(text):
    """Its lines, each with the empty ones after it."""
    return re.findall(r"[^\n]*\S[^\n]*\n?(?:[^\S\n]*\n)*", text)


def reprinted(expected, printed):
    """The page's lines as they are printed now: between two `...` from the one like the first to that like the last.

    >>> reprinted(["a 1\\n", "...\\n", "step 20 of 9 ...\\n", "c 3\\n"],
    ...           ["a 2\\n", "b\\n", "step 10 of 8 as\\n", "step 20 of 8 as\\n", "c 4\\n", "d\\n"])
    'a 2\\n...\\nstep 20 of 8 ...\\nc 4\\nd\\n'
    >>> reprinted([], ["a\\n"])
    'a\\n'
    """
    parts, text, at = [[]], "", 0
    for line in expected:
        if line.strip() == "...":
            parts.append([])
        else:
            parts[-1].append(line)

    def place(line, start, otherwise):
        alike = [k for k in range(start, len(printed)) if same(line, printed[k], 1)]
        return max(alike, key=lambda k: difflib.SequenceMatcher(None, line, printed[k]).ratio(), default=otherwise)

    for i, part in enumerate(parts):
        text = text.rstrip("\n") + "\n...\n" if text else "...\n" if i else ""
        if part or len(parts) == 1:
            first = place(part[0], at, at) if i else 0
            at = len(printed) if i == len(parts) - 1 else place(part[-1], first, first + len(part) - 1) + 1
            for line, old in itertools.zip_longest(printed[first:at], part[:at - first], fillvalue=""):
                words = old.rstrip()[:-3].count(" ") if old.rstrip().endswith("...") else None
                text += line if words is None else " ".join(line.split(" ")[:words]) + " ...\n"
    return text


def as_markdown(table):
    """Cells that are apart by two blanks or more.

    >>> print(as_markdown("  measured    seed 1\\n  1. a |b|       0.5  holds\\n"), end="")
    | measured | seed 1 | |
    |---|---|---|
    | 1. a \\|b\\| | 0.5 | holds |
    """
    rows = [re.split(r"\s{2,}", row.strip().replace("|", "\\|")) for row in table.splitlines()]
    rows = [row + [""] * (max(map(len, rows)) - len(row)) for row in rows]
    head, *others = ("| " + " | ".join(row) + " |\n" for row in rows)
    return (head + "|---" * len(rows[0]) + "|\n" + "".join(others)).replace("|  |", "| |")


if __name__ == "__main__":
    failed, tried = doctest.testmod()
    print(f"{tried - failed} passed, {failed} failed")
    raise SystemExit(bool(failed) or not tried)
