#!/usr/bin/env python3
"""The Transformer of 2017 in one sitting, in NumPy: the chapter of one_file.cpp for readers of Python.

    python3 one_file.py                          learns to copy sentences, shows what it learned
    python3 one_file.py --show decoder.0.cross   the backward pass of one head, value by value
    python3 one_file.py --tied                   both embeddings and the generator are one matrix

Have the paper open: Vaswani et al., "Attention Is All You Need" (arXiv 1706.03762). Sections and equations below are
those of the paper. NumPy has arrays with strides and broadcasting. Everything else is here: the tape, the ops with
their gradients, the model, the loss, Adam, the copy task, training, greedy decoding, and a look at backward.

Letters beside a reshape are extents. S is also the scores Q Kᵀ/√Dh, and V the values.

    B   sentences of a batch              D    width of the model, d_model in the paper
    T   positions of the target           H    heads
    S   positions of the source           Dh   width of a head, D / H
    dx  ∂L/∂x, of x's shape               V    tokens of the vocabulary

Glim's library has these names for these things, and a test holds both equal.
"""
import sys
from types import SimpleNamespace

import numpy as np

# ---- 1  The tape -----------------------------------------------------------------------------------------------------
#
# While a tape exists, each op writes a node: its inputs, its y, and its gradient. The gradient is a function of dy, and
# keeps the arrays that it needs. Nodes are in the order of computation, so that each value comes after all that it was
# made of. Backward goes from the last to the first:
#
#   dx = Σ over the ops that read x of (∂y/∂x)ᵀ dy
#
# When a node's turn comes, all ops that read its y have had theirs, and dy is complete.

class Var:
    """A value that ops read and make. A constant requires no gradient."""

    def __init__(self, value, requires_grad=False):
        self.value, self.requires_grad, self.shape = value, requires_grad, value.shape
        self.grad = None  # ∂L/∂value, once backward came by

    def __add__(self, other):
        return add(self, other)


class Tape:
    current = None

    def __enter__(self):
        Tape.current, self.nodes = self, []
        return self

    def __exit__(self, *_):
        Tape.current = None

    def backward(self, loss):
        loss.grad = np.ones(loss.shape)  # ∂L/∂L
        for node in reversed(self.nodes):
            if node.y.grad is None:
                continue  # the loss does not depend on y
            for x, dx in zip(node.inputs, node.gradient(node.y.grad)):
                if x.requires_grad:
                    x.grad = dx if x.grad is None else x.grad + dx


def apply(op, formula, inputs, y, gradient):  # y, on the tape if there is one and if an input needs a gradient
    if Tape.current is None or not any(x.requires_grad for x in inputs):
        return Var(y)
    out = Var(y, requires_grad=True)
    Tape.current.nodes.append(SimpleNamespace(op=op, formula=formula, inputs=inputs, y=out, gradient=gradient, path=""))
    return out


def named(x, path):  # names the value that was computed last: decoder.layers.0.self_attn.scores
    if Tape.current is not None:
        Tape.current.nodes[-1].path = path
    return x


# ---- 2  Ops ----------------------------------------------------------------------------------------------------------
#
# Each op is a function with three parts: y, the gradient of each input given dy, and the node for the tape. The letters
# are those of the formula, and dy ⊙ b is written dy * b.
def row_sum(x):
    return x.sum(-1, keepdims=True)


def row_mean(x):
    return x.mean(-1, keepdims=True)


def sum_to(x, shape):  # broadcasting read backwards: sums over the axes along which broadcast_to repeats
    x = x.sum(tuple(range(x.ndim - len(shape))))
    return x.sum(tuple(axis for axis, n in enumerate(shape) if n == 1), keepdims=True)


# y = x repeated where its extent is 1. What is read several times gets the sum of their gradients.
def broadcast_to(x, shape):
    return apply("broadcast_to", "dx = Σ dy over the repeats", [x], np.broadcast_to(x.value, shape),
                 lambda dy: [sum_to(dy, x.shape)])


# y = a + b. Broadcasting comes first, as an op of its own.
def add(a, b):
    shape = np.broadcast_shapes(a.shape, b.shape)
    a, b = [x if x.shape == shape else broadcast_to(x, shape) for x in (a, b)]
    return apply("add", "da = dy, db = dy", [a, b], a.value + b.value,
                 lambda dy: [dy, dy])


