"""Which function of Glim an operator of torch is: OPS["amax"](x, dim, keepdim), with torch's arguments.

Tensors come as Vars; those of integers and bools as NumPy arrays. Some operators are a line of several functions of Glim.
Arguments that an entry does not name skip the case.
"""

import math

import numpy as np

import glim

from .count import Skip, g

OPS = {}


def op(*names):
    def register(f):
        OPS.update(dict.fromkeys(names, f))
        return f

    return register


def need(condition, reason):
    if not condition:
        raise Skip(reason)


def of_dtype(x, dtype):
    need(dtype is None or dtype == getattr(x, "dtype", None), "converts to another dtype")
    return x


def axis(x, dim):
    need(x.ndim > 0, "convention: torch takes axis 0 of a tensor without axes")
    return dim


def axes(x, dim):
    """torch's dim: None, [] and () are all axes."""
    if dim is None:
        return ()
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    return tuple(axis(x, d) for d in dims)


def apart(x, dim, what=g):
    """x split along an axis, a part for each index."""
    return [what.select(x, dim, k) for k in range(x.shape[dim])]


def last(x, dim):
    """x with an axis moved behind the others."""
    order = [d for d in range(x.ndim) if d != dim % x.ndim] + [dim % x.ndim]
    return g.permute(x, order)


# ---- functions of each element ----
for name in "exp log sqrt sin cos abs tanh sigmoid erf neg".split():
    OPS[name] = lambda x, name=name: getattr(g, name)(x)
for name in ("relu", "silu"):
    OPS["nn.functional." + name] = lambda x, name=name: getattr(g, name)(x)
OPS |= {
    "positive": lambda x: +1 * x,
    "square": lambda x: x * x,
    "reciprocal": lambda x: 1 / x,
    "rsqrt": lambda x: 1 / g.sqrt(x),
    "tan": lambda x: g.sin(x) / g.cos(x),
    "cosh": lambda x: (g.exp(x) + g.exp(-x)) / 2,
    "exp2": lambda x: g.exp(x * math.log(2)),
    "expm1": lambda x: g.expm1(x),
    "log1p": lambda x: g.log1p(x),
    "log2": lambda x: g.log(x) / math.log(2),
    "log10": lambda x: g.log(x) / math.log(10),
    "erfc": lambda x: 1 - g.erf(x),
    "deg2rad": lambda x: x * (math.pi / 180),
    "rad2deg": lambda x: x * (180 / math.pi),
    "nn.functional.softsign": lambda x: x / (1 + g.abs(x)),
    "nn.functional.logsigmoid": lambda x: -g.softplus(-x),
    "nn.functional.mish": lambda x: x * g.tanh(g.softplus(x)),
    "nn.functional.tanhshrink": lambda x: x - g.tanh(x),
    "nn.functional.softshrink": lambda x, lambd=0.5: x - g.clamp(x, -lambd, lambd),
    "nn.functional.hardtanh": lambda x, min_val=-1.0, max_val=1.0: g.clamp(x, min_val, max_val),
    "nn.functional.relu6": lambda x: g.clamp(x, 0, 6),
    "nn.functional.hardsigmoid": lambda x: g.clamp(x + 3, 0, 6) / 6,
    "nn.functional.hardswish": lambda x: x * g.clamp(x + 3, 0, 6) / 6,
    "nn.functional.gelu": lambda x, approximate="none": g.gelu(x, {"none": "erf"}.get(approximate, approximate)),
    "nn.functional.leaky_relu": lambda x, negative_slope=0.01: g.leaky_relu(x, negative_slope),
    "nn.functional.elu": lambda x, alpha=1.0: g.elu(x, alpha),
    "nn.functional.celu": lambda x, alpha=1.0: alpha * g.elu(x / alpha, 1.0),
    "nn.functional.selu": lambda x: 1.0507009873554804934193349852946 * g.elu(x, 1.6732632423543772848170429916717),
}


@op("nn.functional.softplus")
def softplus(x, beta=1.0, threshold=20.0):
    need((x.numpy() * beta <= threshold).all(), "convention: torch's softplus is a line from its threshold on")
    return g.softplus(x) if beta == 1 else g.softplus(x, beta)


@op("clamp")
def clamp(x, min=None, max=None):
    if isinstance(min, glim.Var):
        x = g.maximum(x, min)
    if isinstance(max, glim.Var):
        x = g.minimum(x, max)
    low, high = (bound if isinstance(bound, (int, float)) else None for bound in (min, max))
    if low is None and high is None:
        return x
    return g.clamp(x, -math.inf if low is None else low, math.inf if high is None else high)


