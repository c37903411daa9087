"""Views and copies: ops that lay elements out anew."""
import glim
import numpy as np
import torch
from glim import _numpy_functions

from .dtypes import axes_of, promoted
from .rules import OPS, op


def by_positions(f):
    """The rule of an op that lays elements out anew, from where f lays their positions."""
    def lay_out(x, /, *args, **kwargs):
        try:
            positions = f(torch.arange(x.size, dtype=torch.float64).reshape(tuple(x.shape)), *args, **kwargs)
        except RuntimeError as error:
            raise glim.ValueError(f"from_torch: {getattr(f, '__name__', f)}: {str(error).splitlines()[0]}") from error
        ids = positions.reshape(-1).long().numpy()
        y = x.reshape((-1,))
        return (y if np.array_equal(ids, np.arange(x.size)) else glim.index_select(y, 0, ids)).reshape(tuple(positions.shape))
    return lay_out


@op("view", "_unsafe_view", "reshape")
def view(x, shape, /):
    return x.reshape(tuple(shape))


@op("expand")
def expand(x, /, size):
    lengths = [1] * (len(size) - x.ndim) + list(x.shape)
    return glim.broadcast_to(x, [n if s == -1 else s for s, n in zip(size, lengths)])


@op("squeeze", "squeeze.dim", "squeeze.dims")
def squeeze(x, /, dim=None):
    dims = range(x.ndim) if dim is None else [d % x.ndim for d in axes_of(x, dim)]
    return _numpy_functions.squeeze(x, tuple(d for d in dims if x.shape[d] == 1))


@op("slice.Tensor")
def slice_(x, /, dim, start, end, step):
    n = x.shape[dim]
    start, end, _ = slice(start, end, step).indices(n)
    return x if (start, end, step) == (0, n, 1) else glim.slice(x, dim, start, max(end, start), step)


@op("constant_pad_nd")
def pad(x, /, pad, value):
    pairs = [(0, 0)] * (x.ndim - len(pad) // 2) + [(pad[k], pad[k + 1]) for k in range(len(pad) - 2, -1, -2)]
    return glim.pad(x, pairs, value)


@op("cat")
def cat(parts, /, dim):
    return glim.concatenate(promoted(*([p for p in parts if tuple(p.shape) != (0,)] or parts[:1])), dim)


@op("stack")
def stack(parts, /, dim):
    return glim.stack(promoted(*parts), dim)


@op("repeat")
def repeat(x, /, repeats):
    return _numpy_functions.tile(x, repeats) if all(repeats) else by_positions(torch.Tensor.repeat)(x, repeats)


@op("select.int")
def select(x, /, dim, index):
    return glim.select(x, dim, index)


@op("split.Tensor")
def split(x, /, split_size, dim):
    return glim.split(x, dim, [min(split_size, x.shape[dim] - k) for k in range(0, x.shape[dim], split_size or 1)] or [0])


@op("diagonal")
def diagonal(x, /, offset, dim1, dim2):
    return _numpy_functions.diagonal(x, offset, dim1, dim2)


@op("unfold")
def unfold(x, /, dimension, size, step):
    return by_positions(torch.Tensor.unfold)(x, dimension, size, step)


@op("as_strided")
def as_strided(x, /, size, stride, storage_offset=None):
    return by_positions(torch.as_strided)(x, size, stride, storage_offset)


@op("take")
def take(x, index, /):
    return by_positions(torch.take)(x, index)


@op("masked_select")
def masked_select(x, mask, /):
    return by_positions(torch.masked_select)(x, mask)


OPS["transpose.int"] = lambda x, /, dim0, dim1: glim.transpose(x, dim0, dim1) if x.ndim else x
OPS["permute"] = lambda x, /, dims: glim.permute(x, list(dims))
OPS["unsqueeze"] = lambda x, /, dim: glim.unsqueeze(x, dim)
OPS["split_with_sizes"] = OPS["split.sizes"] = lambda x, lengths, /, dim: glim.split(x, dim, list(lengths))
OPS["flip"] = lambda x, /, dims: _numpy_functions.flip(x, dims) if x.ndim else x
OPS["tril"] = lambda x, /, diagonal: glim.tril(x, diagonal)
OPS["triu"] = lambda x, /, diagonal: glim.triu(x, diagonal)
OPS["getitem"] = lambda parts, k: parts[k]
