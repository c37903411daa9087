#!/usr/bin/env python3
"""Opens a page of glim inspect in headless Chromium, from disk, with networking off, and uses every view.

    browser.py GLIM              runs no test where there is no Chromium

A driver clicks through everything, reads hover boxes and returns what it found; the values on hover
are compared with inspect.json.
"""
import json
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "page"))
import checks  # noqa: E402
import chromium  # noqa: E402

chromium.leave_without()
glim = os.path.abspath(sys.argv[1])

DRIVER = r"""(() => {
"use strict";
const found = {errors: [], hover: [], colors: []};
const fail = text => found.errors.push(text);
const fits = where => {
  if (document.documentElement.scrollWidth > window.innerWidth + 1)
    fail(`${where}: ${document.documentElement.scrollWidth} px wide in a window of ${window.innerWidth}`);
};
const click = element => { element.scrollIntoView(); element.click(); };
const change = (id, value) => {
  const control = document.getElementById(id);
  if (control.type === "checkbox") control.checked = value; else control.value = value;
  control.dispatchEvent(new Event("change"));
};
const hover = cell => {
  const box = cell.getBoundingClientRect();
  cell.dispatchEvent(new MouseEvent("mousemove", {bubbles: true, clientX: box.left + 1, clientY: box.top + 1}));
  return document.querySelector(".hover").textContent;
};
const unnamed = () => [...document.querySelectorAll("button, select, input, [tabindex]")].filter(e =>
  !e.textContent.trim() && !e.getAttribute("aria-label") && !e.closest("label"));
try {
  found.width = window.innerWidth;
  // 1. model: every block leads to its node
  click(document.getElementById("tab-model"));
  fits("model");
  found.blocks = document.querySelectorAll("#view-model .block").length;
  found.bars = document.querySelectorAll("#view-model .junction").length;
  found.norms = [...document.querySelectorAll("#view-model .block")].map(b => [b.querySelector(".mono").textContent,
    b.querySelector(".norm")?.getBoundingClientRect().width / b.clientWidth]);
  for (const block of document.querySelectorAll("#view-model .block")) {
    click(block);
    if (document.getElementById("view-walk").hidden) fail("a block does not lead to the walk");
    if (!document.querySelector("#node h2")) fail("a block shows no node");
  }
  // 2. attention: every module, map and scale; hover values
  click(document.getElementById("tab-attention"));
  const modules = [...document.getElementById("attention-module").options].map(o => o.value);
  if (!document.getElementById("attention-shared").checked) fail("the heads have no common scale at first");
  if (Glim.without_font("a\u00e9\u{10FFFD}") !== "\u{10FFFD}") fail("a character without a font is not found");
  for (const module of window.innerWidth > 800 ? modules : modules.slice(-1)) {
    change("attention-module", module);
    for (const map of ["A", "dA", "S", "dS", "all"])
      for (const shared of map === "dS" || map === "all" ? [false, true] : [true]) {
        change("attention-map", map);
        change("attention-shared", shared);
        if (!document.querySelector(".heads rect.cell")) fail(`no map ${module} ${map}`);
        // A colour bar at each map; a head that has a scale of its own says so.
        for (const drawn of document.querySelectorAll("#view-attention .map")) {
          const bar = drawn.nextElementSibling;
          if (!bar.querySelector("canvas")) fail(`no colour bar ${module} ${map}`);
          if (bar.textContent.includes("own scale") === shared) fail(`${bar.textContent} where shared is ${shared}`);
        }
        const bars = new Set([...document.querySelectorAll("#view-attention .legend")].map(l => l.textContent));
        if (shared && map !== "all" && bars.size !== 1) fail(`${bars.size} scales for the heads of ${module} ${map}`);
      }
    fits("attention " + module);
    document.querySelectorAll("#view-attention .head").forEach(head => {
      for (const map of head.querySelectorAll(".map")) {
        for (const cell of [...map.querySelectorAll("rect.cell")].filter((_, i) => i % 29 === 0))
          found.hover.push([Number(module), Number(head.dataset.head), map.dataset.map,
            Number(cell.dataset.row), Number(cell.dataset.column), hover(cell)]);
        if (Number(module) === modules.length - 1 && map.dataset.map === "dS" && head.dataset.head === "1")
          found.colors = [...map.querySelectorAll("rect.cell")].map(cell =>
            [hover(cell).split(" = ")[1].split(" ")[0], cell.getAttribute("fill")]);
      }
    });
  }
  // A sentence over each map, and the axes.
  found.says = [...document.querySelectorAll("#view-attention .head")].map(h => [Number(h.dataset.head),
    ...[...h.querySelectorAll(".says")].map(s => s.textContent)]);
  found.axes = [...document.querySelectorAll("#view-attention .map")].filter(m => ["key", "query"].every(name =>
    [...m.querySelectorAll(".axis-name")].some(t => t.textContent.includes(name)))).length;
  // The keyboard reads values, too.
  const svg = document.querySelector("#view-attention .map svg");
  svg.focus();
  svg.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}));
  if (document.querySelector(".hover").hidden) fail("arrow keys show no value");
  // 3. walk: to the end and back, search, tensors, the graph of every module
  click(document.getElementById("tab-walk"));
  found.savers = document.querySelectorAll(".savers").length;
  document.querySelector(".savers").dispatchEvent(new Event("pointerenter"));
  found.to_save = document.querySelector(".savers select").options.length;
  const tiny = [...document.querySelectorAll("#minimap rect.cell")];
  found.tiny = [tiny.length, hover(tiny[9]), document.querySelectorAll("#minimap rect.chosen").length];
  tiny[9].dispatchEvent(new MouseEvent("click", {bubbles: true}));
  found.tiny.push(document.querySelector("#node h2").textContent, tiny[9].classList.contains("chosen"));
  document.querySelector("#view-walk input").value = "";
  found.folded = document.querySelectorAll("#view-walk .list button").length;
  document.getElementById("walk-views").click();
  const list = [...document.querySelectorAll("#view-walk .list button")];
  found.nodes = list.length;
  click(list[0]);
  found.without_picture = 0;
  for (let i = 1; i < list.length; ++i) {
    document.getElementById("next").click();
    if (!document.querySelector("#node svg rect.cell")) ++found.without_picture;
  }
  if (list[list.length - 1].getAttribute("aria-current") !== "true") fail("next does not reach the end");
  document.getElementById("previous").click();
  if (list[list.length - 2].getAttribute("aria-current") !== "true") fail("previous does not go back");
  list[0].click();
  document.getElementById("view-walk").dispatchEvent(new KeyboardEvent("keydown", {key: "n", bubbles: true}));
  if (list[1].getAttribute("aria-current") !== "true") fail("the key n does not go on");
  list[7].click();
  if (list[7].getAttribute("aria-current") !== "true") fail("a click does not lead to a node");
  fits("walk");
  // A long name fits a phone.
  click(list.find(b => b.textContent.includes(" probs")));
  fits("probs");
  const search = document.querySelector("#view-walk input");
  search.value = "probs";
  search.dispatchEvent(new Event("input"));
  found.search = document.querySelectorAll("#view-walk .list button").length;
  const graphs = [...document.getElementById("graph-module").options].map(o => o.value).filter(Boolean);
  for (const views of [true, false]) {
    if (document.getElementById("walk-views").checked !== views) document.getElementById("walk-views").click();
    for (const module of graphs) {
      change("graph-module", module);
      const svg = document.querySelector("#node svg"), corner = svg?.getBoundingClientRect();
      if (!svg?.querySelector(".box.input, .box.round")) fail("a graph without inputs: " + module);
      const boxes = [...svg.querySelectorAll(".box")].map(b => {
        const r = b.querySelector("rect").getBoundingClientRect();
        return [b.dataset.node, r.left - corner.left + 1, r.right - corner.left - 1, r.top - corner.top + 1, r.bottom - corner.top - 1];
      });
      found.boxes = (found.boxes ?? 0) + boxes.length;
      for (const edge of svg.querySelectorAll(".edge")) {
        const ends = [edge.dataset.from, edge.dataset.to], length = edge.getTotalLength();
        for (let i = 0; i <= length; i += 8) {
          const p = edge.getPointAtLength(i);
          const box = boxes.find(([n, left, right, top, bottom]) => p.x > left && p.x < right && p.y > top && p.y < bottom);
          if (box) { fail(`the edge ${ends} crosses ${box[0]} in ${module}`); break; }
        }
      }
    }
  }
  fits("graph");
  // 4. tokens, 5. matrices, 6. words
  click(document.getElementById("tab-tokens"));
  for (const option of document.getElementById("token-target").options) {
    change("token-target", option.value);
    if (!document.querySelector("#view-tokens .token")) fail("no tokens");
    const read = [...document.querySelectorAll("#view-tokens h3")].find(h => h.textContent === "target read so far");
    const tokens = read.nextElementSibling.children.length, all = Glim.data.target_in.length, t = Number(option.value);
    if (tokens !== (t < 0 ? all : t + 1)) fail(`token ${t} is said to have read ${tokens} of ${all} tokens`);
  }
  fits("tokens");
  click(document.getElementById("tab-matrices"));
  for (const option of document.getElementById("lens-matrix")?.options ?? []) {
    change("lens-matrix", option.value);
    const shares = [...document.querySelectorAll("#view-matrices tbody tr")].map(r => parseFloat(r.children[1].textContent));
    if (Math.abs(shares.reduce((a, b) => a + b, 0) - 100) > 0.06 * shares.length) fail(`the shares of ${option.text} are ${shares}`);
  }
  fits("matrices");
  click(document.getElementById("tab-positions"));
  const tables = Glim.data.positions.length;
  if (!tables || document.querySelectorAll("#view-positions svg").length !== 2 * tables) fail("the maps of positions");
  fits("positions");
  click(document.getElementById("tab-words"));
  fits("words");
  found.remarks = document.querySelectorAll(".remarks li").length;
  for (const show of document.querySelectorAll(".remarks button")) show.click();
  document.getElementById("tab-words").dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowLeft", bubbles: true}));
  if (document.getElementById("view-positions").hidden) fail("the left arrow does not change tabs");
  for (const e of unnamed()) fail("a control has no name: " + e.outerHTML.slice(0, 80));
} catch (e) { fail("driver: " + e.stack); }
return found;
})()
"""


