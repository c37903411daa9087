#!/usr/bin/env python3
"""Programs that `glim derive` writes: their loss and gradients are Glim's, within 1e-12 in float64.

    programs.py GLIM ROOT LIBRARY [PATTERN]      models whose options have PATTERN

With other weights, the gradients of each program agree with differences of its own loss: nothing of the first run may be
in it but the batch and its masks. Those of second order are symmetric in two other directions, too. Three mistakes in a program are found. Passes that an option changes have layers that
differ from their neighbours: the programs' loops may have only those that are equal. Some of these passes are written in
C++, too, compiled with sanitizers against ROOT and its LIBRARY, and give the same bits as Glim's rules.
"""
import contextlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ModuleNotFoundError:
    for other in {shutil.which("python3"), "/usr/bin/python3"} - {None, sys.executable}:
        if subprocess.run([other, "-c", "import numpy"], capture_output=True).returncode == 0:
            os.execv(other, [other, *sys.argv])
    print("NumPy is not installed (python3-numpy): the programs were not run")
    sys.exit(77)

glim, root, library = sys.argv[1:4]
pattern = sys.argv[4] if len(sys.argv) > 4 else ""
models = [
    "transformer", "transformer --norm pre --dropout", "transformer --dropout --label-smoothing 0.1",
    "transformer --tie decoder --activation gelu", "transformer --positions learned --activation silu",
    "transformer --positions rotary", "transformer --positions alibi --activation gelu-tanh", "transformer --copy",
    "transformer --layers 4 --dropout", "rnn --dropout", "rnn --cell lstm --attention dot",
    "rnn --cell rnn --attention concat", "rnn --copy --attention general", "conv --dropout", "non-autoregressive",
    "gpt --dropout", "gpt", "bert --dropout", "classifier --activation silu", "vit", "vit --dropout", "cnn", "tagger --dropout",
    "gpt --order 2 --layers 2", "transformer --order 2 --norm pre --layers 2", "rnn --order 2 --cell lstm",
]
changed_in_cpp = [  # the first layer differs, one within, the last, two of six; a layer is missing
    "transformer --layers 3 --remove-head encoder.layers.0.self_attn:0",
    "gpt --layers 5 --remove-head transformer.layers.2.self_attn:0 --positions sinusoidal",
    "bert --layers 3 --dropout --remove bert.encoder.layers.2.skip2",
    "gpt --layers 6 --remove-head transformer.layers.0.self_attn:1 transformer.layers.3.self_attn:0",
]
changed = changed_in_cpp + [
    "vit --layers 5 --remove encoder.layers.2",
    "transformer --layers 5 --dropout --remove-head encoder.layers.2.self_attn:0 decoder.layers.2.multihead_attn:1",
    "transformer --layers 5 --norm pre --tie decoder --remove encoder.layers.0.sublayer2 decoder.layers.2.sublayer3",
    "transformer --layers 3 --scale 0.1 --label-smoothing 0.2 --mask decoder.layers.2.self_attn:2,0 --unmask decoder.layers.0.self_attn:0,2",
    "transformer --layers 4 --copy --norm pre --remove encoder.layers.1 decoder.layers.3.norm2",
    "non-autoregressive --layers 4 --remove-head decoder.layers.0.self_attn:0 --mask encoder.layers.3.self_attn:*,0",
    "gpt --layers 6 --dropout --remove transformer.layers.1.norm1 transformer.layers.4.norm1",
    "tagger --layers 3 --remove bert.encoder.layers.0", "classifier --layers 3 --remove bert.encoder.layers.2.sublayer1",
    "conv --layers 4 --dropout",
]


small = {"transformer": "--d-model 40 --heads 2 --d-ff 48", "rnn": "--d-model 40", "conv": "--d-model 40", "cnn": ""}
parts = [  # a module alone
    "transformer --module encoder.layers.0.self_attn", "transformer --module layers.1.multihead_attn --d-model 64 --d-ff 64 --heads 8",
    "transformer --module encoder", "gpt --module layers.0.norm1", "vit --module encoder.layers.1", "rnn --module attention",
    "gpt --module layers.0.norm1 --order 2", "transformer --module encoder.layers.0.self_attn --order 2",
]


