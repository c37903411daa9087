"""Prints how good glim.gradcheck is on this corpus, and the checks of two courses beside it.

    python -m corpus.table wrong         wrong backwards by chapter, and what is not named rightly
    python -m corpus.table right [numpy|torch|jax ...]
    python -m corpus.table rounded       functions that round to few digits, with right and wrong backwards
    python -m corpus.table published     how many of the wrong ones pass the published checks
    python -m corpus.table shipped       gradients that were wrong in releases of frameworks, and mended

Run it in tests/python with the package glim installed.
"""

import sys
import time
from collections import Counter

from . import published
from .judge import PASSED, RIGHTLY, UNNAMED, WRONGLY, judge, judge_rounded, right
from .right import right_backwards
from .rounded import functions
from .shipped import CASES, check
from .wrong import wrong_backwards


def wrong():
    wrongs = wrong_backwards()
    columns = (RIGHTLY, WRONGLY, UNNAMED, PASSED)
    by_chapter, rest = {}, []
    for w in wrongs:
        verdict, said = judge(w)
        by_chapter.setdefault(w.layer.forward.__module__.split(".")[-1], Counter())[verdict] += 1
        if verdict != RIGHTLY:
            rest.append((verdict, w, said))
    print(row("chapter", "wrong backwards", *columns), row(*["---"] * 6), sep="\n")
    for chapter, counts in by_chapter.items():
        print(row(chapter, sum(counts.values()), *(counts[c] for c in columns)))
    total = sum(by_chapter.values(), Counter())
    print(row("all", len(wrongs), *(f"{total[c]} ({100 * total[c] / len(wrongs):.1f} %)" for c in columns)))
    print()
    for verdict, w, said in sorted(rest, key=lambda r: r[0]):
        print(f"{verdict}: {w}" + (f"\n    expected {' or '.join(w.looks) or 'nothing'}; it says {said}" if said else ""))


def right_ones(frameworks):
    counts, alarms = {}, []
    for case in right_backwards(*([frameworks] if frameworks else [])):
        verdict = right(case)
        kind = verdict if verdict in ("passed", "undecided") else "alarm"
        counts.setdefault(case[0].split()[0], Counter())[kind] += 1
        if kind != "passed":
            alarms.append((case[0], verdict))
    columns = ("passed", "undecided", "alarm")
    print(row("framework", "right backwards", *columns), row(*["---"] * 5), sep="\n")
    for framework, c in counts.items():
        print(row(framework, sum(c.values()), *(c[k] for k in columns)))
    total = sum(counts.values(), Counter())
    print(row("all", sum(total.values()), *(total[k] for k in columns)), end="\n\n")
    for name, verdict in alarms:
        print(f"{name}: {verdict}")


def rounded():
    backwards, verdicts = ("right", "missing", "wrong"), ("passed", "undecided", "failed")
    counts, kinds, bad = Counter(), Counter(), []
    for r in functions():
        kinds[r.kind] += 1
        for mode in ("full", "projected"):
            for precise in (False, True):
                for of in backwards:
                    verdict, said = judge_rounded(r, of, mode, precise)
                    counts[r.kind, of, verdict] += 1
                    if verdict == ("failed" if of == "right" else "passed"):
                        bad.append((r.name, of, mode, precise, said))
    print(row("kind", "functions", *(f"{of}: {', '.join(verdicts)}" for of in backwards)), row(*["---"] * 5), sep="\n")
    for kind, n in kinds.items():
        print(row(kind, n, *(", ".join(str(counts[kind, of, v]) for v in verdicts) for of in backwards)))
    print(row("all", sum(kinds.values()), *(", ".join(str(sum(counts[k, of, v] for k in kinds)) for v in verdicts)
                                            for of in backwards)), end="\n\n")
    for case in bad:
        print(*case)


def published_ones():
    wrongs = wrong_backwards()
    print(row("check", "wrong backwards that pass", "of"), row(*["---"] * 3), sep="\n")
    for check in published.CHECKS:
        passing = [w for w in wrongs if published.passes(check, w)]
        print(row(check, f"{len(passing)} ({100 * len(passing) / len(wrongs):.1f} %)", len(wrongs)))
    print(row("glim.gradcheck", sum(judge(w)[0] == PASSED for w in wrongs), len(wrongs)))


def shipped():
    print(row("gradient", "thread", "glim.gradcheck says", "mended"), row(*["---"] * 4), sep="\n")
    for case in CASES:
        wrong = check(case, case.wrong)
        print(row(case.name, ", ".join(case.threads), wrong.mistake or wrong, "passed" if check(case, case.mended) else "failed"))


def row(*cells):
    return "| " + " | ".join(map(str, cells)) + " |"


if __name__ == "__main__":
    import numpy as np

    np.seterr(all="ignore")
    began = time.monotonic()
    what = sys.argv[1] if len(sys.argv) > 1 else "wrong"
    if what == "right":
        right_ones(sys.argv[2:])
    else:
        {"wrong": wrong, "rounded": rounded, "published": published_ones, "shipped": shipped}[what]()
    print(f"{time.monotonic() - began:.0f} s", file=sys.stderr)
