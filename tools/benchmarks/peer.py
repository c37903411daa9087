"""The peer of glim_bench: the same work with PyTorch, as a server (tools/benchmarks/server.hpp).

    peer.py step --setting JSON [--mode eager|compile|best]     peer.py op NAME     peer.py decode --batch N --beam K

best: torch.compile with autotuned kernels, products in bfloat16 where the CPU has them, no denormal numbers.
--library raxis: a module with torch's API in torch's place, for steps of a decoder alone.
"""
import argparse
import importlib
import json
import math
import os

from serving import serve

parser = argparse.ArgumentParser()
parser.add_argument("what", choices=["step", "op", "decode"])
parser.add_argument("name", nargs="?")
parser.add_argument("--library", default="torch", choices=["torch", "raxis"])
parser.add_argument("--mode", default="eager", choices=["eager", "compile", "best"])
parser.add_argument("--batch", type=int, default=1)
parser.add_argument("--beam", type=int, default=1)
parser.add_argument("--setting")
a = parser.parse_args()
torch = importlib.import_module(a.library)
nn, F = torch.nn, torch.nn.functional


def sinusoids(length, d):
    position = torch.arange(length)[:, None]
    div = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
    table = torch.zeros(length, d)
    table[:, 0::2] = torch.sin(position * div)
    table[:, 1::2] = torch.cos(position * div)
    return table


class Transformer(nn.Module):
    """The 2017 Transformer from torch.nn's layers; masks are built from padding as Glim builds them."""

    def __init__(self, s, dropout=0.1):
        super().__init__()
        self.s = s
        d = s["d"]
        self.src = nn.Embedding(s["vocab"], d)
        self.tgt = nn.Embedding(s["vocab"], d)
        self.register_buffer("table", sinusoids(max(512, s["source"], s["target"]), d))
        self.drop = nn.Dropout(dropout)
        self.body = nn.Transformer(d, s["heads"], s["layers"], s["layers"], s["d_ff"], dropout, batch_first=True)
        # torch.nn.Transformer adds a final norm to each stack; the paper's post-norm has none.
        self.body.encoder.norm = None
        self.body.decoder.norm = None
        self.generator = nn.Linear(d, s["vocab"])

    def embed(self, table, ids, offset=0):
        x = table(ids) * math.sqrt(self.s["d"])
        return self.drop(x + self.table[offset:offset + ids.shape[1]])

    def forward(self, source, target):
        padding = source == 0
        t = target.shape[1]
        causal = torch.triu(torch.ones(t, t, dtype=torch.bool), 1)
        h = self.body(self.embed(self.src, source), self.embed(self.tgt, target), tgt_mask=causal,
                      src_key_padding_mask=padding, memory_key_padding_mask=padding,
                      tgt_key_padding_mask=target == 0, tgt_is_causal=True)
        return self.generator(h)


class Block(nn.Module):
    def __init__(self, d, heads, d_ff, dropout):
        super().__init__()
        self.heads, self.p = heads, dropout
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down, self.drop = nn.Linear(d, d_ff), nn.Linear(d_ff, d), nn.Dropout(dropout)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, self.heads, -1).transpose(1, 2) for z in self.qkv(self.norm1(x)).split(d, 2))
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.p if self.training else 0, is_causal=True)
        x = x + self.drop(self.out(y.transpose(1, 2).reshape(b, t, d)))
        return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))


class Gpt(nn.Module):
    """nanoGPT's model."""

    def __init__(self, s, dropout=0.1):
        super().__init__()
        d = s["d"]
        self.wte, self.wpe = nn.Embedding(s["vocab"], d), nn.Embedding(s["target"], d)
        self.drop, self.norm = nn.Dropout(dropout), nn.LayerNorm(d)
        self.blocks = nn.ModuleList(Block(d, s["heads"], s["d_ff"], dropout) for _ in range(s["layers"]))
        self.head = nn.Linear(d, s["vocab"], bias=False)
        self.head.weight = self.wte.weight

    def forward(self, ids):
        x = self.drop(self.wte(ids) + self.wpe.weight[:ids.shape[1]])
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def smoothed_loss(logits, outputs):
    if torch.__name__ == "torch":
        return F.cross_entropy(logits, outputs, ignore_index=0, label_smoothing=0.1)
    log_probs = F.log_softmax(logits, -1)  # raxis has no label_smoothing; there is no pad either
    return 0.9 * F.nll_loss(log_probs, outputs) - 0.1 * log_probs.mean()


def adam(parameters, *options):
    parameters = list(parameters)
    try:
        return torch.optim.Adam(parameters, *options, fused=True)
    except (RuntimeError, TypeError, ValueError):
        return torch.optim.Adam(parameters, *options)


def step(s, mode):
    if mode == "best":
        torch.set_float32_matmul_precision("medium")
        torch.set_flush_denormal(True)
    torch.manual_seed(1)
    only = s["source"] == 0
    model = (Gpt if only else Transformer)(s)
    model.train()
    source = torch.randint(3, s["vocab"], (s["batch"], max(1, s["source"])))
    target = torch.randint(3, s["vocab"], (s["batch"], s["target"] + 1))
    inputs, outputs = target[:, :-1].contiguous(), target[:, 1:].contiguous().view(-1)
    optimizer = adam(model.parameters(), 1e-4, (0.9, 0.98), 1e-9)
    run = {"eager": lambda m: m, "compile": lambda m: torch.compile(m),
           "best": lambda m: torch.compile(m, mode="max-autotune-no-cudagraphs")}[mode](model)
    # A pad that never occurs in a decoder-only batch must not cost it the ignored index.
    def work():
        logits = run(inputs) if only else run(source, inputs)
        loss = smoothed_loss(logits.view(-1, s["vocab"]), outputs)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return work