OPS["clamp_min"] = lambda x, min: clamp(x, min)
OPS["clamp_max"] = lambda x, max: clamp(x, None, max)


@op("nn.functional.threshold")
def threshold(x, threshold, value):
    return g.where(g.greater(x, threshold), x, g.full((), value, dtype="float64"))


@op("nn.functional.hardshrink")
def hardshrink(x, lambd=0.5):
    return g.where(g.greater(g.abs(x), lambd), x, g.zeros((), dtype="float64"))


# ---- arithmetic ----
def power(x, y):
    try:
        return g.pow(x, y)
    except TypeError as error:
        need(isinstance(y, (int, float)), "not in Glim: pow with a tensor as its exponent")
        raise


def scaled(x, c):
    return x if c == 1 else x * c


OPS |= {
    "add": lambda x, other, alpha=1: x + scaled(other, alpha),
    "sub": lambda x, other, alpha=1: x - scaled(other, alpha),
    "rsub": lambda x, other, alpha=1: other - scaled(x, alpha),
    "mul": lambda x, other: x * other,
    "div.no_rounding_mode": lambda x, other: x / other,
    "true_divide": lambda x, other: x / other,
    "__radd__": lambda x, other: other + x,
    "__rsub__": lambda x, other: other - x,
    "__rmul__": lambda x, other: other * x,
    "__rdiv__": lambda x, other: other / x,
    "__rpow__": lambda x, other: power(other, x),
    "pow": power,
    "float_power": power,
    "maximum": lambda x, other: g.maximum(x, other),
    "minimum": lambda x, other: g.minimum(x, other),
    "max.binary": lambda x, other: g.maximum(x, other),
    "min.binary": lambda x, other: g.minimum(x, other),
    "where": lambda x, condition, other: g.where(condition, x, other),
    "masked_fill": lambda x, mask, value: g.where(mask, value if isinstance(value, glim.Var) else g.full((), value, dtype=x.dtype), x),
    "hypot": lambda x, other: g.sqrt(x * x + other * other),
    "logaddexp": lambda x, other: g.maximum(x, other) + g.softplus(-g.abs(x - other)),
    "addcmul": lambda x, a, b, value=1: x + scaled(a * b, value),
    "addcdiv": lambda x, a, b, value=1: x + scaled(a / b, value),
    "lerp": lambda x, end, weight: x + weight * (end - x),
    "nn.functional.prelu": lambda x, weight: g.maximum(x, 0 * x) + shaped(weight, x) * g.minimum(x, 0 * x),
    "eq": lambda x, other: g.equal(x, other),
    "ne": lambda x, other: g.not_equal(x, other),
    "lt": lambda x, other: g.less(x, other),
    "le": lambda x, other: g.less_equal(x, other),
    "gt": lambda x, other: g.greater(x, other),
    "ge": lambda x, other: g.greater_equal(x, other),
    "logical_and": lambda x, other: g.logical_and(truth(x), truth(other)),
    "logical_or": lambda x, other: g.logical_or(truth(x), truth(other)),
    "logical_xor": lambda x, other: g.not_equal(truth(x), truth(other)),
    "logical_not": lambda x: g.logical_not(truth(x)),
}


def truth(x):
    """torch's logic takes numbers, too."""
    return g.not_equal(x, 0.0) if getattr(x, "dtype", "bool") != "bool" else x


def shaped(weight, x):
    """The channels of a weight beside x (B, C, ...)."""
    return g.reshape(weight, (1,) * x.ndim) if weight.size == 1 else g.reshape(weight, (-1,) + (1,) * max(0, x.ndim - 2))


# ---- shape ----
def moved(x, source, destination):
    need(x.ndim > 0, "convention: torch takes axis 0 of a tensor without axes")
    sources, ends = ([d % x.ndim for d in ((side,) if isinstance(side, int) else side)] for side in (source, destination))
    order = [d for d in range(x.ndim) if d not in sources]
    for end, start in sorted(zip(ends, sources)):
        order.insert(end, start)
    return g.permute(x, order)


