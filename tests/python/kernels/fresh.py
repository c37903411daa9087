"""Cases of other kinds than the corpus has, on which no limit was set."""

import torch
import torch.nn.functional as F

from .case import Kernel, cases, flags, normal, spans, through, wide

FRESH = []


def fresh(family, name, reference, specs, letters, *wrong, batch=None):
    """Makes cases of kernel(low, dy, *inputs, fault), which has loaded dy and the inputs. low rounds like a store."""
    def add(kernel):
        def backward(dy, *inputs, fault=""):
            loaded = (wide(x) if x.is_floating_point() else x for x in inputs)
            return kernel(lambda x: wide(x.to(dy.dtype)), wide(dy), *loaded, fault)
        FRESH.extend(cases(Kernel(family, name, reference, backward, specs, batch), letters, *wrong))
    return add


QKV = (normal(2, 3, 24, 16),) * 3
DISTANCES = torch.arange(24)[:, None] - torch.arange(24) + 23
PLACES = F.unfold(torch.arange(81.0).view(1, 1, 9, 9), 3, stride=2)[0].long()  # of an image, by place in a window and window
dot = lambda a, b, dim=-1: (a * b).sum(dim, keepdim=True)


def alignments(x):
    a = [x[:, 0]]
    for t in range(1, x.shape[1]):
        a.append(torch.cat((a[-1][:, :1], torch.logaddexp(a[-1][:, 1:], a[-1][:, :-1])), 1) + x[:, t])
    return a


def scan(x, dt, a, b, c):
    hs, s = [x[:, 0, :, None] * 0 * a], F.softplus(dt)
    for t in range(x.shape[1]):
        hs.append((s[:, t, :, None] * -a.exp()).exp() * hs[-1] + (s * x)[:, t, :, None] * b[:, t, None])
    return torch.stack([(h * c[:, t, None]).sum(-1) for t, h in enumerate(hs[1:])], 1), hs, s


@fresh("attention", "attention with sinks and distances", lambda q, k, v, sink, table: torch.cat((
    q @ k.mT / 4 + table[:, DISTANCES], sink[:, None, None].expand(len(q), 3, 24, 1)), -1).softmax(-1)[..., :-1] @ v,
       (*QKV, normal(3), normal(3, 47)), "bhf", ("h", "no sink", "P is normalised without the sink"),
       ("b", "sign", "the sink's gradient has the other sign", {"box": 3}),
       ("b", "rows", "the distances' gradient lacks the last tile", {"box": (4, {1: (16, 47)})}), batch=(0, 0, 0, None, None))
def _(low, dy, q, k, v, sink, table, fault):
    s, sink, rows = q @ k.mT / 4 + table[:, DISTANCES], sink[:, None, None], 16 if fault == "rows" else 24
    lse = torch.logaddexp(s.logsumexp(-1, keepdim=True), sink - (99 if fault == "no sink" else 0))
    P = (s - lse).exp()
    delta = dot(dy, low(low(P) @ v))
    dS, dV = low(P * (dy @ v.mT - delta)), low(P).mT @ dy
    dtable = torch.zeros_like(table).index_add(1, DISTANCES[:rows].flatten(), dS.sum(0)[:, :rows].flatten(1))
    dsink = ((sink - lse).exp() * delta).sum((0, 2, 3)) * (1 if fault == "sign" else -1)
    return dS @ k / 4, dS.mT @ q / 4, dV, dsink, dtable
@fresh("attention", "linear attention in chunks", lambda q, k, v: (q @ k.mT).tril() @ v, (normal(2, 22, 16),) * 3, "bhf",
       ("b", "no state", "dv lacks what comes from later chunks", {"box": (2, {1: (0, 16)})}),
       ("h", "strict", "dq lacks the diagonal", {"box": 0}), batch=(0, 0, 0))
def _(low, dy, q, k, v, fault):
    dq, dk, dv, state, after = *map(torch.zeros_like, (q, k, v)), 0 * k.mT @ v, 0 * q.mT @ dy
    for c in spans(22, 8):
        dq[:, c] = dy[:, c] @ low(state).mT + low((dy[:, c] @ v[:, c].mT).tril(-1 if fault == "strict" else 0)) @ k[:, c]
        state = state + k[:, c].mT @ v[:, c]
    for c in spans(22, 8)[::-1]:
        dk[:, c] = v[:, c] @ low(after).mT + low((dy[:, c] @ v[:, c].mT).tril()).mT @ q[:, c]
        dv[:, c] = k[:, c] @ low(after) * (fault != "no state") + low((q[:, c] @ k[:, c].mT).tril()).mT @ dy[:, c]
        after = after + q[:, c].mT @ dy[:, c]
    return dq, dk, dv
@fresh("attention", "sigmoid attention", lambda q, k, v: torch.sigmoid(q @ k.mT / 4 - 3) @ v, QKV, "bf",
       ("b", "square", "the slope of the sigmoid is P"), ("f", "bf16", "P is stored in bf16"), batch=(0, 0, 0))
