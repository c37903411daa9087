"""torch.nn.MultiheadAttention over its option set.

The torch call behind every case (masks inverted, since torch's boolean masks say what to hide):

    m = nn.MultiheadAttention(E, H, bias=..., add_bias_kv=..., add_zero_attn=..., kdim=..., vdim=...,
                              batch_first=True)
    y, weights = m(query, key, value, key_padding_mask=~key_keep or key_bias,
                   attn_mask=~attn_keep or attn_bias, need_weights=True, average_attn_weights=...)

Layouts: query (B, T, E), key (B, S, kdim), value (B, S, vdim), key_keep (B, S), attn_keep (T, S) or
(B*H, T, S) with row b*H + head. weights (B, T, S') and weights_per_head (B, H, T, S'), where S' is S
plus one column for bias_kv, then one for zero_attn. The gradients are those of sum(dy * y).
"""

import torch
from torch import nn

from common import Draw, Reference

B, T, S, E, H = 2, 3, 4, 8, 2
INF = float("inf")


def run(ref, draw, prefix, note, *, self_attention=False, masks=None, batch=B, queries=T, keys=S,
        embed=E, heads=H, batch_first=True, empty_rows=False, **options):
    """One case: stores inputs, masks, parameters, y, weights, dy and all gradients."""
    m = nn.MultiheadAttention(embed, heads, batch_first=batch_first, **options).double()
    draw.fill(m)
    inputs = {"query": draw.normal(batch, queries, embed)}
    if not self_attention:
        inputs["key"] = draw.normal(batch, keys, options.get("kdim") or embed)
        inputs["value"] = draw.normal(batch, keys, options.get("vdim") or embed)
    masks = masks(draw) if masks else {}

    x = {k: t.clone().requires_grad_(True) for k, t in inputs.items()}
    biases = {k: t.clone().requires_grad_(True) for k, t in masks.items() if k.endswith("bias")}
    hide = {k.split("_")[0]: ~t for k, t in masks.items() if k.endswith("keep")}
    hide |= {k.split("_")[0]: t for k, t in biases.items()}
    turned = {k: t if batch_first else t.transpose(0, 1) for k, t in x.items()}
    call = dict(
        query=turned["query"],
        key=turned.get("key", turned["query"]),
        value=turned.get("value", turned["query"]),
        key_padding_mask=hide.get("key"),
        attn_mask=hide.get("attn"),
    )

    y, per_head = m(**call, need_weights=True, average_attn_weights=False)
    _, averaged = m(**call, need_weights=True, average_attn_weights=True)
    plain, _ = m(**call, need_weights=False)
    if empty_rows:
        # With weights torch gives NaN for a query without keys; without them it gives zeros before
        # out_proj, which is the rule here too. So y and gradients come from that call.
        assert y.isnan().any() and not plain.isnan().any()
        y, per_head, averaged = plain, per_head.nan_to_num(0.0), averaged.nan_to_num(0.0)
    y, plain = (t if batch_first else t.transpose(0, 1) for t in (y, plain))
    assert torch.allclose(y, plain, rtol=1e-12, atol=1e-14)

    dy = draw.normal(*y.shape)
    params = dict(m.named_parameters())
    wanted = {f"d{k}": t for k, t in (x | biases).items()}
    wanted |= {f"grad.{k}": p for k, p in params.items()}
    grads = torch.autograd.grad(y, list(wanted.values()), dy)

    stored = {**inputs, **masks, "y": y, "weights": averaged, "weights_per_head": per_head, "dy": dy}
    stored |= {f"param.{k}": p for k, p in params.items()} | dict(zip(wanted, grads))
    for k, t in stored.items():
        if not k.endswith(("keep", "bias")):
            assert t.isfinite().all(), f"{prefix} {k}"
        ref.put(f"{prefix}.{k}", t)
    ref.case_config(prefix, dict(
        note=note, embed_dim=embed, num_heads=heads, batch=batch, queries=queries,
        keys=queries if self_attention else keys, self_attention=self_attention,
        bias=options.get("bias", True), add_bias_kv=options.get("add_bias_kv", False),
        add_zero_attn=options.get("add_zero_attn", False), kdim=options.get("kdim"),
        vdim=options.get("vdim"), torch_batch_first=batch_first, empty_rows=empty_rows,
        masks={k: list(t.shape) for k, t in masks.items()},
    ))


