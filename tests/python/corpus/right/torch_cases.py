"""Right backwards of torch: functions, losses and modules, whose gradients are torch's own."""

import torch
import torch.nn.functional as F
from torch import nn

UNARY = """abs acos acosh+ asin asinh atan atanh cos cosh digamma+ erf erfc erfinv exp exp2 expm1 lgamma+ log+ log10+
log1p log2+ neg reciprocal+ rsqrt+ sigmoid sin sinc sinh sqrt+ square tan tanh positive logit~ i0 special.i0e special.i1
special.i1e special.erfcx special.ndtr special.log_ndtr special.entr+ celu elu gelu hardshrink hardsigmoid
hardswish hardtanh leaky_relu logsigmoid mish relu relu6 selu silu softplus softshrink softsign tanhshrink""".split()

AXIS = {
    "softmax": lambda x, d: F.softmax(x, d),
    "log_softmax": lambda x, d: F.log_softmax(x, d),
    "softmin": lambda x, d: F.softmin(x, d),
    "logsumexp": lambda x, d: torch.logsumexp(x, d),
    "sum": lambda x, d: x.sum(d),
    "mean": lambda x, d: x.mean(d),
    "var": lambda x, d: x.var(d),
    "std": lambda x, d: x.std(d, unbiased=False),
    "amax": lambda x, d: x.amax(d),
    "median": lambda x, d: x.median(d).values,
    "norm": lambda x, d: x.norm(dim=d),
    "norm of order 3": lambda x, d: x.norm(p=3, dim=d),
    "normalize": lambda x, d: F.normalize(x, dim=d),
    "cumsum": lambda x, d: x.cumsum(d),
    "cumprod": lambda x, d: x.cumprod(d),
    "logcumsumexp": lambda x, d: x.logcumsumexp(d),
    "prod": lambda x, d: x.prod(d),
    "sort": lambda x, d: x.sort(d).values,
    "topk": lambda x, d: x.topk(2, d).values,
    "flip": lambda x, d: x.flip(d),
    "roll": lambda x, d: x.roll(1, d),
    "diff": lambda x, d: x.diff(dim=d),
    "glu": lambda x, d: F.glu(torch.cat([x, x * x], d), d),
    "unbind": lambda x, d: x.unbind(d),
    "renorm": lambda x, d: x.renorm(2, d, 1.0),
    "cross with itself rolled": lambda x, d: torch.cat([x, x], d).narrow(d, 1, 2),
}

LOSSES = ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "poisson_nll_loss", "binary_cross_entropy_with_logits",
          "cosine_similarity", "pairwise_distance", "multilabel_soft_margin_loss"]

