"""NumPy forms of what vision.safetensors holds, from the equations; see verify.py."""

import numpy as np

from verify_common import differences, expect, read, softmax


def two(value, otherwise):
    value = otherwise if value is None else value
    return tuple(value) if isinstance(value, list) else (value, value)


def windows(x, kernel, c, fill):
    """(B, C, H', W', kh, kw) of x (B, C, H, W), by index."""
    s, p, d = two(c.get("stride"), 1), two(c.get("padding"), 0), two(c.get("dilation"), 1)
    if c.get("padding") == "same":  # one more behind than before
        total = [d[i] * (kernel[i] - 1) for i in (0, 1)]
        pad = [(n // 2, n - n // 2) for n in total]
    else:
        pad = [(n, n) for n in p]
    x = np.pad(x, [(0, 0), (0, 0), *pad], constant_values=fill)
    out = [(x.shape[2 + i] - d[i] * (kernel[i] - 1) - 1) // s[i] + 1 for i in (0, 1)]
    rows = (np.arange(out[0]) * s[0])[:, None] + np.arange(kernel[0]) * d[0]
    columns = (np.arange(out[1]) * s[1])[:, None] + np.arange(kernel[1]) * d[1]
    return x[:, :, rows[:, None, :, None], columns[None, :, None, :]]


def as_image(x, c):
    """A sequence is an image of height 1: options count for the columns alone."""
    neutral = {"stride": 1, "padding": 0, "dilation": 1, "kernel_size": 1}
    return x[:, :, None, :], {
        k: [neutral[k], v] if k in neutral and v != "same" else v for k, v in c.items()}


def convolve(x, w, c):
    weight = w["weight"]
    flat = x.ndim == 3
    if flat:
        x, c = as_image(x, c)
        weight = weight[:, :, None, :]
    groups = zip(np.split(x, c.get("groups", 1), 1), np.split(weight, c.get("groups", 1)))
    y = np.concatenate([np.einsum("bchwij,ocij->bohw", windows(part, k.shape[2:], c, 0.0), k) for part, k in groups], 1)
    y = y + w.get("bias", np.zeros(len(weight)))[:, None, None]
    return y[:, :, 0] if flat else y


def pool(name, x, c):
    flat = x.ndim == 3
    c = {"stride": c["kernel_size"]} | c
    if flat:
        x, c = as_image(x, c)
    kernel = two(c["kernel_size"], 1)
    if name.startswith("max"):
        y = windows(x, kernel, c, -np.inf).max((-2, -1))
    else:
        y = windows(x, kernel, c, 0.0).sum((-2, -1))
        count = kernel[0] * kernel[1]
        if not c.get("count_include_pad", True):
            count = windows(np.ones_like(x), kernel, c, 0.0).sum((-2, -1))
        y = y / count
    return y[:, :, 0] if flat else y


def turn(x, offset, base):
    t, d = x.shape[-2:]
    angle = np.arange(offset, offset + t)[:, None] * base ** (-np.arange(0, d, 2) / d)
    even, odd = x[..., 0::2], x[..., 1::2]
    y = np.empty_like(x)
    y[..., 0::2] = even * np.cos(angle) - odd * np.sin(angle)
    y[..., 1::2] = even * np.sin(angle) + odd * np.cos(angle)
    return y


def attend(x, w, c):
    b, t, d = x.shape
    h = c["heads"]
    packed = x @ w["in_proj_weight"].T + w["in_proj_bias"]
    q, k, v = (p.reshape(b, t, h, d // h).swapaxes(1, 2) for p in np.split(packed, 3, -1))
    if c["kind"] == "rotary":
        q, k = turn(q, 0, 10000.0), turn(k, 0, 10000.0)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(d // h)
    if c["kind"] == "alibi":
        distance = np.abs(np.arange(t)[:, None] - np.arange(t))
        scores = scores - (2.0 ** (-8 * np.arange(1, h + 1) / h))[:, None, None] * distance
    if c["causal"]:
        scores = np.where(np.tri(t, dtype=bool), scores, -np.inf)
    y = (softmax(scores) @ v).swapaxes(1, 2).reshape(b, t, d)
    return y @ w["out_proj.weight"].T + w["out_proj.bias"]


def layer(name, x, w, c):
    if name.startswith("rms_norm"):
        eps = np.finfo(np.float64).eps if c["eps"] is None else c["eps"]
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + eps) * w.get("weight", 1.0)
    if name.startswith("glu"):
        value, gate = np.split(x, 2, c["axis"])
        return value / (1 + np.exp(-gate))
    if name.startswith("conv"):
        return convolve(x, w, c)
    if "pool" in name:
        return pool(name, x, c)
    return turn(x, c["offset"], c["base"]) if name.startswith("rotary") else attend(x, w, c)


def verify_vision(rng):
    case, tensors = read("vision")
    for name, c in case["cases"].items():
        t = {k[len(name) + 1:]: v for k, v in tensors.items() if k.startswith(name + ".")}
        if name.startswith("alibi_slopes"):
            expect(name, 2.0 ** (-8 * np.arange(1, c["heads"] + 1) / c["heads"]), t["y"], 1e-15, 0)
            continue
        w = {k[6:]: v for k, v in t.items() if k.startswith("param.")}
        expect(f"{name} y", layer(name, t["x"], w, c), t["y"], 1e-12, 1e-13)
        if name.endswith("_ties"):  # a difference quotient sees both sides of a tie
            continue
        loss = lambda: (layer(name, t["x"], w, c) * t["dy"]).sum()
        differences(f"{name} dx", loss, t["x"], t["dx"], rng)
        for k, p in w.items():
            differences(f"{name} {k}", loss, p, t[f"grad.{k}"], rng)
