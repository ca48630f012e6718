# SPDX-License-Identifier: BSD-3-Clause
"""Official classes: a run of one says whether it keeps to it, in print and in the report; --help of every program."""
import json
import math
import os
import re
import unittest

from harness import SUCCESS, UNUSABLE, CommandLineTest, run

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
APPS = os.environ["PLAQUETTE_PROGRAMS"]
OFFICIAL = ["mixed-precision-solver", "multigrid", "dslash-scaling", "overlap-propagator", "nodal-dg", "hmc"]
#: What makes a run of nano quick, and leaves the class as it is.
QUICK = {"mixed-precision-solver": ["--repeat", "1"], "multigrid": ["--trials", "0", "--modes", "0", "--reference", "none"],
         "dslash-scaling": ["--samples", "3", "--operator", "hopping", "--layout", "even-odd"],
         "overlap-propagator": ["--scheme", "preconditioned"], "nodal-dg": ["--steps", "10", "--samples", "2"], "hmc": []}
#: What does not, and how the verdict names it.
OFF = {"mixed-precision-solver": (["--tol", "0.9", "--rhs", "1"], "rhs 1, tolerance 0.9"),
       "multigrid": (["--lattice", "4x4x4x4"], "lattice 4x4x4x4"),
       "dslash-scaling": (["--precision", "single", "--seed", "2"], "seed 2, headline hopping even-odd single 18 N=1"),
       "overlap-propagator": (["--masses", "0.2,0.4", "--tol", "1e-6"], "masses [0.2,0.4], tolerance 1e-06"),
       "nodal-dg": (["--box", "2x2x2", "--order", "2"], "order 2, box 2x2x2"),
       "hmc": (["--beta", "5.5", "--trajectories", "1"], "beta 5.5, trajectories 1")}

with open(os.path.join(ROOT, "common", "app", "classes.json"), encoding="utf-8") as ladder:
    CLASSES = json.load(ladder)


def program(app):
    return os.path.join(APPS, app, "plaquette-" + app)


class RunClass(CommandLineTest):
    def report(self, app, *arguments):
        result = run("--size", "nano", *QUICK[app], *arguments, "--json", self.path("r.json"), "--force", program=program(app))
        self.assertEqual(result.status, SUCCESS, result.out + result.err)
        return result.out.rstrip("\n").split("\n"), self.read_json("r.json")

    def test_a_run_of_its_class_conforms(self):
        for app in OFFICIAL:
            with self.subTest(app=app):
                lines, document = self.report(app)
                self.assertEqual(lines[-3], "CLASS nano CONFORMS")
                self.assertEqual({k: v for k, v in document["class"].items() if k != "work_seconds"},
                                 {"name": "nano", "memory": "medium", "conforms": True, "why": "",
                                  "version": CLASSES["programs"][app].get("version", 1)})
                self.assertGreater(document["class"]["work_seconds"], 0)

    def test_another_problem_does_not(self):
        for app, (options, why) in OFF.items():
            with self.subTest(app=app):
                lines, document = self.report(app, *options)
                self.assertEqual(lines[-3], f"CLASS nano DOES NOT ({why})")
                self.assertEqual((document["class"]["conforms"], document["class"]["why"]), (False, why))

    def test_steps_are_regions_of_a_profiler_that_is_loaded(self):
        os.environ["LD_PRELOAD"] = os.environ["PLAQUETTE_FAKE_CALIPER"]
        self.addCleanup(os.environ.pop, "LD_PRELOAD", None)
        result = run("--size", "nano", "--repeat", "0")
        regions = [line.split(" ", 1) for line in result.err.splitlines() if line.startswith(("begin ", "end "))]
        self.assertGreaterEqual(len(regions), 4, result.err)
        self.assertEqual([name for _, name in regions[::2]], [name for _, name in regions[1::2]])
        self.assertEqual({word for word, _ in regions[::2]}, {"begin"})

    def test_another_lattice_than_that_of_a_size_is_not_called_so(self):
        for arguments in (["--size", "target", "--lattice", "4x4x4x4"], ["--lattice", "4x4x4x4"], ["--size", "target"]):
            for app in ("mixed-precision-solver", "overlap-propagator"):
                out = run(*arguments, "--dryrun", program=program(app)).out
                self.assertEqual(bool(re.search(r"\nlattice +\S+ \(\w+\),", out)), "--lattice" not in arguments, out)

    def test_a_run_of_no_class_says_nothing_of_one(self):
        result = run("--lattice", "4x4x4x4", "--gauge", "weak:0.2", "--mass", "0.3", "--rhs", "1", "--repeat", "0")
        self.assertNotIn("CLASS", result.out)

    def test_each_class_is_eight_times_the_one_before(self):
        for of in (lambda name: CLASSES["lattices"][name], lambda name: self.lattice("overlap-propagator", name)):
            sizes = [of(name) for name in ("device", "node", "rack", "system", "exa")]
            for small, large in zip(sizes, sizes[1:]):
                self.assertEqual(math.prod(large), 8 * math.prod(small))
        boxes = [CLASSES["programs"]["nodal-dg"][name]["box"] for name in ("device", "node", "rack", "system", "exa")]
        for small, large in zip(boxes, boxes[1:]):
            self.assertEqual(math.prod(large), 8 * math.prod(small))

    @staticmethod
    def lattice(app, name):
        return CLASSES["programs"][app].get(name, {}).get("lattice", CLASSES["lattices"][name])

    def test_links_of_another_distribution_do_not_conform(self):
        """A program that leaves the heat bath out, and whose solves are then verified and fast."""
        conforms = r"^CLASS nano (CONFORMS|DOES NOT \(.*\))$"
        for cheat, words in (("", "CONFORMS"), ("cold", "DOES NOT (plaquette 1.000000 in place of 0.5953)"),
                             ("weak", "in place of 0.5953)")):
            with self.subTest(cheat=cheat):
                os.environ["PLAQUETTE_CHEAT"] = cheat
                self.addCleanup(os.environ.pop, "PLAQUETTE_CHEAT", None)
                result = run("--size", "nano", "--repeat", "1", program=os.environ["PLAQUETTE_FLIPPED_LINKS_SOLVER"])
                found = re.search(conforms, result.out, re.MULTILINE)
                self.assertTrue(found and words in found.group(1), result.out + result.err)

    def test_every_class_can_be_looked_at_before_it_runs(self):
        for app in OFFICIAL[:4]:
            for name in CLASSES["classes"]:
                if name == "nano":
                    continue
                for memory, factor in CLASSES["memory"].items():
                    with self.subTest(app=app, name=name, memory=memory):
                        result = run("--size", name, "--memory", memory, "--dryrun", program=program(app))
                        self.assertEqual(result.status, SUCCESS, result.err)
                        *space, time = self.lattice(app, name)
                        self.assertIn("x".join(map(str, [*space, int(factor * time)])), result.out)

    def test_memory_belongs_to_a_class(self):
        for arguments in (["--memory", "small"], ["--size", "small", "--memory", "small"]):
            result = run(*arguments, "--dryrun")
            self.assertEqual(result.status, UNUSABLE)
            self.assertIn("--memory: expected --size", result.err)


