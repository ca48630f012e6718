# SPDX-License-Identifier: BSD-3-Clause
"""The tables of ladder/README.md, and the rows that a picture of one says it was drawn from."""

import json
import re


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def number_of(text):
    """The number in a cell; of a range its middle."""
    found = [float(value) for value in re.findall(r"[\d.]+", text)]
    return sum(found) / len(found)


def described(title, quantity, named):
    """What a picture shows: title, quantity and (rung, its name, time, times the rung below or None) a row."""
    rows, before = [], None
    for rung, name, time in named:
        rows.append([rung, name, time, round(before / time, 2) if before else None])
        before = time
    return {"title": title, "quantity": quantity, "rows": rows}


def row_a_rung(lines):
    """A table with a row a rung: "1 textbook", and its time in the next column."""
    header, rows = cells_of(lines[0]), []
    for line in lines[2:]:
        rung, name = cells_of(line)[0].split(" ", 1)
        rows.append((int(rung), name, number_of(cells_of(line)[1])))
    ladder = re.match(r"`([\w-]+)`", header[0])[1]
    return {ladder: described(header[0].replace("`", ""), header[1], rows)}


def row_a_ladder(lines):
    """A table with a column a rung: "textbook 787". Its first cell may begin the quantity of all rows."""
    found, begin = {}, cells_of(lines[0])[0]
    for line in lines[2:]:
        of, *cells = cells_of(line)
        match = re.match(r"`([\w-]+)`, (.*)", of)
        if not match:
            continue  # bandwidth
        rows = []
        for rung, cell in enumerate(filter(None, cells), 1):
            name, time = re.fullmatch(r"(.*?) ([\d.]+(?: to [\d.]+)?)", cell).groups()
            rows.append((rung, name, number_of(time)))
        found[match[1]] = described(match[1], f"{begin} {match[2]}".strip(), rows)
    return found


def tables_of(text):
    """{ladder: what its picture shows} of a page."""
    found = {}
    for table in re.findall(r"(?m)(?:^\|.*\n)+", text):
        lines = table.splitlines()
        if re.match(r"\| `[\w-]+`", lines[0]):
            found |= row_a_rung(lines)
        elif len(cells_of(lines[0])) > 1 and cells_of(lines[0])[1] == "1":
            found |= row_a_ladder(lines)
    return found


def table_behind(picture):
    """What a PNG says it was drawn from; None if it does not say."""
    with open(picture, "rb") as file:
        data = file.read()
    at = 8
    while at < len(data):
        length, kind = int.from_bytes(data[at:at + 4], "big"), data[at + 4:at + 8]
        key, _, value = data[at + 8:at + 8 + length].partition(b"\0")
        if kind == b"tEXt" and key == b"Table":
            return json.loads(value)
        at += length + 12
    return None
