"""Eigenvalues of Hessians by Lanczos' method, beside those of the whole matrix."""
import numpy as np
import pytest

import glim

IDS = np.random.default_rng(1).integers(0, 5, size=(6, 4))
X = np.random.default_rng(2).normal(size=(12, 3))
Y = np.random.default_rng(3).integers(0, 4, size=12)


def network(*layers):
    model = glim.Sequential(*layers)
    model.to("float64")
    return model, lambda: glim.cross_entropy(model(X), Y)


def gpt():
    model = glim.Gpt(vocab=5, context=4, layers=1, d_model=8, heads=2, d_ff=8)
    model.to("float64")
    return model, lambda: glim.cross_entropy(model(IDS[:, :-1]), IDS[:, 1:])


class Recurrent(glim.Module):
    """An LSTM of three steps."""

    def __init__(self):
        super().__init__()
        self.input, self.hidden, self.out = glim.Linear(3, 16), glim.Linear(4, 16), glim.Linear(4, 4)

    def forward(self, x):
        state = glim.Var(np.zeros((len(x), 8)))
        for t in range(3):
            state = glim.lstm_cell(self.input(x * (t + 1)), self.hidden(state[:, :4]), state)
        return self.out(state[:, :4])


MODELS = {
    "softmax regression": lambda: network(glim.Linear(3, 4)),
    "tanh": lambda: network(glim.Linear(3, 8), glim.Tanh(), glim.Linear(8, 4)),
    "layer norm": lambda: network(glim.Linear(3, 10), glim.LayerNorm(10), glim.GELU(), glim.Linear(10, 4)),
    "gpt": gpt,
    "lstm": lambda: network(Recurrent()),
}


def made(name):
    glim.seed(3)
    return MODELS[name]()


def matrix_of(loss, leaves):
    """H, a column for each element of the leaves."""
    sizes = [leaf.numpy().size for leaf in leaves]
    with glim.Tape() as tape:
        value, columns = loss(), []
        for unit in np.eye(sum(sizes)):
            parts = [v.reshape(leaf.shape) for v, leaf in zip(np.split(unit, np.cumsum(sizes)[:-1]), leaves)]
            columns.append(np.concatenate([h.numpy().ravel() for h in tape.hvp(value, leaves, parts)]))
    return np.stack(columns), np.cumsum([0] + sizes)


@pytest.mark.parametrize("name", MODELS)
def test_eigenvalues_are_those_of_the_matrix(name):
    model, loss = made(name)
    leaves = model.parameters()
    h, ends = matrix_of(loss, leaves)
    assert len(h) <= 500
    found = glim.curvature(loss, model, 5, blocks=True)
    expected = np.linalg.eigvalsh((h + h.T) / 2)
    scale = abs(expected).max()
    assert found.parameters == len(h) and found.converged and found.products <= len(h)
    assert abs(found.largest - expected[::-1][:5]).max() <= 1e-10 * scale
    assert abs(found.by_size - expected[np.argsort(-abs(expected))][:5]).max() <= 1e-10 * scale
    assert abs(found.lowest - expected[0]) <= 1e-10 * scale
    for k, (name, value) in enumerate(found.blocks.items()):
        block = h[ends[k]:ends[k + 1], ends[k]:ends[k + 1]]
        assert abs(value - np.linalg.eigvalsh((block + block.T) / 2)[-1]) <= 1e-10 * scale, name
    quick = glim.curvature(loss, model, 1, tolerance=1e-2)
    assert quick.products <= 15 and abs(quick.largest[0] / expected[-1] - 1) <= 1e-2


def test_preconditioned_by_adam():
    model, loss = made("gpt")
    optimizer = glim.Adam(model, lr=2e-3, betas=(0.9, 0.98), eps=1e-6)
    with pytest.raises(glim.StateError, match="call step"):
        glim.curvature(loss, model, preconditioner=optimizer)
    for _ in range(4):
        optimizer.zero_grad()
        with glim.Tape() as tape:
            tape.backward(loss())
        optimizer.step()
    state, names = optimizer.state_dict(), [name for name, _ in model.named_parameters()]
    p = np.concatenate([np.sqrt(state[f"exp_avg_sq.{name}"].numpy().ravel() / (1 - 0.98 ** 4)) + 1e-6 for name in names])
    h, _ = matrix_of(loss, model.parameters())
    expected = np.linalg.eigvalsh((h + h.T) / 2 / np.sqrt(np.outer(p, p)))
    found = glim.curvature(loss, model, 3, preconditioner=optimizer)
    assert abs(found.largest - expected[::-1][:3]).max() <= 1e-10 * abs(expected).max()
    assert found.threshold == pytest.approx(38) and found.rate == 2e-3
    assert f"rate · largest = {2e-3 * expected[-1]:.4g}, stable below 38" in str(found)