def sized(options):  # the options of a model that differences are quick for
    kind = options.split()[0]
    return options.split() + ([] if "--d-model" in options else small.get(kind, small["transformer"]).split())


def run(program, *data):  # its variables, and how far each gradient is from Glim's
    sys.argv = ["backward.py", *map(str, data)]
    names, out = {"__file__": "backward.py"}, io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(program, "backward.py", "exec"), names)
    return names, [float(x) for x in re.findall(r"off by (\S+)", out.getvalue())]


def against_differences(program, data, w, folder):
    random = np.random.default_rng(1)
    at = {name: x + 0.1 * random.standard_normal(x.shape) for name, x in w.items()}
    to = {name: random.standard_normal(x.shape) for name, x in w.items()}
    losses, steps = {}, (1e-7, 1e-8)  # a kink may be within one
    for step in (0, *steps, *(-h for h in steps)):
        weights = folder / "weights.npz"
        np.savez(weights, **{name: x + step * to[name] for name, x in at.items()})
        names, _ = run(program, data, weights)
        losses[step] = float(names["loss"])
        d = names["d"] if step == 0 else d
    slope = sum((g * to[name]).sum() for name, g in d.items())
    return min(abs((losses[h] - losses[-h]) / (2 * h) - slope) for h in steps) / np.sqrt(sum((g**2).sum() for g in d.values()))


def asymmetry(program, data, folder):  # of u (H v) and v (H u), for directions u and v that are not those of the data
    parts = []
    for seed in (1, 2):
        random, arrays = np.random.default_rng(seed), dict(data)
        arrays |= {name: random.standard_normal(x.shape) for name, x in data.items() if name.startswith("batch.v.")}
        np.savez(folder / "directions.npz", **arrays)
        parts.append((arrays, run(program, folder / "directions.npz")[0]["d"]))
    (u, hu), (v, hv) = parts
    pairs = [sum((x["batch.v." + name] * g).sum() for name, g in h.items()) for x, h in ((u, hv), (v, hu))]
    return abs(pairs[0] - pairs[1]) / abs(pairs[0])


def damaged(folder):  # data that cannot be read, in one line each
    whole = (folder / "d/backward.safetensors").read_bytes()
    without = dict(np.load(folder / "weights.npz"))
    without.popitem()
    np.savez(folder / "less.npz", **without)
    for name, data in {"cut.safetensors": whole[:-100], "head.safetensors": whole[:20], "empty.safetensors": b"", "text.npz": b"text"}.items():
        (folder / name).write_bytes(data)
    for wrong, words in {"none.safetensors": "No such file", "cut.safetensors": "cut or damaged", "head.safetensors": "cut or damaged",
                         "empty.safetensors": "cut or damaged", "text.npz": "cut or damaged", "less.npz": "has no '"}.items():
        data = [folder / "d/backward.safetensors"] if wrong == "less.npz" else []
        done = subprocess.run([sys.executable, folder / "d/backward.py", *data, folder / wrong], capture_output=True, text=True)
        if done.returncode == 0 or len(done.stderr.splitlines()) != 1 or words not in done.stderr:
            yield f"{wrong}: {done.stderr}"


def mistakes(program):  # a sign, a term that is missing, a sum without one of its parts
    yield program.replace("dlog_probs - np.exp", "dlog_probs + np.exp", 1)
    yield re.sub(r"(dself_attn_scores = \S+ \* )\((\w+) - .*\)(  #)", r"\1\2\3", program, count=1)
    yield re.sub(r"(dx = dadd \+ dnorm1_centered) \+ .*(  #)", r"\1\2", program, count=1)


