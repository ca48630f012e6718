# SPDX-License-Identifier: BSD-3-Clause
"""The pictures of the page of html_page.py, each where its reports have something to draw."""

import base64
import collections
import io
import os

from report_file import ReportError

#: More solves than that are not told apart in one picture.
MOST_SOLVES, MOST_BARS = 6, 24

#: `wide` where it wants the page's whole width.
Picture = collections.namedtuple("Picture", "title alternative data wide", defaults=[False])


def data_address(figure):
    """An SVG picture as an address that holds it."""
    import style

    style.plt.rcParams["svg.hashsalt"] = "plaquette"  # the same picture, the same bytes
    stream = io.BytesIO()
    figure.savefig(stream, format="svg", metadata={"Date": None})
    style.plt.close(figure)
    return "data:image/svg+xml;base64," + base64.b64encode(stream.getvalue()).decode("ascii")


def in_parts(items, most):
    return [items[first:first + most] for first in range(0, len(items), most)]


def once_each_problem(reports):
    """Without those that solve what an earlier one has solved: on other ranks a solve goes the same way."""
    kept = {}
    for path, report in reports:
        parameters = report["parameters"]
        named = ("device", "lattice", "gauge", "mass", "clover_spatial", "precision", "solver", "source", "rhs", "batch", "seed")
        solved_before = "batches" in (report["solves"] or [{}])[0] and parameters.get("batch") == 1
        kept.setdefault(str([parameters.get(name) for name in named]) if solved_before else path, (path, report))
    return list(kept.values())


def convergence_pictures(reports):
    """One a program: residuals of solves; energies and errors of nodal-dg; the chain of hmc. dslash-scaling solves nothing."""
    for app in dict.fromkeys(report["app"] for _, report in reports):
        of_app = [(path, report) for path, report in reports if report["app"] == app]
        makers = {"nodal-dg": wave_pictures, "hmc": chain_pictures}
        yield from makers.get(app, residual_pictures)(app, of_app)


def residual_pictures(app, reports):
    import convergence
    import style

    with_history = [(path, report) for path, report in once_each_problem(reports)
                    if any(solve.get("history") for solve in report["solves"])]
    for part in in_parts(with_history, MOST_SOLVES):
        figure, (axes,) = style.figure()
        figure.set_size_inches(7.2, 4.4 + 0.2 * sum(len(report["solves"]) for _, report in part))
        convergence.draw(axes, part)
        axes.legend(loc="upper center", bbox_to_anchor=(0.45, -0.14), ncols=2, fontsize=8)
        figure.tight_layout()
        yield Picture(f"Convergence: {app}", "Relative residuals of the solves against their iterations", data_address(figure))


def wave_pictures(app, reports):
    import energy
    import style

    figure, (left, right) = style.figure(panels=2)
    figure.set_size_inches(12.0, 4.4)
    try:
        energy.draw(left, right, reports)
    except ReportError:  # a run without energies and errors
        style.plt.close(figure)
        return
    figure.tight_layout()
    yield Picture(f"Convergence: {app}", "Lost energy of waves against time, and errors against nodes", data_address(figure), True)


def chain_pictures(app, reports):
    import chain
    import style

    for path, report in reports:
        figure, (left, right) = style.figure(panels=2)
        figure.set_size_inches(12.0, 4.4)
        try:
            chain.draw_approach(left, right, chain.chain_of_report(path, report), report["observables"].get("warm_up") or [])
        except ReportError:  # no trajectory
            style.plt.close(figure)
            continue
        figure.tight_layout()
        yield Picture(f"Convergence: {app}, {os.path.basename(path)}", "Plaquette and dH of hmc against trajectories",
                      data_address(figure), True)


def mass_pictures(reports):
    import effective_mass
    import style

    for path, report in once_each_problem(reports):
        if "pion" not in report["observables"] and "rho" not in report["observables"]:
            continue
        figure, (axes,) = style.figure()
        figure.set_size_inches(7.2, 4.4)
        try:
            effective_mass.draw(axes, [path], [report])
        except ReportError:  # correlators that do not fall have no mass; their table stands below
            style.plt.close(figure)
            continue
        figure.tight_layout()
        yield Picture(f"Effective mass: {os.path.basename(path)}", "Effective masses of pion and rho against time",
                      data_address(figure))


def operator_pictures(reports):
    import operators
    import style

    for part in in_parts(operators.figures_of(reports), MOST_BARS):
        figure, (axes,) = style.figure()
        figure.set_size_inches(10.0, operators.height(part))
        operators.draw(axes, part)
        figure.tight_layout()
        yield Picture("Operators and their limits",
                      "Shares of copy bandwidth and of the peak of fused multiply-adds that the operators reach",
                      data_address(figure), True)


