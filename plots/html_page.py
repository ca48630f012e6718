# SPDX-License-Identifier: BSD-3-Clause
"""One page of HTML from reports of the mini-apps: tables, figures, provenance, verification. It holds all it needs: it
asks nothing of any network and runs no script, and every text of a report is shown as text."""

import base64
import collections
import datetime
import html
import io
import math
import os
import re

from noise import noise_of
from report_file import ReportError, short

#: More solves than that are not told apart in one picture.
MOST_SOLVES, MOST_BARS = 6, 24

#: `wide` where it wants the page's whole width.
Picture = collections.namedtuple("Picture", "title alternative data wide", defaults=[False])


# --- pieces


def escaped(value):
    return html.escape(str(value), quote=True)


def tag(name, content="", **attributes):
    """<name attributes>content</name>; the content is HTML already, values of attributes are text."""
    words = "".join(f' {key.rstrip("_").replace("_", "-")}="{escaped(value)}"' for key, value in attributes.items()
                    if value is not None)
    return f"<{name}{words}>{content}</{name}>"


def as_number(value):
    """A float where the value is a number or the name of one, else None."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if isinstance(value, str) and value not in ("nan", "inf", "-inf"):
        return None
    return float(value)


def text_of(value):
    """A value of a report in words."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return ", ".join(text_of(item) for item in value)
    if isinstance(value, dict):
        return "; ".join(f"{key}: {text_of(item)}" for key, item in value.items())
    return str(value)


def lattice_of(values):
    return "×".join(text_of(length) for length in values) if isinstance(values, list) and values else "–"


def figure_text(value, scale=1.0, digits=4):
    number = as_number(value)
    return text_of(value) if number is None else f"{scale * number:.{digits}g}"


def percent(value):
    number = as_number(value)
    return "–" if number is None else f"{100 * number:.1f}" if math.isfinite(number) else str(number)


def seconds(value):
    """With a unit that suits it."""
    number = as_number(value)
    if number is None or not math.isfinite(number):
        return text_of(value)
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if number * factor >= 1.0 or unit == "µs":
            return f"{number * factor:.3g} {unit}"
    return ""


def badge(passed):
    return tag("span", "PASSED" if passed else "FAILED", class_="badge " + ("good" if passed else "bad"))


Column = collections.namedtuple("Column", "title numeric")


def column(title, numeric=False):
    return Column(title, numeric)


def table(columns, rows, caption, identifier=None, failed=()):
    """Rows of cells that are HTML already; `failed` are the positions of rows to mark."""
    head = tag("tr", "".join(tag("th", c.title, scope="col", class_="number" if c.numeric else None) for c in columns))
    body = ""
    for n, row in enumerate(rows):
        cells = "".join(tag("td", cell, class_="number" if c.numeric else None) for c, cell in zip(columns, row))
        body += tag("tr", cells, class_="failed" if n in failed else None) + "\n"
    content = tag("caption", caption) + tag("thead", head) + tag("tbody", body)
    return tag("div", tag("table", content, id=identifier), class_="scroll", tabindex="0") + "\n"


def facts(pairs):
    """A list of names and values; what is not known is left out."""
    items = "".join(tag("dt", escaped(name)) + tag("dd", value) for name, value in pairs if value not in ("", "–"))
    return tag("dl", items)


# --- what a report says


def machine_words(report):
    machine = report["machine"]
    gpu = machine.get("gpu")
    words = [text_of(machine.get("cpu", "unknown"))]
    if gpu and gpu != "none":
        words.append(text_of(gpu))
    return " + ".join(words)


def ranks_and_threads(report):
    machine = report["machine"]
    return f"{text_of(machine.get('ranks'))} × {text_of(machine.get('threads'))}"


