"""Products: split along the sum, in batches, of low rank; reductions and softmax over rows."""

from functools import partial

import torch
import torch.nn.functional as F

from .case import Kernel, cases, eager, formula, normal, spans, sum_in_blocks, through, wide


def linear(name, N=40, K=24, M=20, block=16, divisor=1.0, scale=1.0, inside="float32"):
    """x Wᵀ / divisor + b. dW's sum over rows is split in blocks, whose partial sums a second kernel adds."""
    workspace = {}

    def reference(x, W, b):
        return x @ W.mT / divisor + b

    def kernel(dy, x, W, b, fault=""):
        dY, X = wide(dy), wide(x)
        covered = len(x) // block * block if fault == "last rows" else None
        partial_sums = [dY[span].mT @ X[span] for span in spans(len(x), block, covered)]
        if fault == "fp16 sums":
            total = torch.zeros_like(partial_sums[0])
            for part in partial_sums:
                total = through(torch.float16, total + part)
        elif fault == "last sum":
            total = partial_sums[-1]
        elif fault == "workspace":
            total = workspace.setdefault(dY.dtype, torch.zeros_like(partial_sums[0]))
            for part in partial_sums:
                total += part
            total = total.clone()
        else:
            total = sum(partial_sums, torch.zeros_like(wide(W)))
        if fault == "transposed":
            total = total.mT
        db = sum_in_blocks(dY, block, torch.bfloat16 if fault == "bf16 bias" else None)
        db = F.pad(dY.sum(1), (0, M))[:M] if fault == "columns of dy" else db
        dX = dY @ (wide(W).mT if fault == "W transposed" else wide(W)) / (1 if fault == "undivided" else divisor)
        if fault == "tile exchanged":
            dX = torch.cat([dX[:, :8], dX[:, 16:24], dX[:, 8:16]], 1)
        return dX, total / divisor, db

    specs = (normal(N, K, scale=scale), normal(M, K), normal(M))
    return Kernel("product", name, reference, eager(reference) if inside is None else kernel, specs, (0, None, None), inside)


