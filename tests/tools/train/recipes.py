#!/usr/bin/env python3
"""recipes.py GLIM ROOT: the commands of the recipes' heads run on data made here. Each `glim train` is also read by
--show-config, and takes one step."""
import gzip
import os
import pathlib
import re
import shlex
import struct
import subprocess
import sys
import tempfile

GLIM, ROOT = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
RECIPES = sorted((ROOT / "tools/train/recipes").glob("*.toml"))
FILES = ("--images", "--labels", "--text")
passed = failed = 0


def write(option, name):
    """The file that an option names, with the format that the option reads."""
    path = pathlib.Path(name)
    words = "one two three four five six seven eight nine ten".split()
    lines = [" ".join(words[(i * k + k) % 10] for k in range(1, 6)) for i in range(60)]
    if option == "--images":
        path.write_bytes(gzip.compress(struct.pack(">4i", 2051, 10_000, 28, 28) + bytes(10_000 * 28 * 28), 1))
    elif option == "--labels":
        path.write_bytes(gzip.compress(struct.pack(">2i", 2049, 10_000) + bytes(i % 10 for i in range(10_000)), 1))
    elif option.endswith("labelled"):
        path.write_text("".join(f"{line}\t{i % 2}\n" for i, line in enumerate(lines)))
    elif option == "--text":
        path.write_text("ROMEO:\n" + "\n".join(lines * 5) + "\n")
    else:
        path.write_text("\n".join(lines) + "\n")


def commands(recipe):
    """The words of each command of its head, with lines that end in a backslash joined."""
    head = "".join(line[1:].strip() + "\n" for line in recipe.read_text().splitlines() if line.startswith("#"))
    return [shlex.split(line) for line in re.sub(r"\\\n", " ", head).splitlines() if line.startswith("glim ")]


def run(recipe, words):
    global passed, failed
    done = subprocess.run([GLIM, *words], capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL)
    shown = " ".join(words)
    if done.returncode:
        failed += 1
        print(f"FAILED: {recipe.name}: glim {shown}\n{done.stderr[-500:]}")
    else:
        passed += 1
    return done.returncode == 0


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    (pathlib.Path(folder) / "tools").symlink_to(ROOT / "tools")
    for recipe in sorted(RECIPES, key=lambda r: "--teacher" in r.read_text()):  # a teacher is another recipe's model
        of_recipe = commands(recipe)
        if not any(f"tools/train/recipes/{recipe.name}" in words for words in of_recipe):
            failed += 1
            print(f"FAILED: {recipe.name}: its head has no `glim train --config tools/train/recipes/{recipe.name}`")
        for words in of_recipe:
            words = words[1:]
            for option, name in zip(words, words[1:]):
                if option in FILES or option.endswith(("source", "target", "labelled")):
                    write(option, name)
            if words[0] != "train":
                run(recipe, words)
            elif run(recipe, [*words, "--show-config"]):
                run(recipe, [*words, "--max-steps", "1", "--overwrite"])
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0 or passed < 2 * len(RECIPES))
