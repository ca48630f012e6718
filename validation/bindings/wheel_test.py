# SPDX-License-Identifier: BSD-3-Clause
"""A repaired wheel in bare virtual environments: wheel_test.py LIBRARY FOLDER

pip installs it, with numpy, for the oldest Python that is found here and for the newest. A propagator and waves are computed
there: the two print the same numbers, and no library comes from elsewhere than the environment and the system's C and C++
libraries. Exit status 77: the tools or numpy cannot be had, or there is one Python."""
import glob
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
MAKER = os.path.join(ROOT, "bindings", "python", "make_wheel.py")
SKIPPED = 77
#: What the manylinux policies let a wheel find on each system.
SYSTEM = re.compile(r"(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|ld-linux[-\w]*)\.so\.\d+$")
CALLS = """
import ctypes, re, sys, numpy
def libraries():
    return {line.split()[-1] for line in open("/proc/self/maps") if re.search(r"\\.so[.\\d]*$", line)}
before = libraries()
import plaquette
n = numpy.arange(4 * 4 * 4 * 8 * 4)
links = numpy.zeros((8, 4, 4, 4, 4, 3, 3), numpy.complex128)
for i, phase in enumerate((0.5 * numpy.sin(1.0 + n), 0.4 * numpy.cos(0.3 * n))):
    links.reshape(-1, 3, 3)[:, i, i] = numpy.exp(1j * phase)
links[..., 2, 2] = numpy.conj(links[..., 0, 0] * links[..., 1, 1])
with plaquette.Lattice((4, 4, 4, 8)) as lattice:
    quark = plaquette.krylov(plaquette.Gauge(lattice, links), mass=0.3, csw=1.0).solve(plaquette.Source())
    print(bool(quark.verdict), [f"{value:.12e}" for value in quark.pion()])
with plaquette.Waves.box((2, 2, 2), order=2) as waves:
    waves.set_state(numpy.sin(numpy.arange(waves.state().size, dtype=float)).reshape(waves.state().shape))
    waves.advance(5)
    print([f"{float(value):.12e}" for value in numpy.ravel(waves.energies)])
print(sys.prefix, plaquette.__file__)
print(*sorted(libraries() - before))
"""


def skip(why: str) -> None:
    print("SKIPPED: " + why)
    sys.exit(SKIPPED)


def pythons() -> list[str]:
    """Returns one interpreter for each version from 3.9 on that makes virtual environments, the oldest first."""
    folders = [*os.environ.get("PATH", "").split(os.pathsep), "/usr/bin", *glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin"))]
    found = {}
    for path in (path for folder in folders for path in sorted(glob.glob(os.path.join(folder, "python3*")))):
        if re.fullmatch(r"python3(\.\d+)?", os.path.basename(path)):
            # A shim answers for a version, if it answers at all.
            said = subprocess.run([path, "-c", "import sys, venv; print(sys.version_info[1], sys._base_executable)"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
            if said.returncode == 0 and int(said.stdout.split()[0]) >= 9:
                minor, interpreter = said.stdout.split()
                found.setdefault(int(minor), interpreter)
    return [found[minor] for minor in sorted(found)]


def called_from_environment(python: str, pip: str, wheel: str, folder: str) -> str:
    """Returns the numbers that the calls print in a new virtual environment with the wheel; fails for a strange library."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
    bare = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "LD_LIBRARY_PATH", "PLAQUETTE_LIBRARY")}
    inside = os.path.join(folder, "bin", "python3")
    installed = subprocess.run([pip, "-m", "pip", "--python", inside, "install", "--quiet", "--disable-pip-version-check", wheel],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if installed.returncode != 0:
        print(installed.stdout)
        if re.search(r"numpy|connection", installed.stdout):
            skip("pip did not find numpy")
        raise SystemExit("pip did not install the wheel")
    said = subprocess.run([inside, "-c", CALLS], stdout=subprocess.PIPE, text=True, check=True, cwd=folder, env=bare).stdout
    pion, energies, place, libraries = said.rstrip("\n").split("\n")
    assert pion.startswith("True"), pion
    assert all(path.startswith(os.path.realpath(folder)) for path in place.split()), place
    strange = [path for path in libraries.split() if not path.startswith(os.path.realpath(folder)) and
               not SYSTEM.search(path) and "/lib-dynload/" not in path]  # the last are Python's own
    assert not strange, f"the wheel needs of the system: {strange}"
    assert any("libplaquette_c" in path for path in libraries.split()), libraries
    return pion + energies


def main() -> None:
    library, folder = sys.argv[1], os.path.realpath(sys.argv[2])
    os.makedirs(folder, exist_ok=True)
    for old in glob.glob(os.path.join(folder, "*.whl")):
        os.remove(old)
    tools = os.path.join(folder, "tools")
    made = subprocess.run([sys.executable, MAKER, library, folder, "--repair", "--tools", tools], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    if made.returncode == 2 and re.search(r"-m (venv|pip)", made.stderr):
        skip(made.stderr)
    assert made.returncode == 0, made.stderr
    wheel = made.stdout.strip()
    assert re.fullmatch(r"plaquette-[\d.]+-py3-none-manylinux_\d+_\d+_\w+\.whl", os.path.basename(wheel)), wheel
    versions = pythons()
    if not versions:
        skip("no Python from 3.9 on makes virtual environments")
    pip = os.path.join(tools, "bin", "python3")
    if not os.path.exists(pip):
        pip = sys.executable
    numbers = [called_from_environment(python, pip, wheel, os.path.join(folder, f"environment-{place}"))
               for place, python in enumerate(dict.fromkeys((versions[0], versions[-1])))]
    print(wheel, *versions, numbers[0], sep="\n")
    assert len(set(numbers)) == 1, numbers
    if len(versions) < 2:
        skip("the wheel runs; there is one Python, and two are to be compared")


if __name__ == "__main__":
    main()
