#!/usr/bin/env python3
"""Turns files into a C++ source that holds their bytes as string literals.

    embed.py OUT NAME=FILE...           ->  extern const std::string_view NAME;
    embed.py OUT --pack NAME FILE...    ->  one, in which each file follows a line ==== FILE
"""
import os
import sys

out, parts = sys.argv[1], sys.argv[2:]
with open(out, "w", encoding="ascii") as cpp:
    cpp.write("#include <string_view>\nnamespace glim {\n")
    texts = {}
    if parts[0] == "--pack":
        texts[parts[1]] = b"\n".join(b"==== %s\n%s" % (os.path.basename(path).encode(), open(path, "rb").read())
                                    for path in parts[2:])
    else:
        texts = {part.split("=", 1)[0]: open(part.split("=", 1)[1], "rb").read() for part in parts}
    for name, data in texts.items():
        cpp.write(f"extern const std::string_view {name};\nconst std::string_view {name}(\n")
        for start in range(0, max(len(data), 1), 96):
            piece = "".join(
                chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}"
                for b in data[start:start + 96])
            cpp.write(f'  "{piece}"\n')
        cpp.write(f"  , {len(data)});\n")
    cpp.write("}\n")
