"""The ops of a PyTorch graph by those of Glim: OPS["softmax"](x, dim) for aten.softmax.

Arguments are those of the ATen op: Vars, numbers, lists, and tensors of PyTorch, which are constants. What is not listed
here is computed by PyTorch where no argument needs a gradient (VALUES_ALONE: or where the result has none), decomposed by
PyTorch into ops that are listed, or refused.
"""
import contextlib
import contextvars
import math

import glim
import numpy as np
import torch
from glim import _glim, _numpy_functions

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
    if dtype == x.dtype:
        return x
    if dtype not in ("float32", "float64"):
        raise glim.DTypeError(f"from_torch: a value that has a gradient becomes {dtype}; Glim has float32 and float64")
    return Cast(dtype)(x)


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
    for x in xs:
        if isinstance(x, torch.Tensor) and not x.is_floating_point():
            raise glim.DTypeError(f"from_torch: {name_of(x.dtype)} where numbers of {name_of(like.dtype)} are needed")
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


@op("rsub")
def rsub(a, b, *, alpha=1):
    return sub(b, a, alpha=alpha)


@op("mul")
def mul(a, b):
    a, b = both(a, b)
    return a * b


@op("div", "true_divide")
def div(a, b, *, rounding_mode=None):
    if rounding_mode:
        raise glim.ValueError(f"from_torch: div with rounding_mode='{rounding_mode}' has no gradient")
    a, b = both(a, b)
    return a / b


@op("pow")
def power(a, b):
    a, b = both(a, b)
    return a ** b


@op("maximum")
def maximum(a, b):
    return glim.maximum(*vars_of(a, b))


@op("minimum")
def minimum(a, b):
    return glim.minimum(*vars_of(a, b))


@op("where")
def where(condition, a, b):
    a, b = both(a, b)
    like = a if isinstance(a, glim.Var) else b
    a, b = (x if isinstance(x, glim.Var) else glim.Var(np.asarray(x, like.dtype)) for x in (a, b))
    return glim.where(array(condition), a, b)


@op("masked_fill")
def masked_fill(x, mask, value):
    return where(mask, value, x)


for _name in ("neg", "exp", "expm1", "log", "sqrt", "sin", "cos", "tanh", "sigmoid", "erf", "relu", "silu", "abs"):
    OPS[_name] = getattr(glim, _name)
OPS["rsqrt"] = lambda x: 1 / glim.sqrt(x)
OPS["reciprocal"] = lambda x: 1 / x
OPS["square"] = lambda x: x * x
OPS["log2"] = lambda x: glim.log(x) / math.log(2)
OPS["log10"] = lambda x: glim.log(x) / math.log(10)
OPS["exp2"] = lambda x: 2.0 ** x
OPS["tan"] = lambda x: glim.sin(x) / glim.cos(x)
OPS["log1p"] = lambda x: glim.log(1 + x)
OPS["gelu"] = lambda x, *, approximate="none": glim.gelu(x, "erf" if approximate == "none" else "tanh")
OPS["elu"] = lambda x, alpha=1.0, scale=1.0, inside=1.0: (lambda y: y if scale == 1 else y * scale)(
    glim.elu(x if inside == 1 else x * inside, alpha))
OPS["leaky_relu"] = lambda x, slope=0.01: glim.leaky_relu(x, slope)
OPS["clamp"] = lambda x, low=None, high=None: glim.clamp(x, -math.inf if low is None else low, math.inf if high is None else high)
OPS["clamp_min"] = lambda x, low: OPS["clamp"](x, low)
OPS["hardtanh"] = lambda x, low=-1.0, high=1.0: glim.clamp(x, low, high)


@op("softplus")
def softplus(x, beta=1.0, threshold=20.0):
    large = x.numpy() * beta > threshold
    return glim.where(large, x, glim.softplus(x, beta)) if large.any() else glim.softplus(x, beta)


# ---- products ----

@op("matmul", "mm", "bmm", "mv", "dot")
def matmul(a, b):
    a, b = vars_of(a, b)
    rows, columns = a.ndim == 1, b.ndim == 1
    y = (glim.unsqueeze(a, 0) if rows else a) @ (glim.unsqueeze(b, -1) if columns else b)
    y = glim.squeeze(y, -2) if rows and not columns else y
    return glim.squeeze(y, -1) if columns and not rows else y.reshape(()) if rows and columns else y


