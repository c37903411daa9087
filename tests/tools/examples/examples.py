#!/usr/bin/env python3
"""examples.py ROOT MAKE_IMAGES PROGRAM...: the commands of tools/examples/examples.md print what the page says.

Numbers differ from CPU to CPU: any stands for any other, and those that matter are checked by themselves. A line
`...` stands for lines that the page leaves out.
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

root, make_images, *programs = [os.path.abspath(a) for a in sys.argv[1:] if not a.startswith("~")]
folder = pathlib.Path(root, "tools", "examples")
programs = {os.path.basename(p): p for p in programs}
NUMBER = r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
failed = 0


def check(name, problem):
    global failed
    if problem:
        failed += 1
        print(f"FAIL {name}: {problem}")


def plain(line):
    return re.sub(NUMBER, "#", " ".join(line.split()))


def pattern_of(lines):
    return "".join(r"(?:.*\n)*?" if l.strip() == "..." else re.escape(plain(l)) + r"\n" for l in lines)


def blocks(page):
    """(command, lines that it prints) of the page's indented blocks."""
    for block in re.findall(r"^(?:    .*\n)+", page, re.M):
        command, *lines = [line[4:] for line in block.splitlines()]
        if command.startswith("$ "):
            yield command[2:], lines


def run(command):
    name, *arguments = shlex.split(command)
    return subprocess.run([programs[name], *arguments], capture_output=True, text=True, errors="replace")


def last_numbers(text, wanted):
    return [float(n) for n in re.findall(wanted, text)]


FACTS = {
    "mlp": lambda out: last_numbers(out, rf"right ({NUMBER})")[-1] > 0.95,
    "fine_tune": lambda out: min(last_numbers(out, rf": ({NUMBER}) of the last")) > 0.85,
    "translate": lambda out: len(set(re.findall(r"(?:->|alone:) (.+)", out))) == 1,
    "gpt": lambda out: last_numbers(out, rf"loss ({NUMBER})")[-1] < 0.5,
}

with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    subprocess.run([make_images, "."], check=True)
    shutil.copy("images.idx", "train-images-idx3-ubyte")
    shutil.copy("labels.idx", "train-labels-idx1-ubyte")
    shutil.copy(os.path.join(root, "LICENSE"), ".")
    shown = set()
    for command, lines in blocks((folder / "examples.md").read_text()):
        name = command.split()[0]
        shown.add(name)
        done = run(command)
        printed = "".join(plain(l) + "\n" for l in done.stdout.splitlines() if l.strip())
        if done.returncode:
            check(command, f"status {done.returncode}: {done.stderr}")
        elif not re.fullmatch(pattern_of([l for l in lines if l.strip()]), printed):
            check(command, "prints\n" + done.stdout)
        elif name in FACTS:
            check(command, "" if FACTS[name](done.stdout) else "does worse than it should:\n" + done.stdout)
    for name in programs:
        check(name, "" if name in shown else "is not on the page")
    for source in folder.glob("*.cpp"):
        text = source.read_text()
        check(source.name, "" if len(text.splitlines()) < 60 else "has 60 lines or more")
        check(source.name, "" if f"\n//   {source.stem}" in text else "does not say how to run it")
    for wrong in ["mlp", "mlp nowhere nowhere", "mlp LICENSE LICENSE", "mlp train-images-idx3-ubyte five.idx",
                  "gpt", "gpt nowhere", "gpt .", "translate", "translate nowhere 3"]:
        done = run(wrong)
        name = wrong.split()[0]
        check(wrong, "" if done.returncode == 1 and done.stderr.startswith(name + ": ")
              else f"status {done.returncode}: {done.stderr}")

print("the examples do what their page says" if not failed else f"{failed} failed")
sys.exit(failed > 0)