# The state of a page: its address, its tab, and the choice within the tab.
PLACE = """(() => ({hash: decodeURIComponent(location.hash), tab: document.querySelector("[role=tab][aria-selected=true]").id,
  module: document.getElementById("attention-module")?.selectedIndex, map: document.getElementById("attention-map")?.value,
  head: Number(document.querySelector(".head[aria-current]")?.dataset.head), panels: document.querySelector(".head[aria-current]")
  ?.querySelectorAll(".map").length, first: document.querySelector(".head")?.getAttribute("aria-current"),
  node: document.querySelector("#node h2")?.textContent, graph: document.querySelectorAll("#node svg .box").length > 0,
  cell: document.querySelector(".head[aria-current] .cell-numbers")?.textContent, frames: document.querySelectorAll(".heads rect.chosen").length,
  token: document.getElementById("token-target")?.value, matrix: document.getElementById("lens-matrix")?.selectedOptions[0].text}))()"""
GO = "new Promise(done => { window.addEventListener('hashchange', () => setTimeout(done), {once: true}); location.hash = %s; })"
# What a score is made of, and where a source leads.
WHY = """(() => { const box = document.querySelector(".why:not(:empty)"); return {text: box.textContent,
  rows: [...box.querySelectorAll("[data-part]")].map(r => [Number(r.dataset.part), ...[...r.children].slice(1, 3).map(c => c.textContent)]),
  command: [...box.querySelectorAll("code")].pop()?.textContent}; })()"""
