"""glim.from_torch: values and every gradient of PyTorch models, their attention on pages, and what is refused."""
import json
import math
import re
import subprocess
import sys

import numpy as np
import pytest

import glim
from glim.inspection import _read_safetensors

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402


def rng():
    return torch.Generator().manual_seed(0)


def normal(*shape):
    return torch.randn(*shape, generator=rng(), dtype=torch.float64)


def same(module, args=(), kwargs=None, tolerance=1e-12):
    """Holds values and all gradients equal, relative to the largest element; returns the imported module."""
    kwargs = kwargs or {}
    g = glim.from_torch(module, args, kwargs)
    leaves = [x for x in torch.utils._pytree.tree_leaves(module(*args, **kwargs))
              if isinstance(x, torch.Tensor) and x.is_floating_point()]
    module.zero_grad() if isinstance(module, nn.Module) else None
    weights = [torch.randn(x.shape, generator=rng(), dtype=x.dtype) for x in leaves]
    sum((x * w).sum() for x, w in zip(leaves, weights)).backward()
    with glim.Tape() as tape:
        ours = [x for x in found(g(*args, **kwargs)) if x.dtype.startswith("float")]
        assert len(ours) == len(leaves)
        tape.backward(sum((x * glim.Var(w.numpy())).sum() for x, w in zip(ours, weights)))
    for x, y in zip(ours, leaves):
        close(x.numpy(), y.detach().numpy(), tolerance)
    names = dict(module.named_parameters())
    assert [name for name, _ in g.named_parameters()] == list(names)
    for name, p in g.named_parameters():
        expected = names[name].grad
        if expected is not None:
            close(p.grad.numpy(), expected.to_dense().numpy(), tolerance, name)
        else:
            assert p.grad is None or not p.grad.numpy().any(), name
    return g


def close(a, b, tolerance, what=""):
    assert a.shape == b.shape and np.abs(a - b).max() <= tolerance * max(np.abs(b).max(), 1), what


def found(x):
    if isinstance(x, dict):
        return [v for part in x.values() for v in found(part)]
    return [v for part in x for v in found(part)] if isinstance(x, (list, tuple)) else [x]


class Of(nn.Module):
    """A function with one parameter w."""

    def __init__(self, f, *shape):
        super().__init__()
        self.f, self.w = f, nn.Parameter(normal(*(shape or (2, 3, 4))))

    def forward(self, *args):
        return self.f(self.w, *args)


X = normal(2, 3, 4)
def _written(w):
    y = w * 2
    y[:, 1:, ::2] = w[:, :2, :2]
    y[0] = 3.0
    return y


def _gelus(w):
    """Three that are GELU, and one that is not quite."""
    x, c = w * 3, math.sqrt(2 / math.pi)
    return 0.5 * x * (1 + torch.tanh(c * (x + 0.044715 * torch.pow(x, 3)))) + x * 0.5 * (1 + torch.erf(x / math.sqrt(2))) + \
        w * (torch.tanh((w * w * 0.044715 * w + w) * c) + 1) / 2 + 0.5 * w * (1 + torch.tanh(0.8 * (w + 0.044715 * w ** 3)))


OPS = {
    "constants of other dtypes": lambda w: w * torch.arange(4) + w * torch.tensor(2.0) + torch.ones(4, dtype=torch.float32) * w,
    "integers beside": lambda w: torch.cat([w, torch.ones(2, 3, 4, dtype=torch.int64)]) + torch.maximum(w[:1], torch.arange(4)),
    "in place": lambda w: w.clone().mul_(2).add_(w).masked_fill_(X > 0, 0.0),
    "without gradient": lambda w: w * w.detach() + w * (w > 0) + w * w.argmax() + torch.zeros_like(w) + w * w.long() + w * w.abs().long().clamp(max=3).to(w.dtype),
    "rotation": lambda w: torch.cat((-w[..., 2:], w[..., :2]), -1) * X.cos() + w * X.sin(),
    "parts that are written": lambda w: _written(w) + torch.zeros_like(w).scatter_add(1, torch.tensor([[[0] * 4, [0] * 4, [2] * 4]] * 2), w),
    "GELU written out": _gelus,
}


@pytest.mark.parametrize("name", OPS)
def test_ops(name):
    same(Of(OPS[name]))


def test_gelu_that_is_written_out_is_one_op():
    g = same(Of(OPS["GELU written out"]))
    with glim.Tape() as tape:
        g()
        names = [n.name for n in tape.nodes]
    assert names.count("gelu") == 3 and names.count("tanh") == 1 and "erf" not in names


