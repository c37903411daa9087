"""Layers, models, modules and ops that are written in Python, and optimizers."""
import gc
import os

import numpy as np
import pytest

import glim


class GatedFeedForward(glim.Module):
    def __init__(self, d, d_ff):
        super().__init__()
        self.gate, self.up, self.down = glim.Linear(d, d_ff), glim.Linear(d, d_ff), glim.Linear(d_ff, d)
        self.scale = glim.Param(glim.ones(d))
        self.mean = glim.Buffer(glim.zeros(d))

    def forward(self, x, twice=False):
        y = self.down(glim.silu(self.gate(x)) * self.up(x)) * self.scale
        return y * 2 if twice else y


def test_a_module_of_python():
    layer = GatedFeedForward(4, 6)
    names = [name for name, _ in layer.named_parameters()]
    assert names == ["scale", "gate.weight", "gate.bias", "up.weight", "up.bias", "down.weight", "down.bias"]
    x = glim.normal((2, 4))
    with glim.Tape() as tape:
        y = layer(x)
        assert (layer(x, twice=True).numpy() == 2 * y.numpy()).all()
        assert "gate.linear" in [node.path for node in tape.nodes]
        tape.backward((y * y).sum())
    assert all(p.grad is not None for p in layer.parameters())
    assert repr(layer).startswith("GatedFeedForward: 92 parameters")
    assert all(isinstance(m, glim.Module) for m in (layer, layer.gate, glim.Gpt(vocab=9, d_model=8, heads=1)))
    assert set(layer.state_dict()) == set(names) | {"mean"}


def test_modules_within_modules():
    outer = glim.Sequential(glim.Linear(4, 4), GatedFeedForward(4, 6), glim.ReLU(), glim.ModuleList([glim.Linear(1, 1)]))
    assert [n for n, _ in outer.named_parameters()][2:4] == ["1.scale", "1.gate.weight"]
    assert outer[1].gate.weight.name == "1.gate.weight"
    outer.eval()
    assert not outer[1].gate.training
    assert outer.freeze("1.gate.*") == ["1.gate.weight", "1.gate.bias"]
    inner = outer[1]
    del outer
    gc.collect()
    assert inner(glim.ones((1, 4))).shape == (1, 4)


def test_parameters_are_written_in_place():
    layer = glim.Linear(3, 2)
    leaf = layer.weight
    layer.weight = np.arange(6.0).reshape(2, 3)
    assert leaf.numpy().tolist() == [[0, 1, 2], [3, 4, 5]] and leaf.dtype == "float32"
    with pytest.raises(glim.ShapeError, match="weight must keep its shape"):
        layer.weight = np.ones(3)
    own = GatedFeedForward(4, 6)
    own.scale = np.full(4, 3.0)
    assert own.state_dict()["scale"].numpy().tolist() == [3, 3, 3, 3]


def test_what_cannot_be_a_member():
    layer = GatedFeedForward(4, 6)
    for name, value, words in (("me", layer, "part of itself"), ("gate", glim.Linear(1, 1), "has a member 'gate' already")):
        with pytest.raises(glim.StateError, match=words):
            setattr(layer, name, value)
    with pytest.raises(glim.StateError, match="part of another module"):
        glim.Sequential(layer.gate)
    with pytest.raises(AttributeError, match="nothing"):
        layer.nothing

    class Forgot(glim.Module):
        def __init__(self):
            self.linear = glim.Linear(1, 1)

    with pytest.raises((RuntimeError, TypeError)):
        Forgot()
    with pytest.raises(AttributeError, match="forward"):
        glim.Module()(1.0)


def test_saved_and_loaded(tmp_path):
    file = os.fspath(tmp_path / "model.safetensors")
    first, second = GatedFeedForward(4, 6), GatedFeedForward(4, 6)
    first.save(file)
    second.load(file)
    second.load_state_dict({name: t.numpy() for name, t in first.state_dict().items()})
    assert all((a.numpy() == b.numpy()).all() for a, b in zip(first.parameters(), second.parameters()))
    with pytest.raises(glim.FileError, match="nowhere"):
        first.load("nowhere.safetensors")
    with pytest.raises(glim.ValueError, match="missing"):
        first.load_state_dict({})


class Cube(glim.Op):
    def forward(self, x):
        return x ** 3

    def gradient(self, dy, x):
        return 3 * dy * x * x


