# SPDX-License-Identifier: BSD-3-Clause
"""Finds what makes figures of a report doubtful: load of the host, spread, clocks, and efficiencies that cannot be."""

import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "tools"))
from report_origin import noise_remarks  # noqa: E402

#: Parallel efficiency above these says that the first point was slow. More cores have more cache, which helps strong scaling.
MOST_EFFICIENCY = {"weak": 1.1, "strong": 1.5}


def noise_of(report):
    """Returns the remarks that `./plaquette validate` makes on noise. Of a report with odd or missing parts: as many as it
    has parts for."""
    remarks = []
    try:
        noise_remarks(report, remarks)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        pass  # whether a report is a whole one, others judge
    return remarks


def efficiency_remark(scaling, name, efficiencies):
    """Returns a remark on a line of a scaling figure, with its largest efficiency; empty: there is nothing to say."""
    largest = max(efficiencies, default=0.0)
    if not largest > MOST_EFFICIENCY.get(scaling, MOST_EFFICIENCY["strong"]):
        return ""
    return (f"{scaling} scaling, {name}: an efficiency of {100 * largest:.0f}% says that something else ran during the first "
            "point; run it again on an idle machine")
