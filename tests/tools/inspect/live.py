#!/usr/bin/env python3
"""Turns every knob of a live page in headless Chromium, and runs the command that the page then shows: its values
are those of the page.

    live.py GLIM LIVE_ANSWERS       runs no test where there is no Chromium
"""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "page"))
import checks  # noqa: E402
import chromium  # noqa: E402
import two_languages  # noqa: E402
import without_module  # noqa: E402

chromium.leave_without()
glim = os.path.abspath(sys.argv[1])
check = checks.Checks()
SELF, CROSS = "decoder.layers.0.self_attn", "decoder.layers.1.multihead_attn"
KNOBS = [
    ("no norm", "set('live-remove', 'encoder.layers.1.norm1')"),
    ("no skip", "set('live-remove', 'decoder.layers.0.skip2')"),
    ("no layer", "Glim.live.change({remove: ['decoder.layers.1']})"),
    ("all there", "Glim.live.change({remove: []})"),
    ("scale", "set('live-scale-number', 1)"),
    ("no scores", "set('live-scale', 0)"),
    ("1/√Dk", "Glim.live.change({scale: null})"),
    ("a head", f"document.querySelector('[data-head=\"{CROSS}:1\"]').click()"),
    ("smoothing", "set('live-smoothing', 0.4)"),
    ("dropout", "document.getElementById('live-dropout').click()"),
    ("dropout off", "document.getElementById('live-dropout').click()"),
    ("a cell of the mask", f"cell('{CROSS}', 3); document.getElementById('mask-cell').click()"),
    ("the future", f"cell('{SELF}', 1, true)"),
    ("zero", f"node('{SELF}.scores', 'zero')"),
    ("freeze", f"node('{CROSS}.value', 'freeze')"),
    ("scaled", "node('encoder.layers.0.linear2.add', 'scale')"),
    ("a word", "set('live-sentence', 'I have a dog')"),
    ("a translation", "set('live-translation', '我有一只猫')"),
    ("a fresh model", "document.getElementById('live-reset').click(); set_fresh('norm', 'post'); set_fresh('layers', 3)"),
    ("of another depth", "set_fresh('layers', 1)"),
    ("as it was", "document.getElementById('live-reset').click()"),
]
HELPERS = """
window.set = (id, value) => { const e = document.getElementById(id); e.value = value; e.dispatchEvent(new Event("change")); };
window.set_fresh = (name, value) => { const e = document.querySelector(`[data-fresh=${name}]`); e.value = value;
  e.dispatchEvent(new Event("change")); };
window.cell = (name, i, shiftKey = false) => {
  document.getElementById("tab-attention").click();
  const module = document.getElementById("attention-module");
  module.value = [...module.options].findIndex((_, k) => (Glim.live.drawn() ?? Glim.data).attention[k].module === name);
  module.dispatchEvent(new Event("change"));
  document.querySelectorAll("#view-attention .head rect.cell")[i].dispatchEvent(new MouseEvent("click", {bubbles: true, shiftKey}));
};
window.node = (path, action) => {
  document.getElementById("tab-walk").click();
  const data = Glim.live.drawn() ?? Glim.data, search = document.querySelector("#view-walk input[type=search]");
  search.value = path;
  search.dispatchEvent(new Event("input"));
  const number = data.nodes.find(n => n.path === path).number;
  document.querySelector(`#view-walk .list button[data-node="${number}"]`).click();
  [...document.querySelectorAll("#live-gradient button")].find(b => b.textContent === action).click();
};
"""
SEEN = """(() => {
  const data = Glim.live.drawn(), unpack = Maps.unpack;
  return {status: document.getElementById("live-status").textContent, bad: document.querySelector("#live-status.warning") !== null,
    command: document.getElementById("live-command").textContent, loss: data.loss,
    blocks: data.blocks.map(b => [b.module, b.gradient_norm]),
    heads: data.attention.map(v => v.heads.map(h => h.passed)),
    shares: [...data.junctions, data.memory].filter(j => j.branches.length).map(j => j.branches.reduce((s, b) => s + b.share, 0)),
    leaks: data.attention.reduce((n, v) => { const keep = unpack(v.keep);
      return n + unpack(v.dS).filter((x, i) => !keep[i % keep.length] && x !== 0).length; }, 0),
    // The largest sum of a row of ∂L/∂S, beyond what three digits an element leave.
    row_sum: d3.max(data.attention.flatMap(v => { const n = v.keys.length, ds = unpack(v.dS), most = d3.max(ds, Math.abs);
      return d3.range(ds.length / n).map(r => { const row = ds.slice(r * n, r * n + n);
        return Math.abs(d3.sum(row)) - 0.005 * d3.sum(row, Math.abs) - 1e-6 * most; }); })),
    wide: document.documentElement.scrollWidth - window.innerWidth};
})()"""


