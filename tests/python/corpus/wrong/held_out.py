"""Wrong backwards whose names were written down before glim.gradcheck had seen any of them.

Of 52, it named 42 so, 4 otherwise and 6 not at all. Of the 4, 3 names are true too, and stand here beside the others.
"""

import numpy as np

from ..layer import *


def sigma(x):
    return 1 / (1 + np.exp(-x))


@layer(x=normal(3, 4), a=positive(4))
def prelu(x, a):
    return np.where(x > 0, x, a * x)


prelu.right(lambda dy, x, a: (dy * np.where(x > 0, 1, a), (dy * x * (x < 0)).sum(axis=0)))
prelu.wrong(IGNORED, "slope's gradient without its mask", a=lambda dy, x, a: (dy * x).sum(axis=0))
prelu.wrong(LOST, "slope of the first example", a=lambda dy, x, a: (dy * x * (x < 0))[0])
prelu.wrong(NONE, "slope not learnt", a=lambda dy, x, a: np.zeros_like(a))
prelu.wrong(LOST, "as relu", x=lambda dy, x, a: dy * (x > 0))
prelu.wrong(BROADCAST, "slope's gradient not summed", a=lambda dy, x, a: dy * x * (x < 0))


@layer(p=normal(4, 3), t=normal(4, 3))
def huber_loss(p, t):
    d = p - t
    return np.where(np.abs(d) < 1, 0.5 * d * d, np.abs(d) - 0.5).mean()


def huber_back(dy, p, t):
    g = dy * np.clip(p - t, -1, 1) / p.size
    return g, -g


huber_loss.right(huber_back)
huber_loss.wrong(FACTOR, "2 d inside", p=lambda dy, p, t: 2 * huber_back(dy, p, t)[0])
huber_loss.wrong(FACTOR, "1/n forgotten", p=lambda dy, p, t: huber_back(dy, p, t)[0] * p.size)
huber_loss.wrong(SIGN, "sign of the target", t=lambda dy, p, t: huber_back(dy, p, t)[0])
huber_loss.wrong(LOST, "the linear part forgotten", p=lambda dy, p, t: dy * np.where(np.abs(p - t) < 1, p - t, 0) / p.size)
huber_loss.wrong(UPSTREAM, "upstream forgotten", p=lambda dy, p, t: huber_back(1.0, p, t)[0])


@layer(a=normal(3, 4), b=normal(3, 4))
def cosine_similarity(a, b):
    return (a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)


def cosine_back(dy, a, b):
    na, nb = np.linalg.norm(a, axis=1, keepdims=True), np.linalg.norm(b, axis=1, keepdims=True)
    c = (a * b).sum(axis=1, keepdims=True) / na / nb
    dy = dy[:, None]
    return dy * (b / nb - c * a / na) / na, dy * (a / na - c * b / nb) / nb


cosine_similarity.right(cosine_back)
cosine_similarity.wrong(ANOTHER, "a and b exchanged", a=lambda dy, a, b: cosine_back(dy, a, b)[1], b=lambda dy, a, b: cosine_back(dy, a, b)[0])
cosine_similarity.wrong(SIGN, "as a distance", a=lambda dy, a, b: -cosine_back(dy, a, b)[0])
cosine_similarity.wrong(NO_NAME, "lengths as constants", a=lambda dy, a, b: dy[:, None] * b / np.linalg.norm(a, axis=1, keepdims=True) / np.linalg.norm(b, axis=1, keepdims=True))


@layer(x=normal(3, 4), t=given([1, 3, 0]))
def label_smoothing_loss(x, t):
    q = np.eye(4)[t] * 0.9 + 0.025
    return -(q * np.log(np.exp(x) / np.exp(x).sum(axis=1, keepdims=True))).sum(axis=1)


def smoothing_back(dy, x, t, q=None):
    p = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    q = np.eye(4)[t] * 0.9 + 0.025 if q is None else q
    return dy[:, None] * (p - q)


label_smoothing_loss.right(lambda dy, x, t: (smoothing_back(dy, x, t), None))
label_smoothing_loss.wrong(NO_NAME, "the hard target", x=lambda dy, x, t: smoothing_back(dy, x, t, np.eye(4)[t]))
label_smoothing_loss.wrong(SIGN, "q - p", x=lambda dy, x, t: -smoothing_back(dy, x, t))
label_smoothing_loss.wrong(FACTOR, "divided by the batch", x=lambda dy, x, t: smoothing_back(dy, x, t) / len(x))
label_smoothing_loss.wrong(UPSTREAM, "dy forgotten", x=lambda dy, x, t: smoothing_back(np.ones(3), x, t))


