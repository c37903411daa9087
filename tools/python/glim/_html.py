"""A report of gradcheck as HTML: verdicts, and the error of each element as a heat map."""
from html import escape

COLOURS = {"passed": "#2a7", "failed": "#c33", "undecided": "#b80", "not applicable": "#888"}


def page(passed, text, data):
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td style='color:{COLOURS[check['verdict']]}'>{escape(check['verdict'])}</td>"
        f"<td style='text-align:left'>{escape(check['detail'])}</td></tr>" for name, check in data["checks"].items())
    head = escape(text.split("\n", 1)[0])
    maps = "".join(_heat_map(x) for x in data["inputs"] if x.get("errors"))
    return (f"<div><b style='color:{COLOURS['passed' if passed else 'failed']}'>{head}</b><table>{rows}</table>{maps}"
            f"<details><summary>all of it</summary><pre>{escape(text)}</pre></details></div>")


def _heat_map(x):
    """The error of each element, as multiples of what is allowed: white up to 1, red from 10⁴ on, grey undecided."""
    import math
    shape, errors = x["shape"], x["errors"]
    columns = shape[-1] if shape else 1
    if not 0 < len(errors) <= 4096:
        return ""
    cells = []
    for k, error in enumerate(errors):
        if error is None:
            fill, words = "#ccc", "undecided"
        else:
            share = min(max(math.log10(error), 0) / 4, 1) if error > 0 else 0
            fill, words = f"rgb(255,{round(255 - 205 * share)},{round(255 - 205 * share)})", f"{error:.3g} of the tolerance"
        index, rest = [], k
        for extent in reversed(shape):
            index.insert(0, rest % extent)
            rest //= extent
        cells.append(f"<rect x='{k % columns * 14}' y='{k // columns * 14}' width='13' height='13' fill='{fill}' "
                     f"stroke='#bbb'><title>{escape(x['name'])}{index}: {words}</title></rect>")
    rows = -(-len(errors) // columns)
    return (f"<div>{escape(x['name'])} {tuple(shape)}: error of each element (red: too large)<br>"
            f"<svg width='{columns * 14}' height='{rows * 14}'>{''.join(cells)}</svg></div>")
