#!/usr/bin/env python3
"""The pages say what is there: pages.py ROOT [PAGE...]   (every *.md below ROOT unless pages are given)

- A code block opened by ```cpp FOLDER/FILE stands in that file; white space does not count.
- A path of a source folder exists, and so does what a link leads to: in pages, and in comments of sources.
- A name after a path, as in `nn/module.hpp`: `Param`, stands in that file.
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
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
BUILT = {"tools/glim"}
NAMES = re.compile(r"`([\w./-]+\.\w+)`: ((?:`\w+`(?:, )?)+)")


def squeezed(text):
    return "".join(text.split())


def wrong_in_page(root, page):
    text = page.read_text()
    for name, code in BLOCK.findall(text):
        if not (root / name).is_file() or squeezed(code) not in squeezed((root / name).read_text()):
            yield f"the block of {name} does not stand there:\n{code.rstrip()}"
    prose = FENCED.sub("", text)
    for path in PATH.findall(prose):
        if path not in BUILT and not (root / path).exists():
            yield f"{path} does not exist"
    for link in LINK.findall(prose):
        if not (page.parent / link).exists():
            yield f"the link {link} leads nowhere"
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
    found = [root / p for p in pages]
    sources = []
    if not pages:
        found = sorted(root.glob("*.md"))
        for folder in FOLDERS:
            found += sorted((root / folder).rglob("*.md"))
            sources += [p for p in sorted((root / folder).rglob("*")) if p.suffix in (".cpp", ".hpp")]
    bad = [f"{p.relative_to(root)}: {e}" for p in found for e in wrong_in_page(root, p)]
    bad += [f"{p.relative_to(root)}: {e}" for p in sources for e in wrong_in_source(root, p)]
    print("\n".join(bad) or f"{len(found)} pages and the comments of {len(sources)} sources name what is there")
    return bool(bad) or not found


sys.exit(main(*sys.argv[1:]))
