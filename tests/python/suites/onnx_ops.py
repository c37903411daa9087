"""Which function of Glim an operator of ONNX is: NODES["Gemm"](inputs, alpha=..., transB=...), with ONNX's attributes.

Floats that depend on an input of the model are Vars. Everything else is an array of NumPy: shapes, masks, and what is computed
of them by NumPy. An input that is left out is None. A node returns one value, or a list.
"""

import math

import numpy as np

import glim

from .count import Skip, g
from .torch_nn import avg_pool, classes_last, convolution, images, largest, lines, need
from .torch_ops import cumulative, over_all_but, reversed_along, split

NODES = {}


def node(*names):
    def register(f):
        NODES.update(dict.fromkeys(names, f))
        return f

    return register


def is_var(*xs):
    return any(isinstance(x, glim.Var) for x in xs)


def var(x):
    return x if isinstance(x, glim.Var) or x is None else glim.Var(np.asarray(x, dtype="float64"))


def plain(x):
    """An array, of what may be a Var."""
    return x.numpy() if isinstance(x, glim.Var) else np.asarray(x)


def integers(x):
    return [int(n) for n in np.asarray(x).ravel()]


def number(x):
    return float(plain(x).reshape(()))


# ---- element by element ----
def unary(name, of_glim, of_numpy=None):
    NODES[name] = lambda x: of_glim(x) if is_var(x) else (of_numpy or getattr(np, name.lower()))(x)


for name in "exp log sqrt sin cos abs tanh".split():
    unary(name.capitalize(), lambda x, name=name: getattr(g, name)(x), getattr(np, name))
unary("Neg", lambda x: -x, np.negative)
unary("Reciprocal", lambda x: 1 / x, np.reciprocal)
unary("Tan", lambda x: g.sin(x) / g.cos(x))
unary("Cosh", lambda x: (g.exp(x) + g.exp(-x)) / 2)
unary("Sinh", lambda x: (g.exp(x) - g.exp(-x)) / 2)
for name, f in {
    "Erf": lambda x: g.erf(x),
    "Sigmoid": lambda x: g.sigmoid(x),
    "Relu": lambda x: g.relu(x),
    "Softplus": lambda x: g.softplus(x),
    "Softsign": lambda x: x / (1 + g.abs(x)),
    "HardSwish": lambda x: x * g.clamp(x / 6 + 0.5, 0, 1),
    "Mish": lambda x: x * g.tanh(g.softplus(x)),
    "Swish": lambda x, alpha=1.0: x * g.sigmoid(x * alpha),
    "HardSigmoid": lambda x, alpha=0.2, beta=0.5: g.clamp(x * alpha + beta, 0, 1),
    "LeakyRelu": lambda x, alpha=0.01: g.leaky_relu(x, alpha),
    "Elu": lambda x, alpha=1.0: g.elu(x, alpha),
    "Celu": lambda x, alpha=1.0: alpha * g.elu(x / alpha, 1.0),
    "Selu": lambda x, alpha=1.67326319217681884765625, gamma=1.05070102214813232421875: gamma * g.elu(x, alpha),
    "Gelu": lambda x, approximate="none": g.gelu(x, {"none": "erf"}.get(approximate, approximate)),
    "ThresholdedRelu": lambda x, alpha=1.0: g.where(plain(x) > alpha, x, 0 * x),
    "Shrink": lambda x, bias=0.0, lambd=0.5: g.where(plain(x) < -lambd, x + bias, g.where(plain(x) > lambd, x - bias, 0 * x)),
    "PRelu": lambda x, slope: g.maximum(x, 0 * x) + slope * g.minimum(x, 0 * x),
}.items():
    NODES[name] = lambda x, *rest, f=f, **attributes: f(var(x), *rest, **attributes)


def binary(name, of_glim, of_numpy):
    NODES[name] = lambda a, b: of_glim(var(a), var(b)) if is_var(a, b) else of_numpy(a, b)


