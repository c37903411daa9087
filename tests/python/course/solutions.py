"""A right solution of each exercise as a student writes it, and the inputs of the table in tools/course.

slips.py and mutations.py change the text of the backwards.
"""

import inspect
import zlib

import numpy as np


def sums(x, scale, bias):
    return x * scale + bias


def sums_backward(dy, x, scale, bias):
    dx = dy * scale
    dscale = (dy * x).sum(axis=(0, 2))[:, None]
    dbias = dy.sum(axis=(0, 1))
    return dx, dscale, dbias


def linear(x, weight, bias):
    return x @ weight.T + bias


def linear_backward(dy, x, weight, bias):
    dx = dy @ weight
    rows = dy.reshape(-1, dy.shape[-1])
    dweight = rows.T @ x.reshape(-1, x.shape[-1])
    dbias = dy.sum(axis=(0, 1))
    return dx, dweight, dbias


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def softmax_backward(dy, x):
    y = softmax(x)
    total = (dy * y).sum(axis=-1, keepdims=True)
    dx = y * (dy - total)
    return dx


def cross_entropy(logits, target):
    return -np.log(softmax(logits)[np.arange(len(target)), target]).mean()


def cross_entropy_backward(dy, logits, target):
    n, classes = logits.shape
    p = softmax(logits)
    q = np.eye(classes)[target]
    dlogits = dy * (p - q) / n
    return dlogits


def layer_norm(x, weight, bias):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    return weight * centred / np.sqrt(variance + 1e-5) + bias


def layer_norm_backward(dy, x, weight, bias):
    centred = x - x.mean(axis=-1, keepdims=True)
    rstd = 1 / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
    normed = centred * rstd
    dnormed = dy * weight
    first = dnormed.mean(axis=-1, keepdims=True)
    second = (dnormed * normed).mean(axis=-1, keepdims=True)
    dx = rstd * (dnormed - first - normed * second)
    dweight = (dy * normed).sum(axis=(0, 1))
    dbias = dy.sum(axis=(0, 1))
    return dx, dweight, dbias


def attention(query, key, value):
    return softmax(query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])) @ value


def attention_backward(dy, query, key, value):
    scale = 1 / np.sqrt(query.shape[-1])
    weights = softmax(query @ key.swapaxes(-1, -2) * scale)
    dvalue = weights.swapaxes(-1, -2) @ dy
    dweights = dy @ value.swapaxes(-1, -2)
    total = (dweights * weights).sum(axis=-1, keepdims=True)
    dscores = weights * (dweights - total) * scale
    dquery = dscores @ key
    dkey = dscores.swapaxes(-1, -2) @ query
    return dquery, dkey, dvalue


def masked_softmax(scores, keep):
    highest = np.where(keep, scores, -np.inf).max(axis=-1, keepdims=True)
    e = np.where(keep, np.exp(scores - np.where(np.isfinite(highest), highest, 0)), 0)
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total == 0, 1, total)


def masked_attention(query, key, value, keep):
    return masked_softmax(query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1]), keep) @ value


def masked_attention_backward(dy, query, key, value, keep):
    scale = 1 / np.sqrt(query.shape[-1])
    weights = masked_softmax(query @ key.swapaxes(-1, -2) * scale, keep)
    dvalue = weights.swapaxes(-1, -2) @ dy
    dweights = dy @ value.swapaxes(-1, -2)
    total = (dweights * weights).sum(axis=-1, keepdims=True)
    dkept = weights * (dweights - total)
    dscores = np.where(keep, dkept, 0) * scale
    dquery = dscores @ key
    dkey = dscores.swapaxes(-1, -2) @ query
    return dquery, dkey, dvalue


