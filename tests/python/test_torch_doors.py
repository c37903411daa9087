"""glim.from_torch gives PyTorch's numbers or refuses: one case for each way in which a translation can go wrong in silence."""
import collections
import dataclasses
import logging
import math
import random
import sys
import threading

import numpy as np
import pytest

import glim

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from test_torch_models import Of, X, normal, same  # noqa: E402


def refused(words, module, args=(), error=glim.ValueError, **options):
    with pytest.raises(error, match=words):
        glim.from_torch(module, args, **options)


# ---- the comparison itself ----

@pytest.fixture
def wrong_rule(monkeypatch):
    """A rule of Glim that is wrong on purpose."""
    from glim.torch_models import ops

    def replace(name, rule):
        monkeypatch.setitem(ops.OPS, name, rule)
        ops.rule.cache_clear()
    yield replace
    monkeypatch.undo()
    ops.rule.cache_clear()


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4, bias=False).double(), nn.Linear(4, 4, bias=False).double()

    def forward(self, x):
        return self.second(torch.erf(self.first(x)))


def test_a_value_that_parts_is_refused_with_its_line(wrong_rule):
    wrong_rule("erf", lambda x, /: glim.tanh(x))
    refused(r"the result is not PyTorch's: \S+ for \S+ at .*part at aten.erf.default in the model \(.*test_torch_doors.py:\d+\)", Layers(), (X,))


class Times(glim.Op):
    """x, whose gradient is so many times too large."""

    def __init__(self, factor):
        self.factor = factor

    def forward(self, x):
        return x

    def gradient(self, dy, x):
        return dy * self.factor


def test_a_gradient_that_parts_is_refused_with_its_line(wrong_rule):
    wrong_rule("erf", lambda x, /: glim.erf(Times(2)(x)))
    refused(r"the gradient of first.weight is not PyTorch's: .*part at aten.erf.default in the model \(.*test_torch_doors.py:\d+\)", Layers(), (X,))
    glim.from_torch(Layers(), (X,), verify=False)


class Unequal(nn.Module):
    """Two parameters, of which the first has the larger gradient."""

    def __init__(self, large):
        super().__init__()
        self.large, self.a, self.b = large, nn.Parameter(normal(4).float()), nn.Parameter(normal(4).float())

    def forward(self):
        return self.a * self.large, torch.erf(self.b)


def test_a_small_gradient_beside_a_large_one(wrong_rule):
    for large, error, right in ((1e5, 5e-4, True), (1e5, 5e-3, False), (1e5, -1, False), (1.0, 5e-4, False)):
        wrong_rule("erf", lambda x, /, error=error: Times(1 + error)(glim.erf(x)))
        if right:
            glim.from_torch(Unequal(large))
        else:
            refused("the gradient of b is not PyTorch's", Unequal(large))


def test_zeros_and_ones_hide_nothing(wrong_rule):
    """The second point is not where a model begins."""
    class Zero(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.zeros(4, dtype=torch.float64))

        def forward(self, x):
            return torch.sin(self.w) + x
    wrong_rule("sin", lambda x, /: x)
    refused("aten.sin.default", Zero(), (X,))


def test_new_shapes_are_compared(wrong_rule):
    g = glim.from_torch(Layers(), (X,))
    wrong_rule("erf", lambda x, /: glim.tanh(x))
    g(X), g(X.numpy()), g(glim.Var.leaf(X.numpy()))
    with pytest.raises(glim.ValueError, match="aten.erf.default"), glim.Tape():
        g(normal(3, 4))


def test_rounding_is_no_difference():
    """A gradient that is rounding alone: the key's bias of attention, in float32."""
    torch.manual_seed(0)
    same(nn.MultiheadAttention(8, 2, batch_first=True).eval(), (torch.randn(2, 5, 8),) * 3, tolerance=1e-5)


# ---- masks ----

