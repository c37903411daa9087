"""NumPy's functions of Vars, by the ops of Glim: np.exp(v), np.sum(v, axis=0), np.concatenate([v, w]).

Functions of each element are in _numpy_ufuncs.py, einsum is in
_numpy_einsum.py. Other functions are refused, as a function that took the Var's numbers would lose its gradient.
"""
import math
import operator

import numpy as np

from . import _glim
from ._numpy_dispatch import FUNCTIONS, array, arrays, implements, values
from ._numpy_ufuncs import UFUNCS  # noqa: F401  from_torch takes them from here


def whole(numbers):
    numbers = np.atleast_1d(numbers)
    if numbers.dtype == bool:  # an index of earlier NumPys
        raise TypeError("a bool is no integer here")
    return [operator.index(n) for n in numbers]


def reshaped(x, shape):
    return _glim.reshape(x, whole(shape))


def _axes(axis, ndim):
    """Axes counted from 0."""
    axes = whole(axis) if np.size(axis) else []
    if any(not -ndim <= k < ndim for k in axes):
        raise IndexError(f"axis {axis} of an array that has {ndim} axes")
    axes = [k % ndim for k in axes]
    if len({*axes}) < len(axes):
        raise ValueError(f"axis {axis} names an axis twice")
    return axes


def _one_axis(axis, ndim):
    return _axes(operator.index(axis), ndim)[0]


def _over(axis, ndim):
    """The axes that a reduction sums over, in Glim's form: all are ()."""
    axes = () if axis is None else _axes(axis, ndim)
    if axis is not None and not axes:
        raise TypeError("a reduction with axis=() takes no Var: it changes nothing, leave it out")
    return axes


def _flat(x, axis):
    return (reshaped(x, -1), 0) if axis is None else (x, _one_axis(axis, x.ndim))


def _part(x, axis, index):
    return x[(slice(None),) * axis + (index,)]


# ---- reductions ----


def _reduction(op):
    def reduce(a: array, axis=None, keepdims=False):
        return op(a, _over(axis, a.ndim), bool(keepdims))
    return reduce


for _name in ("sum", "mean", "max", "amax", "min", "amin"):
    FUNCTIONS[getattr(np, _name)] = _reduction(getattr(_glim, _name.removeprefix("a")))


@implements(np.var)
def var(a: array, axis=None, ddof=0, keepdims=False, correction=None):
    return _glim.var(a, _over(axis, a.ndim), float(ddof if correction is None else correction), bool(keepdims))


@implements(np.std)
def std(a: array, axis=None, ddof=0, keepdims=False, correction=None):
    return _glim.sqrt(var(a, axis, ddof, keepdims, correction))


@implements(np.prod)
def prod(a: array, axis=None, keepdims=False):
    axes = [*range(a.ndim)] if axis is None else _axes(axis, a.ndim)
    kept, x = [1 if k in axes else n for k, n in enumerate(a.shape)], a
    if len(axes) != 1:
        x = moveaxis(a, axes, range(a.ndim - len(axes), a.ndim))
        x = reshaped(x, (*x.shape[:a.ndim - len(axes)], math.prod(a.shape[k] for k in axes)))
    over = axes[0] if len(axes) == 1 else x.ndim - 1
    x = _glim.pad(x, [(int(k == over), 0) for k in range(x.ndim)], 1) if x.shape[over] == 0 else x  # the product of nothing
    y = _glim.narrow(_glim.cumprod(x, over), over, x.shape[over] - 1, 1)
    return reshaped(y, kept) if keepdims else _glim.squeeze(y, over)


@implements(np.cumsum)
def cumsum(a: array, axis=None):
    return _glim.cumsum(*_flat(a, axis))


@implements(np.cumprod)
def cumprod(a: array, axis=None):
    return _glim.cumprod(*_flat(a, axis))


@implements(np.average)
def average(a: array, axis=None, weights: array = None, keepdims=False):
    axes = _over(axis, a.ndim)
    if weights is None:
        return _glim.mean(a, axes, bool(keepdims))
    if weights.shape != a.shape:
        if weights.shape != tuple(a.shape[k] for k in axes):
            raise ValueError(f"np.average: weights of shape {weights.shape} for axis={axis} of an array of shape {a.shape}")
        weights = reshaped(_glim.permute(weights, np.argsort(axes).tolist()), [n if k in axes else 1 for k, n in enumerate(a.shape)])
    total = _glim.sum(_glim.broadcast_to(weights, a.shape), axes, bool(keepdims))
    if not total.numpy().all():
        raise ZeroDivisionError("np.average: the weights have the sum 0")
    return _glim.sum(a * weights, axes, bool(keepdims)) / total


@implements(np.linalg.norm)
def norm(x: array, ord=None, axis=None, keepdims=False):
    axes = _over(axis, x.ndim)
    count = x.ndim if axis is None else len(axes)
    if not (ord is None and (axis is None or count < 3) or ord == 2 and count == 1 or ord == "fro" and count == 2):
        raise TypeError(f"np.linalg.norm with ord={ord!r} over {count} axes takes no Var: Glim has the norm of order 2 of "
                        "vectors, and Frobenius's")
    return _glim.sqrt(_glim.sum(x * x, axes, bool(keepdims)))


