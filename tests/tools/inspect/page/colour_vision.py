#!/usr/bin/env python3
"""The page's colours as those see them who lack one kind of cone: steps of a scale, the two signs, the branches of
a junction and the lines of a chart stay apart.

    colour_vision.py GLIM

Colours are read from a page that the program writes, those of lines from tools/render/color.cpp. The colour seen of a
linear RGB colour without one kind of cone is a matrix times it (Machado, Oliveira & Fernandes 2009, severity 1).
How far apart two colours look is CIEDE2000 (Sharma, Wu & Dalal 2005): about 1 is just seen side by side.
"""
import itertools
import json
import math
import os
import re
import subprocess
import sys
import tempfile

import checks

SEEN = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
TO_XYZ = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))
D65 = (0.95047, 1, 1.08883)


def times(matrix, x):
    return [sum(m * v for m, v in zip(row, x)) for row in matrix]


def lab(color, vision):
    """L*, a*, b* of what is seen of "#rrggbb"."""
    encoded = [int(color[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in encoded]
    seen = [min(1, max(0, v)) for v in times(SEEN[vision], linear)]
    x, y, z = (t ** (1 / 3) if t > (6 / 29) ** 3 else t / (3 * (6 / 29) ** 2) + 4 / 29
               for t in (v / white for v, white in zip(times(TO_XYZ, seen), D65)))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def difference(one, other):
    """CIEDE2000 of two colours as L*, a*, b*."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    mean = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    stretch = 1.5 - 0.5 * math.sqrt(mean ** 7 / (mean ** 7 + 25 ** 7))
    a1, a2 = a1 * stretch, a2 * stretch
    c1, c2 = math.hypot(a1, b1), math.hypot(a2, b2)
    h1, h2 = (math.degrees(math.atan2(b, a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0
    lightness, chroma, hue = l2 - l1, c2 - c1, 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2))
    l, c, h = (l1 + l2) / 2, (c1 + c2) / 2, h1 + turn / 2 if c1 * c2 else h1 + h2
    def cosine(degrees): return math.cos(math.radians(degrees))
    t = 1 - 0.17 * cosine(h - 30) + 0.24 * cosine(2 * h) + 0.32 * cosine(3 * h + 6) - 0.20 * cosine(4 * h - 63)
    lightness /= 1 + 0.015 * (l - 50) ** 2 / math.sqrt(20 + (l - 50) ** 2)
    chroma /= 1 + 0.045 * c
    hue /= 1 + 0.015 * c * t
    rotation = -2 * math.sqrt(c ** 7 / (c ** 7 + 25 ** 7)) * math.sin(
        math.radians(60 * math.exp(-((h % 360 - 275) / 25) ** 2)))
    return math.sqrt(lightness ** 2 + chroma ** 2 + hue ** 2 + rotation * chroma * hue)


check = checks.Checks()
# Of Sharma, Wu & Dalal's table of pairs.
for one, other, wanted in (((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425), ((50, 2.5, 0), (73, 25, -18), 27.1492),
                           ((50, 2.49, -0.001), (50, -2.49, 0.0011), 7.2195),
                           ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644)):
    check(abs(difference(one, other) - wanted) < 1e-4, f"{one}, {other}: {difference(one, other)}")

with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.argv[1], "inspect", "--fresh", "--layers", "1", "--d-model", "16", "--heads", "2", "--sentence",
                    "I have a cat", "--translation", "我有一只猫", "--attribution-steps", "0", "--out", folder], check=True, stdout=subprocess.DEVNULL)
    with open(f"{folder}/inspect.html", encoding="utf-8") as file:
        page = file.read()
palette = json.loads(re.search(r"const palette = (\{.*?\});", page).group(1))
branches = dict(re.findall(r"\.junction \.(\w+) \{ background: (#\w+)", page))
branches = {name: c if len(c) == 7 else "#" + "".join(2 * x for x in c[1:]) for name, c in branches.items()}
check(set(branches) == {"skip", "sub", "elsewhere"}, f"branches {branches}")
sources = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 4)
with open(f"{sources}/tools/render/color.cpp", encoding="utf-8") as file:
    lines = re.findall("#[0-9a-f]{6}", re.search(r"kColors\[\] = \{(.*?)\}", file.read(), re.S).group(1))
check(len(lines) == 7, f"lines {lines}")


for vision in SEEN:
    def seen(color): return lab(color, vision)
    for name, colors in palette.items():
        tenths = [seen(colors[round(i * (len(colors) - 1) / 10)]) for i in range(11)]
        nearest = min(difference(a, b) for a, b in zip(tenths, tenths[1:]))
        check(nearest > 3, f"{vision}: two neighbours of {name}'s tenths differ by {nearest:.1f}")
        lightness = [t[0] for t in tenths]
        rises = lightness if name == "sequential" else [lightness[min(i, 10 - i)] for i in range(6)]
        check(all(a < b for a, b in zip(rises, rises[1:])), f"{vision}: the lightness of {name} turns: {lightness}")
    signed = palette["diverging"]
    for part, least in ((0.1, 9), (0.25, 20), (0.5, 30), (1, 45)):  # of the largest value
        away = round(part * (len(signed) - 1) / 2)
        apart = difference(seen(signed[len(signed) // 2 - away]), seen(signed[len(signed) // 2 + away]))
        check(apart > least, f"{vision}: -{part} and {part} differ by {apart:.1f}")
    for words, colors, least in (("branches", branches.values(), 6), ("lines", lines, 10)):
        apart, a, b = min((difference(seen(a), seen(b)), a, b) for a, b in itertools.combinations(colors, 2))
        check(apart > least, f"{vision}: {words} {a} and {b} differ by {apart:.1f}")
check.leave()
