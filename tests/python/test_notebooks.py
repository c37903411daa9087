"""Runs the cells of the notebooks and compares what they print with what is stored.

python test_notebooks.py --mend stores it.

A cell whose metadata have "needs": "torch" says in one line that it is left out where PyTorch is not installed. A
notebook whose metadata have "needs": [...] runs where those modules are.
"""
import ast
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import re
import sys
import tempfile

import pytest

NOTEBOOKS = sorted((pathlib.Path(__file__).resolve().parents[2] / "tools/python/notebooks").glob("*.ipynb"))


def outputs_of(cell, names, count):
    """As a kernel gives them: what is printed, then the value of a last expression."""
    tree = ast.parse("".join(cell["source"]))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), names)
        if last:
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    outputs = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(True)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_().splitlines(True)
        if hasattr(value, "_repr_svg_"):
            data["image/svg+xml"] = value._repr_svg_().splitlines(True)
        outputs.append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return outputs


def run(path):
    """The notebook with the outputs of this run."""
    notebook, names = json.loads(path.read_text(encoding="utf-8")), {"__name__": "__main__"}
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:  # what they train stays there
        os.chdir(folder)
        try:
            for count, cell in enumerate(code, 1):
                outputs = outputs_of(cell, names, count)
                if importlib.util.find_spec(cell["metadata"].get("needs", "json")):
                    cell["outputs"], cell["execution_count"] = outputs, count
                else:  # what is stored stays
                    [output] = outputs
                    assert output["text"] == ["PyTorch is not installed: its column is left out.\n"]
        finally:
            os.chdir(here)
    return notebook


def text(notebook):
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path):
    for module in json.loads(path.read_text(encoding="utf-8"))["metadata"].get("needs", []):
        pytest.importorskip(module)
    assert rounded(text(run(path))) == rounded(path.read_text(encoding="utf-8"))


def test_every_notebook_has_a_picture():
    for path in NOTEBOOKS:
        page = path.read_text(encoding="utf-8")
        assert "image/svg+xml" in page or "<svg" in page, path.name
        assert "dL/d" not in page, path.name


def rounded(page):
    """Lines with three digits of each fraction, and no colour: NumPy rounds otherwise on another CPU."""
    page = re.sub(r"#[0-9a-f]{6}", "#colour", page)
    return re.sub(r"\d+\.\d+(e[-+]\d+)?", lambda number: f"{float(number[0]):.2e}", page).splitlines()


if __name__ == "__main__" and sys.argv[1:] == ["--mend"]:
    for path in NOTEBOOKS:
        if not all(map(importlib.util.find_spec, json.loads(path.read_text(encoding="utf-8"))["metadata"].get("needs", []))):
            continue
        path.write_text(text(run(path)))
