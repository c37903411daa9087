"""Recurrent cells and layers, additive and multiplicative attention, and the recurrent
sequence-to-sequence model: outputs and all gradients.

Lengths go through pack_padded_sequence and pad_packed_sequence. torch.nn has no additive or
multiplicative attention: they are written below as the papers state them.
"""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from common import Draw, Reference

PAD = 0


def store(ref, draw, prefix, module, inputs, call, config, parameter_scale=0.6):
    """y and further outputs of call(**inputs), and the gradients of the sum of each times its dX."""
    for p in module.parameters():
        with torch.no_grad():
            p.copy_(draw.normal(*p.shape, scale=parameter_scale))
    x = {k: t.clone().requires_grad_(t.is_floating_point()) for k, t in inputs.items()}
    outputs = call(**x)
    ups = {k: draw.normal(*t.shape) for k, t in outputs.items()}
    leaves = {f"d{k}": t for k, t in x.items() if t.requires_grad}
    leaves |= {f"grad.{k}": p for k, p in module.named_parameters()}
    total = sum((t * ups[k]).sum() for k, t in outputs.items())
    grads = torch.autograd.grad(total, list(leaves.values()))
    for k, t in inputs.items():
        ref.put(f"{prefix}.{k}", t)
    for k, p in module.named_parameters():
        ref.put(f"{prefix}.param.{k}", p)
    for k, t in outputs.items():
        ref.put(f"{prefix}.{k}", t)
        ref.put(f"{prefix}.d{k}", ups[k])
    for k, g in zip(leaves, grads):
        ref.put(f"{prefix}.{k}", g)
    ref.case_config(prefix, config)


def cells(ref, draw):
    makers = dict(
        cell_rnn=lambda bias: nn.RNNCell(3, 4, bias=bias),
        cell_rnn_relu=lambda bias: nn.RNNCell(3, 4, bias=bias, nonlinearity="relu"),
        cell_gru=lambda bias: nn.GRUCell(3, 4, bias=bias),
        cell_lstm=lambda bias: nn.LSTMCell(3, 4, bias=bias),
    )
    for name, make in makers.items():
        for bias in (True, False):
            module = make(bias).double()
            inputs = {"x": draw.normal(5, 3), "h0": draw.normal(5, 4)}
            if name == "cell_lstm":
                inputs["c0"] = draw.normal(5, 4)

                def call(x, h0, c0):
                    h, c = module(x, (h0, c0))
                    return {"hn": h, "cn": c}
            else:
                call = lambda x, h0: {"hn": module(x, h0)}
            store(ref, draw, name + ("" if bias else "_no_bias"), module, inputs, call,
                  dict(bias=bias))


def layers(ref, draw):
    kinds = dict(rnn=dict(cls=nn.RNN), rnn_relu=dict(cls=nn.RNN, nonlinearity="relu"),
                 gru=dict(cls=nn.GRU), lstm=dict(cls=nn.LSTM))
    variants = dict(
        plain=dict(),
        no_bias=dict(bias=False),
        initial=dict(initial=True),
        two_layers=dict(num_layers=2, initial=True),
        both_ways=dict(bidirectional=True),
        lengths=dict(lengths=[2, 5, 3]),
        all=dict(num_layers=2, bidirectional=True, initial=True, lengths=[4, 1, 5]),
        time_first=dict(num_layers=2, bidirectional=True, batch_first=False, initial=True),
    )
    batch, steps, size, hidden = 3, 5, 3, 4
    for kind, base in kinds.items():
        for variant, given in variants.items():
            o = dict(num_layers=1, bidirectional=False, bias=True, batch_first=True) | given
            initial, lengths = o.pop("initial", False), o.pop("lengths", None)
            extra = {k: v for k, v in base.items() if k != "cls"}
            module = base["cls"](size, hidden, **o, **extra).double()
            shape = (batch, steps, size) if o["batch_first"] else (steps, batch, size)
            inputs = {"x": draw.normal(*shape)}
            many = o["num_layers"] * (1 + o["bidirectional"])
            if initial:
                inputs["h0"] = draw.normal(many, batch, hidden)
                if kind == "lstm":
                    inputs["c0"] = draw.normal(many, batch, hidden)
            if lengths:
                inputs["lengths"] = torch.tensor(lengths)

            def call(x, h0=None, c0=None, lengths=None):
                if lengths is not None:
                    x = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
                y, last = module(x, (h0, c0) if c0 is not None else h0)
                if lengths is not None:
                    y, _ = pad_packed_sequence(y, batch_first=True, total_length=steps)
                if kind == "lstm":
                    return {"y": y, "hn": last[0], "cn": last[1]}
                return {"y": y, "hn": last}

            store(ref, draw, f"{kind}_{variant}", module, inputs, call,
                  o | dict(initial=initial, lengths=lengths))


