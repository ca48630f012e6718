#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the mesh of the page's case, a box of exactly K = 15628 tetrahedra, as a Gmsh file (version 2.2, text).

15628 is neither 5 n nor 6 n, so it is no box of cells cut alike. 13 x 14 x 14 cells of six tetrahedra (Kuhn's division, all
diagonals alike) are 15288. The other 340 come from 85 edges that are cut in half: an edge that four tetrahedra share adds
four. Their stars do not meet, so the mesh stays conforming. Then vertices inside the box are moved by up to a sixth of a
cell. The same file is made everywhere. Gmsh made an earlier mesh of the same number and box (box.geo)."""

import argparse
import itertools
import os
import sys

CELLS = (13, 14, 14)
CUT_EDGES = 85
ELEMENTS = 15628
LOW, HIGH = (-1.0, -1.0, -1.0), (1.0, 1.0, 0.9651)
SHAKING = 1 / 6


class Numbers:
    """The same sequence of numbers everywhere (Steele, Lea, Flood 2014, splitmix64)."""

    def __init__(self, seed):
        self.state = seed

    def word(self):
        mask = (1 << 64) - 1
        self.state = (self.state + 0x9E3779B97F4A7C15) & mask
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return z ^ (z >> 31)

    def between(self, low, high):
        return low + (high - low) * (self.word() >> 11) / 2 ** 53


def cells_of_tetrahedra():
    """(vertices, tetrahedra) of the box, each cell divided along the ways from its first corner to its last."""
    nx, ny, nz = (n + 1 for n in CELLS)
    vertices = [tuple((LOW[d] * (CELLS[d] - place[d]) + HIGH[d] * place[d]) / CELLS[d] for d in range(3))
                for place in itertools.product(range(nx), range(ny), range(nz))]
    step = (ny * nz, nz, 1)
    tetrahedra = []
    for cell in itertools.product(*map(range, CELLS)):
        first = sum(c * s for c, s in zip(cell, step))
        for way in itertools.permutations(range(3)):
            corners = [first]
            for d in way:
                corners.append(corners[-1] + step[d])
            tetrahedra.append(tuple(corners))
    return vertices, tetrahedra


def cut_edges(vertices, tetrahedra, numbers):
    """Cuts CUT_EDGES edges, of four tetrahedra each that no other cut touches."""
    star = {}
    for n, corners in enumerate(tetrahedra):
        for edge in itertools.combinations(sorted(corners), 2):
            star.setdefault(edge, []).append(n)
    inner = {edge: around for edge, around in star.items() if len(around) == 4 and not is_on_wall(vertices, edge)}
    order = sorted(inner, key=lambda edge: (numbers.word(), edge))
    touched, cut = set(), []
    for edge in order:
        if len(cut) < CUT_EDGES and touched.isdisjoint(inner[edge]):
            touched.update(inner[edge])
            cut.append(edge)
    kept = [corners for n, corners in enumerate(tetrahedra) if n not in touched]
    for a, b in cut:
        middle = len(vertices)
        vertices.append(tuple((x + y) / 2 for x, y in zip(vertices[a], vertices[b])))
        for n in inner[a, b]:
            kept += [tuple(middle if corner == end else corner for corner in tetrahedra[n]) for end in (a, b)]
    return kept


def is_on_wall(vertices, corners):
    """Whether these vertices lie on one wall of the box together."""
    return any(all(vertices[c][d] == wall[d] for c in corners) for d in range(3) for wall in (LOW, HIGH))


def shaken(vertices, numbers):
    result = []
    for vertex in vertices:
        moves = [numbers.between(-SHAKING, SHAKING) * (HIGH[d] - LOW[d]) / CELLS[d] for d in range(3)]
        inside = all(LOW[d] < vertex[d] < HIGH[d] for d in range(3))
        result.append(tuple(x + move for x, move in zip(vertex, moves)) if inside else vertex)
    return result


def six_volumes(vertices, corners):
    a, b, c = ([p - q for p, q in zip(vertices[corner], vertices[corners[0]])] for corner in corners[1:])
    return (a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0]))


def oriented(vertices, corners):
    """The same tetrahedron with a positive volume."""
    return corners if six_volumes(vertices, corners) > 0 else (corners[1], corners[0], *corners[2:])


def boundary(tetrahedra):
    """The faces of one tetrahedron only."""
    count = {}
    for corners in tetrahedra:
        for face in itertools.combinations(corners, 3):
            count.setdefault(tuple(sorted(face)), []).append(face)
    if max(map(len, count.values())) > 2:
        raise AssertionError("a face belongs to three tetrahedra")
    return [faces[0] for _, faces in sorted(count.items()) if len(faces) == 1]


def mesh():
    """(vertices, tetrahedra, wall faces); checked: number, conformity, volume, no flat element."""
    numbers = Numbers(15628)
    vertices, tetrahedra = cells_of_tetrahedra()
    tetrahedra = cut_edges(vertices, tetrahedra, numbers)
    vertices = shaken(vertices, numbers)
    tetrahedra = [oriented(vertices, corners) for corners in tetrahedra]
    walls = boundary(tetrahedra)
    volumes = [six_volumes(vertices, corners) / 6 for corners in tetrahedra]
    box = 1.0
    for low, high in zip(LOW, HIGH):
        box *= high - low
    if len(tetrahedra) != ELEMENTS or not all(is_on_wall(vertices, face) for face in walls):
        raise AssertionError(f"{len(tetrahedra)} tetrahedra, or a face without a neighbour inside the box")
    if abs(sum(volumes) - box) > 1e-12 * box or min(volumes) < 0.1 * box / ELEMENTS:
        raise AssertionError("the tetrahedra do not fill the box, or one is flat")
    return vertices, tetrahedra, walls


def text_of(vertices, tetrahedra, walls):
    lines = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$PhysicalNames", "2", '2 1 "wall"', '3 2 "medium"',
             "$EndPhysicalNames", "$Nodes", str(len(vertices))]
    lines += [f"{n} {x:.17g} {y:.17g} {z:.17g}" for n, (x, y, z) in enumerate(vertices, 1)]
    lines += ["$EndNodes", "$Elements", str(len(walls) + len(tetrahedra))]
    cells = [(2, 1, face) for face in walls] + [(4, 2, corners) for corners in tetrahedra]
    lines += [f"{n} {kind} 2 {group} {group} " + " ".join(str(c + 1) for c in corners)
              for n, (kind, group, corners) in enumerate(cells, 1)]
    return "\n".join(lines) + "\n$EndElements\n"


def make(path):
    """Writes the file whole or not at all."""
    beside = f"{path}.{os.getpid()}"
    with open(beside, "w", encoding="ascii") as file:
        file.write(text_of(*mesh()))
    os.replace(beside, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", nargs="?", default="k15628.msh", help="default: %(default)s")
    path = parser.parse_args().output
    try:
        make(path)
    except OSError as error:
        print(f"make_k15628.py: {path}: cannot be written: {error.strerror}", file=sys.stderr)
        return 5
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
