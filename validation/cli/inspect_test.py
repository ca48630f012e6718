# SPDX-License-Identifier: BSD-3-Clause
"""plaquette-inspect: files of each kind are told apart by content; damaged ones and strangers are refused."""
import glob
import os
import re
import signal
import struct
import unittest
import zlib

from harness import (FAILED, INTERRUPTED, MPIEXEC, SUCCESS, UNUSABLE, CommandLineTest, GaugeFile, children, ended,
                     open_boundary_file, read_until, run, start)

INSPECT = os.environ["PLAQUETTE_INSPECT"]
MESHES = os.environ["PLAQUETTE_DG_MESHES"]


class Inspect(CommandLineTest):
    def inspect(self, path, *more, **options):
        return run(path, *more, program=INSPECT, **options)

    def test_a_gauge_file(self):
        file = GaugeFile()
        path = self.write("links", file.bytes())
        for ranks in (1, 2) if MPIEXEC else (1,):
            result = self.inspect(path, ranks=ranks)
            self.assertEqual(result.status, SUCCESS, result.err)
            for words in ("kind       gauge configuration, NERSC", "lattice    4x4x2x4", "64 bits, big-endian", ", as claimed",
                          f"plaquette  {file.plaquette():.11f}"[:-1], "from SU(3)", "no sign folded"):
                self.assertIn(words, result.out)
            self.assertEqual(result.out.count("kind"), 1)
        result = self.inspect(self.write("open", open_boundary_file()))
        self.assertEqual(result.status, SUCCESS, result.err)
        self.assertIn("openQCD", result.out)
        self.assertIn("open in time: links there are zero", result.out)

    def test_the_flow_of_a_gauge_file(self):
        path = self.write("links", GaugeFile().bytes())
        for ranks in (1, 2) if MPIEXEC else (1,):
            result = self.inspect(path, "--flow", "0.1:0.03", ranks=ranks)
            self.assertEqual(result.status, SUCCESS, result.err)
            self.assertRegex(result.out, r"flow +t +t\^2 E +charge\n +0\.000 +0\.0+ +-?\d+\.\d+\n +0\.030 ")
            self.assertRegex(result.out, r"\n +0\.100 .*\nt0 ")
        for flow in ("0", "-1", "1:0", "x", "1:1e-9", "nan", "1:"):
            self.assertEqual(self.inspect(path, "--flow", flow).status, UNUSABLE, flow)
        self.assertEqual(self.inspect(path, "--flow").status, UNUSABLE)

    def test_links_alone_and_links_a_little_off(self):
        file = GaugeFile()
        data = file.data()
        path = self.write("links.lime", struct.pack(">IHHQ128s", 0x456789ab, 1, 0xc000, len(data), b"ildg-binary-data") + data)
        result = self.inspect(path)
        self.assertEqual((result.status, "--lattice" in result.err), (UNUSABLE, True), result.err)
        result = self.inspect(path, "--lattice", "4x4x2x4")
        self.assertEqual(result.status, SUCCESS, result.err)
        self.assertIn(f"plaquette  {file.plaquette():.11f}"[:-1], result.out)
        self.assertEqual(self.inspect(path, "--lattice", "4x4x4x4").status, UNUSABLE)
        file = GaugeFile()
        file.links[40][1][0] = [(1 + 1e-9) * v for v in file.links[40][1][0]]
        path = self.write("off", file.bytes())
        self.assertIn("--reunitarise", self.inspect(path).err)
        result = self.inspect(path, "--reunitarise", "--flow", "0.02")
        self.assertEqual(result.status, SUCCESS, result.err)
        self.assertIn("remark     re-unitarised: 1 links", result.out)
        file.links[40][1][0] = [v * (1 + 1e-12) / (1 + 1e-9) for v in file.links[40][1][0]]
        result = self.inspect(self.write("drifted", file.bytes()), "--flow", "0.02")
        self.assertEqual(result.status, SUCCESS, result.err)
        self.assertIn("remark     1 links were up to", result.out)

    def test_a_signal_ends_the_flow(self):
        path = self.write("links", GaugeFile().bytes())
        for ranks in (1, 2) if MPIEXEC else (1,):
            with start(path, "--flow", "1000", program=INSPECT, ranks=ranks) as process:
                out = read_until(process, "boundary ")
                os.kill((children(process.pid) or [process.pid])[-1] if ranks > 1 else process.pid, signal.SIGTERM)
                result = ended(process, out)
            self.assertEqual(result.status, INTERRUPTED, result.err)
            self.assertIn("stopped by signal 15 (Terminated) during the gradient flow", result.err)

    def test_a_gauge_file_that_claims_another_plaquette(self):
        file = GaugeFile()
        file.header["PLAQUETTE"] = "0.900000000000"
        result = self.inspect(self.write("links", file.bytes()))
        self.assertEqual(result.status, FAILED, result.out + result.err)
        self.assertIn("claimed    0.9", result.out)

    def test_meshes(self):
        paths = sorted(glob.glob(os.path.join(MESHES, "*.msh")))
        self.assertTrue(paths)
        for path in paths:
            result = self.inspect(path)
            self.assertEqual(result.status, SUCCESS, result.err)
            self.assertRegex(result.out, r"kind       mesh of Gmsh, [23] dimensions\nelements   [1-9]")
            steps = re.search(r"\nsteps      stable at speed 1, orders 1 to 8: (.*)\n", result.out).group(1).split(", ")
            self.assertEqual(steps, sorted(steps, key=float, reverse=True))
            self.assertEqual(len(steps), 8)
            self.assertRegex(result.out, r"quality    0\.\d+ mean, 0\.\d+ worst")

    def test_a_propagator_and_a_checkpoint(self):
        small = ["--lattice", "4x4x4x4", "--gauge", "weak:0.2", "--mass", "0.3", "--repeat", "0"]
        result = run(*small, "--propagator", self.path("p.h5"), "--checkpoint", self.path("c.h5"))
        self.assertEqual(result.status, SUCCESS, result.err)
        result = self.inspect(self.path("p.h5"))
        self.assertEqual(result.status, SUCCESS, result.err)
        self.assertIn("kind       propagator\ndata       /propagator 4x4x4x4", result.out.replace("12x4x4x4x4", "4x4x4x4"))
        lime = run(*small, "--propagator", self.path("p.lime"))
        self.assertEqual(lime.status, SUCCESS, lime.err)
        result = self.inspect(self.path("p.lime"))
        self.assertEqual(result.status, SUCCESS, result.err)
        self.assertRegex(result.out, r"kind       propagator, LIME\nlattice    4x4x4x4\nsum \|S\|\^2     0 ")
        result = self.inspect(self.path("c.h5"))
        self.assertEqual(result.status, SUCCESS, result.err)
        self.assertIn("kind       checkpoint of plaquette-mixed-precision-solver", result.out)

    def test_what_a_stopped_run_has_left(self):
        text = b'{"files":["a.h5"]}'
        result = self.inspect(self.write("c.stopped", b"%08x\n" % zlib.crc32(text) + text))
        self.assertEqual(result.status, SUCCESS, result.err)
        self.assertIn("kind       what a stopped run of this suite has left", result.out)
        result = self.inspect(self.write("c.stopped", b"%08x\n" % (zlib.crc32(text) ^ 1) + text))
        self.assertEqual(result.status, UNUSABLE, result.out)
        self.assertIn("c.stopped", result.err)

    def test_what_a_damaged_file_leaves_open_in_hdf5_is_no_second_line(self):
        small = ["--lattice", "4x4x4x4", "--gauge", "weak:0.2", "--mass", "0.3", "--repeat", "0"]
        self.assertEqual(run(*small, "--propagator", self.path("p.h5")).status, SUCCESS)
        with open(self.path("p.h5"), "rb") as file:
            data = bytearray(file.read())
        double = bytes.fromhex("11203f0008000000")  # the beginning of this type: its version, which is made another
        data[data.index(double, data.index(double) + 1)] ^= 0xf0  # of the imaginary part
        result = self.inspect(self.write("d.h5", bytes(data)))
        self.assertEqual(result.status, UNUSABLE, result.out)
        self.assertEqual(result.err.count("\n"), 1, result.err)
        self.assertIn("d.h5", result.err)

    def test_what_is_damaged_or_unknown(self):
        data = bytearray(GaugeFile().bytes())
        data[-9] ^= 1
        for path in (self.write("flipped", bytes(data)), self.write("none", b"hello"), self.write("empty", b""),
                     self.path("absent"), self.write("dg", b"PlaqDG01"), self.write("h5", b"\x89HDF\r\n\x1a\nxx"),
                     self.write("mesh.msh", b"$MeshFormat\n9 9 9\n")):
            result = self.inspect(path)
            self.assertEqual(result.status, UNUSABLE, path + result.out + result.err)
            self.assertEqual(result.err.count("\n"), 1, result.err)
        self.assertEqual(run(program=INSPECT).status, UNUSABLE)
        self.assertEqual(run("--help", program=INSPECT).status, SUCCESS)


if __name__ == "__main__":
    unittest.main()
