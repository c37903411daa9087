"""Right backwards of NumPy: the layers of the wrong ones, and operators over shapes, axes and dtypes."""

import itertools
import zlib

import numpy as np

from ..layer import LAYERS
from ..wrong import wrong_backwards

SHAPES = [(), (1,), (5,), (2, 3), (1, 4), (2, 1, 3), (2, 2, 2, 2)]

# name: function, derivative, lowest and highest input
ELEMENTWISE = {
    "negative": (np.negative, lambda x: -np.ones_like(x), -2, 2),
    "reciprocal": (lambda x: 1 / x, lambda x: -1 / x**2, 0.5, 2),
    "square": (np.square, lambda x: 2 * x, -2, 2),
    "fourth power": (lambda x: x**4, lambda x: 4 * x**3, -2, 2),
    "power of 2.5": (lambda x: x**2.5, lambda x: 2.5 * x**1.5, 0.5, 2),
    "power of 2": (np.exp2, lambda x: np.exp2(x) * np.log(2), -2, 2),
    "expm1": (np.expm1, np.exp, -2, 2),
    "log1p": (np.log1p, lambda x: 1 / (1 + x), -0.5, 2),
    "log2": (np.log2, lambda x: 1 / (x * np.log(2)), 0.5, 2),
    "cos": (np.cos, lambda x: -np.sin(x), -2, 2),
    "tan": (np.tan, lambda x: 1 / np.cos(x) ** 2, -1, 1),
    "arcsin": (np.arcsin, lambda x: 1 / np.sqrt(1 - x**2), -0.8, 0.8),
    "arctan": (np.arctan, lambda x: 1 / (1 + x**2), -2, 2),
    "sinh": (np.sinh, np.cosh, -2, 2),
    "arcsinh": (np.arcsinh, lambda x: 1 / np.sqrt(1 + x**2), -2, 2),
    "cbrt": (np.cbrt, lambda x: 1 / (3 * np.cbrt(x) ** 2), 0.5, 2),
    "sinc of x > 0": (lambda x: np.sin(x) / x, lambda x: np.cos(x) / x - np.sin(x) / x**2, 0.5, 2),
    "gaussian": (lambda x: np.exp(-x * x), lambda x: -2 * x * np.exp(-x * x), -2, 2),
}

BINARY = {
    "a + b": (lambda a, b: a + b, lambda a, b: (np.ones_like(a), np.ones_like(b))),
    "a - b": (lambda a, b: a - b, lambda a, b: (np.ones_like(a), -np.ones_like(b))),
    "a b": (lambda a, b: a * b, lambda a, b: (b, a)),
    "a / b": (lambda a, b: a / b, lambda a, b: (1 / b, -a / b**2)),
    "a ** b": (lambda a, b: a**b, lambda a, b: (b * a ** (b - 1), a**b * np.log(a))),
    "hypot": (np.hypot, lambda a, b: (a / np.hypot(a, b), b / np.hypot(a, b))),
    "arctan2": (np.arctan2, lambda a, b: (b / (a * a + b * b), -a / (a * a + b * b))),
    "logaddexp": (np.logaddexp, lambda a, b: (1 / (1 + np.exp(b - a)), 1 / (1 + np.exp(a - b)))),
    "maximum": (np.maximum, lambda a, b: (a > b, b > a)),
}
PAIRS = [((3,), (3,)), ((2, 3), (3,)), ((2, 3), (2, 1)), ((2, 1), (1, 3)), ((), (4,)), ((2, 2, 2), (2, 1, 2)), ((1,), (2, 2))]

REDUCTIONS = {
    "sum": (np.sum, lambda x, y, n: np.ones_like(x)),
    "mean": (np.mean, lambda x, y, n: np.ones_like(x) / n),
    "prod": (np.prod, lambda x, y, n: y / x),
    "max": (np.max, lambda x, y, n: x == y),
    "min": (np.min, lambda x, y, n: x == y),
}
AXES = [None, 0, 1, -1, (0, 1), (0, 2), (0, 1, 2)]

PRODUCTS = ["ij,jk->ik", "ij,kj->ik", "bij,bjk->bik", "bij,jk->bik", "i,i->", "i,j->ij", "ij,ij->i", "bhtd,bhsd->bhts"]


def draw(name, low, high, *shapes, dtype=np.float64):
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return [rng.uniform(low, high, s).astype(dtype) for s in shapes]


def sum_to(g, shape):
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    return g.sum(axis=tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True).reshape(shape)


def cases():
    wrong_backwards()  # registers the layers
    for layer, (seed, dtype) in itertools.product(LAYERS, [(0, "float64"), (1, "float64"), (2, "float64"), (0, "float32")]):
        name = f"numpy {layer.name}, draw {seed}, {dtype}"
        yield name, (layer.forward, layer.backward, *layer.inputs(seed, dtype)), {"cache": layer.cache}
    for (name, (f, d, low, high)), shape in itertools.product(ELEMENTWISE.items(), SHAPES):
        name = f"numpy {name} {shape}"
        yield name, (f, lambda dy, x, d=d: dy * d(x), *draw(name, low, high, shape)), {}
    for (name, (f, d)), shapes in itertools.product(BINARY.items(), PAIRS):
        name = f"numpy {name} {shapes}"

        def back(dy, a, b, d=d):
            return tuple(sum_to(dy * g, x.shape) for g, x in zip(d(a, b), (a, b)))

        yield name, (f, back, *draw(name, 0.5, 2, *shapes)), {}
    for (name, (f, d)), axis in itertools.product(REDUCTIONS.items(), AXES):
        name = f"numpy {name} along {axis}"

        def back(dy, x, f=f, d=d, axis=axis):
            y = f(x, axis=axis, keepdims=True)
            return np.reshape(dy, y.shape) * d(x, y, x.size / y.size)

        yield name, (lambda x, f=f, axis=axis: f(x, axis=axis), back, *draw(name, 0.5, 2, (2, 3, 2))), {}
    for sizes, spec in itertools.product([dict(zip("bhijktsd", (2, 2, 3, 2, 4, 2, 3, 2))), dict.fromkeys("bhijktsd", 2)], PRODUCTS):
        a, b, y = spec.replace("->", ",").split(",")
        name = f"numpy einsum {spec} {sizes['i']}"

        def back(dy, p, q, a=a, b=b, y=y, sizes=sizes):
            return np.einsum(f"{y},{b}->{a}", dy, q), np.einsum(f"{y},{a}->{b}", dy, p)

        shapes = [tuple(sizes[c] for c in s) for s in (a, b)]
        yield name, (lambda p, q, spec=spec: np.einsum(spec, p, q), back, *draw(name, -2, 2, *shapes)), {}
