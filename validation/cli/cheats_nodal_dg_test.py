# SPDX-License-Identifier: BSD-3-Clause
"""plaquette-nodal-dg with a fault, which PLAQUETTE_CHEAT names, is not verified; without it, it is."""
import os
import unittest

import harness
from harness import FAILED, MPIEXEC, SUCCESS, CommandLineTest

PROGRAM = os.environ["PLAQUETTE_CHEATING_DG"]
MESHES = os.environ["PLAQUETTE_DG_MESHES"]
DEVICE = os.environ.get("PLAQUETTE_DG_DEVICE", "cpu")
ON_DEVICE = ["--device", "gpu", "--protocol-seconds", "0,0", "--tune=off"] if DEVICE == "gpu" else []
STEPS = "last steps, against the textbook"

EXACT = ("--box", "3x3x3", "--order", "3", "--modes", "1,1,0", "--final-time", "0.5")
AGAIN = "steps made again end in the same states"
PULSE = ("--box", "3x3x3", "--order", "3", "--problem", "pulse", "--pulse-width", "0.4", "--final-time", "0.8")
SPHERE = ("--mesh", harness.unpacked(os.path.join(MESHES, "sphere.msh")), "--order", "2", "--problem", "pulse",
          "--boundaries", "outside:incident", "--pulse-start", "-1.5", "--precision", "single", "--steps", "20")
# More than 1e10 flops: not every step is judged.
LONG = ("--box", "4x4x4", "--order", "4", "--problem", "pulse", "--pulse-width", "0.4", "--boundaries", "default:absorbing",
        "--pulse-start", "-0.5", "--steps", "110")
STANDING = ("--box", "4x4x4", "--order", "4", "--modes", "1,2,1", "--steps", "110")
# Kernels as loops of the host are slow, and stretches are the same host code for both devices: there a few cases do.
CASES = 5 if DEVICE == "cpu" else 1
SPEED = "seconds of a stage from drawn numbers, as a share of 1.5 times the figure's"


