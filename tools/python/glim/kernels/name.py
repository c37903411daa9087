"""The name of a mistake, by gradcheck's classifier: the kernel in float32 on a small shape."""

import torch

from .truth import floating

SMALL = {1: 1, 2: 2, 3: 3, 4: 4}
SIZES = (5, 6, 7, 8)  # of the longer axes, so that two that differ still do


def mistake_in(judge, inputs, dys, also):
    """(shapes, name), or (None, None): the small shape is not one that the kernel takes, or shows no mistake or no name."""
    if also is None or any(isinstance(x, torch.Tensor) and not floating(x) for x in inputs):
        return None, None
    lengths = sorted({n for x in [*inputs, *dys] if floating(x) for n in x.shape if n not in SMALL})
    if len(lengths) > len(SIZES):
        return None, None
    sizes = {**SMALL, **dict(zip(lengths, SIZES))}

    def small(x):
        return x[tuple(slice(sizes[n]) for n in x.shape)].to(also).numpy() if floating(x) else x

    arrays = [small(x) for x in inputs]
    floats = [k for k, x in enumerate(inputs) if floating(x)]

    def full(arrays, dtype):
        values = iter(arrays)
        return [torch.tensor(next(values)).to(dtype) if k in floats else x for k, x in enumerate(inputs)]

    def forward(*xs):
        with torch.no_grad():
            y = judge.reference(*full(xs, torch.float64))
        return tuple(t.numpy() for t in y) if isinstance(y, tuple) else y.numpy()

    def backward(dy, *xs):
        dys = [torch.tensor(d).to(also) for d in (dy if isinstance(dy, tuple) else (dy,))]
        gradients = judge.call(dys, full(xs, also))
        return tuple(gradients[k].detach().double().numpy() if gradients[k] is not None else None for k in floats)

    from ..gradcheck import gradcheck
    try:
        found = backward(tuple(small(dy) for dy in dys), *(arrays[k] for k in floats))
        if any(g is not None and not g.any() and judge.as_given[k].any() for g, k in zip(found, floats)):
            return None, None  # a tile of the kernel is larger than the shape
        report = gradcheck(forward, backward, *(arrays[k].astype("f8") for k in floats), atol=1e-4, rtol=1e-3)
    except Exception:  # of another shape than the kernel takes
        return None, None
    return ("; ".join(str(tuple(arrays[k].shape)) for k in floats), report.mistake) if report.mistake else (None, None)
