"""Products, softmax, norms and losses."""
import functools
import math

import glim
import numpy as np
import torch
from glim import _numpy_functions

from .dtypes import array, to, vars_of, with_axis
from .elementwise import formula
from .rules import OPS, op


@op("matmul", "mm", "bmm", "mv", "dot")
def matmul(a, b, /):
    return _numpy_functions.product(*vars_of(a, b))


@op("grouped_mm_fallback")
def grouped_matmul(x, weight, ends, /):
    """Rows of x times the matrix of their expert; ends: of the rows of each."""
    x, weight = vars_of(x, weight)
    ends = array(ends).tolist()
    parts = [glim.slice(x, 0, a, b) @ glim.select(weight, 0, k) for k, (a, b) in enumerate(zip([0, *ends], ends)) if a < b]
    return glim.concatenate(parts, 0)


@op("linear")
def linear(x, weight, bias, /):
    return glim.linear(*vars_of(x, weight, bias))


@op("_trilinear")
def trilinear(a, b, c, /, expand1, expand2, expand3, sumdim):
    """Σ over sumdim of a product of three, each with axes of length 1 at expand."""
    a, b, c = (functools.reduce(glim.unsqueeze, sorted(axes), x) for x, axes in zip(vars_of(a, b, c), (expand1, expand2, expand3)))
    return glim.sum(a * b * c, list(sumdim))


# ---- softmax ----

def undefined(x, dim):
    """NaN for rows of −∞ alone, as in PyTorch, where Glim's softmax has 0; or None."""
    hidden = (x.numpy() == -math.inf).all(dim, keepdims=True)
    return glim.Var(np.where(hidden, np.nan, 1).astype(x.dtype)) if hidden.any() else None


def _softmax(f):
    @with_axis
    def compute(x, /, dim, dtype=None):
        x = to(x, dtype or x.dtype)
        nan = undefined(x, dim)
        return f(x, dim) if nan is None else f(x, dim) * nan
    return compute


softmax = OPS["softmax.int"] = OPS["_softmax"] = _softmax(glim.softmax)
OPS["_safe_softmax"] = with_axis(lambda x, /, dim, dtype=None: glim.softmax(to(x, dtype or x.dtype), dim))  # 0 for rows of −∞
OPS["log_softmax.int"] = OPS["_log_softmax"] = _softmax(glim.log_softmax)


# ---- norms ----

@op("layer_norm")
def layer_norm(x, shape, weight, bias, /, eps):
    x, weight, bias = vars_of(x, weight, bias)
    return glim.layer_norm(x, list(shape), weight, bias, eps)


@op("native_layer_norm")
def native_layer_norm(x, shape, weight, bias, /, eps):
    """Mean and 1/deviation, results 1 and 2, have no gradient in PyTorch."""
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    mean, variance = glim.mean(x, axes, True), glim.var(x, axes, 0, True)
    return [layer_norm(x, shape, weight, bias, eps), glim.Var(mean.numpy()), glim.Var(1 / np.sqrt(variance.numpy() + eps))]


@op("rms_norm")
def rms_norm(x, shape, weight, /, eps):
    x, weight = vars_of(x, weight)
    return glim.rms_norm(x, list(shape), weight, float(np.finfo(x.dtype).eps) if eps is None else eps)


@op("_native_batch_norm_legit_no_training")
def batch_norm(x, weight, bias, mean, variance, /, eps):
    x, *rest = vars_of(x, weight, bias, mean, variance)
    weight, bias, mean, variance = (v if v is None else v.reshape((-1,) + (1,) * (x.ndim - 2)) for v in rest)
    y = (x - mean) / glim.sqrt(variance + eps)
    y = y if weight is None else y * weight
    return [y if bias is None else y + bias]


@op("_native_batch_norm_legit.no_stats")
def batch_norm_of_this_batch(x, weight, bias, /, training, eps):
    """Its mean and deviation, results 1 and 2, have no gradient in PyTorch."""
    if not training:
        raise glim.ValueError("from_torch: a batch norm without statistics that is not in training")
    axes = (0, *range(2, x.ndim))
    mean, variance = glim.mean(x, axes), glim.var(x, axes, 0)
    y = batch_norm(x, weight, bias, mean, variance, eps)
    return [*y, glim.Var(mean.numpy()), glim.Var(1 / np.sqrt(variance.numpy() + eps))]


# ---- losses ----

def reduced(loss, reduction):
    """0: none, 1: mean, 2: sum."""
    return loss if reduction == 0 else (glim.mean if reduction == 1 else glim.sum)(loss)


@op("cross_entropy_loss")
def cross_entropy(x, target, weight=None, /, reduction=1, ignore_index=-100, label_smoothing=0.0):
    x = glim.permute(x, (0, *range(2, x.ndim), 1)) if x.ndim > 2 else x  # classes are PyTorch's axis 1
    if isinstance(target, glim.Var) or target.is_floating_point():
        return _of_probabilities(x, target, weight, reduction, label_smoothing)
    weight = None if weight is None else array(weight, x.dtype)
    target = array(target)
    if reduction == 1 and not (target != ignore_index).any():
        return glim.sum(x * 0) + math.nan  # as in PyTorch, the gradient is 0
    return glim.cross_entropy(x, target, weight=weight, ignore_index=ignore_index, label_smoothing=label_smoothing,
                              reduction=("none", "mean", "sum")[reduction])


def _of_probabilities(x, target, weight, reduction, label_smoothing):
    x, target, weight = vars_of(x, target, weight)
    target = glim.permute(target, (0, *range(2, target.ndim), 1)) if target.ndim > 2 else target
    target = target * (1 - label_smoothing) + label_smoothing / x.shape[-1] if label_smoothing else target
    each = -target * glim.log_softmax(x, -1)
    loss = glim.sum(each if weight is None else each * weight, -1)
    return reduced(loss, reduction)


# The derivative by x is bounded by 1/1e-12, a number of float32 in PyTorch.
_entropy = formula("binary_cross_entropy", lambda x, y: torch.nn.functional.binary_cross_entropy(x, y, reduction="none"),
                   lambda x, y: (x - y) / glim.clamp((1 - x) * x, float(np.float32(1e-12)), math.inf),
                   lambda x, y: glim.log(1 - x) - glim.log(x))


@op("binary_cross_entropy")
def binary_cross_entropy(x, target, weight=None, /, reduction=1):
    loss = _entropy(x, target)
    return reduced(loss if weight is None else loss * vars_of(loss, weight)[1], reduction)
