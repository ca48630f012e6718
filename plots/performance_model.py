# SPDX-License-Identifier: BSD-3-Clause
"""How long one application of an operator takes on several GPUs, from numbers measured apart. These are what one GPU
does with a lattice of the local size, the copy bandwidth, the bandwidth and latency between GPUs. Two constants are
what a kernel costs beyond the bytes that it moves, and what sites at the cuts cost in the midst of one.

What is launched for a hop, and what waits for what (gpu/dirac/hopping_term.cu):

  overlap on, messages written by kernels: one kernel. A few of its blocks pack, into the neighbour's memory. The sites of
      the interior go on meanwhile. Those at the cuts come in their midst and wait for their messages.
          T = max(T_interior + T_read, T_exchange) + T_boundary + cut
  overlap off: three kernels, none of which starts before the one before it has ended: packing, waiting for the messages,
      all sites.
          T = fill + max(T_read, T_exchange) + fill + T_alone
  messages of the host (through its memory, by a library, between hosts), overlap on: packing, then the interior while they
      travel, waiting, the sites at the cuts. Off as above, but messages start when all is packed.
          T = fill + T_read + max(T_interior, T_exchange) + fill + fill + T_boundary
          T = fill + T_read + T_exchange + fill + T_alone

T_alone is the time of one GPU for the local lattice taken as periodic. Below the smallest that was measured it goes
down to a fill, in proportion to the sites. A site costs the same wherever it lies: T_interior and T_boundary are its
parts by numbers of sites. T_read is the time to read the spinors of the faces at the copy bandwidth. Inside a kernel
that works on the interior it adds, since both read the same memory. Alone it overlaps with the writing.

T_exchange = 2 latencies + bytes / bandwidth where kernels write: all faces travel at once and share what leaves a GPU,
and the flag follows when the message has arrived. Through the host or a library it is as measured for this number of
bytes. Between hosts it is latency + bytes / bandwidth, parameters with assumed defaults. The slowest way counts.

`fill` is what a kernel takes that has next to nothing to do, and a large one beyond its bytes over the bandwidth. It
starts, its first loads come back, its last stores and counters arrive, it ends. It is the same for every lattice,
precision and operator. `cut` is less: the machine is full, and only the sites at the cuts start slowly (the flag,
another stretch of code, loads past the first cache). The papers' model, T_gather + max(T_bulk, T_exchange) + T_scatter,
is the same without them.

A solve by multigrid (multigrid_on) is predicted from the lattices of its report on one GPU, and from the latency and the
bandwidth between GPUs. Of each lattice that is divided among n GPUs an application of its operator takes

    T = max(T_n * interior, hops * T_exchange) + T_n * boundary + hops * cut,      T_n = floor + (T_1 - floor) / n

T_1 is what its level took, over its applications, vectors included. `floor` is what an application takes however small
its lattice is: T_1 of the coarsest one. A lattice that each GPU holds whole takes what it took, and each visit the
gathering of a residual. A step of a Krylov solver sums over GPUs, 2 latencies."""

import bisect
import collections
import math

#: Bytes of a projected half-spinor on its way and of a spinor as it is read, by precision. Two columns of 16 bytes
#: carry the twelve 16-bit numbers of half precision and their norm.
SENT = {"double": 96, "single": 48, "half": 32}
READ = {"double": 192, "single": 96, "half": 52}

#: Between hosts: bytes a second and seconds, of each GPU (a network adapter of 400 Gb/s a GPU, messages started by the
#: host). Assumptions, not measurements.
NETWORK_BANDWIDTH, NETWORK_LATENCY = 50e9, 10e-6

#: Seconds of `fill`, on an H200: what remains of the exchange of a hop with the overlap off when 2 latencies and bytes
#: / bandwidth are taken away. It is 6.9 microseconds in double, 6.1 in half, of clover_schur on 24^3x128 on 4 GPUs (at
#: revision dfd5380; validation/results has a later solve-4.json). And of `cut`: what a hop with the overlap on takes
#: more than without messages when the reading of the faces is taken away. It is 0 in double, 3.4 in half, in that
#: report. No other has gone into them.
FILL, CUT = 6.5e-6, 1.7e-6

#: What a machine does. `times`: {(operator, layout, precision, reals, rhs): [(sites, seconds)]} of one GPU, growing in
#: sites; bandwidths in bytes a second; `exchanges`: {way: [(bytes, seconds)]} of those that the host starts.
Machine = collections.namedtuple("Machine", "times copy peer_bandwidth peer_latency fill cut exchanges network_bandwidth "
                                 "network_latency gpus_per_host")

#: An application: hops that it is made of, and of the name of its times.
Problem = collections.namedtuple("Problem", "case lattice grid")

