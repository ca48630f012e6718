# SPDX-License-Identifier: BSD-3-Clause
"""The checks that each program always makes, from a schema version on, and the largest tolerance of each.

A new check of a program is a row here. Reports of an older schema version are not held to it."""

import math
import re

ROUNDING = {"double": 2.0 ** -53, "pairs": 2.0 ** -45, "single": 2.0 ** -24, "half": 2.0 ** -16}


def version(report):
    """The schema version as a pair of integers."""
    found = re.fullmatch(r"(\d+)\.(\d+)", str(report["schema_version"]))
    return (int(found[1]), int(found[2])) if found else (0, 0)


def number(value):
    """A float; NaN for what is no number."""
    try:
        return math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def parameter(report, key, otherwise=None):
    return report["parameters"].get(key, otherwise)


def count(report, key):
    """A parameter that is a number, 0 where it is none."""
    found = number(parameter(report, key, 0))
    return 0.0 if math.isnan(found) else found


# --- when a check is made

def always(_):
    return True


def is_repeated(report):
    return count(report, "repeat") > 0


def has_figures(report):
    """The copy and the arithmetic of the machine are measured to compare figures with."""
    return bool(report["figures"])


def is_propagator(report):
    return count(report, "rhs") == 12 and not parameter(report, "read_propagator")


def is_propagator_on_a_gpu(report):
    return is_propagator(report) and parameter(report, "device") == "gpu"


def has_correlators(report):
    """The check of multigrid's pion says that there is one."""
    return any(str(check.get("name")).startswith("pion correlator") for check in report["checks"])


def has_low_modes(report):
    return count(report, "modes") > 0


def solves(report):
    return parameter(report, "until", "propagators") == "propagators"


def has_modes_of_d(report):
    return parameter(report, "until", "propagators") in ("overlap-modes", "propagators") and count(report, "overlap_modes") > 0


def has_modes_of_h(report):
    return count(report, "modes") > 0


def is_latency(report):
    return bool(parameter(report, "latency"))


# --- the largest tolerance: a number, or a function of the report. Four times what programs have, or less.

def of_residual(report):
    """Of a residual that had to meet --tol; what rounding leaves of solutions in less than double is larger."""
    kept_in = parameter(report, "solution_precision", "double")
    floor = {"double": 1e-13, "pairs": 3e-11}.get(kept_in, 3e-6)
    return max(4.0 * abs(number(parameter(report, "tolerance", 0.0))), floor)


def of_precision(multiple):
    def most(report):
        used = str(parameter(report, "precision", "double"))
        return multiple * ROUNDING.get(used if used in ROUNDING else "double")
    return most


def of_chain(kind, multiple):
    """A multiple of the residual that solves of forces or actions had to meet; 1e-10 without quarks."""
    def most(report):
        met = [abs(number(parameter(report, key, 0.0))) for key in (f"{kind}_tolerance", "force_tolerance")]
        return max(multiple * (met[0] if kind == "action" else max(met)), 1e-10)
    return most


def of_volume(report):
    """Of dH: rounding of sums over the lattice."""
    sites = math.prod(parameter(report, "lattice", [0]))
    return 1e-8 + 1e-10 * sites


def of_links_made_again(report):
    """The residual of forces if solves may begin otherwise than in the run: with forecasts, or a hierarchy that was renewed."""
    differs = count(report, "forecasts") > 0 or "multigrid" in str(parameter(report, "solvers", ""))
    return of_chain("cg_force", 40)(report) if differs else 1e-12


EXACT = 0.0  # one of yes or no
ANY = math.inf

def has_trajectories(report):
    """The run made one itself, so that it drew one."""
    return number(report["observables"].get("seconds_a_trajectory", {}).get("samples")) > 0


def has_quarks(report):
    return count(report, "flavours") > 0


def of_trajectory_with_quarks(report):
    return has_trajectories(report) and has_quarks(report)


def has_factors(least):
    """The determinant is split into as many."""
    return lambda report: len(parameter(report, "twisted_masses", [])) >= least


def has_clover_term(report):
    return count(report, "clover_spatial") != 0 or count(report, "clover_temporal") != 0


def is_small(report):
    """The lattice has at most 8^4 sites."""
    return math.prod(report["parameters"]["lattice"]) <= 8 ** 4


def warmed_up(report):
    """The run made a warm-up; one that goes on from a store has made it earlier."""
    return bool(report["observables"].get("warm_up"))


def keeps_store(report):
    return bool(report["parameters"].get("store"))


