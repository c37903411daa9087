"""Ops of each element. At a kink each has PyTorch's derivative, as at the ends of a clamp."""
import math

import glim
import numpy as np
import torch
from glim import _numpy_functions

from .dtypes import array, operands, promoted, tensor, to
from .rules import OPS, op


class Formula(glim.Op):
    """y by a function of PyTorch; dx_k = dy · slope_k(x, ...), in ops of Glim."""

    def __init__(self, value, *slopes):
        self.value, self.slopes = value, slopes

    def forward(self, *xs):
        return self.value(*(torch.from_numpy(np.array(x)) for x in xs)).numpy()

    def gradient(self, dy, *xs):
        return tuple(None if slope is None else dy * slope(*xs) for slope in self.slopes)


def formula(name, value, *slopes):
    """The rule of an op with its own formulas, of one or two operands."""
    compute = type(name, (Formula,), {})(value, *slopes)

    def unary(x, /):
        return compute(x)

    def binary(a, b, /):
        a, b = promoted(*(x if isinstance(x, (glim.Var, torch.Tensor)) else torch.tensor(x, dtype=torch.float64)
                          for x in (a, b)))
        shape = np.broadcast_shapes(a.shape, b.shape)
        return compute(glim.broadcast_to(a, shape), glim.broadcast_to(b, shape))
    return unary if len(slopes) == 1 else binary


def chosen(condition, a, b):
    """a where the condition of values holds, else b; a number has no gradient."""
    like = a if isinstance(a, glim.Var) else b
    return glim.where(condition, *(x if isinstance(x, glim.Var) else glim.Var(np.asarray(x, like.dtype)) for x in (a, b)))


# ---- arithmetic ----

@op("add.Tensor", "add.Scalar", "add")
def add(a, b, /, *, alpha=1):
    a, b = operands(a, b)
    return a + b if alpha == 1 else a + b * alpha


@op("sub.Tensor", "sub.Scalar", "sub")
def sub(a, b, /, *, alpha=1):
    a, b = operands(a, b)
    return a - b if alpha == 1 else a - b * alpha


@op("rsub.Tensor", "rsub.Scalar")
def rsub(a, b, /, *, alpha=1):
    return sub(b, a, alpha=alpha)


@op("mul.Tensor", "mul.Scalar", "mul")
def mul(a, b, /):
    if isinstance(b, (int, float)) and b == 1:  # PyTorch writes 1 · bias + 1 · (x W)
        return a
    a, b = operands(a, b)
    return a * b


@op("div.Tensor", "div.Scalar", "div")
def div(a, b, /):
    a, b = operands(a, b)
    return a / b


@op("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar")
def power(a, b, /):
    a, b = operands(a, b)
    return a ** b


OPS["remainder.Tensor"] = OPS["remainder.Scalar"] = OPS["remainder"] = formula(
    "remainder", torch.remainder, lambda a, b: glim.Var(np.ones_like(a.numpy())), lambda a, b: -floored(a, b, "floor"))
OPS["fmod.Tensor"] = OPS["fmod.Scalar"] = OPS["fmod"] = formula(
    "fmod", torch.fmod, lambda a, b: glim.Var(np.ones_like(a.numpy())), lambda a, b: -floored(a, b, "trunc"))
OPS["atan2"] = formula("atan2", torch.atan2, lambda a, b: b * inverse_square(a, b), lambda a, b: -a * inverse_square(a, b))
OPS["hypot"] = formula("hypot", torch.hypot, lambda a, b: a / glim.sqrt(a * a + b * b), lambda a, b: b / glim.sqrt(a * a + b * b))
OPS["xlogy.Tensor"] = OPS["xlogy.Scalar_Self"] = OPS["xlogy.Scalar_Other"] = formula(
    "xlogy", torch.xlogy, lambda x, y: glim.log(chosen((x.numpy() == 0) & (y.numpy() <= 0), 1.0, y)), lambda x, y: x / y)


def floored(a, b, mode):
    return glim.Var(torch.div(tensor(a), tensor(b), rounding_mode=mode).numpy())


def inverse_square(a, b):
    """1/(a² + b²), and 0 at 0."""
    r = a * a + b * b
    zero = r.numpy() == 0
    return chosen(zero, 0.0, 1 / chosen(zero, 1.0, r))


# ---- choices ----

@op("maximum", "max.other")
def maximum(a, b, /):
    return glim.maximum(*promoted(a, b))


@op("minimum", "min.other")
def minimum(a, b, /):
    return glim.minimum(*promoted(a, b))


