"""A sample of the suites of torch and ONNX, with the values that they have."""
from collections import Counter

import numpy as np
import pytest

import glim
from suites.count import Skip, g
from suites.derivatives import Given, Wanted, close
from suites.computed import operator, optimizer
from suites.sample import Reader


def test_the_sample():
    compared, failed = Counter(), []
    with np.errstate(all="ignore"):
        for check, parts in Reader().cases():
            try:
                compared.update(f"{check.__name__}: {kind}" for kind in check(*parts))
            except Exception as error:  # a skip, too: what is in the sample was computed
                failed.append(f"{check.__name__} {parts[0]}: {type(error).__name__}: {error}"[:300])
    assert not failed, "\n".join(failed)
    least = {"operator: second derivatives": 140, "module: second derivatives": 60, "optimizer: values": 9, "model: gradients": 100,
             "refused_by_operator: refusals": 50, "refused_by_module: refusals": 20, "refused_by_optimizer: refusals": 6}
    assert {kind: compared[kind] for kind in least if compared[kind] < least[kind]} == {}


def test_a_function_that_is_not_there_is_a_skip():
    with pytest.raises(Skip, match="not in Glim: no_such_function"):
        g.no_such_function
    assert g.exp is glim.exp


def wrong(outputs=0.0, first=0.0, second=0.0):
    """A case of x², with an error in one of its three numbers."""
    x = glim.Var.leaf(np.array(3.0))
    y, dy, v = 9.0, np.cos(1.0), np.cos(50.0)
    wanted = Wanted([np.array(y + outputs)], [np.array(6 * dy + first)], [np.array(2 * dy * v + second), np.array(6 * v)])
    return "square", Given([x], {}, [x]), wanted


def test_each_number_is_compared():
    assert operator(*wrong()) == ["values", "gradients", "second derivatives"]
    for kind, error in (("values", dict(outputs=1e-7)), ("gradients", dict(first=1e-7)), ("second derivatives", dict(second=1e-7))):
        with pytest.raises(AssertionError, match=f"^{kind} 0"):
            operator(*wrong(**error))
    with pytest.raises(AssertionError, match="is nan"):
        close(np.array([np.nan]), np.array([1.0]), "x")
    with pytest.raises(AssertionError, match="parameter 0 after step 1"):
        optimizer("SGD", {"lr": 0.1}, [[np.zeros((3, 4)), np.zeros(5), np.zeros(())]] * 12)
