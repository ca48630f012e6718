# SPDX-License-Identifier: BSD-3-Clause
"""Damages gauge files of every format, and propagators in LIME, thousands of times and sorts what the readers make of them:

  refused   one line that names the file
  harmless  the numbers of the sound file; where a file has no checksum but a sum of words (NERSC) or none, to what the precision of its links allows
  remark    the same, and the reader says what it assumed or passed over, beyond what it says of the sound file; or other
            numbers, of which a remark says that they may be wrong; or a file that says that it is of another lattice
  bad       other numbers without such a remark, a remark that REMARKS does not have, a message that names no file, another
            exception, a crash, a hang

    python3 gauge_files.py --driver build/validation/campaigns/campaign_gauge_files [--tries 3000] [--seed 1] [--only NAME]

`tries` is per format. The row for docs/campaigns.md is printed at the end; the status is 1 where anything is bad."""
import argparse
import os
import random
import re
import selectors
import struct
import subprocess
import sys
import tempfile

from campaign import ENDS, keep_bad, row_of

LIMIT = 60.0  # seconds a file may take

#: What readers say of files, and whether it tells that numbers may be wrong.
REMARKS = {
    r"the NERSC header has a MILC_INFO block, whose lines were passed over": False,
    r"the NERSC header has no FLOATING_POINT: ": False,
    r"the last LIME record (lacks|is followed by) ": False,
    r"record 'scidac-private-file-xml' has no <volfmt>": False,
    r"record '[a-z-]+' has no <field>": False,
    r"the names in record '[a-z-]+' have a prefix": False,
    r"a SciDAC record of datatype 'Lattice', as in 2004": False,
    r"record 'ildg-binary-data' has no 'ildg-format' before it": False,
    r"antiperiodic boundary condition in the links of the file": False,
    r"the file has no checksum: ": False,  # distances from SU(3) bound what may be wrong
    r"\d+ of \d+ fields have no checksum": True,
    r"the link trace in the header is off": True,
    r"the plaquette is off": True,
}


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


def lime_records(data):
    """(begin, end, type) of the records of a LIME file; empty for other files."""
    found, at = [], 0
    while data[at:at + 4] == b"\x45\x67\x89\xab":
        size = struct.unpack(">Q", data[at + 8:at + 16])[0]
        end = at + 144 + size + -size % 8
        found.append((at, end, data[at + 16:at + 144].rstrip(b"\0")))
        at = end
    return found


def places_near(data):
    """What is no field of numbers, as (begin, end)."""
    records = lime_records(data)
    if not records:
        return [(0, min(header_end(data), len(data)))]
    return [(begin, begin + 144 if b"binary" in kind else end) for begin, end, kind in records]


def damaged(data, source):
    """One to four of: bits, bytes and runs of them changed, cut out, put in, repeated, moved; numbers of a header
    replaced; records of a LIME file left out or repeated. Half of the places lie in headers or behind the links."""
    data = bytearray(data)
    end = header_end(data)
    places = places_near(bytes(data))
    records = lime_records(bytes(data))
    if records and source.random() < 0.15:
        begin, stop, _ = source.choice(records)
        data[begin:stop] = b"" if source.random() < 0.5 else 2 * data[begin:stop]
        places = places_near(bytes(data))
        if source.random() < 0.7:
            return bytes(data)
    for _ in range(source.choice([1, 1, 1, 2, 2, 4])):
        if len(data) < 8:
            break
        near = source.random() < 0.5
        at = min(source.randrange(*source.choice(places)) if near else source.randrange(len(data)), len(data) - 1)
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
            begin, stop = source.choice(places) if records else (0, end)
            digits = [begin + i for i, c in enumerate(data[begin:stop]) if 48 <= c <= 57] or [at]
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
    _, off, _, *remarks = answer[0].split("\t")
    new_remarks = [remark for remark in remarks if remark and remark not in base[3:]]
    tells = False  # that numbers may be wrong
    for remark in new_remarks:
        known = [says for pattern, says in REMARKS.items() if re.match(pattern, remark)]
        if not known:
            return "bad", f"a remark that the campaign does not know: {remark}"
        tells = tells or any(known)
    has_checksum = has_checksum and not any("no checksum" in remark for remark in new_remarks)
    if float(off) == 0.0 or (not has_checksum and float(off) <= links_bound(base)):
        return ("remark" if new_remarks else "harmless"), ""
    if off == "inf" or tells:
        return "remark", ""  # the programs print the lattice that the file says it has
    return "bad", f"other numbers, off by {off}, without a word; {new_remarks}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--driver", required=True)
    parser.add_argument("--tries", type=int, default=int(os.environ.get("PLAQUETTE_CAMPAIGN_TRIES", 3000)))
    parser.add_argument("--seed", type=int, default=int(os.environ.get("PLAQUETTE_CAMPAIGN_SEED", 1)))
    parser.add_argument("--keep", help="folder for files that came out bad")
    parser.add_argument("--only", default="", help="formats with this in their names")
    options = parser.parse_args()
    total = dict.fromkeys(ENDS, 0)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([options.driver, "make", folder], check=True)
        for name in sorted(name for name in os.listdir(folder) if options.only in name):
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                whole = file.read()
            driver = Driver(options.driver)
            base = driver.ask("base", path)[0].split("\t")
            if base[0] != "read" or float(base[1]) != 0.0:
                sys.exit(f"{name}: the sound file is not read: {base}")
            # NERSC's is a sum of words, which does not see two of them exchanged.
            has_checksum = (not any("no checksum" in remark for remark in base[3:]) and "nersc" not in name and name not in ("openqcd", "ddalphaamg"))
            source = random.Random(f"{options.seed} {name}")
            counts = dict.fromkeys(total, 0)
            tried = os.path.join(folder, "try" + "".join("_" + kind for kind in ("bare", "propagator") if kind in name))
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
