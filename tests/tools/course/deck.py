#!/usr/bin/env python3
"""Turns the deck of `glim course handout` in headless Chromium: deck.py GLIM. Runs no test where there is no Chromium."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../inspect/page"))
import checks  # noqa: E402
import chromium  # noqa: E402

chromium.leave_without()
glim = os.path.abspath(sys.argv[1])
check = checks.Checks()
# The slide in sight: its title, its number, its maps, and how much of the window's height each has.
SEEN = """(() => { const s = slides()[now()], maps = [...s.querySelectorAll("svg")].map(e => e.getBoundingClientRect());
  return {text: s.textContent, title: s.querySelector("h1, h2")?.textContent ?? "", place: document.getElementById("place").textContent,
    maps: maps.length, share: Math.min(...maps.map(r => r.height)) / innerHeight,
    names: [...s.querySelectorAll("svg title")].map(t => t.textContent), overflows: s.scrollHeight - s.clientHeight,
    outside: maps.filter(r => r.top < 0 || r.bottom > innerHeight || r.left < 0 || r.right > innerWidth).length}; })()"""
KEY = "(() => { dispatchEvent(new KeyboardEvent('keydown', {key: '%s'})); return new Promise(done => setTimeout(done, 100)); })()"

with tempfile.TemporaryDirectory() as folder:
    model, out = f"{folder}/copy", f"{folder}/lecture"
    subprocess.run([glim, "train", "--task", "copy", "--layers", "2", "--d-model", "16", "--heads", "4", "--d-ff", "16", "--max-steps",
                    "30", "--progress", "none", "--out", model], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([glim, "course", "handout", "--model", model, "--sentence", "1 2 3 4 5 6", "--out", out], check=True,
                   stdout=subprocess.DEVNULL)
    check(sorted(os.listdir(f"{out}/page"))[-1].endswith(".svg") and not os.path.exists(f"{out}/page/inspect.json"), os.listdir(f"{out}/page"))
    with chromium.Page(f"{out}/deck.html", 1280, folder, height=720) as page:
        seen = page.evaluate(SEEN)
        check(seen["title"] == "1 2 3 4 5 6" and "→" in seen["text"], f"the deck begins with {seen}")
        few = int(seen["place"].split(" / ")[1])
        check(seen["place"] == f"1 / {few}" and 3 < few < 27, f"at first {seen['place']}")
        page.evaluate(KEY % "ArrowRight")
        seen = page.evaluate(SEEN)
        check(seen["title"].startswith("cross, layer ") and seen["place"] == f"2 / {few}", f"the second slide is {seen}")
        check([n.split(":")[0] for n in seen["names"]] == ["A", "∂L/∂A", "S", "∂L/∂S"], f"maps {seen['names']}")
        check(seen["maps"] == 4 and seen["share"] > 0.4 and not seen["outside"] and seen["overflows"] <= 0, f"the maps do not fill the slide: {seen}")
        page.evaluate(KEY % "a")
        check(page.evaluate(SEEN)["place"] == "2 / 27", f"all heads: {page.evaluate(SEEN)['place']}")
        for key in "12":
            page.evaluate(KEY % key)
        check(page.evaluate(SEEN)["place"] == "12 / 27", f"the keys 1 2 lead to {page.evaluate(SEEN)['place']}")
        page.evaluate(KEY % "End")
        check(page.evaluate(SEEN)["place"] == "27 / 27", f"End leads to {page.evaluate(SEEN)['place']}")
        page.evaluate(KEY % "a")
        check(page.evaluate(SEEN)["place"].endswith(f" / {few}"), f"a again: {page.evaluate(SEEN)['place']}")
        for error in page.errors:
            check(False, error)
    with chromium.Page(f"{out}/deck.html", 390, folder, height=800) as page:
        check(page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1"), "the deck is wider than a phone")
check.leave()
