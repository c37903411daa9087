#!/usr/bin/env python3
"""Opens a page of glim report in headless Chromium, from disk, with networking off, and uses every view.

    browser.py GLIM                  runs no test where there is no Chromium

Two recorded runs, one with a spike planted into its recording, and the values on hover compared with
the recordings, number by number.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "page"))
import checks  # noqa: E402
import chromium  # noqa: E402

chromium.leave_without()
glim = os.path.abspath(sys.argv[1])

DRIVER = r"""(async () => {
"use strict";
const found = {errors: [], maps: [], lines: [], width: window.innerWidth};
const fail = text => found.errors.push(text);
const fits = where => {
  if (document.documentElement.scrollWidth > window.innerWidth + 1)
    fail(`${where}: ${document.documentElement.scrollWidth} px wide in a window of ${window.innerWidth}`);
};
const settle = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))));
const open = async id => { document.getElementById("tab-" + id).click(); await settle(); fits(id); };
const change = async (id, value) => {
  const control = document.getElementById(id);
  if (control.type === "checkbox") control.checked = value; else control.value = value;
  control.dispatchEvent(new Event("change"));
  await settle();
};
const hover_text = () => document.querySelector(".hover").textContent;
const hover = (element, x, y) => {
  element.dispatchEvent(new MouseEvent("mousemove", {bubbles: true, clientX: x, clientY: y}));
  return hover_text();
};
const key = (element, name) => element.dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true}));
// 1. losses: every step with the keyboard
await open("losses");
for (const log of [true, false]) {
  await change("losses-log", log);
  if (!document.querySelector("#chart-loss svg")) fail("no chart of losses");
}
found.ends = [...document.querySelectorAll("#chart-loss text.end")].map(t => t.querySelector("title").textContent);
found.gaps = document.querySelectorAll('#chart-loss path[stroke-dasharray="9 9"]').length;
found.points = document.querySelectorAll("#chart-loss circle").length;
for (const chart of document.querySelectorAll("#view-losses .panel")) {
  const svg = chart.querySelector("svg");
  svg.focus();
  for (let last = ""; ; last = hover_text()) {
    key(svg, "ArrowRight");
    if (hover_text() === last) break;
    found.lines.push([chart.id, hover_text()]);
  }
  const box = svg.getBoundingClientRect();
  if (!hover(svg, box.right - 12, box.top + 20).startsWith("step ")) fail("the pointer reads no line");
}
found.flags = document.querySelectorAll(".flag").length;
// 2. inside: every cell of every map
await open("inside");
const quantities = [...document.getElementById("inside-quantity").options].map(o => o.value);
for (const quantity of quantities) {
  await change("inside-quantity", quantity);
  fits("inside " + quantity);
  for (const map of document.querySelectorAll(".steps")) {
    const canvas = map.querySelector("canvas"), names = [...map.querySelectorAll(".names div")].map(n => n.title);
    canvas.scrollIntoView();
    const box = canvas.getBoundingClientRect(), cell = Number(canvas.dataset.cell), size = Number(canvas.dataset.size);
    names.forEach((name, row) => {
      for (let column = 0; column < Number(canvas.dataset.columns); ++column)
        found.maps.push([map.dataset.run, quantity, name,
          hover(canvas, box.left + (column + 0.5) * cell, box.top + (row + 0.5) * size)]);
    });
  }
  for (const option of document.getElementById("inside-row").options) {
    await change("inside-row", option.value);
    if (!document.querySelector("#chart-row path")) fail("no line of " + option.value);
  }
}
const canvas = () => document.querySelector(".steps canvas");
canvas().focus();
key(canvas(), "ArrowRight");
key(canvas(), "ArrowDown");
const read = hover_text();
key(canvas(), "Enter");
if (!read.startsWith(document.getElementById("inside-row").value)) fail("Enter does not choose the row: " + read);
const columns = Number(canvas().dataset.columns);
await change("inside-from", 20);
if (Number(canvas().dataset.columns) >= columns) fail("the range of steps changes nothing");
await change("inside-events", false);
await change("inside-shared", false);
// 3. events: each leads to what it is about. 4. options
await open("events");
found.events = [...document.querySelectorAll(".events tbody tr")].map(r => [...r.children].map(c => c.textContent));
for (const button of document.querySelectorAll(".events button")) {
  await open("events");
  button.click();
  await settle();
  if (!document.getElementById("view-events").hidden) fail("an event leads nowhere");
}
await open("options");
found.options = [...document.querySelector(".options tbody").rows].map(r => [...r.cells].map(c => c.textContent));
document.querySelector("details").open = true;
fits("all options");
key(document.getElementById("tab-options"), "ArrowLeft");
if (document.getElementById("view-events").hidden) fail("the left arrow does not change tabs");
for (const e of document.querySelectorAll("button, select, input, [tabindex]"))
  if (!e.textContent.trim() && !e.getAttribute("aria-label") && !e.closest("label"))
    fail("a control has no name: " + e.outerHTML.slice(0, 80));
