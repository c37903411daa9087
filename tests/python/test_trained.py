"""Models that glim train wrote, from Python: the bytes of the program, arrays of an inspection, errors."""
import io
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zlib

import numpy as np
import pytest

import glim

pytestmark = pytest.mark.skipif(not hasattr(glim, "run_program"), reason="this build has no program: its libraries are not "
                                                                        "installed")
SMALL = dict(d_model=16, d_ff=16, layers=1, heads=2, max_steps=8, quiet=True)


def program(*words, stdin=""):
    return subprocess.run([sys.executable, "-m", "glim", *words], input=stdin, capture_output=True, text=True,
                          encoding="utf-8", timeout=120)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def translator(folder):
    return glim.train(task="phrasebook", out=folder / "translator", **SMALL)


def test_translations_are_the_programs(translator):
    lines = ["I have a cat", "", "My younger brother needs your five coats"]
    for words in ([], ["--beam", "1"], ["--nbest", "2", "--beam", "3"]):
        options = {name.removeprefix("--"): int(value) for name, value in zip(words[::2], words[1::2])}
        printed = program("translate", "--model", translator.path, *words, stdin="\n".join(lines) + "\n").stdout
        found = translator.translate(lines, **options)
        if "nbest" in options:
            found = [f"{k} ||| {t.text} ||| {t.score:.6f}" for k, best in enumerate(found) for t in best]
        assert printed.splitlines() == found


def test_a_service_over_http(translator):
    script = pathlib.Path(__file__).resolve().parents[2] / "tools/examples/serve_http.py"
    with subprocess.Popen([sys.executable, script, "translate", translator.path, "0"], stdout=subprocess.PIPE, text=True) as service:
        try:
            address = service.stdout.readline().strip()

            def post(body):
                with urllib.request.urlopen(address, body, timeout=60) as reply:
                    return json.load(reply)

            assert post("I have a cat\n".encode()) == {"result": translator.translate("I have a cat")}
            two = ["I have a cat", "you have a cat"]
            assert post("\r\n".join(two).encode()) == {"result": translator.translate(two)}
            with pytest.raises(glim.ValueError, match="2 lines would be one sentence"):
                translator.translate("\n".join(two))
            for body in (b"", b"\xff", b"x" * 65537):
                with pytest.raises(urllib.error.HTTPError) as refused:
                    post(body)
                assert refused.value.code == 400 and "error" in json.load(refused.value)
        finally:
            service.kill()


def test_curves_for_tensorboard(translator, folder):
    (folder / "tensorboardX.py").write_text('''class SummaryWriter:
    def __init__(self, folder): print(folder)
    def __enter__(self): return self
    def __exit__(self, *error): print("closed")
    add_scalar = print
''')
    script = pathlib.Path(__file__).resolve().parents[2] / "tools/examples/to_tensorboard.py"
    ran = subprocess.run([sys.executable, script, translator.path, "logs"], env={**os.environ, "PYTHONPATH": str(folder)},
                         capture_output=True, text=True, timeout=60)
    with open(os.path.join(translator.path, "metrics.jsonl")) as file:
        rows = [json.loads(line) for line in file]
    printed = ran.stdout.splitlines()
    assert printed[0] == "logs" and printed[-1] == "closed" and f"valid/nll {rows[-1]['nll']} {rows[-1]['step']}" in printed
    assert not [line for line in printed if "improved" in line or "type" in line]


def test_one_sentence_is_a_string(translator):
    assert translator.translate("I have a cat") == translator.translate(["I have a cat"])[0]
    assert translator.kind == "transformer" and translator.score("I have a cat", "我有一只猫").tokens == 6


def test_training_gives_the_programs_weights(translator, folder):
    words = [w for name, value in SMALL.items() for w in
             (["--" + name.replace("_", "-")] + ([] if value is True else [str(value)]))]
    assert program("train", "--task", "phrasebook", "--out", str(folder / "by_program"), *words).returncode == 0
    one, two = (open(os.path.join(path, "last.safetensors"), "rb").read()
                for path in (translator.path, folder / "by_program"))
    assert len(one) == len(two)  # the folder's name, the time and the like are in the metadata
    header = int.from_bytes(one[:8], "little")
    assert one[8 + header:] == two[8 + header:]


def test_an_inspection_is_arrays(translator):
    look = translator.inspect(sentence="I have a cat")
    for view in look.attention.values():
        assert np.allclose(view["A"].sum(-1), 1) and np.allclose(view["dS"].sum(-1), 0, atol=1e-6)
    path = "decoder.layers.0.multihead_attn.probs"
    attention = look.attention["decoder.layers.0.multihead_attn"]
    assert np.allclose(look[path][0], attention["A"]) and np.allclose(look[path + ".grad"][0], attention["dA"])
    assert "<html" in look.html and "<iframe srcdoc=" in look._repr_mimebundle_()["text/html"]
    assert look.svg("decoder.layers.0.multihead_attn/head0").startswith("<svg")
    why = glim.why(translator, "decoder.layers.0.multihead_attn:0", 1, 2, sentence="I have a cat")
    assert (why["query"], why["key"]) == (1, 2) and why["gap"] < 1e-12 and "is the sum of" in repr(why)
    patched = look.patch("I have a dog", ["*.context"])
    assert len(patched["rows"]) == 2 * len(look.without_heads) * len(look.without_heads["encoder.layers.0.self_attn"]) // 2
    with pytest.raises(glim.IndexError, match="decoder.layers.0.multihead_attn.probs"):
        look["decoder.layer.0.multihead_attn.probs"]


def test_the_debugger_answers(translator):
    assert "divide" in translator.step("next 2\nwhere", sentence="I have a cat")