def right_padding(draw, batch=B, keys=S):
    lengths = torch.tensor([keys, keys - 2])[:batch]
    return torch.arange(keys)[None, :] < lengths[:, None]


def causal(length):
    return torch.ones(length, length, dtype=torch.bool).tril()


def with_minus_infinity(bias, keep):
    return bias.masked_fill(~keep, -INF)


def cases():
    """(note, options) of every case; masks are drawn when the case runs."""
    yield "self-attention", dict(self_attention=True)
    yield "self-attention without bias", dict(self_attention=True, bias=False)
    yield "cross-attention", {}
    yield "kdim and vdim differ from embed_dim", dict(kdim=6, vdim=10)
    yield "kdim and vdim, no bias", dict(kdim=6, vdim=10, bias=False)
    yield "only kdim differs", dict(kdim=5)
    yield "add_bias_kv", dict(self_attention=True, add_bias_kv=True)
    yield "add_bias_kv without bias", dict(add_bias_kv=True, bias=False)
    yield "add_zero_attn", dict(add_zero_attn=True)
    yield "add_bias_kv, add_zero_attn, kdim, vdim", dict(
        add_bias_kv=True, add_zero_attn=True, kdim=6, vdim=10)
    yield "key padding, boolean", dict(masks=lambda d: {"key_keep": right_padding(d)})
    yield "causal 2-D mask, boolean", dict(
        self_attention=True, queries=4, masks=lambda d: {"attn_keep": causal(4)})
    yield "3-D mask, boolean, one per batch and head", dict(
        masks=lambda d: {"attn_keep": d.keep(B * H, T, S)})
    yield "causal mask and key padding, boolean", dict(
        self_attention=True, queries=4,
        masks=lambda d: {"attn_keep": causal(4), "key_keep": right_padding(d)})
    yield "2-D additive mask, finite", dict(masks=lambda d: {"attn_bias": d.normal(T, S)})
    yield "3-D additive mask with -inf entries", dict(
        masks=lambda d: {"attn_bias": with_minus_infinity(d.normal(B * H, T, S), d.keep(B * H, T, S))})
    yield "key padding, additive with -inf entries", dict(
        masks=lambda d: {"key_bias": with_minus_infinity(d.normal(B, S), right_padding(d))})
    yield "additive key padding and 3-D mask, add_bias_kv, add_zero_attn", dict(
        add_bias_kv=True, add_zero_attn=True,
        masks=lambda d: {"attn_bias": d.normal(B * H, T, S), "key_bias": d.normal(B, S)})
    yield "boolean key padding and 3-D mask, add_bias_kv, add_zero_attn, kdim, vdim, no bias", dict(
        add_bias_kv=True, add_zero_attn=True, kdim=6, vdim=10, bias=False,
        masks=lambda d: {"attn_keep": d.keep(B * H, T, S), "key_keep": right_padding(d)})
    yield "one sentence wholly padding: only bias_k is left to attend to", dict(
        add_bias_kv=True, masks=lambda d: {"key_keep": torch.tensor([[True] * S, [False] * S])})
    yield "one query without keys: only the zero key is left, output is out_proj.bias", dict(
        add_zero_attn=True,
        masks=lambda d: {"attn_keep": torch.tensor([[True] * S, [False] * S, [True] * S])})
    yield "queries with no key at all: zero weights, output out_proj.bias, zero gradients", dict(
        empty_rows=True,
        masks=lambda d: {"attn_keep": torch.tensor([[True] * S, [False] * S, [False, True] * 2]),
                         "key_keep": torch.tensor([[True] * S, [False] * S])})
    yield "torch ran with batch_first=False; stored batch first all the same", dict(
        batch_first=False, kdim=6, masks=lambda d: {"key_keep": right_padding(d)})
    yield "one head", dict(heads=1, self_attention=True)
    yield "as many heads as columns (d_k = 1)", dict(heads=E)
    yield "one query and one key: every weight is 1", dict(queries=1, keys=1, batch=1)


def make():
    draw = Draw(31)
    ref = Reference(
        "mha",
        "nn.MultiheadAttention over its option set; keys caseNN.{query,key,value,y,weights,...}, "
        "caseNN.param.NAME, caseNN.grad.NAME, caseNN.d{query,key,value,attn_bias,key_bias}. "
        "self_attention: key = value = query, and dquery is the whole gradient.",
    )
    for i, (note, options) in enumerate(cases()):
        run(ref, draw, f"case{i:02d}", note, **options)
    return [ref]
