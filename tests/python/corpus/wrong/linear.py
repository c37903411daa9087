"""Products of matrices, and axes that change their places."""

import numpy as np

from ..layer import *


@layer(a=normal(3, 3), b=normal(3, 3))
def matmul(a, b):
    return a @ b


matmul.right(lambda dy, a, b: (dy @ b.T, a.T @ dy))
matmul.wrong(TRANSPOSE, "b not transposed", a=lambda dy, a, b: dy @ b)
matmul.wrong(TRANSPOSE, "a not transposed", b=lambda dy, a, b: a @ dy)
matmul.wrong(EXCHANGED, "dy transposed", a=lambda dy, a, b: dy.T @ b.T)
matmul.wrong(EXCHANGED, "result transposed", b=lambda dy, a, b: (a.T @ dy).T)
matmul.wrong(OTHER_AXIS, "order of the factors", a=lambda dy, a, b: b.T @ dy)
matmul.wrong(FACTOR, "mean over rows", b=lambda dy, a, b: a.T @ dy / len(a))
matmul.wrong(UPSTREAM, "ones for dy", b=lambda dy, a, b: a.T @ np.ones_like(dy))
matmul.wrong(OWN, "elementwise product", a=lambda dy, a, b: dy * b)


@layer(a=normal(2, 3, 4), b=normal(4, 3))
def batched_matmul(a, b):
    return a @ b


batched_matmul.right(lambda dy, a, b: (dy @ b.T, (a.transpose(0, 2, 1) @ dy).sum(axis=0)))
batched_matmul.wrong(LOST, "the first example", b=lambda dy, a, b: a[0].T @ dy[0])
batched_matmul.wrong(FACTOR, "mean over the batch", b=lambda dy, a, b: (a.transpose(0, 2, 1) @ dy).mean(axis=0))
batched_matmul.wrong(BROADCAST, "not summed over the batch", b=lambda dy, a, b: a.transpose(0, 2, 1) @ dy)


@layer(x=normal(2, 3, 2), w=normal(6, 4), b=normal(4), cache=True)
def affine(x, w, b):
    """cs231n, assignment 1: rows of x are flattened."""
    return x.reshape(len(x), -1) @ w + b, (x, w, b)


@affine.right
def _(dout, cache):
    x, w, _ = cache
    return (dout @ w.T).reshape(x.shape), x.reshape(len(x), -1).T @ dout, dout.sum(axis=0)


affine.wrong(LOST, "bias of the first example", b=lambda dout, cache: dout[0])
affine.wrong(FACTOR, "bias as a mean", b=lambda dout, cache: dout.mean(axis=0))
affine.wrong(FACTOR, "weights divided by N", w=lambda dout, cache: cache[0].reshape(2, -1).T @ dout / 2)
affine.wrong(PLACES, "rows flattened in Fortran order", w=lambda dout, cache: cache[0].reshape(2, -1, order="F").T @ dout)
affine.wrong(ADDED, "regularisation added", w=lambda dout, cache: affine.backward(dout, cache)[1] + 1e-1 * cache[1])
affine.wrong(NONE, "bias forgotten", b=lambda dout, cache: np.zeros(4))
affine.wrong(IGNORED, "bias summed over everything", b=lambda dout, cache: np.full(4, dout.sum()))


@layer(x=normal(4, 3), w=normal(3, 3), b=normal(3))
def torch_linear(x, w, b):
    return x @ w.T + b


torch_linear.right(lambda dy, x, w, b: (dy @ w, dy.T @ x, dy.sum(axis=0)))
torch_linear.wrong(TRANSPOSE, "w transposed once more", x=lambda dy, x, w, b: dy @ w.T)
torch_linear.wrong(EXCHANGED, "xᵀ dy", w=lambda dy, x, w, b: x.T @ dy)
torch_linear.wrong(UPSTREAM, "bias from ones", b=lambda dy, x, w, b: np.full(3, float(len(x))))


@layer(x=normal(4, 3), w1=normal(3, 5), w2=normal(5, 2))
def two_layer_net(x, w1, w2):
    return np.maximum(0, x @ w1) @ w2


