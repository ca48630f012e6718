# SPDX-License-Identifier: BSD-3-Clause
"""plaquette-nodal-dg: verified solutions on any number of ranks, checkpoints, and plain refusals."""
import hashlib
import itertools
import json
import os
import re
import subprocess
import sys
import unittest
import zlib

import harness
from harness import FAILED, INTERRUPTED, MPIEXEC, NO_OUTPUT, SCHEMA, SUCCESS, UNUSABLE, CommandLineTest
from json_schema import errors

PROGRAM = os.environ["PLAQUETTE_NODAL_DG"]
MESHES = os.environ["PLAQUETTE_DG_MESHES"]
SPHERE = harness.unpacked(os.path.join(MESHES, "sphere.msh"))
DEVICE = os.environ.get("PLAQUETTE_DG_DEVICE", "cpu")
ON_DEVICE = ["--device", "gpu", "--protocol-seconds", "0,0", "--tune=off"] if DEVICE == "gpu" else []

#: Of the mesh that make_k15628.py writes: the same file on every machine.
SHA256_OF_K15628 = "4a186312eace4e4a04352e9aed1bba9c1030861f02ff17c04774b700836dece7"


#: What is done on the host alone: meshes and messages. The test of the CPU holds it.
on_host = unittest.skipIf(DEVICE == "gpu", "the same on every device")


def run(*arguments, **options):
    return harness.run(*arguments, *ON_DEVICE, program=PROGRAM, **options)


class NodalDgTest(CommandLineTest):
    SMALL = ("--box", "2x2x2", "--shaking", "0.1", "--order", "3")

    def verified(self, *arguments, **options):
        """The report of a run that is verified, which fits its schema."""
        path = self.path(f"report{len(os.listdir(self.directory))}.json")
        result = run(*arguments, "--json", path, **options)
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        self.assertTrue(result.last_line().startswith("VERIFIED   PASSED"), result.out)
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        with open(SCHEMA, encoding="utf-8") as file:
            self.assertEqual(errors(report, json.load(file)), [])
        return report

    def refused(self, *arguments, status=UNUSABLE):
        result = run(*arguments)
        self.assertEqual(result.status, status, result.err + result.out)
        lines = result.err.rstrip("\n").split("\n")
        self.assertEqual(len(lines), 1, result.err)
        self.assertTrue(lines[0].startswith("plaquette-nodal-dg: "), result.err)
        self.assertNotIn("PASSED", result.out)
        return lines[0]


