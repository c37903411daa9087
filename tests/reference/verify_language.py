"""NumPy forms of the decoder-only and encoder-only models; see verify.py."""

import numpy as np

from verify_common import differences, expect, read
from verify_layers import ACTIVATIONS, layer_norm, linear, log_softmax

EPS, PAD = 1e-5, 0


def part(p, name):
    return {k[len(name) + 1:]: v for k, v in p.items() if k.startswith(name + ".")}


def norm(x, p, name):
    return layer_norm(x, part(p, name), EPS)


def blocks(x, p, name, c, bias, attend):
    """`name`.layers.I and, with pre-norm, `name`.norm."""
    first = c.get("norm_first", True)
    gelu = ACTIVATIONS["gelu"]
    for i in range(c["layers"]):
        at = f"{name}.layers.{i}"
        sublayers = (
            ("norm1", lambda h: attend(h, p, f"{at}.self_attn.", c["heads"], bias)),
            ("norm2", lambda h: linear(gelu(linear(h, part(p, f"{at}.linear1"))),
                                       part(p, f"{at}.linear2"))),
        )
        for own, f in sublayers:
            own = f"{at}.{own}"
            x = x + f(norm(x, p, own)) if first else norm(x + f(x), p, own)
    return norm(x, p, f"{name}.norm") if first else x


def gpt(c, p, t, attend):
    length = t["ids"].shape[1]
    bias = np.where(np.tri(length, dtype=bool), 0.0, -np.inf)[None, None]
    x = p["wte.weight"][t["ids"]] + p["wpe.weight"][:length]
    return blocks(x, p, "transformer", c, bias, attend) @ p["wte.weight"].T


def bert(c, p, t, attend):
    ids = t["ids"]
    bias = np.where(ids != PAD, 0.0, -np.inf)[:, None, None, :]
    x = p["bert.embed.weight"][ids] + p["bert.positions.weight"][: ids.shape[1]]
    return blocks(norm(x, p, "bert.norm"), p, "bert.encoder", c, bias, attend)


def masked(c, p, t, attend):
    hidden = bert(c, p, t, attend).reshape(-1, c["d_model"])[t["chosen"]]
    h = norm(ACTIVATIONS["gelu"](linear(hidden, part(p, "transform"))), p, "norm")
    return h @ p["bert.embed.weight"].T + p["generator.bias"]


def classifier(c, p, t, attend):
    hidden = bert(c, p, t, attend)
    if c["pooling"] == "first":
        pooled = np.tanh(linear(hidden[:, 0], part(p, "pooler")))
    else:
        keep = (t["ids"] != PAD)[..., None]
        pooled = (hidden * keep).sum(1) / keep.sum(1)
    return linear(pooled, part(p, "classifier"))


MODELS = {"gpt": gpt, "masked": masked, "classifier": classifier}


def verify(rng, attend):
    """`attend`(x, parameters, prefix, heads, additive mask) is multi-head self-attention."""
    case, tensors = read("language")
    for prefix, c in case["cases"].items():
        t = part(tensors, prefix)
        p, model = part(t, "param"), MODELS[prefix.split("_")[0]]

        def loss():
            log_probs = log_softmax(model(c, p, t, attend))
            rows = log_probs.reshape(-1, log_probs.shape[-1])
            return -rows[np.arange(len(rows)), t["targets"].ravel()].mean()

        expect(f"{prefix} logits", model(c, p, t, attend), t["logits"], 1e-12, 1e-13)
        expect(f"{prefix} loss", loss(), t["loss"], 1e-12, 1e-13)
        for key in p:
            differences(f"{prefix} grad.{key}", loss, p[key], t[f"grad.{key}"], rng)