BELOW = """(() => { const head = [...document.querySelectorAll(".why button")].find(b => /:\\d+$/.test(b.textContent));
  head.click();
  const links = [...document.querySelectorAll(".why .below a")];
  return [head.textContent, document.querySelector(".why .below").textContent, links.map(a => decodeURIComponent(a.hash))]; })()"""
# A cell of which the page has a part that comes from an earlier head.
LEADS = """(() => { for (const v of Glim.data.attention.filter(v => v.why && v.layer === 1)) {
    const [, T, S, shown] = v.why.query.shape, at = Maps.unpack(v.why.query).findIndex((k, i) => /:\\d+$/.test(v.why.sources[k]) &&
      Maps.unpack(v.keep)[Math.floor(i / shown) % (T * S)]), cell = Math.floor(at / shown);
    if (at >= 0) return `#attention/${v.side.replace(" ", "-")}/1/${v.why.heads[Math.floor(cell / (T * S))]}/all/` +
      `${Math.floor(cell / S) % T},${cell % S}`;
  } })()"""
WITHOUT = """(() => { const box = document.getElementById("without-heads"), cells = [...box.querySelectorAll("svg svg")].map(svg =>
    [...svg.querySelector("g").children]);
  box.open = true;
  const read = cells.map(list => list.map(cell => { const at = cell.getBoundingClientRect();
    cell.dispatchEvent(new MouseEvent("mousemove", {bubbles: true, clientX: at.left + 1, clientY: at.top + 1}));
    return document.querySelector(".hover").textContent; }));
  return [box.querySelector("summary").textContent, read]; })()"""
