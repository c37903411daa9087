"""Forty more whose names were written down, and committed, before glim.gradcheck had seen any of them.

It named 30 so, 6 otherwise and 4 not at all. Of the 6, 5 names are true too, and stand here beside the others. One came
from a single number that agreed by chance.
"""

import numpy as np

from ..layer import *


def sigma(x):
    return 1 / (1 + np.exp(-x))


@layer(a=normal(3, 4), b=normal(3, 4))
def swiglu(a, b):
    return a * sigma(a) * b


swiglu.right(lambda dy, a, b: (dy * b * sigma(a) * (1 + a * (1 - sigma(a))), dy * a * sigma(a)))
swiglu.wrong(IS, "the gate taken for a constant", a=lambda dy, a, b: dy * b * sigma(a))
swiglu.wrong(IS, "gate forgotten", b=lambda dy, a, b: dy * a)
swiglu.wrong(NO_NAME, "the sigmoid's derivative alone", a=lambda dy, a, b: dy * b * sigma(a) * (1 - sigma(a)))
swiglu.wrong(UPSTREAM, "upstream forgotten", b=lambda dy, a, b: a * sigma(a))


@layer(x=normal(3, 4))
def arctan(x):
    return np.arctan(x)


arctan.right(lambda dy, x: dy / (1 + x**2))
arctan.wrong(NO_NAME, "as artanh", x=lambda dy, x: dy / (1 - x**2))
arctan.wrong(AT_Y, "y for x", x=lambda dy, x: dy / (1 + np.arctan(x) ** 2))
arctan.wrong((PASSED, IS), "derivative forgotten", x=lambda dy, x: dy)
arctan.wrong(UPSTREAM, "dy forgotten", x=lambda dy, x: 1 / (1 + x**2))


@layer(x=normal(4, 5))
def deviation_of_rows(x):
    return x.std(axis=1)


def deviation_back(dy, x):
    return dy[:, None] * (x - x.mean(axis=1, keepdims=True)) / x.shape[1] / x.std(axis=1)[:, None]


deviation_of_rows.right(deviation_back)
deviation_of_rows.wrong(TERM, "mean not subtracted", x=lambda dy, x: dy[:, None] * x / 5 / x.std(axis=1)[:, None])
deviation_of_rows.wrong(FACTOR, "n forgotten", x=lambda dy, x: 5 * deviation_back(dy, x))
deviation_of_rows.wrong((TOO_MANY, MISSING, OUT_FACTOR), "as the variance", x=lambda dy, x: 2 * deviation_back(dy * x.std(axis=1), x))
deviation_of_rows.wrong(SIGN, "mean minus x", x=lambda dy, x: -deviation_back(dy, x))


@layer(x=normal(2, 4, 3), s=normal(2, 4))
def attention_pooling(x, s):
    return (weights(s)[:, :, None] * x).sum(axis=1)


def weights(s):
    return np.exp(s) / np.exp(s).sum(axis=1, keepdims=True)


def pooling_back(dy, x, s):
    a, da = weights(s), (x * dy[:, None]).sum(axis=2)
    return a[:, :, None] * dy[:, None], a * (da - (a * da).sum(axis=1, keepdims=True))


attention_pooling.right(pooling_back)
attention_pooling.wrong(TERM, "softmax's sum forgotten", s=lambda dy, x, s: weights(s) * (x * dy[:, None]).sum(axis=2))
attention_pooling.wrong(PASSED, "weights forgotten", x=lambda dy, x, s: dy[:, None] * np.ones_like(x))
attention_pooling.wrong(PASSED, "as a mean", x=lambda dy, x, s: dy[:, None] * np.ones_like(x) / 4)
attention_pooling.wrong(UPSTREAM, "upstream forgotten", s=lambda dy, x, s: pooling_back(np.ones_like(dy), x, s)[1])


@layer(x=normal(5), c=normal(3))
def polynomial(x, c):
    return c[0] + c[1] * x + c[2] * x**2


polynomial.right(lambda dy, x, c: (dy * (c[1] + 2 * c[2] * x), np.array([(dy * x**k).sum() for k in range(3)])))
polynomial.wrong(WRONG_FACTOR, "2 forgotten", x=lambda dy, x, c: dy * (c[1] + c[2] * x))
polynomial.wrong(OUT_FACTOR, "powers from 1", c=lambda dy, x, c: np.array([(dy * x ** (k + 1)).sum() for k in range(3)]))
polynomial.wrong(BROADCAST, "coefficients' gradient not summed", c=lambda dy, x, c: np.array([dy * x**k for k in range(3)]))
polynomial.wrong(LOST, "coefficients at the last point", c=lambda dy, x, c: dy[-1] * x[-1] ** np.arange(3))


