"""The lines of `derive(level="paper")`, read as equations and computed in NumPy, give the tape's values and gradients.

Each value is an array (batch, heads, rows, columns); what has no heads has an axis of 1 there.
"""
import re

import numpy as np
import pytest

import glim

pytestmark = pytest.mark.skipif(not hasattr(glim.Tape, "inspect"), reason="a build without pages")
BATCH = 2
TOKEN = re.compile(r"\s*(⊙|Σ_h in g|Σ_(?:-1|rows|[hg])|√Dh|[A-Za-zσρμγβ][A-Za-z0-9_'^]*\u0302?|\d[\d.e-]*|[-+/·()>,ᵀ])")


def heads_alike(a, b):
    """Groups of keys beside the heads that share them."""
    h = max(a.shape[1], b.shape[1])
    return [np.repeat(x, h // x.shape[1], 1) if x.shape[1] > 1 else x for x in (a, b)]


class Equation:
    def __init__(self, text, values, functions):
        self.tokens, self.values, self.functions = TOKEN.findall(text) + [""], values, functions
        assert "".join(self.tokens) == re.sub(r"\s", "", text) or "in g" in text, text

    def next(self, expected=None):
        token = self.tokens.pop(0)
        assert expected in (None, token), (token, expected)
        return token

    def sum(self):
        x = self.product()
        while self.tokens[0] in ("+", "-"):
            x = x + self.product() if self.next() == "+" else x - self.product()
        return x

    def product(self):
        x = self.factor()
        while self.tokens[0] not in ("", "+", "-", ")", ",", ">", "where"):
            if self.tokens[0] in ("⊙", "/", "·"):
                op, y = self.next(), self.factor()
                x = x / y if op == "/" else x * y
            else:
                x, y = heads_alike(x, self.factor())
                x = x @ y
        return x

    def factor(self):
        token = self.next()
        if token == "(":
            x = self.sum()
            if self.tokens[0] == ">":
                self.next(">"), self.next("0")
                x = (x > 0) * 1.0
            self.next(")")
        elif token == "max":
            self.next("("), self.next("0"), self.next(",")
            x = np.maximum(0, self.sum())
            self.next(")")
        elif self.tokens[0] == "(" or token == "R":
            turned = self.tokens[0] == "ᵀ" and self.next()
            self.next("(")
            argument = self.sum()
            if self.tokens[0] == "where":
                self.next(), self.next("kept")
            self.next(")")
            return self.functions["Rᵀ" if turned else token](argument)
        else:
            x = np.float64(token) if token[0].isdigit() else self.values[token]
        if self.tokens[0] == "ᵀ":
            self.next()
            x = x.swapaxes(-1, -2)
        return x


def sections(text):
    """(kind, path, {letter: what it is}, forward lines, backward lines from the last line up)"""
    signs, *parts = re.split(r"\n(?=.*backward, from the last line up\n)", text)
    for part in parts:
        heading, *lines = part.split("\n")
        rows = [line.split("│") for line in lines if "│" in line]
        blocks = []  # the lines of backward beside each line of forward
        for left, right in rows:
            if left.strip() and not left.startswith(" "):
                blocks.append([left.strip()])
            blocks[-1] += [x for x in [right.strip()] if x]
        kind, _, path = heading.partition("   ")[0].partition(": ")
        yield (kind, re.sub(r" \(and.*", "", path), dict(re.findall(r"^(\S+) {2,}(.*)$", signs, re.M)), [b[0] for b in blocks],
               [line for b in reversed(blocks) for line in b[1:]])
        signs = "\n".join(lines[len(rows):])


def stored(arrays, part, words, count):
    """The array of "in_proj_weight[0 + 4 h : 4 + 4 h]ᵀ", (1, heads, rows, columns), of a parameter or its gradient."""
    name, index, turned = re.fullmatch(r"([^\[ᵀ]*)(?:\[(.*)\])?(ᵀ?)", words).groups()
    array = arrays.get(f"{part}.{name}", arrays.get(name))
    if index is None:
        heads = [array]
    else:
        begin, step, end = (int(x or 0) for x in re.search(r"(?:(\d+) \+ )?(\d+) [hg] : (\d+) \+", index).groups())
        heads = [array.swapaxes(0, -1)[begin + h * step:end + h * step].swapaxes(0, -1) if index.startswith(":,") else
                 array[begin + h * step:end + h * step] for h in range(count)]
    heads = np.stack([x.T if turned else x for x in heads])
    return heads[None, :, None] if array.ndim == 1 else heads[None]


def with_axes(x):
    return x.reshape(BATCH, 1, -1, x.shape[-1])


def activation(f, x, slope):
    leaf = glim.Var.leaf(np.ascontiguousarray(x), "x")
    with glim.Tape() as tape:
        y = getattr(glim, f)(leaf)
        return tape.grad(y.sum(), [leaf])[0].numpy() if slope else y.numpy()


def check(text, arrays, functions=None):
    """Compares each part's output, the gradient of each parameter, of Q, S and A, and of an input that nothing else reads."""
    grads, checked = {name[:-5]: x for name, x in arrays.items() if name.endswith(".grad")}, []
    tolerance = 1e-12 * max(np.abs(g).max() for g in grads.values())
    for kind, part, letters, forward, backward in sections(text):
        def full(words):  # of a node
            name = words.split(",")[0]
            return f"{part}.{name}" if f"{part}.{name}" in grads else name

        def parameter(of, name):
            return stored(of, part, letters[name], groups if name.endswith("^g") else heads)
        heads = int(re.search(r"(\d+) heads", letters["Dh"])[1]) if "Dh" in letters else 1
        groups = heads // int(re.search(r"(\d+) heads", letters["g"])[1]) if "g" in letters else heads
        parameters = [name for name in letters if re.fullmatch(r"[Wb]_.*|[γβ]", name)]
        values = {name: with_axes(arrays[full(letters[name])]) for name in ("X", "Z") if name in letters}
        values |= {name: parameter(arrays, name) for name in parameters}
        calls = {"mean": lambda x: x.mean(-1, keepdims=True), "Σ_-1": lambda x: x.sum(-1, keepdims=True),
                 "Σ_rows": lambda x: x.sum(-2, keepdims=True), "Σ_h": lambda x: x.sum(1, keepdims=True),
                 "Σ_g": lambda x: x.sum(1, keepdims=True),
                 "Σ_h in g": lambda x: x.reshape(x.shape[0], groups, -1, *x.shape[2:]).sum(2), **(functions or {})}
        for f in ("gelu", "silu", "tanh", "sigmoid"):
            calls.setdefault(f, lambda x, f=f: activation(f, x, False))
            calls.setdefault(f + "'", lambda x, f=f: activation(f, x, True))
        if "Dh" in letters:
            values["√Dh"] = np.sqrt(float(re.search(r"here (\d+)", letters["Dh"])[1]))
            kept = arrays[f"{part}.probs"] > 0
            calls["softmax"] = lambda s: np.where(kept, np.exp(s), 0) / np.where(kept, np.exp(s), 0).sum(-1, keepdims=True)
        for scale in {"σ", "ρ"} & {*letters}:
            values["μ"] = calls["mean"](values["X"])
            centred = values["X"] - (values["μ"] if scale == "σ" else 0)
            values[scale] = np.sqrt(calls["mean"](centred ** 2) + float(re.search(r"\+ (\S+)\)", letters[scale])[1]))
        for line in forward:
            name, _, right = line.partition(" = ")
            values[name] = Equation(right, values, calls).sum()
        values["dY"] = with_axes(grads[full(letters["Y"])])
        for equation in ",  ".join(backward).split(",  "):
            name, _, right = equation.partition(" = ")
            values[name] = Equation(right, values, calls).sum()
        expected = {"Y": with_axes(arrays[full(letters["Y"])])} | {"d" + name: parameter(grads, name) for name in parameters}
        if kind.endswith("attention"):
            expected |= {"dA_h": grads[f"{part}.probs"], "dS_h": grads[f"{part}.scores"], "dQ_h": grads[f"{part}.query"]}
        if "X̂" in letters:
            expected["dX̂"] = with_axes(grads[full("normalized")])
        expected |= {"d" + name: with_axes(grads[full(letters[name])]) for name in ("X", "Z")
                     if re.search(r"norm|memory|ln_", letters.get(name, ""))}
        for name, x in expected.items():
            found = values[name].sum(0, keepdims=True) if name[1:] in parameters else values[name]
            assert found.shape == x.shape and np.abs(found - x).max() <= tolerance, (kind, part, name)
            checked.append(f"{kind} {name}")
    return checked


class Block(glim.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.middle, self.last = glim.LayerNorm(12), glim.RMSNorm(12), glim.LayerNorm(12)
        self.attn, self.cross = glim.MultiheadAttention(12, 3), glim.MultiheadAttention(12, 2)
        self.linear1, self.linear2 = glim.Linear(12, 20), glim.Linear(20, 12)

    def forward(self, x, memory):
        y = self.norm(x)
        x = glim.named(x + self.attn(y, y, y)[0], "residual")
        x = glim.named(x + self.cross(x, memory, memory)[0], "crossed")
        x = glim.named(x + self.linear2(glim.relu(self.linear1(x))), "normed")
        return self.last(glim.named(self.middle(x), "normed_again"))


def of_tape(model):
    random = np.random.default_rng(0)
    for _, p in model.named_parameters():
        p.numpy()[...] = random.normal(size=p.shape) * 0.5
    x, memory = (glim.Var.leaf(random.normal(size=(BATCH, n, 12)), name) for n, name in ((5, "x"), (4, "memory")))
    with glim.Tape(replay=True) as tape, glim.explicit():
        return tape.inspect((model(x, memory) ** 2).sum(), model=model).arrays | {"x": x.numpy(), "memory": memory.numpy()}, \
            lambda *words, **options: derived(model, x, memory, *words, **options)


def derived(model, x, memory, *words, **options):
    with glim.Tape(replay=True) as tape, glim.explicit():
        (model(x, memory) ** 2).sum()
        return tape.derive(*words, **options)


def test_a_block_of_glim():
    arrays, derive = of_tape(Block().to("float64"))
    text = derive(level="paper") + "\n" + derive("last", level="paper").split("\n\n", 2)[2]  # equal parts are written once
    checked = check(text, arrays)
    for line, wrong in ("Σ_-1(dA_h ⊙ A_h)", "Σ_-1(dA_h)"), ("dV_h W_V^hᵀ", "dV_h W_K^hᵀ"), ("mean(dX̂) - ", ""), ("(H > 0)", "H"):
        with pytest.raises(AssertionError):
            check(text.replace(line, wrong), arrays)
    assert len(checked) == 44 and {"attention dX", "cross-attention dZ", "layer norm dγ", "feed-forward network dW_1"} <= {*checked}
    lines = derive("cross", level="paper", format="align").splitlines()
    assert len([x for x in lines if r"\;&=\;" in x]) == 18 and r"{{Q}_{h}^{}}\;&=\;X\;{{W}_{Q}^{h}}\;+\;{{b}_{Q}^{h}}\quad (\mathrm{T},\;\mathrm{Dh})\\" in lines
    with pytest.raises(glim.ValueError, match="none of rules, primitives and paper"):
        derive(level="papers")
    with pytest.raises(glim.ValueError, match="no attention, feed-forward network or norm is in linear1; level rules"):
        derive("linear1", level="paper")


def of_torch(model, inputs, loss):
    import torch

    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.1 * torch.randn_like(p))  # biases, too
    g = glim.from_torch(model, kwargs=inputs)
    arrays = g.inspect(inputs, loss=loss).arrays
    with pytest.raises(glim.ValueError, match="paper' has the first order"):
        g.derive(inputs, loss, level="paper", order=2)
    return arrays | {name: p.detach().numpy() for name, p in model.named_parameters()}, g.derive(inputs, loss, level="paper")


def test_gpt2_of_transformers():
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    size = dict(vocab_size=30, n_positions=8, n_embd=16, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**size)).double().eval()
    arrays, text = of_torch(model, dict(input_ids=torch.randint(0, 30, (BATCH, 5))), lambda out: (out.logits ** 2).mean())
    assert "transformer.h.0.attn (and 1 alike)" in text
    checked = check(text, arrays, {"gelu": lambda x: gelu_tanh(x)[0], "gelu'": lambda x: gelu_tanh(x)[1]})
    assert len(checked) == 23


def test_llama_of_transformers():
    torch, llama = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(0)
    size = dict(vocab_size=30, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
                num_key_value_heads=2, max_position_embeddings=16, bos_token_id=0, eos_token_id=0, pad_token_id=None)
    model = in_float64(llama.LlamaForCausalLM(llama.LlamaConfig(**size)))
    arrays, text = of_torch(model, dict(input_ids=torch.randint(0, 30, (BATCH, 5))), lambda out: (out.logits ** 2).mean())
    assert "Q'_h = X W_Q^h " in text and "S_h = Q_h K_gᵀ / √Dh" in text and "P = G ⊙ U" in text
    cos, sin = (x.numpy() for x in model.model.rotary_emb(torch.zeros(1, dtype=torch.float64), torch.arange(5)[None]))

    def half(x):
        return np.concatenate([-x[..., 2:], x[..., :2]], -1)
    checked = check(text, arrays, {"R": lambda x: x * cos + half(x) * sin, "Rᵀ": lambda x: x * cos - half(x) * sin})
    assert len(checked) == 17


def in_float64(model):
    """The norms of transformers compute in float32; those of PyTorch are the same in float64."""
    import torch

    model = model.double().eval()
    for name, module in [*model.named_modules()]:
        if name.endswith("norm"):
            norm = torch.nn.RMSNorm(module.weight.shape[0], eps=module.variance_epsilon, dtype=torch.float64)
            model.get_submodule(name.rpartition(".")[0]).register_module(name.rpartition(".")[2], norm)
    return model


def gelu_tanh(x):
    t, du = np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x ** 3)), (2 / np.pi) ** 0.5 * (1 + 3 * 0.044715 * x ** 2)
    return x * (1 + t) / 2, (1 + t) / 2 + x * (1 - t * t) / 2 * du
