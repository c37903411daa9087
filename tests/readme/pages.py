#!/usr/bin/env python3
"""The pages say what is there: pages.py ROOT [PAGE...]   (every *.md below ROOT unless pages are given)

- A code block opened by ```cpp FOLDER/FILE stands in that file; white space does not count.
- A path of a source folder exists, and so does what a link leads to: in pages, and in comments of sources.
- A link's #heading is a heading of that page.
- A name after a path, as in `nn/module.hpp`: `Param`, stands in that file.
- `FILE:LINE` | `TEXT` in a table: that line of that file has this text. pages.py ROOT --mend corrects the line.
- A verb of `glim VERB` exists, and so does an `--option`.
"""
import pathlib
import re
import sys

FOLDERS = ["tensor", "autograd", "nn", "optim", "models", "tests", "tools"]
START = r"(?<![\w/.{-])(?:%s)/" % "|".join(FOLDERS)
PATH = re.compile(START + r"[\w./{},-]*[\w}]")
IN_COMMENT = re.compile(START + r"[\w./-]*\.(?:cpp|hpp|py|sh|md|toml)\b")
BLOCK = re.compile(r"^```cpp (\S+/\S+)\n(.*?)^```$", re.M | re.S)
FENCED = re.compile(r"^```.*?^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)#:]*)(?:#([^)]*))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.M)
BUILT = {"tools/glim"}
LINE = re.compile(r"`([\w./-]+):(\d+)` \| `([^`]+)`")
VERB = re.compile(r"(?:`|^ {4}(?:\S.*\| )?|^)glim ([a-z]+)", re.M)
OPTION = re.compile(r"`--([a-z][\w-]*)")
NAMES = re.compile(r"`([\w./-]+\.\w+)`: ((?:`\w+`(?:, )?)+)")


def squeezed(text):
    return "".join(text.split())


def anchor(heading):
    """As GitHub makes it."""
    words = re.sub(r"[`*]|\]\([^)]*\)|[^\w\- ]", "", heading.lower())
    return words.strip().replace(" ", "-")


def lines_with(path, text):
    return [i for i, line in enumerate(path.read_text().splitlines(), 1) if text in line]


def mended(root, text):
    """Each FILE:LINE with the line that has its text, the nearest of several."""
    def right(found):
        path, line, quoted = found.groups()
        lines = lines_with(root / path, quoted) if (root / path).is_file() else []
        if lines:
            line = min(lines, key=lambda i: abs(i - int(line)))
        return f"`{path}:{line}` | `{quoted}`"

    return LINE.sub(right, text)


def option_names(root):
    """Every word that the tools have in quotes, and every --option of the scripts."""
    sources = [p for p in (root / "tools").rglob("*") if p.is_file() and p.suffix in (".cpp", ".hpp", ".py", "")]
    text = "\n".join(p.read_text(errors="ignore") for p in sources)
    return set(re.findall(r'"([a-z][\w-]*)"', text)) | set(re.findall(r"--([a-z][\w-]*)", text))


def wrong_in_page(root, page, options):
    text = page.read_text()
    for name, code in BLOCK.findall(text):
        if not (root / name).is_file() or squeezed(code) not in squeezed((root / name).read_text()):
            yield f"the block of {name} does not stand there:\n{code.rstrip()}"
    prose = FENCED.sub("", text)
    for path in PATH.findall(prose):
        if path not in BUILT and not (root / path).exists():
            yield f"{path} does not exist"
    for link, part in LINK.findall(prose):
        target = page.parent / link if link else page
        if not target.exists():
            yield f"the link {link} leads nowhere"
        elif part and part not in map(anchor, HEADING.findall(FENCED.sub("", target.read_text()))):
            yield f"the link {link}#{part} leads to no heading of that page"
    for path, line, quoted in LINE.findall(prose):
        lines = lines_with(root / path, quoted) if (root / path).is_file() else []
        if int(line) not in lines:
            yield f"{path}:{line} has no '{quoted}'; lines that have it: {lines or 'none'} (--mend corrects it)"
    for verb in VERB.findall(text):
        if verb != "help" and not (root / "tools/cli/verbs" / f"{verb}.cpp").exists():
            yield f"there is no verb glim {verb}"
    for option in OPTION.findall(prose):
        if option not in options:
            yield f"there is no option --{option}"
    for path, names in NAMES.findall(prose):
        for name in re.findall(r"\w+", names):
            if (root / path).is_file() and not re.search(rf"\b{name}\b", (root / path).read_text()):
                yield f"{path} has no {name}"


def wrong_in_source(root, source):
    for line in source.read_text().splitlines():
        comment = line.partition("//")[2]
        for path in IN_COMMENT.findall(comment):
            if not (root / path).exists():
                yield f"{path} does not exist"


def main(root, *pages):
    root = pathlib.Path(root)
    mend, pages = "--mend" in pages, [p for p in pages if p != "--mend"]
    found = [root / p for p in pages]
    sources = []
    if not pages:
        found = sorted(root.glob("*.md"))
        for folder in FOLDERS:
            found += sorted((root / folder).rglob("*.md"))
            sources += [p for p in sorted((root / folder).rglob("*")) if p.suffix in (".cpp", ".hpp")]
    for page in found if mend else []:
        text = page.read_text()
        if mended(root, text) != text:
            page.write_text(mended(root, text))
    options = option_names(root)
    bad = [f"{p.relative_to(root)}: {e}" for p in found for e in wrong_in_page(root, p, options)]
    bad += [f"{p.relative_to(root)}: {e}" for p in sources for e in wrong_in_source(root, p)]
    print("\n".join(bad) or f"{len(found)} pages and the comments of {len(sources)} sources name what is there")
    return bool(bad) or not found


sys.exit(main(*sys.argv[1:]))