def _(low, dy, q, k, v, fault):
    P = through(torch.bfloat16 if fault == "bf16" else q.dtype, torch.sigmoid(q @ k.mT / 4 - 3))
    dS = low(P * (1 - P * (fault != "square")) * (dy @ v.mT))
    return dS @ k / 4, dS.mT @ q / 4, low(P).mT @ dy
@fresh("norm", "batch norm in training", lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
       (normal(6, 5, 12, mean=0.5), normal(5, mean=1.0, scale=0.2), normal(5)), "bh",
       ("b", "constant", "mean and variance are taken as constant", {"box": 0}),
       ("b", "unbiased", "the variance is divided by its count less 1"))
def _(low, dy, x, w, b, fault):
    mean, n = x.mean((0, 2), keepdim=True), 71 if fault == "unbiased" else 72
    rstd = ((x - mean).square().sum((0, 2), keepdim=True) / n + 1e-5).rsqrt()
    h = (x - mean) * rstd
    db, dw = dy.sum((0, 2), keepdim=True), (dy * h).sum((0, 2), keepdim=True)
    return w[:, None] * rstd * (dy - (fault != "constant") * (db + h * dw) / 72), dw.flatten(), db.flatten()
@fresh("loss", "contrastive loss", lambda a, b, t: F.cross_entropy(F.normalize(a) @ F.normalize(b).mT * t.exp(),
    torch.arange(len(a))), (*(normal(20, 16),) * 2, normal(1, mean=1.6, scale=0.1)), "bh",
       ("h", "along", "the second's gradient keeps the part along it", {"box": 1}),
       ("b", "cosine", "the log temperature's gradient lacks the temperature", {"box": 2}),
       ("f", "rows", "the last rows of 16 have no positive"))
def _(low, dy, a, b, t, fault):
    m, n, t, eye = a.norm(dim=1, keepdim=True), b.norm(dim=1, keepdim=True), t.exp(), torch.eye(20).to(a)
    a, b, eye[16:] = a / m, b / n, eye[16:] * (fault != "rows")
    g = ((a @ b.mT * t).softmax(-1) - eye) * dy / 20
    da, db, dt = low(g * t) @ b, low(g * t).mT @ a, (g * (a @ b.mT)).sum()[None] * (1 if fault == "cosine" else t)
    return (da - a * dot(a, da)) / m, (db - b * dot(b, db) * (fault != "along")) / n, dt
@fresh("loss", "binary cross entropy, Huber loss", lambda x, y, t: F.huber_loss(
    x, y, delta=0.5) + F.binary_cross_entropy_with_logits(x, t.to(x.dtype), pos_weight=x.new_tensor(3.0)),
       (*(normal(24, 40),) * 2, flags(0.3, 24, 40)), "bhf", ("b", "all", "negatives are weighted, too", {"box": 0}),
       ("h", "clip", "beyond its limit the Huber loss has slope 1"))
def _(low, dy, x, y, t, fault):
    g = torch.where((x - y).abs() > 0.5, (x - y).sign() * (1 if fault == "clip" else 0.5), x - y) * dy / 960
    return g + dy / 960 * (x.sigmoid() - t.to(x)) * (3 if fault == "all" else 1 + 2 * t), -g
@fresh("recurrent", "sum over alignments", lambda x: alignments(x)[-1].logsumexp(-1), (normal(3, 15, 6),), "bhf",
       ("b", "first", "the first step's gradient is not written", {"box": (0, {1: (0, 1)})}),
       ("h", "step", "the backward scan adds the score of the step before"), batch=(0,))
def _(low, dy, x, fault):
    later, forward = [0 * x[:, 0]], alignments(x)
    for t in range(14, 0, -1):
        b = later[0] + x[:, t - (fault == "step")]
        later.insert(0, torch.cat((torch.logaddexp(b[:, :-1], b[:, 1:]), b[:, -1:]), 1))
    p = (torch.stack(forward, 1) + torch.stack(later, 1) - forward[-1].logsumexp(-1)[:, None, None]).exp() * dy[:, None, None]
    return torch.cat((p[:, :1] * (fault != "first"), p[:, 1:]), 1),
@fresh("product", "low-rank adapter", lambda x, w, a, b: x @ w.mT + 2 * (x @ a.mT) @ b.mT,
       (normal(20, 16), normal(24, 16), normal(4, 16), normal(24, 4)), "bh", ("b", "scale", "da lacks the scale", {"box": 2}),
       ("h", "rows", "db leaves out the last rows", {"box": 3}), batch=(0, None, None, None))
def _(low, dy, x, w, a, b, fault):
    u, du, rows = low(x @ a.mT), low(2 * dy @ b), 16 if fault == "rows" else 20
    return dy @ w + du @ a, dy.mT @ x, du.mT @ x / (2 if fault == "scale" else 1), 2 * dy[:rows].mT @ u[:rows]
@fresh("pointwise", "tanh times a gate", lambda x, gate: x.tanh() * gate.sigmoid(), (normal(24, 40),) * 2, "bhf",
       ("b", "slope", "the slope of tanh lacks its square", {"box": 0}), ("h", "gate", "dx has the gate's slope", {"box": 0}), batch=(0, 0))
