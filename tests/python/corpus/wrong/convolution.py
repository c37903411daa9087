"""Convolution, pooling and padding, as naive loops."""

import numpy as np

from ..layer import *


@layer(x=normal(7), w=normal(3))
def conv1d(x, w):
    return np.array([x[i : i + 3] @ w for i in range(5)])


def conv1d_dx(dy, w, shift=0):
    dx = np.zeros(7)
    for i in range(5):
        for k in range(3):
            if 0 <= i + k + shift < 7:
                dx[i + k + shift] += dy[i] * w[k]
    return dx


conv1d.right(lambda dy, x, w: (conv1d_dx(dy, w), np.array([x[k : k + 5] @ dy for k in range(3)])))
conv1d.wrong(OTHER_END, "kernel not flipped back", x=lambda dy, x, w: conv1d_dx(dy, w[::-1]))
conv1d.wrong(OFF, "one late", x=lambda dy, x, w: conv1d_dx(dy, w, 1))
conv1d.wrong(FACTOR, "mean over positions", w=lambda dy, x, w: np.array([x[k : k + 5] @ dy for k in range(3)]) / 5)
conv1d.wrong(PLACES, "kernel's gradient flipped", w=lambda dy, x, w: np.array([x[k : k + 5] @ dy for k in range(3)])[::-1])


@conv1d.wrong(LOST)
def assigned_instead_of_added(dy, x, w):
    dx = np.zeros(7)
    for i in range(5):
        dx[i : i + 3] = dy[i] * w
    return dx, np.array([x[k : k + 5] @ dy for k in range(3)])


@layer(x=normal(1, 2, 4, 4), w=normal(2, 2, 3, 3), b=normal(2), cache=True)
def conv2d(x, w, b, pad=1):
    """cs231n, assignment 2: stride 1, padding 1."""
    N, _, H, W = x.shape
    xp = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    y = np.zeros((N, len(w), H, W))
    for n in range(N):
        for f in range(len(w)):
            for i in range(H):
                for j in range(W):
                    y[n, f, i, j] = (xp[n, :, i : i + 3, j : j + 3] * w[f]).sum() + b[f]
    return y, (x, w, b, xp)


def conv2d_back(dout, cache, crop=1, each=lambda acc, value: acc + value):
    x, w, b, xp = cache
    dxp, dw = np.zeros_like(xp), np.zeros_like(w)
    N, F, H, W = dout.shape
    for n in range(N):
        for f in range(F):
            for i in range(H):
                for j in range(W):
                    here = (n, slice(None), slice(i, i + 3), slice(j, j + 3))
                    dxp[here] = each(dxp[here], dout[n, f, i, j] * w[f])
                    dw[f] = each(dw[f], dout[n, f, i, j] * xp[here])
    return dxp[:, :, crop : crop + H, crop : crop + W], dw, dout.sum(axis=(0, 2, 3))


conv2d.right(conv2d_back)
conv2d.wrong(OFF, "padding not cropped", x=lambda dout, c: conv2d_back(dout, c, crop=0)[0])
conv2d.wrong(LOST, "= for += in dw", w=lambda dout, c: conv2d_back(dout, c, each=lambda acc, value: value)[1])
conv2d.wrong(FACTOR, "bias as a mean", b=lambda dout, c: dout.mean(axis=(0, 2, 3)))
conv2d.wrong(FACTOR, "bias as a mean of positions", b=lambda dout, c: dout.mean(axis=(2, 3)).sum(axis=0))
conv2d.wrong(EXCHANGED, "height and width exchanged in dw", w=lambda dout, c: conv2d_back(dout, c)[1].transpose(0, 1, 3, 2))
conv2d.wrong(EXCHANGED, "filters and channels exchanged in dw", w=lambda dout, c: conv2d_back(dout, c)[1].transpose(1, 0, 2, 3))
conv2d.wrong(OTHER_END, "kernel rotated", x=lambda dout, c: conv2d_back(dout, (c[0], c[1][:, :, ::-1, ::-1], c[2], c[3]))[0])
conv2d.wrong(LOST, "bias of the corner", b=lambda dout, c: dout[:, :, 0, 0].sum(axis=0))
conv2d.wrong(IGNORED, "bias summed over filters", b=lambda dout, c: np.full(2, dout.sum()))