def mesh_words(report):
    """The mesh of nodal-dg: its file or its box, and the number of elements."""
    parameters = report["parameters"]
    name = text_of(parameters.get("mesh")) if parameters.get("mesh") else "box " + lattice_of(parameters.get("box"))
    elements = [figure["elements"] for figure in report["figures"] if isinstance(figure.get("elements"), int)]
    return name + (f" ({elements[0]} elements)" if elements else "")


def class_words(report):
    """The class of a run, and whether it is one."""
    found = report.get("class")
    if not isinstance(found, dict) or not found:
        return "–"
    return text_of(found.get("name")) + ("" if found.get("conforms") is True else ", DOES NOT conform")


def problem_words(report):
    """What was computed, in a few words."""
    parameters = report["parameters"]
    words = [lattice_of(parameters.get("lattice"))]
    if report["app"] == "nodal-dg":
        words += [f"order {text_of(parameters.get('order'))}", mesh_words(report)]
    for key in ("equations", "precision", "solver"):
        if isinstance(parameters.get(key), str):
            words.append(parameters[key])
    return ", ".join(word for word in words if word != "–") or "–"


def revision(report):
    build = report["build"]
    return text_of(build.get("revision", "unknown"))[:12], build.get("dirty") is not False


def failed_checks(report):
    return [check for check in report["checks"] if check.get("passed") is not True]


def is_verified(report):
    """By its own word, and no check says otherwise."""
    return report["verified"] is True and not failed_checks(report)


def date_of(report):
    """The time at which the run began, in UTC; reports before schema 1.3 name none."""
    run = report.get("run")
    said = re.match(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)", str(run.get("date"))) if isinstance(run, dict) else None
    return f"{said[1]} {said[2]}" if said else "–"


def command_of(report):
    command = report["parameters"].get("command")
    return " ".join(map(str, command)) if isinstance(command, list) else text_of(command)


# --- tables


def summary_table(reports):
    columns = [column("App"), column("Verified"), column("Class"), column("Problem"), column("Figure of merit", True), column("Unit"),
               column("Ranks × threads", True), column("Machine"), column("Revision"), column("Run, UTC")]
    rows, failed = [], []
    for n, (path, report) in enumerate(reports):
        fom = report["fom"]
        commit, dirty = revision(report)
        if not is_verified(report):
            failed.append(n)
        rows.append([tag("a", escaped(report["app"]), href=f"#report-{n + 1}"), badge(is_verified(report)),
                     escaped(class_words(report)), escaped(problem_words(report)),
                     tag("strong", "none" if "none" in fom else escaped(figure_text(fom.get("value", "nan")))),
                     escaped(text_of(fom.get("unit", ""))),
                     escaped(ranks_and_threads(report)), escaped(machine_words(report)),
                     tag("code", escaped(commit)) + (" +changes" if dirty else ""), escaped(date_of(report))])
    return table(columns, rows, "One row a report; larger figures of merit are better, of the same problem.", "summary",
                 failed)


def checks_table(report):
    columns = [column("Check"), column("Value", True), column("Tolerance", True), column("Share of tolerance", True),
               column("Verdict")]
    rows, failed = [], []
    for n, check in enumerate(report["checks"]):
        value, tolerance = as_number(check.get("value")), as_number(check.get("tolerance"))
        share = "–"
        if value is not None and tolerance:
            share = f"{100 * value / tolerance:.3g} %"
        passed = check.get("passed") is True
        if not passed:
            failed.append(n)
        rows.append([escaped(text_of(check.get("name", "unnamed"))), escaped(figure_text(check.get("value"))),
                     escaped(figure_text(check.get("tolerance"))), share, badge(passed)])
    if not rows:
        return tag("p", "No check was made: nothing here is verified.", class_="warning")
    return table(columns, rows, "Verification: a check passes where its value is at most its tolerance.", None, failed)


