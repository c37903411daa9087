#!/usr/bin/env python3
"""json_output.py GLIM ROOT MAKE_IMAGES: what every verb prints with --json, and what the files of a run hold, is what
ROOT/tools/cli/json.md says, each schema there is used, and without a terminal nothing is coloured."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TYPES = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict,
         "null": type(None)}


def wrong(schema, value, place="$"):
    """The parts of the value that are not as the schema says: those words of JSON Schema that the page uses."""
    unknown = set(schema) - {"type", "properties", "required", "additionalProperties", "items"}
    assert not unknown, unknown
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(isinstance(value, TYPES[k]) and (k == "boolean" or not isinstance(value, bool)) for k in kinds):
        yield f"{place} is {json.dumps(value)[:60]}, not of type {kinds}"
    elif isinstance(value, dict):
        for name in schema.get("required", []):
            if name not in value:
                yield f"{place} lacks {name}"
        for name, member in value.items():
            other = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
            if not other:
                yield f"{place} has {name}, which the page does not know"
            else:
                yield from wrong(other, member, f"{place}.{name}")
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from wrong(schema["items"], item, f"{place}[{i}]")


def main(glim, root, make_images, *_):  # under sanitizers ~[slow] comes last
    page = (pathlib.Path(root) / "tools/cli/json.md").read_text()
    schemas = {name: json.loads(text)
               for name, text in re.findall(r"^## (.+?)\n.*?^```json\n(.*?)^```$", page, re.M | re.S)}
    glim, make_images = os.path.abspath(glim), os.path.abspath(make_images)
    failed, used = [], set()

    def run(*arguments, text=""):
        return subprocess.run([glim, *arguments], input=text, capture_output=True, text=True, timeout=600)

    def check(name, count, *arguments, text="", status=0):
        used.add(name)
        done = run(*arguments, "--json", text=text)
        lines = done.stdout.splitlines()
        problems = [f"status {done.returncode}: {done.stderr}"] if done.returncode != status else []
        problems += [f"{len(lines)} lines, not {count}"] if len(lines) != count else []
        for line in lines:
            problems += wrong(schemas[name], json.loads(line))
        if "\x1b" in done.stdout + done.stderr:
            problems.append("an escape code without a terminal")
        failed.extend(f"{' '.join(arguments)}: {p}" for p in problems)
        return [json.loads(line) for line in lines], done.stderr

    def check_file(name, text):
        used.add(name)
        failed.extend(f"{name}: {p}" for p in wrong(schemas[name], json.loads(text)))

    def train(out, *arguments):
        done = run("train", "--quiet", "--layers", "1", "--d-model", "16", "--heads", "2", "--d-ff", "32",
                   "--max-steps", "3", "--schedule", "constant", "--out", out, *arguments)
        if done.returncode or re.sub(r"^(not learned|learned by heart): .*\n", "", done.stdout, flags=re.M) or done.stderr:
            failed.append(f"train --quiet {out} says {done.stdout}{done.stderr}")

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["NO_COLOR"] = "1"
        train("m", "--task", "copy", "--examples", "40", "--guided-attention", "1", "--record", "--record-curvature")
        run("train", "--task", "copy", "--examples", "40", "--d-model", "16", "--heads", "2", "--record", "--schedule", "constant",
            "--rate", "1e30", "--out", "burst")  # its loss is soon not finite
        for line in pathlib.Path("m/metrics.jsonl").read_text().splitlines():
            check_file("metrics.jsonl", line)
        for run_folder in ("m", "burst"):
            first, *others = pathlib.Path(run_folder, "recording.jsonl").read_text().splitlines()
            check_file("recording.jsonl, first line", first)
            for line in others:
                check_file("recording.jsonl, other lines", line)
        found, said = check("translate", 3, "translate", "--model", "m", "--beam", "2", "--nbest", "2", "--alignments",
                            text="1 zebra 2\n\n\"3\" 4\n")
        if found[0]["unknown"] != ["zebra"] or found[1]["source"] != "" or len(found[0]["translations"]) != 2:
            failed.append(f"translate: {found}")
        if said.splitlines()[:1] != ["glim: note: standard input:1: unknown to the model: zebra"]:
            failed.append(f"translate says {said}")
        if run("translate", "--model", "m", "--quiet", text="zebra\n").stderr:
            failed.append("translate --quiet has notes")
        check("evaluate", 1, "evaluate", "--model", "m")
        pathlib.Path("lines").write_text("1 2\n3 4\n")
        pathlib.Path("pairs.csv").write_text("source,target\n1 2,1 2\n3,\n")
        check("evaluate", 1, "evaluate", "--hypotheses", "lines", "--target", "lines")
        found, said = check("evaluate", 1, "evaluate", "--model", "m", "--pairs", "pairs.csv")
        if found[0]["pairs"] != 2 or "1 pair" not in said:
            failed.append(f"evaluate --pairs: {found} {said}")

        # A head that is removed, and columns as in training.
        pathlib.Path("one.csv").write_text("a,b\n" + "1 2 3,1 2 3\n" * 20)
        train("columns", "--pairs", "one.csv", "--columns", "a,b")
        head = ("--remove-head", "decoder.layers.0.*:1")
        nll = [check("evaluate", 1, "evaluate", "--model", "columns", "--pairs", "one.csv", *removed)[0][0]["nll"]
               for removed in ((), head)]
        loss = [float(re.search(r"^loss ([0-9.]+)", run("inspect", "--model", "columns", "--sentence", "1 2 3", "--translation",
                "1 2 3", "--out", "page", "--overwrite", "--label-smoothing", "0", *removed).stdout, re.M)[1]) for removed in ((), head)]
        if nll[0] == nll[1] or any(abs(a - b) > 1e-4 for a, b in zip(nll, loss)):
            failed.append(f"evaluate --remove-head: NLL {nll}, inspect has {loss}")
        if check("evaluate", 1, "evaluate", "--model", "columns", "--pairs", "one.csv", *head)[0][0]["removed_heads"] != [head[1]]:
            failed.append("evaluate --remove-head is not in its JSON")
        look = ("inspect", "--model", "m", "--sentence", "1 2 3", "--translation", "1 2 3")
        why = check("inspect --why", 1, *look, "--why", "decoder.layers.0.multihead_attn:1:2,1")[0][0]
        if not why["gap"] < 1e-12 or abs(sum(map(sum, why["parts"])) - why["score"] + why["mean"]) > 1e-12:
            failed.append(f"inspect --why: {why}")
        part = check("inspect --why-part", 1, *look, "--why", "decoder.layers.0.multihead_attn:1:2,1", "--why-part",
                     "decoder.layers.0.self_attn:0", "encoder.layers.0.relu")[0][0]
        if len(part["splits"]) != 2 or any(abs(sum(r["part"] for r in s["rows"]) - part["part"]) > 1e-12 for s in part["splits"]):
            failed.append(f"inspect --why-part: {part}")
        check("inspect --patch-node", 1, *look, "--patch-node", "*.context", "*.relu", "--patch-from", "3 2 1")
        for wrong_head in ("decoder.layers.0.self_attn", "decoder.layers.0.self_attn:2", "decoder.layers.7.self_attn:0"):
            done = run("evaluate", "--model", "m", "--remove-head", wrong_head)
            if done.returncode != 1 or not done.stderr.startswith(f"glim: error: --remove-head: "):
                failed.append(f"evaluate --remove-head {wrong_head}: {done.stderr}")

        pathlib.Path("labelled").write_text("a good film\tyes\na bad film\tno\n")
        train("c", "--kind", "classifier", "--labelled", "labelled")
        check("classify", 2, "classify", "--model", "c", text="good\n\n")
        check("classify", 2, "classify", "--model", "c", text="good\n" + "good " * 300, status=1)
        check("translate", 2, "translate", "--model", "m", text="3 4\n" + "3 " * 300, status=1)
        measured = "classify --labelled, --labels or --image-folder"
        check(measured, 1, "classify", "--model", "c", "--labelled", "labelled")
        pathlib.Path("named.csv").write_text("kind,text\nyes,a good film\nno,a bad film\n")
        train("named", "--kind", "classifier", "--labelled", "named.csv", "--columns", "text,kind")
        check(measured, 1, "classify", "--model", "named", "--labelled", "named.csv")
        pathlib.Path("tagged").write_text("Bob\tB-PER\nmet\tO\n\nAda\tB-PER\n" * 3)
        train("t", "--kind", "tagger", "--labelled", "tagged")
        check("classify with a tagger", 3, "classify", "--model", "t", text="Bob met\n\n" + "Bob " * 300, status=1)
        check(measured, 1, "classify", "--model", "t", "--labelled", "tagged")
        subprocess.run([make_images, "."], check=True, stdout=subprocess.DEVNULL)
        train("v", "--kind", "vit", "--images", "images.idx", "--labels", "labels.idx", "--patch", "4")
        images = json.loads(json.dumps(run("classify", "--model", "v", "--images", "images.idx").stdout)).count("\n")
        check("classify", images, "classify", "--model", "v", "--images", "images.idx")
        check(measured, 1, "classify", "--model", "v", "--images", "images.idx", "--labels", "labels.idx")

        pathlib.Path("text").write_text("KING: the day is fair.\n" * 40)
        train("g", "--kind", "gpt", "--text", "text", "--block", "8")
        pathlib.Path("end").write_text("KING: the day is fair.\n" * 4)  # the last tenth validates
        scored = check("evaluate of a text", 1, "evaluate", "--model", "g/last.safetensors", "--text", "end")[0][0]
        valid = json.loads([line for line in pathlib.Path("g/metrics.jsonl").read_text().splitlines() if '"valid"' in line][-1])
        if scored["tokens"] != valid["tokens"] or abs(scored["nll"] - valid["nll"]) > 1e-5:
            failed.append(f"evaluate --text: {scored}, validation had {valid}")
        for wrong_use in (("g",), ("g", "--text", "end", "--source", "lines", "--target", "lines"), ("m", "--text", "end")):
            done = run("evaluate", "--model", *wrong_use)
            if done.returncode != 1 or not done.stderr.startswith("glim: error: --text: is n"):
                failed.append(f"evaluate {wrong_use}: {done.stderr}")
        pathlib.Path("prompt").write_text("the\n")
        generate = ("generate", "--model", "g", "--max-tokens", "5")
        given, _ = check("generate", 2, *generate, "--samples", "2", "--prompt", "the")
        for prompt, text in (("FILE:prompt", ""), ("-", "the\n"), ("-", "the")):
            if check("generate", 2, *generate, "--samples", "2", "--prompt", prompt, text=text)[0] != given:
                failed.append(f"--prompt {prompt} gives another text")
        if run(*generate, "--prompt", "the").stdout != "the" + given[0]["text"] + "\n":
            failed.append("generate prints another text than its object has")
        missing = run(*generate, "--prompt", "FILE:nowhere")
        if missing.returncode != 1 or missing.stderr != "glim: error: --prompt: nowhere: No such file or directory\n":
            failed.append(f"a prompt of no file: {missing.stderr}")

        check("compare", 1, "compare", "--models", "m", "--timed", "2")
        images = ("--images", "images.idx", "--labels", "labels.idx", "--valid-last", "40")
        small = ("--kinds", "vit,cnn", "--patch", "4", "--layers", "1", "--d-model", "8", "--heads", "2", "--epochs", "1")
        found, _ = check("compare of images", 1, "compare", *small, *images, "--out", "images")
        if [m["kind"] for m in found[0]["models"]] != ["vit", "cnn"]:
            failed.append(f"compare of images: {found}")
        check("gradcheck", 1, "gradcheck", "--only", "relu")
        same = ("sed -u 's/.*\"dy\": {\"y\": \\(.*\\)}}/{\"x\": \\1}/; s/.*\"inputs\": {\"x\": \\(.*\\)}}/{\"y\": \\1}/; "
                "s/.*\"inputs\"}/{\"x\": 1.5}/'")  # y = x
        check("gradcheck --program", 1, "gradcheck", "--program", same)
        check("gradcheck --program", 1, "gradcheck", "--program", same.replace("1}", "1e1}", 1), status=1)
        check("doctor", 1, "doctor")
        for line in pathlib.Path("c/metrics.jsonl").read_text().splitlines():
            check_file("metrics.jsonl", line)
        used.add("STUDY.json")
        if run("study", "--list").returncode == 0:  # in builds with pages
            run("study", "identical-tokens", "rollout", "--quick", "--seeds", "1", "--out", ".")
            for name in ("identical-tokens", "rollout"):
                check_file("STUDY.json", pathlib.Path(name + ".json").read_text())
    failed += [f"the page has {name}, which nothing prints" for name in set(schemas) - used]
    print("\n".join(failed) or f"{len(schemas)} kinds of objects are as the page says")
    return bool(failed)


sys.exit(main(*sys.argv[1:]))
