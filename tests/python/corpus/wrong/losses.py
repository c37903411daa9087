"""Softmax and losses."""

import numpy as np

from ..layer import *


def softmax_of(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def total(a, axis=1):
    return a.sum(axis=axis, keepdims=True)


@layer(x=normal(4, 4))
def softmax(x):
    return softmax_of(x)


def of_y(looks, name, dx):
    softmax.wrong(looks, name, x=lambda dy, x: dx(dy, softmax_of(x)))


softmax.right(lambda dy, x: softmax_of(x) * (dy - total(dy * softmax_of(x))))
of_y(OWN, "the diagonal y (1 - y)", lambda dy, y: dy * y * (1 - y))
of_y(OWN, "no sum over the row", lambda dy, y: dy * y)
of_y(MISSING, "y forgotten", lambda dy, y: dy - total(dy * y))
of_y(TERM, "sum of dy alone", lambda dy, y: y * (dy - total(dy)))
of_y(TERM, "mean for sum", lambda dy, y: y * (dy - (dy * y).mean(axis=1, keepdims=True)))
of_y(TERM, "plus for minus", lambda dy, y: y * (dy + total(dy * y)))
of_y(OTHER_AXIS, "the other axis", lambda dy, y: y * (dy - total(dy * y, 0)))
of_y(SIGN, "sign", lambda dy, y: y * (total(dy * y) - dy))
of_y(NONE, "ones for dy", lambda dy, y: y - y * total(y))
of_y(BATCH, "sum over everything", lambda dy, y: y * (dy - (dy * y).sum()))


@softmax.wrong(BATCH)
def jacobian_of_the_first_row_for_all(dy, x):
    s = softmax_of(x)[0]
    J = np.diag(s) - np.outer(s, s)
    return dy @ J


@softmax.wrong((OWN, TERM))
def jacobian_with_kronecker_plus(dy, x):
    dx = np.empty_like(x)
    for i, s in enumerate(softmax_of(x)):
        dx[i] = (np.diag(s) + np.outer(s, s)) @ dy[i]
    return dx


@layer(x=normal(3, 4))
def log_softmax(x):
    return x - np.log(total(np.exp(x)))


log_softmax.right(lambda dy, x: dy - softmax_of(x) * total(dy))
log_softmax.wrong(OWN, "no sum over the row", x=lambda dy, x: dy - softmax_of(x) * dy)
log_softmax.wrong(TERM, "softmax forgotten", x=lambda dy, x: dy - total(dy))
log_softmax.wrong(TERM, "the softmax of y", x=lambda dy, x: dy - log_softmax(x) * total(dy))
log_softmax.wrong(OWN, "dy alone", x=lambda dy, x: dy)
log_softmax.wrong(UPSTREAM, "as if dy were ones", x=lambda dy, x: 1 - 4 * softmax_of(x))


def one_hot(t, n):
    return np.eye(n)[t]


@layer(x=normal(4, 3), t=given([2, 0, 1, 2]))
def cross_entropy(x, t):
    return -np.log(softmax_of(x)[np.arange(len(t)), t]).mean()


cross_entropy.right(lambda dy, x, t: (dy * (softmax_of(x) - one_hot(t, x.shape[1])) / len(x), None))
cross_entropy.wrong(FACTOR, "1/N forgotten", x=lambda dy, x, t: dy * (softmax_of(x) - one_hot(t, 3)))
cross_entropy.wrong(FACTOR, "divided by classes", x=lambda dy, x, t: dy * (softmax_of(x) - one_hot(t, 3)) / 3)
cross_entropy.wrong(SIGN, "target minus prediction", x=lambda dy, x, t: dy * (one_hot(t, 3) - softmax_of(x)) / 4)
cross_entropy.wrong(UPSTREAM, "upstream forgotten", x=lambda dy, x, t: (softmax_of(x) - one_hot(t, 3)) / 4)
cross_entropy.wrong(NO_NAME, "one_hot forgotten", x=lambda dy, x, t: dy * softmax_of(x) / 4)
cross_entropy.wrong(LOST, "right classes only", x=lambda dy, x, t: dy * (softmax_of(x) - 1) * one_hot(t, 3) / 4)
cross_entropy.wrong(NO_NAME, "-1/p as of the log alone", x=lambda dy, x, t: -dy * one_hot(t, 3) / softmax_of(x) / 4)
cross_entropy.wrong(NO_NAME, "softmax over the batch", x=lambda dy, x, t: dy * (softmax_of(x, 0) - one_hot(t, 3)) / 4)


@cross_entropy.wrong(NO_NAME)
def all_columns_of_the_targets(dy, x, t):
    dx = softmax_of(x)
    dx[:, t] -= 1  # dx[np.arange(N), t] -= 1
    return dy * dx / len(x), None


@layer(x=normal(4, 3), t=given([2, 0, 1, 2]))
def multiclass_hinge(x, t):
    """The SVM loss of cs231n."""
    margins = np.maximum(0, x - x[np.arange(4), t][:, None] + 1)
    margins[np.arange(4), t] = 0
    return margins.sum() / 4


@multiclass_hinge.right
def _(dy, x, t):
    mask = (x - x[np.arange(4), t][:, None] + 1 > 0).astype(float)
    mask[np.arange(4), t] = 0
    mask[np.arange(4), t] = -mask.sum(axis=1)
    return dy * mask / 4, None


@multiclass_hinge.wrong(LOST)
def the_right_class_forgotten(dy, x, t):
    mask = (x - x[np.arange(4), t][:, None] + 1 > 0).astype(float)
    mask[np.arange(4), t] = 0
    return dy * mask / 4, None


@multiclass_hinge.wrong(NO_NAME)
def one_for_the_right_class_instead_of_the_count(dy, x, t):
    mask = (x - x[np.arange(4), t][:, None] + 1 > 0).astype(float)
    mask[np.arange(4), t] = -1
    return dy * mask / 4, None


multiclass_hinge.wrong(FACTOR, "1/N forgotten", x=lambda dy, x, t: multiclass_hinge.backward(dy, x, t)[0] * 4)


@layer(p=normal(3, 4), t=normal(3, 4))
def mean_squared_error(p, t):
    return ((p - t) ** 2).mean()


mean_squared_error.right(lambda dy, p, t: (2 * dy * (p - t) / p.size, 2 * dy * (t - p) / p.size))
mean_squared_error.wrong(FACTOR, "2 forgotten", p=lambda dy, p, t: dy * (p - t) / p.size)
mean_squared_error.wrong(FACTOR, "divided by the batch", p=lambda dy, p, t: 2 * dy * (p - t) / len(p))
mean_squared_error.wrong(SIGN, "target minus prediction", p=lambda dy, p, t: 2 * dy * (t - p) / p.size)
mean_squared_error.wrong(UPSTREAM, "upstream forgotten", p=lambda dy, p, t: 2 * (p - t) / p.size)
mean_squared_error.wrong(NONE, "target detached", t=lambda dy, p, t: np.zeros_like(t))


@layer(x=normal(3, 4), t=given(np.random.default_rng(1).integers(0, 2, (3, 4)).astype(bool)))
def bce_with_logits(x, t):
    return (np.logaddexp(0, x) - x * t).mean()


def sigma(x):
    return 1 / (1 + np.exp(-x))


bce_with_logits.right(lambda dy, x, t: (dy * (sigma(x) - t) / x.size, None))
bce_with_logits.wrong(FACTOR, "1/n forgotten", x=lambda dy, x, t: dy * (sigma(x) - t))
bce_with_logits.wrong(SIGN, "t - p", x=lambda dy, x, t: dy * (t - sigma(x)) / x.size)
bce_with_logits.wrong(NO_NAME, "sigmoid's derivative once more", x=lambda dy, x, t: dy * (sigma(x) - t) * sigma(x) * (1 - sigma(x)) / x.size)
bce_with_logits.wrong(NO_NAME, "logit for probability", x=lambda dy, x, t: dy * (x - t) / x.size)


@layer(p=positive(3, 4), q=positive(3, 4))
def kl_divergence(p, q):
    return (p * np.log(p / q)).sum(axis=1)


kl_divergence.right(lambda dy, p, q: (dy[:, None] * (np.log(p / q) + 1), -dy[:, None] * p / q))
kl_divergence.wrong(SIGN, "sign", q=lambda dy, p, q: dy[:, None] * p / q)
kl_divergence.wrong(MISSING, "p forgotten", q=lambda dy, p, q: -dy[:, None] / q)
kl_divergence.wrong(TERM, "the term of p in front", p=lambda dy, p, q: dy[:, None] * np.log(p / q))


@layer(a=normal(3, 4), b=normal(3, 4))
def l1_loss(a, b):
    return np.abs(a - b).mean()


l1_loss.right(lambda dy, a, b: (dy * np.sign(a - b) / a.size, dy * np.sign(b - a) / a.size))
l1_loss.wrong(PASSED, "sign forgotten", a=lambda dy, a, b: np.full(a.shape, dy / a.size))
l1_loss.wrong(IS, "as the squared error", a=lambda dy, a, b: 2 * dy * (a - b) / a.size)