def solves_table(report):
    columns = [column("Solver"), column("Precision"), column("Iterations", True), column("Time", True),
               column("GFLOP/s", True), column("Residual, iterated", True), column("true, by the device", True),
               column("true, by the reference", True), column("Converged")]
    rows, failed = [], []
    for n, solve in enumerate(report["solves"]):
        residual = solve.get("residual") if isinstance(solve.get("residual"), dict) else {}
        if solve.get("converged") is False:
            failed.append(n)
        rows.append([escaped(text_of(solve.get("solver"))), escaped(text_of(solve.get("precision"))),
                     escaped(text_of(solve.get("iterations"))), escaped(seconds(solve.get("seconds"))),
                     escaped(figure_text(solve.get("gflops")))]
                    + [escaped(figure_text(residual.get(key), digits=3)) for key in ("iterated", "device", "reference")]
                    + [escaped(text_of(solve.get("converged")))])
    return table(columns, rows, "Solves: |b − Mx| / |b| of the worst right-hand side.", None, failed) if rows else ""


def figures_table(report):
    columns = [column("Operator"), column("Layout"), column("Precision"), column("Reals a link", True),
               column("N", True), column("Lattice"), column("Device"), column("Ranks × threads", True),
               column("Median", True), column("Min – max, samples", True), column("GFLOP/s", True),
               column("GB/s", True), column("% of copy", True), column("% of FMA peak", True)]
    rows = []
    for figure in report["figures"]:
        times = figure.get("seconds") if isinstance(figure.get("seconds"), dict) else {}
        rows.append([escaped(text_of(figure.get(key))) for key in ("operator", "layout", "precision", "reconstruct",
                                                                   "rhs")]
                    + [escaped(lattice_of(figure.get("lattice"))),
                       escaped(" ".join(text_of(figure[key]) for key in ("device", "protocol") if key in figure)),
                       escaped(f"{text_of(figure.get('ranks'))} × {text_of(figure.get('threads'))}"),
                       escaped(seconds(times.get("median"))),
                       escaped(f"{seconds(times.get('min'))} – {seconds(times.get('max'))}, "
                               f"{text_of(times.get('samples'))}"),
                       escaped(figure_text(figure.get("gflops"))), escaped(figure_text(figure.get("gbytes_per_s"))),
                       escaped(percent(figure.get("fraction_of_copy"))),
                       escaped(percent(figure.get("fraction_of_fma_peak")))])
    return table(columns, rows, "Operators: standard flops, fewest bytes; one application to all N right-hand sides.") \
        if rows else ""


def correlator_table(report):
    lists = {name: values for name, values in report["observables"].items() if isinstance(values, list) and values}
    meson = {name: lists[name] for name in ("pion", "rho") if name in lists}
    if not meson:
        return ""
    columns = [column("t", True)] + [column(escaped(name), True) for name in meson]
    rows = [[str(t)] + [escaped(figure_text(values[t], digits=10)) if t < len(values) else "–"
                        for values in meson.values()] for t in range(max(map(len, meson.values())))]
    return tag("details", tag("summary", "Correlators") + table(columns, rows, "Summed over space; t as on the lattice."))


def gpus_of_ranks(gpus, most=16):
    """Which rank has which GPU and cores, and its links to the others of its host."""
    if not isinstance(gpus, dict) or not isinstance(gpus.get("ranks"), list) or len(gpus["ranks"]) < 2:
        return ""
    words = []
    for rank in gpus["ranks"][:most]:
        if isinstance(rank, dict):
            links = rank.get("links") if isinstance(rank.get("links"), dict) else {}
            kinds = ", ".join(sorted(set(map(str, links.values()))))
            words.append(f"{rank.get('rank')}: {rank.get('host')} GPU {rank.get('device')} ({rank.get('pci_bus_id')}), cores "
                         f"{rank.get('cores')}" + (f", {kinds}" if kinds else ""))
    more = len(gpus["ranks"]) - most
    return "; ".join(words) + (f"; and {more} ranks more" if more > 0 else "")


