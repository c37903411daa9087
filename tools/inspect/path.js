// The guided path of a live page: seven stops of about a minute and a half each. A stop asks a question, changes
// something, and answers with the numbers of the pass that is shown. Five questions before and after.
"use strict";
const Path = {
  quiz: [
    {question: "The loss is cross-entropy. What is its gradient at the logits?",
      choices: ["1/p of the right token", "p − q: predicted minus wanted probabilities", "the log-probabilities"], right: 1},
    {question: "A softmax puts nearly all of A on one key. What of ∂L/∂A reaches the scores?",
      choices: ["nearly nothing", "nearly everything", "its half"], right: 0},
    {question: "Without the factor 1/√Dk, what happens to the gradient of query and key?",
      choices: ["it always grows by √Dk", "it grows while A is soft, and vanishes where A saturates", "nothing: the softmax divides it out"],
      right: 1},
    {question: "A decoder position is allowed to see the next token. What follows at once, without any training?",
      choices: ["the loss falls", "gradient flows to the newly seen value and score", "nothing: the weights decide"], right: 1},
    {question: "In which arrangement does the gradient of the first layers keep its size when layers are added?",
      choices: ["norm after each sum (post)", "norm before each sublayer (pre)", "it makes no difference"], right: 1},
  ],

  // What the stops read off a pass.
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

  // Each: title; question; steps: [label, what it does]; answer(now, was): lines; paper.
  stops: live => [
    {title: "Where the gradient enters, and in what order it flows",
      question: "The loss is one number. Which node gets a gradient first, which parameter first, and which last?",
      steps: [["show the walk", () => live.show("walk", live.now().nodes[live.now().walk[0]].path)]],
      answer: now => {
        const leaves = now.walk.map(i => now.nodes[i]).filter(n => n.op === "leaf");
        const first = now.nodes[now.walk[0]];
        return [`It enters at the loss itself, node ${first.number}, as ∂L/∂L = 1, and goes through ${now.walk.length} nodes, ` +
          "each after all that read it: only then is its gradient, a sum, complete.",
          `The first parameter is ${leaves[0].path}, after ${leaves[0].turn + 1} turns; the last ` +
          `${leaves[leaves.length - 1].path}, after ${leaves[leaves.length - 1].turn + 1}.`];
      },
      paper: "Linnainmaa 1970; Griewank & Walther 2008, chapter 3"},
    {title: "p − q at the logits",
      question: "What does each logit get, and what do the gradients of one position add up to?",
      steps: [["show the logits", () => { const n = Path.logits(live.now()); if (n) live.show("walk", n.path); }],
        ["without label smoothing", () => live.change({"label-smoothing": 0})]],
      answer: (now, was) => {
        const n = Path.logits(now);
        return [`∂L/∂logits = (p − q)/T for the ${now.target_out.length} positions: a column for each token, negative only ` +
          "where q > p. Over the vocabulary p and q both add up to 1, so that each row adds up to 0.",
          Path.change("‖∂L/∂logits‖", n?.gradient?.norm, was && Path.logits(was)?.gradient?.norm),
          Path.change("loss per token", now.loss, was?.loss),
          "Smoothing wants a little of every token: without it a well-predicted token sends nearly nothing."];
      },
      paper: "Szegedy et al. 2016, section 7; Vaswani et al. 2017, section 5.4"},
    {title: "What a saturated softmax lets through, and what 1/√Dk does",
      question: "The scores are multiplied by 1/√Dk. What happens to ∂L/∂S when the factor is 1, and what when it is 3?",
      steps: [["factor 1", () => live.change({scale: 1}, "attention")], ["factor 3", () => live.change({scale: 3}, "attention")],
        ["factor 0.05", () => live.change({scale: 0.05}, "attention")]],
      answer: (now, was) => [["decoder self", "decoder self-attention"], ["cross", "cross-attention"], ["encoder self", "encoder self-attention"]]
        .filter(([side]) => now.attention.some(v => v.side.startsWith(side))).flatMap(([side, words]) => {
          const v = now.attention.find(v => v.side.startsWith(side)), w = was?.attention.find(o => o.module === v.module);
          return [Path.change(`${words}, layer ${v.layer}: entropy of a row`, Path.mean(v, "entropy"), w && Path.mean(w, "entropy"), " nats"),
            Path.change(`${words}, layer ${v.layer}: ‖∂L/∂S‖ of a head`, Path.mean(v, "scores_gradient"), w && Path.mean(w, "scores_gradient"))];
        }).concat("∂L/∂S = A (∂L/∂A − Σ A ∂L/∂A): where A is near 0 or 1 the bracket meets a factor near 0, whatever ∂L/∂A asks " +
          "for. Heads that were soft before get more gradient from a larger factor, heads that were sharp get less."),
      paper: "Vaswani et al. 2017, section 3.2.1, footnote 4"},
    {title: "Value against query and key",
      question: "A head learns what to read (value) and where to look (query, key). Which of them gets most of the gradient, " +
        "and what is left when ∂L/∂S is 0 in every head?",
      steps: [["zero every ∂L/∂S", () => live.change({zero: ["*.scores"]}, "attention")]],
      answer: (now, was) => {
        const old = was ?? now;
        const shares = old.attention.flatMap(v => v.heads.map(h => h.value_share)).filter(x => x !== null);
        const first = now.blocks.find(b => b.module === "src_embed"), before = was?.blocks.find(b => b.module === "src_embed");
        return [`Of ‖∂L/∂v‖² + ‖∂L/∂q‖² + ‖∂L/∂k‖² the value has between ${Glim.number(100 * d3.min(shares))} % and ` +
          `${Glim.number(100 * d3.max(shares))} % (${Glim.number(100 * d3.median(shares))} % in the middle) over the ${shares.length} heads.`,
          ...(first ? [Path.change("‖∂L/∂ embedding of the source‖", first.gradient_norm, before?.gradient_norm)] : []),
          "What goes on when no score learns is what a fixed mixing of values would get: most of it."];
      },
      paper: "compare Vaswani et al. 2017, equation 1, with the gradient in autograd/ops/attention.cpp"},
    {title: "Skips",
      question: "Each sublayer adds to its input. How much of the gradient takes the skip, and what reaches the embeddings " +
        "when no self-attention of the encoder passes any on?",
      steps: [["stop what goes through the encoder's self-attention", () => live.change({freeze: ["encoder.*self_attn.context"]}, "model")]],
      answer: (now, was) => {
        const skips = (was ?? now).junctions.map(j => j.branches.find(b => b.name === "skip")?.share).filter(x => x !== undefined);
        const first = now.blocks.find(b => b.module === "src_embed"), before = was?.blocks.find(b => b.module === "src_embed");
        return [`The skip carries between ${Glim.number(100 * d3.min(skips))} % and ${Glim.number(100 * d3.max(skips))} % at the ` +
          `${skips.length} junctions (a share may lie outside 0 to 100 %: the branches can pull against each other).`,
          ...(first ? [Path.change("‖∂L/∂ embedding of the source‖", first.gradient_norm, before?.gradient_norm)] : [])];
      },
      paper: "He et al. 2016, equation 5"},
    {title: "What a mask does",
      question: "Position 0 of the decoder may not see position 1. What happens to score and gradient when it may, and what " +
        "when a query may see nothing at all?",
      steps: [["let position 0 see position 1", () => live.change({unmask: [`${live.self()}:0,1`]}, "attention", live.self())],
        ["let position 0 see nothing", () => live.change({mask: [`${live.self()}:0,*`]}, "attention", live.self())]],
      answer: (now, was) => {
        const v = now.attention.find(v => v.module === live.self());
        if (!v) return ["This model has no self-attention in its decoder."];
        const width = v.keys.length, a = Maps.unpack(v.A), ds = Maps.unpack(v.dS);
        return [`A of position 0 on position 1, head 0: ${Glim.number(a[1])}; ∂L/∂S there: ${Glim.number(ds[1])}. Masked, both are ` +
          "exactly 0: no weight, no gradient, not a small one.",
          `Row 0 of A adds up to ${Glim.number(d3.sum(a.slice(0, width)))}, row 0 of ∂L/∂S to ${Glim.number(Math.abs(d3.sum(ds.slice(0, width))) < 1e-4 * d3.max(ds, Math.abs) ? 0 : d3.sum(ds.slice(0, width)))}.`,
          Path.change("loss per token", now.loss, was?.loss),
          "Whether the loss falls is another matter: the weights were trained without that sight."];
      },
      paper: "Vaswani et al. 2017, section 3.2.3"},
    {title: "Pre- and post-norm with depth",
      question: "A fresh model of 6 layers, its norms before the sublayers or after each sum: in which is the gradient of the " +
        "first encoder layer as large as that of the last?",
      steps: [["6 layers, norms after (post)", () => live.change({fresh: {norm: "post", layers: 6, "d-model": 64}}, "model")],
        ["6 layers, norms before (pre)", () => live.change({fresh: {norm: "pre", layers: 6, "d-model": 64}}, "model")]],
      answer: now => {
        const layers = now.junctions.filter(j => j.sublayer === "self_attn" && j.module.startsWith("encoder.layers"));
        const decoder = now.junctions.filter(j => j.sublayer === "self_attn" && j.module.startsWith("decoder.layers"));
        const list = (words, js) => js.length ? `‖∂L/∂x‖ where x enters ${words} layer 0 to ${js.length - 1}: ` +
          js.map(j => Glim.number(j.norm)).join(", ") : "";
        return [list("encoder", layers), list("decoder", decoder), layers.length > 1 ? "First over last, encoder: " +
          Glim.number(layers[0].norm / layers[layers.length - 1].norm) + (decoder.length > 1 ? "; decoder: " +
          Glim.number(decoder[0].norm / decoder[decoder.length - 1].norm) : "") + "." : "",
          "With pre-norm the skip passes the gradient on as it is; with post-norm each sum is divided by its deviation on the way."]
          .filter(Boolean);
      },
      paper: "Xiong et al. 2020, theorem 1"},
  ],

  // live: {now(), was(), change(values, tab, module), show(tab, path), reset(), self()}
  panel(live) {
    const make = Glim.make, stops = Path.stops(live), body = make("div", {id: "path-stop"});
    const scores = {};
    let at = -1;
    const quiz = (when, next) => {
      const given = new Map();
      const result = make("p", {role: "status"});
      const rows = Path.quiz.map((q, i) => make("fieldset", {}, make("legend", {}, q.question), q.choices.map((choice, k) =>
        make("label", {class: "choice"}, make("input", {type: "radio", name: `path-${when}-${i}`,
          onchange: () => given.set(i, k)}), " " + choice))));
      const done = make("button", {id: "path-quiz-done", onclick: () => {
        scores[when] = Path.quiz.filter((q, i) => given.get(i) === q.right).length;
        if (when === "before") return next();
        result.textContent = `${scores.after} of ${Path.quiz.length} right` +
          (scores.before === undefined ? "." : `; before the path ${scores.before}.`);
        rows.forEach((row, i) => row.querySelectorAll("label")[Path.quiz[i].right].classList.add("right"));
      }}, when === "before" ? "begin" : "check");
      return [make("h3", {}, when === "before" ? "Before: what do you expect?" : "After: the same questions"), ...rows,
        make("div", {class: "controls"}, done, when === "before" ? make("button", {id: "path-skip", onclick: next}, "skip the questions") : ""),
        result];
    };
    const go = to => {
      at = to;
      if (at < 0) return body.replaceChildren(...quiz("before", () => go(0)));
      if (at >= stops.length)
        return body.replaceChildren(...quiz("after", () => {}), make("div", {class: "controls"},
          make("button", {onclick: () => go(stops.length - 1)}, "← back")),
          make("p", {}, "Now with a sentence of your own: type it above and go through the stops again."));
      const stop = stops[at];
      const answer = make("div", {id: "path-answer", role: "status"});
      const say = () => answer.replaceChildren(...stop.answer(live.now(), live.was()).map(line => make("p", {}, line)),
        make("p", {class: "soft"}, stop.paper));
      body.replaceChildren(make("h3", {}, `${at + 1} of ${stops.length}: ${stop.title}`), make("p", {}, stop.question),
        make("div", {class: "controls"}, stop.steps.map(([label, act], i) => make("button", {"data-step": i, onclick: () => {
          if (act() !== false) say();
        }}, label))), answer,
        make("div", {class: "controls"},
          make("button", {id: "path-back", onclick: () => { live.reset(); go(at - 1); }}, "← back"),
          make("button", {id: "path-next", onclick: () => { live.reset(); go(at + 1); }}, at + 1 < stops.length ? "next stop →" : "the questions again →")));
    };
    go(-1);
    return make("details", {id: "path", open: true}, make("summary", {}, "A path of seven stops, about ten minutes"), body);
  },
};