# A cell by keyboard: the arrows read, Enter shows, Enter with Shift or the button changes the mask, and the place stays.
KEYBOARD = """(() => {
  const key = (name, shiftKey = false) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: name, shiftKey, bubbles: true}));
  const command = () => document.getElementById("live-command").textContent, before = command();
  document.getElementById("tab-attention").click();
  document.querySelector("#view-attention .head svg").focus();
  key("ArrowRight"); key("Enter");
  const shows = command() === before && document.querySelector(".why:not(:empty)") !== null;
  key("Enter", true);
  const changed = command(), stays = document.activeElement === document.querySelector("#view-attention .head svg");
  key("Enter", true);
  const back = command() === before;
  document.getElementById("mask-cell").focus();
  document.activeElement.click();
  const masks = command() === changed && document.activeElement.id === "mask-cell";
  document.activeElement.click();
  return [shows, changed !== before && / --(un)?mask /.test(changed), stays, back, masks, command() === before];
})()"""
# A node of another sentence, dragged onto the pass.
DRAG = """(() => { const row = document.querySelector(`#live-patch-nodes [data-node="${NODE}"]`), dataTransfer = new DataTransfer();
  const happens = (type, target) => !target.dispatchEvent(new DragEvent(type, {dataTransfer, bubbles: true, cancelable: true}));
  happens("dragstart", row);
  const seen = [happens("dragover", document.getElementById("live")), happens("dragover", document.querySelector("h1"))];
  happens("drop", document.querySelector("h1"));
  happens("dragend", row);
  return [...seen, document.querySelector("main").className]; })()"""
PATCHED = """[...document.querySelectorAll("#patched [data-patch]")].map(row => [row.dataset.patch, ...[...row.children].slice(2, 5).map(c =>
  c.textContent), row.querySelector(".warning").textContent])"""
OUTSIDE = """[...document.querySelectorAll("#live input, #live select, #live button")].filter(e =>
  e.getBoundingClientRect().right > document.getElementById("live").getBoundingClientRect().right).map(e => e.id)"""
NAMELESS = """[...document.querySelectorAll("#live input, #live select, #live button, #live summary")].filter(e =>
  !(e.tagName === "BUTTON" || e.tagName === "SUMMARY" ? e.textContent.trim() : e.closest("label")?.textContent.trim()) &&
  !e.getAttribute("aria-label")).map(e => e.outerHTML)"""

PATH = r"""(() => {
  const said = [];
  document.getElementById("path-skip").click();
  for (let stop = 0; stop < 7; ++stop) {
    const title = document.querySelector("#path-stop h3").textContent;
    for (let i = 0; document.querySelectorAll("#path-stop [data-step]")[i]; ++i) {  // the other language draws them anew
      const step = document.querySelectorAll("#path-stop [data-step]")[i];
      step.click();
      said.push([title, step.textContent, document.getElementById("path-answer").innerText,
        document.querySelector("#live-status.warning")?.textContent ?? "", document.getElementById("live-command").textContent,
        in_chinese()]);
    }
    document.getElementById("path-next").click();
  }
  for (const i of [1, 0, 1, 1, 0]) {
    const field = document.querySelectorAll("#path-stop fieldset")[said.quiz = (said.quiz ?? -1) + 1];
    field.querySelectorAll("input")[i].click();
  }
  document.getElementById("path-quiz-done").click();
  return [said, document.querySelector("#path-stop p[role=status]").textContent];
})()"""


READY = ("new Promise((done, fail) => { const wait = n => Glim.live.ready ? done() : n ? setTimeout(wait, 50, n - 1) "
         ": fail(new Error(document.getElementById('live-status').textContent)); wait(6000); })"
         ".then(() => { document.getElementById('live-more').open = true; })")  # a phone's reader opens it