def op(name):
    def leaf(*shape):
        return torch.randn(*shape, requires_grad=True)

    def both(forward, leaves):
        ones = torch.ones_like(forward())
        def work():
            forward().backward(ones)
            for v in leaves:
                v.grad = None
        return work
    x = leaf(64, 32, 512)
    if name.startswith("matmul 1024"):
        a, b = leaf(1024, 1024), leaf(1024, 1024)
        return both(lambda: a @ b, [a, b])
    if name.startswith("matmul 256"):
        a, b = leaf(256, 64, 64), leaf(256, 64, 64)
        return both(lambda: a @ b, [a, b])
    if name.startswith("linear"):
        w, b = leaf(2048, 512), leaf(2048)
        return both(lambda: F.linear(x, w, b), [x, w, b])
    if name.startswith("attention"):
        q, k, v = leaf(64, 8, 32, 64), leaf(64, 8, 32, 64), leaf(64, 8, 32, 64)
        return both(lambda: F.scaled_dot_product_attention(q, k, v), [q, k, v])
    if name.startswith("layer_norm"):
        g, b = leaf(512), leaf(512)
        return both(lambda: F.layer_norm(x, (512,), g, b), [x, g, b])
    if name.startswith("embedding"):
        table, ids = leaf(10000, 512), torch.randint(0, 10000, (64, 32))
        return both(lambda: F.embedding(ids, table), [table])
    if name.startswith("label_smoothing_loss"):
        logits, target = leaf(2048, 10000), torch.randint(1, 10000, (2048,))
        return both(lambda: F.cross_entropy(logits, target, ignore_index=0, label_smoothing=0.1, reduction="sum"),
                    [logits])
    if name == "add":
        y = leaf(64, 32, 512)
        return both(lambda: x + y, [x, y])
    simple = {"softmax": lambda: F.softmax(x, -1), "gelu": lambda: F.gelu(x), "tanh": lambda: torch.tanh(x),
              "exp": lambda: torch.exp(x), "sigmoid": lambda: torch.sigmoid(x),
              "dropout": lambda: F.dropout(x, 0.1)}
    return both(simple[name], [x])


def heads_of(x, h):
    return x.view(x.shape[0], x.shape[1], h, -1).transpose(1, 2)


def decode(s, batch, beam):
    """Greedy or beam search with cached keys and values over the weights of torch.nn's layers."""
    torch.manual_seed(1)
    model = Transformer(s, 0.0).eval()
    h, d = s["heads"], s["d"]
    source = torch.randint(3, s["vocab"], (batch, 32))
    layers = model.body.decoder.layers

    def project(attention, x, part, parts=1):
        w = attention.in_proj_weight[part * d:(part + parts) * d]
        b = attention.in_proj_bias[part * d:(part + parts) * d]
        return F.linear(x, w, b)

    @torch.no_grad()
    def work():
        memory = model.body.encoder(model.embed(model.src, source))
        cross = []
        for layer in layers:
            k, v = project(layer.multihead_attn, memory, 1, 2).split(d, 2)
            k, v = heads_of(k, h), heads_of(v, h)
            if beam > 1:
                k, v = k.repeat_interleave(beam, 0), v.repeat_interleave(beam, 0)
            cross.append((k, v))
        rows = batch * beam
        caches = [(torch.empty(rows, h, 0, d // h), torch.empty(rows, h, 0, d // h)) for _ in layers]
        ids = torch.ones(rows, 1, dtype=torch.long)
        scores = torch.full((batch, beam), -math.inf)
        scores[:, 0] = 0
        for t in range(32):
            x = model.embed(model.tgt, ids, t)
            for i, layer in enumerate(layers):
                q, k, v = project(layer.self_attn, x, 0, 3).split(d, 2)
                k = torch.cat((caches[i][0], heads_of(k, h)), 2)
                v = torch.cat((caches[i][1], heads_of(v, h)), 2)
                caches[i] = (k, v)
                y = F.scaled_dot_product_attention(heads_of(q, h), k, v).transpose(1, 2).reshape(rows, 1, d)
                x = layer.norm1(x + layer.self_attn.out_proj(y))
                q = project(layer.multihead_attn, x, 0)
                y = F.scaled_dot_product_attention(heads_of(q, h), *cross[i]).transpose(1, 2).reshape(rows, 1, d)
                x = layer.norm2(x + layer.multihead_attn.out_proj(y))
                x = layer.norm3(x + layer.linear2(F.relu(layer.linear1(x))))
            logits = F.log_softmax(model.generator(x[:, -1]), -1)
            logits[:, :3] = -math.inf
            if beam == 1:
                ids = logits.argmax(-1, keepdim=True)
            else:
                total = scores[:, :, None] + logits.view(batch, beam, -1)
                scores, best = total.view(batch, -1).topk(beam)
                row = (best // s["vocab"] + torch.arange(batch)[:, None] * beam).view(-1)
                ids = (best % s["vocab"]).view(-1, 1)
                caches = [(k[row], v[row]) for k, v in caches]
    return work


torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count())))
setting = json.loads(a.setting) if a.setting else None
if a.what == "step":
    serve(lambda: step(setting, a.mode))
elif a.what == "op":
    serve(lambda: op(a.name))
else:
    serve(lambda: decode(setting, a.batch, a.beam))
