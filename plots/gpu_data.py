# SPDX-License-Identifier: BSD-3-Clause
"""What figures of several GPUs need of the reports of dslash-scaling: points, lines over GPUs, latencies."""

import collections
import itertools
import os

from boxes import grid_of_local_box, smallest_surface_grid
from report_file import ReportError, load, number
from scaling_data import PRECISIONS, VECTOR_OPERATIONS  # noqa: F401  for those who draw

#: One timed operator of one run. `asked` is --halo, `policy` what came of it ("" on one GPU); `halo` the costs, or None.
Point = collections.namedtuple("Point", "scaling placement gpus lattice local grid operator layout precision reconstruct "
                               "rhs protocol gflops gbytes fraction_of_copy seconds halo asked policy wait overlap report path")


def text_of_extents(extents):
    """ "32^3x64", "16x16x32x8" """
    words, n = [], 0
    while n < len(extents):
        same = n
        while same < len(extents) and extents[same] == extents[n]:
            same += 1
        words.append(f"{extents[n]}^{same - n}" if same - n > 1 else str(extents[n]))
        n = same
    return "x".join(words)


def loaded(paths, apps=("dslash-scaling",)):
    """(path, report) of those of the mini-apps `apps`, one after the other."""
    reports = [(path, load(path)) for path in paths]
    return [(path, report) for app in apps for path, report in reports if report["app"] == app]


