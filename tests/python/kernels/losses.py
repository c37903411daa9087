"""Losses: the vocabulary in chunks with a running logsumexp, a product with its weight fused or not; KL divergence."""

import torch
import torch.nn.functional as F

from .case import Kernel, cases, eager, integers, normal, spans, through, wide


def cross_entropy(name, N=24, V=50, D=16, chunk=16, smoothing=0.0, z=0.0, ignored=0.2, cap=0.0, mean=True, linear=False,
                  inside="float32"):
    """linear: of x Wᵀ. z: the factor of the squared logsumexp. ignored: the part of targets that are -100."""
    def loss(s, targets):
        lse, valid = torch.logsumexp(s, -1), targets >= 0
        target = s.gather(-1, targets.clamp(min=0)[:, None]).squeeze(-1)
        each = lse - (1 - smoothing) * target
        each = each - smoothing * s.mean(-1) if smoothing else each
        each = (each + z * lse.square() if z else each) * valid
        return each.sum() / valid.sum() if mean else each

    def reference(x, *rest):
        s = x @ rest[0].mT if linear else x
        return loss(cap * torch.tanh(s / cap) if cap else s, rest[-1])

    def kernel(dy, x, *rest, fault=""):
        low, targets = lambda t: wide(t.to(x.dtype)), rest[-1]
        X, dY, W = wide(x), wide(dy), wide(rest[0]) if linear else None
        N, V = len(x), len(W) if linear else x.shape[1]

        def logits(columns):
            s, slope = (low(X @ W[columns].mT) if linear else X[:, columns]), 1
            if cap:
                slope = 1 if fault == "no cap" else 1 - torch.tanh(s / cap) ** 2
                s = cap * torch.tanh(s / cap)
            return s, slope

        m, total = X.new_full((N, 1), -torch.inf), X.new_zeros(N, 1)
        for columns in spans(V, chunk):
            s, _ = logits(columns)
            maximum = torch.maximum(m, s.amax(-1, keepdim=True))
            rescaling = 1 if fault == "no rescaling" else (m - maximum).exp()
            total, m = total * rescaling + (s - maximum).exp().sum(-1, keepdim=True), maximum
        lse = m + total.log()
        valid = torch.ones_like(lse) if fault == "ignored kept" else (targets >= 0)[:, None].to(X.dtype)
        weight = dY.expand(N)[:, None] * valid
        if mean and fault != "sum":
            weight = weight / (N if fault == "mean over all" else (targets >= 0).sum())
        if fault in ("dy of row 0", "dy taken as 1"):
            weight = (dY[0] if fault == "dy of row 0" else 1) * valid
        dX, dW = torch.zeros_like(X), torch.zeros_like(W) if linear else None
        for columns in spans(V, chunk, V // chunk * chunk if fault == "last chunk" else None):
            s, slope = logits(columns)
            z_slope = 0 if fault == "no z" else 2 * z * (1 if fault == "z unscaled" else lse)
            g = (s - lse).exp() * (1 + z_slope)
            g = g - (0 if fault == "no uniform part" else smoothing / V)
            local = targets[:, None] - (0 if fault == "targets of the first chunk" else columns.start)
            hit = (torch.arange(columns.stop - columns.start) == local).to(g.dtype)
            g = (g - hit * (1 if fault == "whole target" else 1 - smoothing)) * weight * slope
            if not linear:
                dX[:, columns] = g
                continue
            g = low(g)
            dX = g @ W[columns] if fault == "chunks overwrite" else dX + g @ W[columns]
            dW[columns] = through(torch.bfloat16, g).mT @ (X * valid.roll(1, 0) if fault == "shifted rows" else X)
            if fault != "bf16":
                dW[columns] = g.mT @ (X * valid.roll(1, 0) if fault == "shifted rows" else X)
        if fault == "last rows of dW":
            dW[V // chunk * chunk:] = 0
        return (dX, dW) if linear else (dX,)

    def choose(generator, dtype):
        targets = integers(V, N)(generator, dtype)
        targets = targets.masked_fill(torch.rand(N, generator=generator) < ignored, -100)
        return torch.cat((torch.tensor([V - 1, -100]), targets[2:]))

    specs = (normal(N, D), normal(V, D, scale=0.5), choose) if linear else (normal(N, V, scale=2), choose)
    batch = None if mean else (0, None, 0) if linear else (0, 0)
    return Kernel("loss", name, reference, eager(reference) if inside is None else kernel, specs, batch, inside)


def divergence(name, N=20, V=30, temperature=2.0):
    """The mean over rows of KL(teacher, student) at a temperature, of logits, times its square."""
    def reference(student, teacher):
        p, q = torch.log_softmax(teacher / temperature, -1), torch.log_softmax(student / temperature, -1)
        return (p.exp() * (p - q)).sum() / len(p) * temperature**2

    def kernel(dy, student, teacher, fault=""):
        p, q = (torch.log_softmax(wide(x) / temperature, -1) for x in (teacher, student))
        scale = wide(dy) / len(p) * (temperature**2 if fault == "temperature squared" else temperature)
        ratio = p - q
        dstudent = q.exp() * ratio if fault == "reverse" else q.exp() - p.exp()
        row = 0 if fault == "no mean" else (p.exp() * ratio).sum(-1, keepdim=True)
        return dstudent * scale, p.exp() * (ratio - row) * scale * (0 if fault == "constant teacher" else 1)

    return Kernel("loss", name, reference, kernel, (normal(N, V), normal(N, V)))


def soft_targets(name, N=20, V=30):
    """Cross entropy with weights that need not sum to 1, a loss for each row."""
    def reference(s, weights):
        return torch.logsumexp(s, -1) * weights.sum(-1) - (weights * s).sum(-1)

    def kernel(dy, s, weights, fault=""):
        S, P, dY = wide(s), wide(weights), wide(dy)[:, None]
        lse = S.logsumexp(-1, keepdim=True)
        return (((S - lse).exp() * (1 if fault == "sum taken as 1" else P.sum(-1, keepdim=True)) - P) * dY,
                (S if fault == "no logsumexp" else lse - S) * dY * (-1 if fault == "no logsumexp" else 1))

    return Kernel("loss", name, reference, kernel, (normal(N, V), normal(N, V, scale=0.1, mean=0.1)), (0, 0))


plain = cross_entropy("cross entropy")

CASES = [
    *cases(plain, "bhf",
           ("b", "ignored kept", "rows to be ignored have a gradient"),
           ("b", "mean over all", "the mean is over all rows, ignored or not", {"shipped": "ROCm TransformerEngine 336"}),
           ("h", "sum", "the mean's count is missing"),
           ("b", "last chunk", "the last partial chunk of columns is not written", {"box": (0, {1: (48, 50)})}),
           ("h", "targets of the first chunk", "each chunk has the first chunk's targets"),
           ("b", "no rescaling", "the running sum is not rescaled when the maximum grows")),
    *cases(cross_entropy("cross entropy of each row", mean=False), "bh",
           ("h", "dy taken as 1", "dy is taken as 1"),
           ("b", "dy of row 0", "every row has the first row's dy", {"shipped": "TransformerEngine e9a5fa4"})),
    *cases(cross_entropy("cross entropy, smoothed", smoothing=0.2), "bhf",
           ("h", "no uniform part", "label smoothing's uniform part is missing"),
           ("b", "whole target", "the target's share is 1, not 1 - smoothing")),
    *cases(cross_entropy("cross entropy, z-loss", z=0.01), "bf",
           ("b", "no z", "the z-loss has no gradient"),
           ("h", "z unscaled", "the z-loss's gradient lacks the logsumexp")),
    *cases(cross_entropy("cross entropy, softcap", cap=3.0), "bh", ("b", "no cap", "the softcap's derivative is missing")),
    *cases(cross_entropy("linear and cross entropy", linear=True), "bhf",
           ("b", "chunks overwrite", "dx is that of the last chunk", {"box": 0}),
           ("f", "bf16", "the logits' gradient is rounded to bf16 for dW", {"box": 1}),
           ("b", "last rows of dW", "dW's last partial chunk is not written", {"box": (1, {0: (48, 50)})}),
           ("h", "shifted rows", "dW leaves out the row after an ignored one", {"box": 1})),
    *cases(cross_entropy("linear and cross entropy of each row", linear=True, mean=False, smoothing=0.1), "bh",
           ("b", "dy of row 0", "every row has the first row's dy", {"shipped": "Liger-Kernel 1298"})),
    *cases(cross_entropy("cross entropy, eager, smoothed", smoothing=0.1, inside=None), "bf"),
    *cases(plain._replace(name="cross entropy, torch's", backward=eager(F.cross_entropy), inside=None), "bhf"),
    *cases(divergence("KL divergence"), "bh",
           ("b", "temperature squared", "the gradient lacks the division by the temperature"),
           ("h", "reverse", "the student's gradient is that of KL(student, teacher)", {"box": 0}),
           ("b", "no mean", "the teacher's gradient lacks the row's divergence", {"box": 1}),
           ("b", "constant teacher", "the teacher has no gradient", {"box": 1})),
    *cases(soft_targets("cross entropy, soft targets"), "bf",
           ("b", "sum taken as 1", "the targets' sum is taken as 1", {"box": 0}),
           ("h", "no logsumexp", "the targets' gradient lacks the logsumexp", {"box": 1})),
]
