"""Functions that compute partly in few digits, or cancel: each with its right backward, one that lacks what is rounded or
an element, and one that has its negative or an element that is too large. No wrong one may pass, and no right one may
fail."""

from dataclasses import dataclass

import numpy as np


def float32(x):
    return x.astype("f4").astype("f8")


def float16(x):
    return x.astype("f2").astype("f8")


def bfloat16(x):
    """To the nearest, ties to even: the upper half of a float32."""
    bits = np.asarray(x, "f4").view("u4")
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype("u4").view("f4").astype("f8")


ROUNDINGS = [float32, float16, bfloat16]

# name: function, derivative, lowest and highest input
FUNCTIONS = {
    "tanh": (np.tanh, lambda x: 1 - np.tanh(x) ** 2, -2, 2),
    "exp": (np.exp, np.exp, -2, 2),
    "sin": (np.sin, np.cos, -2, 2),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), lambda x: 1 / (2 + np.exp(x) + np.exp(-x)), -2, 2),
    "square": (np.square, lambda x: 2 * x, -2, 2),
    "log": (np.log, lambda x: 1 / x, 0.3, 2),
    "of 100": (lambda x: np.tanh(x / 100), lambda x: (1 - np.tanh(x / 100) ** 2) / 100, 50, 150),
    "identity": (lambda x: x, np.ones_like, -2, 2),
}



def over(dx, norm, h):
    """dx / norm without its part along h = x / norm: the gradient of x / norm, where norm is the root mean square of x."""
    return (dx - h * (dx * h).mean(-1, keepdims=True)) / norm


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def softmax_backward(dy, x):
    y = softmax(x)
    return y * (dy - (dy * y).sum(-1, keepdims=True))


def rms(x):
    return np.sqrt((x * x).mean(-1, keepdims=True) + x.dtype.type(1e-6))


def layer_norm(x):
    centred = x - x.mean(-1, keepdims=True)
    return centred / rms(centred)


def layer_norm_back(dy, x):
    centred = x - x.mean(-1, keepdims=True)
    return over(dy - dy.mean(-1, keepdims=True), rms(centred), layer_norm(x))


def logsumexp(x):
    return np.log(np.exp(x).sum(-1, keepdims=True))


def silu_back(dy, x):
    s = 1 / (1 + np.exp(-x))
    return dy * s * (1 + x * (1 - s))


# name: function of rows, which computes in the dtype of x, and its backward
ROWS = {
    "softmax": (softmax, softmax_backward),
    "layer norm": (layer_norm, layer_norm_back),
    "rms norm": (lambda x: x / rms(x), lambda dy, x: over(dy, rms(x), x / rms(x))),
    "logsumexp": (logsumexp, lambda dy, x: dy * softmax(x)),
    "log softmax": (lambda x: x - logsumexp(x), lambda dy, x: dy - softmax(x) * dy.sum(-1, keepdims=True)),
    "variance": (lambda x: (x * x).mean(-1) - x.mean(-1) ** 2,
                 lambda dy, x: dy[:, None] * 2 / x.shape[1] * (x - x.mean(-1, keepdims=True))),
    "length": (lambda x: np.sqrt((x * x).sum(-1)), lambda dy, x: dy[:, None] * x / np.sqrt((x * x).sum(-1, keepdims=True))),
    "silu": (lambda x: x / (1 + np.exp(-x)), silu_back),
    "x xᵀ": (lambda x: x @ x.T, lambda dy, x: (dy + dy.T) @ x),
    "cumulative sum": (lambda x: np.cumsum(x, -1), lambda dy, x: np.cumsum(dy[:, ::-1], -1)[:, ::-1]),
}
PARTS = {
    "computed in float32": lambda f: lambda x: f(x.astype("f4")).astype("f8"),
    "rounded to float32": lambda f: lambda x: float32(f(x)),
    "of x in bfloat16": lambda f: lambda x: f(bfloat16(x).astype("f4")).astype("f8"),
    "rounded to bfloat16": lambda f: lambda x: bfloat16(f(x)),
    "+ 1e6 - 1e6": lambda f: lambda x: (f(x) + 1e6) - 1e6,
}


def with_element(backward, k, factor):
    """backward, with the gradient of element k times `factor`."""
    def of(dy, x):
        return backward(dy, x) * np.where(np.arange(x.size).reshape(x.shape) == k, factor, 1)
    return of