class Solutions(NodalDgTest):
    def test_every_system_and_problem(self):
        for arguments in (["--equations", "acoustics"], ["--equations", "acoustics", "--flux", "central"],
                          ["--equations", "maxwell", "--modes", "2,0,2"],
                          ["--equations", "maxwell", "--problem", "plane-wave", "--wave-vector", "1,1,0",
                           "--polarisation", "0,0,1"],
                          ["--equations", "acoustics", "--problem", "plane-wave", "--box", "3x3", "--order", "5"],
                          ["--equations", "maxwell-tm", "--box", "3x3", "--order", "6"]):
            for precision in ("single", "double"):
                start = [] if "--box" in arguments else self.SMALL
                report = self.verified(*start, *arguments, "--precision", precision, "--final-time", "0.2")
                names = [c["name"] for c in report["checks"]]
                self.assertIn("solution, against the exact one", names)
                self.assertIn("right-hand side, against the textbook", names)
                self.assertGreater(report["fom"]["value"], 0)
                observed = report["observables"]
                self.assertAlmostEqual(observed["final_time"], 0.2, places=12)
                self.assertAlmostEqual(observed["dt"] * observed["steps"], 0.2, places=12)
                for error in observed["errors"].values():
                    self.assertGreaterEqual(error["max"], 0)

    def test_materials_boundaries_sources_and_probes(self):
        report = self.verified(*self.SMALL, "--equations", "maxwell", "--problem", "pulse", "--pulse-start", "-2",
                               "--media", "0:2.5,1.2", "--boundaries", "1:incident;2:incident;3:absorbing",
                               "--sources", "0.1,0.2,0.3,4,1,1,0.5", "--probe", "0,0.1,0.2;0.5,0.5,0.5", "--steps", "5",
                               "--check")
        self.assertEqual(len(report["observables"]["probes"]), 2)
        self.assertEqual(set(report["observables"]["probes"][0]["fields"]), {"Hx", "Hy", "Hz", "Ex", "Ey", "Ez"})

    def test_the_probe_is_the_solution_there(self):
        report = self.verified("--box", "2x2x2", "--order", "6", "--final-time", "1e-6", "--probe", "0.25,0.5,-0.5", "--modes", "1,0,0")
        import math
        self.assertAlmostEqual(report["observables"]["probes"][0]["fields"]["p"], math.cos(math.pi * 1.25 / 2), places=5)

    def test_meshes_of_gmsh(self):
        report = self.verified("--mesh", os.path.join(MESHES, "box100.msh"), "--order", "4", "--modes", "1,1,0",
                               "--final-time", "0.2")
        self.assertEqual(report["observables"]["elements"], 100)
        self.assertIn("does not fill its box", run("--mesh", SPHERE, "--dryrun").out)
        self.verified("--mesh", SPHERE, "--order", "1", "--problem", "pulse", "--boundaries",
                      "outside:incident;sphere:reflecting", "--pulse-start", "-2", "--steps", "3")

    @on_host
    def test_the_mesh_of_the_page_s_case_is_made_and_used(self):
        maker = os.path.join(MESHES, "make_k15628.py")
        for name in ("k.msh", "again.msh"):
            done = subprocess.run([sys.executable, "-B", maker, self.path(name)], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("k.msh"), "rb") as one, open(self.path("again.msh"), "rb") as other:
            content = one.read()
            self.assertEqual(content, other.read())
        self.assertEqual(hashlib.sha256(content).hexdigest(), SHA256_OF_K15628)
        report = self.verified("--mesh", self.path("k.msh"), "--order", "1", "--equations", "maxwell", "--problem", "standing",
                               "--modes", "2,0,2", "--box-sides=-1,1,-1,1,-1,0.9651", "--steps", "4", "--precision", "single")
        self.assertEqual(report["observables"]["elements"], 15628)
    def test_a_last_step_that_is_shorter(self):
        observed = self.verified(*self.SMALL, "--dt", "0.03", "--final-time", "0.2", "--shorten-last-step")["observables"]
        self.assertEqual(observed["dt"], 0.03)
        self.assertEqual(observed["steps"], 7)
        self.assertAlmostEqual(observed["last_dt"], 0.02, places=12)
        self.assertAlmostEqual(observed["final_time"], 0.2, places=12)

    def test_the_energy_holds_over_any_number_of_steps(self):
        absorbed = ("--problem", "pulse", "--boundaries", "default:absorbing")
        for arguments in (("--box", "3x3x3", "--order", "3", *absorbed, "--steps", "300"),
                          ("--box", "4x4x4", "--order", "2", *absorbed, "--steps", "300"),
                          ("--box", "2x2x2", "--order", "1", "--flux", "central", *absorbed, "--media", "default:1e-6,1e6",
                           "--steps", "300"),
                          ("--box", "3x3x3", "--order", "4", "--steps", "64", "--checkpoint", self.path("check")),
                          ("--box", "3x3x3", "--order", "4", "--steps", "100", "--checkpoint", self.path("check"))):
            checks = {c["name"]: c["value"] for c in self.verified(*arguments)["checks"]}
            self.assertLess(checks["energy, against what sides and faces take"], 1e-14)

    @on_host
    def test_order_1_whose_roundings_are_those_of_the_fluxes(self):
        checks = {c["name"]: c for c in self.verified(
            "--equations", "maxwell", "--order", "1", "--box", "8x8x8", "--problem", "pulse", "--pulse-width", "0.5",
            "--boundaries", "default:absorbing", "--steps", "4", "--check")["checks"]}
        self.assertLess(checks["right-hand side, against the textbook"]["tolerance"], 32 * 2.0 ** -53)

    def test_a_wave_that_has_left_the_mesh_and_one_that_was_never_on_it(self):
        for steps in ("900", "1000"):
            checks = [c["name"] for c in self.verified(
                "--box", "2x2x2", "--order", "3", "--problem", "pulse", "--boundaries", "default:absorbing", "--checkpoint",
                self.path("check"), "--steps", steps)["checks"]]
            self.assertIn("rounding, against what an earlier step changes", checks)
        result = run("--problem", "pulse", "--box", "2x2x2", "--pulse-start", "-5", "--boundaries", "default:incident",
                     "--final-time", "1")
        self.assertEqual(result.status, FAILED, result.out + result.err)
        self.assertIn("what of it is on the mesh", result.last_line())

    def test_an_exact_solution_that_says_nothing_is_no_check(self):
        report = self.verified("--box", "2x2x2", "--order", "2", "--final-time", "10")
        self.assertNotIn("solution, against the exact one", [c["name"] for c in report["checks"]])
        self.assertIn("the exact solution", report["observables"]["no_check"])

    def test_a_state_that_does_not_move_is_not_verified(self):
        for arguments in (["--box", "4x4x4", "--order", "1", "--modes", "8,0,0"],  # nodes see a constant
                          [*self.SMALL, "--problem", "pulse", "--pulse-start", "-30", "--boundaries", "1:incident"]):
            result = run(*arguments, "--steps", "20")
            self.assertEqual(result.status, FAILED, result.out + result.err)
            self.assertIn("what the last steps change", result.last_line())

    @on_host
    def test_periodic_sides_that_are_copies_to_some_digits(self):
        n, off = 2, 1e-12
        def vertex(i, j, k):
            return 1 + i + (n + 1) * (j + (n + 1) * k)
        nodes, elements = [], []
        for k, j, i in itertools.product(range(n + 1), repeat=3):
            x, y, z = (2 * a / n - 1 for a in (i, j, k))
            y += off if (i, j, k) == (n, 1, 1) else 0.0
            nodes.append(f"{vertex(i, j, k)} {x!r} {y!r} {z!r}\n")
        for cell in itertools.product(range(n), repeat=3):
            for order in itertools.permutations(range(3)):
                at, corners = list(cell), [vertex(*cell)]
                for axis in order:
                    at[axis] += 1
                    corners.append(vertex(*at))
                elements.append(f"{len(elements) + 1} 4 2 1 1 {' '.join(map(str, corners))}\n")
        text = (f"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n{len(nodes)}\n{''.join(nodes)}$EndNodes\n"
                f"$Elements\n{len(elements)}\n{''.join(elements)}$EndElements\n$Periodic\n3\n")
        for axis in range(3):
            pairs = []
            for other in itertools.product(range(n + 1), repeat=2):
                high, low = (list(other[:axis]) + [at] + list(other[axis:]) for at in (n, 0))
                pairs.append(f"{vertex(*high)} {vertex(*low)}\n")
            rows = [" ".join("1" if a == b else "0" for b in range(3)) + (" 2" if a == axis else " 0") for a in range(3)]
            text += f"2 {2 * axis + 2} {2 * axis + 1}\nAffine {' '.join(rows)} 0 0 0 1\n{len(pairs)}\n{''.join(pairs)}"
        path = self.path("periodic.msh")
        with open(path, "w", encoding="ascii") as file:
            file.write(text + "$EndPeriodic\n")
        for equations in ("acoustics", "maxwell"):
            checks = {c["name"]: c for c in self.verified(
                "--mesh", path, "--problem", "plane-wave", "--wave-vector", "1,1,0", "--polarisation", "0,0,1", "--order",
                "4", "--equations", equations, "--final-time", "0.2")["checks"]}
            self.assertLess(checks["last steps, against the textbook"]["tolerance"], 1e3 * off)

    def test_refinement_brings_the_rate(self):
        error = [self.verified("--box", "2x2x2", "--order", "2", "--modes", "1,1,1", "--final-time", "0.3", "--refine", n)
                 ["observables"]["errors"]["p"]["l2_fine"] for n in ("0", "1")]
        self.assertGreater(error[0] / error[1], 2 ** 2.6)

    def test_shares_of_the_parts_of_a_stage(self):
        kernel = ["--kernel", "classic"] if DEVICE == "gpu" else []
        shares = self.verified(*self.SMALL, *kernel, "--steps", "4")["figures"][0]["shares"]
        parts = [shares[part] for part in ("volume", "surface", "update")]
        self.assertGreater(min(parts), 0.0)
        self.assertLessEqual(sum(parts), 1.0 + 1e-9)

    def test_states_side_by_side(self):
        report = self.verified(*self.SMALL, "--states", "3", "--steps", "4", "--check")
        self.assertIn("states side by side agree", [c["name"] for c in report["checks"]])

    def test_equal_fields_make_equal_files(self):
        import time
        for name in ("first", "second"):
            self.verified(*self.SMALL, "--steps", "2", "--vtk", self.path(name))
            time.sleep(1.1)  # HDF5 counts seconds
        with open(self.path("first"), "rb") as first, open(self.path("second"), "rb") as second:
            self.assertEqual(first.read(), second.read())

    @unittest.skipUnless(MPIEXEC, "built without MPI")
    def test_ranks_give_the_same_fields(self):
        planes = []
        for ranks in (1, 3):
            plane = self.path(f"plane{ranks}")
            report = self.verified(*self.SMALL, "--equations", "maxwell", "--steps", "6", "--plane", plane, "--plane-at",
                                   "y,0.1,32", "--vtk", self.path(f"fields{ranks}.vtkhdf"), ranks=ranks)
            self.assertEqual(report["parameters"]["ranks"], ranks)
            with open(plane, encoding="ascii") as file:
                planes.append(sorted(file))
        self.assertEqual(planes[0], planes[1])
        self.assertEqual(len(planes[0]), 2 + 32 * 32)


