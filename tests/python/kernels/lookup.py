"""Embeddings with repeated indices; mixtures of experts, whose tokens are sorted by expert."""

import torch
import torch.nn.functional as F

from .case import Kernel, cases, eager, integers, normal, spans, through, wide


def embedding(name, V=12, D=16, B=2, T=25, scale=1.0, padding=None, block=16):
    calls = []

    def reference(table, index):
        rows = table[index] * scale
        return rows if padding is None else rows * (index != padding)[..., None]

    def kernel(dy, table, index, fault=""):
        calls.append(1)
        dY, index = wide(dy).flatten(0, 1) * (1 if fault == "unscaled" else scale), index.flatten()
        if padding is not None and fault != "padding":
            dY = dY * (index != padding)[:, None]
        lost = fault == "lost adds" or fault == "race" and len(calls) % 2
        dtable = torch.zeros_like(wide(table))
        for span in spans(len(index), block, len(index) // block * block if fault == "last block" else None):
            rows = index[span] + (fault == "next row") * (index[span] < V - 1)
            if fault == "bf16":
                for row, place in zip(dY[span], rows):
                    dtable[place] = through(torch.bfloat16, dtable[place] + row)
            elif lost:
                dtable[rows] = dtable[rows] + dY[span]
            else:
                dtable.index_add_(0, rows, dY[span])
        return (dtable / index.bincount(minlength=V).clamp(min=1)[:, None] if fault == "mean of repeats" else dtable,)

    return Kernel("embedding", name, reference, kernel, (normal(V, D), integers(V, B, T)), (None, 0))


def experts(name, N=30, D=12, H=10, E=5, k=2, normalized=True, activated=True):
    """y = sum over the k experts of a token of gate * silu(x W). The choice of experts is an input."""
    def choose(generator, dtype):
        return torch.rand(N, E, generator=generator).argsort(-1)[:, :k]

    def reference(x, logits, W, index):
        gates = torch.softmax(logits, -1).gather(-1, index)
        gates = gates / gates.sum(-1, keepdim=True) if normalized else gates
        h = torch.einsum("nd,nkdh->nkh", x, W[index])
        return ((h * torch.sigmoid(h) if activated else h) * gates[..., None]).sum(1)

    def kernel(dy, x, logits, W, index, fault=""):
        low, N = lambda t: wide(t.to(x.dtype)), len(x)
        X, dY, P = wide(x), wide(dy), torch.softmax(wide(logits), -1)
        chosen = P.gather(-1, index)
        total = chosen.sum(-1, keepdim=True) if normalized else 1
        gates = (chosen / total).flatten()
        order = index.flatten().argsort(stable=True)
        tokens = order // k if fault != "slots by columns" else order % N
        dX, dW, dgates = torch.zeros_like(X), torch.zeros_like(wide(W)), torch.zeros_like(gates)
        begin = 0
        for expert, count in enumerate(index.flatten().bincount(minlength=E)):
            places, rows = order[begin:begin + count], tokens[begin:begin + count]
            begin += count
            if fault == "capacity":
                places, rows = places[:8], rows[:8]
            if fault == "last expert" and expert == E - 1:
                continue
            h = low(X[rows] @ wide(W[expert]))
            s = torch.sigmoid(h)
            g = dY[rows]
            dgates[places] = (g * (h * s if activated and fault != "gate before silu" else h)).sum(-1)
            dh = g * (1 if fault == "no gate" else gates[places][:, None])
            dh = dh * gates[places][:, None] if fault == "gate twice" else dh
            dh = low(dh * (s * (1 + h * (1 - s)) if activated else 1))
            dW[expert] = X[rows].mT @ dh
            dW[expert] *= 0 if fault == "no dW of expert 3" and expert == 3 else 1
            if fault == "lost adds":
                dX[rows] = dh @ wide(W[expert]).mT
            else:
                dX.index_add_(0, rows, dh @ wide(W[expert]).mT)
        dgates = dgates.view(N, k)
        if normalized:
            part = 0 if fault == "normalisation" else (dgates * chosen / total).sum(-1, keepdim=True)
            dgates = (dgates - part) / total
        dP = torch.zeros_like(P).scatter(-1, index, dgates)
        dlogits = P * (dP - (0 if fault == "softmax" else (P * dP).sum(-1, keepdim=True)))
        return dX, dlogits * (0 if fault == "no router" else 1), dW

    specs = (normal(N, D), normal(N, E), normal(E, D, H, scale=0.3), choose)
    return Kernel("experts", name, reference, kernel, specs, (0, 0, None, 0))


two = experts("two experts of five")
eager_two = two._replace(name="two experts, eager", backward=eager(two.reference), inside=None)
pytorch = Kernel("embedding", "embedding, torch's", lambda w, i: w[i], eager(lambda w, i: F.embedding(i, w)),
                 (normal(4, 16), integers(4, 2, 200)), (None, 0))

CASES = [
    *cases(embedding("embedding", scale=4.0), "bhf",
           ("b", "lost adds", "of repeated indices in a block the last stays"),
           ("b", "race", "every second call loses repeated indices"),
           ("h", "last block", "the last partial block of indices is left out"),
           ("b", "unscaled", "the scale is missing"),
           ("f", "mean of repeats", "repeated rows are averaged, not summed"),
           ("h", "next row", "gradients are added to the next row")),
    *cases(embedding("embedding with padding", padding=0), "bh",
           ("b", "padding", "the padding's row has a gradient", {"box": (0, {0: (0, 1)})})),
    *cases(embedding("embedding of 4 rows, 400 times", V=4, T=200, block=64), "bhf",
           ("b", "bf16", "repeated rows are summed in bf16")),
    *cases(embedding("embedding of 3 rows, 50 times", V=3), "", ("b", "bf16", "repeated rows are summed in bf16")),
    *cases(pytorch, "f"),
    *cases(two, "bhf",
           ("b", "no router", "the router has no gradient", {"box": 1}),
           ("b", "normalisation", "the gates' normalisation is taken as constant", {"box": 1}),
           ("h", "slots by columns", "a slot's token is the slot modulo the tokens"),
           ("b", "lost adds", "dx of a token is that of its last expert", {"box": 0}),
           ("h", "no gate", "dx and dW lack the gate"),
           ("b", "gate twice", "dx and dW have the gate squared"),
           ("b", "no dW of expert 3", "one expert's weight has no gradient", {"box": (2, {0: (3, 4)})}),
           ("f", "gate before silu", "the gate's gradient multiplies what goes into the silu", {"box": 1}),
           ("b", "capacity", "tokens beyond an expert's first eight have no gradient")),
    *cases(experts("one expert of five", k=1, normalized=False), "bh", ("b", "last expert", "the last expert is left out")),
    *cases(experts("two experts, softmax over all", normalized=False), "bf",
           ("h", "softmax", "the router's softmax has its diagonal alone", {"box": 1})),
    *cases(experts("three linear experts, normalised", k=3, activated=False), "bh"),
    *cases(eager_two, "f"),
]
# PyTorch sums the gradients of repeated indices in the dtype, on the CPU.
PYTORCH = [*cases(pytorch, "bh"), *cases(eager_two, "bh")]