binary("Add", lambda a, b: a + b, np.add)
binary("Sub", lambda a, b: a - b, np.subtract)
binary("Mul", lambda a, b: a * b, np.multiply)
binary("Div", lambda a, b: a / b, lambda a, b: a / b if a.dtype.kind == "f" else np.trunc(a / b).astype(a.dtype))
binary("MatMul", lambda a, b: a @ b, np.matmul)
for name, of in {"Equal": np.equal, "Less": np.less, "LessOrEqual": np.less_equal, "Greater": np.greater, "GreaterOrEqual": np.greater_equal,
                 "And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}.items():
    NODES[name] = lambda a, b, of=of: of(plain(a), plain(b))
NODES["Not"] = lambda a: np.logical_not(a)


@node("Pow")
def power(x, y):
    if not is_var(x, y):
        return np.power(x, y)
    if not is_var(x) and x.dtype.kind in "iu":  # ONNX's result has the base's type
        return np.power(x, plain(y)).astype(x.dtype)
    if not is_var(y) and np.asarray(y).size == 1:
        return g.broadcast_to(g.pow(x, number(y)), np.broadcast_shapes(x.shape, y.shape))
    try:
        return g.pow(var(x), var(y))
    except TypeError as error:
        raise Skip("not in Glim: pow with a tensor as its exponent") from error


@node("Where")
def where(condition, a, b):
    return g.where(condition, var(a), var(b)) if is_var(a, b) else np.where(condition, a, b)


def folded(of_glim, of_numpy):
    def of(*xs):
        y = xs[0]
        for x in xs[1:]:
            y = of_glim(var(y), var(x)) if is_var(y, x) else of_numpy(y, x)
        return y

    return of


NODES |= {
    "Max": folded(lambda a, b: g.maximum(a, b), np.maximum),
    "Min": folded(lambda a, b: g.minimum(a, b), np.minimum),
    "Sum": folded(lambda a, b: a + b, np.add),
    "Mean": lambda *xs: NODES["Sum"](*xs) / len(xs),
    "Identity": lambda x: x,
}


@node("Clip")
def clip(x, low=None, high=None):
    if not is_var(x):
        return np.clip(x, low, high)
    if is_var(low, high):  # ONNX takes bounds in either order, the upper one last
        x = x if low is None else g.maximum(x, var(low))
        return x if high is None else g.minimum(x, var(high))
    return g.clamp(x, -math.inf if low is None else number(low), math.inf if high is None else number(high))


FLOATS = {1, 11}  # ONNX's FLOAT and DOUBLE, both computed in float64
OTHERS = {2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 12: "uint32", 13: "uint64"}


@node("Cast")
def cast(x, to, saturate=1, round_mode="up"):
    need(to in FLOATS or to in OTHERS, "of a type of float16 or less, of strings or objects")
    if to in FLOATS:
        return x if is_var(x) else np.asarray(x, dtype="float64")
    return plain(x).astype(OTHERS[to])


@node("CastLike")
def cast_like(x, like, saturate=1, round_mode="up"):
    if is_var(like) or like.dtype.kind == "f":
        return x if is_var(x) else np.asarray(x, dtype="float64")
    return plain(x).astype(like.dtype)


# ---- shape ----
def in_both(name, of_glim, of_numpy):
    NODES[name] = lambda x, *rest, **attributes: (of_glim if is_var(x) else of_numpy)(x, *rest, **attributes)


def new_shape(x, shape, allowzero=0):
    shape = integers(shape)
    return [x.shape[k] if n == 0 and not allowzero else n for k, n in enumerate(shape)]


def with_axes(x, axes):
    rank = x.ndim + len(integers(axes))
    for a in sorted(n % rank for n in integers(axes)):
        x = g.unsqueeze(x, a)
    return x


def without_axes(x, axes=None):
    found = [k for k, n in enumerate(x.shape) if n == 1] if axes is None else [n % x.ndim for n in integers(axes)]
    for a in sorted(found, reverse=True):
        x = g.squeeze(x, a)
    return x


in_both("Reshape", lambda x, shape, allowzero=0: g.reshape(x, new_shape(x, shape, allowzero)),
        lambda x, shape, allowzero=0: x.reshape(new_shape(x, shape, allowzero)))
in_both("Transpose", lambda x, perm=None: g.permute(x, perm or range(x.ndim)[::-1]), lambda x, perm=None: np.transpose(x, perm))
in_both("Unsqueeze", with_axes, lambda x, axes: np.expand_dims(x, tuple(integers(axes))))
in_both("Squeeze", without_axes, lambda x, axes=None: np.squeeze(x, None if axes is None else tuple(integers(axes))))
in_both("Expand", lambda x, shape: g.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(integers(shape)))),
        lambda x, shape: np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(integers(shape)))))
