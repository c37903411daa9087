#!/usr/bin/env python3
"""Keeps the lines of the forward pass for `glim step`, as they stand in the sources.

    forward.py OUT FILE...      ->  the sources of rules.hpp: of FILES those of layers, models and their losses
"""
import os
import sys

out, files = sys.argv[1], sys.argv[2:]
with open(out, "w", encoding="utf-8") as cpp:
    cpp.write('#include "tools/inspect/debugger/rules.hpp"\n\nnamespace glim::step {\n\n'
              "const std::vector<Source>& forward_sources() {\n  static const std::vector<Source> all{\n")
    for path in files:
        if not {"nn", "models", "learners", "readings"} & set(path.split("/")) and not path.endswith("example.cpp"):
            continue
        name = "/".join(os.path.abspath(path).split(os.sep)[-2:])
        with open(path, encoding="utf-8") as source:
            cpp.write(f'    {{"{name}", R"source({source.read()})source"}},\n')
    cpp.write("  };\n  return all;\n}\n\n}  // namespace glim::step\n")
