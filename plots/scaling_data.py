# SPDX-License-Identifier: BSD-3-Clause
"""What figures of scaling need of the reports of dslash-scaling: points and series."""

import collections
import os

from noise import efficiency_remark
from report_file import ReportError, load, number

VECTOR_OPERATIONS = ("axpy", "dot", "norm2")
PRECISIONS = ("double", "single", "half")

#: One timed operator of one run.
Point = collections.namedtuple("Point", "scaling placement ranks threads operator layout precision reconstruct rhs "
                               "gflops fraction_of_copy seconds halo report path")
#: What is the same along a line: all but the machine's part that works.
Case = collections.namedtuple("Case", "operator layout precision reconstruct rhs")


def cores(point):
    return point.ranks * point.threads


def case_of(point):
    return Case(point.operator, point.layout, point.precision, point.reconstruct, point.rhs)


def points(paths):
    """All figures of CPUs in the reports of dslash-scaling among `paths`; others are left aside, those of GPUs too
    (gpu_data.py)."""
    found = []
    for path in paths:
        report = load(path)
        if report["app"] != "dslash-scaling":
            continue
        parameters = report["parameters"]
        placement = parameters.get("placement", {})
        for n, figure in enumerate(report["figures"]):
            if figure.get("device") == "gpu" or figure.get("operator") in VECTOR_OPERATIONS:
                continue
            what = f"{path}: figures[{n}]"
            try:
                found.append(Point(str(parameters.get("scaling", "strong")), str(placement.get("policy", "none")),
                                   int(figure["ranks"]), int(figure["threads"]), figure["operator"], figure["layout"],
                                   figure["precision"], figure["reconstruct"], figure["rhs"],
                                   number(figure["gflops"], what), number(figure["fraction_of_copy"], what),
                                   number(figure["seconds"]["median"], what), figure.get("halo"), report, path))
            except (KeyError, TypeError, ValueError) as problem:
                raise ReportError(f"{what}: expected a figure as the schema has it, found {problem!r}") from None
    if not found:
        names = ", ".join(os.path.basename(path) for path in paths)
        raise ReportError(f"{names}: no figures of dslash-scaling")
    return found


def headline(found):
    """The case that a sweep's figure of merit is about: the first one of the first report."""
    return case_of(found[0])


def headline_cases(found):
    """The headline in each precision that there is."""
    first = headline(found)
    wanted = [first._replace(precision=p) for p in PRECISIONS]
    have = {case_of(p) for p in found}
    return [case for case in wanted if case in have]


def lines(found):
    """The lines of a plot over cores: (label, points in the order of cores) for ranks of the same number of threads each, and for
    the threads of one rank. Of runs of the same point the last one counts."""
    by_place = {(p.ranks, p.threads): p for p in found}
    result = []
    for threads in sorted({t for _, t in by_place}):
        line = sorted((p for (_, t), p in by_place.items() if t == threads), key=cores)
        if len(line) > 1:
            result.append((f"ranks of {threads} thread{'s' if threads > 1 else ''}", line))
    line = sorted((p for (r, _), p in by_place.items() if r == 1), key=cores)
    if len(line) > 1:
        result.append(("threads of one rank", line))
    if not result:
        result = [(f"{p.ranks} x {p.threads}", [p]) for p in by_place.values()]
    return result


def efficiency(line):
    """GFLOP/s a core along a line, relative to its first point."""
    base = line[0].gflops / cores(line[0])
    return [p.gflops / cores(p) / base if base > 0 else float("nan") for p in line]


def remarks(found):
    """Remarks on lines of the headline's case whose efficiency is more than cores can give."""
    said = []
    for scaling, placement in sorted({(p.scaling, p.placement) for p in found}):
        chosen = [p for p in found if (p.scaling, p.placement) == (scaling, placement) and case_of(p) == headline(found)]
        said += [efficiency_remark(scaling, label, efficiency(line)) for label, line in (lines(chosen) if chosen else [])]
    return [remark for remark in said if remark]
