# SPDX-License-Identifier: BSD-3-Clause
"""The mini-apps with --device gpu, where there is a GPU: figures, verdicts, files, memory."""
import json
import os
import sys
import unittest

from harness import MPIEXEC, NO_MEMORY, PROPAGATOR, SCHEMA, SOLVER, SUCCESS, UNUSABLE, CommandLineTest, run
from json_schema import errors

SCALING = os.environ["PLAQUETTE_DSLASH_SCALING"]
CONFIGURATION = os.environ["PLAQUETTE_MAKE_CONFIGURATION"]
HMC = os.environ["PLAQUETTE_HMC"]

with open(SCHEMA, encoding="utf-8") as schema_file:
    SCHEMA_DOCUMENT = json.load(schema_file)


def gpu_is_there():
    result = run("--device", "gpu", "--lattice", "4x4x4x4", "--gauge", "unit", "--rhs", "1", "--repeat", "0", "--tune",
                 "off")
    return result.status != UNUSABLE, result.err


class GpuTest(CommandLineTest):
    def report(self, program, *arguments, ranks=1):
        result = run("--device", "gpu", *arguments, "--tune-file", self.path("tune.json"), "--protocol-seconds",
                     "0.02,0.02", "--json", self.path("r.json"), "--force", program=program, ranks=ranks)
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        self.assertRegex(result.out.rstrip("\n").split("\n")[-1], r"^VERIFIED   PASSED ")
        document = self.read_json("r.json")
        self.assertEqual(errors(document, SCHEMA_DOCUMENT), [])
        self.assertTrue(document["verified"])
        self.assertNotEqual(document["machine"]["gpu"], "none")
        self.assertIn("cuda", document["machine"]["libraries"])
        return result, document

    def report_of_latencies(self, *arguments, ranks=1):
        result = run("--device", "gpu", "--latency", *arguments, "--json", self.path("l.json"), "--force",
                     program=SCALING, ranks=ranks)
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        document = self.read_json("l.json")
        self.assertEqual(errors(document, SCHEMA_DOCUMENT), [])
        self.assertTrue(all(t["seconds"] > 0 for t in document["latencies"]["transfers"]))
        return result, document

    def assert_figures_of_both_protocols(self, document):
        figures = document["figures"]
        self.assertEqual({f["protocol"] for f in figures}, {"cool", "sustained"})
        for f in figures:
            self.assertEqual(f["device"], "gpu")
            self.assertGreater(f["gflops"], 0)
            self.assertGreater(f["fraction_of_copy"], 0)
            self.assertNotIn("fraction_of_fma_peak", f)
            self.assertIn("seconds", f["gpu"])


class Solver(GpuTest):
    def test_every_mode_is_verified_by_the_reference(self):
        for mode in ["double", "single", "double-single", "double-half", "single-half", "pairs-half"]:
            with self.subTest(mode=mode):
                result, document = self.report(SOLVER, *PROPAGATOR, "--precision", mode, "--check")
                solve = document["solves"][0]
                residual = solve["residual"]
                for which in ["iterated", "device", "reference"]:
                    self.assertLess(residual[which], {"single": 1e-5, "pairs": 1e-11}.get(mode.split("-")[0], 1e-13))
                self.assertIn("gpu", solve)
                self.assertIn("operator, GPU against CPU", [c["name"] for c in document["checks"]])
                self.assertEqual(document["tuning"]["mode"], "on")
                self.assert_figures_of_both_protocols(document)

    def test_correlators_are_those_of_the_cpu(self):
        _, on_gpu = self.report(SOLVER, *PROPAGATOR, "--tol", "1e-12")
        result = run(*PROPAGATOR, "--tol", "1e-12", "--json", self.path("c.json"))
        self.assertEqual(result.status, SUCCESS, result.err)
        on_cpu = self.read_json("c.json")
        for name in ["pion", "rho"]:
            for a, b in zip(on_gpu["observables"][name], on_cpu["observables"][name]):
                self.assertAlmostEqual(a / b, 1.0, delta=1e-9)

    def test_tuning_does_not_change_the_solution(self):
        documents = []
        for tune in ["off", "on", "force"]:
            _, document = self.report(SOLVER, *PROPAGATOR, "--rhs", "3", "--tune", tune)
            self.assertEqual(document["tuning"]["mode"], tune)
            documents.append(document)
        for document in documents[1:]:
            for a, b in zip(documents[0]["solves"][0]["columns"], document["solves"][0]["columns"]):
                self.assertEqual(a["iterations"], b["iterations"])
                self.assertEqual(a["residual"], b["residual"])

    def test_every_gauge_source(self):
        gauge_file = self.path("g.nersc")
        result = run("--device", "gpu", "--lattice", "4x6x2x8", "--sweeps", "2", "--output", gauge_file,
                     program=CONFIGURATION)
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        for gauge in ["unit", "random", "weak:0.1", "heatbath:6.0:2", gauge_file]:
            with self.subTest(gauge=gauge):
                size = [] if gauge == gauge_file else ["--lattice", "4x6x2x8"]
                self.report(SOLVER, *size, "--gauge", gauge, "--mass", "1", "--rhs", "2", "--repeat", "0")

    def test_more_memory_than_the_gpu_has(self):
        result = run("--device", "gpu", "--lattice", "64x64x64x96", "--gauge", "unit", "--batch", "12")
        self.assertEqual(result.status, NO_MEMORY, result.err)
        self.assertIn("needs", result.err)


