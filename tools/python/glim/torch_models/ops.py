"""The ops of a PyTorch graph by those of Glim: OPS["softmax"](x, dim) for aten.softmax.

Arguments are those of the ATen op: Vars, numbers, lists, and tensors of PyTorch, which are constants. What is not listed
here is computed by PyTorch where no argument needs a gradient or the result has none (VALUES_ALONE, and all that are not floating), decomposed by
PyTorch into ops that are listed, or refused.
"""
import contextlib
import contextvars
import math

import glim
import numpy as np
import torch
from glim import _numpy_functions

OPS = {}
HIDES = -1e30  # a number below it, added to a score or in its place, leaves no probability


def op(*names):
    def register(f):
        OPS.update((name, f) for name in names)
        return f
    return register


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
    return x if dtype == x.dtype else Cast(dtype)(x)


def array(x, dtype=None):
    """The values of a constant."""
    x = x.numpy() if isinstance(x, glim.Var) else x.detach().cpu().numpy() if isinstance(x, torch.Tensor) else np.asarray(x)
    return x if dtype is None else x.astype(dtype)


def both(a, b):
    """Two operands in the dtype that PyTorch gives their result; a number stays one."""
    floats = [x for x in (a, b) if isinstance(x, glim.Var) or isinstance(x, torch.Tensor) and x.is_floating_point() and x.ndim]
    wide = "float64" if any(name_of(x.dtype) == "float64" for x in floats) else "float32"
    return [to(x, wide) if isinstance(x, glim.Var) else x.item() if isinstance(x, torch.Tensor) and not x.ndim else
            glim.Var(array(x, wide)) if isinstance(x, torch.Tensor) else x for x in (a, b)]


def vars_of(*xs):
    """Operands as Vars of one dtype: that of the first Var, or of the first constant; None stays None."""
    like = next((x for x in xs if isinstance(x, glim.Var)), xs[0])
    return [x if x is None or isinstance(x, glim.Var) else glim.Var(array(x, name_of(like.dtype))) for x in xs]


def axes_of(dim):
    return () if dim is None else [dim] if isinstance(dim, int) else list(dim)


# ---- arithmetic ----

@op("add")
def add(a, b, *, alpha=1):
    a, b = both(a, b)
    return a + b if alpha == 1 else a + b * alpha


@op("sub")
def sub(a, b, *, alpha=1):
    a, b = both(a, b)
    return a - b if alpha == 1 else a - b * alpha


@op("mul")
def mul(a, b):
    a, b = both(a, b)
    return a if isinstance(b, (int, float)) and b == 1 else a * b  # PyTorch writes 1 · bias + 1 · (x W)


@op("div")
def div(a, b, *, rounding_mode=None):
    if rounding_mode:
        raise glim.ValueError(f"from_torch: div with rounding_mode='{rounding_mode}' has no gradient")
    a, b = both(a, b)
    return a / b


@op("pow")
def power(a, b):
    a, b = both(a, b)
    return a ** b


OPS["maximum"] = lambda a, b: glim.maximum(*vars_of(a, b))
OPS["minimum"] = lambda a, b: glim.minimum(*vars_of(a, b))


@op("where")
def where(condition, a, b):
    a, b = both(a, b)
    like = a if isinstance(a, glim.Var) else b
    a, b = (x if isinstance(x, glim.Var) else glim.Var(np.asarray(x, like.dtype)) for x in (a, b))
    return glim.where(array(condition), a, b)


for _name in ("neg", "exp", "expm1", "log", "sqrt", "sin", "cos", "tanh", "sigmoid", "erf", "relu", "silu", "abs"):
    OPS[_name] = getattr(glim, _name)
for _name in ("reciprocal", "log2", "log10", "exp2", "tan", "log1p", "sinh", "cosh"):
    OPS[_name] = _numpy_functions.UFUNCS[_name]
OPS["rsqrt"] = lambda x: 1 / glim.sqrt(x)
OPS["gelu"] = lambda x, *, approximate="none": glim.gelu(x, "erf" if approximate == "none" else "tanh")
OPS["elu"] = lambda x, alpha=1.0, scale=1.0, inside=1.0: (lambda y: y if scale == 1 else y * scale)(
    glim.elu(x if inside == 1 else x * inside, alpha))
OPS["leaky_relu"] = lambda x, slope=0.01: glim.leaky_relu(x, slope)
OPS["clamp"] = lambda x, low=None, high=None: glim.clamp(x, -math.inf if low is None else low, math.inf if high is None else high)


@op("softplus")
def softplus(x, beta=1.0, threshold=20.0):
    large = x.numpy() * beta > threshold
    return glim.where(large, x, glim.softplus(x, beta)) if large.any() else glim.softplus(x, beta)


