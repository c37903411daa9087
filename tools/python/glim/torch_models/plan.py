"""Attention, RMS norm and GELU that are written out in a graph.

    product of queries and keys  →  ...  →  scores  [+ mask] [where]  →  softmax over the last axis  →  probs
    →  ...  →  product with values = context

    pow(x, 2)  →  mean over the last axis  →  + eps  →  rsqrt  →  * x  [→ * weight]

plan(graph, constants) gives, for nodes of the graph, the function that takes the node's place. The ops of attention stay what they are,
whatever makes the scores: their results get the names and the axes (batch, heads, queries, keys) that pages look for, and
constants that hide scores become a mask. RMS norm and GELU become Glim's op where they end.
"""
import math

import glim
import numpy as np
import torch
from glim import _glim

from . import ops
from .graph import is_floating, op_name

IDENTITIES = {"clone", "_to_copy", "alias"}
SHAPES = {"view", "_unsafe_view", "expand", "permute", "transpose", "unsqueeze", "squeeze"}
PRODUCTS = {"matmul", "bmm"}
ELEMENTWISE = {"add", "sub", "mul", "div", "pow", "tanh", "erf", "neg"}


def plan(graph, constants):
    """constants: nodes that depend on no parameter and no floating argument."""
    found = {}
    for node in graph.nodes:
        name = op_name(node)
        if name in ("softmax", "_softmax") and node not in constants and node.args[1] in (-1, node.meta["val"].ndim - 1):
            found.update(_attention(node, constants))
        elif name == "rsqrt":
            found.update(_rms_norm(node))
        elif name in ("tanh", "erf"):
            found.update(_gelu(node, "tanh" if name == "tanh" else "erf"))
    return found


def _nothing(env, node):
    return None


def _only_reader(node):
    return next(iter(node.users)) if len(node.users) == 1 else None


def _same_dtype(node):
    return node.meta["val"].dtype == node.args[0].meta["val"].dtype


# ---- attention ----

def _attention(softmax, constants):
    end, on_the_right = _context(softmax)
    if end is None:
        return {}
    *lead, queries, keys = softmax.meta["val"].shape if softmax.meta["val"].ndim > 1 else (1, *softmax.meta["val"].shape)
    heads = (lead[0] if len(lead) > 1 else 1, math.prod(lead[1:] if len(lead) > 1 else lead))
    scores, between, masks = _unmasked(softmax, constants)
    product = _product(scores)

    def named(x, name, turned=False):
        """x, whose (batch, heads, ., .) has the name, unless heads share it."""
        if math.prod(x.shape[:-2]) != math.prod(heads):
            return x
        y = glim.transpose(x) if turned else x
        shape = y.shape
        y = glim.named(y if y.ndim == 4 else y.reshape((*heads, *shape[-2:])), name)
        y = y if y.ndim == len(shape) else y.reshape(shape)
        return glim.transpose(y) if turned else y

    def probs(env, node):
        x = ops.to(*ops.vars_of(env[scores]), softmax.args[0].meta["val"].dtype)  # a mask may widen it
        x, keep = _masked(x, [[ops.array(env.get(m, m)) for m in mask] for mask in masks])
        x = ops.to(x, node.meta["val"].dtype)
        if math.prod(x.shape) != node.meta["val"].numel():  # scores that a batch shares
            x = glim.broadcast_to(x, list(node.meta["val"].shape))
        x = glim.named(x if x.ndim == 4 else x.reshape((*heads, queries, keys)), "scores")
        if keep is not None and keep.ndim > 4:
            keep = np.broadcast_to(keep, node.meta["val"].shape).reshape(x.shape)
        keep = _glim._mask_named(keep, "keep")
        y, nan = glim.softmax(x) if keep is None else glim.masked_softmax(x, keep), ops.undefined(x, -1)
        y = glim.named(y if nan is None else y * nan, "probs")
        return y if tuple(y.shape) == tuple(node.meta["val"].shape) else y.reshape(tuple(node.meta["val"].shape))

    def context(env, node):
        a, b = ops.vars_of(*(env[n] for n in node.args))
        a, b = (named(a, "value", True), b) if on_the_right else (a, named(b, "value"))
        return named(ops.matmul(a, b), "context", on_the_right)

    def of_queries_and_keys(env, node):
        q, k = ops.vars_of(*(env[n] for n in node.args))
        q, k = named(q, "query"), named(k, "key", True)
        if ops.SCALE.get() is not None:
            q = q * (ops.SCALE.get() / _factor(node))
        return ops.matmul(q, k)
    steps = {**dict.fromkeys(between, _nothing), softmax: probs, end: context}
    return {**steps, product: of_queries_and_keys} if product else steps


