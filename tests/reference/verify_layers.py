"""NumPy forms of the layers, losses, optimisers, clipping and tensor functions; see verify.py."""

import math

import numpy as np

from verify_common import differences, expect, read, softmax


def linear(x, w, prefix=""):
    return x @ w[f"{prefix}weight"].T + w.get(f"{prefix}bias", 0.0)


def normalise(x, axes, eps):
    centred = x - x.mean(axes, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axes, keepdims=True) + eps)


def layer_norm(x, w, eps):
    return normalise(x, -1, eps) * w.get("weight", 1.0) + w.get("bias", 0.0)


def batch_norm(t, w, c):
    x = t["x"]
    shape = (1, -1) + (1,) * (x.ndim - 2)
    if c["training"]:
        unit = normalise(x, (0, *range(2, x.ndim)), c["eps"])
    else:
        mean, var = (t[f"running_{k}"].reshape(shape) for k in ("mean", "var"))
        unit = (x - mean) / np.sqrt(var + c["eps"])
    return unit * w["weight"].reshape(shape) + w["bias"].reshape(shape)


def sigmoid(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


erfc = np.vectorize(math.erfc)
ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0.0),
    "gelu": lambda x: 0.5 * x * erfc(-x / math.sqrt(2)),
    # 0.5 x (1 + tanh u) = x sigmoid(2u), which does not cancel for negative u
    "gelu_tanh": lambda x: x * sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)),
    "silu": lambda x: x * sigmoid(x),
    "tanh": np.tanh,
    "sigmoid": sigmoid,
}


def log_softmax(x):
    shifted = x - x.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def attention(t, c):
    query, key = t["query"], t["key"]
    scores = query @ np.swapaxes(key, -1, -2) * c.get("scale", query.shape[-1] ** -0.5)
    if "keep" in t:
        scores = np.where(t["keep"], scores, -np.inf)
    return softmax(scores + t.get("bias", 0.0)) @ t["value"]


def reduce(values, weights, reduction):
    total = values.sum()
    return {"none": values, "sum": total, "mean": total / weights.sum()}[reduction]


def classification(log_probs, target, weight, c):
    """Cross-entropy from log-probabilities (..., V), with class weights, ignore_index and label smoothing ε / V.

    target has classes, or a distribution (..., V)."""
    classes = log_probs.shape[-1]
    log_probs = log_probs.reshape(-1, classes)
    smoothing, weight = c.get("label_smoothing", 0.0), np.ones(classes) if weight is None else weight
    if target.dtype == np.int64:
        target = target.reshape(-1)
        real = (target != c.get("ignore_index", -100)).astype(float)
        q, share = np.eye(classes)[target], weight[target] * real
    else:
        q, real, share = target, np.ones(len(target)), np.ones(len(target))
    value = -(((1 - smoothing) * q + smoothing / classes) * weight * log_probs).sum(-1)
    return reduce(value * real, share, c["reduction"])


def layer(name, t, w, c):
    """y of the case called `name` in layers.safetensors, or None if it has no form here."""
    if name.startswith("linear"):
        return linear(t["x"], w)
    if name.startswith("embedding"):
        return w["weight"][t["ids"]]
    if name.startswith("layer_norm"):
        return layer_norm(t["x"], w, c["eps"])
    if name.startswith("batch_norm"):
        return batch_norm(t, w, c)
    if name in ACTIVATIONS:
        return ACTIVATIONS[name](t["x"])
    if name.startswith(("softmax", "log_softmax")):
        f = log_softmax if name.startswith("log") else softmax
        return np.moveaxis(f(np.moveaxis(t["x"], c["axis"], -1)), -1, c["axis"])
    if name == "attention_single_head":
        q, k, v = (linear(t["x"], w, f"{n}.") for n in ("query", "key", "value"))
        return attention({"query": q, "key": k, "value": v}, {})
    if name.startswith("attention"):
        causal = {"keep": np.tri(t["query"].shape[-2], dtype=bool)} if name.endswith("causal") else {}
        return attention({**t, **causal}, c)
    if name == "feed_forward":
        return linear(np.maximum(linear(t["x"], w, "linear1."), 0.0), w, "linear2.")
    if name.startswith("cross_entropy"):
        return classification(log_softmax(t["x"]), t["target"], t.get("weight"), c)
    if name.startswith("mse"):
        return reduce((t["x"] - t["target"]) ** 2, np.ones_like(t["x"]), c["reduction"])
    return None


