"""glim.diagnose names what is wrong in PyTorch models with one fault each, and its line."""
import pytest

import glim

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b, self.out = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 1)
        self.changed()

    def changed(self):
        pass

    def forward(self, x):
        return self.out(self.middle(self.a(x))).mean()

    def middle(self, h):
        return torch.tanh(self.b(h))


class Detached(Base):
    def middle(self, h):
        return h + torch.tanh(self.b(h)).detach()


class Frozen(Base):
    def changed(self):
        self.b.requires_grad_(False)


class AlongTheWrongAxis(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.softmax(x, -1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, dy):
        (y,) = ctx.saved_tensors
        return y * (dy - (dy * y).sum(1, keepdim=True))


class Custom(Base):
    def middle(self, h):
        return AlongTheWrongAxis.apply(self.b(h))


class Where(Base):
    def middle(self, h):
        z = self.b(h)
        return torch.where(z > 0, torch.sqrt(z), torch.zeros_like(z))


class Infinite(Base):  # the value is finite, its slope is not
    def middle(self, h):
        return torch.sqrt(F.relu(self.b(h)))


class InPlace(Base):
    def forward(self, x):
        z = torch.exp(self.b(self.a(x)))
        w = z * 2
        z += 1
        return self.out(w + z).mean()


class Dead(Base):
    def changed(self):
        nn.init.constant_(self.b.bias, -100.0)

    def middle(self, h):
        return torch.relu(self.b(h)) + h


class Masked(Base):
    def middle(self, h):
        q = self.b(h)
        return (q @ q.mT / 8 ** 0.5).masked_fill(torch.ones(5, 5, dtype=torch.bool), float("-inf")).softmax(-1) @ h


class Twice(Base):
    def changed(self):
        self.b.weight = nn.Parameter(self.a.weight.data)


class Saturated(Base):
    def middle(self, h):
        q = self.b(h)
        return (100 * q @ q.mT).softmax(-1) @ h


class Unused(Base):
    def middle(self, h):
        return h


class WithoutGrad(Base):
    def middle(self, h):
        with torch.no_grad():
            z = self.b(h)
        return h * z


class Logarithm(Base):
    def middle(self, h):
        return torch.log(F.relu(self.b(h)))


class TimesZero(Base):
    def middle(self, h):
        return h + self.b(h) * torch.zeros(8)


class Chosen(Base):
    def middle(self, h):
        return h * F.one_hot(self.b(h).argmax(-1), 8).float()


class Hooked(Base):
    def middle(self, h):
        z = self.b(h)
        if z.requires_grad and not torch.compiler.is_compiling():
            z.register_hook(lambda g: 2 * g)
        return z


class HookedParameter(Base):
    def changed(self):
        self.b.weight.register_hook(lambda g: 0 * g)


class Capped(Base):  # its mask is minus infinity, which is no fault
    def middle(self, h):
        q = self.b(h)
        return torch.tanh(q @ q.mT).masked_fill(torch.ones(5, 5).triu(1) > 0, float("-inf")).softmax(-1) @ h


class Keys(Base):  # the bias of a key has a gradient of 0, of which rounding is left
    def middle(self, h):
        return (h @ self.b(h).mT).softmax(-1) @ h


X = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(1))
B = "b.weight, b.bias: "


@pytest.mark.parametrize("cls, kind, words", [
    (Detached, "no gradient", B + "the way to the loss is cut by detach"), (Frozen, "no gradient", B + "requires_grad is False"),
    (Custom, "wrong backward", "AlongTheWrongAxis: a sum along axis 1 instead of axis 2"), (Where, "value", "sqrt gives 34 NaN of 80"),
    (Infinite, "gradient", "backward of sqrt gives 34 (NaN|infinite) of 80"), (InPlace, "backward fails", "modified by an inplace operation.*output 0 of Exp"),
    (Dead, "zero gradient", B + "relu: all 80 inputs are at most 0, so nothing passes"), (Masked, "mask", "10 of 10 queries may attend to nothing"),
    (Twice, "shared memory", "a.weight and b.weight are two parameters in one storage"), (Saturated, "saturated", "100% of the rows"),
    (Unused, "no gradient", B + "this pass does not read it"), (WithoutGrad, "no gradient", B + "the way to the loss is cut by detach, or torch.no_grad"),
    (Logarithm, "value", "log gives 34 infinite of 80"), (TimesZero, "zero gradient", B + "mul: the other operand is 0 everywhere"),
    (Chosen, "no gradient", B + "the way to the loss is cut by argmax"), (Hooked, "another gradient", "as where a hook changes it"),
    (HookedParameter, "another gradient", "^b.weight: .*as where a hook changes it")])
def test_a_fault_is_named(cls, kind, words):
    report = glim.diagnose(cls(), X)
    first = report.findings[0]
    assert not report and first.kind == kind
    import re
    assert re.search(words, first.text, re.S), report
    if kind in ("value", "gradient", "zero gradient", "mask", "saturated", "backward fails") or cls in (Detached, Chosen, Custom):
        assert "test_diagnose.py:" in first.place, report


def test_nothing_is_found_in_what_is_right():
    report = glim.diagnose(Base(), X)
    assert report and str(report).startswith("nothing found")
    assert glim.diagnose(nn.Linear(8, 2), X, loss=lambda y: y.sum())
    assert glim.diagnose(Capped(), X), glim.diagnose(Capped(), X)
    assert glim.diagnose(Keys(), X), glim.diagnose(Keys(), X)
    torch.manual_seed(0)
    report = glim.diagnose(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(), X, loss=lambda y: (y ** 3).sum())
    assert report, report
    with pytest.raises(glim.ValueError, match="the pass has no loss"):
        glim.diagnose(nn.Linear(8, 2), X)


def test_a_norm_in_float32_of_a_model_in_float64():
    """Its rounding is no fault of a gradient."""
    class Norm(Base):
        def middle(self, h):
            x = self.b(h).float()
            return (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)).to(h.dtype)
    assert glim.diagnose(Norm().double(), torch.randn(4, 8, dtype=torch.float64))


class ConstantOfNaN(Base):
    def changed(self):
        self.register_buffer("scale", torch.tensor([1.0] * 7 + [float("nan")]))

    def middle(self, h):
        return torch.tanh(self.b(h)) * self.scale


class ConstantThatOverflows(Base):
    def middle(self, h):
        with torch.no_grad():
            scale = torch.ones(8) / torch.zeros(8)
        return torch.tanh(self.b(h)) * scale


class NotTaken(Base):
    def middle(self, h):
        return torch.linalg.svdvals(torch.log(self.b(h) - 100))[:, None].expand(-1, 8)


@pytest.mark.parametrize("model, text", [
    (ConstantOfNaN, "scale has 1 NaN of 8"), (ConstantThatOverflows, "8 infinite of 8"), (NotTaken, "NaN of")])
def test_the_first_value_that_is_not_finite(model, text):
    found = glim.diagnose(model(), (torch.randn(4, 8),))
    first = next(f for f in found.findings if f.kind == "value")
    assert text in first.text and "test_diagnose.py" in first.place, found


def test_a_mask_of_infinities_is_no_fault():
    class Masked(Base):
        def middle(self, h):
            s = (h @ h.T).masked_fill(torch.ones(4, 4).triu(1).bool(), float("-inf"))
            return torch.softmax(s, -1) @ self.b(h)

    assert not [f for f in glim.diagnose(Masked(), (torch.randn(4, 8),)).findings if f.kind == "value"]