@two_layer_net.right
def _(dy, x, w1, w2):
    h = np.maximum(0, x @ w1)
    dh = dy @ w2.T
    dh[h <= 0] = 0
    return dh @ w1.T, x.T @ dh, h.T @ dy


two_layer_net.wrong(IGNORED, "relu not masked", w1=lambda dy, x, w1, w2: x.T @ (dy @ w2.T))
two_layer_net.wrong(IGNORED, "hidden values without relu", w2=lambda dy, x, w1, w2: (x @ w1).T @ dy)
two_layer_net.wrong(FACTOR, "batch average in the first layer", w1=lambda dy, *a: two_layer_net.backward(dy, *a)[1] / 4)


@layer(a=normal(3), b=normal(3))
def outer(a, b):
    return np.outer(a, b)


outer.right(lambda dy, a, b: (dy @ b, dy.T @ a))
outer.wrong(EXCHANGED, "dy transposed", a=lambda dy, a, b: dy.T @ b)
outer.wrong(PASSED, "b forgotten", a=lambda dy, a, b: dy.sum(axis=1))
outer.wrong(EXCHANGED, "dy not transposed", b=lambda dy, a, b: dy @ a)


@layer(a=normal(4), b=normal(4))
def dot(a, b):
    return a @ b


dot.right(lambda dy, a, b: (dy * b, dy * a))
dot.wrong(ANOTHER, "its own value", a=lambda dy, a, b: dy * a)
dot.wrong(UPSTREAM, "upstream forgotten", b=lambda dy, a, b: a)


@layer(x=normal(3), a=normal(3, 3))
def quadratic_form(x, a):
    return x @ a @ x


quadratic_form.right(lambda dy, x, a: (dy * (a + a.T) @ x, dy * np.outer(x, x)))
quadratic_form.wrong("one use is counted twice", "as if a were symmetric", x=lambda dy, x, a: 2 * dy * a @ x)
quadratic_form.wrong(ONE_USE, "one use of x", x=lambda dy, x, a: dy * a @ x)


@layer(x=normal(3, 3))
def transpose(x):
    return x.T.copy()


transpose.right(lambda dy, x: dy.T)
transpose.wrong(EXCHANGED, "not transposed back", x=lambda dy, x: dy)


@layer(x=normal(3, 3, 3))
def permute(x):
    return x.transpose(2, 0, 1).copy()


permute.right(lambda dy, x: dy.transpose(1, 2, 0))
permute.wrong((TRANSPOSE, EXCHANGED), "the same permutation again", x=lambda dy, x: dy.transpose(2, 0, 1))
permute.wrong(EXCHANGED, "two axes only", x=lambda dy, x: dy.transpose(2, 1, 0))


@layer(x=normal(2, 3, 3))
def reshape_after_transpose(x):
    return x.transpose(0, 2, 1).reshape(2, 9)


reshape_after_transpose.right(lambda dy, x: dy.reshape(2, 3, 3).transpose(0, 2, 1))
reshape_after_transpose.wrong(EXCHANGED, "reshape alone", x=lambda dy, x: dy.reshape(2, 3, 3))


@layer(x=normal(4, 4), w=normal(4, 4))
def residual_block(x, w):
    return x + np.tanh(x @ w)


@residual_block.right
def _(dy, x, w):
    dh = dy * (1 - np.tanh(x @ w) ** 2)
    return dy + dh @ w.T, x.T @ dh


residual_block.wrong(SKIP, "skip forgotten", x=lambda dy, x, w: residual_block.backward(dy, x, w)[0] - dy)
residual_block.wrong(TWICE, "skip twice", x=lambda dy, x, w: residual_block.backward(dy, x, w)[0] + dy)
residual_block.wrong((OWN, TERM), "branch forgotten", x=lambda dy, x, w: dy)
residual_block.wrong(NO_NAME, "w not transposed", x=lambda dy, x, w: dy + (dy * (1 - np.tanh(x @ w) ** 2)) @ w)
