"""Gradients that were wrong in a release of a framework, each told again in NumPy, with its mended version.

A case has what the framework computed as `wrong` and what it should have computed as `mended`. `looks` are the names
that are true of the mistake. shipped.md has the threads.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.lib.stride_tricks import as_strided

import glim

from .layer import IGNORED, NONE, OWN, PLACES, ROUND


@dataclass
class Shipped:
    name: str
    threads: tuple  # repository#number
    looks: str
    forward: object
    wrong: object
    mended: object
    inputs: tuple
    options: dict = field(default_factory=dict)


def normal(*shape):
    return np.random.default_rng(list(shape)).normal(size=shape)


# ---- torch's scan: y[t] = a y[t-1] + x[t] ----
CARRY = 0.2


def scan(a, x):
    carry, ys = CARRY, []
    for x_t in x:
        carry = a * carry + x_t
        ys.append(carry)
    return np.stack(ys)


def scan_backward(passed_back):
    """passed_back: what step t gives step t-1 of its gradient."""

    def backward(dy, a, x):
        before = np.concatenate([[CARRY], scan(a, x)[:-1]])
        da, dcarry, dx = np.zeros(()), 0.0, np.zeros_like(x)
        for t in reversed(range(len(x))):
            dx[t] = dy[t] + dcarry
            da = da + dx[t] * before[t]
            dcarry = passed_back(a, dx[t])
        return da, dx

    return backward


# ---- torch's compiled diagonal_scatter: the sum of x with src as its diagonal ----
def with_diagonal(x, src):
    y = x.copy()
    np.fill_diagonal(y, src)
    return y


def sum_with_diagonal(x, src):
    return with_diagonal(x, src).sum()


def one_cell_for_all(dy, x, src):
    """A sum's dy is one number with strides 0. The copy keeps the strides: to clear its diagonal is to clear it all."""
    cell = np.array(dy).reshape(1)
    as_strided(cell, src.shape, (0,))[...] = 0
    return as_strided(cell, x.shape, (0, 0)).copy(), np.full(src.shape, dy)


def diagonal_cleared(dy, x, src):
    return with_diagonal(np.full(x.shape, dy), 0), np.full(src.shape, dy)


# ---- torch's as_strided_scatter: src takes every second place of x ----
def scattered(x, src):
    y = x.copy()
    y[1::2] = src
    return y


def of_the_places_written(dy, x, src):
    """dx is 0 where x stays, and dy where src is."""
    dx = np.zeros_like(x)
    dx[1::2] = dy[1::2]
    return dx, dy[1::2]


# ---- torch's max_unpool: of the elements for one place the last stays ----
PLACE = np.array([4, 2, 2, 5, 4])
STAYS = np.array([0, 0, 1, 1, 1])


def unpooled(x):
    y = np.zeros(7)
    y[PLACE] = x
    return y


# ---- MLX's forward derivatives, as the rows of a Jacobian ----
def of_tangents(*jvps):
    """The backward of functions that map element by element, from a forward derivative for each input."""
    return lambda dy, *x: tuple(jvp(dy, *x) for jvp in jvps)


def capped(x):
    return np.where(x < -1, 999.0, x * x)


# ---- MLX's topk ----
def two_largest(x):
    return np.sort(x)[:, -2:]


def at_the_places_of_y(dy, x):
    dx = np.zeros_like(x)
    dx[:, 2:4] = dy  # where a partition of x has its largest, not where x has them
    return dx


def at_the_places_of_x(dy, x):
    dx = np.zeros_like(x)
    np.put_along_axis(dx, np.argsort(x)[:, -2:], dy, axis=1)
    return dx


# ---- JAX's and torch's expm1: below -17 in float32 (-37 in float64) y is -1, and 1 + y is 0 ----
def from_the_output(dy, x):
    return dy * (np.float32(1) + np.expm1(x.astype(np.float32)))


CASES = [
    Shipped("scan", ("pytorch/pytorch#184528",), OWN, scan, scan_backward(lambda a, d: 0.0), scan_backward(lambda a, d: a * d),
            (np.array(0.7), np.array([0.11, -0.37, 0.23, 0.41, -0.19]))),
    Shipped("diagonal_scatter, compiled", ("pytorch/pytorch#182012", "pytorch/pytorch#183602"), NONE, sum_with_diagonal,
            one_cell_for_all, diagonal_cleared, (normal(4, 4), normal(4))),
    Shipped("slice_scatter, compiled", ("pytorch/pytorch#183898",), IGNORED, lambda x, src: scattered(x, src).sum(),
            lambda dy, x, src: (np.full(6, dy), np.full(3, dy)),
            lambda dy, x, src: (scattered(np.full(x.shape, dy), 0), np.full(src.shape, dy * x[1::2].size / src.size)),
            (normal(6), normal(3))),
    Shipped("as_strided_scatter", ("pytorch/pytorch#77128",), ROUND, scattered, of_the_places_written,
            lambda dy, x, src: (scattered(dy, 0), dy[1::2]), (normal(6), normal(3))),
    Shipped("max_unpool", ("pytorch/pytorch#80204", "pytorch/pytorch#80827"), IGNORED, unpooled, lambda dy, x: dy[PLACE],
            lambda dy, x: dy[PLACE] * STAYS, (normal(5),)),
    Shipped("where, forward", ("ml-explore/mlx#3627",), NONE, capped, of_tangents(lambda t, x: np.zeros_like(t)),
            of_tangents(lambda t, x: np.where(x < -1, 0, 2 * x * t)), (normal(5),)),
    Shipped("power, forward", ("ml-explore/mlx#3634",), NONE, np.power,
            of_tangents(lambda t, a, b: t * (b * a ** (b - 1) + a**b * np.log(a)), lambda t, a, b: 0 * t),
            of_tangents(lambda t, a, b: t * b * a ** (b - 1), lambda t, a, b: t * a**b * np.log(a)),
            (np.abs(normal(5)) + 0.5, np.abs(normal(5)) + 0.7)),
    Shipped("topk", ("ml-explore/mlx#1428",), PLACES, two_largest, at_the_places_of_y, at_the_places_of_x,
            (np.array([[1.0, 2, 6, 4, 5], [9, 5, 6, 7, 8]]),)),
    Shipped("expm1", ("jax-ml/jax#39794", "pytorch/pytorch#192406"), NONE, np.expm1, from_the_output,
            lambda dy, x: dy * np.exp(x), (np.array([-18.0, -19.0]),), {"precise": True}),
]


def check(case, backward):
    return glim.gradcheck(case.forward, backward, *case.inputs, name=case.name, **case.options)
