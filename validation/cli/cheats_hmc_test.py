# SPDX-License-Identifier: BSD-3-Clause
"""plaquette-hmc that cheats: it fails. The same program passes if PLAQUETTE_CHEAT is not set."""
import os
import unittest
from unittest import mock

from harness import FAILED, MPIEXEC, SUCCESS, CommandLineTest, replaced, run

PROGRAM = os.environ["PLAQUETTE_CHEATING_HMC"]
DEVICE = os.environ.get("PLAQUETTE_CHEATING_DEVICE", "cpu")
ON_DEVICE = [] if DEVICE == "cpu" else ["--device", DEVICE, "--tune", "off"]
LINKS = ["--lattice", "4x4x4x4", "--flavours", "0", "--beta", "5.5", "--start", "heatbath:5.5:5", "--integrator",
         "omelyan:6(gauge)", "--seed", "3", "--force", *ON_DEVICE]
QUARKS = ["--lattice", "4x4x4x4", "--beta", "5.6", "--csw", "1.76", "--kappa", "0.13", "--start", "heatbath:5.6:5",
          "--integrator", "omelyan:4(det,light) omelyan:1(gauge)", "--tau", "0.5", "--trajectories", "1", "--seed", "3",
          "--force", *ON_DEVICE]


#: Kernels that are loops of the host take long: of each kind of cheat one.
on_cpu = unittest.skipUnless(DEVICE == "cpu", "a kind of cheat that another test has on this device")


