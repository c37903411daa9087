"""Sums, means and what is broadcast."""

import numpy as np

from ..layer import *


@layer(x=normal(3, 4))
def sum_of_rows(x):
    return x.sum(axis=1)


sum_of_rows.right(lambda dy, x: np.broadcast_to(dy[:, None], x.shape))
sum_of_rows.wrong(UPSTREAM, "ones", x=lambda dy, x: np.ones_like(x))
sum_of_rows.wrong(FACTOR, "divided by n", x=lambda dy, x: np.repeat(dy[:, None], 4, axis=1) / 4)
sum_of_rows.wrong((IGNORED, BATCH), "the sum of dy", x=lambda dy, x: np.full_like(x, dy.sum()))


@sum_of_rows.wrong(LOST)
def the_first_column_only(dy, x):
    dx = np.zeros_like(x)
    dx[:, 0] = dy
    return dx


@layer(x=normal(4, 4))
def sum_of_columns_of_a_square(x):
    return x.sum(axis=0)


sum_of_columns_of_a_square.right(lambda dy, x: np.ones_like(x) * dy)
sum_of_columns_of_a_square.wrong(EXCHANGED, "along the other axis", x=lambda dy, x: np.ones_like(x) * dy[:, None])


@layer(x=normal(3, 4))
def mean_of_all(x):
    return x.mean()


mean_of_all.right(lambda dy, x: np.full(x.shape, dy / x.size))
mean_of_all.wrong(FACTOR, "1/n forgotten", x=lambda dy, x: np.full(x.shape, dy))
mean_of_all.wrong(FACTOR, "len(x) for x.size", x=lambda dy, x: np.full(x.shape, dy / len(x)))
mean_of_all.wrong(UPSTREAM, "upstream forgotten", x=lambda dy, x: np.ones_like(x) / x.size)


@layer(x=normal(3, 4))
def variance_of_rows(x):
    return x.var(axis=1, ddof=1)


def centred(x):
    return x - x.mean(axis=1, keepdims=True)


variance_of_rows.right(lambda dy, x: dy[:, None] * 2 * centred(x) / (x.shape[1] - 1))
variance_of_rows.wrong(FACTOR, "2 forgotten", x=lambda dy, x: dy[:, None] * centred(x) / 3)
variance_of_rows.wrong(FACTOR, "n for n - 1", x=lambda dy, x: dy[:, None] * 2 * centred(x) / 4)
variance_of_rows.wrong(TERM, "the mean forgotten", x=lambda dy, x: dy[:, None] * 2 * x / 3)
variance_of_rows.wrong(TERM, "the mean of all", x=lambda dy, x: dy[:, None] * 2 * (x - x.mean()) / 3)


@layer(x=normal(3, 4))
def max_of_rows(x):
    return x.max(axis=1)


max_of_rows.right(lambda dy, x: dy[:, None] * (x == x.max(axis=1, keepdims=True)))
max_of_rows.wrong(IGNORED, "to all", x=lambda dy, x: np.repeat(dy[:, None], 4, axis=1))
max_of_rows.wrong(PLACES, "to the smallest", x=lambda dy, x: dy[:, None] * (x == x.min(axis=1, keepdims=True)))


@max_of_rows.wrong(LOST)
def the_largest_of_all_only(dy, x):
    dx = np.zeros_like(x)
    i, j = np.unravel_index(np.argmax(x), x.shape)
    dx[i, j] = dy[i]
    return dx


@layer(x=normal(3, 4))
def logsumexp(x):
    return np.log(np.exp(x).sum(axis=1))


def softmax_of(x, axis=1):
    return np.exp(x) / np.exp(x).sum(axis=axis, keepdims=True)


logsumexp.right(lambda dy, x: dy[:, None] * softmax_of(x))
logsumexp.wrong(OUT_FACTOR, "not divided by the sum", x=lambda dy, x: dy[:, None] * np.exp(x))
logsumexp.wrong(UPSTREAM, "upstream forgotten", x=lambda dy, x: softmax_of(x))
logsumexp.wrong(BATCH, "along the other axis", x=lambda dy, x: dy[:, None] * softmax_of(x, 0))


