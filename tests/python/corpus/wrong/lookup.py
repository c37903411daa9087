"""Embeddings, indices, slices, masks and dropout."""

import numpy as np

from ..layer import *

TOKENS = np.array([[2, 0, 2], [1, 4, 2]])


@layer(w=normal(5, 3), t=given(TOKENS))
def embedding(w, t):
    return w[t]


def scattered(dy, t, rows=5):
    dw = np.zeros((rows, dy.shape[-1]))
    np.add.at(dw, t, dy)
    return dw


embedding.right(lambda dy, w, t: (scattered(dy, t, len(w)), None))
embedding.wrong(OFF, "tokens from 1", w=lambda dy, w, t: scattered(dy, (t + 1) % 5))
embedding.wrong(IN_FACTOR, "mean over the uses", w=lambda dy, w, t: scattered(dy, t) / np.maximum(1, np.bincount(t.ravel(), minlength=5))[:, None])
embedding.wrong(FACTOR, "divided by the batch", w=lambda dy, w, t: scattered(dy, t) / len(t))
embedding.wrong(LOST, "padding token without a gradient", w=lambda dy, w, t: scattered(dy * (t != 0)[..., None], t))
embedding.wrong(UPSTREAM, "counts of the tokens", w=lambda dy, w, t: scattered(np.ones_like(dy), t))


@embedding.wrong(LOST)
def fancy_assignment(dy, w, t):
    dw = np.zeros_like(w)
    dw[t] = dy
    return dw, None


@embedding.wrong(LOST)
def fancy_addition(dy, w, t):
    dw = np.zeros_like(w)
    dw[t] += dy  # adds once for each token, however often it is there
    return dw, None


@layer(x=normal(4, 5), t=given([3, 0, 0, 2]))
def gather(x, t):
    return x[np.arange(4), t]


gather.right(lambda dy, x, t: (dy[:, None] * np.eye(5)[t], None))
gather.wrong(IGNORED, "to the whole row", x=lambda dy, x, t: np.repeat(dy[:, None], 5, axis=1))
gather.wrong(OFF, "one too far", x=lambda dy, x, t: dy[:, None] * np.eye(5)[t + 1])
gather.wrong(UPSTREAM, "one_hot alone", x=lambda dy, x, t: np.eye(5)[t])
gather.wrong(IGNORED, "x[:, t]", x=lambda dy, x, t: dy[:, None] * np.eye(5)[t].max(axis=0))


@layer(x=normal(7))
def slice_from_two(x):
    return x[2:5]


def at(dy, start, n=7):
    dx = np.zeros(n)
    dx[start : start + len(dy)] = dy
    return dx


slice_from_two.right(lambda dy, x: at(dy, 2))
slice_from_two.wrong(OFF, "one too far", x=lambda dy, x: at(dy, 3))
slice_from_two.wrong(PLACES, "from the start", x=lambda dy, x: at(dy, 0))
slice_from_two.wrong(PLACES, "at the end", x=lambda dy, x: at(dy, 4))


@layer(x=normal(2, 6))
def every_second(x):
    return x[:, ::2]


every_second.right(lambda dy, x: np.kron(dy, [1, 0])[:, : x.shape[1]])
every_second.wrong(OFF, "the odd ones", x=lambda dy, x: np.kron(dy, [0, 1]))
every_second.wrong(IGNORED, "repeated", x=lambda dy, x: np.repeat(dy, 2, axis=1))


@layer(a=normal(2, 3), b=normal(2, 3))
def concatenate(a, b):
    return np.concatenate([a, b], axis=1)


concatenate.right(lambda dy, a, b: (dy[:, : a.shape[1]], dy[:, a.shape[1] :]))
concatenate.wrong(ANOTHER, "the first part for both", b=lambda dy, a, b: dy[:, :3])
concatenate.wrong(OFF, "one early", b=lambda dy, a, b: dy[:, 2:5])
concatenate.wrong(ANOTHER, "parts exchanged", a=lambda dy, a, b: dy[:, 3:], b=lambda dy, a, b: dy[:, :3])
concatenate.wrong(FACTOR, "halved", a=lambda dy, a, b: dy[:, :3] / 2)


@layer(x=normal(5))
def roll(x):
    return np.roll(x, 1)


roll.right(lambda dy, x: np.roll(dy, -1))
roll.wrong(TRANSPOSE, "rolled on instead of back", x=lambda dy, x: np.roll(dy, 1))
roll.wrong(OFF, "not rolled", x=lambda dy, x: dy)


@layer(x=normal(3, 4))
def flip(x):
    return x[:, ::-1]


flip.right(lambda dy, x: dy[:, ::-1])
flip.wrong((IS, PLACES), "not flipped", x=lambda dy, x: dy)
flip.wrong((PLACES, AXIS), "the other axis flipped", x=lambda dy, x: dy[::-1])


@layer(x=normal(6))
def sort(x):
    return np.sort(x)


def unsorted(dy, x):
    dx = np.empty_like(x)
    dx[np.argsort(x)] = dy
    return dx


sort.right(unsorted)
sort.wrong(TRANSPOSE, "dy[order]", x=lambda dy, x: dy[np.argsort(x)])
sort.wrong(NOT_LINEAR, "dy sorted", x=lambda dy, x: np.sort(dy))
sort.wrong((IS, PLACES), "in the order of y", x=lambda dy, x: dy)

KEEP = np.random.default_rng(3).random((4, 5)) < 0.6


@layer(x=normal(4, 5))
def dropout(x):
    """Inverted dropout with a mask that forward has drawn."""
    return x * KEEP / 0.6


dropout.right(lambda dy, x: dy * KEEP / 0.6)
dropout.wrong(FACTOR, "1/p forgotten", x=lambda dy, x: dy * KEEP)
dropout.wrong(FACTOR, "1 - p for p", x=lambda dy, x: dy * KEEP / 0.4)
dropout.wrong(IGNORED, "no mask", x=lambda dy, x: dy / 0.6)
dropout.wrong(ROUND, "the dropped ones", x=lambda dy, x: dy * ~KEEP / 0.6)
dropout.wrong(IS, "as in evaluation", x=lambda dy, x: dy)
dropout.wrong(FACTOR, "scaled twice", x=lambda dy, x: dy * KEEP / 0.36)


@layer(a=normal(3, 4), b=normal(3, 4))
def where(a, b):
    return np.where(KEEP[:3, :4], a, b)


where.right(lambda dy, a, b: (dy * KEEP[:3, :4], dy * ~KEEP[:3, :4]))
where.wrong(IGNORED, "no mask", a=lambda dy, a, b: dy)
where.wrong(ANOTHER, "masks exchanged", a=lambda dy, a, b: dy * ~KEEP[:3, :4], b=lambda dy, a, b: dy * KEEP[:3, :4])


@layer(x=normal(4, 4))
def lower_triangle(x):
    return np.tril(x)


lower_triangle.right(lambda dy, x: np.tril(dy))
lower_triangle.wrong(IGNORED, "no mask", x=lambda dy, x: dy)
lower_triangle.wrong(EXCHANGED, "upper", x=lambda dy, x: np.triu(dy))
lower_triangle.wrong(ROUND, "strictly upper", x=lambda dy, x: np.triu(dy, 1))
