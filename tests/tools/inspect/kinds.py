#!/usr/bin/env python3
"""Pages of glim inspect for models that read one text or an image, in headless Chromium: every tab, and the live
page's controls, held against the program.

    kinds.py GLIM MAKE_IMAGES LIVE_ANSWERS       runs no test where there is no Chromium
"""
import base64
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "page"))
import checks  # noqa: E402
import chromium  # noqa: E402
import two_languages  # noqa: E402
import without_module  # noqa: E402

chromium.leave_without()
glim, make_images = map(os.path.abspath, sys.argv[1:3])
check = checks.Checks()
WAIT = ("new Promise(done => { const ask = () => Glim.live.ready || document.querySelector('#live-status.warning') ? "
        "done(Glim.live.ready) : setTimeout(ask, 50); ask(); })")
LOOK = """(() => {
  const seen = {};
  for (const tab of ["model", "attention", "walk", "tokens", "matrices", "words"]) {
    document.getElementById("tab-" + tab).click();
    seen[tab] = document.querySelectorAll(`#view-${tab} *`).length;
    seen.text ??= document.querySelector("main").innerText.match(/.{0,40}(NaN|undefined).{0,20}/)?.[0];
    if (document.documentElement.scrollWidth > window.innerWidth + 1) seen.wide = tab;
  }
  seen.stacks = [...document.querySelectorAll("#view-model .stack h3")].map(h => h.textContent);
  seen.cells = document.querySelectorAll("#view-tokens .map rect.cell").length;
  return seen;
})()"""
SET = """
window.set = (id, value) => { const e = document.getElementById(id); e.value = value; e.dispatchEvent(new Event("change")); };
window.pixel = i => { document.getElementById("tab-tokens").click();
  document.querySelectorAll("#view-tokens .map rect.cell")[i].dispatchEvent(new MouseEvent("click", {bubbles: true})); };
"""
# Every step of the path: what it answers, and what it complains of.
PATH = """(() => {
  const said = [];
  document.getElementById("path-skip").click();
  for (let title = ""; document.getElementById("path-next"); document.getElementById("path-next").click()) {
    title = document.querySelector("#path-stop h3").textContent;
    for (let i = 0; document.querySelectorAll("#path-stop [data-step]")[i]; ++i) {  // the other language draws them anew
      const step = document.querySelectorAll("#path-stop [data-step]")[i];
      step.click();
      said.push([title, step.textContent, document.getElementById("path-answer").innerText,
        document.querySelector("#live-status.warning")?.textContent ?? "", document.getElementById("live-command").textContent, NUMBERS,
        in_chinese()]);
    }
  }
  return said;
})()"""
NUMBERS = "[Glim.live.drawn().loss, ...Glim.live.drawn().blocks.map(b => b.gradient_norm)]"
PATH = PATH.replace("NUMBERS", NUMBERS)
STOPS = {"gpt": 7, "bert": 7, "classifier": 6, "vit": 7}


