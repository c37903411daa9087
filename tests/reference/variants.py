"""Variants of the Transformer: the non-autoregressive decoder, copying, guided attention.

The parts are torch's; what is added to them is written out here:

    soft copy        w_ts = softmax over s < S of -|s - t (S-1)/(T-1)| / τ
    length           linear(mean of the memory over the sentence's own positions), T - S + reach
    copy mixture     y = ln(p_gen softmax(logits) + (1 - p_gen) Σ_{i: copy_ids_i = w} a_i + 1e-12)
    p_gen            sigmoid(linear([attention · memory; hidden; embedded input]))
    guided attention Σ A_tn (1 - exp(-(n/N - t/T)² / 2g²))
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

from common import Draw, Reference, record
from recurrent import Seq2Seq
from transformer import D, HEADS, PAD, SRC, TGT, VOCABULARY, Transformer, positions

REACH, SHARPNESS, FLOOR = 4, 0.3, 1e-12


def soft_copy(source_lengths, target_lengths, s, t):
    weights = torch.zeros(len(source_lengths), t, s, dtype=torch.float64)
    for b, (n, m) in enumerate(zip(source_lengths, target_lengths)):
        for i in range(m):
            centre = i * (n - 1) / (m - 1) if m > 1 else 0.0
            distance = (torch.arange(n, dtype=torch.float64) - centre).abs()
            weights[b, i, :n] = torch.softmax(-distance / SHARPNESS, -1)
    return weights


class NonAutoregressive(Transformer):
    """Transformer without the causal mask and without target tokens."""

    def __init__(self, norm_first, predict):
        super().__init__(norm_first, tied=False)
        del self.tgt_embed
        if predict:
            self.length_predictor = nn.Linear(D, 2 * REACH + 1)

    def forward(self, src, lengths):
        src_keep = src != PAD
        source_lengths = src_keep.sum(1).tolist()
        self.memory = self.encoder(self.embed(self.src_embed, src), src_key_padding_mask=~src_keep)
        t = max(lengths)
        weights = soft_copy(source_lengths, lengths, src.shape[1], t)
        x = weights @ (self.src_embed(src) * math.sqrt(D)) + positions(t, D)
        beyond = torch.arange(t)[None, :] >= torch.tensor(lengths)[:, None]
        hidden = self.decoder(
            x, self.memory, tgt_key_padding_mask=beyond, memory_key_padding_mask=~src_keep
        )
        return self.generator(hidden)

    def length_logits(self, src):
        keep = (src != PAD).double()
        pooled = (self.memory * keep[..., None]).sum(1) / keep.sum(1)[:, None]
        return self.length_predictor(pooled)


def non_autoregressive(norm_first, predict, seed):
    draw = Draw(seed)
    model = draw.fill(NonAutoregressive(norm_first, predict).double()).train()
    src, tgt = torch.tensor(SRC), torch.tensor(TGT)
    tgt_in, tgt_out = tgt[:, :-1], tgt[:, 1:]
    own = (tgt_in != PAD).sum(1).tolist()
    source_lengths = (src != PAD).sum(1)
    lengths = own if predict else [max(n, 2 * int(s) + 10) for n, s in zip(own, source_lengths)]
    nearest_kink = [math.inf]
    for side in (model.encoder, model.decoder):
        for layer in side.layers:
            layer.linear1.register_forward_hook(
                lambda m, a, y: nearest_kink.append(y.abs().min().item())
            )
    logits = model(src, lengths)[:, : tgt_in.shape[1]]
    assert min(nearest_kink) > 2e-5, f"seed {seed}: ReLU input {min(nearest_kink)}"
    loss = F.cross_entropy(
        logits.flatten(0, 1), tgt_out.flatten(), ignore_index=PAD, reduction="sum"
    )
    name = f"non_autoregressive_{'predict' if predict else 'long'}"
    ref = Reference(
        name,
        "Encoder and a decoder that says all positions at once. grad.* is the gradient of `loss`, "
        "the sum of -ln p over the target tokens, plus that of the lengths where they are predicted.",
        config=dict(norm_first=norm_first, predict=predict, reach=REACH, sharpness=SHARPNESS,
                    seed=seed),
    )
    if predict:
        scores = model.length_logits(src)
        classes = (torch.tensor(own) - source_lengths).clamp(-REACH, REACH) + REACH
        length_loss = F.cross_entropy(scores, classes, reduction="sum")
        ref.put("length_logits", scores)
        ref.put("length_loss", length_loss)
        loss = loss + length_loss
    params = dict(model.named_parameters())
    for key, g in zip(params, torch.autograd.grad(loss, list(params.values()))):
        ref.put(f"param.{key}", params[key])
        ref.put(f"grad.{key}", g)
    for key, value in dict(src=src, tgt_in=tgt_in, tgt_out=tgt_out, memory=model.memory,
                           logits=logits, loss=loss).items():
        ref.put(key, value)
    return ref


def mixture(logits, p_gen, attention, copy_ids, extra):
    probs = F.pad(p_gen * logits.softmax(-1), (0, extra))
    index = copy_ids[:, None, :].expand_as(attention)
    return torch.log(probs.scatter_add(-1, index, (1 - p_gen) * attention) + FLOOR)


# Source token 9 of the first sentence is unknown to the target vocabulary, and so are two others;
# the second sentence has an unknown word twice. </s> 2 stays itself, padding is 0.
COPY_IDS = [[13, 9, 4, 14, 15, 2], [13, 13, 2, 2, 0, 0], [8, 2, 0, 0, 0, 0]]
EXTRA = 3
TGT_OUT_COPY = [[10, 13, 4, 15, 6, 2][:5], [7, 13, 2, 0, 0], [9, 8, 5, 2, 0]]


class Copying(Transformer):
    def __init__(self, norm_first, tied):
        super().__init__(norm_first, tied)
        self.copy = nn.Module()
        self.copy.p_gen = nn.Linear(3 * D, 1)
        last = self.decoder.layers[-1]

        def with_weights(x, memory, attn_mask, key_padding_mask, is_causal=False):
            y, self.attention = last.multihead_attn(
                x, memory, memory, attn_mask=attn_mask, key_padding_mask=key_padding_mask,
                need_weights=True, average_attn_weights=True,
            )
            return last.dropout2(y)

        last._mha_block = with_weights

    def forward(self, src, tgt_in, src_keep):
        known = torch.where(tgt_in < VOCABULARY, tgt_in, 3)
        x = self.embed(self.tgt_embed, known)
        hidden = []
        hook = self.generator.register_forward_pre_hook(lambda m, a: hidden.append(a[0]))
        logits = super().forward(src, known, src_keep)
        hook.remove()
        context = self.attention @ self.memory
        p_gen = torch.sigmoid(self.copy.p_gen(torch.cat([context, hidden[0], x], -1)))
        return mixture(logits, p_gen, self.attention, torch.tensor(COPY_IDS), EXTRA)


def copying(norm_first, seed):
    draw = Draw(seed)
    model = draw.fill(Copying(norm_first, tied=False).double()).train()
    src, tgt = torch.tensor(SRC), torch.tensor(TGT)
    tgt_in, tgt_out = tgt[:, :-1].clone(), torch.tensor(TGT_OUT_COPY)
    tgt_in[0, 2] = 13  # a copied word read back
    y = model(src, tgt_in, src != PAD)
    loss = F.cross_entropy(y.flatten(0, 1), tgt_out.flatten(), ignore_index=PAD, reduction="sum")
    ref = Reference(
        f"transformer_copy_{'pre' if norm_first else 'post'}",
        "Encoder-decoder Transformer with a pointer-generator: y is ln P over V + 3 columns. grad.* "
        "is the gradient of `loss`, the cross-entropy with logits y summed over the target tokens.",
        config=dict(norm_first=norm_first, extra=EXTRA, unknown=3, seed=seed),
    )
    params = dict(model.named_parameters())
    for key, g in zip(params, torch.autograd.grad(loss, list(params.values()))):
        ref.put(f"param.{key}", params[key])
        ref.put(f"grad.{key}", g)
    for key, value in dict(src=src, copy_ids=torch.tensor(COPY_IDS), tgt_in=tgt_in,
                           tgt_out=tgt_out, y=y, loss=loss).items():
        ref.put(key, value)
    return ref


class CopyingRecurrent(Seq2Seq):
    def __init__(self, cell, score, layers):
        super().__init__(cell, score, layers)
        self.copy = nn.Module()
        self.copy.p_gen = nn.Linear(self.generator.in_features, 1)

    def forward(self, src, tgt_in, copy_ids, extra):
        v = self.generator.out_features
        rows = []
        hook = self.generator.register_forward_pre_hook(lambda m, a: rows.append(a[0]))
        logits, attention = super().forward(src, torch.where(tgt_in < v, tgt_in, 3))
        hook.remove()
        hidden, embed = self.decoder.hidden_size, self.tgt_embed.embedding_dim
        context = rows[0].shape[-1] - hidden - embed
        h, c, e = rows[0].split([hidden, context, embed], -1)
        p_gen = torch.sigmoid(self.copy.p_gen(torch.cat([c, h, e], -1)))
        return mixture(logits, p_gen, attention, copy_ids, extra)


def copying_recurrent():
    draw = Draw(2022)
    ref = Reference("seq2seq_rnn_copy", "Recurrent models with a pointer-generator: y is ln P over "
                    "V + 2 columns; `loss` its cross-entropy summed over the target tokens.")
    src = torch.tensor([[5, 3, 4, 3, 2], [3, 2, 0, 0, 0], [6, 3, 3, 2, 0]])
    copy_ids = torch.tensor([[5, 10, 4, 11, 2], [10, 2, 0, 0, 0], [6, 10, 10, 2, 0]])
    tgt_in = torch.tensor([[1, 10, 4, 11], [1, 10, 0, 0], [1, 7, 10, 0]])
    tgt_out = torch.tensor([[10, 4, 11, 2], [10, 2, 0, 0], [7, 10, 2, 0]])
    for cell, score, layers in (("gru", "additive", 1), ("lstm", "general", 2)):
        prefix = f"{cell}_{score}"
        module = CopyingRecurrent(cell, score, layers).double()
        for p in module.parameters():
            with torch.no_grad():
                p.copy_(draw.normal(*p.shape, scale=0.5))
        y = module(src, tgt_in, copy_ids, 2)
        loss = F.cross_entropy(
            y.flatten(0, 1), tgt_out.flatten(), ignore_index=PAD, reduction="sum"
        )
        params = dict(module.named_parameters())
        for key, g in zip(params, torch.autograd.grad(loss, list(params.values()))):
            ref.put(f"{prefix}.param.{key}", params[key])
            ref.put(f"{prefix}.grad.{key}", g)
        for key, value in dict(src=src, copy_ids=copy_ids, tgt_in=tgt_in, tgt_out=tgt_out, y=y,
                               loss=loss).items():
            ref.put(f"{prefix}.{key}", value)
        ref.case_config(prefix, dict(cell=cell, attention=score, layers=layers, extra=2))
    return ref


def guided(attention, target_lengths, source_lengths, width):
    weights = torch.zeros_like(attention.detach())
    for b, (t_len, n_len) in enumerate(zip(target_lengths.tolist(), source_lengths.tolist())):
        t = torch.arange(t_len, dtype=torch.float64)[:, None] / t_len
        n = torch.arange(n_len, dtype=torch.float64)[None, :] / n_len
        weights[b, ..., :t_len, :n_len] = 1 - torch.exp(-((n - t) ** 2) / (2 * width**2))
    total = (attention * weights).sum()
    return total / attention.shape[1] if attention.dim() == 4 else total


def parts():
    draw = Draw(2018)
    ref = Reference("variants", "Copy mixture, guided attention, soft copy.")
    for name, extra, ids in (
        ("copy_mixture", 2, [[5, 6, 0, 5], [1, 1, 3, 0]]),
        ("copy_mixture_no_extra", 0, [[4, 1, 0, 2], [1, 1, 3, 0]]),
    ):
        record(
            ref, draw, name,
            lambda logits, p_gen, attention, copy_ids, extra=extra: mixture(
                logits, p_gen, attention, copy_ids, extra
            ),
            dict(logits=draw.normal(2, 3, 5), p_gen=draw.uniform(2, 3, 1, low=0.1, high=0.9),
                 attention=draw.uniform(2, 3, 4), copy_ids=torch.tensor(ids)),
            config=dict(extra=extra), frozen=("copy_ids",),
        )
    for name, shape, width in (
        ("guided_attention", (2, 5, 6), 0.2),
        ("guided_attention_heads", (2, 3, 5, 6), 0.35),
    ):
        record(
            ref, draw, name,
            lambda attention, target_lengths, source_lengths, width=width: guided(
                attention, target_lengths, source_lengths, width
            ),
            dict(attention=draw.uniform(*shape), target_lengths=torch.tensor([5, 3]),
                 source_lengths=torch.tensor([6, 2])),
            config=dict(width=width), frozen=("target_lengths", "source_lengths"),
        )
    sources, targets = [4, 1, 5], [6, 3, 1]
    ref.put("soft_copy.source_lengths", torch.tensor(sources))
    ref.put("soft_copy.target_lengths", torch.tensor(targets))
    ref.put("soft_copy.y", soft_copy(sources, targets, 5, 6))
    ref.case_config("soft_copy", dict(sharpness=SHARPNESS))
    return ref


def make():
    return [
        non_autoregressive(True, True, 2018),
        non_autoregressive(False, False, 2019),
        copying(True, 2020),
        copying(False, 2021),
        copying_recurrent(),
        parts(),
    ]
