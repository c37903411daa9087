#!/usr/bin/env python3
"""Embeds sources for `glim step` as they are.

    sources.py OUT FILE...      ->  the sources of sources.hpp: of FILES those of ops, layers, models and their losses
"""
import os
import sys

out, files = sys.argv[1], sys.argv[2:]
with open(out, "w", encoding="utf-8") as cpp:
    cpp.write('#include "tools/inspect/debugger/sources.hpp"\n\nnamespace glim::step {\n\n'
              "const std::vector<Source>& sources() {\n  static const std::vector<Source> all{\n")
    for path in files:
        folders = {"ops", "nn", "models", "learners", "kinds"}
        if not folders & set(path.split("/")) and not path.endswith("example.cpp"):
            continue
        name = "/".join(os.path.abspath(path).split(os.sep)[-2:])
        with open(path, encoding="utf-8") as source:
            cpp.write(f'    {{"{name}", R"source({source.read()})source"}},\n')
    cpp.write("  };\n  return all;\n}\n\n}  // namespace glim::step\n")
