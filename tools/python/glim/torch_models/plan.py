"""Attention and RMS norm that are written out in a graph, found by their shape alone.

    matmul(q, kᵀ)  [* number] [+ mask] [masked_fill(constant, number)]  →  softmax  →  [dropout]  →  matmul(., v)

    pow(x, 2)  →  mean over the last axis  →  + eps  →  rsqrt  →  * x  [→ * weight]

plan(graph) gives, for nodes of the graph, the function that takes the node's place. A pattern that is exact is computed by
Glim's op where it ends; what is between is not computed, unless the probabilities are read elsewhere. Where something else
is between (a cap on the scores, another dtype), the ops stay what they are, and attention's get the names.
"""
import glim
import numpy as np
import torch
from glim import _glim

from . import ops
from .graph import is_floating, op_name

PRODUCTS = {"matmul", "bmm"}
PASS_ON = {"dropout", "clone", "contiguous", "to", "_to_copy", "type_as", "alias"}


def plan(graph):
    found, order = {}, {node: k for k, node in enumerate(graph.nodes)}
    constants = _constants(graph)
    for node in graph.nodes:
        if op_name(node) in ("softmax", "_softmax") and node.args[1] in (-1, node.meta["val"].ndim - 1):
            chain, end = _to_product(node)
            if end is not None:
                found.update(_exact(node, chain, end, constants, order) or _names(node, end, constants))
        elif op_name(node) == "rsqrt":
            found.update(_rms_norm(node))
    return found


def _only_reader(node):
    return next(iter(node.users)) if len(node.users) == 1 else None


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
    while (reader := _only_reader(last)) is not None and op_name(reader) in PASS_ON and _same_dtype(reader):
        chain.append(last)
        last = reader
    if op_name(reader) == "mul" and last in reader.args:
        other = reader.args[1 - reader.args.index(last)]
        own = isinstance(other, torch.fx.Node) and other.op == "placeholder" and other.meta["val"].dtype == x.meta["val"].dtype
        if own and other.meta["val"].shape == x.meta["val"].shape[-1:]:
            chain.append(last)
            last, weight = reader, other

    def compute(env, _):
        return glim.rms_norm(*ops.vars_of(env[x], env.get(weight)), added.args[1])
    return {**{n: (lambda env, _: None) for n in chain}, last: compute}


def _constants(graph):
    """Nodes that depend on no parameter and no floating argument."""
    constants = set()
    for node in graph.nodes:
        own = node.op == "placeholder" and (node.name.startswith(("b_", "c_")) or
                                            not node.name.startswith("p_") and not is_floating(node))
        if own or node.op == "get_attr" or node.op == "call_function" and all(n in constants for n in node.all_input_nodes):
            constants.add(node)
    return constants


def _same_dtype(node):
    return node.meta["val"].dtype == node.args[0].meta["val"].dtype


def _to_product(softmax):
    """What the probabilities go through, and the product with the values; or None for the latter."""
    probs, chain = softmax, [softmax]
    while len(probs.users) == 1 and op_name(next(iter(probs.users))) in PASS_ON:
        probs = next(iter(probs.users))
        chain.append(probs)
    ends = [n for n in probs.users if op_name(n) in PRODUCTS and n.args[0] is probs and n.args[1] is not probs]
    return chain, ends[0] if len(ends) == 1 else None


def _names(softmax, end, constants):
    scores, mask, plan = softmax.args[0], None, {}
    if op_name(scores) == "add" and scores.args[1] in constants and len(scores.users) == 1 and not scores.kwargs:
        plan[scores] = lambda env, _: None
        scores, mask = scores.args

    def probs(env, node):
        (x,) = ops.vars_of(env[scores])
        keep, bias = (None, None) if mask is None else ops.kept_and_added(env[mask], x.dtype)
        x = glim.named(x if bias is None else x + bias, "scores")
        keep = _glim._mask_named(keep, "keep")
        x = ops.to(x, node.meta["val"].dtype)
        return glim.named(glim.softmax(x) if keep is None else glim.masked_softmax(x, keep), "probs")

    def context(env, node):
        return glim.named(ops.matmul(env[node.args[0]], env[node.args[1]]), "context")
    return {**plan, softmax: probs, end: context}


def _exact(softmax, chain, end, constants, order):
    asked = len(chain[-1].users) > 1  # the probabilities are a result, too
    factors, masks, hidden, between, node = [], [], [], [], softmax.args[0]
    if not all(_same_dtype(n) for n in chain) or asked and order[end.args[1]] > order[softmax]:
        return None
    while isinstance(node, torch.fx.Node) and op_name(node) not in PRODUCTS:
        name, first, second = op_name(node), *(list(node.args) + [None, None])[:2]
        if name == "add" and _is_product(second) and not _is_product(first):
            first, second = second, first
        scalar = isinstance(second, (int, float)) or second in constants and second.meta["val"].ndim == 0
        if len(node.users) != 1 or node.kwargs and name not in PASS_ON:
            return None
        between.append(node)
        if name in PASS_ON and _same_dtype(node):
            pass
        elif name in ("mul", "div") and scalar:
            factors.append((name, second))
        elif name == "add" and is_floating(second) and not masks and not factors:
            masks.append(second)
        elif name == "masked_fill" and second in constants and not masks and not factors and (fill := _number(node.args[2])) < ops.HIDES:
            hidden.append((second, fill, True))
        elif name == "where" and first in constants and not masks and not factors and (fill := _number(node.args[2])) < ops.HIDES:
            hidden.append((first, fill, False))
            first = second
        else:
            return None
        node = first
    if not isinstance(node, torch.fx.Node) or len(node.users) != 1 or node.meta["val"].ndim < 3:
        return None
    query, key = node.args

    def compute(env):
        q, k, v = ops.vars_of(*(env[n] for n in (query, key, end.args[1])))
        k, scale = glim.transpose(k), 1.0
        for name, by in factors:
            by = float(env[by] if isinstance(by, torch.fx.Node) else by)
            scale = scale * by if name == "mul" else scale / by
        flat = q.ndim == 3  # batch and heads are one axis, as in torch.nn.MultiheadAttention
        if flat:
            q, k, v = (glim.unsqueeze(x, 0) for x in (q, k, v))
        fills = [np.where(ops.array(env[condition]) == hides, number, 0) for condition, number, hides in hidden]
        context, p = ops.attention(q, k, v, scale, env[masks[0]] if masks else None, fills=sum(fills) if fills else None,
                                   need_probs=asked)
        return [glim.squeeze(x, 0) if flat and x is not None else x for x in (context, p)]

    def both(env, me):
        env[end], p = compute(env)
        env.update((n, p) for n in chain)
        return p

    nothing = {n: (lambda env, _: None) for n in (node, *between, *chain)}
    if asked:
        return {**nothing, **{n: (lambda env, me: env[me]) for n in (*chain, end)}, softmax: both}
    return {**nothing, end: lambda env, _: compute(env)[0]}


def _is_product(node):
    """A product, or one times a number."""
    while op_name(node) in PASS_ON | {"mul", "div"}:
        node = node.args[0]
    return op_name(node) in PRODUCTS


def _number(value):
    """A number, as it is written or as full((), number) of PyTorch's; 0 for anything else."""
    if op_name(value) in ("full", "scalar_tensor"):
        value = value.args[1 if op_name(value) == "full" else 0]
    return value if isinstance(value, (int, float)) else 0
