"""NumPy forms of the recurrent cells, layers, attention and models; see verify.py."""

import numpy as np

from verify_common import differences, expect, read, softmax
from verify_layers import linear, log_softmax, sigmoid

PAD = 0


def part(p, name):
    return {k[len(name) + 1:]: v for k, v in p.items() if k.startswith(name + ".")}


def step(kind, x, state, w, end=""):
    """state: (h,), or (h, c) of an LSTM; `end` as in weight_ih`end`."""
    i = x @ w[f"weight_ih{end}"].T + w.get(f"bias_ih{end}", 0.0)
    g = state[0] @ w[f"weight_hh{end}"].T + w.get(f"bias_hh{end}", 0.0)
    if kind == "rnn":
        return (np.tanh(i + g),)
    if kind == "rnn_relu":
        return (np.maximum(i + g, 0.0),)
    if kind == "gru":
        (ir, iz, ic), (gr, gz, gc) = np.split(i, 3, 1), np.split(g, 3, 1)
        z = sigmoid(iz + gz)
        return ((1 - z) * np.tanh(ic + sigmoid(ir + gr) * gc) + z * state[0],)
    a, f, u, o = np.split(i + g, 4, 1)
    c = sigmoid(f) * state[1] + sigmoid(a) * np.tanh(u)
    return sigmoid(o) * np.tanh(c), c


def run(kind, x, w, layers=1, both=False, start=None, lengths=None):
    """Each sequence by itself, over its real steps alone. y (B, T, D), and the final (h,) or (h, c),
    each (layers · directions, B, H)."""
    batch, steps, _ = x.shape
    hidden = w["weight_hh_l0"].shape[1]
    parts = 2 if kind == "lstm" else 1
    final = [[] for _ in range(parts)]
    for layer in range(layers):
        outputs = []
        for d in range(2 if both else 1):
            end = f"_l{layer}" + ("_reverse" if d else "")
            y, last = np.zeros((batch, steps, hidden)), np.zeros((parts, batch, hidden))
            for b in range(batch):
                n = steps if lengths is None else lengths[b]
                index = layer * (2 if both else 1) + d
                state = tuple(np.zeros((1, hidden)) if start is None else start[k][index][b : b + 1]
                              for k in range(parts))
                for t in reversed(range(n)) if d else range(n):
                    state = step(kind, x[b : b + 1, t], state, w, end)
                    y[b, t] = state[0][0]
                for k in range(parts):
                    last[k, b] = state[k][0]
            outputs.append(y)
            for k in range(parts):
                final[k].append(last[k])
        x = np.concatenate(outputs, -1)
    return x, [np.stack(f) for f in final]


def attend(score, query, keys, values, keep, w):
    if score == "dot":
        e = query @ keys.transpose(0, 2, 1)
    elif score == "general":
        e = query @ (keys @ w["key.weight"].T).transpose(0, 2, 1)
    else:
        q, k = query @ w["query.weight"].T, linear(keys, w, "key.")
        e = np.tanh(q[:, :, None] + k[:, None]) @ w["v.weight"][0]
    if keep is not None:
        e = np.where(keep[:, None] if keep.ndim == 2 else keep, e, -np.inf)
    probs = softmax(e)
    return probs @ values, probs


def outputs(name, t, w, c):
    start = [t[k] for k in ("h0", "c0") if k in t] or None
    if name.startswith("cell"):
        kind = name.removeprefix("cell_").removesuffix("_no_bias")
        return dict(zip(("hn", "cn"), step(kind, t["x"], start, w)))
    if name.startswith("attention"):
        y, probs = attend(c["score"], t["query"], t["keys"], t["values"], t.get("keep"), w)
        return {"y": y, "probs": probs}
    kind = name.removesuffix("_" + name.split("_", 2 if name.startswith("rnn_relu") else 1)[-1])
    first = c["batch_first"]
    x = t["x"] if first else t["x"].transpose(1, 0, 2)
    y, final = run(kind, x, w, c["num_layers"], c["bidirectional"], start, t.get("lengths"))
    return dict(zip(("y", "hn", "cn"), [y if first else y.transpose(1, 0, 2), *final]))


def model(c, p, t):
    kind, score, layers = c["cell"], c["attention"], c["layers"]
    w = lambda name: part(p, name)
    keep = t["src"] != PAD
    memory, final = run(kind, p["src_embed.weight"][t["src"]], w("encoder"), layers, True, None,
                        keep.sum(1))
    states, bridge = [], 0
    for layer in range(layers):
        state = []
        for k, v in enumerate(final):
            s = linear(np.concatenate([v[2 * layer], v[2 * layer + 1]], 1), w(f"bridge.{bridge}"))
            state.append(s if k else np.tanh(s))
            bridge += 1
        states.append(tuple(state))
    rows, seen = [], []
    for n in range(t["tgt_in"].shape[1]):
        embedded = p["tgt_embed.weight"][t["tgt_in"][:, n]]
        look = lambda query: [a[:, 0] for a in attend(score, query[:, None], memory, memory, keep,
                                                      w("attention"))]
        x = embedded
        if score == "additive":
            context, probs = look(states[-1][0])
            x = np.concatenate([embedded, context], 1)
        for layer in range(layers):
            states[layer] = step(kind, x, states[layer], w("decoder"), f"_l{layer}")
            x = states[layer][0]
        if score != "additive":
            context, probs = look(x)
        rows.append(linear(np.concatenate([x, context, embedded], 1), w("generator")))
        seen.append(probs)
    return np.stack(rows, 1), np.stack(seen, 1)


def verify_models(rng):
    case, tensors = read("seq2seq_rnn")
    for prefix, c in case["cases"].items():
        t = part(tensors, prefix)
        p = part(t, "param")
        logits, attention = model(c, p, t)
        expect(f"{prefix} logits", logits, t["logits"], 1e-12, 1e-13)
        expect(f"{prefix} attention", attention, t["attention"], 1e-12, 1e-13)

        def loss():
            log_probs, target = log_softmax(model(c, p, t)[0]), t["tgt_out"]
            picked = np.take_along_axis(log_probs, target[..., None], -1)[..., 0]
            return -picked[target != PAD].mean()

        expect(f"{prefix} loss", loss(), t["loss"], 1e-12, 1e-13)
        for key in p:
            differences(f"{prefix} grad.{key}", loss, p[key], t[f"grad.{key}"], rng)


def verify(rng):
    case, tensors = read("recurrent")
    for name, c in case["cases"].items():
        t = part(tensors, name)
        w = part(t, "param")
        found = outputs(name, t, w, c)
        for key, value in found.items():
            expect(f"{name} {key}", value, t[key], 1e-12, 1e-13)
        loss = lambda: sum((v * t[f"d{k}"]).sum() for k, v in outputs(name, t, w, c).items())
        for key, g in t.items():
            if key.startswith("grad."):
                differences(f"{name} {key}", loss, w[key[5:]], g, rng)
            elif key.startswith("d") and key[1:] in t and key[1:] not in found:
                differences(f"{name} {key}", loss, t[key[1:]], g, rng)
    verify_models(rng)