class Attention(nn.Module):
    def __init__(self, probs):
        super().__init__()
        self.probs, self.w = probs, nn.Parameter(normal(2, 3, 5, 4))
        self.register_buffer("m", torch.triu(torch.ones(5, 5, dtype=torch.bool), 1))
        self.register_buffer("bias", -torch.arange(5, dtype=torch.float64) * torch.tensor([1.0, 2, 3], dtype=torch.float64)[:, None, None])

    def forward(self):
        return self.probs(self, self.w @ self.w.mT) @ self.w


@pytest.mark.parametrize("probs", [
    lambda s, x: x.masked_fill(s.m, -1.0).masked_fill(s.m, -2.0).softmax(-1),
    lambda s, x: x.masked_fill(s.m.mT, -1e32).masked_fill(s.m, -2.0).softmax(-1),
    lambda s, x: (x + s.bias).masked_fill(s.m, -1.0).softmax(-1),
    lambda s, x: (x.masked_fill(s.m, -1.0) + s.bias).softmax(-1),
    lambda s, x: (x + s.bias).masked_fill(s.m, -1e9).softmax(-1),
    lambda s, x: (x + s.bias).masked_fill(s.m, -math.inf).softmax(-1),
    lambda s, x: torch.where(s.m, x.new_tensor(-3.0), x + s.bias).softmax(-1),
    lambda s, x: torch.where(s.m | s.m.flip(0), x.new_tensor(-1e32), x + s.bias).softmax(-1),
    lambda s, x: torch.einsum("hg,bhqk->bgqk", s.w[0, :, :3, 0], x.softmax(-1)),
    lambda s, x: (x.float() + torch.full((5, 5), torch.finfo(torch.float64).min, dtype=torch.float64)).softmax(-1),
], ids=["two fills", "hidden, then filled", "bias, then fill", "fill, then bias", "ALiBi, then -1e9", "ALiBi, then -inf", "where", "all hidden", "heads that are mixed", "a wider mask"])
def test_masks_keep_their_order(probs):
    same(Attention(probs))


@pytest.mark.parametrize("mask", [lambda s, x: x.masked_fill(s.m | (s.m.mT | ~s.m)[:1], -math.inf), lambda s, x: x + torch.where(torch.arange(5)[:, None] == 2, -math.inf, 0.0)])
def test_a_softmax_of_nothing_is_nan_as_in_pytorch(mask):
    g = glim.from_torch(Attention(lambda s, x: mask(s, x).softmax(-1)))
    expected = Attention(lambda s, x: mask(s, x).softmax(-1))().detach().numpy()
    assert np.isnan(expected).any() and not np.isnan(expected).all()
    np.testing.assert_array_equal(np.isnan(g().numpy()), np.isnan(expected))


def test_scores_that_a_batch_shares():
    class Learned(nn.Module):
        def __init__(self):
            super().__init__()
            self.scores, self.value = nn.Parameter(normal(5, 5)), nn.Parameter(normal(2, 5, 4))

        def forward(self, m):
            return self.scores.masked_fill(m, -1e32).softmax(-1) @ self.value
    same(Learned(), (torch.triu(torch.ones(2, 5, 5, dtype=torch.bool), 1),))


# ---- arguments ----

def test_an_argument_is_one_whatever_its_name():
    same(Of(lambda w, b_bias, c_x: (w + b_bias).softmax(-1) @ c_x.mT), (X, X))

    def f(x, b_bias):
        return (x @ x.mT + b_bias).softmax(-1) @ x
    g = glim.from_torch(f, (X, normal(2, 3, 3)))
    bias = glim.Var.leaf(normal(2, 3, 3).numpy())
    with glim.Tape() as tape:
        tape.backward(g(X, bias).sum() + g(X, bias)[0, 0, 0])
    assert bias.grad.numpy().any()


# ---- custom Functions ----

class Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, dy):
        return -dy


class Apart(torch.autograd.Function):
    """Straight-through, with its context set apart."""

    @staticmethod
    def forward(x, scale):
        return x.round() * scale

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.scale = inputs[1]

    @staticmethod
    def backward(ctx, dy):
        return dy * ctx.scale, None