class Checkpoints(NodalDgTest):
    def test_a_run_in_two_parts_ends_where_one_run_does(self):
        arguments = (*self.SMALL, "--dt", "0.002")
        plane = {}
        for name, parts in (("whole", ["12"]), ("parts", ["5", "12"])):
            for steps in parts:
                self.verified(*arguments, "--steps", steps, "--checkpoint", self.path(f"{name}.check"), "--plane",
                              self.path(name), "--force")
            with open(self.path(name), encoding="ascii") as file:
                plane[name] = file.read()
        self.assertEqual(plane["whole"], plane["parts"])
        self.assertIn("continues", run(*arguments, "--steps", "20", "--checkpoint", self.path("parts.check"), "--dryrun").out)

    def test_a_checkpoint_of_another_run_is_refused(self):
        check = self.path("check")
        self.verified(*self.SMALL, "--dt", "0.002", "--steps", "3", "--checkpoint", check)
        self.assertIn("order", self.refused("--box", "2x2x2", "--shaking", "0.1", "--order", "2", "--dt", "0.002",
                                            "--steps", "3", "--checkpoint", check))
        with open(check, "r+b") as file:
            file.seek(-20, 2)
            file.write(b"\x55")
        self.assertIn("checksum", self.refused(*self.SMALL, "--dt", "0.002", "--steps", "5", "--checkpoint", check))
        with open(check, "wb") as file:
            file.write(b"PlaqDG01nothing")
        self.refused(*self.SMALL, "--dt", "0.002", "--steps", "5", "--checkpoint", check)

    def test_the_time_limit_leaves_a_checkpoint(self):
        check = self.path("check")
        arguments = ("--box", "3x3x3", "--order", "3", "--steps", "2000000", "--samples", "10000", "--checkpoint", check,
                     "--checkpoint-every", "10", "--energy", self.path("energy"), "--json", self.path("report"))
        for _ in range(2):  # the run that continues replaces what the stopped one left
            result = run(*arguments, "--time-limit", "2")
            self.assertEqual(result.status, INTERRUPTED, result.err + result.out)
        self.assertIn("continues", run(*arguments, "--dryrun").out)

    @on_host
    def test_a_checkpoint_knows_the_mesh_by_its_content(self):
        check, mesh = self.path("check"), self.path("q.msh")
        with open(os.path.join(MESHES, "box100.msh"), encoding="ascii") as file:
            text = file.read()
        with open(mesh, "w", encoding="ascii") as file:
            file.write(text)
        arguments = ("--order", "2", "--problem", "pulse", "--dt", "0.002", "--checkpoint", check)
        self.verified("--mesh", mesh, *arguments, "--steps", "3")
        other_name = os.path.join(os.path.dirname(mesh), ".", "again.msh")
        with open(other_name, "w", encoding="ascii") as file:
            file.write(text)
        self.verified("--mesh", other_name, *arguments, "--steps", "6")
        self.assertIn("content", self.refused("--mesh", mesh, *arguments, "--steps", "9", "--refine", "1"))
        self.assertIn("content", self.refused("--mesh", mesh, *arguments, "--steps", "9", "--boundaries", "1:absorbing"))
        lines = text.split("\n")
        begin = lines.index("$Nodes")
        vertex = next(i for i in range(begin + 2, lines.index("$EndNodes"))  # one inside the box
                      if all(abs(float(x)) < 0.9 for x in lines[i].split()[1:]))
        number, x, y, z = lines[vertex].split()
        lines[vertex] = f"{number} {float(x) + 0.01} {y} {z}"
        with open(mesh, "w", encoding="ascii") as file:
            file.write("\n".join(lines))
        self.assertIn("content", self.refused("--mesh", mesh, *arguments, "--steps", "9"))

    def test_a_checkpoint_at_the_end_of_the_run(self):
        check = self.path("check")
        arguments = (*self.SMALL, "--checkpoint", check)
        self.verified(*arguments, "--steps", "10")
        for steps in ("5", "10"):
            self.assertIn("10 steps", self.refused(*arguments, "--steps", steps))
        report = self.verified(*arguments, "--steps", "12")
        self.assertEqual(report["observables"]["steps"], 12)

    def test_a_checkpoint_with_impossible_numbers(self):
        check = self.path("check")
        arguments = (*self.SMALL, "--problem", "pulse", "--checkpoint", check)
        self.verified(*arguments, "--steps", "10")
        with open(check, "rb") as file:
            written = file.read()
        length = int.from_bytes(written[8:16], "little")
        state = json.loads(written[25:16 + length])

        def refused(**changes):
            text = json.dumps({**state, **changes}).encode()
            text = b"%08x\n" % zlib.crc32(text) + text
            with open(check, "wb") as file:
                file.write(written[:8] + len(text).to_bytes(8, "little") + text + written[16 + length:])
            return self.refused(*arguments, "--steps", "20")
        for key, values in (("time", (-1, 0, 1e300, 2 * state["time"], state["time"] * (1 + 1e-12))), ("dt", (-1, 0, 1e300)),
                            ("steps_done", (-1, 9, 10**13)), ("energy", ([], 3, [[0, None]], [[2, 1], [1, 1]], [[1e9, 1]]))):
            for value in values:
                message = refused(**{key: value})
                self.assertIn(check, message)
                self.assertIn(key if key == "energy" else "expected", message)
        for value in (1, [1], [["name", 1]], [[1, 1, 1]], [["name", "1", 1]]):
            self.assertIn("failures", refused(failures=value))
        self.assertIn("stable", refused(dt=100 * state["dt"], time=100 * state["time"]))
        self.assertIn("media", self.refused(*self.SMALL[:-2], "--order", "3", "--problem", "pulse", "--checkpoint", check,
                                            "--media", "default:2,1", "--steps", "20"))

    def test_a_signal_is_heeded(self):
        import signal
        import subprocess
        import time
        check = self.path("check")
        box, order = ("4x4x4", "5") if DEVICE == "cpu" else ("3x3x3", "3")  # loops of the host are slower
        arguments = ("--box", box, "--order", order, "--steps", "2000000", "--samples", "2", "--checkpoint", check,
                     "--checkpoint-every", "20", "--json", self.path("report"))
        for ranks in (1, 2) if MPIEXEC else (1,):
            command = [PROGRAM, *arguments, *ON_DEVICE]
            if ranks > 1:
                command = [MPIEXEC, "-n", str(ranks), *command]
            before = os.stat(check).st_mtime_ns if os.path.exists(check) else 0
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            while process.poll() is None and not (os.path.exists(check) and os.stat(check).st_mtime_ns > before):
                time.sleep(0.05)
            time.sleep(1)
            process.send_signal(signal.SIGUSR1)
            start = time.monotonic()
            out, err = process.communicate(timeout=100)
            self.assertEqual(process.returncode, INTERRUPTED, out + err)
            self.assertLess(time.monotonic() - start, 10 if ranks > 1 else 5)  # 2 on a machine without other work
            self.assertIn("VERIFIED   FAILED", out)

    @on_host
    def test_a_stop_while_a_large_mesh_is_made(self):
        import signal
        import time
        arguments = ("--mesh", SPHERE, "--problem", "pulse", "--boundaries", "outside:incident",
                     "--refine", "3", "--order", "1", "--steps", "10", "--json", self.path("report"))  # takes 5 s
        for ranks in (1, 2) if MPIEXEC else (1,):
            start = time.monotonic()
            result = run(*arguments, "--time-limit", "0.4", ranks=ranks)
            self.assertLess(time.monotonic() - start, 0.4 + harness.two_seconds())
            self.assertEqual(result.status, INTERRUPTED, result.err + result.out)
            self.assertIn("stopped by the time limit of 0.4 s during the making of the mesh", result.err)
        process = subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(0.7)
        process.send_signal(signal.SIGTERM)
        start = time.monotonic()
        out, err = process.communicate(timeout=100)
        self.assertLess(time.monotonic() - start, harness.two_seconds())
        self.assertEqual(process.returncode, INTERRUPTED, out + err)
        self.assertFalse(os.path.exists(self.path("report")))

    @on_host
    def test_a_mesh_that_does_not_fit_is_refused_before_it_is_refined(self):
        result = run("--mesh", SPHERE, "--problem", "pulse", "--boundaries",
                     "outside:incident", "--refine", "6")
        self.assertEqual(result.status, harness.NO_MEMORY, result.err + result.out)
        self.assertIn("the mesh, refined, needs", result.err)


