"""tape.inspect and tape.step: a pass recorded in Python has the page, the data and the debugger of `glim inspect`. Every
page is made from the JSON that --data writes."""
import base64
import json
import re

import glim
import numpy as np
import pytest

pytestmark = pytest.mark.skipif(not hasattr(glim.Tape, "inspect"), reason="a build without pages")


class Attend(glim.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = glim.Linear(8, 8), glim.Linear(8, 8), glim.Linear(8, 8)
        self.out = glim.Linear(8, 8)

    def forward(self, x):
        scores = glim.named(glim.matmul(self.q(x), self.k(x).transpose(-2, -1)) * 8 ** -0.5, "scores")
        return x + self.out(glim.matmul(glim.named(glim.softmax(scores, -1), "probs"), self.v(x)))


def recorded(see):
    """see(tape, loss, x, model) of one pass."""
    model = Attend()
    x = glim.Var.leaf(np.random.default_rng(0).normal(size=(1, 5, 8)).astype(np.float32), "x")
    with glim.Tape(replay=True) as tape:
        return see(tape, (model(x) ** 2).sum(), x, model)


def read(folder):
    """inspect.json, and the JSON in the page."""
    page = (folder / "inspect.html").read_text(encoding="utf-8")
    embedded = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1)
    return json.loads((folder / "inspect.json").read_text(encoding="utf-8")), json.loads(embedded)


def unpacked(t):
    """A tensor of the page (tools/inspect/pack.hpp), as nested lists: three digits of each number."""
    if "numbers" in t:
        return np.reshape(np.array(t["numbers"], float), t["shape"])
    codes = np.frombuffer(base64.b64decode(t["data"]), "<u2").astype(int)
    rest, exponent = (codes - 8) % 1800, (codes - 8) // 1800 + t["e0"]
    values = (100 + rest % 900) * 10.0 ** (exponent - 2) * np.where(rest >= 900, -1, 1)
    return np.reshape(np.where(codes == 0, 0, values), t["shape"])


def require_same(page, data, at=""):
    if isinstance(page, dict) and "shape" in page and ("data" in page or "numbers" in page):
        assert np.allclose(unpacked(page), np.reshape(np.array(data, float), page["shape"]), rtol=6e-3, atol=0), at
    elif isinstance(page, dict):
        # A node's tensors are in "tensors"; a page has a picture of them.
        # It has the loss without heads as a picture, and of attention what scores are made of.
        pictures = {"picture", "gradient_picture", "rows", "columns"} if "picture" in page else {"without_heads", "why"}
        assert set(page) - pictures == set(data) - {"tensors"}, at
        for key in set(data) - {"tensors"}:
            require_same(page[key], data[key], f"{at}.{key}")
    elif isinstance(page, list):
        assert len(page) == len(data), at
        for i, (a, b) in enumerate(zip(page, data)):
            require_same(a, b, f"{at}[{i}]")
    else:
        assert page == data, at


def test_inspect_writes_the_pass(tmp_path):
    def see(tape, loss, x, model):
        assert tape.inspect(loss, tmp_path / "look") == str(tmp_path / "look" / "inspect.html")
        assert x.grad is None
        with pytest.raises(glim.FileError, match="exists already: overwrite=True"):
            tape.inspect(loss, tmp_path / "look")
        tape.inspect(loss, str(tmp_path / "look"), overwrite=True, model=model)
        tape.backward(loss)
        return loss.item(), [(n.number, n.path, list(n.inputs)) for n in tape.nodes], {
            "x": x.grad.numpy(), **{name: p.grad.numpy() for name, p in model.named_parameters()}}

    loss, nodes, gradients = recorded(see)
    data, page = read(tmp_path / "look")
    require_same(page, data)
    assert data["format"] == "glim inspect" and data["loss"] == loss
    assert [(n["number"], n["path"], n["inputs"]) for n in data["nodes"]] == nodes
    assert any("test_inspect.py:" in n["where"] for n in data["nodes"])
    for name, gradient in gradients.items():
        found = data["tensors"][name + ".grad"]
        assert np.array_equal(np.array(found["values"], gradient.dtype).reshape(found["shape"]), gradient), name
    view = data["attention"][0]
    assert len(data["attention"]) == 1 and view["queries"] == ["0", "1", "2", "3", "4"]
    assert np.allclose(np.sum(view["A"], -1), 1) and np.allclose(np.sum(view["dS"], -1), 0, atol=1e-5)
    assert [j["sublayer"] for j in data["junctions"]] == ["out"]
    assert any("dscores = " in line for s in data["lines"]["sections"] for r in s["rows"] for line in r["backward"])


