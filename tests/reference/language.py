"""Decoder-only and encoder-only language models: logits, loss and the gradient of every parameter.

Built from torch.nn.TransformerEncoder with activation gelu; in train() mode with dropout 0, since
eval() mode may take a fused inference path.
"""

import torch
from torch import nn
from torch.nn import functional as F

from common import Draw, Reference

D, HEADS, D_FF, LAYERS, EPS, PAD = 8, 2, 20, 2, 1e-5, 0


def stack(norm_first, bias):
    layer = nn.TransformerEncoderLayer(
        D, HEADS, D_FF, dropout=0.0, activation="gelu", layer_norm_eps=EPS, batch_first=True,
        norm_first=norm_first, bias=bias,
    )
    final = nn.LayerNorm(D, eps=EPS, bias=bias) if norm_first else None
    return nn.TransformerEncoder(layer, LAYERS, norm=final, enable_nested_tensor=False)


class Gpt(nn.Module):
    VOCABULARY, CONTEXT = 11, 6

    def __init__(self, bias):
        super().__init__()
        self.wte = nn.Embedding(self.VOCABULARY, D)
        self.wpe = nn.Embedding(self.CONTEXT, D)
        self.transformer = stack(True, bias)
        self.lm_head = nn.Linear(D, self.VOCABULARY, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, ids):
        t = ids.shape[1]
        x = self.wte(ids) + self.wpe(torch.arange(t))
        future = torch.ones(t, t, dtype=torch.bool).triu(1)  # torch masks: true = may NOT attend
        return self.lm_head(self.transformer(x, mask=future))


class Bert(nn.Module):
    VOCABULARY, MAX_LEN = 12, 5

    def __init__(self, norm_first):
        super().__init__()
        self.embed = nn.Embedding(self.VOCABULARY, D)
        self.positions = nn.Embedding(self.MAX_LEN, D)
        self.norm = nn.LayerNorm(D, eps=EPS)
        self.encoder = stack(norm_first, True)

    def forward(self, ids):
        x = self.norm(self.embed(ids) + self.positions(torch.arange(ids.shape[1])))
        return self.encoder(x, src_key_padding_mask=ids == PAD)


class MaskedLanguageModel(nn.Module):
    def __init__(self, norm_first):
        super().__init__()
        self.bert = Bert(norm_first)
        self.transform = nn.Linear(D, D)
        self.norm = nn.LayerNorm(D, eps=EPS)
        self.generator = nn.Linear(D, Bert.VOCABULARY)
        self.generator.weight = self.bert.embed.weight

    def forward(self, ids, chosen):
        hidden = self.bert(ids).flatten(0, 1)[chosen]
        return self.generator(self.norm(F.gelu(self.transform(hidden))))


class SequenceClassifier(nn.Module):
    CLASSES = 3

    def __init__(self, norm_first, pooling):
        super().__init__()
        self.bert = Bert(norm_first)
        self.pooler = nn.Linear(D, D) if pooling == "first" else None
        self.classifier = nn.Linear(D, self.CLASSES)

    def forward(self, ids):
        hidden = self.bert(ids)
        if self.pooler is not None:
            return self.classifier(torch.tanh(self.pooler(hidden[:, 0])))
        keep = (ids != PAD)[..., None].double()
        return self.classifier((hidden * keep).sum(1) / keep.sum(1))


def put(ref, prefix, model, inputs, targets, config):
    """Logits, the mean cross-entropy and its gradients."""
    model = model.double().train()
    Draw(config["seed"]).fill(model)
    logits = model(**inputs)
    loss = F.cross_entropy(logits.flatten(0, -2), targets.flatten())
    params = dict(model.named_parameters())  # a shared weight appears once, under its first name
    grads = torch.autograd.grad(loss, list(params.values()))
    for key, value in {**inputs, "targets": targets, "logits": logits, "loss": loss}.items():
        ref.put(f"{prefix}.{key}", value)
    for (key, p), g in zip(params.items(), grads):
        ref.put(f"{prefix}.param.{key}", p)
        ref.put(f"{prefix}.grad.{key}", g)
    ref.case_config(prefix, dict(config, d_model=D, heads=HEADS, d_ff=D_FF, layers=LAYERS))


def make():
    ref = Reference(
        "language",
        "Decoder-only (gpt_*) and encoder-only models (masked_*: logits of the chosen positions; "
        "classifier_*), head and embedding tied. grad.* is the gradient of `loss`, the mean "
        "cross-entropy.",
    )
    draw = Draw(77)
    for bias in (False, True):
        ids = draw.integers(0, Gpt.VOCABULARY, 3, Gpt.CONTEXT)
        targets = draw.integers(0, Gpt.VOCABULARY, 3, Gpt.CONTEXT)
        put(ref, f"gpt_{'bias' if bias else 'no_bias'}", Gpt(bias), {"ids": ids}, targets,
            dict(seed=78 + bias, bias=bias))
    ids = torch.tensor([[1, 5, 11, 9, 2], [1, 7, 2, 0, 0], [1, 11, 6, 2, 0]])  # 11 is [MASK]
    for norm_first in (False, True):
        name = "pre" if norm_first else "post"
        chosen, targets = torch.tensor([2, 6, 11]), torch.tensor([4, 7, 8])
        put(ref, f"masked_{name}", MaskedLanguageModel(norm_first), {"ids": ids, "chosen": chosen},
            targets, dict(seed=80 + norm_first, norm_first=norm_first))
        for pooling in ("first", "mean"):
            put(ref, f"classifier_{pooling}_{name}", SequenceClassifier(norm_first, pooling),
                {"ids": ids}, torch.tensor([2, 0, 1]),
                dict(seed=82 + norm_first, norm_first=norm_first, pooling=pooling))
    return [ref]