class NodalDgCheats(CommandLineTest):
    def failing_of_honest_run(self, arguments, **options):
        """The checks that fail. If that is the trial of speed alone, others used the machine: the run is made again."""
        for _ in range(3):
            failed = self.failing(arguments, **options)
            if failed != [SPEED]:
                break
        return failed

    def failing(self, arguments, cheat="", **options):
        """The checks that fail."""
        settings = {"PLAQUETTE_CHEAT": cheat, "PLAQUETTE_HALF": options.pop("half", "0"),
                    "PLAQUETTE_FLIP": options.pop("flip", "0.5,62")}
        os.environ.update(settings)
        result = harness.run(*arguments, *ON_DEVICE, program=PROGRAM, **options)
        self.assertIn(result.status, (SUCCESS, FAILED), result.out + result.err)
        failed = [line.split("  ")[0] for line in result.out.splitlines() if line.endswith("FAILED")]
        self.assertEqual(bool(failed), result.status == FAILED, result.out)
        self.assertEqual(result.last_line().startswith("VERIFIED   PASSED"), not failed, result.out)
        return failed

    def test_the_honest_program_is_verified(self):
        for arguments in (EXACT, PULSE, SPHERE):
            self.assertEqual(self.failing_of_honest_run(arguments), [])

    def test_steps_that_do_nothing(self):
        for arguments in (EXACT, PULSE, SPHERE):
            self.assertIn(STEPS, self.failing(arguments, "frozen"))

    def test_steps_that_do_nothing_until_they_come_alone(self):
        self.assertIn(AGAIN, self.failing((*PULSE[:-1], "6"), "early-frozen", half="3"))

    def test_fluxes_that_are_halved(self):
        for arguments in (EXACT, PULSE, SPHERE):
            self.assertIn(STEPS, self.failing(arguments, "halved"))

    def test_fluxes_that_are_halved_but_where_a_fixed_sample_would_be(self):
        for arguments in (PULSE, SPHERE):
            self.assertIn(STEPS, self.failing(arguments, "halved-elsewhere"))

    def test_fluxes_that_are_a_little_too_small_in_a_few_steps(self):
        absorbed = (*PULSE[:-2], "--boundaries", "default:absorbing", "--steps", "60")
        self.assertEqual(self.failing(absorbed, "weak", half="1"), ["steps, against right-hand sides"])
        self.assertIn("energy, against what sides and faces take", self.failing(absorbed, "weak-everywhere", half="1"))

    def test_a_time_limit_after_the_last_step(self):
        os.environ.update({"PLAQUETTE_CHEAT": "slow-again", "PLAQUETTE_HALF": "0.79"})
        arguments = (*PULSE[:-1], "0.8", "--checkpoint", self.path("check"), "--energy", self.path("energy"))
        stopped = harness.run(*arguments, *ON_DEVICE, "--time-limit", "4", program=PROGRAM)
        self.assertEqual(stopped.status, harness.INTERRUPTED, stopped.out + stopped.err)
        self.assertIn("at time 0.8, ", stopped.out)
        self.assertEqual(self.failing_of_honest_run(arguments), [])

    def test_a_time_limit_while_files_are_written(self):
        os.environ.update({"PLAQUETTE_CHEAT": "slow-plane"})
        arguments = (*PULSE, "--checkpoint", self.path("check"), "--plane", self.path("plane"), "--plane-at", "z,0.1,16",
                     "--json", self.path("report"))
        stopped = harness.run(*arguments, *ON_DEVICE, "--time-limit", "4", program=PROGRAM)
        self.assertEqual(stopped.status, harness.INTERRUPTED, stopped.out + stopped.err)
        self.assertTrue(os.path.exists(self.path("plane")))
        self.assertEqual(self.failing_of_honest_run(arguments), [])  # the same command goes on, and replaces the files
        again = harness.run(*arguments, "--force", *ON_DEVICE, program=PROGRAM)
        self.assertIn("raise --steps", again.err)  # now it is at its end

    def stopped(self, arguments, cheat, **settings):
        """Runs until the cheat sends a signal."""
        os.environ.update({"PLAQUETTE_CHEAT": cheat, "PLAQUETTE_FLIP": "0.5,50", **settings})
        result = harness.run(*arguments, *ON_DEVICE, program=PROGRAM)
        self.assertEqual(result.status, harness.INTERRUPTED, result.out + result.err)

    def test_steps_that_a_stop_left_unjudged_are_made_again(self):
        short = (*PULSE[:-2], "--dt", "0.02", "--final-time", "0.11", "--shorten-last-step", "--samples", "1", "--energy")
        self.assertEqual(self.failing((*short, self.path("whole"))), [])
        kept = (*short, self.path("parts"), "--checkpoint", self.path("check"))
        self.stopped(kept, "unjudged")
        self.assertEqual(self.failing(kept), [])
        ends = []
        for name in ("whole", "parts"):
            with open(self.path(name), encoding="ascii") as file:
                ends.append(file.read().splitlines()[-1])
        self.assertEqual(*ends)

    def test_a_failure_before_a_stop_is_not_forgotten(self):
        kept = (*PULSE[:-2], "--dt", "0.02", "--checkpoint", self.path("check"), "--steps")
        self.stopped((*kept, "40"), "flip-then-stop", PLAQUETTE_HALF="0.3")
        for steps in ("40", "44"):  # the second one goes on from the end of a run that failed
            self.assertIn(AGAIN, self.failing((*kept, steps)))

    @unittest.skipUnless(MPIEXEC, "built without MPI")
    def test_on_ranks(self):
        self.assertEqual(self.failing_of_honest_run(PULSE, ranks=3), [])
        for cheat in ("frozen", "halved"):
            self.assertIn(STEPS, self.failing(PULSE, cheat, ranks=3))

    def test_stretches_that_are_left_out(self):
        self.assertEqual(self.failing_of_honest_run(LONG), [])
        for cheat in ("selective", "ends")[:CASES]:
            self.assertIn(AGAIN, self.failing(LONG, cheat), cheat)

    @unittest.skipUnless(DEVICE == "cpu", "stretches are the same host code for both devices")
    def test_steps_that_are_left_out_here_and_there_whenever_they_are_made(self):
        self.assertIn("drawn steps, against the textbook", self.failing(LONG, "skips"))

    def test_steps_that_are_made_off_the_clock(self):
        for cheat in ("lazy", "ahead")[:CASES]:
            self.assertIn(SPEED, self.failing(LONG, cheat), cheat)

    @unittest.skipUnless(MPIEXEC and DEVICE == "cpu", "built without MPI, or with kernels as loops")
    def test_stretches_on_ranks(self):
        self.assertIn(AGAIN, self.failing(LONG, "ends", ranks=2))

    def test_bits_that_flip_in_a_long_run(self):
        for place in ("0.7,40", "0.1,62", "0.3,55", "0.5,50", "0.9,20")[:CASES]:
            half = str(0.3 + float(place[:3]))  # somewhere in the middle
            self.assertIn(AGAIN, self.failing(STANDING, "mid-run", half=half, flip=place), place)

    def test_bits_that_flip_during_the_run(self):
        for place in ("0.3,61", "0.1,62", "0.5,50", "0.7,30", "0.9,10")[:2 * CASES]:
            self.assertIn(AGAIN, self.failing(PULSE, "mid-run", half="0.4", flip=place), place)

    def test_bits_that_flip_between_the_steps(self):
        for place in ("0.1,62", "0.5,30", "0.9,0"):
            self.assertIn(AGAIN, self.failing(PULSE, "between", half="0.4", flip=place))

    def test_bits_that_flip_before_they_are_written(self):
        for place in ("0.1,62", "0.5,20", "0.9,0"):
            failed = self.failing((*PULSE, "--plane", self.path("plane"), "--plane-at", "z,0.1,16", "--force"), "output",
                                  flip=place)
            self.assertEqual(failed, ["fields are the bits that were judged"])


if __name__ == "__main__":
    unittest.main()
