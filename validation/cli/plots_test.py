# SPDX-License-Identifier: BSD-3-Clause
"""The scripts in plots/ on a small made-up report: pictures where there is something to draw, one line where not."""

import json
import multiprocessing
import os
import runpy
import struct
import subprocess
import sys
import tempfile
import traceback
import unittest

PLOTS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "plots")
SKIPPED = 77
#: For scripts that start ranks, with the short measurements of tests.
ENVIRONMENT = {"PLAQUETTE_COPY_MIB": "16", "OMP_WAIT_POLICY": "passive", **os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
               "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
               "OMPI_MCA_mpi_yield_when_idle": "1"}


def python_for_plots():
    for python in (sys.executable, "/usr/bin/python3"):
        try:
            if subprocess.run([python, "-c", "import numpy, matplotlib, jinja2"], capture_output=True).returncode == 0:
                return python
        except OSError:
            pass
    return None


PYTHON = python_for_plots()


def made_up_report():
    times = range(16)
    pion = [2.0 ** -min(t, 16 - t) for t in times]
    return {"schema_version": "1.0", "app": "made-up", "fom": {"value": 1.5, "unit": "solves/s", "what": "nothing"},
            "verified": True, "checks": [{"name": "a check", "value": 1e-13, "tolerance": 1e-12, "passed": True}],
            "parameters": {"tolerance": 1e-12}, "machine": {"cpu": "none"}, "build": {"revision": "0" * 40, "dirty": False},
            "gauge": {"source": "unit"}, "figures": [],
            "solves": [{"solver": "bicgstab", "precision": "double", "iterations": 3, "seconds": 0.1,
                        "residual": {"iterated": 1e-13, "device": 1e-13, "reference": 1e-13},
                        "history": [1.0, 1e-4, 1e-9, 1e-13]}],
            "observables": {"pion": pion, "rho": [c ** 1.5 for c in pion]}}


