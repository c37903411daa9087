"""Constants and dtypes: which of float32 and float64 a result has, as PyTorch promotes."""
import functools

import glim
import numpy as np
import torch


class Cast(glim.Op):
    """y = x in another floating dtype; dx = dy in that of x."""

    def __init__(self, dtype):
        self.dtype = dtype

    def forward(self, x):
        return x.astype(self.dtype)

    def gradient(self, dy, x):
        return Cast(x.dtype)(dy)


def name_of(dtype):
    return str(dtype).removeprefix("torch.")


def to(x, dtype):
    """A Var in a dtype, of which there are float32 and float64 alone."""
    dtype = name_of(dtype)
    if dtype not in ("float32", "float64"):
        raise glim.DTypeError(f"from_torch: a result in {dtype}; Glim has float32 and float64")
    return x if dtype == x.dtype else Cast(dtype)(x)


def array(x, dtype=None):
    """The values of a constant."""
    x = x.numpy() if isinstance(x, glim.Var) else x.detach().cpu().resolve_conj().resolve_neg().numpy(force=True) if isinstance(
        x, torch.Tensor) else np.asarray(x)
    return x if dtype is None else x.astype(dtype)


def tensor(x):
    """The values of a Var as a tensor of PyTorch; everything else as it is."""
    return torch.from_numpy(np.array(x.numpy())) if isinstance(x, glim.Var) else x


def _empty(x):
    return torch.empty(tuple(x.shape), dtype=getattr(torch, x.dtype), device="meta") if isinstance(x, glim.Var) else x


def operands(*xs):
    """Two operands in the dtype that PyTorch gives their result: a tensor without axes does not widen one with axes. Numbers, and
    constants without axes, are numbers."""
    dtype = torch.result_type(*map(_empty, xs))
    return [to(x, dtype) if isinstance(x, glim.Var) else
            glim.Var(array(x, name_of(dtype))) if isinstance(x, torch.Tensor) and x.ndim else
            float(np.dtype(name_of(dtype)).type(x.item())) if isinstance(x, torch.Tensor) else
            x if isinstance(x, (int, float)) else float(x) for x in xs]


def vars_of(*xs):
    """Operands as Vars of one dtype: that of the first Var, or of the first constant; None stays None."""
    like = next((x for x in xs if isinstance(x, glim.Var)), xs[0])
    return [x if x is None or isinstance(x, glim.Var) else glim.Var(array(x, name_of(like.dtype))) for x in xs]


def promoted(*xs):
    """Operands as Vars in the dtype that PyTorch gives their result."""
    dtype = name_of(functools.reduce(lambda known, x: torch.promote_types(known, x.dtype), map(_empty, xs[2:]), torch.result_type(
        _empty(xs[0]), _empty(xs[min(1, len(xs) - 1)]))))
    return [to(x, dtype) if isinstance(x, glim.Var) else glim.Var(array(x, dtype)) for x in xs]


def axes_of(x, dim):
    """PyTorch's dim as axes: none of a number, () for all."""
    return () if dim is None or not x.ndim else [dim] if isinstance(dim, int) else list(dim)


def with_axis(f):
    """A function along an axis, of a number, too: as of a vector of one element."""
    @functools.wraps(f)
    def along(x, /, *args, **kwargs):
        if x.ndim:
            return f(x, *args, **kwargs)
        y = f(x.reshape((1,)), *args, **kwargs)
        return [v.reshape(()) for v in y] if isinstance(y, (list, tuple)) else y.reshape(())
    return along