Prediction = collections.namedtuple("Prediction", "seconds without_overlap alone interior boundary read exchange fill "
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
    """The grid that the mini-app takes for boxes of a given size, whose faces do not depend on the numbers of boxes.
    All of them lie along the longest direction, the last of equals."""
    along = max(range(len(local)), key=lambda mu: (local[mu], mu))
    return tuple(ranks if mu == along else 1 for mu in range(len(local)))


def interpolated(table, at, least=math.inf):
    """A positive quantity from [(place, value)], growing in place. It is linear in the logarithms between its points,
    and in proportion to the place beyond the last one. Before the first one it is on a line to `least` at zero, if that
    is below."""
    places = [place for place, _ in table]
    n = bisect.bisect_left(places, at)
    if n < len(table) and places[n] == at:
        return table[n][1]
    if n == 0:
        first, value = table[0]
        return value - max(value - least, 0.0) * (1.0 - at / first)
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


def exchange_of(inside, outside, machine, way):
    """Seconds of a hop's messages: bytes to GPUs of the same host, and to other hosts."""
    ways = [0.0]
    if inside and way == "peer":
        ways.append(2 * machine.peer_latency + inside / machine.peer_bandwidth)
    elif inside:
        ways.append(interpolated(machine.exchanges[way], inside))
    if outside:
        ways.append(machine.network_latency + outside / machine.network_bandwidth)
    return max(ways)


def application(problem, machine, way="peer"):
    """The Prediction for one application to all right-hand sides, of the slowest rank; `way` is that inside a host: "peer",
    or one of machine.exchanges."""
    case, lattice, grid = problem
    precision, rhs, hops = case[2], case[4], hops_of(case)
    local = [length // n for length, n in zip(lattice, grid)]
    sites = volume(local)
    alone = interpolated(machine.times[case], sites, hops * machine.fill)
    cut = [mu for mu in range(4) if grid[mu] > 1]
    if not cut:
        return Prediction(alone, alone, alone, alone, 0.0, 0.0, 0.0, 0.0, 0.0)
    inner = volume([max(length - 2, 0) if grid[mu] > 1 else length for mu, length in enumerate(local)])
    interior = alone * inner / sites
    boundary = alone - interior
    face = [sites // length // 2 * rhs for length in local]  # sites of one parity, of all columns
    read = hops * sum(2 * face[mu] for mu in cut) * READ[precision] / machine.copy
    inside, outside = most_bytes_between_hosts([n * SENT[precision] for n in face], grid, machine.gpus_per_host)
    exchange = hops * exchange_of(inside, outside, machine, way)
    fill = hops * machine.fill
    if outside or way != "peer":
        with_overlap = 3 * fill + read + max(interior, exchange) + boundary
        without = 2 * fill + read + exchange + alone
    else:
        with_overlap = max(interior + read, exchange) + boundary + hops * machine.cut
        without = 2 * fill + max(read, exchange) + alone
    return Prediction(with_overlap, without, alone, interior, boundary, read, exchange, fill, hops * (inside + outside))


def deviation(predicted, measured):
    """Of a model from a measurement, as a fraction of the latter."""
    return predicted / measured - 1.0


# --- Multigrid --------------------------------------------------------------------------------------------------------

#: Between GPUs, as measured: seconds of a message that is next to nothing, bytes a second.
Halo = collections.namedtuple("Halo", "latency bandwidth")

#: Bytes of a number of a coarse field, and hops of an application of a red-black operator.
COARSE_NUMBER, HOPS = 8, 2


def level_on(level, grid, halo, floor, rhs):
    """Seconds on a level that is divided as `grid` says, from its seconds on one GPU."""
    local = [length / n for length, n in zip(level["lattice"], grid)]
    sites, applications = volume(local), max(float(level["operator_applications"]), 1.0)
    alone = float(level["seconds"]) / applications
    each = min(alone, floor + max(alone - floor, 0.0) / volume(grid))
    cut = [mu for mu in range(4) if grid[mu] > 1]
    interior = volume([max(length - 2, 0.0) if grid[mu] > 1 else length for mu, length in enumerate(local)]) / sites
    bytes_sent = sum(2 * sites / local[mu] / 2 for mu in cut) * int(level["n"]) * COARSE_NUMBER * rhs
    exchange = HOPS * (2 * halo.latency + bytes_sent / halo.bandwidth)
    application = max(each * interior, exchange) + each * (1 - interior) + HOPS * CUT
    return applications * application + 2 * halo.latency * float(level["krylov_steps"])


def multigrid_levels_on(levels, grid, whole_from, halo, rhs=1):
    """Seconds of each level on the GPUs of a grid; `whole_from` is the first level that each of them holds whole, or None."""
    if volume(grid) == 1:
        return [float(level["seconds"]) for level in levels]
    coarsest = levels[-1]
    floor = float(coarsest["seconds"]) / max(float(coarsest["operator_applications"]), 1.0)
    found = []
    for i, level in enumerate(levels):
        if whole_from is None or i < whole_from:
            found.append(level_on(level, grid, halo, floor, rhs))
            continue
        gathered = 0.0
        if i == whole_from:
            size = volume(level["lattice"]) * int(level["n"]) * COARSE_NUMBER * rhs
            gathered = float(levels[i - 1]["cycles"]) * (2 * halo.latency + size / halo.bandwidth)
        found.append(float(level["seconds"]) + gathered)
    return found


def multigrid_on(solve, grid, whole_from, halo):
    """Seconds a source of a solve (of a report on one GPU) on the GPUs of a grid. Levels are timed apart, so that the solve
    changes as their sum does."""
    levels = solve["levels"]
    alone = sum(float(level["seconds"]) for level in levels)
    return float(solve["seconds_mean"]) * sum(multigrid_levels_on(levels, grid, whole_from, halo)) / alone
