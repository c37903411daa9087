#!/usr/bin/env python3
"""words.py ROOT: a variable, parameter or member of the product is a noun. Prints the declarations that are named by a
preposition, participle or adjective."""
import ast
import pathlib
import re
import sys

WORDS = "of|at|to|from|by|own|given|asked|seen|said|wanted|beside|there|here|it|more"
TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.S)
DECLARED = re.compile(  # `const T& at =`, `(Tensor to,`, `a, at = 0`, `[at = 0]`, `auto [at, b]`
    r"(?<![.\w>])(?!(?:return|throw|case|else|not|and|or|new|delete|operator|using)\b)"
    rf"[A-Za-z_][\w:]*(?:<[^;{{}}]*?>|::\*)?(?:\s+(?:const\s*)?|\s*[&*]+\s*)((?:{WORDS})_?)\b\s*(?=[=;,){{\[]|:[^:])"
    rf"|[\[,]\s*[&*]*((?:{WORDS})_?)\b\s*(?==[^=]|;)|auto&{{0,2}} \[[^]]*?\b({WORDS})\b")
root, wrong = pathlib.Path(sys.argv[1]), []


def declared(file):
    text = file.read_text(encoding="utf-8") if file.suffix in (".py", ".cpp", ".hpp") else ""
    for node in ast.walk(ast.parse(text)) if file.suffix == ".py" else ():
        if isinstance(node, ast.arg) or isinstance(getattr(node, "ctx", None), ast.Store):
            yield node.lineno, str(next(filter(None, (getattr(node, k, None) for k in ("arg", "id", "attr"))), ""))
    code = "" if file.suffix == ".py" else TEXT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    yield from ((code.count("\n", 0, m.start(m.lastindex)) + 1, m[m.lastindex]) for m in DECLARED.finditer(code))


for room in ("tensor", "autograd", "nn", "optim", "models", "tools"):
    for file in sorted((root / room).rglob("*.*")):
        path = file.relative_to(root)
        wrong += [f"{path}:{line}: {name}" for line, name in declared(file) if re.fullmatch(WORDS, name.strip("_"))]
sys.exit("\n".join(wrong) or 0)
