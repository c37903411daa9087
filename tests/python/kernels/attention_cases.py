"""Cases of attention: tiled, eager, with a stored P, over selected keys, and PyTorch's own."""

import torch
import torch.nn.functional as F

from .attention import attention
from .case import Kernel, cases, eager, flags, normal, wide


def stored_p(name, causal=False, drop=0.0, B=2, H=2, T=24, D=16):
    """Attention that keeps P in the dtype, as before the tiled kernels."""
    mask = torch.ones(T, T, dtype=torch.bool).tril() if causal else torch.ones(T, T, dtype=torch.bool)

    def reference(q, k, v, *keep):
        p = torch.softmax((q @ k.mT * D**-0.5).masked_fill(~mask, -torch.inf), -1)
        return (p * keep[0] / (1 - drop) if drop else p) @ v

    def kernel(dy, q, k, v, *keep, fault=""):
        low = lambda x: wide(x.to(q.dtype))
        Q, K, V, dO = wide(q), wide(k), wide(v), wide(dy)
        P = low(torch.softmax((Q @ K.mT * D**-0.5).masked_fill(~mask, -torch.inf), -1))
        kept = wide(keep[0].to(dy.dtype)) / (1 - drop) if drop else 1
        dP = dO @ V.mT * kept
        if fault == "columns":
            dS = P * (dP - (P * dP).sum(-2, keepdim=True))
        elif fault == "square of P":
            dS = P * dP - P * P * dP
        else:
            dS = P * (dP - (P * dP).sum(-1, keepdim=True))
        dS = low(dS * D**-0.5)
        return dS @ K, dS.mT @ Q, low(P if fault == "dV of P before dropout" else P * kept).mT @ dO

    extras = (flags(1 - drop, B, H, T, T),) if drop else ()
    return Kernel("attention", name, reference, kernel, (normal(B, H, T, D),) * 3 + extras, (0,) * (3 + len(extras)))


def selected_keys(name, B=2, T=24, S=24, D=16, count=6):
    """Each query reads `count` keys, which are their own values, too. Queries share keys."""
    def choose(generator, dtype):
        return torch.rand(B, T, S, generator=generator).argsort(-1)[..., :count]

    def gather(kv, index):
        return kv[torch.arange(len(kv))[:, None, None], index]

    def reference(q, kv, index):
        rows = gather(kv, index)
        p = torch.softmax((q[:, :, None] * rows).sum(-1) * D**-0.5, -1)
        return (p[..., None] * rows).sum(-2)

    def kernel(dy, q, kv, index, fault=""):
        Q, dO, rows = wide(q), wide(dy), wide(gather(kv, index))
        P = torch.softmax(torch.einsum("btd,btkd->btk", Q, rows) * D**-0.5, -1)
        dP = torch.einsum("btd,btkd->btk", dO, rows)
        dS = P * (dP - (P * dP).sum(-1, keepdim=True)) * D**-0.5
        drows = dS[..., None] * Q[:, :, None] + P[..., None] * dO[:, :, None]
        places = (torch.arange(len(q))[:, None, None].expand_as(index), index)
        dKV = torch.zeros_like(wide(kv)).index_put(places, drows, accumulate=fault != "lost adds")
        return torch.einsum("btk,btkd->btd", dS, rows), dKV

    return Kernel("attention", name, reference, kernel, (normal(B, T, D), normal(B, S, D), choose), (0, 0, 0))


def fused(q, k, v, padding=None):
    """PyTorch's own, and what left padding makes of a causal mask: finfo.min for -inf."""
    if padding is None:
        return F.scaled_dot_product_attention(q, k, v)
    allowed = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril() & padding[:, None, None]
    mask = torch.zeros(allowed.shape, dtype=q.dtype).masked_fill(~allowed, torch.finfo(q.dtype).min)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


plain = attention("attention")
finite = attention("attention, left padding by finfo.min", padding="left, finite", causal=True, T=24)
hidden_rows = finite._replace(name="attention, left padding by finfo.min, torch's fused", backward=eager(fused))

