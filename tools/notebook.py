#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes a notebook of a Python file whose cells begin with `# %%`, text with `# %% [markdown]`: notebook.py FILE.py FILE.ipynb"""
import json
import re
import sys


def cells_of(text):
    for kind, body in re.findall(r"(?ms)^# %%( \[markdown\])?\n(.*?)(?=^# %%|\Z)", text):
        body = body.strip()
        if kind:
            yield {"cell_type": "markdown", "metadata": {}, "source": re.sub(r"(?m)^# ?", "", body)}
        else:
            yield {"cell_type": "code", "metadata": {}, "source": body, "outputs": [], "execution_count": None}


def main(source, to):
    with open(source, encoding="utf-8") as file:
        cells = list(cells_of(file.read()))
    with open(to, "w", encoding="utf-8") as file:
        json.dump({"nbformat": 4, "nbformat_minor": 4, "metadata": {"language_info": {"name": "python"}}, "cells": cells}, file, indent=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