class DslashScaling(GpuTest):
    def test_every_operator_agrees_with_textbook_and_cpu(self):
        result, document = self.report(SCALING, "--lattice", "4x6x8x8", "--samples", "3", "--check", "--precision",
                                       "double,single,half", "--rhs", "1,5", "--operator", "hopping,clover_schur")
        self.assert_figures_of_both_protocols(document)
        self.assertIn("sustained", document["fom"]["what"])
        names = [c["name"] for c in document["checks"]]
        self.assertIn("hopping even-odd half 18 N=5, adjoint, GPU against CPU", names)
        self.assertIn("sustained", result.out)

    def test_stored_reals_of_a_link(self):
        self.report(SCALING, "--lattice", "4x4x4x8", "--samples", "3", "--precision", "single,half", "--reconstruct",
                    "18,12,8", "--operator", "hopping", "--layout", "even-odd")


    def test_vector_operations(self):
        _, document = self.report(SCALING, "--lattice", "4x6x4x8", "--samples", "3", "--precision", "double,single,half",
                                  "--rhs", "3", "--operator", "axpy,dot,norm2", "--reconstruct", "18,12")
        self.assert_figures_of_both_protocols(document)
        # 3 operations, 2 layouts, 3 precisions, 2 protocols; links are none of their business
        self.assertEqual(len(document["figures"]), 36)
        self.assertEqual({f["reconstruct"] for f in document["figures"]}, {0})

    def test_latencies(self):
        _, document = self.report_of_latencies("--message-limit", "2048")
        kinds = {t["kind"] for t in document["latencies"]["transfers"]}
        for way in ["host_to_device", "device_to_host"]:
            for memory in ["pinned", "pageable"]:
                for call in ["sync", "async"]:
                    self.assertIn(f"{way} {memory} {call}", kinds)
        sizes = sorted({t["bytes"] for t in document["latencies"]["transfers"]})
        self.assertEqual(sizes, [8, 32, 128, 512, 2048])
        self.assertEqual([entry["kind"] for entry in document["latencies"]["launches"]], ["stream", "graph", "waited"])


