"""The suites of PyTorch notice a wrong step, and with PyTorch a wrong rule of the importer."""
import numpy as np
import pytest

from suites.count import Count, Skip
from suites.optimizers import optimizer


def test_a_wrong_step_fails():
    with pytest.raises(AssertionError, match="parameter 0 after step 1"):
        optimizer("SGD", {"lr": 0.1}, [[np.zeros((3, 4)), np.zeros(5), np.zeros(())]] * 12)


def test_a_case_passes_fails_or_is_skipped():
    def check(kind):
        if kind == "skip":
            raise Skip("a reason")
        assert kind == "right"
        return ["values"]
    count = Count()
    for kind in ("right", "skip", "wrong"):
        count.case("name", check, lambda kind: (kind,), kind)
    assert (count.passed, count.skipped["a reason"], len(count.failures), count.compared["values"]) == (1, 1, 1, 1)


def compare(*args):
    pytest.importorskip("torch")
    from suites.imported import compare
    return compare(*args)


def planted(monkeypatch, name, compute):
    """A rule of the importer, until the test ends."""
    from glim.torch_models.ops import OPS, rule
    monkeypatch.setitem(OPS, name, compute)
    rule.cache_clear()


def test_the_suites_notice_a_wrong_rule(monkeypatch):
    torch = pytest.importorskip("torch")
    from glim.torch_models.ops.elementwise import formula
    import glim
    x = torch.linspace(-1, 1, 5, dtype=torch.float64, requires_grad=True)
    assert compare(torch.sin, (x,), {}) == ["values", "gradients", "second derivatives"]
    wrong = {"result": formula("sin", lambda x: torch.sin(x) + 1e-7, glim.cos),
             "gradient": formula("sin", torch.sin, lambda x: glim.cos(x) + 1e-7),
             "second derivative": formula("sin", torch.sin, lambda x: glim.cos(x) + 1e-7 * (x - glim.Var(x.numpy())))}
    for what, compute in wrong.items():
        planted(monkeypatch, "sin", compute)
        with pytest.raises(AssertionError, match=f"^{what} 0"):
            compare(torch.sin, (x,), {})
    planted(monkeypatch, "sin", None)
    with pytest.raises(Skip, match="refused: no op of Glim for prims.sin.default"):
        compare(torch.sin, (x,), {})
    monkeypatch.undo()
    planted(monkeypatch, "sin", glim.sin)
