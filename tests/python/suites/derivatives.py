"""Values and derivatives of a function of Glim beside those of another program."""

from dataclasses import dataclass

import numpy as np

import glim

RTOL, ATOL = 1e-9, 1e-11  # in float64; ATOL is of the largest element


def close(found, wanted, what, rtol=RTOL, atol=ATOL):
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape, f"{what} has shape {found.shape}, not {wanted.shape}"
    kinds = found.dtype.kind, wanted.dtype.kind
    assert kinds[0] == kinds[1] or kinds == ("i", "u"), f"{what} is {found.dtype}, not {wanted.dtype}"
    finite = np.abs(wanted[np.isfinite(wanted)], dtype=float) if wanted.dtype.kind == "f" else np.ones(1)
    limit = atol * max(1, finite.max(initial=0))
    right = np.isclose(found, wanted, rtol, limit, equal_nan=True)
    if not right.all():
        at = tuple(int(i) for i in np.argwhere(~right)[0])
        raise AssertionError(f"{what}{list(at)} is {found[at]}, not {wanted[at]} ({(~right).sum()} of {right.size} differ)")


def is_float(y):
    return y.dtype in ("float64", "float32")


def outputs(y):
    """The arrays that a function returned, as a list."""
    return list(y) if isinstance(y, (tuple, list)) else [y]


@dataclass
class Given:
    """The arguments of a function. Those that need a gradient are leaves, which stand in them, too."""

    args: list
    options: dict
    leaves: list


@dataclass
class Wanted:
    """What another program computed: its outputs; the derivatives of Σ dy·y by the leaves, dy = weights(y); those of
    Σ v·dx by the leaves and by dy, v = weights(dx). Empty where there are none."""

    outputs: list
    first: list
    second: list


def weights(shape, seed):
    return np.cos(np.arange(np.prod(shape, dtype=int)) * 1.7 + seed).reshape(shape)


def up(shapes):
    return [weights(s, 1 + k) for k, s in enumerate(shapes)]


def across(shapes):
    return [weights(s, 50 + k) for k, s in enumerate(shapes)]


def weighted(ws, values):
    """Σ w·value, or None if there are no elements."""
    total = None
    for w, v in zip(ws, values, strict=True):
        if v.size:
            part = glim.sum(glim.mul(v, w))
            total = part if total is None else total + part
    return total


def derivatives(forward, given, wanted):
    """Those of Glim, as a Wanted; as far as the other program has them."""
    with glim.Tape() as tape:
        ys = outputs(forward(*given.args, **given.options))
        floats = [y for y in ys if isinstance(y, glim.Var) and is_float(y)]
        dys = [glim.Var.leaf(dy) for dy in up([y.shape for y in floats])]
        loss = weighted(dys, floats)
        if not wanted.first or loss is None:
            return Wanted(ys, [], [])
        first = tape.grad(loss, given.leaves, create_graph=True)
        if not wanted.second:
            return Wanted(ys, first, [])
        total, of = weighted(map(glim.Var, across([d.shape for d in first])), first), given.leaves + dys
        return Wanted(ys, first, [glim.zeros(x.shape, x.dtype) for x in of] if total is None else tape.grad(total, of))


def compare(forward, given, wanted):
    """Values, first and second derivatives. Says which there were."""
    found = derivatives(forward, given, wanted)
    assert len(found.outputs) == len(wanted.outputs), f"{len(found.outputs)} outputs, not {len(wanted.outputs)}"
    kinds = []
    for kind, ours, theirs in (("values", found.outputs, wanted.outputs), ("gradients", found.first, wanted.first),
                               ("second derivatives", found.second, wanted.second)):
        for k, (a, b) in enumerate(zip(ours, theirs)):
            close(a.numpy() if hasattr(a, "numpy") else a, b, f"{kind} {k}")
        kinds += [kind] if theirs else []
    return kinds