@op("addmm", "baddbmm")
def addmm(c, a, b, *, beta=1, alpha=1):
    y = matmul(a, b)
    return add(c if beta == 1 else mul(c, beta), y if alpha == 1 else y * alpha)


@op("linear")
def linear(x, weight, bias=None):
    return glim.linear(*vars_of(x, weight, bias))


def normalized(x, length):
    """A number for each axis, from one for all of them."""
    return [x] * length if isinstance(x, int) else list(x) * (length // len(x))


@op("conv1d", "conv2d")
def convolution(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    x, weight, bias = vars_of(x, weight, bias)
    count = weight.ndim - 2
    if x.ndim == count + 1:
        return glim.squeeze(convolution(glim.unsqueeze(x, 0), weight, bias, stride, padding, dilation, groups), 0)
    stride, dilation, kernel = normalized(stride, count), normalized(dilation, count), list(weight.shape[2:])
    if padding == "same":
        spans = [d * (k - 1) for d, k in zip(dilation, kernel)]
        around = [(s // 2, s - s // 2) for s in spans]
    else:
        around = [(p, p) for p in normalized(0 if padding == "valid" else padding, count)]
    windows = [glim.Window(k, s, d, before, after) for k, s, d, (before, after) in zip(kernel, stride, dilation, around)]
    if count == 1:
        x, weight, windows = glim.unsqueeze(x, -1), glim.unsqueeze(weight, -1), [*windows, glim.Window(1)]
    b, c, out, (kh, kw) = x.shape[0], x.shape[1], weight.shape[0], weight.shape[2:]
    patches = glim.unfold(glim.permute(x, (0, 2, 3, 1)), *windows)                       # (B, H', W', kh, kw, C)
    height, width = patches.shape[1:3]
    patches = patches.reshape((b, height, width, kh * kw, groups, c // groups))
    patches = glim.permute(patches, (4, 0, 1, 2, 5, 3)).reshape((groups, b * height * width, -1))  # columns: channel, window
    y = patches @ glim.transpose(weight.reshape((groups, out // groups, -1)))
    y = glim.permute(y.reshape((groups, b, height, width, -1)), (1, 0, 4, 2, 3)).reshape((b, out, height, width))
    if bias is not None:
        y = y + bias.reshape((out, 1, 1))
    return glim.squeeze(y, -1) if count == 1 else y


# ---- shapes ----

@op("view", "reshape", "_unsafe_view", "view_as", "reshape_as")
def reshape(x, shape):
    return x.reshape(tuple(shape.shape if hasattr(shape, "shape") else shape))


@op("flatten")
def flatten(x, start=0, end=-1):
    start, end = start % max(x.ndim, 1), end % max(x.ndim, 1)
    return x.reshape((*x.shape[:start], -1, *x.shape[end + 1:]))


@op("unflatten")
def unflatten(x, dim, sizes):
    dim %= x.ndim
    return x.reshape((*x.shape[:dim], *sizes, *x.shape[dim + 1:]))


@op("expand", "expand_as")
def expand(x, shape, *, implicit=False):
    shape = list(shape.shape if hasattr(shape, "shape") else shape)
    own = [1] * (len(shape) - x.ndim) + list(x.shape)
    return glim.broadcast_to(x, [n if s == -1 else s for s, n in zip(shape, own)])


@op("repeat")
def repeat(x, times):
    x = x.reshape((1,) * (len(times) - x.ndim) + tuple(x.shape))
    for axis, n in enumerate(times):
        if n != 1:
            x = glim.concatenate([x] * n, axis)
    return x


@op("repeat_interleave")
def repeat_interleave(x, repeats, dim=None, *, output_size=None):
    x, dim = (x.reshape(-1), 0) if dim is None else (x, dim)
    return glim.index_select(x, dim, np.repeat(np.arange(x.shape[dim]), array(repeats)))


@op("t")
def t(x):
    return glim.transpose(x) if x.ndim == 2 else x


@op("squeeze")
def squeeze(x, dim=None):
    dims = range(x.ndim) if dim is None else [d % x.ndim for d in axes_of(dim)]
    return x.reshape([n for axis, n in enumerate(x.shape) if axis not in dims or n != 1])


@op("slice")
def slice_(x, dim=0, start=None, end=None, step=1):
    n = x.shape[dim]
    start, end, _ = slice(start, end, step).indices(n)
    return x if (start, end, step) == (0, n, 1) else glim.slice(x, dim, start, max(end, start), step)


@op("split", "split_with_sizes")
def split(x, lengths, dim=0):
    n = x.shape[dim]
    if isinstance(lengths, int):
        lengths = [min(lengths, n - k) for k in range(0, n, lengths)]
    return glim.split(x, dim, list(lengths))


@op("chunk")
def chunk(x, chunks, dim=0):
    return split(x, -(-x.shape[dim] // chunks), dim)


@op("pad", "constant_pad_nd")
def pad(x, widths, mode="constant", value=None):
    if isinstance(mode, (int, float)):
        mode, value = "constant", mode
    if mode != "constant":
        raise glim.ValueError(f"from_torch: pad with mode='{mode}'; Glim pads with a constant")
    pairs = [(0, 0)] * (x.ndim - len(widths) // 2) + [(widths[k], widths[k + 1]) for k in range(len(widths) - 2, -1, -2)]
    return glim.pad(x, pairs, value or 0)


@op("cat", "concat")
def cat(parts, dim=0):
    return glim.concatenate(vars_of(*(p for p in parts if tuple(p.shape) != (0,))), dim)


@op("stack")
def stack(parts, dim=0):
    return glim.stack(vars_of(*parts), dim)


OPS["transpose"] = lambda x, a, b: glim.transpose(x, a, b)
OPS["swapaxes"] = OPS["transpose"]
OPS["permute"] = lambda x, dims: glim.permute(x, list(dims))
OPS["unsqueeze"] = lambda x, dim: glim.unsqueeze(x, dim)
OPS["select"] = lambda x, dim, index: glim.select(x, dim, index)
OPS["narrow"] = lambda x, dim, start, length: glim.narrow(x, dim, int(start), length)
OPS["unbind"] = lambda x, dim=0: [glim.select(x, dim, k) for k in range(x.shape[dim])]
OPS["tril"] = lambda x, diagonal=0: glim.tril(x, diagonal)
OPS["triu"] = lambda x, diagonal=0: glim.triu(x, diagonal)
OPS["flip"] = _numpy_functions.flip
OPS["diagonal"] = _numpy_functions.diagonal
OPS["getitem"] = lambda parts, k: parts[k]
OPS["dropout"] = lambda x, p, train: x  # train() mode is refused before
for _name in ("clone", "contiguous", "alias", "lift_fresh_copy", "detach_copy", "positive"):
    OPS[_name] = lambda x, **_: x


@op("to", "_to_copy", "type_as")
def to_(x, *rest, dtype=None, **_):
    for given in (dtype, *rest):
        if isinstance(given, torch.dtype):
            return to(x, given)
        if isinstance(given, (torch.Tensor, glim.Var)):
            return to(x, given.dtype)
    return x


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

@op("sum")
def sum_(x, dim=None, keepdim=False, *, dtype=None):
    return glim.sum(to(x, dtype or x.dtype), axes_of(dim), keepdim)


@op("mean")
def mean(x, dim=None, keepdim=False, *, dtype=None):
    return glim.mean(to(x, dtype or x.dtype), axes_of(dim), keepdim)


@op("amax")
def amax(x, dim=(), keepdim=False):
    return glim.max(x, axes_of(dim), keepdim)


@op("amin")
def amin(x, dim=(), keepdim=False):
    return glim.min(x, axes_of(dim), keepdim)


@op("var")
def variance(x, dim=None, unbiased=True, keepdim=False, *, correction=None):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return glim.var(x, axes_of(dim), float(unbiased) if correction is None else correction, keepdim)


OPS["std"] = lambda *args, **kwargs: glim.sqrt(variance(*args, **kwargs))
@op("logsumexp")
def logsumexp(x, dim, keepdim=False):
    axes = [d % x.ndim for d in axes_of(dim)]
    if len(axes) == 1:
        return glim.logsumexp(x, axes[0], keepdim)
    kept = [d for d in range(x.ndim) if d not in axes]
    y = glim.logsumexp(glim.permute(x, kept + axes).reshape([x.shape[d] for d in kept] + [-1]), -1)
    return y.reshape([1 if d in axes else n for d, n in enumerate(x.shape)]) if keepdim else y


OPS["cumsum"] = lambda x, dim, *, dtype=None: glim.cumsum(to(x, dtype or x.dtype), dim)
OPS["cumprod"] = lambda x, dim, *, dtype=None: glim.cumprod(to(x, dtype or x.dtype), dim)


def chosen(f):
    """An op that chooses elements along an axis: PyTorch says which, and the gradient goes to those."""
    def choose(x, *args, **kwargs):
        with torch.no_grad():
            result = f(torch.from_numpy(np.array(x.numpy())), *args, **kwargs)
        if isinstance(result, torch.Tensor):  # of all elements: equal ones share the gradient
            return {torch.max: glim.max, torch.min: glim.min}[f](x)
        values, ids = result
        axis = next((a for a in (*args, kwargs.get("dim")) if isinstance(a, int) and not isinstance(a, bool)), -1)
        axis = kwargs.get("dim", args[1] if f is torch.topk and len(args) > 1 else -1 if f is torch.topk else axis)
        reduced_axis = values.ndim < x.ndim
        y = gather(x, axis, array(ids.unsqueeze(axis) if reduced_axis else ids))
        return glim.squeeze(y, axis) if reduced_axis else y, ids
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


@op("softmax", "_softmax")
def softmax(x, dim, dtype=None):
    return glim.softmax(to(x, dtype) if isinstance(dtype, torch.dtype) else x, dim)


@op("log_softmax", "_log_softmax")
def log_softmax(x, dim, dtype=None):
    return glim.log_softmax(to(x, dtype) if isinstance(dtype, torch.dtype) else x, dim)


# ---- norms ----

@op("layer_norm")
def layer_norm(x, shape, weight=None, bias=None, eps=1e-5, cudnn=True):
    x, weight, bias = vars_of(x, weight, bias)
    return glim.layer_norm(x, list(shape), weight, bias, eps)


@op("rms_norm")
def rms_norm(x, shape, weight=None, eps=None):
    x, weight = vars_of(x, weight)
    return glim.rms_norm(x, list(shape), weight, float(np.finfo(x.dtype).eps) if eps is None else eps)


@op("group_norm")
def group_norm(x, groups, weight=None, bias=None, eps=1e-5, cudnn=True):
    x, weight, bias = vars_of(x, weight, bias)
    own = (1, x.shape[1]) + (1,) * (x.ndim - 2)
    parts = x.reshape((x.shape[0], groups, -1))
    y = glim.layer_norm(parts, [parts.shape[2]], None, None, eps).reshape(x.shape)
    y = y if weight is None else y * weight.reshape(own)
    return y if bias is None else y + bias.reshape(own)


@op("_native_batch_norm_legit_no_training")
def batch_norm(x, weight, bias, mean, variance, momentum, eps):
    x, weight, bias, mean, variance = vars_of(x, weight, bias, mean, variance)
    own = (1, x.shape[1]) + (1,) * (x.ndim - 2)
    y = (x - mean.reshape(own)) / glim.sqrt(variance.reshape(own) + eps)
    y = y if weight is None else y * weight.reshape(own)
    return [y if bias is None else y + bias.reshape(own)]


@op("_native_batch_norm_legit")
def batch_norm_of_the_batch(x, weight, bias, training, momentum, eps):
    axes = [0, *range(2, x.ndim)]  # without running statistics, as in instance_norm
    return batch_norm(x, weight, bias, glim.mean(x, axes), glim.var(x, axes, 0), momentum, eps)


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
        key, value = (repeat_interleave(x, query.shape[-3] // x.shape[-3], x.ndim - 3) for x in (key, value))
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
    kernel, stride, padding, dilation = (normalized(v, 2) for v in (kernel, stride or kernel, padding, dilation))
    patches = glim.unfold(glim.permute(x, (0, 2, 3, 1)), *(glim.Window(*w) for w in zip(kernel, stride, dilation, padding, padding)), fill)
    b, h, w = patches.shape[:3]
    return glim.permute(patches.reshape((b, h, w, -1, x.shape[1])), (0, 4, 1, 2, 3))


@op("avg_pool2d")
def avg_pool2d(x, kernel, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    if ceil_mode or divisor_override or not count_include_pad and any(normalized(padding, 2)):
        raise glim.ValueError("from_torch: avg_pool2d with ceil_mode, divisor_override, or padding that does not count")
    return glim.mean(windows_of(x, kernel, stride, padding), -1)


@op("max_pool2d_with_indices")
def max_pool2d(x, kernel, stride=None, padding=0, dilation=1, ceil_mode=False):
    if ceil_mode:
        raise glim.ValueError("from_torch: max_pool2d with ceil_mode")
    windows = windows_of(x, kernel, stride, padding, dilation, -math.inf)
    return [glim.squeeze(glim.gather(windows, -1, windows.numpy().argmax(-1)[..., None]), -1)]


@op("_adaptive_avg_pool2d")
def adaptive_avg_pool2d(x, size):
    if any(n % m for n, m in zip(x.shape[-2:], size)):
        raise glim.ValueError(f"from_torch: adaptive_avg_pool2d of {tuple(x.shape[-2:])} to {tuple(size)}: windows of one size are needed")
    return avg_pool2d(x, [n // m for n, m in zip(x.shape[-2:], size)])


# ---- writing into a part ----

@op("scatter_add")
def scatter_add(x, dim, ids, source):
    x, source = vars_of(x, source)
    return glim.scatter_add(x, dim, array(ids), source)


@op("slice_scatter")
def slice_scatter(x, source, dim=0, start=None, end=None, step=1):
    x, source = vars_of(x, source)
    start, end, step = slice(start, end, step).indices(x.shape[dim])
    inside = np.zeros(x.shape, bool)
    inside[(slice(None),) * (dim % x.ndim) + (slice(start, end, step),)] = True
    return glim.where(inside, glim.unslice(source, x.shape, dim, start, step), x)


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
                              reduction=REDUCTIONS[reduction])


@op("nll_loss")
def nll_loss(x, target, weight=None, reduction=1, ignore_index=-100):
    if x.ndim > 2:
        x = glim.permute(x, (0, *range(2, x.ndim), 1))
    target = array(target)
    share = (target != ignore_index) * (1.0 if weight is None else array(weight)[np.maximum(target, 0)])
    picked = glim.squeeze(glim.gather(x, -1, np.where(target == ignore_index, 0, target)[..., None]), -1)
    loss = -picked * glim.Var(share.astype(x.dtype))
    return loss.sum() / float(share.sum()) if reduction == 1 else reduced(loss, reduction)


REDUCTIONS = ["none", "mean", "sum"]


def reduced(loss, reduction):
    return (loss, loss.mean(), loss.sum())[reduction] if reduction else loss


@op("mse_loss")
def mse_loss(x, y, reduction=1):
    difference = sub(x, y)
    return reduced(difference * difference, reduction)


@op("l1_loss")
def l1_loss(x, y, reduction=1):
    return reduced(glim.abs(sub(x, y)), reduction)


@op("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(x, target, weight=None, pos_weight=None, reduction=1):
    loss = mul(target, glim.softplus(-x)) + mul(sub(1, target), glim.softplus(x))
    return reduced(loss if weight is None else mul(loss, weight), reduction)


# Ops whose result has no gradient: PyTorch computes them from the values.
VALUES_ALONE = {
    "eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "isfinite", "argmax", "argmin", "argsort", "sign", "floor", "ceil", "round",
    "trunc", "any", "all", "logical_not", "logical_and", "logical_or", "bitwise_not", "nonzero", "detach", "zeros_like", "ones_like",
    "full_like", "empty_like", "rand_like", "randn_like", "new_zeros", "new_ones", "new_full", "new_empty", "floor_divide",
    "_shape_as_tensor", "sym_size", "item", "_local_scalar_dense"}
