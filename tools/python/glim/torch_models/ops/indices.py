"""Reads and writes by indices.

A write is computed by PyTorch on the positions of elements: those of x are 0, 1, ..., and those of the source follow. Its result
says which element each position holds.
"""
import math

import glim
import numpy as np
import torch

from .dtypes import array, name_of, tensor, to, vars_of
from .elementwise import chosen
from .rules import op


@op("embedding")
def embedding(weight, ids, /, padding_idx=-1):
    ids = array(ids)
    if padding_idx >= 0 and (ids == padding_idx).any():  # its row gets no gradient
        real = (np.arange(weight.shape[0]) != padding_idx)[:, None]
        weight = glim.where(real, weight, glim.Var(weight.numpy()))
    return glim.index_select(weight, 0, ids.reshape(-1)).reshape((*ids.shape, weight.shape[1]))


@op("_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(weight, ids, offsets, /, mode=0, per_sample_weights=None, include_last_offset=False, padding_idx=-1):
    """The sums (mode 0) or means (1) of the rows of each bag. A bag begins at its offset; padding is not counted."""
    if mode == 2:
        raise glim.ValueError("from_torch: embedding_bag with mode='max'; there are 'sum' and 'mean'")
    weight, scales = vars_of(weight, per_sample_weights)
    ids, starts = array(ids), array(offsets)[:-1] if include_last_offset else array(offsets)
    (real,) = np.nonzero(ids != padding_idx)
    bags = np.searchsorted(starts, real, "right") - 1
    rows = glim.index_select(weight, 0, ids[real])
    rows = rows if scales is None else rows * glim.unsqueeze(glim.index_select(scales, 0, real), -1)
    sums = glim.Var(np.zeros((len(starts), weight.shape[1]), weight.dtype))
    sums = added(sums, positions(sums)[torch.from_numpy(bags)], rows)
    counts = np.bincount(bags, minlength=len(starts)).clip(1)[:, None]
    return [sums / glim.Var(counts.astype(weight.dtype)) if mode else sums]


@op("index.Tensor", "_unsafe_index.Tensor")
def index(x, indices, /):
    return gathered(x, positions(x)[tuple(slice(None) if i is None else tensor(i) for i in indices)]) if any(
        i is not None and i.dtype in (torch.bool, torch.uint8) for i in indices) else x[
        tuple(slice(None) if i is None else array(i) for i in indices)]


@op("index_select")
def index_select(x, /, dim, index):
    index = array(index).reshape(-1)
    return glim.index_select(x, dim, index) if x.ndim else glim.index_select(x.reshape((1,)), 0, index).reshape(())


@op("gather")
def gather(x, /, dim, index):
    if x.ndim != index.ndim or not x.ndim:
        return gathered(x, torch.gather(positions(x), dim, tensor(index)))
    cut, index = x, array(index)
    for axis, n in enumerate(index.shape):  # torch's index may be shorter than x
        if axis != dim % x.ndim and n != x.shape[axis]:
            cut = glim.narrow(cut, axis, 0, n)
    return glim.gather(cut, dim, index)


def positions(x, start=0):
    return torch.arange(start, start + math.prod(x.shape)).reshape(tuple(x.shape))


def gathered(x, ids):
    """The elements of x at these positions."""
    return glim.index_select(x.reshape((-1,)), 0, ids.reshape(-1).numpy()).reshape(tuple(ids.shape))


def added(x, ids, source):
    """x, to whose elements at these positions the source is added."""
    x, source = vars_of(x, source)
    source = glim.broadcast_to(source, list(ids.shape))
    return glim.scatter_add(x.reshape((-1,)), 0, ids.reshape(-1).numpy(), source.reshape((-1,))).reshape(tuple(x.shape))


def written(x, source, write):
    """x with elements of the source, where write(positions, those of the source) has them."""
    x, source = vars_of(x, source)
    ids = write(positions(x), positions(source, x.size))
    return gathered(glim.concatenate([x.reshape((-1,)), source.reshape((-1,))], 0), ids)


def require_once(ids):
    """PyTorch hands the gradient of an element that is written twice to both sources, of which one is lost."""
    if ids.unique().numel() != ids.numel():
        raise glim.ValueError("from_torch: an element is written twice: which source it holds is undefined in PyTorch, and its "
                              "gradient is none of a function")


@op("index_put", "_unsafe_index_put")
def index_put(x, indices, values, /, accumulate=False):
    ids = positions(x)[tuple(slice(None) if i is None else tensor(i) for i in indices)]
    if accumulate:
        return added(x, ids, values)
    if isinstance(values, glim.Var) and values.size > 1:
        require_once(ids)
    return written(x, values, lambda all_, source: torch.ops.aten.index_put(all_, [tensor(i) for i in indices], source))


@op("scatter.src", "scatter.value")
def scatter(x, dim, index, source, /):
    if not isinstance(source, (glim.Var, torch.Tensor)):
        return written(x, torch.tensor(float(source)), lambda all_, one: all_.scatter(dim, index, int(one)))
    if isinstance(source, glim.Var):
        require_once(torch.gather(positions(x), dim, index))
    return written(x, source, lambda all_, ids: all_.scatter(dim, index, ids))


@op("scatter_add")
def scatter_add(x, /, dim, index, src):
    ids = torch.gather(positions(x), dim, index)
    x, src = vars_of(x, src)
    return added(x, ids, gathered(src, positions(src)[tuple(map(slice, ids.shape))]))


@op("scatter_reduce.two")
def scatter_reduce(x, /, dim, index, src, reduce, include_self=True):
    if reduce not in ("sum", "mean"):
        raise glim.ValueError(f"from_torch: scatter_reduce with reduce='{reduce}': Glim has 'sum' and 'mean'")
    x, src = vars_of(x, src)
    counts = np.bincount(torch.gather(positions(x), dim, index).reshape(-1), minlength=x.size).reshape(tuple(x.shape))
    y = scatter_add(x if include_self else chosen(counts > 0, 0.0, x), dim, index, src)
    return y if reduce == "sum" else y / glim.Var((counts + include_self).clip(1).astype(y.dtype))


@op("index_add")
def index_add(x, /, dim, index, source, *, alpha=1):
    ids = positions(x).index_select(dim, index) if x.ndim else positions(x).reshape(1).index_select(0, index)
    x, source = vars_of(x, source)
    return added(x, ids, (source if alpha == 1 else source * alpha).reshape(tuple(ids.shape)))


@op("index_copy")
def index_copy(x, /, dim, index, source):
    if isinstance(source, glim.Var):
        require_once(index)
    return written(x, source, lambda all_, ids: all_.index_copy(dim, index, ids))


@op("select_scatter")
def select_scatter(x, src, /, dim, index):
    return written(x, src, lambda all_, ids: all_.select_scatter(ids, dim, index))


@op("slice_scatter")
def slice_scatter(x, src, /, dim=0, start=None, end=None, step=1):
    return written(x, src, lambda all_, ids: all_.slice_scatter(ids, dim, start, end, step))


@op("diagonal_scatter")
def diagonal_scatter(x, src, /, offset=0, dim1=0, dim2=1):
    return written(x, src, lambda all_, ids: all_.diagonal_scatter(ids, offset, dim1, dim2))


@op("masked_scatter")
def masked_scatter(x, mask, source, /):
    return written(x, source, lambda all_, ids: all_.masked_scatter(mask, ids))


@op("copy")
def copy(x, source, /):
    dtype = name_of(x.dtype)
    source = to(source, dtype) if isinstance(source, glim.Var) else glim.Var(array(source, dtype))
    return glim.broadcast_to(source, list(x.shape))
