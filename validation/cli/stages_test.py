# SPDX-License-Identifier: BSD-3-Clause
"""Signals and the time limit in each stage of a run: it ends within two seconds, with status 6 and a verdict that says
so. The programs are the honest ones, and one object that sends the signal when a stage begins (cheats/at_stage.cpp)."""
import os
import time
import unittest

from harness import INTERRUPTED, SUCCESS, CommandLineTest, run, two_seconds


PROGRAMS = {
    "solver": (os.environ["PLAQUETTE_STAGED_MIXED_PRECISION_SOLVER"],
               ["--lattice", "4x8x8x8", "--gauge", "heatbath:6:3", "--mass", "0.3", "--csw", "1", "--repeat", "2", "--check",
                "--precision", "double-single"]),
    "dslash-scaling": (os.environ["PLAQUETTE_STAGED_DSLASH_SCALING"],
                       ["--lattice", "4x8x8x8", "--gauge", "heatbath:6:3", "--samples", "5", "--operator",
                        "hopping,clover_schur,dot"]),
    "make-configuration": (os.environ["PLAQUETTE_STAGED_MAKE_CONFIGURATION"],
                           ["--lattice", "4x8x8x8", "--sweeps", "30", "--measure-every", "5"]),
}

#: Stages that are over when all work is done: a signal there finds nothing to leave out.
LAST = ("writing", "the comparison of speeds")


class Stages(CommandLineTest):
    def staged(self, program, arguments, **settings):
        for name, value in settings.items():
            os.environ["PLAQUETTE_STAGE" + ("_" + name if name else "")] = str(value)
        try:
            return run(*arguments, program=program)
        finally:
            for name in settings:
                os.environ.pop("PLAQUETTE_STAGE" + ("_" + name if name else ""))

    def stages_of(self, program, arguments):
        log = self.path("stages")
        result = self.staged(program, arguments, LOG=log)
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        with open(log, encoding="utf-8") as file:
            found = list(dict.fromkeys(line.rstrip("\n") for line in file))
        os.remove(log)
        return found

    def test_each_ends_in_two_seconds(self):
        for name, (program, arguments) in PROGRAMS.items():
            for number, stage in enumerate(self.stages_of(program, arguments)):
                # Both are heard in one place: each stage gets one of them, the first ones both.
                for event in ("15", "limit") if number < 3 else (("15", "limit")[number % 2],):
                    with self.subTest(program=name, stage=stage, event=event):
                        if stage.startswith(LAST):
                            continue
                        mark = self.path("mark")
                        limit = ["--time-limit", "10000"] if event == "limit" else []
                        result = self.staged(program, [*arguments, *limit], **{"": stage, "EVENT": event, "MARK": mark})
                        now = time.time()
                        self.assertEqual(result.status, INTERRUPTED, result.err + result.out)
                        self.assertTrue(result.last_line().startswith("VERIFIED   FAILED"), result.out)
                        with open(mark, encoding="ascii") as file:
                            self.assertLess(now - float(file.read()), two_seconds())


if __name__ == "__main__":
    unittest.main()
