"""Normalisation."""

import numpy as np

from ..layer import *

EPS = 1e-5


def standardised(x, axis):
    sigma = np.sqrt(x.var(axis=axis, keepdims=True) + EPS)
    return (x - x.mean(axis=axis, keepdims=True)) / sigma, sigma


def norm_back(g, x, axis):
    n, sigma = standardised(x, axis)
    return (g - g.mean(axis=axis, keepdims=True) - n * (g * n).mean(axis=axis, keepdims=True)) / sigma


@layer(x=normal(4, 5), gamma=positive(5), beta=normal(5))
def layer_norm(x, gamma, beta):
    return gamma * standardised(x, 1)[0] + beta


@layer_norm.right
def _(dy, x, gamma, beta):
    return norm_back(dy * gamma, x, 1), (dy * standardised(x, 1)[0]).sum(axis=0), dy.sum(axis=0)


def of_x(looks, name):
    """A wrong gradient of x from g = ∂L/∂x̂, x̂, and σ."""
    return lambda dx: layer_norm.wrong(looks, name, x=lambda dy, x, gamma, beta: dx(dy * gamma, *standardised(x, 1)))


def m(a):
    return a.mean(axis=1, keepdims=True)


of_x(OWN, "mean and σ as constants")(lambda g, n, s: g / s)
of_x(TERM, "the mean of dx̂ forgotten")(lambda g, n, s: (g - n * m(g * n)) / s)
of_x(TERM, "the path through σ forgotten")(lambda g, n, s: (g - m(g)) / s)
of_x(TERM, "sum for mean in the path through σ")(lambda g, n, s: (g - m(g) - n * (g * n).sum(axis=1, keepdims=True)) / s)
of_x(TERM, "sum for mean of dx̂")(lambda g, n, s: (g - g.sum(axis=1, keepdims=True) - n * m(g * n)) / s)
of_x(IN_FACTOR, "1/σ forgotten")(lambda g, n, s: g - m(g) - n * m(g * n))
of_x(IN_FACTOR, "1/σ²")(lambda g, n, s: (g - m(g) - n * m(g * n)) / s**2)
of_x(SIGN, "sign")(lambda g, n, s: -(g - m(g) - n * m(g * n)) / s)
of_x(TERM, "plus for minus in the path through σ")(lambda g, n, s: (g - m(g) + n * m(g * n)) / s)
layer_norm.wrong(OUT_FACTOR, "γ forgotten", x=lambda dy, x, gamma, beta: norm_back(dy, x, 1))
layer_norm.wrong(OTHER_AXIS, "as batch norm", x=lambda dy, x, gamma, beta: norm_back(dy * gamma, x, 0))
layer_norm.wrong(IS, "γ from x, not from x̂", gamma=lambda dy, x, gamma, beta: (dy * x).sum(axis=0))
layer_norm.wrong(ANOTHER, "γ as β", gamma=lambda dy, x, gamma, beta: dy.sum(axis=0))
layer_norm.wrong(LOST, "γ of the first row", gamma=lambda dy, x, gamma, beta: (dy * standardised(x, 1)[0])[0])
layer_norm.wrong(FACTOR, "β as a mean", beta=lambda dy, x, gamma, beta: dy.mean(axis=0))


@layer(x=normal(5, 3), gamma=positive(3), beta=normal(3), cache=True)
def batch_norm(x, gamma, beta):
    mu, var = x.mean(axis=0), x.var(axis=0)
    x_hat = (x - mu) / np.sqrt(var + EPS)
    return gamma * x_hat + beta, (x, x_hat, mu, var, gamma)


@batch_norm.right
def _(dout, cache):
    x, x_hat, mu, var, gamma = cache
    return norm_back(dout * gamma, x, 0), (dout * x_hat).sum(axis=0), dout.sum(axis=0)


@batch_norm.wrong(TERM)
def the_gradient_through_the_variance_without_its_sum(dout, cache):
    x, x_hat, mu, var, gamma = cache
    N = len(x)
    dx_hat = dout * gamma
    dvar = (dx_hat * (x - mu) * -0.5 * (var + EPS) ** -1.5).mean(axis=0)  # sum in the paper
    dmu = -(dx_hat / np.sqrt(var + EPS)).sum(axis=0)
    dx = dx_hat / np.sqrt(var + EPS) + dvar * 2 * (x - mu) / N + dmu / N
    return dx, (dout * x_hat).sum(axis=0), dout.sum(axis=0)


@batch_norm.wrong(TERM)
def the_mean_forgotten(dout, cache):
    x, x_hat, mu, var, gamma = cache
    dx_hat = dout * gamma
    dvar = (dx_hat * (x - mu) * -0.5 * (var + EPS) ** -1.5).sum(axis=0)
    dx = dx_hat / np.sqrt(var + EPS) + dvar * 2 * (x - mu) / len(x)
    return dx, (dout * x_hat).sum(axis=0), dout.sum(axis=0)