def windows(x):
    """(N, C, H/2, W/2, 4) of 2 × 2 windows."""
    N, C, H, W = x.shape
    return x.reshape(N, C, H // 2, 2, W // 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(N, C, H // 2, W // 2, 4)


def from_windows(v):
    N, C, H, W, _ = v.shape
    return v.reshape(N, C, H, W, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(N, C, H * 2, W * 2)


@layer(x=normal(2, 2, 4, 4))
def max_pool(x):
    return windows(x).max(axis=-1)


def at_max(x):
    return windows(x) == windows(x).max(axis=-1, keepdims=True)


max_pool.right(lambda dy, x: from_windows(at_max(x) * dy[..., None]))
max_pool.wrong(IGNORED, "to all of a window", x=lambda dy, x: from_windows(np.repeat(dy[..., None], 4, axis=-1)))
max_pool.wrong(PLACES, "to the smallest", x=lambda dy, x: from_windows((windows(x) == windows(x).min(axis=-1, keepdims=True)) * dy[..., None]))
max_pool.wrong(TOO_MANY, "times the value", x=lambda dy, x: from_windows(at_max(x) * dy[..., None]) * x)
max_pool.wrong(UPSTREAM, "the mask alone", x=lambda dy, x: from_windows(at_max(x).astype(float)))
max_pool.wrong(NO_NAME, "a quarter to all, as the average", x=lambda dy, x: from_windows(np.repeat(dy[..., None], 4, axis=-1)) / 4)


@max_pool.wrong(PLACES)
def to_the_first_of_a_window(dy, x):
    v = np.zeros(dy.shape + (4,))
    v[..., 0] = dy  # argmax without an axis
    return from_windows(v)


@layer(x=normal(2, 2, 4, 4))
def average_pool(x):
    return windows(x).mean(axis=-1)


average_pool.right(lambda dy, x: from_windows(np.repeat(dy[..., None], 4, axis=-1)) / 4)
average_pool.wrong(FACTOR, "1/4 forgotten", x=lambda dy, x: from_windows(np.repeat(dy[..., None], 4, axis=-1)))
average_pool.wrong(FACTOR, "divided by 2", x=lambda dy, x: np.kron(dy, np.ones((2, 2))) / 2)
average_pool.wrong(LOST, "the first of a window", x=lambda dy, x: from_windows(np.pad(dy[..., None], [(0, 0)] * 4 + [(0, 3)])) / 4)
average_pool.wrong(PLACES, "tiled instead of repeated", x=lambda dy, x: np.tile(dy, (1, 1, 2, 2)) / 4)


@layer(x=normal(2, 3, 2, 2))
def global_average_pool(x):
    return x.mean(axis=(2, 3))


global_average_pool.right(lambda dy, x: np.broadcast_to(dy[:, :, None, None], x.shape) / x[0, 0].size)
global_average_pool.wrong(FACTOR, "1/HW forgotten", x=lambda dy, x: np.broadcast_to(dy[:, :, None, None], x.shape))
global_average_pool.wrong(FACTOR, "divided by x.size", x=lambda dy, x: np.broadcast_to(dy[:, :, None, None], x.shape) / x.size)


@layer(x=normal(1, 2, 2, 3))
def upsample_nearest(x):
    return np.repeat(np.repeat(x, 2, axis=2), 2, axis=3)


upsample_nearest.right(lambda dy, x: windows(dy).sum(axis=-1))
upsample_nearest.wrong(FACTOR, "mean for sum", x=lambda dy, x: windows(dy).mean(axis=-1))
upsample_nearest.wrong(LOST, "every second pixel", x=lambda dy, x: dy[:, :, ::2, ::2])


@layer(x=normal(3, 4))
def zero_pad(x):
    return np.pad(x, ((1, 1), (1, 1)))


zero_pad.right(lambda dy, x: dy[1:-1, 1:-1])
zero_pad.wrong(NO_NAME, "from the start", x=lambda dy, x: dy[:-2, :-2])
zero_pad.wrong(OFF, "columns from the start", x=lambda dy, x: dy[1:-1, :-2])


@layer(x=normal(2, 6), w=normal(3, 2))
def strided_conv1d(x, w):
    """Stride 2, kernel 2, 3 filters: (2, 3, 3)."""
    return np.einsum("ntk,fk->nft", x.reshape(2, 3, 2), w)


strided_conv1d.right(
    lambda dy, x, w: (np.einsum("nft,fk->ntk", dy, w).reshape(2, 6), np.einsum("nft,ntk->fk", dy, x.reshape(2, 3, 2)))
)
strided_conv1d.wrong(NO_NAME, "stride forgotten", x=lambda dy, x, w: sum(np.pad((dy * w[:, k][:, None]).sum(axis=1), ((0, 0), (k, 3 - k))) for k in range(2)))
strided_conv1d.wrong(LOST, "the first window alone", w=lambda dy, x, w: np.einsum("nf,nk->fk", dy[:, :, 0], x[:, :2]))
strided_conv1d.wrong(FACTOR, "mean over the batch", w=lambda dy, x, w: np.einsum("nft,ntk->fk", dy, x.reshape(2, 3, 2)) / 2)
