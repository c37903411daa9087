"""Models under the names of other programs, and what they say: convert/NAME.safetensors has the state dict as
that program's user would save it, convert.safetensors has for each NAME the ids and logits.

Seq2Seq is torch.nn.Transformer with embeddings; nanoGPT's model is written again, as short as it goes and
under its names; GPT-2 and Marian are those of Hugging Face's library.
"""

import json
import math
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F
from transformers import GPT2Config, GPT2LMHeadModel, MarianConfig, MarianMTModel

from common import Draw, Reference
from transformer import positions

D, HEADS, LAYERS, VOCABULARY = 8, 2, 2, 13


class Seq2Seq(nn.Module):
    """torch.nn.Transformer as it comes, between embeddings and a generator."""

    def __init__(self, **config):
        super().__init__()
        self.src_embed, self.tgt_embed = nn.Embedding(VOCABULARY, D), nn.Embedding(VOCABULARY + 1, D)
        self.transformer = nn.Transformer(D, HEADS, LAYERS, LAYERS, 12, batch_first=True, **config)
        self.generator = nn.Linear(D, VOCABULARY + 1)

    def forward(self, src, tgt):
        def embed(table, ids):
            return table(ids) * math.sqrt(D) + positions(ids.shape[1], D)

        padding = src == 0
        future = torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool).triu(1)
        return self.generator(self.transformer(
            embed(self.src_embed, src), embed(self.tgt_embed, tgt), tgt_mask=future,
            src_key_padding_mask=padding, memory_key_padding_mask=padding,
            tgt_key_padding_mask=tgt == 0))