@pytest.mark.parametrize("conv, shape", [
    (nn.Conv1d(4, 6, 3, padding=1, groups=2), (2, 4, 9)), (nn.Conv1d(4, 6, 3, stride=2, dilation=2), (2, 4, 9)),
    (nn.Conv2d(4, 6, (3, 2), padding="same", bias=False), (2, 4, 5, 6)), (nn.Conv2d(4, 6, 3, padding="valid"), (2, 4, 5, 6)), (nn.Conv2d(4, 8, 2, stride=2, groups=4), (2, 4, 6, 6))])
def test_convolutions(conv, shape):
    same(conv.double(), (normal(*shape),))


class Block(nn.Module):
    """Attention as four programs write it."""

    def __init__(self, how):
        super().__init__()
        self.how, self.embed, self.qkv, self.out = how, nn.Embedding(20, 16, padding_idx=0), nn.Linear(16, 48), nn.Linear(16, 20, bias=False)
        self.out.weight = self.embed.weight
        self.register_buffer("causal", torch.tril(torch.ones(9, 9)).view(1, 1, 9, 9))

    def forward(self, ids, targets=None):
        b, t = ids.shape
        q, k, v = (x.view(b, t, 4, 4).transpose(1, 2) for x in self.qkv(self.embed(ids)).split(16, 2))
        mask = self.causal[:, :, :t, :t]
        if self.how == "sdpa":
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        elif self.how == "fill":
            y = ((q @ k.transpose(-2, -1)) / 2.0).masked_fill(mask == 0, float("-inf")).softmax(-1) @ v
        elif self.how == "add":
            y = F.dropout(torch.softmax(q @ k.transpose(-2, -1) * 0.5 + (1 - mask) * torch.finfo(q.dtype).min, -1), 0.1, self.training) @ v
        elif self.how == "other scale":
            y = (q @ k.mT + (1 - mask) * -1e32).softmax(-1) @ v
        elif self.how == "capped":
            y = (5 * torch.tanh(q @ k.mT / 5) + (1 - mask) * -1e32).softmax(-1) @ v
        elif self.how == "bias and fill":  # the bias has a gradient, as DeBERTa's
            y = (q @ k.mT * 0.5 + self.embed.weight[:t, :t]).masked_fill(mask == 0, torch.finfo(q.dtype).min).softmax(-1) @ v
        elif self.how == "bias first":
            y = (self.embed.weight[:t, :t] + q @ k.mT).masked_fill(mask == 0, float("-inf")).softmax(-1) @ v
        elif self.how == "numbers and fill":
            y = (q @ k.mT * 0.5 + self.causal[:, :, :t, :t].flip(3)).masked_fill(mask == 0, float("-inf")).softmax(-1) @ v
        elif self.how == "all hidden":  # a row of equal numbers is uniform
            y = (q @ k.mT * 0.5).masked_fill(mask.flip(2) - mask == 0, -1e32).softmax(-1) @ v
        elif self.how == "einsum":  # batch is not the first axis, as in XLNet
            a = (torch.einsum("ibnd,jbnd->bnij", *(x.permute(2, 0, 1, 3) for x in (q, k))) * 0.5 + (1 - mask) * -1e32).softmax(3)
            y = torch.einsum("bnij,jbnd->ibnd", a, v.permute(2, 0, 1, 3)).permute(1, 2, 0, 3)
        elif self.how == "batch and heads are one axis":  # as in Bloom
            q, k, v = (x.reshape(b * 4, t, 4) for x in (q, k, v))
            a = torch.baddbmm(torch.arange(t, dtype=q.dtype).expand(b * 4, 1, t), q, k.mT, alpha=0.5).view(b, 4, t, t)
            y = torch.bmm(a.masked_fill(mask == 0, -1e32).softmax(-1).view(b * 4, t, t), v).view(b, 4, t, 4)
        elif self.how == "turned":  # a constant is broadcast to four heads of queries and two of keys
            turn = torch.arange(t * 4, dtype=q.dtype).reshape(1, 1, t, 4).cos()
            y = (q * turn @ (k[:, :2] * turn).repeat_interleave(2, 1).mT * 0.5).masked_fill(mask == 0, -1e32).softmax(-1) @ v
        elif self.how == "values on the left":  # as images have it
            y = (v.mT @ (q @ k.mT * 0.5).masked_fill(mask == 0, -1e32).softmax(-1).mT).mT
        elif self.how == "a choice of scores":
            y = torch.where(mask == 0, torch.full((), -1e32, dtype=q.dtype), q @ k.mT).where(mask != 0, torch.tensor(-1e32)).softmax(-1) @ v
        elif self.how == "asked":
            a = (q @ k.mT * 0.5 + (1 - mask) * -1e32).softmax(-1)
            return self.out((a @ v).transpose(1, 2).reshape(b, t, 16)), a
        logits = self.out(y.transpose(1, 2).reshape(b, t, 16))
        return logits if targets is None else F.cross_entropy(logits.view(-1, 20), targets.view(-1))


