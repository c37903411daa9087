#!/usr/bin/env python3
"""nbgrader and otter-grader grade a right and a wrong softmax: graders.py PYTHON FOLDER

PYTHON has nbgrader, otter-grader and NumPy, FOLDER has the package glim. Exit status 77 where they are missing.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

python, package = sys.argv[1:]
environment = dict(os.environ, PYTHONPATH=package, PATH=os.path.dirname(os.path.abspath(python)) + ":" + os.environ["PATH"])
found = subprocess.run([python, "-c", "import glim.course, nbgrader, otter"], env=environment, capture_output=True, text=True)
if found.returncode:
    print("NOT TESTED:", found.stderr.strip().splitlines()[-1])
    sys.exit(77)


def run(*words):
    done = subprocess.run(words, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)
    assert done.returncode == 0, (words, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout + done.stderr


def solved(text, wrong):
    notebook = json.loads(text)
    source = "".join(notebook["cells"][0]["source"])
    answer = "dx = y * (dy - (dy * y).sum(1, keepdims=True))"
    lines = [line.replace("raise NotImplementedError()", "raise NotImplementedError").replace(
        "raise NotImplementedError", "dx = y * dy" if wrong else answer) for line in source.split("\n")]
    if "return dx" not in source:
        lines.append("    return dx")
    notebook["cells"][0]["source"] = "\n".join(lines)
    return json.dumps(notebook)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    run(python, "-m", "glim.course", "nbgrader", "softmax")
    run(python, "-m", "nbgrader", "generate_assignment", "softmax", "--create")
    stub = pathlib.Path("release/softmax/softmax.ipynb").read_text()
    assert "BEGIN SOLUTION" not in stub and "NotImplementedError" in stub
    for student, wrong in (("right", False), ("wrong", True)):
        file = pathlib.Path("submitted", student, "softmax", "softmax.ipynb")
        file.parent.mkdir(parents=True)
        file.write_text(solved(stub, wrong))
    run(python, "-m", "nbgrader", "autograde", "softmax", "--create")
    scores = json.loads(run(python, "-c", """
import json
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db") as book:
    print(json.dumps({s: book.find_submission("softmax", s).score for s in ("right", "wrong")}))
""").splitlines()[-1])
    graded = pathlib.Path("autograded/right/softmax/softmax.ipynb").read_text()
    assert scores == {"right": 1, "wrong": 0}, (scores, graded)
    graded = pathlib.Path("autograded/wrong/softmax/softmax.ipynb").read_text()
    assert "softmax: wrong: " in graded
    print("nbgrader:", scores)

    os.mkdir("otter")
    os.chdir("otter")
    run(python, "-m", "glim.course", "otter", "softmax")
    run(python, "-m", "otter", "generate", "-t", "tests", "-o", "autograder.zip", "--no-environment")
    stub = pathlib.Path("softmax.ipynb").read_text()
    for student, wrong in (("right", False), ("wrong", True)):
        pathlib.Path(student).mkdir()
        pathlib.Path(student, "softmax.ipynb").write_text(solved(stub, wrong))
        run(python, "-m", "otter", "run", f"{student}/softmax.ipynb", "-a", "autograder.zip", "-o", student)
        results = json.loads(pathlib.Path(student, "results.json").read_text())
        score = sum(test.get("score", 0) for test in results["tests"])
        assert score == (0 if wrong else 1), (student, results)
        print("otter:", student, score)
