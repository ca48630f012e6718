# SPDX-License-Identifier: BSD-3-Clause
"""A disk that fills up while a file is written: exit status 5, one line, and the old file as it was.

The disk is a small tmpfs. Where none can be mounted (no root, no user namespaces) the test says so with exit status 77,
which CTest takes for skipped."""
import os
import subprocess
import sys
import tempfile

from harness import NO_OUTPUT, PROPAGATOR, run

SKIPPED = 77


def inside_own_namespace():
    """Runs this script again where it may mount."""
    unshare = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
    if subprocess.run([*unshare, "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        return SKIPPED  # a root that is no mount point, for one
    attempt = subprocess.run([*unshare, sys.executable, os.path.abspath(__file__), "--mounted"], check=False)
    return attempt.returncode


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def fill(size, *output):
    """Runs the solver with its output on a tmpfs of this size where an older file stands."""
    with tempfile.TemporaryDirectory() as mount_point:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", mount_point], check=False,
                          stderr=subprocess.DEVNULL).returncode != 0:
            sys.exit(SKIPPED)
        try:
            path = os.path.join(mount_point, "old")
            with open(path, "wb") as file:
                file.write(b"precious")
            result = run(*PROPAGATOR, *output, path, "--force")
            check(result.status == NO_OUTPUT, f"{output}: exit status {result.status}: {result.err}")
            check(len(result.err.strip().split("\n")) == 1 and path in result.err, f"{output}: {result.err}")
            check("PASSED" not in result.out, f"{output}: claims to have passed")
            with open(path, "rb") as file:
                check(file.read() == b"precious", f"{output}: the old file is gone")
            check(os.listdir(mount_point) == ["old"], f"{output}: leaves {os.listdir(mount_point)}")
        finally:
            subprocess.run(["umount", mount_point], check=False)


def main():
    if "--mounted" not in sys.argv:
        try:
            sys.exit(inside_own_namespace())
        except FileNotFoundError:
            sys.exit(SKIPPED)
    fill("8k", "--json")
    if "without HDF5" not in run("--lattice", "2x2x2x2", "--gauge", "unit", "--read-propagator", "absent.h5").err:
        fill("64k", "--propagator")
        fill("600k", "--propagator")  # the data alone would be 590 kB


if __name__ == "__main__":
    main()
