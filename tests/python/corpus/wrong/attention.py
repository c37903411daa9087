"""Attention and what is around it."""

import numpy as np

from ..layer import *


def softmax_of(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def softmax_back(da, a):
    return a * (da - (da * a).sum(axis=-1, keepdims=True))


T, D = 3, 4


@layer(q=normal(T, D), k=normal(T, D))
def scores(q, k):
    return q @ k.T / np.sqrt(D)


scores.right(lambda dy, q, k: (dy @ k / np.sqrt(D), dy.T @ q / np.sqrt(D)))
scores.wrong(FACTOR, "√d forgotten", q=lambda dy, q, k: dy @ k)
scores.wrong(FACTOR, "d for √d", k=lambda dy, q, k: dy.T @ q / D)
scores.wrong(EXCHANGED, "dS not transposed", k=lambda dy, q, k: dy @ q / np.sqrt(D))
scores.wrong(BATCH, "q for k", q=lambda dy, q, k: dy @ q / np.sqrt(D))
scores.wrong(ANOTHER, "k's gradient for q", q=lambda dy, q, k: dy.T @ q / np.sqrt(D))


@layer(q=normal(T, D), k=normal(T, D), v=normal(T, D))
def attention(q, k, v):
    return softmax_of(q @ k.T / np.sqrt(D)) @ v


def attention_back(dy, q, k, v, back=softmax_back, scale=np.sqrt(D)):
    a = softmax_of(q @ k.T / np.sqrt(D))
    ds = back(dy @ v.T, a)
    return ds @ k / scale, ds.T @ q / scale, a.T @ dy


attention.right(attention_back)
attention.wrong(FACTOR, "√d forgotten in both", q=lambda dy, *x: attention_back(dy, *x, scale=1)[0], k=lambda dy, *x: attention_back(dy, *x, scale=1)[1])
attention.wrong(TRANSPOSE, "weights not transposed", v=lambda dy, q, k, v: softmax_of(q @ k.T / 2) @ dy)
attention.wrong(NO_NAME, "softmax passed over", q=lambda dy, *x: attention_back(dy, *x, back=lambda da, a: da)[0])
attention.wrong(TERM, "softmax's sum forgotten", q=lambda dy, *x: attention_back(dy, *x, back=lambda da, a: da * a)[0])
attention.wrong(NO_NAME, "softmax's diagonal", k=lambda dy, *x: attention_back(dy, *x, back=lambda da, a: da * a * (1 - a))[1])
attention.wrong(NONE, "key detached", k=lambda dy, q, k, v: np.zeros_like(k))
attention.wrong(UPSTREAM, "value from ones", v=lambda dy, q, k, v: softmax_of(q @ k.T / 2).T @ np.ones_like(dy))
attention.wrong(ANOTHER, "key and value exchanged", k=lambda dy, *x: attention_back(dy, *x)[2], v=lambda dy, *x: attention_back(dy, *x)[1])


@layer(x=normal(T, 4), wq=normal(4, 2), wk=normal(4, 2), wv=normal(4, 4))
def self_attention(x, wq, wk, wv):
    return softmax_of(x @ wq @ (x @ wk).T / np.sqrt(2)) @ (x @ wv)


def self_attention_back(dy, x, wq, wk, wv):
    q, k, v = x @ wq, x @ wk, x @ wv
    a = softmax_of(q @ k.T / np.sqrt(2))
    ds = softmax_back(dy @ v.T, a) / np.sqrt(2)
    dq, dk, dv = ds @ k, ds.T @ q, a.T @ dy
    return (dq @ wq.T, dk @ wk.T, dv @ wv.T), x.T @ dq, x.T @ dk, x.T @ dv


self_attention.right(lambda dy, *x: (sum(self_attention_back(dy, *x)[0]), *self_attention_back(dy, *x)[1:]))
self_attention.wrong(NO_NAME, "x through the value alone", x=lambda dy, *x: self_attention_back(dy, *x)[0][2])
self_attention.wrong(NO_NAME, "x not through the query", x=lambda dy, *x: sum(self_attention_back(dy, *x)[0][1:]))
self_attention.wrong(ANOTHER, "query's weights as the key's", wq=lambda dy, *x: self_attention_back(dy, *x)[2])
self_attention.wrong(FACTOR, "three paths averaged", wv=lambda dy, *x: self_attention_back(dy, *x)[3] / 3)

CAUSAL = np.tril(np.ones((4, 4), bool))


@layer(s=normal(4, 4))
def causal_softmax(s):
    return softmax_of(np.where(CAUSAL, s, -np.inf))


causal_softmax.right(lambda dy, s: softmax_back(dy, causal_softmax(s)))
causal_softmax.wrong(NO_NAME, "softmax of all", s=lambda dy, s: softmax_back(dy, softmax_of(s)))
causal_softmax.wrong(TERM, "no sum over the row", s=lambda dy, s: causal_softmax(s) * dy)
causal_softmax.wrong(NO_NAME, "mask transposed", s=lambda dy, s: softmax_back(dy, softmax_of(np.where(CAUSAL.T, s, -np.inf))))


@layer(s=normal(4, 4))
def masked_fill(s):
    return np.where(CAUSAL, s, -1e4)


masked_fill.right(lambda dy, s: np.where(CAUSAL, dy, 0))
masked_fill.wrong(IGNORED, "no mask", s=lambda dy, s: dy)
masked_fill.wrong(ROUND, "the hidden ones", s=lambda dy, s: np.where(CAUSAL, 0, dy))
masked_fill.wrong(ADDED, "the fill in the gradient", s=lambda dy, s: np.where(CAUSAL, dy, -1e4))
masked_fill.wrong(LOST, "the diagonal hidden too", s=lambda dy, s: np.tril(dy, -1))


@layer(x=normal(2, 3, 4))
def split_heads(x):
    """(B, T, D) → (B, H, T, D/H)"""
    return x.reshape(2, 3, 2, 2).transpose(0, 2, 1, 3)


split_heads.right(lambda dy, x: dy.transpose(0, 2, 1, 3).reshape(2, 3, 4))
split_heads.wrong(PLACES, "reshape alone", x=lambda dy, x: dy.reshape(2, 3, 4))
split_heads.wrong(EXCHANGED, "features before heads", x=lambda dy, x: dy.transpose(0, 2, 3, 1).reshape(2, 3, 4))

ANGLES = np.arange(3)[:, None] * np.array([1.0, 0.1])


@layer(x=normal(3, 4))
def rotary(x):
    a, b = x[:, :2], x[:, 2:]
    return np.concatenate([a * np.cos(ANGLES) - b * np.sin(ANGLES), b * np.cos(ANGLES) + a * np.sin(ANGLES)], axis=1)


def rotate(dy, sign=1, sine=1):
    a, b = dy[:, :2], dy[:, 2:]
    c, s = np.cos(ANGLES), sign * sine * np.sin(ANGLES)
    return np.concatenate([a * c + b * s, b * c - a * s], axis=1)


rotary.right(lambda dy, x: rotate(dy))
rotary.wrong(TRANSPOSE, "rotated on instead of back", x=lambda dy, x: rotate(dy, -1))
rotary.wrong((LOST, OWN), "cosines alone", x=lambda dy, x: rotate(dy, sine=0))
rotary.wrong((OWN, PASSED), "not rotated", x=lambda dy, x: dy)


@layer(x=normal(2, 3, 4), p=normal(3, 4))
def positional_embedding(x, p):
    return x * np.sqrt(4) + p


positional_embedding.right(lambda dy, x, p: (dy * np.sqrt(4), dy.sum(axis=0)))
positional_embedding.wrong((FACTOR, PASSED), "√d forgotten", x=lambda dy, x, p: dy)
positional_embedding.wrong(FACTOR, "mean over the batch", p=lambda dy, x, p: dy.mean(axis=0))
positional_embedding.wrong(LOST, "the first example", p=lambda dy, x, p: dy[0])
positional_embedding.wrong(BROADCAST, "not summed over the batch", p=lambda dy, x, p: dy)


@layer(q=normal(T, D), k=normal(T, D), b=normal(D))
def scores_with_a_key_bias(q, k, b):
    """Softmax does not change with q bᵀ, the same for each key: the gradient of b is 0, but for rounding."""
    return softmax_of(q @ (k + b).T / np.sqrt(D))


def key_bias_back(dy, q, k, b):
    ds = softmax_back(dy, scores_with_a_key_bias(q, k, b)) / np.sqrt(D)
    return ds @ (k + b), ds.T @ q, (ds.T @ q).sum(axis=0)


scores_with_a_key_bias.right(key_bias_back)
scores_with_a_key_bias.wrong(IGNORED, "bias from the first key", b=lambda dy, *x: key_bias_back(dy, *x)[1][0])
