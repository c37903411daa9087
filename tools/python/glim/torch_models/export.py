"""torch.export's graph of a model, in ops that have rules."""
import functools
import io
import sys
import types
from unittest import mock

import glim
import torch
import torch.export._trace

from . import functions, graph, ops

TRAINING = {"_native_batch_norm_legit_functional": "changes its statistics"}


def program_of(module, args, kwargs, custom, calls):
    """The program of a copy of a model. custom: its autograd.Functions, whose calls are added to the list `calls`."""
    try:
        with functions.replaced(custom, functions.recorder(calls)), _silent():
            program = torch.export.export(module, args, kwargs, strict=False)
        _cut_no_grad(program.graph_module)
        known = _decompositions()
        for k in range(4):
            missing = [node.target for node in graph.calls(program.graph_module) if isinstance(node.target, torch._ops.OpOverload) and
                       ops.rule(node.target) is None and graph.op_name(node) not in TRAINING and not graph.values_alone(node)]
            both = {**torch._decomp.get_decompositions(missing), **known}
            table = {target: both[target] for target in missing if target in both}
            if k and not table:
                break
            program = program.run_decompositions(table)
        return program
    except glim.Error:
        raise
    except Exception as error:  # of many types
        text = str(error).strip()
        line = _advice(text) or next((line for line in text.splitlines() if line.strip()), type(error).__name__)[:300]
        raise glim.ValueError(f"from_torch: torch.export refuses the model: {line}{graph.raised_in(error)}") from error


def _silent():
    """torch.export prints its graph when a model's control flow depends on values; the process keeps its stderr."""
    return mock.patch.object(torch.export._trace, "sys", types.SimpleNamespace(**{**vars(sys), "stderr": io.StringIO()}))


@functools.cache
def _decompositions():
    """PyTorch's table, which takes a tenth of a second to make."""
    return dict(torch.export.default_decompositions())


def _cut_no_grad(graph_module):
    """`with torch.no_grad():` as detach of its results. A write into a value from outside is refused: its value is new there,
    and its gradient is that of the old one."""
    for node in [n for n in graph.calls(graph_module) if graph.op_name(n) == "wrap_with_set_grad_enabled" and not n.args[0]]:
        _refuse_writes(getattr(graph_module, node.args[1].target))
        for result in list(node.users):
            with node.graph.inserting_after(result):
                cut = node.graph.call_function(torch.ops.aten.detach.default, (result,))
            cut.meta = dict(result.meta)
            result.replace_all_uses_with(cut, delete_user_cb=lambda user, cut=cut: user is not cut)
        graph_module.recompile()


def _refuse_writes(region):
    outside = set()  # values that share memory with a value from outside
    for node in region.graph.nodes:
        if node.op in ("placeholder", "get_attr"):
            outside.add(node)
        elif isinstance(node.target, torch._ops.OpOverload):
            for argument, x in zip(node.target._schema.arguments, node.args):
                if argument.alias_info is None or x not in outside:
                    continue
                if argument.alias_info.is_write:
                    raise glim.ValueError(f"from_torch: {node.target} in {graph.place(node)} writes under no_grad into a value from "
                                          "outside, and torch.export loses its gradient: write into a copy")
                outside.add(node)  # a view


def _advice(text):
    if any(words in text for words in ("data-dependent", "Could not guard", "but got FakeTensor")):
        return "its control flow depends on values: give the part of it without the branch, the loop or float()"
    if ".numpy() is not supported" in text:
        return "forward leaves PyTorch, as by .numpy(): give the part of it without that"
    if "fake tensor in the exported" in text:
        return "a value becomes a constant, as with .data: use detach(), and return what forward keeps"
    if "nbacked" in text:
        return "the shape of a result depends on values: give the part of it without that result"
    if "Couldn't swap" in text:
        return "forward converts a module, as with .to(): convert it before the import"
    if "placeholders={" in text:
        return "its graph keeps a write, as complex numbers make one: give the part of it without them"
    return ""
