"""Prints what the grader's checks and names say of the wrong and right solutions.

    python -m course.table wrong         caught and named, by exercise
    python -m course.table right         alarms on right variants
    python -m course.table published     how many of the wrong ones pass the checks of two courses

Run it in tests/python with the package glim installed. GLIM names another program glim, for the solutions.
"""

import os
import subprocess
import sys
import tempfile
import warnings
from collections import Counter

import numpy as np

import glim
from corpus import published
from corpus.judge import PASSED, RIGHTLY, WRONGLY
from corpus.table import row

from . import solutions
from .judge import VALUES, backward_of, judge, values_right, wrong_of
from .variants import variants
from .wrongs import calls_of, function_of, mistakes, results_of, wrong_solutions


def solution_texts():
    """By exercise, as `glim course start N --solution` writes them."""
    program = os.environ.get("GLIM", f"{sys.executable} -m glim").split()
    with tempfile.TemporaryDirectory() as folder:
        for exercise in solutions.EXERCISES:
            subprocess.run([*program, "course", "start", exercise, "--solution", "--folder", folder], check=True, capture_output=True)
        return {e: open(f"{folder}/{e}.py").read() for e in solutions.EXERCISES}


def verdict_of(name, what, looks, text, solution):
    """(caught, name by the checker or None, name by the solution or None, whether the name is true)

    The grader asks the solution where the checker has no name, or a vague one.
    """
    said, verdict = None, None
    if name in VALUES:
        caught = not values_right(name, text)
    else:
        verdict, said = judge(wrong_of(name, looks, what, text))
        caught = verdict != PASSED
    results = results_of(name, text)
    if not isinstance(results, list):  # an exception has its line, and lists are refused
        return True, said or str(results), None, True
    if said and not said.startswith("a factor that belongs to"):
        return caught, said, None, verdict != WRONGLY
    names = mistakes.names_of(solution, function_of(name), calls_of(name), results)
    by_solution = "; ".join(sorted({n[0] for n in names if n})) or None
    return caught, None if by_solution else said, by_solution, bool(by_solution) or verdict != WRONGLY


def wrong():
    texts = solution_texts()
    counts, rest = {}, []
    for kind, name, what, looks, text in wrong_solutions():
        exercise = solutions.FUNCTIONS[name][0]
        caught, by_checker, by_solution, true = verdict_of(name, what, looks, text, texts[exercise])
        c = counts.setdefault((exercise, kind), Counter())
        c["all"] += 1
        c["caught"] += caught
        c["checker"] += bool(by_checker)
        named = by_checker or by_solution
        c["named"] += bool(named) and true
        c["wrongly"] += bool(named) and not true and kind == "slip"
        c["unread"] += bool(named) and not true and kind == "mutation"  # no names were written down for it
        if not (caught and named and true):
            rest.append(f"{name}: {what}: {'caught' if caught else 'passes'}; {named or 'no name'}")
    columns = ("all", "caught", "checker", "named", "wrongly", "unread")
    print(row("exercise", "kind", "wrong", "caught", "named by the checker alone", "named truly", "wrongly", "to be read"), row(*["---"] * 8), sep="\n")
    for (exercise, kind), c in counts.items():
        print(row(exercise, kind, *(c[k] for k in columns)))
    for kinds in (("slip",), ("mutation",), ("slip", "mutation")):
        total = sum((c for (_, kind), c in counts.items() if kind in kinds), Counter())
        print(row("all", " and ".join(kinds), total["all"], *(f"{total[k]} ({100 * total[k] / total['all']:.1f} %)" for k in columns[1:])))
    print("", *rest, sep="\n")


def right():
    counts, alarms = Counter(), []
    for name, function, text, inputs in variants():
        report = glim.gradcheck(getattr(solutions, function), backward_of(text), *inputs, name=name, seed=1)
        counts[function] += 1
        if not report:
            alarms.append(name)
    print(row("function", "right variants"), row("---", "---"), sep="\n")
    for function, n in [*counts.items(), ("all", sum(counts.values()))]:
        print(row(function, n))
    print(f"{len(alarms)} alarms", *alarms, sep="\n")


def published_ones():
    wrongs = [wrong_of(name, looks, what, text) for _, name, what, looks, text in wrong_solutions() if name not in VALUES]
    print(row("check", "wrong solutions that pass", "of"), row(*["---"] * 3), sep="\n")
    for check in published.CHECKS:
        n = sum(published.passes(check, w) for w in wrongs)
        print(row(check, f"{n} ({100 * n / len(wrongs):.1f} %)", len(wrongs)))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    {"wrong": wrong, "right": right, "published": published_ones}[sys.argv[1] if len(sys.argv) > 1 else "wrong"]()
