"""Checks every differentiable operator of torch's OpInfo list in float64 at 1e-8, and writes a table.

    python opinfo.py check RESULTS.jsonl [OPERATOR ...]    checks; what the file has already is left out
    python opinfo.py table RESULTS.jsonl [PAGE.md]         prints the table, or writes the page

A tool to run by hand: it needs torch, which is no dependency of Glim. Each operator runs in a process of its own with a
limit of CPU time, over the sample inputs of its OpInfo, smallest first, with glim.gradcheck in its precise mode.
"""

import json
import multiprocessing
import os
import re
import resource
import subprocess
import sys
import time
import warnings
from collections import Counter
from queue import Empty

SECONDS = float(os.environ.get("SECONDS_PER_OPERATOR", 20))
SAMPLES = 5  # of each operator
TOLERANCE = dict(atol=1e-8, rtol=1e-8)
MOST = 1 << 12  # elements of a Jacobian; larger ones are projected


def operators():
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    for op in op_db:
        if op.supports_autograd and torch.float64 in op.supported_dtypes("cpu"):
            yield op.name + ("." + op.variant_test_name if op.variant_test_name else ""), op


def floating(tree):
    import torch

    if isinstance(tree, torch.Tensor):
        return tree.numel() if tree.is_floating_point() else 0
    if isinstance(tree, (list, tuple)):
        return sum(map(floating, tree))
    return 0


def check_operator(name, put):
    """Puts a line of results for each sample."""
    import torch

    import glim

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    resource.setrlimit(resource.RLIMIT_CPU, (int(used + SECONDS + 1),) * 2)  # ends this process
    op = dict(operators())[name]
    torch.manual_seed(0)
    samples = []
    for k, sample in enumerate(op.sample_inputs("cpu", torch.float64, requires_grad=True)):
        if k == 200:
            break
        samples.append((floating(sample.input) + floating(sample.args), k, sample))
    samples = sorted((s for s in samples if s[0] > 0), key=lambda s: s[:2])
    # Spread over the sizes, with the empty ones left out.
    chosen = [samples[round(i * (len(samples) - 1) / max(1, SAMPLES - 1))] for i in range(SAMPLES)] if samples else []
    expected = any(getattr(d, "test_name", "") == "test_fn_grad" for d in op.decorators)
    for _, k, sample in sorted({id(s): s for s in chosen}.values(), key=lambda s: s[:2]):
        put({"operator": name, "sample": k, "torch_expects_failure": expected, **check_sample(op, sample, glim, torch)})


def check_sample(op, sample, glim, torch):
    fixed = sample.output_process_fn_grad

    def f(x, *args):
        y = op.gradcheck_wrapper(op.op, x, *args, **sample.kwargs)
        y = fixed(y) if fixed else y
        return real(y)

    def real(y):
        if isinstance(y, torch.Tensor):
            return torch.view_as_real(y.resolve_conj()) if y.is_complex() else y
        return tuple(map(real, y)) if isinstance(y, (tuple, list)) else y

    def detached(x):
        if isinstance(x, torch.Tensor):
            return x.detach().clone().requires_grad_(x.requires_grad)
        return type(x)(map(detached, x)) if type(x) in (tuple, list) else x

    try:
        args = [detached(a) for a in (sample.input, *sample.args)]
        y = f(*args)
        y = y if isinstance(y, (tuple, list)) else (y,)
        if not all(t.isfinite().all() for t in y if isinstance(t, torch.Tensor)):
            return {"verdict": "not checked", "why": "The value of the function is not finite at this sample."}
        size = floating(args) * floating(y)
        report = glim.gradcheck(f, *args, mode="full" if size <= MOST else "projected", precise=True, name=op.name, **TOLERANCE)
    except Exception as error:
        return {"verdict": "not checked", "why": f"{type(error).__name__}: {error}"[:300]}
    found = json.loads(report.to_json())
    verdict = "pass" if report else "fail" if "failed" in report.verdicts.values() else "undecided"
    shapes = [list(x.shape) if isinstance(x, torch.Tensor) else str(x)[:60] for x in args]
    line = {"verdict": verdict, "shapes": shapes, "kwargs": str(sample.kwargs)[:120]}
    for key in ("checked", "undecidable", "low_precision"):
        line[key] = sum(i.get(key, 0) for i in found["inputs"])
    return line if report else {**line, "verdicts": report.verdicts, "worst": report.worst, "why": str(report)[:1500]}