in_both("Trilu", lambda x, k=0, upper=1: (g.triu if upper else g.tril)(x, int(k)), lambda x, k=0, upper=1: (np.triu if upper else np.tril)(x, int(k)))
NODES["Flatten"] = lambda x, axis=1: NODES["Reshape"](x, [math.prod(x.shape[: axis % x.ndim if axis < 0 else axis]), -1])
NODES["Shape"] = lambda x, start=0, end=None: np.array(x.shape[start:end], dtype=np.int64)
NODES["Size"] = lambda x: np.array(x.size, dtype=np.int64)
NODES["Range"] = lambda a, b, step: np.arange(plain(a), plain(b), plain(step))
NODES["ConstantOfShape"] = lambda shape, value=np.zeros(1): np.full(integers(shape), value.ravel()[0])
NODES["Mod"] = lambda a, b, fmod=0: (np.fmod if fmod else np.mod)(plain(a), plain(b))
NODES["OneHot"] = lambda indices, depth, values, axis=-1: one_hot(plain(indices), int(number(depth)), values, axis)


def one_hot(indices, depth, values, axis):
    places = np.arange(depth).reshape([-1 if k == axis % (indices.ndim + 1) else 1 for k in range(indices.ndim + 1)])
    indices = np.expand_dims(indices, axis)
    hot = places == np.where(indices < 0, indices + depth, indices)
    return g.where(hot, values[1], values[0]) if is_var(values) else np.where(hot, values[1], values[0])


@node("Concat")
def concat(*parts, axis):
    return g.concatenate([var(p) for p in parts], axis) if is_var(*parts) else np.concatenate(parts, axis)