def judges_averages(report):
    return len(report["observables"].get("dh", [])) >= 50


#: (program, schema version from which it is always there, name, when, largest tolerance)
ROWS = [
    ("mixed-precision-solver", (1, 4), r"links in SU\(3\)", always, 1e-4),
    ("mixed-precision-solver", (1, 4), r"plaquette is possible", always, EXACT),
    ("mixed-precision-solver", (1, 4), r"residual of the full system", always, of_residual),
    ("mixed-precision-solver", (1, 4), r"device and reference residual agree", always, 1e-5),
    ("mixed-precision-solver", (1, 4), r"timed solves converge", is_repeated, EXACT),
    ("mixed-precision-solver", (1, 4), r"timed solves, residual of the full system", is_repeated, of_residual),
    ("mixed-precision-solver", (1, 4), r"pion correlator is positive", is_propagator, EXACT),
    ("mixed-precision-solver", (1, 4), r"rho correlator is at most the pion's", is_propagator, EXACT),
    ("mixed-precision-solver", (1, 4), r"rho correlator against its definition", is_propagator, 4e-13),
    ("mixed-precision-solver", (1, 4), r"solutions behind the correlators are the bits that were judged", is_propagator, EXACT),
    ("mixed-precision-solver", (1, 4), r"(pion|rho) correlator, GPU against CPU", is_propagator_on_a_gpu, 4e-13),
    ("mixed-precision-solver", (1, 4), r"links are the bits that were judged", always, EXACT),
    ("mixed-precision-solver", (1, 4), r"best figure, as a share of what the machine can give", has_figures, 1.1),
    ("mixed-precision-solver", (1, 5), r"seconds by two clocks", always, 0.1),
    ("mixed-precision-solver", (1, 5), r"flop/s of the timed solves, as a share of 1.15 times their operators'", is_repeated, 1.0),
    ("mixed-precision-solver", (1, 5), r"timed solutions are those that the clock has seen", is_repeated, 1e-10),
    ("mixed-precision-solver", (1, 5), r"pion correlator against its definition", is_propagator, 4e-13),

    ("multigrid", (1, 4), r"links in SU\(3\)", always, 1e-4),
    ("multigrid", (1, 4), r"plaquette is possible", always, EXACT),
    ("multigrid", (1, 4), r"low modes of gamma_5 M: as many as wanted", has_low_modes, EXACT),
    ("multigrid", (1, 4), r"low modes of gamma_5 M, against the textbook", has_low_modes, 1e-12),
    ("multigrid", (1, 4), r"residual of the full system, (multigrid|bicgstab) .*", always, of_residual),
    ("multigrid", (1, 4), r"links are the bits that were judged", always, EXACT),
    ("multigrid", (1, 4), r"best figure, as a share of what the machine can give", has_figures, 1.1),
    ("multigrid", (1, 5), r"seconds by two clocks", always, 0.1),
    ("multigrid", (1, 5), r"solutions are those that the clock has seen", always, 1e-10),

    ("dslash-scaling", (1, 4), r"links in SU\(3\)", always, 1e-4),
    ("dslash-scaling", (1, 4), r"plaquette is possible", always, EXACT),
    ("dslash-scaling", (1, 4), r"repeated applications agree", always, EXACT),
    ("dslash-scaling", (1, 4), r"links are the bits that were judged", always, EXACT),
    ("dslash-scaling", (1, 4), r"best figure, as a share of what the machine can give", has_figures, 1.1),
    ("dslash-scaling", (1, 5), r"seconds by two clocks", always, 0.1),

    ("nodal-dg", (1, 4), r"energy, against what sides and faces take", always, of_precision(1e3)),
    ("nodal-dg", (1, 4), r"energies, against those of the states", always, of_precision(1e4)),
    ("nodal-dg", (1, 4), r"energy does not grow", always, of_precision(2e4)),
    ("nodal-dg", (1, 4), r"right-hand side, against the textbook", always, of_precision(100)),
    ("nodal-dg", (1, 4), r"last steps, against the textbook", always, of_precision(300)),
    ("nodal-dg", (1, 4), r"rounding, against what the last steps change", always, 0.4),
    ("nodal-dg", (1, 4), r"steps made again end in the same states", always, EXACT),
    ("nodal-dg", (1, 4), r"fields are the bits that were judged", always, EXACT),
    ("nodal-dg", (1, 4), r"best figure, as a share of what the machine can give", has_figures, 1.1),
    ("nodal-dg", (1, 5), r"seconds by two clocks", always, 0.1),
    ("nodal-dg", (1, 5), r"seconds of a stage from drawn numbers, as a share of 1\.5 times the figure's", always, 1.0),

    ("overlap-propagator", (1, 4), r"links in SU\(3\)", always, 1e-4),
    ("overlap-propagator", (1, 4), r"plaquette is possible", always, EXACT),
    ("overlap-propagator", (1, 4), r"H against the textbook, double", always, 3e-14),
    ("overlap-propagator", (1, 4), r"H against the textbook, double, worst site", always, 2.4e-13),
    ("overlap-propagator", (1, 4), r"H against the textbook, single", always, 5e-6),
    ("overlap-propagator", (1, 4), r"H against the textbook, single, worst site", always, 1.2e-5),
    ("overlap-propagator", (1, 4), r"modes of H: \|H v - lambda v\|", has_modes_of_h, 1e-6),
    ("overlap-propagator", (1, 4), r"modes of H: orthonormal", has_modes_of_h, 1e-12),
    ("overlap-propagator", (1, 4), r"modes of D: \|D\^\+ D v - e v\|", has_modes_of_d, 1e-3),
    ("overlap-propagator", (1, 4), r"modes of D: orthonormal", has_modes_of_d, 1e-12),
    ("overlap-propagator", (1, 4), r"Ginsparg-Wilson relation", solves, 1e-5),
    ("overlap-propagator", (1, 4), r"D is normal", solves, 1e-5),
    ("overlap-propagator", (1, 4), r"sign function: sign\^2 = 1", solves, 1e-5),
    ("overlap-propagator", (1, 4), r"residual of D\(.*\)", solves, of_residual),
    ("overlap-propagator", (1, 4), r"solutions at mass .* are the bits that were judged", solves, EXACT),
    ("overlap-propagator", (1, 5), r"the propagator of mass .* are the bits that were judged", solves, EXACT),
    ("overlap-propagator", (1, 5), r"seconds by two clocks", always, 0.1),
    ("overlap-propagator", (1, 4), r"links are the bits that were judged", always, EXACT),
    ("overlap-propagator", (1, 4), r"best figure, as a share of what the machine can give", has_figures, 1.1),

    ("hmc", (1, 6), r"trajectories of the warm-up that are missing, or are those of another", warmed_up, EXACT),
    ("hmc", (1, 6), r"trajectories of the warm-up that moved no links", warmed_up, EXACT),
    ("hmc", (1, 6), r"plaquette after the warm-up, by the CPU library", warmed_up, 1e-12),
    ("hmc", (1, 6), r"links in SU\(3\)", always, 1e-10),
    ("hmc", (1, 6), r"trajectories with the dH of another", always, EXACT),
    ("hmc", (1, 6), r"accept steps that r < exp\(-dH\) does not explain", always, EXACT),
    ("hmc", (1, 6), r"trajectories whose links moved and were not accepted, or the reverse", always, EXACT),
    ("hmc", (1, 6), r"trajectories of this run that the history has not, or has not as they were made", always, EXACT),
    ("hmc", (1, 6), r"plaquette of the last links, by the CPU library", has_trajectories, 1e-12),
    ("hmc", (1, 6), r"lists of the report and lines of the table that are not those of the history", always, EXACT),
    ("hmc", (1, 6), r"averages of the report, from the history", has_trajectories, 1e-12),
    ("hmc", (1, 6), r"links of the store, read again", keeps_store, EXACT),
    ("hmc", (1, 6), r"history of the store, read again", keeps_store, EXACT),
    ("hmc", (1, 6), r"<exp\(-dH\)> = 1, in its errors", judges_averages, 4.5),
    ("hmc", (1, 6), r"acceptance = erfc\(sqrt\(var/8\)\), in its errors", judges_averages, 4.5),
    ("hmc", (1, 6), r"<dH> = var/2, in its errors", judges_averages, 4.5),
    ("hmc", (1, 6), r"momenta of the drawn trajectory", has_trajectories, 3e-14),
    ("hmc", (1, 6), r"noise of pseudofermions", of_trajectory_with_quarks, 3e-14),
    ("hmc", (1, 6), r"systems of the heat bath, by the textbook", of_trajectory_with_quarks, of_chain("action", 40)),
    ("hmc", (1, 6), r"force gauge at \d+ drawn links, by the textbook", has_trajectories, 1e-10),
    ("hmc", (1, 6), r"force light at \d+ drawn links, by the textbook", of_trajectory_with_quarks, 1e-10),
    ("hmc", (1, 6), r"force det at \d+ drawn links, by the textbook",
     lambda r: of_trajectory_with_quarks(r) and has_clover_term(r), 1e-10),
    ("hmc", (1, 6), r"force heavy at \d+ drawn links, by the textbook",
     lambda r: has_trajectories(r) and has_factors(2)(r), 1e-10),
    ("hmc", (1, 6), r"force middle.* at \d+ drawn links, by the textbook",
     lambda r: has_trajectories(r) and has_factors(3)(r), 1e-10),
    ("hmc", (1, 6), r"companion: force heavy against its action", has_factors(2), 1e-6),
    ("hmc", (1, 6), r"companion: force middle.* against its action", has_factors(3), 1e-6),
    ("hmc", (1, 6), r"drawn operation of the drawn trajectory", has_trajectories,
     lambda r: of_chain("cg_force", 40)(r) if count(r, "forecasts") > 0 else 1e-10),
    ("hmc", (1, 6), r"dH of the drawn trajectory, made again", has_trajectories, of_volume),
    ("hmc", (1, 6), r"links of the drawn trajectory(, made again| were put back)", has_trajectories, of_links_made_again),
    ("hmc", (1, 6), r"links of the drawn trajectory were put back", lambda _: False, 1e-12),
    ("hmc", (1, 6), r"seconds of the drawn trajectory made again, against those of the run", has_trajectories, 30.0),
    ("hmc", (1, 6), r"systems of the last force, by the textbook", of_trajectory_with_quarks, of_chain("cg_force", 40)),
    ("hmc", (1, 6), r"systems of the end, by the textbook", of_trajectory_with_quarks, of_chain("action", 40)),
    ("hmc", (1, 6), r"dH of the drawn trajectory, by the textbook", has_trajectories, of_volume),
    ("hmc", (1, 6), r"links after the way back", has_trajectories, of_chain("cg_force", 40)),
    ("hmc", (1, 6), r"companion: force gauge against its action", always, 1e-6),
    ("hmc", (1, 6), r"companion: force light against its action", has_quarks, 1e-6),
    ("hmc", (1, 6), r"companion: force det against its action", has_clover_term, 1e-6),
    ("hmc", (1, 6), r"companion: systems, by the textbook", has_quarks, 1e-12),
    ("hmc", (1, 6), r"companion: every operation of a trajectory", always, 1e-10),
    ("hmc", (1, 6), r"companion: links after the way back", always, 1e-10),
    ("hmc", (1, 6), r"companion: half the step, (4|16) times nearer \(log2\)", always, 1.0),
    ("hmc", (1, 6), r"last links: force gauge against its action", is_small, 1e-6),
    ("hmc", (1, 6), r"last links: force det against its action", lambda r: is_small(r) and has_clover_term(r), 1e-6),
    ("hmc", (1, 6), r"last links: force light against its action", lambda r: is_small(r) and has_quarks(r), 1e-6),
    ("hmc", (1, 6), r"last links: force heavy against its action", lambda r: is_small(r) and has_factors(2)(r), 1e-6),
    ("hmc", (1, 6), r"last links: force middle.* against its action", lambda r: is_small(r) and has_factors(3)(r), 1e-6),
    ("hmc", (1, 6), r"last links: systems, by the textbook", lambda r: is_small(r) and has_quarks(r), 1e-11),
    ("hmc", (1, 6), r"last links: links after the way back", is_small, 1e-10),
    ("hmc", (1, 6), r"last links: half the step, (4|16) times nearer \(log2\)", is_small, 1.0),
    ("hmc", (1, 6), r"seconds by two clocks", always, 0.1),
]

