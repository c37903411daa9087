"""Layers that keep something between calls, write where they should not, or return something of another form."""

import numpy as np

from ..layer import *


@layer(x=normal(4, 5))
def relu_of_cs231n(x):
    return np.maximum(0, x)


relu_of_cs231n.right(lambda dout, x: dout * (x > 0))


@relu_of_cs231n.wrong(IN_PLACE)
def dout_masked_in_place(dout, x):
    dout[x <= 0] = 0
    return dout


@relu_of_cs231n.wrong(SHAPE)
def flattened(dout, x):
    return (dout * (x > 0)).ravel()


@relu_of_cs231n.wrong("None")
def nothing_returned(dout, x):
    dx = dout * (x > 0)


@layer(x=positive(3, 4))
def log_in_place(x):
    return np.log(x)


log_in_place.right(lambda dy, x: dy / x)


@log_in_place.wrong(IN_PLACE)
def x_inverted_in_place(dy, x):
    np.divide(1, x, out=x)
    return dy * x


class Linear:
    """A layer as an object, with a gradient that it keeps."""

    def __init__(self):
        self.dw = np.zeros((4, 2))

    def forward(self, x, w):
        self.x, self.w = x, w
        return x @ w

    def accumulate(self, dy, x, w):
        self.dw += x.T @ dy  # zero_grad() is never called
        return dy @ w.T, self.dw

    def of_the_last_forward(self, dy, x, w):
        return dy @ w.T, self.x.T @ dy


@layer(x=normal(3, 4), w=normal(4, 2))
def linear_of_objects(x, w):
    return x @ w


linear_of_objects.right(lambda dy, x, w: (dy @ w.T, x.T @ dy))
linear_of_objects.wrong(ACCUMULATES, "added to the gradient of the last step")(Linear().accumulate)
linear_of_objects.wrong(ORDER, "weights first")(lambda dy, x, w: (x.T @ dy, dy @ w.T))
linear_of_objects.wrong("transposed", "dw transposed")(lambda dy, x, w: (dy @ w.T, dy.T @ x))
linear_of_objects.wrong(("2 inputs", "1 gradient", "a gradient for each"), "dw not returned")(lambda dy, x, w: (dy @ w.T,))
linear_of_objects.wrong("int64", "summed in an array of integers")(
    lambda dy, x, w: (dy @ w.T, np.array(x.T @ dy, dtype=np.int64))
)

KEPT = Linear()


@layer(x=normal(3, 4), w=normal(4, 2))
def linear_that_keeps_x(x, w):
    return KEPT.forward(x, w)


linear_that_keeps_x.right(lambda dy, x, w: (dy @ w.T, x.T @ dy))
linear_that_keeps_x.wrong(STALE, "x of the last forward")(KEPT.of_the_last_forward)

DRAW = np.random.default_rng(5)
MASK = DRAW.random((4, 5)) < 0.5


@layer(x=normal(4, 5))
def dropout_of_a_drawn_mask(x):
    return x * MASK / 0.5


dropout_of_a_drawn_mask.right(lambda dy, x: dy * MASK / 0.5)
dropout_of_a_drawn_mask.wrong(RANDOM, "another mask in backward")(lambda dy, x: dy * (DRAW.random(dy.shape) < 0.5) / 0.5)


@layer(x=normal(4, 3), b=normal(1, 3))
def bias_of_a_row(x, b):
    return x + b


bias_of_a_row.right(lambda dy, x, b: (dy, dy.sum(axis=0, keepdims=True)))
bias_of_a_row.wrong(SHAPE, "its axis dropped", b=lambda dy, x, b: dy.sum(axis=0))
bias_of_a_row.wrong(BROADCAST, "not summed", b=lambda dy, x, b: dy)
bias_of_a_row.wrong("has shape ()", "a single number")(lambda dy, x, b: (dy, dy.sum()))