class Help(CommandLineTest):
    def test_is_at_most_100_columns_wide_and_has_three_examples(self):
        for app in [*OFFICIAL, "make-configuration", "inspect"]:
            with self.subTest(app=app):
                if not os.path.exists(program(app)):
                    self.skipTest("not built")
                text = run("--help", program=program(app)).out
                self.assertLessEqual(max(map(len, text.split("\n"))), 100, max(text.split("\n"), key=len))
                examples = text[text.index("\nExamples:\n"):].split("\n")[2:5]
                for line in examples:
                    self.assertRegex(line, f"^  (mpirun -n 4 )?plaquette-{app} ")
                self.assertIn("\nExit status: ", text)

    def test_defaults_are_those_that_a_run_takes(self):
        for app in OFFICIAL[:4]:
            shown = dict(re.findall(r"--(lattice|gauge) \S+=(\S+)", run("--help", program=program(app)).out.replace("FILE|", "")))
            out = run("--dryrun", program=program(app)).out
            for key, value in shown.items():
                self.assertRegex(out, rf"\n{key} +{re.escape(value)}[ ,\n]")

    def test_examples_of_the_classes_are_taken(self):
        for app in OFFICIAL:
            text = run("--help", program=program(app)).out
            for line in text[text.index("\nExamples:\n"):].split("\n")[2:5]:
                if "--gauge" in line or "--mesh" in line or "--device gpu" in line:
                    continue  # files and devices that are not here
                result = run(*line.split()[1:], "--dryrun", program=program(app))
                self.assertEqual(result.status, SUCCESS, line + result.err)

    def test_a_mistyped_option_is_guessed(self):
        for typed, meant in (("--latice", "--lattice"), ("--tolerence=1", None), ("--gague", "--gauge"), ("--masss", "--mass"),
                             ("--rsh", "--rhs"), ("--zzzzzz", None)):
            with self.subTest(typed=typed):
                result = run(typed, "1")
                self.assertEqual(result.status, UNUSABLE)
                if meant:
                    self.assertIn(f"did you mean {meant}?", result.err)
                else:
                    self.assertNotIn("did you mean", result.err)
                self.assertEqual(result.err.count("\n"), 1)


class MassOfAFile(CommandLineTest):
    def test_must_be_given(self):
        for app in ("mixed-precision-solver", "multigrid"):
            result = run("--gauge", os.path.join(ROOT, "data", "beta6.0_6x6x6x12.nersc"), "--dryrun", program=program(app))
            self.assertEqual(result.status, UNUSABLE, result.out)
            self.assertIn("expected --kappa or --mass with it, found none", result.err)


if __name__ == "__main__":
    unittest.main()