#: What a program that computes these always has in its observables: (program, schema version, when, names).
OBSERVABLES = [
    ("mixed-precision-solver", (1, 4), is_propagator, ("pion", "rho", "source_time")),
    ("multigrid", (1, 4), has_correlators, ("pion", "rho", "source_time")),
    ("nodal-dg", (1, 4), always, ("elements", "nodes", "dt", "steps", "final_time", "energy")),
    ("overlap-propagator", (1, 4), solves, ("calculation",)),
    ("hmc", (1, 6), has_trajectories, ("dh", "accepted", "plaquette", "acceptance", "forces", "seconds_a_trajectory")),
    ("overlap-propagator", (1, 6), solves, ("masses", "pion", "rho", "source_time")),
]


def listed_tolerance(report, check):
    """The largest tolerance that the list gives a check of hmc, whose values are in errors or factors of time; else 0."""
    name = str(check.get("name"))
    found = [most for program, _, row, _, most in ROWS if program == report["app"] == "hmc" and re.fullmatch(row, name)]
    return max((most for most in found if not callable(most)), default=0.0)


def check_list_faults(report):
    """Checks of the program's list that are missing, and tolerances above those of the list."""
    faults, app, checks = [], report["app"], report["checks"]
    if is_latency(report):
        return faults
    for program, since, name, when, most in ROWS:
        if program != app:
            continue
        found = [check for check in checks if re.fullmatch(name, str(check.get("name")))]
        if not found and version(report) >= since and when(report):
            faults.append(f"the check '{name}' is missing, which {app} always makes")
        allowed = most(report) if callable(most) else most
        for check in found if version(report) >= since else []:
            if not number(check.get("tolerance")) <= allowed:
                faults.append(f"check '{check['name']}': tolerance {check['tolerance']}, expected at most {allowed:.3g}")
    return faults + operator_check_faults(report) + zero_faults(report)


