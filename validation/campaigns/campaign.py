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


class Tally:
    """Counts of ends: refused, harmless, done, bad."""

    def __init__(self, name, tries):
        self.name = name
        self.tries = int(os.environ.get("PLAQUETTE_CAMPAIGN_TRIES", tries))
        self.random = random.Random(int(os.environ.get("PLAQUETTE_CAMPAIGN_SEED", 1)))
        self.counts = {"refused": 0, "harmless": 0, "bad": 0}
        self.done = 0

    def add(self, kind, what, why=""):
        self.done += 1
        self.counts[kind] += 1
        if kind == "bad":
            print(f"BAD {what}: {why}", flush=True)
        elif self.done % 20 == 0:
            print(f"{self.name}: {self.done} of {self.tries}, {self.counts}", flush=True)

    def end(self):
        """Prints the row; the exit status of the campaign."""
        row = f"| {self.name} | {self.done} | {self.counts['refused']} | {self.counts['harmless']} | {self.counts['bad']} |"
        print(row)
        if os.environ.get("PLAQUETTE_CAMPAIGN_NOTE"):
            with open(TABLE, encoding="utf-8") as file:
                text = file.read()
            line = re.compile(r"^\| " + re.escape(self.name) + r" \|.*$", re.MULTILINE)
            text = line.sub(row, text) if line.search(text) else text.rstrip("\n") + "\n" + row + "\n"
            with open(TABLE, "w", encoding="utf-8") as file:
                file.write(text)
        return 1 if self.counts["bad"] or not self.done else 0
