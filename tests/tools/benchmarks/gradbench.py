#!/usr/bin/env python3
"""gradbench.py GLIM_GRADBENCH: each evaluation answers small inputs by GradBench's protocol with the outputs in
gradbench.json, and mistakes with a message.

The outputs are NumPy's, from the definitions, with derivatives by complex steps or in closed form:
tools/benchmarks/gradbench/reference.py > tests/tools/benchmarks/gradbench.json
"""
import json
import math
import pathlib
import subprocess
import sys

TOLERANCE = 1e-11  # of |a - b| / max(1, |a| + |b|); a complex step is exact to rounding
golden = json.loads(pathlib.Path(__file__).with_suffix(".json").read_text())
failed = 0


def report(name, problem):
    global failed
    if problem:
        failed += 1
        print(f"FAIL {name}: {problem}")


def error(found, expected):
    if isinstance(expected, dict):
        return max(error(found.get(key), part) for key, part in expected.items()) if isinstance(found, dict) else math.inf
    if isinstance(expected, list):
        same = isinstance(found, list) and len(found) == len(expected)
        return max((error(*pair) for pair in zip(found, expected)), default=0) if same else math.inf
    return abs(found - expected) / max(1, abs(found) + abs(expected)) if isinstance(found, (int, float)) else math.inf


evaluations = list(dict.fromkeys(g["module"] for g in golden))
messages = [{"kind": "start", "eval": evaluations[0]}, *({"kind": "define", "module": name} for name in evaluations)]
first = len(messages)
messages += [{"kind": "evaluate", **{key: g[key] for key in ("module", "function", "input")}} for g in golden]
messages.append({"kind": "evaluate", "module": "lse", "function": "primal", "input": {"x": [1], "min_runs": 3}})
messages.append({"kind": "analysis", "of": 1, "valid": True})
wrong = [({"kind": "define", "module": "none"}, "'none'"),
         ({"kind": "evaluate", "module": "lse", "function": "none", "input": {"x": [1]}}, "'none'"),
         ({"kind": "evaluate", "module": "lse", "function": "primal", "input": {}}, "'x'"),
         ({"kind": "evaluate", "module": "lse", "function": "primal", "input": {"x": ["one"]}}, "number")]
messages += [message for message, _ in wrong]
lines = "".join(json.dumps({"id": i, **message}) + "\n" for i, message in enumerate(messages))
run = subprocess.run([sys.argv[1]], input=lines, text=True, capture_output=True, timeout=600)
replies = [json.loads(line) for line in run.stdout.splitlines()]
report("an answer for each message", [r["id"] for r in replies] != [*range(len(messages))] and run)
report("a tool", replies[0].get("tool") != "glim" and replies[0])
for name, reply in zip(evaluations, replies[1:]):
    report(f"{name} is defined", not reply["success"] and reply)
for g, reply in zip(golden, replies[first:]):
    apart = error(reply.get("output"), g["output"])
    report(f"{g['module']} {g['function']}", not apart < TOLERANCE and f"{apart} from {str(g['output'])[:100]}: {str(reply)[:300]}")
runs = replies[first + len(golden)]["timings"]
report("three runs", [t["name"] for t in runs] != ["prepare"] + 3 * ["evaluate"] and runs)
for (message, part), reply in zip(wrong, replies[-len(wrong):]):
    report(f"a mistake, {part}", (reply["success"] or part not in reply["error"] or "\n" in reply["error"]) and reply)
broken = subprocess.run([sys.argv[1]], input="{\n", text=True, capture_output=True, timeout=600)
report("a line that is no JSON", (broken.returncode != 1 or not broken.stderr.startswith("glim_gradbench: error: ")) and broken)
print(f"{len(golden)} outputs, {failed} failed")
sys.exit(failed > 0)
