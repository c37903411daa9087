"""Sixty more whose names were written down, and committed, before glim.gradcheck had seen any of them.

It named 46 so and 9 not at all. Of 2 other answers 1 is a name that is true too, and 1 describes a shape. 2 backwards were
right at the inputs they had, and 1 raised an exception of NumPy: their inputs are mended. Names that it has learnt since
stand here beside the others.
"""

import numpy as np

from ..layer import *


@layer(x=normal(3, 4))
def softsign(x):
    return x / (1 + np.abs(x))


softsign.right(lambda dy, x: dy / (1 + np.abs(x)) ** 2)
softsign.wrong((IS, MISSING), "the square forgotten", x=lambda dy, x: dy / (1 + np.abs(x)))
softsign.wrong(NO_NAME, "no absolute value", x=lambda dy, x: dy / (1 + x) ** 2)
softsign.wrong(AT_Y, "y for x", x=lambda dy, x: dy / (1 + np.abs(softsign(x))) ** 2)
softsign.wrong(UPSTREAM, "dy forgotten", x=lambda dy, x: 1 / (1 + np.abs(x)) ** 2)


@layer(p=normal(4, 3), t=normal(4, 3))
def log_cosh_loss(p, t):
    return np.log(np.cosh(p - t)).mean()


log_cosh_loss.right(lambda dy, p, t: (dy * np.tanh(p - t) / p.size, -dy * np.tanh(p - t) / p.size))
log_cosh_loss.wrong(FACTOR, "summed", p=lambda dy, p, t: dy * np.tanh(p - t))
log_cosh_loss.wrong(SIGN, "sign of the target", t=lambda dy, p, t: dy * np.tanh(p - t) / p.size)
log_cosh_loss.wrong(IS, "as the squared error", p=lambda dy, p, t: dy * (p - t) / p.size)
log_cosh_loss.wrong(UPSTREAM, "upstream forgotten", p=lambda dy, p, t: np.tanh(p - t) / p.size)


@layer(s=given([0.5, 2, -0.3, 0.1, 3, -2, -0.7, 0.4]), t=given([1.0, -1, -1, 1, 1, -1, 1, -1]))
def hinge_loss(s, t):
    return np.maximum(0, 1 - t * s).mean()


def hinge_back(dy, s, t):
    active = (t * s < 1) * dy / s.size
    return -t * active, -s * active


hinge_loss.right(hinge_back)
hinge_loss.wrong(SIGN, "sign", s=lambda dy, s, t: -hinge_back(dy, s, t)[0])
hinge_loss.wrong(IGNORED, "margin ignored", s=lambda dy, s, t: -t * dy / s.size)
hinge_loss.wrong(MISSING, "label forgotten", s=lambda dy, s, t: -1.0 * (t * s < 1) * dy / s.size)
hinge_loss.wrong(FACTOR, "mean over the active", s=lambda dy, s, t: -t * (t * s < 1) * dy / (t * s < 1).sum())


@layer(p=positive(6), t=given([1, 0, 1, 1, 0, 0]))
def dice_loss(p, t):
    return 1 - 2 * (p * t).sum() / (p.sum() + t.sum())


def dice_back(dy, p, t):
    s = p.sum() + t.sum()
    return -2 * dy * (t * s - (p * t).sum()) / s**2, None


dice_loss.right(dice_back)
dice_loss.wrong(TERM, "denominator taken for a constant", p=lambda dy, p, t: -2 * dy * t / (p.sum() + t.sum()))
dice_loss.wrong(SIGN, "of the coefficient, not of the loss", p=lambda dy, p, t: -dice_back(dy, p, t)[0])
dice_loss.wrong(FACTOR, "2 forgotten", p=lambda dy, p, t: dice_back(dy, p, t)[0] / 2)
dice_loss.wrong(UPSTREAM, "upstream forgotten", p=lambda dy, p, t: dice_back(1, p, t)[0])


@layer(a=normal(5, 3), p=normal(5, 3), n=normal(5, 3))
def triplet_loss(a, p, n):
    return np.maximum(0, ((a - p) ** 2).sum(axis=1) - ((a - n) ** 2).sum(axis=1) + 1)


def triplet_back(dy, a, p, n):
    g = 2 * (dy * (triplet_loss(a, p, n) > 0))[:, None]
    return g * (n - p), g * (p - a), g * (a - n)


triplet_loss.right(triplet_back)
triplet_loss.wrong(NO_NAME, "anchor from the positive alone", a=lambda dy, a, p, n: 2 * (dy * (triplet_loss(a, p, n) > 0))[:, None] * (a - p))
triplet_loss.wrong(SIGN, "sign of the negative", n=lambda dy, a, p, n: -triplet_back(dy, a, p, n)[2])
triplet_loss.wrong(IGNORED, "margin ignored", p=lambda dy, a, p, n: 2 * dy[:, None] * (p - a))
triplet_loss.wrong(FACTOR, "2 forgotten", p=lambda dy, a, p, n: triplet_back(dy, a, p, n)[1] / 2)


