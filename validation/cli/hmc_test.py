# SPDX-License-Identifier: BSD-3-Clause
"""plaquette-hmc: the same bits from a chain in one run or several and on any ranks, whole files, plain refusals."""
import csv
import json
import os
import re
import signal
import struct
import time
import unittest
import zlib

import harness
from harness import FAILED, INTERRUPTED, MPIEXEC, SCHEMA, SUCCESS, UNUSABLE, CommandLineTest, replaced
from json_schema import errors
from validate_test import signed, validate

PROGRAM = os.environ["PLAQUETTE_HMC"]
LINKS = ["--lattice", "4x4x4x4", "--flavours", "0", "--beta", "5.7", "--start", "heatbath:5.7:10", "--integrator",
         "omelyan:8(gauge)", "--seed", "5"]
QUARKS = ["--lattice", "4x4x2x4", "--beta", "5.4", "--csw", "1.5", "--kappa", "0.13", "--splitting", "0.4", "--start",
          "heatbath:5.4:10", "--tau", "0.3", "--integrator", "omelyan:2(light) omelyan:1(det,heavy) omelyan:2(gauge)",
          "--seed", "5"]

TWISTED = [*replaced(QUARKS, "--lattice", "4x4x4x4"), "--twisted-mass", "0.2"]
SHIFTED = replaced(QUARKS, "--lattice", "4x4x4x4", "--splitting", "0.3")
SHIFTED[SHIFTED.index("--splitting")] = "--mass-shifts"
MEASURED = ("spatial", "temporal", "rectangle", "polyakov_re", "polyakov_im", "t0", "charge", "measuring_seconds")


def run(*arguments, **options):
    return harness.run(*arguments, program=PROGRAM, **options)


RANKS = os.environ.get("PLAQUETTE_HMC_RANKS", "all")  # all tests, none: those on one rank, only: those on several


def on_ranks(test):
    test.on_ranks = True
    return unittest.skipUnless(MPIEXEC and RANKS != "none", "one rank")(test)


class HmcTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        if RANKS == "only" and not hasattr(getattr(self, self._testMethodName), "on_ranks"):
            self.skipTest("on one rank")

    def made(self, *arguments, **options):
        result = run(*arguments, **options)
        self.assertEqual(result.status, SUCCESS, result.out + result.err)
        self.assertTrue(result.last_line().startswith("VERIFIED   PASSED"), result.out)
        return result

    def refused(self, *arguments):
        result = run(*arguments)
        self.assertEqual(result.status, UNUSABLE, result.out + result.err)
        lines = result.err.rstrip("\n").split("\n")
        self.assertEqual(len(lines), 1, result.err)
        self.assertTrue(lines[0].startswith("plaquette-hmc: "), result.err)
        return lines[0]

    def numbers(self, name):
        """The history without its seconds."""
        with open(self.path(name), encoding="ascii") as file:
            rows = [line.rstrip("\n").split(",") for line in file]
        kept = [number for number, name in enumerate(rows[0]) if not name.startswith("seconds")]
        return [[row[number] for number in kept] for row in rows]

    def links_of(self, name):
        with open(self.path(name), "rb") as file:
            return file.read().partition(b"END_HEADER\n")[2]


