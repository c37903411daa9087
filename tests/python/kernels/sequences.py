"""A causal depthwise convolution in tiles of time, and a gated linear recurrence in chunks."""

import torch
import torch.nn.functional as F

from .case import Kernel, cases, eager, normal, spans, through, wide


def convolution(name, B=2, C=6, T=29, K=4, tile=8, activated=True):
    def reference(x, w, b):
        padded = torch.cat((x.new_zeros(len(x), C, K - 1), x), -1)
        h = sum(padded[..., k:k + T] * w[:, k:k + 1] for k in range(K)) + b[:, None]
        return h * torch.sigmoid(h) if activated else h

    def kernel(dy, x, w, b, fault=""):
        X, W, dh = wide(x), wide(w), wide(dy)
        if fault == "early exit" and not dy[0].any():
            return torch.zeros_like(X), torch.zeros_like(W), torch.zeros_like(W[:, 0])
        shift = 1 if fault == "shifted" else 0
        padded = torch.cat((X.new_zeros(len(x), C, K - 1 + shift), X), -1)
        if activated:
            h = sum(padded[..., k:k + T] * W[:, k:k + 1] for k in range(K)) + (0 if fault == "no bias" else wide(b)[:, None])
            s = torch.sigmoid(h)
            dh = dh * (s if fault == "sigmoid" else s * (1 + h * (1 - s)))
        dX, dW = torch.zeros_like(X), torch.zeros_like(W)
        ahead = torch.cat((dh, dh.new_zeros(len(x), C, K - 1)), -1)
        for span in spans(T, tile, T // tile * tile if fault == "last tile" else None):
            for k in range(K):
                lag = K - 1 - k
                rows = ahead[..., span.start + lag:span.stop + lag].clone()
                if fault == "no halo":
                    rows[..., max(0, span.stop - span.start - lag):] = 0
                dX[..., span] += rows * W[:, K - 1 - k if fault == "taps" else k][:, None]
                dX[..., T // tile * tile:] *= 0 if fault == "last tile of dx" else 1
                products = padded[..., span.start + k:span.stop + k] * dh[..., span]
                dW[:, k] += products[-1].sum(-1) if fault == "last item" else products.sum((0, -1))
        return dX, dW, dh[..., 0 if fault == "bias of step 0" else slice(None)].reshape(len(x), C, -1).sum((0, -1))

    specs = (normal(B, C, T), normal(C, K, scale=0.5), normal(C))
    return Kernel("convolution", name, reference, kernel, specs, (0, None, None))


def recurrence(name, B=2, T=22, C=5, chunk=8, gated=True, inside="float32"):
    """h[t] = a[t] h[t - 1] + (1 - a[t]) x[t], a = exp(-softplus(r)); y = h sigmoid(g)."""
    def decay(r):
        return torch.sigmoid(-r)  # exp(-softplus(r))

    def reference(r, x, h0, *g):
        a, h, steps = decay(r), h0, []
        for t in range(T):
            h = a[:, t] * h + (1 - a[:, t]) * x[:, t]
            steps.append(h)
        h = torch.stack(steps, 1)
        return h * torch.sigmoid(g[0]) if gated else h

    def kernel(dy, r, x, h0, *g, fault=""):
        a, X, dH = decay(wide(r)), wide(x), wide(dy)
        h = [wide(h0)]
        for t in range(T):
            h.append(a[:, t] * h[-1] + (1 - a[:, t]) * X[:, t])
        h = torch.stack(h, 1)
        previous = h[:, 1:] if fault == "h of the same step" else h[:, :-1]
        if fault == "no first state":
            previous = torch.cat((torch.zeros_like(previous[:, :1]), previous[:, 1:]), 1)
        gradients = []
        if gated:
            s = torch.sigmoid(wide(g[0]))
            gradients.append(dH * h[:, 1:] * (s if fault == "gate's slope" else s * (1 - s)))
            dH = dH * s
        dh, carry = torch.zeros_like(dH), torch.zeros_like(h[:, 0])
        for span in spans(T, chunk)[::-1]:
            carry = torch.zeros_like(carry) if fault == "no carry" else carry
            for t in reversed(range(span.start, span.stop)):
                factor = 1 if t == T - 1 else a[:, t if fault == "decay of the same step" else t + 1]
                if fault == "item offset" and t + 1 == span.stop < T:
                    factor = factor[:1].expand_as(factor)
                dh[:, t] = carry = dH[:, t] + factor * carry
                carry = through(torch.bfloat16, carry) if fault == "carry in bf16" else carry
        da = dh * (previous if fault == "no input" else previous - X)
        dr = da * (a if fault == "softplus" else -a * (1 - a))
        dx = dh if fault == "whole input" else dh * (1 - a)
        dx[:, T // chunk * chunk:] *= 0 if fault == "last chunk" else 1
        dh0 = dh[:, 0] if fault == "state undecayed" else dh[:, 0] * a[:, 0]
        return dr, dx, dh0, *gradients

    specs = (normal(B, T, C), normal(B, T, C), normal(B, C)) + (normal(B, T, C),) * gated
    kernel = eager(reference) if inside is None else kernel
    return Kernel("recurrent", name, reference, kernel, specs, (0,) * len(specs), inside)


plain = convolution("causal convolution", activated=False, T=32)

CASES = [
    *cases(convolution("causal convolution, SiLU"), "bhf",
           ("b", "taps", "dx has the taps in the other order", {"box": 0}),
           ("h", "last tile", "dx and dw leave out the last partial tile"),
           ("b", "last tile of dx", "dx's last partial tile is not written", {"box": (0, {2: (24, 29)})}),
           ("b", "early exit", "all is 0 if the first item's dy is 0", {"only_at": "dy in the last item alone"}),
           ("b", "no halo", "dx lacks what comes from the next tile", {"box": (0, {2: (5, 24)})}),
           ("b", "sigmoid", "the SiLU's slope is the sigmoid"),
           ("f", "no bias", "the recomputed convolution lacks the bias")),
    *cases(plain, "bf",
           ("b", "shifted", "dw reads x one step late", {"box": 1}),
           ("h", "last item", "dw is not summed over the batch", {"box": 1}),
           ("b", "bias of step 0", "the bias's gradient is that of the first step", {"box": 2})),
    *cases(plain._replace(name="causal convolution, torch's", backward=eager(
        lambda x, w, b: F.conv1d(F.pad(x, (3, 0)), w[:, None], b, groups=6))), "bhf"),
    *cases(recurrence("gated recurrence"), "bhf",
           ("h", "carry in bf16", "the carry is kept in bf16"),
           ("b", "no carry", "chunks do not pass on their gradient"),
           ("b", "item offset", "a chunk's last decay is read from item 0", {"shipped": "flash-linear-attention 1115"}),
           ("h", "decay of the same step", "the gradient decays by a[t], not by a[t + 1]"),
           ("b", "h of the same step", "the decay's gradient multiplies h[t], not h[t - 1]", {"box": 0}),
           ("h", "gate's slope", "the gate's slope is the sigmoid", {"box": 3}),
           ("b", "no input", "the decay's gradient leaves out the input", {"box": 0}),
           ("h", "no first state", "the decay's first gradient takes the first state as 0", {"box": (0, {1: (0, 1)})}),
           ("b", "last chunk", "dx's last partial chunk is not written", {"box": (1, {1: (16, 22)})}),
           ("b", "state undecayed", "the first state's gradient is not decayed", {"box": 2})),
    *cases(recurrence("recurrence", gated=False, T=40), "bf",
           ("b", "softplus", "the decay's gradient is taken as that of exp(r)", {"box": 0}),
           ("f", "whole input", "the input's gradient lacks 1 - a", {"box": 1}),
           ("f", "carry in bf16", "the carry is kept in bf16")),
    *cases(recurrence("recurrence, eager", inside=None, gated=False, T=12), "bh"),
]
