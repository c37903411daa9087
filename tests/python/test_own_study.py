"""glim.study judges a claim of one's own: it prints the verdict and the table, and writes the picture, of `glim study`."""
import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import glim

if not hasattr(glim._glim, "run_study"):
    pytest.skip("this build of the package has no program", allow_module_level=True)

PAGE = pathlib.Path(__file__).resolve().parents[2] / "tools/study/own.md"
CRITERIA = {"a": ("a in words", 0, 1.5, "because"), "b": ("beside", "b in words", -np.inf, 5, "shown")}


def measure(seed):
    return {"a": seed / 2, "b": np.float32(seed), "line": {"up": (range(2), np.array([seed, 10.0 * seed]))}}


def test_a_claim_of_ones_own(tmp_path, capsys):
    plots = {"line": ("Title", "x", "y", "log_y")}
    result = glim.study("It holds.", measure, CRITERIA, plots=plots, name="mine", out=tmp_path / "out")
    text = capsys.readouterr().out
    assert result["holds"] is True and result["holds_by_seed"] == [True] * 3 and result["criteria"][0]["values"] == [0.5, 1.0, 1.5]
    assert text.startswith("mine\n  claim     It holds.\n") and "the claim holds for each seed" in text and "in [0, 1.5]" in text
    assert json.loads((tmp_path / "out/mine.json").read_text(encoding="utf-8")) == result
    assert result["plots"][0]["series"][0]["by_seed"] == [[1, 10], [2, 20], [3, 30]] and "<svg" in (tmp_path / "out/mine-line.svg").read_text(encoding="utf-8")
    with pytest.raises(glim.ValueError, match="name='a/b' is no name of a file"):
        glim.study("It holds.", measure, CRITERIA, plots=plots, name="a/b", out=tmp_path)
    assert glim.study("It holds.", measure, CRITERIA, plots=plots, name="mine", out=tmp_path / "out", overwrite=True)["holds"]
    with pytest.raises(glim.FileError, match="mine.json: exists already: overwrite=True"):
        glim.study("It holds.", measure, CRITERIA, plots=plots, name="mine", out=tmp_path / "out")
    assert glim.study("It fails.", measure, CRITERIA, plots=plots, seeds=1, seed=4)["holds"] is False
    control = {**CRITERIA, "b": ("control", "b in words", 0, 3, "a set-up")}
    assert glim.study("Undecided.", measure, control, plots=plots, seeds=1, seed=4)["holds"] is None


def test_seeds_set_the_generator():
    drawn = [glim.study("c", lambda seed: {"a": glim.uniform(1).item()}, {"a": ("a", 0, 1, "b")}, seeds=2)["criteria"][0]["values"] for _ in range(2)]
    assert drawn[0] == drawn[1] and drawn[0][0] != drawn[0][1]


@pytest.mark.parametrize("f, criteria, error, words", [
    (measure, {}, TypeError, "criteria is {key"), (3, CRITERIA, TypeError, "measure is a int"),
    (lambda seed: None, CRITERIA, TypeError, "return missing"), (lambda seed: {"a": 1}, CRITERIA, glim.StateError, "did not measure b"),
    (lambda seed: {"a": 1, "b": 1, "c": 1}, CRITERIA, glim.ValueError, "'c', which is neither"),
    (lambda seed: 1 / 0, CRITERIA, ZeroDivisionError, "division"),
    (measure, {k: ("beside", *v[-4:]) for k, v in CRITERIA.items()}, glim.ValueError, "no criterion decides"),
    (measure, {**CRITERIA, "a": ("a", 2, 1, "b")}, glim.ValueError, "a: no number is in .2, 1."), (measure, {"a": ("a in words", 0, 1)}, glim.ValueError, "a is a quantity in words"),
    (lambda seed: {"a": 1, "b": 1, "line": {"up": ([1, 2], [1])}}, CRITERIA, glim.ValueError, "2 x and 1 y")])
def test_what_is_no_study(f, criteria, error, words):
    with pytest.raises(error, match=words):
        glim.study("c", f, criteria, plots={"line": ("Title", "x", "y")})


def test_the_page(tmp_path):
    (name, program), = re.findall(r"```python (\S+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    (tmp_path / name).write_text(program, encoding="utf-8")
    run = subprocess.run([sys.executable, "-X", "utf8", name], cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", timeout=600)
    assert run.returncode == 0 and run.stdout.splitlines()[-1] in ("True", "False"), run.stderr + run.stdout
    assert (tmp_path / "studied/norms-loss.svg").exists()
