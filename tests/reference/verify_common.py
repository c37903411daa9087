"""What both verifiers share: reading, comparing, central differences, softmax."""

import json
from pathlib import Path

import numpy as np
from safetensors import safe_open

HERE = Path(__file__).resolve().parent
STEP = 1e-5
TALLY = {"checks": 0, "failures": 0}


def read(name):
    with safe_open(HERE / f"{name}.safetensors", "numpy") as f:
        return json.loads(f.metadata()["case"]), {k: f.get_tensor(k) for k in f.keys()}


def expect(what, actual, stored, rtol, atol):
    TALLY["checks"] += 1
    if not np.allclose(actual, stored, rtol=rtol, atol=atol, equal_nan=True):
        TALLY["failures"] += 1
        print(f"{what}: off by {np.max(np.abs(np.subtract(actual, stored, dtype=float))):.3e}")


def differences(what, function, x, gradient, rng, entries=3):
    """Central differences of function() at a few entries of x, which is changed in place."""
    flat, analytic = x.reshape(-1), gradient.reshape(-1)
    for i in rng.choice(flat.size, min(entries, flat.size), replace=False):
        if not np.isfinite(flat[i]):
            continue
        value = flat[i]
        flat[i] = value + STEP
        above = function()
        flat[i] = value - STEP
        below = function()
        flat[i] = value
        expect(f"{what}[{i}]", (above - below) / (2 * STEP), analytic[i], 1e-5, 1e-8)


def softmax(scores):
    """Over the last axis; a row of -inf gives zeros."""
    top = scores.max(-1, keepdims=True)
    e = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
    total = e.sum(-1, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0)
