// The page of glim report: losses, what happened inside, events, options.
"use strict";
(() => {
const data = Glim.data, make = Glim.make, runs = data.runs;
const several = runs.length > 1;
for (const run of runs)
  if (run.color === "#000000") run.color = "currentColor";  // black or white, as the page is dark or not

// The recorded quantities: their names, texts and colours. Amounts that go over powers of ten are shown
// on a logarithmic scale.
const quantities = {
  gradient_norm: {title: "gradient norm", log: true,
    says: "‖g‖ of each module's parameters, before clipping."},
  update_ratio: {title: "update / weight", log: true,
    says: "‖Δw‖ / ‖w‖: what one step changes of each module's weights. About 0.001 is common."},
  rms: {title: "activation scale", log: true,
    says: "Root mean square of each layer's output."},
  similarity: {title: "token similarity", low: 0, high: 1,
    says: "Mean cosine between the outputs of a layer at different positions: at 1 all tokens are the same (rank collapse)."},
  entropy: {title: "attention entropy", low: 0,
    says: "Of each head, in nats, mean over queries: 0 attends to one key, ln S to all S alike."},
  saturation: {title: "softmax saturation", low: 0, high: 1,
    says: "Of each head: 1 where the softmax is one-hot and passes next to no gradient to queries and keys, 0 where it is uniform."},
  distance: {title: "attention distance", low: 0,
    says: "Of each head: the mean of |t − s| over what its queries t attend to, in places. Small for a head that looks at neighbours."},
  score: {title: "largest score", log: true,
    says: "Of each head: the largest |S| that its softmax reads. It grows where the rate is too high, and the softmax becomes one-hot."},
};
const track_of = (run, quantity) => run.tracks.find(t => t.quantity === quantity);
const label = (run, words) => several ? `${run.name}, ${words}` : words;
const flags_of = (rules, quantity) => runs.flatMap(run => run.events
  .filter(e => rules.includes(e.rule) && e.quantity === quantity)
  .map(e => ({step: e.step, color: run.color, text: label(run, e.text)})));

// ---- 1. losses ----
function draw_losses(panel) {
  const logarithmic = make("input", {type: "checkbox", id: "losses-log"});
  const charts = make("div", {class: "charts"});
  const one = (name, color, x, y, more) => ({name, color, x, y, ...more});
  const redraw = () => {
    const log = logarithmic.checked;
    const curved = runs.filter(r => r.curvature);
    const of_batches = runs.filter(r => !r.train.step.length);
    charts.replaceChildren(...[
      Charts.lines([
        ...runs.map(r => one(label(r, "training"), r.color, r.train.step, r.train.nll)),
        ...runs.map(r => one(label(r, "validation"), r.color, r.valid.step, r.valid.nll, {dash: true, marks: true})),
      ], {id: "chart-loss", title: "Loss: NLL, in nats per token", log, flags: flags_of(["loss-spike", "above-best", "not-finite"], "nll")}),
      Charts.lines(runs.map(r => one(r.name, r.color, r.valid.step, r.valid.kl, {marks: true})),
        {id: "chart-kl", title: "Validation: KL, in nats per token; the best model has the least", log,
          flags: flags_of(["above-best"], "kl")}),
      Charts.lines(of_batches.map(r => one(label(r, "recorded batches"), r.color, r.steps, r.loss)),
        {id: "chart-batches", title: "Loss of the recorded batches: KL, nats per target", log}),
      Charts.lines(runs.map(r => r.train.step.length ? one(r.name, r.color, r.train.step, r.train.rate) :
        one(r.name, r.color, r.steps, r.rate)), {id: "chart-rate", title: "Learning rate", log}),
      Charts.lines(runs.map(r => one(r.name, r.color, r.train.step, r.train.gradient_norm)),
        {id: "chart-gradient", title: "Gradient norm of the whole model, before clipping", log}),
      Charts.lines(curved.flatMap(r => [one(label(r, "rate · curvature"), r.color, r.steps, r.curvature.step),
        one(label(r, "threshold"), r.color, d3.extent(r.steps), [r.curvature.threshold, r.curvature.threshold], {dash: true})]),
        {id: "chart-edge", title: "Rate · largest eigenvalue of P⁻¹H; steps overshoot above the threshold", log,
          flags: flags_of(["edge"], "curvature")}),
      Charts.lines(curved.map(r => one(r.name, r.color, r.steps, r.curvature.largest)),
        {id: "chart-curvature", title: "Largest eigenvalue of H, the Hessian of the batch's loss", log}),
    ].filter(Boolean));
  };
  logarithmic.addEventListener("change", redraw);
  panel.append(make("div", {class: "controls"}, make("label", {}, logarithmic, " logarithmic")), charts,
    make("p", {class: "soft"}, "A training loss is the mean since the line of the log before it; a triangle marks a " +
      "spike, where the loss rose above its best for good, or where the run stopped."));
  redraw();
}

// ---- 2. inside ----
let show_inside = () => {};
function draw_inside(panel) {
  const there = Object.keys(quantities).filter(q => runs.some(r => track_of(r, q)));
  if (!there.length) {
    panel.append(make("p", {}, "Each module's gradient, update ratio and activations, and each head's entropy and saturation, " +
      "are in runs of glim train --record. These runs have no such record yet."));
    return;
  }
  const steps = runs.flatMap(r => r.steps);
  const quantity = make("select", {id: "inside-quantity", "aria-label": "what is shown"},
    there.map(q => make("option", {value: q}, quantities[q].title)));
  const step_input = (id, words, value) => make("input", {type: "number", class: "step", id, value,
    min: d3.min(steps), max: d3.max(steps), "aria-label": words});
  const from = step_input("inside-from", "first step", d3.min(steps));
  const to = step_input("inside-to", "last step", d3.max(steps));
  const marked = make("input", {type: "checkbox", id: "inside-events", checked: true});
  const shared = make("input", {type: "checkbox", id: "inside-shared", checked: true});
  const row = make("select", {id: "inside-row", "aria-label": "row drawn as lines"});
  const says = make("p"), maps = make("div", {class: several ? "maps several" : "maps"}), line = make("div");
  const rows_of = q => [...new Set(runs.flatMap(r => track_of(r, q)?.rows ?? []))];
  const draw_row = () => {
    const q = quantity.value, name = row.value;
    const chart = Charts.lines(runs.map(r => {
      const t = track_of(r, q), i = t ? t.rows.indexOf(name) : -1;
      return {name: r.name, color: r.color, marks: r.steps.length < 40, x: i < 0 ? [] : r.steps,
        y: i < 0 ? [] : t.values.map(v => v[i])};
    }), {id: "chart-row", title: `${quantities[q].title}, ${name}`, log: Boolean(quantities[q].log)});
    line.replaceChildren(...(chart ? [chart] : []));
  };
  const select = name => { row.value = name; draw_row(); };
  const redraw = () => {
    const q = quantity.value, about = quantities[q];
    says.textContent = about.says;
    const low_step = Number(from.value), high_step = Number(to.value);
    const put = v => about.log ? (v > 0 ? Math.log10(v) : NaN) : v;
    const range_of = list => {
      const values = list.flatMap(r => track_of(r, q).values.flatMap((record, i) =>
        r.steps[i] >= low_step && r.steps[i] <= high_step ? record.map(put) : [])).filter(Number.isFinite);
      const [low, high] = values.length ? d3.extent(values) : [0, 1];
      return [Math.min(about.low ?? low, low), Math.max(about.high ?? high, high)];
    };
    const with_track = runs.filter(r => track_of(r, q));
    const all = range_of(with_track);
    maps.replaceChildren(...runs.map(run => {
      const t = track_of(run, q);
      const head = make("h3", {}, several ? `${run.name}${run.kind ? `, ${run.kind}` : ""}` : about.title);
      if (!t) return make("div", {class: "panel"}, head, make("p", {class: "soft"}, "This run has no such recording."));
      const first = d3.bisectLeft(run.steps, low_step), last = d3.bisectRight(run.steps, high_step) - 1;
      if (first > last) return make("div", {class: "panel"}, head, make("p", {class: "soft"}, "There is no record in these steps."));
      const [low, high] = shared.checked ? all : range_of([run]);
      const scale = Glim.scale(low, high, false);
      const events = marked.checked ? run.events.filter(e => e.quantity === q) : [];
      const shown = x => about.log ? 10 ** x : x;
      return make("div", {class: "panel"}, head,
        Glim.legend(shown(low), shown(high), false, [about.log ? "logarithmic" : "",
          several ? shared.checked ? "one scale for all runs" : "this run's own scale" : ""].filter(Boolean).join(", ")),
        Charts.map({rows: t.rows, steps: run.steps, values: t.values}, {run: run.name, title: about.title,
          color: v => Number.isFinite(put(v)) ? scale(put(v)) : null, events, first, last, select}));
    }));
  };
  const change_quantity = () => {
    row.replaceChildren(...rows_of(quantity.value).map(name => make("option", {value: name}, name)));
    redraw();
    draw_row();
  };
  quantity.addEventListener("change", change_quantity);
  for (const control of [from, to, marked, shared]) control.addEventListener("change", redraw);
  row.addEventListener("change", draw_row);
  show_inside = event => {
    quantity.value = event.quantity;
    change_quantity();
    if (event.where.length) select(event.where[0]);
    maps.scrollIntoView({block: "nearest"});
  };
  panel.append(make("div", {class: "controls"}, quantity, make("label", {}, "steps ", from), make("label", {}, "to ", to),
    make("label", {}, marked, " mark events"), several ? make("label", {}, shared, " one scale for all runs") : null),
    says, maps, make("h2", {}, "One row over the steps"),
    make("p", {class: "soft"}, "Click a cell, or press Enter, to choose its row."),
    make("div", {class: "controls"}, row), line);
  change_quantity();
}

// ---- 3. events ----
function show_event(event) {
  const chart = {nll: "chart-loss", curvature: "chart-edge"}[event.quantity];
  if (chart) {
    Glim.show_view("losses");
    document.getElementById(chart)?.scrollIntoView({block: "nearest"});
    return;
  }
  Glim.show_view("inside");
  show_inside(event);
}
function draw_events(panel) {
  panel.append(make("p", {}, "What stands out, found by the rules below. A rule is not a verdict: it shows where to look."));
  for (const run of runs) {
    panel.append(make("h2", {}, run.name));
    if (!run.events.length) {
      panel.append(make("p", {}, "No rule holds: nothing stands out."));
      continue;
    }
    panel.append(make("div", {class: "scroll"}, make("table", {class: "events"}, make("thead", {}, make("tr", {},
      make("th", {class: "number"}, "step"), make("th", {}, "rule"), make("th", {}, "what"), make("th", {}, ""))),
      make("tbody", {}, run.events.map(e => make("tr", {}, make("td", {class: "number"}, e.step), make("td", {class: "rule"}, e.rule),
        make("td", {class: "text", title: e.where.join("\n")}, Glim.breakable(e.text),
          e.command ? make("div", {class: "mono soft", title: "trains again to this step, and opens the microscope on it"}, e.command) : null),
        make("td", {}, make("button", {onclick: () => show_event(e), "aria-label": `show ${e.rule} at step ${e.step}`},
          "show"))))))));
  }
  panel.append(make("h2", {}, "The rules"), make("div", {class: "scroll"}, make("table", {}, make("tbody", {},
    data.rules.map(r => make("tr", {}, make("td", {class: "rule"}, r.name), make("td", {class: "text"}, r.says)))))));
}

// ---- 4. options ----
function draw_options(panel) {
  const names = [...new Set(runs.flatMap(r => Object.keys(r.options)))];
  const differ = several ? names.filter(n => new Set(runs.map(r => r.options[n])).size > 1) :
    names.filter(n => runs[0].options[n] !== data.defaults[n]);
  const table = list => make("div", {class: "scroll"}, make("table", {class: "options"}, make("thead", {},
    make("tr", {}, make("th", {}, "option"), runs.map(r => make("th", {}, r.name)), make("th", {}, "default"))),
    make("tbody", {}, list.map(n => make("tr", {}, make("td", {class: "mono"}, n), runs.map(r =>
      make("td", {class: "mono value"}, r.options[n] ?? "–")), make("td", {class: "mono soft value"}, data.defaults[n] ?? "–"))))));
  panel.append(make("h2", {}, several ? "Options in which the runs differ" : "Options that are not at their default"),
    differ.length ? table(differ) : make("p", {}, "None."),
    make("details", {}, make("summary", {}, `All ${names.length} options`), table(names)));
}

// ---- the head ----
document.querySelector("main").append(...runs.map(run => make("p", {class: "soft"}, make("span", {class: "swatch",
  style: `border-top: 3px solid ${run.color}`}), " ", make("strong", {}, run.name), ` ${run.kind || "not recorded"}, ` +
  [[run.train.step, "log line"], [run.valid.step, "validation"], [run.steps, "record"], [run.events, "event"]]
    .map(([list, noun]) => `${list.length} ${noun}${list.length === 1 ? "" : "s"}`).join(", "), ...run.notes.flatMap(n => [make("br"), n]))));
Glim.tabs(document.querySelector("main"), [
  {id: "losses", title: "Losses", draw: draw_losses},
  {id: "inside", title: "Inside", draw: draw_inside},
  {id: "events", title: "Events", draw: draw_events},
  {id: "options", title: "Options", draw: draw_options},
]);
})();