class Drawn(torch.autograd.Function):
    """A mask that forward draws."""

    @staticmethod
    def forward(ctx, x):
        mask = (torch.rand_like(x) > 0.5).to(x.dtype)
        ctx.save_for_backward(mask)
        return x * mask

    @staticmethod
    def backward(ctx, dy):
        (mask,) = ctx.saved_tensors
        return dy * mask


REVERSE = Reversed.apply  # a name of before the import


@pytest.mark.parametrize("f, derivative", [(lambda x: Reversed.apply(x), -1), (lambda x: REVERSE(x), -1), (lambda x: Apart.apply(x, 3.0), 3)])
def test_a_function_on_an_argument_alone(f, derivative):
    g = glim.from_torch(f, X)
    x = glim.Var.leaf(X.numpy())
    with glim.Tape() as tape:
        tape.backward(g(x).sum())
    assert (x.grad.numpy() == derivative).all()
    same(Of(lambda w: f(w * 2) + f(X)))


class Marked(torch.autograd.Function):
    """Results of several dtypes, of which the first alone has a gradient."""
    @staticmethod
    def forward(ctx, x):
        index, largest = x.argmax(-1), x.amax(-1)
        ctx.mark_non_differentiable(index, largest)
        return x * 2, index, largest

    @staticmethod
    def backward(ctx, dy, *_):
        return dy * 3


class Chosen(torch.autograd.Function):
    """Arguments that are no Vars: None, and an integer tensor that is narrower than Glim's."""
    @staticmethod
    def forward(ctx, index, x, scale):
        ctx.index = index.long()
        return x[..., ctx.index] * (scale or 2)

    @staticmethod
    def backward(ctx, dy):
        return None, 3 * dy.new_zeros(X.shape).index_add(-1, ctx.index, dy), None


def test_constants_of_a_function():
    for scale in (None, 5.0):
        same(Of(lambda w: Chosen.apply(torch.tensor([2, 0], dtype=torch.int32), w * 2, scale)))


def test_the_report_of_a_difference_where_pytorch_has_no_derivative():
    class Hidden(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, layer):
            return layer(x)

        @staticmethod
        def backward(ctx, dy):
            return dy, None

    class Written(Layers):
        def forward(self, x):
            y = Hidden.apply(self.first(x), self.second).clone()
            y[:, 1] = y[:, 0] * 2
            return y
    refused("is not PyTorch's", Written(), (X,))


def test_results_of_a_function_without_a_gradient():
    same(Of(lambda w: (lambda y, index, largest: y * largest[..., None] + index[..., None])(*Marked.apply(w * 2))))
    g = glim.from_torch(lambda x: Marked.apply(x), X)
    with glim.Tape():
        y, index, largest = g(glim.Var.leaf(X.numpy()))
        assert y.requires_grad and index.dtype == "int64" and not largest.requires_grad


def test_a_result_without_a_gradient():
    for detached in (torch.inference_mode()(lambda x: x * 2), lambda x: (x * 2).detach_()):
        refused("result 0 has no gradient in PyTorch", detached, X)
    assert not glim.from_torch(lambda x: (x * 2).detach(), X)(glim.Var.leaf(X.numpy())).requires_grad


def test_the_draw_of_a_function_is_kept():
    g = glim.from_torch(lambda x: Drawn.apply(x), X)
    for _ in range(3):
        x = glim.Var.leaf(X.numpy())
        with glim.Tape() as tape:
            y = g(x)
            tape.backward(y.sum())
        np.testing.assert_array_equal(x.grad.numpy() != 0, y.numpy() != 0)


# ---- hooks ----

def with_hook(register):
    model = nn.Linear(4, 4).double()
    register(model)
    return model


class GradFn(nn.Linear):
    def forward(self, x):
        y = super().forward(x)
        if y.grad_fn is not None:
            y.grad_fn.register_hook(lambda dx, dy: tuple(None if d is None else 2 * d for d in dx))
        return y


@pytest.mark.parametrize("model, name", [
    (with_hook(lambda m: m.weight.register_hook(lambda d: 2 * d)), "weight has a hook"),
    (with_hook(lambda m: m.bias.register_post_accumulate_grad_hook(lambda p: p.grad.zero_())), "bias has a hook"),
    (with_hook(lambda m: m.register_full_backward_pre_hook(lambda m, d: d)), "Linear has a hook"),
    (GradFn(4, 4).double(), "the gradient of weight is not PyTorch's.*a hook")])
