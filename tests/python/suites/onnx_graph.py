"""A model of ONNX's nodes, computed by Glim, and its gradients beside differences.

ONNX has outputs in float32: they are compared to RTOL. The model is computed in float64. Its gradient is held against central
differences along a few directions. At a kink the values alone are compared.
"""

import inspect
from dataclasses import dataclass

import numpy as np

import glim

from .count import Skip
from .derivatives import close, up, weights, weighted
from .onnx_ops import NODES, is_var

RTOL, ATOL = 1e-4, 1e-6  # of the outputs
STEP, DIRECTIONS = 1e-5, 3
GRADIENT_RTOL, GRADIENT_ATOL = 1e-6, 1e-7


@dataclass
class Graph:
    nodes: list  # (operator, names of inputs, names of outputs, attributes)
    constants: dict
    outputs: list

    def __call__(self, given):
        values = {**self.constants, **given}
        for operator, inputs, outputs, attributes in self.nodes:
            found = call(operator, [values[name] if name else None for name in inputs], attributes, len(outputs))
            if len(found) < len(outputs):
                raise Skip("an output that its entry does not have")
            values |= {name: y for name, y in zip(outputs, found) if name}
        return [values[name] for name in self.outputs]


def call(operator, inputs, attributes, count):
    if operator == "Constant":
        return [np.asarray(value) for value in attributes.values()]
    if operator == "Split":
        attributes = {"num_outputs": count, **attributes}
    try:
        inspect.signature(NODES[operator]).bind(*inputs, **attributes)
    except TypeError as error:
        raise Skip(f"an attribute that its entry does not take ({error})") from error
    found = NODES[operator](*inputs, **attributes)
    return found if isinstance(found, list) else [found]


def model(graph, given, wanted):
    """Says which kinds were compared."""
    floats = [name for name, x in given.items() if x.dtype.kind == "f"]
    if not floats:
        raise Skip("integers and bools alone")

    def at(shift, direction):
        """Leaves, that far along a direction."""
        return {n: glim.Var.leaf(np.asarray(given[n] + shift * u)) for n, u in zip(floats, direction)}

    leaves = at(0, [0] * len(floats))
    with glim.Tape() as tape:
        ys = graph(given | leaves)
        for k, (y, w) in enumerate(zip(ys, wanted, strict=True)):
            y = y.numpy() if is_var(y) else np.asarray(y)
            close(y.astype(w.dtype) if y.dtype.kind in "iu" else y, w, f"output {k}", RTOL, ATOL)
        total = loss_of(ys)
        if total is None or not total.requires_grad or not np.isfinite(total.item()):
            return ["values"]
        dx = [d.numpy() for d in tape.grad(total, list(leaves.values()))]
    smooth = 0
    for k in range(DIRECTIONS):
        u = [weights(given[n].shape, 7 * k + j) for j, n in enumerate(floats)]
        losses = {s: loss_of(graph(given | at(s * STEP, u))).item() for s in (-2, -1, 1, 2)}
        smooth += agrees(dx, u, losses, total.item())
    return ["values", "gradients"] if smooth else ["values"]


def loss_of(ys):
    ys = [y for y in ys if is_var(y)]
    return weighted([glim.Var(dy) for dy in up([y.shape for y in ys])], ys)


def agrees(dx, u, losses, here):
    """False at a kink, where the model is too steep, or beside a place where it is not defined."""
    if not np.isfinite(list(losses.values())).all():
        return False
    near, far = (losses[1] - losses[-1]) / (2 * STEP), (losses[2] - losses[-2]) / (4 * STEP)
    before, after = ((losses[s] - here) / (s * STEP) for s in (-1, 1))
    size = max(1, abs(here), *(float(np.abs(d * v).sum()) for d, v in zip(dx, u)))
    if abs(near - far) > 1e-6 * size or abs(after - before) > 1e-2 * size:
        return False
    numeric, analytic = (4 * near - far) / 3, sum(float((d * v).sum()) for d, v in zip(dx, u))
    allowed = GRADIENT_ATOL * size + GRADIENT_RTOL * abs(numeric) + abs(near - far)
    assert abs(analytic - numeric) <= allowed, f"the gradient along a direction is {analytic}, not {numeric}"
    return True
