"""The programs of tools/python/python.md run, and print what the page shows."""
import pathlib
import re
import subprocess
import sys

import pytest

PAGE = pathlib.Path(__file__).resolve().parents[2] / "tools/python/python.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"```python (\S+)\n(.*?)```", TEXT, re.S))
SHOWN = dict(re.findall(r"```console [^\n]*\n\$ python3 (\S+)\n(.*?)```", TEXT, re.S))


@pytest.mark.parametrize("name", BLOCKS)
def test_program(name, tmp_path):
    (tmp_path / name).write_text(BLOCKS[name], encoding="utf-8")
    run = subprocess.run([sys.executable, "-X", "utf8", name], cwd=tmp_path, capture_output=True, text=True,
                         encoding="utf-8", timeout=600)
    assert run.returncode == 0, run.stderr
    for line in SHOWN.get(name, "").splitlines():
        assert line == "..." or line in run.stdout, run.stdout