class Block(nn.Module):
    def __init__(self, bias):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(D, bias=bias), nn.LayerNorm(D, bias=bias)
        self.attn = nn.ModuleDict(dict(
            c_attn=nn.Linear(D, 3 * D, bias=bias), c_proj=nn.Linear(D, D, bias=bias)))
        self.mlp = nn.ModuleDict(dict(
            c_fc=nn.Linear(D, 4 * D, bias=bias), c_proj=nn.Linear(4 * D, D, bias=bias)))

    def forward(self, x):
        q, k, v = (y.unflatten(-1, (HEADS, -1)).transpose(1, 2)
                   for y in self.attn["c_attn"](self.ln_1(x)).split(D, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.attn["c_proj"](y.transpose(1, 2).flatten(2))
        return x + self.mlp["c_proj"](F.gelu(self.mlp["c_fc"](self.ln_2(x))))


class Gpt(nn.Module):
    """nanoGPT's GPT."""

    CONTEXT = 7

    def __init__(self, bias):
        super().__init__()
        self.transformer = nn.ModuleDict(dict(
            wte=nn.Embedding(VOCABULARY, D), wpe=nn.Embedding(self.CONTEXT, D),
            h=nn.ModuleList(Block(bias) for _ in range(LAYERS)),
            ln_f=nn.LayerNorm(D, bias=bias)))
        self.lm_head = nn.Linear(D, VOCABULARY, bias=False)
        self.lm_head.weight = self.transformer["wte"].weight

    def forward(self, ids):
        t = self.transformer
        x = t["wte"](ids) + t["wpe"](torch.arange(ids.shape[1]))
        for block in t["h"]:
            x = block(x)
        return self.lm_head(t["ln_f"](x))


def filled(model, seed):
    """Parameters of all kinds away from their neutral values, in what float32 holds."""
    draw = Draw(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            mean = 1.0 if "norm" in name or "ln_" in name else 0.0
            scale = p.shape[-1] ** -0.5 if p.dim() > 1 else 0.2
            p.copy_(draw.normal(*p.shape, mean=mean * name.endswith("weight"), scale=scale))
    return model.double().train()


def save(folder, name, model, metadata, rename=lambda state: state):
    state = {k: v.float().clone() for k, v in rename(model.state_dict()).items()}
    path = Path(folder) / "convert" / f"{name}.safetensors"
    path.parent.mkdir(exist_ok=True)
    save_file(state, path, {k: json.dumps(v) for k, v in metadata.items()})
    path.chmod(0o644)


def tokenizer(kind, tokens):
    return {"format": "glim tokenizer", "version": 1, "kind": kind, "tokens": tokens}


def write(folder):
    ref = Reference("convert", "Ids and logits of the models in convert/, computed in float64.")
    draw = Draw(2024)

    src = torch.tensor([[5, 9, 4, 12, 7, 2], [11, 6, 3, 2, 0, 0]])
    tgt = torch.tensor([[1, 10, 4, 4, 13], [1, 7, 12, 0, 0]])
    for name, config in {
        "torch_post": dict(norm_first=False, activation="relu", dropout=0.0),
        "torch_pre": dict(norm_first=True, activation="gelu", dropout=0.0),
    }.items():
        model = filled(Seq2Seq(**config), len(name))
        save(folder, name, model, {"config": dict(nhead=HEADS, **config)})
        for key, value in dict(src=src, tgt_in=tgt, logits=model(src, tgt)).items():
            ref.put(f"{name}.{key}", value)

    ids = draw.integers(0, VOCABULARY, 3, Gpt.CONTEXT)
    letters = ["\n", " ", *"abcdefghijk"]  # as many as the vocabulary has
    gpt = filled(Gpt(bias=False), 3)
    save(folder, "nanogpt", gpt, {
        "config": dict(n_layer=LAYERS, n_head=HEADS, n_embd=D, block_size=Gpt.CONTEXT, bias=False,
                       vocab_size=VOCABULARY, dropout=0.0),
        "tokenizer": tokenizer("char", letters)}, lambda s: {f"_orig_mod.{k}": v for k, v in s.items()})
    gpt2 = filled(GPT2LMHeadModel(GPT2Config(
        vocab_size=VOCABULARY, n_positions=Gpt.CONTEXT, n_embd=D, n_layer=LAYERS, n_head=HEADS)), 4).eval()
    mask = torch.ones(1, 1, Gpt.CONTEXT, Gpt.CONTEXT).tril()  # which older files have, without a prefix
    save(folder, "gpt2", gpt2, {"config": gpt2.config.to_diff_dict()}, lambda s: {
        **{k.removeprefix("transformer."): v for k, v in s.items() if k != "lm_head.weight"},
        **{f"h.{i}.attn.bias": mask for i in range(LAYERS)}})
    for name, logits in dict(nanogpt=gpt(ids), gpt2=gpt2(ids).logits).items():
        ref.put(f"{name}.ids", ids)
        ref.put(f"{name}.logits", logits)

    marian = filled(MarianMTModel(MarianConfig(
        vocab_size=VOCABULARY, d_model=D, encoder_layers=LAYERS, decoder_layers=LAYERS,
        encoder_attention_heads=HEADS, decoder_attention_heads=HEADS, encoder_ffn_dim=12,
        decoder_ffn_dim=12, max_position_embeddings=16, activation_function="swish", scale_embedding=True,
        pad_token_id=12, eos_token_id=0, decoder_start_token_id=12, dropout=0.1)), 6).eval()
    for side in (marian.model.encoder, marian.model.decoder):
        side.embed_positions._init_weight()  # filled() took it for a weight
    marian.final_logits_bias.copy_(draw.normal(1, VOCABULARY, scale=0.3))
    save(folder, "marian", marian, {"config": marian.config.to_diff_dict()}, lambda s: {
        k: v for k, v in s.items() if not k.endswith("embed_tokens.weight") and k != "lm_head.weight"})
    src = torch.tensor([[5, 9, 4, 11, 7, 0], [11, 6, 3, 0, 12, 12]])
    tgt = torch.tensor([[12, 10, 4, 1, 8], [12, 7, 11, 2, 3]])
    ref.put("marian.src", src)
    ref.put("marian.tgt_in", tgt)
    ref.put("marian.logits", marian(input_ids=src, attention_mask=src != 12, decoder_input_ids=tgt).logits)
    print(ref.save(folder))