class Model(nn.Module):
    def __init__(self, how):
        super().__init__()
        self.block = Block(how)

    def forward(self, *args, **kwargs):
        return self.block(*args, **kwargs)


IDS = torch.tensor([[3, 0, 7, 7, 19]])


@pytest.mark.parametrize("how", ["sdpa", "fill", "add", "other scale", "capped", "asked", "bias and fill", "bias first", "numbers and fill", "all hidden", "einsum",
                                 "batch and heads are one axis", "turned", "values on the left", "a choice of scores"])
def test_attention_is_found(how, tmp_path):
    torch.manual_seed(0)
    model = Model(how).double().eval()
    g = same(model, (IDS,))
    with glim.Tape() as tape, glim.explicit():
        g(IDS)
        nodes = {n.path: n for n in tape.nodes}
    assert nodes["block.probs"].shape == (1, 4, 5, 5) and nodes["block.context"].shape == (1, 4, 5, 4)
    assert nodes["block.probs"].name == ("softmax" if how == "all hidden" else "masked_softmax") and "block.scores" in nodes
    loss = (lambda out: out[0].sum()) if how == "asked" else (lambda out: out.sum())
    page = g.inspect((IDS,), loss=loss, tokens=list("abcde"), out=tmp_path / "page", data=True)
    data = json.loads((tmp_path / "page/inspect.json").read_text(encoding="utf-8"))
    (view,) = data["attention"]
    assert len(view["heads"]) == 4 and view["queries"] == list("abcde") and page.endswith("inspect.html")
    assert 0 < view["heads"][3]["value_share"] < 1
    assert view["side"] == ("encoder self" if how == "all hidden" else "decoder self")
    assert "dscores" in g.derive((IDS,), loss=loss) and "probs" in g.step((IDS,), loss=loss, commands="break *probs\ncontinue")


def test_second_order_is_written(tmp_path):
    """The program's H v are tape.hvp's to 1e-12, and its own to the last digits."""
    torch.manual_seed(0)
    g = glim.from_torch(Model("sdpa").double().eval(), (IDS,))
    loss = lambda out: (out * out).sum()
    with pytest.raises(glim.ValueError, match="pdf"):
        g.derive((IDS,), loss, format="pdf", out=tmp_path)
    assert not list(tmp_path.iterdir())
    lines = g.derive((IDS,), loss, order=2, out=tmp_path)
    assert lines.startswith("backward of dL") and r"\begin{document}" in g.derive((IDS,), loss, order=2, format="latex")
    data = _read_safetensors(tmp_path / "backward.safetensors")
    leaves = {name: p for name, p in g.named_parameters() if "batch.v." + name in data}
    with glim.Tape() as tape:
        hv = tape.hvp(loss(g(IDS)), list(leaves.values()), [data["batch.v." + name] for name in leaves])
    largest = max(abs(h.numpy()).max() for h in hv)
    for name, h in zip(leaves, hv):
        assert abs(data["gradient." + name] - h.numpy()).max() <= 1e-12 * largest, name
    said = subprocess.run([sys.executable, tmp_path / "backward.py"], capture_output=True, text=True, check=True).stdout
    off = [float(x) for x in re.findall(r"off by (\S+)", said)]
    assert len(off) == len(leaves) == 3 and max(off) < 1e-12
    for error, words, options in [
            (glim.FileError, "exists already", {"out": tmp_path}), (glim.ValueError, "format 'tex' is none of text", {"format": "tex"}),
            (glim.ValueError, "order is 0, expected 1 or 2", {"order": 0}), (glim.ValueError, "order is True", {"order": True})]:
        with pytest.raises(error, match=words):
            g.derive((IDS,), loss, **options)


