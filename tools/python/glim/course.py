"""The course in Python: `python3 -m glim.course` is `glim course`, and makes what nbgrader, otter-grader and Gradescope read.

    python3 -m glim.course nbgrader NAME... [--folder DIR]   source/NAME/NAME.ipynb, an assignment with its solution
    python3 -m glim.course otter NAME... [--folder DIR]      NAME.ipynb for students, and tests/NAME.py
    python3 -m glim.course gradescope WHEEL [--out FILE]     autograder.zip: installs the wheel, and checks all exercises

Their tests call check, which asks `glim course check`, in a process of its own.
"""
import difflib
import json
import linecache
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

from ._glim import Error
from .program import _glim_program, main, run


def check(name, *functions):
    """Checks the cells or files that the functions are defined in, as the file of exercise NAME, with NumPy and the
    functions of other cells that they use. Lines that import glim or call it from the margin are left out.

    Files beside them (*.py of the current folder) may be imported. Raises AssertionError with the mistake, in one line;
    RuntimeError if the check cannot be made, which is nobody's mistake.
    """
    _glim_program()
    _require_name(name)
    sources = {}  # by file or cell, in order
    for f in functions:
        if not callable(f):
            raise AssertionError(f"{name}: a function is missing: {f!r} is in its place")
        file = f.__code__.co_filename if hasattr(f, "__code__") else ""
        sources[file] = "".join(linecache.getlines(file))
        if not sources[file]:
            raise AssertionError(f"{name}: {getattr(f, '__name__', f)} has no source: define it in a cell or a file")
    text = "\n\n".join([*_used(functions, sources), *sources.values()])
    text = re.sub(r"^(import glim|from glim|glim)\b.*", "", text, flags=re.M)
    with tempfile.TemporaryDirectory() as folder:
        for file in pathlib.Path().glob("*.py"):
            shutil.copy(file, folder)
        pathlib.Path(folder, name + ".py").write_text(text, encoding="utf-8")
        environment = dict(os.environ, GLIM_PYTHON=sys.executable, PYTHONPATH=os.pathsep.join(p for p in sys.path if p))
        done = subprocess.run([sys.executable, "-m", "glim", "course", "check", name, "--folder", folder, "--format",
                               "json"], env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        try:
            verdict = json.loads(done.stdout)["exercises"][0]
        except (ValueError, LookupError):
            raise RuntimeError(f"{name}: {(done.stderr.strip() or 'the check ended').splitlines()[-1]}") from None
    if verdict["printed"]:
        print(verdict["printed"])
    if not verdict["score"]:
        raise AssertionError(f"{name}: {verdict['message']}")
    print(f"{name}: {verdict['message']}")


def _used(functions, sources):
    """Imports of NumPy, and the cells of functions, that the functions use and their own cells lack."""
    found, codes = {}, [(f.__code__, f.__globals__) for f in functions if hasattr(f, "__code__")]
    for code, globals_ in codes:  # grows
        codes += [(inner, globals_) for inner in code.co_consts if hasattr(inner, "co_names")]
        for used in code.co_names:
            value = globals_.get(used)
            if getattr(value, "__name__", "") == "numpy":
                found[used] = f"import numpy as {used}"
            elif hasattr(value, "__code__") and value.__globals__ is globals_ and value.__code__.co_filename not in sources:
                file = value.__code__.co_filename
                if file not in found:
                    codes.append((value.__code__, globals_))
                    found[file] = "".join(linecache.getlines(file))
    return sorted(found.values(), key=lambda text: not text.startswith("import numpy as"))


def _require_name(name):
    """The name becomes the name of files."""
    if not isinstance(name, str) or not name.isidentifier():
        raise RuntimeError(f"{name!r} is no exercise; glim course list names them")


def _texts(name):
    """The stub, and the solution with nbgrader's marks around what the stub leaves out."""
    _require_name(name)
    with tempfile.TemporaryDirectory() as folder:
        run(["course", "start", name, "--folder", folder], show=False)
        run(["course", "start", name, "--folder", folder + "/solution", "--solution"], show=False)
        stub, solution = (next(pathlib.Path(folder, part).glob("*.py")).read_text(encoding="utf-8").splitlines()
                          for part in ("", "solution"))
    marked = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, stub, solution, autojunk=False).get_opcodes():
        if kind != "equal":
            marked += [line for line in stub[a:b] if line.lstrip().startswith("#")]  # what is to be written
            indent = re.match(" *", solution[c])[0]
            marked += [indent + "### BEGIN SOLUTION", *solution[c:d], indent + "### END SOLUTION"]
        else:
            marked += solution[c:d]
    return "\n".join(stub), "\n".join(marked)


