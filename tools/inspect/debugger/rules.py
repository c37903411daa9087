#!/usr/bin/env python3
"""Collects the rule of every op as it stands in the sources.

    rules.py OUT FILE...      ->  the table that autograd's rules are shown from (rules.hpp)

An op's rule is its dx, da and db, or its gradient(), and what of the same files they call.
"""
import re
import sys

out, files = sys.argv[1], sys.argv[2:]
DEFINITION = re.compile(r"^ *(?:static |inline )?(?:Var|Grads|Tensor|AttentionGradients) (\w+)\(", re.M)
GATES = re.compile(r"^ *(\w+Gates)\((?:const Var)", re.M)


def body(text, at):
    """The definition that begins on the line of `at`, to the end of its last brace."""
    start = text.rfind("\n", 0, at) + 1
    depth, i = 0, text.index("{", at)
    while True:
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        i += 1
        if depth == 0:
            return text[start:i]


def unindented(code):
    lines = code.split("\n")
    indent = len(lines[0]) - len(lines[0].lstrip())
    return "\n".join(line[indent:] if line[:indent].isspace() or not indent else line for line in lines)


def defines_body(text, at):
    brace, semicolon = text.find("{", at), text.find(";", at)
    return brace >= 0 and (semicolon < 0 or brace < semicolon)


helpers, ops = {}, []
for path in files:
    text = open(path, encoding="utf-8").read()
    name = path.rsplit("/", 1)[-1]
    for found in [*DEFINITION.finditer(text), *GATES.finditer(text)]:
        if defines_body(text, found.end()) and not re.search(r"\bIns?&", text[found.end():text.find(")", found.end())]):
            helpers.setdefault(found.group(1), []).append((name, body(text, found.start(1))))
    for op in re.finditer(r"Formula formula\{\s*\"(\w+)\"", text):
        struct = text.rfind("struct " if "struct " in text[:op.start()] else "class ", 0, op.start())
        ops.append((name, op.group(1), text, struct))

RULES = {"dx", "da", "db", "gradient", "forward", "kernel"}
with open(out, "w", encoding="utf-8") as cpp:
    cpp.write('#include "tools/inspect/debugger/rules.hpp"\n\nnamespace glim::step {\n\n'
              "const std::vector<Rule>& rules() {\n  static const std::vector<Rule> all{\n")
    for name, op, text, struct in ops:
        code = body(text, struct)
        parts, place = [], 0
        for found in DEFINITION.finditer(code):
            if found.group(1) in {"dx", "da", "db", "gradient"}:
                parts.append(unindented(body(code, found.start(1))))
                place = place or text.count("\n", 0, struct + found.start(1)) + 1
        seen, queue = set(), "\n".join(parts)
        for called in re.findall(r"\b(\w+)(?= ?\w*\()", queue) + re.findall(r"= (\w+Gates)\(", queue):
            local = [b for n, b in helpers.get(called, []) if n == name] or \
                    [b for n, b in helpers.get(called, []) if called.endswith("_gradients")]
            if called not in RULES and called not in seen and local:
                seen.add(called)
                parts.append(unindented(local[0]))
        cpp.write(f'    {{"{op}", "{name}:{place}", R"rule({chr(10).join(parts)})rule"}},\n')
    cpp.write("  };\n  return all;\n}\n\n}  // namespace glim::step\n")