# How much of the window is left for the first map, the slider above it, and how far the page is too wide.
PHONE = """(() => { const at = e => e.getBoundingClientRect(); document.getElementById("live-more").open = false;
  return [window.innerHeight - at(document.querySelector("#view-attention .map rect.cell")).top, at(document.getElementById("live-scale")).top >= 0,
    document.documentElement.scrollWidth - window.innerWidth]; })()"""
# Whether the slider and all maps of a head are within the window, and how far the page is too wide.
IN_SIGHT = """(() => {
  const within = e => { const r = e.getBoundingClientRect();
    return r.width > 0 && r.top >= 0 && r.bottom <= window.innerHeight && r.left >= 0 && r.right <= window.innerWidth; };
  return [within(document.getElementById("live-scale")), [...document.querySelectorAll("#view-attention .head")]
    .some(head => [...head.querySelectorAll(".map svg")].every(within)), document.documentElement.scrollWidth - window.innerWidth];
})()"""
CURVES = """[...document.querySelectorAll("#live-curves svg")].map(svg => ({title: svg.getAttribute("aria-label").split(":")[0],
  width: Number(svg.getAttribute("width")), height: Number(svg.getAttribute("height")),
  points: svg.querySelector("path").getAttribute("d").slice(1).split("L").map(p => p.split(",").map(Number))}))"""


def drawn(curve, points):
    """As many points from one side of the axes to the other, none outside, the values apart."""
    x, y = zip(*curve["points"])
    steps = [b - a for a, b in zip(x, x[1:])]
    return (len(x) == points and max(steps) - min(steps) < 0.01 and x[-1] - x[0] > 0.9 * curve["width"] and
            len(set(y)) > points // 2 and max(y) - min(y) > 0.9 * (curve["height"] - 8) and
            min(x) >= 0 and max(x) <= curve["width"] and min(y) >= 0 and max(y) <= curve["height"])


def near(a, b):
    return a == b or (a is not None and b is not None and abs(a - b) <= 1e-5 * max(abs(a), abs(b), 1e-3))


def native(command, folder):
    folder += "/native"
    words = shlex.split(command)
    check(words[:2] == ["glim", "inspect"], f"the command is {command}")
    subprocess.run([glim, *words[1:], "--attribution-steps", "0", "--data", "--no-tensors", "--overwrite", "--out", folder],
                   check=True, stdout=subprocess.DEVNULL)
    with open(f"{folder}/inspect.json", encoding="utf-8") as file:
        return json.load(file)


def answered(command):
    return json.loads(subprocess.run([glim, *shlex.split(command)[1:], "--json"], check=True, stdout=subprocess.PIPE).stdout)


def try_split(page):
    """A part whose sources are an earlier head or a feed-forward network is split again at a click, as the command does."""
    seen = page.evaluate("""(() => { const row = [...document.querySelectorAll(".why [data-part]")].find(r => r.querySelector("[aria-label^=split]"));
      row.querySelector("[aria-label^=split]").click();
      return [Number(row.dataset.part), [...document.querySelectorAll(".why .below table")].map(t => [...t.querySelectorAll("tr")].map(r =>
        [Number(r.dataset.rowPart), ...[...r.children].slice(1).map(c => c.textContent)])), document.querySelector(".why .below code").textContent]; })()""")
    part, tables, command = seen
    found = answered(command)
    check(abs(part - found["part"]) < 1e-4 * abs(part) and len(tables) == len(found["splits"]), f"split: {part} {tables}: {found['part']}")
    for table, split in zip(tables, found["splits"]):
        check(abs(sum(row[0] for row in table) - part) < 1e-5 * max(1, abs(part)), f"split: rows {table} of {part}")
        for (value, place, source), row in zip(table[:6], split["rows"]):
            check(abs(value - row["part"]) < 1e-4 * abs(row["part"]) + 1e-7 and source == row["source"] and
                  place.startswith("" if row["position"] is None else f"position {row['position']} "), f"split: {value} {place} {source}: {row}")


