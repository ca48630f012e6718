# SPDX-License-Identifier: BSD-3-Clause
"""A bit of a link flips between the judgement of the configuration and the solver's operators: the run says so."""
import os
import unittest

from harness import FAILED, SUCCESS, CommandLineTest, run

SOLVER = os.environ["PLAQUETTE_FLIPPED_LINKS_SOLVER"]
ARGUMENTS = ["--lattice", "4x4x4x4", "--gauge", "weak:0.2", "--mass", "0.3", "--rhs", "1", "--repeat", "0"]


class FlippedLinks(CommandLineTest):
    def test_the_honest_program_passes(self):
        result = run(*ARGUMENTS, program=SOLVER)
        self.assertEqual(result.status, SUCCESS, result.out + result.err)

    def test_a_flipped_bit_fails_the_run(self):
        self.addCleanup(os.environ.pop, "PLAQUETTE_CHEAT", None)
        # Sites of the interior, whose links are no other site's ghosts: (1,1,1,1), (2,1,1,1), (2,1,2,1), ...
        for place in ("85:0:0:0", "170:3:17:0", "86:1:5:20", "102:2:8:40", "150:0:0:51", "169:3:2:63"):
            with self.subTest(place=place):
                os.environ["PLAQUETTE_CHEAT"] = place
                result = run(*ARGUMENTS, program=SOLVER)
                self.assertEqual(result.status, FAILED, result.out + result.err)
                self.assertTrue(any("links are the bits" in line for line in result.out.splitlines()
                                    if line.endswith("FAILED")), result.out)

    def test_a_flipped_bit_of_a_face_is_seen_at_once(self):
        """Operators compare the ghosts of the links with their neighbours' links."""
        self.addCleanup(os.environ.pop, "PLAQUETTE_CHEAT", None)
        os.environ["PLAQUETTE_CHEAT"] = "0:0:0:0"
        result = run(*ARGUMENTS, program=SOLVER)
        self.assertNotIn("PASSED", result.out)
        self.assertIn("ghosts", result.err)


if __name__ == "__main__":
    unittest.main()
