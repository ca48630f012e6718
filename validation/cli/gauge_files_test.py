# SPDX-License-Identifier: BSD-3-Clause
"""Gauge files that cannot be trusted: each is refused with one line that names it, what was expected, what was found."""
import math
import os
import struct
import unittest

from harness import MPIEXEC, SUCCESS, UNUSABLE, CommandLineTest, GaugeFile, open_boundary_file, run

FAST = ["--mass", "0.3", "--rhs", "1", "--repeat", "0"]


class GoodFile(CommandLineTest):
    def test_is_read_and_its_plaquette_is_that_of_an_independent_program(self):
        gauge = GaugeFile()
        path = self.write("good.nersc", gauge.bytes())
        result = run("--gauge", path, "--json", self.path("r.json"), *FAST)
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        report = self.read_json("r.json")["gauge"]
        self.assertAlmostEqual(report["plaquette"], gauge.plaquette(), delta=1e-13)
        self.assertAlmostEqual(report["link_trace"], gauge.link_trace(), delta=1e-13)
        self.assertEqual(report["source"], path)

    def test_is_recognised_by_its_content_not_its_name(self):
        path = self.write("misleading.lime", GaugeFile().bytes())
        self.assertEqual(run("--gauge", path, *FAST).status, SUCCESS)

    def test_is_found_from_where_the_user_stands(self):
        self.write("here.nersc", GaugeFile().bytes())
        self.assertEqual(run("--gauge", "here.nersc", *FAST, cwd=self.directory).status, SUCCESS)

    def test_with_open_boundaries_is_solved_as_it_stands_and_a_remark_says_so(self):
        result = run("--gauge", self.write("open", open_boundary_file()), "--mass", "0.3", "--rhs", "1", "--repeat", "0")
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        self.assertIn("remark     open boundaries", result.out)


class UnusualFile(CommandLineTest):
    """Valid, but something is left out or otherwise: read with a remark, in print and in the report."""

    def remarked(self, path, *words, arguments=()):
        result = run("--gauge", path, "--json", self.path("r.json"), "--force", *FAST, *arguments)
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        report = self.read_json("r.json")
        for word in words:
            self.assertTrue(any(word in line for line in report["gauge"]["remarks"]), report["gauge"]["remarks"])
            self.assertIn(word, "".join(line for line in result.out.splitlines(True) if line.startswith("remark")))
        return report

    def test_a_nersc_file_without_a_precision(self):
        gauge = GaugeFile()
        gauge.header = {"FLOATING_POINT": None}
        self.remarked(self.write("milc.nersc", gauge.bytes()), "FLOATING_POINT")

    def test_antiperiodic_links(self):
        gauge = GaugeFile()
        plaquette = gauge.plaquette()
        last = gauge.lattice[0] * gauge.lattice[1] * gauge.lattice[2] * (gauge.lattice[3] - 1)
        for site in gauge.links[last:]:
            site[3] = [[-v for v in row] for row in site[3]]
        report = self.remarked(self.write("folded.nersc", gauge.bytes()), "antiperiodic")
        self.assertAlmostEqual(report["gauge"]["plaquette"], plaquette, delta=1e-13)

    def test_a_lime_file_without_a_format_needs_the_lattice(self):
        data = GaugeFile().data()
        record = struct.pack(">IHHQ128s", 0x456789ab, 1, 0xc000, len(data), b"ildg-binary-data") + data
        path = self.write("bare.lime", record)
        self.assert_refused(run("--gauge", path, *FAST), UNUSABLE, "bare.lime", "--lattice")
        self.remarked(path, "--lattice", arguments=["--lattice", "4x4x2x4"])

    def test_links_a_little_off_su3_are_reunitarised(self):
        gauge = GaugeFile()
        gauge.links[40][1][0] = [(1 + 1e-9) * v for v in gauge.links[40][1][0]]
        path = self.write("off.nersc", gauge.bytes())
        self.assert_refused(run("--gauge", path, *FAST), UNUSABLE, "off.nersc", "--reunitarise")
        report = self.remarked(path, "re-unitarised", arguments=["--reunitarise"])
        self.assertEqual(report["gauge"]["reunitarised"]["links_off"], 1)
        self.assertAlmostEqual(report["gauge"]["reunitarised"]["distance_before"], 2e-9, delta=1e-11)
        self.assertLess(report["gauge"]["distance_from_su3"], 1e-14)
        self.assert_refused(run("--gauge", "unit", "--reunitarise", *FAST), UNUSABLE, "--reunitarise", "file")

    def test_links_that_updates_left_off_su3_are_taken_back(self):
        for excess in (1e-12, 4e-11):
            gauge = GaugeFile()
            gauge.links[40][1][0] = [(1 + excess) * v for v in gauge.links[40][1][0]]
            report = self.remarked(self.write("drifted.nersc", gauge.bytes()), "as updates in double precision leave them")
            self.assertEqual(report["gauge"]["reunitarised"]["links_off"], 1)
            self.assertAlmostEqual(report["gauge"]["reunitarised"]["distance_before"] / (2 * excess), 1.0, delta=0.01)
            self.assertEqual(report["gauge"]["reunitarised"]["limit"], 1e-10)
            self.assertLess(report["gauge"]["distance_from_su3"], 1e-14)

    def test_links_far_off_su3_are_not(self):
        gauge = GaugeFile()
        gauge.links[40][1][0] = [(1 + 1e-5) * v for v in gauge.links[40][1][0]]
        path = self.write("off.nersc", gauge.bytes())
        self.assert_refused(run("--gauge", path, "--reunitarise", *FAST), UNUSABLE, "off.nersc", "SU(3)")


