"""Gradients that were wrong in releases of frameworks: each fails with a true name, and passes mended."""
import pathlib
import re

import pytest

from corpus.shipped import CARRY, CASES, check, scan

PAGE = (pathlib.Path(__file__).resolve().parent / "shipped.md").read_text()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_gradient_that_shipped_wrong(case):
    report = check(case, case.wrong)
    assert report.verdicts["differences"] == "failed"
    assert case.looks in report.mistake
    assert check(case, case.mended)


def test_scan_has_the_numbers_of_its_thread():
    [case] = [c for c in CASES if c.name == "scan"]
    a, x = case.inputs
    y = scan(a, x)
    assert CARRY == 0.2 and round(float(y @ y), 12) == 0.355716076725
    assert round(float(case.wrong(2 * y, a, x)[0]), 10) == 0.1907469335
    assert round(float(case.mended(2 * y, a, x)[0]), 10) == 0.2687283356


def test_the_page_has_a_section_and_the_threads_of_each():
    sections = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S))
    for case in CASES:
        [text] = [text for heading, text in sections.items() if heading.startswith(case.name.split(",")[0])]
        for thread in case.threads:
            repository, number = thread.split("#")
            assert re.search(rf"github\.com/{repository}/(issues|pull)/{number}\b", text), thread
