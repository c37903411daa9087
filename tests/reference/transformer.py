"""The encoder-decoder Transformer: loss and the gradient of every parameter.

The model is torch.nn.TransformerEncoder / TransformerDecoder with batch_first=True, bias=True,
activation relu, and

    x = sqrt(d) * src_embed[ids] + PE          (B, S, D)
    logits = decoder(...) generator.weightᵀ + generator.bias   (B, T, V)

It runs in train() mode with dropout 0: in eval() mode torch may take a fused inference path.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

from common import Draw, Reference

D, HEADS, D_FF, LAYERS, VOCABULARY, PAD, EPS = 16, 4, 32, 2, 13, 0, 1e-5
SMOOTHING = 0.1

# Right-padded with 0; begins with bos 1 and ends with eos 2, as teacher forcing needs.
SRC = [[5, 9, 4, 12, 7, 2], [11, 6, 3, 2, 0, 0], [8, 2, 0, 0, 0, 0]]  # (B, S) = (3, 6)
TGT = [[1, 10, 4, 4, 6, 2], [1, 7, 12, 2, 0, 0], [1, 9, 3, 5, 2, 0]]  # (B, T + 1) = (3, 6)


def positions(length, d, base=10000.0):
    """PE(p, 2i) = sin(p / base^(2i/d)), PE(p, 2i+1) = cos(p / base^(2i/d)); shape (length, d)."""
    p = torch.arange(length, dtype=torch.float64)[:, None]
    even = torch.arange(0, d, 2, dtype=torch.float64)
    angle = p / base ** (even / d)
    table = torch.zeros(length, d, dtype=torch.float64)
    table[:, 0::2] = torch.sin(angle)
    table[:, 1::2] = torch.cos(angle)[:, : d // 2]
    return table


class Transformer(nn.Module):
    def __init__(self, norm_first, tied):
        super().__init__()
        layer = dict(
            d_model=D, nhead=HEADS, dim_feedforward=D_FF, dropout=0.0, activation="relu",
            layer_norm_eps=EPS, batch_first=True, norm_first=norm_first,
        )
        final = (lambda: nn.LayerNorm(D, eps=EPS)) if norm_first else (lambda: None)
        self.src_embed = nn.Embedding(VOCABULARY, D)  # no padding_idx: row 0 is an ordinary row
        self.tgt_embed = nn.Embedding(VOCABULARY, D)
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(**layer), LAYERS, norm=final(), enable_nested_tensor=False
        )
        self.decoder = nn.TransformerDecoder(
            nn.TransformerDecoderLayer(**layer), LAYERS, norm=final()
        )
        self.generator = nn.Linear(D, VOCABULARY)
        if tied:
            self.tgt_embed.weight = self.src_embed.weight
            self.generator.weight = self.src_embed.weight

    def embed(self, table, ids):
        return table(ids) * math.sqrt(D) + positions(ids.shape[1], D)

    def forward(self, src, tgt_in, src_keep):
        t = tgt_in.shape[1]
        future = torch.ones(t, t, dtype=torch.bool).triu(1)  # torch masks: true = may NOT attend
        self.memory = self.encoder(
            self.embed(self.src_embed, src), src_key_padding_mask=~src_keep
        )
        hidden = self.decoder(
            self.embed(self.tgt_embed, tgt_in), self.memory,
            tgt_mask=future, tgt_key_padding_mask=tgt_in == PAD, memory_key_padding_mask=~src_keep,
        )
        return self.generator(hidden)


def smoothed_target(ids):
    """True class 1 - ε, pad column 0, the rest ε / (V - 2); rows whose target is pad are all 0."""
    p = torch.full((*ids.shape, VOCABULARY), SMOOTHING / (VOCABULARY - 2), dtype=torch.float64)
    p.scatter_(-1, ids[..., None], 1.0 - SMOOTHING)
    p[..., PAD] = 0.0
    p[ids == PAD] = 0.0
    return p


def make_case(norm_first, tied, seed):
    draw = Draw(seed)
    model = draw.fill(Transformer(norm_first, tied).double()).train()
    with torch.no_grad():
        for table in {model.src_embed.weight, model.tgt_embed.weight}:
            table.copy_(draw.normal(VOCABULARY, D, scale=D**-0.5))

    src, tgt = torch.tensor(SRC), torch.tensor(TGT)
    tgt_in, tgt_out = tgt[:, :-1], tgt[:, 1:]
    src_keep, real = src != PAD, tgt_out != PAD
    t = tgt_in.shape[1]
    tgt_keep = torch.ones(t, t, dtype=torch.bool).tril() & (tgt_in != PAD)[:, None, :]

    hidden, nearest_kink = {}, [math.inf]
    for side in ("encoder", "decoder"):
        for i, layer in enumerate(getattr(model, side).layers):
            name = f"hidden.{side}.layers.{i}"
            layer.register_forward_hook(lambda m, a, y, name=name: hidden.__setitem__(name, y))
            layer.linear1.register_forward_hook(
                lambda m, a, y: nearest_kink.append(y.abs().min().item())
            )

    logits = model(src, tgt_in, src_keep)
    # A float32 run must fall on the same side of every ReLU.
    assert min(nearest_kink) > 2e-5, f"seed {seed}: ReLU input {min(nearest_kink)}"
    log_probs = F.log_softmax(logits, dim=-1)
    target, tokens = smoothed_target(tgt_out), real.sum()
    loss = F.kl_div(log_probs, target, reduction="sum") / tokens
    plain = F.cross_entropy(logits.flatten(0, 1), tgt_out.flatten(), ignore_index=PAD)
    smoothed = -(target * log_probs).sum() / tokens
    torch_smoothed = F.cross_entropy(
        logits.flatten(0, 1), tgt_out.flatten(), ignore_index=PAD, label_smoothing=SMOOTHING
    )

    params = dict(model.named_parameters())  # a shared weight appears once, as src_embed.weight
    inner = {"memory": model.memory, "logits": logits}
    grads = torch.autograd.grad(loss, [*params.values(), *inner.values()])

    name = f"transformer_{'pre' if norm_first else 'post'}_{'tied' if tied else 'untied'}"
    ref = Reference(
        name,
        f"Encoder-decoder Transformer, {'pre' if norm_first else 'post'}-norm, "
        f"{'three-way tied' if tied else 'untied'} embeddings, right padding in source and target. "
        "grad.* is the gradient of `loss` (label-smoothed KL per target token)."
        + (" The one gradient of the shared weight is grad.src_embed.weight." if tied else ""),
        config=dict(
            d_model=D, heads=HEADS, d_ff=D_FF, encoder_layers=LAYERS, decoder_layers=LAYERS,
            vocabulary=VOCABULARY, pad_id=PAD, batch=len(SRC), source_length=src.shape[1],
            target_length=t, norm_first=norm_first, final_norm=norm_first, tied=tied,
            activation="relu", layer_norm_eps=EPS, dropout=0.0, position_base=10000,
            embedding_scale=math.sqrt(D), label_smoothing=SMOOTHING, seed=seed,
        ),
        aliases={"tgt_embed.weight": "src_embed.weight", "generator.weight": "src_embed.weight"}
        if tied else {},
    )
    for key, p in params.items():
        ref.put(f"param.{key}", p)
    for key, g in zip([*(f"grad.{k}" for k in params), *(f"d{k}" for k in inner)], grads):
        ref.put(key, g)
    for key, h in hidden.items():
        ref.put(key, h)
    for key, value in dict(
        src=src, tgt_in=tgt_in, tgt_out=tgt_out, src_keep=src_keep, tgt_keep=tgt_keep,
        positions=positions(max(src.shape[1], t), D), memory=model.memory, logits=logits,
        smoothed_target=target, tokens=tokens, loss=loss, loss_cross_entropy=plain,
        loss_smoothed_cross_entropy=smoothed, loss_torch_label_smoothing=torch_smoothed,
    ).items():
        ref.put(key, value)
    return ref


def make():
    return [
        make_case(norm_first, tied, 2017 + 2 * norm_first + tied)
        for norm_first in (True, False)
        for tied in (True, False)
    ]
