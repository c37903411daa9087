#!/usr/bin/env python3
"""Types the commands of the pages: commands.py BUILD [PAGE...] [--mend] [--slow] [--data FOLDER]

Each page of the tree (or PAGE) has a scratch folder with what a reader has: the tree, the build, and a few files of
their own (files_of_a_reader). Its blocks are typed there in turn, as printed; `glim` is found by name.

    ```sh         every command ends with status 0, and does not print empty lines alone
    ```console    `$ COMMAND`, its input `(glim) ...`, and its standard output, digit for digit. A line `...` is any
                  lines, `...` at the end of a line its rest. Only a time, a rate or an amount of memory may differ.
    ```python F   is written to the file F; so is ```perl F

Words after `sh` and `console` say when a block is typed:

    setup         never: it installs, builds or tests. Its scripts exist.
    needs X,Y     where X and Y are: programs, modules of Python, or in FOLDER
    slow          with --slow. Below the block the page says 'Last run: DATE', as pages.py sees to.

A picture with `<!-- made by: COMMAND -->` in the line below is the file of that name that COMMAND writes. A table below
`<!-- table: COMMAND -->` has the cells of the one that COMMAND prints with the same first word; below
`<!-- slow table: COMMAND; last run DATE -->` it is made with --slow, and so is a picture with `slow made by`.

A page in Chinese, NAME.zh.md, has the blocks of its English page (translations.py), so it is typed only when named.

--mend writes what is printed, pictures and dates into the pages; `pages.py . --mend` copies blocks to Chinese pages.
"""
import argparse
import concurrent.futures
import datetime
import gzip
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True  # not into the tree
from transcripts import as_markdown, differs, lines_of, reprinted

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(sh|console|python|perl)\b([^\n]*)\n(.*?)^```\n(?:Last run: [^\n]*\n)?", re.M | re.S)
PICTURE = re.compile(r"^!\[.*?\]\(([^)]*)\)\n<!-- (slow )?made by: (.*?) -->$", re.M | re.S)
TABLE = re.compile(r"^<!-- (slow )?table: ([^;>]*?)(?:; last run ([^>]*?))? -->\n((?:\|.*\n)+)", re.M)
INPUT = "(glim) "
FOLDERS = ["tensor", "autograd", "nn", "optim", "models", "tests", "tools"]
DEMO = "tools/demo"
# Trainings that several pages have, and the folder that each makes.
SHARED = {DEMO: "build/demo-model", "glim train --kind gpt --text README.md --out prose": "prose",
          "glim train --source mine.en --target mine.de --out translator": "translator"}


def files_of_a_reader(folder):
    """Sentences by rule: pairs, sentences with labels, and texts."""
    english, german = ["one", "two", "three", "four", "five"], ["eins", "zwei", "drei", "vier", "fünf"]
    chosen = [[(i * k + i // 25) % 5 for k in (1, 2, 3)] for i in range(300)]
    sentences, german = ([" ".join(words[c] for c in row) for row in chosen] for words in (english, german))
    good, bad = ["gripping", "funny", "warm", "clever"], ["dull", "slow", "flat", "noisy"]
    labelled = [f"a {words[i % 4]} , {words[i // 4 % 4]} {('film', 'story', 'plot')[i % 3]}\t{label}"
                for i in range(150) for label, words in enumerate((bad, good))]
    pairs = [",".join(p) for p in zip(sentences, german)]

    def write(name, lines):
        (folder / name).write_text("\n".join(lines) + "\n")

    for name, of in (("mine", slice(None)), ("train", slice(250)), ("valid", slice(250, None))):
        write(f"{name}.en", sentences[of])
        write(f"{name}.de", german[of])
    for name, of in (("train", slice(200)), ("dev", slice(200, 250)), ("test", slice(250, None))):
        write(f"{name}.tsv", labelled[of])
        write(f"{name}.conll", [line for sentence in sentences[of] for line in
                                [*(f"{word}\t{'B-THREE' if word == 'three' else 'O'}" for word in sentence.split()), ""]])
    write("mine.csv", ["source,target"] + pairs)
    with gzip.open(folder / "mine.tsv.gz", "wt") as file:
        file.write("english\tgerman\n" + "".join(p.replace(",", "\t") + "\n" for p in pairs))
    write("sentences.txt", [line.split("\t")[0] for line in labelled])


def furnish(folder, build):
    """The tree and the build, in which setting up and building do nothing."""
    for entry in ROOT.iterdir():
        if not entry.name.startswith((".", "build")) and entry.name != "tools":
            (folder / entry.name).symlink_to(entry)
    (folder / "tools").mkdir()
    for entry in (ROOT / "tools").iterdir():
        if entry.name in ("setup", "build"):
            (folder / "tools" / entry.name).write_text("#!/bin/sh\n")
            (folder / "tools" / entry.name).chmod(0o755)
        else:
            (folder / "tools" / entry.name).symlink_to(entry)
    (folder / "build").mkdir()
    for entry in build.iterdir():
        if entry.name not in ("demo-model", "look"):
            (folder / "build" / entry.name).symlink_to(entry)
    files_of_a_reader(folder)


def typed(folder, command, given="", seconds=900):
    env = {k: v for k, v in os.environ.items() if not k.startswith("GLIM_")}
    env["PATH"] = f"{folder}/build/tools:{env['PATH']}"
    env |= {f"OMPI_{name}": "1" for name in ("ALLOW_RUN_AS_ROOT", "ALLOW_RUN_AS_ROOT_CONFIRM",
                                             "MCA_rmaps_base_oversubscribe")}  # as in a container of two processors
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], input=given, env=env, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder, timeout=seconds)
    return done.returncode, done.stdout, done.stderr


class Once:
    """A command that several pages type, run once for all of them, when the first needs it."""

    def __init__(self, command, makes, build):
        self.command, self.makes, self.build, self.done = command, makes, build, None
        self.lock, self.folder = threading.Lock(), pathlib.Path(tempfile.mkdtemp())

    def __call__(self, folder):
        """What it said; the folder that it makes is copied into `folder`."""
        with self.lock:
            if not self.done:
                furnish(self.folder, self.build)
                self.done = typed(self.folder, self.command)
        if (self.folder / self.makes).exists() and not (folder / self.makes).exists():
            shutil.copytree(self.folder / self.makes, folder / self.makes)
        return self.done


class Page:
    def __init__(self, name, options, shared):
        self.name, self.options, self.shared = name, options, shared
        self.text = (ROOT / name).read_text()
        self.passed, self.failed, self.said, self.left, self.results, self.left_out = 0, 0, [], {}, {}, set()
        self.folder = pathlib.Path(tempfile.mkdtemp())
        furnish(self.folder, options.build)
        if "train-images-idx3-ubyte" in self.text:  # small ones, as MNIST's unpacked
            subprocess.run([options.build / "tests/tools/make_images", self.folder], check=True)
            for name, to in (("images.idx", "train-images-idx3-ubyte"), ("labels.idx", "train-labels-idx1-ubyte")):
                (self.folder / name).rename(self.folder / to)

    def run(self, command, given=""):
        words = command.partition("#")[0].strip()
        if words in self.shared:
            return self.shared[words](self.folder)
        if SHARED[DEMO] in command:
            self.shared[DEMO](self.folder)
        done = typed(self.folder, command, given, None if self.options.slow else 900)
        if not given:  # a block, tables and pictures may have one command in common
            self.results[words] = done
        return done

    def judge(self, command, problem):
        self.passed, self.failed = self.passed + (not problem), self.failed + bool(problem)
        if problem:
            self.said.append(f"FAIL {self.name}: {command.strip()}\n        {problem}")

    def not_here(self, words, commands):
        """Whether the block is left out; counted by its reason."""
        reason = "setup: it installs, builds or tests" if "setup" in words else None
        if "slow" in words and not self.options.slow:
            reason = "slow: --slow"
        for needed in words[words.index("needs") + 1].split(",") if "needs" in words else []:
            file = self.options.data / needed if self.options.data else pathlib.Path("/nothing")
            if file.exists():
                target = self.folder / needed
                if not target.exists():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.symlink_to(file)
            elif not shutil.which(needed) and ("." in needed or not importlib.util.find_spec(needed)):
                reason = f"needs {needed}"
        if reason:
            self.left_out.update(command.partition("\n")[0] for command in commands)
            self.left[reason] = self.left.get(reason, 0) + len(commands)
        return bool(reason)

    def shell(self, words, text):
        commands = [c for c in re.split(r"(?<!\\)\n(?! |done\b)", text) if c.strip() and not c.startswith("#")]
        if self.not_here(words, commands):
            for script in re.findall(r"^(?:tools|tests)/[\w./-]+", text, re.M) if "setup" in words else []:
                if not (ROOT / script).exists():
                    self.judge(script, "does not exist")
            return text
        for command in commands:
            status, printed, errors = self.run(command)
            empty = printed and not printed.strip()
            self.judge(command, f"status {status}: {errors.strip()[-400:]}" if status else
                       "prints empty lines alone" if empty else None)
        return text

    def console(self, words, text):
        parts = re.split(r"^\$ ", text, flags=re.M)
        if self.not_here(words, parts[1:]):
            return text
        new = parts[0]
        for part in parts[1:]:
            command, lines = re.match(r"((?:[^\n]*\\\n)*[^\n]*)\n(.*)", part, re.S).groups()
            asked = [line[len(INPUT):] for line in lines.splitlines() if line.startswith(INPUT)]
            before, new, problems = 0, new + f"$ {command}\n", []
            for k, shown in enumerate(re.split(rf"^{re.escape(INPUT)}.*\n", lines, flags=re.M)):
                status, printed, errors = self.run(command, "".join(a + "\n" for a in asked[:k]))
                printed, expected = lines_of(printed), lines_of(shown)
                here, before = printed[before:], len(printed)
                problem = f"status {status}: {errors.strip()[-400:]}" if status else differs(expected, here)
                if problem:
                    problems.append(problem)
                if problem and not status:
                    shown = reprinted(expected, here).rstrip("\n") + (re.search(r"\n*\Z", shown)[0] or "\n")
                new += (f"{INPUT}{asked[k - 1]}\n" if k else "") + shown
            self.judge(command, "\n        ".join(problems))
        return new

    def block(self, found):
        kind, words, text = found[1], found[2].split(), found[3]
        if kind in ("python", "perl"):
            for name in words:
                (self.folder / name).write_text(text)
            return found[0]
        typed, said = self.passed + self.failed, len(self.said)
        new = (self.console if kind == "console" else self.shell)(words, text)
        whole = found[0].replace(text, new)
        ended_well = not any(" status " in line for line in self.said[said:])
        if "slow" in words and self.passed + self.failed > typed and ended_well:
            whole = re.sub(r"Last run: (?:[\d-]+|never as printed)", f"Last run: {datetime.date.today()}", whole)
        return whole

    def table(self, found):
        slow, command, _, table = found.groups()
        if slow and not self.options.slow:
            self.left["slow: --slow"] = self.left.get("slow: --slow", 0) + 1
            return found[0]
        status, printed, errors = self.results.get(command) or self.run(command)
        word = re.match(r"\|\s*(\S+)", table)[1]
        rows = re.search(rf"^[ |]*{re.escape(word)}\b.*\n(?:.*\S.*\n)*", printed, re.M)
        if status or not rows:
            self.judge(command, f"status {status}: {errors.strip()[-400:]}" if status else f"prints no table '{word}'")
            return found[0]
        made = rows[0] if rows[0].startswith("|") else as_markdown(rows[0])
        problem = differs(lines_of(table), lines_of(made))
        self.judge(command, problem)
        made = made if problem else table
        date = f"; last run {datetime.date.today()}" if slow else ""
        return f"<!-- {slow or ''}table: {command}{date} -->\n{made}"

    def picture(self, found):
        path, command = (ROOT / self.name).parent / found[1], found[3]
        if found[2] and not self.options.slow or command in self.left_out:  # the table or block of this command counts it
            return
        status, _, errors = self.results.get(command) or self.run(command)
        made = sorted((p for p in self.folder.rglob(path.name) if not p.is_symlink()), key=lambda p: p.stat().st_mtime_ns)
        if status or not made:
            self.judge(command, f"status {status}: {errors.strip()[-400:]}" if status else f"writes no {path.name}")
            return
        equal = made[-1].read_bytes() == path.read_bytes()  # the one made last: glim course start writes pictures, too
        self.judge(command, None if equal else f"{path.name} is another picture (--mend replaces it)")
        if self.options.mend and not equal:
            shutil.copy(made[-1], path)

    def typed_through(self):
        try:
            new = BLOCK.sub(self.block, self.text)
            new = TABLE.sub(self.table, new)
            for found in PICTURE.finditer(self.text):
                self.picture(found)
            if self.options.mend and new != self.text:
                (ROOT / self.name).write_text(new)
                self.said.append(f"mended {self.name}")
        finally:
            shutil.rmtree(self.folder)
        return self


def main():
    say = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    say.add_argument("build", type=lambda name: pathlib.Path(name).resolve())
    say.add_argument("pages", nargs="*")
    say.add_argument("--mend", action="store_true")
    say.add_argument("--slow", action="store_true")
    say.add_argument("--data", type=lambda name: pathlib.Path(name).resolve())
    options = say.parse_args()
    names = options.pages or sorted(str(p.relative_to(ROOT)) for f in ["."] + FOLDERS for p in (
        ROOT.glob("*.md") if f == "." else (ROOT / f).rglob("*.md")) if not p.name.endswith(".zh.md"))
    names = [n for n in names if any(kind.search((ROOT / n).read_text()) for kind in (BLOCK, TABLE, PICTURE))]
    shared, left = {command: Once(command, makes, options.build) for command, makes in SHARED.items()}, {}
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # pages are typed side by side
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        pages = list(pool.map(lambda name: Page(name, options, shared).typed_through(), names))
    for once in shared.values():
        shutil.rmtree(once.folder)
    for page in pages:
        print("\n".join(page.said) + "\n" if page.said else "", end="")
        for reason, count in page.left.items():
            left.setdefault(reason, []).append(f"{page.name} {count}")
    for reason, where in sorted(left.items()):
        print(f"not run here ({reason}): {', '.join(where)}")
    passed, failed = sum(p.passed for p in pages), sum(p.failed for p in pages)
    print(f"{passed} passed, {failed} failed")
    return bool(failed) or not passed


if __name__ == "__main__":
    sys.exit(main())