CASES = [
    *cases(plain, "bhf",
           ("b", "dQ unscaled", "dQ lacks the scale"),
           ("h", "dK scaled twice", "dK has the scale squared"),
           ("b", "no delta", "the term of delta is missing"),
           ("b", "last rows", "dQ's last partial tile is not covered", {"box": (0, {2: (32, 40)})}),
           ("f", "last keys", "dQ leaves out the last partial tile of keys"),
           ("h", "last key rows", "dK and dV are not written in the last partial tile"),
           ("b", "item stride", "dQ of the second item reads the first item's K", {"box": (0, {0: (1, 2)})}),
           ("b", "delta of item 0", "delta is read without the stride of the batch"),
           ("h", "delta of a neighbour", "delta is read from the next head"),
           ("b", "stale logsumexp", "the logsumexp is stored before the last tile of keys"),
           ("b", "overlap", "the last tile of queries is shifted back, so that some rows count twice"),
           ("h", "stale P", "dV's last tile of keys multiplies the previous tile's P", {"box": (2, {2: (32, 40)})}),
           ("b", "dV times 0.98", "dV is scaled by 0.98"),
           ("h", "dQ times 1.02", "dQ is scaled by 1.02"),
           ("b", "a head's sign", "dQ of the second head has the wrong sign", {"box": (0, {1: (1, 2)})}),
           ("f", "an element's sign", "an element of dQ has the wrong sign",
            {"box": (0, {0: (0, 1), 1: (1, 2), 2: (5, 6), 3: (3, 4)})}),
           ("b", "dO clipped", "dO is clipped to 1"),
           ("b", "dO by the strides of O", "dO is read by the strides of O", {"shipped": "FlagAttention 1"}),
           ("f", "logsumexp in bf16", "the logsumexp is kept in bf16"),
           ("f", "delta in bf16", "delta is summed in bf16"),
           ("b", "clamp", "scores beyond 10 are clamped", {"only_at": "times 4"}),
           ("b", "no maximum", "P is exp(s) in fp16, without the row's maximum", {"only_at": "times 4"}),
           ("b", "scaled by item 0", "dO is scaled by item 0's largest", {"only_at": "dy in the last item alone"}),
           ("h", "first row of dO", "dQ skips tiles whose first row of dO is 0", {"only_at": "dy in the last row alone"})),
    *cases(plain._replace(name="attention, torch's fused", backward=eager(fused)), "bhf"),
    *cases(attention("attention, causal", causal=True), "bhf",
           ("b", "unmasked delta", "delta is summed over all keys, masked or not"),
           ("b", "corner", "the mask is not applied to dV's last tile", {"box": (2, {2: (33, 40)})}),
           ("h", "diagonal", "the backward's mask hides the diagonal"),
           ("f", "future", "the backward's mask shows one key of the future"),
           ("b", "future in dQ", "dQ's mask shows one key of the future"),
           ("b", "no mask", "the backward has no mask"),
           ("b", "untransposed blocks", "dK and dV skip blocks by the mask of dQ", {"shipped": "flash-attention 2623"}),
           ("b", "dV times 1.005", "dV is scaled by 1.005"),
           ("b", "logsumexp in bf16", "the logsumexp is kept in bf16"),
           ("h", "delta in bf16", "delta is summed in bf16")),
    *cases(attention("attention, dropout", drop=0.3), "bhf",
           ("b", "dP unscaled", "dP lacks the scale of dropout"),
           ("b", "another mask", "dQ and dK have another mask of dropout"),
           ("h", "no dropout of dP", "dP is not dropped out", {"shipped": "nki-samples 81"}),
           ("b", "dropped P", "dS multiplies P after dropout", {"shipped": "nki-samples 81"})),
    *cases(attention("attention, grouped queries", H=4, G=2, causal=True, T=33), "bhf",
           ("b", "last head of a group", "dK and dV are those of a group's last head, not their sum"),
           ("h", "head modulo", "dQ's head of keys is h modulo the heads, not h over the group", {"box": (0, {1: (1, 3)})})),
    *cases(attention("attention, sliding window", causal=True, window=9), "bhf",
           ("b", "window", "dQ's window is longer by one key"),
           ("h", "no mask", "the backward is neither causal nor windowed", {"shipped": "MSLK 263"})),
    *cases(attention("attention, softcap", cap=2.0, T=24), "bhf",
           ("b", "no cap", "the softcap's derivative is missing"),
           ("b", "cap unscaled", "the softcap's derivative squares the scores before they are divided by the cap")),
    *cases(attention("attention, ALiBi", alibi=True, causal=True, T=24), "bhf",
           ("b", "no slope", "the backward has no slopes")),
    # The cause of 3216 was not published. These are its signs: wrong from the second item on, and no Gaussian shows it.
    *cases(attention("attention, base 2", base2=True), "bhf",
           ("b", "exponent", "exp2 in dQ wraps around below 2**-31 from the second item on",
            {"only_at": "times 4", "shipped": "TransformerEngine 3216"})),
    *cases(attention("attention, bias", bias=True, T=21, tile=8), "bf",
           ("b", "bias of the last item", "the gradient of the bias is not summed over the batch", {"box": 3})),
    *cases(attention("attention, norm of queries and keys", normed=True, T=24), "bf",
           ("h", "norm's projection", "the norm of queries passes on the part along the query", {"box": 0})),
    *cases(attention("attention, right padding", padding="right"), "bhf",
           ("b", "no padding", "the backward sees padded keys"),
           ("h", "no padding in dV", "dV of padded keys is not 0", {"box": (2, {0: (1, 2), 2: (35, 40)})})),
    *cases(attention("attention, left padding", padding="left", causal=True, T=24), "bf",
           ("b", "empty rows", "rows without a key give nan", {"box": (2, {0: (1, 2), 2: (0, 16)})})),
    *cases(finite, "bf",
           ("f", "absorbed", "finfo.min + log(sum) is finfo.min, so P of a hidden row is 1 at each key",
            {"shipped": "torch 2.13.0, scaled_dot_product_attention", "box": (2, {0: (1, 2)})})),
    *cases(attention("attention, wide values", D=8, E=24, base2=True, T=24), "hf",
           ("b", "column stride", "dV's last columns are stored too early",
            {"shipped": "flash-attention 2552", "box": (2, {3: (8, 24)})}),
           ("h", "value width", "dP in dQ covers as many channels as the keys have",
            {"shipped": "native-sparse-attention-triton 27", "box": 0})),
    *cases(attention("attention, three heads", H=3, T=24), "",
           ("b", "heads exchanged", "dK of two heads is exchanged", {"box": (1, {1: (1, 3)})})),
    *cases(attention("attention, ring of two", T=32), "",
           ("b", "stale ring", "each turn reads the first chunk of keys", {"shipped": "diffusers 14265"})),
    *cases(attention("attention, as many heads as rows", H=16, T=16, D=8), "",
           ("b", "transposed twice", "heads and rows of K and V are transposed again", {"shipped": "diffusers 14338"})),
    *cases(attention("attention, tiles of 32", tile=32, T=48, D=32, causal=True, base2=True), "bh"),
    *cases(attention("attention, tiles from the end", order=-1, T=37, causal=True), "bh"),
    *cases(attention("attention, more keys than queries", T=17, S=40, causal=True), "bf"),
    *cases(attention("attention, one row of queries", T=1, S=40), "bh"),
    *cases(attention("attention, bias, softcap, groups", bias=True, cap=5.0, H=4, G=4, T=19, S=24), "b"),
    *cases(attention("attention, eager", inside=None, T=24), "bhf"),
    *cases(attention("attention, eager, causal, dropout", inside=None, causal=True, drop=0.1, T=24), "b"),
    *cases(attention("attention, eager, groups, ALiBi", inside=None, H=4, G=2, causal=True, alibi=True, T=24), "h"),
    *cases(stored_p("attention, P stored"), "",
           ("b", "columns", "the row sum of P dP is taken over columns"),
           ("h", "square of P", "the softmax has the diagonal of its Jacobian alone")),
    *cases(stored_p("attention, P stored, causal", causal=True), "bhf"),
    *cases(stored_p("attention, P stored, dropout", drop=0.2), "b",
           ("b", "dV of P before dropout", "dV multiplies P before dropout", {"box": 2})),
    *cases(selected_keys("attention, selected keys"), "bf",
           ("b", "lost adds", "of the gradients for one key the last stays", {"shipped": "cudnn-frontend 384", "box": 1})),
]
# PyTorch's P of a row that finfo.min hides is 1 at each key where it should be 1 / T, on the CPU.
PYTORCH = cases(hidden_rows, "bhf")
