#!/usr/bin/env python3
"""models/pytorch.md as it is: pytorch_page.py GLIM PAGE runs its scripts and commands, in order, with a checkpoint
of nanoGPT made here. Needs torch and safetensors; the commands of GPT-2 and Marian also transformers and
sentencepiece."""
import importlib.util
import os
import pathlib
import pickle
import re
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
scripts = dict(re.findall(r"^```python (\S+)\n(.*?)^```$", text, re.M | re.S))
# Of each command the modules that it needs.
commands = [(command, needs.split(",")) for needs, block in re.findall(r"^```sh needs (\S+)\n(.*?)^```$", text, re.M | re.S)
            for command in block.splitlines()]
there = lambda module: "/" in module or importlib.util.find_spec(module)


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
    env = dict(os.environ, PATH=f"{glim.parent}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}", OMP_NUM_THREADS="1")

    def run(command):
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    for name, script in scripts.items():
        (folder / name).write_text(script)
    (folder / "my.txt").write_text("abc def\n" * 40)
    checkpoint_of_nanogpt(folder)
    said, left_out = {}, []
    for command, needs in commands:
        if all(map(there, needs)):
            said[command] = run(command)
        else:
            left_out.append(command)
    differences = [float(d) for d in re.findall(r"difference (\S+)", said["python3 transformer.py"])]
    assert len(differences) == 4 and max(differences) < 1e-5, said["python3 transformer.py"]
    first, back = (safetensors.torch.load_file(folder / f"{m}/{f}.safetensors")
                   for m, f in (("model", "average"), ("back", "best")))
    first = {k: w for k, w in first.items() if not k.startswith("optimizer.")}
    assert first.keys() == back.keys() and all(torch.equal(first[k], back[k]) for k in first)
    tuned = """echo "The dog didn't sit." | glim translate --model marian-tuned"""
    assert tuned in left_out or said[tuned] == "Der Hund saß nicht.\n", said[tuned]
if left_out:
    print(f"not run, for want of transformers and sentencepiece: {len(left_out)} commands")
print(f"{len(said)} commands and {len(scripts)} scripts of {page.name}: "
      f"log-probabilities differ by {max(differences):.1e} at most, and the weights come back the same")
