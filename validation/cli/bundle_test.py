# SPDX-License-Identifier: BSD-3-Clause
"""What runs a bundle of GPU programs (../support/run_bundle.sh), on made-up programs, GPUs and mpirun. Which programs
run on how many ranks, what they find in their environment, what is left out, the verdict."""
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

RUN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "run_bundle.sh")
#: All that the script calls, and this Python, which may be another on the PATH, or a script that looks for it. The PATH
#: has nothing else, so that a test says whether there is an mpirun, or a GPU.
TOOLS = {tool: shutil.which(tool) for tool in
         "awk basename bash cat date dirname env grep head mktemp nproc realpath rm sed sleep tee timeout".split()}
TOOLS["python3"] = os.path.realpath(sys.executable)

PASSING = """echo "ranks=${FAKE_RANKS-none} $*"
echo "root=${OMPI_ALLOW_RUN_AS_ROOT-} nvls=${NCCL_NVLS_ENABLE-} required=${PLAQUETTE_REQUIRE_GPU-} threads=$OMP_NUM_THREADS"
echo "libraries=${LD_LIBRARY_PATH-}"
echo '[  PASSED  ] 3 tests.'
"""
FAILING = "echo '[  FAILED  ] 1 test, listed below:'; exit 1\n"
#: Says how many ranks there are to one process, which is enough for what is tested.
MPIRUN = '[[ $1 == --bind-to && $2 == none && $3 == -n ]] || exit 99; export FAKE_RANKS=$4; shift 4; exec "$@"\n'