class Bits(HmcTest):
    def test_a_chain_in_two_runs_is_the_chain_of_one(self):
        for number, action in enumerate((LINKS, QUARKS)):
            def chain(name, trajectories, store):
                self.made(*action, "--trajectories", trajectories, "--history", self.path(name), "--store",
                          self.path(store), "--output", self.path(store + "-links"), "--save-every", 3, "--force")
            chain(f"whole{number}.csv", 3, f"a{number}")
            chain(f"part{number}.csv", 1, f"b{number}")
            chain(f"rest{number}.csv", 3, f"b{number}")
            self.assertEqual(self.numbers(f"rest{number}.csv"), self.numbers(f"whole{number}.csv"))
            self.assertEqual(self.links_of(f"b{number}-links.000003"), self.links_of(f"a{number}-links.000003"))

    @on_ranks
    def test_reproducible_chains_have_the_same_bits_on_one_two_and_four_ranks(self):
        for ranks in (1, 2, 4):
            self.made(*replaced(QUARKS, "--lattice", "4x4x4x4"), "--trajectories", 5, "--reproducible", "--history",
                      self.path(f"{ranks}.csv"), "--output", self.path(f"{ranks}"), "--save-every", 5, ranks=ranks)
        for ranks in (2, 4):
            self.assertEqual(self.numbers(f"{ranks}.csv"), self.numbers("1.csv"))
            self.assertEqual(self.links_of(f"{ranks}.000005"), self.links_of("1.000005"))

    @on_ranks
    def test_a_trajectory_on_two_ranks_is_that_of_one(self):
        for ranks in (1, 2):
            self.made(*replaced(QUARKS, "--lattice", "4x4x4x4"), "--trajectories", 1, "--cg-force-tolerance", "1e-9", "--history",
                      self.path(f"{ranks}.csv"), ranks=ranks)
        one, two = (self.numbers(f"{ranks}.csv")[1] for ranks in (1, 2))
        self.assertAlmostEqual(float(one[1]), float(two[1]), delta=1e-6)
        self.assertAlmostEqual(float(one[3]), float(two[3]), delta=1e-8)