@pytest.mark.parametrize("options, threshold", [({}, 2), ({"momentum": 0.9}, 3.8), ({"momentum": 0.5, "nesterov": True}, 1.5)])
def test_threshold_of_descent(options, threshold):
    """Steps on λθ²/2 shrink just below it and grow just above it."""
    for factor in (0.98, 1.02):
        w = glim.Var.leaf(np.ones(1), "w")
        optimizer = glim.SGD([w], lr=0.1, **options)
        scale = factor * threshold / 0.1
        size = []
        for _ in range(800):
            optimizer.zero_grad()
            with glim.Tape() as tape:
                tape.backward((0.5 * scale * w * w).sum())
            optimizer.step()
            size.append(abs(w.numpy()[0]))
        assert (max(size[-50:]) < 0.9) == (factor < 1)
    found = glim.curvature(lambda: (0.5 * scale * w * w).sum(), [w], 1, preconditioner=optimizer)
    assert found.threshold == pytest.approx(threshold) and found.largest[0] == pytest.approx(scale)


def test_density():
    model, loss = made("tanh")
    h, _ = matrix_of(loss, model.parameters())
    found = glim.curvature(loss, model, probes=8)
    t, density, error, distance = found.density
    sigma = 0.02 * (t[-1] - t[0]) / 1.2
    true = np.exp(-(t[:, None] - np.linalg.eigvalsh((h + h.T) / 2)) ** 2 / 2 / sigma ** 2).mean(1) / sigma / np.sqrt(2 * np.pi)
    off = abs(density - true).sum() * (t[1] - t[0])
    assert off < 3 * distance and off < 0.2 and error.shape == t.shape


def test_same_bits_for_any_threads():
    before, values = glim.num_threads(), []
    for threads in (1, 2):
        glim.set_num_threads(threads)
        model, loss = made("gpt")
        values.append(glim.curvature(loss, model, blocks=True, probes=2))
    glim.set_num_threads(before)
    one, two = values
    assert one.values.tobytes() == two.values.tobytes() and one.blocks == two.blocks
    assert one.density[1].tobytes() == two.density[1].tobytes()


def test_torch_model(one_thread):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.norm = torch.nn.Embedding(5, 6), torch.nn.LayerNorm(6)
            self.qkv, self.out, self.head = torch.nn.Linear(6, 18), torch.nn.Linear(6, 6), torch.nn.Linear(6, 5)

        def forward(self, ids):
            x = self.embed(ids)
            q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
            return self.head(x + self.out(torch.softmax(q @ k.mT / 6 ** 0.5, -1) @ v))

    model = Model().double()
    ids, targets = torch.from_numpy(IDS), torch.from_numpy(IDS[:, ::-1].copy())
    own = glim.from_torch(model, ids)
    found = glim.curvature(lambda: glim.cross_entropy(own(IDS), IDS[:, ::-1].copy()), own)
    names, tensors = zip(*model.named_parameters())

    def loss(*values):
        logits = torch.func.functional_call(model, dict(zip(names, values)), (ids,))
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
    parts = torch.autograd.functional.hessian(loss, tuple(t.detach() for t in tensors))
    h = torch.cat([torch.cat([b.reshape(x.numel(), -1) for b, x in zip(row, [t] * len(row))], 1) for row, t in zip(parts, tensors)])
    expected = np.linalg.eigvalsh(h.numpy())
    assert abs(found.largest - expected[::-1][:5]).max() <= 1e-10 * abs(expected).max()
    assert not found.kinks