def test_hooks(model, name):
    refused(name, model, (X,))


def test_hooks_are_left_out():
    def within(w):
        y = w * 3
        y.register_hook(lambda d: 2 * d)
        return y
    for model, args in (with_hook(lambda m: m.register_full_backward_hook(lambda m, dx, dy: (2 * dx[0],))), (X,)), (Of(within), ()):
        refused("has a hook on its gradient", model, args)
        g = glim.from_torch(model, args, hooks=True)
    with glim.Tape() as tape:
        tape.backward(g().sum())
    assert (dict(g.named_parameters())["w"].grad.numpy() == 3).all()


# ---- writes ----

class Halved(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Parameter(normal(4))

    def forward(self, x):
        with torch.no_grad():
            self.p.div_(2)
        return self.p * x


def test_writes_under_no_grad():
    refused("forward writes p", Halved(), (X,))

    def tripled(w):
        y = w * 2
        with torch.no_grad():
            y.mul_(3)
        return y * w
    refused(r"aten.mul_.* writes under no_grad into a value from outside.*copy", Of(tripled))

    def view(w):
        y = w * 2
        with torch.no_grad():
            y.view(-1)[0] = 3.0
        return y * w
    refused("writes under no_grad", Of(view))

    def own(w):
        with torch.no_grad():
            y = w * 2
            y.mul_(3)
        return y * w
    same(Of(own))


class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Parameter(normal(4))

    def forward(self, x):
        self.p.requires_grad_(False)
        return self.p * x


def test_a_mode_that_forward_changes():
    refused("forward writes p", Frozen(), (X,))


class Counts(nn.Module):
    def __init__(self, keep):
        super().__init__()
        self.keep, self.w = keep, nn.Parameter(normal(4))
        self.register_buffer("calls", torch.zeros((), dtype=torch.float64))
        self.n, self.seen = 0, []

    def forward(self, x):
        if self.keep == "buffer":
            self.calls += 1
            return self.w * x * self.calls
        self.n += 1
        self.seen.append(self.n)
        return self.w * x * (self.n if self.keep == "number" else 1)


def test_what_forward_keeps():
    refused("calls.* stand still", Counts("buffer").eval(), (X,))
    refused("another result when it is called again", Counts("number"), (X,))
    model = Counts("nothing that counts")
    same(model, (X,))
    assert model.n == 1 and model.seen == [1]  # same() calls it once


def test_what_a_hook_keeps():
    model = with_hook(lambda m: (setattr(m, "seen", []), m.register_forward_hook(lambda _, x, y: m.seen.append(y))))
    assert glim.from_torch(model, (X,))(X[:1]).shape == (1, 3, 4)


def test_the_model_and_the_program_stay_as_they_are():
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(3), nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4))).double()
    model[0].weight.grad = torch.ones(4, 4, dtype=torch.float64)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    torch.manual_seed(5), random.seed(5), np.random.seed(5)
    generators = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()
    logging.disable(logging.INFO)
    x, out = X.clone(), sys.stdout
    try:
        refused("1 is in train.. mode, in which it changes its statistics, 1.num_batches_tracked: call model.eval", model, (x,))
        model.eval()
        glim.from_torch(model, (x,))
        glim.from_torch(lambda x: x.mul_(2) + 1, (x,))
        assert logging.root.manager.disable == logging.INFO
    finally:
        logging.disable(logging.NOTSET)
    assert all(torch.equal(v, before[k]) for k, v in model.state_dict().items()) and torch.equal(x, X)
    assert torch.equal(torch.get_rng_state(), generators[0]) and random.getstate() == generators[1]
    assert np.random.get_state()[1].tolist() == generators[2] and sys.stdout is out and (model[0].weight.grad == 1).all()


