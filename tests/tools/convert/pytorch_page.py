#!/usr/bin/env python3
"""models/pytorch.md as it stands: pytorch_page.py GLIM PAGE runs its scripts and commands, in order, with a model
that was trained for a moment and a checkpoint of nanoGPT made here. Needs torch and safetensors; the blocks of GPT-2 and
Marian also transformers and sentencepiece."""
import importlib.util
import os
import pathlib
import pickle
import re
import shlex
import subprocess
import sys
import tempfile

try:
    import safetensors.torch
    import torch
except ImportError as missing:
    print(f"No tests ran: {missing.name} is not here")
    sys.exit(0)

glim, page = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
text = page.read_text()
scripts = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
assert len(scripts) == 3, "a script for torch.nn.Transformer, one for nanoGPT, and one for GPT-2 and Marian"
blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S)
assert len(blocks) == 1, "the commands of GPT-2 and Marian"
# Those with a word in capitals show the form only.
commands = [c for c in re.findall(r"^    ((?:glim|python3) .*)$", text, re.M) if not re.search(r"\b[A-Z][A-Z0-9]{3,}\b(?!:)", c)]
SMALL = " --layers 1 --d-model 16 --heads 2 --d-ff 32 --epochs 1 --warmup 5 --progress none"


def checkpoint_of_nanogpt(folder):
    letters = dict(enumerate("\n :EMORabcdef"))
    d, v, context = 8, len(letters), 16
    shapes = {"wte": (v, d), "wpe": (context, d), "ln_f": (d,)}
    for i in range(2):
        shapes |= {f"h.{i}.ln_1": (d,), f"h.{i}.ln_2": (d,), f"h.{i}.attn.c_attn": (3 * d, d),
                   f"h.{i}.attn.c_proj": (d, d), f"h.{i}.mlp.c_fc": (4 * d, d), f"h.{i}.mlp.c_proj": (d, 4 * d)}
    state = {f"_orig_mod.transformer.{k}.weight": torch.randn(s) for k, s in shapes.items()}
    state["_orig_mod.lm_head.weight"] = state["_orig_mod.transformer.wte.weight"]
    arguments = dict(n_layer=2, n_head=2, n_embd=d, block_size=context, bias=False, vocab_size=v, dropout=0.0)
    for name in ("out-shakespeare-char", "data/shakespeare_char"):
        (folder / name).mkdir(parents=True)
    torch.save({"model": state, "model_args": arguments}, folder / "out-shakespeare-char/ckpt.pt")
    (folder / "data/shakespeare_char/meta.pkl").write_bytes(pickle.dumps({"itos": letters}))


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    env = dict(os.environ, PATH=f"{glim.parent}:{os.environ['PATH']}", OMP_NUM_THREADS="1")

    def run(command):
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    (folder / "transformer.py").write_text(scripts[0])
    (folder / "my.txt").write_text("abc def\n" * 40)
    checkpoint_of_nanogpt(folder)
    (folder / "small.py").write_text(scripts[2])
    said = {}
    for command in commands:
        if "nanogpt.safetensors" in command:
            run([sys.executable, "-c", scripts[1]])
        words = shlex.split(command.replace("python3", sys.executable))
        said[command] = run(words + (SMALL.split() if command == "glim train --out model" else []))
    differences = [float(d) for d in re.findall(r"difference (\S+)", said["python3 transformer.py"])]
    assert len(differences) == 4 and max(differences) < 1e-5, said["python3 transformer.py"]
    first, back = (safetensors.torch.load_file(folder / f"{m}/{f}.safetensors")
                   for m, f in (("model", "average"), ("back", "best")))
    first = {k: w for k, w in first.items() if not k.startswith("optimizer.")}
    assert first.keys() == back.keys() and all(torch.equal(first[k], back[k]) for k in first)
    hugging_face = all(importlib.util.find_spec(m) for m in ("transformers", "sentencepiece"))
    if hugging_face:
        block = blocks[0].replace("python3", sys.executable)
        done = subprocess.run(["bash", "-e", "-c", block], cwd=folder, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.splitlines()[-1] == "Der Hund saß nicht.", done.stdout
print("" if hugging_face else "Without transformers and sentencepiece: not the commands of GPT-2 and Marian")
print(f"{len(commands)} commands and {len(scripts)} scripts of {page.name}: "
      f"log-probabilities differ by {max(differences):.1e} at most, and the weights come back the same")
