// The page of glim inspect: the model, its attention, the backward walk, the tokens, in words.
"use strict";
(() => {
// The pass that is drawn, and in a live page the pass as it was before any change, with its blocks and nodes by name.
let data = Glim.data, was = null;
const make = Glim.make, number = Glim.number, legend = Glim.legend, unpack = Maps.unpack;

// ---- 1. the model ----
function draw_model(panel) {
  panel.append(make("p", {}, "Each block's colour and the line below it are the norm of the gradient of its " +
    "output, ‖∂L/∂output‖: read down, as backward goes. At each residual connection the bar shows how much of the gradient of x takes the " +
    "skip (green) and how much the sub-layer (pink). A share is the part's component along the whole gradient: shares " +
    "add up to 100 %, and one above 100 % says that the other part points against it. A click shows the node."));
  const norms = data.blocks.map(b => b.gradient_norm).filter(x => x > 0);
  const low = Math.log10(d3.min(norms) || 1), high = Math.log10(d3.max(norms) || 1);
  const scale = Glim.scale(low, high, false);
  panel.append(legend(10 ** low, 10 ** high, false, "‖∂L/∂output‖, logarithmic"));
  const sides = make("div", {class: "model"});
  for (const side of ["encoder", "decoder", "model"].filter(s => data.blocks.some(b => b.side === s))) {
    const stack = make("div", {class: "stack"}, make("h3", {style: "order: 1"}, side));
    const layers = new Map();
    const end = x => data.nodes[x].scope;
    for (const b of data.blocks.filter(b => b.side === side)) {
      let parent = stack;
      if (b.layer >= 0) {
        const key = b.module.slice(0, b.module.lastIndexOf("."));
        if (!layers.has(key)) {
          const box = make("div", {class: "layer", "data-module": key},
            make("span", {class: "label"}, key));
          layers.set(key, box);
          stack.append(box);
        }
        parent = layers.get(key);
      }
      const fill = b.gradient_norm > 0 ? scale(Math.log10(b.gradient_norm)) : "#777";
      const block = make("button", {class: "block", "data-module": b.module,
        style: `background:${fill};color:${Glim.ink(fill)}`,
        title: `${b.module}\n‖∂L/∂output‖ = ${number(b.gradient_norm)}\n‖output‖ = ` +
          `${number(b.value_norm)}\n‖∂L/∂parameters‖ = ${number(b.parameter_gradient_norm)}`,
        onclick: () => go_to_node(b.node)},
        make("span", {}, b.part), make("span", {class: "mono"}, number(b.gradient_norm),
          before(was?.blocks.get(b.module)?.gradient_norm, b.gradient_norm)), b.gradient_norm > 0 ? make("span",
          {class: "norm", style: `width:${4 + 96 * (Math.log10(b.gradient_norm) - low) / (high - low || 1)}%`}) : "");
      const junction = data.junctions.find(j => b.layer >= 0 && j.sublayer === b.part &&
        j.module === b.module.slice(0, b.module.lastIndexOf(".")));
      parent.append(block);
      if (junction) parent.append(shares(junction));
    }
    sides.append(stack);
  }
  panel.append(sides);
  if (data.memory.x >= 0) {
    panel.append(make("h2", {}, "What reaches the encoder through cross-attention"),
      make("p", {class: "soft"}, `‖∂L/∂memory‖ = ${number(data.memory.norm)}`), shares_table([data.memory]));
  }
  panel.append(make("h2", {}, "Residual connections"), shares_table(data.junctions));
}
// " (was 0.123)" beside a number that a change has changed.
function before(old, now) {
  return old === undefined || number(old) === number(now) ? "" : ` (was ${number(old)})`;
}
function shares(j) {
  const kinds = ["skip", "sub", "elsewhere"];
  const most = d3.sum(j.branches, b => Math.abs(b.share)) || 1;
  const words = j.branches.map(b => `${b.name} ${(100 * b.share).toFixed(1)} %`).join(", ");
  return make("div", {class: "junction", role: "img", title: `${j.module}: ${words}`, "aria-label": words},
    j.branches.map((b, i) => make("div", {class: kinds[i],
      style: `width:${100 * Math.abs(b.share) / most}%`},
      Math.abs(b.share) > 0.1 * most ? (100 * b.share).toFixed(0) + " %" : "")));  // else there is no room
}
function shares_table(junctions) {
  const rows = junctions.flatMap(j => j.branches.map((b, i) => make("tr", {},
    make("td", {}, i ? "" : Glim.breakable(`${j.module} ${j.sublayer}`)), make("td", {}, Glim.breakable(b.name)),
    make("td", {class: "number", "data-share": b.share}, (100 * b.share).toFixed(1) + " %"),
    make("td", {class: "number"}, number(b.norm)))));
  return make("div", {class: "scroll"}, make("table", {}, make("thead", {}, make("tr", {},
    make("th", {}, "junction"), make("th", {}, "branch"), make("th", {class: "number"}, "share"),
    make("th", {class: "number"}, "norm"))), make("tbody", {}, rows)));
}

// ---- 2. attention ----
const kinds_of_map = {
  A: ["probabilities A", false], dA: ["∂L/∂A", true], S: ["scores S", true], dS: ["∂L/∂S", true],
};
const signed = x => (x < 0 ? "−" : "+") + number(Math.abs(x));
// A sentence names the largest cell of a map, among queries that have a choice, by the tokens of this pass.
function sentence(key, values, v, keep) {
  const size = x => key === "A" || key === "S" ? x : Math.abs(x);
  const n = v.keys.length, choice = d3.range(v.queries.length).map(r => d3.sum(keep.slice(r * n, r * n + n)) > 1);
  const cells = d3.range(values.length).filter(i => keep[i] && choice[Math.floor(i / n)] && Number.isFinite(values[i]));
  const most = d3.max(cells, i => size(values[i])), i = cells.find(i => size(values[i]) === most), x = values[i];
  if (x === undefined || !x) return "all 0";
  const q = `‘${v.queries[Math.floor(i / n)]}’`, k = `‘${v.keys[i % n]}’`;
  return {A: `${q} looks at ${k}: ${(100 * x).toFixed(0)} %`, S: `${q} scores highest with ${k}: ${number(x)}`,
    dA: `the loss falls if ${q} takes ${x > 0 ? "less" : "more"} of ${k}`,
    dS: `${q} is asked to look ${x > 0 ? "less" : "more"} at ${k}`}[key];
}
// The loss without a head, and what first and second order of its gradient say of it.
function without(effect) {
  return effect ? ` · loss without it ${signed(effect.change)} (first order ${signed(effect.linear)}, second ` +
    `${signed(effect.linear + effect.second)}${effect.misleads ? ": the first misleads" : ""})` : "";
}
// The parts of score (r, c) of head h are the page's, or the live page's Glim computes them, or the command is shown.
function parts_of_score(v, h, r, c) {
  if (Glim.live?.drawn()) return Glim.live.why(v, h, r, c);
  const stored = v.why, at = stored ? stored.heads.indexOf(h) : -1;
  if (at < 0) return null;
  const [, T, S, shown] = stored.query.shape, i = (at * T + r) * S + c;
  const [values, query, key] = [stored.values, stored.query, stored.key].map(unpack);
  return {parts: d3.range(shown).filter(k => k < stored.count).map(k => [values[i * (shown + 1) + k],
    stored.sources[query[i * shown + k]], stored.sources[key[i * shown + k]]]),
  rest: values[i * (shown + 1) + shown], count: stored.count, gap: stored.gap};
}
// In a live page a button masks the cell.
function mask_button(v, r, c, kept) {
  return Glim.live ? make("p", {}, make("button", {id: "mask-cell", onclick: () => Glim.live.toggle_mask(v.module, r, c, kept)},
    kept ? `mask: ‘${v.queries[r]}’ may not attend to ‘${v.keys[c]}’` : `let ‘${v.queries[r]}’ attend to ‘${v.keys[c]}’`),
  make("span", {class: "soft"}, " in all heads of this attention")) : "";
}
// A source leads one level down: an earlier head to what it read there, a feed-forward network to its node. A part is
// split again by what its sources read.
function why(v, h, r, c, keep) {
  const at = r * v.keys.length + c, kept = Boolean(keep[at]), mask = mask_button(v, r, c, kept);
  if (!kept) return [make("p", {class: "soft"}, "masked: the softmax does not see this score"), mask];
  const {values: gradient} = Maps.part(v.dS, h), largest = d3.max(gradient, Math.abs), asked = gradient[at];
  const found = parts_of_score(v, h, r, c), command = Glim.live?.command_words() ?? Glim.data.command;
  const line = part => command ? [...command, "--why", `${v.module}:${h}:${r},${c}`, ...part].map(Glim.quoted).join(" ") : "glim.why";
  const words = line([]);
  if (!found && v.why === false) return [mask, make("p", {class: "soft"}, "These scores are no scaled products of queries and keys.")];
  if (!found)
    return [mask, make("p", {class: "soft"}, "What this score is made of: ", make("code", {}, words))];
  const below = make("p", {class: "below", role: "status"});
  const source = (name, position) => {
    const [, module, head] = /^(.*):(\d+)$/.exec(name) ?? [], w = data.attention.find(w => w.module === module);
    const node = data.nodes.find(n => n.name === name);
    const read = () => {
      const n = w.keys.length, A = Maps.part(w.A, Number(head)).values.slice(position * n, position * n + n);
      const most = d3.range(n).sort((a, b) => A[b] - A[a]).slice(0, 4).filter(k => A[k] > 0.01);
      below.replaceChildren(`${name} at position ${position}, ‘${w.queries[position]}’, reads `, ...most.flatMap(k => [
        make("a", {href: Glim.address("attention", [side_name(w), w.layer, head, "all", `${position},${k}`])},
          `‘${w.keys[k]}’ ${(100 * A[k]).toFixed(0)} %`), " "]));
    };
    return w ? make("button", {class: "mono", onclick: read}, Glim.breakable(name)) :
      node ? make("button", {class: "mono", onclick: () => go_to_node(node.number)}, Glim.breakable(name)) :
        make("span", {class: "mono"}, Glim.breakable(name));
  };
  const split = (query, key) => {
    const found = Glim.live?.drawn() && Glim.live.why_part(v, h, r, c, [query, key]), names = ["--why-part", query, key];
    const all = make("p", {class: "soft"}, found ? "All rows: " : "What the sources of this part read: ", make("code", {}, line(names)));
    if (!found) return below.replaceChildren(all);
    if (found.refused) return below.replaceChildren(make("p", {}, found.refused));
    below.replaceChildren(...found.splits.flatMap(({side, source: name, rows, rest, count, gap}) => {
      const head = data.attention.find(w => name.startsWith(w.module + ":"));
      return [make("p", {}, `${signed(found.part)}, the part of query from ${query} and key from ${key}, by what ` +
        `${side === "query" ? "the query's" : "the key's"} ${name} read, with its ${head ? "attention" : "gate"} of this pass:`),
      make("table", {}, make("tbody", {}, rows.map(({part, position, source: from}) => make("tr", {"data-row-part": part},
        make("td", {class: "number"}, signed(part)), make("td", {}, head ? `position ${position} ‘${head.keys[position]}’` : ""),
        make("td", {}, source(from, position ?? (side === "query" ? r : c))))),
      count > rows.length ? make("tr", {"data-row-part": rest}, make("td", {class: "number"}, signed(rest)),
        make("td", {colspan: 2, class: "soft"}, `the other ${count - rows.length}`)) : "")),
      make("p", {class: "soft"}, `The ${count} rows add up to the part but for ${number(gap)}.`)];
    }), all);
  };
  const splits = name => /:\d+$/.test(name) || data.nodes.some(n => n.name === name);
  return [mask, make("p", {}, `Score less its row's mean, S − mean = ${signed(d3.sum(found.parts, p => p[0]) + found.rest)}, is the sum of ` +
      `${found.count} parts, of where query ${r} and key ${c} come from. ∂L/∂S = ${signed(asked)}` +
      (Math.abs(asked) < 1e-3 * largest ? `: next to nothing, as the largest of this head is ${number(largest)}.` :
        asked ? `: the loss asks each of them to be ${asked > 0 ? "lower" : "higher"}.` : ".")),
    make("div", {class: "scroll"}, make("table", {}, make("thead", {}, make("tr", {}, make("th", {class: "number"}, "part"),
      make("th", {}, `query ‘${v.queries[r]}’ from`), make("th", {}, `key ‘${v.keys[c]}’ from`), make("th", {}, ""))), make("tbody", {},
      found.parts.map(([part, query, key]) => make("tr", {"data-part": part}, make("td", {class: "number"}, signed(part)),
        make("td", {}, source(query, r)), make("td", {}, source(key, c)), make("td", {}, splits(query) || splits(key) ?
          make("button", {"aria-label": `split the part of ${query} and ${key}`, onclick: () => split(query, key)}, "split") : ""))),
      found.count > found.parts.length ? make("tr", {"data-part": found.rest}, make("td", {class: "number"}, signed(found.rest)),
        make("td", {colspan: 2, class: "soft"}, `the other ${found.count - found.parts.length}`)) : ""))),
    below, make("p", {class: "soft"}, `The parts add up to the score but for ${number(found.gap)}. All of them: `,
      make("code", {}, words))];
}
// Where the page opens: the head with the largest ‖∂L/∂A‖, of which the loss asks most.
function most_asked(views) {
  let most = {norm: -1};
  for (const view of views)
    view.heads.forEach((h, head) => { if (h.probs_gradient > most.norm) most = {view, head, norm: h.probs_gradient}; });
  return most;
}
// The loss without each head, measured and predicted: tools/inspect/pictures.cpp draws it, a click on a cell leads to its head.
function without_heads() {
  if (!data.without_heads) return "";
  const views = data.attention.filter(v => v.without.length), columns = d3.max(views, v => v.without.length);
  const drawn = make("div", {class: "drawn"});
  drawn.innerHTML = data.without_heads;
  for (const masked of drawn.querySelectorAll("defs")) masked.remove();  // the page has the pattern
  [...drawn.querySelectorAll("svg svg")].forEach((svg, estimate) => {
    const cells = [...svg.querySelector("g").children], name = ["measured", "by first order", "by second order"][estimate];
    svg.setAttribute("tabindex", 0);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `loss without each head, ${name}: arrow keys read the values`);
    Maps.move(svg, cells, columns, i => {
      const v = views[Math.floor(i / columns)], e = v.without[i % columns];
      return e ? `${v.side}, layer ${v.layer}, head ${i % columns}\n${name} ` +
        signed([e.change, e.linear, e.linear + e.second][estimate]) : "no such head";
    }, i => {
      const v = views[Math.floor(i / columns)];
      location.hash = Glim.address("attention", [side_name(v), v.layer, i % columns, "all"]);
    });
  });
  Glim.offer(drawn.querySelector("svg"), "loss without each head");
  const changes = d3.sort(views.flatMap(v => v.without.map((e, h) => [e.change, v, h])), c => c[0]);
  const said = ([change, v, h]) => `${v.side}, layer ${v.layer}, head ${h}, ${signed(change)}`;
  return make("details", {id: "without-heads"}, make("summary", {}, `Loss without each head: highest without ${said(changes.at(-1))}; ` +
    `lowest without ${said(changes[0])}`), drawn,
  make("p", {class: "soft"}, "Orange: the loss is higher without the head, which this prediction needs. Measured by a pass without it; " +
    "beside it what the gradient predicts, and what gradient and curvature predict. A click leads to the head."));
}
const side_name = v => v.side.replace(" ", "-");
// place: [side, layer, head, map, cell], as #attention/cross/0/0/all or #attention/cross/0/0/all/3,1.
function draw_attention(panel, [side, layer, in_front, map, cell]) {
  if (!data.attention.length) {
    panel.append(make("p", {}, "This model has no attention to show."));
    return;
  }
  const module = make("select", {id: "attention-module", "aria-label": "module"},
    data.attention.map((v, i) => make("option", {value: i}, `${v.side}, layer ${v.layer}`)));
  const shown = make("select", {id: "attention-map", "aria-label": "what is shown"},
    Object.entries(kinds_of_map).map(([key, [words]]) => make("option", {value: key}, words)),
    make("option", {value: "all"}, "all four"));
  const shared = make("input", {type: "checkbox", id: "attention-shared", checked: true});
  const wanted_view = data.attention.find(v => side_name(v) === side && String(v.layer) === layer);
  let {view: first, head: front} = most_asked(data.attention);
  if (wanted_view) [first, front] = [wanted_view, Math.min(Number(in_front) || 0, wanted_view.heads.length - 1)];
  module.value = data.attention.indexOf(first);
  shown.value = kinds_of_map[map] ? map : "all";
  const heads = make("div", {class: "heads"});
  const about = make("p", {class: "soft"});
  const redraw = () => {
    const v = data.attention[module.value], keep = unpack(v.keep), old = was?.attention.get(v.module);
    const wanted = shown.value === "all" ? Object.keys(kinds_of_map) : [shown.value];
    about.textContent = `${v.module}${keep?.some(k => !k) ? "; hatched: masked" : ""}.` +
      (v.side === "cross" ? " A row is named by the token that is predicted." : "") +
      " A click or Enter on a cell says what its score is made of" +
      (Glim.live ? "; a button there masks it, or Shift with the click." : ".");
    const link = () => Glim.link("attention", [side_name(v), v.layer, front, shown.value, ...(cell ? [cell] : [])]);
    const numbers_of = h => {
      const [r, c] = (cell ?? "").split(",").map(Number);
      if (!cell || !(r < v.queries.length && c < v.keys.length)) return "";
      const at = (h * v.queries.length + r) * v.keys.length + c;
      return `${v.queries[r]} → ${v.keys[c]}: ` + Object.entries(kinds_of_map).map(([key, [words]]) =>
        `${words} ${number(unpack(v[key])[at])}`).join(" · ");
    };
    const pick = (h, r, c, shift) => {
      for (const old of heads.querySelectorAll("rect.chosen")) old.classList.remove("chosen");
      cell = `${r},${c}`;
      front = h;
      for (const now of heads.querySelectorAll(`rect[data-row="${r}"][data-column="${c}"]`)) now.classList.add("chosen");
      for (const line of heads.querySelectorAll(".cell-numbers")) line.textContent = numbers_of(line.dataset.of);
      link();
      show_why();
      heads.querySelector(".why:not(:empty)").scrollIntoView({block: "nearest"});
      if (shift) Glim.live?.toggle_mask(v.module, r, c, keep[r * v.keys.length + c]);
    };
    const show_why = () => {
      for (const box of heads.querySelectorAll(".why"))
        box.replaceChildren(...(cell && Number(box.dataset.of) === front ? why(v, front, ...cell.split(",").map(Number), keep) : []));
    };
    if (numbers_of(0) === "") cell = undefined;  // of another module
    link();
    // Cells as large as leaves all maps of a head in the window, four beside each other or two by two.
    const room = (heads.clientWidth || 1200) - 20, above = heads.getBoundingClientRect().top + window.scrollY + 40;
    const by_width = n => Math.min(wanted.length > 1 ? 64 : 24, Maps.fit(v.queries, v.keys, room / n - 16));
    const by_height = n => ((window.innerHeight - above) / (4 / n) - Maps.longest(v.keys) - 98) / v.queries.length;
    const in_sight = n => Math.floor(Math.min(by_width(n), by_height(n)));
    const best = in_sight(4) >= in_sight(2) ? 4 : 2;
    const size = wanted.length > 1 && room > 500 && in_sight(best) >= 8 ? in_sight(best) : Math.max(12, by_width(1));
    const width = Math.min(room, Maps.width(v.queries, v.keys, size));
    heads.style.setProperty("--map", `${width}px`);
    heads.style.setProperty("--head", wanted.length === 1 ? `${width + 18}px` : "100%");
    const order = v.heads.map((_, h) => h).sort((a, b) => (b === front) - (a === front));
    heads.replaceChildren(...order.map(h => [h, v.heads[h]]).map(([h, head]) => make("div",
      {class: "head", "data-head": h, "aria-current": h === front && "true"},
      make("h3", {}, make("a", {href: Glim.address("attention", [side_name(v), v.layer, h, shown.value])}, `head ${h}`)),
      make("div", {class: "facts"}, `entropy ${number(head.entropy)}${before(old?.heads[h]?.entropy, head.entropy)} ` +
        `nats · saturation ${number(head.saturation)}${before(old?.heads[h]?.saturation, head.saturation)} · ` +
        `distance ${number(head.distance)}${before(old?.heads[h]?.distance, head.distance)} · ` +
        `value path ${head.value_share === null ? "–" : (100 * head.value_share).toFixed(1) + " %"} · ` +
        `‖∂L/∂S‖/‖∂L/∂A‖ ${number(head.passed)}${before(old?.heads[h]?.passed, head.passed)}` + without(v.without[h])),
      make("div", {class: "facts cell-numbers", "data-of": h, role: "status"}, numbers_of(h)),
      make("div", {class: "maps"}, wanted.map(key => {
        const [words, diverging] = kinds_of_map[key];
        const options = {title: key, key, axes: true, keep, diverging, pick: (...place) => pick(h, ...place), chosen: cell, size, name: `${v.module} head${h} ${key}`};
        if (shared.checked) [options.low, options.high] = diverging ? Maps.range(unpack(v[key]), keep) : [0, 1];
        else options.scale = "this head's own scale";
        const map = Maps.part(v[key], h);
        return make("div", {}, make("div", {class: "facts says"}, make("b", {}, words), ` ${sentence(key, map.values, v, keep)}`),
          Maps.draw(map, v.queries, v.keys, options));
      })), make("div", {class: "why", "data-of": h}))));
    show_why();
  };
  module.addEventListener("change", () => { front = most_asked([data.attention[module.value]]).head ?? 0; });
  for (const control of [module, shown, shared]) control.addEventListener("change", redraw);
  panel.append(make("div", {class: "controls"}, module, shown,
      make("label", {}, shared, " one colour scale for all heads")), without_heads(), about, heads,
    make("p", {}, "Layers and heads count from 0, as in the names of modules. A head's saturation is 0 when its softmax is uniform and 1 when its Jacobian is zero. Its distance is the mean of " +
    "|t − s| over what it attends to, in places. " +
    "‖∂L/∂S‖/‖∂L/∂A‖ is what the softmax passes on of the gradient, at most 1/2. The value path is " +
    "‖∂L/∂v‖² as a share of ‖∂L/∂v‖² + ‖∂L/∂q‖² + ‖∂L/∂k‖². The page opens on the head with the largest ‖∂L/∂A‖, of " +
    "which the loss asks most."));
  redraw();
}

// ---- 3. the backward walk ----
let show_node = () => {};
function go_to_node(node) {
  Glim.show_view("walk");
  show_node(node);
}
// An op that only shows its input under another shape, and has no name of its own.
const is_view = n => ["broadcast_to", "permute", "reshape", "slice"].includes(n.op) &&
  n.path.slice(n.path.lastIndexOf(".") + 1) === n.op;
// place: [node] or ["graph", module].
function draw_walk(panel, [place, graph]) {
  const search = make("input", {type: "search", placeholder: "path or op", "aria-label": "search nodes"});
  const views = make("input", {type: "checkbox", id: "walk-views"});
  const list = make("div", {class: "list", role: "listbox", "aria-label": "nodes in backward order"});
  const detail = make("div", {id: "node"}), minimap = make("div", {id: "minimap"});
  const order = data.walk;
  // The first node to look at has a name, and is no number: log_probs, before which is the arithmetic of the loss.
  const first = order.find(i => data.nodes[i].op !== "leaf" && data.nodes[i].shape.length &&
    data.nodes[i].path.split(".").pop() !== data.nodes[i].op);
  let buttons = new Map(), current = first ?? order[0], redraw = () => {};
  const fill = () => {
    const wanted = search.value.trim().toLowerCase();
    list.replaceChildren();
    buttons = new Map();
    let group, head, scope;
    for (const i of order) {
      const n = data.nodes[i];
      if (wanted && !n.path.toLowerCase().includes(wanted) && n.op !== wanted) continue;
      if (scope !== n.scope || !group) {
        scope = n.scope;
        head = make("summary", {}, scope || "the model");
        group = make("details", {open: Boolean(wanted)}, head);
        list.append(group);
        group.shown = group.folded = 0;
      }
      const folded = !views.checked && is_view(n);
      ++group[folded ? "folded" : "shown"];
      const count = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
      group.hidden = !group.shown;
      head.replaceChildren(scope || "the model", " ", make("span", {class: "soft"}, count(group.shown, "node"),
        group.folded ? ", " + count(group.folded, "view") : ""));
      if (folded) continue;
      const button = make("button", {onclick: () => show(i), "data-node": i},
        `${n.turn + 1}. ${n.path.slice(scope ? scope.length + 1 : 0)} `, make("span", {class: "mono soft"}, n.op));
      buttons.set(i, button);
      group.append(button);
    }
    if (!buttons.size) list.append(make("p", {}, "no node's path or op contains this"));
    mark();
  };
  // All nodes in backward order, line by line, by the norm of their gradients.
  const draw_minimap = () => {
    const columns = Math.min(order.length, Math.floor(((panel.clientWidth || 1200) - 8) / 8)), rows = Math.ceil(order.length / columns);
    const values = d3.range(rows * columns).map(i => Math.log10(data.nodes[order[i]]?.gradient?.norm || NaN));
    minimap.replaceChildren(Maps.draw({rows, columns, values}, null, null, {title: "minimap", size: 8,
      scale: "log₁₀ ‖∂L/∂y‖ of every node, as backward comes to them", name: "the walk", text: i => order[i] === undefined ? "" :
        `${data.nodes[order[i]].turn + 1}. ${data.nodes[order[i]].path}\n‖∂L/∂y‖ = ${number(data.nodes[order[i]].gradient?.norm)}`,
      pick: (r, c) => { if (order[r * columns + c] !== undefined) show_node(order[r * columns + c]); }}));
  };
  const mark = () => {
    minimap.querySelectorAll("rect").forEach((cell, i) => cell.classList.toggle("chosen", order[i] === current));
    for (const [k, b] of buttons) b.setAttribute("aria-current", k === current);
    const button = buttons.get(current);
    if (!button) return;
    button.parentElement.open = true;
    list.scrollTop += button.getBoundingClientRect().top - list.getBoundingClientRect().top - list.clientHeight / 3;
  };
  const show = i => {
    current = i;
    mark();
    Glim.link("walk", [data.nodes[i].name]);
    redraw = () => detail.replaceChildren(...describe(i));
    redraw();
  };
  show_node = i => {
    if (!buttons.has(i)) {
      search.value = "";
      if (is_view(data.nodes[i])) views.checked = true;
      fill();
    }
    show(i);
  };
  const turn = step => {
    const here = data.nodes[current].turn;
    const beyond = [...buttons.keys()].filter(k => step * (data.nodes[k].turn - here) > 0);
    if (beyond.length) show(step > 0 ? beyond[0] : beyond[beyond.length - 1]);
  };
  search.addEventListener("input", fill);
  panel.addEventListener("keydown", event => {
    if (event.target === search || event.target.tagName === "svg") return;
    if (event.key === "n" || event.key === "ArrowDown") { turn(1); event.preventDefault(); }
    if (event.key === "p" || event.key === "ArrowUp") { turn(-1); event.preventDefault(); }
  });
  const modules = [...new Set(data.nodes.map(n => n.scope).filter(Boolean))];
  const chosen = make("select", {id: "graph-module", "aria-label": "module to draw"},
    make("option", {value: ""}, "graph of a module…"), modules.map(m => make("option", {value: m}, m)));
  chosen.addEventListener("change", () => {
    if (!chosen.value) return;
    Glim.link("walk", ["graph", chosen.value]);
    redraw = () => detail.replaceChildren(...draw_graph(chosen.value, views.checked));
    redraw();
  });
  views.addEventListener("change", () => { fill(); redraw(); });
  panel.append(make("p", {}, "Every node of the tape in backward order, module by module: what arrives at it (∂L/∂y) " +
    "and what its op sends to each of its inputs. Keys n and p, or the arrows, go on and back."),
    make("div", {class: "controls"}, make("button", {id: "previous", onclick: () => turn(-1)}, "← previous"),
      make("button", {id: "next", onclick: () => turn(1)}, "next →"), search,
      make("label", {}, views, " views, too"), chosen),
    minimap, make("div", {class: "walk"}, list, detail));
  draw_minimap();
  fill();
  const node = data.nodes.find(n => n.name === place && n.turn >= 0);
  if (node) show_node(node.number); else show(current);
  if (place === "graph" && modules.includes(graph)) {
    chosen.value = graph;
    chosen.dispatchEvent(new Event("change"));
  }
}
const shape_text = shape => "(" + shape.join(", ") + (shape.length === 1 ? ",)" : ")");
function node_link(i) {
  return make("button", {class: "mono", onclick: () => show_node(i)}, Glim.breakable(data.nodes[i].path));
}
function statistics_row(name, s) {
  const cell = x => make("td", {class: "number"}, x);
  return make("tr", {}, make("td", {}, Glim.breakable(name)), cell(number(s.norm)), cell(number(s.low)),
    cell(number(s.high)), cell((100 * s.zeros).toFixed(1) + " %"));
}
function picture(t, title, n) {
  if (!t) return [];
  const [rows, columns] = t.shape;
  const full = t.full.reduce((a, b) => a * b, 1);
  const words = full > rows * columns ? `${title}, ${shape_text(t.full)}: each cell is the element of ` +
    "the largest size in its part" : `${title}, ${shape_text(t.full)}`;
  const values = unpack(t);
  return [make("div", {class: "soft"}, words), Maps.draw({rows, columns, values}, n.rows, n.columns,
    {title, name: `${n.path} ${title}`, diverging: values.some(x => x < 0)})];
}
function describe(i) {
  Glim.live?.add_details(data.nodes[i]);
  const n = data.nodes[i], formula = data.formulas[n.op];
  const operand = k => n.inputs[k] >= 0 ? data.nodes[n.inputs[k]].path : "a constant";
  const rows = [statistics_row("value y", n.value)];
  const old = was?.nodes.get(n.name);
  if (old) rows.push(statistics_row("value y, was", old.value));
  if (n.gradient) rows.push(statistics_row("arriving ∂L/∂y", n.gradient));
  if (old?.gradient) rows.push(statistics_row("arriving ∂L/∂y, was", old.gradient));
  for (const f of n.flows) rows.push(statistics_row(`sent to ${operand(f.input)}`, f.statistics));
  const saved = n.saved.map(k => k < 0 ? "its output" : operand(k));
  const readers = data.nodes.filter(m => m.inputs.includes(i));
  return [
    make("h2", {}, Glim.breakable(n.path)), make("p", {class: "soft"},
      `node ${i}, op ${n.op}, turn ${n.turn + 1} of ${data.walk.length}, shape ${shape_text(n.shape)}` +
      (n.where ? `, called in ${n.where}` : "")),
    formula ? make("p", {class: "mono"}, formula.forward, make("br"), formula.gradients.join("   ")) :
      make("p", {class: "soft"}, "a parameter: gradients end here"),
    Glim.live && n.gradient ? Glim.live.gradient_controls(n) : "",
    make("p", {}, "scope ", make("span", {class: "mono"}, Glim.breakable(n.scope || "(none)")), ". Backward reads: ",
      saved.length ? saved.join(", ") : "nothing", "."),
    make("div", {class: "scroll"}, make("table", {}, make("thead", {}, make("tr", {},
      ["", "norm", "min", "max", "zeros"].map((t, k) => make("th", {class: k ? "number" : ""}, t)))),
      make("tbody", {}, rows))),
    make("p", {}, "inputs: ", n.inputs.map((k, at) => k < 0 ? make("span", {}, "a constant ") :
      node_link(k)), n.inputs.length ? "" : "none"),
    make("p", {}, "read by: ", readers.map(m => node_link(m.number)), readers.length ? "" : "nothing: the loss"),
    ...picture(n.picture, "value", n), ...picture(n.gradient_picture, "∂L/∂y", n),
  ];
}
// The nodes of a module with what they read from outside.
function draw_graph(scope, with_views) {
  const inside = data.nodes.filter(n => (n.scope === scope || n.scope.startsWith(scope + ".")) &&
    (with_views || !is_view(n)));
  const shown = inside.slice(0, 150), numbers = new Set(shown.map(n => n.number));
  const source = k => {  // of an edge: behind the views that are folded
    while (k >= 0 && !with_views && is_view(data.nodes[k])) k = data.nodes[k].inputs[0];
    return k;
  };
  const inputs_of = n => n.inputs.map(source).filter(k => k >= 0);
  const outside = [...new Set(shown.flatMap(inputs_of))].filter(k => !numbers.has(k)).sort((a, b) => a - b);
  const all = [...outside.map(k => data.nodes[k]), ...shown];
  const norms = all.map(n => n.gradient?.norm).filter(x => x > 0);
  const [low, high] = Maps.range(norms.map(Math.log10));
  const color = Glim.scale(low, high, false);
  const boxes = all.map(n => {
    const from_outside = !numbers.has(n.number);
    const name = n.path.slice(n.path.lastIndexOf(".") + 1);
    return {id: n.number, inputs: from_outside ? [] : inputs_of(n), path: n.path,
      label: Maps.short(from_outside ? n.path.split(".").slice(-2).join(".") : name, 22),
      note: `${n.op} ‖∂‖ ${number(n.gradient?.norm)}`,
      fill: n.gradient?.norm > 0 ? color(Math.log10(n.gradient.norm)) : "#888",
      shape: from_outside ? "input" : n.op === "leaf" ? "round" : "", click: () => show_node(n.number)};
  });
  return [make("h2", {}, Glim.breakable(scope)), make("p", {class: "soft"}, "Forward goes down. Dashed: " +
    "what the module reads from outside; round: parameters" + (with_views ? "" : "; views are folded into the edges") +
    (inside.length > shown.length ? `; the first ${shown.length} of ${inside.length} nodes` : "") +
    ". A click shows the node."),
    legend(10 ** low, 10 ** high, false, "‖∂L/∂y‖, logarithmic"), Graph.draw(boxes, scope)];
}

// ---- 4. written out ----
// place: [node]. The equations are those of the pass without changes; values and gradients are those of this pass.
function draw_lines(panel, [place]) {
  panel.append(make("p", {}, "Each line of the forward pass, and beside it the lines of backward that it gives rise to: read " +
    "the left column down, the right one up. Equal layers are written once. A click on a line shows its value, its gradient " +
    "and their maps. ", make("span", {class: "mono"}, "glim derive"), " writes the same as a sheet or as a program."),
    ...data.lines.notes.map(note => make("p", {class: "soft"}, note)));
  let open;
  for (const section of data.lines.sections) {
    const rows = section.rows.map(line => {
      const row = make("tr", {"data-node": line.nodes[0]}), detail = make("tr", {hidden: true}, make("td", {colspan: 2}));
      const show = i => {
        if (open && open !== detail) open.hidden = true;
        open = detail;
        detail.hidden = false;
        Glim.link("lines", [data.nodes[i].name]);
        Glim.live?.add_details(data.nodes[i]);
        const n = data.nodes[i], choices = line.nodes.map(k => make("button", {onclick: () => show(k), "aria-current": k === i},
          Glim.breakable(data.nodes[k].path)));
        detail.firstChild.replaceChildren(make("div", {class: "controls"}, choices,
          make("button", {onclick: () => go_to_node(i)}, "in the walk")),
        make("table", {}, make("tbody", {}, statistics_row("norm, min, max, zeros of the value", n.value),
          n.gradient ? statistics_row("of its gradient", n.gradient) : "")),
        ...picture(n.picture, "value", n), ...picture(n.gradient_picture, "gradient", n));
      };
      const at = line.nodes.find(i => i >= 0 && data.nodes[i].name === place), shown = line.nodes[0] >= 0;  // a constant has no node
      row.append(make("td", {}, make(shown ? "button" : "span", {class: "mono", onclick: () => shown && (detail.hidden ?
        show(line.nodes[0]) : detail.hidden = true)}, line.forward), make("div", {class: "soft"}, `${line.shape} ${line.where}`)),
      make("td", {class: "mono"}, line.backward.map(b => make("div", {}, b))));
      if (at !== undefined) {
        show(at);
        requestAnimationFrame(() => row.scrollIntoView({block: "center"}));
      }
      return [row, detail];
    });
    panel.append(make("h2", {}, section.heading), make("div", {class: "scroll"},
      make("table", {class: "lines"}, make("tbody", {}, rows.flat()))));
  }
}

// ---- 5. tokens ----
function token_row(names, values, most, title) {
  const color = Glim.scale(-most, most, true);
  return make("div", {}, names.map((name, i) => {
    const fill = color(values[i]);
    return make("span", {class: "token", tabindex: 0, title: `${name}: ${title} = ${number(values[i])}`,
      "data-value": values[i], style: `background:${fill};color:${Glim.ink(fill)}`}, name);
  }));
}
// The channels of an image and of its gradient, each a map.
function draw_image(panel) {
  const {pixels, gradient} = data.image, [channels] = pixels.shape;
  const maps = (t, words, options) => d3.range(channels).map(c => {
    const title = words + (channels > 1 ? `, channel ${c}` : "");
    const pick = t === pixels && Glim.live &&
      ((row, column) => Glim.live.paint(`${channels > 1 ? c + "," : ""}${row},${column}`));
    return make("div", {}, make("div", {class: "facts"}, title),
      Maps.draw(Maps.part(t, c), null, null, {...options, title, pick}));
  });
  const most = d3.max(unpack(gradient), Math.abs);
  panel.append(make("h2", {}, "The image"),
    make("p", {}, "Pixels as they are read, 0 to 1, and ∂L/∂pixel: a brighter pixel raises the loss where it is " +
      "orange and lowers it where it is blue." + (Glim.live ? " A click on a pixel, or Enter, paints it." : "")),
    make("div", {class: "maps"}, maps(pixels, "pixel", {low: 0, high: 1}),
      maps(gradient, "∂L/∂pixel", {low: -most, high: most, diverging: true})));
}
function draw_tokens(panel, [target]) {  // place: [the predicted token's number]
  const a = data.attribution;
  if (data.image) draw_image(panel);
  if (a) {
    const which = make("select", {id: "token-target", "aria-label": "predicted token"},
      make("option", {value: -1}, "all predicted tokens"),
      data.target_out.map((t, i) => make("option", {value: i}, `${i + 1}. ${t}`)));
    const rows = make("div"), T = data.target_out.length;
    const sides = [["source", data.source, a.to_source, a.integrated_source],
      ["target read so far", data.target_in, a.to_target, a.integrated_target]].filter(([, tokens]) => tokens.length);
    const row = (values, width, t) => t >= 0 ? values.slice(t * width, (t + 1) * width) :
      d3.range(width).map(i => d3.sum(d3.range(T), k => values[k * width + i]));
    if (data.target_out[target]) which.value = target;
    const redraw = () => {
      const t = Number(which.value);
      Glim.link("tokens", t < 0 ? [] : [t]);
      const values = sides.map(([, tokens, products]) => row(unpack(products), tokens.length, t));
      const most = d3.max(values.flat(), Math.abs);
      const read = tokens => t >= 0 && tokens === data.target_in ? tokens.slice(0, t + 1) : tokens;
      rows.replaceChildren(...sides.flatMap(([words, tokens], i) => [make("h3", {}, words),
        token_row(read(tokens), values[i], most, "gradient × input")]), legend(-most, most, true, "nats"));
    };
    which.addEventListener("change", redraw);
    const most = d3.max(sides.flatMap(side => side[3]), Math.abs);
    panel.append(make("h2", {}, "Gradient × input"), make("p", {}, "How ln p of the predicted token changes " +
      "with the size of each embedding that was read: Σ x ∂ ln p/∂x."),
      make("div", {class: "controls"}, which), rows,
      make("h2", {}, "Integrated gradients"), make("p", {}, `Of ln p(target) = ${number(a.log_prob)}, against ` +
        `empty embeddings (${number(a.baseline)}): what each token adds, over ${a.steps} points between. They ` +
        `add up to the difference, except for ${number(a.gap)}.`),
      ...sides.flatMap(([words, tokens, , values]) => [make("h3", {}, words),
        token_row(tokens, values, most, "integrated gradient")]), legend(-most, most, true, "nats"));
    redraw();
  } else {
    panel.append(make("p", {}, Glim.live ? "A live page computes no attributions: they take many passes. The command " +
      "that it shows does." : "No attributions were computed for this model."));
  }
  if (data.rollout) {
    const as_map = t => ({rows: t.shape[0], columns: t.shape[1], values: unpack(t)});
    const part = (words, t, rows, columns) => rows.length && columns.length ? [make("h3", {}, words),
      Maps.draw(as_map(t), rows, columns, {title: "rollout", low: 0})] : [];
    panel.append(make("h2", {}, "Attention rollout"), make("p", {}, "What each position of the last layer is " +
      "made of, if every layer mixes it half and half with what it attends to (Abnar & Zuidema 2020)."),
      ...part("decoder positions, of source tokens", data.rollout.source, data.target_in, data.source),
      ...part("decoder positions, of target tokens", data.rollout.target, data.target_in, data.target_in),
      ...part("encoder positions", data.rollout.encoder, data.source, data.source));
  }
}

// ---- 6. matrices ----
function draw_matrices(panel, [matrix]) {  // place: [its name]
  if (Glim.live) Glim.live.add_lens(data);
  panel.append(make("p", {}, "The gradient of a matrix is a sum of one product a position, ∂L/∂W = Σ δ xᵀ: x is what " +
    "the position brings, δ the gradient of what the matrix makes of it. A step of training answers an input like x " +
    "with more of −δ. Both are read as tokens here, where they have the model's width: the embedding's or " +
    "generator's rows with the largest scalar product (Katz et al. 2024, the backward lens)."));
  if (!data.lens.length) { panel.append(make("p", {}, "This model has no matrices that can be read so.")); return; }
  const which = make("select", {id: "lens-matrix", "aria-label": "matrix"},
    data.lens.map((m, i) => make("option", {value: i}, m.matrix)));
  const body = make("div");
  const token = t => make("span", {class: "token", title: `${t.token}: ${number(t.product)}`}, t.token);
  const tokens = list => list.length ? list.map(token) : make("span", {class: "soft"}, "–");
  which.value = Math.max(0, data.lens.findIndex(m => m.matrix === matrix));
  const redraw = () => {
    const m = data.lens[Number(which.value)];
    Glim.link("matrices", [m.matrix]);
    body.replaceChildren(make("p", {class: "soft"}, `‖∂L/∂W‖ = ${number(m.norm)}; the ${m.terms.length} products ` +
        `add up to it with an error of ${number(m.error)}.`),
      make("div", {class: "scroll"}, make("table", {}, make("thead", {}, make("tr", {}, make("th", {}, "position"),
        make("th", {class: "number"}, "share"), make("th", {class: "number"}, "‖x‖"),
        make("th", {class: "number"}, "‖δ‖"), make("th", {}, "x is like"), make("th", {}, "−δ asks for"))),
      make("tbody", {}, m.terms.map(t => make("tr", {}, make("td", {}, t.position),
        make("td", {class: "number"}, `${(100 * t.share).toFixed(1)} %`),
        make("td", {class: "number"}, number(t.input_norm)), make("td", {class: "number"}, number(t.delta_norm)),
        make("td", {}, tokens(t.input)), make("td", {}, tokens(t.delta))))))));
  };
  which.addEventListener("change", redraw);
  panel.append(make("div", {class: "controls"}, which), body);
  redraw();
}

// ---- 7. positions ----
function draw_positions(panel) {
  for (const p of data.positions) {
    const map = (t, title) => make("div", {}, make("div", {class: "facts"}, title),
      Maps.draw({rows: t.shape[0], columns: t.shape[1], values: unpack(t)}, null, null,
        {title, diverging: true, size: 5, name: `${p.module} ${title}`,
          low: -d3.max(unpack(t), Math.abs), high: d3.max(unpack(t), Math.abs)}));
    panel.append(make("h2", {}, p.module),
      make("p", {}, `Added to the embeddings: ${p.kind}. Rows are positions from 0 on.` + (p.wavelengths.length ?
        ` Column pair i turns once in 2π base^(2i/D) positions, from ${number(p.wavelengths[0])} to ` +
        `${number(p.wavelengths.at(-1))}. ` + "So an inner product depends on the distance of the two positions alone." : "")),
      make("div", {class: "maps"}, map(p.table, "PE(p, c)"), map(p.products, "PE(p) · PE(q)")));
  }
}

// ---- 8. in words ----
function draw_words(panel) {
  panel.append(make("p", {}, "What is worth noticing in this pass. Each sentence is computed from the data of " +
    "this page, and shown when its rule holds."));
  if (!data.remarks.length) panel.append(make("p", {}, "No rule holds: nothing stands out."));
  panel.append(make("ul", {class: "remarks"}, data.remarks.map(r => make("li", {}, r.text, " ",
    make("span", {class: "rule"}, `(${r.rule}) `),
    make("button", {onclick: () => Glim.show_view(r.view)}, "show")))));
}

// Copies of what gives this pass elsewhere: `glim inspect ...`, and the same in Python, which takes a model's folder.
function copiers() {
  const words = () => Glim.live?.patched_words() ?? Glim.data.command;
  if (!words()) return [];
  const in_python = () => {
    const options = [];
    let model;
    for (const word of words().slice(2)) {
      const [, name, value] = /^--([a-z-]+)(?:=(.*))?$/s.exec(word) ?? [];
      if (name) options.push([name, value === undefined ? [] : [value]]);
      else options.at(-1)[1].push(word);
    }
    const values_of = name => options.find(([other]) => other === name)?.[1], patch = values_of("patch-node");
    const given = options.filter(([name, values]) => !name.startsWith("patch-") && (name !== "model" || !(model = values[0]))).map(([name, values]) =>
      `${name.replaceAll("-", "_")}=${values.length === 0 ? "True" : Glim.data.lists.includes(name) ? JSON.stringify(values) :
        JSON.stringify(values[0])}`);
    return `import glim\nglim.load(${JSON.stringify(model)}).inspect(${given.join(", ")})` +
      (patch ? `.patch(${JSON.stringify(values_of("patch-from")[0])}, ${JSON.stringify(patch)})` : "");
  };
  return [Glim.copier("copy command", () => words().map(Glim.quoted).join(" ")),
    words().includes("--model") ? Glim.copier("copy Python", in_python) : ""];
}

const view = make("div");
// Draws a pass; `old` is the pass before the changes. Tab, choices and place stay as they are.
function draw(now, old) {
  data = now;
  was = old && {blocks: new Map(old.blocks.map(b => [b.module, b])), nodes: new Map(old.nodes.map(n => [n.name, n])),
    attention: new Map(old.attention.map(v => [v.module, v])), loss: old.loss};
  const place = window.scrollY, chosen = [...view.querySelectorAll("select[id], input[id]")].map(e =>
    [e.id, e.type === "checkbox" ? e.checked : e.value]);
  const maps = () => [...view.querySelectorAll("svg")], focused = maps().indexOf(document.activeElement);
  const read = focused >= 0 && document.activeElement.reads?.(), named = view.contains(document.activeElement) && document.activeElement.id;
  view.replaceChildren(
    make("h1", {}, !data.kind ? data.title : data.source.length ? `${data.source_text} → ${data.target_text}` : data.target_text),
    make("p", {class: "soft"}, (data.kind ? data.title : `the gradient of ${data.target_text}`) + (data.label_smoothing ? `, label smoothing ε = ${number(data.label_smoothing)}` : "") +
      ` · loss ${number(data.loss)}${before(was?.loss, data.loss)}` +
      `${data.target_out.length > 1 ? " per token" : ""} · ${data.nodes.length} nodes` +
      (data.own_target ? " · the target is the model's own" : "")), Glim.live?.patch_table() ?? "");
  if (Glim.changes && !Glim.live) {
    view.append(make("p", {class: "warning"}, "The link has changes of the pass, which only a page of glim inspect --live " +
      "makes: this is the pass without them."));
    Glim.changes = "";
  }
  const boxes = Glim.without_font([data.source_text, data.target_text, ...data.source, ...data.target_in].join(""));
  if (boxes)
    view.append(make("p", {class: "warning"}, `This browser has no font for ${boxes}: they are shown as boxes. ` +
      "Debian's package fonts-wqy-microhei has Chinese, Japanese and Korean."));
  Glim.tabs(view, [
    {id: "model", title: "Model", draw: draw_model},
    {id: "attention", title: "Attention", draw: draw_attention},
    {id: "walk", title: "Backward walk", draw: draw_walk},
    {id: "lines", title: "Written out", draw: draw_lines},
    {id: "tokens", title: "Tokens", draw: draw_tokens},
    {id: "matrices", title: "Matrices", draw: draw_matrices},
    ...(data.positions.length ? [{id: "positions", title: "Positions", draw: draw_positions}] : []),
    {id: "words", title: "In words", draw: draw_words},
  ], data.attention.length ? "attention" : "model", copiers());
  for (const [id, value] of chosen) {
    const control = document.getElementById(id);
    if (!control || (control.type === "checkbox" ? control.checked : control.value) === value) continue;
    if (control.type === "checkbox") control.checked = value; else control.value = value;
    control.dispatchEvent(new Event("change"));
  }
  window.scrollTo(0, place);
  if (named) document.getElementById(named)?.focus({preventScroll: true});
  if (focused < 0) return;  // else the keyboard goes on in the same cell of the same map
  const again = maps()[focused];
  again?.focus({preventScroll: true});
  again?.read_from?.(read);
}
Glim.show_path = path => go_to_node(data.nodes.find(n => n.path === path).number);
const main = document.querySelector("main");
if (Glim.live) {
  main.classList.add("live");
  main.append(Glim.live.panel(draw));
}
main.append(view);
draw(data, null);
})();
