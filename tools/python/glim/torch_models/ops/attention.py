"""Attention, and what hides its keys."""
import contextlib
import contextvars
import math

import glim
import numpy as np
from glim import _numpy_functions
from glim._options import is_number

from .dtypes import array, vars_of
from .rules import op

HIDES = -1e30  # a number below it, added to a score or in its place, leaves no probability
SCALE = contextvars.ContextVar("scale", default=None)


@contextlib.contextmanager
def scaled(scale):
    """Within it, every attention has this factor of Q Kᵀ; None: its own."""
    if scale is not None and not is_number(scale):
        raise TypeError(f"scale is {scale!r}, expected a number")
    before = SCALE.set(scale)
    try:
        yield
    finally:
        SCALE.reset(before)


def kept_and_added(mask, dtype):
    """(keep, bias) of a constant mask; None for what it has not."""
    mask = array(mask)
    if mask.dtype == bool:
        return (None if mask.all() else mask), None
    keep = mask > HIDES
    if not keep.any(-1).all():
        keep = np.ones_like(keep)
    bias = np.where(keep, mask, 0)
    return (None if keep.all() else keep), (glim.Var(bias.astype(dtype)) if bias.any() else None)


@op("scaled_dot_product_attention")
def scaled_dot_product_attention(query, key, value, mask, /, dropout_p, is_causal, *, scale, enable_gqa):
    if dropout_p:
        raise glim.ValueError(f"from_torch: attention with dropout_p={dropout_p} draws numbers: call model.eval()")
    query, key, value = vars_of(query, key, value)
    if enable_gqa and key.shape[-3] != query.shape[-3]:
        key, value = (_numpy_functions.repeat(x, query.shape[-3] // x.shape[-3], x.ndim - 3) for x in (key, value))
    if is_causal:
        mask = np.tril(np.ones((query.shape[-2], key.shape[-2]), bool))
    keep, bias = (None, mask) if mask is None or isinstance(mask, glim.Var) else kept_and_added(mask, query.dtype)
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in (query, key, value)))
    query, key, value = (x if x.shape[:-2] == batch else glim.broadcast_to(x, [*batch, *x.shape[-2:]]) for x in (query, key, value))
    query, key, value = (glim.named(x, name) for x, name in ((query, "query"), (key, "key"), (value, "value")))
    scale = next((s for s in (SCALE.get(), scale) if s is not None), query.shape[-1] ** -0.5) * math.sqrt(query.shape[-1])
    query = query if math.isclose(scale, 1, rel_tol=1e-12) else query * scale
    return glim.scaled_dot_product_attention(query, key, value, glim.AttentionMask(keep, bias))[0]