def operator_check_faults(report):
    """Each figure of an operator has the check of its last timed output."""
    if report["app"] not in ("dslash-scaling", "mixed-precision-solver") or version(report) < (1, 4):
        return []
    faults, names = [], [str(check.get("name")) for check in report["checks"]]
    for figure in report["figures"]:
        begin = f"{figure['operator']} {figure['layout']} {figure['precision']} "
        if figure["operator"].startswith(("hopping", "wilson", "clover")) and \
                not any(name.startswith(begin) and name.endswith("last timed output") for name in names):
            faults.append(f"the check '{begin}..., last timed output' is missing")
    for check in report["checks"]:
        for precision, unit in ROUNDING.items():
            if f" {precision} " in str(check.get("name")) and " N=" in str(check.get("name")) and \
                    not number(check.get("tolerance")) <= 300 * unit:
                faults.append(f"check '{check['name']}': tolerance {check['tolerance']}, and {precision} rounds to {unit:.2g}")
    return faults


def zero_faults(report):
    """Residuals of solves in floating-point numbers are not zero, nor distances of operators from the textbook."""
    judged = "residual of|timed solves, residual|right-hand side, against|.* N=[0-9]+$"
    zero = [name for check in report["checks"] if re.match(judged, name := str(check.get("name"))) and
            number(check.get("value")) == 0.0 and number(check.get("tolerance")) > 0.0]
    return [f"check '{name}': value 0, which no computation in floating-point numbers leaves" for name in zero[:3]]