def points(reports, protocol="sustained"):
    """The figures of GPUs in (path, report) pairs."""
    found = []
    for path, report in reports:
        parameters = report["parameters"]
        placement = parameters.get("placement", {})
        for n, figure in enumerate(report["figures"]):
            if figure.get("device") != "gpu" or figure.get("protocol") != protocol:
                continue
            what = f"{path}: figures[{n}]"
            halo = figure.get("halo")
            try:
                lattice, grid = tuple(figure["lattice"]), tuple(parameters["grid"])
                local = parameters.get("local_lattice", [length // n for length, n in zip(lattice, grid)])
                found.append(Point(
                    str(parameters.get("scaling", "strong")), str(placement.get("policy", "none")), int(figure["ranks"]),
                    lattice, tuple(local), grid, figure["operator"], figure["layout"], figure["precision"],
                    figure["reconstruct"], figure["rhs"],
                    figure["protocol"], number(figure["gflops"], what), number(figure["gbytes_per_s"], what),
                    number(figure["fraction_of_copy"], what), number(figure["seconds"]["median"], what), halo,
                    str(parameters.get("halo", "auto")), str(halo.get("policy", "")) if halo else "",
                    str(parameters.get("wait", "spin")), str(parameters.get("overlap", "on")), report, path))
            except (KeyError, TypeError, ValueError, ZeroDivisionError) as problem:
                raise ReportError(f"{what}: expected a figure as the schema has it, found {problem!r}") from None
    return found


def required_points(paths):
    """The same for the files `paths`; refused where there are none."""
    found = points(loaded(paths))
    if not found:
        names = ", ".join(os.path.basename(path) for path in paths)
        raise ReportError(f"{names}: no figures of dslash-scaling on GPUs")
    return found


def is_crowded(point):
    """More ranks than cores, as a remark of the report says."""
    gpus = point.report["machine"].get("gpus")
    remarks = gpus.get("remarks", []) if isinstance(gpus, dict) else []
    return any("keep others from running" in str(remark) for remark in remarks)


def is_usual(point):
    """Made as users do: nothing deliberately bad, nothing but the automatic choice."""
    return (point.placement != "bad" and point.asked == "auto" and point.wait == "spin" and point.overlap == "on"
            and point.operator not in VECTOR_OPERATIONS and not is_crowded(point))


def problem_of(point):
    """What is the same along a line over GPUs: the lattice of each (weak), or of all together (strong)."""
    return (point.scaling, point.local if point.scaling == "weak" else point.lattice)


def title_of(problem):
    scaling, extents = problem
    return f"{scaling}, {text_of_extents(extents)}" + (" a GPU" if scaling == "weak" else "")


def case_of(point):
    return (point.operator, point.layout, point.precision, point.reconstruct, point.rhs)


def belongs_to(point, problem):
    """True of a point that lies on the line of a problem, as what it was run for or not: twice the box of weak scaling may
    be the lattice of strong scaling."""
    scaling, extents = problem
    if scaling == "weak":
        return point.local == extents and point.grid == grid_of_local_box(extents, point.gpus)
    return point.lattice == extents and point.grid == smallest_surface_grid(extents, point.gpus)


def with_shared(found):
    """The points, and once more those that were run for one problem and are missing in another."""
    have = {(problem_of(p), case_of(p), p.gpus, p.placement, p.asked, p.wait, p.overlap) for p in found}
    problems = sorted({problem_of(p) for p in found})
    shared = list(found)
    for p, problem in itertools.product(found, problems):
        key = (problem, case_of(p), p.gpus, p.placement, p.asked, p.wait, p.overlap)
        if key not in have and belongs_to(p, problem):
            have.add(key)
            shared.append(p._replace(scaling=problem[0]))
    return shared


def lines(found):
    """{(problem, case): points in the order of GPUs}, of the last run of each; problems with several numbers of GPUs."""
    latest = {}
    for p in with_shared(found):
        latest[(problem_of(p), case_of(p), p.gpus)] = p
    result = collections.defaultdict(list)
    for (problem, case, _), p in sorted(latest.items(), key=lambda item: item[0][2]):
        result[(problem, case)].append(p)
    several = {problem for problem, _ in result if len({p.gpus for key, line in result.items() if key[0] == problem
                                                        for p in line}) > 1}
    return {key: line for key, line in result.items() if key[0] in several}


def headline(found):
    """Operator, layout, reals, right-hand sides of the first point."""
    first = found[0]
    return (first.operator, first.layout, first.reconstruct, first.rhs)


def of_headline(found):
    return [p for p in found if (p.operator, p.layout, p.reconstruct, p.rhs) == headline(found)]


def efficiency(line, seconds=lambda p: p.seconds):
    """Time of the first point times its GPUs over that of each, a GPU: of weak scaling the ratio of times."""
    base = line[0]
    if base.scaling == "weak":
        return [base.seconds / seconds(p) for p in line]
    return [base.seconds * base.gpus / (seconds(p) * p.gpus) for p in line]


def seconds_without_overlap(point):
    return number(point.halo["seconds_without_overlap"], point.path) if point.halo else point.seconds


def latencies(reports):
    """The last section of latencies among (path, report) pairs, of a GPU before one of a CPU; or None."""
    chosen = None
    for path, report in reports:
        section = report.get("latencies")
        if not isinstance(section, dict) or not isinstance(section.get("transfers"), list):
            continue
        of_gpu = report["parameters"].get("device") == "gpu"
        if chosen is None or of_gpu or chosen[2]["parameters"].get("device") != "gpu":
            chosen = (path, section, report)
    return chosen


def transfers(section, path):
    """{kind: [(bytes, seconds)]}, growing."""
    found = collections.defaultdict(list)
    for n, item in enumerate(section["transfers"]):
        what = f"{path}: latencies.transfers[{n}]"
        try:
            found[str(item["kind"])].append((int(item["bytes"]), number(item["seconds"], what)))
        except (KeyError, TypeError, ValueError) as problem:
            raise ReportError(f"{what}: expected a transfer as the schema has it, found {problem!r}") from None
    return {kind: sorted(values) for kind, values in found.items()}


def launches(section, path):
    """{"stream", "graph", "waited": seconds}"""
    return {str(item.get("kind")): number(item.get("seconds", "nan"), f"{path}: latencies.launches")
            for item in section.get("launches", []) if isinstance(item, dict)}
