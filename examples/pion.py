# SPDX-License-Identifier: BSD-3-Clause
"""From a configuration to a picture of its pion, in Python: pion.py CONFIGURATION PICTURE"""
import sys
import matplotlib.pyplot as plt
import plaquette
solver = plaquette.multigrid(plaquette.Gauge.read(sys.argv[1]), mass=0.2, csw=1.0)
pion = solver.solve(plaquette.Source(), tolerance=1e-12).pion()
plt.semilogy(pion, "o")
plt.savefig(sys.argv[2])
print(*(f"{value:.15e}" for value in pion), f"VERIFIED {'PASSED' if pion.verdict else 'FAILED'}", sep="\n")
