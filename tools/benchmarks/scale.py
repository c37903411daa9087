"""Time and memory of a training step over length, batch, width and layers: a table, and plots with their slopes.

A slope is that of a straight line through the logarithms of the upper half of the points: 1 is linear cost.
"""
import json
import math
import statistics

BASE = {"name": "scale", "vocab": 1000, "d": 128, "heads": 4, "d_ff": 512, "layers": 2, "batch": 4, "source": 32,
        "target": 32}
AXES = {"length": ([32, 64, 128, 256, 512, 1024, 2048], lambda n: {"source": n, "target": n, "batch": 1}),
        "batch": ([1, 4, 16, 64, 256], lambda n: {"batch": n}),
        "width": ([64, 128, 256, 512, 1024], lambda n: {"d": n, "d_ff": 4 * n}),
        "layers": ([1, 2, 4, 8, 16, 24], lambda n: {"layers": n})}
WIDTH, HEIGHT, MARGIN = 260, 180, 34


def short(number):
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def slope(line, row):
    """Of the times (row 0) or the memory (row 1)."""
    upper = list(line.items())[len(line) // 2:]
    return statistics.linear_regression([math.log(n) for n, _ in upper], [math.log(p[row]) for _, p in upper]).slope


def measured(bench, in_turn):
    """axis -> library -> size -> (milliseconds, megabytes); a size at which a library fails is left out"""
    found = {}
    for axis, (points, change) in AXES.items():
        for n in points:
            setting = json.dumps({**BASE, **change(n)})
            servers = {"Glim": bench.glim("step", setting)}
            if bench.has("torch"):
                servers["PyTorch"] = bench.peer("step", "--setting", setting)
            times = in_turn(servers, bench.a.pairs)
            for name, server in servers.items():
                point = (statistics.median(times[name]) * 1e3, server.memory() / 1e6)
                found.setdefault(axis, {}).setdefault(name, {})[n] = point
                server.close()
    return found


def rows(found):
    for axis, libraries in found.items():
        for n in AXES[axis][0]:
            cells = (libraries[name].get(n, ("", "")) for name in libraries)
            yield [axis, n, *(short(number) if number else "" for point in cells for number in point)]
        yield [axis, "slope", *(f"{slope(line, row):.2f}" for line in libraries.values() for row in (0, 1))]


def picture(found):
    """Two rows of panels, time and memory, with a column for each axis; both scales are logarithmic."""
    parts = []
    for column, (axis, libraries) in enumerate(found.items()):
        points = AXES[axis][0]
        for row, unit in enumerate(("ms", "MB")):
            left, top = column * WIDTH + MARGIN, row * HEIGHT + MARGIN
            values = [p[row] for line in libraries.values() for p in line.values()]
            low, high = math.log(min(values)), math.log(max(values))
            across = lambda n: left + (WIDTH - 1.6 * MARGIN) * math.log(n / points[0]) / math.log(points[-1] / points[0])
            up = lambda v: top + (HEIGHT - 1.8 * MARGIN) * (1 - (math.log(v) - low) / max(high - low, 1e-9))
            parts.append(f'<text x="{left}" y="{top - 10}">{unit} over {axis}, {short(min(values))} to {short(max(values))}</text>')
            parts += [f'<text x="{across(n):.0f}" y="{top + HEIGHT - 1.4 * MARGIN:.0f}" class="tick">{n}</text>' for n in points]
            for k, (name, line) in enumerate(libraries.items()):
                way = " ".join(f"{across(n):.1f},{up(p[row]):.1f}" for n, p in line.items())
                parts.append(f'<polyline points="{way}" class="line{k}"/><text x="{left + 4}" y="{top + 12 + 13 * k}" '
                             f'class="name{k}">{name}: slope {slope(line, row):.2f}</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH * len(found)} {2 * HEIGHT + MARGIN}" '
            'font-family="sans-serif" font-size="11"><style>text{fill:#444}.tick{font-size:9px;text-anchor:middle}'
            'polyline{fill:none;stroke-width:2}.line0{stroke:#0969da}.line1{stroke:#bc4c00}.name0{fill:#0969da}'
            '.name1{fill:#bc4c00}@media (prefers-color-scheme:dark){text{fill:#bbb}}</style>' + "".join(parts) + "</svg>\n")