def test_other_kinds(folder):
    text = folder / "text.txt"
    text.write_text("to be or not to be\n" * 200, encoding="utf-8")
    sizes = {name: SMALL[name] for name in ("d_model", "d_ff", "layers", "heads", "max_steps", "quiet")}
    gpt = glim.train(kind="gpt", text=text, block=16, out=folder / "gpt", **sizes)
    printed = program("generate", "--model", gpt.path, "--prompt", "to", "--max-tokens", "20", "--seed", "3").stdout
    assert printed == "to" + gpt.generate("to", max_tokens=20, seed=3) + "\n"
    assert gpt.generate("to", max_tokens=0) == ""
    with pytest.raises(glim.ValueError, match="max_tokens"):
        gpt.generate("to", max_tokens=-5)
    assert gpt.score("to be").perplexity > 1
    with pytest.raises(glim.FileError, match="gpt"):
        gpt.translate("to be")


def write_png(path, gray):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">2I5B", *gray.shape[::-1], 8, 0, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in gray)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def test_images_are_classified(folder):
    pixels = np.random.default_rng(1).integers(0, 256, (40, 12, 12), dtype=np.uint8)
    (folder / "images.idx").write_bytes(struct.pack(">4i", 0x803, *pixels.shape) + pixels.tobytes())
    (folder / "labels.idx").write_bytes(struct.pack(">2i", 0x801, 40) + bytes(i % 2 for i in range(40)))
    cnn = glim.train(kind="cnn", images=folder / "images.idx", labels=folder / "labels.idx", layers=1, d_model=8,
                     max_steps=2, quiet=True, out=folder / "cnn")
    images = pixels[:, None] / 255
    label, probs = cnn.classify(images)[3]
    assert cnn.classify(images[3]) == (label, pytest.approx(probs, abs=1e-6))
    paths = [folder / f"{i}.png" for i in (3, 4)]
    for path, image in zip(paths, pixels[3:5]):
        write_png(path, image)
    assert cnn.classify(paths[0]) == (label, pytest.approx(probs, abs=1e-4))
    assert [one for one, _ in cnn.classify(map(str, paths))] == [one for one, _ in cnn.classify(images[3:5])]
    with pytest.raises(glim.Error, match="none.png: .*No such file"):
        cnn.classify([paths[0], "none.png"])
    with pytest.raises(glim.ShapeError, match=r"\(C, H, W\).*has \(12, 12\)"):
        cnn.classify(images[0, 0])


def test_errors_say_what_to_do(translator, folder):
    for call, kind, words in ((lambda: glim.load(folder / "nothing"), glim.FileError, "no such"),
                              (lambda: glim.train(out=folder / "translator"), glim.Error, "already: resume .*, overwrite"),
                              (lambda: glim.train(out=folder / "x", d_model=0), glim.Error, "^d_model"),
                              (lambda: glim.train(kind="nosuch", out=folder / "x"), glim.Error, "transformer, rnn"),
                              (lambda: glim.train(nosuch=1, out=folder / "x"), glim.Error, "no option nosuch; glim train --help lists"),
                              (lambda: glim.study("nosuch"), glim.Error, "nosuch")):
        with pytest.raises(kind, match=words):
            call()


def test_an_error_is_said_once(folder, capfd):
    with pytest.raises(glim.Error, match="d_model"):
        glim.train(d_modl=3, out=folder / "x")
    said = capfd.readouterr()
    assert "glim: error" not in said.out + said.err


def test_a_stream_that_cannot_write_every_character(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", stream)
    text = glim.program.run(["derive", "--fresh", "--module", "encoder"])
    stream.seek(0)
    assert "ε" in text
    assert stream.read() == text.encode("ascii", "replace").decode()


def test_what_is_no_text_and_no_name(translator, folder):
    for text, kind, words in ((3, TypeError, "translate: takes text.*got int"), (None, TypeError, "got NoneType"),
                              (b"x", TypeError, "got bytes"), (["a", 3], TypeError, "got int"),
                              ("\udcff", glim.ValueError, "half of a surrogate pair")):
        with pytest.raises(kind, match=words):
            translator.translate(text)
        if text is not None:  # which is no target
            with pytest.raises(kind, match=words.replace("translate", "score")):
                translator.score("I have a cat", text if not isinstance(text, list) else text[1])
    for path in ("a\0b", "a\udcffb", b"ab"):
        with pytest.raises(glim.FileError, match="no name of a file in UTF-8"):
            glim.load(path)
    with pytest.raises(glim.ValueError, match="a beam is 1 to 1000"):  # which would take all memory
        translator.translate("I have a cat", beam=10 ** 6)


def test_ctrl_c_leaves_a_run_that_goes_on(folder):
    out = str(folder / "stopped")
    code = f"import glim; glim.train(task='copy', out={out!r}, epochs=1000, d_model=16, d_ff=16, layers=1, heads=2)"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in child.stderr:
        if line.startswith("step"):
            break
    child.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in child.stderr.read() and child.wait(60) != 0
    for _ in range(100):
        if os.path.exists(os.path.join(out, "last.safetensors")):
            break
        time.sleep(0.1)
    assert glim.train(out=out, resume=True, max_steps=1, quiet=True).kind == "transformer"


def test_what_is_no_text_is_refused():
    with pytest.raises(glim.ValueError, match="surrogate"):
        glim.program.run(["step", "--fresh"], show=False, stdin="\udc80")
    done = subprocess.run([sys.executable, "-m", "glim", "train", "--source", b"caf\xe9"], capture_output=True, timeout=120)
    assert done.returncode == 1 and done.stderr == b"glim: error: 'caf\\udce9' is not UTF-8\n"