def test_heads_are_removed_and_masks_set():
    torch.manual_seed(0)
    model = Model("add").double().eval()
    g = glim.from_torch(model, (IDS,))

    def logits(**changes):
        with g._taped((IDS,), lambda out: out.sum(), changes.pop("scale", None), changes) as (tape, y):
            return float(y)
    whole = logits()
    assert abs(whole - float(model(IDS).sum())) < 1e-12 and abs(logits(scale=0.5) - whole) < 1e-12
    with pytest.raises(TypeError, match="scale is True, expected a number"):
        logits(scale=True)
    weight = model.block.qkv.weight.clone()
    with torch.no_grad():  # head 2 has no values
        model.block.qkv.weight[40:44] = 0
        model.block.qkv.bias[40:44] = 0
    assert abs(logits(remove_head=["block:2"]) - float(model(IDS).sum())) < 1e-12
    masked = logits(mask=["block:*,0"])
    with pytest.raises(glim.ValueError, match="no attention is named 'wrong'"):
        with g._taped((IDS,), lambda out: out.sum(), None, {"remove_head": ["wrong:0"]}) as (tape, y):
            tape.inspect(y, "never")
    with torch.no_grad():
        model.block.qkv.weight.copy_(weight)
        model.block.causal[..., 1:, 0] = 0
    assert abs(masked - float(model(IDS).sum())) > 1e-3  # query 0 keeps its key in PyTorch's
    with pytest.raises(glim.StateError, match="has changed since the import, in block.causal"):
        g(IDS)


@pytest.mark.parametrize("how, own", [("sdpa", 0.5), ("fill", 0.5), ("add", 0.5), ("other scale", 1), ("capped", 0.2), ("einsum", 0.5),
                                      ("batch and heads are one axis", 0.5), ("values on the left", 0.5)])
def test_the_scale_of_an_attention(how, own):
    torch.manual_seed(0)
    g = glim.from_torch(Model(how).double().eval(), (IDS,))

    def loss(scale):
        with g._taped((IDS,), lambda out: (out ** 2).sum(), scale, {}) as (tape, y):
            return float(y)
    assert abs(loss(own) - loss(None)) < 1e-12 and abs(loss(0.7) - loss(None)) > 1e-6


class Weighted(nn.Module):
    """Attention of one head, whose queries and keys are scaled as `how` says."""

    def __init__(self, how):
        super().__init__()
        self.how, self.project = how, nn.Linear(4, 8)
        self.register_buffer("factor", torch.tensor(0.5))

    def forward(self, x):
        q, k = self.project(x).chunk(2, -1)
        if self.how == "queries":
            q = q * 0.5
        elif self.how == "both":
            q, k = q * 2.0, k / 4.0
        elif self.how == "a tensor":
            q = q * self.factor
        elif self.how == "before positions":
            q = q * 0.5 + torch.arange(3.0)[:, None].to(q)
        return (q @ k.transpose(-1, -2)).softmax(-1) @ x


@pytest.mark.parametrize("how", ["queries", "both", "nothing", "a tensor", "before positions"])
def test_a_scale_before_the_product(how):
    g = glim.from_torch(Weighted(how).double(), (X,))

    def loss(scale):
        with g._taped((X,), lambda out: (out ** 2).sum(), scale, {}) as (tape, y):
            return float(y)
    if how in ("a tensor", "before positions"):
        with pytest.raises(glim.ValueError, match="queries or keys are multiplied by what is no number, or before other ops"):
            loss(0.5)
        return
    assert abs(loss(1 if how == "nothing" else 0.5) - loss(None)) < 1e-12 and abs(loss(0.7) - loss(None)) > 1e-6
    multihead = nn.MultiheadAttention(4, 2, batch_first=True).double().eval()  # torch scales queries where weights are asked for
    g = glim.from_torch(multihead, (X, X, X), dict(need_weights=True))
    with g._taped((X, X, X), lambda out: (out[0] ** 2).sum(), 2 ** -0.5, {}) as (tape, y):
        assert abs(float(y) - (multihead(X, X, X)[0] ** 2).sum().item()) < 1e-12


def test_a_model_that_refuses_the_second_point_is_said_to_be_compared_at_one():
    class Picky(nn.Module):
        def forward(self, x):
            torch._assert(bool((x == X).all()), "another x")
            return x * 2

    with pytest.warns(UserWarning, match="at one point alone"):
        glim.torch_models.verify.points(glim.torch_models.verify.Pass(Picky(), (X,), {}), Picky(), (X,), {})


