"""glim.compare_backward on the corpus of kernels, and what it refuses."""
import copy
import json
import xml.etree.ElementTree as ET

import pytest

torch = pytest.importorskip("torch")
import glim  # noqa: E402
from glim.kernels.rounding import rounded  # noqa: E402
from glim.kernels.truth import reference_gradients  # noqa: E402
from kernels import CASES  # noqa: E402
from kernels.rules import drawn, judged  # noqa: E402

SAMPLE = CASES[::6]  # all of it: python3 -m kernels.table


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case.name)
def test_a_kernel_of_the_corpus(case):
    report = judged(case, *drawn(case, 77))
    assert report.verdict != "failed" if not case.wrong else report.verdict != "passed", report


def attention(q, k, v):
    return (q @ k.mT * q.shape[-1] ** -0.5).softmax(-1) @ v


def attention_backward(dy, q, k, v, fault=lambda dq, dk, dv: None):
    low = q.dtype
    Q, K, V, dO = (x.float() for x in (q, k, v, dy))
    scale = Q.shape[-1] ** -0.5
    scores = Q @ K.mT * scale
    p = (scores - scores.logsumexp(-1, keepdim=True)).exp()
    delta = (dO * (p @ V).to(low).float()).sum(-1, keepdim=True)
    ds = (p * (dO @ V.mT - delta)).to(low).float()
    gradients = ds @ K * scale, ds.mT @ Q * scale, p.to(low).float().mT @ dO
    fault(*gradients)
    return tuple(g.to(low) for g in gradients)


class Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v):
        ctx.save_for_backward(q, k, v)
        return attention(q, k, v)

    @staticmethod
    def backward(ctx, dy):
        return attention_backward(dy, *ctx.saved_tensors)


def operands(*shape, dtype=torch.bfloat16):
    generator = torch.Generator().manual_seed(5)
    return [torch.randn(shape, generator=generator).to(dtype) for _ in range(3)]


def with_fault(fault):
    return None, lambda dy, *inputs: attention_backward(dy, *inputs, fault=fault)


def test_a_function_a_module_and_a_backward_are_kernels():
    inputs = operands(2, 2, 24, 16)
    assert glim.compare_backward(Attention, attention, *inputs, batch=0)
    assert glim.compare_backward((None, attention_backward), attention, *inputs, batch=0)
    assert glim.compare_backward(lambda *x: Attention.apply(*x), attention, *inputs)
    linear = torch.nn.Linear(16, 8)
    report = glim.compare_backward(copy.deepcopy(linear).bfloat16(), linear, inputs[0], inside=None)
    assert report, report


def test_the_last_tile_is_named():
    def fault(dq, dk, dv):
        dq[1, 1, 32:40] = 0
    report = glim.compare_backward(with_fault(fault), attention, *operands(2, 2, 40, 16), name="tiled")
    assert report.box == (0, ((1, 2), (1, 2), (32, 40), (0, 16)))
    assert str(report).splitlines()[0] == ("backward of tiled in bfloat16: FAILED: q[1, 1, 32:40, :], the last 8 of 40 along "
                                           "axis 2; zero where the truth is not")


def test_a_factor_is_named_with_its_mistake():
    def fault(dq, dk, dv):
        dk *= 2
    report = glim.compare_backward(with_fault(fault), attention, *operands(2, 2, 24, 16))
    assert report.place == ("k", "everywhere; 2 × the truth")
    assert "constant factor" in report.mistake


def test_a_shape_smaller_than_a_tile_gives_no_name():
    def backward(dy, q, k, v):  # dQ sums over whole tiles of 16 keys alone
        count = k.shape[-2] // 16 * 16
        dq = attention_backward(dy, q, k, v)[0] * 0
        if count:
            P = (q.float() @ k.float().mT * q.shape[-1] ** -0.5).softmax(-1)
            dP = dy.float() @ v.float().mT
            dS = P * (dP - (P * dP).sum(-1, keepdim=True))
            dq = (dS[..., :count] @ k[..., :count, :].float() * q.shape[-1] ** -0.5).to(q.dtype)
        return dq, *attention_backward(dy, q, k, v)[1:]
    report = glim.compare_backward((None, backward), attention, *operands(2, 2, 40, 16))
    assert report.place[0] == "q" and report.place[1].startswith("everywhere") and report.mistake is None, report


def test_a_reference_stays_in_float64():
    x = operands(24, 16)[0]
    for reference in (lambda x: x.float().exp(), lambda x: x.to(torch.float32).exp(), lambda x: x.half().exp(),
                      lambda x: x.exp().sum(-1, dtype=torch.float32)):
        _, (dx,) = reference_gradients(reference, [x], [torch.ones(24, 16) if reference(x).ndim == 2 else torch.ones(24)])
        assert torch.allclose(dx, x.double().exp(), rtol=1e-14, atol=0)


