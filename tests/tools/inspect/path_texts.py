#!/usr/bin/env python3
"""Every text of the guided path is there in each language, with the same values in it; the path's script uses all.

    path_texts.py ROOT
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "page"))
import checks  # noqa: E402

HAN = "[\u4e00-\u9fff]"
HALF_WIDTH = re.compile(rf"{HAN}[,;:?!()]|[,;:?!()]{HAN}")
folder = f"{sys.argv[1]}/tools/inspect"
with open(f"{folder}/path_texts.json", encoding="utf-8") as file:
    texts = json.load(file)
with open(f"{folder}/path.js", encoding="utf-8") as file:
    script = file.read()
check = checks.Checks()


def values(text):
    return sorted(re.findall(r"\{(\w+)\}", text))


languages = set(texts["switch"])
check(languages == {"en", "zh"}, f"languages {languages}")
for name, text in texts.items():
    check(set(text) == languages and all(text.values()), f"{name} is in {sorted(text)}")
    parts = [[t] if isinstance(t, str) else t for t in text.values()]
    check(len({len(p) for p in parts}) == 1, f"{name} has as many choices in each language")
    for english, chinese in zip(*parts):
        check(values(english) == values(chinese), f"{name}: {values(english)} and {values(chinese)}")
        words = re.search("[a-z]{3}", re.sub(r"\{\w+\}|logits", "", english))
        check(name == "switch" or not words or re.search(HAN, chinese), f"{name} is not Chinese: {chinese}")
        check(name == "switch" or not re.search(HAN, english), f"{name} is not English: {english}")
        check(not HALF_WIDTH.search(chinese), f"{name}: punctuation of half width: {HALF_WIDTH.search(chinese)}")

# A name is written whole, or made of a stop's name and an ending, or of "depth." and the like.
written = set(re.findall(r'"([a-z_]+(?:\.[a-z_.]+)?)"', script))
begun = set(re.findall(r'"([a-z]+\.)" \+', script))
stops = set(re.findall(r'\{name: "([a-z]+)"', script))
endings = set(re.findall(r'"(\.[a-z]+)"', script)) | {""}
made = written | {q + ".choices" for q in written if q.startswith("quiz.")} | {
    f"{stop}.{part}{ending}" for stop in stops for part in ("title", "question", "paper") for ending in endings}
for name in texts:
    used = name in made or name == "switch" or any(name.startswith(start) for start in begun)
    check(used, f"nothing shows {name}")
for name in [n for n in written if n.split(".")[0] in stops | {"quiz"} and n.count(".")] + [
        f"{stop}.{part}" for stop in stops for part in ("title", "question", "paper")]:
    check(name in texts, f"there is no text {name}")
check.leave()