def _call(name, text):
    names = re.findall(r"^def (\w+)\(", text, re.M)
    backward = [f for f in names if f.endswith("_backward")]
    functions = [f for f in names if f in backward or f + "_backward" in backward] or names
    return functions, f'glim.course.check("{name}", {", ".join(functions)})'


def _cell(kind, identity, text, metadata=None):
    cell = {"cell_type": kind, "id": identity, "metadata": metadata or {}, "source": text.splitlines(keepends=True)}
    return cell if kind == "markdown" else {**cell, "execution_count": None, "outputs": []}


def _notebook(cells):
    return json.dumps({"cells": cells, "metadata": {"kernelspec": {
        "display_name": "Python 3", "language": "python", "name": "python3"}}, "nbformat": 4, "nbformat_minor": 5},
        ensure_ascii=False, indent=1) + "\n"


def nbgrader(name):
    def grading(identity, **keys):
        return {"nbgrader": {"grade": False, "grade_id": identity, "locked": False, "schema_version": 3,
                             "solution": False, "task": False, **keys}}
    _, marked = _texts(name)
    return {f"source/{name}/{name}.ipynb": _notebook([
        _cell("code", name, marked, grading(name, solution=True)),
        _cell("code", name + "-test", "import glim.course\n\n" + _call(name, marked)[1],
              grading(name + "-test", grade=True, locked=True, points=1))])}


def otter(name):
    stub, _ = _texts(name)
    functions, call = _call(name, stub)
    return {f"{name}.ipynb": _notebook([_cell("code", name, stub), _cell(
                "code", name + "-test", "import glim.course\n\n" + call)]),
            f"tests/{name}.py": f"""from otter.test_files import test_case
import glim.course

OK_FORMAT = False
name = "{name}"
points = 1


@test_case(name="{name}", points=1)
def test_{name}({", ".join(functions)}):
    {call}
"""}


SETUP = """#!/usr/bin/env bash
set -e
apt-get update
apt-get install -y python3-venv
python3 -m venv /autograder/python
/autograder/python/bin/pip install /autograder/source/*.whl
/autograder/python/bin/python -m glim course list --folder /tmp  # fails here if the wheel is of another system
"""
RUN = """#!/usr/bin/env bash
/autograder/python/bin/python -m glim course check --folder /autograder/submission \\
  --format gradescope --out /autograder/results/results.json || [ $? = 1 ]
"""


def gradescope(wheel, out="autograder.zip"):
    """Writes the zip that Gradescope takes as an autograder. `wheel` is one that `tools/package wheels` made."""
    wheel = pathlib.Path(wheel)
    if wheel.suffix != ".whl" or not wheel.is_file():
        raise RuntimeError(f"{wheel} is no wheel: `tools/package wheels` in Glim's folder makes one")
    with zipfile.ZipFile(out, "x", zipfile.ZIP_DEFLATED) as archive:
        for name, text in (("setup.sh", SETUP), ("run_autograder", RUN)):
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o755 << 16
            archive.writestr(entry, text)
        archive.write(wheel, wheel.name)
    print(out)


def _command(words):
    if words and words[0] == "gradescope":
        try:
            if len(words) not in (2, 4) or words[2:3] not in ([], ["--out"]):
                raise RuntimeError("gradescope WHEEL [--out FILE]")
            gradescope(words[1], *words[3:])
        except (OSError, RuntimeError) as error:
            print(f"glim.course: {error}", file=sys.stderr)
            return 1
        return 0
    if not words or words[0] not in ("nbgrader", "otter"):
        sys.argv[1:] = ["course", *words]
        return main()
    folder = words[words.index("--folder") + 1] if "--folder" in words[:-1] else "."
    names = [w for k, w in enumerate(words[1:], 1) if w != "--folder" and words[k - 1] != "--folder"]
    if not names:
        print(f"glim.course {words[0]}: name an exercise; glim course list names them", file=sys.stderr)
        return 2
    try:
        for name in names:
            for path, text in {"nbgrader": nbgrader, "otter": otter}[words[0]](name).items():
                file = pathlib.Path(folder, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                if file.exists():
                    raise RuntimeError(f"{file} exists already, and is left as it is")
                file.write_text(text, encoding="utf-8")
                print(file)
    except (Error, OSError, RuntimeError) as error:
        print(f"glim.course: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_command(sys.argv[1:]))