def test_a_mistake_that_other_inputs_show():
    def backward(dy, x):
        e = x.half().exp().double()  # overflows
        p = e / e.sum(-1, keepdim=True)
        d = dy.double()
        return (p * (d - (p * d).sum(-1, keepdim=True))).to(x.dtype)
    x = (torch.randn(16, 24, generator=torch.Generator().manual_seed(1)) * 2).bfloat16()
    report = glim.compare_backward((None, backward), lambda x: x.softmax(-1), x)
    assert report.verdict == "failed" and report.probe == "times 4", report


def test_behaviour_is_judged():
    inputs, calls = operands(2, 2, 24, 16), []

    def stateful(dy, *x):
        calls.append(0)
        return [g * (1 if len(calls) % 2 else 1.1) for g in attention_backward(dy, *x)]
    verdicts = glim.compare_backward((None, stateful), attention, *inputs).verdicts
    assert verdicts["twice"] == "failed"

    def clipped(dy, *x):
        return attention_backward(dy.clamp(-1, 1), *x)
    assert glim.compare_backward((None, clipped), attention, *inputs).verdicts["linear in dy"] == "failed"

    def flat(dy, *x):  # as a kernel reads memory
        return attention_backward(torch.as_strided(dy, dy.shape, (768, 384, 16, 1)), *x)
    assert glim.compare_backward((None, flat), attention, *inputs).verdicts["strided dy"] == "failed"

    class Frozen(Attention):
        @staticmethod
        def backward(ctx, dy):
            gradients = attention_backward(dy, *ctx.saved_tensors)
            return gradients if all(ctx.needs_input_grad) else tuple(g * 2 for g in gradients)
    assert glim.compare_backward(Frozen, attention, *inputs).verdicts["input alone"] == "failed"

    def other_item(dy, q, k, v):
        dq, dk, dv = attention_backward(dy, q, k, v)
        return dq + dq[:1] * (len(dq) > 1), dk, dv
    assert glim.compare_backward((None, other_item), attention, *inputs, batch=0).verdicts["item alone"] == "failed"
    assert glim.compare_backward((None, other_item), attention, *inputs).verdicts["item alone"] == "not applicable"

    def writes(dy, q, k, v):
        gradients = attention_backward(dy, q, k, v)
        q.zero_()
        return gradients
    report = glim.compare_backward((None, writes), attention, *inputs)
    assert report.verdicts["inputs kept"] == "failed" and "writes to q" in str(report)


def test_a_kernel_with_other_gradients_fails():
    inputs = operands(2, 2, 24, 16)
    for change, words in ((lambda g: g[:2], "2 gradients for 3 inputs"),
                          (lambda g: [g[0].float(), *g[1:]], "the gradient of q is float32 (2, 2, 24, 16)"),
                          (lambda g: [g[0][:1], *g[1:]], "(1, 2, 24, 16); q is bfloat16"),
                          (lambda g: [None, *g[1:]], "zero where the truth is not"),
                          (lambda g: [g[0] / 0, *g[1:]], "not finite")):
        report = glim.compare_backward((None, lambda dy, *x: change(attention_backward(dy, *x))), attention, *inputs)
        assert report.verdict == "failed" and words in str(report), report


def test_a_kernel_that_raises():
    inputs = operands(2, 2, 24, 16)

    def at_inputs(dy, *x):
        raise RuntimeError("no tile for 24")
    with pytest.raises(RuntimeError, match="no tile"):
        glim.compare_backward((None, at_inputs), attention, *inputs)

    def at_a_probe(dy, q, k, v):
        if (q >= 0).all():
            raise RuntimeError("no tile for 24")
        return attention_backward(dy, q, k, v)
    report = glim.compare_backward((None, at_a_probe), attention, *inputs)
    assert report.verdicts["runs"] == "failed" and report.probe == "all of one sign" and "no tile" in str(report)


def test_a_kernel_that_hangs_is_ended(monkeypatch):
    from glim.kernels import judge
    monkeypatch.setattr(judge, "HANGS", 1)

    def endless(dy, *x):
        while True:
            pass
    report = glim.compare_backward((None, endless), attention, *operands(2, 2, 24, 16))
    assert "did not return within 1 s" in str(report) and not report