MODULES = {
    "Linear": (lambda: nn.Linear(3, 2), (4, 3)),
    "Linear without bias": (lambda: nn.Linear(3, 2, bias=False), (2, 2, 3)),
    "Bilinear": (lambda: nn.Bilinear(2, 3, 2), (3, 2), (3, 3)),
    "Conv1d": (lambda: nn.Conv1d(2, 3, 3), (2, 2, 5)),
    "Conv1d, stride and padding": (lambda: nn.Conv1d(2, 2, 3, stride=2, padding=1), (1, 2, 6)),
    "Conv2d": (lambda: nn.Conv2d(2, 2, 3, padding=1), (1, 2, 4, 3)),
    "Conv2d, dilation": (lambda: nn.Conv2d(1, 2, 2, dilation=2), (1, 1, 4, 4)),
    "Conv2d, groups": (lambda: nn.Conv2d(4, 4, 2, groups=2), (1, 4, 3, 3)),
    "Conv2d, reflect": (lambda: nn.Conv2d(1, 1, 3, padding=1, padding_mode="reflect"), (1, 1, 3, 3)),
    "Conv3d": (lambda: nn.Conv3d(1, 2, 2), (1, 1, 3, 2, 2)),
    "ConvTranspose1d": (lambda: nn.ConvTranspose1d(2, 2, 3, stride=2), (1, 2, 3)),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(2, 1, 2), (1, 2, 3, 3)),
    "LayerNorm": (lambda: nn.LayerNorm(4), (3, 4)),
    "LayerNorm of two axes": (lambda: nn.LayerNorm((2, 3)), (2, 2, 3)),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), (2, 4, 3)),
    "RMSNorm": (lambda: nn.RMSNorm(4), (3, 4)),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(3), (5, 3)),
    "BatchNorm1d in evaluation": (lambda: nn.BatchNorm1d(3).eval(), (5, 3)),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(2), (2, 2, 2, 3)),
    "InstanceNorm1d": (lambda: nn.InstanceNorm1d(2, affine=True), (2, 2, 4)),
    "LocalResponseNorm": (lambda: nn.LocalResponseNorm(2), (1, 4, 3)),
    "MaxPool1d": (lambda: nn.MaxPool1d(2), (1, 2, 6)),
    "MaxPool2d": (lambda: nn.MaxPool2d(2, padding=1), (1, 2, 4, 4)),
    "AvgPool2d": (lambda: nn.AvgPool2d(2, stride=1), (1, 2, 3, 4)),
    "AdaptiveAvgPool2d": (lambda: nn.AdaptiveAvgPool2d(2), (1, 2, 3, 5)),
    "AdaptiveMaxPool1d": (lambda: nn.AdaptiveMaxPool1d(2), (1, 2, 5)),
    "LPPool1d": (lambda: nn.LPPool1d(2, 2), (1, 2, 4)),
    "Upsample": (lambda: nn.Upsample(scale_factor=2), (1, 1, 2, 3)),
    "Upsample, bilinear": (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), (1, 1, 2, 3)),
    "PixelShuffle": (lambda: nn.PixelShuffle(2), (1, 4, 2, 2)),
    "Fold": (lambda: nn.Fold((3, 3), 2), (1, 4, 4)),
    "Unfold": (lambda: nn.Unfold(2), (1, 2, 3, 3)),
    "ZeroPad2d": (lambda: nn.ZeroPad2d(1), (1, 1, 2, 3)),
    "ReplicationPad1d": (lambda: nn.ReplicationPad1d(2), (1, 2, 3)),
    "PReLU": (lambda: nn.PReLU(3), (2, 3)),
    "RNN": (lambda: nn.RNN(2, 3), (3, 1, 2)),
    "LSTM": (lambda: nn.LSTM(2, 2), (3, 1, 2)),
    "LSTM, two layers, both ways": (lambda: nn.LSTM(2, 2, 2, bidirectional=True), (2, 1, 2)),
    "GRU": (lambda: nn.GRU(2, 3), (3, 1, 2)),
    "LSTMCell": (lambda: nn.LSTMCell(2, 3), (2, 2)),
    "GRUCell": (lambda: nn.GRUCell(2, 3), (2, 2)),
    "MultiheadAttention": (lambda: nn.MultiheadAttention(4, 2), (3, 1, 4), (3, 1, 4), (3, 1, 4)),
    "TransformerEncoderLayer": (lambda: nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0), (3, 1, 4)),
    "TransformerEncoderLayer, evaluation": (lambda: nn.TransformerEncoderLayer(4, 2, 6, batch_first=True).eval(), (1, 3, 4)),
    "TransformerDecoderLayer": (lambda: nn.TransformerDecoderLayer(4, 1, 5, dropout=0.0), (2, 1, 4), (3, 1, 4)),
    "Dropout": (lambda: nn.Dropout(0.4), (4, 5)),
    "AlphaDropout": (lambda: nn.AlphaDropout(0.3), (4, 5)),
    "CosineSimilarity": (lambda: nn.CosineSimilarity(), (3, 4), (3, 4)),
    "Sequential": (lambda: nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.LayerNorm(4), nn.Linear(4, 2)), (3, 3)),
}

