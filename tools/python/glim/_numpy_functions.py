"""NumPy's functions of Vars, by the ops of Glim: np.exp(v), np.sum(v, axis=0), np.concatenate([v, w]).

A Var takes part in NumPy's dispatch (__array_ufunc__, __array_function__). A function that is not here says so, as one that
took the Var's numbers would lose its gradient.
"""
import math

import numpy as np

from . import _glim
from ._words import _OF_GLIM

# ---- functions of each element ----

_OPERATORS = {name: (f"__{op}__", f"__{reflected}__") for name, op, reflected in (
    ("add", "add", "radd"), ("subtract", "sub", "rsub"), ("multiply", "mul", "rmul"), ("divide", "truediv", "rtruediv"),
    ("true_divide", "truediv", "rtruediv"), ("power", "pow", "rpow"), ("float_power", "pow", "rpow"),
    ("matmul", "matmul", "rmatmul"), ("equal", "eq", "eq"), ("not_equal", "ne", "ne"), ("less", "lt", "gt"),
    ("less_equal", "le", "ge"), ("greater", "gt", "lt"), ("greater_equal", "ge", "le"))}
UFUNCS = {
    **{name: getattr(_glim, name) for name in ("exp", "expm1", "log", "sqrt", "sin", "cos", "tanh", "maximum", "minimum")},
    "absolute": _glim.abs, "fabs": _glim.abs, "fmax": _glim.maximum, "fmin": _glim.minimum, "negative": lambda x: -x,
    "positive": lambda x: x, "conjugate": lambda x: x, "square": lambda x: x * x, "reciprocal": lambda x: 1 / x,
    "log1p": lambda x: _glim.log(1 + x), "log2": lambda x: _glim.log(x) / math.log(2), "log10": lambda x: _glim.log(x) / math.log(10),
    "exp2": lambda x: 2.0 ** x, "sinh": lambda x: (_glim.exp(x) - _glim.exp(-x)) / 2, "cosh": lambda x: (_glim.exp(x) + _glim.exp(-x)) / 2,
    "tan": lambda x: _glim.sin(x) / _glim.cos(x), "arctanh": lambda x: (_glim.log(1 + x) - _glim.log(1 - x)) / 2,
    "hypot": lambda a, b: _glim.sqrt(a * a + b * b), "logaddexp": lambda a, b: _glim.maximum(a, b) + _glim.softplus(-_glim.abs(a - b)),
    "degrees": lambda x: x * (180 / math.pi), "radians": lambda x: x * (math.pi / 180), "deg2rad": lambda x: x * (math.pi / 180)}
_WITHOUT_GRADIENT = {"sign", "floor", "ceil", "rint", "trunc", "isnan", "isinf", "isfinite", "signbit", "floor_divide", "logical_and",
                     "logical_or", "logical_not", "logical_xor", "heaviside"}
_REDUCTIONS = {"add": "sum", "maximum": "max", "minimum": "min", "multiply": "prod"}


def _values(x):
    """Without gradient: arrays in place of Vars, in lists, too."""
    return x.numpy() if isinstance(x, (_glim.Var, _glim.Tensor)) else type(x)(map(_values, x)) if isinstance(x, (list, tuple)) else x


def _ufunc(self, ufunc, method, *inputs, out=None, **options):
    name = ufunc.__name__
    if out is not None:
        raise TypeError(f"np.{name} into an array, as in a += v, would lose the gradient: write a = a + v")
    if method == "reduce" and name in _REDUCTIONS:
        return _FUNCTIONS[_REDUCTIONS[name]](*inputs, **{"axis": 0, **options})
    if method == "outer" and len(inputs) == 2:
        a, b = (x if isinstance(x, _glim.Var) else _glim.Var(np.asarray(x, float)) for x in inputs)
        return _ufunc(self, ufunc, "__call__", _reshaped(a, (*a.shape, *(1,) * b.ndim)), b)
    if method == "__call__" and not options:
        if name in _OPERATORS:
            a, b = inputs
            plain, reflected = _OPERATORS[name]
            return getattr(a, plain)(b) if isinstance(a, _glim.Var) else getattr(b, reflected)(a)
        if name in UFUNCS:
            return UFUNCS[name](*inputs)
        if name in _WITHOUT_GRADIENT:
            return ufunc(*map(_values, inputs))
    raise _refused(name)


