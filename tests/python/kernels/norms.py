"""Layer, RMS and group norm: rows in blocks, and the gradients of weights in partial sums of the blocks."""

import torch
import torch.nn.functional as F

from .case import Kernel, cases, eager, normal, spans, sum_in_blocks, through, wide


def layer_norm(name, N=40, C=48, block=8, eps=1e-5, centred=True, recomputed=False, one_pass=False, weighted=True, offset=0.0,
               scale=1.0, mean=0.0, residual=False, inside="float32"):
    """centred: layer norm, else RMS norm. offset: what is added to the weight. residual: the input is a sum of two."""
    def reference(x, *rest):
        rest = list(rest)
        x = x + rest.pop(0) if residual else x
        x = x - x.mean(-1, keepdim=True) if centred else x
        y = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)
        if weighted:
            y = y * (rest[0] + offset)
            y = y + rest[1] if centred else y
        return y

    def kernel(dy, x, *rest, fault=""):
        low, N = lambda t: wide(t.to(x.dtype)), len(x)
        rest = [wide(t) for t in rest]
        X, dY = wide(x), wide(dy)
        X = X + rest.pop(0) if residual else X
        gamma = rest[0] + (0 if fault == "no offset" else offset) if weighted else torch.ones_like(X[0])
        mean = X.mean(-1, keepdim=True) if centred else torch.zeros_like(X[:, :1])
        if fault == "mean in fp16":
            mean = through(torch.float16, X.to(torch.float16).sum(-1, keepdim=True, dtype=X.dtype)) / C
        if one_pass:
            square = X.square().mean(-1, keepdim=True)
            variance = square - mean.square()
            if fault == "one pass in bf16":
                variance = through(torch.bfloat16, square) - through(torch.bfloat16, mean.square())
                variance = variance.clamp(min=0)
        else:
            variance = (X - mean).square().mean(-1, keepdim=True)
        if fault == "squares in fp16":
            variance = through(torch.float16, (X - mean).square().sum(-1, keepdim=True)) / C
        if fault == "mean square in fp16":
            variance = through(torch.float16, variance)
        if fault == "unbiased":
            variance = variance * C / (C - 1)
        rstd = torch.rsqrt(variance + (0 if fault == "no eps" else eps))
        if fault == "rstd of the first row of a block":
            rstd = torch.cat([rstd[span][:1].expand_as(rstd[span]) for span in spans(N, block)])
        if fault == "rstd in bf16":
            rstd = through(torch.bfloat16, rstd)
        dX, products = torch.zeros_like(X), torch.zeros_like(X)
        columns = slice(0, 32 if fault == "columns of one block" else C)
        for span in spans(N, block, N - N % block if fault == "last rows" else None):
            if fault == "first row of dy" and not dY[span.start].any():
                continue
            h = (X[span] - mean[span]) * rstd[span]
            if recomputed:  # from the rounded output: h = (y - beta) / gamma, where gamma keeps away from 0
                y = low(h * gamma + (rest[1] if centred else 0))
                h = (y - (rest[1] if centred else 0)) / gamma
                h = h + rest[1] / gamma if fault == "beta kept" else h
            g = dY[span] * (1 if fault == "gamma in dx" else gamma)
            part, mean_part = (g * h).mean(-1, keepdim=True), g.mean(-1, keepdim=True)
            if fault == "part by columns":
                part = part.mT.repeat(len(part), C // len(part) + 1)[:, :C]
            if fault == "sum over the block":
                part, mean_part = part.sum().expand_as(part), mean_part.sum().expand_as(mean_part)
            if fault == "sums, not means":
                part = part * C
            mean_part = mean_part if centred and fault != "no mean" else 0
            part = 0 if fault == "no projection" else part
            power = {"rstd squared": 2, "rstd cubed": 3}.get(fault, 1)
            dX[span, columns] = ((g - mean_part - h * part) * rstd[span] ** power)[:, columns]
            products[span] = dY[span] * (X[span] if fault == "x for h" else h)
        covered = N // block * block if fault == "weights' last rows" else None
        dtype = torch.bfloat16 if fault == "dgamma in bf16" else None
        if fault == "rows for columns":
            dgamma = F.pad(products.sum(1), (0, C))[:C]
        else:
            dgamma = sum_in_blocks(products, N if dtype else block, dtype, covered)
        dbeta = sum_in_blocks(dY, block, None, N // block * block if fault == "bias's last rows" else covered)
        dbeta = dbeta / N if fault == "mean of dbeta" else dbeta
        dX[N - N % block:] *= 0 if fault == "last rows of dx" else 1
        dgamma[4:8] *= 2 if fault == "a vector twice" else 1
        gradients = [dX] + ([dX * rstd if fault == "residual scaled" else dX] if residual else [])
        return gradients + ([dgamma] if weighted else []) + ([dbeta] if weighted and centred else [])

    weights = (normal(C, mean=1, scale=0.1), normal(C, scale=0.1)) if recomputed else (normal(C, mean=1 - offset), normal(C))
    specs = (normal(N, C, scale=scale, mean=mean),) * (1 + residual) + weights[:weighted * (1 + centred)]
    batch = (0,) * (1 + residual) + (None,) * (len(specs) - 1 - residual)
    return Kernel("norm", name, reference, eager(reference) if inside is None else kernel, specs, batch, inside)


def group_norm(name, B=2, C=12, T=14, groups=3, eps=1e-5, instead=None):
    def reference(x, gamma, beta):
        B = len(x)
        rows = x.reshape(B, groups, -1)
        rows = rows - rows.mean(-1, keepdim=True)
        h = (rows * torch.rsqrt(rows.square().mean(-1, keepdim=True) + eps)).reshape(B, C, T)
        return h * gamma[:, None] + beta[:, None]

    def kernel(dy, x, gamma, beta, fault=""):
        X, dY, weight, B = wide(x), wide(dy), wide(gamma), len(x)
        rows = X.reshape(B, groups, -1)
        var, mean = torch.var_mean(rows, -1, correction=0, keepdim=True)
        rstd = torch.rsqrt(var + eps)
        h = (rows - mean) * rstd
        spread = weight.view(groups, -1).mT.reshape(-1) if fault == "channels by groups" else weight
        g = (dY * spread[:, None]).reshape(B, groups, -1)
        part, mean_part = (g * h).mean(-1, keepdim=True), g.mean(-1, keepdim=True)
        if fault == "sums of a channel":
            inner = (g * h).view(B, groups, C // groups, T).mean(-1, keepdim=True)
            part = inner.expand(B, groups, C // groups, T).reshape(B, groups, -1)
        if fault == "statistics of item 0":
            mean, rstd = mean[:1].expand_as(mean), rstd[:1].expand_as(rstd)
        dX = ((g - mean_part - h * part) * rstd).reshape(B, C, T)
        products = dY * h.reshape(B, C, T)
        return dX, products[-1].sum(-1) if fault == "last item" else products.sum((0, 2)), dY.sum((0, 2))

    specs = (normal(B, C, T), normal(C, mean=1), normal(C))
    return Kernel("norm", name, reference, eager(instead) if instead else kernel, specs, (0, None, None))


layer, rms = layer_norm("layer norm"), layer_norm("RMS norm", centred=False)
pytorch = layer._replace(name="layer norm, torch's", backward=eager(lambda x, g, b: F.layer_norm(x, (48,), g, b)))

CASES = [
    *cases(layer, "bhf",
           ("b", "no mean", "dx keeps the mean of dy", {"box": 0}),
           ("h", "no projection", "dx lacks the part along the row", {"box": 0}),
           ("b", "gamma in dx", "dx lacks the weight", {"box": 0}),
           ("f", "unbiased", "the variance is divided by C - 1"),
           ("b", "rstd squared", "dx has rstd squared", {"box": 0}),
           ("h", "sums, not means", "dx has a sum for a mean", {"box": 0}),
           ("b", "sum over the block", "dx's sums are over a block, not over a row", {"shipped": "FlagGems 59", "box": 0}),
           ("b", "columns of one block", "dx ends at column 32", {"box": (0, {1: (32, 48)})}),
           ("b", "rstd of the first row of a block", "rstd is that of the first row of a block"),
           ("f", "rstd in bf16", "rstd is kept in bf16"),
           ("b", "x for h", "the weight's gradient multiplies x, not the normalised x", {"box": 1}),
           ("h", "mean of dbeta", "the bias's gradient is a mean over rows", {"box": 2}),
           ("f", "a vector twice", "four elements of the weight's gradient count twice", {"box": (1, {0: (4, 8)})})),
    *cases(layer_norm("layer norm, 37 rows", N=37), "bhf",
           ("b", "unbiased", "the variance is divided by C - 1"),
           ("b", "dgamma in bf16", "the weight's gradient is summed in bf16", {"box": 1}),
           ("b", "last rows of dx", "dx's last partial block is not written", {"box": (0, {0: (32, 37)})}),
           ("b", "first row of dy", "blocks whose first row of dy is 0 are skipped", {"only_at": "dy in the last row alone"}),
           ("h", "last rows", "dx's last rows are not written and missing in the weight's gradient"),
           ("b", "weights' last rows", "the weights' gradients lose the last partial block", {"shipped": "attorch 18"}),
           ("b", "bias's last rows", "the bias's gradient loses the last partial block", {"box": 2})),
    *cases(rms, "bhf",
           ("b", "rstd cubed", "dx has rstd cubed", {"box": 0}),
           ("h", "rstd in bf16", "rstd is kept in bf16"),
           ("h", "part by columns", "dx's row sums are spread over columns", {"shipped": "attorch 17", "box": 0})),
    *cases(layer_norm("layer norm without weights", weighted=False), "bf"),
    *cases(layer_norm("layer norm, variance in one pass", one_pass=True), "bf"),
    *cases(layer_norm("layer norm, variance in one pass, mean 8", one_pass=True, mean=8.0), "",
           ("b", "one pass in bf16", "the variance is a difference of squares in bf16")),
    *cases(layer_norm("layer norm from its output", recomputed=True), "bh",
           ("b", "beta kept", "the bias is not taken off before h is recomputed")),
    *cases(layer_norm("RMS norm, 1 + weight", centred=False, offset=1.0), "bf",
           ("b", "no offset", "dx has the weight, not 1 + weight", {"box": 0})),
    *cases(layer_norm("layer norm, 300 rows", N=300, C=24, block=64), "bf",
           ("b", "dgamma in bf16", "the weight's gradient is summed in bf16", {"box": 1})),
    *cases(layer_norm("RMS norm of a sum", centred=False, residual=True), "bf",
           ("h", "residual scaled", "the second term's gradient is scaled by rstd", {"box": 1})),
    *cases(layer_norm("layer norm of a square", N=32, C=32), "",
           ("b", "rows for columns", "the weight's gradient is summed over columns", {"box": 1})),
    *cases(layer_norm("RMS norm, eps 1e-3", centred=False, eps=1e-3), "",
           ("b", "no eps", "eps is missing", {"only_at": "times 1/16"})),
    *cases(layer_norm("RMS norm, rows of size 16", centred=False, scale=16.0), "",
           ("b", "squares in fp16", "the squares are summed in fp16", {"only_at": "times 4"})),
    *cases(layer_norm("RMS norm, rows of size 1/200", centred=False, scale=0.005, eps=1e-12), "",
           ("b", "mean square in fp16", "the mean of squares is kept in fp16", {"only_at": "times 1/16"})),
    *cases(layer_norm("layer norm, rows of size 2,000", scale=2000.0), "",
           ("b", "mean in fp16", "the mean is summed in fp16", {"only_at": "all of one sign"})),
    *cases(layer_norm("layer norm, eager", inside=None), "bhf"),
    *cases(layer_norm("RMS norm, eager", inside=None, centred=False), "bh"),
    *cases(pytorch, "f"),
    *cases(rms._replace(name="RMS norm, torch's", backward=eager(lambda x, g: F.rms_norm(x, (48,), g, 1e-5)), inside=None),
           "bhf"),
    *cases(group_norm("group norm"), "bhf",
           ("b", "channels by groups", "dx reads the weights of channels as if groups were interleaved", {"box": 0}),
           ("h", "sums of a channel", "dx's row sum is over a channel, not over a group", {"box": 0}),
           ("b", "statistics of item 0", "dx of the second item has the first item's rstd", {"box": (0, {0: (1, 2)})}),
           ("b", "last item", "the weight's gradient is not summed over the batch", {"box": 1})),
    *cases(group_norm("group norm, torch's", instead=lambda x, g, b: F.group_norm(x, 3, g, b)), "bhf"),
]
# PyTorch sums the gradients of the weight and the bias in the dtype, on the CPU.
PYTORCH = cases(pytorch, "bh")
