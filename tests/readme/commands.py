#!/usr/bin/env python3
"""Types the commands of the pages: commands.py GLIM [PAGE...]

Every ```sh and ```console block of a page is run, in the order of the page, in a scratch folder that has what a
reader has: the source tree, a model in build/demo-model, and mine.en with mine.de.

- sh: each command must end with status 0. Training takes a few steps only.
- sh setup: not run (it installs or builds); its scripts must exist.
- console: `$ COMMAND` is run as it stands; its lines `(glim) ...` are its standard input. The lines below must be
  what it prints: `...` stands for any lines, at the end of a line for its rest. A number may differ by 2 %.
- console numbers vary: the same, where numbers depend on the machine (training, rounding): any number will do.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ["README.md", "models/ten_minutes.md"]
BLOCK = re.compile(r"^```(sh|console)( [\w ]+)?\n(.*?)^```$", re.M | re.S)
NUMBER = re.compile(r"(?<![\w.])[-−+]?\d[\d,]*(?:\.\d+)?(?:e[-−+]?\d+)?(?![\w])")
FEW = ["--max-steps", "20", "--warmup", "5"]  # of a sh block's training
WRAPPER = """#!/bin/bash
[ "$1" != train ] || [ -z "$FEW_STEPS" ] || set -- "$@" $FEW_STEPS
exec {glim} "$@"
"""


def run(command, given="", few=False):
    env = dict(os.environ, PATH=f"{os.getcwd()}/bin:{os.environ['PATH']}", FEW_STEPS=" ".join(FEW) if few else "")
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], input=given, env=env, text=True,
                          capture_output=True, timeout=600)
    return done.returncode, done.stdout, done.stderr


def same(expected, printed, vary):
    if expected.endswith("..."):
        expected, printed = expected[:-3], printed[:len(expected) + 20]
        numbers = len(NUMBER.findall(expected))
        skeleton = "".join(NUMBER.sub("#", expected).split())
        return "".join(NUMBER.sub("#", printed).split()).startswith(skeleton) and (
            vary or close(expected, printed, numbers))
    if "".join(NUMBER.sub("#", expected).split()) != "".join(NUMBER.sub("#", printed).split()):
        return False
    return vary or close(expected, printed, None)


def close(expected, printed, numbers):
    def values(line):
        return [float(n.replace("−", "-").replace(",", "")) for n in NUMBER.findall(line)][:numbers]

    pairs = zip(values(expected), values(printed))
    return all(abs(a - b) <= 0.02 * max(abs(a), abs(b)) + 1e-9 for a, b in pairs)


def missing(expected, printed, vary):
    """The first expected line that is not where it should be, or None."""
    at, skip = 0, False
    for line in expected:
        if line.strip() == "...":
            skip = True
            continue
        while skip and at < len(printed) and not same(line, printed[at], vary):
            at += 1
        if at == len(printed) or not same(line, printed[at], vary):
            return f"expected: {line}\n   printed: {printed[at] if at < len(printed) else '(nothing more)'}"
        at, skip = at + 1, False
    if not skip and any(line.strip() for line in printed[at:]):
        return f"not on the page: {printed[at]}"
    return None


def shell_block(text):
    for command in re.sub(r"\\\n", " ", text).splitlines():
        if command.strip():
            status, _, errors = run(command, few=True)
            yield command, f"status {status}: {errors.strip()[-300:]}" if status else None


def console_block(text, vary):
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, rest = part.partition("\n")
        lines = rest.splitlines()
        given = "".join(line[len("(glim) "):] + "\n" for line in lines if line.startswith("(glim) "))
        expected = [line for line in lines if line.strip() and not line.startswith("(glim) ")]
        status, printed, errors = run(command, given)
        problem = f"status {status}: {errors.strip()[-300:]}" if status else missing(
            expected, [line for line in printed.splitlines() if line.strip()], vary)
        yield command, problem


def setup_block(text):
    for line in text.splitlines():
        for script in re.findall(r"\btools/\w+", line.partition("#")[0]):
            if script != "tools/glim" and not (ROOT / script).exists():
                yield line, f"{script} does not exist"
        yield line, None


def prepare(glim):
    for entry in ROOT.iterdir():
        if not entry.name.startswith((".", "build")):
            os.symlink(entry, entry.name)
    os.makedirs("build/tools")
    os.makedirs("bin")
    wrapper = pathlib.Path("bin/glim")
    wrapper.write_text(WRAPPER.format(glim=glim))
    wrapper.chmod(0o755)
    words = ["one", "two", "three", "four", "five"]
    with open("mine.en", "w") as english, open("mine.de", "w") as german:
        for i in range(100):
            chosen = [(i * k) % 5 for k in (1, 2, 3)]
            english.write(" ".join(words[c] for c in chosen) + "\n")
            german.write(" ".join(["eins", "zwei", "drei", "vier", "fünf"][c] for c in chosen) + "\n")
    return run("glim train --task phrasebook --out build/demo-model", few=True)


def main(glim, *pages):
    glim, passed, failed = os.path.abspath(glim), 0, 0
    scratch = tempfile.mkdtemp()
    os.chdir(scratch)
    try:
        status, _, errors = prepare(glim)
        if status:
            print(f"no model to begin with: {errors}")
            return True
        for page in pages or PAGES:
            for kind, tags, text in BLOCK.findall((ROOT / page).read_text()):
                block = (setup_block(text) if "setup" in tags else shell_block(text) if kind == "sh" else
                         console_block(text, "vary" in tags))
                for command, problem in block:
                    passed, failed = passed + (not problem), failed + bool(problem)
                    if problem:
                        print(f"FAIL {page}: {command}\n   {problem}")
    finally:
        shutil.rmtree(scratch)
    print(f"{passed} passed, {failed} failed")
    return bool(failed) or not passed


sys.exit(main(*sys.argv[1:]))
