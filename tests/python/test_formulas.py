"""The equations of ops, which `glim derive`, the pages and the debugger print, computed in NumPy: their gradients are the
ops' own. ⊙ multiplies elements. Two adjacent letters mean a matrix product, or a product with a number. Σ sums what
follows over the last axis (Σ_rows: over all others) and keeps the axis."""
import re

import glim
import numpy as np
import pytest

TOKEN = re.compile(r"\s*(x̂|Σ_rows|[A-Za-zγβεσμΦφπ]+|\d+(?:\.\d+)?|[-+*/^(){}²³ᵀΣ√|?:>⊙])")
FUNCTIONS = {"tanh": np.tanh, "sin": np.sin, "cos": np.cos, "sign": np.sign, "ln": np.log, "log": np.log,
             "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "erf": lambda x: glim.erf(x).numpy(), "max": lambda x: x.max(-1, keepdims=True),
             "mean": lambda x: x.mean(-1, keepdims=True)}


class Formula:
    """Evaluates one right-hand side by recursive descent."""

    def __init__(self, text, names):
        self.tokens, self.names = TOKEN.findall(text), names
        self.value = self.sum()
        assert not self.tokens, f"not understood: {self.tokens} of {text}"

    def next(self, *wanted):
        return self.tokens.pop(0) if self.tokens and self.tokens[0] in wanted else None

    def sum(self):
        value = -self.product() if self.next("-") else self.product()
        while sign := self.next("+", "-"):
            value = value + self.product() if sign == "+" else value - self.product()
        return value

    def product(self):
        value = self.power()
        while self.tokens and self.tokens[0] not in "+-)}|?:>":
            if self.next("/"):
                value = value / self.power()
            elif self.next("⊙"):
                value = value * self.power()
            else:
                other = self.power()
                value = value @ other if np.ndim(value) > 1 and np.ndim(other) > 1 else value * other
        return value

    def power(self):
        value = self.atom()
        while sign := self.next("²", "³", "ᵀ", "^"):
            if sign == "ᵀ":
                value = np.swapaxes(value, -1, -2)
            else:
                value = value ** (self.atom() if sign == "^" else {"²": 2, "³": 3}[sign])
        return value

    def atom(self):
        if self.next("-"):
            return -self.power()
        token = self.tokens.pop(0)
        if token in "({|":
            value = self.sum()
            self.tokens.pop(0)
            return np.abs(value) if token == "|" else value
        if token == "Σ":
            return self.power().sum(-1, keepdims=True)
        if token == "Σ_rows":
            value = self.power()
            return value.reshape(-1, value.shape[-1]).sum(0)
        if token == "√":
            return np.sqrt(self.atom())
        if token in FUNCTIONS and token not in self.names:
            return FUNCTIONS[token](self.power())
        constants = {"e": np.e, "π": np.pi}
        return float(token) if token[0].isdigit() else self.names[token] if token in self.names else constants[token]


def broken(line, mistake):
    if mistake == "product":
        return line.replace(" ⊙ ", " ")
    if not mistake:
        return line
    return line.replace(" + ", " - ", 1) if " + " in line else line.replace(" = ", " = -", 1)


# Where the formula goes on in words, or defines a letter.
DEFINED = {"silu": {"s": "sigmoid(x)"}, "layer_norm": {"g": "γ ⊙ dy"}}
INPUTS = {"matmul": "ab", "linear": ["x", "W", "b"], "layer_norm": ["x", "γ", "β"],
          **dict.fromkeys(["add", "sub", "mul", "div"], "ab")}
OPS = ["add", "sub", "mul", "div", "neg", "exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "erf", "tanh", "sigmoid", "silu", "softplus", "softmax", "log_softmax",
       "matmul", "linear", "layer_norm"]


@pytest.mark.parametrize("mistake", [None, "sign", "product"])
@pytest.mark.parametrize("op", OPS)
def test_gradients_are_those_of_the_formula(op, mistake):
    random = np.random.default_rng(3)
    shapes = {"linear": [(4, 4), (4, 4), (4,)], "layer_norm": [(4, 4), (4,), (4,)]}.get(op, [(4, 4)] * 2)
    inputs = INPUTS.get(op, ["x"])
    names = {name: random.uniform(0.5, 2, shape) for name, shape in zip(inputs, shapes)}
    leaves = [glim.Var.leaf(x, name) for name, x in names.items()]
    with glim.Tape() as tape:
        y = getattr(glim, op)(*leaves)
        names["y"], names["dy"] = y.numpy(), random.standard_normal(y.shape)
        tape.backward(y, names["dy"])
    if op == "layer_norm":
        x = names["x"]
        names["σ"] = np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        names["x̂"] = (x - x.mean(-1, keepdims=True)) / names["σ"]
    for letter, text in DEFINED.get(op, {}).items():
        names[letter] = Formula(text, names).value
    equations = list(dict.fromkeys(re.findall(r"^d\S+ = .*", getattr(glim, op).__doc__, re.M)))  # once, of all overloads
    assert len(equations) == len(leaves)
    for line, of, leaf in zip(equations, inputs, leaves):
        name, text = broken(line, mistake).split(" = ", 1)
        assert name == "d" + of
        found = Formula(re.split(r", (?:each|element|exactly|g )", text)[0], names).value
        assert np.allclose(found, leaf.grad.numpy(), rtol=1e-12, atol=1e-12) == (broken(line, mistake) == line), line
