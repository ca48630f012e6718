# SPDX-License-Identifier: BSD-3-Clause
"""Starts the runs of a sweep, one after the other, or side by side where each needs a part of the host's GPUs only. It
starts none that would not end in time, and ends those that are running when the time is over."""

import collections
import math
import os
import shutil
import subprocess
import tempfile
import time

from report_file import ReportError

VERIFICATION_FAILED, INTERNAL = 1, 70
#: Seconds that a program is given to end and write what it has; it looks at its signals between two samples.
PATIENCE = 10.0

#: A run that was started: its process, the file of its stderr, when, the GPUs that it has.
Started = collections.namedtuple("Started", "run process errors begin gpus")
#: What came of a run: its exit status, a line that says why, seconds; status None: it was not started.
Ended = collections.namedtuple("Ended", "run status message seconds")


def why(lines):
    """The line of stderr that says why: the program's own, else its last, or the first of mpirun's last message."""
    own = [line for line in lines if line.startswith("plaquette-")]
    if own:
        return own[0]
    if lines and set(lines[-1]) == {"-"}:  # messages stand between two such lines
        ends = [n for n, line in enumerate(lines) if set(line) == {"-"}]
        return lines[ends[-2] + 1] if len(ends) > 1 else lines[0]
    return lines[-1] if lines else ""


def share_of(whole, gpus, count):
    """Of a list, the parts that belong to these of `count` GPUs."""
    return [item for gpu in gpus for item in whole[len(whole) * gpu // count:len(whole) * (gpu + 1) // count]]


class RunQueue:
    """`gpus`: those that runs share side by side; 0: one run after the other, with all there is. `seconds`: until no more
    runs are wanted."""

    def __init__(self, gpus=0, seconds=math.inf):
        self.count, self.free = gpus, list(range(gpus))
        self.end = time.monotonic() + seconds
        self.running = []

    def takes_all(self, run):
        """Whether nothing may run at the same time."""
        return self.count == 0 or not 0 < run.gpus <= self.count

    def fits(self, run):
        return not self.running if self.takes_all(run) else run.gpus <= len(self.free)

    def place(self, run):
        """(GPUs, words before the command, settings) of a run that lets others run at the same time."""
        if self.takes_all(run):
            return list(self.free), [], {}
        gpus = self.free[:run.gpus]
        names = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if os.environ.get("CUDA_VISIBLE_DEVICES") else []
        cores = share_of(sorted(os.sched_getaffinity(0)), gpus, self.count)
        bound = ["taskset", "-c", ",".join(map(str, cores))] if cores and shutil.which("taskset") else []
        seen = [names[gpu] if gpu < len(names) else str(gpu) for gpu in gpus]
        return gpus, bound, {"CUDA_VISIBLE_DEVICES": ",".join(seen)}

    def start(self, run):
        gpus, bound, settings = self.place(run)
        command = bound + run.launcher + run.program + ["--json", run.path]
        if os.path.exists(run.path):
            command.append("--force")
        if run.threads is not None:
            settings["OMP_NUM_THREADS"] = str(run.threads)
        errors = tempfile.TemporaryFile("w+", errors="replace")
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
                                       env={**os.environ, **settings})
        except OSError as problem:
            raise ReportError(f"{command[0]}: cannot be started: {problem.strerror}") from None
        self.free = [gpu for gpu in self.free if gpu not in gpus]
        self.running.append(Started(run, process, errors, time.monotonic(), gpus))

    def finished(self, started, message=""):
        """Takes an ended run off the list."""
        self.running.remove(started)
        self.free = sorted(self.free + started.gpus)
        started.errors.seek(0)
        lines = [line.strip() for line in started.errors if line.strip()]
        started.errors.close()
        code = started.process.returncode
        status = code if code >= 0 else INTERNAL
        if status == VERIFICATION_FAILED and not os.path.exists(started.run.path):
            status = INTERNAL  # nothing ran that could have been verified: mpirun's own 1
        return Ended(started.run, status, message or why(lines), time.monotonic() - started.begin)

    def stop(self):
        """Ends what runs; what came of it."""
        for started in self.running:
            started.process.terminate()
        ended, end = [], time.monotonic() + PATIENCE
        for started in list(self.running):
            try:
                started.process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                started.process.kill()
                started.process.wait()
            ended.append(self.finished(started, "ended: the time is over"))
        return ended

    def run(self, runs):
        """All of `runs`, in their order but for those that do not fit any more; yields what came of each."""
        waiting = collections.deque(runs)
        try:
            while waiting or self.running:
                while waiting and self.end - time.monotonic() < waiting[0].seconds:
                    run = waiting.popleft()
                    yield Ended(run, None, f"left out: it takes about {run.seconds:.0f} s, and "
                                f"{max(0.0, self.end - time.monotonic()):.0f} s are left", 0.0)
                while waiting and self.fits(waiting[0]):
                    self.start(waiting.popleft())
                for started in list(self.running):
                    if started.process.poll() is not None:
                        yield self.finished(started)
                if self.running and time.monotonic() > self.end:
                    yield from self.stop()
                if self.running:
                    time.sleep(0.02)
        except BaseException:
            self.stop()
            raise