def try_patches(page, width, folder, answers):
    """Values of another sentence: the page's numbers are those of the command that it copies, to the bit where the same code
    computes both, and a link has them."""
    check(page.evaluate("document.getElementById('live-patch-nodes').hidden"), "nodes of no sentence are offered")
    page.evaluate("set('live-patch-from', 'I have a dog')")
    dragged = page.evaluate(DRAG.replace("${NODE}", "encoder.layers.0.self_attn.context"))
    check(dragged == [False, True, "live"], f"a drag onto the pass: {dragged}")
    check([row[0] for row in page.evaluate(PATCHED)] == [f"encoder.layers.0.self_attn.context:{h}" for h in range(2)], f"dragged: {page.evaluate(PATCHED)}")
    page.evaluate("document.querySelector('#live-patch-nodes [data-node=\"encoder.layers.0.relu\"]').click()")
    page.evaluate("(() => { const e = document.getElementById('live-patch-search'); e.value = '*.probs'; "
                  "e.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'})); e.value = ''; e.dispatchEvent(new Event('input')); })()")
    seen, rows = page.evaluate(SEEN), page.evaluate(PATCHED)
    check(not seen["bad"] and len(rows) == 2 + 1 + 12 and seen["wide"] <= 1, f"patches: {seen['status']}, {rows}")
    command = page.evaluate("Glim.live.patched_words().map(Glim.quoted).join(' ')")
    check("--scale 0.5" in command and "--patch-from 'I have a dog'" in command, command)
    found, shown = answered(command), page.evaluate("Glim.live.patches()")
    if answers is not None:
        check(found == shown, f"{command} has {found}, the page {shown}")
    for row, native_row in zip(shown["rows"], found["rows"]):
        for key in ("change", "linear", "second"):
            check(abs(row[key] - native_row[key]) < 1e-4 * abs(native_row[key]) + 2e-6, f"patch of {row['node']}: {row[key]}, natively {native_row[key]}")
    for (node, *numbers, flag), row in zip(rows, shown["rows"]):
        said = [float(x.replace("−", "-")) for x in numbers]
        for x, wanted in zip(said, (row["change"], row["linear"], row["linear"] + row["second"])):
            check(abs(x - wanted) <= 0.006 * abs(wanted) + 1e-12, f"patch of {node}: {said}, {row}")
        check(node == row["node"] and bool(flag) == row["misleads"], f"patch of {node}: {flag}, {row}")
    hovered = page.evaluate("""(() => { const cell = document.querySelector("#patched .map rect.cell"), at = cell.getBoundingClientRect();
      cell.dispatchEvent(new MouseEvent("mousemove", {bubbles: true, clientX: at.left + 1, clientY: at.top + 1}));
      return document.querySelector(".hover").textContent; })()""")
    check("alone" in hovered and "1st order" in hovered, f"a position patched alone: {hovered}")
    link = page.evaluate("location.hash")
    with chromium.Page(f"{folder}/inspect.html{link}", width, folder + "/patched", answers=answers) as other:
        other.evaluate(READY)
        check(other.evaluate("Glim.live.patches()") == shown and other.evaluate("location.hash") == link, f"{link}: {other.evaluate(SEEN)}")
    for wrong, part in (("Glim.live.patch('nothing')", "no node"), ("set('live-patch-from', ' ')", "another sentence"),
                        ("set('live-patch-from', 'a '.repeat(400))", "256"), ("Glim.live.patch('generator.weight')", "no positions")):
        page.evaluate(wrong)
        seen = page.evaluate(SEEN)
        check(seen["bad"] and part in seen["status"] and page.evaluate("location.hash") == link, f"{wrong}: {seen['status']}")
    # Whatever is offered can be patched.
    offered = page.evaluate("[...document.querySelectorAll('#live-patch-nodes button')].map(b => b.dataset.node)")
    page.evaluate(f"Glim.live.change({{'patch-node': {json.dumps(offered)}}})")
    seen = page.evaluate(SEEN)
    check(not seen["bad"] and len(offered) > 30 and len(page.evaluate(PATCHED)) > len(offered), f"{len(offered)} offered: {seen['status']}")
    page.evaluate(f"Glim.live.change({{'patch-node': {json.dumps(['encoder.layers.0.self_attn.context', 'encoder.layers.0.relu', '*.probs'])}}})")
    page.evaluate("document.querySelector('[aria-label=\"take back patch-node *.probs\"]').click()")
    check(len(page.evaluate(PATCHED)) == 3, "a patch is not taken back")


