"""A pass of an imported model to look at, on a tape of its own: as a page, in the debugger, written out as formulas."""
import contextlib
import os

import glim
from glim._options import is_whole

from . import ops


class Inspectable(glim.Module):
    def inspect(self, inputs, loss=None, tokens=None, out=None, *, scale=None, data=False, overwrite=False, **changes):
        """The pass of these inputs as a glim.Inspection, which in a notebook shows the page of `glim inspect`. With `out` the
        page is written into that folder, and with data=True its tensors, too; then its path is returned.

        inputs: a dict or tuple of arguments, or the only one. loss(result) is a Var of one element; without it the module
        itself gives one. tokens: the words of the positions, a list, or (source, target) of two stacks. changes: tape.change.
        """
        tokens = tokens or []
        tokens = tokens if isinstance(tokens, tuple) else (tokens, tokens)
        with self._taped(inputs, loss, scale, changes) as (tape, y):
            return tape.inspect(y, out, tokens=tuple(map(list, tokens)), data=data,
                                overwrite=overwrite, title=f"{type(self.torch_module).__name__} of PyTorch")

    def step(self, inputs, loss=None, commands="", **changes):
        """The debugger of `glim step` for this pass: its answers to commands, one a line."""
        with self._taped(inputs, loss, None, changes) as (tape, y):
            return tape.step(y, commands)

    def derive(self, inputs, loss=None, module="", order=1, level="rules", format="text", out=None, overwrite=False, **changes):
        """The pass written out, forward and backward, or that of one module; level and format as in Tape.derive.

        order=2: of dL, the derivative of the loss along a direction v of every parameter. Its gradient is the Hessian times v.
        out: a folder for a program in NumPy of the whole pass, which needs no autograd, and its data.
        """
        if not is_whole(order) or order not in (1, 2):
            raise glim.ValueError(f"derive: order is {order!r}, expected 1 or 2")
        if order == 2 and level == "paper":
            raise glim.ValueError("derive: level='paper' has the first order alone")
        files = [] if out is None else [os.path.join(out, "backward." + end) for end in ("py", "safetensors")]
        for file in files:
            if not overwrite and os.path.exists(file):
                raise glim.FileError(f"{file}: exists already: overwrite=True replaces it")
        with self._taped(inputs, loss, None, changes) as (tape, y):
            if order == 2:
                tape._along_leaves(y)
            text = tape.derive(module, level=level, format=format)
        if files:
            with self._taped(inputs, loss, None, changes) as (tape, y):
                os.makedirs(out, exist_ok=True)
                tape._write_program(y, order, type(self.torch_module).__name__, f"g.derive(inputs, loss, order={order})", *files)
        return text

    @contextlib.contextmanager
    def _taped(self, inputs, loss, scale, changes):
        """A tape with replay, and the loss on it."""
        with glim.Tape(replay=True) as tape, glim.explicit(), ops.scaled(scale):
            if changes:
                tape.change(**changes)
            y = self(**inputs) if hasattr(inputs, "keys") else self(*inputs) if isinstance(inputs, (tuple, list)) else self(inputs)
            y = loss(y) if loss else y
            if not isinstance(y, glim.Var) or y.size != 1:
                raise glim.ValueError("the pass has no loss: loss=lambda out: ... gives a Var of one element")
            yield tape, y