return found;
})()"""

check = checks.Checks()


def six_digits(x):
    return "not finite" if x is None else float(f"{x:.6g}")


def on_hover(text):
    return text if text == "not finite" else float(text)


def lines_of(path):
    return [json.loads(line) for line in open(path, encoding="utf-8")]


def values_of(run):
    """{(quantity, row, step): value}"""
    head, *records = lines_of(f"{run}/recording.jsonl")
    rows = {"gradient_norm": head["modules"], "update_ratio": head["modules"],
            "rms": head["layers"], "similarity": head["layers"]}
    rows["entropy"] = rows["saturation"] = rows["distance"] = rows["score"] = [
        f"{a['name']} head {h}" for a in head["attention"] for h in range(a["heads"])]
    values = {}
    for r in records:
        for quantity, names in rows.items():
            flat = [v for x in r[quantity] for v in (x if isinstance(x, list) else [x])]
            values.update({(quantity, name, r["step"]): v for name, v in zip(names, flat, strict=True)})
    return values


with tempfile.TemporaryDirectory() as folder:
    first, second = f"{folder}/first", f"{folder}/second"
    subprocess.run([glim, "train", "--task", "copy", "--examples", "60", "--layers", "2", "--d-model", "16", "--heads", "2",
                    "--d-ff", "24", "--schedule", "constant", "--batch-tokens", "0", "--batch-sentences", "8",
                    "--epochs", "12", "--log-every", "4", "--record", "--record-every", "5", "--record-curvature", "--progress", "none",
                    "--out", first], check=True, stdout=subprocess.DEVNULL)
    shutil.copytree(first, second)
    head, *records = lines_of(f"{second}/recording.jsonl")
    spike = len(records) - 3
    records[spike]["gradient_norm"][2] *= 50
    records[4]["rms"][0] = None
    with open(f"{second}/recording.jsonl", "w", encoding="utf-8") as out:
        out.write("".join(json.dumps(line) + "\n" for line in [head, *records]))
    config = open(f"{second}/config.toml", encoding="utf-8").read()
    with open(f"{second}/config.toml", "w", encoding="utf-8") as out:
        out.write(config.replace("seed = 1", "seed = 2"))
    html = f"{folder}/report.html"
    subprocess.run([glim, "report", first, second, "--out", html], check=True, stdout=subprocess.DEVNULL)
    expected = {name: values_of(f"{folder}/{name}") for name in ("first", "second")}
    losses = {(m["type"], m["step"]): m["nll"] for m in lines_of(f"{first}/metrics.jsonl")}
    for width in (1280, 390):
        with chromium.Page(html, width, folder) as page:
            found = page.evaluate(DRIVER)
            texts, faint = chromium.faint(page)
            check(texts > 100, f"contrast: {texts} texts")
            for error in page.errors + found["errors"] + faint:
                check(False, f"{width} px: {error}")
            check(len(page.requests) == 1, f"the page loads {page.requests[1:]}")
        check(found["width"] == width, f"the window has {found['width']} px, not {width}")
        seen = set()
        for run, quantity, row, text in found["maps"]:
            where, value = text.split("\n")[:2]
            name, step = where.rsplit(", step ", 1)
            at = (quantity, row, int(step))
            seen.add((run, at))
            if name != row or on_hover(value.split(" = ")[1]) != six_digits(expected[run].get(at, "missing")):
                check(False, f"hover says {text!r}, the recording of {run} {expected[run].get(at)} at {at}")
                break
        missing = {(run, at) for run in expected for at in expected[run]} - seen
        check(not missing, f"{len(missing)} recorded numbers are on no hover: {sorted(missing, key=str)[:2]}")
        read = set()
        for chart, text in found["lines"]:
            step, *values = text.split("\n")
            for line in values if chart == "chart-loss" else []:
                name, value = line.split(": ")
                at = ("train" if name.endswith("training") else "valid", int(step.split()[1]))
                read.add(at)
                check(on_hover(value) == six_digits(losses[at]), f"hover says {text!r}, the metrics {losses[at]}")
        check(found["points"] == 2 * len(losses), f"the lines of two runs have {found['points']} points, each run "
              f"{len(losses)} losses")
        # The second run has the losses of the first: its lines have gaps.
        ends = [f"{run}, {which}" for run in ("first", "second") for which in ("training", "validation")]
        check(sorted(found["ends"]) == (ends if width > 500 else []) and found["gaps"] == 2, f"{found['gaps']} lines with gaps, {found['ends']}")
        check(read == set(losses), f"the chart of losses has {len(read)} values, the metrics {len(losses)}")
        module, step = head["modules"][2], records[spike]["step"]
        spikes = [e for e in found["events"] if e[1] == "gradient-spike"]
        check(any(e[0] == str(step) and module in e[2] and "5 times" in e[2] for e in spikes),
              f"the spike of {module} at {step} is not named: {spikes}")
        check(found["options"] == [["seed", "1", "2", "1"]], f"options that differ: {found['options']}")
        edges = [float(v.split(": ")[1]) for chart, text in found["lines"] if chart == "chart-edge" for v in text.split("\n")[1:]
                 if v.startswith("first, rate") and not v.endswith("not finite")]
        check(edges == [six_digits(r["step_curvature"]) for r in lines_of(f"{first}/recording.jsonl")[2:]],
              f"the chart of rate · curvature has {edges}")
        print(f"{width} px: {len(found['maps'])} values of maps and {len(found['lines'])} of lines equal the files")
check.leave()