def turn_knobs(page, folder, times, compared):
    for name, knob in KNOBS if compared else KNOBS[::5]:
        page.evaluate(knob)
        seen = page.evaluate(SEEN)
        times.append(seen["status"])
        check(not seen["bad"], f"{name}: {seen['status']}")
        check(seen["wide"] <= 1, f"{name}: {seen['wide']} px wider than the window")
        check(all(abs(s - 1) < 1e-6 for s in seen["shares"]), f"{name}: shares {seen['shares']}")
        check(seen["row_sum"] <= 0, f"{name}: a row of ∂L/∂S adds up to {seen['row_sum']}")
        check(seen["leaks"] == 0, f"{name}: {seen['leaks']} masked cells have a gradient")
        if not compared:
            continue
        data = native(seen["command"], folder)
        check(near(seen["loss"], data["loss"]), f"{name}: loss {seen['loss']}, natively {data['loss']}: {seen['command']}")
        for (module, norm), b in zip(seen["blocks"], data["blocks"]):
            check(near(norm, b["gradient_norm"]), f"{name}: {module} {norm}, natively {b['gradient_norm']}")
        for heads, v in zip(seen["heads"], data["attention"]):
            for h, (x, head) in enumerate(zip(heads, v["heads"])):
                check(near(x, head["passed"]), f"{name}: {v['module']} head {h}: {x}, {head['passed']}")