def run(folder, *words):
    subprocess.run([glim, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def same(numbers, command, folder):
    """The page's loss and gradients are those of the command."""
    data = native(command, folder)
    wanted = [data["loss"], *(b["gradient_norm"] for b in data["blocks"])]
    return len(numbers) == len(wanted) and all(abs(x - y) <= 1e-5 * max(abs(y), 1e-3) for x, y in zip(numbers, wanted))


def native(command, folder):
    words = shlex.split(command)[1:]
    run(folder, *words, "--data", "--no-tensors", "--out", "native", "--overwrite")
    with open(f"{folder}/native/inspect.json", encoding="utf-8") as file:
        return json.load(file)


COPIED = """(() => { const texts = {};
  for (const b of document.querySelectorAll(".copier")) {
    Object.defineProperty(navigator, "clipboard", {configurable: true, value: {writeText: text => { texts[b.textContent] = text; return Promise.resolve(); }}});
    b.click();
  }
  return texts; })()"""
OTHERS = {"gpt": "I have a dog", "bert": "My elder sister sold seven books", "classifier": "a bad good day", "vit": "images.idx:8"}
SIZES = ["--layers", "2", "--d-model", "32", "--heads", "2"]
with tempfile.TemporaryDirectory() as folder:
    glim, answers = without_module.program(glim, sys.argv[3], folder)
    subprocess.run([make_images, "."], cwd=folder, check=True)
    run(folder, "train", "--kind", "vit", "--patch", "4", *SIZES, "--images", "images.idx", "--labels", "labels.idx",
        "--max-steps", "3", "--warmup", "1", "--out", "vit", "--progress", "none")
    with open(f"{folder}/labelled", "w", encoding="utf-8") as file:
        file.write("a good day\tyes\na bad day\tno\nno good\tno\n" * 4)
    run(folder, "train", "--kind", "classifier", *SIZES, "--labelled", "labelled", "--max-steps", "3", "--warmup", "1",
        "--out", "classifier", "--progress", "none")
    text = "My younger brother needs five coats"
    kinds = {  # what is inspected, and what is changed in the live page
        "gpt": (["--fresh", "--kind", "gpt", *SIZES, "--sentence", text],
                ["set('live-sentence', 'I have a cat')", "Glim.live.change({'remove-head': ['transformer.layers.0.self_attn:1']})"]),
        "bert": (["--fresh", "--kind", "bert", *SIZES, "--sentence", text, "--hide", "2", "5"],
                 ["set('live-hide', '1 3')", "Glim.live.change({remove: ['bert.encoder.layers.0']})"]),
        "classifier": (["--model", "classifier", "--sentence", "a good bad day"],
                       ["set('live-label', 'no')", "set('live-scale-number', 1)"]),
        "vit": (["--model", "vit", "--image", "images.idx:7"],
                ["set('live-brush', 0.25); pixel(19)", "set('live-brush', 1); pixel(19); pixel(5)", "set('live-image', 'images.idx:9')",
                 "set('live-label', '2')", "Glim.live.change({paint: ['*,3=0.5', '0,*=1'], zero: ['*.scores:0']})"]),
        "fresh classifier": (["--fresh", "--kind", "classifier", *SIZES], ["set('live-label', '0')"]),
        "fresh vit": (["--fresh", "--kind", "vit", *SIZES], ["set('live-brush', 0.25); pixel(19)", "set('live-label', '7')"]),
        "sized vit": (["--fresh", "--kind", "vit", *SIZES, "--patch", "4", "--image", "images.idx:7"], ["set('live-image', 'images.idx:9')"]),
    }
    for name, (words, changes) in kinds.items():
        kind = name.split()[-1]
        if answers and name in ("bert", "classifier"):  # without a module two kinds are enough: a text and an image
            continue
        run(folder, "inspect", *words, "--out", kind, "--live", "--overwrite")
        if answers and words[0] == "--model":  # what the page would write into its module's file system
            with open(f"{folder}/{kind}/inspect.html", encoding="utf-8") as page:
                packed = re.search('id="live-model">([^<]*)<', page.read()).group(1)
            with open(f"{folder}/program/model.safetensors", "wb") as file:
                file.write(zlib.decompress(base64.b64decode(packed)))
        for width in (1280, 390) if name in ("gpt", "vit") else (1280,):  # a text and an image on a phone
            with chromium.Page(f"{folder}/{kind}/inspect.html", width, folder, answers=answers) as page:
                seen = page.evaluate(LOOK)
                check(all(seen[tab] > 2 for tab in ("model", "attention", "walk", "tokens", "words")), f"{kind}: {seen}")
                check(seen["stacks"] == ["decoder" if kind == "gpt" else "encoder"], f"{kind}: {seen['stacks']}")
                check("wide" not in seen and "text" not in seen, f"{kind}, {width} px: {seen}")
                if name == "vit":  # 8 x 8 pixels and as many gradients; the rollout of 4 patches
                    check(seen["cells"] == 2 * 64 + seen["cells"] % 64 > 128, f"{seen['cells']} cells")
                for faint in chromium.faint(page)[1]:
                    check(False, f"{kind}: {faint}")
                if width == 390:
                    check(not page.errors, f"{kind}, 390 px: {page.errors}")
                    continue
                page.evaluate(SET + two_languages.HELPERS)
                check(page.evaluate(WAIT), f"{kind}: no start")
                for change in changes:
                    page.evaluate(change)
                    command = page.evaluate("document.getElementById('live-command').textContent")
                    refused = page.evaluate("document.querySelector('#live-status.warning')?.textContent")
                    check(not refused, f"{kind}, {change}: {refused}")
                    check(same(page.evaluate(NUMBERS), command, folder), f"{kind}, {change}: other numbers than {command}")
                if name in OTHERS:  # values of another sentence or image
                    page.evaluate(f"set('live-patch-from', '{OTHERS[name]}'); Glim.live.patch('*.context')")
                    refused = page.evaluate("document.querySelector('#live-status.warning')?.textContent")
                    check(not refused, f"{kind}, {OTHERS[name]}: {refused}")
                    shown, command = page.evaluate("[Glim.live.patches(), Glim.live.patched_words().map(Glim.quoted).join(' ')]")
                    copied = page.evaluate(COPIED)
                    check(copied["copy command"] == command and (words[0] == "--fresh" or copied["copy Python"].endswith(
                        f'.patch("{OTHERS[name]}", ["*.context"])')), f"{kind}: {copied}")
                    found = json.loads(subprocess.run([glim, *shlex.split(command)[1:], "--json"], cwd=folder, check=True, stdout=subprocess.PIPE).stdout)
                    check(len(shown["rows"]) == 4 and (found == shown or answers is None), f"{kind}: {command} has {found}, the page {shown}")
                    check(all(abs(x["change"] - y["change"]) < 1e-4 * abs(y["change"]) + 2e-6 for x, y in zip(shown["rows"], found["rows"])),
                          f"{kind}: {shown}")
                said = page.evaluate(PATH)
                check(len({title for title, *_ in said}) == STOPS[kind], f"{kind}: {[title for title, *_ in said]}")
                for title, step, answer, wrong, command, numbers, in_chinese in said:
                    two_languages.same_in_both(check, f"{kind}, {title}, {step}", answer, in_chinese)
                    check(len(answer) > 80 and not wrong and not re.search("NaN|undefined|null", answer),
                          f"{kind}, {title}, {step}: {answer} {wrong}")
                    check(same(numbers, command, folder), f"{kind}, {title}, {step}: other numbers than {command}")
                page.evaluate("document.getElementById('live-reset').click()")
                check(not page.evaluate("document.querySelector('#live-status.warning')"), f"{kind}: no way back")
                for error in page.errors:
                    check(False, f"{kind}, {width} px: {error}")
    with open(f"{folder}/data.json", "w", encoding="utf-8") as file:
        json.dump(native("glim inspect --model vit --image images.idx:7 --label 0", folder), file)
    with open(f"{folder}/data.json", encoding="utf-8") as file:
        image = json.load(file)["image"]
    rows = image["gradient"][0]
    check(len(rows) == 8 and len(rows[0]) == 8 and any(x != 0 for row in rows for x in row), f"{rows}")
    check(all(0 <= x <= 1 for row in image["pixels"][0] for x in row), "pixels beyond 0 to 1")
check.leave()
