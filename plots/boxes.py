# SPDX-License-Identifier: BSD-3-Clause
"""Lattices of weak scaling, put together from a box a rank, as the sweeps name them."""

from performance_model import grid_of_local_box, smallest_surface_grid
from report_file import ReportError


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