@pytest.mark.parametrize("words, inputs, options", [
    ("every element of dy is the same", lambda: operands(2, 2, 8, 4), dict(dy=torch.ones(2, 2, 8, 4))),
    ("dy is (3,), the reference's output (2, 2, 8, 4)", lambda: operands(2, 2, 8, 4), dict(dy=torch.randn(3))),
    ("every gradient is smaller than", lambda: operands(2, 2, 8, 4), dict(dy=torch.randn(2, 2, 8, 4) * 1e-38)),
    ("an input is float8_e4m3fn", lambda: operands(2, 2, 8, 4, dtype=torch.float8_e4m3fn), {}),
    ("glim.gradcheck checks float64", lambda: operands(2, 2, 8, 4, dtype=torch.float64), {}),
    ("no input is a floating tensor", lambda: [torch.ones(2, 2, dtype=torch.int8)] * 3, {}),
    ("inside is 'float8'", lambda: operands(2, 2, 8, 4), dict(inside="float8")),
    ("accumulate is 'int'", lambda: operands(2, 2, 8, 4), dict(accumulate="int")),
    ("batch has 1 axes for 3 inputs", lambda: operands(2, 2, 8, 4), dict(batch=(0,))),
    ("not finite", lambda: [x * 1e38 for x in operands(2, 2, 8, 4)], {}),
])
def test_what_is_refused(words, inputs, options):
    with pytest.raises(glim.Error) as error:
        glim.compare_backward(Attention, attention, *inputs(), **options)
    assert words in str(error.value)


def test_a_reference_that_draws_is_refused():
    with pytest.raises(glim.Error, match="another output the second time"):
        glim.compare_backward(Attention, lambda *x: torch.dropout(attention(*x), 0.5, True), *operands(2, 2, 8, 4))


def test_other_forms_of_the_report():
    report = glim.compare_backward(Attention, attention, *operands(2, 2, 24, 16))
    assert json.loads(report.to_json())["checks"]["whole"]["verdict"] == "passed"
    suite = ET.fromstring(report.to_junit())
    assert suite.get("failures") == "0" and len(suite) == len(report.verdicts)
    assert "passed" in report._repr_html_()


def test_recorded_operands():
    class Block(torch.nn.Module):
        def forward(self, x, *, bias=None):
            return Attention.apply(x, x * 2, x) if bias is None else x + bias
    block, x = Block(), operands(2, 2, 8, 4)[0].requires_grad_()
    with glim.record_inputs(Attention) as calls, glim.record_inputs(block) as outer:
        (block(x) * 3).sum().backward()
    assert len(calls) == len(outer) == 1
    assert torch.equal(calls[0].inputs[1], x.detach() * 2) and torch.equal(calls[0].dy, torch.full_like(x, 3))
    assert torch.equal(outer[0].inputs[0], x) and torch.equal(outer[0].dy, calls[0].dy)
    block(x)
    assert len(calls) == 1 and "apply" not in vars(Attention)
    with pytest.raises(TypeError, match="Module or torch.autograd.Function"):
        with glim.record_inputs(attention):
            pass


def test_rounding_is_to_a_neighbour_and_right_on_average():
    x = torch.randn(50_000, generator=torch.Generator().manual_seed(3)).double()
    for dtype, digits in ((torch.bfloat16, 8), (torch.float16, 11), (torch.float32, 24)):
        y = rounded(x, dtype, 9)
        assert torch.equal(y, y.to(dtype).double())
        assert ((y - x) / x).abs().max() <= 2.0 ** (1 - digits) or dtype == torch.float16  # whose small numbers are subnormal
        assert abs(((y - x) / x.abs()).mean()) < 2.0**-digits / 30
        assert torch.equal(rounded(y, dtype, 10), y)
    small = rounded(x * 1e-7, torch.float16, 9)
    assert torch.equal(small, small.half().double())


def test_gradcheck_says_what_it_did_not_check():
    report = glim.gradcheck(lambda x: x.softmax(-1), torch.randn(3, 4).bfloat16())
    assert report and "bfloat16 was not checked" in str(report).splitlines()[0]
    assert "bfloat16 arithmetic" in json.loads(report.to_json())["not_checked"]


def test_the_sums_of_pytorch_in_bfloat16_are_found():
    generator = torch.Generator().manual_seed(0)
    x, w, b = (torch.randn(shape, generator=generator).bfloat16() for shape in ((4096, 8), (8,), (8,)))

    def layer_norm(x, w, b):
        return torch.nn.functional.layer_norm(x, (8,), w, b)
    report = glim.compare_backward(layer_norm, layer_norm, x, w, b)
    assert report.verdict == "failed" and report.place[0] in "wb"
    assert glim.compare_backward(layer_norm, layer_norm, x.float(), w.float(), b.float())


def test_a_hidden_row_of_pytorch_is_found():
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, 1, 4, 8, generator=generator) for _ in range(3))
    mask = torch.zeros(4, 4)
    mask[0] = torch.finfo(torch.float32).min

    def fused(q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask.to(q.dtype))
    dy = torch.zeros(1, 1, 4, 8)
    dy[..., 0, :] = torch.randn(8, generator=generator)
    report = glim.compare_backward(fused, fused, q, k, v, dy=dy)
    assert report.verdict == "failed" and "v[:, :, :, :]" not in str(report) and "v everywhere; 4 × the truth" in str(report), report


