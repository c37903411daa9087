#!/usr/bin/env python3
"""Turns files into a C++ source that holds their bytes as string literals.

    embed.py OUT NAME=FILE...      ->  extern const std::string_view NAME;
"""
import sys

out, parts = sys.argv[1], sys.argv[2:]
with open(out, "w", encoding="ascii") as cpp:
    cpp.write("#include <string_view>\nnamespace glim {\n")
    for part in parts:
        name, path = part.split("=", 1)
        data = open(path, "rb").read()
        cpp.write(f"extern const std::string_view {name};\nconst std::string_view {name}(\n")
        for start in range(0, max(len(data), 1), 96):
            piece = "".join(
                chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}"
                for b in data[start:start + 96])
            cpp.write(f'  "{piece}"\n')
        cpp.write(f"  , {len(data)});\n")
    cpp.write("}\n")
