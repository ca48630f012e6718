# SPDX-License-Identifier: BSD-3-Clause
"""Prints the seconds of calls of the Python package: the calls of call_times.cpp, in its order.

    PLAQUETTE_LIBRARY=libplaquette_c.so PYTHONPATH=bindings/python python3 call_times.py LINKS [KAPPA [cpu|gpu]]"""
import sys
import time

import numpy as np
import plaquette


def timed(work):
    """(seconds, result) of a call."""
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def main(words):
    if not words:
        sys.exit("call_times.py: expected a file of links")
    links = plaquette.Gauge.read(words[0])
    mass = 0.5 / (float(words[1]) if len(words) > 1 else 0.1350) - 4.0
    device = words[2] if len(words) > 2 else "gpu"
    make = {"mass": mass, "csw": 1.769, "device": device}
    seconds, solver = timed(lambda: plaquette.multigrid(links, **make, columns=12))
    print(f"setup and tuning            {seconds:8.3f} s")
    shape = links.lattice.shape
    twelve = np.zeros((12, *shape, 4, 3), np.complex128)  # touched
    twelve[:] = 0.5
    source = plaquette.Source()
    for _ in range(3):
        solve, quark = timed(lambda: solver.solve(source, judge=False))
        copy, _ = timed(lambda: quark.columns(out=twelve))
        print(f"propagator                  {solve:8.3f} s; into an array {copy:.3f} s, {1e-9 * twelve.nbytes / copy:.1f} GB/s")
    fresh, _ = timed(quark.columns)
    print(f"columns in a fresh array    {fresh:8.3f} s")
    judged, quark = timed(lambda: solver.solve(source))
    print(f"propagator, judged          {judged:8.3f} s: {quark.verdict}")
    pion, _ = timed(quark.pion)
    print(f"pion                        {pion:8.3f} s")
    quark.close()
    solver.close()
    solver = plaquette.multigrid(links, **make, columns=1)
    dense = np.zeros((*shape, 4, 3), np.complex128)
    dense[0, 0, 0, 0, 0, 0] = 1.0
    x = np.full_like(dense, 0.5)
    turned = np.ascontiguousarray(np.swapaxes(dense, 4, 5))  # colours before spins: not the library's own order
    for name, axes, b in (("dense", "tzyxsc", dense), ("colours slowest", "tzyxcs", turned)):
        out = x if axes == "tzyxsc" else np.full_like(turned, 0.5)
        for _ in range(3):
            seconds, _ = timed(lambda: solver.solve_for(b, axes=axes, x=out, judge=False))
            print(f"one right-hand side, {name:<16} {seconds:8.3f} s")
    if device == "gpu":
        on_gpu(solver, dense)


def on_gpu(solver, dense):
    """Solves for arrays that are on the GPU."""
    try:
        import torch
    except ImportError:
        return
    for kind in (torch.complex128, torch.complex64):
        b = torch.from_numpy(dense).to(device="cuda", dtype=kind)
        for _ in range(3):
            seconds, _ = timed(lambda: solver.solve_for(b, judge=False))
            print(f"one right-hand side on the GPU, {str(kind)[6:]:<11} {seconds:8.3f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