def _refused(name):
    remedy = _OF_GLIM.get(name) or (f"glim.{name}" if hasattr(_glim, name) else "use ops of glim (python.md lists them)")
    return TypeError(f"np.{name} takes no Var: {remedy}, or v.numpy() if it is a constant")


# ---- functions of arrays ----

_FUNCTIONS = {}


def _function(f):
    _FUNCTIONS[f.__name__.rstrip("_")] = f
    return f


def _var(x, like=None):
    """A Var of anything; of lists of Vars, too."""
    if isinstance(x, _glim.Var):
        return x
    if isinstance(x, (list, tuple)) and any(isinstance(v, (_glim.Var, list, tuple)) for v in x):
        return _glim.stack([_var(v, like) for v in x], 0)
    return _glim.Var(np.asarray(x, like.dtype if like is not None else float))


def _vars(xs):
    like = next((x for x in xs if isinstance(x, _glim.Var)), None)
    return [_var(x, like) for x in xs]


def _reshaped(x, shape):
    return _glim.reshape(x, [int(n) for n in np.atleast_1d(shape)])


def _axis(axis):
    return () if axis is None else axis if isinstance(axis, (int, np.integer)) else list(axis)


def _place(x, axis):
    return (_reshaped(x, -1), 0) if axis is None else (x, axis)


def _reduction(name):
    def reduce(x, axis=None, dtype=None, out=None, keepdims=False, **_):
        return getattr(_glim, name)(_var(x), _axis(axis), bool(keepdims is True))
    return reduce


_FUNCTIONS.update({name: _reduction(by) for name, by in (("sum", "sum"), ("mean", "mean"), ("max", "max"), ("amax", "max"), ("min", "min"), ("amin", "min"))})


@_function
def var(x, axis=None, dtype=None, out=None, ddof=0, keepdims=False, correction=None, **_):
    return _glim.var(x, _axis(axis), float(ddof if correction is None else correction), bool(keepdims is True))


@_function
def std(x, *args, **options):
    return _glim.sqrt(var(x, *args, **options))


@_function
def prod(x, axis=None, dtype=None, out=None, keepdims=False, **_):
    x, axis = _place(x, axis)
    y = _glim.narrow(_glim.cumprod(x, axis), axis, x.shape[axis] - 1, 1)
    return y if keepdims is True else _glim.squeeze(y, axis)


@_function
def cumsum(x, axis=None, dtype=None, out=None):
    return _glim.cumsum(*_place(x, axis))


@_function
def cumprod(x, axis=None, dtype=None, out=None):
    return _glim.cumprod(*_place(x, axis))


@_function
def average(x, axis=None, weights=None, **_):
    return _glim.mean(x, _axis(axis)) if weights is None else _glim.sum(x * _var(weights, x), _axis(axis)) / float(np.sum(weights))


@_function
def reshape(x, shape=None, order="C", *, newshape=None, copy=None):
    return _reshaped(x, newshape if shape is None else shape)


@_function
def ravel(x, order="C"):
    return _reshaped(x, -1)


@_function
def transpose(x, axes=None):
    return _glim.permute(x, list(axes if axes is not None else range(x.ndim)[::-1]))


@_function
def swapaxes(x, axis1, axis2):
    return _glim.transpose(x, axis1, axis2)