@op("where.self", "where.ScalarOther", "where.ScalarSelf", "where")
def where(condition, a, b, /):
    a, b = operands(a, b)
    return chosen(array(condition, bool), a, b)


@op("fmax")
def fmax(a, b, /):
    """The first of two equal operands, and of a number and NaN the number."""
    a, b = promoted(a, b)
    return chosen((a.numpy() >= b.numpy()) | np.isnan(b.numpy()), a, b)


@op("fmin")
def fmin(a, b, /):
    return -fmax(*(-x for x in promoted(a, b)))


@op("clamp")
def clamp(x, /, min=None, max=None):
    return glim.clamp(x, -math.inf if min is None else min, math.inf if max is None else max)


@op("clamp_min")
def clamp_min(x, /, min):
    return glim.clamp(x, min, math.inf)


@op("clamp_max")
def clamp_max(x, /, max):
    return glim.clamp(x, -math.inf, max)


@op("clamp.Tensor")
def clamp_between(x, low, high, /):
    """An element at its bound has the gradient. A bound has that of the elements beyond it, the lower one if it is below the upper."""
    if low is None or high is None:
        return clamp_below(x, low) if high is None else clamp_above(x, high)
    x, low = promoted(x, low)
    (x, high), (low, _) = promoted(x, high), promoted(low, high)
    v, a, b = x.numpy(), low.numpy(), high.numpy()
    return chosen((v > b) | (b < a), high, chosen(v < a, chosen(a < b, low, glim.Var(a)), x))


@op("clamp_min.Tensor")
def clamp_below(x, low, /):
    x, low = promoted(x, low)
    return chosen(x.numpy() < low.numpy(), low, x)


@op("clamp_max.Tensor")
def clamp_above(x, high, /):
    x, high = promoted(x, high)
    return chosen(x.numpy() > high.numpy(), high, x)


# ---- functions ----

def of_one(f):
    return lambda x, /: f(x)


for _name in ("neg", "exp", "expm1", "log", "sqrt", "sin", "cos", "tanh", "sigmoid", "erf", "relu", "silu", "abs"):
    OPS[_name] = of_one(getattr(glim, _name))
for _name in ("reciprocal", "log2", "log10", "exp2", "tan", "log1p", "sinh", "cosh"):
    OPS[_name] = of_one(_numpy_functions.UFUNCS[_name])
OPS["rsqrt"] = lambda x, /: 1 / glim.sqrt(x)
OPS.update(
    asin=formula("asin", torch.asin, lambda x: 1 / glim.sqrt(1 - x * x)),
    acos=formula("acos", torch.acos, lambda x: -1 / glim.sqrt(1 - x * x)),
    atan=formula("atan", torch.atan, lambda x: 1 / (1 + x * x)),
    asinh=formula("asinh", torch.asinh, lambda x: 1 / glim.sqrt(1 + x * x)),
    acosh=formula("acosh", torch.acosh, lambda x: 1 / glim.sqrt(x * x - 1)),
    atanh=formula("atanh", torch.atanh, lambda x: 1 / (1 - x * x)),
    special_entr=formula("special_entr", torch.special.entr, lambda x: -1 - glim.log(x)),
    erfc=formula("erfc", torch.erfc, lambda x: -2 / math.sqrt(math.pi) * glim.exp(-x * x)))


def _sinc_slope(x):
    zero = x.numpy() == 0
    x = chosen(zero, 1.0, x)
    return chosen(zero, 0.0, (glim.cos(x * math.pi) - glim.sin(x * math.pi) / (x * math.pi)) / x)


OPS["sinc"] = formula("sinc", torch.sinc, _sinc_slope)


def _logit_slope(x):
    v = x.numpy()
    return chosen((v < 0) | (v > 1), np.nan, 1 / (x * (1 - x)))


logit_of_all = formula("logit", torch.logit, _logit_slope)


@op("logit")
def logit(x, /, eps):
    return logit_of_all(x if eps is None else glim.clamp(x, eps, 1 - eps))


# ---- copies ----

OPS["clone"] = OPS["alias"] = OPS["lift_fresh_copy"] = OPS["contiguous"] = lambda x, /: x


@op("_to_copy")
def to_copy(x, /, *, dtype=None):
    return to(x, dtype or x.dtype)


@op("dropout", "native_dropout")
def dropout(x, /, p, train):
    """None: the rate is 0, or the model is in eval()."""
    if p and train:
        raise glim.ValueError(f"from_torch: a dropout of {p} draws numbers: call model.eval()")
    return x
