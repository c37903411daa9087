#!/usr/bin/env python3
"""Checks the committed references against a second implementation, written in NumPy alone.

    python tests/reference/verify.py

The forward passes below are written from the equations, not from torch; every gradient is compared
with a central difference of them, (f(x + h) - f(x - h)) / 2h with h = 1e-5, at a few entries.
"""

import sys

import numpy as np

import verify_language
import verify_layers
import verify_recurrent
import verify_vision
import verify_vision_models
import verify_variants
from verify_common import TALLY, differences, expect, read, softmax


def norm(x, p, name, eps):
    centred = x - x.mean(-1, keepdims=True)
    unit = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)
    return unit * p[f"{name}.weight"] + p[f"{name}.bias"]


def attend(query, key, value, p, name, heads, bias):
    """Multi-head attention with the names of torch; bias (B or 1, H or 1, T, S) is added to scores.

    Returns the output and the weights per head."""
    at = lambda n: p.get(f"{name}{n}")
    width = query.shape[-1]
    joint = at("in_proj_weight")
    weights = np.split(joint, 3) if joint is not None else [
        at(f"{n}_proj_weight") for n in "qkv"]
    shift = np.split(at("in_proj_bias"), 3) if at("in_proj_bias") is not None else [0.0] * 3
    q, k, v = (x @ w.T + s for x, w, s in zip((query, key, value), weights, shift))
    if at("bias_k") is not None:
        n = len(k)
        k = np.concatenate([k, np.repeat(at("bias_k"), n, 0)], 1)
        v = np.concatenate([v, np.repeat(at("bias_v"), n, 0)], 1)
    if p.get("zero_attn"):
        k, v = (np.concatenate([x, np.zeros_like(x[:, :1])], 1) for x in (k, v))
    extra = k.shape[1] - bias.shape[-1]
    bias = np.pad(bias, [(0, 0)] * 3 + [(0, extra)])  # the added columns are never masked
    size = width // heads
    out, probs = np.zeros_like(q), []
    for h in range(heads):
        part = slice(h * size, (h + 1) * size)
        scores = q[..., part] @ k[..., part].transpose(0, 2, 1) / np.sqrt(size)
        w = softmax(scores + bias[:, min(h, bias.shape[1] - 1)])
        out[..., part] = w @ v[..., part]
        probs.append(w)
    y = out @ at("out_proj.weight").T
    return y + (at("out_proj.bias") if at("out_proj.bias") is not None else 0.0), np.stack(probs, 1)


def as_bias(keep):
    return np.where(keep, 0.0, -np.inf)


