"""Activation functions."""

import numpy as np

from ..layer import *


def sigma(x):
    return 1 / (1 + np.exp(-x))


@layer(x=normal(3, 4))
def sigmoid(x):
    return sigma(x)


sigmoid.right(lambda dy, x: dy * sigma(x) * (1 - sigma(x)))
sigmoid.wrong(MISSING, "1 - y forgotten", x=lambda dy, x: dy * sigma(x))
sigmoid.wrong(MISSING, "y forgotten", x=lambda dy, x: dy * (1 - sigma(x)))
sigmoid.wrong(READS_X, "x (1 - x)", x=lambda dy, x: dy * x * (1 - x))
sigmoid.wrong(SIGN, "y - 1", x=lambda dy, x: dy * sigma(x) * (sigma(x) - 1))
sigmoid.wrong(UPSTREAM, "upstream forgotten", x=lambda dy, x: sigma(x) * (1 - sigma(x)))
sigmoid.wrong(AT_Y, "sigmoid of the output", x=lambda dy, x: dy * sigma(sigma(x)) * (1 - sigma(sigma(x))))


@layer(x=normal(3, 4))
def tanh(x):
    return np.tanh(x)


tanh.right(lambda dy, x: dy * (1 - np.tanh(x) ** 2))
tanh.wrong(IS, "y not squared", x=lambda dy, x: dy * (1 - np.tanh(x)))
tanh.wrong(READS_X, "1 - x²", x=lambda dy, x: dy * (1 - x**2))
tanh.wrong(SIGN, "y² - 1", x=lambda dy, x: dy * (np.tanh(x) ** 2 - 1))
tanh.wrong(PASSED, "without its factor", x=lambda dy, x: dy)
tanh.wrong(DY_SIGN, "precedence: (1 - y²) of dy", x=lambda dy, x: 1 - (dy * np.tanh(x)) ** 2)


@layer(x=normal(4, 5))
def relu(x):
    return np.maximum(0, x)


relu.right(lambda dy, x: dy * (x > 0))
relu.wrong(IGNORED, "no mask", x=lambda dy, x: dy)
relu.wrong(ROUND, "mask negated", x=lambda dy, x: dy * (x < 0))
relu.wrong(TOO_MANY, "times the output", x=lambda dy, x: dy * np.maximum(0, x))
relu.wrong(NOT_LINEAR, "relu of dy", x=lambda dy, x: np.maximum(0, dy))
relu.wrong(UPSTREAM, "the step alone", x=lambda dy, x: (x > 0).astype(float))


@relu.wrong(NOT_LINEAR)
def masked_by_dout(dy, x):
    dx = dy.copy()
    dx[dy <= 0] = 0
    return dx


@layer(x=normal(4, 5))
def leaky_relu(x):
    return np.where(x > 0, x, 0.01 * x)


leaky_relu.right(lambda dy, x: dy * np.where(x > 0, 1, 0.01))
leaky_relu.wrong(LOST, "the leak lost", x=lambda dy, x: dy * (x > 0))
leaky_relu.wrong(PASSED, "no mask", x=lambda dy, x: dy)
leaky_relu.wrong(NO_NAME, "slopes exchanged", x=lambda dy, x: dy * np.where(x > 0, 0.01, 1))


@layer(x=normal(3, 4))
def elu(x):
    return np.where(x > 0, x, np.exp(x) - 1)


elu.right(lambda dy, x: dy * np.where(x > 0, 1, np.exp(x)))
elu.wrong(NO_NAME, "y for y + 1", x=lambda dy, x: dy * np.where(x > 0, 1, np.exp(x) - 1))
elu.wrong(LOST, "as relu", x=lambda dy, x: dy * (x > 0))


@layer(x=normal(3, 4))
def softplus(x):
    return np.log1p(np.exp(x))


softplus.right(lambda dy, x: dy * sigma(x))
softplus.wrong(IS, "sigmoid of -x", x=lambda dy, x: dy * sigma(-x))
softplus.wrong(IS, "1/(1 + e^x)", x=lambda dy, x: dy / (1 + np.exp(x)))


@layer(x=normal(3, 4))
def swish(x):
    return x * sigma(x)


swish.right(lambda dy, x: dy * (sigma(x) + x * sigma(x) * (1 - sigma(x))))
swish.wrong(IS, "the product rule's first term alone", x=lambda dy, x: dy * sigma(x))
swish.wrong(TERM_MISSING, "the product rule's second term alone", x=lambda dy, x: dy * x * sigma(x) * (1 - sigma(x)))

C = np.sqrt(2 / np.pi)


@layer(x=normal(3, 4))
def gelu(x):
    """The approximation by tanh, as in GPT-2."""
    return 0.5 * x * (1 + np.tanh(C * (x + 0.044715 * x**3)))


def gelu_backward(dy, x, factor=3, c=C, first=1):
    t = np.tanh(C * (x + 0.044715 * x**3))
    return dy * (first * 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * c * (1 + factor * 0.044715 * x**2))


gelu.right(gelu_backward)
gelu.wrong(NO_NAME, "3 of x³ forgotten", x=lambda dy, x: gelu_backward(dy, x, factor=1))
gelu.wrong(NO_NAME, "√(2/π) forgotten", x=lambda dy, x: gelu_backward(dy, x, c=1))
gelu.wrong(TERM_MISSING, "the first term forgotten", x=lambda dy, x: gelu_backward(dy, x, first=0))
gelu.wrong(FACTOR, "0.5 forgotten", x=lambda dy, x: 2 * gelu_backward(dy, x))


@layer(x=normal(4, 4))
def hardtanh(x):
    return np.clip(x, -1, 1)


hardtanh.right(lambda dy, x: dy * (np.abs(x) < 1))
hardtanh.wrong(IGNORED, "straight through", x=lambda dy, x: dy)
hardtanh.wrong(IGNORED, "one bound forgotten", x=lambda dy, x: dy * (x < 1))
hardtanh.wrong(ROUND, "the outside", x=lambda dy, x: dy * (np.abs(x) > 1))
hardtanh.wrong(CLIPPED, "dy clipped", x=lambda dy, x: np.clip(dy, -1, 1) * (np.abs(x) < 1))


@layer(a=normal(3, 4), b=normal(3, 4))
def gated_linear_unit(a, b):
    return a * sigma(b)


gated_linear_unit.right(lambda dy, a, b: (dy * sigma(b), dy * a * sigma(b) * (1 - sigma(b))))
gated_linear_unit.wrong(MISSING, "a forgotten", b=lambda dy, a, b: dy * sigma(b) * (1 - sigma(b)))
gated_linear_unit.wrong(IS, "the gate's derivative forgotten", b=lambda dy, a, b: dy * a)
gated_linear_unit.wrong(PASSED, "the gate forgotten", a=lambda dy, a, b: dy)
