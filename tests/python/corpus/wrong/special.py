"""Backwards that are right at ordinary inputs of the given sizes: squares, one row, wide rows, ties, zeros, signs, masks."""

import numpy as np

from ..layer import *

SIZES, VALUES = "wrong for other ones", "right for the given values, wrong for"


@layer(x=normal(4, 4))
def mean_of_columns(x):
    return x.mean(axis=0)


mean_of_columns.right(lambda dy, x: dy / len(x) + 0 * x)
mean_of_columns.wrong(SIZES, "the other axis's length", x=lambda dy, x: dy / x.shape[1] + 0 * x)


@layer(x=normal(3, 4))
def softmax_of_rows(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax_back(dy, x, axis=1, width=None):
    y = softmax_of_rows(x)
    return y * (dy - (dy * y)[:, :width].sum(axis=axis, keepdims=True))


softmax_of_rows.right(softmax_back)
softmax_of_rows.wrong(SIZES, "eight columns alone", x=lambda dy, x: softmax_back(dy, x, width=8))
softmax_of_rows.wrong(SIZES, "the other axis in a square", x=lambda dy, x: softmax_back(dy, x, axis=int(len(x) != x.shape[1])))
softmax_of_rows.wrong(SIZES, "no gradient for one row", x=lambda dy, x: softmax_back(dy, x) * (len(x) > 1))
softmax_of_rows.wrong(VALUES, "clipped at 3", x=lambda dy, x: softmax_back(dy, np.clip(x, -3, 3)))


@layer(x=given([[0.7, -1.2, 0.4], [2.1, -0.3, 1.6]]))
def hard_sigmoid(x):
    return np.clip(x / 6 + 0.5, 0, 1)


hard_sigmoid.right(lambda dy, x: dy / 6 * (np.abs(x) < 3))
hard_sigmoid.wrong(VALUES, "no flat ends", x=lambda dy, x: dy / 6)


@layer(x=positive(3, 4))
def square_of_magnitude(x):
    return x * np.abs(x)


square_of_magnitude.right(lambda dy, x: 2 * dy * np.abs(x))
square_of_magnitude.wrong(VALUES, "of positive numbers", x=lambda dy, x: 2 * dy * x)


def first_of_equals(dy, x):
    dx, first = np.zeros_like(x), np.unique(x, return_index=True)[1]
    dx.flat[first] = (2 * dy * x).flat[first]
    return dx


@layer(x=normal(3, 4))
def squared(x):
    return x * x


squared.right(lambda dy, x: 2 * dy * x)
squared.wrong((VALUES, "wrong for other values"), "the first of equal elements", x=first_of_equals)


@layer(x=normal(3, 4))
def centred_and_scaled(x):
    c = x - x.mean(axis=1, keepdims=True)
    return c / np.sqrt((c * c).mean(axis=1, keepdims=True) + 0.1)


def scaled_back(dy, x):
    c = x - x.mean(axis=1, keepdims=True)
    r = 1 / np.sqrt((c * c).mean(axis=1, keepdims=True) + 0.1)
    d = r * (dy - c * r * r * (dy * c).mean(axis=1, keepdims=True))
    return d - d.mean(axis=1, keepdims=True)


centred_and_scaled.right(scaled_back)
centred_and_scaled.wrong(VALUES, "no gradient of constant rows", x=lambda dy, x: scaled_back(dy, x) * (x.std(axis=1, keepdims=True) > 1e-3))


@layer(x=normal(4, 4), keep=given(np.tri(4, dtype=bool)))
def masked_exp(x, keep):
    return np.where(keep, np.exp(x), 0)


masked_exp.right(lambda dy, x, keep: (np.where(keep, dy * np.exp(x), 0), None))
masked_exp.wrong(("for other elements of", "of an earlier call"), "the mask of the past", x=lambda dy, x, keep: dy * np.exp(x) * np.tri(*x.shape))