# The texts that the buttons beside the tabs copy.
COPIED = """(() => { const texts = {};
  for (const b of document.querySelectorAll(".copier")) {
    Object.defineProperty(navigator, "clipboard", {configurable: true, value: {writeText: text => { texts[b.textContent] = text; return Promise.resolve(); }}});
    b.click();
  }
  return texts; })()"""
# On paper: nothing to click, nothing dark, nothing beyond the sheet.
PAPER = """(() => { const seen = e => e.getClientRects().length > 0;
  return [[...document.querySelectorAll("select, input, .tabs, .savers, #theme")].filter(seen).length,
    getComputedStyle(document.body).backgroundColor, document.documentElement.scrollWidth - window.innerWidth,
    [...document.querySelectorAll(".map svg")].filter(seen).filter(e => e.getBoundingClientRect().right > window.innerWidth).length,
    [...document.querySelectorAll(".map svg")].filter(seen).length]; })()"""


def three_digits(x):
    """As Glim.number writes it."""
    if x is None:
        return "–"
    if x == 0:
        return "0"
    if 100 <= abs(x) < 999999.5:
        return str(math.floor(x + 0.5))
    text = f"{x:.2e}"
    if 1e-3 <= abs(float(text)) and abs(x) < 100:
        return f"{float(text):.15g}"
    mantissa, exponent = text.split("e")
    return f"{mantissa}e{int(exponent):+d}"


def cell_numbers(view, head, row, column):
    words = {"A": "probabilities A", "dA": "∂L/∂A", "S": "scores S", "dS": "∂L/∂S"}
    return f"{view['queries'][row]} → {view['keys'][column]}: " + " · ".join(
        f"{name} {three_digits(view[key][head][row][column])}" for key, name in words.items())


def score_parts(command):
    """Of glim inspect --why, by size: [part, source of the query, of the key]."""
    found = json.loads(subprocess.run([glim, *shlex.split(command)[1:], "--json"], check=True, stdout=subprocess.PIPE).stdout)
    rows = [[x, q, k] for q, row in zip(found["query_sources"], found["parts"]) for k, x in zip(found["key_sources"], row)]
    return found, sorted(rows, key=lambda row: -abs(row[0]))


def channels(color):
    return [int(color[i:i + 2], 16) for i in (1, 3, 5)]


check = checks.Checks()