# ---- shapes ----


@implements(np.reshape)
def reshape(a: array, shape):
    return reshaped(a, shape)


@implements(np.ravel)
def ravel(a: array):
    return reshaped(a, -1)


@implements(np.transpose)
def transpose(a: array, axes=None):
    return _glim.permute(a, [*range(a.ndim)][::-1] if axes is None else _axes(axes, a.ndim))


@implements(np.swapaxes)
def swapaxes(a: array, axis1, axis2):
    return _glim.transpose(a, axis1, axis2)


@implements(np.moveaxis)
def moveaxis(a: array, source, destination):
    source, destination = _axes(source, a.ndim), _axes(destination, a.ndim)
    if len(source) != len(destination):
        raise ValueError(f"np.moveaxis: {len(source)} axes to {len(destination)} places")
    order = [k for k in range(a.ndim) if k not in source]
    for place, k in sorted(zip(destination, source)):
        order.insert(place, k)
    return _glim.permute(a, order)


@implements(np.expand_dims)
def expand_dims(a: array, axis):
    for k in sorted(_axes(axis, a.ndim + np.size(axis))):
        a = _glim.unsqueeze(a, k)
    return a


@implements(np.squeeze)
def squeeze(a: array, axis=None):
    axes = [k for k, n in enumerate(a.shape) if n == 1] if axis is None else _axes(axis, a.ndim)
    return reshaped(a, [n for k, n in enumerate(a.shape) if k not in axes])


@implements(np.broadcast_to)
def broadcast_to(x: array, shape):
    return _glim.broadcast_to(x, whole(shape))


@implements(np.concatenate)
def concatenate(xs: arrays, axis=0):
    return _glim.concatenate([reshaped(x, -1) for x in xs] if axis is None else xs, axis or 0)


@implements(np.stack)
def stack(xs: arrays, axis=0):
    return _glim.stack(xs, axis)


@implements(np.vstack)
def vstack(xs: arrays):
    return _glim.concatenate([reshaped(x, (1, -1)) if x.ndim < 2 else x for x in xs], 0)


@implements(np.hstack)
def hstack(xs: arrays):
    xs = [reshaped(x, -1) if x.ndim < 1 else x for x in xs]
    return _glim.concatenate(xs, 0 if xs[0].ndim == 1 else 1)


