#!/usr/bin/env python3
"""Trains every kind with its defaults on texts of several sizes, for the table in tools/data/own_data.md.

    own_data.py GLIM RESULTS MULTI30K SHAKESPEARE SST2 [--only REGEX] [--seeds N] [--limit SECONDS]
    own_data.py --table RESULTS PAGE         # writes the table into the page

MULTI30K is a folder with train.en and train.de, SHAKESPEARE a text, SST2 a file of sentence<TAB>label lines. A run
takes the first lines of its file and no option but those in its name. RESULTS gets a line of JSON for each run; runs
that it has are not made again.
"""
import argparse
import datetime
import json
import os
import re
import resource
import subprocess
import sys
import tempfile

PAIRS = [200, 1000, 3000, 10000, 29000]
TOKENIZERS = ["word", "char", "sentencepiece-bpe"]


def cells():
    for kind in ["transformer", "rnn", "conv", "non-autoregressive"]:
        for tokenizer in TOKENIZERS if kind == "transformer" else ["word"]:
            for size in PAIRS:
                yield kind, size, tokenizer
    for kind in ["gpt", "bert"]:
        for tokenizer in TOKENIZERS if kind == "gpt" else ["word"]:
            for size in [2000, 20000, 1000000]:
                yield kind, size, tokenizer
    for size in [100, 300, 3000]:
        yield "classifier", size, "word"


def head(path, size, to, characters=False):
    with open(path, encoding="utf-8") as file:
        text = file.read(size) if characters else "".join(line for line, _ in zip(file, range(size)))
    with open(to, "w", encoding="utf-8") as file:
        file.write(text)


def command(args, kind, size, tokenizer):
    """Its files, in this folder."""
    given = [] if kind == "transformer" else ["--kind", kind]
    default = "char" if kind == "gpt" else "word"
    if tokenizer != default:
        given += ["--tokenizer", tokenizer]
    if kind in ("gpt", "bert"):
        head(args.shakespeare, size, "text", characters=True)
        return given + ["--text", "text"]
    if kind == "classifier":
        head(args.sst2, size, "labelled.tsv")
        return given + ["--labelled", "labelled.tsv"]
    for side in ("en", "de"):
        head(os.path.join(args.multi30k, "train." + side), size, "train." + side)
        head("train." + side, 200, "first." + side)
    return given + ["--source", "train.en", "--target", "train.de"]


def number(pattern, text):
    found = re.search(pattern, text, re.M)
    return float(found.group(1)) if found else None


def run(args, kind, size, tokenizer, seed):
    result = {"kind": kind, "size": size, "tokenizer": tokenizer, "seed": seed,
              "date": datetime.date.today().isoformat()}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        options = command(args, kind, size, tokenizer) + ["--seed", str(seed)] * (seed != 1)
        result["command"] = "glim train " + " ".join(options)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        try:
            done = subprocess.run([args.glim, "train", *options, "--progress", "none", "--out", "model"],
                                  capture_output=True, text=True, timeout=args.limit)
        except subprocess.TimeoutExpired:
            result["stopped"] = args.limit
            return result
        finally:
            os.chdir("/")
        text = done.stdout
        result["cpu"] = round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
        result["updates"] = number(r"^weights after (\d+) updates", text)
        result["nll"] = number(r"^on held-out data: .*?(?:NLL|loss) ([\d.]+)", text)
        result["accuracy"] = number(r"^on held-out data: .*accuracy ([\d.]+)", text)
        result["bleu"] = number(r"^BLEU ([\d.]+) on", text)
        said = re.search(r"^(not learned|learned by heart): .*$", text, re.M)
        result["says"] = said.group(0) if said else done.stderr.strip() if done.returncode else ""
        if result["bleu"] is not None:
            told = subprocess.run([args.glim, "evaluate", "--model", folder + "/model", "--json",
                                   "--source", folder + "/first.en", "--target", folder + "/first.de"],
                                  capture_output=True, text=True)
            result["train_bleu"] = json.loads(told.stdout)["bleu"]["score"]
    return result


def read(path):
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [json.loads(line) for line in file]


def mean(rows, key, digits):
    values = [r[key] for r in rows if r.get(key) is not None]
    return f"{sum(values) / len(values):.{digits}f}" if values else "–"


def table(rows):
    lines = ["| kind | data | tokenizer | seeds | updates | processor seconds | held-out NLL | held-out | training BLEU | it says |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    for kind, size, tokenizer in cells():
        own = [r for r in rows if (r["kind"], r["size"], r["tokenizer"]) == (kind, size, tokenizer)]
        if not own:
            continue
        data = f"{size:,} " + ("characters" if kind in ("gpt", "bert") else
                               "sentences" if kind == "classifier" else "pairs")
        held = f"BLEU {mean(own, 'bleu', 1)}"
        if kind in ("bert", "classifier"):
            held = f"accuracy {mean(own, 'accuracy', 3)}"
        elif kind == "gpt":
            held = "–"
        said = [r["says"].split(":")[0] for r in own if r.get("says")]
        stopped = [r for r in own if "stopped" in r]
        word = ", ".join(f"{s} ({said.count(s)} of {len(own)})" for s in sorted(set(said)))
        if stopped:
            word = f"stopped after {stopped[0]['stopped']} s"
        lines.append(f"| {kind} | {data} | {tokenizer} | {len(own)} | {mean(own, 'updates', 0)} | {mean(own, 'cpu', 0)} "
                     f"| {mean(own, 'nll', 2)} | {held} | {mean(own, 'train_bleu', 1)} | {word} |")
    return lines


def write_table(results, page):
    rows = read(results)
    with open(page, encoding="utf-8") as file:
        text = file.read()
    first, last = "<!-- own_data.py -->\n", "<!-- end -->"
    before, rest = text.split(first)
    dates = sorted({r["date"] for r in rows})
    made = f"Made by `tests/readme/own_data.py`, {' to '.join(dates[:1] + dates[1:][-1:])}.\n\n"
    with open(page, "w", encoding="utf-8") as file:
        file.write(before + first + made + "\n".join(table(rows)) + "\n" + last + rest.split(last, 1)[1])


def main():
    if sys.argv[1:2] == ["--table"]:
        return write_table(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("glim", "results", "multi30k", "shakespeare", "sst2"):
        parser.add_argument(name, type=os.path.abspath)
    parser.add_argument("--only", default="", help="cells whose kind-size-tokenizer matches")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--limit", type=float, default=900)
    args = parser.parse_args()
    have = {(r["kind"], r["size"], r["tokenizer"], r["seed"]) for r in read(args.results)}
    for seed in range(1, args.seeds + 1):
        for cell in cells():
            if (*cell, seed) in have or not re.search(args.only, "-".join(map(str, cell))):
                continue
            result = run(args, *cell, seed)
            print(json.dumps(result), flush=True)
            with open(args.results, "a") as file:
                file.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