def verify_layers(rng):
    case, all_tensors = read("layers")
    for name, c in case["cases"].items():
        t = {k[len(name) + 1:]: v for k, v in all_tensors.items() if k.startswith(name + ".")}
        w = {k[6:]: v for k, v in t.items() if k.startswith("param.")}
        if name.startswith("positions"):
            rows = t.get("rows", np.arange(len(t["y"])))
            d = c["d_model"]
            for row, p in zip(t["y"], rows):
                expected = [(math.sin, math.cos)[i % 2](p / c["base"] ** (2 * (i // 2) / d)) for i in range(d)]
                expect(f"{name} row {p}", expected, row, 1e-11, 1e-11)
            continue
        y = layer(name, t, w, c)
        assert y is not None, name
        expect(f"{name} y", y, t["y"], 1e-12, 1e-13)
        if name == "layer_norm_constant" or name == "softmax_wide":
            continue  # the second derivative is too large for a difference quotient
        loss = lambda: (layer(name, t, w, c) * t["dy"]).sum()
        for k, g in t.items():
            if k.startswith("grad.") and c.get("padding_idx") is None:
                differences(f"{name} {k}", loss, w[k[5:]], g, rng)
            elif k.startswith("d") and k != "dy" and k[1:] in t and not (
                name in ACTIVATIONS or name.startswith(("log_softmax_wide", "layer_norm_offset"))
            ):
                differences(f"{name} {k}", loss, t[k[1:]], g, rng)
        if name in ACTIVATIONS:  # the first 15 are random; the rest sit on kinks and extremes
            f, x, h = ACTIVATIONS[name], t["x"].reshape(-1)[:15], 1e-6
            slope = (f(x + h) - f(x - h)) / (2 * h) * t["dy"].reshape(-1)[:15]
            expect(f"{name} dx", slope, t["dx"].reshape(-1)[:15], 1e-6, 1e-8)
        if name == "embedding_padding":
            expect(f"{name} row 0", 0.0, t["grad.weight"][0], 0, 0)


def step_sgd(p, g, s, state, c):
    g = g + c["weight_decay"] * p
    if c["momentum"]:
        v = g if s == 1 else c["momentum"] * state["v"] + (1 - c["dampening"]) * g
        state["v"] = v
        g = g + c["momentum"] * v if c["nesterov"] else v
    return p - c["lr"] * g


def step_adam(p, g, s, state, c):
    decay, (one, two) = c.get("weight_decay", 0.0), c["betas"]
    if c["optimiser"] == "AdamW":
        p = p - c["lr"] * decay * p
    else:
        g = g + decay * p
    m = state["m"] = one * state.get("m", 0.0) + (1 - one) * g
    v = state["v"] = two * state.get("v", 0.0) + (1 - two) * g * g
    return p - c["lr"] * (m / (1 - one**s)) / (np.sqrt(v / (1 - two**s)) + c["eps"])


def verify_optim():
    case, t = read("optim")
    for name, c in case["cases"].items():
        if "optimiser" in c:
            for k in ("w", "b"):
                p, state = t[f"param.{k}"], {}
                for s, (g, stored) in enumerate(zip(t[f"grads.{k}"], t[f"{name}.{k}"]), 1):
                    rate = t[f"{name}.rates"][s - 1] if f"{name}.rates" in t else c["lr"]
                    step = step_sgd if c["optimiser"] == "SGD" else step_adam
                    p = step(p, g, s, state, c | {"lr": rate})
                    expect(f"{name}.{k} step {s}", p, stored, 1e-12, 1e-14)
        elif name.startswith("clip"):
            zero = name == "clip_zero"
            grads = {k: t[f"clip.grad.{k}"] * (0.0 if zero else 1.0) for k in ("w", "b")}
            order = np.inf if c["norm_type"] == "inf" else c["norm_type"]
            norm = np.linalg.norm(np.concatenate([g.reshape(-1) for g in grads.values()]), order)
            expect(f"{name} norm", norm, t[f"{name}.norm"], 1e-13, 0)
            for k, g in grads.items():
                scaled = g * min(1.0, c["max_norm"] / (norm + 1e-6))
                expect(f"{name} {k}", scaled, t[f"{name}.grad.{k}"], 1e-13, 0)


def verify_tensor_ops():
    """The cases that NumPy can state in one call of its own."""
    case, t = read("tensor_ops")
    for name, c in case["cases"].items():
        get = lambda k="x": t[c["input"]] if "input" in c and k == "x" else t[f"{name}.{k}"]
        op, y = c["op"], t[f"{name}.y"]
        if op in ("sum", "mean", "max", "min", "var", "logsumexp"):
            x, axes = get(), c.get("axes", [0])
            more = dict(axis=None if axes is None else tuple(axes), keepdims=c.get("keepdim", False))
            if op == "logsumexp":
                with np.errstate(all="ignore"):
                    top = np.max(x, more["axis"], keepdims=True)
                    safe = np.where(np.isfinite(top), top, 0.0)
                    actual = np.log(np.exp(x - safe).sum(**more)) + safe.reshape(y.shape)
            else:
                actual = getattr(np, op)(x, **more, **({"ddof": c["correction"]} if op == "var" else {}))
        elif op == "matmul":
            a, b = get("a"), get("b")
            actual = (a.swapaxes(1, 2) @ b.swapaxes(1, 2)) if name.endswith("transposed") else a @ b
        elif op == "cumsum":
            actual = np.cumsum(get(), c["axis"])
        elif op in ("triu", "tril"):
            actual = getattr(np, op)(get(), c["diagonal"])
        elif op == "gather":
            index, axis = get("index"), c["axis"]
            actual = np.array([[get()[(index[i, j], j) if axis == 0 else (i, index[i, j])]
                                for j in range(index.shape[1])] for i in range(len(index))])
        elif op == "scatter_add":
            actual = get().copy()
            for (i, j), at in np.ndenumerate(get("index")):
                actual[(at, j) if c["axis"] == 0 else (i, at)] += get("source")[i, j]
        elif op == "index_select":
            actual = np.take(get(), get("index"), c["axis"])
        elif op == "one_hot":
            actual = np.eye(c["classes"], dtype=np.int64)[get()]
        elif op in ("sort", "topk"):
            x, axis = get(), c["axis"]
            keys = -x if c.get("descending") or c.get("largest") else x
            order = np.argsort(keys, axis, kind="stable")
            order = order.take(range(c["k"]), axis) if op == "topk" else order
            actual = np.take_along_axis(x, order, axis)
            expect(f"{name} indices", order, t[f"{name}.indices"], 0, 0)
        else:
            continue
        expect(name, actual, y, 1e-12, 1e-13)
        assert actual.shape == y.shape and actual.dtype == y.dtype, name


def verify(rng):
    verify_layers(rng)
    verify_optim()
    verify_tensor_ops()
