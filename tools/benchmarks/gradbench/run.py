"""GradBench's evaluations by Glim, JAX and PyTorch: run.py [--only NAME,NAME...] [--seconds S] [--glim PROGRAM]

Each tool answers GradBench's protocol on one core, in a process of its own for each evaluation, with the same inputs
(workloads.py). Each output is compared with NumPy's (reference.py). The Markdown table has times of the largest workload,
and scores. It needs NumPy.

A score is GradBench's, 1 / Σ over workloads of the seconds of the value and of the derivative, but of each function's
fastest run in place of the mean, as machines are shared. JAX and PyTorch are taken from the Python that runs this script;
one that is not there is left out.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import platform
import subprocess
import sys

from reference import FUNCTIONS, checked
from workloads import workloads

HERE = pathlib.Path(__file__).resolve().parent
ACCEPTED = 1e-4  # GradBench's tolerance


class Tool:
    """A process that answers messages."""

    def __init__(self, name, command):
        core = str(max(os.sched_getaffinity(0)))
        env = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1",
                   XLA_FLAGS="--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
        env.pop("OPENBLAS_CORETYPE", None)
        self.name, self.id = name, -1
        self.process = subprocess.Popen(["taskset", "-c", core, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=env)
        self.ask("start")

    def ask(self, kind, **message):
        self.id += 1
        self.process.stdin.write(json.dumps({"id": self.id, "kind": kind, **message}) + "\n")
        self.process.stdin.flush()
        reply = json.loads(self.process.stdout.readline() or "{}")
        if reply.get("id") != self.id:
            raise RuntimeError(f"{self.name} does not answer message {self.id} ({kind})")
        return reply

    def evaluate(self, name, function, inputs, error, seconds):
        """Milliseconds of the fastest run; None for a function that it has not, or that is wrong."""
        if not self.ask("define", module=name)["success"]:
            return None
        repeats = {"min_runs": 2, "min_seconds": seconds} if isinstance(inputs, dict) else {}
        reply = self.ask("evaluate", module=name, function=function, input={**inputs, **repeats} if repeats else inputs)
        problem = None if reply["success"] else reply["error"]
        if not problem and not (wrong := error(reply["output"])) < ACCEPTED:
            problem = f"wrong by {wrong:.1e}"
        if problem:
            print(f"{self.name}: {name} {function}: {problem}", file=sys.stderr)
            return None
        return min(t["nanoseconds"] for t in reply["timings"] if t["name"] == "evaluate") / 1e6

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def digits(x):
    return "–" if x is None else f"{x:,.0f}" if x >= 100 else f"{x:.3g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default=",".join(FUNCTIONS), help="evaluations")
    parser.add_argument("--seconds", type=float, default=0.2, help="each function runs at least so long, and twice")
    parser.add_argument("--glim", default=HERE.parents[2] / "build/tools/benchmarks/gradbench/glim_gradbench")
    a = parser.parse_args()
    glim, names = pathlib.Path(a.glim).resolve(), a.only.split(",")
    for name in names:
        if name not in FUNCTIONS:
            parser.error(f"--only: '{name}' is not one of {', '.join(FUNCTIONS)}")
    if not glim.exists():
        parser.error(f"{glim} is not built: tools/build build tools/benchmarks/gradbench/glim_gradbench")
    commands = {"Glim": [glim]}
    for name, module in (("JAX", "jax"), ("PyTorch", "torch")):
        if importlib.util.find_spec(module):
            commands[name] = [sys.executable, HERE / "peers.py", module]
        else:
            print(f"{name} is not installed: left out", file=sys.stderr)
    cpu = next((line.split(": ")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    print(f"{cpu}, one core. Milliseconds of the largest workload, value / derivative, and the score.\n")
    print("| evaluation | largest workload |" + "".join(f" {name} | score |" for name in commands))
    print("|---|---|" + "---|---|" * len(commands))
    for name in names:
        times = {Tool(*started): [] for started in commands.items()}  # anew for each evaluation, as GradBench does
        for description, inputs in workloads(name):
            for function in FUNCTIONS[name]:
                error = checked(name, function, inputs)
                for tool in times:
                    times[tool].append(tool.evaluate(name, function, inputs, error, a.seconds))
        cells = []
        for tool, found in times.items():
            tool.close()
            cells.append(" / ".join(digits(t) for t in found[-len(FUNCTIONS[name]):]))
            cells.append(digits(None if None in found else 1e3 / sum(found)))
        print(f"| {name} | {description} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
