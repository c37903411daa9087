// The guided path of a live page: stops of about a minute and a half each, seven where there are sentence pairs. A stop
// asks a question, changes something, and answers with the numbers of the pass that is shown. There are questions before
// and after.
// `when` says of which passes a stop or a question is.
"use strict";
const Path = {
  quiz: [
    {question: "The loss is cross-entropy. What is its gradient at the logits?",
      choices: ["1/p of the right token", "p − q: predicted minus wanted probabilities", "the log-probabilities"],
      right: 1},
    {question: "A softmax puts nearly all of A on one key. What of ∂L/∂A reaches the scores?",
      choices: ["nearly nothing", "nearly everything", "its half"], right: 0},
    {question: "Without the factor 1/√Dk, what happens to the gradient of query and key?",
      choices: ["it always grows by √Dk", "it grows while A is soft, and vanishes where A saturates",
        "nothing: the softmax divides it out"],
      right: 1},
    {when: data => Path.causal(data),
      question: "A decoder position is allowed to see the next token. What follows at once, without any training?",
      choices: ["the loss falls", "gradient flows to the newly seen value and score", "nothing: the weights decide"],
      right: 1},
    {when: data => Path.both_norms(data) && Path.pairs(data),
      question: "In which arrangement does the gradient of the decoder's first layer keep its size when layers are " +
        "added?",
      choices: ["norm after each sum (post)", "norm before each sublayer (pre)", "it makes no difference"], right: 1},
  ],

  causal: data => data.attention.some(v => v.side.startsWith("decoder self")),
  both_norms: data => data.source.length > 0 && !["classifier", "vit"].includes(data.kind),
  pairs: data => data.source.length > 0 && data.target_in.length > 0,

  // What the stops read off a pass.
  read: data => data.blocks.find(b => ["src_embed", "wte", "bert.embed", "patch_embed"].includes(b.module)),
  node: (data, path) => data.nodes.find(n => n.path === path),
  view: (data, side) => data.attention.find(v => v.side === side) ?? data.attention[0],
  mean: (view, what) => d3.mean(view.heads, h => h[what]),
  logits(data) {
    const smooth = data.nodes.find(n => n.op === "log_softmax");
    return smooth && data.nodes[smooth.inputs[0]];
  },
  // A change of a number, in words.
  change(what, now, was, unit = "") {
    const number = Glim.number;
    if (was === undefined || was === null) return `${what}: ${number(now)}${unit}`;
    const times = now / was;
    return `${what}: ${number(now)}${unit}, was ${number(was)}${unit}` +
      (Number.isFinite(times) && times > 0 ? ` (× ${number(times)})` : "");
  },

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
    return [Path.change(`‖∂L/∂y‖ of ${first.module}, what is read`, first.gradient_norm, before?.gradient_norm)];
  },

  // A node through which alone some parameters are reached: the encoder's output, or the middle of a stack.
  gate(data) {
    const x = data.memory.x >= 0 ? data.memory.x : data.junctions[Math.floor(data.junctions.length / 2)]?.x;
    return data.nodes[x]?.path;
  },
  reached: data => data.nodes.filter(n => n.op === "leaf" && n.path !== "image" && n.gradient?.norm > 0).length,

  // Each: title; question; steps: [label, what it does]; answer(now, was): lines; paper.
  stops: live => [
    {title: "Where the gradient enters, and in what order it flows",
      question: "The loss is one number. Which node gets a gradient first, which parameter first, and which last? " +
        "How many parameters get none when the way is cut in the middle?",
      steps: [["show the walk", () => live.show("walk", live.now().nodes[live.now().walk[0]].path)],
        ...(Path.gate(live.now()) ? [[live.now().memory.x >= 0 ? "cut the way to the encoder" : "cut it in the middle",
          () => live.change({freeze: [Path.gate(live.was() ?? live.now())]}, "model")]] : [])],
      answer: (now, was) => {
        const leaves = now.walk.map(i => now.nodes[i]).filter(n => n.op === "leaf" && n.path !== "image");
        const first = now.nodes[now.walk[0]];
        return [`It enters at the loss itself, node ${first.number}, as ∂L/∂L = 1, and goes through ` +
          `${now.walk.length} nodes, each after all that read it: only then is its gradient, a sum, complete.`,
          `The first parameter is ${leaves[0].path}, after ${leaves[0].turn + 1} turns; the last ` +
          `${leaves[leaves.length - 1].path}, after ${leaves[leaves.length - 1].turn + 1}.`,
          Path.change("parameters that get a gradient", Path.reached(now), was && Path.reached(was))];
      },
      paper: "Linnainmaa 1970; Griewank & Walther 2008, chapter 3"},
    {title: "p − q at the logits",
      question: "What does each logit get, and what do the gradients of one position add up to?",
      steps: [["show the logits", () => { const n = Path.logits(live.now()); if (n) live.show("walk", n.path); }],
        live.now().label_smoothing ? ["without label smoothing", () => live.change({"label-smoothing": 0})] :
          ["with label smoothing 0.1", () => live.change({"label-smoothing": 0.1})]],
      answer: (now, was) => {
        const n = Path.logits(now);
        const T = now.target_out.length;
        return [`∂L/∂logits = (p − q)/T${T > 1 ? ` for the ${T} positions` : ", T = 1"}: a column for each answer, ` +
          "negative only where q > p. Over the columns p and q both add up to 1, so that each row adds up to 0.",
          Path.change("‖∂L/∂logits‖", n?.gradient?.norm, was && Path.logits(was)?.gradient?.norm),
          Path.change("loss", now.loss, was?.loss),
          "Smoothing wants a little of every answer: without it one that is predicted well sends nearly nothing."];
      },
      paper: "Szegedy et al. 2016, section 7; Vaswani et al. 2017, section 5.4"},
    {title: "What a saturated softmax lets through, and what 1/√Dk does",
      question: "The scores are multiplied by 1/√Dk. How much of ∂L/∂A reaches ∂L/∂S when the factor is 1, and when " +
        "it is 3?",
      steps: [1, 3, 0.05].map(scale => [`factor ${scale}`, () => live.change({scale}, "attention")]),
      answer: (now, was) => ["decoder self", "cross", "encoder self"]
        .filter(side => now.attention.some(v => v.side.startsWith(side))).flatMap(side => {
          const v = now.attention.find(v => v.side.startsWith(side));
          const w = was?.attention.find(o => o.module === v.module);
          const words = `${side}-attention, layer ${v.layer}`;
          const passed = view => view.heads.map(h => Glim.number(h.passed)).join(", ");
          return [Path.change(`${words}: entropy of a row`, Path.mean(v, "entropy"), w && Path.mean(w, "entropy"), " nats"),
            `${words}: ‖∂L/∂S‖/‖∂L/∂A‖ of each head: ${passed(v)}` + (w ? `; was ${passed(w)}` : "")];
        }).concat("∂L/∂S = A (∂L/∂A − Σ A ∂L/∂A): where A is near 0 or 1 the bracket meets a factor near 0, whatever " +
          "∂L/∂A asks for. The ratio is what the softmax passes on: at most 1/2, about 1/n where n keys share A evenly, " +
          "and 0 in the end as the factor grows. ‖∂L/∂S‖ alone also grows with ∂L/∂A, and so with the loss."),
      paper: "Vaswani et al. 2017, section 3.2.1, footnote 4"},
    {title: "Value against query and key", when: data => data.attention.length > 0,
      question: "A head learns what to read (value) and where to look (query, key). Which of them gets most of the " +
        "gradient, and what is left when ∂L/∂S is 0 in every head?",
      steps: [["zero every ∂L/∂S", () => live.change({zero: ["*.scores"]}, "attention")]],
      answer: (now, was) => {
        const old = was ?? now;
        const shares = old.attention.flatMap(v => v.heads.map(h => h.value_share)).filter(x => x !== null);
        return [`Of ‖∂L/∂v‖² + ‖∂L/∂q‖² + ‖∂L/∂k‖² the value has between ${Glim.number(100 * d3.min(shares))} % and ` +
          `${Glim.number(100 * d3.max(shares))} % (${Glim.number(100 * d3.median(shares))} % in the middle) over the ` +
          `${shares.length} heads.`, ...Path.first_block(now, was),
          "What goes on when no score learns is what a fixed mixing of values would get: most of it."];
      },
      paper: "compare Vaswani et al. 2017, equation 1, with the gradient in autograd/ops/attention.cpp"},
    {title: "Skips", when: data => data.junctions.length > 0,
      question: "Each sublayer adds to its input. How much of the gradient takes the skip, and what reaches the " +
        `embeddings when no self-attention${Path.pairs(live.now()) ? " of the encoder" : ""} passes any on?`,
      steps: [["stop what goes through self-attention", () =>
        live.change({freeze: [(Path.pairs(live.now()) ? "encoder." : "") + "*self_attn.context"]}, "model")]],
      answer: (now, was) => {
        const skips = (was ?? now).junctions.map(j => j.branches.find(b => b.name === "skip")?.share)
          .filter(x => x !== undefined);
        return [`The skip carries between ${Glim.number(100 * d3.min(skips))} % and ` +
          `${Glim.number(100 * d3.max(skips))} % at the ${skips.length} junctions (a share may lie outside 0 to ` +
          "100 %: the branches can pull against each other).",
          ...Path.first_block(now, was)];
      },
      paper: "He et al. 2016, equation 5"},
    {title: "What a mask does", when: data => data.attention.length > 0,
      question: Path.causal(live.now()) ? "Position 0 of the decoder may not see position 1. What happens to score " +
        "and gradient when it may, and what when a query may see nothing at all?" :
        "Every position may see every other. What becomes of score and gradient when position 0 may not see " +
        "position 1, and what when it may see nothing at all?",
      steps: [[Path.causal(live.now()) ? "let position 0 see position 1" : "hide position 1 from position 0",
        Path.causal(live.now()) ? "unmask" : "mask", "0,1"], ["let position 0 see nothing", "mask", "0,*"]]
        .map(([words, name, cell]) =>
          [words, () => live.change({[name]: [`${live.self()}:${cell}`]}, "attention", live.self())]),
      answer: (now, was) => {
        const v = now.attention.find(v => v.module === live.self());
        const width = v.keys.length, a = Maps.unpack(v.A), ds = Maps.unpack(v.dS);
        const sum = d3.sum(ds.slice(0, width)), zero = Math.abs(sum) < 1e-4 * d3.max(ds, Math.abs);
        return [`A of position 0 on position 1, head 0: ${Glim.number(a[1])}; ∂L/∂S there: ${Glim.number(ds[1])}. ` +
          "Masked, both are exactly 0: no weight, no gradient, not a small one.",
          `Row 0 of A adds up to ${Glim.number(d3.sum(a.slice(0, width)))}, row 0 of ∂L/∂S to ` +
          `${zero ? 0 : Glim.number(sum)}.`,
          Path.change("loss", now.loss, was?.loss),
          "Whether the loss falls is another matter: the weights were trained with the mask as it was."];
      },
      paper: "Vaswani et al. 2017, section 3.2.3"},
    {title: Path.both_norms(live.now()) ? "Pre- and post-norm with depth" : "Pre-norm with depth",
      when: data => !["classifier", "vit"].includes(data.kind) && data.junctions.length > 0,
      question: Path.both_norms(live.now()) ? "A fresh model of 6 layers, its norms before the sublayers or after " +
        (Path.pairs(live.now()) ? "each sum: in which does the gradient fade on its way down the decoder?" :
          "each sum: in which is the gradient of the first layer as large as that of the last?") :
        "Fresh models of 3 and of 12 layers, norms before the sublayers: what does depth do to the first layer's " +
        "gradient?",
      steps: Path.both_norms(live.now()) ? [["after", "post"], ["before", "pre"]].map(([words, norm]) =>
        [`6 layers, norms ${words} (${norm})`, () => live.fresh({norm, layers: 6, "d-model": 64})]) :
        [3, 12].map(layers => [`${layers} layers`, () => live.fresh({layers, "d-model": 64})]),
      answer: now => Path.stacks(now.junctions.filter(j => j.sublayer === "self_attn"))
        .flatMap(([stack, layers]) => [`‖∂L/∂x‖ where x enters ${stack}layers.0 to ${layers.length - 1}: ` +
          layers.map(j => Glim.number(j.norm)).join(", "),
          ...(layers.length > 1 ? ["First over last: " + Glim.number(layers[0].norm / layers[layers.length - 1].norm)] :
            [])])
        .concat("With pre-norm the skip passes the gradient on as it is; with post-norm each sum is divided by its " +
          "deviation on the way.", ...(Path.pairs(now) ? ["An encoder's last layer hears of the loss through the " +
          "decoder alone: there the first layer's may be the larger with either."] : [])),
      paper: "Xiong et al. 2020, theorem 1"},
    {title: "A gradient is a forecast", when: data => Boolean(data.image),
      question: "∂L/∂pixel says how the loss changes with a pixel. Which pixel promises most when it is made black " +
        "or white, and does the loss keep the promise?",
      steps: [["paint the pixel that promises the largest fall", () => {
        const pixel = Path.promise(live.was() ?? live.now());
        return live.change({paint: [`${pixel.place}=${pixel.to}`]}, "tokens");
      }]],
      answer: (now, was) => {
        const pixel = Path.promise(was ?? now);
        return [`Pixel ${pixel.place} has ∂L/∂pixel = ${Glim.number(pixel.gradient)}. From ` +
          `${Glim.number(pixel.from)} to ${pixel.to} that promises a change of the loss by ` +
          `${Glim.number(pixel.promised)}.`,
          Path.change("loss", now.loss, was?.loss) + (was ? `: a change by ${Glim.number(now.loss - was.loss)}` : ""),
          "A gradient is the slope here: it says little of a step as long as from black to white."];
      },
      paper: "Simonyan et al. 2014, section 3"},
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
    const make = Glim.make, stops = Path.stops(live), questions = Path.quiz.filter(q => !q.when || q.when(live.now()));
    const body = make("div", {id: "path-stop"});
    const scores = {};
    let at = -1;
    const quiz = (when, next) => {
      const given = new Map();
      const result = make("p", {role: "status"});
      const rows = questions.map((q, i) => make("fieldset", {}, make("legend", {}, q.question),
        q.choices.map((choice, k) => make("label", {class: "choice"}, make("input", {type: "radio",
          name: `path-${when}-${i}`, onchange: () => given.set(i, k)}), " " + choice))));
      const done = make("button", {id: "path-quiz-done", onclick: () => {
        scores[when] = questions.filter((q, i) => given.get(i) === q.right).length;
        if (when === "before") return next();
        result.textContent = `${scores.after} of ${questions.length} right` +
          (scores.before === undefined ? "." : `; before the path ${scores.before}.`);
        rows.forEach((row, i) => row.querySelectorAll("label")[questions[i].right].classList.add("right"));
      }}, when === "before" ? "begin" : "check");
      return [make("h3", {}, when === "before" ? "Before: what do you expect?" : "After: the same questions"), ...rows,
        make("div", {class: "controls"}, done,
          when === "before" ? make("button", {id: "path-skip", onclick: next}, "skip the questions") : ""),
        result];
    };
    const go = to => {
      at = to;
      if (at < 0) return body.replaceChildren(...quiz("before", () => go(0)));
      if (at >= stops.length)
        return body.replaceChildren(...quiz("after", () => {}), make("div", {class: "controls"},
          make("button", {onclick: () => go(stops.length - 1)}, "← back")),
          make("p", {}, live.now().image ? "Now with another image: choose it above and go through the stops again." :
            "Now with a sentence of your own: type it above and go through the stops again."));
      const stop = stops[at];
      const answer = make("div", {id: "path-answer", role: "status"});
      const say = () => answer.replaceChildren(...stop.answer(live.now(), live.was()).map(line => make("p", {}, line)),
        make("p", {class: "soft"}, stop.paper));
      body.replaceChildren(make("h3", {}, `${at + 1} of ${stops.length}: ${stop.title}`), make("p", {}, stop.question),
        make("div", {class: "controls"}, stop.steps.map(([label, act], i) =>
          make("button", {"data-step": i, onclick: () => { if (act() !== false) say(); }}, label))), answer,
        make("div", {class: "controls"},
          make("button", {id: "path-back", onclick: () => { live.reset(); go(at - 1); }}, "← back"),
          make("button", {id: "path-next", onclick: () => { live.reset(); go(at + 1); }},
            at + 1 < stops.length ? "next stop →" : "the questions again →")));
    };
    go(-1);
    const count = ["no", "one", "two", "three", "four", "five", "six", "seven"][stops.length];
    return make("details", {id: "path", open: true},
      make("summary", {}, `A path of ${count} stops, about ten minutes`), body);
  },
};