def check(path, only):
    done = {line["operator"] for line in read(path) if line.get("last")} if os.path.exists(path) else set()
    names = [name for name, _ in operators() if name not in done and (not only or name in only)]
    for name in names:
        queue = multiprocessing.Queue()
        process = multiprocessing.Process(target=check_operator, args=(name, queue.put), daemon=True)
        began = time.monotonic()
        process.start()
        with open(path, "a") as out:
            while process.is_alive() or not queue.empty():
                try:
                    out.write(json.dumps(queue.get(timeout=0.2), default=str) + "\n")
                except Empty:
                    continue
            process.join()
            last = {"operator": name, "last": True, "seconds": round(time.monotonic() - began, 1)}
            if process.exitcode:
                last["signal"] = -process.exitcode  # 9 and 24: out of time
            out.write(json.dumps(last) + "\n")
        print(name, last, flush=True)


def read(path):
    with open(path) as lines:
        return [json.loads(line) for line in lines]


ORDER = ["pass", "derivative 0", "undecided", "not decided in time", "not checked", "fail"]


def verdict_of(line):
    """That of a sample; None if it has no elements."""
    if "failed" in line.get("verdicts", {}).values():
        return "fail"
    if line.get("verdict") != "undecided":
        return line.get("verdict")
    if not line["checked"]:
        return None
    # Each element was compared, and is 0 on both sides.
    return "undecided" if line["undecidable"] else "derivative 0"


def table(path):
    """Markdown: the counts, then the operators that did not pass."""
    by = {}
    for line in read(path):
        by.setdefault(line["operator"], []).append(line)
    verdicts, samples = {}, Counter()
    for name, lines in by.items():
        found = Counter(filter(None, map(verdict_of, lines)))
        samples += found
        late = any("signal" in x for x in lines)
        # One sample that decides is enough.
        of = next((v for v in ("fail", "pass", "undecided", "derivative 0") if found[v]), None)
        verdicts[name] = of or ("not decided in time" if late else "not checked")
    counts = Counter(verdicts.values())
    text = ["| verdict | operators | samples |", "|---|---|---|"]
    text += [f"| {v} | {counts[v]} | {samples[v] or ''} |" for v in ORDER if counts[v]]
    not_run = sum(name not in verdicts for name, _ in operators())
    text += [f"| not run | {not_run} | |"] if not_run else []
    text += [f"| all | {len(verdicts) + not_run} | {sum(samples.values())} |", ""]
    for v in reversed(ORDER[1:]):
        names = sorted(n for n in verdicts if verdicts[n] == v)
        if not names:
            continue
        text += [f"## {v[0].upper() + v[1:]}", ""]
        if v == "derivative 0":
            text += ["Every derivative is 0, and so is the gradient: " + ", ".join(f"`{n}`" for n in names) + ".", ""]
        else:
            text += ["| operator | why |", "|---|---|"]
            text += [f"| `{n}` | {reason(by[n], v)} |" for n in names] + [""]
    return "\n".join(text)


def reason(lines, verdict):
    for line in lines:
        if verdict_of(line) == verdict:
            known = " (torch's own test_fn_grad is marked as failing or skipped)" if line.get("torch_expects_failure") else ""
            return first_reason(line["why"]).replace("|", "\\|") + known
    last = lines[-1]
    return f"no sample done in {SECONDS:.0f} s of CPU time" if last.get("signal") in (9, 24) else f"the process ended: {last}"