def chunk(x, chunks, dim=0):
    size = x.shape[axis(x, dim)]
    each = -(-size // chunks) or 1
    lengths = [each] * (size // each) + [size % each] * (size % each > 0) if size else [0] * chunks
    return g.split(x, dim, lengths)


def split(x, split_size_or_sections, dim=0):
    sizes = split_size_or_sections
    if isinstance(sizes, int):
        size = x.shape[axis(x, dim)]
        need(sizes > 0, "convention: torch splits by 0")
        sizes = [min(sizes, size - k) for k in range(0, size, sizes)] or [0]
    return g.split(x, dim, sizes)


def squeeze(x, dim=None):
    dims = range(x.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    for d in sorted((d % x.ndim for d in dims if x.ndim), reverse=True):
        if dim is None and x.shape[d] != 1:
            continue
        need(x.shape[d] == 1, "convention: torch leaves an axis of more than one element when it is to be squeezed")
        x = g.squeeze(x, d)
    return x


def expanded(x, shape):
    shape = tuple(shape)
    before = len(shape) - x.ndim
    return g.broadcast_to(x, tuple(x.shape[k - before] if n == -1 else n for k, n in enumerate(shape)))


def reversed_along(x, dims):
    for d in dims:
        x = g.index_select(x, d, np.arange(x.shape[axis(x, d)])[::-1].copy())
    return x


def joined(parts, dim=0):
    need(all(p is not None for p in parts), "a part that is None")
    kept = [p for p in parts if p.shape != (0,)]  # torch leaves out vectors of nothing
    return g.concatenate(kept or list(parts), dim)


def at_least(rank):
    def of(x):
        while x.ndim < rank:
            x = g.unsqueeze(x, 0 if x.ndim != 2 else 2)
        return x

    return lambda *xs: of(xs[0]) if len(xs) == 1 and not isinstance(xs[0], (list, tuple)) else [of(x) for x in (xs[0] if len(xs) == 1 else xs)]


@op("__getitem__")
def item(x, key):
    need(not isinstance(key, list), "an index that is a list of lists")
    parts = key if isinstance(key, tuple) else (key,)
    if any(isinstance(p, (np.ndarray, list)) for p in parts):
        try:
            return x[key]
        except glim.DTypeError as error:
            need("take arrays" not in str(error), "not in Glim: indices that are arrays")
            raise
    return x[key]


OPS |= {
    **dict.fromkeys(("reshape", "view", "view_copy"), lambda x, shape: g.reshape(x, shape)),
    **dict.fromkeys(("reshape_as", "view_as"), lambda x, other: g.reshape(x, other.shape)),
    **dict.fromkeys(("permute", "permute_copy"), lambda x, dims: g.permute(x, dims)),
    **dict.fromkeys(("transpose", "transpose_copy"), lambda x, dim0, dim1: g.transpose(x, axis(x, dim0), dim1)),
    **dict.fromkeys(("t", "t_copy", "T"), lambda x: x if x.ndim < 2 else g.transpose(x, 0, 1)),
    "mT": lambda x: g.transpose(x),
    "movedim": moved,
    **dict.fromkeys(("squeeze", "squeeze.multiple", "squeeze_copy"), squeeze),
    **dict.fromkeys(("unsqueeze", "unsqueeze_copy"), lambda x, dim: g.unsqueeze(x, dim)),
    "ravel": lambda x: g.reshape(x, -1),
    "flatten": lambda x, start_dim=0, end_dim=-1: g.reshape(
        x, x.shape[: start_dim % max(1, x.ndim)] + (math.prod(x.shape[start_dim % max(1, x.ndim) : end_dim % max(1, x.ndim) + 1]),)
        + x.shape[end_dim % max(1, x.ndim) + 1 :]),
    "unflatten": lambda x, dim, sizes: g.reshape(
        x, x.shape[: dim % max(1, x.ndim)] + inferred(sizes, x.shape[axis(x, dim)]) + x.shape[dim % x.ndim + 1 :]),
    "broadcast_to": lambda x, size: expanded(x, size),
    **dict.fromkeys(("expand", "expand_copy"), lambda x, size: expanded(x, size)),
    "expand_as": lambda x, other: expanded(x, other.shape),
    **dict.fromkeys(("narrow", "narrow_copy"), lambda x, dim, start, length: g.narrow(
        x, axis(x, dim), int(start) + (x.shape[dim] if start < 0 else 0), length)),
    "select": lambda x, dim, index: g.select(x, axis(x, dim), index),
    "slice": lambda x, dim=0, start=None, end=None, step=1: x[(slice(None),) * (axis(x, dim) % x.ndim) + (slice(start, end, step),)],
    **dict.fromkeys(("chunk", "unsafe_chunk"), chunk),
    **dict.fromkeys(("split", "split.list_args", "unsafe_split", "split_with_sizes", "split_with_sizes_copy"), split),
    **dict.fromkeys(("unbind", "unbind_copy"), lambda x, dim=0: apart(x, axis(x, dim))),
    "cat": joined,
    "stack": lambda parts, dim=0: g.stack(parts, dim),
    "hstack": lambda parts: joined([at_least(1)(p) for p in parts], 0 if parts[0].ndim < 2 else 1),
    "vstack": lambda parts: joined([at_least(2)(p) for p in parts], 0),
    "column_stack": lambda parts: joined([g.reshape(p, (-1, 1)) if p.ndim < 2 else p for p in parts], 1),
    "atleast_1d": at_least(1),
    "atleast_2d": at_least(2),
    "tril": lambda x, diagonal=0: g.tril(x, diagonal),
    "triu": lambda x, diagonal=0: g.triu(x, diagonal),
    "flip": reversed_along,
    "fliplr": lambda x: reversed_along(x, [1]),
    "flipud": lambda x: reversed_along(x, [0]),
    **dict.fromkeys(("clone", "contiguous", "alias_copy"), lambda x: g.reshape(x, x.shape)),
    "constant_pad_nd": lambda x, pad, value=0.0: padded(x, pad, value),
}


def inferred(sizes, whole):
    sizes = tuple(sizes)
    return tuple(whole // max(1, -math.prod(sizes)) if n == -1 else n for n in sizes)


def padded(x, pad, value=0.0):
    """torch's pad: (before, after) of the last axis first."""
    widths = [(0, 0)] * (x.ndim - len(pad) // 2) + [tuple(pad[k : k + 2]) for k in range(len(pad) - 2, -1, -2)]
    return g.pad(x, widths, value or 0.0)


@op("nn.functional.pad.constant")
def pad_constant(x, pad, mode="constant", value=None):
    return padded(x, pad, value)


# ---- reductions ----
def spread(x, dim=None, unbiased=True, correction=None, keepdim=False):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    correction = (1 if unbiased else 0) if correction is None else correction
    of = axes(x, dim)
    count = math.prod(x.shape[d] for d in of) if of else x.size
    need(count > correction, "convention: a variance without degrees of freedom")
    return g.var(x, of, correction, keepdim)


def mean(x, dim=None, keepdim=False, dtype=None):
    return g.mean(of_dtype(x, dtype), axes(x, dim), keepdim)


def over_all_but(f, x, dims, keepdim):
    """f of one axis, for several: all, if there are none."""
    dims = [d % x.ndim for d in dims or range(x.ndim)]
    order = [d for d in range(x.ndim) if d not in dims]
    y = f(g.reshape(g.permute(x, order + dims), [x.shape[d] for d in order] + [math.prod(x.shape[d] for d in dims)]))
    return g.reshape(y, [1 if d in dims else x.shape[d] for d in range(x.ndim)]) if keepdim else y


def logsumexp(x, dim, keepdim=False):
    return over_all_but(g.logsumexp, x, axes(x, dim), keepdim)


def extreme(name):
    def of(x, dim=None, keepdim=False):
        y = getattr(g, name)(x, axes(x, dim), keepdim)
        return y if dim is None else (y, getattr(g, "arg" + name)(x, dim, keepdim))

    return of


def cumulative(name):
    return lambda x, dim, dtype=None: getattr(g, name)(of_dtype(x, dtype), axis(x, dim))


OPS |= {
    "sum": lambda x, dim=None, keepdim=False, dtype=None: g.sum(of_dtype(x, dtype), axes(x, dim), keepdim),
    "mean": mean,
    "amax": lambda x, dim=(), keepdim=False: g.max(x, axes(x, dim), keepdim),
    "amin": lambda x, dim=(), keepdim=False: g.min(x, axes(x, dim), keepdim),
    "max.reduction_no_dim": lambda x: g.max(x),
    "min.reduction_no_dim": lambda x: g.min(x),
    "max.reduction_with_dim": extreme("max"),
    "min.reduction_with_dim": extreme("min"),
    "argmax": lambda x, dim=None, keepdim=False: arg("argmax", x, dim, keepdim),
    "argmin": lambda x, dim=None, keepdim=False: arg("argmin", x, dim, keepdim),
    **dict.fromkeys(("var", "var.unbiased"), spread),
    **dict.fromkeys(("std", "std.unbiased"), lambda x, *a, **k: g.sqrt(spread(x, *a, **k))),
    **dict.fromkeys(("var_mean", "var_mean.unbiased"), lambda x, *a, **k: (spread(x, *a, **k), mean_beside(x, *a, **k))),
    **dict.fromkeys(("std_mean", "std_mean.unbiased"), lambda x, *a, **k: (g.sqrt(spread(x, *a, **k)), mean_beside(x, *a, **k))),
    "sum_to_size": lambda x, *size: g.sum_to(x, size[0] if len(size) == 1 and not isinstance(size[0], int) else size),
    "logsumexp": logsumexp,
    "cumsum": cumulative("cumsum"),
    "cumprod": cumulative("cumprod"),
    "logcumsumexp": cumulative("logcumsumexp"),
    "cummax": cumulative("cummax"),
    "cummin": cumulative("cummin"),
    **dict.fromkeys(("softmax", "softmax.with_dtype"), lambda x, dim, dtype=None: g.softmax(of_dtype(x, dtype), axis(x, dim))),
    **dict.fromkeys(("log_softmax", "log_softmax.with_dtype"), lambda x, dim, dtype=None: g.log_softmax(of_dtype(x, dtype), axis(x, dim))),
    **dict.fromkeys(("nn.functional.softmin", "nn.functional.softmin.with_dtype"),
                    lambda x, dim, dtype=None: g.softmax(-of_dtype(x, dtype), axis(x, dim))),
}


def arg(name, x, dim, keepdim):
    need(dim is not None or not keepdim, "the place in all elements, with their axes kept")
    return getattr(g, name)(x) if dim is None else getattr(g, name)(x, axis(x, dim), keepdim)


def mean_beside(x, dim=None, unbiased=True, correction=None, keepdim=False):
    return mean(x, None if isinstance(dim, bool) else dim, keepdim)


# ---- products ----
def batch_sum(x):
    return g.sum(x, (0,))


OPS |= {
    **dict.fromkeys(("matmul", "mm", "bmm", "mv", "dot", "vdot"), lambda x, other: x @ other),
    "__rmatmul__": lambda x, other: other @ x,
    "inner": lambda x, other: x * other if 0 in (x.ndim, other.ndim) else product_of_last(x, other),
    "outer": lambda x, other: g.unsqueeze(x, 1) * g.unsqueeze(other, 0),
    **dict.fromkeys(("addmm", "addmm.decomposed", "addmv", "baddbmm"),
                    lambda x, a, b, beta=1, alpha=1: scaled(x, beta) + scaled(a @ b, alpha)),
    "addbmm": lambda x, a, b, beta=1, alpha=1: scaled(x, beta) + scaled(batch_sum(a @ b), alpha),
    "addr": lambda x, a, b, beta=1, alpha=1: scaled(x, beta) + scaled(g.unsqueeze(a, 1) * g.unsqueeze(b, 0), alpha),
    "nn.functional.linear": lambda x, weight, bias=None: g.linear(x, weight, bias),
}


def product_of_last(x, other):
    flat = g.reshape(x, (-1, x.shape[-1])) @ g.transpose(g.reshape(other, (-1, other.shape[-1])))
    return g.reshape(flat, x.shape[:-1] + other.shape[:-1])


# ---- index ----
def wrapped(index):
    return np.asarray(index, dtype=np.int64)


def add_at(x, dim, index, source, alpha=1):
    need(x.ndim > 0, "convention: torch takes axis 0 of a tensor without axes")
    return x + scaled(g.index_add(x.shape, dim, np.atleast_1d(index), source), alpha)


def gather(x, dim, index, sparse_grad=False):
    need(x.ndim == index.ndim and x.ndim > 0, "convention: torch gathers from a tensor without axes")
    return g.gather(x, dim, index)


def scatter_add(x, dim, index, src):
    need(x.ndim == index.ndim == src.ndim and x.ndim > 0, "convention: torch scatters into a tensor without axes")
    need(index.shape == src.shape, "convention: torch takes an index smaller than its source")
    return g.scatter_add(x, dim, index, src)


def take_along(x, index, dim=None):
    if dim is None:
        return g.gather(g.reshape(x, -1), 0, index.ravel())
    index = index % max(1, x.shape[dim])
    need(all(n == m for k, (n, m) in enumerate(zip(x.shape, index.shape)) if k != dim % x.ndim), "an index that broadcasts")
    return g.gather(x, dim, index)


OPS |= {
    "gather": gather,
    "scatter_add": scatter_add,
    "take_along_dim": take_along,
    "take": lambda x, index: g.reshape(g.gather(g.reshape(x, -1), 0, index.ravel() % max(1, x.size)), index.shape),
    "index_select": lambda x, dim, index: g.index_select(x, axis(x, dim), np.atleast_1d(index)),
    "index_add": add_at,
    "sort": lambda x, dim=-1, descending=False, stable=False: g.sort(x, axis(x, dim), descending),
    "msort": lambda x: g.sort(x, axis(x, 0))[0],
    "nn.functional.embedding": lambda weight, index: g.reshape(
        g.index_select(weight, 0, index.ravel()), index.shape + weight.shape[1:]),
}


@op("topk")
def topk(x, k, dim=-1, largest=True, sorted=True):
    values, indices = g.top_k(x if largest else -x, k, axis(x, dim))
    return (values if largest else -values), indices