@_function
def moveaxis(x, source, destination):
    source, destination = np.atleast_1d(source) % x.ndim, np.atleast_1d(destination) % x.ndim
    order = [k for k in range(x.ndim) if k not in source]
    for to, k in sorted(zip(destination, source)):
        order.insert(to, int(k))
    return _glim.permute(x, order)


@_function
def expand_dims(x, axis):
    for a in sorted(np.atleast_1d(axis) % (x.ndim + np.size(axis))):
        x = _glim.unsqueeze(x, int(a))
    return x


@_function
def squeeze(x, axis=None):
    axes = [k for k, n in enumerate(x.shape) if n == 1] if axis is None else [int(a) % x.ndim for a in np.atleast_1d(axis)]
    return _reshaped(x, [n for k, n in enumerate(x.shape) if k not in axes])


@_function
def broadcast_to(x, shape, subok=False):
    return _glim.broadcast_to(x, [int(n) for n in np.atleast_1d(shape)])


@_function
def concatenate(arrays, axis=0, out=None, **_):
    arrays = _vars(arrays)
    return _glim.concatenate([_reshaped(a, -1) for a in arrays] if axis is None else arrays, axis or 0)


@_function
def stack(arrays, axis=0, out=None, **_):
    return _glim.stack(_vars(arrays), axis)


@_function
def vstack(arrays, **_):
    return _glim.concatenate([_reshaped(a, (1, -1)) if a.ndim < 2 else a for a in _vars(arrays)], 0)


@_function
def hstack(arrays, **_):
    arrays = [_reshaped(a, -1) if a.ndim < 1 else a for a in _vars(arrays)]
    return _glim.concatenate(arrays, 0 if arrays[0].ndim == 1 else 1)


