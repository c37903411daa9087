// The graph of a module: its nodes in layers, inputs above, edges around the boxes.
//
// A node's layer is the longest way to it; a node without inputs is just above its first
// reader. An edge over several layers keeps a place in each of them (Sugiyama et al. 1981), so that it
// crosses no box. Each layer is ordered by the mean place of its neighbours, which keeps crossings few.
"use strict";
const Graph = {
  width: 166, height: 34, gap: 20, lane: 16, between: 44,

  // boxes: [{id, inputs: [id…]}…], inputs before their readers. Returns {boxes: Map of id to {x, y},
  // edges: [{from, to, points}…], width, height}; x is the middle of a box, y its top.
  layout(boxes) {
    const depth = new Map(), readers = new Map(boxes.map(b => [b.id, []]));
    for (const b of boxes) {
      depth.set(b.id, 1 + (d3.max(b.inputs, k => depth.get(k)) ?? -1));
      for (const k of b.inputs) readers.get(k).push(b.id);
    }
    for (const b of boxes)
      if (!b.inputs.length && readers.get(b.id).length)
        depth.set(b.id, d3.min(readers.get(b.id), k => depth.get(k)) - 1);
    const layers = d3.range(1 + d3.max([...depth.values()])).map(() => []);
    const item = box => ({box, up: [], down: [], x: 0, wide: box ? Graph.width + Graph.gap : Graph.lane});
    const items = new Map(boxes.map(b => [b.id, item(b)]));
    for (const b of boxes) layers[depth.get(b.id)].push(items.get(b.id));
    const join = (above, below) => { above.down.push(below); below.up.push(above); };
    const edges = [];
    for (const b of boxes)
      for (const k of new Set(b.inputs)) {
        const way = [items.get(k)];
        for (let layer = depth.get(k) + 1; layer < depth.get(b.id); ++layer) {
          way.push(item(null));
          layers[layer].push(way[way.length - 1]);
        }
        way.push(items.get(b.id));
        way.slice(1).forEach((next, i) => join(way[i], next));
        edges.push({from: k, to: b.id, way});
      }
    // A node without inputs is beside the way of the values and does not bend it.
    const weight = n => n.box && !n.box.inputs.length ? 0.01 : 1;
    const spread = layer => {  // beside each other, as near to where they want to be as their order allows
      let right = 0;
      const places = layer.map(i => right += i.wide).map((end, i) => end - layer[i].wide / 2);
      const shift = d3.sum(layer, (i, at) => weight(i) * (i.wants - places[at])) / d3.sum(layer, weight);
      layer.forEach((i, at) => i.x = places[at] + shift);
      for (let pass = 0; pass < 8; ++pass)
        layer.forEach((i, at) => {
          const before = layer[at - 1], after = layer[at + 1];
          const least = before ? before.x + (before.wide + i.wide) / 2 : -Infinity;
          const most = after ? after.x - (after.wide + i.wide) / 2 : Infinity;
          i.x = Math.max(least, Math.min(most, i.wants));
        });
    };
    const wanted = list => list.length ? d3.sum(list, n => n.x * weight(n)) / d3.sum(list, weight) : undefined;
    for (let pass = 0; pass < 12; ++pass) {
      const down = pass % 2 === 0;
      for (const layer of down ? layers : [...layers].reverse()) {
        for (const i of layer) i.wants = wanted(down ? i.up : i.down) ?? i.x;
        if (pass < 8) layer.sort((a, b) => a.wants - b.wants);
        spread(layer);
      }
    }
    const all = layers.flat(), left = d3.min(all, i => i.x - i.wide / 2);
    for (const i of all) i.x -= left;
    layers.forEach((layer, at) => layer.forEach(i => i.y = 8 + at * (Graph.height + Graph.between)));
    for (const e of edges)
      e.points = e.way.flatMap((i, at) => [at > 0 ? [i.x, i.y] : null,
        at < e.way.length - 1 ? [i.x, i.y + Graph.height] : null].filter(Boolean));
    return {boxes: items, edges, width: d3.max(all, i => i.x + i.wide / 2), height:
      layers.length * (Graph.height + Graph.between) - Graph.between + 16};
  },

  // Boxes as for layout, with {label, note, path, fill, shape: "round", "input" or "", click}.
  draw(boxes, title) {
    const {boxes: places, edges, width, height} = Graph.layout(boxes);
    const svg = d3.create("svg").attr("width", width).attr("height", height).attr("role", "img")
      .attr("aria-label", "graph of " + title);
    svg.append("defs").html('<marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" ' +
      'markerHeight="7" orient="auto"><path d="M0 1L7 4L0 7z" fill="currentColor"/></marker>');
    const line = d3.line().curve(d3.curveMonotoneY);
    for (const e of edges)
      svg.append("path").attr("class", "edge").attr("d", line(e.points)).attr("data-from", e.from)
        .attr("data-to", e.to).attr("marker-end", "url(#arrow)");
    for (const b of boxes) {
      const {x, y} = places.get(b.id);
      const group = svg.append("g").attr("class", "box " + b.shape).attr("data-node", b.id).attr("tabindex", 0)
        .attr("role", "button").attr("aria-label", `${b.label}, ${b.note}`)
        .attr("transform", `translate(${x - Graph.width / 2},${y})`).on("click", b.click);
      group.node().addEventListener("keydown", e => { if (e.key === "Enter") b.click(); });
      const ink = Glim.ink(b.fill);
      group.append("title").text(b.path);
      group.append("rect").attr("width", Graph.width).attr("height", Graph.height)
        .attr("rx", b.shape === "round" ? Graph.height / 2 : 4).attr("fill", b.fill);
      for (const [down, size, text] of [[15, 12, b.label], [28, 10, b.note]])
        group.append("text").attr("x", Graph.width / 2).attr("y", down).attr("font-size", size).style("fill", ink).text(text);
    }
    const map = Glim.make("div", {class: "map"}, Glim.offer(svg.node(), "graph " + title));
    const middle = d3.median(boxes.filter(b => b.inputs.length), b => places.get(b.id).x);
    requestAnimationFrame(() => map.scrollLeft = middle - map.clientWidth / 2);  // on a phone the main way is in sight
    return map;
  },
};