def transformer(case, p, t):
    """Returns memory, logits and the label-smoothed KL loss."""
    c = case["config"]
    first, eps, heads, d = c["norm_first"], c["layer_norm_eps"], c["heads"], c["d_model"]
    at = lambda name: p[case["aliases"].get(name, name)]

    def embed(table, ids):
        position, i = np.arange(ids.shape[1])[:, None], np.arange(d)[None, :]
        angle = position / 10000.0 ** (2 * (i // 2) / d)
        return at(table)[ids] * d**0.5 + np.where(i % 2 == 0, np.sin(angle), np.cos(angle))

    def residual(x, name, f):
        return x + f(norm(x, p, name, eps)) if first else norm(x + f(x), p, name, eps)

    def feed_forward(x, name):
        h = np.maximum(x @ p[f"{name}.linear1.weight"].T + p[f"{name}.linear1.bias"], 0.0)
        return h @ p[f"{name}.linear2.weight"].T + p[f"{name}.linear2.bias"]

    src_bias = as_bias(t["src_keep"])[:, None, None, :]
    x = embed("src_embed.weight", t["src"])
    for i in range(c["encoder_layers"]):
        name = f"encoder.layers.{i}"
        x = residual(x, f"{name}.norm1",
                     lambda x: attend(x, x, x, p, f"{name}.self_attn.", heads, src_bias)[0])
        x = residual(x, f"{name}.norm2", lambda x: feed_forward(x, name))
    memory = norm(x, p, "encoder.norm", eps) if first else x

    tgt_in, tgt_out = t["tgt_in"], t["tgt_out"]
    length = tgt_in.shape[1]
    keep = np.tri(length, dtype=bool) & (tgt_in != c["pad_id"])[:, None, :]
    expect("tgt_keep", keep, t["tgt_keep"], 0, 0)
    tgt_bias = as_bias(keep)[:, None]
    x = embed("tgt_embed.weight", tgt_in)
    for i in range(c["decoder_layers"]):
        name = f"decoder.layers.{i}"
        x = residual(x, f"{name}.norm1",
                     lambda x: attend(x, x, x, p, f"{name}.self_attn.", heads, tgt_bias)[0])
        x = residual(x, f"{name}.norm2", lambda x: attend(
            x, memory, memory, p, f"{name}.multihead_attn.", heads, src_bias)[0])
        x = residual(x, f"{name}.norm3", lambda x: feed_forward(x, name))
    x = norm(x, p, "decoder.norm", eps) if first else x
    logits = x @ at("generator.weight").T + p["generator.bias"]

    top = logits.max(-1, keepdims=True)
    log_probs = logits - top - np.log(np.exp(logits - top).sum(-1, keepdims=True))
    loss, tokens, smoothing, size = 0.0, 0, c["label_smoothing"], c["vocabulary"]
    for b, row in enumerate(tgt_out):
        for j, true in enumerate(row):
            if true == c["pad_id"]:
                continue
            tokens += 1
            for v in range(size):
                mass = 1 - smoothing if v == true else smoothing / (size - 2)
                if v != c["pad_id"]:
                    loss += mass * (np.log(mass) - log_probs[b, j, v])
    plain = -sum(log_probs[b, j, v] for (b, j), v in np.ndenumerate(tgt_out) if v) / tokens
    return memory, logits, loss / tokens, plain


def verify_transformer(name, rng):
    case, t = read(name)
    p = {k[6:]: v for k, v in t.items() if k.startswith("param.")}
    memory, logits, loss, plain = transformer(case, p, t)
    for key, value in dict(memory=memory, logits=logits, loss=loss, loss_cross_entropy=plain).items():
        expect(f"{name} {key}", value, t[key], 1e-12, 1e-13)
    for key in p:
        differences(f"{name} grad.{key}", lambda: transformer(case, p, t)[2], p[key],
                    t[f"grad.{key}"], rng)
    assert {k[5:] for k in t if k.startswith("grad.")} == p.keys()


def verify_mha(rng):
    case, t = read("mha")
    for prefix, c in case["cases"].items():
        own = {k[len(prefix) + 1:]: v for k, v in t.items() if k.startswith(prefix + ".")}
        p = {k[6:]: v for k, v in own.items() if k.startswith("param.")}
        p["zero_attn"] = c["add_zero_attn"]
        heads = c["num_heads"]

        def forward():
            key, value = own.get("key", own["query"]), own.get("value", own["query"])
            bias = np.zeros((len(key), heads, own["query"].shape[1], key.shape[1]))
            for name, add in (("key_keep", as_bias), ("key_bias", np.asarray)):
                if name in own:
                    bias = bias + add(own[name])[:, None, None, :]
            for name, add in (("attn_keep", as_bias), ("attn_bias", np.asarray)):
                if name in own:
                    mask = add(own[name])
                    bias = bias + (mask if mask.ndim == 2 else mask.reshape(bias.shape))
            return attend(own["query"], key, value, p, "", heads, bias)

        y, probs = forward()
        for key, value in dict(y=y, weights_per_head=probs, weights=probs.mean(1)).items():
            expect(f"{prefix} {key}", value, own[key], 1e-12, 1e-13)
        loss = lambda: (forward()[0] * own["dy"]).sum()
        for key, g in own.items():
            if key.startswith("grad."):
                differences(f"{prefix} {key}", loss, p[key[5:]], g, rng)
            elif key.startswith("d") and key != "dy":
                differences(f"{prefix} {key}", loss, own[key[1:]], g, rng)


def main():
    rng = np.random.default_rng(5)
    for kind in ("pre_tied", "pre_untied", "post_tied", "post_untied"):
        verify_transformer(f"transformer_{kind}", rng)
    verify_mha(rng)
    verify_layers.verify(rng)
    verify_language.verify(rng, lambda x, *rest: attend(x, x, x, *rest)[0])
    verify_vision.verify_vision(rng)
    verify_vision_models.verify_vision_models(
        rng, lambda x, *rest: attend(x, x, x, *rest)[0])
    verify_recurrent.verify(rng)
    verify_variants.verify(rng)
    print(f"{TALLY['checks']} checks, {TALLY['failures']} failed")
    return 1 if TALLY["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