def test_two_threads():
    out, err, errors = sys.stdout, sys.stderr, []

    def run():
        try:
            glim.from_torch(lambda x: REVERSE(x) * 2, X)
        except Exception as error:
            errors.append(error)
    threads = [threading.Thread(target=run) for _ in range(3)]
    [t.start() for t in threads], [t.join() for t in threads]
    assert not errors and sys.stdout is out and sys.stderr is err and logging.root.manager.disable == 0


@pytest.mark.parametrize("change, name", [
    (lambda m: m.train(), "training"), (lambda m: setattr(m, "scale", 3.0), "scale"), (lambda m: m.add_module("inner", nn.Tanh()), "inner"),
    (lambda m: m.b.fill_(7), "b"), (lambda m: m.inner.register_forward_hook(lambda m, x, y: 2 * y), "inner._forward_hooks")])
def test_a_model_that_changes_is_noticed(change, name):
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.scale, self.w = nn.Sigmoid(), 2.0, nn.Parameter(normal(4))
            self.register_buffer("b", torch.ones(4, dtype=torch.float64))

        def forward(self, x):
            return self.inner(self.w * x * self.scale + self.b)
    model = Scaled().eval()
    g = glim.from_torch(model, (X,))
    g(X)
    change(model)
    for x in (X, X[:, :1]):
        with pytest.raises(glim.StateError, match=f"changed since the import, in {name}"):
            g(x)


def test_leaves_within_forward():
    same(Of(lambda w: w * 2 + torch.zeros(4, dtype=w.dtype).requires_grad_()))

    def required(w, x):
        y = x[:, None]
        y.requires_grad = True
        return w * y[:, 0]
    same(Of(required), (X,))


def test_arguments_that_would_be_taken_otherwise():
    g = glim.from_torch(Of(lambda w, x: (w * x).softmax(0), 4), X[:1, 0])
    for inputs in (X[:1, 0], (X[:1, 0],)):
        assert "(1, 4)" in g.step(inputs, lambda y: (y * y).sum(), "print softmax")
    with pytest.raises(TypeError, match="needs a gradient, and gets none"):
        g(X[:1, 0].clone().requires_grad_())
    with pytest.raises(TypeError, match="verify is 'no'"):
        glim.from_torch(nn.Softmax(0), X, verify="no")
    with pytest.raises(TypeError, match="one tuple"):
        glim.from_torch(nn.Bilinear(4, 4, 2).double(), X, X)


def test_a_cache_among_further_keywords():
    class Config:
        use_cache = True

    class Cached(nn.Linear):
        config = Config()

        def forward(self, x, **kwargs):
            y = super().forward(x)
            return (y, object()) if kwargs.get("use_cache", self.config.use_cache) else y
    glim.from_torch(Cached(4, 4).double(), (X,))


def test_a_parameter_of_nobody():
    class Listed(nn.Module):
        def __init__(self):
            super().__init__()
            self.ws = [nn.Parameter(normal(4))]

        def forward(self, x):
            return x * self.ws[0]
    refused("a parameter of shape .4,. that is none of its own", Listed(), (X,))
    refused("0 is made by torch.jit.*give the module", nn.Sequential(torch.jit.script(nn.Linear(4, 4))), (X.float(),))


class Packed(nn.LSTM):
    def forward(self, x):
        y, _ = super().forward(nn.utils.rnn.pack_padded_sequence(x, torch.tensor([2, 2, 1])))
        return nn.utils.rnn.pad_packed_sequence(y)[0]


class Converting(nn.Linear):
    def __init__(self):
        super().__init__(4, 4)
        self.inner = nn.Linear(4, 4)

    def forward(self, x):
        return self.inner.to(torch.float32)(x)


