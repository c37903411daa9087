// The page of glim inspect: the model, its attention, the backward walk, the tokens, in words.
"use strict";
(() => {
const data = Glim.data;
const make = Glim.make, number = Glim.number, legend = Glim.legend;

// ---- packed tensors (tools/inspect/pack.hpp): three digits in 16 bits ----
function unpack(t) {
  if (t.values) return t.values;
  if (t.numbers) return t.values = t.numbers.map(x => x === null ? NaN : x);
  const bytes = atob(t.data);
  const values = new Array(bytes.length / 2);
  for (let i = 0; i < values.length; ++i) {
    const code = bytes.charCodeAt(2 * i) + 256 * bytes.charCodeAt(2 * i + 1);
    if (code < 8) { values[i] = [0, NaN, Infinity, -Infinity][code]; continue; }
    const c = code - 8;
    const mantissa = c % 900 + 100, negative = Math.floor(c / 900) % 2;
    values[i] = Number(`${negative ? "-" : ""}${mantissa}e${Math.floor(c / 1800) + t.e0 - 2}`);
  }
  return t.values = values;
}
// Slice i of the first axis, as rows and columns.
function part(t, i) {
  const [rows, columns] = t.shape.slice(-2);
  return {rows, columns, values: unpack(t).slice(i * rows * columns, (i + 1) * rows * columns)};
}

// ---- heat maps ----
// map: {rows, columns, values}; row_names and column_names may be missing; keep: 0 where masked.
// options: {title, diverging, low, high, describe(row, column, value)}
function heat_map(map, row_names, column_names, options) {
  const finite = map.values.filter((x, i) => Number.isFinite(x) && (!options.keep || options.keep[i]));
  const low = options.low ?? (finite.length ? d3.min(finite) : 0);
  const high = options.high ?? (finite.length ? d3.max(finite) : 1);
  const color = Glim.scale(low, high, options.diverging);
  const named = row_names && column_names;
  const size = named ? 20 : Math.max(6, Math.min(18, Math.floor(560 / Math.max(map.columns, 1))));
  const longest = names => Math.min(110, 14 + 7 * d3.max(names, n => [...n].length));
  const left = named ? longest(row_names) : 4, top = named ? longest(column_names) : 4;
  const svg = d3.create("svg").attr("width", left + size * map.columns + (named ? top / 2 : 4))
    .attr("height", top + size * map.rows + 4).attr("role", "img")
    .attr("tabindex", 0).attr("aria-label", options.title + ": arrow keys read the values");
  const cells = [];
  const place = (i) => [Math.floor(i / map.columns), i % map.columns];
  map.values.forEach((value, i) => {
    const [r, c] = place(i);
    const masked = options.keep && !options.keep[i];
    const cell = svg.append("rect").attr("class", "cell").attr("x", left + c * size)
      .attr("y", top + r * size).attr("width", size - (named ? 1 : 0)).attr("height", size - (named ? 1 : 0))
      .attr("fill", masked || !Number.isFinite(value) ? "url(#masked)" : color(value))
      .attr("data-row", r).attr("data-column", c);
    cells.push(cell.node());
  });
  svg.append("defs").html('<pattern id="masked" width="4" height="4" patternUnits="userSpaceOnUse">' +
    '<rect width="4" height="4" fill="#bbb"/><path d="M0 4L4 0" stroke="#777" stroke-width="0.7"/></pattern>');
  if (named) {
    row_names.forEach((name, r) => svg.append("text").attr("x", left - 4).attr("y", top + r * size + 14)
      .attr("text-anchor", "end").attr("font-size", 12).text(short(name)));
    column_names.forEach((name, c) => svg.append("text").attr("font-size", 12)
      .attr("transform", `translate(${left + c * size + 14},${top - 4}) rotate(-60)`).text(short(name)));
  }
  const text = i => {
    const [r, c] = place(i);
    const masked = options.keep && !options.keep[i];
    const head = named ? `${row_names[r]} → ${column_names[c]}` : `row ${r}, column ${c}`;
    return `${head}\n${options.title} = ${number(map.values[i])}${masked ? " (masked)" : ""}` +
      (options.describe ? "\n" + options.describe(r, c) : "");
  };
  const node = svg.node();
  node.addEventListener("mousemove", event => {
    const i = cells.indexOf(event.target);
    if (i >= 0) Glim.show_hover(text(i), event.clientX, event.clientY); else Glim.hide_hover();
  });
  node.addEventListener("mouseleave", Glim.hide_hover);
  node.addEventListener("blur", Glim.hide_hover);
  let at = 0;
  node.addEventListener("keydown", event => {
    const move = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: map.columns, ArrowUp: -map.columns}[event.key];
    if (!move || at + move < 0 || at + move >= cells.length) return;
    event.preventDefault();
    at += move;
    const box = cells[at].getBoundingClientRect();
    Glim.show_hover(text(at), box.left, box.top);
  });
  return make("div", {class: "map"}, node);
}
const short = name => [...name].length > 14 ? [...name].slice(0, 13).join("") + "…" : name;

// ---- 1. the model ----
function draw_model(panel) {
  panel.append(make("p", {}, "Each block is coloured by the norm of the gradient of what it hands on, " +
    "‖∂L/∂output‖. At each residual connection the bar shows how much of the gradient of x takes the " +
    "skip (blue) and how much the sub-layer (orange); shares add up to 1. A click shows the node."));
  const norms = data.blocks.map(b => b.gradient_norm).filter(x => x > 0);
  const low = Math.log10(d3.min(norms) || 1), high = Math.log10(d3.max(norms) || 1);
  const scale = Glim.scale(low, high, false);
  panel.append(legend(10 ** low, 10 ** high, false, "‖∂L/∂output‖, logarithmic"));
  const sides = make("div", {class: "model"});
  for (const side of ["encoder", "decoder"]) {
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
        make("span", {}, b.part), make("span", {class: "mono"}, number(b.gradient_norm)));
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
function shares(j) {
  const kinds = ["skip", "sub", "elsewhere"];
  const most = d3.sum(j.branches, b => Math.abs(b.share)) || 1;
  const words = j.branches.map(b => `${b.name} ${(100 * b.share).toFixed(1)} %`).join(", ");
  return make("div", {class: "junction", role: "img", title: `${j.module}: ${words}`, "aria-label": words},
    j.branches.map((b, i) => make("div", {class: kinds[i],
      style: `width:${100 * Math.abs(b.share) / most}%`}, (100 * b.share).toFixed(0) + " %")));
}
function shares_table(junctions) {
  const rows = junctions.flatMap(j => j.branches.map((b, i) => make("tr", {},
    make("td", {}, i ? "" : `${j.module} ${j.sublayer}`), make("td", {}, b.name),
    make("td", {class: "number", "data-share": b.share}, (100 * b.share).toFixed(1) + " %"),
    make("td", {class: "number"}, number(b.norm)))));
  return make("div", {class: "scroll"}, make("table", {}, make("thead", {}, make("tr", {},
    make("th", {}, "junction"), make("th", {}, "branch"), make("th", {class: "number"}, "share"),
    make("th", {class: "number"}, "norm"))), make("tbody", {}, rows)));
}

// ---- 2. attention ----
const kinds_of_map = {
  A: ["A", "probabilities A", false], dA: ["dA", "∂L/∂A", true],
  S: ["S", "scores S", true], dS: ["dS", "∂L/∂S", true],
};
function draw_attention(panel) {
  if (!data.attention.length) {
    panel.append(make("p", {}, "This model was looked at without attention."));
    return;
  }
  const module = make("select", {id: "attention-module", "aria-label": "module"},
    data.attention.map((v, i) => make("option", {value: i}, `${v.side}, layer ${v.layer + 1}`)));
  const shown = make("select", {id: "attention-map", "aria-label": "what is shown"},
    Object.entries(kinds_of_map).map(([key, [, words]]) => make("option", {value: key}, words)),
    make("option", {value: "all"}, "all four"));
  const shared = make("input", {type: "checkbox", id: "attention-shared"});
  const heads = make("div", {class: "heads"});
  const about = make("div");
  const redraw = () => {
    heads.replaceChildren();
    about.replaceChildren();
    const v = data.attention[module.value];
    const keep = part(v.keep.shape.length === 3 ? v.keep : {...v.keep, shape: [1, ...v.keep.shape]}, 0).values;
    const wanted = shown.value === "all" ? Object.keys(kinds_of_map) : [shown.value];
    const range = key => {
      const all = unpack(v[key]).filter(Number.isFinite);
      return [d3.min(all), d3.max(all)];
    };
    about.append(make("p", {class: "soft"}, `${v.module}: queries down, keys across; hatched: masked.`));
    if (shared.checked)
      for (const key of wanted) about.append(legend(...range(key), kinds_of_map[key][2],
        kinds_of_map[key][1] + ", one scale for all heads"));
    v.heads.forEach((head, h) => {
      const box = make("div", {class: "head", "data-head": h}, make("h3", {}, `head ${h + 1}`),
        make("div", {class: "facts"}, `entropy ${number(head.entropy)} nats · saturation ` +
          `${number(head.saturation)} · value path ${head.value_share === null ? "–" :
          (100 * head.value_share).toFixed(1) + " %"} · ‖∂L/∂S‖ ${number(head.scores_gradient)}`));
      const maps = make("div", {class: "maps"});
      box.append(maps);
      for (const key of wanted) {
        const [, words, diverging] = kinds_of_map[key];
        const options = {title: kinds_of_map[key][0], keep, diverging};
        if (key === "A") { options.low = 0; options.high = 1; }
        if (shared.checked) [options.low, options.high] = range(key);
        if (shared.checked && key === "A") options.low = 0;
        const map = heat_map(part(v[key], h), v.queries, v.keys, options);
        map.dataset.map = key;
        maps.append(make("div", {}, wanted.length > 1 ? make("div", {class: "facts"}, words) : "", map));
      }
      heads.append(box);
    });
  };
  for (const control of [module, shown, shared]) control.addEventListener("change", redraw);
  panel.append(make("p", {}, "A head's saturation is 0 when its softmax is uniform and 1 when its " +
    "Jacobian is zero. The value path is ‖∂L/∂v‖² as a share of ‖∂L/∂v‖² + ‖∂L/∂q‖² + ‖∂L/∂k‖²."),
    make("div", {class: "controls"}, module, shown,
      make("label", {}, shared, " one colour scale for all heads")), about, heads);
  redraw();
}

// ---- 3. the backward walk ----
let show_node = () => {};
function go_to_node(node) {
  Glim.show_view("walk");
  show_node(node);
}
function draw_walk(panel) {
  const search = make("input", {type: "search", placeholder: "path or op", "aria-label": "search nodes"});
  const list = make("div", {class: "list", role: "listbox", "aria-label": "nodes in backward order"});
  const detail = make("div", {id: "node"});
  const order = data.walk;
  let buttons = new Map(), current = order[0];
  const fill = () => {
    const wanted = search.value.trim().toLowerCase();
    list.replaceChildren();
    buttons = new Map();
    for (const i of order) {
      const n = data.nodes[i];
      if (wanted && !n.path.toLowerCase().includes(wanted) && n.op !== wanted) continue;
      const button = make("button", {onclick: () => show(i), "data-node": i},
        `${n.turn + 1}. ${n.path} `, make("span", {class: "mono soft"}, n.op));
      buttons.set(i, button);
      list.append(button);
    }
    if (!buttons.size) list.append(make("p", {}, "no node's path or op contains this"));
  };
  const show = i => {
    current = i;
    for (const [k, b] of buttons) b.setAttribute("aria-current", k === i);
    buttons.get(i)?.scrollIntoView({block: "nearest"});
    detail.replaceChildren(...describe(i));
  };
  show_node = i => {
    if (!buttons.has(i)) { search.value = ""; fill(); }
    show(i);
  };
  const turn = step => {
    const shown = [...buttons.keys()];
    const at = shown.indexOf(current);
    const next = shown[Math.max(0, Math.min(shown.length - 1, at + step))];
    if (next !== undefined) show(next);
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
    if (chosen.value) detail.replaceChildren(...draw_graph(chosen.value));
  });
  panel.append(make("p", {}, "Every node of the tape in backward order: what arrives at it (∂L/∂y) and " +
    "what its op sends to each of its inputs. Keys n and p, or the arrows, go on and back."),
    make("div", {class: "controls"}, make("button", {id: "previous", onclick: () => turn(-1)}, "← previous"),
      make("button", {id: "next", onclick: () => turn(1)}, "next →"), search, chosen),
    make("div", {class: "walk"}, list, detail));
  fill();
  show(current);
}
const shape_text = shape => "(" + shape.join(", ") + (shape.length === 1 ? ",)" : ")");
function node_link(i, text) {
  return make("button", {class: "mono", onclick: () => show_node(i)}, text || data.nodes[i].path);
}
function statistics_row(name, s) {
  const cell = x => make("td", {class: "number"}, x);
  return make("tr", {}, make("td", {}, name), cell(number(s.norm)), cell(number(s.low)),
    cell(number(s.high)), cell((100 * s.zeros).toFixed(1) + " %"));
}
function picture(t, title) {
  if (!t) return [];
  const [rows, columns] = t.shape;
  const full = t.full.reduce((a, b) => a * b, 1);
  const words = full > rows * columns ? `${title}, ${shape_text(t.full)}: each cell is the element of ` +
    "the largest size in its part" : `${title}, ${shape_text(t.full)}`;
  const values = unpack(t), signed = values.some(x => x < 0);
  return [make("div", {class: "soft"}, words),
    heat_map({rows, columns, values}, null, null, {title, diverging: signed}),
    legend(d3.min(values), d3.max(values), signed)];
}
function describe(i) {
  const n = data.nodes[i], formula = data.formulas[n.op];
  const operand = k => n.inputs[k] >= 0 ? data.nodes[n.inputs[k]].path : "a constant";
  const rows = [statistics_row("value y", n.value)];
  if (n.gradient) rows.push(statistics_row("arriving ∂L/∂y", n.gradient));
  for (const f of n.flows) rows.push(statistics_row(`sent to ${operand(f.input)}`, f.statistics));
  const saved = n.saved.map(k => k < 0 ? "its output" : operand(k));
  const readers = data.nodes.filter(m => m.inputs.includes(i));
  return [
    make("h2", {}, n.path), make("p", {class: "soft"},
      `node ${i}, op ${n.op}, turn ${n.turn + 1} of ${data.walk.length}, shape ${shape_text(n.shape)}` +
      (n.where ? `, called in ${n.where}` : "")),
    formula ? make("p", {class: "mono"}, formula.forward, make("br"), formula.gradients.join("   ")) :
      make("p", {class: "soft"}, "a parameter: gradients end here"),
    make("p", {}, "scope ", make("span", {class: "mono"}, n.scope || "(none)"), ". Backward reads: ",
      saved.length ? saved.join(", ") : "nothing", "."),
    make("div", {class: "scroll"}, make("table", {}, make("thead", {}, make("tr", {},
      ["", "norm", "min", "max", "zeros"].map((t, k) => make("th", {class: k ? "number" : ""}, t)))),
      make("tbody", {}, rows))),
    make("p", {}, "inputs: ", n.inputs.map((k, at) => k < 0 ? make("span", {}, "a constant ") :
      node_link(k)), n.inputs.length ? "" : "none"),
    make("p", {}, "read by: ", readers.map(m => node_link(m.number)), readers.length ? "" : "nothing: the loss"),
    ...picture(n.picture, "value"), ...picture(n.gradient_picture, "∂L/∂y"),
  ];
}
// The nodes of a module and their edges, inputs above: rows by the longest way from an input.
function draw_graph(scope) {
  const inside = data.nodes.filter(n => n.scope === scope || n.scope.startsWith(scope + "."));
  const shown = inside.slice(0, 150);
  const depth = new Map();
  for (const n of shown)
    depth.set(n.number, 1 + (d3.max(n.inputs.filter(k => depth.has(k)), k => depth.get(k)) ?? -1));
  const rows = d3.nest().key(n => depth.get(n.number)).entries(shown).map(e => e.values);
  const place = new Map(), width = 170, height = 54;
  rows.forEach((row, y) => row.forEach((n, x) => place.set(n.number, [x * width + 8, y * height + 8])));
  const svg = d3.create("svg").attr("width", d3.max(rows, r => r.length) * width + 16)
    .attr("height", rows.length * height + 16).attr("role", "img").attr("aria-label", "graph of " + scope);
  const norms = shown.map(n => n.gradient?.norm).filter(x => x > 0).map(Math.log10);
  const color = Glim.scale(d3.min(norms) ?? 0, d3.max(norms) ?? 1, false);
  for (const n of shown)
    for (const k of n.inputs) {
      if (!place.has(k)) continue;
      const [x0, y0] = place.get(k), [x1, y1] = place.get(n.number);
      svg.append("path").attr("d", `M${x0 + 75},${y0 + 34}C${x0 + 75},${y1 - 8} ${x1 + 75},${y0 + 48} ${x1 + 75},${y1}`)
        .attr("fill", "none").attr("stroke", "currentColor").attr("opacity", 0.5);
    }
  for (const n of shown) {
    const [x, y] = place.get(n.number);
    const fill = n.gradient?.norm > 0 ? color(Math.log10(n.gradient.norm)) : "#888";
    const group = svg.append("g").attr("transform", `translate(${x},${y})`).attr("tabindex", 0)
      .style("cursor", "pointer").on("click", () => show_node(n.number));
    group.node().addEventListener("keydown", e => { if (e.key === "Enter") show_node(n.number); });
    group.append("rect").attr("width", 150).attr("height", 34).attr("rx", n.op === "leaf" ? 17 : 4).attr("fill", fill);
    const label = n.path.slice(n.path.lastIndexOf(".") + 1);
    group.append("text").attr("x", 75).attr("y", 15).attr("text-anchor", "middle").attr("font-size", 12)
      .style("fill", Glim.ink(fill)).text(short(label));
    group.append("text").attr("x", 75).attr("y", 29).attr("text-anchor", "middle").attr("font-size", 10)
      .style("fill", Glim.ink(fill)).text(`${n.op} ‖∂‖ ${number(n.gradient?.norm)}`);
  }
  return [make("h2", {}, scope), make("p", {class: "soft"}, "Coloured by ‖∂L/∂y‖ on a logarithmic scale" +
    (inside.length > shown.length ? `; the first ${shown.length} of ${inside.length} nodes` : "") +
    ". A click shows the node."), make("div", {class: "map"}, svg.node())];
}

// ---- 4. tokens ----
function token_row(names, values, most, title) {
  const color = Glim.scale(-most, most, true);
  return make("div", {}, names.map((name, i) => {
    const fill = color(values[i]);
    return make("span", {class: "token", tabindex: 0, title: `${name}: ${title} = ${number(values[i])}`,
      "data-value": values[i], style: `background:${fill};color:${Glim.ink(fill)}`}, name);
  }));
}
function draw_tokens(panel) {
  const a = data.attribution;
  if (a) {
    const which = make("select", {id: "token-target", "aria-label": "predicted token"},
      make("option", {value: -1}, "all predicted tokens"),
      data.target_out.map((t, i) => make("option", {value: i}, `${i + 1}. ${t}`)));
    const rows = make("div");
    const source = unpack(a.to_source), target = unpack(a.to_target);
    const S = data.source.length, T = data.target_in.length;
    const row = (values, width, t) => t >= 0 ? values.slice(t * width, (t + 1) * width) :
      d3.range(width).map(i => d3.sum(d3.range(T), k => values[k * width + i]));
    const redraw = () => {
      const t = Number(which.value);
      const s_values = row(source, S, t), t_values = row(target, T, t);
      const most = d3.max([...s_values, ...t_values], Math.abs);
      rows.replaceChildren(make("h3", {}, "source"), token_row(data.source, s_values, most, "gradient × input"),
        make("h3", {}, "target read so far"), token_row(data.target_in, t_values, most, "gradient × input"),
        legend(-most, most, true, "nats"));
    };
    which.addEventListener("change", redraw);
    const most = d3.max([...a.integrated_source, ...a.integrated_target], Math.abs);
    panel.append(make("h2", {}, "Gradient × input"), make("p", {}, "How ln p of the predicted token changes " +
      "with the size of each embedding that was read: Σ x ∂ ln p/∂x."),
      make("div", {class: "controls"}, which), rows,
      make("h2", {}, "Integrated gradients"), make("p", {}, `Of ln p(target) = ${number(a.log_prob)}, against ` +
        `empty embeddings (${number(a.baseline)}): what each token adds, over ${a.steps} points between. They ` +
        `add up to the difference but for ${number(a.gap)}.`),
      make("h3", {}, "source"), token_row(data.source, a.integrated_source, most, "integrated gradient"),
      make("h3", {}, "target read so far"), token_row(data.target_in, a.integrated_target, most, "integrated gradient"),
      legend(-most, most, true, "nats"));
    redraw();
  } else {
    panel.append(make("p", {}, "No attributions were computed for this model."));
  }
  if (data.rollout) {
    const as_map = t => ({rows: t.shape[0], columns: t.shape[1], values: unpack(t)});
    panel.append(make("h2", {}, "Attention rollout"), make("p", {}, "What each position of the last layer is " +
      "made of, if every layer mixes it half and half with what it attends to (Abnar & Zuidema 2020)."),
      make("h3", {}, "decoder positions, of source tokens"),
      heat_map(as_map(data.rollout.source), data.target_in, data.source, {title: "rollout", low: 0}),
      make("h3", {}, "decoder positions, of target tokens"),
      heat_map(as_map(data.rollout.target), data.target_in, data.target_in, {title: "rollout", low: 0}),
      make("h3", {}, "encoder positions"),
      heat_map(as_map(data.rollout.encoder), data.source, data.source, {title: "rollout", low: 0}));
  }
}

// ---- 5. in words ----
function draw_words(panel) {
  panel.append(make("p", {}, "What is worth noticing in this pass. Each sentence is computed from the data of " +
    "this page, and is said when its rule holds."));
  if (!data.remarks.length) panel.append(make("p", {}, "No rule holds: nothing stands out."));
  panel.append(make("ul", {class: "remarks"}, data.remarks.map(r => make("li", {}, r.text, " ",
    make("span", {class: "rule"}, `(${r.rule}) `),
    make("button", {onclick: () => Glim.show_view(r.view)}, "show")))));
}

const main = document.querySelector("main");
main.append(make("h1", {}, `${data.source_text} → ${data.target_text}`),
  make("p", {class: "soft"}, `${data.title} · loss ${number(data.loss)} a token · ${data.nodes.length} nodes` +
    (data.own_target ? " · the target is the model's own" : "")));
Glim.tabs(main, [
  {id: "model", title: "Model", draw: draw_model},
  {id: "attention", title: "Attention", draw: draw_attention},
  {id: "walk", title: "Backward walk", draw: draw_walk},
  {id: "tokens", title: "Tokens", draw: draw_tokens},
  {id: "words", title: "In words", draw: draw_words},
]);
})();
