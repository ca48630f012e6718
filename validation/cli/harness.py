# SPDX-License-Identifier: BSD-3-Clause
"""Runs programs of the suite at the command line, and makes gauge files to give them, good and bad."""
import atexit
import itertools
import json
import lzma
import math
import os
import random
import resource
import shutil
import struct
import subprocess
import tempfile
import threading
import time
import unittest

SOLVER = os.environ["PLAQUETTE_SOLVER"]
MPIEXEC = os.environ.get("PLAQUETTE_MPIEXEC", "")
SCHEMA = os.environ["PLAQUETTE_REPORT_SCHEMA"]

SUCCESS, FAILED, UNUSABLE, NO_CONVERGENCE, NO_MEMORY, NO_OUTPUT, INTERRUPTED, INTERNAL = 0, 1, 2, 3, 4, 5, 6, 70

#: A solve of a second: one right-hand side on a small weak field, not timed.
QUICK = ["--lattice", "4x4x4x4", "--gauge", "weak:0.2", "--mass", "0.3", "--csw", "1", "--rhs", "1", "--repeat", "0"]
#: The same with all twelve.
PROPAGATOR = ["--lattice", "4x4x4x4", "--gauge", "weak:0.2", "--mass", "0.3", "--csw", "1", "--repeat", "0"]


class Result:
    """What a program did: status, stdout, stderr."""

    def __init__(self, completed):
        self.status = completed.returncode
        self.out = completed.stdout
        self.err = completed.stderr

    def last_line(self):
        lines = self.out.rstrip("\n").split("\n")
        return lines[-1]


#: Where Open MPI keeps the files of its sessions: apart from those of tests that run at the same time, whose ends would
#: otherwise remove what this one is about to use.
SESSIONS = tempfile.mkdtemp(prefix="plaquette-mpi-")
atexit.register(shutil.rmtree, SESSIONS, True)


def environment(ranks=1):
    # Runs that start at the same time would make one folder twice.
    sessions = tempfile.mkdtemp(dir=SESSIONS, prefix="") if ranks > 1 else SESSIONS
    settings = dict(os.environ, OMPI_MCA_orte_tmpdir_base=sessions)
    settings.setdefault("OMP_NUM_THREADS", "1")
    settings.setdefault("OMP_WAIT_POLICY", "passive")  # threads of tests side by side wait asleep
    settings.setdefault("PLAQUETTE_COPY_MIB", "16")  # most of what a program takes that solves on 4^4 is its measurement
    if ranks == 1:  # Open MPI need not start its daemon, nor look for networks
        settings.update(OMPI_MCA_ess_singleton_isolated="1", OMPI_MCA_pml="ob1", OMPI_MCA_btl="self")
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe",
                 "OMPI_MCA_mpi_yield_when_idle"):
        settings[name] = "1"
    return settings


