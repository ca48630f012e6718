#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the two pictures of a propagator side by side. The left one shows how the solver converged, by the first report.
The right one has the effective masses of the pion and the rho, averaged over all reports."""

import convergence
import effective_mass
import style
from report_file import load


def main():
    arguments = style.arguments(__doc__, "demo.png").parse_args()
    reports = [load(path) for path in arguments.report]
    figure, (left, right) = style.page(panels=2, row=3.4)
    convergence.draw(left, [(arguments.report[0], reports[0])])
    effective_mass.draw(right, arguments.report, reports)
    for axes in (left, right):
        style.legend_above(axes, columns=1)
    style.finish(figure, reports[:1], arguments)


if __name__ == "__main__":
    style.main(main)
