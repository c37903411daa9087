// The guided path of a live page: stops of about a minute and a half each, seven where there are sentence pairs. A stop
// asks a question, changes something, and answers with the numbers of the pass that is shown. There are questions before
// and after. All texts are in path_texts.json, by name and language.
// `when` says of which passes a stop or a question is.
"use strict";
const Path = {
  texts: Glim.data.live.texts,
  languages: Object.keys(Glim.data.live.texts.switch),
  // As the address has it (inspect.html?lang=zh), else as the browser.
  language: [new URLSearchParams(location.search).get("lang"), navigator.language.split("-")[0], "en"]
    .find(name => Object.hasOwn(Glim.data.live.texts.switch, name)),
  text(name, values = {}) {
    const text = Path.texts[name][Path.language];
    return Array.isArray(text) ? text : text.replace(/\{(\w+)\}/g, (_, value) => values[value]);
  },

  quiz: [
    {name: "quiz.logits", right: 1},
    {name: "quiz.saturated", right: 0},
    {name: "quiz.factor", right: 1},
    {name: "quiz.mask", right: 1, when: data => Path.causal(data)},
    {name: "quiz.depth", right: 1, when: data => Path.both_norms(data) && Path.pairs(data)},
  ],

  causal: data => data.attention.some(v => v.side.startsWith("decoder self")),
  both_norms: data => data.source.length > 0 && !data.takes.includes("label"),
  pairs: data => data.source.length > 0 && data.target_in.length > 0,

  // The numbers that the stops read off a pass.
  read: data => data.blocks.find(b => ["src_embed", "wte", "bert.embed", "patch_embed"].includes(b.module)),
  mean: (view, what) => d3.mean(view.heads, h => h[what]),
  logits(data) {
    const smooth = data.nodes.find(n => n.op === "log_softmax");
    return smooth && data.nodes[smooth.inputs[0]];
  },
  // A change of a number, in words.
  change(what, now, was, unit = "") {
    const number = Glim.number, text = Path.text("change", {what, now: number(now), unit}), times = now / was;
    if (was === undefined || was === null) return text;
    return text + Path.text("change.was", {was: number(was), unit}) +
      (Number.isFinite(times) && times > 0 ? Path.text("change.times", {times: number(times)}) : "");
  },
  loss: (now, was) => Path.change(Path.text("loss"), now.loss, was?.loss),

  // [stack, its layers' junctions]…, a stack as "encoder.".
  stacks(junctions) {
    const stacks = new Map();
    for (const j of junctions) {
      const stack = j.module.replace(/layers\.\d+$/, "");
      stacks.set(stack, [...(stacks.get(stack) ?? []), j]);
    }
    return [...stacks];
  },

  // How the gradient of what is read has changed.
  first_block(now, was) {
    const first = Path.read(now), before = was && Path.read(was);
    if (!first) return [];
    return [Path.change(Path.text("first_block", {module: first.module}), first.gradient_norm, before?.gradient_norm)];
  },

  // A node through which alone some parameters are reached: the encoder's output, or the middle of a stack.
  gate(data) {
    const x = data.memory.x >= 0 ? data.memory.x : data.junctions[Math.floor(data.junctions.length / 2)]?.x;
    return data.nodes[x]?.path;
  },
  reached: data => data.nodes.filter(n => n.op === "leaf" && n.path !== "image" && n.gradient?.norm > 0).length,

  // Each: its name, of which NAME.title, NAME.question and NAME.paper are texts; another title's or question's ending;
  // steps: [text, what it does, values of the text]; answer(now, was): lines.
  stops: live => [
    {name: "enter",
      steps: [["enter.show", () => live.show("walk", live.now().nodes[live.now().walk[0]].path)],
        ...(Path.gate(live.now()) ? [[live.now().memory.x >= 0 ? "enter.cut_encoder" : "enter.cut_middle",
          () => live.change({freeze: [Path.gate(live.was() ?? live.now())]}, "model")]] : [])],
      answer: (now, was) => {
        const leaves = now.walk.map(i => now.nodes[i]).filter(n => n.op === "leaf" && n.path !== "image");
        const last = leaves[leaves.length - 1];
        return [Path.text("enter.loss", {node: now.nodes[now.walk[0]].number, count: now.walk.length}),
          Path.text("enter.order", {first: leaves[0].path, first_turn: leaves[0].turn + 1, last: last.path,
            last_turn: last.turn + 1}),
          Path.change(Path.text("enter.reached"), Path.reached(now), was && Path.reached(was))];
      }},
    {name: "logits",
      steps: [["logits.show", () => { const n = Path.logits(live.now()); if (n) live.show("walk", n.path); }],
        live.now().label_smoothing ? ["logits.plain", () => live.change({"label-smoothing": 0})] :
          ["logits.smooth", () => live.change({"label-smoothing": 0.1})]],
      answer: (now, was) => [Path.text("logits.rule", {positions: now.target_out.length}),
        Path.change(Path.text("logits.norm"), Path.logits(now)?.gradient?.norm, was && Path.logits(was)?.gradient?.norm),
        Path.loss(now, was), Path.text("logits.smoothing")]},
    {name: "saturated",
      steps: [1, 3, 0.05].map(scale => ["saturated.factor", () => live.change({scale}, "attention"), {scale}]),
      answer: (now, was) => ["decoder self", "cross", "encoder self"]
        .filter(side => now.attention.some(v => v.side.startsWith(side))).flatMap(side => {
          const v = now.attention.find(v => v.side.startsWith(side));
          const w = was?.attention.find(o => o.module === v.module);
          const attention = Path.text("saturated." + side, {layer: v.layer});
          const passed = view => view.heads.map(h => Glim.number(h.passed)).join(", ");
          return [Path.change(Path.text("saturated.entropy", {attention}), Path.mean(v, "entropy"),
            w && Path.mean(w, "entropy"), Path.text("saturated.nats")),
            Path.text("saturated.passed", {attention, passed: passed(v)}) +
              (w ? Path.text("saturated.was", {passed: passed(w)}) : "")];
        }).concat(Path.text("saturated.rule"))},
    {name: "value", when: data => data.attention.length > 0,
      steps: [["value.zero", () => live.change({zero: ["*.scores"]}, "attention")]],
      answer: (now, was) => {
        const shares = (was ?? now).attention.flatMap(v => v.heads.map(h => h.value_share)).filter(x => x !== null);
        const [low, median, high] = [d3.min, d3.median, d3.max].map(of => Glim.number(100 * of(shares)));
        return [Path.text("value.shares", {low, high, median, count: shares.length}), ...Path.first_block(now, was),
          Path.text("value.rest")];
      }},
    {name: "skips", when: data => data.junctions.length > 0, question: Path.pairs(live.now()) ? ".encoder" : "",
      steps: [["skips.stop", () =>
        live.change({freeze: [(Path.pairs(live.now()) ? "encoder." : "") + "*self_attn.context"]}, "model")]],
      answer: (now, was) => {
        const skips = (was ?? now).junctions.map(j => j.branches.find(b => b.name === "skip")?.share)
          .filter(x => x !== undefined);
        const [low, high] = [d3.min, d3.max].map(of => Glim.number(100 * of(skips)));
        return [Path.text("skips.shares", {low, high, count: skips.length}), ...Path.first_block(now, was)];
      }},
    {name: "mask", when: data => data.attention.length > 0, question: Path.causal(live.now()) ? ".causal" : "",
      steps: [...(Path.causal(live.now()) ? [["mask.see", "unmask", "0,1"]] : [["mask.hide", "mask", "0,1"]]),
        ["mask.nothing", "mask", "0,*"]].map(([text, name, cell]) =>
          [text, () => live.change({[name]: [`${live.self()}:${cell}`]}, "attention", live.self())]),
      answer: (now, was) => {
        const v = now.attention.find(v => v.module === live.self());
        const width = v.keys.length, a = Maps.unpack(v.A), ds = Maps.unpack(v.dS);
        const sum = d3.sum(ds.slice(0, width)), zero = Math.abs(sum) < 1e-4 * d3.max(ds, Math.abs);
        return [Path.text("mask.cell", {a: Glim.number(a[1]), ds: Glim.number(ds[1])}),
          Path.text("mask.row", {a: Glim.number(d3.sum(a.slice(0, width))), ds: zero ? 0 : Glim.number(sum)}),
          Path.loss(now, was), Path.text("mask.loss")];
      }},
    {name: "depth", when: data => !data.takes.includes("label") && data.junctions.length > 0,
      title: Path.both_norms(live.now()) ? "" : ".pre",
      question: !Path.both_norms(live.now()) ? ".pre" : Path.pairs(live.now()) ? ".decoder" : "",
      steps: Path.both_norms(live.now()) ? ["post", "pre"].map(norm =>
        ["depth." + norm, () => live.fresh({norm, layers: 6, "d-model": 64})]) :
        [3, 12].map(layers => ["depth.layers", () => live.fresh({layers, "d-model": 64}), {layers}]),
      answer: now => Path.stacks(now.junctions.filter(j => j.sublayer === "self_attn"))
        .flatMap(([stack, layers]) => [
          Path.text("depth.norms", {stack, last: layers.length - 1,
            norms: layers.map(j => Glim.number(j.norm)).join(", ")}),
          ...(layers.length > 1 ? [Path.text("depth.ratio",
            {ratio: Glim.number(layers[0].norm / layers[layers.length - 1].norm)})] : [])])
        .concat(Path.text("depth.rule"), Path.pairs(now) ? Path.text("depth.encoder") : [])},
    {name: "pixel", when: data => Boolean(data.image),
      steps: [["pixel.paint", () => {
        const pixel = Path.promise(live.was() ?? live.now());
        return live.change({paint: [`${pixel.place}=${pixel.to}`]}, "tokens");
      }]],
      answer: (now, was) => {
        const pixel = Path.promise(was ?? now), number = Glim.number;
        return [Path.text("pixel.promise", {place: pixel.place, gradient: number(pixel.gradient), to: pixel.to,
          from: number(pixel.from), promised: number(pixel.promised)}),
          Path.loss(now, was) + (was ? Path.text("pixel.difference", {difference: number(now.loss - was.loss)}) : ""),
          Path.text("pixel.slope")];
      }},
  ].filter(stop => !stop.when || stop.when(live.now())),

  // Of all pixels the one whose change to 0 or 1 promises the largest fall of the loss, to first order.
  promise(data) {
    const {pixels, gradient} = data.image, values = Maps.unpack(pixels), [channels, rows, columns] = pixels.shape;
    let pixel = {promised: Infinity};
    Maps.unpack(gradient).forEach((g, i) => {
      const to = g > 0 ? 0 : 1, promised = g * (to - values[i]), c = Math.floor(i / (rows * columns));
      const place = `${channels > 1 ? c + "," : ""}${Math.floor(i / columns) % rows},${i % columns}`;
      if (promised < pixel.promised) pixel = {promised, to, from: values[i], gradient: g, place};
    });
    return pixel;
  },

  // live: {now(), was(), change(values, tab, module), fresh(sizes), show(tab, path), reset(), self()}
  panel(live) {
    const make = Glim.make, text = Path.text, stops = Path.stops(live);
    const questions = Path.quiz.filter(q => !q.when || q.when(live.now()));
    const body = make("div", {id: "path-stop"}), summary = make("summary"), scores = {};
    const other = () => Path.languages.find(name => name !== Path.language);
    const language = make("button", {id: "path-language", onclick: () => {
      Path.language = other();
      try {
        history.replaceState(null, "", `?lang=${Path.language}${location.hash}`);
      } catch (refused) {}  // a page within another one has no address of its own
      speak();
    }});
    const panel = make("details", {id: "path", open: true}, summary, make("div", {class: "controls"}, language), body);
    const given = {before: new Map(), after: new Map()};  // of the questions
    let at = -1, answered = false;  // the stop, and whether its answer is shown
    const quiz = when => {
      const result = make("p", {role: "status"});
      const rows = questions.map((q, i) => make("fieldset", {}, make("legend", {}, text(q.name)),
        text(q.name + ".choices").map((choice, k) => make("label", {class: "choice"}, make("input", {type: "radio",
          name: `path-${when}-${i}`, checked: given[when].get(i) === k, onchange: () => given[when].set(i, k)}),
        " " + choice))));
      const show = () => {
        result.textContent = text(scores.before === undefined ? "quiz.result" : "quiz.results",
          {right: scores.after, count: questions.length, before: scores.before});
        rows.forEach((row, i) => row.querySelectorAll("label")[questions[i].right].classList.add("right"));
      };
      const done = make("button", {id: "path-quiz-done", onclick: () => {
        scores[when] = questions.filter((q, i) => given[when].get(i) === q.right).length;
        if (when === "before") go(0); else { answered = true; show(); }
      }}, text(when === "before" ? "quiz.begin" : "quiz.check"));
      if (when === "after" && answered) show();
      return [make("h3", {}, text("quiz." + when)), ...rows, make("div", {class: "controls"}, done,
        when === "before" ? make("button", {id: "path-skip", onclick: () => go(0)}, text("quiz.skip")) : ""), result];
    };
    const draw = () => {
      if (at < 0) return body.replaceChildren(...quiz("before"));
      if (at >= stops.length)
        return body.replaceChildren(...quiz("after"), make("div", {class: "controls"},
          make("button", {id: "path-back", onclick: () => go(stops.length - 1)}, text("back"))),
          make("p", {}, text(live.now().image ? "again.image" : "again.sentence")));
      const {name, title = "", question = "", steps, answer: lines} = stops[at];
      const answer = make("div", {id: "path-answer", role: "status"});
      const say = () => answer.replaceChildren(...lines(live.now(), live.was()).map(line => make("p", {}, line)),
        make("p", {class: "soft"}, text(name + ".paper")));
      if (answered) say();
      body.replaceChildren(
        make("h3", {}, text("stop", {at: at + 1, count: stops.length, title: text(`${name}.title${title}`)})),
        make("p", {}, text(`${name}.question${question}`)),
        make("div", {class: "controls"}, steps.map(([label, act, values], i) => make("button", {"data-step": i,
          onclick: () => { if (act() !== false) { answered = true; say(); } }}, text(label, values)))), answer,
        make("div", {class: "controls"},
          make("button", {id: "path-back", onclick: () => { live.reset(); go(at - 1); }}, text("back")),
          make("button", {id: "path-next", onclick: () => { live.reset(); go(at + 1); }},
            text(at + 1 < stops.length ? "next" : "last"))));
    };
    const go = to => {
      at = to;
      answered = false;
      draw();
    };
    const speak = () => {
      panel.lang = Path.language;
      language.lang = other();
      language.textContent = Path.texts.switch[other()];
      summary.textContent = text("summary", {count: text("counts")[stops.length]});
      draw();
    };
    speak();
    return panel;
  },
};
