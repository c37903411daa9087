#!/usr/bin/env python3
"""A page in Chinese, NAME.zh.md, beside its English page. Run as a program, tries itself.

Its sections have what those of the English page have: the same blocks, except for the comments in them; the same HTML
comments and formulas; the same words in `code`, links and numbers. Only the prose is written anew, so what is typed
and compared for the English page holds for both. Each page links to the other: [中文](...), [English](...).
"""
import doctest
import itertools
import pathlib
import re

FENCE = "```"
OTHER = re.compile(r"^\[(English|中文)\]\(([^)#:]+)\)$", re.M)
NOTE = re.compile(r"(?:^|[ \t]+)(//|#) .*$", re.M)  # a comment within a block
HALF_WIDTH = re.compile(r"[\u4e00-\u9fff][,;:?!()]|[,;:?!()][\u4e00-\u9fff]")
NO_PROSE = re.compile(r"\]\([^)]*\)|`[^`]*`|<!-- .*? -->", re.S)
KINDS = {  # of what is outside the blocks; each is taken out before the next is looked for
    "the HTML comment": re.compile(r"<!-- .*? -->", re.S),
    "the formula": re.compile(r"^ {4}\S.*$", re.M),
    "the code": re.compile(r"`[^`]+`"),
    "the link": re.compile(r"\]\(([^)#]+)"),
    "the number": re.compile(r"\d+(?:[.,]\d+)*", re.A),
}


def sections(text):
    """[heading, blocks, prose] of each; the lines before the first heading have none."""
    found, block = [["", [], ""]], None
    for line in text.splitlines(True):
        if line.startswith(FENCE) and block is None:
            block = line
        elif block is not None:
            block += line
            if line.startswith(FENCE):
                found[-1][1].append(block)
                block = None
        else:
            if re.match("#+ ", line):
                found.append([line.strip(), [], ""])
            found[-1][2] += line
    return found


def plain(block):
    """Without the words of its comments, and without the blanks before them."""
    return NOTE.sub(r" \1", block)


def contents(page, prose):
    """The parts that the other page's section must have, too."""
    found, prose = {}, OTHER.sub("", prose)
    for kind, pattern in KINDS.items():
        found[kind] = set(pattern.findall(prose))
        prose = pattern.sub("", prose)
    targets = {(page.parent / link).resolve() for link in found["the link"]}
    chinese = {t: t.with_suffix(".zh.md") for t in targets}
    found["the link"] = {str(to if to.exists() else t) for t, to in chinese.items()}
    return found


def original(page):
    """The English page of a Chinese one."""
    link = OTHER.search(page.read_text())
    return (page.parent / link[2]).resolve() if link and link[1] == "English" else None


def wrong_in_translation(page):
    english = original(page)
    if not english or not english.is_file():
        yield "a line '[English](PAGE.md)' has to name its English page"
        return
    back = OTHER.search(english.read_text())
    if not back or (english.parent / back[2]).resolve() != page.resolve():
        yield f"{english.name} has no line '[中文](...)' that leads here"
    for heading, _, prose in sections(page.read_text()):
        for found in HALF_WIDTH.findall(NO_PROSE.sub("", prose)):
            yield f"'{heading}' has '{found}': punctuation in Chinese has full width"
    yield from differences(page, page.read_text(), english, english.read_text())


def differences(page, text, english, english_text):
    """The parts that only one of the two has.

    >>> en = "# A\\n\\nSee [b](b.md), `c` and 4 %. <!-- d -->\\n\\n    e = f\\n\\n```sh\\ng 5    # h\\ni  # j\\n```\\n"
    >>> zh = "# 甲\\n\\n4 % 的 `c`，见[乙](b.md)。<!-- d -->\\n\\n    e = f\\n\\n```sh\\ng 5    # 辛\\ni # 壬\\n```\\n"
    >>> def tried(zh, en):
    ...     print(*differences(pathlib.Path("/x/a.zh.md"), zh, pathlib.Path("/x/a.md"), en), sep="\\n")
    >>> tried(zh, en)
    <BLANKLINE>
    >>> for part in ("(b.md)", "`c`", "4", "<!-- d -->", "    e = f", "g 5", "5", "i", "# 甲"):
    ...     tried(zh.replace(part, "."), en)
    '# 甲' lacks the link of a.md: /x/b.md
    '# 甲' lacks the code of a.md: `c`
    '# 甲' lacks the number of a.md: 4
    '# 甲' lacks the HTML comment of a.md: <!-- d -->
    '# 甲' lacks the formula of a.md:     e = f
    '# 甲' has '. #' in a block, a.md 'g 5 #' (--mend copies it)
    '# 甲' has 'g . #' in a block, a.md 'g 5 #' (--mend copies it)
    '# 甲' has '. #' in a block, a.md 'i #' (--mend copies it)
    0 headings, but a.md has 1
    >>> tried(zh, en.replace("4", "5").replace("```sh", "```console") + "```sh\\nk\\n```\\n")
    '# 甲' lacks the number of a.md: 5
    '# 甲' has the number that a.md lacks: 4
    '# 甲' has '```sh' in a block, a.md '```console' (--mend copies it)
    '# 甲' has 1 blocks, but a.md has 2
    """
    ours, theirs = sections(text), sections(english_text)
    if len(ours) != len(theirs):
        yield f"{len(ours) - 1} headings, but {english.name} has {len(theirs) - 1}"
        return
    for (heading, own, prose), (_, other, english_prose) in zip(ours, theirs):
        here, there = contents(page, prose), contents(english, english_prose)
        for kind in here:
            for what in sorted(there[kind] - here[kind]):
                yield f"'{heading}' lacks {kind} of {english.name}: {what}"
            for what in sorted(here[kind] - there[kind]):
                yield f"'{heading}' has {kind} that {english.name} lacks: {what}"
        for block, wanted in zip(own, other):
            for line, right in itertools.zip_longest(plain(block).splitlines(), plain(wanted).splitlines()):
                if line != right:
                    yield f"'{heading}' has {line!r} in a block, {english.name} {right!r} (--mend copies it)"
                    break
        if len(own) != len(other):
            yield f"'{heading}' has {len(own)} blocks, but {english.name} has {len(other)}"


def mended_translation(page):
    return with_blocks_of(original(page).read_text(), page.read_text())


def with_blocks_of(english, text):
    """The Chinese text with these blocks, and with its own comments on lines that are the same.

    >>> english = "```sh\\na  # b\\n\\n# c\\n# d\\ne 2  # f\\n```\\n"
    >>> with_blocks_of(english, "甲\\n```sh\\na  # 乙\\n\\n# 丙\\n# 丁\\ne 1  # 己\\n```\\n")
    '甲\\n```sh\\na  # 乙\\n\\n# 丙\\n# 丁\\ne 2  # f\\n```\\n'
    """
    ours, theirs = ([b for _, blocks, _ in sections(t) for b in blocks] for t in (text, english))
    for own, other in zip(ours, theirs) if len(ours) == len(theirs) else []:
        lines = {}
        for line in own.splitlines(True):
            lines.setdefault(plain(line), []).append(line)
        made = [lines[plain(line)].pop(0) if lines.get(plain(line)) else line for line in other.splitlines(True)]
        text = text.replace(own, "".join(made), 1)
    return text


if __name__ == "__main__":
    failed, tried = doctest.testmod()
    print(f"{tried - failed} passed, {failed} failed")
    raise SystemExit(bool(failed) or not tried)
