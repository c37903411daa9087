"""The record of a kernel's backward, and what the families of kernels share."""

from functools import partial
from itertools import zip_longest
from typing import Callable, NamedTuple

import torch


class Case(NamedTuple):
    name: str
    family: str
    dtype: torch.dtype  # of the floating inputs and of the gradients
    reference: Callable  # reference(*inputs) -> y in differentiable ops, any float dtype
    backward: Callable  # backward(dy, *inputs) -> a gradient for each input in its dtype, None for integers and bools
    draw: Callable  # draw(generator) -> inputs in dtype, integers and bools as they are
    wrong: str | None = None  # what is wrong; None: right
    shipped: str | None = None  # where this fault shipped
    # The kernel computes in this precision. It may round to dtype between two of its passes (P, O, logits, an expert's rows).
    # None: every op in dtype, as eager PyTorch.
    inside: str | None = "float32"
    accumulate: str = "float32"
    batch: tuple | None = None  # for each input the axis of its batch or None; None: no batch axis
    only_at: str | None = None  # wrong at these inputs alone, and unseen at those of draw
    box: tuple | None = None  # (input's number, ((begin, end) for each axis)): this gradient alone is wrong, and only here


DTYPES = {"b": torch.bfloat16, "h": torch.float16, "f": torch.float32}


class Kernel(NamedTuple):
    """backward(dy, *inputs, fault="") -> gradients of the floating inputs, which come first, in what it computes in."""

    family: str
    name: str
    reference: Callable
    backward: Callable
    specs: tuple  # spec(generator, dtype) -> an input
    batch: tuple | None = None
    inside: str | None = "float32"

    def case(self, letter, label="", fault="", **fields):
        dtype = DTYPES[letter]
        kernel = partial(self.backward, fault=fault)
        fields = {"batch": self.batch, "inside": self.inside} | fields
        if "box" in fields:
            fields["box"] = self.box(fields["box"])
        return Case(", ".join(filter(None, [self.name, label])), self.family, dtype, self.reference, partial(stored, kernel),
                    lambda generator: tuple(spec(generator, dtype) for spec in self.specs), **fields)

    def box(self, place):
        """An input's number, or that and {axis: (begin, end)} where the box is not the whole axis."""
        number, ranges = place if isinstance(place, tuple) else (place, {})
        shape = self.specs[number](torch.Generator(), torch.float32).shape
        return number, tuple(ranges.get(axis, (0, size)) for axis, size in enumerate(shape))


def stored(kernel, dy, *inputs):
    """The gradients of a kernel as it stores them: in the dtypes of its inputs."""
    pairs = zip_longest(kernel(dy, *inputs), inputs)
    return tuple(None if gradient is None else gradient.to(x.dtype) for gradient, x in pairs)


def cases(kernel, letters, *wrong):
    """A right case for each dtype's letter, and wrong ones: the dtype's letter, the fault's name in the kernel, a sentence,
    fields of the case."""
    return [kernel.case(letter, str(DTYPES[letter])[6:]) for letter in letters] + [
        kernel.case(letter, sentence, fault, wrong=sentence, **dict(*fields)) for letter, fault, sentence, *fields in wrong]


def formula(family, name, reference, backward, letters, *wrong, shape=(24, 40), batch=(0,)):
    """Cases of a function of one input. A wrong one: the dtype's letter, a sentence, its backward(dy, x), fields."""
    by_sentence = {sentence: other for _, sentence, other, *_ in wrong}
    kernel = lambda dy, x, fault="": (by_sentence.get(fault, backward)(wide(dy), wide(x)),)
    kernel = Kernel(family, name, reference, kernel, (normal(*shape),), batch)
    return cases(kernel, letters, *((letter, sentence, sentence, *fields) for letter, sentence, _, *fields in wrong))


def eager(reference):
    """The backward of PyTorch's autograd, each op in the dtype of the inputs."""
    def backward(dy, *inputs, fault=""):
        leaves = [x.detach().requires_grad_(x.is_floating_point()) for x in inputs]
        return torch.autograd.grad(reference(*leaves), [x for x in leaves if x.requires_grad], dy)
    return backward


def wide(x):
    """What a kernel loads: float32, or float64 as it is."""
    return x if x.dtype == torch.float64 else x.float()


def through(dtype, x):
    """x rounded to dtype, whatever the inputs are: a fault of precision, which stays in float64."""
    return x.to(dtype).to(x.dtype)


def spans(length, block, covered=None):
    """The blocks of an axis, the last of them partial. covered: where the blocks end."""
    return [slice(begin, min(begin + block, length)) for begin in range(0, length if covered is None else covered, block)]


def sum_in_blocks(x, block, dtype=None, covered=None):
    """Partial sums over blocks of rows, then their sum, row after row: what a grid of programs adds up."""
    partial_sums = []
    for span in spans(len(x), block, covered):
        total = torch.zeros_like(x[0])
        for row in x[span]:
            total = total + row if dtype is None else through(dtype, total + row)
        partial_sums.append(total)
    return sum(partial_sums, torch.zeros_like(x[0]))


def normal(*shape, scale=1.0, mean=0.0):
    return lambda generator, dtype: (torch.randn(shape, generator=generator) * scale + mean).to(dtype)


def integers(high, *shape, low=0):
    return lambda generator, dtype: torch.randint(low, high, shape, generator=generator)


def flags(probability, *shape):
    return lambda generator, dtype: torch.rand(shape, generator=generator) < probability


def fixed(tensor):
    return lambda generator, dtype: tensor.clone()
