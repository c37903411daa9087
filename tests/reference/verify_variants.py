"""NumPy forms of the variants of the Transformer; see verify.py."""

import numpy as np

from verify_common import differences, expect, read, softmax

D, HEADS, EPS, PAD, V = 16, 4, 1e-5, 0, 13


def log_softmax(x):
    shifted = x - x.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def soft_copy(source_lengths, target_lengths, s, t, sharpness):
    w = np.zeros((len(source_lengths), t, s))
    for (b, i, j), _ in np.ndenumerate(w):
        n, m = source_lengths[b], target_lengths[b]
        if i < m and j < n:
            w[b, i, j] = np.exp(-abs(j - (i * (n - 1) / (m - 1) if m > 1 else 0)) / sharpness)
    total = w.sum(-1, keepdims=True)
    return np.divide(w, total, out=w, where=total > 0)


def mixture(logits, p_gen, attention, copy_ids, extra):
    p = np.concatenate([p_gen * softmax(logits), np.zeros((*logits.shape[:2], extra))], -1)
    for (b, t, i), a in np.ndenumerate(attention):
        p[b, t, copy_ids[b, i]] += (1 - p_gen[b, t, 0]) * a
    return np.log(p + 1e-12)


def guided(attention, target_lengths, source_lengths, width):
    total = 0.0
    mean = attention.mean(1) if attention.ndim == 4 else attention
    for b, (t_len, n_len) in enumerate(zip(target_lengths, source_lengths)):
        for t in range(t_len):
            for n in range(n_len):
                off = n / n_len - t / t_len
                total += mean[b, t, n] * (1 - np.exp(-off * off / (2 * width * width)))
    return total


