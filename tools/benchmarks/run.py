"""Glim and its peers in turn, A B A B, on the same sizes, threads and masks; prints Markdown tables.

Each side works in a process of its own that stays warm (tools/benchmarks/server.hpp). A turn is as
many repetitions as take about a quarter of a second; figures are medians over the turns' medians,
ratios medians of the pairs' ratios. With --page the tables of steps and decoding become one table, the section
of this machine in results.md.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# Each library's own switch that keeps it from AVX-512.
AVX2 = {"GLIM_ISA": "avx2", "ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "ONEDNN_MAX_CPU_ISA": "AVX2", "CT2_FORCE_CPU_ISA": "AVX2", "RAXIS_CPU_CAPABILITY": "avx2"}


# Of a training step: its name, the module it needs, what starts it.
STEP_PEERS = [("PyTorch eager", "torch", ["peer.py", "step", "--mode", "eager", "--setting"]),
              ("PyTorch compiled", "torch", ["peer.py", "step", "--mode", "compile", "--setting"]),
              ("PyTorch best", "torch", ["peer.py", "step", "--mode", "best", "--setting"]),
              ("JAX", "jax", ["peer_jax.py"]),
              ("raxis", "raxis", ["peer.py", "step", "--library", "raxis", "--setting"])]
MEDIUM = "Glim medium"  # its own products in bfloat16
STEP_COLUMNS = [MEDIUM, *(peer for peer, _, _ in STEP_PEERS)]
SCANNED = 200  # steps of JAX in one lax.scan, for a setting so small that its calls would be measured


class Server:
    def __init__(self, command, env, steps=1, is_peer=False):
        self.command, self.is_peer = command, is_peer
        self.steps = steps  # how many of them a measurement has
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        ready = self.process.stdout.readline().split()
        if len(ready) != 2 or ready[0] != "ready":
            raise RuntimeError("no measurement from: " + " ".join(command))
        self.start_memory = int(ready[1])

    def ask(self, line):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if not answer:
            raise RuntimeError("a measured process ended early: " + " ".join(self.command))
        return answer

    def warm(self):
        """Runs until times settle; returns repetitions that take a quarter of a second."""
        first = [float(t) for t in self.ask(3)]
        return max(1, min(2000, int(0.25 / max(first[-1], 1e-7))))

    def turn(self, repetitions):
        time.sleep(0.05)  # threads of the process before wait actively, some for 10 ms and more
        return statistics.median(float(t) for t in self.ask(repetitions)) / self.steps

    def memory(self):
        return int(self.ask("memory")[0]) - self.start_memory

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def in_turn(servers, pairs):
    """servers: name -> Server. Returns name -> list of times, one a turn. A peer that fails is taken out of servers."""
    counts = {}
    for name, s in list(servers.items()):
        try:
            counts[name] = s.warm()
        except RuntimeError as e:
            if not s.is_peer:
                raise
            print(f"{name} fails: left out ({e})", flush=True)
            del servers[name]
    times = {name: [] for name in servers}
    for _ in range(pairs):
        for name, s in servers.items():
            times[name].append(s.turn(counts[name]))
    return times


def ratio(times, slow, fast):
    return statistics.median(a / b for a, b in zip(times[slow], times[fast]))


def milliseconds(times):
    return f"{statistics.median(times) * 1e3:.3f}"


def table(title, header, rows):
    print(f"\n## {title}\n", flush=True)
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(str(c) for c in row) + " |", flush=True)


class Bench:
    def __init__(self, a):
        self.a = a
        self.found = {}  # modules that the peers need
        self.rows = []  # of the page: what was measured, and a cell for each of its columns
        run = lambda *c: subprocess.run([a.glim, *c], capture_output=True, text=True, check=True).stdout
        self.output = run
        self.settings = {s["name"]: s for s in json.loads(run("settings"))}
        self.machine = json.loads(subprocess.run([a.glim, "machine"], capture_output=True, text=True, check=True,
                                                 env=self.environment()).stdout)

    def environment(self, threads=None, products=None):
        env = dict(os.environ, OMP_NUM_THREADS=str(threads or self.a.threads))
        env.pop("OPENBLAS_CORETYPE", None)
        # torch.compile keeps kernels for AVX2 and for AVX-512 under one name, and crashes with the other's.
        env["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(tempfile.gettempdir(), f"torchinductor-{self.a.isa or 'widest'}")
        if self.a.isa == "avx2":
            env.update(AVX2, OPENBLAS_CORETYPE="Haswell")
        if products:
            env["GLIM_GEMM"] = products
        return env

    def glim(self, *command, threads=None, products=None):
        return Server([self.a.glim, *command], self.environment(threads, products))

    def peer(self, *command, program="peer.py", steps=1):
        return Server([self.a.peer, os.path.join(HERE, program), *command], self.environment(), steps, True)

    def has(self, module):
        if not self.a.peer:
            return False
        if module not in self.found:
            self.found[module] = subprocess.run([self.a.peer, "-c", f"import {module}"], capture_output=True).returncode == 0
            if not self.found[module]:
                print(f"{module} is not installed: left out", flush=True)
        return self.found[module]

    def by_products(self, pairs, *command):
        servers = {name: self.glim(*command, products=name) for name in ("builtin", "openblas")}
        times = in_turn(servers, pairs)
        for server in servers.values():
            server.close()
        return times

    def head(self):
        machine = self.machine
        print(f"Glim: {machine['threads']} threads, {machine['isa']} kernels, GEMM: {machine['gemm']}; "
              f"OpenBLAS {machine['blas']} with {machine['kernels']} kernels, OPENBLAS_CORETYPE {machine['coretype']}")
        version = "import sys; from importlib.metadata import version; print(version(sys.argv[1]))"
        self.peers = ", ".join(
            f"{name} " + subprocess.run([self.a.peer, "-c", version, module], capture_output=True, text=True).stdout.strip()
            for name, module in (("PyTorch", "torch"), ("JAX", "jax"), ("raxis", "raxis"), ("CTranslate2", "ctranslate2"))
            if self.has(module))
        self.peers = self.peers or "no peer"
        print("Beside:", self.peers)
        turns = min(5, self.a.pairs)
        times = self.by_products(turns, "sgemm")
        rates = {name: 2 * 4096**3 / min(t) for name, t in times.items()}
        self.peak = max(rates.values())  # what a share of the peak refers to
        print(f"SGEMM peak (4096³, best of {turns} turns): " +
              ", ".join(f"{name} {rate * 1e-9:.0f}" for name, rate in rates.items()) + " GFLOP/s", flush=True)

    def steps(self):
        rows = []
        for name in self.a.settings.split(","):
            s = self.settings[name]
            command = ["step", name, "--recompute", self.a.recompute]
            servers = {"glim": self.glim(*command), MEDIUM: self.glim(*command, "--matmul-precision", "medium")}
            for peer, module, (program, *words) in STEP_PEERS:
                if self.has(module) and (module != "raxis" or s["source"] == 0):  # it has no nn.Transformer
                    scan = program == "peer_jax.py" and s["flops"] < 1e8
                    words = [*words, json.dumps(s), *(["--scan", str(SCANNED)] if scan else [])]
                    servers[peer] = self.peer(*words, program=program, steps=SCANNED if scan else 1)
            times = in_turn(servers, self.a.pairs)
            memory = {n: server.memory() for n, server in servers.items()}
            for server in servers.values():
                server.close()
            mine = statistics.median(times["glim"])
            rate = s["flops"] / mine
            against = [f"{ratio(times, peer, 'glim'):.2f}" if peer in times else "" for peer in STEP_COLUMNS]
            eager = memory.get("PyTorch eager")
            of_eager = f"{memory['glim'] / eager:.2f}" if eager else ""
            rows.append([name, f"{mine * 1e3:.3f}", f"{s['batch'] * s['target'] / mine:.0f}", f"{rate * 1e-9:.1f}",
                         f"{100 * rate / self.peak:.0f} %", *against, f"{memory['glim'] / 1e6:.0f}", of_eager])
            self.rows.append([f"train {name}", rows[-1][1], rows[-1][4], *against, "", "", *rows[-1][-2:]])
        again = "" if self.a.recompute == "none" else f"; Glim runs layers again in backward: {self.a.recompute}"
        table("Training step: float32, dropout 0.1, label smoothing 0.1, Adam; others' time / Glim's" + again,
              ["setting", "Glim ms", "target tokens/s", "GFLOP/s", "of peak", *STEP_COLUMNS,
               "MB", "Glim MB / PyTorch eager MB"], rows)

    def ops(self):
        rows = []
        for name in self.output("ops").splitlines():
            servers = {"glim": self.glim("op", name)}
            if self.has("torch"):
                servers["eager"] = self.peer("op", name)
            times = in_turn(servers, self.a.pairs)
            row = [name, milliseconds(times["glim"])]
            row += [milliseconds(times["eager"]), f"{ratio(times, 'eager', 'glim'):.2f}"] if "eager" in times else ["", ""]
            rows.append(row)
            for server in servers.values():
                server.close()
        table("Single ops, forward and backward; (B, T, D) = (64, 32, 512)",
              ["op", "Glim ms", "PyTorch ms", "PyTorch / Glim"], rows)

    def decoding(self):
        peers = {}  # what others call it, and how a server of it starts
        if self.has("torch"):
            peers["PyTorch"] = lambda s, sizes: self.peer("decode", "--setting", s, *sizes)
        if self.has("ctranslate2"):
            by_type = lambda t: lambda s, sizes: self.peer(s, *sizes, "--type", t, program="peer_ctranslate2.py")
            peers.update({"CTranslate2": by_type("float32"), "CTranslate2 int8": by_type("int8")})
        rows = []
        shapes = [(name, batch, beam) for name in self.a.decode.split(",")
                  for batch, beam in ((1, 1), (64, 1), (1, 5), (64, 5))]
        for name, batch, beam in shapes:
            sizes = ["--batch", str(batch), "--beam", str(beam)]
            servers = {"glim": self.glim("decode", name, *sizes)}
            for peer, start in peers.items():
                servers[peer] = start(json.dumps(self.settings[name]), sizes)
            times = in_turn(servers, self.a.pairs)
            mine = statistics.median(times["glim"])
            row = [name, batch, beam, milliseconds(times["glim"]), f"{batch * 32 / mine:.0f}"]
            for peer in peers:
                row += [milliseconds(times[peer]), f"{ratio(times, peer, 'glim'):.2f}"] if peer in times else ["", ""]
            rows.append(row)
            against = lambda peer: f"{ratio(times, peer, 'glim'):.2f}" if peer in times else ""
            what = f"decode {name}, {batch} sentence{'s' * (batch > 1)}, " + (f"beam {beam}" if beam > 1 else "greedy")
            self.rows.append([what, row[3], "", "", against("PyTorch"), *[""] * (len(STEP_PEERS) - 1),
                              against("CTranslate2"), against("CTranslate2 int8"), "", ""])
            for server in servers.values():
                server.close()
        table("Decoding with cached keys and values: 32 source tokens to 32 target tokens",
              ["setting", "sentences", "beam", "Glim ms", "tokens/s",
               *(word for peer in peers for word in (f"{peer} ms", f"{peer} / Glim"))], rows)

    def products(self):
        large = lambda s: s["batch"] * s["target"] * s["d"] ** 2 > 1e6
        settings = [self.settings[n] for n in self.a.settings.split(",") if large(self.settings[n])]
        if not settings:
            sys.exit("bench: error: --settings: none of these has large products")
        rows = []
        for s in settings:
            n = s["batch"] * s["target"]
            for layer, k, m in (("queries, keys, values", s["d"], 3 * s["d"]), ("projection", s["d"], s["d"]),
                                ("hidden", s["d"], s["d_ff"]), ("output", s["d_ff"], s["d"]),
                                ("generator", s["d"], s["vocab"])):
                row = [s["name"], layer, n, k, m]
                # y (n, m) = x wᵀ, dx (n, k) = dy w, dw (m, k) = dyᵀ x
                for order, *extents in (("nt", n, m, k), ("nn", n, k, m), ("tn", m, k, n)):
                    sizes = [word for flag, x in zip(("--m", "--n", "--k"), extents) for word in (flag, str(x))]
                    times = self.by_products(self.a.pairs, "sgemm", "--order", order, *sizes)
                    rate = 2e-9 * n * m * k / statistics.median(times["builtin"])
                    row += [f"{rate:.0f}", f"{ratio(times, 'openblas', 'builtin'):.2f}"]
                rows.append(row)
        table("Products of linear layers (rows, inputs) -> (rows, outputs): GFLOP/s of Glim's GEMM, and times of "
              "OpenBLAS's / Glim's", ["setting", "layer", "rows", "inputs", "outputs", "forward", "", "input's gradient", "",
                                   "weight's gradient", ""], rows)
        rows, ratios = [], []
        for s in settings:
            times = self.by_products(self.a.pairs, "step", s["name"])
            ratios.append(ratio(times, "openblas", "builtin"))
            rows.append([s["name"], milliseconds(times["builtin"]), milliseconds(times["openblas"]), f"{ratios[-1]:.3f}"])
        table("Training step with either product", ["setting", "builtin ms", "openblas ms", "openblas / builtin"], rows)
        mean = statistics.geometric_mean(ratios)
        print(f"\nWith openblas a step takes {mean:.3f} of the time with builtin (geometric mean).")

    def threads(self):
        rows = []
        for name in self.a.settings.split(","):
            servers = {"one": self.glim("step", name, threads=1), "two": self.glim("step", name, threads=2)}
            times = in_turn(servers, self.a.pairs)
            rows.append([name, milliseconds(times["one"]), milliseconds(times["two"]), f"{ratio(times, 'one', 'two'):.2f}"])
            for server in servers.values():
                server.close()
        table("From 1 thread to 2", ["setting", "1 thread ms", "2 threads ms", "speed-up"], rows)

    def bits(self):
        rows = []
        for name in ("micro", "tiny"):
            row = [name]
            for threads in (1, 2, 3, 4):
                env = dict(os.environ, OMP_NUM_THREADS=str(threads))
                steps = "200" if name == "micro" else str(self.a.bits_steps)
                row.append(subprocess.run([self.a.glim, "hash", name, "--steps", steps], capture_output=True, text=True,
                                          env=env, check=True).stdout.strip())
            rows.append(row + ["same" if len(set(row[1:])) == 1 else "DIFFERENT"])
        table("Hash of all weights after training, by threads", ["setting", "1", "2", "3", "4", ""], rows)

    def page(self):
        """Writes the section of this machine into results.md, in place of the one with the same heading."""
        cpu = pathlib.Path("/proc/cpuinfo").read_text()
        model, family, number = (re.search(rf"^{key}\s*: (.*)$", cpu, re.M)[1]
                                 for key in ("model name", "cpu family", "model"))
        isa = {"avx512": "AVX-512", "avx2": "AVX2"}.get(self.machine["isa"], self.machine["isa"])
        commit = subprocess.run(["git", "-C", HERE, "describe", "--always", "--dirty"], capture_output=True,
                                text=True).stdout.strip()
        heading = f"## {model} (family {family}, model {number}), {self.a.threads} threads, {isa}\n"
        words = re.sub(r"--(glim|peer) \S+ ?", "", " ".join(sys.argv[1:]))
        columns = ["work", "Glim ms", "of peak", *(column + " / Glim" for column in STEP_COLUMNS), "CTranslate2 / Glim",
                   "CTranslate2 int8 / Glim", "Glim MB", "Glim MB / PyTorch MB"]
        lines = [heading, f"Glim {commit}, {datetime.date.today()}; peak {self.peak * 1e-9:.0f} GFLOP/s; "
                 f"{self.peers}; medians of {self.a.pairs} turns of `tools/bench {words}`.\n",
                 "| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
        lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in self.rows]
        path = pathlib.Path(HERE, "results.md")
        sections = re.split(r"^(?=## )", path.read_text(), flags=re.M)
        section = "\n".join(lines)
        position = next((i for i, old in enumerate(sections) if old.startswith(heading)), None)
        if position is None:
            sections.insert(1, section)
        else:
            sections[position] = section
        path.write_text("\n\n".join(part.strip("\n") for part in sections) + "\n")


def main():
    parser = argparse.ArgumentParser(prog="tools/bench", description=__doc__.splitlines()[0])
    parts = ["steps", "ops", "products", "decoding", "threads", "bits"]
    parser.add_argument("--glim", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--peer", help="Python with torch to compare with")
    parser.add_argument("--only", help="some of " + ", ".join(parts))
    parser.add_argument("--settings", default="micro,tiny,small,base,seed,gpt-char,gpt2")
    parser.add_argument("--decode", default="tiny,base", help="settings to decode at")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--recompute", default="none", choices=["none", "encoder", "all"],
                        help="layers that Glim's backward runs again instead of keeping what it reads")
    parser.add_argument("--isa", choices=["avx2"], help="hold every side to AVX2")
    parser.add_argument("--page", action="store_true",
                        help="measure steps and decoding, and write this machine's section of tools/benchmarks/results.md")
    parser.add_argument("--bits-steps", type=int, default=200, help="steps of `tiny` in the test of bits")
    a = parser.parse_args()
    if a.page and a.only:
        parser.error("--page measures steps and decoding: leave out --only")
    chosen = ["steps", "decoding"] if a.page else a.only.split(",") if a.only else parts
    for part in chosen:
        if part not in parts:
            parser.error(f"--only: '{part}' is not one of {', '.join(parts)}")
    if a.pairs < 1 or a.threads < 1:
        parser.error("--pairs and --threads must be at least 1")
    try:
        bench = Bench(a)
        for option, names in (("settings", a.settings), ("decode", a.decode)):
            for name in names.split(","):
                if name not in bench.settings or (option == "decode" and bench.settings[name]["source"] == 0):
                    parser.error(f"--{option}: '{name}' is not one of {', '.join(bench.settings)}")
            if option == "settings" and "steps" in chosen and a.recompute != "none":
                for name in names.split(","):
                    if bench.settings[name]["source"] == 0:
                        parser.error(f"--recompute: '{name}', a decoder alone, keeps all that backward reads")
        bench.head()
        for part in chosen:
            getattr(bench, part)()
        if a.page:
            bench.page()
    except (RuntimeError, OSError, subprocess.CalledProcessError) as e:
        sys.exit(f"bench: error: {e}")


main()