@unittest.skipUnless(MPIEXEC, "built without MPI")
class SeveralRanks(GpuTest):
    SMALL = ["--lattice", "8x4x4x8", "--samples", "3", "--operator", "hopping", "--layout", "even-odd", "--precision",
             "single,half"]

    def test_every_policy_with_the_overlap_on_and_off(self):
        links = []
        for halo in ["staged", "peer"]:
            for overlap in ["on", "off"]:
                with self.subTest(halo=halo, overlap=overlap):
                    if halo == "peer" and "same GPU" in links:
                        self.skipTest("ranks that share a GPU do not write into each other's memory")
                    _, document = self.report(SCALING, *self.SMALL, "--halo", halo, "--overlap", overlap, "--grid",
                                              "1x1x1x2", "--wait", "block" if halo == "staged" else "spin", ranks=2)
                    links = document["machine"]["gpus"]["ranks"][0]["links"].values()
                    self.assert_halo_of(document, overlap)
                    self.assertEqual({f["halo"]["policy"] for f in document["figures"]}, {halo})

    def assert_halo_of(self, document, overlap):
        for figure in document["figures"]:
            halo = figure["halo"]
            self.assertEqual(figure["ranks"], 2)
            self.assertEqual(halo["overlap"], overlap)
            # two faces of 8 x 4 x 4 / 2 sites, half-spinors of 12 reals of 4 bytes; of half precision 32 bytes
            self.assertEqual(halo["bytes_sent"], 2 * 64 * (48 if figure["precision"] == "single" else 32))
            seconds = figure["seconds"]["median"]
            self.assertAlmostEqual(halo["exposed_seconds"], seconds - halo["seconds_without_communication"])
            self.assertAlmostEqual(halo["hidden_seconds"], halo["seconds_without_overlap"] - seconds)
            self.assertAlmostEqual(halo["hidden_seconds"], halo["exchange_seconds"] - halo["exposed_seconds"])
            if overlap == "off":
                self.assertEqual(halo["hidden_seconds"], 0)

    def test_the_report_has_the_map_of_ranks(self):
        result, document = self.report(SCALING, *self.SMALL, "--grid", "1x2x1x2", "--placement", "bad", ranks=4)
        gpus = document["machine"]["gpus"]
        self.assertEqual(gpus["placement"], "bad")
        self.assertEqual([r["rank"] for r in gpus["ranks"]], [0, 1, 2, 3])
        self.assertTrue(all(len(r["links"]) == 3 for r in gpus["ranks"]))
        self.assertIn("rank 3 on", result.out)
        for remark in gpus["remarks"]:
            self.assertIn(remark, result.out)

    def test_the_same_checks_as_on_one_rank(self):
        values = []
        for ranks, grid in [(1, "1x1x1x1"), (4, "2x1x1x2")]:
            _, document = self.report(SCALING, *self.SMALL, "--grid", grid, "--check", ranks=ranks)
            # (What is timed has inputs of its own: how many stretches come before depends on the halo.)
            values.append({c["name"]: c["value"] for c in document["checks"]
                           if "hopping" in c["name"] and "last timed" not in c["name"]})
        # The same bits on any grid; sums over sites, by which they are compared, agree to rounding.
        for found in values[1:]:
            self.assertEqual(set(found), set(values[0]))
            for name, value in found.items():
                self.assertAlmostEqual(value / values[0][name], 1.0, delta=1e-9, msg=name)

    def test_scalar_products_over_ranks(self):
        _, document = self.report(SCALING, "--lattice", "8x4x4x8", "--samples", "3", "--precision", "half", "--rhs", "3",
                                  "--operator", "axpy,dot,norm2", "--grid", "1x1x1x2", ranks=2)
        for figure in document["figures"]:
            self.assertNotIn("halo", figure)

    def test_latencies_between_ranks(self):
        _, document = self.report_of_latencies("--message-limit", "512", ranks=3)
        kinds = {t["kind"] for t in document["latencies"]["transfers"]}
        self.assertLessEqual({"mpi", "exchange staged"}, kinds)

    def test_a_way_that_is_not_there_is_said_in_a_line(self):
        if "gpu_host_" not in os.path.basename(SCALING):
            self.skipTest("NCCL may be there")
        result = run("--device", "gpu", *self.SMALL, "--grid", "1x1x1x2", "--halo", "nccl", program=SCALING, ranks=2)
        self.assertEqual(result.status, UNUSABLE, result.err)
        ours = [line for line in result.err.split("\n") if line.startswith("plaquette-dslash-scaling: ")]
        self.assertEqual(len(ours), 1, result.err)
        self.assertIn("NCCL", ours[0])


class Options(GpuTest):
    def test_values_that_cannot_be_used(self):
        for program in [SCALING, SOLVER]:
            for option, value in [("--halo", "carrier-pigeon"), ("--halo", ""), ("--wait", "sleep"), ("--overlap", "maybe"),
                                  ("--stall-timeout", "-1"), ("--stall-timeout", "nan"), ("--stall-timeout", "soon")]:
                with self.subTest(program=program, option=option, value=value):
                    result = run("--device", "gpu", option, value, program=program)
                    self.assertEqual(result.status, UNUSABLE, result.err)
                    self.assertEqual(result.err.strip().count("\n"), 0, result.err)
                    self.assertIn(option, result.err)


