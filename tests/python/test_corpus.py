"""The corpus of wrong and right backwards, as far as a few seconds allow. `python -m corpus.table` has all of it."""
from collections import Counter

import numpy as np
import pytest

import glim
from corpus import layer as layers, published
from corpus.judge import PASSED, RIGHTLY, WRONGLY, judge, judge_rounded, right
from corpus.layer import LAYERS, Wrong
from corpus.right import right_backwards
from corpus.rounded import functions
from corpus.wrong import wrong_backwards

WRONGS = wrong_backwards()


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)
def test_the_right_backward_of_a_layer(layer):
    assert glim.gradcheck(layer.forward, layer.backward, *layer.inputs(), cache=layer.cache)


def test_wrong_backwards_fail_and_are_named():
    some = WRONGS[::3]
    verdicts = Counter(judge(wrong)[0] for wrong in some)
    assert len(some) > 140 and verdicts[PASSED] == 0
    assert verdicts[RIGHTLY] >= 0.85 * len(some)
    assert verdicts[WRONGLY] <= 0.02 * len(some)


@pytest.mark.parametrize("name", [value for name, value in vars(layers).items() if name.isupper() and isinstance(value, str)])
def test_each_name_is_given(name):
    """A broken rule of names gives its name to no mistake."""
    assert any(name in judge(wrong)[1] for wrong in WRONGS if name in wrong.looks)


def test_backwards_that_are_right_at_ordinary_inputs():
    special = [w for w in WRONGS if w.layer.forward.__module__.endswith("special")]
    assert len(special) == 10
    assert {str(w): judge(w) for w in special if judge(w)[0] != RIGHTLY} == {}


@pytest.mark.parametrize("name", [
    "flip: the other axis flipped", "sort: in the order of y", "weight norm: gain's gradient not summed",
    "gaussian nll: the logarithm's part forgotten", "poisson nll: exponential forgotten", "poisson nll: target forgotten",
    "l1 loss: as the squared error", "l1 loss: sign forgotten", "exponential moving average: decay forgotten"])
def test_the_name_of_a_wrong_backward(name):
    [wrong] = [w for w in WRONGS if str(w) == name]
    verdict, said = judge(wrong)
    assert verdict == RIGHTLY, said


def test_one_number_that_agrees_by_chance_is_no_name():
    [wrong] = [w for w in WRONGS if str(w) == "swiglu: the sigmoid's derivative alone"]
    assert judge(wrong)[0] != WRONGLY


def test_a_constant_that_is_mostly_right_is_not_the_mistake():
    [wrong] = [w for w in WRONGS if str(w) == "embedding bag: added once for a token that is there twice"]
    assert judge(wrong)[0] != WRONGLY


def test_right_backwards_raise_no_alarm():
    cases = list(right_backwards(["numpy"]))
    assert len(cases) > 500
    with np.errstate(all="ignore"):
        found = {case[0]: right(case) for case in cases[::8]}
    assert {name: verdict for name, verdict in found.items() if verdict != "passed"} == {}


def test_functions_that_round_to_few_digits():
    cases = list(functions())
    assert len(cases) > 200
    with np.errstate(all="ignore"):
        for k, r in enumerate(cases[::7]):
            mode, precise = ("full", "projected")[k % 2], k % 4 > 1
            assert judge_rounded(r, "right", mode, precise)[0] != "failed", r.name
            assert judge_rounded(r, "missing", mode, precise)[0] != "passed", r.name
            assert judge_rounded(r, "wrong", mode, precise)[0] != "passed", r.name


def test_published_checks_let_wrong_backwards_pass():
    named = {str(w): w for w in WRONGS}
    # The rows of a softmax sum to 1: the gradient of a plain sum is 0, as it is with many a mistake.
    for mistake in ("y forgotten", "ones for dy"):
        wrong = named[f"softmax: {mistake}"]
        assert published.passes("minitorch", wrong) and published.passes("dlsys hw1", wrong)
        assert judge(wrong)[0] == RIGHTLY
    sign = named["sin: sign"]
    for check in published.CHECKS:
        assert not published.passes(check, sign)
        assert published.passes(check, Wrong(sign.layer, "right", (), sign.layer.backward))