@layer(x=normal(3, 4))
def euclidean_length(x):
    return np.sqrt((x**2).sum(axis=1))


euclidean_length.right(lambda dy, x: (dy / euclidean_length(x))[:, None] * x)
euclidean_length.wrong(FACTOR, "2 of x²", x=lambda dy, x: 2 * (dy / euclidean_length(x))[:, None] * x)
euclidean_length.wrong(TOO_MANY, "not divided", x=lambda dy, x: dy[:, None] * x)


@layer(x=normal(6))
def cumulative_sum(x):
    return np.cumsum(x)


cumulative_sum.right(lambda dy, x: np.cumsum(dy[::-1])[::-1])
cumulative_sum.wrong(TRANSPOSE, "in forward order", x=lambda dy, x: np.cumsum(dy))
cumulative_sum.wrong(OWN, "its own element only", x=lambda dy, x: dy)
cumulative_sum.wrong((OFF, LOST), "without its own element", x=lambda dy, x: np.cumsum(dy[::-1])[::-1] - dy)
cumulative_sum.wrong(IGNORED, "the whole sum", x=lambda dy, x: np.full(6, dy.sum()))


@layer(x=positive(3, 3))
def product_of_rows(x):
    return x.prod(axis=1)


product_of_rows.right(lambda dy, x: (dy * x.prod(axis=1))[:, None] / x)
product_of_rows.wrong(TOO_MANY, "not divided by x", x=lambda dy, x: np.repeat((dy * x.prod(axis=1))[:, None], 3, axis=1))
product_of_rows.wrong(MISSING, "the product forgotten", x=lambda dy, x: dy[:, None] / x)


@layer(a=normal(3, 3), b=normal(3))
def add_broadcast(a, b):
    return a + b


add_broadcast.right(lambda dy, a, b: (dy, dy.sum(axis=0)))
add_broadcast.wrong(LOST, "the first row only", b=lambda dy, a, b: dy[0])
add_broadcast.wrong(FACTOR, "mean for sum", b=lambda dy, a, b: dy.mean(axis=0))
add_broadcast.wrong(EXCHANGED, "the other axis", b=lambda dy, a, b: dy.sum(axis=1))
add_broadcast.wrong(IGNORED, "everything summed", b=lambda dy, a, b: np.full(3, dy.sum()))
add_broadcast.wrong(BROADCAST, "not summed", b=lambda dy, a, b: dy)
add_broadcast.wrong((BROADCAST, SHAPE), "its axis kept", b=lambda dy, a, b: dy.sum(axis=0, keepdims=True))


@layer(a=normal(3, 4), b=normal(4))
def multiply_broadcast(a, b):
    return a * b


multiply_broadcast.right(lambda dy, a, b: (dy * b, (dy * a).sum(axis=0)))
multiply_broadcast.wrong(PASSED, "a forgotten", b=lambda dy, a, b: dy.sum(axis=0))
multiply_broadcast.wrong(LOST, "the last row only", b=lambda dy, a, b: (dy * a)[-1])
multiply_broadcast.wrong(NO_NAME, "sums multiplied", b=lambda dy, a, b: dy.sum(axis=0) * a.sum(axis=0))
multiply_broadcast.wrong(BROADCAST, "not summed", b=lambda dy, a, b: dy * a)


@layer(x=normal(3, 1, 4))
def broadcast_to_three(x):
    return np.broadcast_to(x, (3, 5, 4)).copy()


broadcast_to_three.right(lambda dy, x: dy.sum(axis=1, keepdims=True))
broadcast_to_three.wrong(FACTOR, "mean for sum", x=lambda dy, x: dy.mean(axis=1, keepdims=True))
broadcast_to_three.wrong(LOST, "the first copy", x=lambda dy, x: dy[:, :1])
broadcast_to_three.wrong(SHAPE, "axis dropped", x=lambda dy, x: dy.sum(axis=1))