def provenance_list(path, report):
    build, machine = report["build"], report["machine"]
    commit, dirty = revision(report)
    return facts([
        ("Report", tag("code", escaped(path))), ("Class", escaped(class_words(report))), ("Problem", escaped(problem_words(report))),
        ("Run, UTC", escaped(date_of(report))),
        ("Command", tag("code", escaped(command_of(report)))),
        ("Revision", tag("code", escaped(text_of(build.get("revision", "unknown"))))
         + (tag("span", " files differed from it", class_="warning") if dirty else "")),
        ("Version", escaped(text_of(build.get("version", "")))),
        ("Compiler", escaped(f"{text_of(build.get('compiler'))}, {text_of(build.get('flags'))}")),
        ("Machine", escaped(f"{machine_words(report)} ({text_of(machine.get('logical_cpus'))} logical CPUs), "
                            f"{text_of(machine.get('system'))}")),
        ("Host", escaped(text_of(machine.get("host", "")))),
        ("Instruction sets", escaped(text_of(machine.get("instruction_sets", "")))),
        ("Ranks × threads", escaped(ranks_and_threads(report))),
        ("GPUs of the ranks", escaped(gpus_of_ranks(machine.get("gpus")))),
        ("Remarks", escaped(text_of(machine["gpus"].get("remarks", "")) if isinstance(machine.get("gpus"), dict) else "")),
        ("Libraries", escaped(text_of(machine.get("libraries", "")))),
        ("Driver", escaped("" if machine.get("driver") == "none" else text_of(machine.get("driver", "")))),
        ("Gauge field", escaped(f"{text_of(report['gauge'].get('source'))}, plaquette "
                                f"{figure_text(report['gauge'].get('plaquette'), digits=10)}"))])


def parameters_list(report):
    named = {key: value for key, value in report["parameters"].items() if key != "command"}
    return tag("details", tag("summary", "All parameters")
               + facts([(key, escaped(text_of(value))) for key, value in named.items()]))


# --- pictures


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


def pictures_section(reports):
    makers = (convergence_pictures, mass_pictures, scaling_pictures, gpu_pictures, solver_pictures, latency_pictures,
              vector_pictures, cores_pictures, operator_pictures)
    pictures = [picture for make in makers for picture in make(reports)]
    if not pictures:
        return ""
    shown = "".join(tag("figure", f'<img src="{escaped(p.data)}" alt="{escaped(p.alternative)}">'
                        + tag("figcaption", escaped(p.title)), class_="wide" if p.wide else None) + "\n"
                    for p in pictures)
    return tag("section", tag("h2", "Figures") + tag("div", shown, class_="pictures"))


# --- the page

