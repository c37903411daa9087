"""A sample of the suites in a file, so that it is computed without torch and ONNX: a few cases of each operator and module.

    python -m suites.sample          writes sample.npz beside this file; it takes torch and onnx

The file has the arrays of all cases, end to end in a vector for each dtype, and `cases`: JSON, in which an array is its
dtype, shape and place.
"""

import json
import pathlib

import numpy as np

import glim

from . import computed, onnx_graph
from .derivatives import Given, Wanted
from .onnx_graph import Graph

FILE = pathlib.Path(__file__).parent / "sample.npz"
CHECKS = {f.__name__: f for f in (
    computed.operator, computed.refused_by_operator, computed.module, computed.refused_by_module, computed.optimizer,
    computed.refused_by_optimizer, onnx_graph.model)}
FIELDS = {Wanted: ("outputs", "first", "second"), Graph: ("nodes", "constants", "outputs")}


class Writer:
    def __init__(self):
        self.cases, self.arrays = [], {}

    def json(self, x, leaves=()):
        """x for JSON. TypeError for what cannot be there."""
        for k, leaf in enumerate(leaves):
            if x is leaf:
                return {"leaf": k}
        if isinstance(x, glim.Var):
            return {"var": self.json(x.numpy())}
        if isinstance(x, np.ndarray):
            vector = self.arrays.setdefault(x.dtype.name, [])
            at = sum(part.size for part in vector)
            vector.append(x.ravel())
            return {"array": [x.dtype.name, list(x.shape), at]}
        if isinstance(x, Given):
            return {"given": [self.json([leaf.numpy() for leaf in x.leaves]), self.json(x.args, x.leaves), self.json(x.options, x.leaves)]}
        for cls, fields in FIELDS.items():
            if isinstance(x, cls):
                return {cls.__name__: [self.json(getattr(x, f)) for f in fields]}
        if isinstance(x, dict):
            return {"dict": {k: self.json(v, leaves) for k, v in x.items()}}
        if type(x) in (tuple, list):
            return {type(x).__name__: [self.json(v, leaves) for v in x]}
        if isinstance(x, slice):
            return {"slice": [x.start, x.stop, x.step]}
        if x is None or isinstance(x, (bool, int, float, str)):
            return x
        raise TypeError(f"{type(x).__name__} is not for a file")

    def add(self, check, parts):
        before = {k: len(v) for k, v in self.arrays.items()}
        try:
            self.cases.append([check.__name__, self.json(tuple(parts))])
        except TypeError:
            self.arrays = {k: v[: before.get(k, 0)] for k, v in self.arrays.items()}
            return False
        return True

    def save(self):
        text = np.frombuffer(json.dumps(self.cases, separators=(",", ":")).encode(), dtype=np.uint8)
        np.savez_compressed(FILE, cases=text, **{k: np.concatenate(v) for k, v in self.arrays.items() if v})


class Reader:
    def __init__(self):
        with np.load(FILE) as file:
            self.arrays = dict(file)

    def cases(self):
        """(check, its arguments)"""
        for name, parts in json.loads(self.arrays["cases"].tobytes()):
            yield CHECKS[name], self.value(parts)

    def value(self, x, leaves=()):
        if not isinstance(x, dict):
            return x
        [(kind, v)] = x.items()
        if kind == "array":
            dtype, shape, at = v
            return self.arrays[dtype][at : at + int(np.prod(shape))].reshape(shape).copy()
        if kind == "leaf":
            return leaves[v]
        if kind == "var":
            return glim.Var(self.value(v))
        if kind == "slice":
            return slice(*v)
        if kind == "dict":
            return {k: self.value(part, leaves) for k, part in v.items()}
        if kind == "given":
            leaves = [glim.Var.leaf(a) for a in self.value(v[0])]
            return Given(self.value(v[1], leaves), self.value(v[2], leaves), leaves)
        of = {"tuple": tuple, "list": list, "Wanted": lambda parts: Wanted(*parts), "Graph": lambda parts: Graph(*parts)}[kind]
        return of([self.value(part, leaves) for part in v])


def elements(x):
    """How many numbers a case has."""
    if isinstance(x, (np.ndarray, glim.Var)):
        return x.size
    if isinstance(x, Given):
        return elements([x.args, x.options])
    for cls, fields in FIELDS.items():
        if isinstance(x, cls):
            return elements([getattr(x, f) for f in fields])
    return sum(map(elements, x.values() if isinstance(x, dict) else x)) if isinstance(x, (dict, list, tuple)) else 0


def chosen(suite, name, most, count):
    """The parts of some cases that pass: of the smaller ones, those with the most numbers, and one that is refused."""
    found, refusals = [], []
    for _, check, prepare, *args in suite.cases(name):
        try:
            parts = prepare(*args)
            kinds = check(*parts)
        except Exception:
            continue  # a skip or a failure: the suite itself says which
        if "refusals" in kinds:
            refusals.append((check, parts))
        elif elements(parts) <= most and ("gradients" in kinds or "gradients" not in suite.LEAST):
            found.append((elements(parts), len(found), check, parts))
    return [f[2:] for f in sorted(found, key=lambda f: (-f[0], f[1]))[:count]] + refusals[:2]


def main():
    from . import module_db, onnx_nodes, op_db, optim_db

    writer = Writer()
    for suite, most, count in ((op_db, 250, 1), (module_db, 400, 2), (optim_db, 10**6, 3), (onnx_nodes, 200, 1)):
        taken = 0
        for name in suite.names():
            if suite is not onnx_nodes or taken < 150 and ("_expanded" in name) == (len(name) % 3 == 0):
                taken += sum(writer.add(*case) for case in chosen(suite, name, most, count))
        print(f"{suite.__name__.split('.')[-1]}: {taken}")
    writer.save()
    print(f"{FILE.name}: {FILE.stat().st_size} bytes")


if __name__ == "__main__":
    with np.errstate(all="ignore"):
        main()