def _context(softmax):
    """The product of the probabilities with the values, and whether they are its right operand, transposed; (None, None)
    where none or several are."""
    places = torch.arange(softmax.meta["val"].numel()).reshape(softmax.meta["val"].shape)
    flat, todo, ends = places.reshape(-1), [(softmax, places)], []
    while todo:
        node, view = todo.pop()
        for reader in node.users:
            name = op_name(reader)
            if name in ("matmul", "bmm") and view.ndim > 1:
                right = reader.args[0] is not node
                rows = view.mT if right else view
                if torch.equal(rows.reshape(-1), flat) and rows.shape[-1] == places.shape[-1]:
                    ends.append((reader, right))
            elif reader.args[0] is node and name in IDENTITIES | {"mul", "div"}:
                todo.append((reader, view))
            elif name in SHAPES:
                todo.append((reader, reader.target(view.contiguous(), *reader.args[1:])))
    return ends[0] if len(ends) == 1 else (None, None)


def _unmasked(softmax, constants):
    """Scores before constant masks; the nodes between; (what is added,) or (condition, what fills, where) of each mask."""
    node, between, masks = softmax.args[0], [], []

    def scalar(x):
        return isinstance(x, (int, float)) or x in constants and x.meta["val"].ndim == 0
    while node not in constants and len(node.users) == 1:
        name, args = op_name(node), list(node.args)
        args = args[::-1] if name == "add" and args[0] in constants else args
        if name == "add" and not node.kwargs and args[1] in constants and is_floating(args[1]):
            masks.append((args[1],))
        elif name == "where" and args[0] in constants and any(map(scalar, args[1:])):
            fill = 1 if scalar(args[1]) else 2
            masks.append((args[0], args[fill], fill == 1))
            args = args[3 - fill:]
        elif name not in IDENTITIES or not _same_dtype(node):
            break
        between.append(node)
        node = args[0]
    return node, between, masks


def _masked(x, masks):
    """x with its masks, the innermost first, and what of it is kept, or None. masks: the outermost first.

    A fill takes the place of what is within it, and what is added later is added to the fill. If nothing of a row is kept,
    all scores stay as they are: that row is uniform, or NaN if all of it is −∞, as in PyTorch.
    """
    added, filled = np.zeros((1,), x.dtype), np.zeros((1,), bool)
    for mask, *fill in reversed(masks):
        if fill:
            number, hides = fill
            added, filled = np.where(mask == hides, number, added), filled | (mask == hides)
        else:
            added = added + mask
    keep = added > ops.HIDES
    keep = keep if keep.any(-1).all() else np.ones_like(keep)
    added = added.astype(x.dtype)
    bias = np.where(keep & ~filled, added, 0)
    x = x + glim.Var(bias) if bias.any() else x
    x = glim.where(filled & keep, glim.Var(added), x) if (filled & keep).any() else x
    return x, None if keep.all() else keep


def _product(node):
    """The product of queries and keys that the scores are made of, or None."""
    if op_name(node) in PRODUCTS:
        return node
    if op_name(node) not in IDENTITIES | SHAPES | ELEMENTWISE | {"where"}:
        return None
    return next(filter(None, map(_product, node.all_input_nodes)), None)