def test_a_page_of_the_program_is_made_from_its_json(tmp_path):
    for kind in ("transformer", "vit"):
        glim.program.run(["inspect", "--fresh", "--kind", kind, "--layers", "1", "--data", "--out", str(tmp_path / kind)],
                         show=False)
        data, page = read(tmp_path / kind)
        assert page.pop("command") == ["glim", "inspect", "--fresh", "--kind", kind, "--layers", "1"] and "hide" in page.pop("lists")
        require_same(page, data)


def test_a_page_of_any_output(tmp_path):
    x = glim.Var.leaf(np.array([1.0, 2.0, 3.0]), "x")
    with glim.Tape(replay=True) as tape:
        y = x * x
        hook = tape.hook(y, lambda g: g * 2)
        tape.inspect(y, tmp_path, np.array([1.0, 0.0, -1.0]))
        data, page = read(tmp_path)
        require_same(page, data)
        assert data["loss"] == -8 and data["tensors"]["x.grad"]["values"] == [4, 0, -12]
        tape.remove_hook(hook)
        tape.inspect(y, tmp_path, overwrite=True)
        assert read(tmp_path)[0]["tensors"]["x.grad"]["values"] == [2, 4, 6]
        with pytest.raises(glim.StateError, match="no value of this tape"):
            tape.inspect(glim.Var(np.ones(3)), tmp_path, overwrite=True)
    with glim.Tape() as tape:
        y = (x * x).sum()
        with pytest.raises(glim.StateError, match="replay"):
            tape.inspect(y, tmp_path, overwrite=True)
    with glim.Tape(replay=True) as tape:
        y = (x * x).sum()
        tape.backward(y)
        with pytest.raises(glim.StateError, match="used up.*`retain`"):
            tape.inspect(y, tmp_path, overwrite=True)


def test_explicit_records_primitives():
    x = glim.Var.leaf(np.ones((2, 4), np.float32), "x")
    norm = glim.LayerNorm(4)

    def ops():
        with glim.Tape() as tape:
            norm(x)
            return len(tape)

    fused = ops()
    with glim.explicit():
        assert ops() > fused
    assert ops() == fused


def test_step_is_the_debugger():
    def see(tape, loss, x, model):
        said = tape.step(loss, "break *probs\ncontinue\nsaved\ndiff\nquit\nnext")
        assert "breakpoint 1, *probs\n=> #" in said and "test_inspect.py:" in said
        assert "agrees" in said and "WRONG" not in said and "its output" in said
        assert x.grad is None
        with pytest.raises(glim.ValueError, match="no such command"):
            tape.step(loss, "nxet")
        again = tape.step(loss, "set *probs scale 0\ncontinue\nprint d k.weight")
        assert "-0" in again or " 0" in again
        tape.backward(loss)

    recorded(see)


