#!/usr/bin/env python3
"""A session of a program that reads commands, as an SVG that plays.

    moving.py FILE COMMAND... -- PROGRAM...      moving.py step.svg continue formula -- glim step --fresh

Each command is typed, its answer appears, older lines scroll away, and after the last one the session begins again. The
answers are those of the program, which runs once for each beginning of the session. SMIL moves the lines, so that the
picture plays in a page that runs no scripts, and shows its end where nothing plays.
"""
import pathlib
import shlex
import subprocess
import sys
import unicodedata
from html import escape

COLUMNS, ROWS, LINE, LETTER, MARGIN = 104, 20, 19, 8.0, 14  # the extents of a terminal, in letters and pixels
KEY, ANSWER, READ = 0.05, 0.5, 0.55  # seconds: a key, an answer, each of its lines


def width(text):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def cut(line):
    if width(line) <= COLUMNS:
        return line
    while width(line) > COLUMNS - 2:
        line = line[:-1]
    return line + " …"


def session(commands, program):
    """(what is typed, the lines of the answer) of each command, and of the beginning."""
    before = ""
    for k in range(len(commands) + 1):
        run = subprocess.run(program, input="".join(c + "\n" for c in commands[:k]), capture_output=True, text=True, encoding="utf-8")
        if run.returncode:
            sys.exit(f"moving.py: {' '.join(program)}: {run.stderr.strip()}")
        if not run.stdout.startswith(before):
            sys.exit(f"moving.py: {' '.join(program)} answers otherwise when more commands follow")
        yield (shlex.join(program) if k == 0 else commands[k - 1]), [cut(x) for x in run.stdout[len(before):].splitlines()]
        before = run.stdout


def shown_at(seconds, total):
    """Hidden until then. Where nothing plays, it is shown."""
    share = f"{seconds / total:.4f}"
    return f'<animate attributeName="opacity" dur="{total:.2f}s" repeatCount="indefinite" calcMode="discrete" keyTimes="0;{share}" values="0;1"/>'


def picture(steps, label):
    seconds, lines, scrolls = 0.3, [], [(0, 0)]
    for k, (typed, answer) in enumerate(steps):
        lines.append([("$ " if k == 0 else "(glim) ", seconds, "prompt")])
        for key in typed:
            seconds += KEY
            lines[-1].append((key, seconds, "typed"))
        seconds += ANSWER
        lines += [[(line, seconds, "here" if line.startswith("=>") else "answer")] for line in answer]
        scrolls.append((seconds, max(0, len(lines) - ROWS)))
        seconds += READ * len(answer)
    total = seconds + 2
    high, wide = ROWS * LINE + 2 * MARGIN, round(COLUMNS * LETTER + 2 * MARGIN)
    rows = []
    for k, line in enumerate(lines):
        column, spans = 0, []
        for text, begin, kind in line:
            spans.append(f'<text class="{kind}" x="{MARGIN + column * LETTER:g}" y="{MARGIN + (k + 1) * LINE - 5}">{escape(text)}{shown_at(begin, total)}</text>')
            column += width(text)
        rows += spans
    times, rests = ";".join(f"{begin / total:.4f}" for begin, _ in scrolls), ";".join(f"0 {-lines_up * LINE}" for _, lines_up in scrolls)
    end = -scrolls[-1][1] * LINE
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" role="img" aria-label="{escape(label)}">
<style>text {{ font: 13.3px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; white-space: pre; fill: #d8dee9 }}
.prompt {{ fill: #7f8ea3 }} .typed {{ fill: #fff; font-weight: bold }} .here {{ fill: #8fd18f }}</style>
<rect width="{wide}" height="{high}" rx="8" fill="#1b2028"/>
<svg y="{MARGIN}" width="{wide}" height="{ROWS * LINE}" viewBox="0 {MARGIN} {wide} {ROWS * LINE}"><g transform="translate(0 {end})">
<animateTransform attributeName="transform" type="translate" dur="{total:.2f}s" repeatCount="indefinite" calcMode="discrete" keyTimes="{times}" values="{rests}"/>
{chr(10).join(rows)}
</g></svg>
</svg>
"""


def main(arguments):
    if "--" not in arguments[1:]:
        sys.exit(__doc__.split("\n\n")[1].strip())
    middle = arguments.index("--")
    program = arguments[middle + 1:]
    steps = list(session(arguments[1:middle], program))
    pathlib.Path(arguments[0]).write_text(picture(steps, " ".join(program)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