def scaling_pictures(reports):
    """Where dslash-scaling ran on several numbers of cores."""
    import scaling
    import scaling_data
    import style

    paths = [path for path, report in reports if report["app"] == "dslash-scaling" and report["figures"]]
    if not paths:
        return
    try:
        found = scaling_data.points(paths)
    except ReportError:  # all on GPUs: see below
        return
    if len({scaling_data.cores(point) for point in found}) < 2:
        return
    figure, (strong, weak, efficient) = style.figure(panels=3)
    figure.set_size_inches(13.5, 4.4)
    ways = scaling.draw_rates(strong, found, "strong")
    ways += [way for way in scaling.draw_rates(weak, found, "weak") if way not in ways]
    scaling.draw_efficiency(efficient, found)
    scaling.legend(figure, found, ways)
    figure.tight_layout(rect=(0, 0, 1, 0.94))
    case = scaling_data.headline(found)
    yield Picture(f"Scaling: {case.operator}, {case.layout}, {case.reconstruct} reals a link, N = {case.rhs}"
                  + "".join(f". Remark: {remark}" for remark in scaling_data.remarks(found)),
                  "GFLOP/s and efficiency of dslash-scaling against ranks times threads", data_address(figure), True)


def of_scaling(reports):
    return [(path, report) for path, report in reports if report["app"] == "dslash-scaling"]


def gpu_pictures(reports):
    """Of dslash-scaling on GPUs, each where there is something to draw."""
    import gpu_data
    import gpu_scaling
    import policies
    import style

    found = gpu_data.points(of_scaling(reports))
    if gpu_scaling.usual_lines(found):
        style.apply()
        figure = style.plt.figure()
        panels = len(gpu_scaling.draw(figure, found))
        figure.set_size_inches(9.5, 1 + 2 * panels)
        figure.tight_layout(rect=(0, 0, 1, 1 - 0.5 / (1 + 2 * panels)))
        yield Picture("Scaling over GPUs: the overlap on and off",
                      "TFLOP/s and parallel efficiency of dslash-scaling against GPUs", data_address(figure), True)
    if any(p.halo for p in found):
        figure, (axes,) = style.figure()
        figure.set_size_inches(9.0, 4.2)
        policies.draw(axes, found)
        figure.tight_layout()
        yield Picture("Ways to exchange halos", "TFLOP/s of one lattice for each way to exchange halos",
                      data_address(figure), True)


def solver_pictures(reports):
    """How solves scale over GPUs, or ranks."""
    import solver_scaling

    candidates = [(path, report) for path, report in reports if report["app"] == "mixed-precision-solver"
                  and "batches" in (report["solves"] or [{}])[0]]
    found = solver_scaling.verified_points(candidates)
    for kind in solver_scaling.FIGURES:
        if found and solver_scaling.problems_of(found, kind):
            figure, _ = solver_scaling.draw(found, kind)
            figure.tight_layout(rect=(0, 0, 1, 0.82))
            yield Picture({"weak": "Weak scaling of solves", "strong": "Strong scaling of solves",
                           "efficiency": "Parallel efficiency of solves"}[kind] + ": right-hand sides one after the other, "
                          "bars from the slowest to the fastest", "TFLOP/s or efficiency of BiCGstab against GPUs",
                          data_address(figure), True)


def latency_pictures(reports):
    import gpu_data
    import latency
    import style

    chosen = gpu_data.latencies(of_scaling(reports))
    if chosen is None:
        return
    figure, (left, right) = style.figure(panels=2)
    figure.set_size_inches(12.0, 5.0)
    latency.draw(left, right, chosen[1], chosen[0])
    figure.tight_layout()
    yield Picture("Latencies", "Microseconds and GB/s of single transfers against their size", data_address(figure), True)


def vector_pictures(reports):
    import style
    import vectors

    found = vectors.lines_of(of_scaling(reports))
    if not found:
        return
    figure, (left, right) = style.figure(panels=2)
    figure.set_size_inches(12.0, 4.4)
    vectors.draw(left, right, found)
    figure.tight_layout()
    yield Picture("Vector operations", "GB/s of vector operations against ranks", data_address(figure), True)


def cores_pictures(reports):
    import cores_per_gpu
    import style

    try:
        drawn, cores = cores_per_gpu.ratios(of_scaling(reports))
    except ReportError:  # no GPU, or no CPU to compare it with
        return
    figure, (axes,) = style.figure()
    figure.set_size_inches(7.2, 4.4)
    cores_per_gpu.draw(axes, drawn, cores)
    figure.tight_layout()
    yield Picture("CPU cores a GPU, at equal speed", "Cores of a CPU that are as fast as a GPU, against GPUs",
                  data_address(figure))


def of(reports):
    """All that can be drawn of a list of (path, report)."""
    makers = (convergence_pictures, mass_pictures, scaling_pictures, gpu_pictures, solver_pictures, latency_pictures,
              vector_pictures, cores_pictures, operator_pictures)
    return [picture for make in makers for picture in make(reports)]
