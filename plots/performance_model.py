# SPDX-License-Identifier: BSD-3-Clause
"""How long one application of an operator takes on several GPUs, from numbers measured apart: what one GPU does with a
lattice of the local size, the copy bandwidth, the bandwidth and latency between GPUs, the cost of a launch.

What is assumed. An application of a hop is three steps: faces are packed and sent, the interior is worked out, then the
boundary. A site costs the same wherever it lies: the time of one GPU for the local lattice, taken as periodic, is split
by numbers of sites. All faces travel at once, and share what leaves a GPU.

  overlap on    T = 2 launches + max(T_interior + T_read, T_exchange) + T_boundary
  overlap off   T = 3 launches + max(T_read, T_exchange) + T_interior + T_boundary

T_read is the time to read the spinors of the faces at the copy bandwidth; packing writes straight into the neighbour's
memory, so that with the overlap off the longer of reading and exchange counts. T_exchange is latency + bytes / bandwidth,
of the slowest of three ways: inside a host between GPUs that reach each other (measured: peer stores), or through its
memory (measured: staged exchanges), and between hosts (assumed: parameters with stated defaults). Interior work and packing
read the same memory, so that their times add. The papers' model, T_gather + max(T_bulk, T_exchange) + T_scatter, is the
same with gather and exchange in one step."""

import bisect
import collections
import math

#: Bytes of a projected half-spinor on its way and of a spinor as it is read, by precision; two columns of 16 bytes carry
#: the twelve 16-bit numbers of half precision and their norm.
SENT = {"double": 96, "single": 48, "half": 32}
READ = {"double": 192, "single": 96, "half": 52}

#: Between hosts: bytes a second and seconds, of each GPU (a network adapter of 400 Gb/s a GPU, messages started by the
#: host). Assumptions, not measurements.
NETWORK_BANDWIDTH, NETWORK_LATENCY = 50e9, 10e-6

#: What a machine does. `times`: {(operator, layout, precision, reals, rhs): [(sites, seconds)]} of one GPU, growing in
#: sites; bandwidths in bytes a second; `exchange`: [(bytes, seconds)] of the host's way, or empty.
Machine = collections.namedtuple("Machine", "times copy peer_bandwidth peer_latency launch exchange network_bandwidth "
                                 "network_latency gpus_per_host")

#: An application: hops that it is made of, and of the name of its times.
Problem = collections.namedtuple("Problem", "case lattice grid")

Prediction = collections.namedtuple("Prediction", "seconds without_overlap alone interior boundary read exchange launches "
                                    "bytes_sent")


def volume(extents):
    return math.prod(extents)


def hops_of(case):
    operator, layout = case[0], case[1]
    return 1 if operator == "hopping" and layout == "even-odd" else 2


def smallest_surface_grid(lattice, ranks):
    """The grid that the library takes for a lattice of all ranks; None where there is none."""
    best, least = None, None
    for x in range(1, ranks + 1):
        for y in range(1, ranks // x + 1):
            for z in range(1, ranks // (x * y) + 1):
                t = ranks // (x * y * z)
                grid = (x, y, z, t)
                if volume(grid) != ranks or any(length % n or (length // n) % 2 for length, n in zip(lattice, grid)):
                    continue
                local = [length // n for length, n in zip(lattice, grid)]
                inner = volume([length - 2 if n > 1 else length for length, n in zip(local, grid)])
                surface = sum(2 * volume(local) // length for length, n in zip(local, grid) if n > 1)
                if least is None or (surface, volume(local) - inner) < least:
                    best, least = grid, (surface, volume(local) - inner)
    return best


def grid_of_local_box(local, ranks):
    """The grid that the mini-app takes for boxes of a given size, whose faces do not depend on the numbers of boxes: all of
    them along the longest direction, the last of equals."""
    along = max(range(len(local)), key=lambda mu: (local[mu], mu))
    return tuple(ranks if mu == along else 1 for mu in range(len(local)))


def interpolated(table, at):
    """A positive quantity from [(place, value)], growing in place: linear in the logarithms between its points; in
    proportion to the place beyond the last one; before the first one the first value, which is the least there is."""
    places = [place for place, _ in table]
    n = bisect.bisect_left(places, at)
    if n < len(table) and places[n] == at:
        return table[n][1]
    if n == 0:
        return table[0][1]
    if n == len(table):
        return table[-1][1] * at / places[-1]
    (a, low), (b, high) = table[n - 1], table[n]
    share = math.log(at / a) / math.log(b / a)
    return math.exp((1 - share) * math.log(low) + share * math.log(high))


def neighbours(rank, grid, mu):
    """The ranks before and behind, ranks counted with x fastest."""
    place, rest = [], rank
    for n in grid:
        place.append(rest % n)
        rest //= n
    found = []
    for step in (-1, 1):
        other = list(place)
        other[mu] = (other[mu] + step) % grid[mu]
        index = 0
        for n, at in reversed(list(zip(grid, other))):
            index = index * n + at
        found.append(index)
    return found


def most_bytes_between_hosts(face_bytes, grid, gpus_per_host):
    """(to GPUs of the same host, to other hosts): of the rank that sends most to other hosts; `face_bytes` by direction."""
    worst = (0.0, 0.0)
    for rank in range(volume(grid)):
        inside = outside = 0.0
        for mu, n in enumerate(grid):
            if n == 1:
                continue
            for other in neighbours(rank, grid, mu):
                if other // gpus_per_host == rank // gpus_per_host:
                    inside += face_bytes[mu]
                else:
                    outside += face_bytes[mu]
        if (outside, inside) > (worst[1], worst[0]):
            worst = (inside, outside)
    return worst


def application(problem, machine, staged=False):
    """The Prediction for one application to all right-hand sides, of the slowest rank."""
    case, lattice, grid = problem
    precision, rhs = case[2], case[4]
    local = [length // n for length, n in zip(lattice, grid)]
    sites = volume(local)
    alone = interpolated(machine.times[case], sites)
    cut = [mu for mu in range(4) if grid[mu] > 1]
    if not cut:
        return Prediction(alone, alone, alone, alone, 0.0, 0.0, 0.0, 0.0, 0.0)
    hops = hops_of(case)
    inner = volume([max(length - 2, 0) if grid[mu] > 1 else length for mu, length in enumerate(local)])
    interior = alone * inner / sites
    boundary = alone - interior
    face = [sites // length // 2 * rhs for length in local]  # sites of one parity, of all columns
    read = hops * sum(2 * face[mu] for mu in cut) * READ[precision] / machine.copy
    face_bytes = [n * SENT[precision] for n in face]
    inside, outside = most_bytes_between_hosts(face_bytes, grid, machine.gpus_per_host)
    ways = []
    if inside:
        if staged:
            ways.append(interpolated(machine.exchange, max(inside, 1.0)))
        else:
            ways.append(machine.peer_latency + inside / machine.peer_bandwidth)
    if outside:
        ways.append(machine.network_latency + outside / machine.network_bandwidth)
    exchange = hops * max(ways)
    launches = hops * machine.launch
    with_overlap = 2 * launches + max(interior + read, exchange) + boundary
    without = 3 * launches + max(read, exchange) + interior + boundary
    return Prediction(with_overlap, without, alone, interior, boundary, read, exchange, 2 * launches,
                      hops * (inside + outside))


def deviation(predicted, measured):
    """Of a model from a measurement, as a fraction of the latter."""
    return predicted / measured - 1.0