# y = c x for a number c
def scale(c, x):
    return apply("scale", "dx = c dy", [x], c * x.value,
                 lambda dy: [c * dy])


# y = max(0, x)
def relu(x):
    positive = x.value > 0
    return apply("relu", "dx = dy, 0 where y = 0", [x], x.value * positive,
                 lambda dy: [dy * positive])


# y = x under another shape
def reshape(x, *shape):
    return apply("reshape", "dx = dy under x's shape", [x], x.value.reshape(shape),
                 lambda dy: [dy.reshape(x.shape)])


# y = x with two axes exchanged
def transpose(x, a=-2, b=-1):
    return apply("transpose", "dx = dy exchanged back", [x], x.value.swapaxes(a, b),
                 lambda dy: [dy.swapaxes(a, b)])


# y = rows begin ... end - 1 of x
def slice_rows(x, begin, end):
    def gradient(dy):
        dx = np.zeros(x.shape)
        dx[begin:end] = dy
        return [dx]
    return apply("slice", "dx = zeros with dy at these places", [x], x.value[begin:end], gradient)


# y = a b, a (..., M, K), b (..., K, N), y (..., M, N)
def matmul(a, b):
    return apply("matmul", "da = dy bᵀ, db = aᵀ dy", [a, b], a.value @ b.value,
                 lambda dy: [dy @ b.value.swapaxes(-2, -1), a.value.swapaxes(-2, -1) @ dy])


# y = x Wᵀ + b for each row, x (..., I), W (O, I), b (O,), y (..., O)
def linear(x, weight, bias):
    def gradient(dy):
        rows, dy_rows = x.value.reshape(-1, x.shape[-1]), dy.reshape(-1, dy.shape[-1])  # of all leading axes
        return [dy @ weight.value, dy_rows.T @ rows, dy_rows.sum(0)]
    return apply("linear", "dx = dy W, dW = dyᵀ x, db = Σ_rows dy", [x, weight, bias],
                 x.value @ weight.value.T + bias.value, gradient)


# y_i = keep_i e^{x_i - max} / Σ_j keep_j e^{x_j - max} in each row
#
# A hidden element counts as -∞, and e^{-∞} = 0. A row that keeps nothing has the sum 0, and is zeros instead of 0/0.
# The gradient has the factor y: it is 0 wherever y is 0.
def masked_softmax(x, keep):
    kept = np.where(keep, x.value, -np.inf)
    e = np.exp(kept - kept.max(-1, keepdims=True, initial=np.finfo(float).min))
    y = e / np.where(row_sum(e) == 0, 1, row_sum(e))
    return apply("masked_softmax", "dx = y ⊙ (dy - Σ(dy ⊙ y))", [x], y,
                 lambda dy: [y * (dy - row_sum(dy * y))])


# y = γ ⊙ x̂ + β, x̂ = (x - μ)/σ, σ = √(mean (x - μ)² + ε), x and y (..., D), γ and β (D,)
def layer_norm(x, gamma, beta, eps=1e-5):
    centered = x.value - row_mean(x.value)
    sigma = np.sqrt(row_mean(centered * centered) + eps)
    x_hat = centered / sigma

    def gradient(dy):
        g = gamma.value * dy
        dx = (g - row_mean(g) - x_hat * row_mean(g * x_hat)) / sigma
        return [dx, sum_to(dy * x_hat, gamma.shape), sum_to(dy, beta.shape)]
    return apply("layer_norm", "dx = (g - mean g - x̂ ⊙ mean(g ⊙ x̂))/σ, g = γ ⊙ dy", [x, gamma, beta],
                 gamma.value * x_hat + beta.value, gradient)


# y = rows ids_i of x, x (V, D), ids (B, T), y (B, T, D). A row that is read twice gets both gradients.
def index_select(x, ids):
    def gradient(dy):
        dx = np.zeros(x.shape)
        np.add.at(dx, ids, dy)
        return [dx]
    return apply("index_select", "dx = zeros, row ids_i += dy row i", [x], x.value[ids], gradient)


# ---- 3  The model ----------------------------------------------------------------------------------------------------