@layer(x=normal(7))
def moving_average(x):
    return (x[:-2] + x[1:-1] + x[2:]) / 3


def average_back(dy, at=(0, 1, 2)):
    dx = np.zeros(len(dy) + 2)
    for k in at:
        dx[k : k + len(dy)] += dy / 3
    return dx


moving_average.right(lambda dy, x: average_back(dy))
moving_average.wrong(OFF, "one late", x=lambda dy, x: np.append(0, average_back(dy)[:-1]))
moving_average.wrong((FACTOR, PASSED), "sum for mean", x=lambda dy, x: 3 * average_back(dy))
moving_average.wrong(LOST, "the middle of the window", x=lambda dy, x: average_back(dy, at=[1]))
moving_average.wrong(UPSTREAM, "upstream forgotten", x=lambda dy, x: average_back(np.ones(5)))


@layer(mu=normal(3, 4), logvar=normal(3, 4))
def kl_to_a_normal(mu, logvar):
    return -0.5 * (1 + logvar - mu**2 - np.exp(logvar)).sum()


kl_to_a_normal.right(lambda dy, mu, logvar: (dy * mu, dy * (np.exp(logvar) - 1) / 2))
kl_to_a_normal.wrong(SIGN, "sign of mu", mu=lambda dy, mu, logvar: -dy * mu)
kl_to_a_normal.wrong(FACTOR, "half forgotten", mu=lambda dy, mu, logvar: 2 * dy * mu)
kl_to_a_normal.wrong(NO_NAME, "exponential forgotten", logvar=lambda dy, mu, logvar: dy * (logvar - 1) / 2)
kl_to_a_normal.wrong((TERM_MISSING, WRONG_FACTOR), "1 forgotten", logvar=lambda dy, mu, logvar: dy * np.exp(logvar) / 2)


@layer(x=normal(4, 3), w=normal(3, 5), b=normal(5))
def dense_relu(x, w, b):
    return np.maximum(0, x @ w + b)


def dense_back(dy, x, w, b, slope=True):
    dy = dy * (x @ w + b > 0) if slope else dy
    return dy @ w.T, x.T @ dy, dy.sum(axis=0)


dense_relu.right(dense_back)
dense_relu.wrong((LAST_FUNCTION, IGNORED), "relu forgotten", x=lambda dy, x, w, b: dense_back(dy, x, w, b, False)[0])
dense_relu.wrong(BROADCAST, "bias not summed", b=lambda dy, x, w, b: dy * (x @ w + b > 0))
dense_relu.wrong(FACTOR, "mean over the batch", w=lambda dy, x, w, b: dense_back(dy, x, w, b)[1] / 4)
dense_relu.wrong(LOST, "bias of the first example", b=lambda dy, x, w, b: (dy * (x @ w + b > 0))[0])


@layer(x=normal(4, 3), w=normal(3, 2))
def tied_autoencoder(x, w):
    return x @ w @ w.T


def tied_back(dy, x, w):
    return dy @ w @ w.T, x.T @ dy @ w + dy.T @ x @ w


tied_autoencoder.right(tied_back)
tied_autoencoder.wrong((LOST, ONE_USE), "the encoder's use alone", w=lambda dy, x, w: x.T @ dy @ w)
tied_autoencoder.wrong(OWN, "w wᵀ taken for the identity", x=lambda dy, x, w: dy)
tied_autoencoder.wrong(ONE_USE, "the encoder's use twice", w=lambda dy, x, w: 2 * x.T @ dy @ w)
tied_autoencoder.wrong(SIGN, "sign", x=lambda dy, x, w: -tied_back(dy, x, w)[0])


@layer(x=normal(6, 2), group=given([0, 2, 1, 0, 0, 1]))
def mean_of_groups(x, group):
    return np.array([x[group == g].mean(axis=0) for g in range(3)])


def groups_back(dy, x, group):
    return (dy / np.bincount(group)[:, None])[group], None


mean_of_groups.right(groups_back)
mean_of_groups.wrong((IN_FACTOR, OUT_FACTOR, PASSED), "sum for mean", x=lambda dy, x, group: dy[group])
mean_of_groups.wrong((IN_FACTOR, OUT_FACTOR, PASSED), "divided by all", x=lambda dy, x, group: dy[group] / 6)
mean_of_groups.wrong((OFF, PLACES), "groups from 1", x=lambda dy, x, group: (dy / np.bincount(group)[:, None])[(group + 1) % 3])
mean_of_groups.wrong(LOST, "the first of each group", x=lambda dy, x, group: np.array([[1], [1], [1], [0], [0], [0]]) * groups_back(dy, x, group)[0])