class FileOfTwoFormats(CommandLineTest):
    """Constant links close in openQCD's order and in DDalphaAMG's, and are other fields in each."""

    def constant(self, extents_as_stored, turns=(0.1, 0.2, 0.3, 0.4)):
        data = struct.pack("<4i", *extents_as_stored) + struct.pack("<d", 3.0)
        links = b""
        for angle in turns:
            for i in range(3):
                for j in range(3):
                    phase = [angle, -2.5 * angle, 1.5 * angle][i]
                    links += struct.pack("<2d", *((math.cos(phase), math.sin(phase)) if i == j else (0.0, 0.0)))
        return data + links * math.prod(extents_as_stored)

    def test_is_decided_by_the_lattice_where_that_differs(self):
        path = self.write("constant", self.constant((4, 6, 2, 4)))
        for lattice, name in [("4x2x6x4", "DDalphaAMG"), ("6x2x4x4", "openQCD")]:
            result = run("--gauge", path, "--lattice", lattice, "--json", self.path("r.json"), "--force", *FAST)
            self.assertEqual(result.status, SUCCESS, result.err + result.out)
            self.assertEqual(self.read_json("r.json")["gauge"]["format"], name)
        self.assert_refused(run("--gauge", path, *FAST), UNUSABLE, "constant", "openQCD", "DDalphaAMG")

    def test_is_refused_where_nothing_decides(self):
        path = self.write("constant", self.constant((4, 4, 4, 4)))
        for arguments in [[], ["--lattice", "4x4x4x4"]]:
            self.assert_refused(run("--gauge", path, *arguments, *FAST), UNUSABLE, "constant", "openQCD", "DDalphaAMG")

    def test_is_read_where_it_does_not_matter(self):
        path = self.write("unit", self.constant((4, 4, 4, 4), turns=(0.0, 0.0, 0.0, 0.0)))
        self.assertEqual(run("--gauge", path, *FAST).status, SUCCESS)