class Blocks:
    """Layers of the Transformer by name, from the equations."""

    def __init__(self, p, norm_first):
        from verify import attend, norm

        self.p, self.first, self.attend, self.norm = p, norm_first, attend, norm

    def residual(self, x, name, f):
        normed = lambda v: self.norm(v, self.p, name, EPS)
        return x + f(normed(x)) if self.first else normed(x + f(x))

    def feed_forward(self, x, name):
        p = self.p
        h = np.maximum(x @ p[f"{name}.linear1.weight"].T + p[f"{name}.linear1.bias"], 0.0)
        return h @ p[f"{name}.linear2.weight"].T + p[f"{name}.linear2.bias"]

    def positions(self, length):
        position, i = np.arange(length)[:, None], np.arange(D)[None, :]
        angle = position / 10000.0 ** (2 * (i // 2) / D)
        return np.where(i % 2 == 0, np.sin(angle), np.cos(angle))

    def final(self, x, side):
        return self.norm(x, self.p, f"{side}.norm", EPS) if self.first else x

    def encode(self, src):
        bias = np.where(src != PAD, 0.0, -np.inf)[:, None, None, :]
        x = self.p["src_embed.weight"][src] * D**0.5 + self.positions(src.shape[1])
        for i in range(2):
            n = f"encoder.layers.{i}"
            x = self.residual(x, f"{n}.norm1", lambda v: self.attend(
                v, v, v, self.p, f"{n}.self_attn.", HEADS, bias)[0])
            x = self.residual(x, f"{n}.norm2", lambda v: self.feed_forward(v, n))
        return self.final(x, "encoder")

    def decode(self, x, memory, src, own_bias):
        bias = np.where(src != PAD, 0.0, -np.inf)[:, None, None, :]
        for i in range(2):
            n = f"decoder.layers.{i}"
            x = self.residual(x, f"{n}.norm1", lambda v: self.attend(
                v, v, v, self.p, f"{n}.self_attn.", HEADS, own_bias)[0])

            def read(v):
                y, self.probs = self.attend(
                    v, memory, memory, self.p, f"{n}.multihead_attn.", HEADS, bias)
                return y

            x = self.residual(x, f"{n}.norm2", read)
            x = self.residual(x, f"{n}.norm3", lambda v: self.feed_forward(v, n))
        return self.final(x, "decoder")


def lengths_of(ids):
    return [int((row != PAD).sum()) for row in ids]


def verify_non_autoregressive(name, rng):
    case, t = read(name)
    c = case["config"]
    p = {k[6:]: v for k, v in t.items() if k.startswith("param.")}
    src, tgt_out = t["src"], t["tgt_out"]
    sources, own = lengths_of(src), lengths_of(t["tgt_in"])

    def loss(check=False):
        blocks = Blocks(p, c["norm_first"])
        memory = blocks.encode(src)
        m = own if c["predict"] else [max(n, 2 * s + 10) for n, s in zip(own, sources)]
        w = soft_copy(sources, m, src.shape[1], max(m), c["sharpness"])
        x = w @ (p["src_embed.weight"][src] * D**0.5) + blocks.positions(max(m))
        beyond = np.arange(max(m))[None, :] >= np.array(m)[:, None]
        hidden = blocks.decode(x, memory, src, np.where(beyond, -np.inf, 0.0)[:, None, None, :])
        logits = (hidden @ p["generator.weight"].T + p["generator.bias"])[:, : tgt_out.shape[1]]
        log_p = log_softmax(logits)
        total = -sum(log_p[b, j, v] for (b, j), v in np.ndenumerate(tgt_out) if v != PAD)
        if check:
            real = tgt_out != PAD
            expect(f"{name}.logits", logits[real], t["logits"][real], 1e-10, 1e-12)
        if c["predict"]:
            pooled = np.stack([memory[b, :n].mean(0) for b, n in enumerate(sources)])
            scores = pooled @ p["length_predictor.weight"].T + p["length_predictor.bias"]
            lp, r = log_softmax(scores), c["reach"]
            total -= sum(lp[b, min(max(n - s, -r), r) + r]
                         for b, (n, s) in enumerate(zip(own, sources)))
        return total

    expect(f"{name}.loss", loss(True), t["loss"], 1e-10, 0)
    for key, value in p.items():
        differences(f"{name}.grad.{key}", loss, value, t[f"grad.{key}"], rng, 2)


def verify_copying(name, rng):
    case, t = read(name)
    c = case["config"]
    p = {k[6:]: v for k, v in t.items() if k.startswith("param.")}
    src, tgt_in, tgt_out = t["src"], t["tgt_in"], t["tgt_out"]

    def loss(check=False):
        blocks = Blocks(p, c["norm_first"])
        memory = blocks.encode(src)
        known = np.where(tgt_in < V, tgt_in, c["unknown"])
        n = known.shape[1]
        x = p["tgt_embed.weight"][known] * D**0.5 + blocks.positions(n)
        keep = np.tri(n, dtype=bool) & (known != PAD)[:, None, :]
        hidden = blocks.decode(x, memory, src, np.where(keep, 0.0, -np.inf)[:, None])
        logits = hidden @ p["generator.weight"].T + p["generator.bias"]
        attention = blocks.probs.mean(1)
        gate = np.concatenate([attention @ memory, hidden, x], -1)
        p_gen = 1 / (1 + np.exp(-(gate @ p["copy.p_gen.weight"].T + p["copy.p_gen.bias"])))
        y = mixture(logits, p_gen, attention, t["copy_ids"], c["extra"])
        if check:
            expect(f"{name}.y", y, t["y"], 1e-10, 1e-12)
        log_p = log_softmax(y)
        return -sum(log_p[b, j, v] for (b, j), v in np.ndenumerate(tgt_out) if v != PAD)

    expect(f"{name}.loss", loss(True), t["loss"], 1e-10, 0)
    for key, value in p.items():
        differences(f"{name}.grad.{key}", loss, value, t[f"grad.{key}"], rng, 2)


def verify_parts(rng):
    case, t = read("variants")
    for name, config in case["cases"].items():
        at = lambda key: t[f"{name}.{key}"]
        if name.startswith("copy_mixture"):
            inputs = ("logits", "p_gen", "attention")
            f = lambda: mixture(*(at(k) for k in inputs), at("copy_ids"), config["extra"])
        elif name.startswith("guided"):
            inputs = ("attention",)
            f = lambda: guided(at("attention"), at("target_lengths"), at("source_lengths"),
                               config["width"])
        else:
            inputs = ()
            f = lambda: soft_copy(at("source_lengths"), at("target_lengths"), 5, 6,
                                  config["sharpness"])
        expect(f"variants.{name}", f(), at("y"), 1e-12, 1e-12)
        for key in inputs:
            differences(f"variants.{name}.d{key}", lambda: (f() * at("dy")).sum(), at(key),
                        at(f"d{key}"), rng)


def verify(rng):
    for name in ("non_autoregressive_predict", "non_autoregressive_long"):
        verify_non_autoregressive(name, rng)
    for name in ("transformer_copy_pre", "transformer_copy_post"):
        verify_copying(name, rng)
    verify_parts(rng)