class HybridMonteCarlo(GpuTest):
    def test_the_flow_of_a_measurement_is_that_of_the_cpu(self):
        start = self.path("start.nersc")
        result = run("--lattice", "4x4x4x8", "--beta", "6", "--sweeps", "10", "--output", start, program=CONFIGURATION)
        self.assertEqual(result.status, SUCCESS, result.err)
        rows = []
        for device in ("cpu", "gpu"):
            history = self.path(device + ".csv")
            result = run("--device", device, "--start", start, "--flavours", "0", "--beta", "6", "--tau", "0.2",
                         "--integrator", "omelyan:2(gauge)", "--trajectories", "1", "--measure-every", "1", "--flow-time", "0.3",
                         "--history", history, program=HMC)
            self.assertEqual(result.status, SUCCESS, result.err + result.out)
            with open(history, encoding="ascii") as file:
                names, values = (line.rstrip("\n").split(",") for line in file)
            rows.append(dict(zip(names, values)))
        for name in ("dh", "rectangle", "charge"):
            self.assertAlmostEqual(float(rows[0][name]), float(rows[1][name]), delta=1e-10, msg=name)
        self.assertNotEqual(float(rows[0]["charge"]), 0.0)
        self.assertEqual(rows[0]["t0"], rows[1]["t0"])


class MakeConfiguration(GpuTest):
    def test_over_relaxation_gives_the_links_of_the_cpu(self):
        start = self.path("start.nersc")
        result = run("--lattice", "4x4x4x8", "--sweeps", "1", "--output", start, program=CONFIGURATION)
        self.assertEqual(result.status, SUCCESS, result.err)
        links = []
        for device in ["cpu", "gpu"]:
            output = self.path(device + ".nersc")
            result = run("--device", device, "--start", start, "--first-sweep", "1", "--sweeps", "2", "--heatbath", "0",
                         "--output", output, program=CONFIGURATION)
            self.assertEqual(result.status, SUCCESS, result.err)
            with open(output, "rb") as file:
                links.append(file.read().split(b"END_HEADER", 1)[1])
        self.assertEqual(links[0], links[1])

    def test_a_heat_bath_has_the_plaquette_of_the_cpu(self):
        plaquettes = []
        for device in ["cpu", "gpu"]:
            result = run("--device", device, "--lattice", "8x8x8x8", "--sweeps", "20", "--beta", "6", "--json",
                         self.path(device + ".json"), program=CONFIGURATION)
            self.assertEqual(result.status, SUCCESS, result.err)
            plaquettes.append(self.read_json(device + ".json")["observables"]["plaquette"])
        # The same random numbers: sweeps agree until rounding, which grows from sweep to sweep, has grown large.
        for a, b in list(zip(*plaquettes))[:3]:
            self.assertAlmostEqual(a, b, delta=1e-9)
        # From then on they are two configurations of one ensemble. A plaquette's average on this lattice fluctuates by
        # 0.002, a difference of two by 0.003; this is six times that.
        for a, b in zip(*plaquettes):
            self.assertAlmostEqual(a, b, delta=0.018)

    def test_a_stopped_run_goes_on_on_its_device_only(self):
        checkpoint = self.path("c.lime")
        arguments = ["--lattice", "4x4x4x4", "--sweeps", "4", "--checkpoint", checkpoint]
        self.assertEqual(run("--device", "gpu", *arguments, program=CONFIGURATION).status, SUCCESS)
        refused = run("--device", "cpu", *arguments, program=CONFIGURATION)
        self.assertEqual(refused.status, UNUSABLE, refused.err)
        self.assertIn("device", refused.err)


if __name__ == "__main__":
    there, why = gpu_is_there()
    if not there:
        print("skipped:", why.strip())
        sys.exit(1 if os.environ.get("PLAQUETTE_REQUIRE_GPU") else 77)
    unittest.main()