OTHERS = {
    "matmul": (torch.matmul, (2, 3), (3, 4)),
    "bmm": (torch.bmm, (2, 2, 3), (2, 3, 2)),
    "baddbmm": (torch.baddbmm, (2, 2, 2), (2, 2, 3), (2, 3, 2)),
    "addmm": (torch.addmm, (2,), (3, 2), (2, 2)),
    "einsum": (lambda a, b: torch.einsum("bhtd,bhsd->bhts", a, b), (1, 2, 3, 2), (1, 2, 2, 2)),
    "outer": (torch.outer, (3,), (4,)),
    "kron": (torch.kron, (2, 2), (2, 3)),
    "cdist": (torch.cdist, (3, 2), (4, 2)),
    "linalg.inv": (lambda x: torch.linalg.inv(x + 4 * torch.eye(3, dtype=x.dtype)), (3, 3)),
    "linalg.solve": (lambda a, b: torch.linalg.solve(a + 4 * torch.eye(3, dtype=a.dtype), b), (3, 3), (3, 2)),
    "linalg.det": (torch.linalg.det, (3, 3)),
    "linalg.slogdet": (torch.linalg.slogdet, (3, 3)),
    "linalg.cholesky": (lambda x: torch.linalg.cholesky(x @ x.T + torch.eye(3, dtype=x.dtype)), (3, 3)),
    "linalg.matrix_exp": (lambda x: torch.linalg.matrix_exp(x / 4), (3, 3)),
    "linalg.svdvals": (torch.linalg.svdvals, (3, 2)),
    "linalg.eigvalsh": (lambda x: torch.linalg.eigvalsh(x + x.T), (3, 3)),
    "linalg.pinv": (torch.linalg.pinv, (3, 2)),
    "trace": (torch.trace, (3, 3)),
    "tril": (torch.tril, (3, 4)),
    "diag": (torch.diag, (4,)),
    "where": (lambda a, b: torch.where(a > b, a * b, a - b), (3, 4), (3, 4)),
    "lerp": (torch.lerp, (3,), (3,), (3,)),
    "addcmul": (torch.addcmul, (3,), (3,), (2, 3)),
    "atan2": (torch.atan2, (3, 4), (3, 4)),
    "masked_fill": (lambda x: x.masked_fill(x > 0.3, 7.0), (3, 4)),
    "index_select": (lambda x: x.index_select(0, torch.tensor([2, 0, 2])), (3, 2)),
    "gather": (lambda x: x.gather(1, torch.tensor([[0, 0], [2, 1]])), (2, 3)),
    "scatter_add": (lambda x, s: x.scatter_add(0, torch.tensor([0, 2, 0]), s), (4,), (3,)),
    "embedding": (lambda w: F.embedding(torch.tensor([[1, 0], [1, 3]]), w), (4, 2)),
    "pad": (lambda x: F.pad(x, (1, 2), mode="circular"), (1, 1, 4)),
    "stack": (lambda a, b: torch.stack([a, b], 1), (3,), (3,)),
    "meshgrid": (lambda a, b: torch.meshgrid(a, b, indexing="ij"), (2,), (3,)),
    "grid_sample": (lambda x, g: F.grid_sample(x, g.tanh() * 0.9, align_corners=True), (1, 1, 3, 3), (1, 2, 2, 2)),
    "interpolate": (lambda x: F.interpolate(x, size=5, mode="linear"), (1, 2, 3)),
    "attention": (F.scaled_dot_product_attention, (1, 2, 3, 2), (1, 2, 3, 2), (1, 2, 3, 2)),
    "causal attention": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), (1, 1, 3, 2), (1, 1, 3, 2), (1, 1, 3, 2)),
    "cross_entropy": (lambda x: F.cross_entropy(x, torch.tensor([0, 2, 1])), (3, 4)),
    "cross_entropy, smoothed": (lambda x: F.cross_entropy(x, torch.tensor([0, 2, 1]), label_smoothing=0.1), (3, 4)),
    "nll_loss": (lambda x: F.nll_loss(x, torch.tensor([0, 2, 1]), reduction="none"), (3, 4)),
    "ctc_loss": (lambda x: F.ctc_loss(x.log_softmax(2), torch.tensor([[1, 2]]), [4], [2]), (4, 1, 3)),
    "triplet_margin_loss": (F.triplet_margin_loss, (3, 4), (3, 4), (3, 4)),
    "gaussian_nll_loss": (lambda x, t, v: F.gaussian_nll_loss(x, t, v.exp()), (3, 2), (3, 2), (3, 2)),
    "layer_norm": (lambda x: F.layer_norm(x, (4,)), (3, 4)),
    "fft": (lambda x: torch.view_as_real(torch.fft.rfft(x)), (6,)),
    "stft": (lambda x: torch.view_as_real(torch.stft(x, 4, 2, return_complex=True, window=torch.ones(4, dtype=x.dtype))), (8,)),
    "cov": (torch.cov, (3, 5)),
    "corrcoef": (torch.corrcoef, (3, 5)),
    "trapezoid": (torch.trapezoid, (2, 5)),
    "a float32 matrix within": (lambda x: torch.mm(x, torch.ones(3, 2)), (2, 3)),
}


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        return 2 * x * dy