with tempfile.TemporaryDirectory() as folder:
    glim, answers = without_module.program(glim, sys.argv[2], folder)
    subprocess.run([glim, "inspect", "--live", "--fresh", "--layers", "2", "--d-model", "32", "--heads", "2", "--sentence",
                    "I have a cat and a dog", "--translation", "我有一只猫和一只狗", "--attribution-steps", "0", "--out", folder],
                   check=True, stdout=subprocess.DEVNULL)
    for width in (1280, 390):
        # The same sources in the module's place give the same numbers at any width.
        compared = width == 1280 or answers is None
        times = []
        with chromium.Page(f"{folder}/inspect.html", width, folder, answers=answers) as page:
            page.evaluate(READY)
            page.evaluate(HELPERS + two_languages.HELPERS)
            turn_knobs(page, folder, times, compared)
            check(page.evaluate(KEYBOARD) == 6 * [True], f"by keyboard: {page.evaluate(KEYBOARD)}")
            check(page.evaluate(OUTSIDE) == [], f"{width} px: beyond the frame: {page.evaluate(OUTSIDE)}")
            check(page.evaluate(NAMELESS) == [], f"controls without a name: {page.evaluate(NAMELESS)}")
            two_languages.try_switch(check, page, READY)
            page.evaluate(HELPERS + two_languages.HELPERS)
            if not compared:
                for text in chromium.faint(page)[1] + page.errors:
                    check(False, f"{width} px: {text}")
                continue
            # The page says what Glim refuses, and the state stays.
            for knob, part in (("set('live-sentence', ' ')", "empty"), ("set('live-sentence', 'a '.repeat(400))", "256"),
                               ("set('live-smoothing', 1)", "below 1"), ("Glim.live.change({zero: ['nothing']})", "no node")):
                before = page.evaluate("document.getElementById('live-command').textContent")
                page.evaluate(knob)
                seen = page.evaluate(SEEN)
                check(seen["bad"] and part in seen["status"], f"{knob}: {seen['status']}")
                check(seen["command"] == before, f"{knob}: {seen['command']}")
            # A link has the changes, and a cell.
            page.evaluate(f"Glim.live.change({{scale: 0.5, 'remove-head': ['{CROSS}:1']}}); cell('{CROSS}', 3, true)")
            linked, link = page.evaluate(SEEN), page.evaluate("location.hash")
            masked = page.evaluate("[document.querySelectorAll('.why [data-part]').length, document.querySelector('.why:not(:empty)').textContent]")
            check(masked[0] == 0 and masked[1].startswith("masked: the softmax"), f"a click that masks: {masked}")
            for hash, wanted in ((link, ""), (link.replace("scale=", "scall="), "does not know"), (link + "%", "cut or wrong"),
                                 (link.replace("scale=", "mask="), "wrong value")):
                with chromium.Page(f"{folder}/inspect.html{hash}", width, folder + "/other", answers=answers) as other:
                    other.evaluate(READY)
                    opened = other.evaluate(SEEN)
                    check(opened["bad"] == bool(wanted) and wanted in opened["status"], f"{hash}: {opened['status']}")
                    check(wanted or (opened["command"], opened["loss"]) == (linked["command"], linked["loss"]), f"{link}: {opened['command']}")
                    check(wanted or other.evaluate("location.hash") == link, f"{link} opens {other.evaluate('location.hash')}")
            # The parts of a score of the changed pass are those that the command prints.
            page.evaluate(f"cell('{CROSS}', 3, true)")  # attended to again
            rows, command = page.evaluate("[[...document.querySelectorAll('.why [data-part]')].map(r => Number(r.dataset.part)), "
                                          "[...document.querySelectorAll('.why code')].pop()?.textContent]")
            printed = subprocess.run([glim, *shlex.split(command)[1:], "--json"], check=True, stdout=subprocess.PIPE).stdout
            parts = sorted((x for row in json.loads(printed)["parts"] for x in row), key=lambda x: -abs(x))
            check(len(rows) == 7 and "--scale 0.5" in command, f"parts {rows}: {command}")
            for part, wanted in zip(rows[:6], parts):
                check(abs(part - wanted) < 1e-4 * abs(wanted), f"part {part}, natively {wanted}")
            try_split(page)
            try_patches(page, width, folder, answers)
            page.evaluate("document.getElementById('live-reset').click()")
            check("?" not in page.evaluate("location.hash"), "as it was has changes in its address")
            page.evaluate("set('live-sentence', 'I have a quokka')")
            seen = page.evaluate(SEEN)
            check(not seen["bad"] and near(seen["loss"], native(seen["command"], folder)["loss"]), f"unknown: {seen}")
            # The matrices' gradients as tokens are those of the changed pass.
            page.evaluate("set('live-scale', 1); document.getElementById('tab-matrices').click()")
            rows = page.evaluate("[...document.querySelectorAll('#view-matrices tbody tr')].map(r => [...r.children].map(c => "
                                 "c.children.length ? [...c.children].map(t => t.textContent) : c.textContent))")
            terms = native(page.evaluate("document.getElementById('live-command').textContent"), folder)["lens"][0]["terms"]
            check(len(rows) == len(terms) > 3, f"{len(rows)} rows, natively {len(terms)}")
            for row, term in zip(rows, terms):
                check(abs(float(row[1].rstrip(" %")) - 100 * term["share"]) < 0.06, f"share {row[1]}, natively {term['share']}")
                check(row[4] == [t["token"] for t in term["input"]], f"tokens {row[4]}, natively {term['input']}")
            # The path: each step of its seven stops answers with numbers.
            page.evaluate("document.getElementById('live-reset').click()")
            steps, result = page.evaluate(PATH)
            check(len(steps) >= 12 and len({title for title, *_ in steps}) == 7, f"{len(steps)} steps of the path")
            for title, step, answer, wrong, command, in_chinese in steps:
                two_languages.same_in_both(check, f"{title}, {step}", answer, in_chinese)
                check(len(answer) > 80 and not wrong and not re.search("NaN|undefined|null", answer), f"{title}, {step}: {answer} {wrong}")
                if step.startswith("factor "):  # what each head's softmax passes on
                    view = next(v for v in native(command, folder)["attention"] if v["side"] == "cross")
                    told = re.search("cross-attention, layer 0: ‖∂L/∂S‖/‖∂L/∂A‖ of each head: ([^;]*)", answer).group(1)
                    check([float(x) for x in told.split(", ")] == [float(f"{h['passed']:.3g}") for h in view["heads"]],
                          f"{title}, {step}: {told}, natively {view['heads']}")
            check(result.startswith("4 of 5 right"), result)
            page.evaluate("[...document.querySelectorAll('#path-stop button')].find(b => b.textContent.includes('back')).click(); "
                          "set('live-sentence', 'I have a dog'); document.getElementById('path-back').click(); "
                          "document.querySelector('#path-stop [data-step]').click()")
            check("'I have a dog'" in page.evaluate("document.getElementById('live-command').textContent"), "the path takes another sentence")
            page.evaluate("document.getElementById('live-reset').click()")
            for text in chromium.faint(page)[1]:
                check(False, text)
            # Training: as many updates of `glim train` give the loss that the page draws.
            for _ in range(12):
                page.evaluate("document.getElementById('live-train-step').click()")
            seen = page.evaluate(SEEN)
            check(not seen["bad"] and "--model run" in seen["command"], f"training: {seen['status']} {seen['command']}")
            check(page.evaluate("document.getElementById('live-run').textContent").startswith("12 updates"), "not 12 updates")
            curves = page.evaluate(CURVES)
            check([c["title"] for c in curves] == ["loss per target", "gradient norm"], f"curves {curves}")
            for curve in curves:
                check(drawn(curve, 12), f"the curve of 12 updates is {curve}")
            words = shlex.split(page.evaluate("document.getElementById('live-run-command').textContent"))
            subprocess.run([glim, *words[1:], "--log-every", "1", "--progress", "none", "--overwrite"], cwd=folder,
                           check=True, stdout=subprocess.DEVNULL)
            with open(f"{folder}/run/metrics.jsonl", encoding="utf-8") as file:
                logged = [line for line in map(json.loads, file) if line["type"] == "train"]
            steps = page.evaluate("Glim.live.run.steps")
            check(len(steps) == 12, f"{len(steps)} steps")
            for (step, loss, norm, _), line in zip(steps, logged):
                check(step == line["step"] and abs(loss - line["kl"]) < 1e-4 * loss, f"step {step}: {loss}, natively {line}")
            page.evaluate("document.getElementById('live-reset').click()")
            check(page.evaluate(SEEN)["command"].startswith("glim inspect --fresh"), "no way back from training")
            for error in page.errors:
                check(False, f"{width} px: {error}")
            check(len(page.requests) == 1, f"the page loads {page.requests[1:]}")
        by = "the module" if answers is None else "the same sources in its place"
        print(f"{width} px: {len(KNOBS)} knobs of {by} agree with the program; the last: {times[-1]}")
    # On a phone a map is in sight, under the slider, when the page opens.
    with chromium.Page(f"{folder}/inspect.html", 390, folder, height=800, answers=answers) as page:
        check(not page.evaluate("document.getElementById('live-more').open"), "a phone's window is full of controls")
        page.evaluate(READY)
        left, slider, across = page.evaluate(PHONE)
        check(left > 150 and slider and across <= 1, f"390 x 800: {left} px for the map, {slider}, {across}")
    # On a laptop and on a projector the slider is seen beside the maps of the head in front, wherever one scrolls to.
    for width, height in ((1280, 720), (1024, 768), (1920, 1080)):
        with chromium.Page(f"{folder}/inspect.html", width, folder, height=height, answers=answers) as page:
            page.evaluate(READY)
            for scroll in ("0", "document.documentElement.scrollHeight"):
                page.evaluate(f"window.scrollTo(0, {scroll})")
                slider, maps, across = page.evaluate(IN_SIGHT)
                check(slider and maps and across <= 1, f"{width} x {height}, at {scroll}: {slider}, {maps}, {across}")
    # A browser without WebAssembly, or without memory for the module, shows the still page, and says so.
    with open(f"{folder}/inspect.html", encoding="utf-8") as file:
        html = file.read()
    for name, script in (("old", "delete window.WebAssembly"),
                         ("full", "WebAssembly.Memory = function() { throw new RangeError('could not allocate memory'); };"
                                  "WebAssembly.instantiate = () => Promise.reject(new RangeError('Out of memory'))")):
        with open(f"{folder}/{name}.html", "w", encoding="utf-8") as file:
            file.write(html.replace("<main>", f"<main><script>{script}</script>", 1))
        with chromium.Page(f"{folder}/{name}.html", 1280, folder) as page:
            said = page.evaluate("new Promise(done => { const ask = n => { const said = document.getElementById('live-status')"
                                 ".textContent; said.includes('nothing can be changed') || !n ? done(said) : setTimeout(ask, 50, n - 1); };"
                                 " ask(6000); })")
            check("nothing can be changed" in said, f"{name}: {said}")
            check(page.evaluate("document.querySelectorAll('#view-attention rect.cell').length") > 5, f"{name}: no still page")
check.leave()
