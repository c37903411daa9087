"""Prints the folders of headers that the build takes from PyPI's packages: nlohmann_json's, then nanobind's."""
import importlib.util
import os
import sys

for name in ("nlohmann_json", "nanobind"):
    spec = importlib.util.find_spec(name)
    if spec is None:
        sys.exit(f"-Dpython: {sys.executable} has no package {name}: {sys.executable} -m pip install {name}")
    print(os.path.join(spec.submodule_search_locations[0], "include"))
