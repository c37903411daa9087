#!/usr/bin/env python3
"""examples.py ROOT MAKE_IMAGES PROGRAM...: each program of tools/examples is on their page, short, and says in
one line what is wrong with its arguments. What the page says that they print, tests/readme/commands.py compares."""
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
failed = 0


def check(name, problem):
    global failed
    if problem:
        failed += 1
        print(f"FAIL {name}: {problem}")


def run(command):
    name, *arguments = shlex.split(command)
    return subprocess.run([programs[name], *arguments], capture_output=True, text=True, errors="replace")


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    subprocess.run([make_images, "."], check=True)
    shutil.copy("images.idx", "train-images-idx3-ubyte")
    shutil.copy("labels.idx", "train-labels-idx1-ubyte")
    shutil.copy(os.path.join(root, "LICENSE"), ".")
    shown = set(re.findall(r"^\$ build/tools/examples/(\w+)", (folder / "examples.md").read_text(), re.M))
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