class Additive(nn.Module):
    def __init__(self, query, key, width):
        super().__init__()
        self.query = nn.Linear(query, width, bias=False)
        self.key = nn.Linear(key, width)
        self.v = nn.Linear(width, 1, bias=False)

    def score(self, query, keys):
        return self.v(torch.tanh(self.query(query)[:, :, None] + self.key(keys)[:, None]))[..., 0]


class Multiplicative(nn.Module):
    def __init__(self, kind, query, key, width=None):
        super().__init__()
        self.kind = kind
        if kind == "general":
            self.key = nn.Linear(key, query, bias=False)
        if kind == "concat":
            self.query = nn.Linear(query, width or query, bias=False)
            self.key = nn.Linear(key, width or query, bias=False)
            self.v = nn.Linear(width or query, 1, bias=False)

    def score(self, query, keys):
        if self.kind == "concat":  # v · tanh(W [q; k]), one pair at a time
            joined = torch.cat([query[:, :, None].expand(-1, -1, keys.shape[1], -1),
                                keys[:, None].expand(-1, query.shape[1], -1, -1)], -1)
            weight = torch.cat([self.query.weight, self.key.weight], 1)
            return self.v(torch.tanh(F.linear(joined, weight)))[..., 0]
        if self.kind == "general":
            keys = self.key(keys)
        return query @ keys.transpose(1, 2)


def attend(module, query, keys, values, keep):
    scores = module.score(query, keys)
    if keep is not None:
        scores = scores.masked_fill(~(keep[:, None] if keep.dim() == 2 else keep), float("-inf"))
    probs = F.softmax(scores, -1)
    return probs @ values, probs


def attentions(ref, draw):
    makers = dict(
        additive=lambda: Additive(4, 5, 3),
        dot=lambda: Multiplicative("dot", 5, 5),
        general=lambda: Multiplicative("general", 4, 5),
        concat=lambda: Multiplicative("concat", 4, 5, 3),
    )
    for name, make in makers.items():
        for mask in ("all", "keep", "keep_each"):
            module = make().double()
            query = 5 if name == "dot" else 4
            inputs = {"query": draw.normal(2, 3, query), "keys": draw.normal(2, 6, 5),
                      "values": draw.normal(2, 6, 4)}
            if mask != "all":
                inputs["keep"] = draw.keep(2, 6) if mask == "keep" else draw.keep(2, 3, 6)

            def call(query, keys, values, keep=None):
                context, probs = attend(module, query, keys, values, keep)
                return {"y": context, "probs": probs}

            store(ref, draw, f"attention_{name}_{mask}", module, inputs, call, dict(score=name))