def test_scopes_tokens_and_changes(tmp_path):
    model = Attend()
    x = glim.Var.leaf(np.random.default_rng(0).normal(size=(1, 5, 8)).astype(np.float32), "x")

    def loss(**changes):
        with glim.Tape(replay=True) as tape:
            if changes:
                tape.change(**changes)
            with glim.scope("encoder.0.attention", line=("own.py", 7)):
                y = model(x)
            with glim.scope("encoder.1"):
                y = (y ** 2).sum()
            tape.inspect(y, tmp_path / str(len(list(tmp_path.iterdir()))), tokens=(list("abcde"), list("abcde")), title="mine")
            return y.item(), {n.path: n.line for n in tape.nodes}
    value, nodes = loss()
    assert nodes["encoder.0.attention.probs"] == "own.py:7" and "test_inspect.py" in nodes["encoder.1.sum"]
    _, data = read(tmp_path / "0")
    (view,) = data["attention"]
    assert view["queries"] == list("abcde") and view["side"] == "encoder self" and data["title"] == "mine"
    assert {(b["module"], b["layer"], b["side"]) for b in data["blocks"]} >= {("encoder.0.attention", 0, "model")}
    assert loss(zero=["*probs"])[0] == value
    with pytest.raises(glim.ValueError, match="no attention is named 'x'"):
        loss(remove_head=["x:0"])
    with pytest.raises(TypeError, match="unknown argument 'heads'; known are scale, mask"):
        loss(heads=[1])
    with glim.Tape() as tape:
        model(x)
        with pytest.raises(glim.StateError, match="before the first op"):
            tape.change(scale=1.0)


@pytest.mark.parametrize("read", ["nothing", "backward", "step", "derive", "inspect"])
def test_changes_that_nothing_uses_are_errors_at_the_end_of_the_tape(read, tmp_path):
    def run(**changes):
        model, x = Attend(), glim.Var.leaf(np.ones((1, 5, 8), np.float32), "x")
        with glim.Tape(replay=True) as tape:
            tape.change(**changes)
            with glim.scope("h.0.attn"):
                y = (model(x) ** 2).sum()
            {"nothing": lambda: None, "backward": lambda: tape.backward(y), "step": lambda: tape.step(y, "next"),
             "derive": lambda: tape.derive(), "inspect": lambda: tape.inspect(y, tmp_path, overwrite=True)}[read]()
            if not changes:
                raise KeyError
    for changes, words in [({"remove_head": ["h.0.attnn:0"]}, "remove_head: no attention is named 'h.0.attnn'"),
                           ({"mask": ["x:0,0"]}, "mask: no attention is named 'x'"),
                           ({"scale": 2.0}, "scale: this model has no attention"),
                           ({"remove_head": ["h.0.attn"]}, "remove_head: 'h.0.attn' names no head"),
                           ({"unmask": ["h.0.attn:-1,0"]}, "unmask: .* is not of the form MODULE:QUERY,KEY"),
                           ({"freeze": ["scores:1"]}, "freeze: .*a whole node is frozen; zero takes a part"),
                           ({"scale_gradient": ["scores"]}, "scale_gradient: 'scores' is not of the form NODE=NUMBER"),
                           ({"zero": ["nope"]}, "zero: .*no node is called nope" if read == "inspect" else
                            "zero, freeze and scale_gradient change the gradients that tape.inspect shows")]:
        with pytest.raises(glim.ValueError, match=words) as raised:
            run(**changes)
        assert "--" not in str(raised.value)
    with pytest.raises(KeyError):  # an error within is not hidden, and the tape ends
        run()
    with glim.Tape():
        pass


@pytest.mark.parametrize("verb", ["step", "derive", "inspect"])
def test_changes_of_an_imported_model(verb, tmp_path):
    torch = pytest.importorskip("torch")
    model = glim.from_torch(torch.nn.Linear(3, 1).double(), torch.ones(1, 3).double())
    options = {"out": tmp_path} if verb == "inspect" else {}
    with pytest.raises(glim.ValueError, match="remove_head: no attention is named 'h.0.attnn'"):
        getattr(model, verb)((np.ones((1, 3)),), lambda y: y.sum(), remove_head=["h.0.attnn:0"], **options)
