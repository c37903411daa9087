// Charts of glim report: lines over steps, and heat maps of rows over steps. Both fit the width they
// are given, and are read with the pointer or, when they have the focus, with the arrow keys.
"use strict";
const Charts = {
  // A number as the recording has it: six digits.
  exact(x) {
    if (x === null || x === undefined || Number.isNaN(x)) return "not finite";
    return String(Number(x.toPrecision(6)));
  },

  // Draws into an element as soon as it has a width, and again when that changes.
  fitted(attributes, draw) {
    const box = Glim.make("div", attributes);
    let drawn = 0;
    new ResizeObserver(() => {
      const width = Math.floor(box.clientWidth);
      if (width < 1 || width === drawn) return;
      drawn = width;
      draw(box, width);
    }).observe(box);
    return box;
  },

  // lines: [{name, color, dash, x: […], y: […], marks}]; options: {id, title, log, flags: [{step, color, text}]}
  lines(lines, options) {
    const shown = lines.filter(l => l.x.length);
    if (!shown.length) return null;
    const legend = Glim.make("div", {class: "legend"}, shown.map(l => Glim.make("span", {class: "key"},
      Glim.make("span", {class: "swatch", style: `border-top: 3px ${l.dash ? "dashed" : "solid"} ${l.color}`}), l.name)));
    return Glim.make("div", {class: "panel", id: options.id}, Glim.make("h3", {}, options.title), legend,
      Charts.fitted({class: "lines"}, (box, width) => {
        const chart = Charts.draw_lines(shown, options, width);
        box.replaceChildren(Glim.offer(chart, options.title));
      }));
  },

  draw_lines(lines, options, width) {
    // Where there is room, each line has its name at its end.
    const names = width < 520 || lines.length < 2 ? [] : lines.map(l => l.name.length > 24 ? l.name.slice(0, 23) + "…" : l.name);
    const height = 290, left = 58, right = 20 + 6.5 * (d3.max(names, n => n.length) ?? 0), top = 8, bottom = 38;
    const good = y => Number.isFinite(y) && (!options.log || y > 0);
    const steps = [...new Set(lines.flatMap(l => l.x))].sort((a, b) => a - b);
    const values = lines.flatMap(l => l.y).filter(good);
    const [low, high] = values.length ? d3.extent(values) : [0.1, 1];
    const x = d3.scaleLinear().domain([steps[0], Math.max(steps[steps.length - 1], steps[0] + 1)])
      .range([left, width - right]);
    const y = (options.log ? d3.scaleLog() : d3.scaleLinear()).range([height - bottom, top]);
    if (options.log) y.domain([low, high > low ? high : low * 10]).nice();
    else y.domain([Math.min(0, low), high > low || high > 0 ? Math.max(high, 0) : 1]).nice();
    const svg = d3.create("svg").attr("width", width).attr("height", height).attr("role", "img")
      .attr("tabindex", 0).attr("aria-label", `${options.title}: arrow keys read the values`);
    svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height - bottom})`)
      .call(d3.axisBottom(x).ticks(Math.max(2, width / 110)));
    svg.append("g").attr("class", "axis").attr("transform", `translate(${left},0)`)
      .call(options.log ? d3.axisLeft(y).ticks(5, ".1~e") : d3.axisLeft(y).ticks(6).tickFormat(d3.format("~g")));
    svg.append("text").attr("x", (left + width - right) / 2).attr("y", height - 4).attr("text-anchor", "middle")
      .attr("font-size", 11).text("step");
    const path = l => d3.line().defined(i => good(l.y[i])).x(i => x(l.x[i])).y(i => y(l.y[i]))(d3.range(l.x.length));
    // A line that lies on an earlier one for the most part has gaps, in which that one is seen.
    const on_earlier = l => lines.slice(0, lines.indexOf(l)).some(other => {
      const there = new Map(other.x.map((step, i) => [step, other.y[i]]));
      const near = l.x.filter((step, i) => good(l.y[i]) && good(there.get(step)) && Math.abs(y(l.y[i]) - y(there.get(step))) < 1.5);
      return near.length > l.x.length / 2;
    });
    for (const l of lines) {
      svg.append("path").attr("d", path(l)).attr("fill", "none").attr("stroke", l.color)
        .attr("stroke-width", 1.8).attr("stroke-dasharray", on_earlier(l) ? "9 9" : l.dash ? "6 4" : null);
      // Few values, and one between two that are missing, get dots.
      l.y.forEach((value, i) => {
        if (good(value) && (l.marks || l.x.length <= 40 || (!good(l.y[i - 1]) && !good(l.y[i + 1]))))
          svg.append("circle").attr("cx", x(l.x[i])).attr("cy", y(value)).attr("r", 3).attr("fill", l.color);
      });
    }
    const ends = names.map((name, i) => ({name, color: lines[i].color, y: y(lines[i].y.findLast(good) ?? y.domain()[0])}))
      .sort((a, b) => a.y - b.y);
    ends.forEach((end, i) => { if (i) end.y = Math.max(end.y, ends[i - 1].y + 13); });
    const below = Math.max(0, (ends.at(-1)?.y ?? 0) - (height - bottom));
    for (const end of ends)
      svg.append("text").attr("class", "end").attr("x", width - right + 6).attr("y", end.y - below + 4).attr("font-size", 11)
        .text(end.name).append("title").text(end.name);
    for (const flag of options.flags || [])
      svg.append("path").attr("class", "flag").attr("d", "M0,0l6,10h-12z").attr("fill", flag.color)
        .attr("transform", `translate(${x(Math.min(flag.step, x.domain()[1]))},${height - bottom - 10})`)
        .append("title").text(flag.text);
    const cursor = svg.append("line").attr("class", "cursor").attr("y1", top).attr("y2", height - bottom)
      .attr("visibility", "hidden");
    const node = svg.node();
    const read = (step, client_y) => {
      const box = node.getBoundingClientRect();
      cursor.attr("x1", x(step)).attr("x2", x(step)).attr("visibility", "visible");
      const text = lines.filter(l => l.x.includes(step)).map(l =>
        `${l.name}: ${Charts.exact(l.y[l.x.indexOf(step)])}`);
      Glim.show_hover([`step ${step}`, ...text].join("\n"), box.left + x(step), client_y ?? box.top + top);
    };
    const leave = () => { cursor.attr("visibility", "hidden"); Glim.hide_hover(); };
    node.addEventListener("mousemove", event => {
      const at = x.invert(event.clientX - node.getBoundingClientRect().left);
      const i = d3.bisectLeft(steps, at);
      const near = [steps[i - 1], steps[i]].filter(s => s !== undefined);
      read(near.length > 1 && at - near[0] < near[1] - at ? near[0] : near[near.length - 1], event.clientY);
    });
    node.addEventListener("mouseleave", leave);
    node.addEventListener("blur", leave);
    let at = -1;
    node.addEventListener("keydown", event => {
      const next = {ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: steps.length - 1}[event.key];
      if (next === undefined || next < 0 || next >= steps.length) return;
      event.preventDefault();
      at = next;
      read(steps[at]);
    });
    return node;
  },

  // "encoder.layers.0.self_attn head 0" for narrow pages: "enc.0.self h1".
  shorter: name => name.replace("encoder.", "enc.").replace("decoder.", "dec.").replace("layers.", "")
    .replace("self_attn", "self").replace("multihead_attn", "cross").replace(" head ", " h"),

  // map: {rows: […], steps: […], values: [[…of a step…],…]}; options: {title, color(value), events,
  // first, last (indices of steps), select(row)}. Where there are more steps than room, a cell is the
  // largest of several.
  map(map, options) {
    return Charts.fitted({class: "steps", "data-run": options.run}, (box, width) =>
      box.replaceChildren(...Charts.draw_map(map, options, width)));
  },

  draw_map(map, options, width) {
    const narrow = width < 620, size = map.rows.length > 14 ? 15 : 22;
    const names = narrow ? map.rows.map(Charts.shorter) : map.rows;
    const labels = Math.min(width * 0.45, 12 + 6.2 * d3.max(names, n => n.length));
    const count = options.last - options.first + 1, room = Math.floor(width - labels);
    const together = Math.ceil(count / Math.max(1, Math.floor(room / 3)));
    const columns = Math.ceil(count / together), cell = Math.min(80, room / columns);
    const height = size * map.rows.length, wide = Math.round(cell * columns);
    // The record that a cell shows.
    const record_of = (row, column) => {
      const from = options.first + column * together, to = Math.min(from + together - 1, options.last);
      let most = from;
      for (let i = from; i <= to; ++i)
        if ((map.values[i][row] ?? -Infinity) > (map.values[most][row] ?? -Infinity)) most = i;
      return {most, from, to};
    };
    const scale = window.devicePixelRatio || 1;
    const canvas = Glim.make("canvas", {width: Math.round(wide * scale), height: Math.round(height * scale),
      style: `width:${wide}px;height:${height}px`, tabindex: 0, role: "img", "data-columns": columns,
      "data-cell": cell, "data-size": size, "aria-label": `${options.title}: arrow keys read the values, Enter draws a row`});
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    for (let row = 0; row < map.rows.length; ++row)
      for (let column = 0; column < columns; ++column) {
        const value = map.values[record_of(row, column).most][row];
        const fill = Number.isFinite(value) ? options.color(value) : null;
        context.fillStyle = fill || "#bbb";
        const left = Math.floor(column * cell), right = Math.floor((column + 1) * cell);
        context.fillRect(left, row * size, right - left, size - 1);
        if (fill) continue;
        context.strokeStyle = "#555";
        context.beginPath();
        context.moveTo(left, (row + 1) * size - 1);
        context.lineTo(right, row * size);
        context.stroke();
      }
    const column_at = step => {
      const i = Math.max(0, d3.bisectLeft(map.steps, step) - options.first);
      return Math.floor(i / together);
    };
    for (const e of options.events) {
      if (e.last < map.steps[options.first] || e.step > map.steps[options.last]) continue;
      const left = Math.floor(column_at(e.step) * cell);
      const right = Math.floor((Math.min(columns - 1, column_at(e.last)) + 1) * cell);
      for (const name of e.where) {
        const row = map.rows.indexOf(name);
        for (const [color, line] of [["#000", 3], ["#fff", 1]]) {
          context.strokeStyle = color;
          context.lineWidth = line;
          context.strokeRect(left + 1.5, row * size + 1.5, Math.max(2, right - left - 3), size - 4);
        }
      }
    }
    const read = (row, column, x, y) => {
      const {most, from, to} = record_of(row, column);
      const among = from < to ? `, the largest of ${to - from + 1} records, steps ${map.steps[from]} to ${map.steps[to]}` : "";
      const there = options.events.filter(e => e.where.includes(map.rows[row]) &&
        e.step <= map.steps[to] && e.last >= map.steps[from]);
      Glim.show_hover([`${map.rows[row]}, step ${map.steps[most]}${among}`,
        `${options.title} = ${Charts.exact(map.values[most][row])}`, ...there.map(e => e.text)].join("\n"), x, y);
    };
    const place = event => {
      const box = canvas.getBoundingClientRect();
      return [Math.min(map.rows.length - 1, Math.max(0, Math.floor((event.clientY - box.top) / size))),
        Math.min(columns - 1, Math.max(0, Math.floor((event.clientX - box.left) / cell)))];
    };
    canvas.addEventListener("mousemove", event => read(...place(event), event.clientX, event.clientY));
    canvas.addEventListener("click", event => options.select(map.rows[place(event)[0]]));
    canvas.addEventListener("mouseleave", Glim.hide_hover);
    canvas.addEventListener("blur", Glim.hide_hover);
    let at = [0, -1];
    canvas.addEventListener("keydown", event => {
      if (event.key === "Enter") options.select(map.rows[at[0]]);
      const move = {ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0],
        Home: [0, -at[1]], End: [0, columns - 1 - at[1]]}[event.key];
      if (!move) return;
      event.preventDefault();
      at = [Math.max(0, Math.min(map.rows.length - 1, at[0] + move[0])),
        Math.max(0, Math.min(columns - 1, at[1] + move[1]))];
      const box = canvas.getBoundingClientRect();
      read(...at, box.left + at[1] * cell, box.top + at[0] * size);
    });
    const every = Math.max(1, Math.ceil(columns / Math.max(1, Math.floor(wide / 70))));
    const axis = d3.range(0, columns, every).map(c => Glim.make("span", {style: `left:${Math.floor(c * cell)}px`},
      map.steps[options.first + c * together]));
    return [
      Glim.make("div", {class: "grid"},
        Glim.make("div", {class: "names", style: `width:${labels}px`}, names.map((name, i) =>
          Glim.make("div", {style: `height:${size}px;line-height:${size}px`, title: map.rows[i]}, name))),
        Glim.make("div", {}, canvas, Glim.make("div", {class: "axis-steps", style: `width:${wide}px`}, axis))),
      together > 1 ? Glim.make("p", {class: "soft"}, `A cell shows the largest of ${together} records; ` +
        "fewer steps show each.") : null,
    ].filter(Boolean);
  },
};
