"""Questions to a node of torch.export's graph."""
import os
import re
import traceback

import torch

from . import ops


def op_name(node):
    """add of aten.add.Tensor; the name of a function of Python; "" of what is no call."""
    target = getattr(node, "target", None)
    return getattr(getattr(target, "overloadpacket", target), "__name__", "")


def is_function(node):
    """A call of a custom autograd.Function (functions.py)."""
    return str(getattr(node, "target", "")).startswith("glim_functions.")


def calls(graph_module):
    for part in graph_module.modules():
        if isinstance(part, torch.fx.GraphModule):
            yield from (n for n in part.graph.nodes if n.op == "call_function")


def is_floating(node):
    value = node.meta.get("val") if isinstance(node, torch.fx.Node) else None
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def values_alone(node):
    """A call whose result has no gradient, whatever it reads."""
    value = node.meta.get("val")
    rounded = node.kwargs.get("rounding_mode") is not None
    return rounded or op_name(node) in ops.VALUES_ALONE or isinstance(value, torch.Tensor) and not (
        value.is_floating_point() or value.is_complex())


def path(node):
    """Of the module that called: encoder.layer.0.attention."""
    stack = list(node.meta.get("nn_module_stack", {}).values())
    return re.sub(r"@\d+$", "", stack[-1][0].removeprefix("L['self'].").removeprefix("L['self']")) if stack else ""


def line(node):
    """(file, line) of the call in the model's own source, or None."""
    return line_of(node.meta.get("stack_trace") or "")


def line_of(trace):
    """The innermost line of a trace that is not PyTorch's own."""
    found = re.findall(r'File "([^"<]+)", line (\d+)', trace)  # none of code that PyTorch wrote
    user_frames = [f for f in found if f"{os.sep}torch{os.sep}" not in f[0]] or found
    return (user_frames[-1][0], int(user_frames[-1][1])) if user_frames else None


def raised_in(error):
    """" (file:line)" of the model's innermost line that raised the error, or ""."""
    found = line_of("".join(line for line in traceback.format_tb(error.__traceback__) if os.path.dirname(__file__) not in line))
    return f" ({found[0]}:{found[1]})" if found and f"{os.sep}torch{os.sep}" not in found[0] else ""


def source_of(function):
    code = getattr(function, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else ""


def place(node):
    frame = line(node)
    return (path(node) or "the model") + (f" ({frame[0]}:{frame[1]})" if frame else "")