@node("Split")
def split_node(x, lengths=None, axis=0, num_outputs=None):
    if lengths is None:
        each = -(-x.shape[axis] // num_outputs)
        lengths = [each] * (num_outputs - 1) + [x.shape[axis] - each * (num_outputs - 1)]
    if is_var(x):
        return split(x, integers(lengths), axis)
    return np.split(x, np.cumsum(integers(lengths))[:-1], axis)


@node("Slice")
def slice_node(x, starts, ends, axes=None, steps=None):
    starts, ends = integers(starts), integers(ends)
    axes = range(len(starts)) if axes is None else integers(axes)
    for a, start, end, step in zip(axes, starts, ends, [1] * len(starts) if steps is None else integers(steps)):
        key = (slice(None),) * (a % x.ndim)
        at = range(x.shape[a])[slice(start, end if step > 0 or end >= -x.shape[a] else None, step)]
        if step > 0 or not is_var(x):
            x = x[(*key, slice(start, end if step > 0 or end >= -x.shape[a] else None, step))]
        else:
            x = g.index_select(x, a, np.array(at, dtype=np.int64))
    return x


@node("Gather")
def gather(x, index, axis=0):
    if not is_var(x):
        return np.take(x, index, axis)
    index = np.asarray(index, dtype=np.int64) % max(1, x.shape[axis])
    picked = g.index_select(x, axis, index.ravel())
    return g.reshape(picked, x.shape[: axis % x.ndim] + index.shape + x.shape[axis % x.ndim + 1 :])


@node("GatherElements")
def gather_elements(x, index, axis=0):
    return g.gather(x, axis, index % x.shape[axis]) if is_var(x) else np.take_along_axis(x, index, axis)


@node("ScatterElements", "Scatter")
def scatter_elements(x, index, updates, axis=0, reduction="none"):
    need(reduction == "add", "a scatter that writes")
    return g.scatter_add(var(x), axis, index % x.shape[axis], var(updates))


@node("Pad")
def pad(x, pads, value=None, axes=None, mode="constant"):
    need(mode == "constant", "padding with other than a constant")
    pads, axes = integers(pads), range(x.ndim) if axes is None else [a % x.ndim for a in integers(axes)]
    widths = [(0, 0)] * x.ndim
    for k, a in enumerate(axes):
        widths[a] = (pads[k], pads[k + len(pads) // 2])
    if not is_var(value):
        return g.pad(var(x), widths, 0.0 if value is None else number(value))
    return g.pad(var(x), widths) + value * (1 - g.pad(glim.Var(np.ones(x.shape)), widths))


@node("Tile")
def tile(x, repeats):
    for a, n in enumerate(integers(repeats)):
        x = g.concatenate([x] * n, a)
    return x


# ---- reductions ----
def reduction(of):
    def reduce(x, axes=None, keepdims=1, noop_with_empty_axes=0):
        axes = () if axes is None else tuple(integers(axes))
        if not axes and noop_with_empty_axes:
            axes = None
        return of(var(x), axes, bool(keepdims))

    return reduce


def some(x):
    need(x.size > 0, "convention: the largest of nothing is -inf")
    return x


def summed(x, axes, keep):
    return x if axes is None else g.sum(x, axes, keep)


NODES |= {
    "ReduceSum": reduction(summed),
    "ReduceMean": reduction(lambda x, axes, keep: g.mean(x, axes, keep)),
    "ReduceMax": reduction(lambda x, axes, keep: g.max(some(x), axes, keep)),
    "ReduceMin": reduction(lambda x, axes, keep: g.min(some(x), axes, keep)),
    "ReduceL1": reduction(lambda x, axes, keep: summed(g.abs(x), axes, keep)),
    "ReduceL2": reduction(lambda x, axes, keep: g.sqrt(summed(x * x, axes, keep))),
    "ReduceSumSquare": reduction(lambda x, axes, keep: summed(x * x, axes, keep)),
    "ReduceLogSum": reduction(lambda x, axes, keep: g.log(summed(x, axes, keep))),
    "ReduceLogSumExp": reduction(lambda x, axes, keep: over_all_but(g.logsumexp, x, axes, keep)),
}
for name in [n for n in NODES if n.startswith("Reduce")]:
    of_vars = NODES[name]
    of_arrays = {"ReduceSum": np.sum, "ReduceMax": np.max, "ReduceMin": np.min, "ReduceMean": np.mean}.get(name)
    NODES[name] = lambda x, axes=None, f=of_vars, of=of_arrays, keepdims=1, noop_with_empty_axes=0: (
        f(x, axes, keepdims, noop_with_empty_axes) if is_var(x) or of is None else
        x if axes is not None and not len(axes) and noop_with_empty_axes else
        of(x, axis=None if axes is None or not len(axes) else tuple(integers(axes)), keepdims=bool(keepdims)))


@node("CumSum")
def cumsum(x, axis, exclusive=0, reverse=0):
    y = g.cumsum(var(x), int(axis), bool(reverse))
    return y - x if exclusive else y


@node("CumProd")
def cumprod(x, axis, exclusive=0, reverse=0):
    need(not exclusive, "a product without its own element")
    a = int(axis)
    y = cumulative("cumprod")(reversed_along(var(x), [a]) if reverse else var(x), a)
    return reversed_along(y, [a]) if reverse else y


@node("TopK")
def top_k(x, k, axis=-1, largest=1, sorted=1):
    values, indices = g.top_k(x if largest else -x, int(k[0]), axis)
    return [values if largest else -values, indices.numpy()]


def arg(name):
    def of(x, axis=0, keepdims=1, select_last_index=0):
        need(not select_last_index, "the last of equals")
        return getattr(g, name)(x, axis, bool(keepdims)).numpy()

    return of


NODES |= {"ArgMax": arg("argmax"), "ArgMin": arg("argmin")}
NODES |= {
    "Softmax": lambda x, axis=-1: g.softmax(var(x), axis),
    "LogSoftmax": lambda x, axis=-1: g.log_softmax(var(x), axis),
}


# ---- products, norms, windows ----
@node("Gemm")
def gemm(a, b, c=None, alpha=1.0, beta=1.0, transA=0, transB=0):
    y = (g.transpose(var(a)) if transA else var(a)) @ (g.transpose(var(b)) if transB else var(b)) * alpha
    return y if c is None else y + beta * var(c)


def channels(p, x):
    return g.reshape(p, (-1,) + (1,) * (x.ndim - 2))


@node("LayerNormalization")
def layer_normalization(x, scale, bias=None, axis=-1, epsilon=1e-5, stash_type=1):
    inner = x.shape[axis % x.ndim :]
    flat = g.reshape(x, (-1, math.prod(inner)))
    y = g.reshape(g.layer_norm(flat, None, None, epsilon), x.shape) * scale
    y = y if bias is None else y + bias
    middle = g.mean(flat, (1,))
    kept = x.shape[: axis % x.ndim] + (1,) * len(inner)
    return [y, g.reshape(middle, kept), g.reshape(1 / g.sqrt(g.var(flat, (1,), 0) + epsilon), kept)]


@node("RMSNormalization")
def rms_normalization(x, scale, axis=-1, epsilon=1e-5, stash_type=1):
    flat = g.reshape(x, (-1, math.prod(x.shape[axis % x.ndim :])))
    return g.reshape(g.rms_norm(flat, None, epsilon), x.shape) * scale


@node("InstanceNormalization")
def instance_normalization(x, scale, bias, epsilon=1e-5):
    return group_normalization(x, scale, bias, num_groups=x.shape[1], epsilon=epsilon)


@node("GroupNormalization")
def group_normalization(x, scale, bias, num_groups, epsilon=1e-5, stash_type=1):
    y = g.reshape(g.layer_norm(g.reshape(x, (x.shape[0], num_groups, -1)), None, None, epsilon), x.shape)
    return y * channels(scale, x) + channels(bias, x)


@node("BatchNormalization")
def batch_normalization(x, scale, bias, mean, spread, epsilon=1e-5, momentum=0.9, training_mode=0):
    if not training_mode:
        return (x - channels(mean, x)) / g.sqrt(channels(spread, x) + epsilon) * channels(scale, x) + channels(bias, x)
    others = tuple(d for d in range(x.ndim) if d != 1)
    m, v = g.mean(x, others), g.var(x, others, 0)
    y = (x - channels(m, x)) / g.sqrt(channels(v, x) + epsilon) * channels(scale, x) + channels(bias, x)
    return [y, mean * momentum + m * (1 - momentum), spread * momentum + v * (1 - momentum)]


@node("MeanVarianceNormalization")
def mean_variance_normalization(x, axes=(0, 2, 3)):
    middle = x - g.mean(x, tuple(axes), True)
    return middle / g.sqrt(g.mean(middle * middle, tuple(axes), True))


@node("LpNormalization")
def lp_normalization(x, axis=-1, p=2):
    length = g.sum(g.abs(x), (axis,), True) if p == 1 else g.sqrt(g.sum(x * x, (axis,), True))
    need((length.numpy() != 0).all(), "convention: ONNX says 0 of a vector of length 0")
    return x / length


def padding(x, kernel, strides, dilations, pads, auto_pad):
    need(auto_pad in ("NOTSET", "VALID"), "padding by a word")
    half = len(pads) // 2
    need(pads[:half] == pads[half:], "padding that is wider on one side")
    return pads[:half]


def over_windows(x, kernel, strides, dilations, pads, auto_pad, f):
    n = len(kernel)
    need(n in (1, 2), "windows of three axes")
    strides, dilations, pads = strides or [1] * n, dilations or [1] * n, pads or [0] * 2 * n
    sizes = (strides, padding(x, kernel, strides, dilations, list(pads), auto_pad), dilations)
    return f(*sizes) if n == 2 else f(*([fill, s[0]] for fill, s in zip((1, 0, 1), sizes)))


@node("Conv")
def conv(x, weight, bias=None, kernel_shape=None, strides=None, pads=None, dilations=None, group=1, auto_pad="NOTSET"):
    image = weight.ndim == 4
    weight = weight if image else g.unsqueeze(weight, 2)
    return over_windows(x, list(kernel_shape or weight.shape[2:]) if image else [weight.shape[-1]], strides, dilations, pads, auto_pad,
                        lambda s, p, d: (images if image else lines)(convolution)(x, weight, bias, s, p, d, group))


@node("MaxPool")
def max_pool(x, kernel_shape, strides=None, pads=None, dilations=None, ceil_mode=0, auto_pad="NOTSET", storage_order=0):
    need(not ceil_mode, "windows that begin inside and end outside")
    image = len(kernel_shape) == 2
    kernel = kernel_shape if image else [1, kernel_shape[0]]
    return over_windows(x, kernel_shape, strides, dilations, pads, auto_pad, lambda s, p, d: (images if image else lines)(largest)(x, kernel, s, p, d))


@node("AveragePool")
def average_pool(x, kernel_shape, strides=None, pads=None, dilations=None, ceil_mode=0, auto_pad="NOTSET", count_include_pad=0):
    need(not ceil_mode and (count_include_pad or not any(pads or [])), "windows that begin inside and end outside, and padding that does not count")
    need(dilations is None or set(dilations) == {1}, "an average over places apart")
    of = avg_pool(len(kernel_shape) == 1)
    return over_windows(x, kernel_shape, strides, dilations, pads, auto_pad, lambda s, p, d: of(
        x, list(kernel_shape), list(s) if len(kernel_shape) == 2 else [s[1]], list(p) if len(kernel_shape) == 2 else [p[1]]))


NODES["GlobalAveragePool"] = lambda x: g.mean(x, tuple(range(2, x.ndim)), True)
NODES["GlobalMaxPool"] = lambda x: g.max(x, tuple(range(2, x.ndim)), True)


@node("Dropout")
def dropout(x, ratio=None, training=None, seed=None):
    need(training is None or not training or number(0.5 if ratio is None else ratio) == 0, "random numbers of ONNX")
    return [x, np.ones(x.shape, dtype=bool)]


# ---- losses ----
@node("NegativeLogLikelihoodLoss")
def negative_log_likelihood(x, target, weight=None, reduction="mean", ignore_index=None):
    rows, counted = classes_last(x), np.ones(target.shape) if ignore_index is None else np.asarray(target != ignore_index, dtype="float64")
    target = np.where(counted > 0, target, 0).astype(np.int64)
    loss = -g.squeeze(g.gather(rows, -1, target[..., None]), -1) * counted
    each = counted
    if weight is not None:
        each = g.reshape(g.index_select(var(weight), 0, target.ravel()), target.shape) * counted
        loss = loss * each
    if reduction == "none":
        return loss
    return g.sum(loss) if reduction == "sum" else g.sum(loss) / (g.sum(each) if is_var(each) else each.sum())


@node("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy(x, target, weight=None, reduction="mean", ignore_index=None):
    logs = g.log_softmax(x, 1)
    return [negative_log_likelihood(logs, target, weight, reduction, ignore_index), logs]


# ---- attention and recurrence ----
@node("Attention")
def attention(q, k, v, mask=None, past_key=None, past_value=None, lengths=None, q_num_heads=None, kv_num_heads=None, scale=None,
              is_causal=0, softcap=0.0, qk_matmul_output_mode=None, softmax_precision=1):
    need(past_key is None and lengths is None, "keys of earlier calls")
    need(not softcap and qk_matmul_output_mode is None, "scores that are capped, or handed out")
    flat = q.ndim == 3
    if flat:
        q, k, v = (g.transpose(g.reshape(x, (*x.shape[:2], n, -1)), 1, 2) for x, n in zip((q, k, v), (q_num_heads, kv_num_heads, kv_num_heads)))
    repeat = q.shape[1] // k.shape[1]
    if repeat > 1:
        k, v = (g.reshape(g.broadcast_to(g.unsqueeze(x, 2), (*x.shape[:2], repeat, *x.shape[2:])), (x.shape[0], -1, *x.shape[2:])) for x in (k, v))
    if scale is not None:
        q = q * (scale * math.sqrt(q.shape[-1]))
    keep = np.tri(q.shape[2], k.shape[2], dtype=bool) if is_causal else None
    bias = None
    if mask is not None and not is_var(mask) and mask.dtype == bool:
        keep = mask if keep is None else keep & mask
    elif mask is not None:
        bias = var(mask)
    need(mask is None or mask.shape[-1] == k.shape[2], "a mask that is shorter than the keys")
    need(keep is None or np.broadcast_to(keep, (1,) * (2 - keep.ndim) + keep.shape).any(-1).all(), "convention: a query without keys")
    y = g.scaled_dot_product_attention(q, k, v, g.AttentionMask(keep, bias))[0]
    return g.reshape(g.transpose(y, 1, 2), (y.shape[0], y.shape[2], -1)) if flat else y


def steps(x, layout):
    x = g.transpose(x, 0, 1) if layout else x
    return [g.select(x, 0, t) for t in range(x.shape[0])]


def recurrence(gates, step):
    def of(x, w, r, b=None, lengths=None, h=None, c=None, peephole=None, hidden_size=None, layout=0, direction="forward", linear_before_reset=0):
        need(lengths is None and peephole is None and direction == "forward", "lengths, peepholes and other directions")
        w, r = g.squeeze(w, 0), g.squeeze(r, 0)
        width = r.shape[1]
        bw, br = g.split(g.squeeze(b, 0), 0, [gates * width] * 2) if b is not None else (None, None)
        xs, ys = steps(x, layout), []
        start = [glim.Var(np.zeros((xs[0].shape[0], width))) if s is None else g.squeeze(s, 1 if layout else 0) for s in (h, c)]
        for x_t in xs:
            start = step(g.linear(x_t, w, bw), *start, r, br, width, linear_before_reset)
            ys.append(start[0])
        y = g.stack(ys, 0)
        ends = [g.unsqueeze(s, 1 if layout else 0) for s in start[: 2 if gates == 4 else 1]]
        return [g.unsqueeze(g.transpose(y, 0, 1), 2) if layout else g.unsqueeze(y, 1), *ends]

    return of


def cut(x, width, order):
    parts = g.split(x, -1, [width] * (x.shape[-1] // width))
    return g.concatenate([parts[k] for k in order], -1)


def lstm_step(x, h, c, r, b, width, _):
    order = (0, 2, 3, 1)  # ONNX has i o f c, Glim i f c o
    y = g.lstm_cell(cut(x, width, order), cut(g.linear(h, r, b), width, order), g.concatenate([h, c], -1))
    return g.split(y, -1, [width] * 2)


def gru_step(x, h, c, r, b, width, linear_before_reset):
    if linear_before_reset:
        order = (1, 0, 2)  # ONNX has z r h, Glim r z h
        return g.gru_cell(cut(x, width, order), cut(g.linear(h, r, b), width, order), h), c
    z_x, r_x, h_x = g.split(x, -1, [width] * 3)
    r_z, r_r, r_h = g.split(r, 0, [width] * 3)
    b_z, b_r, b_h = g.split(b, 0, [width] * 3) if b is not None else (None,) * 3
    z, reset = g.sigmoid(z_x + g.linear(h, r_z, b_z)), g.sigmoid(r_x + g.linear(h, r_r, b_r))
    return (1 - z) * g.tanh(h_x + g.linear(reset * h, r_h, b_h)) + z * h, c


NODES |= {
    "LSTM": recurrence(4, lstm_step),
    "GRU": recurrence(3, gru_step),
    "RNN": recurrence(1, lambda x, h, c, r, b, width, _: (g.tanh(x + g.linear(h, r, b)), c)),
}


@node("RotaryEmbedding")
def rotary(x, cos, sin, positions=None, interleaved=0, num_heads=0, rotary_embedding_dim=0):
    flat = x.ndim == 3
    if flat:
        x = g.transpose(g.reshape(x, (*x.shape[:2], num_heads, -1)), 1, 2)
    if positions is not None:
        cos, sin = (gather(t, positions) for t in (cos, sin))
    width = rotary_embedding_dim or x.shape[-1]
    turned, rest = g.split(x, -1, [width, x.shape[-1] - width])
    if not interleaved:  # pairs (k, k + half) beside each other
        turned = g.reshape(g.transpose(g.reshape(turned, (*x.shape[:3], 2, width // 2)), -2, -1), turned.shape)
    try:
        turned = g.stack([g.rotate_pairs(turned[b], *(t[b] if t.ndim == 3 else t for t in (cos, sin))) for b in range(x.shape[0])], 0)
    except (glim.Error, TypeError) as error:
        raise Skip("not in Glim: the gradient of a rotation's cos and sin") from error
    if not interleaved:
        turned = g.reshape(g.transpose(g.reshape(turned, (*x.shape[:3], width // 2, 2)), -2, -1), turned.shape)
    y = g.concatenate([turned, rest], -1)
    return g.reshape(g.transpose(y, 1, 2), (y.shape[0], y.shape[2], -1)) if flat else y
