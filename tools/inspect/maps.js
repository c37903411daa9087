// Heat maps of glim inspect, and the packed tensors that they show.
"use strict";
const Maps = {
  // Of a packed tensor (tools/inspect/pack.hpp): three digits in 16 bits.
  unpack(t) {
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
  },

  // Slice i of the first axis, as rows and columns.
  part(t, i) {
    const [rows, columns] = t.shape.slice(-2);
    return {rows, columns, values: Maps.unpack(t).slice(i * rows * columns, (i + 1) * rows * columns)};
  },

  // The lowest and the highest value that is shown; keep: 0 where masked.
  range(values, keep) {
    const shown = values.filter((x, i) => Number.isFinite(x) && (!keep || keep[i % keep.length]));
    return shown.length ? d3.extent(shown) : [0, 1];
  },

  short: (name, most = 14) => [...name].length > most ? [...name].slice(0, most - 1).join("") + "…" : name,

  // On a phone names are short, and those of columns upright: the room is for the cells.
  narrow: () => window.innerWidth < 600,
  named: name => Maps.short(name, Maps.narrow() ? 9 : 14),
  // The width of a map with names, and the size of a cell with which it has this width.
  longest: names => Math.min(Maps.narrow() ? 76 : 130, 14 + 7 * d3.max(names, n => [...n].length)),
  past: columns => Maps.narrow() ? 4 : Maps.longest(columns) / 2,
  beside: (rows, columns) => 16 + Maps.longest(rows) + Maps.past(columns),
  width: (rows, columns, size) => Maps.beside(rows, columns) + size * columns.length,
  fit: (rows, columns, width) => Math.floor((width - Maps.beside(rows, columns)) / columns.length),

  // A drawn map that is read: pointer and arrow keys show text(i) of a cell, a click or Enter does pick(i, true with Shift).
  move(node, cells, columns, text, pick) {
    const picked = (i, shift) => { if (pick && i >= 0) pick(i, shift); };
    node.addEventListener("mousemove", event => {
      const i = cells.indexOf(event.target);
      if (i >= 0) Glim.show_hover(text(i), event.clientX, event.clientY); else Glim.hide_hover();
    });
    node.addEventListener("mouseleave", Glim.hide_hover);
    node.addEventListener("blur", Glim.hide_hover);
    node.addEventListener("click", event => picked(cells.indexOf(event.target), event.shiftKey));
    let at = 0;
    node.read_from = i => { at = Math.min(i, cells.length - 1); };
    node.reads = () => at;
    node.addEventListener("keydown", event => {
      if (event.key === "Enter") { picked(at, event.shiftKey); event.preventDefault(); }
      const move = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns}[event.key];
      if (!move || at + move < 0 || at + move >= cells.length) return;
      event.preventDefault();
      at += move;
      const box = cells[at].getBoundingClientRect();
      Glim.show_hover(text(at), box.left, box.top);
    });
  },

  // map: {rows, columns, values}; row_names and column_names may be missing.
  // options: {title, diverging, low, high, keep, key, size: of a cell, scale: words beside the colour bar,
  // name: of the file that it is saved as, axes: "query" and "key" are written, text(i): what a cell says,
  // pick(row, column, shift): what a click or Enter on a cell does, chosen: "row,column" of a cell with a frame}
  draw(map, row_names, column_names, options) {
    const make = Glim.make;
    const [lowest, highest] = Maps.range(map.values, options.keep);
    const low = options.low ?? lowest, high = options.high ?? highest;
    const color = Glim.scale(low, high, options.diverging);
    const size = options.size ?? (column_names ? 20 : row_names ? 14 :
      Math.max(6, Math.min(18, Math.floor(560 / Math.max(map.columns, 1)))));
    const axes = options.axes ? 16 : 0;
    const left = axes + (row_names ? Maps.longest(row_names) : 4), top = column_names ? Maps.longest(column_names) : 4;
    const width = left + size * map.columns + (column_names ? Maps.past(column_names) : 4), height = top + size * map.rows + 4;
    const svg = d3.create("svg").attr("width", width).attr("height", height).attr("viewBox", `0 0 ${width} ${height}`)
      .attr("role", "img")
      .attr("tabindex", 0).attr("aria-label", options.title + ": arrow keys read the values");
    const place = i => [Math.floor(i / map.columns), i % map.columns];
    const masked = i => options.keep && !options.keep[i];
    const inner = size - (column_names ? 1 : 0);
    const cells = map.values.map((value, i) => {
      const [r, c] = place(i);
      return svg.append("rect").attr("class", options.chosen === `${r},${c}` ? "cell chosen" : "cell").attr("x", left + c * size).attr("y", top + r * size)
        .attr("width", inner).attr("height", inner).attr("data-row", r).attr("data-column", c)
        .attr("fill", masked(i) || !Number.isFinite(value) ? "url(#masked)" : color(value)).node();
    });
    if (row_names)
      row_names.forEach((name, r) => svg.append("text").attr("x", left - 4).attr("y", top + r * size + size * 0.72)
        .attr("text-anchor", "end").attr("font-size", Math.min(12, size - 2)).text(Maps.named(name)));
    if (column_names)
      column_names.forEach((name, c) => svg.append("text").attr("font-size", 12)
        .attr("transform", `translate(${left + c * size + (Maps.narrow() ? size / 2 + 4 : 0.7 * size)},${top - 4}) ` +
          `rotate(${Maps.narrow() ? -90 : -60})`).text(Maps.named(name)));
    if (axes)
      for (const [name, anchor, place] of [["key →", "end", `translate(${left - 4},${top - 4})`],
        ["← query", "middle", `translate(12,${top + size * map.rows / 2}) rotate(-90)`]])
        svg.append("text").attr("class", "axis-name").attr("font-size", 11).attr("text-anchor", anchor).attr("transform", place).text(name);
    const text = options.text ?? (i => {
      const [r, c] = place(i);
      const row = row_names ? row_names[r] : `row ${r}`, column = column_names ? column_names[c] : `column ${c}`;
      return `${row}${row_names && column_names ? " → " : ", "}${column}\n` +
        `${options.title} = ${Glim.number(map.values[i])}${masked(i) ? " (masked)" : ""}`;
    });
    const node = svg.node();
    Maps.move(node, cells, map.columns, text, options.pick && ((i, shift) => options.pick(...place(i), shift)));
    const legend = Glim.legend(low, high, options.diverging, options.scale, 90);
    Glim.offer(node, options.name ?? options.title);
    return make("div", {}, make("div", {class: "map", "data-map": options.key}, node), legend);
  },
};
// Where nothing hides it: a pattern within a closed tab is not drawn.
document.body.append(d3.create("svg").attr("width", 0).attr("height", 0).style("position", "absolute")
  .html('<defs><pattern id="masked" width="4" height="4" patternUnits="userSpaceOnUse">' +
    '<rect width="4" height="4" fill="#e4e4e4"/><path d="M0 4L4 0" stroke="#9a9a9a" stroke-width="0.7"/></pattern></defs>').node());
