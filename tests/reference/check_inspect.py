#!/usr/bin/env python3
"""Holds what `glim inspect` wrote for a Transformer against PyTorch.

    check_inspect.py FOLDER        FOLDER/inspect.json and FOLDER/inspect.safetensors (--data)

Builds the model anew from the weights in the safetensors file with plain matrix products, so that
scores and probabilities have gradients of their own, and compares loss, every parameter's gradient,
and A, dA, S, dS of every attention, as they stand in the JSON. Prints the largest differences;
exits 1 when one is above 1e-5 of the tensor's largest element (or 1e-7).
"""
import json
import math
import sys

import numpy as np
import torch
from safetensors.numpy import load_file

folder = sys.argv[1]
data = json.load(open(f"{folder}/inspect.json", encoding="utf-8"))
tensors = load_file(f"{folder}/inspect.safetensors")
w = {n["name"]: torch.tensor(tensors[n["name"]], requires_grad=True)
     for n in data["nodes"] if n["op"] == "leaf"}
d = w["src_embed.weight"].shape[1]
views = {v["module"]: v for v in data["attention"]}
pre = "encoder.norm.weight" in w
kept = {}


def embed(side, ids):
    x = w.get(side + "_embed.weight", w["src_embed.weight"])[torch.tensor(ids)] * math.sqrt(d)
    t, i = torch.arange(len(ids))[:, None], torch.arange(0, d, 2)
    angle = (t * torch.exp(-i * math.log(10000.0) / d)).to(x.dtype)
    table = torch.zeros(len(ids), d, dtype=x.dtype)
    table[:, 0::2], table[:, 1::2] = torch.sin(angle), torch.cos(angle)
    return x + table


def linear(name, x):
    return x @ w[name + ".weight"].T + w[name + ".bias"]


def norm(name, x):
    return torch.nn.functional.layer_norm(x, (d,), w[name + ".weight"], w[name + ".bias"], 1e-5)


def attend(name, query, memory):
    heads = np.array(views[name]["A"]).shape[0]
    weight, bias = w[name + ".in_proj_weight"], w[name + ".in_proj_bias"]
    q, k, v = (x @ weight[i * d:(i + 1) * d].T + bias[i * d:(i + 1) * d]
               for i, x in enumerate([query, memory, memory]))
    q, k, v = (x.reshape(len(x), heads, -1).transpose(0, 1) for x in (q, k, v))
    scores = q @ k.transpose(1, 2) / math.sqrt(d // heads)
    keep = torch.tensor(views[name]["keep"]) > 0
    scores.retain_grad()
    probs = torch.softmax(scores.masked_fill(~keep, -math.inf), -1)
    probs.retain_grad()
    kept[name] = (scores, probs)
    return linear(name + ".out_proj", (probs @ v).transpose(0, 1).reshape(len(query), d))


def residual(norm_name, x, f):
    return x + f(norm(norm_name, x)) if pre else norm(norm_name, x + f(x))


def feed_forward(layer):
    return lambda x: linear(layer + ".linear2", torch.relu(linear(layer + ".linear1", x)))


def count(side):
    return len({n.split(".")[2] for n in w if n.startswith(side + ".layers.")})


x = embed("src", data["source_ids"])
for i in range(count("encoder")):
    layer = f"encoder.layers.{i}"
    x = residual(layer + ".norm1", x, lambda y: attend(layer + ".self_attn", y, y))
    x = residual(layer + ".norm2", x, feed_forward(layer))
memory = norm("encoder.norm", x) if pre else x
x = embed("tgt", [1] + data["target_out_ids"][:-1])
for i in range(count("decoder")):
    layer = f"decoder.layers.{i}"
    x = residual(layer + ".norm1", x, lambda y: attend(layer + ".self_attn", y, y))
    x = residual(layer + ".norm2", x, lambda y: attend(layer + ".multihead_attn", y, memory))
    x = residual(layer + ".norm3", x, feed_forward(layer))
x = norm("decoder.norm", x) if pre else x
table = next(n for n in ("generator.weight", "tgt_embed.weight", "src_embed.weight") if n in w)
log_probs = torch.log_softmax(x @ w[table].T + w["generator.bias"], -1)
# q: 1 - ε for the target, 0 for padding (token 0), ε/(V - 2) for the rest; KL(q ‖ p), mean of tokens.
epsilon, vocabulary = data["label_smoothing"], log_probs.shape[1]
q = torch.full_like(log_probs, epsilon / (vocabulary - 2))
q[:, 0] = 0
q[range(len(q)), data["target_out_ids"]] = 1 - epsilon
loss = torch.sum(torch.xlogy(q, q) - q * log_probs) / len(q)
loss.backward()

worst, bad = {}, 0


def compare(kind, name, mine, theirs):
    global bad
    mine, theirs = np.asarray(mine, dtype=np.float64), theirs.detach().double().numpy()
    scale = np.abs(theirs).max()
    difference = np.abs(mine.reshape(theirs.shape) - theirs).max()
    worst[kind] = max(worst.get(kind, 0), difference / max(scale, 1e-30))
    if difference > max(1e-5 * scale, 1e-7):
        bad += 1
        print(f"differs: {kind} {name}: {difference:.2e} of {scale:.2e}")


compare("loss", "", [data["loss"]], loss.reshape(1))
for name, parameter in w.items():
    gradient = data["tensors"].get(name + ".grad")
    if gradient:
        compare("parameter gradients", name, gradient["values"], parameter.grad)
for name, (scores, probs) in kept.items():
    v = views[name]
    compare("A", name, v["A"], probs)
    compare("dA", name, v["dA"], probs.grad)
    compare("S", name, v["S"], scores)
    compare("dS", name, v["dS"], scores.grad)
for kind, difference in worst.items():
    print(f"{kind}: largest difference {difference:.1e} of the tensor's largest element")
sys.exit(1 if bad else 0)
