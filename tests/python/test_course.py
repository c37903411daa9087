"""The wrong and right solutions of the course's exercises, as far as a few seconds allow. `python -m course.table` has all."""
import ast
import json
import os
import subprocess
import sys
import zipfile

import pytest

import glim
from corpus.judge import PASSED
from course import solutions
from course.judge import VALUES, backward_of, changed, judge, values_right, wrong_of
from course.slips import SLIPS, SPECIAL
from course.variants import variants
from course.wrongs import calls_of, function_of, mistakes, mutations, results_of

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of wrong solutions
GRADIENTS = [f for f in solutions.FUNCTIONS if f not in VALUES]


def names(function, text):
    return [n and n[0] for n in mistakes.names_of(
        solutions.text_of(function), function_of(function), calls_of(function), results_of(function, text), vars(solutions))]


@pytest.mark.parametrize("function", GRADIENTS)
def test_the_right_solution(function):
    text = solutions.text_of(function)
    assert glim.gradcheck(getattr(solutions, function), backward_of(text), *solutions.inputs_of(function), name=function)
    assert not any(names(function, text))


def test_right_variants_raise_no_alarm():
    some = list(variants())[::39]
    assert len(some) > 50
    for name, function, text, inputs in some:
        assert glim.gradcheck(getattr(solutions, function), backward_of(text), *inputs, name=name, seed=1), name


def test_slips_are_caught():
    assert len(SLIPS) >= 300
    for function, looks, what, changes in SLIPS[:SPECIAL:7] + SLIPS[SPECIAL:]:
        text = changed(function, changes)
        if function in VALUES:
            assert not values_right(function, text), what
        elif what != "dbias as a list":
            assert judge(wrong_of(function, looks, what, text))[0] != PASSED, what


@pytest.mark.parametrize("function", ["softmax", "attention", "adam_step", "warm_up"])
def test_a_mutation_is_named_as_one(function):
    for what, text in mutations(function)[:8]:
        assert any(names(function, text)), what


@pytest.mark.parametrize("function, old, new, name", [
    ("softmax", "(dy - total)", "dy", "the term `total` is missing"),
    ("softmax", "dy - total", "dy + total", "`total` is added instead of subtracted"),
    ("layer_norm", "- normed * second", "", "the term `normed * second` is missing"),
    ("attention", "dscores = weights * (dweights - total)", "dscores = dweights", None),
    ("masked_attention", "np.where(keep, dkept, 0)", "dkept", None),
    ("adam_step", "m / (1 - 0.9**step)", "m", "the division by `1 - 0.9 ** step` is missing"),
    ("adam_step", "0.98", "0.999", "`0.999` is in the place of `0.98`"),
    ("warm_up", "min(", "max(", "min is the wrong way round")])
def test_the_name_of_a_mistake(function, old, new, name):
    text = changed(function, [(old, new)])
    said = set(names(function, text)) - {None}
    assert name in said if name else len(said) <= 1


@pytest.mark.parametrize("function", ["cross_entropy", "label_smoothing"])
def test_the_other_form_of_a_solution_is_right(function):
    other = mistakes.results_of(ast.parse(mistakes.FORMS), function_of(function), calls_of(function))
    right = results_of(function, solutions.text_of(function))
    assert all(mistakes.equal(a, b) for r, s in zip(other, right) for a, b in zip(r, s))


def test_a_request_by_standard_input():
    [call] = calls_of("softmax")[:1]
    dy, x = (a.tolist() for a in call)
    wrong = solutions.softmax(call[1]) * call[0]
    request = {"solution": "import numpy as np\n\ndef softmax(x):\n    e = np.exp(x)\n    return e / e.sum(-1, keepdims=True)\n\n" + solutions.text_of("softmax"),
               "function": "softmax_backward", "calls": [{"arguments": [dy, x], "results": [wrong.tolist()]}]}
    reply = subprocess.run([sys.executable, mistakes.__file__], input=json.dumps(request), capture_output=True, text=True, check=True)
    assert json.loads(reply.stdout) == [{"name": "the term `total` is missing", "line": "dx = y * (dy - total)"}]


@pytest.mark.skipif(not hasattr(glim._glim, "run_program"), reason="a build without the program")
def test_cells_of_a_notebook(monkeypatch):
    """The imports and a helper are in cells of their own, and the exercise's cell imports glim.course."""
    import linecache

    import glim.course
    space = {"__name__": "__main__"}
    cells = ["import numpy as np", "def total(x):\n    return x.sum(-1, keepdims=True)\n",
             "import glim.course\ndef softmax(x):\n    e = np.exp(x - x.max(-1, keepdims=True))\n    return e / total(e)\n\n\n"
             "def softmax_backward(dy, x):\n    y = softmax(x)\n    return y * (dy - total(dy * y))\n"]
    for k, cell in enumerate(cells):
        linecache.cache[f"<cell {k}>"] = (len(cell), None, cell.splitlines(keepends=True), f"<cell {k}>")
        exec(compile(cell, f"<cell {k}>", "exec"), space)
    glim.course.check("softmax", space["softmax"], space["softmax_backward"])


@pytest.mark.parametrize("name", ["../q", "/tmp/q", "", "3", "softmax.py", "--help", "softmux", None])
def test_the_name_of_no_exercise(name, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(f"import glim.course\ndef f(x): pass\ntry: glim.course.check({name!r}, f, f)\n"
                      "except RuntimeError as e: print(e)\n")
    place = dict(cwd=tmp_path, env=dict(os.environ, TMPDIR=str(tmp_path)), capture_output=True, text=True)
    done = subprocess.run([sys.executable, script], **place)
    assert "no exercise" in done.stdout and len(done.stdout.splitlines()) == 1, done
    for writer in ("nbgrader", "otter") if name else ():
        done = subprocess.run([sys.executable, "-m", "glim.course", writer, name], **place)
        assert done.returncode and "no exercise" in done.stderr and len(done.stderr.splitlines()) == 1, done
    assert list(tmp_path.iterdir()) == [script]


@pytest.mark.skipif(not hasattr(glim._glim, "run_program"), reason="a build without the program")
def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    done = subprocess.run([sys.executable, "-m", "glim.course", "nbgrader", "softmax", "--folder", tmp_path / "file"],
                          capture_output=True, text=True)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1 and "file" in done.stderr, done


def test_an_autograder_for_gradescope(tmp_path):
    wheel = tmp_path / "glim_autograd-0.1.0-py3-none-any.whl"
    wheel.write_text("a wheel")
    make = [sys.executable, "-m", "glim.course", "gradescope", wheel]
    subprocess.run([*make, "--out", tmp_path / "autograder.zip"], check=True)
    refused = subprocess.run([*make, "--out", tmp_path / "autograder.zip"], capture_output=True, text=True)
    assert refused.returncode == 1 and "exists" in refused.stderr
    with zipfile.ZipFile(tmp_path / "autograder.zip") as archive:
        assert all(archive.getinfo(name).external_attr >> 16 & 0o111 for name in ("setup.sh", "run_autograder"))
        archive.extractall(tmp_path / "source")
    assert (tmp_path / "source" / wheel.name).read_text() == "a wheel"
    assert subprocess.run(["bash", "-n", tmp_path / "source/setup.sh"]).returncode == 0
    for folder in ("python/bin", "submission", "results"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "python/bin/python").symlink_to(sys.executable)
    script = (tmp_path / "source/run_autograder").read_text().replace("/autograder", str(tmp_path))
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p))
    subprocess.run(["bash", "-c", script], check=True, env=environment, capture_output=True)
    assert len(json.loads((tmp_path / "results/results.json").read_text())["tests"]) == 12