@dataclass
class Rounded:
    kind: str
    name: str
    f: object
    inputs: list
    right: object
    missing: object  # without the gradient of what is rounded, or of one element
    wrong: object  # with its negative, or one element of it too large


def functions():
    for r in ROUNDINGS:
        for name, (g, d, low, high) in FUNCTIONS.items():
            rng = np.random.default_rng(len(name))
            x, w = rng.uniform(low, high, (2, 3)), rng.uniform(0.5, 2, (2, 3))
            kind, name = r.__name__, f"{name} of x in {r.__name__}"
            yield Rounded(kind, f"w {name}", lambda w, x, g=g, r=r: w * g(r(x)), [w, x],
                          *(lambda dy, w, x, g=g, d=d, r=r, c=c: (dy * g(r(x)), c * dy * w * d(r(x))) for c in (1, 0, -1)))
            yield Rounded(kind, f"3 x + {name}", lambda x, g=g, r=r: 3 * x + g(r(x)), [x],
                          *(lambda dy, x, d=d, r=r, c=c: dy * (3 + c * d(r(x))) for c in (1, 0, -1)))
            yield Rounded(kind, f"sum of w {name}", lambda w, x, g=g, r=r: (w * g(r(x))).sum(-1), [w, x],
                          *(lambda dy, w, x, g=g, d=d, r=r, c=c: (dy[:, None] * g(r(x)), c * dy[:, None] * w * d(r(x)))
                            for c in (1, 0, -1)))
            yield Rounded(kind, f"w + the result, rounded, {name}", lambda w, x, g=g, r=r: w + r(g(x)), [w, x],
                          *(lambda dy, w, x, d=d, c=c: (dy, c * dy * d(x)) for c in (1, 0, -1)))
    ones = np.array([0.3, -0.7, 1.1])
    small = ones * 1e-9
    cancelling = {
        "log1p(expm1 x)": (lambda x: np.log1p(np.expm1(x)), np.ones_like, np.array([0.5, -30])),
        "expm1(log1p x)": (lambda x: np.expm1(np.log1p(x)), np.ones_like, np.array([1e9, 0.5])),
        "sqrt(x² + c²) - c": (lambda x: np.sqrt(x * x + 1e8) - 1e4, lambda x: x / np.sqrt(x * x + 1e8), ones * 100),
        "(1 - cos x) / x² · 1e-9": (lambda x: (1 - np.cos(x)) * 1e9, lambda x: 1e9 * np.sin(x), ones * 1e-4),
        "(exp x - 1) - x": (lambda x: (np.exp(x) - 1) * 1e6, lambda x: 1e6 * np.exp(x), small),
        "log(exp x + exp 25)": (lambda x: np.log(np.exp(x) + np.exp(25)) * 1e11,
                                lambda x: 1e11 / (1 + np.exp(25 - x)), ones),
        "E x² - (E x)²": (lambda x: ((x + 1e5) ** 2).mean() - (x + 1e5).mean() ** 2, lambda x: 2 / 3 * (x - x.mean()), ones),
        "a - b of two large sums": (lambda x: (1e7 * x + np.sin(x)) - 1e7 * x, np.cos, ones),
    }
    for c in (1e5, 1e7, 1e9, 1e11, 1e12, 1e13, 1e14):
        cancelling[f"(x + c) - c, c = {c:g}"] = lambda x, c=c: (x + c) - c, np.ones_like, ones
        cancelling[f"tanh((x + c) - c), c = {c:g}"] = (lambda x, c=c: np.tanh((x + c) - c),
                                                      lambda x: 1 - np.tanh(x) ** 2, ones)
    for name, (f, d, x) in cancelling.items():
        yield Rounded("cancels", name, f, [x], *(lambda dy, x, d=d, c=c: c * dy * d(x) for c in (1, 0, -1)))
    for part, of in PARTS.items():
        for name, (f, back) in ROWS.items():
            for draw in (4, 6, 8):
                x = np.random.default_rng(1000 + draw).normal(size=(2, 3)) * [1, 0.1][draw % 3 % 2]
                yield Rounded("rows", f"{name} {part}, draw {draw}", of(f), [x], back,
                              *(with_element(back, draw % 6, factor) for factor in (0, 1.3)))
