# SPDX-License-Identifier: BSD-3-Clause
"""Process grids as the programs choose them, and lattices of weak scaling, put together from a box a rank."""

import math

from report_file import ReportError


def smallest_surface_grid(lattice, ranks):
    """The grid that the library takes for a lattice of all ranks; None where there is none."""
    best, least = None, None
    for x in range(1, ranks + 1):
        for y in range(1, ranks // x + 1):
            for z in range(1, ranks // (x * y) + 1):
                t = ranks // (x * y * z)
                grid = (x, y, z, t)
                if math.prod(grid) != ranks or any(length % n or (length // n) % 2 for length, n in zip(lattice, grid)):
                    continue
                local = [length // n for length, n in zip(lattice, grid)]
                inner = math.prod([length - 2 if n > 1 else length for length, n in zip(local, grid)])
                surface = sum(2 * math.prod(local) // length for length, n in zip(local, grid) if n > 1)
                if least is None or (surface, math.prod(local) - inner) < least:
                    best, least = grid, (surface, math.prod(local) - inner)
    return best


def grid_of_local_box(local, ranks):
    """The grid that the mini-app takes for boxes of a given size, whose faces do not depend on the numbers of boxes.
    All of them lie along the longest direction, the last of equals."""
    along = max(range(len(local)), key=lambda mu: (local[mu], mu))
    return tuple(ranks if mu == along else 1 for mu in range(len(local)))


def extents_of(text, option):
    try:
        extents = tuple(int(word) for word in text.split("x"))
    except ValueError:
        extents = ()
    if len(extents) != 4 or min(extents) < 1:
        raise ReportError(f"{option}: expected lattices like 24x24x24x32, found '{text}'")
    return extents


def whole_of_boxes(text, ranks):
    """(lattice, grid) of `ranks` boxes of this size."""
    local = extents_of(text, "--weak")
    grid = grid_of_local_box(local, ranks)
    return tuple(length * n for length, n in zip(local, grid)), grid


def is_strong_too(text, ranks, strong):
    """Whether weak scaling comes to one of the lattices that strong scaling is run on, in the same boxes."""
    whole, grid = whole_of_boxes(text, ranks)
    return whole in [extents_of(word, "--strong") for word in strong] and smallest_surface_grid(whole, ranks) == grid
