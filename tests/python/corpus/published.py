"""The gradient checks of two courses, by their published method, for the functions of this corpus.

| check | upstream gradient | step | compares | wrong if | published in |
|---|---|---|---|---|---|
| minitorch | ones (`out.sum().backward()`) | 1e-6 | one random element of each input | beyond rtol 1e-2, atol 1e-2 | github.com/minitorch/minitorch, minitorch/tensor_functions.py, `grad_check` |
| dlsys hw1 | ones | 1e-4 | every element | Σ over inputs of ‖difference‖ ≥ 1e-6 | github.com/dlsyscourse/hw1, tests/hw1/test_autograd_hw.py, `gradient_check` |
| dlsys hw4 | random | 1e-5 | every element | Σ over inputs of ‖difference‖ ≥ 0.42 | github.com/dlsyscourse/hw4, tests/hw4/test_nd_backend.py, `backward_check` |
"""

import random

import numpy as np


def minitorch(f, backward, inputs):
    random.seed(10)
    inputs = [x.copy() for x in inputs]
    gradients = _call(backward, f, inputs, np.ones_like)
    for k in _floating(inputs):
        at = tuple(random.randint(0, n - 1) for n in inputs[k].shape)
        expected = _difference(f, inputs, k, at, 1e-6, np.ones_like)
        if not np.allclose(gradients[k][at], expected, rtol=1e-2, atol=1e-2):
            return False
    return True


def dlsys_hw1(f, backward, inputs):
    return _norms(f, backward, inputs, 1e-4, np.ones_like) < 1e-6


def dlsys_hw4(f, backward, inputs):
    return _norms(f, backward, inputs, 1e-5, lambda y: np.random.default_rng(y.size).standard_normal(y.shape)) < 4.2e-1


CHECKS = {"minitorch": minitorch, "dlsys hw1": dlsys_hw1, "dlsys hw4": dlsys_hw4}


def passes(check, wrong):
    """True if a published check takes a wrong backward for a right one."""
    layer = wrong.layer
    f = (lambda *x: layer.forward(*x)[0]) if layer.cache else layer.forward
    backward = (lambda dy, *x: wrong.backward(dy, layer.forward(*x)[1])) if layer.cache else wrong.backward
    try:
        return bool(CHECKS[check](f, backward, layer.inputs()))
    except Exception:  # as a pytest that fails
        return False


def _norms(f, backward, inputs, eps, upstream):
    inputs = [x.copy() for x in inputs]
    gradients = _call(backward, f, inputs, upstream)
    error = 0
    for k in _floating(inputs):
        expected = np.zeros_like(inputs[k])
        for at in np.ndindex(*expected.shape):
            expected[at] = _difference(f, inputs, k, at, eps, upstream)
        error += np.linalg.norm(gradients[k] - expected)
    return error


def _difference(f, inputs, k, at, eps, upstream):
    def loss(step):
        moved = [x.copy() for x in inputs]
        moved[k][at] += step
        return sum((y * upstream(y)).sum() for y in map(np.asarray, _tuple(f(*moved))))

    return (loss(eps) - loss(-eps)) / (2 * eps)


def _call(backward, f, inputs, upstream):
    dy = tuple(upstream(np.asarray(y)) for y in _tuple(f(*inputs)))
    return _tuple(backward(dy if len(dy) > 1 else dy[0], *inputs))


def _floating(inputs):
    return [k for k, x in enumerate(inputs) if x.dtype.kind == "f"]


def _tuple(y):
    return y if isinstance(y, tuple) else (y,)
