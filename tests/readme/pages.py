#!/usr/bin/env python3
"""The pages say what is there: pages.py ROOT [PAGE...]   (every *.md below ROOT unless pages are given)

pages.py ROOT --links   looks at the links alone, in an installed tree

- A code block opened by ```cpp FOLDER/FILE is in that file; white space does not count.
- A path of a source folder exists, and so does what a link leads to: in pages, and in comments of sources.
- A link's #heading is a heading of that page.
- A name after a path, as in `nn/module.hpp`: `Param`, is in that file.
- `FILE:LINE` | `TEXT` in a table: that line of that file has this text. pages.py ROOT --mend corrects the line.
- A verb of `glim VERB` exists, and so does each option after it, by tools/cli/options.md; an `--option` alone is one of
  some verb or script. Each option of a verb is typed by a page's block, a recipe or a test.
- A command has a fenced block, where commands.py finds it. One that is run by hand has the date of its last run below.
- Numbers of a paragraph before `<!-- as printed above -->` are in a block of the page.
- A section with a measured number names the command, script or recipe that measures it, or says `<!-- by: ... -->`.
- README.md has at most 120 lines.
- A page in Chinese, NAME.zh.md, has the blocks, code, links and numbers of its English page (translations.py). --mend
  copies the blocks.
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True  # not into the tree
from translations import mended_translation, wrong_in_translation

FOLDERS = ["tensor", "autograd", "nn", "optim", "models", "tests", "tools"]
START = r"(?<![\w/.{-])(?:%s)/" % "|".join(FOLDERS)
PATH = re.compile(START + r"[\w./{},-]*[\w}]")
IN_COMMENT = re.compile(START + r"[\w./-]*\.(?:cpp|hpp|py|sh|md|toml)\b")
BLOCK = re.compile(r"^```cpp (\S+/\S+)\n(.*?)^```$", re.M | re.S)
FENCED = re.compile(r"^```.*?^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)#:]*)(?:#([^)]*))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.M)
BUILT = {"tools/glim"}
README_LINES = 120
LINE = re.compile(r"`([\w./-]+):(\d+)` \| `([^`]+)`")
VERB = re.compile(r"(?:`|^(?: {4}|\$ )?(?:\S.*\| )?)glim ([a-z]+)", re.M)
OPTION = re.compile(r"(?<![\w-])--([a-z][\w-]*)")
ALONE = re.compile(r"`(--[^`\n]*)`")
CODE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.M | re.S)
TYPED = {"console", "sh", "text"}  # blocks of commands; a text shows their form
COMMAND = re.compile(r"\bglim ([a-z]+)([^`|#;<\n]*)")
OF_ALL = {"help", "help-all", "show-config"}  # of every verb
UNFENCED = re.compile(r"^ {4}(?:\$ )?(?:(?:glim|python3?|mpirun|echo|z?cat|meson|g\+\+|apt-get) |"
                      r"(?:tools|tests|build)/\S+(?: |$)).*", re.M)
BY_HAND = re.compile(r"^```(?:console|sh) [^\n]*\bslow\b[^\n]*\n(.*?)^```\n([^\n]*)", re.M | re.S)
LAST_RUN = re.compile(r"[Ll]ast run:? (?:\d{4}-\d\d-\d\d|never as printed)\b")
MEASURED = re.compile(r"\d[\d.,]* ?(?:%|(?:s|ms|MB|minutes?|seconds?)\b)|(?:BLEU|perplexity|accuracy)\*?\*? (?:of )?\d|"
                      r"\d of 1,?000")
MADE_BY = re.compile(r"^```(?:console|sh)\b|`glim [a-z]|\b(?:tools|tests|build)/[\w./-]+|"
                     r"<!-- (?:(?:slow )?table|by): ", re.M)
AS_PRINTED = re.compile(r"((?:[^\n]+\n)*[^\n]*)<!-- as printed above -->")
PRINTED = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)", re.A)
FOR_ALL = "All numbers below come from `"  # in the first section: a command
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
    """By verb; under "" those of every verb and of the scripts."""
    options = {}
    for verb, text in re.findall(r"^## glim ([a-z]+)\n(.*?)(?=^## |\Z)", (root / "tools/cli/options.md").read_text(),
                                 re.M | re.S):
        options[verb] = set(re.findall(r"^\| `--([a-z][\w-]*)", text, re.M)) | OF_ALL
    scripts = [p for f in ("tools", "tests") for p in (root / f).rglob("*")
               if p.is_file() and p.suffix in (".py", ".sh", "") or p.suffix == ".cpp" and "fuzz" in p.parts]
    options[""] = set().union(*options.values(), *(OPTION.findall(p.read_text(errors="ignore")) for p in scripts))
    return options


def wrong_in_commands(text, options):
    prose = FENCED.sub("", text)
    for line in UNFENCED.findall(prose):
        yield f"a command needs a block that is opened by ```sh, ```console or ```text: {line.strip()}"
    typed = re.findall(r"<!-- (?:slow )?(?:table|made by): (.*?)-->", text)
    typed += [re.sub(r"\\\n", " ", code) for kind, _, code in CODE.findall(text) if kind in TYPED]
    for verb, rest in COMMAND.findall("\n".join(typed + re.findall(r"`[^`]*`", prose))):
        for option in OPTION.findall(rest) if verb in options else []:
            if option not in options[verb]:
                yield f"glim {verb} has no option --{option}"
    for option in OPTION.findall(" ".join(ALONE.findall(prose))):
        if option not in options[""]:
            yield f"there is no option --{option}"
    for table in re.findall(r"^<!-- slow table: .*", text, re.M):
        if not LAST_RUN.search(table):
            yield f"'; last run YYYY-MM-DD' is missing in: {table}"
    for below in BY_HAND.finditer(text):
        if not LAST_RUN.match(below[2]):
            yield f"a line 'Last run: YYYY-MM-DD' (or 'never as printed') has to follow this block:\n{below[1].rstrip()}"


def wrong_in_claims(text):
    for found in AS_PRINTED.finditer(text):
        above = PRINTED.findall("".join(FENCED.findall(text[:found.start()])))
        for number in PRINTED.findall(found[1]):
            if number not in above:
                yield f"no block above has the number {number}"
    sections = re.split(r"^(?=#+ )", text, flags=re.M)
    for section in sections if FOR_ALL not in "".join(sections[:2]) else []:
        found = MEASURED.search(FENCED.sub("", section))
        if found and not MADE_BY.search(section):
            yield f"'{section.splitlines()[0]}' has the number '{found[0]}', and names no command that makes it"


def wrong_in_links(page, prose):
    for link, part in LINK.findall(prose):
        target = page.parent / link if link else page
        if not target.exists():
            yield f"the link {link} leads nowhere"
        elif part and part not in map(anchor, HEADING.findall(FENCED.sub("", target.read_text()))):
            yield f"the link {link}#{part} leads to no heading of that page"


def wrong_in_page(root, page, options):
    text = page.read_text()
    for name, code in BLOCK.findall(text):
        if not (root / name).is_file() or squeezed(code) not in squeezed((root / name).read_text()):
            yield f"the block of {name} is not there:\n{code.rstrip()}"
    prose = FENCED.sub("", text)
    for path in PATH.findall(prose):
        if path not in BUILT and not (root / path).exists():
            yield f"{path} does not exist"
    yield from wrong_in_links(page, prose)
    for path, line, quoted in LINE.findall(prose):
        lines = lines_with(root / path, quoted) if (root / path).is_file() else []
        if int(line) not in lines:
            yield f"{path}:{line} has no '{quoted}'; lines that have it: {lines or 'none'} (--mend corrects it)"
    for verb in VERB.findall(text):
        if verb != "help" and not (root / "tools/cli/verbs" / f"{verb}.cpp").exists():
            yield f"there is no verb glim {verb}"
    yield from wrong_in_commands(text, options)
    yield from wrong_in_claims(text)
    if page == root / "README.md" and text.count("\n") > README_LINES:
        yield f"{text.count(chr(10))} lines, the limit is {README_LINES}: move some to the page of their subject"
    if page.name.endswith(".zh.md"):
        yield from wrong_in_translation(page)
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


def untyped(root, pages, options):
    """Options of verbs that no block of a page, no recipe and no test types."""
    typed = set(OF_ALL)
    for text in [p.read_text() for p in pages]:
        for kind, words, code in CODE.findall(text):
            if kind in ("console", "sh") and not {"slow", "setup"} & set(words.split()):
                typed.update(OPTION.findall(code))
        typed.update(OPTION.findall(" ".join(re.findall(r"<!-- (?:table|made by): (.*?)-->", text))))
    for recipe in (root / "tools/train/recipes").glob("*.toml"):
        typed.update(re.findall(r"(?:^|--)([a-z][\w-]*)", recipe.read_text(), re.M))
    for test in (root / "tests").rglob("*"):
        if test.suffix in (".sh", ".py", ".txt", ".cpp", ".hpp") and test.is_file():
            typed.update(OPTION.findall(test.read_text(errors="ignore")))
    return sorted(set().union(*(names for verb, names in options.items() if verb)) - typed)


def main(root, *pages):
    root = pathlib.Path(root)
    if pages == ("--links",):
        found = sorted(root.rglob("*.md"))
        bad = [f"{p.relative_to(root)}: {e}" for p in found for e in wrong_in_links(p, FENCED.sub("", p.read_text()))]
        print("\n".join(bad) or f"every link of {len(found)} pages leads to something")
        return bool(bad) or not found
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
        right = mended(root, mended_translation(page) if page.name.endswith(".zh.md") else text)
        if right != text:
            page.write_text(right)
    options = option_names(root)
    bad = [f"{p.relative_to(root)}: {e}" for p in found for e in wrong_in_page(root, p, options)]
    bad += [f"{p.relative_to(root)}: {e}" for p in sources for e in wrong_in_source(root, p)]
    if not pages:
        bad += [f"no page, recipe or test types --{name}" for name in untyped(root, found, options)]
    print("\n".join(bad) or f"{len(found)} pages and the comments of {len(sources)} sources name what is there")
    return bool(bad) or not found


sys.exit(main(*sys.argv[1:]))
