"""The importer's rules of ops: every argument of an op is used or refused, and kinks have PyTorch's derivatives."""
import dis
import math

import numpy as np
import pytest

import glim

torch = pytest.importorskip("torch")
from torch.nn import functional as F  # noqa: E402

from glim.torch_models import ops  # noqa: E402
from glim.torch_models.ops import rules  # noqa: E402

OF_PYTHON = {"getitem", "grouped_mm_fallback"}  # no op of ATen
OVERLOADS = {name: getattr(getattr(torch.ops.aten, name.split(".")[0]), (name + ".default").split(".")[1])
             for name in ops.OPS if name not in OF_PYTHON}
OTHER = {bool: True, int: 7, float: 0.25, str: "other", list: [7]}


def another(argument):
    """A value that is not the default of an argument of a schema."""
    kind = str(argument.type).removeprefix("Optional[").removesuffix("]")
    default = rules.NEUTRAL.get(argument.name, argument.default_value)
    return not default if kind == "bool" else {"int": 7, "float": 0.25, "number": 0.25, "str": "other", "Tensor": torch.ones(1)}.get(kind, [7])


@pytest.mark.parametrize("name", OVERLOADS)
def test_an_argument_without_use_is_refused(name):
    """Each argument of the schema that the rule does not take: another value than its default is refused before anything else."""
    target, (operands, names) = OVERLOADS[name], rules.parameters(ops.OPS[name])
    for k, argument in enumerate(target._schema.arguments):
        if not (k < operands and not argument.kwarg_only or argument.name in names or argument.name in rules.WITHOUT_INFLUENCE):
            values = {a.name: another(a) if a is argument else a.default_value for a in target._schema.arguments}
            with pytest.raises(glim.ValueError, match=f"with {argument.name}="):
                rules.rule(target)(**values)


@pytest.mark.parametrize("name", OVERLOADS)
def test_a_parameter_is_read(name):
    """A parameter of a rule that its code never loads would be swallowed; each names an argument of an overload of the rule."""
    f = ops.OPS[name]
    names = rules.parameters(f)[1]
    schemas = {a.name for other, target in OVERLOADS.items() if ops.OPS[other] is f for a in target._schema.arguments}
    assert set(names) <= schemas
    code = getattr(getattr(f, "__wrapped__", f), "__code__", None)
    if code is not None:
        loaded = {i.argval for i in dis.get_instructions(code) if i.opname.startswith("LOAD")}
        assert set(code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]) <= loaded


def test_an_argument_without_influence_changes_no_value():
    """Names of WITHOUT_INFLUENCE are in schemas of ops that have rules, or of those that are decomposed."""
    for name in ("sparse", "sparse_grad", "non_blocking", "memory_format", "cudnn_enable", "implicit", "momentum"):
        assert any(a.name == name for target in OVERLOADS.values() for a in target._schema.arguments), name