main = """
static bool same(const std::string& folder, Tensor (*run)(const StateDict&, const StateDict&, StateDict&)) {
  StateDict w, batch, known, d;
  for (const auto& [name, x] : read_safetensors(folder + "/backward.safetensors").tensors) {
    if (name.starts_with("batch.")) batch[name.substr(6)] = x;
    else if (name.starts_with("gradient.")) known[name.substr(9)] = x;
    else w[name] = x;
  }
  run(w, batch, d);
  bool all = d.size() == known.size();
  for (const auto& [name, x] : d) all = all && known.contains(name) && same_bits(x.contiguous(), known.at(name));
  return all;
}
int main() {
"""


def in_cpp(cases, folder):  # those that a program does not compute to the bit, or what the compiler or the sanitizers say
    includes, namespaces, calls = set(), "", ""
    for k, options in enumerate(cases):
        done = subprocess.run([glim, "derive", "--kind", *sized(options), "--format", "cpp", "--out", folder / str(k)],
                              capture_output=True, text=True)
        if done.returncode:
            return done.stderr
        includes |= set(re.findall("^#include .*$", (folder / str(k) / "backward.cpp").read_text(), re.M))
        namespaces += f'namespace program{k} {{\n#include "{k}/backward.cpp"\n}}\n'
        calls += f'  if (!same("{folder}/{k}", program{k}::forward_and_backward)) std::puts("{options}");\n'
    (folder / "all.cpp").write_text("\n".join(sorted(includes)) + "\nusing namespace glim;\n#define WITHOUT_MAIN\n" +
                                    namespaces + main + calls + "}\n")
    done = subprocess.run([*os.environ.get("CXX", "c++").split(), "-std=c++20", "-Wall", "-Wextra", "-Werror",
                           "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", f"-I{root}", folder / "all.cpp",
                           library, f"-Wl,-rpath,{os.path.dirname(library)}", "-fopenmp", "-o", folder / "all"], capture_output=True, text=True)
    if done.returncode == 0:
        done = subprocess.run(folder / "all", capture_output=True, text=True)
    return done.stdout + done.stderr


failed = 0
for options in [m for m in models + changed + parts if pattern in m]:
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        done = subprocess.run([glim, "derive", "--kind", *sized(options), "--format", "numpy", "--out", folder / "d"],
                              capture_output=True, text=True)
        if done.returncode:
            print(f"{options}: {done.stderr.strip()}")
            failed += 1
            continue
        program, data = (folder / "d/backward.py").read_text(), folder / "d/backward.safetensors"
        try:
            names, off = run(program, data)
            loss = float(re.search(r"loss (\S+)", done.stdout).group(1))
            off.append(abs(float(names["loss"]) - loss) / abs(loss))
            differs = 0 if options in changed else against_differences(program, data, names["w"], folder)
            if "--order 2" in options:
                off.append(asymmetry(program, names["load"](str(data)), folder))
        except Exception as e:
            print(f"{options}: {type(e).__name__}: {e}")
            failed += 1
            continue
        lines = len(program.splitlines())
        bad = not max(off) <= 1e-12 or not differs <= 1e-6 or set(names["d"]) != set(names["known"]) or (options == "transformer" and lines > 400)
        failed += bad
        print(f"{options:<55} {lines:>5} lines {len(names['known']):>3} gradients off by {max(off):.1e}" +
              (f", {differs:.1e} from differences" if differs else "") + ("  FAILED" if bad else ""), flush=True)
        if options == "transformer":
            for problem in damaged(folder):
                failed += 1
                print("  " + problem)
            for k, wrong in enumerate(mistakes(program)):
                found = wrong != program and max(run(wrong, data)[1]) > 1e-12
                failed += not found
                print(f"  mistake {k + 1}: {'found' if found else 'NOT FOUND'}")
cases = [m for m in changed_in_cpp + parts if pattern in m]
if cases:
    with tempfile.TemporaryDirectory() as folder:
        problem = in_cpp(cases, pathlib.Path(folder))
        failed += bool(problem)
        print(f"{len(cases)} in C++: {problem or 'the same bits'}")
sys.exit(failed > 0)
