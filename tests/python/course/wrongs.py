"""The wrong solutions: the slips by hand, and mutations of the right ones by tools/course/mistakes.py."""

import ast
import importlib.util
import pathlib
import zlib

import numpy as np

from . import solutions
from .judge import VALUES, changed
from .slips import SLIPS

MUTATIONS = 22  # of each function, drawn evenly from all


def module_of_mistakes():
    path = pathlib.Path(__file__).parents[3] / "tools/course/mistakes.py"
    spec = importlib.util.spec_from_file_location("mistakes", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


mistakes = module_of_mistakes()


def function_of(name):
    return name if name in VALUES else name + "_backward"


def calls_of(name):
    """The arguments of two calls."""
    calls = []
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        if name == "warm_up":
            calls += [(3 * seed, 16, 40), (70 * seed, 512, 40)]
        elif name == "adam_step":
            calls.append((*rng.standard_normal((3, 3, 4)), rng.random((3, 4)), seed + 1, 1e-2))
        else:
            inputs = solutions.inputs_of(name, seed)
            y = getattr(solutions, name)(*inputs)
            calls.append((rng.standard_normal(np.shape(y)), *inputs))
    return calls


def results_of(name, text):
    """Of these calls, or what was raised, or None if the results are no arrays."""
    try:
        every = [solutions.compiled(text)(*[np.array(x) if np.ndim(x) else x for x in call]) for call in calls_of(name)]
        results = [[np.asarray(r) for r in (y if isinstance(y, tuple) else (y,))] for y in every]
        return results if all(r.dtype.kind in "fi" for y in results for r in y) else None
    except Exception as error:
        return error


def mutations(name):
    """(what is wrong, text): a term or factor dropped or doubled, a sign, axis or transpose changed, a sum for a mean, and the like.

    Their results are numbers of the right shapes, and others than the right ones.
    """
    text = solutions.text_of(name)
    right = results_of(name, text)
    tree, seen, found = ast.parse(text), set(), []
    for what, line in mistakes.mistakes(tree, function_of(name), True):
        wrong = ast.unparse(tree)
        results = results_of(name, wrong)
        if not isinstance(results, list) or any(len(r) != len(y) for r, y in zip(right, results)):
            continue
        pairs = [(a, b) for r, y in zip(right, results) for a, b in zip(r, y)]
        if any(a.shape != b.shape or not np.isfinite(b).all() for a, b in pairs) or all(mistakes.equal(a, b) for a, b in pairs) or wrong in seen:
            continue
        seen.add(wrong)
        found.append((f"{line}: {what}", wrong))
    order = np.random.default_rng(zlib.crc32(name.encode())).permutation(len(found))
    return [found[i] for i in order[:MUTATIONS]]


def wrong_solutions():
    """(kind, function, what is wrong, names that are true, text)"""
    for name, looks, what, changes in SLIPS:
        yield "slip", name, what, looks, changed(name, changes)
    for name in solutions.FUNCTIONS:
        for what, text in mutations(name):
            yield "mutation", name, what, (), text