class BadFile(CommandLineTest):
    @classmethod
    def setUpClass(cls):
        cls.good = GaugeFile()
        cls.whole = cls.good.bytes()

    def refused(self, data, *words, arguments=()):
        path = self.write("bad.gauge", data)
        self.assert_refused(run("--gauge", path, *FAST, *arguments), UNUSABLE, "bad.gauge", *words)

    def with_header(self, **changes):
        gauge = GaugeFile()
        gauge.header = changes
        return gauge.bytes()

    def test_truncated_anywhere(self):
        header = self.whole.index(b"END_HEADER\n") + len(b"END_HEADER\n")
        end = len(self.whole)
        for length in [0, 1, 5, 12, 13, 40, header // 2, header - 1, header, header + 1, header + 7, header + 8,
                       (header + end) // 2, end - 8, end - 1]:
            with self.subTest(length=length):
                self.refused(self.whole[:length])

    def test_longer_than_it_says(self):
        self.refused(self.whole + b"\0" * 8)

    def test_header_that_lies_about_the_size(self):
        for changes in [{"DIMENSION_4": 8}, {"DIMENSION_1": 2}, {"DIMENSION_4": 2 ** 31}, {"DIMENSION_2": -4},
                        {"DIMENSION_3": 0}, {"DIMENSION_3": "two"}, {"DIMENSION_1": None}]:
            with self.subTest(changes=changes):
                self.refused(self.with_header(**changes))

    def test_header_that_lies_about_the_numbers(self):
        for changes in [{"FLOATING_POINT": "IEEE32BIG"}, {"FLOATING_POINT": "IEEE64LITTLE"},
                        {"FLOATING_POINT": "PDP11"}, {"DATATYPE": "4D_SU3_GAUGE"},
                        {"DATATYPE": "5D_U1"}, {"DATATYPE": None}]:
            with self.subTest(changes=changes):
                self.refused(self.with_header(**changes))

    def test_wrong_checksum(self):
        self.refused(self.with_header(CHECKSUM="deadbeef"), "checksum", "deadbeef")

    def test_one_bit_flipped(self):
        data = bytearray(self.whole)
        data[-1000] ^= 1
        self.refused(bytes(data), "checksum")

    def test_wrong_plaquette(self):
        self.refused(self.with_header(PLAQUETTE="0.5"), "plaquette", "0.5")

    def test_wrong_link_trace(self):
        self.refused(self.with_header(LINK_TRACE="0.1"), "0.1")

    def test_nan_with_a_right_checksum(self):
        gauge = GaugeFile()
        gauge.links[17][2][1][0] = complex(float("nan"), 0.0)
        self.refused(gauge.bytes())

    def test_infinity_with_a_right_checksum(self):
        gauge = GaugeFile()
        gauge.links[3][0][2][2] = complex(0.0, float("inf"))
        self.refused(gauge.bytes())

    def test_one_link_off_su3_with_everything_else_right(self):
        gauge = GaugeFile()
        gauge.links[40][1][0][0] += 1e-9
        self.refused(gauge.bytes(), "SU(3)")

    def test_links_all_scaled(self):
        gauge = GaugeFile()
        gauge.links = [[[[2 * v for v in row] for row in u] for u in site] for site in gauge.links]
        self.refused(gauge.bytes(), "SU(3)")

    def test_another_lattice_than_was_asked_for(self):
        self.refused(self.whole, "4x4x4x8", "4x4x2x4", arguments=["--lattice", "4x4x4x8"])

    def test_other_things(self):
        self.refused(b"This is not a gauge configuration.\n" * 100)
        self.refused(b"\0" * 4096)
        self.refused(b"\xff" * 4096)
        self.refused(b"BEGIN_HEADER\n" * 2000)
        self.refused(struct.pack(">4i", 4, 4, 4, 4) + b"\0" * 100)

    def test_no_file(self):
        for path in [self.path("absent"), self.directory, os.path.join(self.directory, "x", "y")]:
            with self.subTest(path=path):
                self.assert_refused(run("--gauge", path, *FAST), UNUSABLE, path)

    def test_a_name_with_control_characters(self):
        self.assert_refused(run("--gauge", self.path("two\nlines"), *FAST), UNUSABLE, "two\\x0alines")

    @unittest.skipUnless(MPIEXEC, "built without MPI")
    def test_several_ranks_say_it_once(self):
        gauge = GaugeFile(lattice=(4, 4, 2, 4))
        gauge.links[-1][3][0][0] += 0.5  # the last rank's part
        path = self.write("bad.gauge", gauge.bytes())
        result = run("--gauge", path, *FAST, ranks=2)
        self.assertEqual(result.status, UNUSABLE, result.err)
        ours = [line for line in result.err.split("\n") if line.startswith("plaquette-mixed-precision-solver: ")]
        self.assertEqual(len(ours), 1, result.err)


if __name__ == "__main__":
    unittest.main()
