# SPDX-License-Identifier: BSD-3-Clause
"""plaquette-overlap-propagator: verified on a small lattice by several ways, continued from its files, plain refusals."""
import json
import os
import re
import signal
import tempfile
import time
import unittest
import zlib
from unittest import mock

import harness
from harness import FAILED, INTERRUPTED, SCHEMA, SUCCESS, UNUSABLE, CommandLineTest
from json_schema import errors

PROGRAM = os.environ["PLAQUETTE_OVERLAP_PROPAGATOR"]
STAGED = os.environ["PLAQUETTE_STAGED_OVERLAP_PROPAGATOR"]
ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def run(*arguments, program=PROGRAM, **options):
    return harness.run(*arguments, program=program, **options)


def processor_seconds(pid):
    """What a process has used; 0 where it has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class OverlapTest(CommandLineTest):
    #: With 24 modes, since the rest then takes a short polynomial.
    TINY = {"--lattice": "2x2x2x4", "--gauge": "weak:0.3", "--seed": "5", "--modes": "24", "--overlap-modes": "3",
            "--masses": "0.1,0.4", "--threads": "1", "--scheme": "relaxed"}

    def options(self, arguments):
        """TINY, with what `arguments` say otherwise."""
        chosen = dict(self.TINY)
        chosen.update(zip(arguments[::2], arguments[1::2]))
        return [word for pair in chosen.items() for word in pair] + ["--force"]

    def report(self, *arguments):
        path = self.path("report.json")
        result = run(*self.options(arguments), "--json", path)
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        self.assertTrue(result.last_line().startswith("VERIFIED   PASSED"), result.out)
        with open(path) as file:
            document = json.load(file)
        with open(SCHEMA) as file:
            self.assertEqual(errors(document, json.load(file)), [])
        return document

    def refused(self, *arguments):
        result = run(*self.options(arguments))
        self.assertEqual(result.status, UNUSABLE, result.err + result.out)
        lines = result.err.rstrip("\n").split("\n")
        self.assertEqual(len(lines), 1, result.err)
        self.assertNotIn("PASSED", result.out)
        return lines[0]


class Results(OverlapTest):
    def test_the_report_holds_what_another_program_needs(self):
        found = self.report()["observables"]
        self.assertEqual(len(found["kernel"]["eigenvalues"]), 24)
        self.assertEqual(len(found["kernel"]["residuals"]), 24)
        self.assertGreater(found["kernel"]["bound"], 5.0)
        self.assertEqual(len(found["sign"]["coefficients"]), found["sign"]["degree"] + 1)
        self.assertLessEqual(found["sign"]["delta"], 1e-9)
        self.assertEqual(found["index"], found["overlap"]["index"])
        for real, imaginary in found["overlap"]["eigenvalues"]:  # on the circle |z - 1| = 1
            self.assertAlmostEqual((real - 1.0) ** 2 + imaginary ** 2, 1.0, places=8)
        self.assertEqual(len(found["overlap"]["chiralities"]), len(found["overlap"]["eigenvalues"]))
        self.assertEqual([m["mass"] for m in found["masses"]], [0.1, 0.4])
        for m in found["masses"]:
            self.assertLessEqual(m["residual"], 1e-8)
            self.assertEqual(len(m["pion"]), 4)
            self.assertAlmostEqual(m["condensate"] / (m["mass"] * sum(m["pion"])), 1.0, places=6)
            self.assertLessEqual(m["gmor"], m["gmor_tolerance"])
            self.assertAlmostEqual(m["mass_of_others"], m["mass"] / 2.8)

    def test_all_ways_lead_to_the_same_correlators(self):
        expected = self.report()["observables"]["masses"]
        for other in (("--modes", "0"), ("--sign", "zolotarev"), ("--sign", "zolotarev-double-pass"),
                      ("--scheme", "fixed", "--sign-precision", "double"), ("--scheme", "defect"),
                      ("--sign-precision", "half", "--sign-batch", "5"),
                      ("--mode-method", "arnoldi"), ("--overlap-modes", "0"), ("--scheme", "preconditioned"),
                      ("--scheme", "preconditioned", "--preconditioner", "multigrid", "--inner-steps", "1",
                       "--solve-batch", "5", "--recycle", "6"), ("--scheme", "auto", "--overlap-modes", "2")):
            found = self.report(*other)["observables"]["masses"]
            for one, two in zip(expected, found):
                for a, b in zip(one["pion"], two["pion"]):
                    self.assertAlmostEqual(a / b, 1.0, places=6, msg=str(other))

    def test_the_preconditioned_scheme_takes_fewer_accurate_signs(self):
        def work(*scheme):
            arguments = ("--size", "nano", "--threads", "1", "--overlap-modes", "0", "--force", *scheme)
            result = run(*arguments, "--json", self.path("nano.json"))
            self.assertEqual(result.status, SUCCESS, result.err + result.out)
            document = self.read_json("nano.json")
            stage = next(s for s in document["observables"]["calculation"] if s["stage"] == "propagators")
            return document["solves"][0], stage

        _, plain = work("--scheme", "relaxed")
        solve, stage = work("--scheme", "preconditioned")
        counts = solve["work"]
        # 16 directions a column, and the residuals of four masses; each direction has four cheap signs.
        self.assertLessEqual(counts["directions"], 12 * 18)
        self.assertEqual(counts["accurate_signs"], counts["directions"] + 12 * 4)
        self.assertEqual(counts["cheap_signs"], 4 * counts["directions"])
        self.assertEqual(stage["sign_applications"], counts["accurate_signs"] + counts["cheap_signs"])
        self.assertLessEqual(counts["accurate_signs"], 0.6 * plain["sign_applications"])
        self.assertLessEqual(stage["applications_double"] + 0.5 * stage["applications_single"],
                             0.75 * (plain["applications_double"] + 0.5 * plain["applications_single"]))

    def test_a_range_and_a_degree_can_be_fixed_by_hand(self):
        kernel = self.report("--until", "modes")["observables"]["kernel"]
        lowest = abs(kernel["eigenvalues"][-1])
        found = self.report("--range", f"{0.99 * lowest},{1.01 * kernel['bound']}", "--degree", "100", "--until",
                            "sign")["observables"]["sign"]
        self.assertEqual(found["degree"], 100)
        self.assertEqual(found["range"], [0.99 * lowest, 1.01 * kernel["bound"]])
        # Modes of D with a short polynomial are as good as others: its error is no rounding. Their partners in the other
        # chirality are modes as far as sign^2 = 1.
        short = self.report("--range", f"{0.99 * lowest},{1.01 * kernel['bound']}", "--degree", "25", "--until",
                            "overlap-modes")["observables"]
        self.assertGreater(short["sign"]["delta"], 1e-7)
        searched, partners = ("plus", "minus") if short["overlap"]["searched_chirality"] > 0 else ("minus", "plus")
        self.assertLessEqual(max(short["overlap"][f"chirality_{searched}"]["residuals"]), 1e-10)
        self.assertLessEqual(max(short["overlap"][f"chirality_{partners}"]["residuals"]), 10.0 * short["sign"]["delta"])

    def test_a_run_goes_on_from_its_files(self):
        prefix = self.path("kept")
        first = self.report("--checkpoint", prefix)["observables"]
        for part in ("modes", "overlap", "solutions"):
            self.assertTrue(os.path.exists(f"{prefix}.{part}.h5"), part)
        again = self.report("--checkpoint", prefix)["observables"]
        self.assertEqual([s["stage"] for s in again["calculation"] if s["restored"]],
                         ["modes of H", "modes of D", "propagators"])
        for a, b in zip(first["masses"], again["masses"]):
            for one, two in zip(a["pion"], b["pion"]):  # vectors in a file are in another spin basis: rounding
                self.assertAlmostEqual(one / two, 1.0, places=12)
        os.remove(f"{prefix}.solutions.h5")
        solved = self.report("--checkpoint", prefix)["observables"]["masses"]
        for a, b in zip(first["masses"], solved):
            self.assertAlmostEqual(a["condensate"] / b["condensate"], 1.0, places=7)

    def test_a_run_that_is_cut_again_and_again_ends_with_the_same(self):
        whole = self.report("--modes", "20")["observables"]
        prefix, path, limit = self.path("cut"), self.path("cut.json"), 0.1
        while True:
            result = run(*self.options(("--modes", "20", "--checkpoint", prefix, "--json", path)), "--time-limit", str(limit))
            if result.status == SUCCESS:
                break
            self.assertEqual(result.status, INTERRUPTED, result.err + result.out)
            limit *= 1.5
        self.assertFalse(os.path.exists(f"{prefix}.mode-search.h5"))
        with open(path) as file:
            found = json.load(file)["observables"]
        for a, b in zip(whole["kernel"]["eigenvalues"], found["kernel"]["eigenvalues"]):
            self.assertAlmostEqual(a, b, places=10)
        for a, b in zip(whole["masses"], found["masses"]):
            self.assertAlmostEqual(a["condensate"] / b["condensate"], 1.0, places=7)

    def test_a_run_that_was_stopped_is_continued_by_the_same_command(self):
        prefix, path = self.path("cut"), self.path("cut.json")
        options = [word for pair in self.TINY.items() for word in pair]
        command = (*options, "--checkpoint", prefix, "--json", path, "--propagators", self.path("quark"))
        result = run(*command, "--time-limit", "1e-3")
        self.assertEqual(result.status, INTERRUPTED, result.err + result.out)
        self.assertTrue(os.path.exists(path))
        result = run(*command)
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        self.assertTrue(os.path.exists(self.path("quark.m1.h5")))
        # What a whole run has left is not overwritten.
        again = run(*command)
        self.assertNotIn(again.status, (SUCCESS, INTERRUPTED), again.err + again.out)
        self.assertIn("exists already", again.err)

    def test_a_run_that_ends_while_it_writes_is_continued_by_the_same_command(self):
        stage = {"PLAQUETTE_STAGE": "the comparison of the propagator's file"}
        # Of two masses the stop is heard before the second one, of one mass after all is written.
        for number, masses in [(signal.SIGTERM, "0.1,0.4"), (signal.SIGTERM, "0.4"), (signal.SIGKILL, "0.4")]:
            with self.subTest(number=number, masses=masses), tempfile.TemporaryDirectory() as folder:
                chosen = dict(self.TINY, **{"--masses": masses, "--checkpoint": folder + "/cut", "--json": folder + "/r",
                                            "--propagators": folder + "/quark"})
                command = [word for pair in chosen.items() for word in pair]
                with mock.patch.dict(os.environ, stage, PLAQUETTE_STAGE_EVENT=str(int(number))):
                    result = run(*command, program=STAGED)
                expected = INTERRUPTED if number == signal.SIGTERM else -number
                self.assertEqual(result.status, expected, result.err + result.out)
                self.assertTrue(os.path.exists(folder + "/quark.m0.h5"))
                result = run(*command)
                self.assertEqual(result.status, SUCCESS, result.err + result.out)
                self.assertFalse(os.path.exists(folder + "/cut.stopped"))

    def test_it_stops_within_a_second_in_each_stage(self):
        # Seconds of the processor, since other programs may share it: one here, two on twice the lattice.
        problem = ("--lattice", "4x8x8x8", "--gauge", "heatbath:6.0:15", "--modes", "8", "--overlap-modes", "4",
                   "--masses", "0.02", "--tol", "1e-10", "--delta", "1e-10", "--mode-tol", "1e-8", "--threads", "1")
        options = [word for pair in zip(problem[::2], problem[1::2]) for word in pair]
        prefix = self.path("stages")
        for until in ("predicted", "stage      modes of H:", "stage      sign function:", "stage      modes of D:",
                      "stage      modes of D, judged:"):
            with self.subTest(until):
                with harness.start(*options, "--checkpoint", prefix, "--force", program=PROGRAM) as process:
                    out = harness.read_until(process, until)
                    time.sleep(0.2)
                    before, begin = processor_seconds(process.pid), time.monotonic()
                    process.send_signal(signal.SIGTERM)
                    used = before
                    while process.poll() is None and time.monotonic() < begin + 55.0:
                        used = max(used, processor_seconds(process.pid) or used)
                        time.sleep(0.02)
                    result = harness.ended(process, out)
                    self.assertEqual(result.status, INTERRUPTED, result.err + result.out)
                    self.assertLess(used - before, 1.0)

    def test_a_restored_calculation_has_no_figure_of_merit(self):
        kept = ("--checkpoint", self.path("kept"))
        self.assertNotEqual(self.report(*kept)["fom"]["value"], "nan")
        restored = self.report(*kept)["fom"]
        self.assertEqual(restored["value"], "nan")
        self.assertIn("read from files", restored["none"])

    def test_a_run_that_ends_before_the_propagators_says_so_and_is_valid(self):
        path = self.path("until_sign.json")
        result = run(*self.options(("--until", "sign", "--json", path)))
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        self.assertRegex(result.out, r"\nFOM +none +\(--until sign ends before the propagators\)\n")
        for verb in (["validate", "--trial"], ["report"]):
            judged = harness.run(*verb, path, program=os.path.join(ROOT, "plaquette"))
            self.assertEqual(judged.status, SUCCESS, judged.out + judged.err)
            self.assertIn("none (--until sign ends before the propagators)", judged.out)

    def test_forged_states_are_refused_with_the_name_of_the_file(self):
        prefix = self.path("kept")
        forgeries = {
            "modes": (rb'"complete":true', rb'"complete":9999'), "overlap": (rb'"searched":-?1', rb'"searched":7'),
            "solutions": (rb'"converged":true', rb'"converged":1e+9')}
        more = {"modes": [(rb'"cycles":(\d)', rb'"cycles":-'), (rb'"eigenvalues":\[-?0.', rb'"eigenvalues":[99')],
                "overlap": [(rb'"zero_plus":\d', rb'"zero_plus":9'), (rb'"plus":\[0.', rb'"plus":[99')],
                "solutions": [(rb'"sums":\["..', rb'"sums":["zz')]}
        honest = {}
        self.report("--checkpoint", prefix)
        for name in ("modes", "overlap", "solutions"):
            with open(f"{prefix}.{name}.h5", "rb") as file:
                honest[name] = file.read()
        for part, forgery in forgeries.items():
            for pattern, forged in (forgery, *more[part]):
                with self.subTest(part=part, forged=forged):
                    for name, data in honest.items():
                        with open(f"{prefix}.{name}.h5", "wb") as file:
                            file.write(data)

                    def change(state, pattern=pattern, forged=forged):
                        found = re.search(pattern, state).group(0)
                        return state.replace(found, (forged + b" " * len(found))[:max(len(found), len(forged))], 1)

                    data = honest[part]
                    text = re.search(rb"[0-9a-f]{8}\n(\{\"problem[\x20-\x7e]*\})", data)
                    state = change(text.group(1))
                    self.assertEqual(len(state), len(text.group(1)), (part, forged))
                    with open(f"{prefix}.{part}.h5", "wb") as file:
                        file.write(data.replace(text.group(0), b"%08x\n" % zlib.crc32(state) + state))
                    self.assertIn(f"kept.{part}.h5", self.refused("--checkpoint", prefix))

    def test_a_mode_whose_sign_is_turned_fails_the_check(self):
        prefix = self.path("kept")
        self.report("--checkpoint", prefix, "--until", "modes")
        with open(f"{prefix}.modes.h5", "rb") as file:
            data = file.read()
        text = re.search(rb"[0-9a-f]{8}\n(\{\"problem[\x20-\x7e]*\})", data)
        state = text.group(1)
        self.assertEqual(text.group(0)[:8], b"%08x" % zlib.crc32(state))
        turned = re.sub(rb'("eigenvalues":\[[^\]]*?)-', rb"\1 ", state, count=1)
        self.assertNotEqual(turned, state)
        data = data.replace(text.group(0), b"%08x\n" % zlib.crc32(turned) + turned)
        with open(f"{prefix}.modes.h5", "wb") as file:
            file.write(data)
        result = run(*self.options(("--checkpoint", prefix, "--until", "sign")))
        self.assertEqual(result.status, FAILED, result.err + result.out)
        self.assertRegex(result.out, r"modes of H: \|H v - lambda v\| +\S+ +\S+ +FAILED")
        self.assertRegex(result.out, r"against the rational function of the CPU +\S+ +\S+ +FAILED")

    def test_an_index_that_is_open_is_not_verified(self):
        # A periodic free field has six zero modes of each chirality.
        free = ("--gauge", "unit", "--time-bc", "periodic", "--until", "overlap-modes", "--overlap-modes")
        result = run(*self.options((*free, "2")))
        self.assertEqual(result.status, FAILED, result.err + result.out)
        self.assertRegex(result.out, r"index is open.* FAILED")
        self.assertEqual(self.report(*free, "8")["observables"]["index"], 0)

    def test_the_table_of_another_program_is_made_by_its_range_and_poles(self):
        # Chroma, 12 poles on [0.02, 2.7], which does not hold |H| here: it is taken as it is.
        by_hand = ("--sign", "zolotarev", "--poles", "12", "--range", "0.02,2.7", "--until", "sign")
        path = self.path("table.json")
        result = run(*self.options(by_hand), "--json", path)
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        self.assertRegex(result.out, r"remark .*beyond --range 0.02,2.7: the sign function errs by 0.007")
        self.assertNotIn("range holds", result.out)
        with open(path) as file:
            sign = json.load(file)["observables"]["sign"]
        self.assertAlmostEqual(sign["delta"], 2.671116e-08, delta=1e-13)
        self.assertAlmostEqual(sign["weights"][11], 13.26022, delta=5e-6)
        self.assertAlmostEqual(sign["shifts"][0], 2.812497e-05, delta=5e-12)
        table = run(*self.options(by_hand), "--dryrun")
        self.assertEqual(table.status, SUCCESS, table.err)
        self.assertIn("weight 1.32602", table.out)

    def test_a_coarse_sign_function_of_another_program_is_solved_as_it_is(self):
        by_hand = ("--sign", "zolotarev", "--poles", "2", "--range", "0.35,5.9")
        path = self.path("coarse.json")
        result = run(*self.options(by_hand), "--json", path)
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        self.assertIn("beyond --range 0.35,5.9", result.out)
        with open(path) as file:
            found = json.load(file)
        self.assertGreater(found["observables"]["sign"]["delta"], 1e-3)
        self.assertEqual(found["solves"][0]["solver"], "flexible gcr of D(m)")
        for m in found["observables"]["masses"]:
            self.assertLessEqual(m["residual"], 1e-8)
        # Its correlators are not those of the sign function.
        for one, two in zip(found["observables"]["pion"], self.report()["observables"]["pion"]):
            self.assertGreater(abs(one / two - 1.0), 1e-5)

    def test_modes_are_those_that_another_program_converged(self):
        links = os.path.join(os.environ.get("PLAQUETTE_REFERENCE", ""), "chroma/weak_field.lime")
        if not os.path.exists(links):
            self.skipTest(f"no reference data: {links} does not exist")
        path = self.path("weak.json")
        result = run("--gauge", links, "--modes", "8", "--until", "modes", "--threads", "1", "--json", path)
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        with open(path) as file:
            kernel = json.load(file)["observables"]["kernel"]
        known = (0.64461111, -0.64464294, 0.64479515, -0.64481676, -0.64779936, 0.64790296, 0.64809224, -0.64813315)
        for found, printed in zip(kernel["eigenvalues"], known):
            self.assertAlmostEqual(found, printed, delta=0.51e-8)
        self.assertLess(6.547179, kernel["bound"])
        self.assertLess(kernel["bound"], 6.547179 * 1.005)

    def test_ranks_share_the_lattice_and_find_the_same(self):
        if not harness.MPIEXEC:
            self.skipTest("built without MPI")
        for ranks, lattice, until in ((2, "2x2x2x4", "overlap-modes"), (4, "2x2x4x4", "modes")):
            problem = ("--lattice", lattice, "--overlap-modes", "1", "--until")
            alone = self.report(*problem, until)["observables"]
            path = self.path("ranks.json")
            result = run(*self.options((*problem, until)), "--json", path, ranks=ranks)
            self.assertEqual(result.status, SUCCESS, result.err + result.out)
            with open(path) as file:
                together = json.load(file)["observables"]
            for a, b in zip(alone["kernel"]["eigenvalues"], together["kernel"]["eigenvalues"]):
                self.assertAlmostEqual(a, b, places=10)
            if until != "modes":
                self.assertEqual(together["index"], alone["index"])
                for a, b in zip(alone["overlap"]["eigenvalues"], together["overlap"]["eigenvalues"]):
                    self.assertAlmostEqual(a[1], b[1], places=8)

    def test_files_of_another_problem_are_refused(self):
        prefix = self.path("kept")
        self.report("--checkpoint", prefix, "--until", "modes")
        for other in (("--rho", "1.3"), ("--seed", "6"), ("--modes", "5")):
            message = self.refused("--checkpoint", prefix, "--until", "modes", *other)
            self.assertIn("kept.modes.h5", message)


class Refusals(OverlapTest):
    def test_the_range_of_rho_is_said_in_one_way(self):
        said = {self.refused("--rho", rho).split(", found")[0] for rho in ("2", "0", "-1", "7.5")}
        self.assertEqual(len(said), 1, said)
        self.assertIn("between 0 and 2", said.pop())

    def test_what_cannot_be_used_is_refused_in_one_line(self):
        for arguments, word in ((("--rho", "2"), "--rho"), (("--rho", "0"), "--rho"), (("--rho", "-1"), "--rho"),
                                (("--masses", "0.1,0.1"), "--masses"), (("--masses", "-0.1"), "--masses"),
                                (("--masses", "5"), "--masses"), (("--degree", "3"), "--degree"),
                                (("--sign", "zolotarev", "--poles", "2"), "--poles"), (("--poles", "5"), "--poles"),
                                (("--range", "2,1"), "--range"), (("--range", "0.0001,8"), "--modes"),
                                (("--range", "0.01,5"), "--range"), (("--range", "2,8"), "--range"),
                                (("--range", "0.1,8", "--degree", "20", "--delta", "1e-9"), "--degree"),
                                (("--tol", "1e-14"), "--tol"), (("--search-space", "5"), "--search-space"),
                                (("--overlap-search-space", "3"), "--overlap-search-space"),
                                (("--search-space", "20", "--mode-block", "12"), "--search-space"),
                                (("--filter-degree", "2"), "--filter-degree"),
                                (("--modes", "200"), "--modes"), (("--overlap-modes", "90"), "--overlap-modes"),
                                (("--masses", "0,0.1", "--overlap-modes", "0"), "--masses"),
                                (("--gauge", "unit", "--time-bc", "periodic", "--masses", "0"), "--masses"),
                                (("--sign", "taylor"), "--sign")):
            self.assertIn(word, self.refused(*arguments), arguments)


if __name__ == "__main__":
    unittest.main()