def test_what_a_kernel_may_take():
    q, k, v = operands(2, 2, 24, 16)
    mask = torch.rand(2, 1, 24, 24, generator=torch.Generator().manual_seed(2)) < 0.8
    mask[..., 0] = True

    def masked(q, k, v, mask, scale):  # as models spell it
        scores = (q @ k.mT * scale).masked_fill(~mask, -1e9)
        return scores.float().softmax(-1, dtype=torch.float32).to(q.dtype) @ v

    def backward(dy, q, k, v, mask, scale):
        wide = [x.float().requires_grad_() for x in (q, k, v)]
        gradients = torch.autograd.grad(masked(*wide, mask, scale), wide, dy.float())
        return *(g.to(q.dtype) for g in gradients), None, None
    report = glim.compare_backward((None, backward), masked, q, k, v, mask, 0.25, batch=0)
    assert report and report.verdicts["item alone"] == "passed", report

    def half(dy, *x):
        gradients = backward(dy, *x)
        return gradients[0] / 2, *gradients[1:]
    assert glim.compare_backward((None, half), masked, q, k, v, mask, 0.25).place == ("q", "everywhere; 0.5 × the truth")


def test_parameters_go_by_name_and_buffers_stay():
    class Reversed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bias = torch.nn.Parameter(torch.randn(16).bfloat16())
            self.weight = torch.nn.Parameter(torch.randn(16).bfloat16())

        def forward(self, input):
            return torch.nn.functional.layer_norm(input.float(), (16,), self.weight.float(), self.bias.float()).to(input.dtype)
    x = operands(24, 16)[0]
    report = glim.compare_backward(Reversed(), torch.nn.LayerNorm(16), x, batch=0)
    assert report.verdict == "passed" and report.verdicts["item alone"] == "passed", report
    norm = torch.nn.BatchNorm1d(16)
    glim.compare_backward(norm, norm, x.float())
    assert norm.num_batches_tracked == 0


def test_the_caller_keeps_its_tensors():
    x, dy = operands(24, 16)[:2]
    kept = x.clone(), dy.clone()

    def writes(dy, x):
        dy.mul_(2)
        x.mul_(2)
        return dy
    assert glim.compare_backward((None, writes), lambda x: x * 2, x, dy=dy).verdicts["inputs kept"] == "failed"
    assert torch.equal(x, kept[0]) and torch.equal(dy, kept[1])


def test_a_row_near_zero_is_tried():
    def backward(dy, x):  # without eps
        wide = x.float().requires_grad_()
        y = wide * wide.square().mean(-1, keepdim=True).rsqrt()
        return torch.autograd.grad(y, wide, dy.float())[0].to(x.dtype)
    report = glim.compare_backward((None, backward), lambda x: x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt(),
                                   operands(24, 16)[0])
    assert report.verdict == "failed" and report.probe == "a row near zero", report


@pytest.mark.parametrize("words, call", [
    ("both are functions of PyTorch's tensors", lambda x: glim.compare_backward("f", torch.sin, x)),
    ("both are functions of PyTorch's tensors", lambda x: glim.compare_backward((torch.sin, None), torch.sin, x)),
    ("autograd does not reach", lambda x: glim.compare_backward((None, lambda dy, x: dy), lambda x: x.detach().sin(), x)),
    ("1 floating outputs, the reference 2", lambda x: glim.compare_backward(torch.sin, lambda x: (x.sin(), x.cos()), x)),
    ("the kernel's parameters are", lambda x: glim.compare_backward(torch.nn.Linear(16, 3).bfloat16(), torch.nn.PReLU(), x)),
    ("dy is a floating tensor", lambda x: glim.compare_backward(torch.sin, torch.sin, x, dy=x.float().numpy())),
    ("batch is 7", lambda x: glim.compare_backward(torch.sin, torch.sin, x, batch=7)),
    ("dy has not 24 items", lambda x: glim.compare_backward(lambda x: x.sin().sum(), lambda x: x.sin().sum(), x, batch=0)),
])
def test_what_cannot_be_compared(words, call):
    with pytest.raises((TypeError, glim.Error), match=words):
        call(operands(24, 16)[0])


def test_recorded_keywords_keep_their_order():
    class Block(torch.nn.Module):
        def forward(self, x, mask=None, bias=None):
            return x if bias is None else x + bias
    block, x = Block(), operands(24, 16)[0].requires_grad_()
    with glim.record_inputs(block) as calls:
        block(x, bias=x * 2)
    assert calls[0].inputs[1] is None and torch.equal(calls[0].inputs[2], x * 2)
