"""NumPy forms of the ViT and of the convolutional sequence-to-sequence model; see verify.py."""

import numpy as np

from verify_common import differences, expect, read, softmax
from verify_layers import ACTIVATIONS, layer_norm, linear, log_softmax, sigmoid

PAD = 0


def part(p, name):
    return {k[len(name) + 1:]: v for k, v in p.items() if k.startswith(name + ".")}


def vit(c, p, t, attend):
    side, d = c["patch"], c["d_model"]
    x = (t["images"] - p["pixel_mean"][:, None, None]) / p["pixel_deviation"][:, None, None]
    b, channels, height, width = x.shape
    # (B, C, H/P, P, W/P, P) -> (B, N, C·P·P)
    patches = x.reshape(b, channels, height // side, side, width // side, side)
    patches = patches.transpose(0, 2, 4, 1, 3, 5).reshape(b, -1, channels * side * side)
    z = patches @ p["patch_embed.weight"].reshape(d, -1).T + p["patch_embed.bias"]
    if c["pooling"] == "class":
        z = np.concatenate([np.repeat(p["class_token"], b, 0), z], 1)
    z = z + p["positions.weight"]
    norm = lambda x, name: layer_norm(x, part(p, name), c["norm_eps"])
    bias = np.zeros((1, 1, z.shape[1], z.shape[1]))
    for i in range(c["layers"]):
        at = f"encoder.layers.{i}"
        z = z + attend(norm(z, f"{at}.norm1"), p, f"{at}.self_attn.", c["heads"], bias)
        h = ACTIVATIONS["gelu"](linear(norm(z, f"{at}.norm2"), part(p, f"{at}.linear1")))
        z = z + linear(h, part(p, f"{at}.linear2"))
    z = norm(z, "encoder.norm")
    return linear(z[:, 0] if c["pooling"] == "class" else z.mean(1), part(p, "head"))


def gated(x, p, name, before, after):
    """GLU of a convolution along T of x (B, T, D)."""
    w, b = p[f"{name}.conv.weight"], p[f"{name}.conv.bias"]
    padded = np.pad(x, [(0, 0), (before, after), (0, 0)])
    y = sum(padded[:, j : j + x.shape[1]] @ w[:, :, j].T for j in range(w.shape[2])) + b
    value, gate = np.split(y, 2, -1)
    return value * sigmoid(gate)


def conv_seq2seq(c, p, t, _):
    half, k = np.sqrt(0.5), c["kernel"]
    embed = lambda side, ids: p[f"{side}_embed.weight"][ids] + p[f"{side}_positions.weight"][: ids.shape[1]]
    keep = (t["src"] != PAD)[..., None]
    h = e = embed("src", t["src"]) * keep
    for i in range(c["layers"]):
        before = (k - 1) // 2
        h = (gated(h, p, f"encoder.layers.{i}", before, k - 1 - before) + h) * half * keep
    key, value, count = h, (h + e) * half, keep.sum(1, keepdims=True)
    h = g = embed("tgt", t["tgt_in"])
    for i in range(c["layers"]):
        u = gated(h, p, f"decoder.layers.{i}", k - 1, 0)
        d = (linear(u, part(p, f"decoder.layers.{i}.query")) + g) * half
        scores = np.where(keep.swapaxes(1, 2), d @ key.swapaxes(1, 2), -np.inf)
        h = ((u + softmax(scores) @ value * np.sqrt(count)) * half + h) * half
    return linear(h, part(p, "generator"))


def verify_vision_models(rng, attend):
    case, tensors = read("vision_models")
    for name, c in case["cases"].items():
        t = {k[len(name) + 1:]: v for k, v in tensors.items() if k.startswith(name + ".")}
        p = {k[6:]: v for k, v in t.items() if k.startswith("param.")}
        model = vit if name.startswith("vit") else conv_seq2seq
        expect(f"{name} logits", model(c, p, t, attend), t["logits"], 1e-11, 1e-12)

        def loss():
            log_probs = log_softmax(model(c, p, t, attend)).reshape(-1, t["logits"].shape[-1])
            targets = t["targets"].reshape(-1)
            real = np.flatnonzero(targets >= 0)
            return -log_probs[real, targets[real]].mean()

        expect(f"{name} loss", loss(), t["loss"], 1e-12, 1e-13)
        for key in (k[5:] for k in t if k.startswith("grad.")):
            differences(f"{name} grad.{key}", loss, p[key], t[f"grad.{key}"], rng)