class FolderTest(unittest.TestCase):
    """Scripts of plots/ with a folder of their own."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def written(self, reports):
        paths = []
        for n, report in enumerate(reports):
            paths.append(self.path(f"{n}.json"))
            with open(paths[-1], "w", encoding="utf-8") as file:
                json.dump(report, file)
        return paths

    def run_script(self, script, *arguments, **options):
        """Runs a script of plots/, as subprocess.run does. Where this Python has matplotlib, a copy of this process runs
        it, which spares the seconds of importing that each time."""
        path = os.path.join(PLOTS, script)
        options = {"env": ENVIRONMENT, "timeout": 120, **options}
        if PYTHON != sys.executable:
            return subprocess.run([PYTHON, "-B", path, *arguments], capture_output=True, text=True, **options)
        import matplotlib.pyplot  # noqa: F401  before the fork
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = multiprocessing.get_context("fork").Process(
                target=run_in_this_process, args=(path, arguments, options["env"], out.fileno(), err.fileno()))
            process.start()
            process.join(options["timeout"])
            if process.is_alive():
                process.kill()
                process.join()
                raise subprocess.TimeoutExpired([path, *arguments], options["timeout"])
            out.seek(0), err.seek(0)
            return subprocess.CompletedProcess([path, *arguments], process.exitcode, out.read().decode(), err.read().decode())


def run_in_this_process(path, arguments, environment, out, err):
    """Becomes the script: its arguments, environment and output."""
    for file, number in ((sys.stdout, 1), (sys.stderr, 2)):
        file.flush()
        os.dup2(out if number == 1 else err, number)
    sys.stdout, sys.stderr = (open(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv, sys.path[0] = [path, *arguments], PLOTS
    status = 0
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush(), sys.stderr.flush()
    os._exit(status)


def multigrid_solve(solver, iterations, **more):
    return {"solver": solver, "precision": "double", "batch": 1, "devices": 1, "iterations": iterations, "converged": True,
            "iterations_mean": iterations, "iterations_deviation": 0.5, "seconds_mean": 0.1, "seconds_deviation": 0.01,
            "seconds": 0.1, "residual": {"iterated": 1e-13, "device": 1e-13, "reference": 1e-13}, **more}


def multigrid_report(kappa, iterations):
    report = made_up_report()
    report["app"] = "multigrid"
    report["parameters"]["kappa"] = kappa
    falling = [1.0, 0.5, 0.25]
    why = {"errors": {"steps": 6, "relaxation": falling, "missed": falling, "cycle": falling},
           "coherence": {"cut": falling, "whole": falling, "random": falling},
           "picture": {"z": 0, "t": 1, "mode": [[0.1, 0.2], [0.3, 0.4]], "kept": [[0.1, 0.2], [0.3, 0.3]]}}
    report["solves"] = [multigrid_solve("multigrid", 14, vectors="24/24", levels=[{"lattice": [4, 4, 4, 8]}],
                                        setup={"seconds": {"whole": 2.0}}, explanation=why),
                        multigrid_solve("bicgstab", iterations)]
    return report


class MultigridFigures(FolderTest):
    def test_sweep_draws_what_is_there(self):
        for name, kappa, iterations in (("mass-1", 0.13, 60), ("mass-2", 0.134, 120), ("schedules", 0.134, 120)):
            with open(self.path(name + ".json"), "w", encoding="utf-8") as file:
                json.dump(multigrid_report(kappa, iterations), file)
        result = self.run_script("sweep.py", "multigrid", "--output", self.folder.name)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(os.path.exists(self.path("multigrid.png")))

    def test_sweep_without_reports_says_so(self):
        result = self.run_script("sweep.py", "multigrid", "--output", self.folder.name)
        self.assertEqual(result.returncode, 2)
        self.assertIn("expected reports of multigrid, found none", result.stderr)

    def test_sweep_names_its_runs(self):
        result = self.run_script("sweep.py", "multigrid", "--program", "p", "--output", self.folder.name, "--dryrun", "--parts",
                                 "mass,ranks", "--kappas", "0.1,0.11", "--ranks", "2")
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = result.stdout.strip().split("\n")
        self.assertEqual(len(lines), 3)
        self.assertIn("--kappa 0.1 ", lines[0])
        self.assertTrue(lines[2].startswith("mpirun") and "--kappa 0.11" in lines[2], lines[2])

    def test_why_it_works_is_drawn_from_a_report_that_explains(self):
        for name, change in (("with", lambda r: None), ("without", lambda r: r["solves"][0].pop("explanation"))):
            report = multigrid_report(0.13, 60)
            change(report)
            with open(self.path(name + ".json"), "w", encoding="utf-8") as file:
                json.dump(report, file)
        result = self.run_script("why_multigrid.py", self.path("with.json"), "-o", self.path("why.png"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(os.path.exists(self.path("why.png")))
        result = self.run_script("why_multigrid.py", self.path("without.json"), "-o", self.path("other.png"))
        self.assertEqual(result.returncode, 2)
        self.assertIn("--explain", result.stderr)


class DeclaredSweeps(FolderTest):
    def commands(self, sweep, *arguments):
        result = self.run_script("sweep.py", sweep, "--output", self.path("out"), "--dryrun", "--program", "p", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertFalse(os.path.exists(self.path("out")), "a dry run made something")
        return result.stdout.strip().split("\n")

    def test_orders_of_nodal_dg_and_the_page_s_case(self):
        lines = self.commands("dg", "--orders", "2,7", "--device", "both", "--case", "--gpus", "1,2", "--", "--tune", "off")
        self.assertEqual(len(lines), 2 * 2 * 4 + 2)
        self.assertEqual(sum("--kernel classic" in line for line in lines), 4)
        self.assertTrue(all("--tune off --json" in line for line in lines), lines)
        self.assertIn(f"p --mesh {self.path('out')}/k15628.msh ", lines[-2])
        self.assertTrue(lines[-1].startswith("mpirun --oversubscribe --bind-to none -n 2 p --mesh "), lines[-1])

    def test_figures_of_the_overlap_s_paper(self):
        lines = self.commands("overlap", "--figure", "all", "--ranks", "1,2")
        self.assertEqual([sum(word in line for line in lines) for word in ("--until modes", "--poles 18", "-n 2")], [3, 2, 2])
        basis = self.commands("overlap", "--figure", "basis", "--device", "gpu", "--modes", "4")
        self.assertEqual([sum(word in line for line in basis) for word in ("--basis device", "--basis host")], [4, 4])

    def test_a_program_that_is_missing_is_said_in_a_line(self):
        result = self.run_script("sweep.py", "solver", "--output", self.path("out"))
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("--program: expected a program", result.stderr)


class PlotsTest(FolderTest):
    def report(self, change=lambda report: None):
        report = made_up_report()
        change(report)
        with open(self.path("report.json"), "w", encoding="utf-8") as file:
            json.dump(report, file)
        return self.path("report.json")

    def size_of(self, name):
        """Width and height of a PNG."""
        with open(self.path(name), "rb") as file:
            return struct.unpack(">II", file.read(24)[16:])

    def refused(self, status, script, *arguments):
        result = self.run_script(script, *arguments)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertEqual(result.stderr.strip().count("\n"), 0, result.stderr)
        return result.stderr

    def test_steps_of_the_coarse_operator_are_drawn(self):
        kernels = [("a site", 1), ("f tiles", 1), ("batch", 12)]
        rows = [{"kernel": kernel, "lattice": f"{length}x{length}x{length}x{length}", "n": n, "columns": columns,
                 "seconds": 1e-5, "gflops": 10.0 * n * length * columns, "fraction_of_copy": 0.5, "error": 1e-7,
                 "verified": True} for n in (48, 64) for length in (2, 4, 8) for kernel, columns in kernels]
        for name, found in ("ladder", rows), ("none", [dict(row, verified=False) for row in rows]):
            with open(self.path(name + ".json"), "w", encoding="utf-8") as file:
                json.dump({"copy_gbytes_per_s": 4000.0, "device": "a GPU", "rows": found}, file)
        result = self.run_script("coarse_ladder.py", self.path("ladder.json"), "-o", self.path("ladder.png"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(os.path.exists(self.path("ladder.png")))
        result = self.run_script("coarse_ladder.py", self.path("none.json"), "-o", self.path("none.png"))
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("expected verified rows, found none", result.stderr)

    def test_a_wave_moves_on_one_scale_of_colours(self):
        paths = [self.path(f"{size}.txt") for size in (1, 4, 2)]
        for path, size in zip(paths, (1, 4, 2)):
            with open(path, "w", encoding="ascii") as file:
                file.write("# x y Ez\n# plane z = 0, 2 x 2 pixels from -1, -1 to 1, 1\n")
                file.writelines(f"{x} {y} {size * x}\n" for x in (-0.5, 0.5) for y in (-0.5, 0.5))
        code = ("import sys; sys.path.insert(0, sys.argv[1]); from dg_wave import frames_of; "
                "paler = [255 - f.convert('RGB').getpixel((200, 120))[1] for f in frames_of(sys.argv[2:], 'Ez', 3)]; "
                "assert paler[0] < paler[2] < paler[1], paler")
        result = subprocess.run([PYTHON, "-c", code, PLOTS, *paths], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        result = self.run_script("dg_wave.py", *paths, "--last-time", "3", "--output", self.path("wave.gif"))
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(self.path("wave.gif"), "rb") as file:
            self.assertEqual(file.read().count(b"\x21\xf9\x04"), 3)  # a control block a frame

    def test_each_figure_is_drawn(self):
        for script in ("convergence.py", "effective_mass.py", "demo.py"):
            picture = self.path(script + ".png")
            result = self.run_script(script, self.report(), "--output", picture)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(picture, "rb") as file:
                self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")

    def test_a_chain_is_drawn_from_a_report_or_a_table_and_another_refused(self):
        found = {"dh": [0.1, -0.2, 0.05], "accepted": [True, False, True], "plaquette": [0.5, 0.5, 0.51],
                 "forces": {"gauge": {"rms": 4.0, "largest": 8.0}}}
        table = self.path("chain.csv")
        with open(table, "w", encoding="ascii") as file:
            file.write("trajectory,dh,accepted,plaquette,seconds,force_rms_gauge,force_largest_gauge\n"
                       "1,0.1,1,0.5,2,4,8\n2,-0.2,0,0.5,2,4,8\n")
        for source in (table, self.report(lambda r: r.update(observables=found))):
            result = self.run_script("chain.py", source, "-o", self.path("chain.png"), "--force")
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(self.path("chain.png"), "rb") as file:
                self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")
        self.assertIn("found none", self.refused(2, "chain.py", self.report(), "-o", self.path("p.png")))
        short = self.report(lambda r: r.update(observables={**found, "accepted": [True]}))
        self.assertIn("as many", self.refused(2, "chain.py", short, "-o", self.path("p.png")))
        with open(table, "w", encoding="ascii") as file:
            file.write("sweep,plaquette\n1,0.5\n")
        self.assertIn("chain.csv", self.refused(2, "chain.py", table, "-o", self.path("p.png")))

    def test_steps_of_trajectories_are_drawn_and_other_integrators_refused(self):
        def of(integrator, accepted):
            return self.report(lambda r: r.update(observables={"dh": [0.1, -0.2], "accepted": accepted},
                                                  parameters={"integrator": integrator, "tau": 1.0}))
        result = self.run_script("trajectories.py", of("leapfrog:8(gauge)", [True, False]), "-o", self.path("steps.png"))
        self.assertEqual(result.returncode, 0, result.stderr)
        for text in ("euler:8(gauge)", "leapfrog:0(gauge)", "leapfrog:2(light) omf4:1(gauge)"):
            self.assertIn("one level", self.refused(2, "trajectories.py", of(text, [True, False]), "-o", self.path("p.png")))
        self.assertIn("as many", self.refused(2, "trajectories.py", of("omf4:8(gauge)", [True]), "-o", self.path("p.png")))

    def test_errors_by_blocks_grow_with_the_correlation(self):
        script = ("import random; from blocked_errors import blocked_error as e; random.seed(1); x = [random.gauss(0, 1) for _ in range(4000)]\n"
                  "slow = [v for v in x[:500] for _ in range(8)]\n"
                  "assert 0.9 < e(x) * 4000 ** 0.5 < 1.4, e(x)\nassert 0.9 < e(slow) * 500 ** 0.5 < 1.5, e(slow)")
        result = subprocess.run([PYTHON, "-B", "-c", script], cwd=PLOTS, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_run_of_the_overlap_propagator_is_drawn_and_another_refused(self):
        found = {"kernel": {"eigenvalues": [0.1, -0.2]}, "overlap": {"eigenvalues": [[0.02, 0.2], [0.02, -0.2]]}, "index": 0,
                 "masses": [{"mass": 0.1, "pion": [1.0, 0.5, 0.3, 0.5]}]}
        picture = self.path("overlap.png")
        result = self.run_script("overlap_picture.py", self.report(lambda r: r.update(observables=found)), "-o", picture)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(os.path.exists(picture))
        self.assertIn("all stages", self.refused(2, "overlap_picture.py", self.report(), "-o", self.path("p.png")))

    def test_the_circle_and_the_flow_are_drawn_from_runs_at_several_rho(self):
        reports = [made_up_report() for _ in range(3)]
        for n, report in enumerate(reports):
            report["parameters"]["rho"] = 1.0 + n / 10
            report["observables"] = {"kernel": {"eigenvalues": [0.1 - n / 10, -0.2]}, "index": 1}
        reports[0]["observables"]["overlap"] = {"eigenvalues": [[0.0, 0.0], [0.02, 0.2], [0.02, -0.2]],
                                                "chirality_plus": {"zero_modes": 1}, "chirality_minus": {"zero_modes": 0}}
        first, *others = self.written(reports)
        result = self.run_script("overlap_tour.py", first, *others, "-o", self.path("tour.png"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertLessEqual(self.size_of("tour.png")[0], 850)
        self.assertIn("modes of D in the first report", self.refused(2, "overlap_tour.py", *others, "-o", self.path("p.png")))

    def test_pictures_of_the_book_are_drawn(self):
        result = self.run_script("schematics.py", "--output", self.folder.name)
        self.assertEqual(result.returncode, 0, result.stderr)
        for name in ("hop", "lanes", "schur", "halo", "reliable"):
            self.assertLessEqual(self.size_of(name + ".png")[0], 850)
        self.assertIn("expected one of hop", self.refused(2, "schematics.py", "dance", "--output", self.folder.name))

    def test_the_basis_of_the_overlap_propagator_on_the_gpu_and_on_the_host(self):
        for place, factor in (("device", 1.0), ("host", 1.25)):
            for modes in (10, 20, 30, 40):
                report = made_up_report()
                report["observables"] = {"calculation": [{"stage": "modes of H", "seconds": factor * modes}]}
                with open(self.path(f"basis-{place}-{modes}.json"), "w", encoding="utf-8") as file:
                    json.dump(report, file)
        arguments = ("sweep.py", "overlap", "--figure", "basis", "--output", self.folder.name)
        result = self.run_script(*arguments, "--device", "gpu")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("l = 40: 40 s on the GPU, 50 s with the basis on the host, 1.25 times", result.stdout)
        self.assertTrue(os.path.exists(self.path("figure-basis.png")))
        self.assertIn("--device gpu", self.refused(2, *arguments))

    def test_an_existing_picture_stays_without_force(self):
        picture = self.path("picture.png")
        with open(picture, "w", encoding="utf-8") as file:
            file.write("mine")
        self.assertIn("exists", self.refused(5, "demo.py", self.report(), "--output", picture))
        with open(picture, encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine")
        self.assertEqual(self.run_script("demo.py", self.report(), "--output", picture, "--force").returncode, 0)

    def test_files_that_are_no_reports_are_refused_in_a_line(self):
        for text in ("", "{", "[]", "{}", "nonsense"):
            with open(self.path("bad.json"), "w", encoding="utf-8") as file:
                file.write(text)
            self.assertIn("bad.json", self.refused(2, "demo.py", self.path("bad.json"), "--output", self.path("p.png")))
        self.assertIn("none.json", self.refused(2, "demo.py", self.path("none.json"), "--output", self.path("p.png")))

    def test_a_report_without_correlators_has_no_effective_mass(self):
        report = self.report(lambda r: r.update(observables={}))
        self.assertIn("correlators", self.refused(2, "effective_mass.py", report, "--output", self.path("p.png")))

    def test_errors_of_averaged_masses_are_those_of_the_jackknife(self):
        # Correlators that differ by factors have one mass and no error; of two masses the error is half their distance.
        code = ("import math, effective_mass as e; T = 16; c = lambda m, a: [a * math.cosh(m * (T / 2 - t)) for t in range(T // 2 + 1)]\n"
                "mass = lambda v: e.cosh_mass(v, T)\n"
                "one = e.jackknife_errors([c(0.5, 1), c(0.5, 2), c(0.5, 3)], mass); assert max(one) < 1e-9, one\n"
                "two = e.jackknife_errors([c(0.5, 1), c(0.6, 1)], mass); assert max(abs(x - 0.05) for x in two) < 1e-9, two\n"
                "mean = e.jackknife_errors([[1], [2], [6]], lambda v: v); assert abs(mean[0] - (14 / 6) ** 0.5) < 1e-12, mean\n"
                "assert e.jackknife_errors([c(0.5, 1)], mass) is None")
        result = subprocess.run([PYTHON, "-B", "-c", code], cwd=PLOTS, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        reports = self.written([made_up_report() for _ in range(3)])
        result = self.run_script("demo.py", *reports, "--output", self.path("several.png"))
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_effective_masses_of_a_cosh_are_its_mass(self):
        code = ("import sys, math; sys.path.insert(0, sys.argv[1]); import effective_mass as e; T, m = 24, 0.37; "
                "c = [math.cosh(m * (T / 2 - t)) for t in range(T)]; h = e.folded(c); "
                "assert all(abs(x - m) < 1e-9 for x in e.cosh_mass(h, T)), e.cosh_mass(h, T); "
                "assert e.log_mass(h)[0] < m")
        result = subprocess.run([PYTHON, "-c", code, PLOTS], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_the_report_script_repeats_the_verdict_in_its_exit_status(self):
        result = self.run_script("report.py", self.report())
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("VERIFIED   PASSED", result.stdout)
        failed = self.report(lambda r: (r.update(verified=False), r["checks"][0].update(value="nan", passed=False)))
        result = self.run_script("report.py", failed)
        self.assertEqual(result.returncode, 1)
        self.assertIn("VERIFIED   FAILED", result.stdout)

    def test_the_report_script_refuses_a_report_that_contradicts_itself(self):
        sustained = {"operator": "hopping", "layout": "full", "precision": "double", "reconstruct": 18, "gflops": 2.0}
        for said, change in (
                ("verified false, and the checks say otherwise", lambda r: r.update(verified=False)),
                ("nothing was checked", lambda r: r["checks"].clear()),
                ("contradict passed true", lambda r: r["checks"][0].update(value=5.0)),
                ("verified true, and the checks", lambda r: r["checks"][0].update(value="nan", passed=False)),
                ("its own figures give 2", lambda r: (r.update(app="dslash-scaling", figures=[sustained]), r["fom"].update(
                    value=1e9, what="hopping full double 18"))),
                ("the text was changed after the run", lambda r: r.update(checksum="crc32:00000000"))):
            result = self.run_script("report.py", self.report(change))
            self.assertEqual((result.returncode, result.stdout), (2, ""), said)
            self.assertIn(said, result.stderr)


if __name__ == "__main__":
    if PYTHON is None:
        print("skipped: no Python with numpy, matplotlib and jinja2")
        sys.exit(SKIPPED)
    unittest.main()