def batched(name, B=3, T=18, K=16, M=10):
    def kernel(dy, a, b, fault=""):
        dY, a, b = wide(dy), wide(a), wide(b)
        right = b[:1].expand_as(b) if fault == "item stride" else b
        dA, dB = dY @ right.mT, a.mT @ dY
        if fault == "sum over items":
            dB = dB.sum(0).expand_as(dB)
        if fault == "last rows":
            dA[:, T // 8 * 8:] = 0
        if fault == "last channels":
            dA = dY[..., :8] @ right[..., :8].mT
        return dA, dB

    return Kernel("product", name, torch.matmul, kernel, (normal(B, T, K), normal(B, K, M)), (0, 0))


def largest(dy, x, shared=True):
    ties = x == x.amax(-2, keepdim=True)
    return ties * dy.unsqueeze(-2) / (ties.sum(-2, keepdim=True) if shared else 1)


def distances(x):
    first, second = torch.triu_indices(len(x), len(x), 1)
    return ((x[first] - x[second]).square().sum(-1) + 1e-5).sqrt()


def distances_backward(dy, x, eps=1e-5):
    first, second = torch.triu_indices(len(x), len(x), 1)
    part = dy[:, None] * (x[first] - x[second]) / ((x[first] - x[second]).square().sum(-1, keepdim=True) + eps).sqrt()
    return torch.zeros_like(x).index_add(0, first, part).index_add(0, second, -part)


def total(x):
    return x.sum(-1, keepdim=True)


def cumulated(dy, x, block=16, carried=True):
    """Sums from the end, block by block with a carry."""
    result, carry = torch.zeros_like(dy), 0
    for span in spans(dy.shape[-1], block)[::-1]:
        result[..., span] = dy[..., span].flip(-1).cumsum(-1).flip(-1) + carry
        carry = result[..., span.start:span.start + 1] if carried else 0
    return result


def variance_backward(dy, x, divisor=None, centred=True):
    return dy[:, None] * 2 * (x - x.mean(-1, keepdim=True) * centred) / (divisor or x.shape[-1])


def softmax_backward(dy, x, p=None):
    p = x.softmax(-1) if p is None else p
    return p * (dy - total(p * dy))


reduction = partial(formula, "reduction")
square = linear("linear, square", N=32, K=24, M=24, divisor=4.0)

CASES = [
    *cases(linear("linear"), "bhf",
           ("b", "workspace", "the workspace of dW is not cleared between calls", {"box": 1}),
           ("b", "last sum", "dW is the last block's", {"box": 1}),
           ("f", "tile exchanged", "two tiles of dx are exchanged", {"box": (0, {1: (8, 24)})})),
    *cases(linear("linear, 37 rows", N=37), "bhf",
           ("h", "last rows", "dW leaves out the last partial block of rows", {"box": 1})),
    *cases(square, "bh",
           ("b", "transposed", "dW is transposed", {"box": 1}),
           ("h", "W transposed", "dx multiplies the weight's transpose", {"box": 0}),
           ("b", "undivided", "dx lacks the divisor", {"box": 0})),
    *cases(linear("linear, 96 rows of size 1,300", N=96, divisor=96.0, scale=1300.0), "bh",
           ("b", "fp16 sums", "dW is summed in fp16, before the division", {"only_at": "all of one sign"})),
    *cases(linear("linear to as many columns as rows", N=20, M=20), "",
           ("b", "columns of dy", "the bias's gradient is summed over columns", {"box": 2})),
    *cases(linear("linear, 400 rows", N=400, K=16, M=16, block=400), "b",
           ("b", "bf16 bias", "the bias's gradient is summed in bf16", {"box": 2})),
    *cases(linear("linear, eager", inside=None), "bhf"),
    *cases(batched("batched product"), "bh",
           ("b", "item stride", "the first factor's gradient reads item 0's second factor", {"box": (0, {0: (1, 3)})}),
           ("h", "last rows", "the first factor's gradient lacks the last partial tile", {"box": (0, {1: (16, 18)})}),
           ("h", "sum over items", "the second factor's gradient is summed over the batch", {"box": 1}),
           ("b", "last channels", "the sum over columns stops at the last whole tile", {"box": 0})),
    *reduction("softmax", lambda x: torch.softmax(x, -1), softmax_backward, "bf",
               ("b", "the sum lacks p", lambda dy, x: x.softmax(-1) * (dy - total(dy))),
               ("h", "the sum is the mean", lambda dy, x: (p := x.softmax(-1)) * (dy - (p * dy).mean(-1, keepdim=True))),
               ("f", "p is kept in fp16", lambda dy, x: softmax_backward(dy, x, through(torch.float16, x.softmax(-1))))),
    *cases(Kernel("reduction", "softmax, torch's", lambda x: torch.softmax(x, -1), eager(lambda x: F.softmax(x, -1)),
                  (normal(24, 40),), (0,)), "bhf"),
    *reduction("log softmax", lambda x: x - torch.logsumexp(x, -1, keepdim=True), lambda dy, x: dy - x.softmax(-1) * total(dy),
               "bf", ("b", "dy's sum is taken as 1", lambda dy, x: dy - x.softmax(-1)),
               ("b", "exp without the maximum in fp16", lambda dy, x: dy - (
                   e := through(torch.float16, x.exp())) / total(e) * total(dy), {"only_at": "times 4"}), shape=(64, 64)),
    *reduction("logsumexp", lambda x: torch.logsumexp(x, -1), lambda dy, x: x.softmax(-1) * dy[:, None], "bf",
               ("b", "the sum lacks its first column", lambda dy, x: x.exp() / total(x[:, 1:].exp()) * dy[:, None])),
    *reduction("mean over rows", lambda x: x.mean(-2), lambda dy, x: dy.expand_as(x) / len(x), "bf",
               ("b", "the mean is divided by the columns", lambda dy, x: dy.expand_as(x) / x.shape[-1]), batch=None),
    *reduction("variance", lambda x: (x - x.mean(-1, keepdim=True)).square().mean(-1), variance_backward, "bf",
               ("b", "the mean is not taken off", partial(variance_backward, centred=False)),
               ("f", "the divisor is C - 1", partial(variance_backward, divisor=39))),
    *reduction("length", lambda x: (x.square().sum(-1) + 1e-6).sqrt(),
               lambda dy, x: dy[:, None] * x / (total(x * x) + 1e-6).sqrt(), "bf",
               ("h", "the square of the length divides", lambda dy, x: dy[:, None] * x / total(x * x)),
               ("b", "the squares overflow fp16", lambda dy, x: dy[:, None] * x / (
                   through(torch.float16, 256 * total(x * x)) / 256 + 1e-6).sqrt(), {"only_at": "times 4"})),
    *reduction("largest over rows", lambda x: x.amax(-2), largest, "bf",
               ("f", "each of equal largest ones has all of dy", partial(largest, shared=False), {"only_at": "repeated rows"}),
               batch=None),
    *reduction("distances of rows", distances, distances_backward, "bf",
               ("b", "eps is missing under the root", partial(distances_backward, eps=0), {"only_at": "repeated rows"}),
               shape=(12, 20), batch=None),
    *reduction("cumulative sum", lambda x: x.cumsum(-1), cumulated, "bf",
               ("b", "the sum runs from the start", lambda dy, x: dy.cumsum(-1)),
               ("h", "blocks do not carry their sum", partial(cumulated, carried=False), {"box": (0, {1: (0, 32)})}),
               ("f", "sums are kept in bf16", lambda dy, x: through(torch.bfloat16, cumulated(dy, x)))),
]