# ---- products ----

@op("matmul", "mm", "bmm")
def matmul(a, b):
    return _numpy_functions.product(*vars_of(a, b))


@op("grouped_mm_fallback")
def grouped_matmul(x, weight, ends):
    """Rows of x times the matrix of their expert; ends: of the rows of each."""
    x, weight = vars_of(x, weight)
    ends = array(ends).tolist()
    parts = [glim.slice(x, 0, a, b) @ glim.select(weight, 0, k) for k, (a, b) in enumerate(zip([0, *ends], ends)) if a < b]
    return glim.concatenate(parts, 0)


@op("linear")
def linear(x, weight, bias=None):
    return glim.linear(*vars_of(x, weight, bias))


@op("convolution")
def convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    x, weight, bias = vars_of(x, weight, bias)
    if transposed or weight.ndim > 4:
        raise glim.ValueError("from_torch: of convolutions there are conv1d and conv2d")
    stride, padding, dilation = (list(v) * ((weight.ndim - 2) // len(v)) for v in (stride, padding, dilation))
    if weight.ndim == 3:
        flat = convolution(glim.unsqueeze(x, -1), glim.unsqueeze(weight, -1), bias, [*stride, 1], [*padding, 0], [*dilation, 1],
                           False, None, groups)
        return glim.squeeze(flat, -1)
    windows = [glim.Window(k, s, d, p, p) for k, s, d, p in zip(weight.shape[2:], stride, dilation, padding)]
    b, c, out = x.shape[0], x.shape[1], weight.shape[0]
    patches = glim.unfold(glim.permute(x, (0, 2, 3, 1)), *windows)                       # (B, H', W', kh, kw, C)
    height, width = patches.shape[1:3]
    patches = patches.reshape((b, height, width, -1, groups, c // groups))
    patches = glim.permute(patches, (4, 0, 1, 2, 5, 3)).reshape((groups, b * height * width, -1))  # columns: channel, window
    y = patches @ glim.transpose(weight.reshape((groups, out // groups, -1)))
    y = glim.permute(y.reshape((groups, b, height, width, -1)), (1, 0, 4, 2, 3)).reshape((b, out, height, width))
    return y if bias is None else y + bias.reshape((out, 1, 1))


# ---- shapes ----

OPS["view"] = OPS["_unsafe_view"] = lambda x, shape: x.reshape(tuple(shape))


@op("expand")
def expand(x, shape, *, implicit=False):
    own = [1] * (len(shape) - x.ndim) + list(x.shape)
    return glim.broadcast_to(x, [n if s == -1 else s for s, n in zip(shape, own)])


@op("squeeze")
def squeeze(x, dim=None):
    dims = range(x.ndim) if dim is None else [d % x.ndim for d in axes_of(dim)]
    return _numpy_functions.squeeze(x, tuple(d for d in dims if x.shape[d] == 1))


@op("slice")
def slice_(x, dim=0, start=None, end=None, step=1):
    n = x.shape[dim]
    start, end, _ = slice(start, end, step).indices(n)
    return x if (start, end, step) == (0, n, 1) else glim.slice(x, dim, start, max(end, start), step)


@op("constant_pad_nd")
def pad(x, widths, value=0):
    pairs = [(0, 0)] * (x.ndim - len(widths) // 2) + [(widths[k], widths[k + 1]) for k in range(len(widths) - 2, -1, -2)]
    return glim.pad(x, pairs, value)


@op("cat")
def cat(parts, dim=0):
    return glim.concatenate(vars_of(*(p for p in parts if tuple(p.shape) != (0,))), dim)


def by_places(f):
    """An op that lays elements out anew, from where it lays their numbers."""
    def lay_out(x, *args):
        places = f(torch.arange(x.size).reshape(tuple(x.shape)), *args)
        ids = places.reshape(-1).numpy()
        y = x.reshape(-1)
        return (y if np.array_equal(ids, np.arange(x.size)) else glim.index_select(y, 0, ids)).reshape(tuple(places.shape))
    return lay_out


OPS["transpose"] = lambda x, a, b: glim.transpose(x, a, b)
OPS["permute"] = lambda x, dims: glim.permute(x, list(dims))
OPS["unsqueeze"] = lambda x, dim: glim.unsqueeze(x, dim)
OPS["select"] = lambda x, dim, index: glim.select(x, dim, index)
OPS["split_with_sizes"] = lambda x, lengths, dim=0: glim.split(x, dim, list(lengths))
OPS["split"] = lambda x, length, dim=0: glim.split(x, dim, [min(length, x.shape[dim] - k) for k in range(0, x.shape[dim], length)])
OPS["repeat"] = _numpy_functions.tile
OPS["flip"] = _numpy_functions.flip
OPS["diagonal"] = _numpy_functions.diagonal
OPS["unfold"] = by_places(torch.Tensor.unfold)
OPS["as_strided"] = by_places(torch.as_strided)
OPS["getitem"] = lambda parts, k: parts[k]
OPS["clone"] = OPS["alias"] = OPS["lift_fresh_copy"] = lambda x, **_: x
OPS["_to_copy"] = lambda x, *, dtype=None, **_: to(x, dtype or x.dtype)

# ---- indices ----

@op("embedding")
def embedding(weight, ids, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    ids = array(ids)
    if padding_idx >= 0 and (ids == padding_idx).any():  # its row gets no gradient
        real = (np.arange(weight.shape[0]) != padding_idx)[:, None]
        weight = glim.where(real, weight, glim.Var(weight.numpy()))
    return glim.index_select(weight, 0, ids.reshape(-1)).reshape((*ids.shape, weight.shape[1]))


@op("index")
def index(x, at):
    return x[tuple(slice(None) if i is None else array(i) for i in at)]


OPS["index_select"] = lambda x, dim, ids: glim.index_select(x, dim, array(ids))
OPS["gather"] = lambda x, dim, ids, *, sparse_grad=False: gather(x, dim, array(ids))


def gather(x, dim, ids):
    cut = x
    for axis, n in enumerate(ids.shape):  # torch's index may be shorter than x
        if axis != dim % x.ndim and n != x.shape[axis]:
            cut = glim.narrow(cut, axis, 0, n)
    return glim.gather(cut, dim, ids)


# ---- reductions ----

def reduction(f):
    return lambda x, dim=None, keepdim=False, *, dtype=None: f(to(x, dtype or x.dtype), axes_of(dim), keepdim)


def along(f):
    """One of an axis; a third argument is a dtype, or whether softmax's is half."""
    return lambda x, dim, dtype=None: f(to(x, dtype) if isinstance(dtype, torch.dtype) else x, dim)


OPS.update(sum=reduction(glim.sum), mean=reduction(glim.mean), amax=reduction(glim.max), amin=reduction(glim.min),
           cumsum=along(glim.cumsum), cumprod=along(glim.cumprod), softmax=along(glim.softmax), _softmax=along(glim.softmax),
           log_softmax=along(glim.log_softmax), _log_softmax=along(glim.log_softmax))


@op("var")
def variance(x, dim=None, unbiased=True, keepdim=False, *, correction=None):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return glim.var(x, axes_of(dim), float(unbiased) if correction is None else correction, keepdim)


@op("var_mean")
def var_mean(x, dim=None, unbiased=True, keepdim=False, *, correction=None):
    return [variance(x, dim, unbiased, keepdim, correction=correction), glim.mean(x, axes_of(dim), keepdim)]


def chosen(f):
    """An op that chooses elements along an axis: PyTorch says which, and the gradient goes to those."""
    def choose(x, *args, **kwargs):
        with torch.no_grad():
            result = f(torch.from_numpy(np.array(x.numpy())), *args, **kwargs)
        if isinstance(result, torch.Tensor):  # of all elements: equal ones share the gradient
            return {torch.max: glim.max, torch.min: glim.min}[f](x)
        values, ids = result
        axis = kwargs.get("dim", (args[f is torch.topk:] or (-1,))[0])
        reduced = values.ndim < x.ndim
        y = gather(x, axis, array(ids.unsqueeze(axis) if reduced else ids))
        return glim.squeeze(y, axis) if reduced else y, ids
    return choose


for _name in ("max", "min", "sort", "topk"):
    OPS[_name] = chosen(getattr(torch, _name))


OPS["prod"] = lambda x, dim=None, keepdim=False, *, dtype=None: _numpy_functions.prod(x, dim, keepdims=keepdim)


@op("linalg_vector_norm")
def linalg_vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    if ord in (1, math.inf):
        return (glim.sum if ord == 1 else glim.max)(glim.abs(x), axes_of(dim), keepdim)
    if ord != 2:
        raise glim.ValueError(f"from_torch: a norm of order {ord}; there are 1, 2 and infinity")
    squares = glim.sum(x * x, axes_of(dim), keepdim)
    positive = squares.numpy() > 0  # the gradient at 0 is 0
    return glim.where(positive, glim.sqrt(glim.where(positive, squares, glim.Var(np.ones_like(squares.numpy())))), squares)


# ---- norms ----

@op("layer_norm")
def layer_norm(x, shape, weight=None, bias=None, eps=1e-5, cudnn=True):
    x, weight, bias = vars_of(x, weight, bias)
    return glim.layer_norm(x, list(shape), weight, bias, eps)


@op("rms_norm")
def rms_norm(x, shape, weight=None, eps=None):
    x, weight = vars_of(x, weight)
    return glim.rms_norm(x, list(shape), weight, float(np.finfo(x.dtype).eps) if eps is None else eps)


@op("_native_batch_norm_legit_no_training")
def batch_norm(x, weight, bias, mean, variance, momentum, eps):
    x, *rest = vars_of(x, weight, bias, mean, variance)
    weight, bias, mean, variance = (v if v is None else v.reshape((-1,) + (1,) * (x.ndim - 2)) for v in rest)
    y = (x - mean) / glim.sqrt(variance + eps)
    y = y if weight is None else y * weight
    return [y if bias is None else y + bias]


# ---- attention ----

SCALE = contextvars.ContextVar("scale", default=None)


@contextlib.contextmanager
def scaled(scale):
    """Within it, every attention has this factor of Q Kᵀ; None: its own."""
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
def scaled_dot_product_attention(query, key, value, mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False):
    query, key, value = vars_of(query, key, value)
    if enable_gqa and key.shape[-3] != query.shape[-3]:
        key, value = (_numpy_functions.repeat(x, query.shape[-3] // x.shape[-3], x.ndim - 3) for x in (key, value))
    if is_causal:
        mask = np.tril(np.ones((query.shape[-2], key.shape[-2]), bool))
    keep, bias = (None, mask) if mask is None or isinstance(mask, glim.Var) else kept_and_added(mask, query.dtype)
    query, key, value = (glim.named(x, name) for x, name in ((query, "query"), (key, "key"), (value, "value")))
    scale = next((s for s in (SCALE.get(), scale) if s is not None), query.shape[-1] ** -0.5) * math.sqrt(query.shape[-1])
    query = query if math.isclose(scale, 1, rel_tol=1e-12) else query * scale
    return glim.scaled_dot_product_attention(query, key, value, glim.AttentionMask(keep, bias))[0]


# ---- windows ----

def windows_of(x, kernel, stride, padding, dilation=1, fill=0.0):
    """(B, C, H', W', kh kw): every window of an image."""
    each = [[v, v] if isinstance(v, int) else list(v) * (2 // len(v)) for v in (kernel, stride or kernel, dilation, padding, padding)]
    patches = glim.unfold(glim.permute(x, (0, 2, 3, 1)), *(glim.Window(*w) for w in zip(*each)), fill)
    b, h, w = patches.shape[:3]
    return glim.permute(patches.reshape((b, h, w, -1, x.shape[1])), (0, 4, 1, 2, 3))


@op("avg_pool2d")
def avg_pool2d(x, kernel, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    if ceil_mode or divisor_override or not count_include_pad and np.any(padding):
        raise glim.ValueError("from_torch: avg_pool2d with ceil_mode, divisor_override, or padding that does not count")
    return glim.mean(windows_of(x, kernel, stride, padding), -1)


@op("max_pool2d_with_indices")
def max_pool2d(x, kernel, stride=None, padding=0, dilation=1, ceil_mode=False):
    if ceil_mode:
        raise glim.ValueError("from_torch: max_pool2d with ceil_mode")
    windows = windows_of(x, kernel, stride, padding, dilation, -math.inf)
    return [glim.squeeze(glim.gather(windows, -1, windows.numpy().argmax(-1)[..., None]), -1)]


# ---- writing into a part ----

@op("scatter_add")
def scatter_add(x, dim, ids, source):
    x, source = vars_of(x, source)
    return glim.scatter_add(x, dim, array(ids), source)


OPS["copy"] = lambda x, source, non_blocking=False: expand(source, x.shape) if isinstance(source, glim.Var) else vars_of(
    source.expand(x.shape), x)[0]

# ---- losses ----

@op("cross_entropy_loss")
def cross_entropy(x, target, weight=None, reduction=1, ignore_index=-100, label_smoothing=0.0):
    if isinstance(target, glim.Var) or target.is_floating_point():
        raise glim.ValueError("from_torch: cross_entropy with probabilities as targets: give classes")
    if x.ndim > 2:  # classes are torch's axis 1
        x = glim.permute(x, (0, *range(2, x.ndim), 1))
    weight = None if weight is None else array(weight, x.dtype)
    return glim.cross_entropy(x, array(target), weight=weight, ignore_index=ignore_index, label_smoothing=label_smoothing,
                              reduction=("none", "mean", "sum")[reduction])


# Ops of floating numbers whose result has no gradient: PyTorch computes them from the values.
VALUES_ALONE = {
    "sign", "floor", "ceil", "round", "trunc", "detach", "zeros_like", "ones_like", "full_like", "empty_like", "rand_like", "randn_like",
    "new_zeros", "new_ones", "new_full", "new_empty", "floor_divide", "sym_size", "_assert_tensor_metadata"}