def test_an_op_gets_arrays_that_it_cannot_write_to():
    class Spoils(glim.Op):
        def forward(self, x):
            x *= 2
            return x

    w = glim.Var.leaf(np.ones(3))
    with pytest.raises(ValueError, match="read-only"):
        Spoils()(w)
    assert w.numpy().tolist() == [1, 1, 1]
    w.numpy()[:] = 2  # the owner's array stays writable


def test_an_op_without_a_gradient():
    class Nothing(glim.Op):
        def forward(self, x):
            return x * 2

        def gradient(self, dy, x):
            return (None,)

    with glim.Tape() as tape, pytest.raises(glim.ValueError, match="Nothing.*None for input 0.*zeros"):
        tape.backward(Nothing()(glim.Var.leaf(np.ones(3))).sum())


def test_an_op_of_python():
    x = glim.Var.leaf(np.array([1.0, 2.0]))
    with glim.Tape() as tape:
        y = Cube()(x)
        assert tape.nodes[-1].path == "Cube"
        dx, = tape.grad(y.sum(), [x], create_graph=True)
        ddx, = tape.grad(dx.sum(), [x])
    assert dx.numpy().tolist() == [3, 12] and ddx.numpy().tolist() == [6, 12]
    cube = Cube()
    assert glim.gradcheck(cube.forward, cube.numpy_gradient, np.array([1.0, 2.0]))


@pytest.mark.parametrize("forward, gradient, error, words", [
    (lambda self, x: None, None, glim.ValueError, "forward returned None"),
    (lambda self, x: x, lambda self, dy, x: None, glim.ValueError, "gradient returned None"),
    (lambda self, x: x, lambda self, dy, x: (dy, dy), glim.ValueError, "2 gradients; the op has 1 inputs"),
    (lambda self, x: x, lambda self, dy, x: dy[:1], glim.ShapeError, r"gradient \(1,\)"),
    (lambda self, x: x, lambda self, dy, x: 1 / 0, ZeroDivisionError, "division"),
    (lambda self, x: "text", None, TypeError, "result of forward")])
def test_wrong_ops_of_python(forward, gradient, error, words):
    op = type("Wrong", (glim.Op,), {"forward": forward, "gradient": gradient})()
    x = glim.Var.leaf(np.ones(3))
    with glim.Tape() as tape:
        with pytest.raises(error, match=words):
            tape.backward(op(x).sum())


def test_layers_compute_what_numpy_does():
    x = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    linear = glim.Linear(4, 3)
    assert np.allclose(linear(x).numpy(), x @ linear.weight.numpy().T + linear.bias.numpy(), atol=1e-6)
    norm = glim.LayerNorm(4)(x).numpy()
    assert np.allclose(norm, (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5), atol=1e-5)
    embedding = glim.Embedding(7, 2)
    assert (embedding(np.array([[1, 6]])).numpy() == embedding.weight.numpy()[[[1, 6]]]).all()
    y, weights = glim.MultiheadAttention(8, 2)(glim.normal((1, 3, 8)), need_weights=True, average_weights=False, causal=True)
    assert weights.shape == (1, 2, 3, 3) and (weights.numpy()[..., 0, 1:] == 0).all() and y.shape == (1, 3, 8)
    y, state = glim.Recurrent("lstm", 3, 5, num_layers=2)(glim.normal((2, 4, 3)))
    assert y.shape == (2, 4, 5) and state.shape == (2, 2, 10)
    assert glim.Conv2d(3, 4, (3, 5), padding=1)(glim.normal((1, 3, 8, 8))).shape == (1, 4, 8, 6)
    assert glim.Pool2d("max", 2)(glim.normal((1, 3, 8, 8))).shape == (1, 3, 4, 4)


IDS = np.array([[1, 4, 5, 6], [1, 5, 2, 0]])
SMALL = {"d_model": 16, "heads": 2, "d_ff": 32}
HEADS = {  # of BERT; test_bits.py has the other models
    "mlm": lambda: glim.MaskedLanguageModel(vocab=9, layers=1, **SMALL)(IDS, np.array([1, 3])),
    "classifier": lambda: glim.SequenceClassifier(3, "mean", vocab=9, layers=1, **SMALL)(IDS),
}


@pytest.mark.parametrize("kind", HEADS)
def test_heads(kind):
    glim.seed(3)
    with glim.Tape() as tape:
        y = HEADS[kind]()
        tape.backward((y * y).sum())
    assert np.isfinite(y.numpy()).all() and y.size > 0


