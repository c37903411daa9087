"""Sums, extremes, norms, and ops along an axis."""
import math

import glim
import numpy as np
import torch
from glim import _numpy_functions

from .dtypes import axes_of, tensor, to, with_axis
from .elementwise import chosen, formula
from .indices import gather
from .rules import OPS, op


def reduction(f):
    return lambda x, /, dim=None, keepdim=False, *, dtype=None: f(to(x, dtype or x.dtype), axes_of(x, dim), keepdim)


def along(f):
    @with_axis
    def compute(x, /, dim, dtype=None):
        return f(to(x, dtype or x.dtype), dim)
    return compute


OPS["sum"] = OPS["sum.dim_IntList"] = reduction(glim.sum)
OPS["mean"] = OPS["mean.dim"] = reduction(glim.mean)
OPS["cumsum"], OPS["cumprod"] = along(glim.cumsum), along(glim.cumprod)


@op("logcumsumexp")
@with_axis
def logcumsumexp(x, /, dim):
    if (x.numpy() == -math.inf).any():
        raise glim.ValueError("from_torch: logcumsumexp of -inf, whose gradient is NaN in PyTorch")
    return glim.logcumsumexp(x, dim)


def extreme(f):
    return lambda x, /, dim, keepdim: f(x, axes_of(x, dim), keepdim)


OPS["amax"], OPS["amin"] = extreme(glim.max), extreme(glim.min)


@op("logsumexp")
def logsumexp(x, /, dim, keepdim):
    axes = sorted({d % x.ndim for d in axes_of(x, dim)} or range(x.ndim))
    if not axes:
        return x
    rest = [k for k in range(x.ndim) if k not in axes]
    rows = glim.permute(x, rest + axes).reshape((*(x.shape[k] for k in rest), math.prod(x.shape[k] for k in axes)))
    y = glim.logsumexp(rows, -1)
    return y.reshape(tuple(1 if k in axes else n for k, n in enumerate(x.shape))) if keepdim else y


# ---- chosen elements ----

def evenly(f):
    """An element of all: those that are equal to it share the gradient."""
    def compute(x):
        value = f(tensor(x)).numpy()
        equal = x.numpy() == value
        return glim.sum(chosen(equal, x, 0.0)) / float(equal.sum()) if equal.any() else x.reshape((-1,))[0] * np.nan
    return compute


def chosen_along(f):
    """Elements along an axis: PyTorch chooses them, and the gradient goes to those."""
    def choose(x, dim, **options):
        values, ids = f(tensor(x), dim=dim, **options)
        if not x.ndim:
            return [x, ids]
        reduced = values.ndim < x.ndim
        y = gather(x, dim, ids.unsqueeze(dim) if reduced else ids)
        return [glim.squeeze(y, dim) if reduced else y, ids]
    return choose


for _name in ("max", "min", "median"):
    OPS[_name] = (lambda f: lambda x, /: f(x))(evenly(getattr(torch, _name)))
    OPS[_name + ".dim"] = (lambda f: lambda x, /, dim, keepdim: f(x, dim, keepdim=keepdim))(chosen_along(getattr(torch, _name)))
OPS["mode"] = lambda x, /, dim, keepdim: chosen_along(torch.mode)(x, dim, keepdim=keepdim)
OPS["nanmedian.dim"] = lambda x, /, dim, keepdim: chosen_along(torch.nanmedian)(x, dim, keepdim=keepdim)
OPS["kthvalue"] = lambda x, /, k, dim, keepdim: chosen_along(torch.kthvalue)(x, dim, k=k, keepdim=keepdim)
OPS["cummax"] = lambda x, /, dim: chosen_along(torch.cummax)(x, dim)
OPS["cummin"] = lambda x, /, dim: chosen_along(torch.cummin)(x, dim)
OPS["sort"] = lambda x, /, dim, descending: chosen_along(torch.sort)(x, dim, descending=descending)
OPS["sort.stable"] = lambda x, /, *, stable, dim, descending: chosen_along(torch.sort)(
    x, dim, stable=bool(stable), descending=descending)
OPS["topk"] = lambda x, /, k, dim, largest, sorted: chosen_along(torch.topk)(x, dim, k=k, largest=largest, sorted=sorted)


# ---- products, spreads, norms ----

@op("prod", "prod.dim_int")
def prod(x, /, dim=None, keepdim=False, *, dtype=None):
    x = to(x, dtype or x.dtype)
    if dim is None or not x.ndim:
        return product(x.reshape((-1,)), 0, False)
    return product(x, dim % x.ndim, keepdim)


def product(x, axis, keepdim):
    return _numpy_functions.prod(x, axis, keepdims=keepdim) if x.shape[axis] else glim.sum(x, [axis], keepdim) + 1


# √x of PyTorch's norms and deviations: its gradient at 0 is 0, and its second derivative NaN.
root = formula("root", torch.sqrt, lambda x: chosen(x.numpy() == 0, 0.0, 0.5 / glim.sqrt(x)))


@op("var", "var.dim", "var.correction")
def variance(x, /, dim=None, unbiased=True, keepdim=False, *, correction=None):
    return glim.var(x, axes_of(x, dim), float(unbiased) if correction is None else float(correction), keepdim)


@op("std", "std.dim", "std.correction")
def deviation(x, /, dim=None, unbiased=True, keepdim=False, *, correction=None):
    return root(variance(x, dim, unbiased, keepdim, correction=correction))


@op("var_mean", "var_mean.dim", "var_mean.correction")
def var_mean(x, /, dim=None, unbiased=True, keepdim=False, *, correction=None):
    return [variance(x, dim, unbiased, keepdim, correction=correction), glim.mean(x, axes_of(x, dim), keepdim)]


@op("std_mean", "std_mean.dim", "std_mean.correction")
def std_mean(x, /, dim=None, unbiased=True, keepdim=False, *, correction=None):
    return [deviation(x, dim, unbiased, keepdim, correction=correction), glim.mean(x, axes_of(x, dim), keepdim)]


@op("linalg_vector_norm")
def vector_norm(x, /, ord, dim=None, keepdim=False, *, dtype=None):
    """(Σ |x|^p)^(1/p); an element of 0, and a norm of 0, have no gradient."""
    x, axes = to(x, dtype or x.dtype), axes_of(x, dim)
    if ord == 2:
        return root(glim.sum(x * x, axes, keepdim))
    size = glim.abs(x)
    if ord in (math.inf, -math.inf):
        return (glim.max if ord > 0 else glim.min)(size, axes, keepdim)
    if ord == 1:
        return glim.sum(size, axes, keepdim)
    zero = size.numpy() == 0
    if ord == 0:
        return glim.sum(chosen(zero, 0.0, x * 0 + 1), axes, keepdim)
    total = glim.sum(chosen(zero, 0.0 if ord > 0 else math.inf, chosen(zero, 1.0, size) ** ord), axes, keepdim)
    zero = total.numpy() == 0
    return chosen(zero, 0.0, chosen(zero, 1.0, total) ** (1 / ord))


@op("_cdist_forward")
def distances(a, b, /, p):
    return vector_norm(glim.unsqueeze(a, -2) - glim.unsqueeze(b, -3), p, -1)