class Solvers(HmcTest):
    def test_solvers_and_precisions_make_the_same_trajectory(self):
        dh = {}
        for solver in ("cg-double", "cg-single", "cg-half", "bicgstab-double", "bicgstab-single", "bicgstab-half"):
            self.made(*QUARKS, "--solvers", solver, "--trajectories", 1, "--cg-force-tolerance", "1e-8",
                      "--force-tolerance", "1e-8", "--history", self.path(f"{solver}.csv"))
            dh[solver] = float(self.numbers(f"{solver}.csv")[1][1])
        for solver, value in dh.items():
            self.assertAlmostEqual(value, dh["cg-double"], delta=1e-5, msg=solver)


    def test_forecasts_save_iterations_and_leave_the_trajectory_as_it_is(self):
        steps = replaced(QUARKS, "--integrator", "omelyan:4(det,light,heavy) omelyan:1(gauge)", "--tau", "0.2")
        for solver, tolerance in (("cg-double", "--cg-force-tolerance"), ("bicgstab-single", "--force-tolerance")):
            common = [*steps, "--solvers", solver, tolerance, "1e-9", "--trajectories", 2, "--force"]
            found = {}
            for forecasts in (0, 3):
                result = self.made(*common, "--forecast", forecasts, "--history", self.path("h.csv"))
                with open(self.path("h.csv"), encoding="ascii") as file:
                    found[forecasts] = list(csv.DictReader(file))
                back = float(re.search(r"^links after the way back +(\S+)", result.out, re.M)[1])
                self.assertLess(back, 1e-8)
            for plain, forecast in zip(found[0], found[3]):
                self.assertAlmostEqual(float(plain["dh"]), float(forecast["dh"]), delta=1e-6, msg=solver)
                self.assertNotEqual(plain["dh"], forecast["dh"])
                for factor in ("light", "heavy"):
                    name = f"iterations_{factor}"
                    self.assertLess(int(forecast[name]), 0.9 * int(plain[name]), solver)
        self.assertIn('"forecasts": 2', self.report_of(*steps, "--solvers", "cg-double", "--forecast", 2))

    def report_of(self, *arguments):
        """The report of a trajectory, as text; with forecasts its forces are to 1e-9 if nothing else is said."""
        self.made(*arguments, "--trajectories", 1, "--json", self.path("r.json"))
        with open(self.path("r.json"), encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(json.loads(text)["parameters"]["cg_force_tolerance"], 1e-9)
        return text


class Multigrid(HmcTest):
    """The hierarchy is made on the links of each trajectory's start and ages from there."""
    CHAIN = replaced(QUARKS, "--lattice", "4x4x4x8", "--csw", "1.76", "--kappa", "0.138", "--beta", "5.6", "--start",
                     "heatbath:5.6:20", "--tau", "1", "--integrator",
                     "omelyan:4(light,heavy,det) force-gradient:2(gauge)", "--cg-force-tolerance", "1e-8")

    def chain(self, name, *arguments, **options):
        return self.made(*self.CHAIN, "--history", self.path(name), *arguments, **options)

    def test_it_follows_the_links_and_leaves_the_bits_of_a_chain_in_two_runs(self):
        by_multigrid = ["--solvers", "multigrid-single,cg-double"]
        self.chain("whole.csv", *by_multigrid, "--trajectories", 2)
        self.chain("part.csv", *by_multigrid, "--trajectories", 1, "--store", self.path("store"))
        self.chain("rest.csv", *by_multigrid, "--trajectories", 2, "--store", self.path("store"))
        self.assertEqual(self.numbers("rest.csv"), self.numbers("whole.csv"))
        self.chain("cg.csv", "--solvers", "cg-double", "--trajectories", 1)
        self.assertAlmostEqual(float(self.numbers("cg.csv")[1][1]), float(self.numbers("whole.csv")[1][1]), delta=1e-4)
        with open(self.path("whole.csv"), encoding="ascii") as file:
            for row in csv.DictReader(file):
                self.assertLess(float(row["ageing"]), 1.6)
                self.assertGreater(float(row["ageing"]), 0.9)
                self.assertGreater(float(row["seconds_multigrid"]), 0.0)

    def test_all_factors_and_precisions(self):
        self.chain("half.csv", "--solvers", "multigrid-half", "--trajectories", 1)
        self.chain("twisted.csv", "--solvers", "multigrid-single", "--twisted-mass", "0.1", "--trajectories", 1)

    @on_ranks
    def test_two_ranks(self):
        for ranks in (1, 2):
            self.chain(f"{ranks}.csv", "--solvers", "multigrid-single,cg-double", "--trajectories", 1,
                       "--force-tolerance", "1e-9", ranks=ranks)
        one, two = (float(self.numbers(f"{ranks}.csv")[1][1]) for ranks in (1, 2))
        self.assertAlmostEqual(one, two, delta=1e-5)


class TwistedMassAndMassShifts(HmcTest):
    def dh_of(self, name, action, *arguments, **options):
        self.made(*action, *arguments, "--trajectories", 1, "--cg-force-tolerance", "1e-9", "--force-tolerance", "1e-9", "--history",
                  self.path(name), **options)
        return float(self.numbers(name)[1][1])

    @on_ranks
    def test_ranks_and_solvers_make_the_same_trajectory(self):
        for action, solver in ((TWISTED, "bicgstab-half"), ([*SHIFTED, "--twisted-mass", "0.1"], "cg-single")):
            one = self.dh_of("one.csv", action, "--force")
            self.assertAlmostEqual(one, self.dh_of("two.csv", action, "--force", ranks=2), delta=1e-6)
            self.assertAlmostEqual(one, self.dh_of("other.csv", action, "--force", "--solvers", solver), delta=1e-5, msg=solver)

    def test_a_chain_keeps_its_mass_shifts(self):
        chain = [*SHIFTED, "--store", self.path("store"), "--json", self.path("r.json")]
        self.assertIn("factors at dm = 0, 0.3", self.made(*chain, "--trajectories", 1).out)
        with open(self.path("r.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["parameters"]["mass_shifts"], [0.0, 0.3])
        status, out = validate("--trial", self.path("r.json"))
        self.assertEqual(status, 0, out)
        self.assertIn("mass_shifts", self.refused(*replaced(chain, "--mass-shifts", "0.4"), "--trajectories", 2))

    def test_a_chain_keeps_its_twisted_mass(self):
        def chain(name, trajectories, store):
            return self.made(*TWISTED, "--trajectories", trajectories, "--history", self.path(name), "--store", self.path(store),
                             "--force", "--json", self.path("r.json"))
        self.assertIn("twist      mass 0.2 (2 kappa mu = 0.052)", chain("whole.csv", 2, "a").out)
        with open(self.path("r.json"), encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual(report["parameters"]["twisted_mass"], 0.2)
        status, out = validate("--trial", self.path("r.json"))
        self.assertEqual(status, 0, out)
        chain("part.csv", 1, "b")
        chain("rest.csv", 2, "b")
        self.assertEqual(self.numbers("rest.csv"), self.numbers("whole.csv"))
        self.assertIn("twisted_mass", self.refused(*replaced(TWISTED, "--twisted-mass", "0.3"), "--trajectories", 3, "--store",
                                                   self.path("b")))
        self.assertIn("twisted_mass", self.refused(*TWISTED[:-2], "--trajectories", 3, "--store", self.path("b")))


class Stops(HmcTest):
    def test_the_history_can_be_followed(self):
        long = [*replaced(LINKS, "--integrator", "omelyan:100(gauge)"), "--trajectories", "1000", "--history", self.path("h.csv")]
        with harness.start(*long, program=PROGRAM) as process:
            harness.read_until(process, "  yes  ")
            deadline = time.monotonic() + 30.0
            while not (os.path.exists(self.path("h.csv")) and len(self.numbers("h.csv")) > 2):
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.1)
            self.assertIsNone(process.poll())

    def test_a_killed_chain_goes_on_by_the_same_command(self):
        for every in (1, 1000):
            chain = [*replaced(LINKS, "--integrator", "omelyan:400(gauge)"), "--trajectories", "6", "--history",
                     self.path(f"{every}.csv"), "--store", self.path(f"store{every}"), "--store-every", every]
            with harness.start(*chain, program=PROGRAM) as process:
                harness.read_until(process, "         2  ")
                process.kill()
            self.made(*chain)
            self.assertEqual(len(self.numbers(f"{every}.csv")), 7)

    def test_a_stop_inside_a_trajectory_leaves_the_chain_as_it_was(self):
        long = [*replaced(LINKS, "--integrator", "omelyan:400(gauge)"), "--trajectories", "3", "--store", self.path("store"),
                "--history", self.path("h.csv")]
        with harness.start(*long, program=PROGRAM) as process:
            out = harness.read_until(process, "  yes  ")
            process.send_signal(signal.SIGTERM)
            result = harness.ended(process, out)
        self.assertEqual(result.status, INTERRUPTED, result.out + result.err)
        self.made(*long)
        stopped = self.numbers("h.csv")
        self.made(*long[:-4], "--history", self.path("whole.csv"))
        self.assertEqual(stopped, self.numbers("whole.csv"))


    def test_a_stop_while_measuring_leaves_the_chain_as_it_was(self):
        def chain(flow, name):
            return [*LINKS, "--trajectories", "3", "--measure-every", "2", "--flow-time", flow, "--history", self.path(name)]
        slow = [*chain("400", "h.csv"), "--store", self.path("store")]
        with harness.start(*slow, program=PROGRAM) as process:
            out = harness.read_until(process, "  yes  ")
            time.sleep(1.0)
            process.send_signal(signal.SIGTERM)
            result = harness.ended(process, out)
        self.assertEqual(result.status, INTERRUPTED, result.out + result.err)
        self.made(*chain("0.1", "h.csv"), "--store", self.path("store"))
        self.made(*chain("0.1", "whole.csv"))
        stopped, whole = self.numbers("h.csv"), self.numbers("whole.csv")
        self.assertEqual([row[:-1] for row in stopped], [row[:-1] for row in whole])


class Refusals(HmcTest):
    def test_options_that_cannot_be(self):
        for arguments, text in ((["--flavours", "3"], "even number"),
                                (["--flavours", "0", "--kappa", "0.1"], "expected quarks"),
                                (["--flavours", "0", "--twisted-mass", "0.1"], "--twisted-mass: expected quarks"),
                                (["--twisted-mass", "-0.1"], "--twisted-mass"),
                                (["--mass-shifts", "0.3,0.2"], "above the one before"),
                                (["--mass-shifts", "-0.1"], "above 0"),
                                (["--mass-shifts", "0.3", "--splitting", "0.4"], "--splitting"),
                                (["--flavours", "0", "--mass-shifts", "0.1"], "--mass-shifts: expected quarks"),
                                (["--splitting", "0.3,0.2"], "above the one before"),
                                (["--integrator", "euler:2(gauge)"], "euler"),
                                (["--integrator", "omelyan:0(gauge,light)"], "steps"),
                                (["--integrator", "omelyan:2(gauge)"], "terms"),
                                (["--solvers", "gmres"], "gmres"),
                                (["--solvers", "cg,cg,cg"], "one for each"),
                                (["--reproducible", "--solvers", "cg-single"], "cg-double"),
                                (["--tau", "0"], "--tau"),
                                (["--c1", "-0.3", "--gauge-anisotropy", "2"], "isotropic"),
                                (["--save-every", "2"], "--output")):
            self.assertIn(text, self.refused("--lattice", "4x4x4x4", *arguments), arguments)

    def test_none_overrules_a_class(self):
        plain = run("--size", "nano", "--dryrun")
        self.assertIn("warm-up ", plain.out)
        heavy = ["--splitting", "none", "--integrator", "omelyan:2(light,det,gauge)"]
        other = run("--size", "nano", "--dryrun", "--warm-up", "none", *heavy)
        self.assertEqual(other.status, 0, other.err)
        self.assertNotIn("warm-up ", other.out)
        self.assertIn("factors at mu = 0\n", other.out)

    def test_steps_that_are_too_long(self):
        long_steps = [*replaced(LINKS, "--integrator", "leapfrog:2(gauge)"), "--trajectories", 1]
        self.assertIn("take 'leapfrog:4(gauge)'", self.refused(*long_steps))
        self.assertIn("|dH| is no number", self.refused(*long_steps, "--tau", 40))
        longer = replaced(replaced(QUARKS, "--tau", "20"), "--integrator", "omelyan:2(light,det,heavy,gauge)")
        self.assertIn("take 'omelyan:4(light,det,heavy,gauge)'", self.refused(*longer, "--trajectories", 1))

    def test_kappa_beyond_the_critical_one_is_said(self):
        cold = replaced(QUARKS, "--start", "cold")
        self.assertIn("kappa 0.13 is beyond the critical one of cold links, 0.125", self.made(*cold, "--trajectories", 1).out)
        self.assertNotIn("beyond", self.made(*replaced(cold, "--kappa", "0.12"), "--trajectories", 1).out)
        self.assertIn("at any beta", run(*replaced(cold, "--kappa", "0.26"), "--trajectories", 1).out)

    def test_a_chain_that_is_continued_with_another_action_or_other_links(self):
        self.made(*LINKS, "--trajectories", 1, "--store", self.path("store"))
        self.assertIn("beta", self.refused(*replaced(LINKS, "--beta", "5.8"), "--trajectories", 2, "--store", self.path("store")))
        self.assertIn("seed", self.refused(*replaced(LINKS, "--seed", "6"), "--trajectories", 2, "--store", self.path("store")))
        self.assertIn("integrator", self.refused(*replaced(LINKS, "--integrator", "omelyan:9(gauge)"), "--trajectories", 2,
                                                 "--store", self.path("store")))
        self.assertIn("at most 0", self.refused(*LINKS, "--trajectories", 0, "--store", self.path("store")))
        with open(self.path("text"), "w", encoding="ascii") as file:
            file.write("no chain\n")
        self.assertIn("no LIME file", self.refused(*LINKS, "--trajectories", 1, "--store", self.path("text")))


def lime_records(data):
    """Records of a LIME file: heads of 144 bytes, and data."""
    at, records = 0, []
    while at < len(data):
        length, = struct.unpack(">Q", data[at + 8:at + 16])
        records.append((data[at:at + 144], data[at + 144:at + 144 + length]))
        at += 144 + (length + 7) // 8 * 8
    return records


def state_in(record):
    """The JSON text behind the checksum."""
    return record.decode("ascii").rstrip("\0").partition("\n")[2]


def sums_of(start, history):
    """The sums of a history, as the store has them."""
    total, sums = zlib.crc32(struct.pack("<d", start)), []
    for n, t in enumerate(history):
        total = zlib.crc32(struct.pack("<QddQ", n + 1, t["dh"], t["plaquette"], t["accepted"]), total)
        sums.append(f"{total:08x}")
    return sums


class Forgeries(HmcTest):
    """A chain that goes on from a store which another hand has changed."""
    COARSE = [*replaced(LINKS, "--integrator", "leapfrog:4(gauge)"), "--trajectories", 6, "--force"]

    def rewritten(self, change, links_of=None):
        """Changes the state of a store; links are those of another file if it is given."""
        with open(self.path("honest"), "rb") as file:
            records = lime_records(file.read())
        if links_of:
            with open(links_of, "rb") as file:
                state = records[-1]
                records = [*lime_records(file.read())[:-1], state]
        with open(self.path("store"), "wb") as file:
            for head, data in records:
                if b"plaquette-chain" in head:
                    text = state_in(data)
                    state = json.loads(text)
                    change(state)
                    text = json.dumps(state)
                    data = f"{zlib.crc32(text.encode('ascii')):08x}\n{text}".encode("ascii")
                file.write(head[:8] + struct.pack(">Q", len(data)) + head[16:] + data + b"\0" * (-len(data) % 8))

    def goes_on(self):
        return run(*replaced(self.COARSE, "--trajectories", "7"), "--store", self.path("store"))

    def test_a_history_that_was_changed(self):
        self.made(*self.COARSE, "--store", self.path("honest"))
        with open(self.path("honest"), "rb") as file:
            state = json.loads(state_in(lime_records(file.read())[-1][1]))
        history = state["history"]
        self.assertEqual([t["sum"] for t in history], sums_of(state["start_plaquette"], history))
        rejected = next(n for n, t in enumerate(history) if not t["accepted"])

        def recomputed(state):
            for t, n, total in zip(state["history"], range(1, 7), sums_of(state["start_plaquette"], state["history"])):
                t.update(trajectory=n, sum=total)

        def change(key, value, recompute):
            def apply(state):
                t = state["history"][rejected]
                t[key] = value(t[key])
                if recompute:
                    recomputed(state)
            return apply

        def remove(state):
            del state["history"][rejected]

        changes = {"accepted": lambda accepted: not accepted, "dh": lambda dh: -1.0 - dh, "plaquette": lambda p: p + 1e-9}
        for key, value in changes.items():
            self.rewritten(change(key, value, False))
            result = self.goes_on()
            self.assertEqual(result.status, UNUSABLE, result.out)
            self.assertIn(f"trajectory {rejected + 1} with the sum", result.err, key)
        self.rewritten(remove)
        self.assertIn("the history was changed", self.goes_on().err)
        # One who knows the sums.
        for key, check in (("accepted", "accept steps that"), ("dh", "accept steps that"), ("plaquette", "trajectories whose links")):
            self.rewritten(change(key, changes[key], True))
            result = self.goes_on()
            self.assertEqual(result.status, FAILED, key + result.out + result.err)
            self.assertRegex(result.out, rf"\n{check}.*FAILED", key)

    def test_links_of_another_run(self):
        self.made(*self.COARSE, "--store", self.path("honest"))
        self.made(*replaced(self.COARSE, "--seed", "6"), "--store", self.path("other"))
        self.rewritten(lambda state: None)
        self.made(*replaced(self.COARSE, "--trajectories", "7"), "--store", self.path("store"))
        self.rewritten(lambda state: None, self.path("other"))
        result = self.goes_on()
        self.assertEqual(result.status, UNUSABLE, result.out)
        self.assertIn("expected the links that the chain left", result.err)

    def test_a_configuration_of_an_earlier_run_that_is_another(self):
        files = ["--output", self.path("links"), "--save-every", 6, "--store", self.path("store")]
        self.made(*replaced(self.COARSE, "--seed", "6"), "--output", self.path("other"), "--save-every", 6)
        self.made(*self.COARSE, *files)
        os.replace(self.path("other.000006"), self.path("links.000006"))
        result = run(*replaced(self.COARSE, "--trajectories", "7"), *files)
        self.assertEqual(result.status, FAILED, result.out)
        self.assertRegex(result.out, r"\nplaquette of a written configuration of an earlier run .*FAILED")

    def test_a_run_that_makes_nothing_is_not_verified(self):
        nothing = run(*replaced(self.COARSE, "--trajectories", "0"))
        self.made(*self.COARSE, "--store", self.path("store"))
        for result in (nothing, run(*self.COARSE, "--store", self.path("store"))):
            self.assertEqual(result.status, FAILED, result.out)
            self.assertRegex(result.last_line(), "VERIFIED   FAILED .*nothing was made: not judged")


class Report(HmcTest):
    def test_the_report_meets_the_schema(self):
        self.made(*QUARKS, "--trajectories", 1, "--json", self.path("r.json"))
        with open(self.path("r.json"), encoding="utf-8") as file, open(SCHEMA, encoding="utf-8") as schema:
            report = json.load(file)
            self.assertEqual(errors(report, json.load(schema)), [])
        self.assertEqual(len(report["observables"]["dh"]), 1)
        self.assertEqual(report["parameters"]["twisted_masses"], [0.0, 0.4])
        self.assertIn("trajectory", [draw["of"] for draw in report["draws"]])
        judged = report["observables"]["judged"]
        self.assertGreater(sum(judged.pop("seconds").values()), 0.0)
        self.assertIn(judged.pop("made_whole"), ([], [1]))  # if there was time
        self.assertEqual(judged, {"earlier_trajectories": 0, "made": 1, "drawn": [1],
                                  "pieces_of_a_trajectory": 16, "chance_of_each": 1.0})
        self.reports_without_a_check_are_refused(report)
        self.links_made_again_are_as_near_as_solves_begin_alike(report)

    def judged(self, report):
        with open(self.path("judged.json"), "wb") as file:
            file.write(signed(report))
        return validate("--trial", self.path("judged.json"))

    def links_made_again_are_as_near_as_solves_begin_alike(self, report):
        """With forecasts or multigrid they are off by the residual of forces, without they are not."""
        checks = [{**check, "tolerance": 1e-6} if check["name"] == "links of the drawn trajectory, made again" else check
                  for check in report["checks"]]
        self.assertNotEqual(checks, report["checks"])
        for changes, expected in (({}, 1), ({"solvers": "multigrid-half,cg-double"}, 0), ({"forecasts": 2}, 0)):
            parameters = {**report["parameters"], **changes, "force_tolerance": 1e-7, "cg_force_tolerance": 1e-6}
            status, out = self.judged({**report, "checks": checks, "parameters": parameters})
            self.assertEqual(status, expected, out)
            put_back = [{**check, "name": check["name"].replace(", made again", " were put back")} for check in checks]
            status, out = self.judged({**report, "checks": put_back, "parameters": parameters})
            self.assertIn("were put back': tolerance 1e-06", out)

    def reports_without_a_check_are_refused(self, report):
        status, out = self.judged(report)
        self.assertEqual(status, 0, out)
        for n, check in enumerate(report["checks"]):
            status, out = self.judged({**report, "checks": report["checks"][:n] + report["checks"][n + 1:]})
            self.assertEqual(status, 1, check["name"] + "\n" + out)
        for key, value in (("acceptance", 0.5), ("accepted", []), ("plaquette", [1.5])):
            status, out = self.judged({**report, "observables": {**report["observables"], key: value}})
            self.assertEqual(status, 1, key + "\n" + out)
        status, out = self.judged({**report, "fom": {**report["fom"], "value": 2.0 * report["fom"]["value"]}})
        self.assertEqual(status, 1, out)


class Measurements(HmcTest):
    def measured(self, *arguments, **options):
        self.made(*arguments, "--trajectories", 2, "--measure-every", 2, "--history", self.path("m.csv"), "--json",
                  self.path("m.json"), "--force", **options)
        with open(self.path("m.csv"), encoding="ascii") as file:
            first, second = csv.DictReader(file)
        self.assertEqual({first[key] for key in MEASURED}, {""})
        with open(self.path("m.json"), encoding="utf-8") as file:
            found = json.load(file)["observables"]["measurements"]
        self.assertEqual([m["trajectory"] for m in found], [2])
        self.assertEqual(found[0]["rectangle"], float(second["rectangle"]))
        self.assertGreater(found[0]["seconds"], 0.0)
        self.assertAlmostEqual((float(second["spatial"]) + float(second["temporal"])) / 2, float(second["plaquette"]), delta=1e-14)
        return {key: float(second[key]) for key in MEASURED if second[key]}

    def test_links_near_one_have_loops_near_one(self):
        found = self.measured(*replaced(replaced(LINKS, "--start", "cold"), "--integrator", "omelyan:1(gauge)"), "--tau", "0.01")
        for key, value in {"spatial": 1, "temporal": 1, "rectangle": 1, "polyakov_re": 1, "polyakov_im": 0, "charge": 0}.items():
            self.assertAlmostEqual(found[key], value, delta=5e-3, msg=key)
        self.assertNotIn("t0", found)  # t^2 E stays 0

    def test_flow_is_that_of_inspect_and_loops_those_of_the_file(self):
        found = self.measured(*LINKS, "--flow-time", "0.6", "--output", self.path("links"), "--save-every", 2)
        seen = harness.run(self.path("links.000002"), "--flow", "0.6", program=os.environ["PLAQUETTE_INSPECT"]).out
        self.assertAlmostEqual(found["t0"], float(re.search(r"^t0 +([0-9.]+)$", seen, re.M)[1]), delta=1e-6)
        self.assertAlmostEqual(found["charge"], float(re.findall(r"^ +0\.600 +\S+ +(\S+)$", seen, re.M)[0]), delta=2e-6)
        polyakov = polyakov_loop(self.links_of("links.000002"), (4, 4, 4, 4))
        self.assertAlmostEqual(found["polyakov_re"], polyakov.real, delta=1e-12)
        self.assertAlmostEqual(found["polyakov_im"], polyakov.imag, delta=1e-12)

    @on_ranks
    def test_ranks_in_time_and_space_measure_the_same(self):
        one = self.measured(*LINKS)
        for grid in ("1x1x1x2", "2x1x1x1"):
            two = self.measured(*LINKS, "--grid", grid, ranks=2)
            for key in set(one) - {"measuring_seconds"}:
                self.assertAlmostEqual(one[key], two[key], delta=1e-12, msg=key)


def polyakov_loop(data, lattice):
    """The mean of tr P / 3 of links as NERSC has them: 64 bits, x fastest, three rows or two, mu within a site."""
    x, y, z, t = lattice
    reals = len(data) // (8 * x * y * z * t * 4)
    numbers = struct.unpack(f">{len(data) // 8}d", data)
    total = 0.0
    for space in range(x * y * z):
        product = [[float(a == b) for b in range(3)] for a in range(3)]
        for time in range(t):
            at = ((time * x * y * z + space) * 4 + 3) * reals
            u = [[complex(numbers[at + 2 * (3 * a + b)], numbers[at + 2 * (3 * a + b) + 1]) for b in range(3)]
                 for a in range(reals // 6)]
            product = [[sum(row[k] * u[k][b] for k in range(3)) for b in range(3)] for row in product]
        total += sum(product[a][a] for a in range(3)) / 3
    return total / (x * y * z)


if __name__ == "__main__":
    unittest.main()
