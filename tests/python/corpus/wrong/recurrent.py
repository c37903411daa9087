"""Recurrent cells and backpropagation through time."""

import numpy as np

from ..layer import *


def sigma(x):
    return 1 / (1 + np.exp(-x))


N, D, H = 2, 3, 4


@layer(x=normal(N, D), h=normal(N, H), wx=normal(D, H), wh=normal(H, H), b=normal(H), cache=True)
def rnn_step(x, h, wx, wh, b):
    """cs231n, assignment 3."""
    y = np.tanh(x @ wx + h @ wh + b)
    return y, (x, h, wx, wh, y)


def rnn_step_back(dy, cache, slope=lambda y: 1 - y**2):
    x, h, wx, wh, y = cache
    da = dy * slope(y)
    return da @ wx.T, da @ wh.T, x.T @ da, h.T @ da, da.sum(axis=0)


rnn_step.right(rnn_step_back)
rnn_step.wrong((OUT_FACTOR, LAST_FUNCTION), "tanh's derivative forgotten", h=lambda dy, c: rnn_step_back(dy, c, lambda y: 1)[1])
rnn_step.wrong(NO_NAME, "wh not transposed", h=lambda dy, c: dy * (1 - c[4] ** 2) @ c[3])
rnn_step.wrong(NO_NAME, "the new state for the old one", wh=lambda dy, c: c[4].T @ (dy * (1 - c[4] ** 2)))
rnn_step.wrong(LOST, "bias of the first example", b=lambda dy, c: (dy * (1 - c[4] ** 2))[0])
rnn_step.wrong(OUT_FACTOR, "1 - y for 1 - y²", x=lambda dy, c: rnn_step_back(dy, c, lambda y: 1 - y)[0])


@layer(x=normal(3, H), h0=normal(H), w=normal(H, H))
def rnn(x, h0, w):
    """All states of three steps: h = tanh(x_t + h w)."""
    states, h = [], h0
    for t in range(3):
        h = np.tanh(x[t] + h @ w)
        states.append(h)
    return np.array(states)


def rnn_back(dy, x, h0, w, carry=1, at=lambda h, t: h[t], keep=lambda dw, now, t: dw + now):
    h = [h0, *rnn(x, h0, w)]
    dx, dw, dh = np.zeros_like(x), np.zeros_like(w), np.zeros_like(h0)
    for t in reversed(range(3)):
        da = (dy[t] + carry * dh) * (1 - h[t + 1] ** 2)
        dx[t], dw, dh = da, keep(dw, np.outer(at(h, t), da), t), da @ w.T
    return dx, dh, dw


rnn.right(rnn_back)
rnn.wrong((LOST, OWN), "no gradient from the next step", x=lambda dy, *x: rnn_back(dy, *x, carry=0)[0])
rnn.wrong(LOST, "dw of the last step alone", w=lambda dy, *x: rnn_back(dy, *x, keep=lambda dw, now, t: now if t == 2 else dw)[2])
rnn.wrong(LOST, "dw overwritten", w=lambda dy, *x: rnn_back(dy, *x, keep=lambda dw, now, t: now)[2])
rnn.wrong(NO_NAME, "the state after for the state before", w=lambda dy, *x: rnn_back(dy, *x, at=lambda h, t: h[t + 1])[2])


@layer(x=normal(N, D), h=normal(N, 2), c=normal(N, 2), w=normal(D + 2, 8))
def lstm_step(x, h, c, w):
    i, f, o, g = np.split(np.concatenate([x, h], axis=1) @ w, 4, axis=1)
    c2 = sigma(f) * c + sigma(i) * np.tanh(g)
    return sigma(o) * np.tanh(c2), c2


def lstm_back(dy, x, h, c, w, cell=1, order=(0, 1, 2, 3), o_slope=1, through_tanh=1):
    dh, dc2 = dy
    i, f, o, g = np.split(np.concatenate([x, h], axis=1) @ w, 4, axis=1)
    i, f, o, g = sigma(i), sigma(f), sigma(o), np.tanh(g)
    t = np.tanh(f * c + i * g)
    dc2 = cell * dc2 + dh * o * (1 - through_tanh * t**2)
    gates = [dc2 * g * i * (1 - i), dc2 * c * f * (1 - f), dh * t * (o * (1 - o) if o_slope else 1), dc2 * i * (1 - g**2)]
    da = np.concatenate([gates[k] for k in order], axis=1)
    dxh = da @ w.T
    return dxh[:, : x.shape[1]], dxh[:, x.shape[1] :], dc2 * f, np.concatenate([x, h], axis=1).T @ da


lstm_step.right(lstm_back)
lstm_step.wrong((LOST, NONE), "the cell's own upstream forgotten", c=lambda dy, *x: lstm_back(dy, *x, cell=0)[2])
lstm_step.wrong(PLACES, "i and f exchanged", w=lambda dy, *x: lstm_back(dy, *x, order=(1, 0, 2, 3))[3])
lstm_step.wrong(NO_NAME, "the output gate's slope forgotten", w=lambda dy, *x: lstm_back(dy, *x, o_slope=0)[3])
lstm_step.wrong(NO_NAME, "tanh of the cell forgotten", c=lambda dy, *x: lstm_back(dy, *x, through_tanh=0)[2])
lstm_step.wrong(NONE, "no gradient for the cell", c=lambda dy, *x: np.zeros((N, 2)))


@layer(z=positive(4), h=normal(4), n=normal(4))
def gru_update(z, h, n):
    return (1 - z) * n + z * h


gru_update.right(lambda dy, z, h, n: (dy * (h - n), dy * z, dy * (1 - z)))
gru_update.wrong(SIGN, "n - h", z=lambda dy, z, h, n: dy * (n - h))
gru_update.wrong(IS, "one path of two", z=lambda dy, z, h, n: dy * h)
gru_update.wrong(ANOTHER, "z and 1 - z exchanged", h=lambda dy, z, h, n: dy * (1 - z), n=lambda dy, z, h, n: dy * z)
gru_update.wrong((PASSED, SKIP), "the gate forgotten", h=lambda dy, z, h, n: dy)


@layer(f=positive(3), c=normal(3), i=normal(3), g=normal(3))
def cell_update(f, c, i, g):
    return f * c + i * g


cell_update.right(lambda dy, f, c, i, g: (dy * c, dy * f, dy * g, dy * i))
cell_update.wrong(PASSED, "the cell passed by", c=lambda dy, f, c, i, g: dy)
cell_update.wrong(ANOTHER, "i and g exchanged", i=lambda dy, f, c, i, g: dy * i, g=lambda dy, f, c, i, g: dy * g)
