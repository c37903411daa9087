#!/usr/bin/env python3
"""comments.py HEADER: a header as Doxygen reads it, on standard output.

The headers' comments are plain. A comment before a declaration, or behind it on its line, describes it. The
comment at the top describes the file and each of its classes. Lines set in by two spaces or more, or with
columns, are equations, shapes and code: they stay as they are written. A list of functions, `LIST(GLIM_DECLARE)`,
is its declarations, each under the texts of its row.
"""
import pathlib
import re
import sys

HEADING = re.compile(r"\s*// ---- (.*?)(?: ----)?$")
ALIGNED = re.compile(r"\S {3,}\S")
SPECIAL = re.compile(r"([\\@&$#<>%\"])")
CLASS = re.compile(r"(?:template <.*> )?class (\w+)[^;]*$")


def described(comment):
    """The lines of a comment, without their slashes, in Doxygen's language; its first paragraph is the brief."""
    out, formulas, blank, in_list = [], False, 0, False
    for line in comment:
        text = re.sub(r"^\s*// ?", "", line)
        if not text.strip():
            blank += 1
            continue
        if re.match(r"[-0-9]\.? ", text):
            in_list = True
        elif not text.startswith(" "):
            in_list = in_list and not blank
        as_it_is = (text.startswith("  ") or bool(ALIGNED.search(text))) and not in_list
        if formulas and not as_it_is:
            out.append("\\endverbatim")
            formulas = False
        out += [""] * bool(blank and out)
        blank = 0
        if as_it_is and not formulas:
            out.append("\\verbatim")
            formulas = True
        if not as_it_is:  # `code` is code, and so are names with ::, which Doxygen would look for
            text = "`".join(SPECIAL.sub(r"\\\1", t) for t in text.split("`"))
            text = re.sub(r"`([^`]*)`", r"<code>\1</code>", text).replace("::", "\\::")
        out.append(text)
    if out and out[0] != "\\verbatim":
        out[0] = "\\brief " + out[0]
    return out + ["\\endverbatim"] * formulas


def declarations(path, lines):
    """Lines with each list of functions written out: the rows are in this header or in one beside it."""
    headers, pattern = [], None
    for line in lines:
        if match := re.match(r"#define GLIM_DECLARE\(name, \.\.\.\) (.*)", line):
            pattern = match[1]
        elif match := re.match(r"(GLIM_\w+)\(GLIM_DECLARE\)", line):
            root = next(folder for folder in pathlib.Path(path).parents if (folder / "glim.hpp").exists())
            headers = headers or [header.read_text(encoding="utf-8") for header in root.rglob("*.hpp")]
            start = re.compile(rf"#define {match[1]}\(F\)((?:.*\\\n)*.*)")
            rows = next(found[1] for text in headers if (found := start.search(text)))
            for name, texts in re.findall(r'\bF\((\w+)((?:, +"[^"]*")*)', rows):
                yield from ("//   " + text for text in re.findall(r'"([^"]*)"', texts))
                yield re.sub(r"\bname\b", name, pattern)
        else:
            yield line


def block(lines):
    """A comment of C: Doxygen would print the slashes of /// within an equation."""
    return ["/**", *(line.replace("*/", "* /") for line in lines), "*/"]


def kind_of(line):
    if re.search(r"\bnamespace\b", line):
        return "namespace"
    return "type" if re.match(r"\s*(template\b.*)?(class|struct|enum|union)\b", line) else "body"


def main(path):
    with open(path, encoding="utf-8") as header:
        lines = header.read().split("\n")
    top = 0
    while lines[top].startswith("//"):
        top += 1
    out = block(["\\file"] + described(lines[:top]))
    scopes, comment, group, previous = [], [], False, ""

    def close_group():
        if group:
            out.append("/// @}")
        return False

    for line in declarations(path, lines[top:]):
        code, slashes, behind = line.partition("//")
        stripped = code.strip()
        if "body" in scopes or '"' in code:
            slashes = behind = ""
            code = line
        if HEADING.match(line):
            group = close_group()
            out += ["/// \\name " + SPECIAL.sub(r"\\\1", HEADING.match(line)[1]), "/// @{"]
            group, comment = len(scopes), []
            continue
        if slashes and not stripped:
            if len(code) > len(previous) - len(previous.lstrip()) + 8 and "//" in previous:
                out.append("///< " + described([line])[0].removeprefix("\\brief "))
            else:
                comment.append(line)
            continue
        declares = stripped and not re.match(r"(public|private|protected):|}|#", stripped)
        if declares and scopes == ["namespace"] and CLASS.match(stripped):
            comment += ["//"] + lines[:top]
        if comment and declares:
            out += block(described(comment))
        comment = []
        if slashes and code.rstrip().endswith("{"):
            out += ["/// " + t for t in described(["// " + behind.strip()])]
            behind = ""
        if group and line.startswith("}") and len(scopes) == group:
            group = close_group()
        text = " ".join(described(["// " + behind.strip()])) if slashes else ""
        out.append(code + (" ///< " + text if text and declares else ""))
        for brace in re.findall(r"[{}]", code):
            if brace == "{":
                scopes.append(kind_of(code))
            elif scopes:
                scopes.pop()
        previous = line
    print("\n".join(out))


main(sys.argv[1])