class Seq2Seq(nn.Module):
    """The model of models/rnn/seq2seq_rnn.hpp, without dropout, one decoder step at a time."""

    def __init__(self, cell, score, layers, src=9, tgt=10, embed=4, hidden=6):
        super().__init__()
        make = nn.LSTM if cell == "lstm" else nn.GRU
        self.cell, self.score_name, self.count = cell, score, layers
        encoder_hidden = hidden // 2 if score == "dot" else hidden
        memory = 2 * encoder_hidden
        self.src_embed, self.tgt_embed = nn.Embedding(src, embed), nn.Embedding(tgt, embed)
        self.encoder = make(embed, encoder_hidden, layers, bidirectional=True, batch_first=True)
        parts = 2 if cell == "lstm" else 1
        self.bridge = nn.ModuleList(nn.Linear(memory, hidden) for _ in range(layers * parts))
        self.attention = (Additive(hidden, memory, hidden) if score == "additive"
                          else Multiplicative(score, hidden, memory))
        self.decoder = make(embed + (memory if score == "additive" else 0), hidden, layers,
                            batch_first=True)
        self.generator = nn.Linear(hidden + memory + embed, tgt)

    def start(self, last):
        """The encoder's final states, through the bridge."""
        h, c = last if self.cell == "lstm" else (last, None)
        bridge = iter(self.bridge)
        hs, cs = [], []
        for layer in range(self.count):
            both = lambda v: torch.cat([v[2 * layer], v[2 * layer + 1]], 1)
            hs.append(torch.tanh(next(bridge)(both(h))))
            if c is not None:
                cs.append(next(bridge)(both(c)))
        return (torch.stack(hs), torch.stack(cs)) if cs else torch.stack(hs)

    def forward(self, src, tgt_in):
        lengths = (src != PAD).sum(1)
        packed = pack_padded_sequence(self.src_embed(src), lengths, batch_first=True,
                                      enforce_sorted=False)
        memory, last = self.encoder(packed)
        memory, _ = pad_packed_sequence(memory, batch_first=True, total_length=src.shape[1])
        state = self.start(last)
        rows, attention = [], []
        for t in range(tgt_in.shape[1]):
            embedded = self.tgt_embed(tgt_in[:, t : t + 1])
            look = lambda query: attend(self.attention, query, memory, memory, src != PAD)
            if self.score_name == "additive":
                top = (state[0] if self.cell == "lstm" else state)[-1]
                context, probs = look(top[:, None])
                hidden, state = self.decoder(torch.cat([embedded, context], -1), state)
            else:
                hidden, state = self.decoder(embedded, state)
                context, probs = look(hidden)
            rows.append(torch.cat([hidden, context, embedded], -1))
            attention.append(probs)
        return self.generator(torch.cat(rows, 1)), torch.cat(attention, 1)


def models(ref, draw):
    src = torch.tensor([[5, 8, 4, 3, 2], [7, 2, 0, 0, 0], [6, 3, 8, 2, 0]])
    tgt = torch.tensor([[1, 9, 4, 4, 2], [1, 7, 3, 2, 0], [1, 2, 0, 0, 0]])
    for cell, score, layers in (("gru", "additive", 1), ("lstm", "additive", 2), ("gru", "dot", 1),
                                ("gru", "general", 2), ("lstm", "concat", 1)):
        prefix = f"{cell}_{score}"
        module = Seq2Seq(cell, score, layers).double()
        for p in module.parameters():
            with torch.no_grad():
                p.copy_(draw.normal(*p.shape, scale=0.5))
        logits, attention = module(src, tgt[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=PAD)
        params = dict(module.named_parameters())
        grads = torch.autograd.grad(loss, list(params.values()))
        for k, t in dict(src=src, tgt_in=tgt[:, :-1].contiguous(), tgt_out=tgt[:, 1:].contiguous(),
                         logits=logits, attention=attention, loss=loss).items():
            ref.put(f"{prefix}.{k}", t)
        for (k, p), g in zip(params.items(), grads):
            ref.put(f"{prefix}.param.{k}", p)
            ref.put(f"{prefix}.grad.{k}", g)
        ref.case_config(prefix, dict(cell=cell, attention=score, layers=layers))


def make():
    draw = Draw(83)
    parts = Reference(
        "recurrent",
        "Recurrent cells, layers and attention: NAME.X inputs, NAME.param.P, outputs NAME.Y with "
        "upstream gradients NAME.dY, and the gradients NAME.dX, NAME.grad.P of their products' sum.",
    )
    for part in (cells, layers, attentions):
        part(parts, draw)
    whole = Reference(
        "seq2seq_rnn",
        "Recurrent sequence-to-sequence models: NAME.param.P, logits, attention, and NAME.grad.P of "
        "`loss`, the mean cross-entropy over targets that are not padding.",
    )
    models(whole, draw)
    return [parts, whole]