def first_reason(text):
    """The mistake of a report, or its first check that did not pass; or an exception's first sentence."""
    head, *checks = text.split("\n")
    if not head.startswith("gradcheck of "):
        return head.split("  ")[0]
    _, _, mistake = head.removeprefix("gradcheck of ").partition(": ")
    return mistake.partition(": ")[2] or next(c.split(": ", 1)[1] for c in checks if re.match(r" +\w+ +(failed|undecided): ", c))


# Fails that were looked at: the operators, what is wrong, and a program that shows it. Nothing in them is rounded: the
# numbers are small integers, or the same twice.
LOOKED_AT = [
    (
        ["as_strided_scatter"],
        "torch's: the gradient of x is kept where the source has overwritten it.",
        """import torch
x = torch.zeros(2, dtype=torch.float64, requires_grad=True)
f = lambda x: torch.as_strided_scatter(x, torch.ones(1, dtype=torch.float64), (1,), (1,), 0)
print((f(x + 1) - f(x))[0].item())                  # y[0] does not depend on x
print(torch.autograd.grad(f(x)[0], x)[0].tolist())  # and its gradient is 1
""",
    ),
    (
        ["nn.functional.max_unpool1d", "nn.functional.max_unpool2d", "nn.functional.max_unpool3d"],
        "torch's: of elements for one place the last is seen, and all have a gradient.",
        """import torch
x = torch.tensor([[1.0, 2.0]], dtype=torch.float64, requires_grad=True)
f = lambda x: torch.nn.functional.max_unpool1d(x, torch.tensor([[0, 0]]), 2)
print((f(x + torch.tensor([[1.0, 0.0]])) - f(x))[0, 0].item())  # y[0] does not depend on x[0]
print(torch.autograd.grad(f(x)[0, 0], x)[0].tolist())           # and its gradient is 1
""",
    ),
    (
        ["normal", "normal.number_mean"],
        "torch's choice: a draw moves with its mean, and its gradient is 0.",
        """import torch
m = torch.zeros(1, dtype=torch.float64, requires_grad=True)
def f(m):
    torch.manual_seed(0)
    return torch.normal(m, 1.0)
print((f(m + 1) - f(m)).item())
print(torch.autograd.grad(f(m), m)[0].item())
""",
    ),
    (
        ["linalg.lstsq", "linalg.lstsq.grad_oriented"],
        "LAPACK's: with the driver gelsy the last digits change with the place of the memory. No gradient is wrong.",
        """import torch
torch.manual_seed(0)
a, b = torch.randn(2, 40, 30, dtype=torch.float64)
f = lambda: torch.linalg.lstsq(a, b, driver="gelsy").solution
first = f()
print(all(torch.equal(f(), first) for _ in range(1000)))
""",
    ),
]


def printed(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


def programs():
    """The programs of LOOKED_AT with what they print."""
    text = ["## Fails that were looked at", "", "The programs compare small integers, or the same call twice: nothing in them is rounded.", ""]
    for names, what, program in LOOKED_AT:
        text += [", ".join(f"`{name}`" for name in names) + f": {what}", "", "```text", program + "```", ""]
        text += ["It prints", "", "```text", printed(program) + "```", ""]
    return "\n".join(text)


HEAD = """# Operators of torch, checked

Every differentiable operator of torch {torch}'s OpInfo list that runs on the CPU in float64, by `glim.gradcheck` with
`precise=True` at atol and rtol 1e-8. `tests/python/opinfo.py` wrote this page.

"""

if __name__ == "__main__":
    command, path, *rest = sys.argv[1:]
    if command == "check":
        multiprocessing.set_start_method("fork")
        check(path, rest)
    elif rest:
        import torch

        with open(rest[0], "w") as page:
            page.write(HEAD.format(torch=torch.__version__.split("+")[0]) + table(path) + "\n" + programs().rstrip("\n") + "\n")
    else:
        print(table(path))
