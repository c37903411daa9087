"""ViT and the convolutional sequence-to-sequence model: logits, loss, gradients of every parameter.

The ViT is built from torch.nn.TransformerEncoder (in train() mode with dropout 0, since eval() mode
may take a fused inference path); the other from torch.nn.functional.conv1d and glu.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

from common import Draw, Reference

PAD = 0


class Vit(nn.Module):
    def __init__(self, pooling, channels=2, size=(6, 4), patch=2, classes=5, d=8, heads=2, layers=2, eps=1e-6):
        super().__init__()
        self.pooling = pooling
        count = (size[0] // patch) * (size[1] // patch)
        self.patch_embed = nn.Conv2d(channels, d, patch, stride=patch)
        if pooling == "class":
            self.class_token = nn.Parameter(torch.zeros(1, 1, d))
        self.positions = nn.Embedding(count + (pooling == "class"), d)
        layer = nn.TransformerEncoderLayer(d, heads, 4 * d, dropout=0.0, activation="gelu",
                                           layer_norm_eps=eps, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, norm=nn.LayerNorm(d, eps=eps),
                                             enable_nested_tensor=False)
        self.head = nn.Linear(d, classes)
        self.register_buffer("pixel_mean", torch.zeros(channels))
        self.register_buffer("pixel_deviation", torch.ones(channels))

    def forward(self, images):
        x = (images - self.pixel_mean[:, None, None]) / self.pixel_deviation[:, None, None]
        tokens = self.patch_embed(x).flatten(2).transpose(1, 2)
        if self.pooling == "class":
            tokens = torch.cat([self.class_token.expand(len(x), -1, -1), tokens], 1)
        z = self.encoder(tokens + self.positions.weight)
        return self.head(z[:, 0] if self.pooling == "class" else z.mean(1))


class ConvSeq2Seq(nn.Module):
    """Gehring et al. 2017; every sum of two terms is multiplied by √½."""

    SOURCE, TARGET, D, KERNEL, LAYERS, MAX_LEN = 11, 9, 6, 3, 2, 8

    def __init__(self):
        super().__init__()
        d, k = self.D, self.KERNEL
        self.src_embed, self.tgt_embed = nn.Embedding(self.SOURCE, d), nn.Embedding(self.TARGET, d)
        self.src_positions, self.tgt_positions = nn.Embedding(self.MAX_LEN, d), nn.Embedding(self.MAX_LEN, d)
        block = lambda: nn.ModuleDict({"conv": nn.Conv1d(d, 2 * d, k)})
        self.encoder = nn.ModuleDict({"layers": nn.ModuleList(block() for _ in range(self.LAYERS))})
        self.decoder = nn.ModuleDict({"layers": nn.ModuleList(block() for _ in range(self.LAYERS))})
        for layer in self.decoder["layers"]:
            layer["query"] = nn.Linear(d, d)
        self.generator = nn.Linear(d, self.TARGET)

    @staticmethod
    def glu(conv, x, before, after):
        return F.glu(conv(F.pad(x.transpose(1, 2), (before, after))), 1).transpose(1, 2)

    def forward(self, src, tgt_in):
        half, k = math.sqrt(0.5), self.KERNEL
        keep = (src != PAD)[..., None].double()
        e = (self.src_embed(src) + self.src_positions(torch.arange(src.shape[1]))) * keep
        h = e
        for layer in self.encoder["layers"]:
            h = (self.glu(layer["conv"], h, (k - 1) // 2, k - 1 - (k - 1) // 2) + h) * half * keep
        key, value, count = h, (h + e) * half, keep.sum(1, keepdim=True)
        g = self.tgt_embed(tgt_in) + self.tgt_positions(torch.arange(tgt_in.shape[1]))
        h = g
        for layer in self.decoder["layers"]:
            u = self.glu(layer["conv"], h, k - 1, 0)
            d = (layer["query"](u) + g) * half
            scores = (d @ key.transpose(1, 2)).masked_fill((src == PAD)[:, None], -torch.inf)
            c = scores.softmax(-1) @ value * count.sqrt()
            h = ((u + c) * half + h) * half
        return self.generator(h)


def put(ref, prefix, model, inputs, targets, config):
    """Logits, the mean cross-entropy over targets that are not -100, and its gradients."""
    model.double().train()
    logits = model(**inputs)
    loss = F.cross_entropy(logits.flatten(0, -2), targets.flatten(), ignore_index=-100)
    parameters = dict(model.named_parameters())
    grads = torch.autograd.grad(loss, list(parameters.values()))
    for k, t in inputs.items():
        ref.put(f"{prefix}.{k}", t)
    ref.put(f"{prefix}.targets", targets)
    ref.put(f"{prefix}.logits", logits)
    ref.put(f"{prefix}.loss", loss)
    for k, t in model.state_dict().items():
        ref.put(f"{prefix}.param.{k}", t)
    for k, g in zip(parameters, grads):
        ref.put(f"{prefix}.grad.{k}", g)
    ref.case_config(prefix, config)


def fill(draw, module):
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(draw.normal(*p.shape, scale=0.4))
    return module


def make():
    draw = Draw(103)
    ref = Reference(
        "vision_models",
        "NAME.images or NAME.src and NAME.tgt_in, NAME.targets, NAME.logits, NAME.loss (mean cross-entropy), "
        "NAME.param.P with buffers, NAME.grad.P.",
    )
    for pooling in ("class", "mean"):
        model = fill(draw, Vit(pooling))
        model.pixel_mean.copy_(draw.normal(2, scale=0.3))
        model.pixel_deviation.copy_(draw.uniform(2, low=0.5, high=1.5))
        put(ref, f"vit_{pooling}", model, {"images": draw.uniform(3, 2, 6, 4)}, torch.tensor([4, 0, 2]),
            dict(channels=2, height=6, width=4, patch=2, classes=5, d_model=8, heads=2, layers=2,
                 norm_eps=1e-6, pooling=pooling))
    model = fill(draw, ConvSeq2Seq())
    src = torch.tensor([[3, 4, 5, 10, 2], [6, 7, 2, 0, 0], [8, 2, 0, 0, 0]])
    tgt_in = torch.tensor([[1, 3, 4, 5], [1, 6, 8, 0], [1, 0, 0, 0]])
    tgt_out = torch.tensor([[3, 4, 5, 2], [6, 8, 2, -100], [2, -100, -100, -100]])
    put(ref, "conv_seq2seq", model, {"src": src, "tgt_in": tgt_in}, tgt_out,
        dict(src_vocab=11, tgt_vocab=9, d_model=6, kernel=3, layers=2, max_len=8,
             note="targets of -100 do not count"))
    return [ref]