def test_children_have_the_classes_of_their_own_types():
    def classes(module):
        return {type(module)}.union(*(classes(child) for _, child in module.children()))

    found = classes(glim.Transformer(src_vocab=9, tgt_vocab=9, encoder_layers=1, decoder_layers=1, **SMALL))
    assert {glim.Linear, glim.Embedding, glim.LayerNorm, glim.MultiheadAttention} <= found
    assert glim.Conv2d in classes(glim.Cnn(height=14, width=14, layers=1, d_model=16))


def test_arguments_of_models():
    with pytest.raises(TypeError, match="unknown argument 'hats'; known are vocab, .*, never_predicted, .*, share_qk, attention_scale, attention_form$"):
        glim.Gpt(vocab=9, hats=3)
    with pytest.raises(TypeError, match="'vocab' has another type"):
        glim.Gpt(vocab="nine")
    with pytest.raises(TypeError, match="Transformer: unknown argument 'copy'"):  # a size of files alone
        glim.Transformer(src_vocab=9, tgt_vocab=9, copy=True)
    with pytest.raises(glim.ValueError, match="norm.*sideways.*pre, post"):
        glim.Transformer(src_vocab=9, tgt_vocab=9, norm="sideways")
    with pytest.raises(glim.ValueError):
        glim.Gpt(vocab=9, d_model=10, heads=3)
    with pytest.raises(glim.IndexError, match="called at test_modules.py"):
        glim.Gpt(vocab=9, context=8, layers=1, **SMALL)(IDS + 100)


@pytest.mark.parametrize("make", [lambda p: glim.SGD(p, lr=0.5), lambda p: glim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
                                  lambda p: glim.Adam(p, lr=0.1), lambda p: glim.AdamW(p, lr=0.1),
                                  lambda p: glim.Muon([w for w in p.parameters() if w.ndim == 2], lr=0.1)])
def test_optimizers_learn(make):
    glim.seed(0)
    x, target = glim.normal((16, 3)), glim.normal((16, 1))
    model = glim.Sequential(glim.Linear(3, 8), glim.Tanh(), glim.Linear(8, 1))
    optimizer, losses = make(model), []
    for _ in range(30):
        with glim.Tape() as tape:
            loss = glim.mse_loss(model(x), target)
            tape.backward(loss)
        losses.append(loss.item())
        assert glim.clip_grad_norm(model, 1e9) == glim.grad_norm(model)
        optimizer.step()
        optimizer.zero_grad()
    assert losses[-1] < 0.95 * losses[0] and optimizer.steps == 30
    again = make(model)
    again.load_state_dict({name: t.numpy() for name, t in optimizer.state_dict().items()})
    assert again.steps == 30
    again.rate = glim.noam_schedule(512, 4000)(1)
    with pytest.raises(glim.ValueError):
        again.rate = -1


def test_muon_is_of_matrices():
    model = glim.Linear(3, 2)
    with pytest.raises(glim.ValueError, match="bias is no matrix"):
        glim.Muon(model)
    for options, problem in (({"adjust_lr_fn": "match"}, "match_rms_adamw"), ({"ns_steps": 100}, "0 to 99"),
                             ({"ns_coefficients": (1, float("nan"), 1)}, "not finite"), ({"momentum": 1}, "momentum")):
        with pytest.raises(glim.ValueError, match=problem):
            glim.Muon([model.weight], **options)
    # A first step: u is 0.0975 g, so that without Newton and Schulz the step is along g.
    before = model.weight.numpy().copy()
    with glim.Tape() as tape:
        tape.backward(glim.sum(model(np.ones((1, 3)))))
    glim.Muon([model.weight], lr=0.5, weight_decay=0, ns_steps=0).step()
    assert np.allclose(before - model.weight.numpy(), 0.5 / np.sqrt(6), rtol=1e-6)


def test_a_loss_without_logits():
    glim.seed(1)
    model = glim.Transformer(src_vocab=9, tgt_vocab=9, d_model=16, heads=2, d_ff=32, encoder_layers=1, decoder_layers=1, dropout=0)
    src, tgt = np.array([[1, 4, 5, 6], [1, 5, 2, 0]]), np.array([4, 5, 6, 2, 5, 2, 7, 8])
    hidden, head = model.hidden(src, src), model.generator
    assert hidden.shape == (2, 4, 16) and np.array_equal(head(hidden).numpy(), model(src, src).numpy())
    whole, _ = glim.label_smoothing_loss(glim.reshape(model(src, src), (-1, 9)), tgt, 0.1, 0)
    chunks, _ = glim.linear_label_smoothing_loss(glim.reshape(hidden, (-1, 16)), head.weight, head.bias, tgt, 0.1, 0)
    assert np.isclose(whole.item(), chunks.item(), rtol=1e-6)