def split_heads(x):
    return x.reshape(len(x), -1, 2, x.shape[-1] // 2).swapaxes(1, 2)


def merge_heads(x):
    return x.swapaxes(1, 2).reshape(len(x), x.shape[2], -1)


def multihead_attention(x, in_proj_weight, out_proj_weight):
    query, key, value = np.split(x @ in_proj_weight.T, 3, axis=-1)
    return merge_heads(attention(split_heads(query), split_heads(key), split_heads(value))) @ out_proj_weight.T


def multihead_attention_backward(dy, x, in_proj_weight, out_proj_weight):
    projected = x @ in_proj_weight.T
    query, key, value = np.split(projected, 3, axis=-1)
    query, key, value = split_heads(query), split_heads(key), split_heads(value)
    context = merge_heads(attention(query, key, value))
    dcontext = split_heads(dy @ out_proj_weight)
    dout_proj_weight = np.einsum("bto,bti->oi", dy, context)
    dquery, dkey, dvalue = attention_backward(dcontext, query, key, value)
    dprojected = np.concatenate([merge_heads(dquery), merge_heads(dkey), merge_heads(dvalue)], axis=-1)
    din_proj_weight = np.einsum("bto,bti->oi", dprojected, x)
    dx = dprojected @ in_proj_weight
    return dx, din_proj_weight, dout_proj_weight


def post_norm(x, weight1, weight2, gamma, beta):
    return layer_norm(x + np.maximum(x @ weight1.T, 0) @ weight2.T, gamma, beta)


def post_norm_backward(dy, x, weight1, weight2, gamma, beta):
    hidden = x @ weight1.T
    active = np.maximum(hidden, 0)
    summed = x + active @ weight2.T
    dsummed, dgamma, dbeta = layer_norm_backward(dy, summed, gamma, beta)
    dweight2 = np.einsum("bto,bti->oi", dsummed, active)
    dactive = dsummed @ weight2
    dhidden = dactive * (hidden > 0)
    dweight1 = np.einsum("bto,bti->oi", dhidden, x)
    dx = dsummed + dhidden @ weight1
    return dx, dweight1, dweight2, dgamma, dbeta


def pre_norm(x, weight1, weight2, gamma, beta):
    return x + np.maximum(layer_norm(x, gamma, beta) @ weight1.T, 0) @ weight2.T


def pre_norm_backward(dy, x, weight1, weight2, gamma, beta):
    normed = layer_norm(x, gamma, beta)
    hidden = normed @ weight1.T
    active = np.maximum(hidden, 0)
    dweight2 = np.einsum("bto,bti->oi", dy, active)
    dactive = dy @ weight2
    dhidden = dactive * (hidden > 0)
    dweight1 = np.einsum("bto,bti->oi", dhidden, normed)
    dnormed = dhidden @ weight1
    dpath, dgamma, dbeta = layer_norm_backward(dnormed, x, gamma, beta)
    dx = dy + dpath
    return dx, dweight1, dweight2, dgamma, dbeta


def label_smoothing(logits, target):
    classes = logits.shape[-1]
    q = 0.9 * np.eye(classes)[target] + 0.1 / classes
    return (q * (np.log(q) - np.log(softmax(logits)))).sum(axis=-1).mean()


def label_smoothing_backward(dy, logits, target):
    n, classes = logits.shape
    p = softmax(logits)
    q = 0.9 * np.eye(classes)[target] + 0.1 / classes
    dlogits = dy * (p - q) / n
    return dlogits


def adam_step(parameter, gradient, m, v, step, rate):
    m = 0.9 * m + (1 - 0.9) * gradient
    v = 0.98 * v + (1 - 0.98) * gradient**2
    m_hat = m / (1 - 0.9**step)
    v_hat = v / (1 - 0.98**step)
    parameter = parameter - rate * m_hat / (np.sqrt(v_hat) + 1e-9)
    return parameter, m, v


def warm_up(step, d_model, steps):
    return d_model**-0.5 * min(step**-0.5, step * steps**-1.5)


# By file of the course: its functions with a backward, and the shapes of their inputs. An integer input has its limit.
EXERCISES = {
    "sums": {"sums": [(2, 3, 4), (3, 1), (4,)]},
    "linear": {"linear": [(2, 3, 4), (5, 4), (5,)]},
    "softmax": {"softmax": [(3, 5)]},
    "cross_entropy": {"cross_entropy": [(4, 6), (6, 4)]},
    "layer_norm": {"layer_norm": [(2, 3, 5), (5,), (5,)]},
    "attention": {"attention": [(2, 3, 4), (2, 5, 4), (2, 5, 6)]},
    "masks": {"masked_attention": [(2, 3, 4), (2, 5, 4), (2, 5, 6), (2, 3, 5)]},
    "heads": {"multihead_attention": [(2, 3, 8), (24, 8), (8, 8)]},
    "residual": {"post_norm": [(2, 3, 4), (6, 4), (4, 6), (4,), (4,)], "pre_norm": [(2, 3, 4), (6, 4), (4, 6), (4,), (4,)]},
    "label_smoothing": {"label_smoothing": [(4, 6), (6, 4)]},
    "adam": {"adam_step": [(3, 4)], "warm_up": []},
}
FUNCTIONS = {f: (exercise, shapes) for exercise, functions in EXERCISES.items() for f, shapes in functions.items()}


def inputs_of(function, seed=0, shapes=None, dtype=np.float64):
    rng = np.random.default_rng([zlib.crc32(function.encode()), seed])
    names = list(inspect.signature(globals()[function]).parameters)
    inputs = []
    for name, shape in zip(names, shapes or FUNCTIONS[function][1]):
        if name == "target":
            inputs.append(rng.integers(0, *shape))
        elif name == "keep":
            keep = rng.random(shape) < 0.6
            keep[0, 0] = False
            inputs.append(keep)
        else:
            inputs.append(rng.standard_normal(shape).astype(dtype))
    return inputs


def text_of(function):
    """The part of an exercise's solution that the student writes."""
    return inspect.getsource(globals()[function if function in ("adam_step", "warm_up") else function + "_backward"])


def compiled(text):
    """The function that a changed text defines, beside all others."""
    space = dict(globals())
    exec(text, space)
    name = text.split("def ", 1)[1].split("(", 1)[0]
    return space[name]
