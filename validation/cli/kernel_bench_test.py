# SPDX-License-Identifier: BSD-3-Clause
"""kernel_bench on the host build of the kernels: each kernel is verified, timed and related to a limit; words that are
wrong are named."""
import os
import unittest

import harness
from harness import NO_OUTPUT, SUCCESS, UNUSABLE, CommandLineTest

PROGRAM = os.environ["PLAQUETTE_KERNEL_BENCH"]

#: Words of each bench, and the kernels that it times.
BENCHES = {
    "hopping half 12 try=2 lattice=4x4x4x4": {"hopping"},
    "hopping single 8 2 clover try=2 lattice=4x4x4x4": {"clover"},
    "coarse 8 half 2 lattice=4x4x4x4": {"16 bit"},
    "transfer single half 2 vectors=4 lattice=8x8x8x8": {"restrict", "prolong"},
    "dg maxwell single 2 nodes=0.002 all": {"fused", "gather", "classic", "products"},
    "hermitian double 12 2 clenshaw lattice=4x4x4x4": {"clenshaw"},
    "hermitian half 12 lattice=4x4x4x4": {"H"},
    "basis double 5 3 lattice=4x4x4x4": {"V^+ W", "V Q", "W -= V C"},
    "few-fields half 3 2 lattice=4x4x4x4": {"sum-dot", "sum", "products"},
}


def run(*words):
    return harness.run(*words, program=PROGRAM)


class KernelBench(CommandLineTest):
    def test_each_kernel_is_verified_timed_and_related_to_the_copy(self):
        for words, kernels in BENCHES.items():
            with self.subTest(words=words):
                name = words.replace(" ", "-") + ".json"
                result = run(*words.split(), "json=" + self.path(name))
                self.assertEqual(result.status, SUCCESS, result.out + result.err)
                self.assertTrue(result.last_line().startswith("VERIFIED   PASSED"), result.out)
                report = self.read_json(name)
                self.assertEqual({row["kernel"] for row in report["rows"]}, kernels)
                for row in report["rows"]:
                    self.assertTrue(row["verified"], row)
                    self.assertGreater(row["seconds"], 0)
                    # Of the fewest bytes at 10 GB/s, which stands for the copy of a device here.
                    self.assertGreater(row["fraction_of_copy"], 0)

    def test_words_that_are_wrong_are_named(self):
        for words, expected in (("", "which kernel? Found ''"), ("clover", "Found 'clover'"),
                                ("basis half 4", "PRECISION is double or single, found 'half'"),
                                ("basis single few", "expected a number for VECTORS, found 'few'"),
                                ("hopping single", "expected REALS as word 2"),
                                ("hopping single 12 launch=nothing lattice=4x4x4x4", "no launch of this shape")):
            with self.subTest(words=words):
                result = run(*words.split())
                self.assertEqual(result.status, UNUSABLE, result.out + result.err)
                self.assertIn(expected, result.err)

    def test_a_file_that_cannot_be_written_is_said(self):
        result = run("basis", "single", "2", "1", "lattice=4x4x4x4", "json=" + self.path("no/such/folder.json"))
        self.assertEqual(result.status, NO_OUTPUT, result.out + result.err)


if __name__ == "__main__":
    unittest.main()
