// Shared by the pages. Colours are those of the pictures (tools/render/color.hpp), which colour-blind
// readers can tell apart: viridis for amounts; blue below 0, white at 0 and orange above for signed values.
// Of D3 the scripts use what its versions 5 to 7 share: lines take .x() and .y(), and there is no d3.group.
"use strict";
const unescape_address = text => { try { return decodeURIComponent(text); } catch (wrong) { return text; } };
const Glim = {
  data: JSON.parse(document.getElementById("data").textContent),

  // Three significant digits, whole from 100 to a million: 0.123, 12.3, 16384, 1.23e-5, 1.23e+6.
  number(x) {
    if (x === null || x === undefined || Number.isNaN(x)) return "–";
    if (!Number.isFinite(x)) return x > 0 ? "∞" : "-∞";
    if (x === 0) return "0";
    const size = Math.abs(x);
    if (size >= 100 && size < 999999.5) return String(Math.round(x));
    return size >= 1e-3 && size < 100 ? String(Number(x.toPrecision(3))) : x.toExponential(2);
  },

  // A colour scale over [low, high]; diverging ones are symmetric about 0.
  scale(low, high, diverging) {
    const colors = diverging ? palette.diverging : palette.sequential;
    const at = t => colors[Math.round((colors.length - 1) * Math.max(0, Math.min(1, t)))];
    if (diverging) {
      const most = Math.max(Math.abs(low), Math.abs(high)) || 1;
      return x => at(0.5 + 0.5 * x / most);
    }
    const width = high - low || 1;
    return x => at((x - low) / width);
  },

  // Black or white, whichever can be read on this colour.
  // Black or white, whichever differs more (WCAG 2.1, contrast ratio: one of them has 4.58 or more on any colour).
  ink(color) {
    const c = d3.rgb(color), light = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    const l = 0.2126 * light(c.r) + 0.7152 * light(c.g) + 0.0722 * light(c.b);
    return (l + 0.05) / 0.05 > 1.05 / (l + 0.05) ? "#000" : "#fff";
  },

  // A bar of the colours from low to high.
  legend(low, high, diverging, words, width = 160) {
    const canvas = Glim.make("canvas", {width, height: 12, "aria-hidden": true});
    const context = canvas.getContext("2d");
    const most = Math.max(Math.abs(low), Math.abs(high));
    const [from, to] = diverging ? [-most, most] : [low, high];
    const color = Glim.scale(from, to, diverging);
    for (let x = 0; x < width; ++x) {
      context.fillStyle = color(from + (to - from) * x / (width - 1));
      context.fillRect(x, 0, 1, 12);
    }
    return Glim.make("div", {class: "legend"}, Glim.make("span", {}, Glim.number(from)), canvas,
      Glim.make("span", {}, Glim.number(to)), Glim.make("span", {class: "soft"}, words || ""));
  },

  // A drawing that Glim.savers offers: by `name`, first where it was pointed at last.
  offer(svg, name) {
    svg.dataset.name = name;
    for (const happens of ["pointerenter", "focusin"])
      svg.addEventListener(happens, () => { Glim.pointed_at = svg; });
    return svg;
  },

  // One place that saves a drawing of the open tab, as it looks now, as an SVG or a PNG of twice its size.
  savers() {
    let svgs = [];
    const chosen = Glim.make("select", {"aria-label": "picture to save"}, Glim.make("option", {}, "a picture"));
    const fill = () => {
      svgs = [...document.querySelectorAll("svg[data-name]")].filter(svg => svg.getClientRects().length);
      const at = svgs.indexOf(Glim.pointed_at);
      if (at >= 0) svgs = [svgs[at], ...svgs.slice(0, at), ...svgs.slice(at + 1)];
      const names = svgs.map(svg => svg.dataset.name);
      if (names.join() !== [...chosen.options].map(o => o.text).join())
        chosen.replaceChildren(...names.map(name => Glim.make("option", {}, name)));
    };
    const save = kind => { const svg = svgs[chosen.selectedIndex]; if (svg) Glim.save(svg, svg.dataset.name, kind); };
    const place = Glim.make("span", {class: "savers"}, "save ", chosen, ["SVG", "PNG"].map(kind =>
      Glim.make("button", {onclick: () => save(kind), "aria-label": `save the picture as ${kind}`}, kind)));
    for (const happens of ["pointerenter", "focusin"]) place.addEventListener(happens, fill);
    return place;
  },
  save(svg, name, kind) {
    const looks = ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-family", "font-size", "text-anchor", "color"];
    const file = name.replace(/[^\p{L}\p{N}.]+/gu, "-");
    const download = (blob, ending) => {
      const link = Glim.make("a", {href: URL.createObjectURL(blob), download: file + ending});
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    };
    const text = () => {
      const copy = svg.cloneNode(true), to = copy.querySelectorAll("*");
      svg.querySelectorAll("*").forEach((from, i) => {
        const style = getComputedStyle(from);
        for (const look of looks) to[i].style.setProperty(look, style.getPropertyValue(look));
      });
      const masked = document.getElementById("masked");
      if (masked) copy.prepend(masked.parentNode.cloneNode(true));
      copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
      copy.style.background = getComputedStyle(document.body).backgroundColor;
      return new XMLSerializer().serializeToString(copy);
    };
    const save = {
      SVG: () => download(new Blob([text()], {type: "image/svg+xml"}), ".svg"),
      PNG: () => {
        const image = new Image(), width = Number(svg.getAttribute("width")), height = Number(svg.getAttribute("height"));
        image.onload = () => {
          const canvas = Glim.make("canvas", {width: 2 * width, height: 2 * height}), context = canvas.getContext("2d");
          context.fillStyle = getComputedStyle(document.body).backgroundColor;
          context.fillRect(0, 0, canvas.width, canvas.height);
          context.drawImage(image, 0, 0, canvas.width, canvas.height);
          canvas.toBlob(blob => download(blob, ".png"));
        };
        image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text());
      },
    };
    save[kind]();
  },

  // The characters of a text for which this browser has no font: they all look like U+10FFFF.
  without_font(text) {
    const canvas = Glim.make("canvas", {width: 32, height: 32});
    const context = canvas.getContext("2d", {willReadFrequently: true});
    context.font = `20px ${getComputedStyle(document.body).fontFamily}`;
    const drawn = c => {
      context.clearRect(0, 0, 32, 32);
      context.fillText(c, 4, 24);
      return context.getImageData(0, 0, 32, 32).data.join();
    };
    const box = drawn("\u{10FFFF}");
    return [...new Set(text)].filter(c => c > "\u00ff" && drawn(c) === box).join("");
  },

  make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value === true) element.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined)
        element.setAttribute(name, value);
    }
    for (const child of children.flat())
      if (child !== null && child !== undefined) element.append(child);
    return element;
  },

  // A text with names of modules, which may break after a dot or an underscore.
  breakable: text => text.split(/(?<=[._])(?=[a-z])/).flatMap((part, i) => i ? [Glim.make("wbr"), part] : [part]),

  // A hover box at the pointer (or beside the element that has the keyboard's focus).
  show_hover(text, x, y) {
    let box = document.querySelector(".hover");
    if (!box) {
      box = Glim.make("div", {class: "hover", role: "status"});
      document.body.append(box);
    }
    box.textContent = text;
    box.hidden = false;
    const right = window.innerWidth - box.offsetWidth - 8;
    const below = y + 18 + box.offsetHeight > window.innerHeight;
    box.style.left = Math.max(4, Math.min(x + 12, right)) + "px";
    box.style.top = (below ? y - box.offsetHeight - 8 : y + 18) + "px";
  },
  hide_hover() {
    const box = document.querySelector(".hover");
    if (box) box.hidden = true;
  },

  // A word of a command as a shell reads it.
  quoted: word => /^[\w@%+=:,.\/-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'",

  // A button that copies the text that `text` returns; it says so for a second.
  copier(name, text) {
    const done = () => {
      button.textContent = "copied";
      setTimeout(() => { button.textContent = name; }, 1000);
    };
    const by_selection = () => {  // a page within another one may not use the clipboard
      const area = Glim.make("textarea", {}, text());
      document.body.append(area);
      area.select();
      if (document.execCommand("copy")) done();
      area.remove();
    };
    const button = Glim.make("button", {class: "copier", onclick: () => {
      if (navigator.clipboard) navigator.clipboard.writeText(text()).then(done, by_selection);
      else by_selection();
    }}, name);
    return button;
  },

  places: new Map(),  // of each tab what it shows
  changes: location.hash.replace(/^[^?]*/, ""),  // "?NAME=JSON&...": how the pass of a live page differs from the first
  address: (id, place = []) => "#" + [id, ...place].map(encodeURIComponent).join("/") + Glim.changes,

  // Tabs within `parent`: views is [{id, title, draw(element, place)}]; each is drawn when first shown, and
  // named in the address, so that a link or a reload comes back to it: #ID, or #ID/PLACE/... where a view has
  // said what it shows, Glim.link(id, [PLACE...]). Without an address the first tab is shown, or the one named. Beside
  // the tabs is what saves pictures and copies the address, and `tools`.
  tabs(parent, views, first = views[0].id, tools = []) {
    const bar = Glim.make("div", {role: "tablist"});
    const panels = new Map();
    let shown = null;
    const write = () => {
      try {
        history.replaceState(null, "", Glim.address(shown, Glim.places.get(shown)));
      } catch (refused) {}  // a page within another one has no address of its own
    };
    Glim.link = (id, place) => {
      Glim.places.set(id, place.map(String));
      if (id === shown) write();
    };
    Glim.link_changes = changes => {
      Glim.changes = changes;
      write();
    };
    const show = id => {
      shown = id;
      for (const view of views) {
        const chosen = view.id === id;
        const panel = panels.get(view.id);
        panel.hidden = !chosen;
        const button = document.getElementById("tab-" + view.id);
        button.setAttribute("aria-selected", chosen);
        button.tabIndex = chosen ? 0 : -1;
        if (chosen) bar.parentElement.scrollLeft = button.offsetLeft - 40;  // on a phone the tabs are one row
        if (chosen && !panel.dataset.drawn) {
          panel.dataset.drawn = "yes";
          view.draw(panel, Glim.places.get(id) ?? []);
        }
      }
      write();
    };
    const open = () => {
      const [address, changes] = location.hash.slice(1).split("?");
      const [id, ...place] = address.split("/").map(unescape_address);
      if (!panels.has(id)) return false;
      Glim.places.set(id, place);
      if ((changes ? "?" + changes : "") !== Glim.changes && Glim.open_changes) {  // draws everything anew
        Glim.open_changes(changes ? "?" + changes : "");
        return true;
      }
      panels.get(id).replaceChildren();
      delete panels.get(id).dataset.drawn;
      show(id);
      return true;
    };
    for (const [i, view] of views.entries()) {
      const turn = event => {
        const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
        if (!step) return;
        const next = views[(i + step + views.length) % views.length];
        show(next.id);
        document.getElementById("tab-" + next.id).focus();
      };
      bar.append(Glim.make("button", {id: "tab-" + view.id, role: "tab", "aria-controls": "view-" + view.id,
        onclick: () => show(view.id), onkeydown: turn}, view.title));
    }
    const link = location.protocol === "about:" ? [] : [Glim.copier("copy link", () => location.href)];
    parent.append(Glim.make("div", {class: "tabs"}, bar, Glim.savers(), link, tools));
    for (const view of views) {
      const panel = Glim.make("section", {id: "view-" + view.id, role: "tabpanel",
        "aria-labelledby": "tab-" + view.id, hidden: true});
      panels.set(view.id, panel);
      parent.append(panel);
    }
    if (!open()) show(first);
    Glim.show_view = show;
    window.onhashchange = open;
  },
};

// Light or dark as the system has it, until the button at the top says otherwise.
{
  const root = document.documentElement;
  root.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const button = Glim.make("button", {id: "theme", "aria-label": "light or dark", onclick: () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  }}, "◐");
  document.querySelector("main").append(button);
}
