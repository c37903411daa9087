"""The page of torch's operators: what it counts, and the programs of its fails."""
import importlib.util
import pathlib
import re

import pytest

from opinfo import LOOKED_AT, printed

PAGE = (pathlib.Path(__file__).resolve().parents[2] / "tools/python/opinfo.md").read_text()


def rows(heading):
    """The operators of a table, or of a list, below a heading."""
    section = re.search(rf"## {heading}\n(.*?)(\n## |\Z)", PAGE, re.S)
    return re.findall(r"`(.+?)`(?: \||,|\.\n)", section[1]) if section else []


def test_the_counts_are_those_of_the_lists():
    count = {verdict: int(n) for verdict, n in re.findall(r"^\| ([\w ]+) \| (\d+) \|", PAGE, re.M)}
    assert count["all"] == sum(count.values()) - count["all"] and "not run" not in count
    for verdict in set(count) - {"all", "pass"}:
        assert len(rows(verdict.capitalize())) == count[verdict], verdict


def test_every_fail_was_looked_at():
    assert rows("Fail") == sorted(name for names, _, _ in LOOKED_AT for name in names)
    for _, what, program in LOOKED_AT:
        assert program.count("\n") <= 8 and f": {what}\n\n```text\n{program}```" in PAGE


@pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="torch is not installed")
@pytest.mark.parametrize("names, what, program", LOOKED_AT, ids=[names[0] for names, _, _ in LOOKED_AT])
def test_the_programs_print_what_the_page_has(names, what, program):
    assert f"{program}```\n\nIt prints\n\n```text\n{printed(program)}```" in PAGE