@layer(x=normal(3, 4), mu=normal(3, 4), s=positive(3, 4))
def gaussian_nll(x, mu, s):
    return (np.log(s) + (x - mu) ** 2 / (2 * s**2)).sum(axis=1)


def gaussian_back(dy, x, mu, s):
    dy = dy[:, None]
    return dy * (x - mu) / s**2, dy * (mu - x) / s**2, dy * (1 / s - (x - mu) ** 2 / s**3)


gaussian_nll.right(gaussian_back)
gaussian_nll.wrong(TERM_MISSING, "the logarithm's part forgotten", s=lambda dy, x, mu, s: -dy[:, None] * (x - mu) ** 2 / s**3)
gaussian_nll.wrong(SIGN, "sign of mu", mu=lambda dy, x, mu, s: dy[:, None] * (x - mu) / s**2)
gaussian_nll.wrong((TOO_MANY, MISSING), "s for s²", mu=lambda dy, x, mu, s: dy[:, None] * (mu - x) / s)
gaussian_nll.wrong(FACTOR, "2 not cancelled", x=lambda dy, x, mu, s: 2 * dy[:, None] * (x - mu) / s**2)


@layer(v=normal(3, 4), g=normal(3))
def weight_norm(v, g):
    return g[:, None] * v / np.linalg.norm(v, axis=1, keepdims=True)


def weight_norm_back(dy, v, g, sign=1):
    n = np.linalg.norm(v, axis=1, keepdims=True)
    u = v / n
    return g[:, None] / n * (dy - sign * u * (dy * u).sum(axis=1, keepdims=True)), (dy * u).sum(axis=1)


weight_norm.right(weight_norm_back)
weight_norm.wrong(BROADCAST, "gain's gradient not summed", g=lambda dy, v, g: dy * v / np.linalg.norm(v, axis=1, keepdims=True))
weight_norm.wrong((OWN, TERM), "length taken for a constant", v=lambda dy, v, g: weight_norm_back(dy, v, g, 0)[0])
weight_norm.wrong(TERM, "plus for minus", v=lambda dy, v, g: weight_norm_back(dy, v, g, -1)[0])
weight_norm.wrong(IN_FACTOR, "divided by the length twice", g=lambda dy, v, g: (dy * v).sum(axis=1) / (v * v).sum(axis=1))


@layer(x=normal(3, 4, 2))
def maxout(x):
    return x.max(axis=2)


maxout.right(lambda dy, x: dy[:, :, None] * (x == x.max(axis=2, keepdims=True)))
maxout.wrong(IGNORED, "both pieces", x=lambda dy, x: dy[:, :, None] * np.ones_like(x))
maxout.wrong(PLACES, "always the first piece", x=lambda dy, x: dy[:, :, None] * np.array([1.0, 0]))
maxout.wrong((PLACES, ROUND, IS), "the smaller piece", x=lambda dy, x: dy[:, :, None] * (x == x.min(axis=2, keepdims=True)))
maxout.wrong(IS, "half to each", x=lambda dy, x: dy[:, :, None] * np.full_like(x, 0.5))


@layer(x=normal(4), w=normal(3))
def transposed_conv1d(x, w):
    y = np.zeros(9)
    for i in range(4):
        y[2 * i : 2 * i + 3] += x[i] * w
    return y


def transposed_back(dy, x, w, stride=2, flip=1):
    dx = np.array([dy[stride * i : stride * i + 3] @ w[::flip] for i in range(4)])
    return dx, sum(x[i] * dy[2 * i : 2 * i + 3] for i in range(4))


transposed_conv1d.right(transposed_back)
transposed_conv1d.wrong(NO_NAME, "stride forgotten", x=lambda dy, x, w: transposed_back(dy, x, w, stride=1)[0])
transposed_conv1d.wrong(OTHER_END, "kernel flipped", x=lambda dy, x, w: transposed_back(dy, x, w, flip=-1)[0])
transposed_conv1d.wrong(LOST, "the last window alone", w=lambda dy, x, w: x[3] * dy[6:9])
transposed_conv1d.wrong(LOST, "no loop over the kernel", x=lambda dy, x, w: dy[0:8:2] * w[0])


@layer(x=given(np.eye(3) * 2 + np.arange(9).reshape(3, 3) / 10))
def determinant(x):
    return np.linalg.det(x)


determinant.right(lambda dy, x: dy * np.linalg.det(x) * np.linalg.inv(x).T)
determinant.wrong(EXCHANGED, "not transposed", x=lambda dy, x: dy * np.linalg.det(x) * np.linalg.inv(x))
determinant.wrong((FACTOR, MISSING), "of the logarithm", x=lambda dy, x: dy * np.linalg.inv(x).T)
determinant.wrong(NO_NAME, "as the product of the diagonal", x=lambda dy, x: dy * np.diag(np.prod(np.diag(x)) / np.diag(x)))
determinant.wrong(UPSTREAM, "dy forgotten", x=lambda dy, x: np.linalg.det(x) * np.linalg.inv(x).T)


