"""The functions of torch.nn.functional that have windows, norms, losses or attention, and their modules."""

import math

import numpy as np

import glim

from .count import g
from .torch_ops import axis, need, op, shaped


def pair(n):
    return (n, n) if isinstance(n, int) else tuple(n) * (2 // len(tuple(n)))


# ---- norms ----
def need_positive(eps):
    need(eps >= 0, "convention: torch takes a negative epsilon")


def over_last(norm, x, count, gamma, beta, eps):
    """A norm over the last `count` axes, through one axis of all their elements."""
    need_positive(eps)
    inner = x.shape[x.ndim - count :]
    flat = [None if p is None else g.reshape(p, -1) for p in (gamma, beta)]
    return g.reshape(norm(g.reshape(x, x.shape[: x.ndim - count] + (math.prod(inner),)), *flat), x.shape)


@op("nn.functional.layer_norm")
def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    need(x.size > 0, "no elements to normalise")
    return over_last(lambda x, gamma, beta: g.layer_norm(x, gamma, beta, eps), x, len(normalized_shape), weight, bias, eps)


@op("nn.functional.rms_norm")
def rms_norm(x, normalized_shape, weight=None, eps=None):
    need(x.size > 0, "no elements to normalise")
    eps = float(np.finfo(x.dtype).eps) if eps is None else eps
    return over_last(lambda x, gamma, _: g.rms_norm(x, gamma, eps), x, len(normalized_shape), weight, None, eps)


@op("nn.functional.group_norm")
def group_norm(x, num_groups, weight=None, bias=None, eps=1e-5):
    need_positive(eps)
    need(x.size > 0 and x.shape[1] % num_groups == 0, "channels that make no groups")
    parts = g.reshape(x, (x.shape[0], num_groups, -1))
    y = g.reshape(g.layer_norm(parts, None, None, eps), x.shape)
    y = y if weight is None else y * shaped(weight, x)
    return y if bias is None else y + shaped(bias, x)


@op("nn.functional.instance_norm")
def instance_norm(x, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5):
    need(use_input_stats, "statistics of earlier batches")
    return group_norm(x, x.shape[1], weight, bias, eps)


@op("nn.functional.batch_norm", "nn.functional.batch_norm.without_cudnn")
def batch_norm(x, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    others = tuple(d for d in range(x.ndim) if d != 1)
    if training:
        middle, spread = g.mean(x, others, True), g.var(x, others, 0, True)
    else:
        middle, spread = shaped(running_mean, x), shaped(running_var, x)
    y = (x - middle) / g.sqrt(spread + eps)
    y = y if weight is None else y * shaped(weight, x)
    return y if bias is None else y + shaped(bias, x)


@op("nn.functional.glu")
def glu(x, dim=-1):
    need(x.ndim > 0 and x.shape[dim] % 2 == 0, "an odd number of elements to halve")
    a, b = g.split(x, dim, [x.shape[dim] // 2] * 2)
    return a * g.sigmoid(b)


# ---- losses ----
def reduced(loss, reduction, size_average=None, reduce=None):
    need(size_average is None and reduce is None, "deprecated: size_average and reduce")
    return getattr(g, reduction)(loss) if reduction != "none" else loss


@op("nn.functional.mse_loss")
def mse_loss(x, target, reduction="mean", weight=None, size_average=None, reduce=None):
    need(weight is None and size_average is None and reduce is None, "deprecated: size_average and reduce")
    x, target = (g.broadcast_to(v, np.broadcast_shapes(x.shape, target.shape)) for v in (x, target))
    return g.mse_loss(x, target, reduction=reduction)


@op("nn.functional.l1_loss")
def l1_loss(x, target, reduction="mean", size_average=None, reduce=None, weight=None):
    need(weight is None, "weights")
    return reduced(g.abs(x - target), reduction, size_average, reduce)


@op("nn.functional.huber_loss")
def huber_loss(x, target, reduction="mean", delta=1.0, weight=None):
    need(weight is None, "weights")
    d = g.abs(x - target)
    near = g.clamp(d, 0, delta)
    return reduced(near * (d - near / 2), reduction)


@op("nn.functional.smooth_l1_loss")
def smooth_l1_loss(x, target, reduction="mean", beta=1.0, size_average=None, reduce=None):
    if beta == 0:
        return l1_loss(x, target, reduction, size_average, reduce)
    need(size_average is None and reduce is None, "deprecated: size_average and reduce")
    return huber_loss(x, target, reduction, beta) / beta


@op("nn.functional.soft_margin_loss")
def soft_margin_loss(x, target, reduction="mean", size_average=None, reduce=None):
    return reduced(g.softplus(-(target * x)), reduction, size_average, reduce)


@op("nn.functional.binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(x, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
    need(pos_weight is None, "weights of the positive class")
    loss = g.softplus(x) - target * x
    return reduced(loss if weight is None else loss * weight, reduction, size_average, reduce)


@op("nn.functional.kl_div")
def kl_div(x, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    need(log_target, "x ln x at 0")
    need(reduction != "batchmean" or x.ndim > 0, "convention: torch takes axis 0 of a tensor without axes")
    loss = g.exp(target) * (target - x)
    if reduction == "batchmean":
        return g.sum(loss) / x.shape[0]
    return reduced(loss, reduction, size_average, reduce)


def classes_last(x):
    """(B, C, ...) as (B, ..., C)."""
    return x if x.ndim < 2 else g.permute(x, [0, *range(2, x.ndim), 1])


@op("nn.functional.cross_entropy")
def cross_entropy(x, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
    need(size_average is None and reduce is None, "deprecated: size_average and reduce")
    options = {} if weight is None else {"weight": weight}
    if isinstance(target, glim.Var):
        need(ignore_index < 0, "an index to ignore where no row has a class")
        target = classes_last(target)
    else:
        options["ignore_index"] = ignore_index
        need(reduction != "mean" or (target != ignore_index).any(), "convention: a mean over nothing is 0, torch's NaN")
    more = weight is not None or isinstance(target, glim.Var)
    need(not more or "weight" in g.cross_entropy.__doc__, "not in Glim: weights of classes, and targets that are probabilities")
    return g.cross_entropy(classes_last(x), target, label_smoothing=label_smoothing, reduction=reduction, **options)


@op("nn.functional.nll_loss")
def nll_loss(x, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    need(size_average is None and reduce is None, "deprecated: size_average and reduce")
    rows, counted = classes_last(x), target != ignore_index
    need(rows.size > 0, "no rows")
    target = np.asarray(np.where(counted, target, 0))
    each = glim.Var(np.asarray(counted, dtype="float64"))
    if weight is not None:
        each = each * g.reshape(g.index_select(weight, 0, target.ravel()), target.shape)
    loss = -g.squeeze(g.gather(rows, -1, target[..., None]), -1) * each
    need(reduction != "mean" or each.numpy().any(), "convention: a mean over nothing is 0, torch's NaN")
    return g.sum(loss) / g.sum(each) if reduction == "mean" else reduced(loss, reduction)


# ---- attention ----
@op("nn.functional.scaled_dot_product_attention")
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    need(dropout_p == 0, "random numbers of torch")
    need(not enable_gqa or query.shape[-3] == key.shape[-3], "groups of queries")
    if scale is not None:
        query = query * (scale * math.sqrt(query.shape[-1]))
    mask = None
    if is_causal:
        mask = g.AttentionMask(np.tri(query.shape[-2], key.shape[-2], dtype=bool))
    elif attn_mask is not None:
        mask = g.AttentionMask(attn_mask) if isinstance(attn_mask, np.ndarray) else g.AttentionMask(None, attn_mask)
    batch = np.broadcast_shapes(*(v.shape[:-2] for v in (query, key, value)))
    query, key, value = (g.broadcast_to(v, batch + v.shape[-2:]) for v in (query, key, value))
    return g.scaled_dot_product_attention(query, key, value, mask)[0]


# ---- windows ----
def windows(x, kernel, stride, padding, dilation, fill=0.0):
    """(B, C, H, W) -> (B, H', W', kh, kw, C)"""
    rows, columns = (glim.Window(k, s, d, p, p) for k, s, d, p in zip(*map(pair, (kernel, stride, dilation, padding))))
    return g.unfold(g.permute(x, (0, 2, 3, 1)), rows, columns, fill)


def images(f):
    """f of (B, C, H, W), for those without a batch, too."""

    def of(x, *args, **options):
        need(x.ndim in (3, 4), "neither an image nor a batch of images")
        return f(x, *args, **options) if x.ndim == 4 else g.squeeze(f(g.unsqueeze(x, 0), *args, **options), 0)

    return of


def lines(f):
    """f of images, for sequences (B, C, T): an image of one row."""

    def of(x, *args, **options):
        need(x.ndim in (2, 3), "neither a sequence nor a batch of them")
        return g.squeeze(images(f)(g.unsqueeze(x, -2), *args, **options), -2)

    return of


def same_padding(kernel, dilation, stride, padding):
    if padding == "valid":
        return (0,) * len(kernel)
    if padding == "same":
        need(all(d * (k - 1) % 2 == 0 for k, d in zip(kernel, dilation)), "padding that is wider on one side")
        return tuple(d * (k - 1) // 2 for k, d in zip(kernel, dilation))
    return padding


def convolution(x, weight, bias, stride, padding, dilation, groups):
    kernel = weight.shape[2:]
    padding = same_padding(kernel, dilation, stride, padding)
    seen = windows(x, kernel, stride, padding, dilation)  # (B, H', W', kh, kw, C)
    batch, height, width, *_, channels = seen.shape
    need(channels % groups == 0 and weight.shape[0] % groups == 0 and weight.shape[1] * groups == channels, "channels that make no groups")
    each, outputs = channels // groups, []
    for k in range(groups):
        part = g.reshape(g.narrow(seen, -1, k * each, each), (batch, height, width, -1))
        filters = g.narrow(weight, 0, k * (weight.shape[0] // groups), weight.shape[0] // groups)
        outputs.append(g.linear(part, g.reshape(g.permute(filters, (0, 2, 3, 1)), (filters.shape[0], -1)), None))
    y = outputs[0] if groups == 1 else g.concatenate(outputs, -1)
    return g.permute(y if bias is None else y + bias, (0, 3, 1, 2))


@op("nn.functional.conv2d")
def conv2d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    padding = padding if isinstance(padding, str) else pair(padding)
    return images(convolution)(x, weight, bias, pair(stride), padding, pair(dilation), groups)


def one_row(n, of_row):
    return n if isinstance(n, str) else (of_row, n if isinstance(n, int) else n[0])


@op("nn.functional.conv1d")
def conv1d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    return lines(convolution)(x, g.unsqueeze(weight, 2), bias, one_row(stride, 1), one_row(padding, 0), one_row(dilation, 1), groups)


def pooled(reduce, fill):
    def of(x, kernel_size, stride, padding, dilation):
        seen = windows(x, kernel_size, stride, padding, dilation, fill)
        return g.permute(reduce(seen, (3, 4)), (0, 3, 1, 2))

    return of


largest, average = pooled(lambda x, axes: g.max(x, axes), -math.inf), pooled(lambda x, axes: g.mean(x, axes), 0.0)


def max_pool(row):
    def of(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        need(not ceil_mode and not return_indices, "windows that begin inside and end outside, and places")
        stride = kernel_size if stride is None or stride == () else stride
        sizes = (kernel_size, stride, padding, dilation)
        return (lines(largest)(x, *map(one_row, sizes, (1, 1, 0, 1))) if row else images(largest)(x, *map(pair, sizes)))

    return of


def avg_pool(row):
    def of(x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        need(not ceil_mode and divisor_override is None, "windows that begin inside and end outside, and other divisors")
        need(count_include_pad or padding in (0, (0,), (0, 0)), "padding that does not count")
        stride = kernel_size if stride is None or stride == () else stride
        sizes = (kernel_size, stride, padding, 1)
        return (lines(average)(x, *map(one_row, sizes, (1, 1, 0, 1))) if row else images(average)(x, *map(pair, sizes)))

    return of


op("nn.functional.max_pool1d")(max_pool(True))
op("nn.functional.max_pool2d")(max_pool(False))
op("nn.functional.avg_pool1d")(avg_pool(True))
op("nn.functional.avg_pool2d")(avg_pool(False))


@op("nn.functional.unfold")
def unfold(x, kernel_size, dilation=1, padding=0, stride=1):
    need(x.ndim in (3, 4), "neither an image nor a batch of images")
    batch = x if x.ndim == 4 else g.unsqueeze(x, 0)
    seen = windows(batch, kernel_size, stride, padding, dilation)
    count = seen.shape[1] * seen.shape[2]
    y = g.reshape(g.permute(seen, (0, 5, 3, 4, 1, 2)), (batch.shape[0], math.prod(seen.shape[3:]), count))
    return y if x.ndim == 4 else g.squeeze(y, 0)