def draw(*shapes, seed=0, low=-1.0, high=1.0, dtype=torch.float64):
    g = torch.Generator().manual_seed(seed)
    # Not at kinks: activations have them at 0, ±0.5 and others.
    return [(torch.rand(s, generator=g, dtype=dtype) * (high - low) + low) * 0.987 + 0.003 for s in shapes]


def cases():
    arrays = lambda *a, **k: [x.numpy() for x in draw(*a, **k)]
    for text in UNARY:
        name = text.rstrip("+~")
        module, _, leaf = name.rpartition(".")
        f = getattr(torch.special, leaf) if module else getattr(torch, name, None) or getattr(F, name)
        low, high = {"+": (0.2, 2), "~": (0.1, 0.9)}.get(text[-1], (-0.95, 0.95))
        low, high = (1.1, 2) if name == "acosh" else (low, high)
        for shape in [(5,), (2, 3), (1, 2, 2), ()]:
            yield f"torch {name} {shape}", (f, *draw(shape, low=low, high=high)), {}
        yield f"torch {name}, float32", (f, *arrays((3, 2), low=low, high=high, dtype=torch.float32)), {}
    for name, f in AXIS.items():
        for shape, d in [((3, 4), 0), ((3, 4), 1), ((2, 3, 2), -1), ((2, 3, 2), 1)]:
            yield f"torch {name} {shape} along {d}", (lambda x, f=f, d=d: f(x, d), *draw(shape, low=0.1)), {}
    for name in LOSSES:
        for shape in [(3, 4), (2, 2)]:
            for reduction in ("mean", "sum", "none"):
                plain = "distance" in name or "similarity" in name
                if plain and reduction != "mean":
                    continue
                f = lambda a, b, f=getattr(F, name), r=reduction, plain=plain: f(a, b) if plain else f(a, b, reduction=r)
                yield f"torch {name} {shape} {reduction}", (f, *draw(shape, shape, low=0.1)), {}
    for name, (make, *shapes) in MODULES.items():
        for dtype in (torch.float64, torch.float32):
            torch.manual_seed(0)
            yield f"torch nn.{name}, {dtype}", (make(), *arrays(*shapes, dtype=dtype)), {}
    for name, (f, *shapes) in OTHERS.items():
        for seed in range(3):
            yield f"torch {name}, draw {seed}", (f, *draw(*shapes, seed=seed)), {}
    for shape in [(), (3,), (2, 3)]:
        yield f"torch autograd.Function {shape}", (Square, *draw(shape)), {}
