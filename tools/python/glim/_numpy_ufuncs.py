"""NumPy's functions of each element (__array_ufunc__) of Vars: np.exp(v), np.add(v, 1), np.add.reduce(v, axis=1)."""
import math

import numpy as np

from . import _glim
from ._numpy_dispatch import array, arrays, call, constant, refused, unread, values, vars_in

_OPERATORS = {name: (f"__{op}__", f"__{reflected}__") for name, op, reflected in (
    ("add", "add", "radd"), ("subtract", "sub", "rsub"), ("multiply", "mul", "rmul"), ("divide", "truediv", "rtruediv"),
    ("true_divide", "truediv", "rtruediv"), ("power", "pow", "rpow"), ("float_power", "pow", "rpow"),
    ("matmul", "matmul", "rmatmul"), ("equal", "eq", "eq"), ("not_equal", "ne", "ne"), ("less", "lt", "gt"),
    ("less_equal", "le", "ge"), ("greater", "gt", "lt"), ("greater_equal", "ge", "le"))}


def _pair(a, b):
    return arrays((a, b), next(vars_in((a, b))))


def _overflows(x):
    """True if e^x is ∞ for an element, which e^x / 2 may not be."""
    return np.abs(x.numpy()).max(initial=0) > math.log(np.finfo(x.dtype).max)


def _sinh(x):
    if not _overflows(x):
        return (_glim.expm1(x) - _glim.expm1(-x)) / 2
    half = x / 2
    return (_glim.expm1(half) - _glim.expm1(-half)) * ((_glim.exp(half) + _glim.exp(-half)) / 2)


def _cosh(x):
    if not _overflows(x):
        return (_glim.exp(x) + _glim.exp(-x)) / 2
    half = _glim.exp(x / 2)
    return half * (half / 2) + 0.5 / half / half


def _hypot(a, b):
    """√(a² + b²), scaled by powers of two where a square would overflow or lose digits. They cancel: they have no gradient."""
    a, b = _pair(a, b)
    largest = np.maximum(np.abs(a.numpy()), np.abs(b.numpy()))
    exponents = np.clip(np.frexp(largest)[1], *((-1000, 513) if a.dtype == "float64" else (-100, 65)))
    if np.abs(exponents).max(initial=0) < 50:
        return _glim.sqrt(a * a + b * b)
    scale = np.ldexp(np.ones_like(largest), exponents)
    a, b = a / scale, b / scale
    return _glim.sqrt(a * a + b * b) * scale


def _logaddexp(a, b):
    a, b = _pair(a, b)
    same = np.isinf(a.numpy()) & (a.numpy() == b.numpy())  # ∞ - ∞ has no value
    gap = _glim.where(same, array(0.0, a), a - b) if same.any() else a - b
    return _glim.maximum(a, b) + _glim.softplus(-_glim.abs(gap))


def _without_nan(choose):
    def chosen(a, b):
        a, b = _pair(a, b)
        of_a, of_b = np.isnan(a.numpy()), np.isnan(b.numpy())
        if of_a.any() or of_b.any():
            a, b = _glim.where(of_a, b, a), _glim.where(of_b, a, b)
        return choose(a, b)
    return chosen


UFUNCS = {
    **{name: getattr(_glim, name) for name in ("exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tanh", "maximum", "minimum")},
    "absolute": _glim.abs, "fabs": _glim.abs, "fmax": _without_nan(_glim.maximum), "fmin": _without_nan(_glim.minimum),
    "negative": lambda x: -x, "positive": lambda x: x, "conjugate": lambda x: x, "square": lambda x: x * x,
    "reciprocal": lambda x: 1 / x, "log2": lambda x: _glim.log(x) / math.log(2), "log10": lambda x: _glim.log(x) / math.log(10),
    "exp2": lambda x: 2.0 ** x, "sinh": _sinh, "cosh": _cosh, "tan": lambda x: _glim.sin(x) / _glim.cos(x),
    "arctanh": lambda x: (_glim.log1p(x) - _glim.log1p(-x)) / 2, "hypot": _hypot, "logaddexp": _logaddexp,
    "degrees": lambda x: x * (180 / math.pi), "rad2deg": lambda x: x * (180 / math.pi), "radians": lambda x: x * (math.pi / 180),
    "deg2rad": lambda x: x * (math.pi / 180), "heaviside": lambda x, at_0: np.heaviside(values(x), constant(at_0))}
_WITHOUT_GRADIENT = {"sign", "floor", "ceil", "rint", "trunc", "isnan", "isinf", "isfinite", "signbit", "floor_divide", "logical_and",
                     "logical_or", "logical_not", "logical_xor"}
_REDUCTIONS = {"add": np.sum, "maximum": np.max, "minimum": np.min, "multiply": np.prod}
_DEFAULTS = {"where": True, "casting": "same_kind", "order": "K", "dtype": None, "subok": True}


def array_ufunc(self, ufunc, method, *inputs, out=None, **options):
    name = ufunc.__name__
    if getattr(np, name, None) is not ufunc:
        raise TypeError(f"{ufunc!r} is no function of NumPy and takes no Var: use ops of glim, or v.numpy() if it is a constant")
    if out is not None:
        raise TypeError(f"np.{name} into an array, as in a += v, would lose the gradient: write a = a + v")
    if method == "reduce" and name in _REDUCTIONS:
        return call(_REDUCTIONS[name], inputs, {"axis": 0, **{k: x for k, x in options.items() if k == "axis" or x is not None}})
    if method not in ("__call__", "outer"):
        raise refused(f"{name}.{method}")
    for option, value in options.items():
        if option not in _DEFAULTS or value is not _DEFAULTS[option]:
            raise unread(name, option)
    like = next(vars_in(inputs))
    inputs = [array(x, like) if isinstance(x, (list, tuple)) else x for x in inputs]
    if method == "outer":
        a, b = arrays(inputs, like)
        inputs = [_glim.reshape(a, (*a.shape, *(1,) * b.ndim)), b]
    if name in _OPERATORS:
        a, b = inputs
        plain, reflected = _OPERATORS[name]
        return getattr(a, plain)(b) if isinstance(a, _glim.Var) else getattr(b, reflected)(a)
    if name in UFUNCS:
        return UFUNCS[name](*inputs)
    if name in _WITHOUT_GRADIENT:
        return ufunc(*map(values, inputs))
    raise refused(name)