@batch_norm.wrong(TERM)
def the_two_of_the_variance_forgotten(dout, cache):
    x, x_hat, mu, var, gamma = cache
    N = len(x)
    dx_hat = dout * gamma
    dvar = (dx_hat * (x - mu) * -0.5 * (var + EPS) ** -1.5).sum(axis=0)
    dmu = -(dx_hat / np.sqrt(var + EPS)).sum(axis=0)
    dx = dx_hat / np.sqrt(var + EPS) + dvar * (x - mu) / N + dmu / N
    return dx, (dout * x_hat).sum(axis=0), dout.sum(axis=0)


batch_norm.wrong(OWN, "running statistics, as in evaluation", x=lambda dout, c: dout * c[4] / np.sqrt(c[3] + EPS))
batch_norm.wrong(IN_FACTOR, "variance for deviation", x=lambda dout, c: batch_norm.backward(dout, c)[0] / np.sqrt(c[3] + EPS))
batch_norm.wrong((IN_FACTOR, OUT_FACTOR, MISSING), "γ forgotten", x=lambda dout, c: norm_back(dout, c[0], 0))
batch_norm.wrong(OTHER_AXIS, "statistics of rows", x=lambda dout, c: norm_back(dout * c[4], c[0], 1))
batch_norm.wrong(IS, "γ from x", gamma=lambda dout, c: (dout * c[0]).sum(axis=0))
batch_norm.wrong(ANOTHER, "γ and β exchanged", gamma=lambda dout, c: dout.sum(axis=0), beta=lambda dout, c: (dout * c[1]).sum(axis=0))


@layer(x=normal(3, 4))
def rms_norm(x):
    return x / np.sqrt(m(x**2) + EPS)


def rms_back(g, x, mean=m, sign=-1):
    r = np.sqrt(m(x**2) + EPS)
    return (g + sign * x / r**2 * mean(g * x)) / r


rms_norm.right(rms_back)
rms_norm.wrong(OWN, "root as a constant", x=lambda dy, x: dy / np.sqrt(m(x**2) + EPS))
rms_norm.wrong(TERM, "sum for mean", x=lambda dy, x: rms_back(dy, x, lambda a: a.sum(axis=1, keepdims=True)))
rms_norm.wrong(TERM, "plus for minus", x=lambda dy, x: rms_back(dy, x, sign=1))
rms_norm.wrong(TERM, "mean of dy", x=lambda dy, x: (dy - m(dy)) / np.sqrt(m(x**2) + EPS))


@layer(x=normal(3, 4))
def l2_normalise(x):
    return x / np.sqrt((x**2).sum(axis=1, keepdims=True))


@l2_normalise.right
def _(dy, x):
    length = np.sqrt((x**2).sum(axis=1, keepdims=True))
    y = x / length
    return (dy - y * (dy * y).sum(axis=1, keepdims=True)) / length


l2_normalise.wrong(OWN, "length as a constant", x=lambda dy, x: dy / np.sqrt((x**2).sum(axis=1, keepdims=True)))
l2_normalise.wrong(TERM, "x for y", x=lambda dy, x: (dy - x * (dy * x).sum(axis=1, keepdims=True)) / np.sqrt((x**2).sum(axis=1, keepdims=True)))


@layer(x=normal(2, 3, 2, 2))
def instance_norm(x):
    return standardised(x, (2, 3))[0]


instance_norm.right(lambda dy, x: norm_back(dy, x, (2, 3)))
instance_norm.wrong(BATCH, "statistics of the batch", x=lambda dy, x: norm_back(dy, x, (0, 2, 3)))
instance_norm.wrong(OWN, "statistics as constants", x=lambda dy, x: dy / standardised(x, (2, 3))[1])


@layer(x=normal(3, 4))
def centre(x):
    return x - m(x)


centre.right(lambda dy, x: dy - m(dy))
centre.wrong(OWN, "mean as a constant", x=lambda dy, x: dy)
centre.wrong(TERM, "sum for mean", x=lambda dy, x: dy - dy.sum(axis=1, keepdims=True))
centre.wrong(ADDED, "mean of x subtracted", x=lambda dy, x: dy - m(x))
centre.wrong(OTHER_AXIS, "mean along the batch", x=lambda dy, x: dy - dy.mean(axis=0))


@layer(x=normal(3, 5))
def correlation(x):
    """np.corrcoef: blind to the scale and the mean of each row."""
    n = unit(x)
    return n @ n.T


def unit(x):
    c = x - m(x)
    return c / np.sqrt((c**2).sum(axis=1, keepdims=True))


def correlation_back(dy, x):
    n, c = unit(x), x - m(x)
    g = (dy + dy.T) @ n
    g = (g - n * (g * n).sum(axis=1, keepdims=True)) / np.sqrt((c**2).sum(axis=1, keepdims=True))
    return g - m(g)


correlation.right(correlation_back)
correlation.wrong(LOST, "one side of the product", x=lambda dy, x: correlation_back(np.tril(dy), x))
correlation.wrong(FACTOR, "both sides as one", x=lambda dy, x: correlation_back(dy, x) / 2)