def observable_faults(report):
    """Observables that the program always writes and that are missing or empty."""
    faults = []
    for program, since, when, keys in OBSERVABLES:
        if program != report["app"] or version(report) < since or not when(report):
            continue
        for key in keys:
            if report["observables"].get(key, []) in ([], {}, None):
                faults.append(f"observables: '{key}' is missing or empty")
    return faults


def chain_faults(report):
    """Where a chain of hmc contradicts itself."""
    if report["app"] != "hmc":
        return []
    found, faults = report["observables"], []
    dh, accepted, plaquettes = (found.get(key, []) for key in ("dh", "accepted", "plaquette"))
    if not len(dh) == len(accepted) == len(plaquettes):
        return [f"observables: {len(dh)} of dH, {len(accepted)} accept steps, {len(plaquettes)} plaquettes"]
    if dh and not abs(number(found["acceptance"]) - sum(accepted) / len(accepted)) <= 1e-9:
        faults.append(f"acceptance {found['acceptance']}, and accept steps give {sum(accepted) / len(accepted):.6g}")
    faults += [f"plaquette {p} of a trajectory is impossible" for p in plaquettes if not abs(number(p)) <= 1.0 + 1e-9][:1]
    judged = found.get("judged", {})
    made, drawn = judged.get("made", 0), judged.get("drawn", [])
    first = judged.get("earlier_trajectories", 0)
    if judged and (first + made != len(dh) or not all(first < n <= first + made for n in drawn) or len(set(drawn)) < len(drawn) or
                   not abs(number(judged["chance_of_each"]) * made - len(drawn)) <= 1e-9):
        faults.append(f"{len(dh)} trajectories, and judged: {judged}")
    for n in range(1, len(dh)):
        if (plaquettes[n] != plaquettes[n - 1]) != accepted[n]:
            return faults + [f"trajectory {n + 1}: its accept step and its plaquette contradict each other"]
    return faults