@layer(x=normal(1, 4, 2, 2))
def pixel_shuffle(x):
    return x.reshape(1, 2, 2, 2, 2).transpose(0, 3, 1, 4, 2).reshape(1, 1, 4, 4)


def unshuffled(dy, *axes):
    return dy.reshape(1, 2, 2, 2, 2).transpose(0, *axes).reshape(1, 4, 2, 2)


pixel_shuffle.right(lambda dy, x: unshuffled(dy, 2, 4, 1, 3))
pixel_shuffle.wrong((PLACES, EXCHANGED), "channels in the other order", x=lambda dy, x: unshuffled(dy, 4, 2, 1, 3))
pixel_shuffle.wrong(PLACES, "reshaped only", x=lambda dy, x: dy.reshape(x.shape))
pixel_shuffle.wrong(FACTOR, "averaged", x=lambda dy, x: unshuffled(dy, 2, 4, 1, 3) / 4)
pixel_shuffle.wrong((PLACES, EXCHANGED), "rows and columns exchanged", x=lambda dy, x: unshuffled(dy, 2, 4, 3, 1))


@layer(x=normal(3, 4))
def softmax_at_a_temperature(x):
    e = np.exp(x / 2)
    return e / e.sum(axis=1, keepdims=True)


def temperature_back(dy, x, axis=1):
    y = softmax_at_a_temperature(x)
    return y * (dy - (dy * y).sum(axis=axis, keepdims=True)) / 2


softmax_at_a_temperature.right(temperature_back)
softmax_at_a_temperature.wrong(FACTOR, "temperature forgotten", x=lambda dy, x: 2 * temperature_back(dy, x))
softmax_at_a_temperature.wrong(FACTOR, "temperature multiplied", x=lambda dy, x: 4 * temperature_back(dy, x))
softmax_at_a_temperature.wrong(OWN, "no sum over the row", x=lambda dy, x: softmax_at_a_temperature(x) * dy / 2)
softmax_at_a_temperature.wrong(OTHER_AXIS, "summed over the batch", x=lambda dy, x: temperature_back(dy, x, axis=0))


@layer(x=normal(3, 2), w=normal(2, 4), z=normal(3, 4))
def bilinear(x, w, z):
    return ((x @ w) * z).sum(axis=1)


def bilinear_back(dy, x, w, z):
    dy = dy[:, None]
    return dy * (z @ w.T), x.T @ (dy * z), dy * (x @ w)


bilinear.right(bilinear_back)
bilinear.wrong(FACTOR, "mean over the batch", w=lambda dy, x, w, z: bilinear_back(dy, x, w, z)[1] / 3)
bilinear.wrong(UPSTREAM, "upstream forgotten", x=lambda dy, x, w, z: z @ w.T)
bilinear.wrong((TRANSPOSED, SHAPE, EXCHANGED), "weight's gradient transposed", w=lambda dy, x, w, z: bilinear_back(dy, x, w, z)[1].T)
bilinear.wrong((BATCH, LOST), "the first example", w=lambda dy, x, w, z: dy[0] * np.outer(x[0], z[0]))


@layer(x=normal(3, 4), h=normal(3, 4), t=positive(3, 4))
def highway(x, h, t):
    return t * h + (1 - t) * x


highway.right(lambda dy, x, h, t: (dy * (1 - t), dy * t, dy * (h - x)))
highway.wrong((IS, TERM_MISSING), "carry not gated", t=lambda dy, x, h, t: dy * h)
highway.wrong(ANOTHER, "carry's gradient by the gate", x=lambda dy, x, h, t: dy * t)
highway.wrong((PASSED, MISSING, IS), "carry's gate forgotten", x=lambda dy, x, h, t: dy)
highway.wrong(SIGN, "sign of the gate", t=lambda dy, x, h, t: dy * (x - h))


@layer(x=normal(3, 4), t=positive(3, 4))
def poisson_nll(x, t):
    return (np.exp(x) - t * x).mean()


poisson_nll.right(lambda dy, x, t: (dy * (np.exp(x) - t) / x.size, -dy * x / x.size))
poisson_nll.wrong(IS, "exponential forgotten", x=lambda dy, x, t: dy * (x - t) / x.size)
poisson_nll.wrong(TERM_MISSING, "target forgotten", x=lambda dy, x, t: dy * np.exp(x) / x.size)
poisson_nll.wrong(FACTOR, "summed", x=lambda dy, x, t: dy * (np.exp(x) - t))
poisson_nll.wrong(SIGN, "sign of the target", t=lambda dy, x, t: dy * x / x.size)
