// The changes in a page of glim inspect --live: each change runs Glim's forward and backward anew, in the page.
//
// The state is a request (tools/inspect/request.hpp), whose names are options of the command line; the command that
// gives the present state natively is below the controls.
"use strict";
Glim.live = (() => {
if (!Glim.data.live) return null;
const make = Glim.make;
const {request, command, images} = Glim.data.live;  // images: of a vit, to choose from
const original = {...request, "patch-node": [], "patch-from": ""};
const still = Glim.data;
const state = structuredClone(original);
const kRun = "run/last.safetensors";  // what is trained in the page
const lists = ["mask", "unmask", "remove-head", "remove", "zero", "freeze", "scale-gradient", "paint"];
const undone = [...lists, "patch-node"];  // what a button takes back
const pairs = still.source.length > 0 && still.target_in.length > 0;  // a sentence and its translation
const nothing = Object.fromEntries(undone.map(name => [name, []]));
let module = null, base = null, drawn = null, drawn_change = null, draw = null;
let patches = null;  // of the pass that is drawn: its loss with values of another sentence (tools/measure/patching.hpp)

// ---- the module ----
async function unpacked(id) {
  const element = document.getElementById(id);
  if (!element) return null;
  const bytes = Uint8Array.from(atob(element.textContent), c => c.charCodeAt(0));
  element.remove();
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
async function start() {
  module = await LiveGlim({wasmBinary: await unpacked("live-module"), print: () => {}, printErr: () => {}});
  const model = await unpacked("live-model");
  if (model) module.FS.writeFile("model.safetensors", model);
}
function call(request) {
  const answer = JSON.parse(module.ccall("glim_live", "string", ["string"], [JSON.stringify(request)]));
  if (answer.error) throw new Error(answer.error);
  return answer.data;
}
function ask(request) {
  const data = call(request);
  const other = request.model === kRun || request.fresh && !same(request.fresh, original.fresh);
  return Object.assign(data, {title: other ? data.title : still.title,
    own_target: pairs ? still.own_target && data.target_text === still.target_text : data.own_target});
}
// Statistics and pictures of a node, which the module keeps of its last pass, the one that is drawn.
function add_details(n) {
  if (!n.picture && drawn) Object.assign(n, call({node: n.number}));
}

// Glim computes the parts of score (r, c) of head h in the changed pass.
function why(v, h, r, c) {
  try { return call({why: `#${v.probs_nodes[0]}:${h}`, query: r, key: c}); } catch (refused) { return null; }  // no scaled product
}
// One part of it, by the names of its two sources, split again by what they read.
function why_part(v, h, r, c, part) {
  try { return call({why: `#${v.probs_nodes[0]}:${h}`, query: r, key: c, part}); } catch (refused) { return {refused: refused.message}; }
}
// The matrices' gradients as tokens, likewise.
function add_lens(data) {
  if (!data.lens.length && drawn) data.lens = call({lens: true});
}

// ---- a change ----
const status = make("p", {role: "status", id: "live-status"}, "Glim starts in this page …");
const shown = make("code", {id: "live-command"});
const changes = make("div", {class: "controls", id: "live-changes"});
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
function say(text, wrong) {
  status.textContent = text;
  status.className = wrong ? "warning" : "soft";
  if (wrong) status.scrollIntoView({block: "nearest"});
}
// The command's part that names the model: with other sizes those of them that differ.
function model_words() {
  if (state.model === kRun) return ["glim", "inspect", "--model", "run"];
  if (same(state.fresh, original.fresh)) return command;
  const whole = original.fresh && Object.keys(original.fresh).every(name => name in state.fresh);
  const given = Object.entries(state.fresh).filter(([name, value]) => !whole || !same(value, original.fresh[name]));
  const named = word => given.some(([name]) => word === "--" + name);
  const kept = whole ? command.filter((word, i) => !named(word) && !named(command[i - 1])) :
    ["glim", "inspect", "--fresh"];
  return [...kept, ...given.flatMap(([name, value]) => ["--" + name, String(value)])];
}
// A value that begins with -- would be the next option behind a blank.
const option = (name, value) => value.startsWith("--") ? [`--${name}=${value}`] : ["--" + name, value];
function command_words() {
  const words = [...model_words(), ...(!images ? option("sentence", state.sentence) : state.image ? ["--image", state.image] : [])];
  if (pairs) words.push(...option("translation", state.translation));
  if (state.hide.length) words.push("--hide", ...state.hide);
  if (state.label) words.push(...option("label", state.label));
  if (state.scale !== null) words.push("--scale", String(state.scale));
  if (state["label-smoothing"] !== null) words.push("--label-smoothing", String(state["label-smoothing"]));
  if (state.dropout) words.push("--dropout");
  for (const name of lists) if (state[name].length) words.push("--" + name, ...state[name]);
  return words;
}
function patched_words() {
  const nodes = state["patch-node"];
  return nodes.length ? [...command_words(), "--patch-node", ...nodes, ...option("patch-from", state["patch-from"])] : command_words();
}
const command_line = () => command_words().map(Glim.quoted).join(" ");
// The changes as a part of the page's address, and back. A model that was trained in the page has no address.
function address_of_changes() {
  if (state.model === kRun) return "";
  const names = Object.keys({...original, ...state}).filter(name => !same(state[name], original[name]));
  return names.length ? "?" + names.map(name => `${name}=${encodeURIComponent(JSON.stringify(state[name] ?? null))}`).join("&") : "";
}
function changes_in(address) {
  const values = {};
  for (const part of address.slice(1).split("&").filter(Boolean)) {
    const [, name, json] = /^([a-z-]+)=(.*)$/.exec(part) ?? [];
    if (!(name in original) && name !== "fresh") throw new Error(`The link has a change that this page does not know: ${part}`);
    try { values[name] = JSON.parse(decodeURIComponent(json)); } catch (wrong) {
      throw new Error(`The link is cut or wrong: ${part}`);
    }
    if (Array.isArray(values[name]) !== Array.isArray(original[name]) || name === "model")
      throw new Error(`The link has a wrong value: ${part}`);
  }
  return values;
}
function open_changes(address) {
  let values = {};
  try { values = changes_in(address); } catch (wrong) {
    change({});
    return say(wrong.message, true);
  }
  delete state.fresh;
  delete state.model;
  change({...structuredClone(original), ...values});
}
// Sets these values of the state and runs the pass; where Glim refuses them, the state stays as it was, and this is false.
function change(values) {
  if (!module) return false;
  const kept = structuredClone(state);
  Object.assign(state, values);
  try {
    const started = performance.now();
    // The pass to compare with: the same text or image in the same model, with nothing changed.
    const own = {sentence: state.sentence, translation: state.translation, hide: state.hide, label: state.label,
      image: state.image, ...(state.fresh && {fresh: state.fresh}), ...(state.model && {model: state.model})};
    const {fresh: _, ...plain} = original, still_asked = asked({...plain, ...own});
    const begun = !base || !same(base.own, own);
    if (begun) base = {own, data: ask({...still_asked, statistics: true})};
    const unchanged = same(still_asked, asked(state));
    const data = unchanged && begun ? base.data : ask(asked(state));
    patches = patched();
    const computed = performance.now();
    drawn = data;
    if (!images && !state.sentence) state.sentence = data.source_text || data.target_text;  // the task's
    drawn_change = unchanged ? null : base.data;
    draw(data, drawn_change);
    say(`Forward and backward in ${(computed - started).toFixed(0)} ms, drawn in ` +
      `${(performance.now() - computed).toFixed(0)} ms.`);
    update();
    return true;
  } catch (e) {
    Object.assign(state, kept);
    if (drawn) ask(asked(state));
    say(e.message, true);
    update();
    return false;
  }
}
// A fresh model takes the model's place, an image's pixels in that of a file.
function asked(request) {
  const {model, fresh, "patch-node": _nodes, "patch-from": _from, ...rest} = request;
  if (images) {
    const {pixels, size} = images.find(i => i.name === rest.image);
    Object.assign(rest, {pixels, size});
  }
  return fresh ? {...rest, fresh} : {...rest, model};
}
// The last pass with values of another sentence or image, by nodes.
function patched() {
  const {"patch-node": nodes, "patch-from": other} = state;
  if (!nodes.length) return null;
  if (!other) throw new Error(`A patch takes its values from another ${source_word}: choose one.`);
  return call({...asked(images ? {...state, image: other} : state), "patch-node": nodes, "patch-from": other});
}
const without = (list, item) => list.filter(x => x !== item);
const toggled = (list, item) => list.includes(item) ? without(list, item) : [...list, item];

// ---- the controls ----
const hide = make("input", {id: "live-hide", size: 12, placeholder: "the middle one",
  onchange: e => change({hide: e.target.value.split(/[ ,]+/).filter(Boolean)})});
const label = make("input", {id: "live-label", size: 12, placeholder: original.fresh ? "1" : "the model's own",
  onchange: e => change({label: e.target.value.trim()})});
const image = make("select", {id: "live-image", onchange: e => change({image: e.target.value, paint: []})},
  (images ?? []).map(i => make("option", {value: i.name}, i.name || "a drawn 1")));
const brush = make("input", {id: "live-brush", type: "number", min: 0, max: 1, step: 0.05, value: 1});
const text = (id, label, key) => make("label", {}, label + " ", make("input", {id, value: state[key], size: 34,
  onchange: e => change({[key]: e.target.value})}));
const scale = make("input", {id: "live-scale", type: "range", min: 0, max: 2, step: 0.01,
  onchange: e => change({scale: Number(e.target.value)})});
const scale_number = make("input", {id: "live-scale-number", type: "number", step: "any", size: 8, placeholder: "1/√Dk",
  "aria-label": "factor of Q Kᵀ, as a number",
  onchange: e => change({scale: e.target.value === "" ? null : Number(e.target.value)})});
const smoothing = make("input", {id: "live-smoothing", type: "number", min: 0, max: 0.99, step: 0.05,
  placeholder: "as in training",
  onchange: e => change({"label-smoothing": e.target.value === "" ? null : Number(e.target.value)})});
const dropout = make("input", {id: "live-dropout", type: "checkbox",
  onchange: e => change({dropout: e.target.checked})});
const heads = make("div", {class: "controls", id: "live-heads"});
function draw_heads() {
  const box = (module, h) => {
    const name = `${module}:${h}`;
    return make("label", {}, make("input", {type: "checkbox", "data-head": name, "aria-label": "head " + name,
      checked: !state["remove-head"].includes(name),
      onchange: () => change({"remove-head": toggled(state["remove-head"], name)})}), String(h));
  };
  heads.replaceChildren(...(drawn ?? still).attention.map(v =>
    make("span", {class: "mono"}, v.module + " ", v.heads.map((_, h) => box(v.module, h)))));
}
// Layers, and of each residual connection the skip, the sublayer and the norm; those of the pass with nothing removed.
const part = make("select", {id: "live-remove", "aria-label": "a layer or a part of one to remove",
  onchange: e => e.target.value && change({remove: [...without(state.remove, e.target.value), e.target.value]})});
function draw_parts() {
  const seen = new Map();
  for (const {module} of (base?.data ?? still).junctions) seen.set(module, (seen.get(module) ?? 0) + 1);
  part.replaceChildren(make("option", {value: ""}, "…"), ...[...seen].flatMap(([layer, n]) => [layer,
    ...d3.range(1, n + 1).flatMap(k => ["skip", "sublayer", "norm"].map(what => `${layer}.${what}${k}`))])
    .map(name => make("option", {value: name}, name)));
}
// Nodes of another sentence that are dragged onto the pass, or put there by a click or Enter.
const source_word = images ? "image" : "sentence";
const other = make(images ? "select" : "input", {id: "live-patch-from", size: images ? 1 : 34, onchange: e => change({"patch-from": e.target.value.trim()})},
(images ?? []).map((i, k) => make("option", {value: k ? i.name : ""}, k ? i.name : "…")));
const wanted = make("input", {id: "live-patch-search", type: "search", size: 20, placeholder: "*.context", oninput: () => draw_sources(),
  onkeydown: e => { if (e.key === "Enter" && e.target.value.trim()) patch(e.target.value.trim()); }});
const sources = make("div", {class: "list", id: "live-patch-nodes"});
function draw_sources() {
  const text = wanted.value.trim().toLowerCase().replaceAll("*", "");
  // Outputs of modules, the values of attention, activations; a search finds the others.
  const {nodes, blocks} = drawn ?? still, outputs = new Set(blocks.map(b => b.node));
  const offered = nodes.filter(n => n.op !== "leaf" && n.shape.length > 1 && n.turn >= 0 && (text ? n.path.toLowerCase().includes(text) :
    outputs.has(n.number) || /\.(query|key|value|probs|context|relu|gelu|silu)$/.test(n.path)));
  const main = document.querySelector("main"), name = state["patch-from"];
  const paths = new Set(name ? offered.map(n => n.path) : []);  // nodes of one path are patched one by one
  sources.replaceChildren(...[...paths].map(path => make("button", {draggable: "true", "data-node": path, onclick: () => patch(path),
    ondragstart: e => { e.dataTransfer.setData("text/plain", path); main.classList.add("dropping"); },
    ondragend: () => main.classList.remove("dropping")}, "⠿ ", Glim.breakable(path))));
  sources.hidden = !sources.childElementCount;
}
function patch(node) {
  if (change({"patch-node": [...without(state["patch-node"], node), node]}))
    document.getElementById("patched").scrollIntoView({block: "nearest"});
}
// A drop on the pass patches the node that was dragged.
function take_drops(main) {
  const outside = e => main.classList.contains("dropping") && !e.target.closest("#live");
  main.addEventListener("dragover", e => { if (outside(e)) e.preventDefault(); });
  main.addEventListener("drop", e => {
    if (!outside(e)) return;
    e.preventDefault();
    main.classList.remove("dropping");
    patch(e.dataTransfer.getData("text/plain"));
  });
}
// The tokens of a node's positions, or their numbers.
function tokens_of(node, length) {
  const v = drawn.attention.find(v => node.startsWith(v.module + "."));
  const tokens = v ? v[/\.(key|value)\b/.test(node.slice(v.module.length)) ? "keys" : "queries"] :
    pairs && /^(encoder|src)/.test(node) || !drawn.target_in.length ? drawn.source : drawn.target_in;
  return tokens.length === length ? tokens : d3.range(length).map(String);
}
const signed = x => (x < 0 ? "−" : "+") + Glim.number(Math.abs(x));
// The loss with each patch, exact, beside its estimates, and a map of the positions patched alone.
function patch_table() {
  if (!patches) return null;
  const cell = x => make("td", {class: "number"}, x), rows = patches.rows;
  const part = r => r.length === r.other_length ? "" : `, its first ${r.positions.length} of ${r.length} positions`;
  const groups = new Map();  // rows of the same tokens are one map
  for (const r of rows) {
    const tokens = tokens_of(r.node, r.length).slice(0, r.positions.length), key = tokens.join("\n");
    groups.set(key, {tokens, rows: [...groups.get(key)?.rows ?? [], r]});
  }
  const map = ({tokens, rows}, i) => Maps.draw({rows: rows.length, columns: tokens.length, values: rows.flatMap(r => r.positions.map(p => p.change))},
    rows.map(r => `${/\.\d+\./.exec(r.node)?.[0].slice(1, -1) ?? ""} ${r.node.split(".").pop()}`), tokens, {title: "patched positions", name: `patched positions ${i + 1}`,
      diverging: true, low: -most, high: most, scale: "change of the loss", text: k => {
        const r = rows[Math.floor(k / tokens.length)], p = r.positions[k % tokens.length];
        return `${r.node} at ‘${tokens[k % tokens.length]}’ alone\nchange of the loss ${signed(p.change)}\n1st order ${signed(p.linear)}, ` +
          `2nd ${signed(p.linear + p.second)}${p.misleads ? ": the 1st misleads" : ""}`;
      }});
  const most = d3.max(rows.flatMap(r => r.positions), p => Math.abs(p.change)) || 1;
  return make("section", {id: "patched", class: "panel"}, make("h2", {}, `With values of ‘${state["patch-from"]}’`),
    make("p", {}, `Each row is this pass, whose loss is ${Glim.number(patches.loss)}, with one node's values of the other ${source_word} and ` +
      "all else as it is. Its loss is exact: everything behind the node runs again. Beside it is what the gradient alone predicts of the " +
      "change (1st order), and what gradient and curvature predict (2nd order)."),
    make("div", {class: "scroll"}, make("table", {}, make("thead", {}, make("tr", {}, ["node", "loss", "change",
      "1st order", "2nd order", ""].map((t, i) => make("th", {class: i % 5 ? "number" : "wide"}, t)))), make("tbody", {}, rows.map(r =>
      make("tr", {"data-patch": r.node}, make("td", {class: "wide"}, Glim.breakable(r.node), part(r)), cell(Glim.number(patches.loss + r.change)), cell(signed(r.change)), cell(signed(r.linear)), cell(signed(r.linear + r.second)),
        make("td", {class: "warning wide"}, r.misleads ? "! the 1st order misleads" : "")))))),
    make("p", {}, "The same at one position alone:"), make("div", {class: "maps"}, [...groups.values()].map(map)),
    make("p", {}, "The same natively: ", make("code", {}, patched_words().map(Glim.quoted).join(" "))));
}
function update() {
  draw_parts();
  if (!images) document.getElementById("live-sentence").value = state.sentence;
  image.value = state.image;
  if (pairs) document.getElementById("live-translation").value = state.translation;
  hide.value = state.hide.join(" ");
  label.value = state.label;
  scale.value = state.scale ?? 0;
  scale.classList.toggle("soft", state.scale === null);
  scale_number.value = state.scale ?? "";
  smoothing.value = state["label-smoothing"] ?? "";
  dropout.checked = state.dropout;
  draw_heads();
  for (const [name, control] of fresh) control.value = state.fresh?.[name] ?? "";
  other.value = state["patch-from"];
  draw_sources();
  changes.replaceChildren(...undone.flatMap(name => state[name].map(item => make("button", {
    title: "take this change back", "aria-label": `take back ${name} ${item}`,
    onclick: () => change({[name]: without(state[name], item)})}, `${name} ${item} ✕`))));
  shown.textContent = command_line();
  Glim.link_changes(address_of_changes());
}
// A fresh model in place of the page's: its sizes.
const sizes = {norm: ["", "pre", "post"], layers: ["", 1, 2, 3, 4, 6, 8, 12], "d-model": ["", 16, 32, 64, 128, 256],
  heads: ["", 1, 2, 4, 8], positions: ["", "sinusoidal", "learned", "rotary", "alibi", "none"],
  "position-base": ["", 10, 100, 1000, 10000, 100000, 1000000], "embedding-init": ["", 0.02, 0.1, 0.3, 1], seed: ["", 1, 2, 3, 4, 5]};
const fresh = new Map(Object.entries(sizes).map(([name, values]) => [name, make("select", {"data-fresh": name,
  "aria-label": name, onchange: e => {
    const value = isNaN(e.target.value) ? e.target.value : Number(e.target.value);
    const {[name]: _, ...others} = state.fresh ?? {};
    // Changes name modules of the model before.
    change({fresh: e.target.value === "" ? others : {...others, [name]: value}, ...nothing});
  }}, values.map(v => make("option", {value: v}, v === "" ? "as it is" : v)))]));
// Beside a node of the walk: what can be done to its gradient.
function gradient_controls(n) {
  const head = make("select", {"aria-label": "head"}, make("option", {value: ""}, "all heads"),
    n.shape.length === 4 ? d3.range(n.shape[1]).map(h => make("option", {value: ":" + h}, "head " + h)) : []);
  const factor = make("input", {type: "number", step: "any", value: 2, size: 5,
    "aria-label": "factor of the gradient"});
  const add = (name, item) => change({[name]: [...without(state[name], item), item]});
  return make("div", {class: "controls", id: "live-gradient"}, "its gradient: ", n.shape.length === 4 ? head : "",
    make("button", {onclick: () => add("zero", n.path + head.value)}, "zero"),
    make("button", {onclick: () => add("freeze", n.path)}, "freeze"), factor,
    make("button", {onclick: () => add("scale-gradient", `${n.path}${head.value}=${Number(factor.value)}`)}, "scale"));
}
function toggle_mask(name, query, key, kept) {
  const cell = `${name}:${query},${key}`;
  const [to, from] = kept ? ["mask", "unmask"] : ["unmask", "mask"];
  change(state[from].includes(cell) ? {[from]: without(state[from], cell)} : {[to]: [...state[to], cell]});
}
// A pixel gets the brush's value; `place` as --paint has it.
function paint(place) {
  change({paint: [...state.paint.filter(p => !p.startsWith(place + "=")), `${place}=${Number(brush.value)}`]});
}
function reset() {
  delete state.fresh;
  delete state.model;
  change(structuredClone(original));
}

// ---- training in the page ----
const of_pairs = {layers: 1, "d-model": 32, heads: 2, "d-ff": 64, "try-every": 1, epochs: 40, enough: 0.99};
const kinds_of_run = {copy: {task: "copy", ...of_pairs},
  reverse: {task: "reverse", ...of_pairs},
  phrasebook: {task: "phrasebook", layers: 1, "d-model": 64, heads: 2, "d-ff": 128}};
const task = make("select", {id: "live-task", "aria-label": "what is learned"},
  Object.keys(kinds_of_run).map(name => make("option", {value: name}, name)));
const run = {on: false, begun: null, steps: [], tried: [], over: false, updates: 4};
const run_status = make("p", {role: "status", id: "live-run", class: "soft"});
const run_command = make("code", {id: "live-run-command"});
const curves = make("div", {class: "controls", id: "live-curves"});
// One line over the steps; a logarithmic scale where all is above 0.
function curve(title, points) {
  const width = 300, height = 90, [low, high] = d3.extent(points, p => p[1]);
  const first = points[0], last = points[points.length - 1];
  const scale = (low > 0 ? d3.scaleLog() : d3.scaleLinear()).domain([low, Math.max(high, 1.01 * low)])
    .range([height - 4, 4]);
  const x = d3.scaleLinear().domain([first[0], Math.max(last[0], first[0] + 1)]).range([2, width - 2]);
  const svg = d3.create("svg").attr("width", width).attr("height", height).attr("role", "img")
    .attr("aria-label", `${title}: ${Glim.number(last[1])}`);
  svg.append("path").attr("fill", "none").attr("stroke", "var(--accent)").attr("stroke-width", 1.5)
    .attr("d", d3.line().x(p => x(p[0])).y(p => scale(p[1]))(points));
  return make("div", {}, make("div", {class: "soft"},
    `${title}: ${Glim.number(last[1])}, first ${Glim.number(first[1])}`), svg.node());
}
function train(updates) {
  const begin = run.begun !== task.value;
  const started = performance.now();
  const found = call({train: begin ? kinds_of_run[task.value] : null, updates});
  const seconds = (performance.now() - started) / 1000;
  if (begin) Object.assign(run, {begun: task.value, steps: [], tried: [], updates: 4});
  run.steps.push(...found.steps);
  run.tried.push(...found.tried);
  run.over = found.over;
  if (found.steps.length === updates)  // some three pictures a second
    run.updates = Math.max(1, Math.min(64, Math.round(updates * (seconds > 0.5 ? 0.5 : seconds < 0.2 ? 2 : 1))));
  const [step] = run.steps[run.steps.length - 1], tried = run.tried[run.tried.length - 1];
  curves.replaceChildren(curve("loss per target", run.steps.map(s => [s[0], s[1]])),
    curve("gradient norm", run.steps.map(s => [s[0], s[2]])));
  run_status.textContent = `${step} updates` +
    (tried ? `; after ${tried[0]}, ${(100 * tried[1]).toFixed(1)} % of the held-out outputs were exactly right` : "") +
    (run.over ? "; the run is over." : ".");
  run_command.textContent = "glim train --out run" +
    Object.entries(kinds_of_run[run.begun]).map(([n, v]) => ` --${n} ${v}`).join("");
  base = null;
  if (begin || state.model !== kRun) {  // a sentence of the task
    delete state.fresh;
    const example = call({model: kRun, sentence: "", translation: ""});
    change({...structuredClone(original), fresh: undefined, model: kRun, sentence: example.source_text,
      translation: example.target_text});
  } else {
    change({});
  }
}
function go_on() {
  if (!run.on) return;
  try {
    train(run.updates);
  } catch (e) {
    run.on = false;
    run_status.textContent = e.message;
  }
  if (run.over) run.on = false;
  go.textContent = run.on ? "pause" : "go on";
  if (run.on) setTimeout(go_on);
}
const go = make("button", {id: "live-train", onclick: () => {
  run.on = !run.on && !(run.over && run.begun === task.value);
  go.textContent = run.on ? "pause" : "go on";
  go_on();
}}, "train");
const training = make("details", {id: "live-training"}, make("summary", {}, "train a model in this page"),
  make("p", {}, "A small Transformer from scratch. All that the page shows, every A, ∂L/∂A, S and ∂L/∂S, is of the " +
    "weights so far."),
  make("div", {class: "controls"}, task, go, make("button", {id: "live-train-step", onclick: () => { run.on = false;
    go.textContent = "go on"; if (!run.over || run.begun !== task.value) train(1); }}, "one update")),
  curves, run_status, make("p", {}, "The same run natively: ", run_command));

// The steps of the path: one change at a time, from the state as it was, but for the reader's own text or image.
let own_text = null;  // while a fresh model reads another one
const hand = {
  now: () => drawn ?? still,
  was: () => drawn_change,
  self() {
    const views = (drawn ?? still).attention;
    return (views.find(v => v.side.startsWith("decoder self")) ?? views[0])?.module ?? "";
  },
  reset: () => hand.change({}),
  show(tab, path) {
    Glim.show_view(tab);
    if (tab === "walk") Glim.show_path(path);
  },
  // A fresh model of the page's kind; what one text it reads is the task's.
  fresh: sizes => hand.change({fresh: {...(!pairs && {kind: still.kind}), ...sizes},
    ...(!pairs && {sentence: "", hide: []})}, "model"),
  change(values, tab, name) {
    own_text ??= {sentence: state.sentence, hide: state.hide};
    const {translation, label, image} = state, {sentence, hide} = own_text;
    if (!values.fresh) own_text = null;
    delete state.fresh;
    delete state.model;
    change({...structuredClone(original), sentence, translation, hide, label, image, ...values});
    if (tab) Glim.show_view(tab);
    const module = document.getElementById("attention-module");
    if (name && module) {
      module.value = (drawn ?? still).attention.findIndex(v => v.module === name);
      module.dispatchEvent(new Event("change"));
    }
    return !document.querySelector("#live-status.warning");
  },
};
function panel(draw_inspection) {
  draw = draw_inspection;
  take_drops(document.querySelector("main"));
  // All but the slider and what was changed is folded away on a phone, whose window the pass needs.
  const guide = make("div", {hidden: true}), from_link = Glim.changes, more = make("details", {id: "live-more"});
  const controls = make("fieldset", {disabled: true, id: "live"}, make("legend", {}, "Change something"),
    make("div", {class: "controls first"}, make("label", {}, "factor of Q Kᵀ ", scale), scale_number,
      make("button", {onclick: () => change({scale: null})}, "1/√Dk"),
      make("button", {onclick: () => change({scale: 1})}, "1")), changes, status, more);
  const wide = matchMedia("(min-width: 960px)");
  const set_wide = () => { more.open = wide.matches; };
  wide.addEventListener("change", set_wide);
  set_wide();
  more.append(make("summary", {}, "more to change, and a path"), guide,
    make("div", {class: "controls"},
      images ? make("label", {}, "image ", image) : text("live-sentence", "sentence", "sentence"),
      images ? make("label", {}, "a click on a pixel (Tokens) paints it ", brush) : "",
      pairs ? text("live-translation", "translation", "translation") : "",
      still.takes.includes("hide") ? make("label", {}, "hidden tokens, from 1 on ", hide) : "",
      still.takes.includes("label") ? make("label", {}, "class ", label) : ""),
    make("div", {class: "controls"},
      make("label", {}, "label smoothing ε ", smoothing), make("label", {}, dropout, " dropout")),
    make("div", {class: "controls"}, make("label", {}, "remove ", part)),
    make("details", {}, make("summary", {}, "heads"), heads),
    images?.length === 1 ? "" : make("details", {id: "live-patch"}, make("summary", {}, `values of another ${source_word}`),
      make("p", {class: "soft"}, `Choose another ${source_word}. Then drag one of its nodes onto the pass, or press it: the page says what the ` +
        `loss becomes if this node alone has its value of the other ${source_word}. Enter in the search takes a pattern, such as *.context: ` +
        "every head of every attention."),
      make("div", {class: "controls"}, make("label", {}, `another ${source_word} `, other), make("label", {}, "its nodes ", wanted)), sources),
    !pairs && !original.fresh ? "" : make("details", {}, make("summary", {}, "a fresh model in its place"),
      make("div", {class: "controls", id: "live-fresh"}, [...fresh].map(([name, control]) =>
        make("label", {}, name + " ", control)))),
    pairs ? training : "",
    make("div", {class: "controls"}, make("button", {id: "live-reset", onclick: reset}, "as it was")),
    make("p", {}, "The same natively: ", shown));
  draw_heads();
  start().then(() => {
    controls.disabled = false;
    open_changes(from_link);
    Glim.open_changes = open_changes;
    guide.append(Path.panel(hand));
    guide.hidden = false;
    Glim.live.ready = true;
  }).catch(e => say("Glim does not start in this browser, so that nothing can be changed; the page shows the pass as " +
    `it was written. (${e.message})`, true));
  setTimeout(update);
  return controls;
}
return {panel, add_details, add_lens, why, why_part, patch, patch_table, patched_words, gradient_controls, toggle_mask, paint, change, run, state, command_line, command_words,
  drawn: () => drawn, patches: () => patches, ready: false};
})();