class Refusals(NodalDgTest):
    def test_arguments(self):
        for arguments, word in ((["--order", "11"], "--order"), (["--box", "2x2x2x2"], "NxNxN"), (["--box", "0x2x2"], "--box"),
                                (["--equations", "maxwell", "--box", "2x2"], "maxwell-tm"),
                                (["--modes", "0,0,0"], "wave number"),
                                (["--equations", "maxwell", "--modes", "0,0,1"], "cavity mode"),
                                (["--problem", "plane-wave", "--wave-vector", "0.5,0,0"], "whole waves"),
                                (["--boundaries", "roof:absorbing"], "no group 'roof'"),
                                (["--boundaries", "1:open"], "reflecting, absorbing or incident"),
                                (["--media", "0:1,-1"], "--media"), (["--media", "default:1e300,1e300"], "have a speed"),
                                (["--probe", "5,5,5", "--steps", "1"], "outside the mesh"),
                                (["--sources", "9,9,9,0,1,1,1"], "outside the mesh"), (["--plane-at", "w,1"], "--plane"),
                                (["--plane", self.path("plane"), "--plane-at", "x,1.5"], "through the mesh"),
                                (["--box-sides", "1,0,0,1,0,1"], "below its high side"),
                                (["--mesh", self.path("absent.msh")], "absent.msh")):
            self.assertIn(word, self.refused(*arguments), arguments)

    @on_host
    def test_hostile_meshes(self):
        with open(os.path.join(MESHES, "box100.msh"), "rb") as file:
            whole = file.read()
        path = self.path("cut.msh")
        with open(path, "wb") as file:
            file.write(whole[:len(whole) // 2])
        self.assertIn("cut.msh", self.refused("--mesh", path))
        flat = self.path("flat.msh")
        with open(flat, "w", encoding="ascii") as file:
            file.write("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n3\n1 0 0 0\n2 1 0 0\n3 0 1 0\n$EndNodes\n"
                       "$Elements\n1\n1 2 2 1 1 1 2 3\n$EndElements\n")
        self.assertIn("expected tetrahedra", self.refused("--equations", "maxwell", "--mesh", flat))

    # Two boxes of triangles, left (x < 0) and right, with groups of sides 1 "in", 2 "Wände", 3 "sheet" inside.
    GROUPS = ('$PhysicalNames\n5\n1 1 "in"\n1 2 "Wände"\n1 3 "sheet"\n2 7 "low"\n2 8 "high"\n$EndPhysicalNames\n')
    NODES = [(-1, 0), (0, 0), (1, 0), (-1, 1), (0, 1), (1, 1)]
    SIDES = {(1, 4): 1, (1, 2): 2, (2, 3): 2, (3, 6): 2, (4, 5): 2, (5, 6): 2, (2, 5): 3}
    TRIANGLES = [(1, 2, 5, 7), (1, 5, 4, 7), (2, 3, 6, 8), (2, 6, 5, 8)]

    def mesh(self, name, groups=GROUPS, sides=SIDES, triangles=TRIANGLES, more_sides=()):
        lines = [f"1 2 {g} {g} {a} {b}" for (a, b), g in [*sides.items(), *more_sides]]
        lines += [f"2 2 {g} {g} {a} {b} {c}" for a, b, c, g in triangles]
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n" + groups + f"$Nodes\n{len(self.NODES)}\n")
            file.writelines(f"{i + 1} {x} {y} 0\n" for i, (x, y) in enumerate(self.NODES))
            file.write(f"$EndNodes\n$Elements\n{len(lines)}\n")
            file.writelines(f"{i + 1} {line}\n" for i, line in enumerate(lines))
            file.write("$EndElements\n")
        return path

    def energy(self, mesh, *boundaries):
        arguments = ["--mesh", mesh, "--order", "3", "--problem", "pulse", "--pulse-start", "-1", "--steps", "10", "--dt", "0.01"]
        report = self.verified(*arguments, *(["--boundaries", ";".join(boundaries)] if boundaries else []))
        return report["observables"]["energy"]["end"], report["observables"].get("mesh_remarks", [])

    @on_host
    def test_sides_without_a_known_group(self):
        whole = self.mesh("whole.msh")
        walls, remarks = self.energy(whole)
        self.assertEqual(remarks, ["mesh: 1 face of group 'sheet' inside: waves pass there"])
        open_sides = self.energy(whole, "Wände:absorbing", "in:incident")[0]
        self.assertGreater(abs(open_sides - walls), 1e-3 * walls)
        without = self.mesh("without.msh", sides={key: g for key, g in self.SIDES.items() if key != (3, 6)})
        unknown = self.mesh("unknown.msh", sides={**self.SIDES, (3, 6): 9})
        hole = self.mesh("hole.msh", sides={key: g for key, g in self.SIDES.items() if key != (5, 6)}, triangles=self.TRIANGLES[:3])
        for path, word in ((without, "1 side in no group"), (unknown, "1 side in group 9"), (hole, "in no group")):
            for arguments in ([], ["--boundaries", "in:incident"]):
                message = self.refused("--mesh", path, "--steps", "2", *arguments)
                for part in (word, os.path.basename(path), "--boundaries default:reflecting"):
                    self.assertIn(part, message)
        for path in (without, unknown):
            self.assertEqual(self.energy(path, "in:incident", "default:absorbing")[0], open_sides)
            self.assertEqual(self.energy(path, "default:reflecting")[0], walls)
        self.assertEqual(self.energy(unknown, "9:absorbing", "Wände:absorbing", "in:incident")[0], open_sides)
        self.assertIn("found two", self.refused("--mesh", whole, "--boundaries", "in:incident;1:absorbing"))

    @on_host
    def test_a_cavity_in_a_mesh_without_groups(self):
        number = lambda x, y: 5 * y + x + 1
        triangles = [t for x in range(4) for y in range(4) for t in
                     ((number(x, y), number(x + 1, y), number(x + 1, y + 1)), (number(x, y), number(x + 1, y + 1), number(x, y + 1)))]
        for name, missing, status in (("whole.msh", 0, SUCCESS), ("dent.msh", 1, SUCCESS), ("hole.msh", 11, UNUSABLE)):
            path = self.path(name)
            kept = [t for i, t in enumerate(triangles) if not missing or i != missing]
            with open(path, "w", encoding="ascii") as file:
                file.write("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n25\n")
                file.writelines(f"{i + 1} {i % 5} {i // 5} 0\n" for i in range(25))
                file.write(f"$EndNodes\n$Elements\n{len(kept)}\n")
                file.writelines(f"{i + 1} 2 2 0 1 {a} {b} {c}\n" for i, (a, b, c) in enumerate(kept))
                file.write("$EndElements\n")
            arguments = ("--mesh", path, "--problem", "pulse", "--pulse-start", "2", "--order", "2", "--steps", "3")
            if status == SUCCESS:
                self.assertEqual(self.verified(*arguments)["observables"]["mesh_remarks"], ["mesh: no groups of sides: all reflect"])
            else:
                self.assertIn("hole.msh: no groups of sides, and a cavity inside", self.refused(*arguments))
                self.verified(*arguments, "--boundaries", "default:absorbing")

    @on_host
    def test_sides_of_two_groups(self):
        two = self.mesh("two.msh", more_sides=[((1, 4), 2)])
        self.assertIn("'in' and 'Wände' are given two different values",
                      self.refused("--mesh", two, "--boundaries", "in:incident;Wände:absorbing"))
        whole = self.mesh("whole.msh")
        self.assertEqual(self.energy(two, "in:incident")[0], self.energy(whole, "in:incident")[0])
        self.assertEqual(self.energy(two, "Wände:absorbing")[0], self.energy(whole, "in:absorbing", "Wände:absorbing")[0])
        media = self.mesh("media.msh", triangles=[*self.TRIANGLES, (2, 3, 6, 7)])
        self.assertIn("overlap", self.refused("--mesh", media))  # of another entity

    @on_host
    def test_groups_inside_and_elements_without_one(self):
        whole = self.mesh("whole.msh")
        self.assertIn("group 'sheet' lies inside: waves pass its 1 face;", self.refused("--mesh", whole, "--boundaries", "sheet:absorbing"))
        self.assertIn("no group 'roof'; it has in, Wände, sheet", self.refused("--mesh", whole, "--boundaries", "roof:absorbing"))
        path = self.mesh("media.msh", triangles=[*self.TRIANGLES[:3], (2, 6, 5, 0)])
        self.energy(path)
        self.assertIn("1 element in no group", self.refused("--mesh", path, "--problem", "pulse", "--media", "low:1,1;high:2,1"))
        self.verified("--mesh", path, "--problem", "pulse", "--media", "low:1,1;high:2,1;default:2,1", "--steps", "2", "--order", "2")

    @on_host
    def test_periodic_sides_that_differ_by_rounding(self):
        """Double precision takes sides that differ by what files round: one side is moved onto the other."""
        for error in (0, 2e-13, 1e-9):
            path = self.path(f"periodic{error}.msh")
            nodes = [(x + (error * (y + 0.3) if x == 3 else 0), y) for y in range(4) for x in range(4)]
            nodes = [(x, y + (error * (x + 0.7) if y == 3 else 0)) for x, y in nodes]
            number = lambda x, y: 4 * y + x + 1
            triangles = [t for x in range(3) for y in range(3) for t in
                         ((number(x, y), number(x + 1, y), number(x + 1, y + 1)), (number(x, y), number(x + 1, y + 1), number(x, y + 1)))]
            with open(path, "w", encoding="ascii") as file:
                file.write("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n16\n")
                file.writelines(f"{i + 1} {x!r} {y!r} 0\n" for i, (x, y) in enumerate(nodes))
                file.write("$EndNodes\n$Elements\n18\n")
                file.writelines(f"{i + 1} 2 2 1 1 {a} {b} {c}\n" for i, (a, b, c) in enumerate(triangles))
                file.write("$EndElements\n$Periodic\n2\n1 2 1\n4\n")
                file.writelines(f"{number(3, i)} {number(0, i)}\n" for i in range(4))
                file.write("1 4 3\n4\n")
                file.writelines(f"{number(i, 3)} {number(i, 0)}\n" for i in range(4))
                file.write("$EndPeriodic\n")
            self.verified("--mesh", path, "--problem", "plane-wave", "--order", "5", "--final-time", "0.5")

    @on_host
    def test_outputs_that_exist(self):
        plane = self.path("plane")
        with open(plane, "w", encoding="ascii") as file:
            file.write("mine")
        self.refused(*self.SMALL, "--steps", "1", "--plane", plane, status=NO_OUTPUT)

    @on_host
    def test_dry_run(self):
        result = run(*self.SMALL, "--dryrun")
        self.assertEqual(result.status, SUCCESS)
        for word in ("mesh", "steps", "work", "memory"):
            self.assertIn(word, result.out)
        self.assertNotIn("VERIFIED", result.out)

    @on_host
    def test_dry_run_of_a_large_mesh_does_not_make_it(self):
        lines = dict(line.split(None, 1) for line in run("--box", "2x2x2", "--refine", "6", "--dryrun").out.splitlines())
        self.assertRegex(lines["mesh"], f"^{48 * 8 ** 6} tetrahedra, .*estimated")
        coarse, fine = (run("--box", "8x8x8", "--refine", n, "--dryrun").out for n in ("2", "4"))
        stable = [float(re.search(r"; (\S+) is stable", out).group(1)) for out in (coarse, fine)]
        self.assertAlmostEqual(stable[0] / stable[1], 4.0, places=4)

    def test_an_unstable_step(self):
        line = self.refused(*self.SMALL, "--dt", "0.2", "--steps", "40")
        stable = float(re.search(r"at most (\S+), the largest stable step", line).group(1))
        self.verified(*self.SMALL, "--dt", str(0.98 * stable), "--steps", "100")

    def test_nothing_to_do(self):
        self.assertIn("--final-time", self.refused(*self.SMALL, "--final-time", "0"))


if __name__ == "__main__":
    unittest.main()