@layer(x=normal(3, 3))
def gram_matrix(x):
    return x @ x.T


gram_matrix.right(lambda dy, x: (dy + dy.T) @ x)
gram_matrix.wrong((LOST, ONE_USE), "one side of the product", x=lambda dy, x: dy @ x)
gram_matrix.wrong(FACTOR, "both sides halved", x=lambda dy, x: (dy + dy.T) @ x / 2)
gram_matrix.wrong(ONE_USE, "twice one side", x=lambda dy, x: 2 * dy @ x)
gram_matrix.wrong(EXCHANGED, "result transposed", x=lambda dy, x: ((dy + dy.T) @ x).T)


@layer(x=given(np.eye(3) * 2 + np.arange(9).reshape(3, 3) / 10))
def inverse(x):
    return np.linalg.inv(x)


inverse.right(lambda dy, x: -np.linalg.inv(x).T @ dy @ np.linalg.inv(x).T)
inverse.wrong(SIGN, "sign", x=lambda dy, x: np.linalg.inv(x).T @ dy @ np.linalg.inv(x).T)
inverse.wrong(TRANSPOSE, "not transposed", x=lambda dy, x: -np.linalg.inv(x) @ dy @ np.linalg.inv(x))
inverse.wrong(EXCHANGED, "dy transposed", x=lambda dy, x: -np.linalg.inv(x).T @ dy.T @ np.linalg.inv(x).T)
inverse.wrong(OWN, "-1/x²", x=lambda dy, x: -dy / x**2)


@layer(w=normal(6, 3), t=given([[0, 2, 2], [5, 1, 0]]))
def embedding_bag(w, t):
    return w[t].mean(axis=1)


def bag_back(dy, w, t):
    dw = np.zeros_like(w)
    np.add.at(dw, t, dy[:, None, :] / t.shape[1])
    return dw, None


embedding_bag.right(bag_back)
embedding_bag.wrong(FACTOR, "sum for mean", w=lambda dy, w, t: 3 * bag_back(dy, w, t)[0])
embedding_bag.wrong(OFF, "tokens from 1", w=lambda dy, w, t: bag_back(dy, w, (t + 1) % 6)[0])


@embedding_bag.wrong((LOST, IN_FACTOR))
def added_once_for_a_token_that_is_there_twice(dy, w, t):
    dw = np.zeros_like(w)
    for n in range(len(t)):
        dw[t[n]] += dy[n] / 3
    return dw, None


@layer(x=normal(2, 4, 3), mask=given([[True, True, False, True], [True, False, False, True]]))
def masked_mean(x, mask):
    return (x * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1)[:, None]


masked_mean.right(lambda dy, x, mask: (dy[:, None] * mask[:, :, None] / mask.sum(axis=1)[:, None, None], None))
masked_mean.wrong(IGNORED, "no mask", x=lambda dy, x, mask: np.repeat((dy / mask.sum(axis=1)[:, None])[:, None], 4, axis=1))
masked_mean.wrong((OUT_FACTOR, PASSED), "divided by the length", x=lambda dy, x, mask: dy[:, None] * mask[:, :, None] / 4)
masked_mean.wrong(PASSED, "not divided", x=lambda dy, x, mask: dy[:, None] * mask[:, :, None] * 1.0)
masked_mean.wrong(ROUND, "the mask negated", x=lambda dy, x, mask: dy[:, None] * ~mask[:, :, None] / mask.sum(axis=1)[:, None, None])


@layer(x=normal(4, 3), s=normal(3))
def layer_scale(x, s):
    return x + s * np.tanh(x)


layer_scale.right(lambda dy, x, s: (dy + dy * s * (1 - np.tanh(x) ** 2), (dy * np.tanh(x)).sum(axis=0)))
layer_scale.wrong(SKIP, "skip forgotten", x=lambda dy, x, s: dy * s * (1 - np.tanh(x) ** 2))
layer_scale.wrong((PASSED, IS), "branch forgotten", x=lambda dy, x, s: dy)
layer_scale.wrong(LOST, "scale of the last row", s=lambda dy, x, s: (dy * np.tanh(x))[-1])
layer_scale.wrong(IS, "scale from x", s=lambda dy, x, s: (dy * x).sum(axis=0))
layer_scale.wrong(FACTOR, "scale's mean", s=lambda dy, x, s: (dy * np.tanh(x)).mean(axis=0))


