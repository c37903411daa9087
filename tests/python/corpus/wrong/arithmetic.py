"""Arithmetic of single elements, as in the first week of minitorch and micrograd."""

import numpy as np

from ..layer import *


@layer(x=positive(2, 3))
def log(x):
    return np.log(x)


log.right(lambda dy, x: dy / x)
log.wrong(TOO_MANY, "multiplied by x", x=lambda dy, x: dy * x)
log.wrong(MISSING, "divided by x²", x=lambda dy, x: dy / x**2)
log.wrong(FACTOR, "of base 10", x=lambda dy, x: dy / (x * np.log(10)))
log.wrong(UPSTREAM, "upstream forgotten", x=lambda dy, x: 1 / x)
log.wrong(IS, "divided by y", x=lambda dy, x: dy / np.log(x))


@layer(x=normal(2, 3))
def exp(x):
    return np.exp(x)


exp.right(lambda dy, x: dy * np.exp(x))
exp.wrong(PASSED, "without its factor", x=lambda dy, x: dy)
exp.wrong(TOO_MANY, "the power rule", x=lambda dy, x: dy * x * np.exp(x))
exp.wrong(TOO_MANY, "exp of y's upstream twice", x=lambda dy, x: dy * np.exp(x) * np.exp(x))


@layer(x=positive(2, 3))
def sqrt(x):
    return np.sqrt(x)


sqrt.right(lambda dy, x: dy / (2 * np.sqrt(x)))
sqrt.wrong(FACTOR, "1/2 forgotten", x=lambda dy, x: dy / np.sqrt(x))
sqrt.wrong(MISSING, "x for its root", x=lambda dy, x: dy / (2 * x))
sqrt.wrong(TOO_MANY, "precedence of / and *", x=lambda dy, x: dy / 2 * np.sqrt(x))


@layer(x=normal(2, 3))
def sin(x):
    return np.sin(x)


sin.right(lambda dy, x: dy * np.cos(x))
sin.wrong(SIGN, "sign", x=lambda dy, x: -dy * np.cos(x))
sin.wrong(IS, "the function itself", x=lambda dy, x: dy * np.sin(x))


@layer(x=normal(2, 3))
def cube(x):
    return x**3


cube.right(lambda dy, x: 3 * dy * x**2)
cube.wrong(FACTOR, "3 forgotten", x=lambda dy, x: dy * x**2)
cube.wrong(TOO_MANY, "exponent not lowered", x=lambda dy, x: 3 * dy * x**3)
cube.wrong(MISSING, "exponent lowered twice", x=lambda dy, x: 3 * dy * x)
cube.wrong(SQUARED, "dy inside the power", x=lambda dy, x: 3 * (dy * x) ** 2)


@layer(x=normal(4))
def square_of_a_node_used_twice(x):
    return x * x


square_of_a_node_used_twice.right(lambda dy, x: 2 * x * dy)


@square_of_a_node_used_twice.wrong(FACTOR)
def grad_assigned_instead_of_added(dy, x):
    grad = x * dy  # self.grad  = other.data * out.grad
    grad = x * dy  # other.grad = self.data * out.grad
    return grad


@layer(a=normal(4), b=normal(4))
def micrograd_expression(a, b):
    """c = a b; d = c + b; y = tanh(d): b is used twice."""
    return np.tanh(a * b + b)


@micrograd_expression.right
def _(dy, a, b):
    dd = dy * (1 - np.tanh(a * b + b) ** 2)
    return dd * b, dd * a + dd


@micrograd_expression.wrong(TERM_MISSING)
def the_last_use_overwrites(dy, a, b):
    dd = dy * (1 - np.tanh(a * b + b) ** 2)
    db = dd
    db = dd * a
    return dd * b, db


@micrograd_expression.wrong(IS)
def backward_in_the_wrong_order(dy, a, b):
    dc = np.zeros_like(a)  # c's _backward ran before d's
    da, db = dc * b, dc * a
    dd = dy * (1 - np.tanh(a * b + b) ** 2)
    return dd * b, db + dd


@layer(a=normal(2, 3), b=normal(2, 3))
def multiply(a, b):
    return a * b


multiply.right(lambda dy, a, b: (dy * b, dy * a))
multiply.wrong(ANOTHER, "a and b exchanged", a=lambda dy, a, b: dy * a, b=lambda dy, a, b: dy * b)
multiply.wrong(ANOTHER, "its own value", a=lambda dy, a, b: dy * a)
multiply.wrong(TOO_MANY, "both factors", b=lambda dy, a, b: dy * a * b)
multiply.wrong(PASSED, "as if it were a sum", a=lambda dy, a, b: dy, b=lambda dy, a, b: dy)
multiply.wrong(NONE, "b has no gradient", b=lambda dy, a, b: np.zeros_like(b))


@layer(a=normal(2, 3), b=normal(2, 3))
def subtract(a, b):
    return a - b


subtract.right(lambda dy, a, b: (dy, -dy))
subtract.wrong(SIGN, "sign of b", b=lambda dy, a, b: dy)
subtract.wrong(UPSTREAM, "ones", a=lambda dy, a, b: np.ones_like(a))


@layer(a=normal(2, 3), b=positive(2, 3))
def divide(a, b):
    return a / b


divide.right(lambda dy, a, b: (dy / b, -dy * a / b**2))
divide.wrong(SIGN, "sign of b", b=lambda dy, a, b: dy * a / b**2)
divide.wrong(MISSING, "a forgotten", b=lambda dy, a, b: -dy / b**2)
divide.wrong(TOO_MANY, "b not squared", b=lambda dy, a, b: -dy * a / b)
divide.wrong(ANOTHER, "the same for both", b=lambda dy, a, b: dy / b)
divide.wrong(TOO_MANY, "multiplied by b", a=lambda dy, a, b: dy * b)


@layer(a=normal(3, 4), b=normal(3, 4))
def maximum(a, b):
    return np.maximum(a, b)


maximum.right(lambda dy, a, b: (dy * (a > b), dy * (b > a)))
maximum.wrong(IGNORED, "to both", a=lambda dy, a, b: dy, b=lambda dy, a, b: dy)
maximum.wrong((ANOTHER, ROUND), "to the smaller", a=lambda dy, a, b: dy * (a < b), b=lambda dy, a, b: dy * (b < a))
maximum.wrong(IGNORED, "a tie's half everywhere", a=lambda dy, a, b: dy * np.where(a > b, 1, 0.5))


@layer(x=normal(3, 4))
def absolute(x):
    return np.abs(x)


absolute.right(lambda dy, x: dy * np.sign(x))
absolute.wrong(PASSED, "without its factor", x=lambda dy, x: dy)
absolute.wrong(LOST, "the negative side lost", x=lambda dy, x: dy * (x > 0))
absolute.wrong(DY_SIGN, "absolute value of dy", x=lambda dy, x: np.abs(dy) * np.sign(x))
