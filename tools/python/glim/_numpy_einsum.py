"""np.einsum of Vars: each pair of operands is one batched product.

Letters name axes; axes with one letter have one extent, or 1. A letter that is not in the result is summed over.
"""
import math

import numpy as np

from . import _glim
from ._numpy_dispatch import arrays, implements
from ._numpy_functions import diagonal, reshaped


def _text_and_arrays(operands, like):
    text, *xs = operands
    if not isinstance(text, str):
        raise TypeError("np.einsum of lists of axes takes no Var: write letters, as in np.einsum('ij,jk->ik', v, w)")
    return [text.replace(" ", ""), *arrays(xs, like)]


@implements(np.einsum)
def einsum(operands: _text_and_arrays, optimize=False):
    """Batched products of two operands at a time, from the left. `optimize` changes rounding alone, and is not needed."""
    text, *xs = operands
    letters, output = _letters(text, [x.ndim for x in xs])
    size = {}
    for x, subscripts in zip(xs, letters):
        for c, n in zip(subscripts, x.shape):
            if n != size.setdefault(c, n) and 1 not in (n, size[c]):
                raise ValueError(f"np.einsum: {c} is {size[c]} and {n} in {text!r}")
            size[c] = n if size[c] == 1 else size[c]
    for k, (x, subscripts) in enumerate(zip(xs, letters)):  # an axis of 1 beside a longer one is broadcast
        kept = [n == size[c] for c, n in zip(subscripts, x.shape)]
        xs[k] = x if all(kept) else reshaped(x, [n for n, keep in zip(x.shape, kept) if keep])
        xs[k], letters[k] = _diagonals(xs[k], "".join(c for c, keep in zip(subscripts, kept) if keep))
    y, have = xs[0], letters[0]
    for k, (x, subscripts) in enumerate(zip(xs[1:], letters[1:]), 1):
        y, have = _contracted(y, have, x, subscripts, set(output).union(*letters[k + 1:]))
    y, have = _summed(y, have, output)
    return _glim.permute(y, [have.index(c) for c in output]) if have != output else y


def _letters(text, ranks):
    """The letters of each operand and of the result. An ellipsis is letters that the text has not, the same from the last on."""
    inputs, arrow, output = text.partition("->")
    inputs = inputs.split(",")
    dots = [rank - len(letters.replace("...", "")) for letters, rank in zip(inputs, ranks)]
    wrong = len(inputs) != len(ranks) or any(n < 0 or n > 0 and "..." not in i for i, n in zip(inputs, dots))
    unused = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" if c not in text]
    batch = "".join(unused[:max(dots)])
    inputs = [letters.replace("...", batch[len(batch) - n:]) for letters, n in zip(inputs, dots)]
    together = "".join(inputs)
    if not arrow:
        output = "..." + "".join(c for c in sorted(text) if c.isalpha() and together.count(c) == 1)
    wrong = wrong or arrow and batch and "..." not in output
    output = output.replace("...", batch)
    if wrong or len({*output}) < len(output) or not {*output} <= {*together} or not (together + "a").isalpha():
        raise ValueError(f"np.einsum: {text!r} does not fit operands of {', '.join(map(str, ranks))} axes")
    return inputs, output


def _diagonals(x, letters):
    for c in dict.fromkeys(letters):
        while letters.count(c) > 1:
            a, b = letters.index(c), letters.rindex(c)
            x, letters = diagonal(x, 0, a, b), "".join(d for k, d in enumerate(letters) if k not in (a, b)) + c
    return x, letters


def _summed(x, letters, kept):
    gone = [k for k, c in enumerate(letters) if c not in kept]
    return (_glim.sum(x, gone), "".join(c for c in letters if c in kept)) if gone else (x, letters)


def _contracted(x, a, y, b, later):
    """x with letters a times y with letters b, summed over those that nothing later reads: one batched product."""
    (x, a), (y, b) = _summed(x, a, later.union(b)), _summed(y, b, later.union(a))
    batch, inner = [c for c in a if c in b and c in later], [c for c in a if c in b and c not in later]
    rows, columns = [c for c in a if c not in b], [c for c in b if c not in a]
    size = {**dict(zip(a, x.shape)), **dict(zip(b, y.shape))}
    count = lambda letters: math.prod(size[c] for c in letters)
    left = reshaped(_glim.permute(x, [a.index(c) for c in batch + rows + inner]), (count(batch), count(rows), count(inner)))
    right = reshaped(_glim.permute(y, [b.index(c) for c in batch + inner + columns]), (count(batch), count(inner), count(columns)))
    return reshaped(left @ right, [size[c] for c in batch + rows + columns]), "".join(batch + rows + columns)
