"""A pass as one object: it shows itself, says why a query attends to a key, and what a patch would do."""
import importlib.util
import re
import shutil
import subprocess

import numpy as np
import pytest

import glim

pytestmark = pytest.mark.skipif(not hasattr(glim.Tape, "inspect"), reason="a build without pages")


class Attend(glim.Module):
    def __init__(self):
        super().__init__()
        self.attn = glim.MultiheadAttention(8, 2)
        self.norm = glim.LayerNorm(8)

    def forward(self, x):
        x = x + self.attn(x, x, x)[0]
        y = self.norm(x)
        return x + self.attn(y, y, y)[0]


def look_at(model, seed, length=5):
    x = glim.Var.leaf(np.random.default_rng(seed).normal(size=(1, length, 8)), "x")
    with glim.Tape(replay=True) as tape, glim.explicit():
        return tape.inspect((model(x) ** 2).sum(), model=model)


@pytest.fixture(scope="module")
def model():
    glim.seed(1)
    return Attend().to("float64")


def cells(look):
    """Every cell of every head that the query may attend to, with its S, dS and what `why` says of it."""
    for view in look.data["attention"]:
        keep, heads = np.array(view["keep"]) == 1, np.array(view["S"]).shape[0]
        for head, (i, j) in [(h, cell) for h in range(heads) for cell in np.argwhere(keep)]:
            row = np.array(view["S"])[head, i][keep[i]]
            yield (view["S"][head][i][j] - row.mean(), view["dS"][head][i][j],
                   look.why(f"#{view['probs_nodes'][0]}:{head}", int(i), int(j)))


def add_up(look):
    count = 0
    for centred, gradient, why in cells(look):
        assert abs(np.sum(why["parts"]) + why["bias"] - centred) < 1e-12 and why["gap"] < 1e-12
        assert why["gradient"] == gradient
        count += 1
    return count


def test_parts_of_a_tape_add_up(model):
    look = look_at(model, 0)
    assert add_up(look) == 2 * 2 * 25
    with pytest.raises(glim.ValueError, match="names 2 attentions"):
        glim.why(look, "attn:0", 1, 2)
    with pytest.raises(glim.ValueError, match="nearest: attn"):
        look.why("atn:0", 1, 2)


def test_it_shows_itself(model, tmp_path):
    look = look_at(model, 0)
    shown = look._repr_mimebundle_()["text/html"]
    assert shown.startswith('<iframe srcdoc="') and "&lt;html" in shown and shown.count('"') == 4
    look.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == look.html
    with pytest.raises(glim.ValueError, match="look.svg"):
        look.save("page.pdf")
    picture = look.svg("attn#0/head1/dA")
    assert picture._repr_svg_().startswith("<svg")
    picture.save(tmp_path / "head.svg")
    assert (tmp_path / "head.svg").read_text(encoding="utf-8") == picture
    with pytest.raises(glim.ValueError, match="neither .svg nor .pdf"):
        picture.save(tmp_path / "head.png")
    with pytest.raises(glim.ValueError, match="svg takes one"):
        look.svg("attn#0/*")


