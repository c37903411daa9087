"""Tiled attention with a saved logsumexp: the forward pass, then a kernel for dQ and one for dK and dV."""

import math

import torch

from .case import Kernel, eager, fixed, flags, normal, spans, through, wide

LOG2E, EPS = math.log2(math.e), 1e-6


def norm(x):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS)


def exp2_in_bits(x):
    """2 ** x with six bits for the exponent, set by hand. They wrap around below -31."""
    exponent = x.floor()
    return (x - exponent).exp2() * ((exponent + 31) % 64 - 31).exp2()


def attention(name, B=2, H=2, G=1, T=40, S=None, D=16, E=None, tile=16, causal=False, window=0, cap=0.0, alibi=False,
              drop=0.0, padding="", bias=False, normed=False, base2=False, order=1, inside="float32"):
    """H heads of queries, G of them for a head of keys. padding: "right", "left", or "left, finite" (finfo.min for -inf)."""
    S, E, scale = S or T, E or D, D**-0.5
    distance = torch.arange(T)[:, None] + S - T - torch.arange(S)
    slopes = 2.0 ** -torch.arange(1, H + 1).view(H, 1, 1)
    starts = torch.arange(B).view(B, 1) * 5
    lengths = torch.arange(S) >= starts if "left" in padding else torch.arange(S) < S - starts
    extras = {"bias": normal(H, T, S)} if bias else {}
    extras |= {"padding": fixed(lengths)} if padding else {}
    extras |= {"keep": flags(1 - drop, B, H, T, S)} if drop else {}
    blocks = lambda length, covered=None: spans(length, tile, covered)[::order]

    def reference(q, k, v, *rest):
        rest = dict(zip(extras, rest))
        q, k = (norm(q), norm(k)) if normed else (q, k)
        k, v = (x.repeat_interleave(G, 1) for x in (k, v))
        s = q @ k.mT * scale
        s = cap * torch.tanh(s / cap) if cap else s
        s = s - (slopes * distance).to(s.dtype) if alibi else s
        s = s + rest["bias"] if bias else s
        allowed = torch.ones(T, S, dtype=torch.bool)
        allowed = allowed & (distance >= 0) if causal else allowed
        allowed = allowed & (distance < window) if window else allowed
        allowed = allowed & rest["padding"][:, None, None] if padding else allowed
        if padding == "left, finite":
            p = torch.softmax(s.masked_fill(~allowed, -(2.0**15)), -1)
        else:
            has_keys = allowed.any(-1, keepdim=True)
            p = torch.softmax(s.masked_fill(~allowed & has_keys, -math.inf), -1) * has_keys
        return (p * rest["keep"] / (1 - drop) if drop else p) @ v

    def kernel(dy, q, k, v, *rest, fault=""):
        rest, B = dict(zip(extras, rest)), len(q)
        low = lambda x: wide(x.to(q.dtype))
        Q, K, V, dO = wide(q), wide(k), wide(v), wide(dy)
        if normed:
            q_rms, k_rms = (torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS) for x in (Q, K))
            q_unit, k_unit = Q * q_rms, K * k_rms
            Q, K = low(q_unit), low(k_unit)
        K, V = (x.repeat_interleave(G, 1) for x in (K, V))
        keep = rest["keep"].to(Q.dtype) / (1 - drop) if drop else Q.new_ones(1, 1, T, S)
        nothing = torch.finfo(Q.dtype).min if "finite" in padding else -math.inf
        exp, log = (torch.exp2, torch.log2) if base2 else (torch.exp, torch.log)

        def hidden(step):
            backward = step != "forward"
            first = {"diagonal": 1, "future": -1, "future in dQ": -1 if step == "dq" else 0}.get(fault, 0) if backward else 0
            mask = distance < first if causal else torch.zeros(T, S, dtype=torch.bool)
            mask = mask | (distance >= window + (fault == "window" and step == "dq")) if window else mask
            if backward and fault == "no mask":
                mask = torch.zeros_like(mask)
            if step == "dv" and fault == "corner":
                mask[T - T % tile:, S - S % tile:] = False
            visibility = rest["padding"][:, None, None] if padding else torch.ones(B, 1, 1, S, dtype=torch.bool)
            ignored = padding and (fault == "no padding" and backward or fault == "no padding in dV" and step == "dv")
            return (mask if ignored else mask | ~visibility).expand(B, H, T, S)

        def keys(step):
            """K and V, as a step of the pass reads them."""
            if step != "forward" and fault == "stale ring":  # each chunk of keys should come around; the first stays
                return (torch.cat([x[..., :S // 2, :]] * 2, -2) for x in (K, V))
            if step != "forward" and fault == "transposed twice":
                return K.transpose(1, 2), V.transpose(1, 2)
            if step == "dq" and fault == "item stride":
                return K[:1].expand_as(K), V
            if step == "dq" and fault == "head modulo":
                heads = torch.arange(H) % (H // G) * G
                return K[:, heads], V[:, heads]
            return K, V

        def scores(i, j, step):
            """The scores of a tile, and their derivative by the product of its rows."""
            s, slope = Q[..., i, :] @ keys_of[step][0][..., j, :].mT * scale, 1
            if cap:
                ratio = torch.tanh(s / cap)
                s, slope = cap * ratio, {"no cap": 1, "cap unscaled": 1 - (cap * ratio) ** 2}.get(fault, 1 - ratio * ratio)
            if alibi and not (fault == "no slope" and step != "forward"):
                s = s - slopes * distance[i, j]
            if bias:
                s = s + wide(rest["bias"])[:, i, j]
            s = s.clamp(-10, 10) if fault == "clamp" else s
            s = s.masked_fill(masks[step][..., i, j], nothing)
            return (s * LOG2E if base2 else s), slope

        steps = ("forward", "dq", "dk", "dv")
        masks, keys_of = {step: hidden(step) for step in steps}, {step: tuple(keys(step)) for step in steps}
        O, M, L = Q.new_zeros(B, H, T, E), Q.new_zeros(B, H, T, 1), Q.new_zeros(B, H, T, 1)
        for i in blocks(T):
            m, l, o = torch.full_like(M[..., i, :], -math.inf), 0, 0
            for j in blocks(S):
                s, _ = scores(i, j, "forward")
                maximum = torch.maximum(m, s.amax(-1, keepdim=True)).clamp(min=torch.finfo(s.dtype).min)
                p, rescaling = exp(s - maximum), exp(m - maximum)
                m, l = maximum, l * rescaling + p.sum(-1, keepdim=True)
                o = o * rescaling + low(p * keep[..., i, j]) @ V[..., j, :]
            O[..., i, :], M[..., i, :], L[..., i, :] = torch.where(l > 0, o / l, 0), m, l
        O = low(O)
        empty = L == 0
        lse = (M + log(L)).masked_fill(empty, -math.inf if fault == "empty rows" else math.inf)
        if fault == "stale logsumexp":
            j = slice(0, blocks(S)[-1].start)
            s = torch.cat([scores(i, j, "forward")[0] for i in blocks(T)], -2)
            lse = s.logsumexp(-1, keepdim=True)
        lse = through(torch.bfloat16, lse) if fault == "logsumexp in bf16" else lse
        if fault == "dO by the strides of O":
            dO = dO.reshape(B, T, H, E).transpose(1, 2)
        dO = dO.clamp(-1, 1) if fault == "dO clipped" else dO
        if fault == "scaled by item 0":  # a power of two that brings dO into the range of fp16
            power = dO[0].abs().amax().log2().floor().exp2()
            dO = dO / power * power
        products = dO * O
        delta = products.sum(-1, keepdim=True)
        if fault == "delta in bf16":
            delta = sum(through(torch.bfloat16, x) for x in through(torch.bfloat16, products).split(1, -1))
            delta = through(torch.bfloat16, delta)
        if fault == "delta of item 0":
            delta = delta[:1].expand_as(delta)
        if fault == "delta of a neighbour":
            delta = delta.roll(1, 1)
        if fault == "no delta":
            delta = torch.zeros_like(delta)
        if fault == "unmasked delta":  # rowsum(P dP), with P of all keys
            p = torch.softmax(Q @ K.mT * scale, -1)
            delta = (p * (dO @ V.mT)).sum(-1, keepdim=True)

        def tile_gradients(i, j, step):
            """P as dV's product reads it, and the gradients of the masked scores and of the products of rows."""
            s, slope = scores(i, j, step)
            if "finite" in padding and fault != "absorbed":  # M + log(L) would be M, so both are kept
                p = exp(s - M[..., i, :]) / L[..., i, :]
            elif fault == "exponent" and step == "dq":
                p = torch.cat([exp(s - lse[..., i, :])[:1], exp2_in_bits(s - lse[..., i, :])[1:]])
            elif fault == "no maximum":
                p = through(torch.float16, s.exp()) / through(torch.float16, (M + L.log()).exp())[..., i, :]
            else:
                p = exp(s - lse[..., i, :])
            keep_tile = keep[..., i, j]
            if fault == "another mask" and step != "dv":
                keep_tile = keep.roll(1, -1)[..., i, j]
            dp = dO[..., i, :] @ keys_of[step][1][..., j, :].mT
            if fault == "value width" and step == "dq":
                dp = dO[..., i, :D] @ V[..., j, :D].mT
            dp = dp if fault == "no dropout of dP" else dp * keep_tile * (1 - drop if fault == "dP unscaled" else 1)
            ds = (p * keep_tile if fault == "dropped P" else p) * (dp - delta[..., i, :])
            ds = ds.masked_fill(masks[step][..., i, j], 0)
            return low(p * keep_tile), ds, low(ds * slope)

        skipped = lambda i, j: causal and "finite" not in padding and j.start > i.stop - 1 + S - T
        dQ, dK, dV = torch.zeros_like(Q), torch.zeros_like(K), torch.zeros_like(V)
        dB = Q.new_zeros(H, T, S)
        for i in blocks(T, T // tile * tile if fault == "last rows" else None):
            for j in blocks(S, S // tile * tile if fault == "last keys" else None):
                if skipped(i, j) or fault == "first row of dO" and not dO[..., i.start, :].any():
                    continue
                _, ds, products = tile_gradients(i, j, "dq")
                dQ[..., i, :] += products @ keys_of["dq"][0][..., j, :]
                dB[:, i, j] += ds[-1] if fault == "bias of the last item" else ds.sum(0)
        for j in blocks(S, S // tile * tile if fault == "last key rows" else None):
            previous = None
            for i in blocks(T):
                if fault != "future" and (skipped(i, j) or fault == "untransposed blocks" and skipped(j, i)):
                    continue
                i = slice(max(0, T - tile), T) if fault == "overlap" and i.stop == T else i
                pd = tile_gradients(i, j, "dv")[0]
                stale = fault == "stale P" and j.stop == S and previous is not None and previous.shape == pd.shape
                dV[..., j, :] += (previous if stale else pd).mT @ dO[..., i, :]
                dK[..., j, :] += tile_gradients(i, j, "dk")[2].mT @ Q[..., i, :]
                previous = pd
        dQ = dQ * (1 if fault == "dQ unscaled" else scale)
        dK = dK * (scale * scale if fault == "dK scaled twice" else scale)
        if fault == "last head of a group":
            dK, dV = (x.view(B, H // G, G, S, -1)[:, :, -1] for x in (dK, dV))
        else:
            dK, dV = (x.view(B, H // G, G, S, -1).sum(2) for x in (dK, dV))
        if normed:
            q_part, k_part = (dQ * q_unit).mean(-1, keepdim=True), (dK * k_unit).mean(-1, keepdim=True)
            dQ = q_rms * (dQ - q_unit * (0 if fault == "norm's projection" else q_part))
            dK = k_rms * (dK - k_unit * k_part)
        if fault == "column stride":  # columns 16 to 24 are stored where the last 16 begin
            dV = torch.cat((dV[..., :E - 16], dV[..., 16:], torch.zeros_like(dV[..., E - 8:])), -1)
        if " times " in fault:
            factor = float(fault.split()[-1])
            dQ, dV = (dQ * factor, dV) if "dQ" in fault else (dQ, dV * factor)
        if fault == "a head's sign":
            dQ[:, 1] *= -1
        if fault == "heads exchanged":
            dK = torch.cat([dK[:, :1], dK[:, 1:].flip(1)], 1)
        if fault == "an element's sign":
            dQ[0, 1, 5, 3] *= -1
        return (dQ, dK, dV, dB)[:3 + bias]

    specs = (normal(B, H, T, D), normal(B, H // G, S, D), normal(B, H // G, S, E), *extras.values())
    batch = (0, 0, 0) + tuple({"bias": None}.get(extra, 0) for extra in extras)
    return Kernel("attention", name, reference, eager(reference) if inside is None else kernel, specs, batch, inside)
