import importlib
import multiprocessing
import os
import sys
import time
import warnings
from collections import Counter

import numpy as np

from .count import Count

SUITES = ["op_db", "module_db", "optim_db"]


def run(task):
    suite, name = task
    warnings.simplefilter("ignore")
    count = Count()
    with np.errstate(all="ignore"):
        for case in importlib.import_module(f".{suite}", __package__).cases(name):
            count.case(*case)
    return count


def take(suite, pool_of, only):
    """Runs a suite and prints its counts. Less than its least is a failure."""
    began = time.monotonic()
    module = importlib.import_module(f".{suite}", __package__)
    names, total = [n for n in module.names() if not only or n in only], Count()
    with pool_of(len(os.sched_getaffinity(0))) as pool:
        for count in pool.imap_unordered(run, [(suite, n) for n in names], chunksize=4):
            total += count
    left = Counter(module.left_out())
    refused = sum(n for reason, n in total.skipped.items() if reason.startswith("refused"))
    print(f"{suite}: {len(names)} of {len(names) + left.total()} names; {total.passed} cases right, {len(total.failures)} wrong, "
          f"{refused} refused, {total.skipped.total() - refused} skipped ({time.monotonic() - began:.0f} s)")
    print("  compared: " + ", ".join(f"{total.compared[kind]} {kind} (at least {n})" for kind, n in module.LEAST.items()))
    for reason, n in left.items():
        print(f"  left out {n}: {reason}")
    for reason, n in total.skipped.most_common():
        print(f"  {n}: {reason}")
    for failure in sorted(total.failures):
        print(f"  wrong: {failure}")
    for kind, n in module.LEAST.items():
        if not only and total.compared[kind] < n:
            total.failures.append(f"{suite} has compared {total.compared[kind]} {kind}, fewer than {n}")
            print("  wrong:", total.failures[-1])
    return total


def main(chosen):
    warnings.simplefilter("ignore")
    suites = [s for s in SUITES if s in chosen] or SUITES
    total = Count()
    for suite in suites:
        total += take(suite, multiprocessing.get_context("fork").Pool, set(chosen) - set(SUITES))
        sys.stdout.flush()
    print(f"{total.passed} passed, {len(total.failures)} failed, {total.skipped.total()} skipped")
    return 1 if total.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
