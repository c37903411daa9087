"""Prints the bindings of all ops, read from autograd/ops.hpp and the records of autograd/functions.hpp: a function of the module
and a method of Var for each declaration, with the names and defaults of its arguments, and its line of mathematics as the
documentation.

    ops.py autograd/ops.hpp autograd/functions.hpp >ops.inc
"""
import re
import sys

# C++ type of a parameter: the type that Python's argument is converted to, and the expression handed on.
TYPES = {
    "const Operand&": ("const Arg&", "Operand({0}(\"{0}\"), line)"),
    "const Var&": ("const Arg&", "{0}(\"{0}\")"),
    "const Tensor&": ("const Arg&", "{0}.constant(\"{0}\")"),
    "const Shape&": ("const DimsArg&", "{0}.dims()"),
    "const Dims&": ("const DimsArg&", "{0}.dims()"),
    "const std::vector<Var>&": ("const std::vector<Arg>&", "parts_of({0})"),
    "const std::vector<std::pair<Index, Index>>&": ("const std::vector<std::pair<Index, Index>>&", "{0}"),
    "const std::vector<Index>&": ("const std::vector<Index>&", "{0}"),
    "RandomKey": ("const Key&", "key_of({0})"),
    "GeluForm": ("const std::string&", "kWords<GeluForm>.parse(\"form\", {0})"),
    "const Window&": ("const Window&", "{0}"),
    "const AttentionMask&": ("const MaskArg&", "{0}.mask()"),
    "double": ("double", "{0}"),
    "Index": ("Index", "{0}"),
    "bool": ("bool", "{0}"),
    "Where": (None, "line"),
}
DEFAULTS = {"GeluForm::Erf": '"erf"', "const Dims& {}": "nb::tuple()", "RandomKey {}": "nb::make_tuple(0, 0)",
            "const AttentionMask& {}": None, "const Tensor& {}": None}
OPERATORS = {"abs": "abs", "add": "add", "sub": "sub", "mul": "mul", "div": "truediv", "matmul": "matmul", "pow": "pow", "neg": "neg"}
MAY_BE_NONE = {"bias", "gamma", "beta", "memory"}
BY_HAND = {"recomputed", "index"}
NUMPY_NAMES = {"axes": "axis", "keepdim": "keepdims"}  # of reductions
SHAPES = {"reshape", "permute", "broadcast_to"}  # as methods they also take v.reshape(2, 3)


class Op:
    def __init__(self, name, parameters, doc):
        formula = "power" if name == "pow" and "double exponent" not in parameters else name
        self.name, self.doc = name, f'doc_of("{formula}", R"({doc})")'
        self.taken, self.named, self.calls, self.vars, self.words = [], [], [], [], False
        for part in re.split(r",\s*(?![^{<(]*[}>)])", " ".join(parameters.split())):
            declaration, _, default = (side.strip() for side in part.partition("="))
            kind, parameter = declaration.rsplit(" ", 1)
            if kind not in TYPES:
                sys.exit(f"ops.py: {name}: {kind!r} has no conversion; add one to TYPES")
            taken, call = TYPES[kind]
            self.calls.append(call.format(parameter))
            if taken is None:
                continue
            self.taken.append(f"{taken} {parameter}")
            if kind in ("const Operand&", "const Var&"):
                self.vars.append(parameter)
            if parameter != "axes" or default:
                parameter = NUMPY_NAMES.get(parameter, parameter)
            self.words = self.words or parameter in ("axis", "keepdims")
            if default:
                default = DEFAULTS.get(default, DEFAULTS.get(f"{kind} {default}", default))
            if default is None or (taken == "const Arg&" and parameter in MAY_BE_NONE):
                self.named.append(f'"{parameter}"_a.none() = nb::none()')
            elif default == "nb::tuple()":  # None is all axes, as in NumPy
                self.named.append(f'"{parameter}"_a.none() = nb::tuple()')
            else:
                self.named.append(f'"{parameter}"_a' + (f" = {default}" if default else ""))
        required = [k for k, named in enumerate(self.named) if " = " not in named]
        for k in range(required[-1]):  # a default before an argument that has none is no default
            self.named[k] = self.named[k].split(" = ")[0]

    def take_words(self):
        """Words that NumPy's functions pass on, or torch's: refuse_words says what to type."""
        self.taken.append("nb::kwargs words")
        self.named.append('"words"_a')

    def function(self, taken):
        numbers = ", ".join(f'{{{x}, "{x}"}}' for x in self.vars)
        numbers = f"convert_numbers({{{numbers}}}); " if len(self.vars) > 1 else ""
        words = f'refuse_words("{self.name}", words); ' if taken[-1] == "nb::kwargs words" else ""
        return (f"[]({', '.join(taken)}) {{ {words}const Where line = user_line(); {numbers}"
                f"return result_of(glim::{self.name}({', '.join(self.calls)})); }}")

    def bindings(self):
        """The op as a function and, if its first operand is a Var, as a method and an operator."""
        yield f"m.def(\"{self.name}\", {self.function(self.taken)}, {', '.join(self.named + [self.doc])});"
        variable = [t.startswith("const Arg&") for t in self.taken]
        if variable[0] and self.calls[0].startswith("Operand"):
            yield f"var.def(\"{self.name}\", {self.function(self.taken)}, {', '.join(self.named[1:] + [self.doc])});"
            if self.name in SHAPES:
                yield (f'var.def("{self.name}", [](const Arg& x, nb::args numbers) {{ const Where line = user_line(); '
                       f'return glim::{self.name}(Operand(x("x"), line), nb::cast<DimsArg>(numbers).dims()); }});')
        operator = OPERATORS.get(self.name)
        if operator and variable[0]:
            yield f"var.def(\"__{operator}__\", {self.function(self.taken)}, nb::is_operator());"
        # An operand on the left that is no Var: Python calls right.__radd__(left).
        reflected = self.taken if self.name in ("add", "mul") and not variable[-1] else self.taken[::-1]
        if operator and len(self.taken) == 2 and reflected[0].startswith("const Arg&"):
            yield f"var.def(\"__r{operator}__\", {self.function(reflected)}, nb::is_operator());"


def documentation(text, start, remark):
    """The comment beside a declaration, or above it."""
    lines = [remark] if remark else []
    if not lines:
        for line in reversed(text[:start].rstrip("\n").split("\n")):
            if not line.startswith("//") or line.startswith("// ----"):
                break
            lines.insert(0, line)
    return " ".join(" ".join(line.strip().removeprefix("//") for line in lines).split())


def main():
    text, rows = (open(path, encoding="utf-8").read() for path in sys.argv[1:])
    for name, equation in re.findall(r'^  F\((\w+), +"y = ([^"]*)"', rows, re.M):
        for line in Op(name, "const Operand& x", equation).bindings():
            print(line)
    found = list(re.finditer(r"^(?:Var|Tensor|std::vector<Var>|OrderedVar|AttentionResult|MeasuredLoss) (\w+)\(([^;]*?)\);(.*)$",
                             text, re.M))
    names = [match[1] for match in found]
    for match in found:
        name, parameters, remark = match.groups()
        if name not in BY_HAND:
            op = Op(name, parameters, documentation(text, match.start(), remark.strip()))
            if op.words and names.count(name) == 1:
                op.take_words()
            for line in op.bindings():
                print(line)


main()