def command(arguments, ranks=1, program=SOLVER):
    start = [] if ranks == 1 else [MPIEXEC, "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]
    return start + [program] + [str(a) for a in arguments]


def run(*arguments, ranks=1, program=SOLVER, **options):
    return Result(subprocess.run(command(arguments, ranks, program), env=environment(ranks), text=True, errors="replace",
                                 stdin=subprocess.DEVNULL, stdout=options.pop("stdout", subprocess.PIPE),
                                 stderr=subprocess.PIPE, timeout=240, **options))


def replaced(arguments, *options):
    """Arguments in which options, each followed by its value, have other values: `"--seed", 6`."""
    result = list(arguments)
    for option, value in zip(options[::2], options[1::2]):
        if option in result:
            result[result.index(option) + 1] = value
        else:
            result += [option, value]
    return result


class Started(subprocess.Popen):
    """A program that runs during the test; it does not outlive a minute, nor its `with` block."""

    def __enter__(self):
        self.watch = threading.Timer(60, self.kill)
        self.watch.start()
        return super().__enter__()

    def __exit__(self, *exception):
        self.watch.cancel()
        self.kill()
        super().__exit__(*exception)


def start(*arguments, ranks=1, program=SOLVER, **options):
    return Started(command(arguments, ranks, program), env=environment(ranks), text=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def read_until(process, text):
    """The output of a running program up to the line that holds `text`."""
    out = ""
    while text not in out:
        line = process.stdout.readline()
        if not line:
            raise AssertionError(f"no '{text}' in:\n{out}{process.stderr.read()}")
        out += line
    return out


def ended(process, out=""):
    """What a program that was started did in the end; `out` is what was read of its output before."""
    rest, err = process.communicate(timeout=60)

    class Completed:
        returncode, stdout, stderr = process.returncode, out + rest, err

    return Result(Completed)


def two_seconds():
    """Of a processor that has nothing else to do: what a program may take to end when it is told to."""
    return 2.0 * max(1.0, os.getloadavg()[0] / os.cpu_count())


def seconds_of_programs():
    """A function that returns the seconds since this call that programs had: of processors, where they waited for one."""
    def now():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.monotonic(), used.ru_utime + used.ru_stime
    begin = now()
    return lambda: min(after - before for after, before in zip(now(), begin))


def children(pid):
    """The processes that a process has started: the ranks, where it is mpirun."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def unpacked(path):
    """What PATH.xz holds, in a file of the same name that is removed at the end."""
    folder = tempfile.mkdtemp(prefix="plaquette-data-")
    atexit.register(shutil.rmtree, folder, True)
    name = os.path.join(folder, os.path.basename(path))
    with lzma.open(path + ".xz") as packed, open(name, "wb") as file:
        shutil.copyfileobj(packed, file)
    return name


def open_boundary_file(length=4):
    """Unit links of length^4 in openQCD's format, open in time: those from the last time slice to the first are zero."""
    unit = struct.pack("<18d", *(1.0 if k in (0, 8, 16) else 0.0 for k in range(18)))
    data = struct.pack("<4id", *4 * [length], 3.0 * (1.0 - 0.5 / length))
    for t, x, y, z in itertools.product(range(length), repeat=4):
        if (t + x + y + z) % 2 == 1:
            in_time = (bytes(len(unit)) if t == cut else unit for cut in (length - 1, 0))
            data += b"".join(in_time) + 6 * unit
    return data


class CommandLineTest(unittest.TestCase):
    """A test with a directory of its own."""

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="plaquette-cli-")
        self.addCleanup(shutil.rmtree, self.directory, True)

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def read_json(self, name):
        def refuse(constant):
            raise AssertionError(f"{constant} is not JSON")

        with open(self.path(name), encoding="utf-8") as file:
            return json.load(file, parse_constant=refuse)

    def assert_refused(self, result, status, *words):
        """One line on stderr with these words in it, and the status; nothing about success on stdout."""
        self.assertEqual(result.status, status, result.err + result.out)
        lines = result.err.rstrip("\n").split("\n")
        self.assertEqual(len(lines), 1, result.err)
        self.assertTrue(lines[0].startswith("plaquette-mixed-precision-solver: "), result.err)
        for word in words:
            self.assertIn(word, lines[0])
        self.assertNotIn("PASSED", result.out or "")


# --- gauge files, written here independently of the suite's own writers


def multiply(a, b):
    return [[sum(a[i][k] * b[k][j] for k in range(3)) for j in range(3)] for i in range(3)]


def adjoint(a):
    return [[a[j][i].conjugate() for j in range(3)] for i in range(3)]


def random_su3(source, size):
    """Near the identity, by Gram-Schmidt; the third row is the conjugate cross product of the others."""
    rows = [[complex(i == j) + size * complex(source.gauss(0, 1), source.gauss(0, 1)) for j in range(3)]
            for i in range(2)]
    norm = math.sqrt(sum(abs(v) ** 2 for v in rows[0]))
    rows[0] = [v / norm for v in rows[0]]
    overlap = sum(u.conjugate() * v for u, v in zip(*rows))
    rows[1] = [v - overlap * u for u, v in zip(*rows)]
    norm = math.sqrt(sum(abs(v) ** 2 for v in rows[1]))
    rows[1] = [v / norm for v in rows[1]]
    a, b = rows
    rows.append([(a[(j + 1) % 3] * b[(j + 2) % 3] - a[(j + 2) % 3] * b[(j + 1) % 3]).conjugate() for j in range(3)])
    return rows


class GaugeFile:
    """A NERSC file of a weak field: 3x3, 64 bits, big-endian. Change `links`, `header` or the bytes, and see."""

    def __init__(self, lattice=(4, 4, 2, 4), seed=1, size=0.15):
        source = random.Random(seed)
        self.lattice = lattice
        self.sites = lattice[0] * lattice[1] * lattice[2] * lattice[3]
        self.links = [[random_su3(source, size) for _ in range(4)] for _ in range(self.sites)]
        self.header = {}

    def index(self, x):
        n = self.lattice
        return x[0] % n[0] + n[0] * (x[1] % n[1] + n[1] * (x[2] % n[2] + n[2] * (x[3] % n[3])))

    def plaquette(self):
        total = 0.0
        n = self.lattice
        for t in range(n[3]):
            for z in range(n[2]):
                for y in range(n[1]):
                    for x in range(n[0]):
                        here = [x, y, z, t]
                        for mu in range(4):
                            for nu in range(mu + 1, 4):
                                total += self.plaquette_at(here, mu, nu)
        return total / (18 * self.sites)

    def plaquette_at(self, x, mu, nu):
        def ahead(direction):
            return [c + (i == direction) for i, c in enumerate(x)]

        up = multiply(self.links[self.index(x)][mu], self.links[self.index(ahead(mu))][nu])
        down = multiply(self.links[self.index(x)][nu], self.links[self.index(ahead(nu))][mu])
        return sum((up[i][j] * down[i][j].conjugate()).real for i in range(3) for j in range(3))

    def link_trace(self):
        return sum(u[i][i].real for site in self.links for u in site for i in range(3)) / (12 * self.sites)

    def data(self):
        numbers = [part for site in self.links for u in site for row in u for v in row for part in (v.real, v.imag)]
        return struct.pack(f">{len(numbers)}d", *numbers)

    def bytes(self):
        data = self.data()
        checksum = sum(struct.unpack(f">{len(data) // 4}I", data)) % 2 ** 32
        finite = all(math.isfinite(v.real) and math.isfinite(v.imag) for s in self.links for u in s for r in u for v in r)
        header = {"DATATYPE": "4D_SU3_GAUGE_3x3"}
        header.update({f"DIMENSION_{i + 1}": length for i, length in enumerate(self.lattice)})
        header.update({"CHECKSUM": f"{checksum:x}",
                       "LINK_TRACE": f"{self.link_trace():.12f}" if finite else "0.5",
                       "PLAQUETTE": f"{self.plaquette():.12f}" if finite else "0.5",
                       "FLOATING_POINT": "IEEE64BIG"})
        header.update(self.header)
        lines = "".join(f"{key} = {value}\n" for key, value in header.items() if value is not None)
        return ("BEGIN_HEADER\n" + lines + "END_HEADER\n").encode() + data
