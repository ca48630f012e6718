# SPDX-License-Identifier: BSD-3-Clause
"""Reads #include lines and holds the layers: what is used lies below what uses it.

At the top: miniapps, bindings -> library -> cpu_ref, gpu -> common; cpu_ref and gpu never include each other, and only programs
and tests include common/app. library/ alone opens the CUDA library; benchmarks of its kernels know it too. Inside a library: LAYERS, the lowest first; what stands in one tuple is one layer. A file includes its
own layer and those below."""
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

TOP = {"common": {"common"},
       "cpu_ref": {"common", "cpu_ref"},
       "gpu": {"common", "gpu"},
       "library": {"common", "cpu_ref", "gpu", "library"},
       "bindings": {"bindings", "common", "cpu_ref", "library"},
       "miniapps": {"common", "cpu_ref", "library", "miniapps"}}
# Programs that time parts of the CUDA library itself.
OF_THE_GPU = ("miniapps/bench/gpu_",)

LAYERS = {
    "common": [("error", "host_memory", "number_text", "stop_point", "stopwatch"), ("algebra",), ("comms",), ("lattice",), ("random",), ("gauge",), ("io",), ("concepts",),
               ("approximation",), ("krylov",), ("operators",), ("eigen",), ("multigrid",), ("overlap",), ("mesh",), ("dg",), ("solvers",), ("hmc",), ("app",)],
    "cpu_ref": [("memory", "simd"), ("execution",), ("fields", "context", "machine_speed"), ("blas",), ("gauge",), ("halo",), ("dirac",), ("hmc",), ("coarse",),
                ("dg",), ("sources",), ("observables",), ("solvers",), ("library",)],
    "gpu": [("device",), ("tuning",), ("comms",), ("lattice",), ("execution",), ("halo",), ("fields", "context"),
            ("blas",), ("gauge",), ("dirac",), ("coarse",), ("dg",), ("sources",), ("observables",), ("solvers",), ("library",), ("lab",)],
}


def files(library):
    for folder, _, names in os.walk(os.path.join(ROOT, library)):
        for name in sorted(names):
            if name.endswith((".hpp", ".cpp", ".cu")):
                yield os.path.relpath(os.path.join(folder, name), ROOT)


def includes(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return [line for line in re.findall(r'^#include "([^"]+)"', file.read(), re.MULTILINE) if "/" in line]


def layer(path):
    """(library, number of the layer or None): of gpu/context.hpp that of "context"."""
    parts = path.split("/")
    part = parts[1] if len(parts) > 2 else parts[1].split(".")[0]
    numbers = [i for i, layer in enumerate(LAYERS.get(parts[0], [])) if part in layer]
    return parts[0], numbers[0] if numbers else None


class Layers(unittest.TestCase):
    def test_libraries_include_what_lies_below_them(self):
        for library, allowed in TOP.items():
            for path in files(library):
                for included in includes(path):
                    if included.split("/")[0] in TOP and not (included.startswith("gpu/") and path.startswith(OF_THE_GPU)):
                        self.assertIn(included.split("/")[0], allowed, f"{path} includes {included}")

    def test_libraries_know_nothing_of_programs(self):
        for path in [*files("cpu_ref"), *files("gpu"), *files("common"), *files("bindings")]:
            if not path.startswith("common/app/"):
                for included in includes(path):
                    self.assertFalse(included.startswith("common/app/"), f"{path} includes {included}")

    def test_every_folder_has_a_layer(self):
        for library in LAYERS:
            for path in files(library):
                self.assertIsNotNone(layer(path)[1], f"{path}: its folder has no place in LAYERS")

    def test_inside_a_library_nothing_points_upwards(self):
        upwards = set()
        for library in LAYERS:
            for path in files(library):
                for included in includes(path):
                    to, number = layer(included)
                    if to == library and number is not None and number > layer(path)[1]:
                        upwards.add((path, included))
        self.assertEqual(upwards, set(), "these #include lines run upwards: move what is used down")


if __name__ == "__main__":
    unittest.main()