def test_a_pdf_is_made_by_what_is_installed(model, tmp_path, monkeypatch):
    picture = look_at(model, 0).svg("attn#0/head1/A")
    monkeypatch.setitem(__import__("sys").modules, "cairosvg", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(glim.ValueError, match="needs `pip install cairosvg`"):
        picture.save(tmp_path / "head.pdf")
    tool = tmp_path / "rsvg-convert"
    tool.write_text('#!/bin/sh\nread line\necho "%PDF $1 $2 $line" > "$4"\n', encoding="utf-8")
    tool.chmod(0o755)
    picture.save(tmp_path / "head.pdf")
    assert (tmp_path / "head.pdf").read_text(encoding="utf-8").startswith("%PDF -f pdf <svg")


def test_a_pdf_has_one_page_with_the_text_of_the_picture(model, tmp_path):
    missing = [tool for tool in ("pdfinfo", "pdftotext") if not shutil.which(tool)]
    if not shutil.which("rsvg-convert") and not importlib.util.find_spec("cairosvg"):
        missing.append("rsvg-convert or cairosvg")
    if missing:
        pytest.skip(f"no real PDF was made: {', '.join(missing)} is missing (Debian's poppler-utils, librsvg2-bin)")
    picture, file = look_at(model, 0).svg("attn#0/head1"), tmp_path / "head.pdf"
    picture.save(file)
    facts = dict(line.split(":", 1) for line in subprocess.run(["pdfinfo", file], capture_output=True, text=True, check=True).stdout.splitlines())
    assert facts["Pages"].strip() == "1"
    points = [float(x) for x in re.findall(r"[\d.]+", facts["Page size"])[:2]]
    pixels = [float(re.search(f'<svg[^>]* {side}="([\\d.]+)"', picture)[1]) for side in ("width", "height")]
    np.testing.assert_allclose(points, [0.75 * x for x in pixels], atol=1)
    text = subprocess.run(["pdftotext", file, "-"], capture_output=True, text=True, check=True, encoding="utf-8").stdout
    assert {"A", "∂L/∂A", "S", "∂L/∂S"} <= set(text.splitlines()) and "head 1" in text


def test_a_patch_is_exact_and_estimated(model):
    look, other = look_at(model, 0), look_at(model, 1, length=4)
    patched = look.patch(other, "*.context")
    assert len(patched["rows"]) == 4 and "4 in the other sentence" in repr(patched)
    for row in patched["rows"]:
        assert len(row["positions"]) == row["other_length"] == 4
        assert abs(sum(p["linear"] for p in row["positions"]) - row["linear"]) < 1e-12
    last = [row for row in patched["rows"]][-1]  # the loss is quadratic in what the last head gives
    assert abs(last["change"] - last["linear"] - last["second"]) < 1e-12 * abs(look.data["loss"])
    removed = [head for heads in look.without_heads.values() for head in heads]
    assert len(removed) == 4 and all(head["change"] != 0 for head in removed)
    with pytest.raises(glim.ValueError, match="nearest"):
        look.patch(other, ["attn.contxt"])


def test_gpt2_of_transformers_adds_up():
    torch = pytest.importorskip("torch")
    try:
        from transformers import GPT2Config, GPT2LMHeadModel
    except ImportError as error:
        pytest.skip(f"transformers: {error}")
    torch.manual_seed(0)
    size = dict(vocab_size=30, n_positions=8, n_embd=16, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0)
    gpt2 = GPT2LMHeadModel(GPT2Config(**size)).double().eval()
    with torch.no_grad():
        for p in gpt2.parameters():
            p.add_(0.1 * torch.randn_like(p))  # biases, too
    ids = torch.randint(0, 30, (1, 5))
    inputs = dict(input_ids=ids)
    look = glim.from_torch(gpt2, kwargs=inputs).inspect(inputs, loss=lambda out: (out.logits ** 2).mean())
    assert add_up(look) == 2 * 4 * 15
    assert look.why("h.1.attn:2", 4, 3)["query_sources"] == [
        "transformer.wte", "transformer.wpe", *[f"transformer.h.0.attn:{h}" for h in range(4)],
        "transformer.h.0.mlp.act.gelu", "biases"]
    part = glim.why(look, "h.1.attn:2", 4, 3, part=("h.0.attn:1", "h.0.mlp.act.gelu"))
    head, network = part["splits"]
    assert {r["source"] for r in head["rows"]} == {"transformer.wte", "transformer.wpe", "biases"} and len(head["rows"]) == 15
    assert [r["position"] for r in network["rows"]] == 7 * [None]
    for split in part["splits"]:
        assert abs(sum(r["part"] for r in split["rows"]) - part["part"]) < 1e-12 and split["gap"] < 1e-12
    assert "read, with its gate of this pass" in repr(part)
    with pytest.raises(glim.ValueError, match="are not split"):
        look.why("h.1.attn:2", 4, 3, part=("wte", "wpe"))


def llama(dtype):
    """Llama's architecture: rotary positions, RMS norm, two queries for each key, a gate in the feed-forward network."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(0)
    size = dict(vocab_size=30, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
                num_key_value_heads=2, max_position_embeddings=16, bos_token_id=0, eos_token_id=0, pad_token_id=None)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**size)).to(dtype).eval()
    return model, dict(input_ids=torch.randint(0, 30, (1, 5)))


@pytest.mark.parametrize("dtype, tolerance", [("float32", 1e-5), ("float64", 1e-6)])  # its norms compute in float32
def test_llama_has_the_values_and_gradients_of_torch(dtype, tolerance):
    model, inputs = llama(getattr(pytest.importorskip("torch"), dtype))
    out = model(**inputs, use_cache=False).logits
    (out ** 2).mean().backward()
    g = glim.from_torch(model, kwargs=inputs)
    with glim.Tape() as tape:
        ours = g(**inputs).logits
        tape.backward((ours ** 2).mean())
    parameters = dict(g.named_parameters())
    for theirs, x in [(out, ours.numpy()), *((p.grad, parameters[name].grad.numpy()) for name, p in model.named_parameters())]:
        theirs = theirs.detach().numpy()
        assert np.abs(theirs).max() > 0 and np.abs(x - theirs).max() <= tolerance * np.abs(theirs).max()
    why = g.inspect(inputs, loss=lambda out: (out.logits ** 2).mean()).why("layers.1.self_attn:2", 4, 3)
    assert why["gap"] < 10 * tolerance * max(map(abs, np.ravel(why["parts"])))


def test_llama_adds_up():
    from test_paper import in_float64

    model, inputs = llama(pytest.importorskip("torch").float64)
    look = glim.from_torch(in_float64(model), kwargs=inputs).inspect(inputs, loss=lambda out: (out.logits ** 2).mean())
    assert add_up(look) == 2 * 4 * 15
    assert look.why("layers.1.self_attn:2", 4, 3)["query_sources"] == [
        "model.embed_tokens", *[f"model.layers.0.self_attn:{h}" for h in range(4)], "model.layers.0.mlp.mul"]


def test_an_op_of_python_runs_again():
    """The passes without a head run it again, in a thread without the lock of the interpreter."""
    class Half(glim.Op):
        def forward(self, x):
            return x / 2

        def gradient(self, dy, x):
            return dy / 2

    class Halved(Attend):
        def forward(self, x):
            return super().forward(x) + Half()(self.attn(x, x, x)[0])
    glim.seed(1)
    look = look_at(Halved().to("float64"), 0)
    assert all(head["change"] != 0 for heads in look.without_heads.values() for head in heads)
