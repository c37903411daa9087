"""A layer in NumPy with its right backward, and the wrong ones that students write for it.

    @layer(x=normal(4, 5))
    def softmax(x):
        ...
    @softmax.right
    def _(dy, x):
        ...
    @softmax.wrong(OWN)
    def the_diagonal_alone(dy, x):
        ...

A backward of several inputs returns a gradient for each. softmax.wrong(SIGN, "sign", x=lambda dy, x: ...) is the right
backward but for the gradient of x.
"""

import zlib
from dataclasses import dataclass, field

import numpy as np

# Names that a report gives to mistakes. Each is a part of a text in autograd/gradcheck/mistakes or tools/foreign.
SIGN = "the sign"
FACTOR = "a constant factor"
ANOTHER = "the gradient of another input"
EXCHANGED = "exchanged"
OFF = "off by one along axis"
PASSED = "dy passed on"
SKIP = "a residual path lost"
TWICE = "dy added once too often"
ROUND = "the wrong way round"
OWN = "own element alone"
OTHER_AXIS = "instead of axis"
IGNORED = "a mask ignored"
LOST = "contributions lost"
MISSING = "missing"  # "the factor x missing"
TOO_MANY = "too many"  # "the factor x too many"
TERM = "a term along axis"
OUT_FACTOR = "belongs to the output's element"
IN_FACTOR = "belongs to the input's element"
TRANSPOSE = "a missing transpose"
TRANSPOSED = "the gradient is transposed"
NONE = "no gradient reaches"
UPSTREAM = ("dy used as ones", "dy ignored", "the same whatever dy is")
NOT_LINEAR = ("used not linearly", "is not linear in dy")
SQUARED = ("used not linearly", "takes dy squared")
SIZE = ("used not linearly", "does not depend on the size of dy")
DY_SIGN = ("used not linearly", "does not depend on the sign of dy")
CLIPPED = ("used not linearly", "clips a large dy")
ADDED = ("used not linearly", "a term that does not depend on dy")
BATCH = "of another, which f keeps apart"
IS = "the gradient is dy"  # "the gradient is dy times x"
TERM_MISSING = "is missing"  # "a term dy times x is missing"
WRONG_FACTOR = "has a wrong factor"
READS_X = "is written for the output, and reads"
AT_Y = "the derivative is taken at the output"
AXIS = "that along the other axis"
OTHER_END = "is taken from its other end"
ONE_USE = "is used twice, and"
LAST_FUNCTION = "the derivative of the last function is forgotten"
PLACES = "the right numbers at the wrong elements"
BROADCAST = "a broadcast not summed"
SHAPE = "only the shape is wrong"
ORDER = "the gradients come in another order"
IN_PLACE = "in place"
RANDOM = "random state"
ACCUMULATES = "adds to the result of an earlier call"
STALE = "stale"
NO_NAME = ()  # the checker has no name for it

LAYERS = []


def normal(*shape):
    return lambda rng: rng.standard_normal(shape)


def positive(*shape):
    return lambda rng: rng.uniform(0.3, 2, shape)


def integers(below, *shape):
    return lambda rng: rng.integers(0, below, shape)


def given(array):
    return lambda rng: np.array(array)


@dataclass
class Wrong:
    """One wrong backward. `looks`: the names that are true of it, none if the checker knows no name."""

    layer: "Layer"
    name: str
    looks: tuple
    backward: object

    def __str__(self):
        return f"{self.layer.name}: {self.name}"


@dataclass
class Layer:
    forward: object
    name: str
    specs: dict
    cache: bool = False  # forward returns (y, cache), backward is called with (dy, cache)
    backward: object = None
    wrongs: list = field(default_factory=list)

    def __call__(self, *args):
        return self.forward(*args)

    def inputs(self, seed=0, dtype=np.float64):
        rng = np.random.default_rng([zlib.crc32(self.name.encode()), seed])
        arrays = [spec(rng) for spec in self.specs.values()]
        return [x.astype(dtype) if x.dtype.kind == "f" else x for x in arrays]

    def right(self, backward):
        self.backward = backward
        return backward

    def wrong(self, looks, name=None, **gradients):
        looks = (looks,) if isinstance(looks, str) else tuple(looks)

        def register(backward):
            self.wrongs.append(Wrong(self, name or backward.__name__.replace("_", " "), looks, backward))
            return backward

        return register(self._but(gradients)) if gradients else register

    def _but(self, gradients):
        at = {list(self.specs).index(k): g for k, g in gradients.items()}

        def backward(*args):
            dx = self.backward(*args)
            dx = list(dx) if isinstance(dx, tuple) else [dx]
            for k, gradient in at.items():
                dx[k] = gradient(*args)
            return tuple(dx)

        return backward


def layer(cache=False, **specs):
    def of(forward):
        LAYERS.append(Layer(forward, forward.__name__.replace("_", " "), specs, cache))
        return LAYERS[-1]

    return of
