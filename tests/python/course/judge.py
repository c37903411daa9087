"""Wrong solutions as those of the corpus (tests/python/corpus), and what glim.gradcheck says of each."""

import numpy as np

from corpus import judge as corpus_judge
from corpus.judge import PASSED, RIGHTLY, UNNAMED, WRONGLY
from corpus.layer import Layer, Wrong

from . import solutions

VALUES = ("adam_step", "warm_up")  # exercise 11 has no backward: what is compared are values


def backward_of(text):
    """A backward that gives None for inputs of integers and bools, as glim.gradcheck wants it."""
    function = solutions.compiled(text)

    def backward(dy, *inputs):
        gradients = function(dy, *inputs)
        gradients = gradients if isinstance(gradients, tuple) else (gradients,)
        gradients += (None,) * (len(inputs) - len(gradients))
        return gradients if len(inputs) > 1 else gradients[0]

    return backward


def wrong_of(function, looks, name, text):
    layer = Layer(getattr(solutions, function), function.replace("_", " "), {})
    layer.inputs = lambda seed=0, dtype=np.float64: solutions.inputs_of(function, seed, dtype=dtype)
    return Wrong(layer, name, looks, backward_of(text))


def judge(wrong):
    """As the corpus has it. An exception of NumPy is a name if it was written down as one."""
    try:
        return corpus_judge.judge(wrong)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        return (RIGHTLY if any(look in said for look in wrong.looks) else UNNAMED), said


def changed(function, changes):
    text = solutions.text_of(function)
    for old, new in changes:
        assert old in text, (function, old)
        text = text.replace(old, new)
    return text


def values_of(function, text, seed):
    """Of exercise 11, at some steps."""
    f, rng = solutions.compiled(text), np.random.default_rng(seed)
    if function == "warm_up":
        return [np.array(f(step, d, steps)) for step in (1, 2, 7, 40, 41, 200) for d, steps in ((16, 40), (512, 4000))]
    p, m, v, all_values = rng.standard_normal((3, 4)), np.zeros((3, 4)), np.zeros((3, 4)), []
    for step in range(1, 6):
        p, m, v = f(p, rng.standard_normal((3, 4)), m, v, step, 1e-2)
        all_values += [p, m, v]
    return all_values


def values_right(function, text):
    def near(a, b):
        return a.shape == b.shape and np.allclose(a, b, rtol=1e-9, atol=1e-12)

    right = solutions.text_of(function)
    return all(near(a, b) for seed in (0, 1) for a, b in zip(values_of(function, text, seed), values_of(function, right, seed)))