class HmcCheats(CommandLineTest):
    def run_as(self, cheat, *arguments, **options):
        with mock.patch.dict(os.environ, PLAQUETTE_CHEAT=cheat):
            return run(*arguments, program=PROGRAM, **options)

    def fails(self, cheat, check, *arguments, **options):
        """A check, or each of several, fails."""
        result = self.run_as(cheat, *arguments, **options)
        self.assertEqual(result.status, FAILED, f"{cheat}\n{result.out}{result.err}")
        failed = [line for line in result.out.splitlines() if line.endswith("FAILED")]
        for name in [check] if isinstance(check, str) else check:
            self.assertTrue(any(line.startswith(name) for line in failed), f"{cheat}: {name} is not in {failed}")
        self.assertIn("VERIFIED   FAILED", result.out)

    def passes(self, *arguments, **options):
        result = self.run_as("", *arguments, **options)
        self.assertEqual(result.status, SUCCESS, result.out + result.err)

    def test_honest_runs_pass(self):
        self.passes(*LINKS, "--trajectories", "3")
        self.passes(*QUARKS)

    def test_trajectories_that_were_not_made(self):
        self.fails("no-trajectory", "trajectories whose links moved", *LINKS, "--trajectories", "2")

    @on_cpu
    def test_a_warm_up_that_was_not_made(self):
        warmed = [*replaced(QUARKS, "--integrator", "omelyan:8(det,light) omelyan:2(gauge)"), "--warm-up", "0.12:2"]
        self.passes(*warmed)
        self.fails("no-warm-up", "trajectories of the warm-up that moved no links", *warmed)

    @on_cpu
    def test_a_warm_up_of_other_quarks(self):
        warmed = [*replaced(QUARKS, "--integrator", "omelyan:8(det,light,gauge)"), "--warm-up", "0.12:2"]
        self.passes(*warmed)
        self.fails("other-warm-up", "systems of the heat bath", *warmed)
        self.fails("light-warm-up", "drawn operation of the drawn trajectory", *warmed)

    def test_steps_that_were_not_made(self):
        # With half of six steps |dH| is 61, and the run ends after its first trajectory.
        short_steps = replaced(LINKS, "--integrator", "omelyan:12(gauge)")
        for cheat in ("fewer-steps", "short-tau"):
            self.fails(cheat, "companion: every operation", *short_steps, "--trajectories", "1")

    @on_cpu
    def test_the_dh_of_another_trajectory(self):
        self.fails("other-dh", "trajectories with the dH of another", *LINKS, "--trajectories", "2")

    @on_cpu
    def test_links_that_are_not_put_back(self):
        coarse = [*replaced(LINKS, "--integrator", "leapfrog:3(gauge)"), "--trajectories", "4"]
        self.assertIn("  no  ", self.run_as("", *coarse).out)
        self.fails("always-accept", "trajectories whose links moved", *coarse)

    def test_the_noise_of_another_seed(self):
        self.fails("other-noise", "momenta of the drawn trajectory", *LINKS, "--trajectories", "1")

    @on_cpu
    def test_a_clock_that_goes_half_as_fast(self):
        self.fails("slow-clock", "seconds by two clocks", *LINKS, "--trajectories", "1")

    def test_another_quark(self):
        self.fails("heavier", "systems of the end", *QUARKS)

    def test_a_smaller_twisted_mass(self):
        twisted = replaced(QUARKS, "--twisted-mass", "0.2", "--splitting", "0.4", "--integrator",
                           "omelyan:2(det,light,heavy) omelyan:2(gauge)")
        self.passes(*twisted)
        self.fails("less-twist", "systems of the end", *twisted)

    @on_cpu
    def test_a_smaller_mass_shift(self):
        shifted = [*replaced(QUARKS, "--integrator", "omelyan:2(det,light,heavy) omelyan:2(gauge)"), "--mass-shifts", "0.3"]
        self.passes(*shifted)
        self.fails("less-shift", "systems of the end", *shifted)

    @on_cpu
    def test_forces_that_are_off_or_left_out(self):
        for cheat in ("force", "one-force"):
            self.fails(cheat, "companion: every operation", *QUARKS)

    @unittest.skipUnless(MPIEXEC and DEVICE == "cpu", "one rank")
    def test_ghosts_of_links_that_stay_behind(self):
        short = replaced(QUARKS, "--integrator", "omelyan:2(det,light,gauge)", "--tau", "0.1")
        self.passes(*short, ranks=2)
        self.fails("stale-ghosts", "systems of the end", *short, ranks=2)

    @on_cpu
    def test_a_coarse_operator_of_other_links(self):
        """Solves still end: the links that a piece leads to are others when it is made again."""
        by_multigrid = replaced(QUARKS, "--lattice", "4x4x4x8", "--integrator", "omelyan:4(det,light,gauge)", "--solvers",
                                "multigrid-single")
        self.passes(*by_multigrid)
        self.fails("stale-hierarchy", "links of the drawn trajectory, made again", *by_multigrid)

    @on_cpu
    def test_a_determinant_that_is_left_out(self):
        self.fails("no-determinant", "dH of the drawn trajectory, by the textbook", *QUARKS)

    def test_momenta_that_are_a_hundredth_too_small(self):
        self.fails("small-momenta", "momenta of the drawn trajectory", *LINKS, "--trajectories", "1")

    def test_a_force_that_is_zero_on_a_time_slice(self):
        short = [*LINKS, "--tau", "0.02", "--trajectories", "1"]
        self.fails("one-slice", ("force gauge at 64 drawn links", "companion: force gauge"), *short)

    def test_a_clover_force_without_the_trace_of_what_it_inserts(self):
        self.fails("no-trace", ("force det at 64 drawn links", "force light at 64 drawn links", "companion: force det",
                                "companion: force light"), *QUARKS)

    @on_cpu
    def test_a_dh_that_is_too_large(self):
        self.fails("large-dh", ("dH of the drawn trajectory, by", "<exp(-dH)>", "<dH>", "acceptance"), *LINKS,
                   "--trajectories", "50")
        self.passes(*LINKS, "--trajectories", "50")

    @on_cpu
    def test_the_plaquette_of_another_beta(self):
        known = [*replaced(LINKS, "--beta", "5.7", "--start", "heatbath:5.7:20"), "--trajectories", "75"]
        honest = self.run_as("", *known)
        self.assertEqual(honest.status, SUCCESS, honest.out + honest.err)
        self.assertRegex(honest.out, r"\nplaquette, 0\.559874 by the heat bath, in both errors .* passed")
        self.fails("other-beta", "plaquette, 0.559874 by the heat bath", *known)

    @on_cpu
    def test_one_trajectory_that_is_not_whole(self):
        # Both are judged: they are short.
        self.fails("one-drift", "dH of the drawn trajectory, made again", *LINKS, "--trajectories", "2")

    def test_rejected_trajectories_that_are_left_out(self):
        coarse = [*replaced(LINKS, "--integrator", "leapfrog:3(gauge)"), "--trajectories", "4"]
        self.fails("no-rejected", "lists of the report and lines of the table", *coarse)

    def test_links_of_another_run_in_the_store(self):
        arguments = [*LINKS, "--trajectories", "2", "--store", self.path("store")]
        self.fails("other-links", "links of the store, read again", *arguments)
        going_on = self.run_as("", *replaced(arguments, "--trajectories", "3"))
        self.assertIn("expected the links that the chain left", going_on.err)
        self.fails("other-links", "plaquette of a written configuration", *LINKS, "--trajectories", "2", "--output",
                   self.path("links"), "--save-every", "1", "--format", "ildg")

    @on_cpu
    def test_systems_that_are_not_solved(self):
        self.fails("loose", "systems of the last force", *QUARKS)

    @unittest.skipUnless(MPIEXEC and DEVICE == "cpu", "one rank")
    def test_the_same_on_two_ranks(self):
        self.passes(*LINKS, "--trajectories", "2", ranks=2)
        self.fails("no-trajectory", "trajectories whose links moved", *LINKS, "--trajectories", "2", ranks=2)
        self.fails("heavier", "systems of the end", *QUARKS, ranks=2)
        self.fails("no-trace", "force light at 64 drawn links", *QUARKS, ranks=2)
        self.fails("small-momenta", "momenta of the drawn trajectory", *LINKS, "--trajectories", "1", ranks=2)
        self.fails("one-slice", "force gauge at 64 drawn links", *LINKS, "--tau", "0.02", "--trajectories", "1", ranks=2)
        self.fails("other-links", "links of the store, read again", *LINKS, "--trajectories", "1", "--store", self.path("s"),
                   ranks=2)
        self.fails("no-rejected", "lists of the report", *replaced(LINKS, "--integrator", "leapfrog:3(gauge)"),
                   "--trajectories", "4", ranks=2)


if __name__ == "__main__":
    unittest.main()