@implements(np.split)
def split(x: array, parts, axis=0):
    axis = _one_axis(axis, x.ndim)
    if np.ndim(parts) == 0:
        n, parts = x.shape[axis], operator.index(parts)
        if n % parts:
            raise ValueError("array split does not result in an equal division")
        parts = range(n // parts, n, n // parts)
    return [_part(x, axis, slice(a, b)) for a, b in zip([0, *parts], [*parts, None])]


@implements(np.pad)
def pad(x: array, pad_width, mode="constant", constant_values=0):
    if mode != "constant" or np.ndim(constant_values):
        raise TypeError(f"np.pad with mode={mode!r} and constant_values={constant_values!r} takes no Var: Glim pads with one constant")
    if np.min(pad_width) < 0:
        raise ValueError("np.pad: pad_width has a negative number")
    return _glim.pad(x, [tuple(whole(pair)) for pair in np.broadcast_to(pad_width, (x.ndim, 2))], float(constant_values))


@implements(np.tile)
def tile(x: array, reps):
    reps = whole(reps)
    x = reshaped(x, (1,) * (len(reps) - x.ndim) + tuple(x.shape))
    for axis, n in enumerate([1] * (x.ndim - len(reps)) + reps):
        x = x if n == 1 else _glim.concatenate([x] * n, axis) if n else _part(x, axis, slice(0, 0))
    return x


@implements(np.repeat)
def repeat(a: array, repeats, axis=None):
    a, axis = _flat(a, axis)
    return _glim.index_select(a, axis, np.repeat(np.arange(a.shape[axis]), repeats))


@implements(np.flip)
def flip(x: array, axis=None):
    for k in range(x.ndim) if axis is None else _axes(axis, x.ndim):
        x = _glim.index_select(x, k, np.arange(x.shape[k])[::-1].copy())
    return x


@implements(np.roll)
def roll(a: array, shift, axis=None):
    x = reshaped(a, -1) if axis is None else a
    for distance, k in np.broadcast(shift, 0 if axis is None else axis):
        k = _one_axis(k, x.ndim)
        x = _glim.index_select(x, k, np.roll(np.arange(x.shape[k]), distance))
    return reshaped(x, a.shape)


@implements(np.diagonal)
def diagonal(a: array, offset=0, axis1=0, axis2=1):
    a = moveaxis(a, (axis1, axis2), (-2, -1))
    rows = np.arange(max(0, min(a.shape[-2] + min(offset, 0), a.shape[-1] - max(offset, 0))))
    return a[(..., rows - min(offset, 0), rows + max(offset, 0))]


@implements(np.diag)
def diag(x: array, k=0):
    if x.ndim != 2:
        raise TypeError("np.diag of a vector takes no Var: v * np.eye(n)")
    return diagonal(x, k)


@implements(np.trace)
def trace(a: array, offset=0, axis1=0, axis2=1):
    return _glim.sum(diagonal(a, offset, axis1, axis2), -1)


@implements(np.tril)
def tril(x: array, k=0):
    return _glim.tril(x, operator.index(k))


@implements(np.triu)
def triu(x: array, k=0):
    return _glim.triu(x, operator.index(k))


# ---- elements ----


@implements(np.take)
def take(a: array, indices, axis=None):
    a, axis = _flat(a, axis)
    return _part(a, axis, np.asarray(indices))


@implements(np.take_along_axis)
def take_along_axis(x: array, indices, axis=-1):
    x, axis = _flat(x, axis)
    indices = np.asarray(indices)
    indices = np.where(indices < 0, indices + x.shape[axis], indices)
    lengths = [m if n == 1 else n for n, m in zip(x.shape, indices.shape, strict=True)]
    x_shape, indices_shape = ([*lengths[:axis], a.shape[axis], *lengths[axis + 1:]] for a in (x, indices))
    return _glim.gather(_glim.broadcast_to(x, x_shape), axis, np.broadcast_to(indices, indices_shape))


@implements(np.diff)
def diff(x: array, n=1, axis=-1):
    if n < 0:
        raise ValueError(f"np.diff: n is {n}; it is 0 or more")
    axis = _one_axis(axis, x.ndim)
    for _ in range(operator.index(n)):
        x = _part(x, axis, slice(1, None)) - _part(x, axis, slice(None, -1))
    return x


@implements(np.clip)
def clip(a: array, a_min: array = None, a_max: array = None, min: array = None, max: array = None):
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    if all(bound is None or bound.ndim == 0 and not bound.requires_grad for bound in (low, high)):
        return _glim.clamp(a, -math.inf if low is None else low.item(), math.inf if high is None else high.item())
    a = a if low is None else _glim.maximum(a, low)
    return a if high is None else _glim.minimum(a, high)


@implements(np.where)
def where(condition: values, x: array = None, y: array = None):
    if (x is None) != (y is None):
        raise ValueError("np.where: either both x and y are given, or neither")
    if x is None:
        return np.where(condition)
    return _glim.where(np.asarray(condition, bool), x, y)


@implements(np.sort)
def sort(a: array, axis=-1):
    return _glim.sort(*_flat(a, axis))[0]


@implements(np.full_like)
def full_like(a: values, fill_value, dtype=None, order="K", subok=True, shape=None):
    return np.full_like(a, fill_value, dtype, order, subok, shape)


# ---- products ----


def product(a, b):
    y = (_glim.unsqueeze(a, 0) if a.ndim == 1 else a) @ (_glim.unsqueeze(b, -1) if b.ndim == 1 else b)
    y = _glim.squeeze(y, -2) if a.ndim == 1 else y
    return _glim.squeeze(y, -1) if b.ndim == 1 else y


@implements(np.dot)
def dot(a: array, b: array):
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    return product(a, b) if b.ndim < 3 else tensordot(a, b, ([-1], [-2]))


@implements(np.inner)
def inner(a: array, b: array):
    return a * b if a.ndim == 0 or b.ndim == 0 else tensordot(a, b, ([-1], [-1]))


@implements(np.outer)
def outer(a: array, b: array):
    return product(reshaped(a, (-1, 1)), reshaped(b, (1, -1)))


@implements(np.vdot)
def vdot(a: array, b: array):
    return _glim.sum(reshaped(a, -1) * reshaped(b, -1))


@implements(np.tensordot)
def tensordot(a: array, b: array, axes=2):
    if np.ndim(axes) == 0:
        axes = range(-operator.index(axes), 0), range(axes)
    left, right = (_axes([*np.atleast_1d(k)], x.ndim) for x, k in zip((a, b), axes))
    if [a.shape[k] for k in left] != [b.shape[k] for k in right]:
        raise ValueError(f"np.tensordot: axes {left} of shape {a.shape} against axes {right} of shape {b.shape}")
    free = [k for k in range(a.ndim) if k not in left], [k for k in range(b.ndim) if k not in right]
    n = math.prod(a.shape[k] for k in left)
    rows = reshaped(_glim.permute(a, free[0] + left), (-1, n))
    columns = reshaped(_glim.permute(b, right + free[1]), (n, -1))
    return reshaped(rows @ columns, [a.shape[k] for k in free[0]] + [b.shape[k] for k in free[1]])


for _name in ("argmax", "argmin", "argsort", "zeros_like", "ones_like", "empty_like", "shape", "ndim", "size", "array_equal",
              "allclose", "isclose", "nonzero", "count_nonzero", "any", "all", "argwhere", "around", "round", "result_type",
              "searchsorted", "array_repr", "array_str", "array2string", "shares_memory", "may_share_memory", "iscomplexobj", "isrealobj"):
    FUNCTIONS[getattr(np, _name)] = None  # the result has no gradient