@layer(x=normal(2, 3, 4, 4), w=normal(3, 2, 2))
def depthwise_conv(x, w):
    return sum(x[:, :, i : i + 3, j : j + 3] * w[:, i, j][:, None, None] for i in range(2) for j in range(2))


def depthwise_back(dy, x, w, shift=0):
    dx, dw = np.zeros_like(x), np.zeros_like(w)
    for i in range(2):
        for j in range(2):
            dx[:, :, i : i + 3, j : j + 3] += dy * w[:, i, j][:, None, None]
            dw[:, i, j] = (dy * x[:, :, i : i + 3, j : j + 3]).sum(axis=(0, 2, 3))
    return np.roll(dx, shift, axis=2), dw


depthwise_conv.right(depthwise_back)
depthwise_conv.wrong(OFF, "one row late", x=lambda dy, x, w: depthwise_back(dy, x, w, 1)[0])
depthwise_conv.wrong(EXCHANGED, "kernel's axes exchanged", w=lambda dy, x, w: depthwise_back(dy, x, w)[1].transpose(0, 2, 1))
depthwise_conv.wrong(FACTOR, "mean over the batch", w=lambda dy, x, w: depthwise_back(dy, x, w)[1] / 2)
depthwise_conv.wrong(PLACES, "kernel flipped", w=lambda dy, x, w: depthwise_back(dy, x, w)[1][:, ::-1, ::-1])
depthwise_conv.wrong(LOST, "the first example", w=lambda dy, x, w: depthwise_back(dy[:1], x[:1], w)[1])


@layer(x=normal(5), y0=normal(3))
def exponential_moving_average(x, y0):
    """0.9 of the past, once for each of three channels."""
    y, out = y0, []
    for v in x:
        y = 0.9 * y + 0.1 * v
        out.append(y)
    return np.array(out)


def ema_back(dy, x, y0, decay=0.9, share=0.1):
    d, dx = np.zeros_like(y0), np.zeros_like(x)
    for t in reversed(range(len(x))):
        d = d + dy[t]
        dx[t] = share * d.sum()
        d = decay * d
    return dx, d


exponential_moving_average.right(ema_back)
exponential_moving_average.wrong((FACTOR, PASSED), "0.1 forgotten", x=lambda dy, x, y0: ema_back(dy, x, y0, share=1)[0])
exponential_moving_average.wrong(LOST, "no recurrence", x=lambda dy, x, y0: 0.1 * dy.sum(axis=1))
exponential_moving_average.wrong(LOST, "the first step's state alone", y0=lambda dy, x, y0: 0.9 * dy[0])
exponential_moving_average.wrong((OUT_FACTOR, PASSED), "decay forgotten", x=lambda dy, x, y0: ema_back(dy, x, y0, decay=1)[0])


@layer(a=normal(3, 2), b=normal(4, 2))
def squared_distances(a, b):
    return ((a[:, None] - b[None]) ** 2).sum(axis=2)


def distances_back(dy, a, b):
    d = 2 * dy[:, :, None] * (a[:, None] - b[None])
    return d.sum(axis=1), -d.sum(axis=0)


squared_distances.right(distances_back)
squared_distances.wrong(SIGN, "sign of b", b=lambda dy, a, b: -distances_back(dy, a, b)[1])
squared_distances.wrong(FACTOR, "2 forgotten", a=lambda dy, a, b: distances_back(dy, a, b)[0] / 2)
squared_distances.wrong(LOST, "the first neighbour", a=lambda dy, a, b: 2 * dy[:, :1] * (a - b[0]))
squared_distances.wrong(NO_NAME, "the square forgotten", a=lambda dy, a, b: dy.sum(axis=1)[:, None] * a)
squared_distances.wrong(FACTOR, "mean for sum", b=lambda dy, a, b: distances_back(dy, a, b)[1] / 3)
squared_distances.wrong(UPSTREAM, "upstream forgotten", a=lambda dy, a, b: distances_back(np.ones_like(dy), a, b)[0])