@_function
def split(x, parts, axis=0):
    n = x.shape[axis]
    if isinstance(parts, int):
        if n % parts:
            raise ValueError("array split does not result in an equal division")
        ends = [n // parts * k for k in range(1, parts)]
    else:
        ends = [min(int(p), n) for p in parts]
    return _glim.split(x, axis, [b - a for a, b in zip([0, *ends], [*ends, n])])


@_function
def pad(x, pad_width, mode="constant", constant_values=0):
    if mode != "constant":
        raise TypeError(f"np.pad with mode={mode!r} takes no Var: Glim pads with a constant")
    return _glim.pad(x, [tuple(map(int, p)) for p in np.broadcast_to(pad_width, (x.ndim, 2))], float(constant_values))


@_function
def tile(x, reps):
    reps = tuple(np.atleast_1d(reps))
    x = _reshaped(x, (1,) * (len(reps) - x.ndim) + tuple(x.shape))
    for axis, n in enumerate((1,) * (x.ndim - len(reps)) + reps):
        x = x if n == 1 else _glim.concatenate([x] * int(n), axis)
    return x


@_function
def repeat(x, repeats, axis=None):
    x, axis = _place(x, axis)
    return _glim.index_select(x, axis, np.repeat(np.arange(x.shape[axis]), repeats))


@_function
def flip(x, axis=None):
    for a in range(x.ndim) if axis is None else np.atleast_1d(axis):
        x = _glim.index_select(x, int(a), np.arange(x.shape[int(a)])[::-1].copy())
    return x


@_function
def roll(x, shift, axis=None):
    flat, a = _place(x, axis)
    return _reshaped(_glim.index_select(flat, a, np.roll(np.arange(flat.shape[a]), shift)), x.shape)


@_function
def take(x, indices, axis=None, **_):
    x, axis = _place(x, axis)
    at = [slice(None)] * (axis % x.ndim) + [np.asarray(indices)]
    return x[tuple(at)]


@_function
def take_along_axis(x, indices, axis=-1):
    x, axis = _place(x, axis)
    return _glim.gather(_glim.broadcast_to(x, [n if k == axis % x.ndim else max(n, m) for k, (n, m) in enumerate(zip(x.shape, indices.shape))]),
                        axis, indices)


@_function
def diff(x, n=1, axis=-1):
    for _ in range(n):
        x = _glim.narrow(x, axis, 1, x.shape[axis] - 1) - _glim.narrow(x, axis, 0, x.shape[axis] - 1)
    return x


@_function
def diagonal(x, offset=0, axis1=0, axis2=1):
    x = moveaxis(x, (axis1, axis2), (-2, -1))
    rows = np.arange(max(0, min(x.shape[-2] + min(offset, 0), x.shape[-1] - max(offset, 0))))
    return x[(..., rows - min(offset, 0), rows + max(offset, 0))]


@_function
def diag(x, k=0):
    if x.ndim != 2:
        raise TypeError("np.diag of a vector takes no Var: v * np.eye(n)")
    return diagonal(x, k)


@_function
def trace(x, offset=0, axis1=0, axis2=1, **_):
    return _glim.sum(diagonal(x, offset, axis1, axis2), -1)


@_function
def tril(x, k=0):
    return _glim.tril(x, k)


@_function
def triu(x, k=0):
    return _glim.triu(x, k)


@_function
def clip(x, a_min=None, a_max=None, out=None, *, min=None, max=None, **_):
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    if any(np.ndim(b) for b in (low, high) if b is not None):
        x = x if low is None else _glim.maximum(x, _var(low, x))
        return x if high is None else _glim.minimum(x, _var(high, x))
    return _glim.clamp(x, -math.inf if low is None else float(low), math.inf if high is None else float(high))


@_function
def where(condition, *choices):
    if len(choices) != 2:
        return np.where(_values(condition))
    return _glim.where(np.asarray(_values(condition), bool), *_vars(choices))


@_function
def sort(x, axis=-1, **_):
    return _glim.sort(*_place(x, axis))[0]


def product(a, b):
    y = (_glim.unsqueeze(a, 0) if a.ndim == 1 else a) @ (_glim.unsqueeze(b, -1) if b.ndim == 1 else b)
    y = _glim.squeeze(y, -2) if a.ndim == 1 else y
    return _glim.squeeze(y, -1) if b.ndim == 1 else y


@_function
def dot(a, b, out=None):
    a, b = _vars([a, b])
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    return product(a, b) if b.ndim < 3 else tensordot(a, b, ([-1], [-2]))


_FUNCTIONS["inner"] = lambda a, b: tensordot(a, b, ([-1], [-1]))
_FUNCTIONS["outer"] = lambda a, b, out=None: product(_reshaped(_var(a), (-1, 1)), _reshaped(_var(b), (1, -1)))
_FUNCTIONS["vdot"] = lambda a, b: _glim.sum(_reshaped(_var(a), -1) * _reshaped(_var(b), -1))


@_function
def tensordot(a, b, axes=2):
    a, b = _vars([a, b])
    left, right = (range(-axes, 0), range(axes)) if isinstance(axes, int) else map(np.atleast_1d, axes)
    left, right = [int(k) % a.ndim for k in left], [int(k) % b.ndim for k in right]
    free = [k for k in range(a.ndim) if k not in left], [k for k in range(b.ndim) if k not in right]
    n = math.prod(a.shape[k] for k in left)
    rows = _reshaped(_glim.permute(a, free[0] + left), (-1, n))
    columns = _reshaped(_glim.permute(b, right + free[1]), (n, -1))
    return _reshaped(rows @ columns, [a.shape[k] for k in free[0]] + [b.shape[k] for k in free[1]])


@_function
def einsum(subscripts, *operands, **_):
    """Products over all letters, then sums: each operand is laid out over the letters of all."""
    operands, text = _vars(operands), subscripts.replace(" ", "")
    inputs, _, output = text.partition("->")
    inputs = inputs.split(",")
    if "." in text:  # letters for the ellipsis
        letters, most = iter(set("ABCDEFGHIJKLMNOPQRSTUVWXYZ") - set(text)), max(x.ndim - len(i.replace("...", "")) for i, x in zip(inputs, operands) if "." in i)
        batch = "".join(next(letters) for _ in range(most))
        inputs = [i.replace("...", batch[most - (x.ndim - len(i.replace("...", ""))):]) if "." in i else i for i, x in zip(inputs, operands)]
        output = output.replace("...", batch)
    if "->" not in text:
        output = "".join(sorted(c for c in set("".join(inputs)) if "".join(inputs).count(c) == 1))
    y, have = operands[0], inputs[0]
    y, have = _diagonals(y, have)
    for k, (x, letters) in enumerate(zip(operands[1:], inputs[1:]), 1):
        x, letters = _diagonals(x, letters)
        later = set(output).union(*inputs[k + 1:])
        y, have = _contracted(y, have, x, letters, later)
    gone = [k for k, c in enumerate(have) if c not in output]
    y, have = (_glim.sum(y, gone), "".join(c for c in have if c in output)) if gone else (y, have)
    return _glim.permute(y, [have.index(c) for c in output]) if have != output else y


def _diagonals(x, letters):
    for c in set(letters):
        while letters.count(c) > 1:
            a, b = letters.index(c), letters.rindex(c)
            x, letters = diagonal(x, 0, a, b), "".join(d for k, d in enumerate(letters) if k not in (a, b)) + c
    return x, letters


def _contracted(x, a, y, b, later):
    """x with letters a times y with letters b, summed over those that nothing later reads: one batched product."""
    x, a = (_glim.sum(x, [k for k, c in enumerate(a) if c not in b and c not in later]), "".join(c for c in a if c in b or c in later)) \
        if any(c not in b and c not in later for c in a) else (x, a)
    y, b = (_glim.sum(y, [k for k, c in enumerate(b) if c not in a and c not in later]), "".join(c for c in b if c in a or c in later)) \
        if any(c not in a and c not in later for c in b) else (y, b)
    batch, inner = [c for c in a if c in b and c in later], [c for c in a if c in b and c not in later]
    rows, columns = [c for c in a if c not in b], [c for c in b if c not in a]
    size = {**dict(zip(a, x.shape)), **dict(zip(b, y.shape))}
    count = lambda letters: math.prod(size[c] for c in letters)
    left = _reshaped(_glim.permute(x, [a.index(c) for c in batch + rows + inner]), (count(batch), count(rows), count(inner)))
    right = _reshaped(_glim.permute(y, [b.index(c) for c in batch + inner + columns]), (count(batch), count(inner), count(columns)))
    return _reshaped(left @ right, [size[c] for c in batch + rows + columns]), "".join(batch + rows + columns)


@_function
def norm(x, ord=None, axis=None, keepdims=False):
    if ord not in (None, 2, "fro"):
        raise TypeError(f"np.linalg.norm with ord={ord!r} takes no Var: Glim has the norm of order 2")
    return _glim.sqrt(_glim.sum(x * x, _axis(axis), keepdims))


for _name in ("argmax", "argmin", "argsort", "zeros_like", "ones_like", "full_like", "empty_like", "shape", "ndim", "size", "array_equal",
              "allclose", "isclose", "nonzero", "count_nonzero", "any", "all", "argwhere", "around", "round", "result_type", "unique",
              "searchsorted", "array_repr", "array_str", "array2string", "shares_memory", "may_share_memory", "iscomplexobj", "isrealobj"):
    _FUNCTIONS[_name] = None  # the result has no gradient


def _array_function(self, function, types, args, kwargs):
    name = function.__name__
    if name not in _FUNCTIONS:
        raise _refused(name)
    if _FUNCTIONS[name] is None:
        return function(*map(_values, args), **{k: _values(v) for k, v in kwargs.items()})
    return _FUNCTIONS[name](*args, **kwargs)


_glim.Var.__array_ufunc__ = _ufunc
_glim.Var.__array_function__ = _array_function
