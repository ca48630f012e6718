# SPDX-License-Identifier: BSD-3-Clause
"""Damages gauge files of every format thousands of times and sorts what the reader makes of them:

  refused   one line that names the file
  harmless  the links of the sound file; where a file has no checksum but a sum of words (NERSC) or none, to what the precision of its links allows
  remark    the same, and the reader says what it assumed or passed over, beyond what it says of the sound file; or a file
            that says of itself that it is of another lattice
  bad       other links without a word, a message that names no file, another exception, a crash, a hang

    python3 gauge_files.py --driver build/validation/campaigns/campaign_gauge_files [--tries 3000] [--seed 1]

`tries` is per format. The row for docs/campaigns.md is printed at the end; the status is 1 where anything is bad."""
import argparse
import os
import random
import selectors
import subprocess
import sys
import tempfile

from campaign import ENDS, keep_bad, row_of

LIMIT = 60.0  # seconds a file may take


class Driver:
    """A reader that answers a line for each file, started again where it died."""

    def __init__(self, program):
        self.program, self.process, self.base = program, None, None

    def start(self):
        self.process = subprocess.Popen([self.program, "read"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)

    def ask(self, verb, path):
        """Lines of the answer; None where the reader died or took too long."""
        if self.process is None:
            self.start()
            if verb != "base":
                self.ask("base", self.base)
        if verb == "base":
            self.base = path
        self.process.stdin.write(f"{verb} {path}\n".encode())
        self.process.stdin.flush()
        text = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while not text.endswith(b"\ndone\n"):
                got = os.read(self.process.stdout.fileno(), 1 << 16) if selector.select(LIMIT) else b""
                if not got:
                    self.process.kill()
                    self.process.wait()
                    self.process = None
                    return None
                text += got
        return text.decode(errors="replace").split("\n")[:-2]


def header_end(data):
    for mark in (b"END_HEADER\n", b"-binary-data"):
        if mark in data:
            return data.index(mark) + len(mark)
    return 96


def damaged(data, source):
    """One to four of: bits, bytes and runs of them changed, cut out, put in, repeated, moved; numbers of a header
    replaced. Half of the places lie in the header or behind the links."""
    data = bytearray(data)
    end = header_end(data)
    for _ in range(source.choice([1, 1, 1, 2, 2, 4])):
        if len(data) < 8:
            break
        near = source.random() < 0.5
        at = source.randrange(min(end, len(data)) if near else len(data))
        if near and source.random() < 0.2:
            at = max(0, len(data) - 1 - source.randrange(min(400, len(data))))
        kind = source.randrange(10)
        size = source.choice([1, 2, 3, 4, 8, 16, 100, 144])
        if kind <= 2:
            data[at] ^= 1 << source.randrange(8)
        elif kind == 3:
            data[at:at + size] = bytes(source.randrange(256) for _ in range(len(data[at:at + size])))
        elif kind == 4:
            del data[at:at + size]
        elif kind == 5:
            data[at:at] = bytes(source.choice([0, 10, 32, 255, source.randrange(256)]) for _ in range(size))
        elif kind == 6:
            data[at:at] = data[at:at + size]
        elif kind == 7:
            other = source.randrange(len(data))
            data[at:at + 8], data[other:other + 8] = data[other:other + 8], data[at:at + 8]
        elif kind == 8:
            del data[at if source.random() < 0.3 else max(0, len(data) - size):]
        else:
            digits = [i for i, c in enumerate(data[:end]) if 48 <= c <= 57] or [at]
            i = source.choice(digits)
            word = source.choice([b"0", b"-1", b"2", b"4", b"99999999999999999999", b"1e300", b"nan", b"65536", b"", b"<",
                                  b"0x10", b"6", b"24"])
            data[i:i + 1] = word
    return bytes(data)


def links_bound(base):
    """What a flipped bit may change that the distance from SU(3) cannot tell from rounding."""
    bits = int(base[2])
    return 4 * 1024 * 2.0 ** (-24 if bits == 32 else -53)


def outcome(answer, base, path, has_checksum):
    if answer is None:
        return "bad", "the reader crashed or hung"
    if answer[0].startswith("other"):
        return "bad", answer[0]
    if answer[0].startswith("refused"):
        message = answer[0].split("\t", 1)[1]
        if len(answer) != 1 or path not in message or len(message) > 600:
            return "bad", f"a message without the file, or of several lines: {answer}"
        return "refused", ""
    _, off, _, remarks = answer[0].split("\t")
    new_remarks = remarks != base[3]
    if float(off) == 0.0:
        return ("remark" if new_remarks else "harmless"), ""
    if off == "inf":
        return "remark", ""  # the programs print the lattice that the file says it has
    if new_remarks:
        return "remark", ""
    if not has_checksum and float(off) <= links_bound(base):
        return "harmless", ""
    return "bad", f"other links, off by {off}, without a word"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--driver", required=True)
    parser.add_argument("--tries", type=int, default=int(os.environ.get("PLAQUETTE_CAMPAIGN_TRIES", 3000)))
    parser.add_argument("--seed", type=int, default=int(os.environ.get("PLAQUETTE_CAMPAIGN_SEED", 1)))
    parser.add_argument("--keep", help="folder for files that came out bad")
    options = parser.parse_args()
    total = dict.fromkeys(ENDS, 0)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([options.driver, "make", folder], check=True)
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                whole = file.read()
            driver = Driver(options.driver)
            base = driver.ask("base", path)[0].split("\t")
            if base[0] != "read" or float(base[1]) != 0.0:
                sys.exit(f"{name}: the sound file is not read: {base}")
            # NERSC's is a sum of words, which does not see two of them exchanged.
            has_checksum = ("no checksum" not in base[3] and "nersc" not in name and name not in ("openqcd", "ddalphaamg"))
            source = random.Random(f"{options.seed} {name}")
            counts = dict.fromkeys(total, 0)
            tried = os.path.join(folder, "try_bare" if "bare" in name else "try")
            for number in range(options.tries):
                data = damaged(whole, source)
                with open(tried, "wb") as file:
                    file.write(data)
                kind, why = outcome(driver.ask("try", tried), base, tried, has_checksum)
                counts[kind] += 1
                if kind == "bad":
                    print(f"BAD {name} {number}: {why}", flush=True)
                    keep_bad(options.keep, f"{name}_{number}", data)
            os.remove(tried)
            driver.process and driver.process.kill()
            print(f"{name}: {counts}", flush=True)
            for kind, count in counts.items():
                total[kind] += count
    print(row_of(f"gauge files (`gauge_files.py`, seed {options.seed})", total))
    return 1 if total["bad"] else 0


if __name__ == "__main__":
    sys.exit(main())
