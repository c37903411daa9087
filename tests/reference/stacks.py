"""torch.nn.TransformerEncoderLayer, TransformerDecoderLayer and their stacks, with and without a last norm."""

import torch
from torch import nn
from torch.func import functional_call

from common import Draw, Reference, record

D, HEADS, D_FF, LAYERS = 4, 2, 6, 2
B, S, T = 2, 4, 3


def masks(draw):
    """Keep-masks and biases as Glim names them, by the name of their use."""
    return {
        "plain": {},
        "causal": {"causal": True},
        "keep": {"keep": draw.keep(T, T), "key_keep": torch.tensor([[True, True, False], [True, True, True]])},
        "bias": {"bias": draw.normal(T, T), "key_bias": draw.normal(B, T)},
    }


def torch_masks(given, side, keep, padding):
    """The same as torch's arguments, whose boolean masks are true for what may not be attended to."""
    out = {}
    if given.get(f"{side}causal"):
        out[keep] = torch.ones(T, T, dtype=torch.bool).triu(1)
    for ours, theirs in ((f"{side}keep", keep), (f"{side}key_keep", padding)):
        if ours in given:
            out[theirs] = ~given[ours]
    for ours, theirs in ((f"{side}bias", keep), (f"{side}key_bias", padding)):
        if ours in given:
            out[theirs] = given[ours]
    return out


def case(ref, draw, name, module, inputs, given, options):
    module = draw.fill(module.double().train())
    params = {k: p.detach().clone() for k, p in module.named_parameters()}
    tensors = {k: t for k, t in given.items() if isinstance(t, torch.Tensor)}
    flags = {k: t for k, t in given.items() if not isinstance(t, torch.Tensor)}
    decoder = "memory" in inputs
    stack = not isinstance(module, (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer))

    def call(x, memory=None, **rest):
        p = {k: rest.pop(k) for k in list(rest) if k in params}
        rest |= flags
        if not decoder:
            return functional_call(module, p, (x,), torch_masks(
                rest, "", "mask" if stack else "src_mask", "src_key_padding_mask"))
        return functional_call(module, p, (x, memory), torch_masks(
            rest, "tgt_", "tgt_mask", "tgt_key_padding_mask") | torch_masks(
            rest, "memory_", "memory_mask", "memory_key_padding_mask"))

    record(ref, draw, name, call, inputs | tensors, params, options | flags, frozen=tuple(tensors))


def make():
    draw = Draw(131)
    ref = Reference(
        "stacks",
        "Encoder and decoder layers and stacks: NAME.x, NAME.memory, masks, NAME.param.P, NAME.y, NAME.dy, NAME.dX, "
        "NAME.grad.P; the gradients are those of sum(dy * y).",
        d_model=D, nhead=HEADS, dim_feedforward=D_FF, layers=LAYERS,
    )
    x, memory = (lambda: draw.normal(B, T, D)), (lambda: draw.normal(B, S, D))
    decoder_masks = {
        "plain": {},
        "masks": {"tgt_causal": True, "memory_key_keep": torch.tensor([[True] * 4, [True, True, False, False]])},
        "keep": {"tgt_keep": torch.ones(T, T, dtype=torch.bool).tril(), "memory_keep": draw.keep(T, S)},
        "bias": {"tgt_bias": draw.normal(T, T), "memory_key_bias": draw.normal(B, S)},
    }
    for norm_first in (False, True):
        place = "pre" if norm_first else "post"
        base = dict(dropout=0.0, batch_first=True, norm_first=norm_first)

        def layer(kind, **more):
            return getattr(nn, f"Transformer{kind}Layer")(D, HEADS, D_FF, **(base | more))

        for name, given in masks(draw).items():
            case(ref, draw, f"encoder_layer_{place}_{name}", layer("Encoder"), {"x": x()}, given, dict(norm_first=norm_first))
        for name, given in decoder_masks.items():
            case(ref, draw, f"decoder_layer_{place}_{name}", layer("Decoder"), {"x": x(), "memory": memory()}, given,
                 dict(norm_first=norm_first))
        more = dict(activation="gelu", bias=False, layer_norm_eps=1e-2)
        options = more | dict(norm_first=norm_first)
        case(ref, draw, f"encoder_layer_{place}_options", layer("Encoder", **more), {"x": x()}, {}, options)
        case(ref, draw, f"decoder_layer_{place}_options", layer("Decoder", **more), {"x": x(), "memory": memory()}, {},
             options)
        for last in (False, True):
            norm = lambda: nn.LayerNorm(D) if last else None
            tag = place if last == norm_first else f"{place}_{'norm' if last else 'no_norm'}"
            options = dict(norm_first=norm_first, final_norm=last)
            case(ref, draw, f"encoder_{tag}", nn.TransformerEncoder(layer("Encoder"), LAYERS, norm(), False), {"x": x()},
                 {"causal": True}, options)
            case(ref, draw, f"decoder_{tag}", nn.TransformerDecoder(layer("Decoder"), LAYERS, norm()),
                 {"x": x(), "memory": memory()}, {"tgt_causal": True}, options)
    return [ref]
