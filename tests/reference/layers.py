"""Layers, activations, normalisation, attention scores and losses; the torch call is the lambda."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from common import Draw, Reference, record, representable
from transformer import positions

INF = float("inf")


def linear(ref, draw):
    x, w, b = draw.normal(2, 3, 4), draw.normal(5, 4), draw.normal(5)
    call = lambda x, weight, bias=None: F.linear(x, weight, bias)  # y = x weightᵀ + bias
    record(ref, draw, "linear", call, {"x": x}, {"weight": w, "bias": b})
    record(ref, draw, "linear_no_bias", call, {"x": x}, {"weight": w})
    record(ref, draw, "linear_vector", call, {"x": draw.normal(4)}, {"weight": w, "bias": b},
           dict(note="x (4) -> y (5)"))


def embedding(ref, draw):
    ids = torch.tensor([[1, 4, 4, 0], [0, 5, 1, 6]])
    w = draw.normal(7, 3)
    record(ref, draw, "embedding", lambda ids, weight: F.embedding(ids, weight),
           {"ids": ids}, {"weight": w}, dict(note="ids repeat: their gradients add up"))
    record(ref, draw, "embedding_padding",
           lambda ids, weight: F.embedding(ids, weight, padding_idx=0),
           {"ids": ids}, {"weight": w},
           dict(padding_idx=0, note="row 0 is read as it is, and its gradient is zero"))


def norms(ref, draw):
    x = draw.normal(2, 3, 6, mean=0.5, scale=2.0)
    w, b = draw.normal(6, mean=1.0, scale=0.2), draw.normal(6, scale=0.2)
    for eps in (1e-5, 1e-6):
        norm = lambda x, weight=None, bias=None: F.layer_norm(x, (6,), weight, bias, eps)
        tag = "" if eps == 1e-5 else "_eps1e-6"
        record(ref, draw, f"layer_norm{tag}", norm, {"x": x}, {"weight": w, "bias": b}, dict(eps=eps))
    norm = lambda x, weight=None, bias=None: F.layer_norm(x, x.shape[-1:], weight, bias, 1e-5)
    record(ref, draw, "layer_norm_no_affine", norm, {"x": x}, None, dict(eps=1e-5))
    record(ref, draw, "layer_norm_no_bias", norm, {"x": x}, {"weight": w}, dict(eps=1e-5))
    record(ref, draw, "layer_norm_offset", norm, {"x": draw.normal(3, 6, mean=1000.0)},
           {"weight": w, "bias": b}, dict(eps=1e-5, note="a large mean over a variance near 1"))
    constant = representable([[3.0] * 6, [0.0] * 6, [1.0, -1.0] * 3])
    record(ref, draw, "layer_norm_constant", norm, {"x": constant}, {"weight": w, "bias": b},
           dict(eps=1e-5, note="rows without variance: y = bias"))

    w3, b3 = draw.normal(3, mean=1.0, scale=0.2), draw.normal(3, scale=0.2)
    for name, x in (("batch_norm", draw.normal(5, 3, mean=0.5, scale=2.0)),
                    ("batch_norm_sequence", draw.normal(2, 3, 4, mean=0.5, scale=2.0))):
        for training in (True, False):
            start = {"mean": draw.normal(3), "var": draw.uniform(3, low=0.5, high=2.0)}
            after = {k: t.clone() for k, t in start.items()}
            call = lambda x, weight, bias: F.batch_norm(
                x, after["mean"], after["var"], weight, bias, training, 0.1, 1e-5)
            prefix = name if training else f"{name}_eval"
            record(ref, draw, prefix, call, {"x": x}, {"weight": w3, "bias": b3},
                   dict(eps=1e-5, momentum=0.1, training=training, channel_axis=1))
            for k in start:  # running statistics before and after the call
                ref.put(f"{prefix}.running_{k}", start[k])
                ref.put(f"{prefix}.running_{k}_after", after[k])


def activations(ref, draw):
    edge = representable([-1000, -60, -20, -5, -1, -1e-3, -1e-20, 0, 1e-20, 1e-3, 1, 5, 20, 60, 1000])
    x = torch.cat([draw.normal(15, scale=2.0), edge]).reshape(5, 6)
    for name, call in dict(
        relu=lambda x: F.relu(x),  # the gradient at 0 is 0
        gelu=lambda x: F.gelu(x),
        gelu_tanh=lambda x: F.gelu(x, approximate="tanh"),
        silu=lambda x: F.silu(x),
        tanh=lambda x: torch.tanh(x),
        sigmoid=lambda x: torch.sigmoid(x),
    ).items():
        record(ref, draw, name, call, {"x": x})
    x = draw.normal(2, 3, 4, scale=2.0)
    for axis in (0, 1, 2):
        record(ref, draw, f"softmax_axis{axis}", lambda x: F.softmax(x, axis), {"x": x}, None,
               dict(axis=axis))
        record(ref, draw, f"log_softmax_axis{axis}", lambda x: F.log_softmax(x, axis), {"x": x}, None,
               dict(axis=axis))
    wide = representable([[1000, 1001, 999, 0], [-1000, -1001, -999, -1000], [0, 0, 0, 0],
                          [3e38, -3e38, 0, 1]])
    record(ref, draw, "softmax_wide", lambda x: F.softmax(x, -1), {"x": wide}, None, dict(axis=1))
    record(ref, draw, "log_softmax_wide", lambda x: F.log_softmax(x, -1), {"x": wide[:3]}, None,
           dict(axis=1))
    hidden = representable([[0.5, -INF, 1.5, 0.0], [-INF, -INF, 2.0, -INF]])
    record(ref, draw, "softmax_minus_infinity", lambda x: F.softmax(x, -1), {"x": hidden}, None,
           dict(axis=1))


def attention(ref, draw):
    q, k, v = draw.normal(2, 2, 3, 4), draw.normal(2, 2, 5, 4), draw.normal(2, 2, 5, 6)
    sdpa = F.scaled_dot_product_attention  # its boolean attn_mask is a keep-mask
    base = {"query": q, "key": k, "value": v}
    plain = lambda query, key, value, **rest: sdpa(query, key, value, **rest)

    def keyed(query, key, value, keep):
        return sdpa(query, key, value, attn_mask=keep)

    record(ref, draw, "attention", plain, base, None, dict(note="scale 1/sqrt(4)"))
    record(ref, draw, "attention_keep", keyed, base | {"keep": draw.keep(2, 2, 3, 5)}, frozen=("keep",))
    record(ref, draw, "attention_keep_broadcast", keyed, base | {"keep": draw.keep(2, 1, 1, 5)},
           frozen=("keep",), config=dict(note="one mask per sentence, for every head and query"))
    some = draw.keep(2, 1, 3, 5)
    some[0, 0, 1] = False
    some[1, 0, 2] = False
    record(ref, draw, "attention_empty_rows", keyed, base | {"keep": some}, frozen=("keep",),
           config=dict(note="rows with nothing to attend to: y = 0 and zero gradients"))
    record(ref, draw, "attention_bias",
           lambda query, key, value, bias: sdpa(query, key, value, attn_mask=bias),
           base | {"bias": draw.normal(2, 2, 3, 5)})
    record(ref, draw, "attention_scale", lambda query, key, value: sdpa(query, key, value, scale=0.7),
           base, None, dict(scale=0.7))
    square = {"query": q, "key": draw.normal(2, 2, 3, 4), "value": draw.normal(2, 2, 3, 6)}
    record(ref, draw, "attention_causal",
           lambda query, key, value: sdpa(query, key, value, is_causal=True), square)

    # Single head with d_k != d_v and no output projection: input_dim 2 -> d_k 4, d_v 5.
    def single(x, **w):
        q, k, v = (F.linear(x, w[f"{n}.weight"], w[f"{n}.bias"]) for n in ("query", "key", "value"))
        return sdpa(q, k, v)

    sizes = {"query": 4, "key": 4, "value": 5}
    params = {f"{n}.weight": draw.normal(d, 2) for n, d in sizes.items()}
    params |= {f"{n}.bias": draw.normal(d) for n, d in sizes.items()}
    record(ref, draw, "attention_single_head", single, {"x": draw.normal(4, 3, 2)}, params,
           dict(note="x (4, 3, 2) -> y (4, 3, 5); the scale is 1/sqrt(d_k)"))


def feed_forward(ref, draw):
    """max(0, x W1ᵀ + b1) W2ᵀ + b2, and the same as two convolutions of kernel size 1."""
    def linear(x, **w):
        h = F.relu(F.linear(x, w["linear1.weight"], w["linear1.bias"]))
        return F.linear(h, w["linear2.weight"], w["linear2.bias"])

    def conv(x, **w):  # nn.Conv1d takes (B, D, T); its weight is (out, in, 1)
        h = F.relu(F.conv1d(x.transpose(1, 2), w["linear1.weight"][..., None], w["linear1.bias"]))
        return F.conv1d(h, w["linear2.weight"][..., None], w["linear2.bias"]).transpose(1, 2)

    params = {"linear1.weight": draw.normal(7, 4), "linear1.bias": draw.normal(7),
              "linear2.weight": draw.normal(4, 7), "linear2.bias": draw.normal(4)}
    x = draw.normal(2, 3, 4)
    y = record(ref, draw, "feed_forward", linear, {"x": x}, params,
               dict(note="equal to two conv1d of kernel size 1 with weight[:, :, None]"))
    y_conv = conv(x, **params)
    assert torch.allclose(y, y_conv, rtol=1e-13, atol=1e-13)
    ref.put("feed_forward.y_conv1d", y_conv)


def losses(ref, draw):
    logits, target = draw.normal(6, 5, scale=2.0), torch.tensor([3, 0, 1, 4, 0, 1])
    frozen = ("target",)
    for reduction in ("mean", "sum", "none"):
        for ignore in (None, 0):
            options = dict(reduction=reduction) | ({} if ignore is None else dict(ignore_index=ignore))
            tag = reduction + ("" if ignore is None else "_ignore0")
            for smoothing in (0.0, 0.1):
                more = options | dict(label_smoothing=smoothing)
                record(ref, draw, f"cross_entropy_{tag}" + ("_smooth" if smoothing else ""),
                       lambda x, target: F.cross_entropy(x, target, **more),
                       {"x": logits, "target": target}, None,
                       more | dict(note="x is logits; torch spreads label_smoothing / V over all V"),
                       frozen)
        record(ref, draw, f"mse_{reduction}", lambda x, target: F.mse_loss(x, target, reduction=reduction),
               {"x": draw.normal(3, 4), "target": draw.normal(3, 4)}, None, dict(reduction=reduction))
    sequence, ids = draw.normal(2, 4, 5), torch.tensor([[1, 2, 0, 0], [4, 3, 2, 0]])
    record(ref, draw, "cross_entropy_sequence",
           lambda x, target: F.cross_entropy(x.flatten(0, 1), target.flatten(), ignore_index=0),
           {"x": sequence, "target": ids}, None,
           dict(ignore_index=0, reduction="mean", note="x (B, T, V), target (B, T)"), frozen)


def weighted_losses(ref, draw):
    """Class weights, and distributions over the classes as targets."""
    logits, target = draw.normal(6, 5, scale=2.0), torch.tensor([3, 0, 1, 4, 0, 1])
    weight, q = draw.uniform(5, low=0.2, high=2.0), draw.normal(6, 5).softmax(-1)
    for reduction in ("mean", "sum", "none"):
        for smoothing in (0.0, 0.1):
            for weights in (None, weight):
                def case(tag, target, frozen, **more):
                    options = dict(reduction=reduction, label_smoothing=smoothing) | more
                    name = f"cross_entropy_{tag}_{reduction}" + ("_smooth" if smoothing else "")
                    inputs = {"x": logits, "target": target} | ({} if weights is None else {"weight": weights})
                    record(ref, draw, name, lambda x, target, weight=None: F.cross_entropy(x, target, weight, **options),
                           inputs, None, options, (*frozen, "weight"))

                if weights is not None:
                    case("weight", target, ("target",))
                    case("weight_ignore0", target, ("target",), ignore_index=0)
                case("distribution" + ("" if weights is None else "_weight"), q, ())


def position_tables(ref):
    """No gradients here: PE tables for several widths and bases; see transformer.positions."""
    for length, d, base in ((6, 16, 10000.0), (4, 4, 100.0), (4, 4, 10000.0), (5, 6, 10000.0)):
        prefix = f"positions_{length}x{d}_base{base:g}"
        ref.put(f"{prefix}.y", positions(length, d, base))
        ref.case_config(prefix, dict(length=length, d_model=d, base=base))
    rows = [0, 1, 100, 4999, 5000, 20000]
    ref.put("positions_far.rows", torch.tensor(rows))
    ref.put("positions_far.y", positions(rows[-1] + 1, 8)[rows])
    ref.case_config("positions_far", dict(
        d_model=8, base=10000.0, note="y[i] = PE(rows[i]); beyond the default max_len of 5000"))


def make():
    draw = Draw(47)
    ref = Reference(
        "layers",
        "Layers and losses: NAME.X inputs, NAME.param.P, NAME.y, NAME.dy, NAME.dX, NAME.grad.P; "
        "the gradients are those of sum(dy * y).",
    )
    for part in (linear, embedding, norms, activations, attention, feed_forward, losses):
        part(ref, draw)
    position_tables(ref)
    weighted_losses(ref, Draw(53))
    assert math.isclose(ref.tensors["positions_4x4_base100.y"][1, 0], math.sin(1))
    return [ref]
