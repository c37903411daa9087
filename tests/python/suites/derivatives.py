"""Values and derivatives of a function of Glim, and how they are compared."""

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


def derivatives(f, leaves, dys, vs):
    """(outputs, first, second) of f(), a function of the leaves.

    first: those of Σ dy·y by the leaves. second: those of Σ v·first by the leaves and by each dy, which is a leaf too.
    """
    with glim.Tape() as tape:
        ys = outputs(f())
        floats = [y for y in ys if isinstance(y, glim.Var) and is_float(y)]
        ups = [glim.Var.leaf(np.array(dy)) for dy in dys]
        assert len(ups) == len(floats), f"{len(floats)} outputs have a gradient, not {len(ups)}"
        loss = weighted(ups, floats)
        if loss is None or not leaves:
            return ys, [], []
        first = tape.grad(loss, leaves, create_graph=True)
        if vs is None:
            return ys, first, []
        total = weighted([glim.Var(np.array(v)) for v in vs], first)
        of = leaves + ups
        second = [glim.zeros(x.shape, x.dtype) for x in of] if total is None else tape.grad(total, of)
    return ys, first, second


def weighted(weights, values):
    total = None
    for w, v in zip(weights, values):
        if v.size:
            part = glim.sum(glim.mul(v, w))
            total = part if total is None else total + part
    return total
