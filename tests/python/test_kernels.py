"""The corpus of kernels is what it says: right ones are right in float64, wrong ones differ where they say so."""

import pytest

torch = pytest.importorskip("torch")

from kernels import CASES, FRESH, PYTORCH  # noqa: E402

RIGHT, WRONG = [c for c in CASES + FRESH if not c.wrong], [c for c in CASES + FRESH if c.wrong]
CHANGES = {
    "times 4": lambda x: 4 * x,
    "times 1/16": lambda x: x / 16,
    "all of one sign": torch.abs,
    "repeated rows": lambda x: repeat_row(x) if x.dim() > 1 else x,
    None: lambda x: x,
}


pytestmark = pytest.mark.usefixtures("one_thread")


def repeat_row(x):
    x = x.clone()
    x[..., 1::2, :] = x[..., :1, :]
    return x


def draw(case, seed, dtype, only_at=None):
    """dy and the inputs, in another dtype and changed."""
    generator = torch.Generator().manual_seed(seed)
    change = CHANGES.get(only_at, CHANGES[None])
    inputs = [change(x.to(dtype)) if x.is_floating_point() else x for x in case.draw(generator)]
    dy = torch.randn(case.reference(*inputs).shape, generator=generator, dtype=dtype)
    if only_at in ("dy in the last row alone", "dy in the last item alone"):
        last = dy[..., -1:, :] if "row" in only_at else dy[-1:]
        last = last.clone()
        dy.zero_()
        (dy[..., -1:, :] if "row" in only_at else dy[-1:]).copy_(last)
    return dy.abs() if only_at == "all of one sign" else dy, inputs


def errors(case, seed, only_at=None):
    """For each floating input, its gradient's error over the RMS of the reference's, in float64. A nan is infinite."""
    dy, inputs = draw(case, seed, torch.float64, only_at)
    leaves = [x.clone().requires_grad_(x.is_floating_point()) for x in inputs]
    truth = torch.autograd.grad(case.reference(*leaves), [x for x in leaves if x.requires_grad], dy)
    calls = [[g for g in case.backward(dy, *inputs) if g is not None] for _ in range(2)]  # a wrong kernel may keep state
    differences = [(torch.stack(g) - t).abs().amax(0) / t.square().mean().sqrt() for *g, t in zip(*calls, truth)]
    return [difference.nan_to_num(torch.inf) for difference in differences]


def largest(*args):
    return max(e.max().item() for e in errors(*args))


def test_names_and_counts():
    names = [case.name for case in CASES + FRESH + PYTORCH]
    assert len(set(names)) == len(names)
    assert min(len(RIGHT), len(WRONG)) >= 115
    assert sum(case.only_at is not None for case in WRONG) >= 12
    assert sum(case.box is not None for case in WRONG) >= 25


def test_each_right_one_is_right_in_float64():
    assert not {c.name: e for c in RIGHT if not (e := largest(c, 1)) < 1e-9}


def test_each_wrong_one_differs_in_float64():
    assert not {c.name: e for c in WRONG if not (e := max(largest(c, seed, c.only_at) for seed in (1, 2))) > 1e-3}


def test_what_only_other_inputs_show_is_unseen_in_its_dtype():
    """In float64 what is unseen is below half the spacing of the dtype, relative to the RMS."""
    unseen = [c for c in WRONG if c.only_at]
    assert not {c.name: e for c in unseen if not (e := largest(c, 1)) < torch.finfo(c.dtype).eps / 2}


def test_boxes():
    for case in filter(lambda c: c.box, WRONG):
        number, ranges = case.box
        wrong = [torch.stack(e).amax(0) > 1e-7 for e in zip(*(errors(case, seed) for seed in range(5)))]
        assert not any(w.any() for k, w in enumerate(wrong) if k != number), case.name
        places = wrong[number].nonzero()
        assert tuple(zip(places.amin(0).tolist(), (places.amax(0) + 1).tolist())) == ranges, case.name


def test_gradients_have_the_dtypes_and_shapes_of_the_inputs():
    for case in CASES + FRESH + PYTORCH:
        dy, inputs = draw(case, 3, case.dtype)
        copies = [x.clone() for x in inputs]
        gradients = case.backward(dy, *inputs)
        for x, copy, gradient in zip(inputs, copies, gradients, strict=True):
            assert torch.equal(x, copy), case.name
            assert (gradient is None) == (not x.is_floating_point()), case.name
            if gradient is not None:
                assert gradient.shape == x.shape and gradient.dtype == x.dtype == case.dtype, case.name
                assert case.wrong or gradient.isfinite().all(), case.name


def test_an_item_alone_has_the_gradients_it_has_in_the_batch():
    for case in filter(lambda c: c.batch, CASES + FRESH):
        dy, inputs = draw(case, 4, torch.float64)
        item = lambda tensors: [x if axis is None else x.narrow(axis, 1, 1) for x, axis in zip(tensors, case.batch)]
        alone = case.backward(dy.narrow(0, 1, 1), *item(inputs))
        for one, gradient, axis in zip(alone, case.backward(dy, *inputs), case.batch):
            if one is not None:
                part = gradient if axis is None else gradient.narrow(axis, 1, 1)
                assert one.shape == part.shape, case.name
                assert axis is None or case.wrong or torch.allclose(one, part, 1e-9, 1e-12), case.name