def _factor(product):
    """The number that queries times keys are multiplied by: behind their product, or each of them before it."""
    reader = _only_reader(product)
    while op_name(reader) in SHAPES:
        reader = _only_reader(reader)
    factor = 1.0 if (number := _number(reader)) is None else number
    for node in product.args:
        while op_name(node) in SHAPES | IDENTITIES:
            node = node.args[0]
        if (number := _number(node)) is not None:
            factor, node = factor * number, node.args[0]
        if _is_scaled(node):
            raise glim.ValueError("queries or keys are multiplied by what is no number, or before other ops, so that scale= cannot "
                                  "take its place")
    return factor


def _number(node):
    """What a node multiplies by, if it is a number."""
    if op_name(node) not in ("mul", "div") or not isinstance(node.args[1], (int, float)):
        return None
    return node.args[1] if op_name(node) == "mul" else 1 / node.args[1]


def _is_scaled(node):
    """Whether something of one element multiplies on the way to a node, behind its last product or norm."""
    if not isinstance(node, torch.fx.Node) or op_name(node) not in SHAPES | IDENTITIES | {"mul", "div", "add", "sub", "neg", "cat", "slice"}:
        return False
    single = [x for x in node.all_input_nodes if isinstance(x.meta.get("val"), torch.Tensor) and x.meta["val"].numel() == 1]
    return _number(node) is not None or op_name(node) in ("mul", "div") and bool(single) or any(map(_is_scaled, node.all_input_nodes))


# ---- what ends in one op ----

def _rms_norm(rsqrt):
    """y = weight x/√(mean x² + eps); the weight is a parameter, or something else multiplies, later."""
    added = rsqrt.args[0]
    mean = added.args[0] if op_name(added) == "add" and isinstance(added.args[1], float) else None
    square = mean.args[0] if op_name(mean) == "mean" and list(mean.args[1:]) == [[-1], True] else None
    if op_name(square) != "pow" or square.args[1] != 2 or any(_only_reader(n) is None for n in (square, mean, added, rsqrt)):
        return {}
    x, end = square.args[0], _only_reader(rsqrt)
    if op_name(end) != "mul" or set(end.args) != {x, rsqrt}:
        return {}
    chain, last, weight = [square, mean, added, rsqrt], end, None
    while (reader := _only_reader(last)) is not None and op_name(reader) in IDENTITIES and _same_dtype(reader):
        chain.append(last)
        last = reader
    if op_name(reader) == "mul" and last in reader.args:
        other = reader.args[1 - reader.args.index(last)]
        value, like = isinstance(other, torch.fx.Node) and other.op == "placeholder" and other.meta["val"], x.meta["val"]
        if isinstance(value, torch.Tensor) and value.dtype == like.dtype and value.shape == like.shape[-1:]:
            chain.append(last)
            last, weight = reader, other

    def compute(env, _):
        return glim.rms_norm(*ops.vars_of(env[x], env.get(weight)), added.args[1])
    return {**dict.fromkeys(chain, _nothing), last: compute}


def _gelu(curve, approximate):
    """The elementwise ops around a tanh or erf, from one x on, that have the values of GELU to 1e-12."""
    grid, x = torch.linspace(-9, 9, 181, dtype=torch.float64), curve.args[0]
    while op_name(x) in ELEMENTWISE and len(x.users) == 1:
        x = x.all_input_nodes[0]
    values, cone, node = {x: grid}, [], curve
    gelu = torch.nn.functional.gelu(grid, approximate="none" if approximate == "erf" else "tanh")

    def value(n):
        if n not in values:
            if op_name(n) not in ELEMENTWISE or n is not curve and len(n.users) != 1:
                raise LookupError  # it reads something else
            values[n] = n.target(*torch.fx.node.map_arg(n.args, value), **n.kwargs)
            cone.append(n)
        return values[n]
    try:
        while op_name(node) in ELEMENTWISE:
            if (value(node) - gelu).abs().max() < 1e-12:
                return {**dict.fromkeys(cone, _nothing), node: lambda env, _: glim.gelu(env[x], approximate)}
            node = _only_reader(node)
    except LookupError:
        pass
    return {}