def test_parameters():
    torch.manual_seed(0)
    model = Model("fill").double().eval()
    model.block.qkv.bias.requires_grad_(False)
    g = same(model, (IDS,), dict(targets=IDS))
    before = model.block.embed.weight.clone()
    g.block.embed.weight = g.block.embed.weight.numpy() + 1
    assert torch.equal(model.block.embed.weight, before)
    assert g.to_torch() is model and torch.equal(model.block.embed.weight, before + 1)
    long = torch.tensor([[1, 2, 3, 4, 5, 6, 7]])  # another length is exported again
    np.testing.assert_allclose(float(g(long, targets=long)), float(model(long, targets=long)), rtol=1e-12)


def test_more_modules():
    torch.manual_seed(0)
    same(nn.LSTM(4, 3, num_layers=2, bidirectional=True, batch_first=True).double(), (X,))
    same(nn.GRU(4, 3).double(), (X,))
    same(nn.MultiheadAttention(4, 2, batch_first=True).double().eval(), (X, X, X))
    same(nn.Transformer(4, 2, 1, 1, 8, batch_first=True).double().eval(), (X, X))
    same(nn.Sequential(nn.Conv1d(3, 6, 1), nn.BatchNorm1d(6), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(6, 2)).double().eval(), (X,))


class Norm(nn.Module):
    """RMS norm in float32 of a model in float64, the weight before or after it is widened again."""

    def __init__(self, late):
        super().__init__()
        self.late, self.weight = late, nn.Parameter(normal(4) + 2)

    def forward(self, x):
        y = x.to(torch.float32)
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * y.to(x.dtype) if self.late else (self.weight * y).to(x.dtype)


@pytest.mark.parametrize("late", [True, False])
def test_a_norm_of_another_dtype(late):
    same(Norm(late), (X,), tolerance=1e-6)
    same(Norm(late).float(), (X.float(),), tolerance=1e-6)


def test_float32():
    torch.manual_seed(0)
    same(nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 2)), (X.float(),), tolerance=1e-6)


def test_a_function_and_its_inputs():
    g = glim.from_torch(lambda x, y: (x * y).tanh(), (X, X))
    x = glim.Var.leaf(X.numpy())
    with glim.Tape() as tape:
        y = g(x, X)
        (dx,) = tape.grad(y.sum(), [x], create_graph=True)  # again: ∂²
        (ddx,) = tape.grad(dx.sum(), [x])
    t = X.clone().requires_grad_()
    (e,) = torch.autograd.grad((t * X).tanh().sum(), t, create_graph=True)
    (ee,) = torch.autograd.grad(e.sum(), t)
    close(dx.numpy(), e.detach().numpy(), 1e-12)
    close(ddx.numpy(), ee.numpy(), 1e-12)


class Straight(torch.autograd.Function):
    """Rounds; the gradient passes, scaled."""

    @staticmethod
    def forward(ctx, x, scale, y):
        return x.round() * y

    @staticmethod
    def backward(ctx, dy):
        return 0.5 * dy, None, 3 * dy


def test_the_backward_of_a_custom_function_is_its_own():
    same(Of(lambda w: Straight.apply(w * 2, 0.5, w) + w))
    same(Of(lambda w: Straight.apply(X, 0.5, w)))


class Two(torch.autograd.Function):
    """Sum and product of rows; the gradient of the product is a wrong one."""

    @staticmethod
    def forward(ctx, x):
        return x.sum(-1), x.prod(-1, keepdim=True)

    @staticmethod
    def backward(ctx, ds, dp):
        return (ds[..., None] + 3 * dp).expand(*ds.shape, 4)


def test_a_function_of_two_results():
    def f(w):
        s, p = Two.apply(w * 2)
        return s * s + p[..., 0]
    same(Of(lambda w: torch.ones_like(w) * f(w)[..., None]))
    same(Of(lambda w: Two.apply(w)[1]))


def test_experts_of_rows():
    """As mixtures of experts of `transformers` have it: rows are in the order of their experts, of which one may have none."""
    from glim.torch_models import ops
    x, w = normal(6, 8).numpy(), normal(3, 8, 4).numpy()
    y = ops.OPS["grouped_mm_fallback"](glim.Var.leaf(x), glim.Var.leaf(w), torch.tensor([2, 2, 6]))
    close(y.numpy(), np.concatenate([x[:2] @ w[0], x[2:] @ w[2]]), 1e-12)


def test_no_grad_within_a_model():
    def f(w):
        with torch.no_grad():
            a, b = w * 2, w.exp()
        return w * a + b
    same(Of(f))


