"""What glim.gradcheck says of a backward of this corpus."""

import json

import glim

RIGHTLY, WRONGLY, UNNAMED, PASSED = "named rightly", "named wrongly", "failing, unnamed", "passing"


def judge(wrong):
    """(verdict, what the report says)"""
    layer = wrong.layer
    try:
        report = glim.gradcheck(layer.forward, wrong.backward, *layer.inputs(), cache=layer.cache, name=layer.name)
    except (glim.Error, TypeError) as error:
        return (RIGHTLY if any(look in str(error) for look in wrong.looks) else UNNAMED), f"{type(error).__name__}: {error}"
    if report:
        return PASSED, str(report)
    said = names_in(report)
    if not said:
        return UNNAMED, ""
    return (RIGHTLY if any(look in name for look in wrong.looks for name in said) else WRONGLY), "; ".join(said)


def names_in(report):
    """The named mistake. Without one, the details of the other checks that failed."""
    if report.mistake:
        return [report.mistake]
    checks = json.loads(report.to_json())["checks"]
    return [c["detail"] for name, c in checks.items() if c["verdict"] == "failed" and name != "differences"]


def right(case):
    """"passed", "undecided", "failed", or the exception."""
    name, args, options = case
    try:
        report = glim.gradcheck(*args, name=name, **options)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if report:
        return "passed"
    return "undecided" if "failed" not in report.verdicts.values() else str(report)


def judge_rounded(r, of, mode="full", precise=False):
    """("passed", "undecided" or "failed", the report) of one of the three backwards of corpus.rounded."""
    report = glim.gradcheck(r.f, getattr(r, of), *r.inputs, name=r.name, mode=mode, precise=precise)
    failed = "failed" in report.verdicts.values()
    return "passed" if report else "failed" if failed else "undecided", str(report)