STYLE = """
:root { color-scheme: light dark; --ground: #fbfbfa; --text: #1c2024; --faint: #5c646c; --line: #dcdfe3; --card: #ffffff;
  --accent: #0b5c94; --good: #0a7150; --good-ground: #e2f4ec; --bad: #a8200d; --bad-ground: #fde8e4; }
@media (prefers-color-scheme: dark) { :root { --ground: #14171a; --text: #e6e8ea; --faint: #9aa3ab; --line: #32383e;
  --card: #1b1f23; --accent: #7cc0f2; --good: #6fd6ae; --good-ground: #12362a; --bad: #ff9d8c; --bad-ground: #47190f; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem clamp(0.8rem, 3vw, 2.5rem) 4rem; max-width: 84rem; background: var(--ground);
  color: var(--text); font: 0.95rem/1.5 system-ui, "DejaVu Sans", sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.25rem; margin: 2.2rem 0 0.7rem; }
h3 { font-size: 1.05rem; margin: 0 0 0.6rem; }
a { color: var(--accent); } code { font: 0.88em ui-monospace, "DejaVu Sans Mono", monospace; }
.faint, caption, figcaption { color: var(--faint); } .warning { color: var(--bad); }
.scroll { overflow-x: auto; margin: 0.6rem 0 1.2rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
caption { text-align: left; padding: 0 0 0.3rem; font-size: 0.88rem; }
th, td { text-align: left; padding: 0.34rem 0.7rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-size: 0.82rem; color: var(--faint); font-weight: 600; }
td.number, th.number { text-align: right; } td.number { white-space: nowrap; }
tr.failed td { background: var(--bad-ground); }
.badge { display: inline-block; padding: 0 0.5rem; border-radius: 0.7rem; font-size: 0.78rem; font-weight: 700;
  letter-spacing: 0.03em; }
.good { color: var(--good); background: var(--good-ground); } .bad { color: var(--bad); background: var(--bad-ground); }
.verdict { margin: 1rem 0; padding: 0.7rem 1rem; border-radius: 0.5rem; font-weight: 600; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 0.6rem; padding: 1.1rem 1.2rem;
  margin: 1rem 0; }
.merit { font-size: 1.35rem; font-weight: 700; margin: 0.2rem 0; }
dl { display: grid; grid-template-columns: minmax(7rem, max-content) 1fr; gap: 0.15rem 1rem; margin: 0.6rem 0; }
dt { color: var(--faint); } dd { margin: 0; min-width: 0; }
details { margin: 0.6rem 0; } summary { cursor: pointer; color: var(--accent); }
.pictures { display: grid; align-items: start; grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)); gap: 1rem; }
figure { margin: 0; padding: 0.7rem; background: var(--card); border: 1px solid var(--line); border-radius: 0.6rem; }
figure img { display: block; width: 100%; height: auto; background: #fff; border-radius: 0.3rem; }
figure.wide { grid-column: 1 / -1; } figure.wide img { max-width: 62rem; }
figcaption { font-size: 0.88rem; padding-top: 0.4rem; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; } dd { margin-bottom: 0.4rem; }
  th, td { padding: 0.3rem 0.45rem; } }
@media print { body { max-width: none; } .card, figure { break-inside: avoid; } }
"""

#: Belt and braces: the page has no script and no link to load, and a browser would refuse both.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def verdict_line(reports):
    failed = sum(not is_verified(report) for _, report in reports)
    whole = f"{len(reports)} report{'s' if len(reports) != 1 else ''}"
    text = f"{failed} of {whole} FAILED verification" if failed else f"{whole}, all verified"
    return tag("p", text, class_="verdict " + ("bad" if failed else "good"), id="verdict")


def report_section(n, path, report):
    fom = report["fom"]
    heading = tag("h3", f"{n}. {escaped(report['app'])} {badge(is_verified(report))}")
    number_and_unit = f"{escaped(figure_text(fom.get('value', 'nan')))} {escaped(text_of(fom.get('unit', '')))}"
    merit = tag("p", "no figure of merit" if "none" in fom else number_and_unit, class_="merit")
    what = tag("p", escaped(text_of(fom.get("none", fom.get("what", "")))), class_="faint")
    noise = "".join(tag("p", "Remark: " + escaped(remark), class_="warning") for remark in noise_of(report))
    content = (heading + merit + what + noise + checks_table(report) + solves_table(report) + figures_table(report)
               + correlator_table(report) + provenance_list(path, report) + parameters_list(report))
    return tag("article", content, class_="card", id=f"report-{n}") + "\n"


def page(reports):
    """The whole page; `reports` is a list of (path, report)."""
    head = ('<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{escaped(POLICY)}">\n'
            + tag("title", "Plaquette: results") + "\n" + tag("style", STYLE))
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    body = (tag("header", tag("h1", "Plaquette: results") + tag("p", f"Page made {now}.", class_="faint")
                + verdict_line(reports))
            + tag("main", tag("section", tag("h2", "Summary") + summary_table(reports)) + pictures_section(reports)
                  + tag("section", tag("h2", "Reports")
                        + "".join(report_section(n + 1, path, report) for n, (path, report) in enumerate(reports)))))
    return "<!DOCTYPE html>\n" + tag("html", "\n" + tag("head", head) + "\n" + tag("body", body) + "\n", lang="en") + "\n"
