# SPDX-License-Identifier: BSD-3-Clause
"""Recipes are parsed: by their own tools where these are installed, and always by what Python and bash know of them."""
import ast
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock
import xml.etree.ElementTree

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.append(os.path.join(ROOT, "tools"))
from report_limits import UNITS  # noqa: E402  (as validate expects them)

RECIPES = os.path.join(ROOT, "recipes")
APPS = ["mixed-precision-solver", "multigrid", "dslash-scaling", "overlap-propagator", "nodal-dg", "hmc"]
OUTPUT = "CLASS nano CONFORMS\nFOM        1.5 solves/s     (x)\nVERIFIED   PASSED     (1 check)\n"


def text_of(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def run(*command, **options):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200, check=False, **options)


def program_at(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)


class Recipes(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="plaquette-recipes-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        for app in APPS:  # stand-ins that end as the programs do
            program_at(os.path.join(self.folder, "apps", app, "plaquette-" + app), f"cat <<'E'\n{OUTPUT.replace('solves/s', UNITS[app])}E\n")
        program_at(os.path.join(self.folder, "bin", "mpirun"),
                   'while [ $# -gt 0 ]; do case $1 in -n) shift 2;; --*) shift;; *) break;; esac; done\nexec "$@"\n')
        program_at(os.path.join(self.folder, "bin", "srun"),
                   'while [ $# -gt 0 ]; do case $1 in --*) shift;; *) break;; esac; done\nexec "$@"\n')
        self.environment = {**os.environ, "PATH": os.path.join(self.folder, "bin") + ":" + os.environ["PATH"],
                            "PLAQUETTE_FOLDER": os.path.join(self.folder, "apps")}

    def test_python_parses_those_in_python(self):
        for path in (("recipes", "reframe", "plaquette_checks.py"), ("spack", "packages", "plaquette", "package.py")):
            ast.parse(text_of(*path))

    def test_spack_repository_has_its_layout_and_its_package(self):
        self.assertRegex(text_of("spack", "repo.yaml"), r"\nrepo:\n  namespace: [a-z_]+\n$")  # where Spack looks
        self.assertEqual(os.listdir(os.path.join(ROOT, "spack", "packages")), ["plaquette"])
        versions, needs = [], []
        nothing = lambda *words, **options: None
        module = types.ModuleType("spack.package")
        module.__dict__.update(
            {name: nothing for name in ("license", "variant", "conflicts", "generator")}, CudaPackage=type("Cuda", (), {}),
            CMakePackage=type("CMake", (), {"define": lambda self, name, value: name,
                                            "define_from_variant": lambda self, name, variant: name}),
            version=lambda *words, **options: versions.append((words, options)),
            depends_on=lambda *words, **options: needs.append(words))
        path = os.path.join(ROOT, "spack", "packages", "plaquette", "package.py")
        found = {"__file__": path}
        with unittest.mock.patch.dict(sys.modules, {"spack": types.ModuleType("spack"), "spack.package": module}):
            exec(compile(text_of(path), path, "exec"), found)  # pylint: disable=exec-used
        package = found["Plaquette"]()
        # The only version is one that Spack can fetch: it would prefer a number, and an archive must exist for it.
        self.assertEqual(versions, [(("main",), {"branch": "main"})])
        self.assertEqual(package.git, "file://" + ROOT)
        package.spec = types.SimpleNamespace(satisfies=lambda words: True, variants={"cuda_arch": types.SimpleNamespace(value="90")})
        cmake = "".join(text_of(*path) for path in (("CMakeLists.txt",), ("cmake", "PlaquetteCuda.cmake")))
        for name in package.cmake_args():
            self.assertTrue(name.startswith("CMAKE_DISABLE_FIND_PACKAGE_") or re.search(rf"\(\s*{name}\b", cmake), name)

    def test_conda_recipe_has_the_version_the_packages_and_options_that_exist(self):
        try:
            import jinja2
            import yaml
        except ImportError:
            self.skipTest("jinja2 and yaml parse it; one is missing")
        folder = os.path.join(RECIPES, "conda")
        here = lambda name: os.path.join(folder, name)
        words = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(text_of("recipes", "conda", "meta.yaml")).render(
            compiler=lambda language: f"compiler_{language}", stdlib=lambda language: f"stdlib_{language}",
            load_file_regex=lambda load_file, regex_pattern, from_recipe_dir: re.search(regex_pattern, text_of(here(load_file))))
        recipe = yaml.safe_load(words)
        self.assertEqual(str(recipe["package"]["version"]), re.search(r"(?m)^version: (\S+)$", text_of("CITATION.cff")).group(1))
        self.assertEqual(os.path.realpath(here(recipe["source"]["path"])), ROOT)
        self.assertTrue(os.path.exists(os.path.join(ROOT, recipe["about"]["license_file"])))
        needs = {need.split()[0] for need in recipe["requirements"]["build"] + recipe["requirements"]["host"]}
        table = re.findall(r"(?m)^\| (?:compiler|Eigen|MPI|CLI11|HDF5).*?\|.*?\|.*?\| `(.*?)` \|", text_of("recipes", "README.md"))
        self.assertEqual(len(table), 5)
        self.assertEqual(set(" ".join(table).split()) - {"gxx"} - needs, set())
        self.assertLessEqual({"compiler_c", "compiler_cxx", "compiler_fortran"}, needs)
        for path in re.findall(r"plaquette-([-a-z]+)", " ".join(recipe["test"]["commands"])):
            self.assertIn(path, APPS)
        # What build.sh tells CMake exists there; the Python package goes to site-packages.
        program_at(os.path.join(self.folder, "bin", "cmake"), f'echo "$@" >>{self.folder}/said\n')
        prefix, packages = (os.path.join(self.folder, name) for name in ("prefix", "site-packages"))
        os.makedirs(os.path.join(prefix, "share", "plaquette", "python", "plaquette"))
        os.makedirs(packages)
        done = run("bash", here("build.sh"), env={**self.environment, "PREFIX": prefix, "SP_DIR": packages, "CPU_COUNT": "2"},
                   cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(os.listdir(packages), ["plaquette"])
        said = text_of(os.path.join(self.folder, "said")).split("\n")
        cmake = "".join(text_of(*path) for path in (("CMakeLists.txt",), ("cmake", "PlaquetteCuda.cmake"), ("cmake", "PlaquetteInstall.cmake")))
        for name in re.findall(r"-D(PLAQUETTE_\w+)", said[0]):
            self.assertRegex(cmake, rf"(option|set)\({name}\b")
        self.assertIn("-DCMAKE_INSTALL_PREFIX=" + prefix, said[0])
        self.assertIn(f"add_custom_target({said[1].split()[-1]} ", cmake)
        self.assertEqual(said[2], "--install build/conda")

    def run_with_stand_ins(self, name, **modules):
        """The names that a Python recipe defines, where the modules that it imports have these names."""
        for path, names in modules.items():
            module = types.ModuleType(path.replace("_", "."))
            module.__dict__.update(names)
            parts = module.__name__.split(".")
            sys.modules[module.__name__] = module
            sys.modules.setdefault(parts[0], types.ModuleType(parts[0]))
        found = {}
        exec(compile(text_of("recipes", "benchpark", name), name, "exec"), found)  # pylint: disable=exec-used
        return found

    def test_ramble_application_finds_figures_and_verdicts(self):
        calls = []
        record = lambda kind: lambda *words, **options: calls.append((kind, words, options))
        kinds = ("executable", "workload", "workload_variable", "figure_of_merit", "success_criteria")
        self.run_with_stand_ins("application.py", ramble_appkit={"SpackApplication": object, **{k: record(k) for k in kinds}})
        of = {kind: [(words, options) for k, words, options in calls if k == kind] for kind in kinds}
        self.assertEqual([words[0] for words, _ in of["workload"]], APPS)
        variables = {words[0] for words, _ in of["workload_variable"]} | {"experiment_run_dir"}
        for (app, command), _ in of["executable"]:
            self.assertLessEqual(set(re.findall(r"{(\w+)}", command)), variables)
            self.assertTrue(command.startswith(f"plaquette-{app} "))
        found = re.search(of["figure_of_merit"][0][1]["fom_regex"], OUTPUT, re.MULTILINE)
        self.assertEqual((found.group("fom"), found.group("unit")), ("1.5", "solves/s"))
        for _, options in of["success_criteria"]:
            self.assertRegex(OUTPUT, re.compile(options["match"], re.MULTILINE))
            self.assertNotRegex(OUTPUT.replace("PASSED", "FAILED").replace("CONFORMS", "DOES NOT (x)"),
                                re.compile(options["match"], re.MULTILINE))

    def test_benchpark_experiment_has_three_modes(self):
        base = lambda name: type(name, (), {})
        mode = types.SimpleNamespace(Strong="strong", Weak="weak", Throughput="throughput")
        nothing = lambda *words, **options: None
        made = self.run_with_stand_ins(
            "experiment.py", benchpark_caliper={"Caliper": base("Caliper")}, benchpark_cuda={"CudaExperiment": base("Cuda")},
            benchpark_directives={"maintainers": nothing, "variant": nothing}, benchpark_experiment={"Experiment": base("E")},
            benchpark_mpi={"MpiOnlyExperiment": base("Mpi")},
            benchpark_scaling={"Scaling": lambda *modes: base("S" + "".join(modes)), "ScalingMode": mode})
        self.assertEqual(list(made["PROGRAMS"]), APPS)
        for scaling, ranks in (("none", 1), ("strong", 4), ("weak", 3), ("throughput", 3)):
            experiment, variables = made["Plaquette"](), {}
            experiment.spec = types.SimpleNamespace(variants={"size": ["device"]}, satisfies=lambda s: s == "scaling=" + scaling)
            experiment.add_experiment_variable = lambda name, value, named: variables.update({name: value})
            experiment.compute_applications_section()
            self.assertEqual({len(variables[name]) for name in ("n_ranks", "size", "memory")}, {ranks})

    def test_reframe_checks_name_every_program(self):
        text = text_of("recipes", "reframe", "plaquette_checks.py")
        for app in APPS:
            self.assertIn(f'app = "{app}"\n    unit = "{UNITS[app]}"\n', text)

    @unittest.skipUnless(shutil.which("reframe"), "ReFrame is not installed")
    def test_reframe_runs_them(self):
        done = run("reframe", "-c", os.path.join(RECIPES, "reframe"), "-S", "folder=" + self.environment["PLAQUETTE_FOLDER"],
                   "-r", "--nocolor", "--prefix", self.folder, env=self.environment, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("Ran 6/6 test case(s)", done.stdout)
        for unit in (UNITS[app] for app in APPS):
            self.assertIn(f"figure_of_merit: 1.5 {unit}", done.stdout)

    def test_jube_file_is_one(self):
        tree = xml.etree.ElementTree.parse(os.path.join(RECIPES, "jube", "plaquette.xml")).getroot()
        parameters = {p.get("name"): p.text for p in tree.iter("parameter")}
        self.assertEqual(parameters["app"].split(","), APPS)
        patterns = {p.get("name"): p.text for p in tree.iter("pattern")}
        found = {name: re.search(pattern, OUTPUT, re.MULTILINE).group(1) for name, pattern in patterns.items()}
        self.assertEqual(found, {"fom": "1.5", "unit": "solves/s", "verified": "PASSED", "conforms": "CONFORMS"})
        used = set(re.findall(r"(?<!\$)\$(\w+)", tree.find(".//do").text)) | set(re.findall(r"\$(\w+)", parameters["launcher"]))
        self.assertLessEqual(used, set(parameters))

    @unittest.skipUnless(shutil.which("jube"), "JUBE is not installed")
    def test_jube_runs_it(self):
        environment = {**self.environment, "HOME": self.folder}
        before = sorted(os.listdir(os.path.join(RECIPES, "jube")))
        done = run("jube", "run", os.path.join(RECIPES, "jube", "plaquette.xml"), env=environment, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(sorted(os.listdir(os.path.join(RECIPES, "jube"))), before, "runs lie in the source tree")
        command = re.search(r"`jube result ~/(\S+)`", text_of("recipes", "README.md"))
        done = run("jube", "result", os.path.join(self.folder, command.group(1)), env=environment, cwd=self.folder)
        for app in APPS:
            self.assertEqual(len(re.findall(rf"^{app},.*,1.5,{UNITS[app]},PASSED,CONFORMS$", done.stdout, re.MULTILINE)), 3,
                             done.stdout + done.stderr)

    def test_slurm_script_runs_a_program(self):
        script = os.path.join(RECIPES, "slurm", "plaquette.sh")
        text = text_of("recipes", "slurm", "plaquette.sh")
        self.assertIn("#SBATCH --signal=B:USR1@", text)
        self.assertRegex(text, r"\nexec srun ")
        if shutil.which("shellcheck"):
            self.assertEqual(run("shellcheck", script).stdout, "")
        done = run("bash", script, "multigrid", "nano", env=self.environment, cwd=self.folder)
        self.assertEqual((done.returncode, done.stdout), (0, OUTPUT), done.stderr)
        done = run("bash", script, env=self.environment, cwd=self.folder)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("expected a program and a class", done.stderr)

    def test_slurm_script_tells_srun_the_cpus_of_a_rank(self):
        script = os.path.join(RECIPES, "slurm", "plaquette.sh")
        program_at(os.path.join(self.folder, "bin", "srun"), 'echo "threads $OMP_NUM_THREADS: $*"\n')
        job = {name: value for name, value in self.environment.items() if not name.startswith("SLURM_")}
        for cpus, given in (("64", {"SLURM_CPUS_PER_TASK": "64", "SLURM_CPUS_ON_NODE": "128"}),
                            ("32", {"SLURM_TASKS_PER_NODE": "4(x2),3", "SLURM_CPUS_ON_NODE": "128"}),
                            ("128", {"SLURM_TASKS_PER_NODE": "1", "SLURM_CPUS_ON_NODE": "128"}), ("1", {})):
            done = run("bash", script, "multigrid", env={**job, **given}, cwd=self.folder)
            self.assertRegex(done.stdout, rf"^threads {cpus}: --cpus-per-task={cpus} ", done.stderr)

    def test_settings_of_systems_load_modules_and_reach_srun(self):
        script = os.path.join(RECIPES, "slurm", "plaquette.sh")
        program_at(os.path.join(self.folder, "bin", "srun"), 'echo "mpi ${SLURM_MPI_TYPE-default}: $*"\n')
        for name, mpi in (("cray-slingshot", "default"), ("eurohpc-infiniband", "pmix")):
            system = os.path.join(RECIPES, "systems", name + ".sh")
            if shutil.which("shellcheck"):
                self.assertEqual(run("shellcheck", system).stdout, "")
            given = {"PLAQUETTE_SYSTEM": system, "BASH_FUNC_module%%": "() { echo \"module $*\"; }"}
            without = {key: value for key, value in self.environment.items() if key != "SLURM_MPI_TYPE"}
            done = run("bash", script, "multigrid", env={**without, **given}, cwd=self.folder)
            self.assertRegex(done.stdout, rf"^module load .*\nmpi {mpi}: .* --gpu-bind=none --distribution=block /", done.stderr)

    def test_every_batch_signal_goes_to_the_script(self):
        # Without B: Slurm signals job steps alone. A program that the script starts by itself never gets the signal.
        for folder, _, names in os.walk(ROOT):
            if {"build", "out", ".git"} & set(os.path.relpath(folder, ROOT).split(os.sep)):
                continue
            for name in names:
                if name.endswith((".md", ".sh", ".sbatch", ".txt", ".hpp", ".cpp", ".xml")):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        for given in re.findall(r"--signal=(\S+)", file.read()):
                            self.assertTrue(given.startswith("B:USR1@"), f"{folder}/{name}: {given}")

    def test_apptainer_recipe_has_its_sections_in_shell(self):
        text = text_of("recipes", "apptainer", "plaquette.def")
        defaults = dict(re.findall(r"^    (\w+)=(\S+)$", text[:text.index("%files")], re.MULTILINE))
        presets = {preset["name"] for preset in json.loads(text_of("CMakePresets.json"))["configurePresets"]}
        for preset in (defaults["preset"], *re.findall(r"--build-arg preset=(\w+)", text)):
            self.assertIn(preset, presets)
        text = re.sub(r"{{ (\w+) }}", lambda word: defaults[word.group(1)], text)
        self.assertRegex(text, r"\nBootstrap: docker\nFrom: debian:\d+\n")
        self.assertNotIn("{{", text)
        sections = dict(re.findall(r"^%(\w+)\n((?:(?!%).*\n?)*)", text, re.MULTILINE))
        self.assertLessEqual({"files", "post", "environment", "runscript", "test"}, set(sections))
        for name in ("post", "environment", "runscript", "test"):
            done = run("bash", "-n", "-c", sections[name])
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_docker_recipe_builds_programs_that_there_are_and_starts_one(self):
        text = re.sub(r"\\\n *", "", text_of("recipes", "docker", "Dockerfile"))
        lines = [line.split(" ", 1) for line in text.splitlines() if line and not line.startswith("#")]
        self.assertLessEqual({word for word, _ in lines}, {"FROM", "ARG", "RUN", "COPY", "WORKDIR", "ENV", "ENTRYPOINT", "CMD"})
        images = [rest.split() for word, rest in lines if word == "FROM"]
        self.assertEqual([image[0].split(":")[0] for image in images], 2 * ["nvidia/cuda"] + 2 * ["debian"])
        self.assertEqual([image[2:] for image in images], [["cuda-build"], ["cuda"], ["build"], []])  # the last is the default
        runs = [rest for word, rest in lines if word == "RUN"]
        for command in runs:
            self.assertEqual(run("bash", "-n", "-c", command).stderr, "")
        known = set(re.findall(r"^(\S+) +(?:command|header|python|file):", text_of("tools", "packages.sh"), re.MULTILINE))
        for packages, programs in (runs[0:2], runs[3:5]):
            self.assertLessEqual(set(packages.split("--no-install-recommends")[1].split()), known)
            self.assertEqual(set(re.findall(r" plaquette-([\w-]+)", programs)), set(APPS))
        # Both images start alike.
        for kind in ("ENV", "ENTRYPOINT", "CMD"):
            self.assertEqual(len({rest for word, rest in lines if word == kind}), 1)
        start, first = (json.loads(rest) for word, rest in lines[-2:])
        path = ":".join(os.path.join(self.folder, "apps", app) for app in APPS)
        for arguments in (first, ["multigrid", "--size", "nano"]):
            done = run(*start, *arguments, env={**os.environ, "PATH": path + ":" + os.environ["PATH"]})
            self.assertEqual((done.returncode, done.stdout), (0, OUTPUT), done.stderr)

    def test_the_readme_names_every_recipe(self):
        text = text_of("recipes", "README.md")
        for folder in glob.glob(os.path.join(RECIPES, "*", "")):
            self.assertIn(f"`{os.path.basename(os.path.dirname(folder))}/`", text)


if __name__ == "__main__":
    unittest.main()
