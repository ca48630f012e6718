# SPDX-License-Identifier: BSD-3-Clause
"""The memory that --dryrun names is what the run then takes, to 15 per cent; of a chain with quarks to 7."""
import os
import re
import subprocess
import time
import unittest

from harness import SOLVER, SUCCESS, CommandLineTest, command, environment, run

os.environ["PLAQUETTE_COPY_MIB"] = "256"  # as users have it
MAKE_CONFIGURATION = os.environ["PLAQUETTE_MAKE_CONFIGURATION"]
HMC = os.environ["PLAQUETTE_HMC"]
UNITS = {"KiB": 2 ** 10, "MiB": 2 ** 20, "GiB": 2 ** 30}


def estimate(program, arguments):
    out = run(*arguments, "--dryrun", program=program).out
    number, unit = re.search(r"^memory +([\d.]+) (\w+) a rank", out, re.MULTILINE).groups()
    return float(number) * UNITS[unit]


def peak(program, arguments):
    """The most that was resident, and the exit status. The system's own figure for a child, ru_maxrss, begins with what
    this test takes; so the process is watched until its end."""
    most = 0
    with subprocess.Popen(command(arguments, program=program), env=environment(), stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
                of_program = f"Name:\t{os.path.basename(program)[:15]}\n" in (text := status.read())
            if of_program and (found := re.search(r"^VmHWM:\s+(\d+) kB", text, re.MULTILINE)):
                most = 1024 * int(found.group(1))
            time.sleep(0.002)
    return most, process.returncode


class Memory(CommandLineTest):
    def assert_as_estimated(self, program, *arguments, most=0.15):
        with self.subTest(program=os.path.basename(program), arguments=arguments):
            said = estimate(program, arguments)
            taken, status = peak(program, arguments)
            self.assertEqual(status, SUCCESS)
            self.assertLess(abs(taken / said - 1.0), most, f"said {said:.4g} bytes, taken {taken:.4g}")

    def test_of_a_solve(self):
        """Heavy quarks to a coarse tolerance: the fields are those of any solve."""
        solve = ("--gauge", "weak:0.1", "--mass", "1", "--csw", "1", "--tol", "1e-3", "--repeat", "0")
        for precision in ("double", "single", "double-half"):
            self.assert_as_estimated(SOLVER, "--lattice", "8x8x8x8", "--precision", precision, *solve)
        self.assert_as_estimated(SOLVER, "--lattice", "8x8x8x8", "--rhs", "1", *solve)
        self.assert_as_estimated(SOLVER, "--lattice", "16x16x16x16", "--rhs", "3", *solve)
        self.assert_as_estimated(SOLVER, "--lattice", "16x16x16x16", "--rhs", "4", "--precision", "single", *solve)

    def test_of_a_heat_bath(self):
        for lattice in ("8x8x8x8", "16x16x16x16"):
            sweep = ("--lattice", lattice, "--sweeps", "1", "--overrelaxation", "0")
            self.assert_as_estimated(MAKE_CONFIGURATION, *sweep)
            self.assert_as_estimated(MAKE_CONFIGURATION, *sweep, "--start", "hot", "--output", self.path(lattice))
            self.assert_as_estimated(MAKE_CONFIGURATION, *sweep, "--checkpoint", self.path("c" + lattice))

    def test_of_a_chain(self):
        """A short trajectory: fields are those of any. Which operation the judge repeats is drawn: some hold a field more."""
        chain = ("--start", "weak:0.1", "--tau", "0.05", "--trajectories", "1")
        links = (*chain, "--flavours", "0", "--lattice", "16x16x16x16", "--integrator")
        self.assert_as_estimated(HMC, *links, "force-gradient:1(gauge)")
        quarks = (*chain, "--kappa", "0.1", "--lattice", "8x8x8x16")
        self.assert_as_estimated(HMC, *quarks, "--solvers", "cg-double", "--integrator", "omelyan:1(light,gauge)", most=0.07)
        self.assert_as_estimated(HMC, *quarks, "--csw", "1", "--splitting", "0.3", "--solvers", "bicgstab-single",
                                 "--integrator", "omelyan:1(det,light,heavy,gauge)", most=0.07)



if __name__ == "__main__":
    unittest.main()