def test_hessian_vector_product_of_minilm(one_thread):
    """The architecture of sentence-transformers/all-MiniLM-L6-v2, with random weights and fewer words: H v of one layer's
    parameters beside differences of PyTorch's gradient."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(0)
    model = transformers.BertModel(transformers.BertConfig(
        vocab_size=1000, hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536), add_pooling_layer=False)
    model.double().eval()
    ids, target = torch.randint(0, 1000, (2, 9)), torch.randn(2, 384, dtype=torch.float64)
    layer = [(name, p) for name, p in model.named_parameters() if name.startswith("encoder.layer.3.")]
    vs = [torch.randn_like(p) / p.numel() ** 0.5 for _, p in layer]

    def gradient(step):  # of the distance of mean embeddings
        for (_, p), v in zip(layer, vs):
            p.data += step * v
        loss = ((model(ids).last_hidden_state.mean(1) - target) ** 2).sum()
        found = torch.autograd.grad(loss, [p for _, p in layer])
        for (_, p), v in zip(layer, vs):
            p.data -= step * v
        return found
    own = glim.from_torch(model, ids)
    leaves = dict(own.named_parameters())
    with glim.Tape() as tape:
        loss = ((own(ids)["last_hidden_state"].mean(1) - target.numpy()) ** 2).sum()
        found = [h.numpy() for h in tape.hvp(loss, [leaves[name] for name, _ in layer], [v.numpy() for v in vs])]
    h = 1e-3
    near, far = [[(a - b).numpy() for a, b in zip(gradient(k * h), gradient(-k * h))] for k in (1, 2)]
    expected = [(8 * a - b) / (12 * h) for a, b in zip(near, far)]
    largest = max(abs(e).max() for e in expected)
    off = max(abs(a - e).max() for a, e in zip(found, expected)) / largest
    print(f"{sum(p.numel() for _, p in layer):,} weights, off by {off:.1e}")
    assert off < 1e-8


def test_kinks_and_float32_are_said():
    model, loss = network(glim.Linear(3, 8), glim.ReLU(), glim.Linear(8, 4))
    found = glim.curvature(loss, model)
    assert len(found.kinks) == 1 and "relu" in found.kinks[0] and "1 ops have kinks" in str(found)
    exact = glim.curvature(loss, model).largest
    model.to("float32")
    single = glim.curvature(loss, model)
    assert abs(single.largest - exact).max() <= 1e-4 * exact[0] and "float32" in str(single)


class ArraySquare(glim.Op):
    def forward(self, x):
        return x * x

    def gradient(self, dy, x):
        return 2 * x.numpy() * dy.numpy()


def test_bad_input():
    w, unread = glim.Var.leaf(np.array([1.0, 0.0, 2.0]), "w"), glim.Var.leaf(np.ones(2), "unread")
    square = lambda: (w * w).sum()
    for wrong, error, words in [
            (lambda: glim.curvature(square(), [w]), TypeError, "expected a function"),
            (lambda: glim.curvature(square, w), TypeError, "list"),
            (lambda: glim.curvature(square, [w, unread]), ValueError, "does not read unread"),
            (lambda: glim.curvature(square, [w], 4), ValueError, "k is 4"),
            (lambda: glim.curvature(square, [w], 0), ValueError, "k is 0"),
            (lambda: glim.curvature(square, [w], 1, seed=True), ValueError, "seed is True"),
            (lambda: glim.curvature(square, [w], 1, probes=1), ValueError, "2 or more"),
            (lambda: glim.curvature(square, [w], 1, tolerance=0), ValueError, "tolerance"),
            (lambda: glim.curvature(square, [w], 1, preconditioner="adam"), TypeError, "glim.Adam"),
            (lambda: glim.curvature(square, [w], 1, preconditioner=glim.Adam([unread])), ValueError, "does not update w"),
            (lambda: glim.curvature(lambda: w * w, [w], 1), glim.ShapeError, "one element"),
            (lambda: glim.curvature(lambda: None, [w], 1), (TypeError, ValueError), "None"),
            (lambda: glim.curvature(lambda: abs(w).sum(), [w], 1), ValueError, "not twice differentiable.*abs"),
            (lambda: glim.curvature(lambda: (w ** 1.5).sum(), [w], 1), glim.NonFiniteError, "pow: its second derivative is not finite"),
            (lambda: glim.curvature(lambda: ArraySquare()(w).sum(), [w], 1), TypeError, "ArraySquare: gradient returned an array")]:
        with pytest.raises(error, match=words):
            wrong()