class Bundle(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="plaquette-bundle-")
        self.addCleanup(shutil.rmtree, self.directory, True)
        for folder in ("bin", "cli", "tools"):
            os.mkdir(os.path.join(self.directory, folder))
        shutil.copy(RUN, os.path.join(self.directory, "run"))
        self.write("bundle.txt", "bundle     made up\n")
        for tool, program in TOOLS.items():
            os.symlink(program, os.path.join(self.directory, "tools", tool))
        self.script("tools/mpirun", MPIRUN)
        self.script("bin/gpu_blas", PASSING)
        self.script("bin/mpi_gpu_dirac", PASSING)

    def write(self, name, text):
        with open(os.path.join(self.directory, name), "w", encoding="utf-8") as file:
            file.write(text)

    def script(self, name, text):
        self.write(name, "#!/usr/bin/env bash\n" + text)
        os.chmod(os.path.join(self.directory, name), stat.S_IRWXU)

    def gpus(self, count):
        self.script("tools/nvidia-smi",
                    f'[[ $1 != -L ]] || for ((i = 0; i < {count}; ++i)); do echo "GPU $i: made up"; done\n')

    def run_bundle(self, *arguments, **variables):
        environment = {"PATH": os.path.join(self.directory, "tools"), "HOME": self.directory, **variables}
        result = subprocess.run([os.path.join(self.directory, "run"), *arguments], env=environment, text=True, timeout=60,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return result.returncode, result.stdout

    def log(self):
        with open(os.path.join(self.directory, "test.log"), encoding="utf-8") as file:
            return file.read()

    def test_programs_of_several_gpus_run_on_1_2_4_of_those_there_are(self):
        self.gpus(5)
        status, out = self.run_bundle()
        self.assertEqual(status, 0, out)
        names = [line.split()[0] for line in out.splitlines() if " passed " in line and " s " in line]
        self.assertEqual(names, ["gpu_blas", "mpi_gpu_dirac.1_ranks", "mpi_gpu_dirac.2_ranks", "mpi_gpu_dirac.4_ranks"])
        for ranks in (1, 2, 4):
            self.assertIn(f"ranks={ranks} --ranks={ranks} --gtest_color=no", self.log())
        self.assertEqual(self.log().count("ranks=none --gtest_color=no"), 1)
        self.assertIn("4 programs, 12 tests passed, 0 failed, 0 skipped\nTESTS      PASSED\n", out)

    def test_programs_find_their_environment(self):
        self.gpus(2)
        os.makedirs(os.path.join(self.directory, "packages", "nvidia", "nccl", "lib"))
        self.write("packages/nvidia/nccl/lib/libnccl.so.2", "")
        packages = os.path.join(self.directory, "packages")
        status, out = self.run_bundle(PYTHONPATH=packages, LD_LIBRARY_PATH="/nowhere", OMP_NUM_THREADS="3")
        self.assertEqual(status, 0, out)
        self.assertEqual(self.log().count("root=1 nvls=0 required=1 threads=3"), 3)
        self.assertEqual(self.log().count(f"libraries=/nowhere:{packages}/nvidia/nccl/lib\n"), 3)

    def test_fewer_gpus_than_ranks_are_said_and_no_failure(self):
        self.gpus(1)
        status, out = self.run_bundle()
        self.assertEqual(status, 0, out)
        self.assertRegex(out, r"mpi_gpu_dirac\.1_ranks +3 passed")
        self.assertRegex(out, r"mpi_gpu_dirac\.2_ranks +not run: 2 GPUs are needed, 1 found")
        self.assertRegex(out, r"mpi_gpu_dirac\.4_ranks +not run: 4 GPUs are needed, 1 found")
        self.assertIn("2 programs, 6 tests passed, 0 failed, 0 skipped; 2 programs not run\nTESTS      PASSED\n", out)

    def test_gpus_that_are_hidden_do_not_count(self):
        self.gpus(4)
        for hidden, most in (("2,3", 2), ("1", 1)):
            _, out = self.run_bundle(CUDA_VISIBLE_DEVICES=hidden)
            self.assertIn(f"not run: 4 GPUs are needed, {most} found", out)

    def test_each_ladder_is_climbed(self):
        self.script("bin/plaquette-ladder-gpu", "[[ $1 != dg-gpu ]]\n")
        status, out = self.run_bundle("--only", "^ladder")
        self.assertEqual(status, 1, out)
        self.assertIn("3 programs", out)
        self.assertIn("FAILED   (ladder.dg-gpu)", out)

    def test_without_mpirun_they_are_skipped(self):
        self.gpus(4)
        os.remove(os.path.join(self.directory, "tools", "mpirun"))
        self.write("cli/gpu_solver_ranks_test.py", "raise SystemExit(1)\n")
        status, out = self.run_bundle()
        self.assertEqual(status, 0, out)
        self.assertEqual(out.count("not run: skipped, mpirun was not found"), 4, out)
        self.assertIn("1 programs, 3 tests passed", out)

    def test_without_mpi_in_the_bundle_nothing_is_said_of_it(self):
        self.gpus(4)
        os.remove(os.path.join(self.directory, "bin", "mpi_gpu_dirac"))
        self.write("cli/gpu_apps_test.py", "import os, sys\nsys.exit(os.environ['PLAQUETTE_MPIEXEC'] != '')\n")
        status, out = self.run_bundle()
        self.assertEqual(status, 0, out)
        self.assertNotIn("mpi", out.replace("made up", ""))

    def test_scripts_are_told_of_mpirun(self):
        self.gpus(2)
        self.write("cli/gpu_apps_test.py",
                   "import os, sys\nsys.exit(not os.environ['PLAQUETTE_MPIEXEC'].endswith('/mpirun'))\n")
        status, out = self.run_bundle("--only", "^cli")
        self.assertEqual(status, 0, out)
        self.assertIn("1 programs", out)

    def test_a_failure_on_some_ranks_is_one(self):
        self.gpus(4)
        self.script("bin/mpi_gpu_dirac", "[[ $FAKE_RANKS != 2 ]] && exit 0\n" + FAILING)
        status, out = self.run_bundle()
        self.assertEqual(status, 1, out)
        self.assertRegex(out, r"mpi_gpu_dirac\.2_ranks .* FAILED \(status 1\)")
        self.assertIn("TESTS      FAILED   (mpi_gpu_dirac.2_ranks)\n", out)

    def test_failures_are_counted_where_no_list_ends_the_output(self):
        self.gpus(1)
        lines = "".join(f"echo '[  FAILED  ] Sums.{name} (12 ms)'\n" for name in ("AreRight", "Of/1, where GetParam() = 3"))
        self.script("bin/mpi_gpu_dirac", lines + "echo '[  PASSED  ] 3 tests.'\nexit 1\n")
        status, out = self.run_bundle("--only", "mpi_gpu_dirac.1_ranks")
        self.assertEqual(status, 1, out)
        self.assertIn("1 programs, 3 tests passed, 2 failed, 0 skipped", out)

    def test_programs_without_end_are_ended(self):
        self.gpus(1)
        self.script("bin/mpi_gpu_dirac", "exec sleep 30\n")
        status, out = self.run_bundle("--only", "mpi_gpu_dirac.1_ranks", PLAQUETTE_TEST_TIMEOUT="1")
        self.assertEqual(status, 1, out)
        self.assertIn("FAILED (no end after 1 s)", out)

    def test_words_before_programs_stand_behind_mpirun(self):
        self.gpus(2)
        status, out = self.run_bundle("--under", "env FAKE_CHECK=yes", "--only", "2_ranks")
        self.assertEqual(status, 0, out)
        self.assertIn("-n 2 env FAKE_CHECK=yes " + os.path.join(self.directory, "bin", "mpi_gpu_dirac"), self.log())
        self.assertIn("1 programs", out)

    def test_programs_are_told_of_a_sanitizer(self):
        self.script("bin/gpu_blas", "echo sanitizer=${PLAQUETTE_UNDER_SANITIZER-no}\n")
        self.script("tools/compute-sanitizer", 'shift 2; exec "$@"\n')
        for under, told in ((["--under", "compute-sanitizer --tool memcheck"], "1"), (["--under", "env"], "no"), ([], "no")):
            self.run_bundle("--only", "gpu_blas", *under)
            self.assertIn(f"sanitizer={told}\n", self.log())

    def test_no_gpu_and_no_program_are_failures(self):
        self.script("bin/gpu_blas", "exit $((PLAQUETTE_REQUIRE_GPU))\n")
        status, out = self.run_bundle()
        self.assertEqual(status, 1, out)
        self.assertIn("not run: 2 GPUs are needed, 0 found", out)
        status, out = self.run_bundle("--only", "no_such_program")
        self.assertEqual(status, 1, out)
        self.assertIn("TESTS      FAILED   (nothing was run)", out)


if __name__ == "__main__":
    unittest.main()
