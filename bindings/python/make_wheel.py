# SPDX-License-Identifier: BSD-3-Clause
"""Makes a wheel of the package and a library that was built. pip installs it without a compiler. The machine that installs
it must have the libraries that this one is linked with; ldd lists them."""
import argparse
import base64
import hashlib
import os
import re
import sys
import sysconfig
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))


def text_of(*path: str) -> str:
    """Returns a file of the source tree."""
    with open(os.path.join(HERE, *path), encoding="utf-8") as file:
        return file.read()


def make_wheel(library: str, folder: str = ".") -> str:
    """Returns the path of the wheel that it has written."""
    version = re.search(r"(?m)^version: (\S+)$", text_of("..", "..", "CITATION.cff")).group(1)
    abi = re.search(r"(?m)^ABI = (\d+)$", text_of("plaquette", "_c.py")).group(1)
    tag = "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform())
    info = f"plaquette-{version}.dist-info"
    contents = {f"plaquette/{name}": text_of("plaquette", name).encode()
                for name in sorted(os.listdir(os.path.join(HERE, "plaquette"))) if name.endswith((".py", ".typed"))}
    with open(library, "rb") as file:
        contents[f"plaquette/libplaquette_c.so.{abi}"] = file.read()
    contents[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: plaquette\nVersion: {version}\nLicense: BSD-3-Clause\nRequires-Python: >=3.9\n"
        "Requires-Dist: numpy\nDescription-Content-Type: text/markdown\n\n" + text_of("README.md")).encode()
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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, epilog="It prints the path of the wheel. Exit status 2: a file "
                                     "cannot be read or written.")
    parser.add_argument("library", help="BUILD/bindings/libplaquette_c.so")
    parser.add_argument("folder", nargs="?", default=".", help="an existing folder for the wheel (default: this one)")
    arguments = parser.parse_args()
    try:
        print(make_wheel(arguments.library, arguments.folder))
    except OSError as error:
        print(f"make_wheel.py: {error.filename}: {error.strerror}", file=sys.stderr)
        sys.exit(2)
