# SPDX-License-Identifier: BSD-3-Clause
"""What campaigns share: hundreds of runs of the programs with something wrong, a tally of how they end, and a row of
docs/campaigns.md. A campaign fails where a run ends badly; `bad` is to be zero.

    ctest -L campaign            with -DPLAQUETTE_CAMPAIGNS=ON
    PLAQUETTE_CAMPAIGN_TRIES=20  fewer tries than the default
    PLAQUETTE_CAMPAIGN_SEED=2    other random numbers
    PLAQUETTE_CAMPAIGN_NOTE=yes  put the row into docs/campaigns.md
"""
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "campaigns.md")


#: How a try ends, in the order of the table's columns.
ENDS = ("refused", "harmless", "remark", "bad")


def row_of(name, counts):
    """The row of the table for these counts of ends."""
    return f"| {name} | {sum(counts.values())} | " + " | ".join(str(counts.get(end, 0)) for end in ENDS) + " |"


def keep_bad(folder, name, data):
    """Writes a damaged file into a folder, for a closer look; nothing where no folder is named."""
    if folder:
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)


class Tally:
    """Counts of ends."""

    def __init__(self, name, tries):
        self.name = f"{name} (`{os.path.basename(sys.argv[0])}`)"
        self.tries = int(os.environ.get("PLAQUETTE_CAMPAIGN_TRIES", tries))
        self.random = random.Random(int(os.environ.get("PLAQUETTE_CAMPAIGN_SEED", 1)))
        self.counts = dict.fromkeys(ENDS, 0)

    def add(self, kind, what, why=""):
        self.counts[kind] += 1
        done = sum(self.counts.values())
        if kind == "bad":
            print(f"BAD {what}: {why}", flush=True)
        elif done % 20 == 0:
            print(f"{self.name}: {done} of {self.tries}, {self.counts}", flush=True)

    def end(self):
        """Prints the row; the exit status of the campaign."""
        row = row_of(self.name, self.counts)
        print(row)
        if os.environ.get("PLAQUETTE_CAMPAIGN_NOTE"):
            with open(TABLE, encoding="utf-8") as file:
                text = file.read()
            line = re.compile(r"^\| " + re.escape(self.name) + r" \|.*$", re.MULTILINE)
            if line.search(text):
                text = line.sub(row, text)
            else:
                table = text.rindex("\n|") + 1  # its last row
                end = text.index("\n", table) + 1
                text = text[:end] + row + "\n" + text[end:]
            with open(TABLE, "w", encoding="utf-8") as file:
                file.write(text)
        return 1 if self.counts["bad"] or not any(self.counts.values()) else 0