with tempfile.TemporaryDirectory() as folder:
    subprocess.run([glim, "inspect", "--fresh", "--layers", "2", "--d-model", "128", "--d-ff", "256", "--out", folder,
                    "--sentence", "We will feed a pig and a cat and a dog and a bird and a horse this weekend",
                    "--translation", "我们这个周末会喂一头猪和一只猫和一只狗", "--data",
                    "--svg", "decoder.layers.1.multihead_attn/head1/dS"],
                   check=True, stdout=subprocess.DEVNULL)
    size = os.path.getsize(f"{folder}/inspect.html")
    check(size < 5e6, f"the page has {size} bytes")
    data = json.load(open(f"{folder}/inspect.json", encoding="utf-8"))
    with open(f"{folder}/decoder.layers.1.multihead_attn-head1-dS.svg", encoding="utf-8") as svg:
        fills = re.findall('<rect [^>]* fill="(#[0-9a-f]{6})"/>', svg.read().split('<g shape-rendering="crispEdges">')[1])
    for width in (1280, 390):
        with chromium.Page(f"{folder}/inspect.html", width, folder) as page:
            # It opens on the head of which the loss asks most.
            opened = page.evaluate(PLACE)
            view, head = max(((v, h) for v in range(len(data["attention"])) for h in range(len(data["attention"][v]["heads"]))),
                             key=lambda at: data["attention"][at[0]]["heads"][at[1]]["probs_gradient"])
            name = data["attention"][view]["side"].replace(" ", "-")
            check(opened["tab"] == "tab-attention" and (opened["module"], opened["head"]) == (view, head), f"opened: {opened}")
            check(opened["panels"] == 4 and opened["first"] == "true", f"opened: {opened}")
            check(opened["hash"] == f"#attention/{name}/{data['attention'][view]['layer']}/{head}/all", f"opened: {opened}")
            page.evaluate(GO % '"#walk"')
            opened = page.evaluate(PLACE)
            check(opened["node"] == "log_probs", f"the walk opens at {opened['node']}")
            page.evaluate(GO % '"#attention"')
            first_view = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
            found = page.evaluate(DRIVER)
            texts, faint = chromium.faint(page)
            check(texts > 100, f"contrast: {texts} texts")
            for error in page.errors + found["errors"] + faint:
                check(False, f"{width} px: {error}")
            check(len(page.requests) == 1, f"the page loads {page.requests[1:]}")
        check(found["width"] == width, f"the window has {found['width']} px, not {width}")
        check(found["blocks"] >= 20, f"{found['blocks']} blocks")
        check(found["bars"] == 2 * 2 + 2 * 3, f"{found['bars']} junctions")
        # Lines below the blocks are as long as the logarithms of their norms.
        norms = sorted((float(norm), length) for norm, length in found["norms"])
        check(all(a[1] <= b[1] + 0.01 for a, b in zip(norms, norms[1:])) and norms[-1][1] > 0.95 > 0.1 > norms[0][1], f"lines {norms}")
        last = data["attention"][-1]
        for head, *said in found["says"]:
            values = last["dS"][head]
            _, row, column = max((abs(x), r, c) for r, line in enumerate(values) for c, x in enumerate(line) if last["keep"][r][c])
            word = "less" if values[row][column] > 0 else "more"
            check(len(said) == 4 and said[3] == f"∂L/∂S ‘{last['queries'][row]}’ is asked to look {word} at ‘{last['keys'][column]}’",
                  f"head {head} says {said}, ∂L/∂S is {values[row][column]} at {row}, {column}")
        check(found["axes"] == 4 * len(last["heads"]), f"{found['axes']} maps have names of axes")
        cells, hovered, chosen, node, marked = found["tiny"]
        tenth = data["nodes"][data["walk"][9]]
        check(cells >= len(data["walk"]) and chosen == 1 and marked and node == tenth["path"] and
              hovered == f"10. {tenth['path']}\n‖∂L/∂y‖ = {three_digits(tenth['gradient']['norm'])}", f"minimap: {found['tiny']}")
        check(found["nodes"] == len(data["walk"]), "not every node is in the walk")
        check(found["savers"] == 1 and found["to_save"] == 3, "the pictures of a node and the minimap are not saved in one place")
        views = {"broadcast_to", "permute", "reshape", "slice"}
        plain = [n for n in data["nodes"] if n["turn"] >= 0 and not (n["op"] in views and n["path"].split(".")[-1] == n["op"])]
        check(found["folded"] == len(plain), f"{found['folded']} nodes beside the views, not {len(plain)}")
        # The page has the picture's colours: blue below 0, orange above.
        check(len(found["colors"]) == len(fills), f"{len(found['colors'])} cells, {len(fills)} in the picture")
        for (value, color), fill in zip(found["colors"], fills):
            (red, _, blue), of_picture = channels(color), channels(fill)
            if max(abs(a - b) for a, b in zip(channels(color), of_picture)) > 3:
                check(False, f"{value} is {color} in the page and {fill} in the picture")
                break
            check(abs(red - blue) < 16 or (red > blue) == (float(value) > 0), f"{value} is {color}")
        check(found["without_picture"] == 0, f"{found['without_picture']} nodes show no tensor")
        check(found["search"] == 7,  # and log_probs
              f"a search for probs finds {found['search']}")
        check(found["remarks"] == len(data["remarks"]), "not every remark is shown")
        check(len(found["hover"]) > 200, "too few values on hover")
        for module, head, kind, row, column, text in found["hover"]:
            view = data["attention"][module]
            expected = three_digits(view[kind][head][row][column])
            value = text.split("\n")[1].split(" = ")[1].replace(" (masked)", "")
            if value != expected or f"{view['queries'][row]} → {view['keys'][column]}" != text.split("\n")[0]:
                check(False, f"hover says {text!r}, the JSON {expected} ({view['module']} {kind})")
                break
        print(f"{width} px: {len(found['hover'])} hover values equal the JSON, {found['nodes']} nodes, "
              f"{size / 1e6:.2f} MB, first view after {first_view:.0f} ms")
        check(first_view < 20000, "the first view takes more than 20 s")
    # Each view has a link: followed in the page, and opened.
    node, module, matrix = data["nodes"][data["walk"][40]], "decoder.layers.1.multihead_attn", data["lens"][3]["matrix"]
    cross = next(i for i, v in enumerate(data["attention"]) if v["module"] == module)
    places = {"#attention/cross/1/2/dS": {"tab": "tab-attention", "module": cross, "map": "dS", "head": 2},
              "#attention/cross/1/2/all/3,1": {"module": cross, "head": 2, "frames": 4 * len(data["attention"][cross]["heads"]),
                                               "cell": cell_numbers(data["attention"][cross], 2, 3, 1)},
              "#attention/encoder-self/1/1/all": {"tab": "tab-attention", "map": "all", "head": 1, "panels": 4},
              f"#walk/{node['name']}": {"tab": "tab-walk", "node": node["path"]},
              f"#walk/graph/{module}": {"tab": "tab-walk", "node": module, "graph": True},
              "#tokens/2": {"tab": "tab-tokens", "token": "2"}, f"#matrices/{matrix}": {"tab": "tab-matrices", "matrix": matrix},
              "#model": {"tab": "tab-model"}, "#words": {"tab": "tab-words"}}
    with chromium.Page(f"{folder}/inspect.html", 1280, folder) as page:
        for link, wanted in places.items():
            page.evaluate(GO % json.dumps(link))
            seen = page.evaluate(PLACE)
            check({k: seen[k] for k in wanted} == wanted and seen["hash"] == link, f"{link} leads to {seen}")
        # The address has the choice, too.
        for tab, control, value, link in (("tokens", "token-target", "1", "#tokens/1"),
                                          ("matrices", "lens-matrix", "2", f"#matrices/{data['lens'][2]['matrix']}"),
                                          ("walk", "graph-module", module, f"#walk/graph/{module}"),
                                          ("attention", "attention-map", "S", "#attention/encoder-self/1/1/S"),
                                          ("attention", "attention-map", "all", "#attention/encoder-self/1/1/all")):
            page.evaluate(f"document.getElementById('tab-{tab}').click(); document.getElementById('{control}').value = '{value}';"
                          f"document.getElementById('{control}').dispatchEvent(new Event('change'))")
            check(page.evaluate(PLACE)["hash"] == link, f"{control} {value}: {page.evaluate(PLACE)}")
        page.evaluate("document.getElementById('tab-attention').click()")
        check(page.evaluate(PLACE)["hash"] == "#attention/encoder-self/1/1/all", "a tab does not come back to its place")
        page.evaluate("document.querySelector('.head[data-head=\"3\"] h3 a').click()")
        page.evaluate("new Promise(done => setTimeout(done))")
        check(page.evaluate(PLACE)["head"] == 3, "a click on a head does not bring it to the front")
        # A click on a cell chooses it; what is copied leads back.
        page.evaluate("document.querySelectorAll('.head[data-head=\"3\"] svg')[2].querySelectorAll('rect.cell')[5].dispatchEvent("
                      "new MouseEvent('click', {bubbles: true}))")
        seen = page.evaluate(PLACE)
        columns = len(data["attention"][0]["keys"])
        place = f"{5 // columns},{5 % columns}"
        check(seen["hash"].endswith(f"/3/all/{place}") and "probabilities A" in seen["cell"], f"a click on a cell: {seen}")
        # The parts of the score are those that the command beside it prints.
        stored = page.evaluate("Glim.data.attention.filter(v => v.why).map(v => [v.layer, `#attention/${v.side.replace(' ', '-')}"
                               "/${v.layer}/${v.why.heads[0]}/all/2,1`])")
        for link in {stored[0][1], next(link for layer, link in stored if layer == 1)}:
            page.evaluate(GO % json.dumps(link))
            why = page.evaluate(WHY)
            found, rows = score_parts(why["command"])
            check(len(why["rows"]) == 7 and f"sum of {len(rows)} parts" in why["text"], f"{link}: {why}")
            for (part, *names), (wanted, *sources) in zip(why["rows"][:6], rows):
                check(names == sources and abs(part - wanted) <= 0.01 * abs(wanted) + 1e-9, f"{link}: {part} {names}, the command {wanted} {sources}")
            check(abs(sum(r[0] for r in why["rows"]) - (found["score"] - found["mean"])) < 0.01, f"{link}: {why['rows']}")
            check(f"to be {'lower' if found['gradient'] > 0 else 'higher'}" in why["text"], f"{link}: {why['text']}")
        # One level down: what an earlier head read there.
        page.evaluate(GO % json.dumps(page.evaluate(LEADS)))
        # Such a part is split again by the command that the page shows.
        names, command = page.evaluate("""(() => { const button = document.querySelector(".why [aria-label^=split]");
          button.click();
          return [button.getAttribute("aria-label"), document.querySelector(".why .below code").textContent]; })()""")
        part = json.loads(subprocess.run([glim, *shlex.split(command)[1:], "--json"], check=True, stdout=subprocess.PIPE).stdout)
        check(names == f"split the part of {part['query_source']} and {part['key_source']}", f"{names}: {command}")
        check(all(abs(sum(r["part"] for r in s["rows"]) - part["part"]) < 1e-12 for s in part["splits"]), f"{command}: {part}")
        source, below, links = page.evaluate(BELOW)
        position = re.search(r"at position (\d+),", below)
        check(source in below and links and all(f"/all/{position.group(1)}," in link for link in links), f"{source}: {below} {links}")
        page.evaluate("document.querySelector('.why .below a').click()")
        page.evaluate("new Promise(done => setTimeout(done, 100))")
        check(page.evaluate(PLACE)["hash"] == links[0] and "--why" in page.evaluate(WHY)["command"], f"{links[0]} leads to {page.evaluate(PLACE)}")
        page.evaluate(GO % '"#attention/decoder-self/0/0/all/0,1"')
        check(page.evaluate(WHY)["text"].startswith("masked"), f"a masked cell: {page.evaluate(WHY)}")
        # Heads that the page has no parts of name the command.
        left_out = page.evaluate("(() => { const v = Glim.data.attention.findIndex(v => !v.why), w = Glim.data.attention[v];"
                                 "return w && `#attention/${w.side.replace(' ', '-')}/${w.layer}/0/all/1,0`; })()")
        check(left_out, "all parts are in a page of 17 words")
        page.evaluate(GO % json.dumps(left_out))
        check(score_parts(page.evaluate(WHY)["command"])[0]["gap"] < 1e-12, f"{left_out}: {page.evaluate(WHY)}")
        # The loss without each head: three maps of the same numbers as the data.
        summary, read = page.evaluate(WITHOUT)
        effects = [e for v in data["attention"] for e in v["without"]]
        check([len(r) for r in read] == 3 * [len(effects)], f"{[len(r) for r in read]} cells for {len(effects)} heads")
        for texts, value in zip(read, (lambda e: e["change"], lambda e: e["linear"], lambda e: e["linear"] + e["second"])):
            for text, effect in zip(texts, effects):
                shown = float(text.split(" ")[-1].replace("−", "-"))
                check(abs(shown - value(effect)) <= 0.006 * abs(value(effect)) + 1e-12, f"{text}, the data {value(effect)}")
        check(three_digits(max(e["change"] for e in effects)) in summary, f"{summary}")
        page.evaluate("document.querySelectorAll('#without-heads svg svg')[0].querySelectorAll('g')[0].children[5].dispatchEvent("
                      "new MouseEvent('click', {bubbles: true})); new Promise(done => setTimeout(done, 100))")
        check(page.evaluate(PLACE)["hash"] == "#attention/encoder-self/1/1/all", f"a click on a head without: {page.evaluate(PLACE)}")
        page.evaluate("document.querySelectorAll('.head[data-head=\"3\"] svg')[2].querySelectorAll('rect.cell')[5].dispatchEvent("
                      "new MouseEvent('click', {bubbles: true}))")
        seen = page.evaluate(PLACE)
        copied = page.evaluate(COPIED)
        check(list(copied) == ["copy link", "copy command"] and copied["copy link"].endswith(seen["hash"].replace(",", "%2C")), f"copied {copied}")
        subprocess.run([glim, *shlex.split(copied["copy command"])[1:], "--data", "--out", f"{folder}/again"], check=True,
                       stdout=subprocess.DEVNULL)
        again = json.load(open(f"{folder}/again/inspect.json", encoding="utf-8"))
        check(again["loss"] == data["loss"], f"{copied['copy command']} has loss {again['loss']}, not {data['loss']}")
        page.evaluate("document.documentElement.dataset.theme = 'dark'")
        page.call("Emulation.setEmulatedMedia", media="print")
        controls, ground, wide, cut, maps = page.evaluate(PAPER)
        check((controls, ground, cut) == (0, "rgb(255, 255, 255)", 0) and wide <= 1 and maps == 4 * len(data["attention"][0]["heads"]), f"on paper: {page.evaluate(PAPER)}")
        for error in page.errors:
            check(False, f"links: {error}")
    for link, wanted in places.items():
        with chromium.Page(f"{folder}/inspect.html{link}", 1280, folder) as page:
            seen = page.evaluate(PLACE)
            check({k: seen[k] for k in wanted} == wanted and seen["hash"] == link, f"{link} opens {seen}")
    # A language model has no source: every tab is drawn without it.
    subprocess.run([glim, "inspect", "--fresh", "--kind", "gpt", "--layers", "2", "--d-model", "32", "--sentence", "I have a cat",
                    "--out", f"{folder}/gpt"], check=True, stdout=subprocess.DEVNULL)
    with chromium.Page(f"{folder}/gpt/inspect.html", 390, folder) as page:
        shown = page.evaluate("""[...document.querySelectorAll("[role=tab]")].map(tab => {
          tab.click();
          const panel = document.getElementById(tab.id.replace("tab-", "view-"));
          return [tab.id, panel.innerText.length, document.documentElement.scrollWidth <= window.innerWidth + 1];
        })""")
        stacks = page.evaluate("[...document.querySelectorAll('.stack h3')].map(h => h.textContent)")
        for error in page.errors:
            check(False, f"gpt: {error}")
    check(stacks == ["decoder"], f"gpt: stacks {stacks}")
    for tab, length, fits in shown:
        check(length > 40 and fits, f"gpt: {tab} has {length} characters{'' if fits else ' and is too wide'}")
    # Every tab is drawn of kinds whose lines are of constants, too, and whose scores are no scaled products.
    for kind, wanted in (("non-autoregressive", "is the sum of"), ("rnn", "no scaled products")):
        subprocess.run([glim, "inspect", "--fresh", "--kind", kind, "--attribution-steps", "0", "--out", f"{folder}/{kind}"], check=True,
                       stdout=subprocess.DEVNULL)
        with chromium.Page(f"{folder}/{kind}/inspect.html", 1280, folder) as page:
            said = page.evaluate("""(() => { for (const tab of document.querySelectorAll("[role=tab]")) tab.click();
              document.getElementById("tab-attention").click();
              document.querySelector(".head rect.cell").dispatchEvent(new MouseEvent("click", {bubbles: true}));
              return document.querySelector(".why:not(:empty)").textContent; })()""")
            check(wanted in said and not page.errors, f"{kind}: {said} {page.errors}")
    # The cells of few tokens grow to the room.
    subprocess.run([glim, "inspect", "--fresh", "--kind", "gpt", "--layers", "1", "--d-model", "32", "--sentence", "a cat",
                    "--attribution-steps", "0", "--out", f"{folder}/few"], check=True, stdout=subprocess.DEVNULL)
    with chromium.Page(f"{folder}/few/inspect.html", 1280, folder, height=720) as page:
        share, bottom = page.evaluate("""(() => { const boxes = [...document.querySelector(".head").querySelectorAll(".map svg")].map(e =>
          e.getBoundingClientRect());
          return [d3.sum(boxes, b => b.width) / document.querySelector(".heads").clientWidth, d3.max(boxes, b => b.bottom)]; })()""")
        check(share > 0.8 and bottom < 720, f"the maps of five tokens fill {share} of the width, to {bottom}")
        said = page.evaluate("[...document.querySelectorAll('.says')].map(s => s.textContent)")
        check(len(said) > 4 and not any("100 %" in s for s in said), f"a query with one key is nothing to tell: {said}")
    # On a phone the first map is in sight as a whole, and its cells are wider than a letter is high.
    subprocess.run([glim, "inspect", "--fresh", "--kind", "bert", "--layers", "1", "--d-model", "32", "--sentence",
                    "my younger brother needs your five coats today", "--attribution-steps", "0", "--out", f"{folder}/phone"], check=True,
                   stdout=subprocess.DEVNULL)
    with chromium.Page(f"{folder}/phone/inspect.html", 390, folder, height=800) as page:
        cell, bottom, tab, wide = page.evaluate("""(() => { const svg = document.querySelector(".head .map svg"), at = e => e.getBoundingClientRect();
          document.getElementById("tab-words").click();
          const tab = at(document.getElementById("tab-words"));
          document.getElementById("tab-attention").click();
          return [at(svg.querySelector("rect.cell")).width, at(svg).bottom, tab.left >= 0 && tab.right <= window.innerWidth,
            document.documentElement.scrollWidth - window.innerWidth]; })()""")
        check(cell >= 20 and bottom <= 800 and tab and wide <= 1, f"390 x 800: cells of {cell} px to {bottom}, tab in sight {tab}, {wide}")
check.leave()