PAD, BEGIN, END, FIRST_WORD = 0, 1, 2, 3
VOCAB, D_MODEL, HEADS, D_FF, LAYERS = FIRST_WORD + 10, 32, 4, 64, 2


class SplitMix64:
    """The i-th number depends on the seed and i alone (Steele, Lea and Flood 2014)."""
    GAMMA = 0x9e3779b97f4a7c15

    def __init__(self, state):
        self.state = state

    def next(self, count=1):
        z = np.uint64(self.state) + np.uint64(self.GAMMA) * np.arange(1, count + 1, dtype=np.uint64)
        self.state = (self.state + self.GAMMA * int(count)) % 2 ** 64
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
        return z ^ (z >> np.uint64(31))

    def below(self, n):
        return int(self.next()[0]) % n

    def uniform(self, shape):  # in [0, 1)
        return (self.next(np.prod(shape)) >> np.uint64(11)).reshape(shape) * 2.0 ** -53


# Section 3.5: PE(p, 2i) = sin(p / 10000^{2i/D}), PE(p, 2i+1) = cos(p / 10000^{2i/D}), (T, D)
def sinusoidal_positions(length, d):
    p, column = np.arange(length)[:, None], np.arange(d)
    angle = p / 10000.0 ** (column // 2 * 2 / d)
    return np.where(column % 2 == 0, np.sin(angle), np.cos(angle))


# Keep-masks: True = may be attended to. They broadcast to the scores (B, H, T, S).
# Padding: a query may attend to keys that are not padding, ids (B, S) -> (B, 1, 1, S).
def padding_keep(ids):
    return (ids != PAD)[:, None, None, :]


# The future (section 3.2.3): query i may attend to keys 0 ... i, as later ones hold its answer, (T, T).
def causal_keep(length):
    return np.arange(length) <= np.arange(length)[:, None]


# Both at once, for a decoder's self-attention: (B, 1, T, T).
def decoder_keep(ids):
    return padding_keep(ids) & causal_keep(ids.shape[1])


class Transformer:
    """Figure 1. A layer is a method, and finds its parameters by their names in the library's checkpoints. If tied, both
    embeddings and the generator are one matrix (section 3.4)."""

    def __init__(self, p_drop=0.1, tied=False):
        self.p_drop, self.random, self.parameters = p_drop, SplitMix64(1), {}
        self.src_embed = self.new_matrix("src_embed.weight", VOCAB, D_MODEL)
        self.tgt_embed = self.src_embed if tied else self.new_matrix("tgt_embed.weight", VOCAB, D_MODEL)
        self.out_embed = self.src_embed if tied else self.new_matrix("generator.weight", VOCAB, D_MODEL)
        self.new("generator.bias", np.zeros(VOCAB))
        for i in range(LAYERS):
            self.new_layer(f"encoder.layers.{i}", ["self_attn"])
            self.new_layer(f"decoder.layers.{i}", ["self_attn", "multihead_attn"])

    def new(self, name, value):
        return self.parameters.setdefault(name, Var(value, requires_grad=True))

    def new_matrix(self, name, rows, columns):  # uniform on ±√(6/(rows + columns)): Glorot and Bengio 2010
        return self.new(name, np.sqrt(6 / (rows + columns)) * (2 * self.random.uniform((rows, columns)) - 1))

    def new_layer(self, path, attentions):
        for name in attentions:
            self.new_matrix(f"{path}.{name}.in_proj_weight", 3 * D_MODEL, D_MODEL)
            self.new(f"{path}.{name}.in_proj_bias", np.zeros(3 * D_MODEL))
            self.new_matrix(f"{path}.{name}.out_proj.weight", D_MODEL, D_MODEL)
            self.new(f"{path}.{name}.out_proj.bias", np.zeros(D_MODEL))
        for name, n_in, n_out in (("linear1", D_MODEL, D_FF), ("linear2", D_FF, D_MODEL)):
            self.new_matrix(f"{path}.{name}.weight", n_out, n_in)
            self.new(f"{path}.{name}.bias", np.zeros(n_out))
        for name in ["norm1", "norm2", "norm3"][:1 + len(attentions)]:
            self.new(f"{path}.{name}.weight", np.ones(D_MODEL))
            self.new(f"{path}.{name}.bias", np.zeros(D_MODEL))

    def both(self, path):
        return self.parameters[path + ".weight"], self.parameters[path + ".bias"]

    # Section 5.4: each element becomes 0 with probability p, and the others grow by 1/(1 - p), so that the mean stays.
    # Only training has a tape, and only training drops.
    def drop(self, x):
        if self.p_drop == 0 or Tape.current is None:
            return x
        mask = (self.random.uniform(x.shape) >= self.p_drop) / (1 - self.p_drop)
        return apply("dropout", "dx = dy ⊙ mask", [x], x.value * mask,
                     lambda dy: [dy * mask])

    # Section 3.1, around each sublayer f: y = LayerNorm(x + Dropout(f(x)))
    def residual(self, norm, x, f_of_x):
        return layer_norm(x + self.drop(f_of_x), *self.both(norm))

    def feed_forward(self, path, x):  # equation 2
        return linear(relu(linear(x, *self.both(path + ".linear1"))), *self.both(path + ".linear2"))

    # Section 3.2.2: head_i = attention(Q W_i^Q, K W_i^K, V W_i^V), y = concat(head_1 ... head_H) W^O
    # x (B, T, D), memory (B, S, D), keep broadcasts to (B, H, T, S), y (B, T, D)
    def attention(self, path, x, memory, keep):
        # in_proj_weight has (W^Q)ᵀ, then (W^K)ᵀ and (W^V)ᵀ, D rows each, in which head follows head.
        def heads(x, part):  # (B, T, D) -> (B, T, H, Dh) -> (B, H, T, Dh)
            weight, bias = [slice_rows(self.parameters[f"{path}.in_proj_{what}"], part * D_MODEL, (part + 1) * D_MODEL)
                            for what in ("weight", "bias")]
            return transpose(reshape(linear(x, weight, bias), *x.shape[:2], HEADS, D_MODEL // HEADS), 1, 2)

        query = named(heads(x, 0), path + ".query")
        key = named(heads(memory, 1), path + ".key")
        value = named(heads(memory, 2), path + ".value")
        # Equation 1. A product of two rows of deviation 1 has deviation √Dh (footnote 4). Without the factor 1/√Dh,
        # A = softmax(S) would be near 0 and 1, where softmax has hardly any gradient.
        product = named(matmul(query, transpose(key)), path + ".product")               # (B, H, T, S)
        scores = named(scale((D_MODEL // HEADS) ** -0.5, product), path + ".scores")    # S
        probs = named(masked_softmax(scores, keep), path + ".probs")                    # A
        context = named(matmul(probs, value), path + ".context")                        # (B, H, T, Dh)
        joined = reshape(transpose(context, 1, 2), *x.shape)                            # (B, T, H, Dh) -> (B, T, D)
        return linear(joined, *self.both(path + ".out_proj"))

    def encoder_layer(self, path, x, keep):
        x = self.residual(path + ".norm1", x, self.attention(path + ".self_attn", x, x, keep))
        return self.residual(path + ".norm2", x, self.feed_forward(path, x))

    def decoder_layer(self, path, x, memory, keep, memory_keep):
        x = self.residual(path + ".norm1", x, self.attention(path + ".self_attn", x, x, keep))
        x = self.residual(path + ".norm2", x, self.attention(path + ".multihead_attn", x, memory, memory_keep))
        return self.residual(path + ".norm3", x, self.feed_forward(path, x))

    # Section 3.4: √D E[id] + PE. Entries of E are small, and √D brings them to the size of PE's.
    def embed(self, table, ids):
        positions = Var(sinusoidal_positions(ids.shape[1], D_MODEL))
        return self.drop(scale(D_MODEL ** 0.5, index_select(table, ids)) + positions)

    def encode(self, src):  # (B, S) -> the memory (B, S, D)
        x = self.embed(self.src_embed, src)
        for i in range(LAYERS):
            x = self.encoder_layer(f"encoder.layers.{i}", x, padding_keep(src))
        return x

    def decode(self, tgt_in, memory, src):  # tgt_in (B, T), src (B, S) -> logits (B, T, V)
        x = self.embed(self.tgt_embed, tgt_in)
        for i in range(LAYERS):
            x = self.decoder_layer(f"decoder.layers.{i}", x, memory, decoder_keep(tgt_in), padding_keep(src))
        return linear(x, self.out_embed, self.parameters["generator.bias"])


# ---- 4  The loss -----------------------------------------------------------------------------------------------------
#
# Section 5.4. The model is asked for q, which leaves ε to the tokens that are not the target:
#
#   q = 1 - ε for the target, 0 for padding, ε/(V - 2) elsewhere
#   L = Σ_rows KL(q ‖ p) = Σ q (ln q - ln p), p = softmax(x), ln p = x - ln Σ e^x
#
# Where the target is padding, q is 0 everywhere, and so are the row's loss and gradient.
def label_smoothing_loss(logits, target, epsilon):  # (N, V), (N,)
    q = np.full(logits.shape, epsilon / (VOCAB - 2))
    q[np.arange(len(q)), target] = 1 - epsilon
    q[:, PAD] = q[target == PAD] = 0
    shifted = logits.value - logits.value.max(-1, keepdims=True)
    log_probs = shifted - np.log(row_sum(np.exp(shifted)))
    kl = q * (np.log(np.where(q > 0, q, 1)) - log_probs)  # 0 ln 0 = 0
    return apply("label_smoothing_loss", "dx = dy (Σ(q) ⊙ p - q)", [logits], kl.sum(),
                 lambda dy: [dy * (row_sum(q) * np.exp(log_probs) - q)])


# ---- 5  Adam ---------------------------------------------------------------------------------------------------------
#
# Equation 3. The rate rises to its peak factor/√(D warmup) at step warmup, and falls as 1/√step.
def noam_schedule(step, warmup=100, factor=0.5):
    return factor * D_MODEL ** -0.5 * min(step * warmup ** -1.5, step ** -0.5)


class Adam:
    """Kingma and Ba 2015, algorithm 1, with the numbers of section 5.3. The means m of g and v of g² begin at 0. After
    t steps they are too small by the factor 1 - βᵗ, which m̂ and v̂ make good."""
    beta1, beta2, eps = 0.9, 0.98, 1e-9

    def __init__(self, parameters):
        self.parameters, self.mean, self.square, self.t = parameters, {}, {}, 0

    def step(self, rate):
        self.t += 1
        for name, theta in self.parameters.items():
            g = theta.grad
            m = self.mean[name] = self.beta1 * self.mean.get(name, 0) + (1 - self.beta1) * g
            v = self.square[name] = self.beta2 * self.square.get(name, 0) + (1 - self.beta2) * g * g
            m_hat, v_hat = m / (1 - self.beta1 ** self.t), v / (1 - self.beta2 ** self.t)
            theta.value = theta.value - rate * m_hat / (np.sqrt(v_hat) + self.eps)
            theta.grad = None


# ---- 6  The copy task ------------------------------------------------------------------------------------------------
#
# A sentence has 1 to 10 words, each of them one of 10. The target is the source. Attention has to find place t of the
# source for place t of the target, whatever word is there.
def draw_sentences(random, count):
    return [[FIRST_WORD + random.below(10) for _ in range(1 + random.below(10))] for _ in range(count)]


# One row for each sentence, filled up with padding: (B, T).
def padded(sentences):
    return np.array([s + [PAD] * (max(map(len, sentences)) - len(s)) for s in sentences])


# ---- 7  Training and decoding ----------------------------------------------------------------------------------------
#
# The mean loss of a token. Teacher forcing: the decoder reads <s> y and has to say y </s>, at all places at once.
def loss_of(model, sentences):
    src = tgt_out = padded([s + [END] for s in sentences])
    logits = model.decode(padded([[BEGIN] + s for s in sentences]), model.encode(src), src)
    logits = reshape(logits, -1, VOCAB)  # (B, T, V) -> (N, V), N = B T
    return scale(1 / np.count_nonzero(tgt_out), label_smoothing_loss(logits, tgt_out.reshape(-1), 0.1))


# Leaves ∂L/∂θ in each parameter's grad.
def forward_and_backward(model, sentences):
    with Tape() as tape:
        loss = loss_of(model, sentences)
        tape.backward(loss)
    return loss.value


# Greedy decoding: each time the likeliest token but padding and <s>. After </s> comes padding.
def greedy(model, sentences):
    src = padded([s + [END] for s in sentences])
    memory, output = model.encode(src), np.full((len(src), 1), BEGIN)
    for _ in range(src.shape[1]):
        token = END + model.decode(output, memory, src).value[:, -1, END:].argmax(-1)
        output = np.column_stack([output, np.where(np.isin(output[:, -1], (END, PAD)), PAD, token)])
    return output.tolist()


def text_of(tokens):
    return "".join(f"{token - FIRST_WORD + 1} " for token in tokens if token >= FIRST_WORD)


def train(model):
    adam, random = Adam(model.parameters), SplitMix64(3)
    for step in range(1, 501):
        loss = forward_and_backward(model, draw_sentences(random, 32))
        adam.step(noam_schedule(step))
        if step % 50 == 0:
            print(f"step {step}  loss of a token {loss:.4f}")
    drawn = draw_sentences(random, 100)
    pairs = [(text_of(source), text_of(output)) for source, output in zip(drawn, greedy(model, drawn))]
    for source, output in pairs[:3]:
        print(f"\nsource  {source}\noutput  {output}")
    print(f"\n{sum(source == output for source, output in pairs)} of 100 drawn sentences are copied without a mistake.")


# ---- 8  Looking at backward ------------------------------------------------------------------------------------------
#
# Prints what has a name in an attention, as backward meets it: decoder.0.cross is decoder.layers.0.multihead_attn, and
# decoder.0.self and encoder.0.self are self_attn.
def show(model, place):
    side, layer, kind = (place + "..").split(".")[:3]
    path = f"{side}.layers.{layer}.{'multihead_attn' if kind == 'cross' else 'self_attn'}."
    with Tape() as tape:
        tape.backward(loss_of(model, [[5, 3, 6, 3, 7]]))
    nodes = [node for node in reversed(tape.nodes) if node.path.startswith(path)]
    if not nodes:
        sys.exit(f"one_file: --show {place}: try decoder.0.cross")
    print("value     shape       |y|   |∂L/∂y|  line  the rule, with dy = ∂L/∂y")
    values = {}
    for node in nodes:
        name, line = node.path[len(path):], node.gradient.__code__.co_firstlineno
        x, dx = values[name] = node.y.value[0, 0], node.y.grad[0, 0]  # of head 0: (T, ...)
        print(f"{name:8} {len(x):2} x {len(x[0]):<2}  {np.linalg.norm(x):8.4f} {np.linalg.norm(dx):8.4f}  "
              f"{line:4}  {node.op}: {node.formula}")
    (a, da), (s, ds) = values["probs"], values["scores"]
    for title, x in (("A = probs", a), ("∂L/∂A", da), ("S = scores", s), ("∂L/∂S, each row of which adds up to 0", ds)):
        print(f"\n{title}\n" + "\n".join(" ".join(f"{v:8.4f}" for v in row) for row in x))


# For the test: 20 updates from the weights of a file. Both have lines of a name and its numbers.
def hold(model, file):
    for line in open(file):
        name, *numbers = line.split()
        model.parameters[name].value = np.array(numbers, dtype=float).reshape(model.parameters[name].shape)
    adam, random = Adam(model.parameters), SplitMix64(3)
    for step in range(1, 21):
        print("loss", repr(float(forward_and_backward(model, draw_sentences(random, 32)))))
        for name, x in model.parameters.items() if step == 1 else ():
            print("grad." + name, *x.grad.ravel().tolist())
        adam.step(noam_schedule(step, warmup=10))  # rises and falls
    for name, x in model.parameters.items():
        print(name, *x.value.ravel().tolist())
    for output in greedy(model, draw_sentences(random, 8)):
        print("said", text_of(output))


if __name__ == "__main__":
    words = [w for w in sys.argv[1:] if w != "--tied"]
    transformer = Transformer(p_drop=0 if words else 0.1, tied="--tied" in sys.argv)
    if not words:
        train(transformer)
    elif len(words) == 2 and words[0] in ("--show", "--hold"):
        (show if words[0] == "--show" else hold)(transformer, words[1])
    else:
        sys.exit("one_file: options: [--tied] [--show decoder.0.cross | --hold WEIGHTS]")