class Branch(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return self.w * x if x.sum() > 0 else self.w


class Hooked(nn.Linear):
    def forward(self, x):
        y = super().forward(x)
        y.requires_grad and y.register_hook(lambda g: -g)
        return y


class Half(nn.Linear):
    def __init__(self):
        super().__init__(3, 3)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return super().forward(x)


def hooked_module():
    model = nn.Sequential(nn.Linear(3, 3))
    model[0].register_full_backward_hook(lambda *_: None)
    return model


OUTER = nn.Parameter(torch.ones(3))


@pytest.mark.parametrize("module, args, error, words", [
    (nn.Sequential(nn.Linear(3, 3), nn.Dropout()), torch.ones(2, 3), glim.ValueError, "1 is in train.. mode, in which it draws numbers: call model.eval"),
    (nn.BatchNorm1d(3), torch.ones(2, 3), glim.ValueError, "train.. mode, in which it changes its statistics"),
    (Branch(), torch.ones(3), glim.ValueError, "control flow depends on values"),
    (Of(lambda w: torch.linalg.svdvals(w)), (), glim.ValueError, r"no op of Glim for aten\S*svd\S* in the model .*test_torch_models.py:\d+.*that there are: .*torch_models.ops.OPS"),
    (nn.Linear(3, 3).half(), torch.ones(2, 3).half(), glim.DTypeError, "weight is float16; Glim has float32 and float64"),
    (nn.Linear(3, 3).to("meta"), torch.ones(2, 3), glim.ValueError, "weight is on meta: Glim computes on the CPU"),
    (nn.Linear(3, 3), torch.ones(2, 4), glim.ValueError, "the model refuses its arguments: .*2x4"),
    (nn.Linear(3, 3), torch.ones(2, 3, dtype=torch.int64), glim.ValueError, "the model refuses its arguments: .*Long and Float"),
    (lambda x: x * OUTER, torch.ones(3), glim.ValueError, "none of its own: give a torch.nn.Module"),
    (Hooked(3, 3), torch.ones(2, 3), glim.ValueError, "a tensor within its forward has a hook on its gradient.*tape.hook"),
    (hooked_module(), torch.ones(2, 3), glim.ValueError, "0 has a hook on its gradient"),
    (Half(), torch.ones(2, 3), glim.DTypeError, "the model computes in bfloat16"),
    (Of(lambda w: torch.fft.fft(w).real), (), glim.DTypeError, "aten._fft_r2c.default in the model .* computes in complex128"),
    (Of(lambda w: w.mT.as_strided((2,), (5,))), (), glim.ValueError, "no op of Glim for aten.as_strided"),
    (3, (), TypeError, "neither a torch.nn.Module nor a function")])
def test_refused(module, args, error, words):
    with pytest.raises(error, match=words):
        glim.from_torch(module, args)


@pytest.mark.parametrize("embedded", [True, False])
def test_source_and_target_of_one_length(embedded, tmp_path):
    """Keys that begin elsewhere than their queries are the source's, whatever its length."""
    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.of = nn.Embedding(9, 4), nn.Transformer(4, 2, 2, 2, 8, batch_first=True)

        def forward(self, source, target):
            return self.of(*(self.embed(x) if embedded else x for x in (source, target)))
    torch.manual_seed(0)
    pair = (torch.tensor([[1, 2, 3]]), torch.tensor([[4, 2, 3]])) if embedded else (normal(1, 3, 4), normal(1, 3, 4) + 1)
    g = glim.from_torch(Pair().double().eval(), pair)
    page = g.inspect(pair, loss=lambda y: y.sum(), tokens=(list("abc"), list("xyz")), out=tmp_path / "page", data=True)
    views = json.loads((tmp_path / "page/inspect.json").read_text(encoding="utf-8"))["attention"]
    assert [(v["side"], "".join(v["queries"]), "".join(v["keys"])) for v in views] == [
        ("encoder self", "abc", "abc")] * 2 + [("decoder self", "xyz", "xyz"), ("cross", "xyz", "abc")] * 2
    assert "glim inspect: Pair of PyTorch</title>" in open(page, encoding="utf-8").read()


def test_names_of_a_result():
    g = glim.from_torch(lambda x: {"half": x / 2}, torch.ones(2))
    y = g(torch.ones(2))
    assert y.half is y["half"] and not hasattr(y, "whole")


def test_a_loss_is_asked_for():
    g = glim.from_torch(nn.Linear(3, 2), torch.ones(2, 3))
    with pytest.raises(glim.ValueError, match="loss=lambda out"):
        g.inspect((torch.ones(2, 3),), out="never")
