"""Glim's judge beside other rules: python3 -m kernels.table [corpus | fresh | shipped] [SEED...]

corpus   the cases on which limits were set, with seeds 0 and 1
fresh    cases that were written afterwards
shipped  the faults that shipped, and what each check says of them
"""

import json
import sys
import warnings
from collections import Counter

import torch

from . import CASES, FRESH
from .rules import drawn, judged, rules, torch_gradcheck


def table(cases, seeds):
    wrong, right = Counter(), Counter()
    others, boxes, largest, names = Counter(), Counter(), {}, {True: [], False: []}
    for seed in seeds:
        for number, case in enumerate(cases):
            inputs, dy = drawn(case, 1000 * seed + number)
            report = judged(case, inputs, dy, seed)
            passes = {"the judge": report.verdict == "passed", "the judge, undecided counted as passed": report.verdict != "failed",
                      **rules(case, inputs, dy)}
            (wrong if case.wrong else right).update(rule for rule, passed in passes.items() if passed != bool(case.wrong))
            if case.only_at:
                others.update(rule for rule, passed in passes.items() if not passed)
            for check, found in json.loads(report.to_json())["checks"].items():
                if not case.wrong:
                    largest[check] = max(largest.get(check, 0), found["value"])
            if case.box and report.verdict == "failed":
                boxes[_same_box(case, inputs, report)] += 1
            if report.verdict != ("failed" if case.wrong else "passed"):
                names[bool(case.wrong)].append(f"{case.name}, {case.dtype}, seed {seed}: {report.verdict}")
    counts = len(seeds) * sum(bool(c.wrong) for c in cases), len(seeds) * sum(not c.wrong for c in cases)
    print(f"| rule | wrong ones caught of {counts[0]} | right ones not passed of {counts[1]} | wrong only at other inputs, of "
          f"{len(seeds) * sum(bool(c.only_at) for c in cases)} |\n| --- | --- | --- | --- |")
    for rule in passes:
        print(f"| {rule} | {wrong[rule]} | {counts[1] - right[rule]} | {others[rule]} |")
    print("largest numbers of right ones, of their limits:", ", ".join(f"{c} {v:.2f}" for c, v in largest.items() if v))
    print(f"the box of a local fault: right {boxes[True]} of {boxes.total()}")
    for line in names[True] + names[False]:
        print("*", line)


def _same_box(case, inputs, report):
    name, ranges = case.box
    return report.box is not None and report.box[0] == name and report.box[1] == tuple(tuple(r) for r in ranges)


def shipped(seed):
    print("| fault | shipped in | allclose 1e-2 | flash-attention's rule | torch's gradcheck, float64 | glim.compare_backward |\n"
          "| --- | --- | --- | --- | --- | --- |")
    for number, case in enumerate(c for c in CASES if c.shipped):
        inputs, dy = drawn(case, seed + number)
        passes, report = rules(case, inputs, dy), judged(case, inputs, dy)
        words = [("passed" if p else "failed") for p in (passes["allclose 1e-2"], passes["flash-attention's"],
                                                         torch_gradcheck(case, inputs))]
        print(f"| {case.wrong} | {case.shipped} | {' | '.join(words)} | {str(report).splitlines()[0].split(': ', 1)[1]} |", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    which = sys.argv[1] if len(sys.argv) > 1 else "corpus"
    seeds = [int(s) for s in sys.argv[2:]] or [2, 3, 4, 5, 6]
    shipped(seeds[0]) if which == "shipped" else table(FRESH if which == "fresh" else CASES, seeds)
