// Texts whose contrast with their ground is below WCAG 2.1 AA (1.4.3: 4.5, large ones 3), in both themes and every tab.
// Of an SVG's text the ground is not known: it has its own test of the ink.
(() => {
"use strict";
const rgb = text => {
  const m = text.match(/[\d.]+/g)?.map(Number);
  return m && {r: m[0], g: m[1], b: m[2], a: m[3] ?? 1};
};
const over = (top, under) => Object.fromEntries([..."rgb"].map(k => [k, top[k] * top.a + under[k] * (1 - top.a)]));
const light = c => {
  const [r, g, b] = [c.r, c.g, c.b].map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = element => {
  const list = [];
  for (let e = element; e; e = e.parentElement) {
    const c = rgb(getComputedStyle(e).backgroundColor);
    if (c.a > 0) list.unshift(c);
    if (c.a === 1) break;
  }
  return list.reduce((under, top) => over(top, under), {r: 255, g: 255, b: 255});
};
const faint = new Set(), themes = ["light", "dark"];
let texts = 0;
for (const theme of themes)
  for (const tab of document.querySelectorAll("[role=tab]")) {
    document.documentElement.dataset.theme = theme;
    tab.click();
    for (const e of document.querySelectorAll("body *")) {
      if (!e.getClientRects().length || e instanceof SVGElement || e.closest(":disabled, script, style")) continue;
      if (![...e.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.textContent.trim())) continue;
      const style = getComputedStyle(e), under = ground(e), size = parseFloat(style.fontSize);
      const [high, low] = [light(under), light(over(rgb(style.color), under))].sort((a, b) => b - a);
      const ratio = (high + 0.05) / (low + 0.05), large = size >= 24 || size >= 18.6 && style.fontWeight >= 700;
      ++texts;
      if (ratio < (large ? 3 : 4.5))
        faint.add(`${theme}, ${tab.id}: ${e.tagName} ${e.className} ${style.color} at ${ratio.toFixed(2)}: ${e.textContent.slice(0, 30)}`);
    }
  }
return [texts, [...faint]];
})()