def _(low, dy, x, gate, fault):
    t, s = low(x.tanh()), low(gate.sigmoid())  # stored by forward
    return dy * s * (1 - s if fault == "gate" else 1) * (1 - (t if fault == "slope" else t * t)), dy * t * s * (1 - s)
@fresh("pooling", "largest of overlapping windows", lambda x: F.max_pool2d(x, 3, 2), (normal(2, 3, 9, 9),), "bf",
       ("b", "lost", "of windows with one largest element the last one's dy stays"), batch=(0,))
def _(low, dy, x, fault):
    places = PLACES.gather(0, F.unfold(x.flatten(0, 1)[:, None], 3, stride=2).argmax(1))
    dx, dy = x.flatten(0, 1).flatten(1) * 0, dy.flatten(0, 1).flatten(1)
    return (dx.scatter(1, places, dy) if fault else dx.scatter_add(1, places, dy)).view(x.shape),
@fresh("pooling", "bilinear upsampling", lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), (normal(2, 3, 6, 6),), "bh",
       ("h", "corners", "the backward aligns the corners"), ("b", "edge", "the last column is not written", {"box": (0, {3: (5, 6)})}), batch=(0,))
def _(low, dy, x, fault):
    M = F.interpolate(torch.eye(6).to(x)[None], scale_factor=2, mode="linear", align_corners=fault == "corners")[0]
    return M @ low(dy @ M.mT) * (torch.arange(6) < (5 if fault == "edge" else 6)),
@fresh("convolution", "convolution by columns", lambda x, w: F.conv2d(x, w, padding=1), (normal(2, 3, 7, 7), normal(4, 3, 3, 3)),
       "bhf", ("b", "wrap", "the weight's gradient reads around the ends of rows", {"box": 1}),
       ("h", "tap", "dx lacks the last tap"), ("b", "item", "dw is the last item's", {"box": 1}), batch=(0, None))
def _(low, dy, x, w, fault):
    padded = torch.cat((x[..., -1:], x, x[..., :1]), -1) * (fault == "wrap")
    padded[..., 1:-1] = x
    dw = (dy.flatten(2) @ F.unfold(padded, 3, padding=(1, 0)).mT)[-1 if fault == "item" else 0:].sum(0).view(w.shape)
    w = w * (torch.arange(9).view(3, 3) < (8 if fault == "tap" else 9))
    return F.fold(low(w.flatten(1).mT @ dy.flatten(2)), (7, 7), 3, padding=1), dw
@fresh("recurrent", "cumulative product in chunks", lambda x: x.cumprod(-1), (normal(6, 20, mean=1.0, scale=0.15),), "bf",
       ("b", "carry", "chunks do not pass on their sum", {"box": (0, {1: (0, 16)})}),
       ("f", "bf16", "the sums are kept in bf16"), batch=(0,))
def _(low, dy, x, fault):
    g, carry = dy * x.cumprod(-1), 0
    for c in spans(20, 8)[::-1]:
        g[:, c] = g[:, c].flip(-1).cumsum(-1).flip(-1) + carry
        g[:, c] = through(torch.bfloat16 if fault == "bf16" else g.dtype, g[:, c])
        carry = 0 if fault == "carry" else g[:, c][:, :1]
    return g / x,
@fresh("recurrent", "selective scan", lambda x, dt, a, b, c: scan(x, dt, a, b, c)[0], (
    normal(2, 14, 5), normal(2, 14, 5), normal(5, 4), normal(2, 14, 4), normal(2, 14, 4)), "bf",
       ("b", "step", "da multiplies the state after the step", {"box": 2}),
       ("b", "decay", "dt has no gradient through the decay", {"box": (1, {1: (1, 14)})}),
       ("f", "bf16", "the gradient of the state is kept in bf16"), batch=(0, 0, None, 0, 0))
def _(low, dy, x, dt, a, b, c, fault):
    (_, hs, s), dh, grads, A = scan(x, dt, a, b, c), 0, [], -a.exp()
    for t in range(13, -1, -1):
        dh = through(torch.bfloat16 if fault == "bf16" else dy.dtype, dy[:, t, :, None] * c[:, t, None] + dh)
        decay = (s[:, t, :, None] * A).exp()
        g, db = dh * hs[t] * decay, (dh * b[:, t, None]).sum(-1)
        ds = db * x[:, t] + (g * A).sum(-1) * (fault != "decay")
        da = s[:, t, :, None] * A * (dh * hs[t + 1] * decay if fault == "step" else g)
        grads.insert(0, (db * s[:, t], ds * dt[:, t].sigmoid(), da,
                         (dh * (s * x)[:, t, :, None]).sum(1), (hs[t + 1] * dy[:, t, :, None]).sum(1)))
        dh = dh * decay
    dx, ddt, da, db, dc = (torch.stack(g, 1) for g in zip(*grads))
    return dx, ddt, da.sum((0, 1)), db, dc