def test_what_depends_on_values(capfd):
    refused(r"the shape of a result depends on values: \D+ \(.*test_torch_doors.py:\d+\)$", lambda x: torch.combinations(x[0, 0], 2), X)
    refused(r"control flow depends on values: \D+ \(.*test_torch_doors.py:\d+\)$", lambda x: x.sin() if x.sum() > 0 else x, X)
    refused(r"control flow depends on values: \D+ \(", Packed(4, 3).double(), (X,))
    refused("PyTorch does not differentiate the model: .*remainder", lambda x: torch.remainder(5.0, x), X)
    refused(r"forward converts a module, .* \(.*test_torch_doors.py:\d+\)$", Converting(), (X.float(),))
    refused("without the branch, the loop or float", lambda x: x / float(x.detach().abs().max()), X)
    refused("forward leaves PyTorch", lambda x: x + torch.from_numpy(x.detach().numpy()), X)
    refused("complex numbers", lambda x: torch.view_as_real(torch.view_as_complex(x.reshape(2, 3, 2, 2)) * torch.polar(x[0, :2, :2], x[0, :2, :2])[0]), X)
    refused(r"refuses its arguments: .*size 24 \(.*test_torch_doors.py:\d+\)$", lambda x: x.view(2, 2), X)
    assert capfd.readouterr().err == ""


def test_a_sparse_gradient():
    same(nn.Embedding(5, 4, sparse=True).double(), (torch.tensor([[1, 1, 0]]),))


def test_random_numbers():
    refused("train.. mode, in which it draws numbers", nn.Dropout(), (X,))
    for f in (lambda x: x * torch.rand_like(x), lambda x: F.gumbel_softmax(x), lambda x: x + torch.randn(4), lambda x: torch.bernoulli(x.sigmoid()) + x):
        refused(r"in the model \(.*test_torch_doors.py:\d+\) draws", f, X)


# ---- names and results ----

class Named(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.add_module(name, nn.Linear(4, 4).double())
        self.name = name

    def forward(self, x):
        return getattr(self, self.name)(x)


@pytest.mark.parametrize("name", ["step", "inspect", "freeze", "torch_module", "to_torch", "parameters_", "load", "_taped", "_add"])
def test_modules_of_any_name(name):
    model = Named(name)
    model.get_submodule(name).bias.requires_grad_(False)
    g = same(model, (X,))
    assert g.to_torch() is model and "Linear" not in repr(g.step)
    assert "backward of" in g.derive((X,), loss=lambda y: y.sum()) and g.step((X,), loss=lambda y: y.sum(), commands="continue")


def test_a_name_that_export_has():
    refused("torch.export refuses the model: .*_graph", Named("_graph"), (X,))
    refused("parameter_count.weight: .*rename", Named("parameter_count"), (X,))


def test_parameters_of_any_name():
    class Step(nn.Module):
        def __init__(self):
            super().__init__()
            self.step = nn.Parameter(normal(4))

        def forward(self, x):
            return self.step * x, self.step
    same(Step(), (X,))


Pair = collections.namedtuple("Pair", "keys values")


@dataclasses.dataclass
class Result:
    y: torch.Tensor


def test_results():
    g = glim.from_torch(lambda x: Pair(x + 1, [x, (x * 2, 3, None)]), X)
    y = g(X)
    assert type(y) is Pair and type(y.values) is list and y.values[1][1:] == (3, None)
    y = glim.from_torch(lambda x: {"items": x, "values": x * 2}, X)(X)
    np.testing.assert_array_equal(y["values"].numpy(), 2 * y["items"].numpy())
    assert list(y.items())[0][0] == "items"
    y = glim.from_torch(lambda x: torch.max(x, -1), X)(X)
    assert type(y).__name__ == "max" and y.indices.dtype == "int64"
    assert glim.from_torch(lambda x: x.argmax(-1).int(), X)(X).dtype == "int64"
    refused("the model returns a Result: return tensors", lambda x: Result(x), X)
    refused("a value becomes a constant, as with .data: use detach", lambda x: (x * 2).data, X)
    refused("a result of the model is float16", lambda x: (x, torch.ones(2, dtype=torch.float16)), X, glim.DTypeError)


def test_a_rule_that_refuses_does_so_at_the_import():
    ids = torch.tensor([[1, 1, 0]])
    refused(r"aten.embedding.default in the model \(.*test_torch_models.py:\d+\): .*scale_grad_by_freq=True",
            Of(lambda w: F.embedding(ids, w, scale_grad_by_freq=True), 3, 4))
