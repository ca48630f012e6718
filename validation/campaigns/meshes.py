#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Campaign: thousands of damaged meshes, each read and solved as nodal-dg does it (campaign_meshes), and each read a second
time here, by another reader. An outcome is

  refused   with one line that names the file
  harmless  accepted; elements, volumes, sides and energy are those of a correct reading
  remark    the same, with a remark on what was mended
  bad       accepted with another result, or although sides lack a group, coincide, or elements overlap; a remark that
            REMARKS does not have; a crash; a hang

and bad must be 0. With --inspect, plaquette-inspect says of every tenth mesh that it is one where it was accepted, with
its elements. The whole table is printed; the exit status is 1 where something is bad."""
import argparse
import collections
import itertools
import json
import math
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import threading

from campaign import keep_bad, row_of

LEFT, RIGHT, WALLS, SHEET, LOW, HIGH = 1, 2, 3, 4, 11, 12
#: What the reader says of meshes that it mends, and of groups.
REMARKS = [r"mesh: \d+ of \d+ (tetrahedra have a negative volume|triangles are listed clockwise)",
           r"mesh: periodic sides differ by up to .*: their vertices were moved", r"mesh: .* of group '.*' inside: waves pass there",
           r"mesh: no groups of sides: all reflect"]
KIND = {"left": 2, "right": 1}  # as campaign_meshes numbers them: reflecting, absorbing, incident


class Mesh:
    def __init__(self, dim):
        self.dim = dim
        self.nodes = {}        # number: (x, y, z)
        self.elements = []     # [nodes, entity, groups]
        self.faces = []        # the same
        self.names = {}        # (dimension, group): name
        self.periodic = []     # (slave entity, master entity, [(slave, master)])
        self.partitions = None  # of each element, version 2

    def copy(self):
        other = Mesh(self.dim)
        other.nodes = dict(self.nodes)
        other.elements = [[list(n), e, list(g)] for n, e, g in self.elements]
        other.faces = [[list(n), e, list(g)] for n, e, g in self.faces]
        other.names = dict(self.names)
        other.periodic = [(s, m, list(p)) for s, m, p in self.periodic]
        return other


def difference(a, b):
    return tuple(x - y for x, y in zip(a, b))


def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def signed_volume(mesh, nodes):
    x = [mesh.nodes[n] for n in nodes]
    third = difference(x[3], x[0]) if mesh.dim == 3 else (0, 0, 1)
    return dot(difference(x[1], x[0]), cross(difference(x[2], x[0]), third)) / (6 if mesh.dim == 3 else 2)


def faces_of(nodes):
    return [tuple(sorted(nodes[:i] + nodes[i + 1:])) for i in range(len(nodes))]


def box(dim, cells, seed, groups=True, periodic=False):
    """A shaken box [-1, 1]^dim; left, right and other sides, two materials and a sheet between them; y periodic."""
    rng = random.Random(seed)
    mesh = Mesh(dim)
    points = [cells + 1] * dim + [1] * (3 - dim)
    number = {}
    shake = {}
    for k, j, i in itertools.product(*(range(p) for p in reversed(points))):
        at = (i, j, k)
        number[at] = len(number) + 1
        same = tuple(0 if periodic and d == 1 and a == cells else a for d, a in enumerate(at))
        offset = shake.setdefault(same, [0.15 * 2 / cells * rng.uniform(-1, 1) for _ in range(3)])
        x = [0.0, 0.0, 0.0]
        for d in range(dim):
            keep = at[d] in (0, cells) or (d == 0 and 2 * at[d] == cells)
            x[d] = -1 + 2 * at[d] / cells + (0 if keep else offset[d])
        mesh.nodes[number[at]] = tuple(x)
    for at in itertools.product(range(cells), repeat=dim):
        for order in itertools.permutations(range(dim)):
            here = list(at) + [0] * (3 - dim)
            nodes = [number[tuple(here)]]
            for d in order:
                here[d] += 1
                nodes.append(number[tuple(here)])
            if signed_volume(mesh, nodes) < 0:
                nodes[0], nodes[1] = nodes[1], nodes[0]
            high = sum(mesh.nodes[n][0] for n in nodes) > 0
            mesh.elements.append([nodes, 2 if high else 1, [HIGH if high else LOW] if groups else []])
    count = collections.Counter(f for nodes, _, _ in mesh.elements for f in faces_of(nodes))
    for face, times in sorted(count.items()):
        x = [mesh.nodes[n] for n in face]
        flat = lambda d, at: all(abs(p[d] - at) < 1e-12 for p in x)
        if times == 2:
            if flat(0, 0) and groups:
                mesh.faces.append([list(face), SHEET, [SHEET]])
            continue
        if periodic and (flat(1, -1) or flat(1, 1)):
            continue
        group = LEFT if flat(0, -1) else RIGHT if flat(0, 1) else WALLS
        if groups:
            mesh.faces.append([list(face), group, [group]])
    if periodic:
        pairs = [(number[at], number[at[:1] + (0,) + at[2:]]) for at in number if at[1] == cells]
        mesh.periodic.append((6, 5, pairs))
    if groups:
        mesh.names = {(dim - 1, LEFT): "left", (dim - 1, RIGHT): "right", (dim - 1, WALLS): "Wände", (dim - 1, SHEET): "sheet",
                      (dim, LOW): "low", (dim, HIGH): "high"}
    return mesh


# ---- writing ----

def write(mesh, version, binary):
    return write_22(mesh, binary) if version == 2 else write_41(mesh, binary)


def header(version, binary):
    out = f"$MeshFormat\n{version} {1 if binary else 0} 8\n".encode()
    return out + (struct.pack("<i", 1) + b"\n" if binary else b"") + b"$EndMeshFormat\n"


def names_section(mesh):
    if not mesh.names:
        return b""
    lines = [f'{d} {g} "{name}"' for (d, g), name in mesh.names.items()]
    return "\n".join(["$PhysicalNames", str(len(lines)), *lines, "$EndPhysicalNames\n"]).encode()


TYPE = {1: 1, 2: 2, 3: 4}


def write_22(mesh, binary):
    out = header("2.2", binary) + names_section(mesh) + f"$Nodes\n{len(mesh.nodes)}\n".encode()
    for n, x in mesh.nodes.items():
        out += struct.pack("<iddd", n, *x) if binary else f"{n} {x[0]!r} {x[1]!r} {x[2]!r}\n".encode()
    out += (b"\n" if binary else b"") + b"$EndNodes\n"
    lines, number = [], 0
    for dim, items in ((mesh.dim - 1, mesh.faces), (mesh.dim, mesh.elements)):
        for at, (nodes, entity, groups) in enumerate(items):
            for group in groups or [0]:
                number += 1
                tags = [group, entity]
                if mesh.partitions and dim == mesh.dim:
                    tags += [1, mesh.partitions[at]]
                if binary:
                    lines.append(struct.pack(f"<{4 + len(tags) + len(nodes)}i", TYPE[dim], 1, len(tags), number, *tags, *nodes))
                else:
                    lines.append(" ".join(map(str, (number, TYPE[dim], len(tags), *tags, *nodes))).encode() + b"\n")
    out += f"$Elements\n{len(lines)}\n".encode() + b"".join(lines) + (b"\n" if binary else b"") + b"$EndElements\n"
    if mesh.periodic:
        out += f"$Periodic\n{len(mesh.periodic)}\n".encode()
        for slave, master, pairs in mesh.periodic:
            out += f"{mesh.dim - 1} {slave} {master}\n{len(pairs)}\n".encode()
            out += "".join(f"{a} {b}\n" for a, b in pairs).encode()
        out += b"$EndPeriodic\n"
    return out


def write_41(mesh, binary):
    def integers(*values):
        return struct.pack(f"<{len(values)}i", *values) if binary else (" ".join(map(str, values)) + " ").encode()

    def sizes(*values):
        return struct.pack(f"<{len(values)}Q", *values) if binary else (" ".join(map(str, values)) + " ").encode()

    def reals(*values):
        return struct.pack(f"<{len(values)}d", *values) if binary else (" ".join(map(repr, values)) + " ").encode()

    end = b"" if binary else b"\n"
    entities = {d: {} for d in range(4)}
    for dim, items in ((mesh.dim - 1, mesh.faces), (mesh.dim, mesh.elements)):
        for nodes, entity, groups in items:
            entities[dim].setdefault((entity, tuple(groups)), []).append(nodes)
    tag = {d: {key: i + 1 for i, key in enumerate(entities[d])} for d in entities}
    out = header("4.1", binary) + names_section(mesh) + b"$Entities\n" + sizes(*(len(entities[d]) for d in range(4))) + end
    for d in range(4):
        for key in entities[d]:
            out += integers(tag[d][key]) + reals(-1.0, -1.0, -1.0, 1.0, 1.0, 1.0) + sizes(len(key[1])) + integers(*key[1])
            out += sizes(0) + end
    numbers = list(mesh.nodes)
    out += (b"\n" if binary else b"") + b"$EndEntities\n$Nodes\n" + sizes(1, len(numbers), min(numbers), max(numbers)) + end
    out += integers(mesh.dim, 1, 0) + sizes(len(numbers)) + end
    out += b"".join(sizes(n) + end for n in numbers) + b"".join(reals(*mesh.nodes[n]) + end for n in numbers)
    total = sum(len(v) for d in entities.values() for v in d.values())
    out += (b"\n" if binary else b"") + b"$EndNodes\n$Elements\n"
    out += sizes(sum(len(d) for d in entities.values()), total, 1, total) + end
    number = 0
    for d in range(4):
        for key, items in entities[d].items():
            out += integers(d, tag[d][key], TYPE[d]) + sizes(len(items)) + end
            for nodes in items:
                number += 1
                out += sizes(number, *nodes) + end
    out += (b"\n" if binary else b"") + b"$EndElements\n"
    if mesh.periodic:
        out += b"$Periodic\n" + sizes(len(mesh.periodic)) + end
        for slave, master, pairs in mesh.periodic:
            out += integers(mesh.dim - 1, slave, master) + end + sizes(0) + end + sizes(len(pairs)) + end
            out += b"".join(sizes(*pair) + end for pair in pairs)
        out += (b"\n" if binary else b"") + b"$EndPeriodic\n"
    return out


# ---- reading, by the manual of Gmsh ----

class Reader:
    """Raises ValueError, or what Python raises, where the file does not say what it should."""
    NODES = {15: 1, 1: 2, 2: 3, 4: 4}

    def __init__(self, data):
        self.data, self.at, self.binary = data, 0, False

    def line(self):
        while self.data[self.at:self.at + 1] in (b"\n", b"\r", b" ", b"\t"):
            self.at += 1
        end = self.data.find(b"\n", self.at)
        end = len(self.data) if end < 0 else end
        found = self.data[self.at:end].strip()
        self.at = end + 1
        return found

    def word(self):
        while self.data[self.at:self.at + 1] in (b"\n", b"\r", b" ", b"\t"):
            self.at += 1
        end = self.at
        while end < len(self.data) and self.data[end:end + 1] not in (b"\n", b"\r", b" ", b"\t"):
            end += 1
        found = self.data[self.at:end]
        self.at = end
        return found

    def take(self, form):
        if self.binary:
            found = struct.unpack_from(self.order + form, self.data, self.at)[0]
            self.at += struct.calcsize(form)
            return found
        text = self.word()
        if b"_" in text or text[:1] == b"+":
            raise ValueError
        return float(text) if form == "d" else int(text)

    def read(self):
        mesh = None
        parts, found = {}, set()
        self.order = "<"
        while self.data[self.at:].strip():
            section = self.line()
            if section in found:
                raise ValueError("twice")
            found.add(section)
            if section == b"$MeshFormat":
                words = self.line().split()
                self.version = float(words[0])
                if words[1] == b"1":
                    one = struct.unpack_from("<i", self.data, self.at)[0]
                    self.order = "<" if one == 1 else ">"
                    self.at += 4
                is_binary = words[1] == b"1"
            elif section in (b"$Nodes", b"$Elements", b"$Entities", b"$PhysicalNames", b"$Periodic"):
                name = section[1:].decode().lower()
                self.binary = is_binary and name != "physicalnames" and not (self.version < 4 and name == "periodic")
                parts[name] = getattr(self, name + ("_4" if self.version >= 4 and name != "physicalnames" else ""))()
            else:
                self.at = self.data.index(b"$End" + section[1:], self.at)
            self.binary = False
            if self.line() != b"$End" + section[1:]:
                raise ValueError("end of section")
        return self.build(parts)

    def build(self, parts):
        elements = parts["elements"]
        dim = max(len(nodes) for _, nodes, _, _, _ in elements) - 1
        mesh = Mesh(dim)
        mesh.nodes = parts["nodes"]
        mesh.names = parts.get("physicalnames", {})
        groups_of = parts.get("entities", {})
        merged = {}
        partitions = set()
        for _, nodes, entity, group, partition in elements:
            d = len(nodes) - 1
            if d < dim - 1:
                continue
            for n in nodes:
                mesh.nodes[n]
            groups = [group] if group else []
            if self.version >= 4 and groups_of:
                groups = groups_of[(d, entity)]
            if partition is not None and d == dim:
                partitions.add(partition)
            key = (tuple(sorted(nodes)), entity if self.version < 4 else None, d)
            if d == dim and self.version < 4 and key in merged and not set(groups) <= set(merged[key][2]):
                merged[key][2].extend(groups)
                continue
            item = [list(nodes), entity, list(groups)]
            merged[key] = item
            (mesh.elements if d == dim else mesh.faces).append(item)
        if len(partitions) == 1:
            raise ValueError("one part")
        mesh.periodic = [(1, 2, pairs) for d, _, pairs in parts.get("periodic", []) if d == dim - 1]
        return mesh

    def physicalnames(self):
        names = {}
        for _ in range(int(self.line())):
            line = self.line()
            first, last = line.index(b'"'), line.rindex(b'"')
            d, g = line[:first].split()
            names[(int(d), int(g))] = line[first + 1:last].decode(errors="replace")
        return names

    def nodes(self):
        nodes = {}
        for _ in range(int(self.line())):
            n = self.take("i")
            nodes[n] = tuple(self.take("d") for _ in range(3))
        return nodes

    def elements(self):
        count = int(self.line())
        elements = []
        while len(elements) < count:
            block, many = 1, None
            if self.binary:
                kind, block, many = (self.take("i") for _ in range(3))
            for _ in range(block):
                if self.binary:
                    number = self.take("i")
                else:
                    words = [int(w) for w in self.line().split()]
                    number, kind, many = words[:3]
                    if len(words) != 3 + many + self.NODES[kind]:
                        raise ValueError
                    rest = iter(words[3:])
                take = (lambda: self.take("i")) if self.binary else (lambda: next(rest))
                tags = [take() for _ in range(many)]
                nodes = [take() for _ in range(self.NODES[kind])]
                elements.append((number, nodes, tags[1] if many > 1 else 0, tags[0] if many else 0,
                                 tags[3] if many > 3 else None))
        return elements

    def entities_4(self):
        groups = {}
        counts = [self.take("Q") for _ in range(4)]
        for d, count in enumerate(counts):
            for _ in range(count):
                tag = self.take("i")
                for _ in range(3 if d == 0 else 6):
                    self.take("d")
                groups[(d, tag)] = [abs(self.take("i")) for _ in range(self.take("Q"))]
                if d > 0:
                    for _ in range(self.take("Q")):
                        self.take("i")
        return groups

    def nodes_4(self):
        blocks, total, _, _ = (self.take("Q") for _ in range(4))
        nodes = {}
        for _ in range(blocks):
            d, _, parametric = (self.take("i") for _ in range(3))
            numbers = [self.take("Q") for _ in range(self.take("Q"))]
            for n in numbers:
                nodes[n] = tuple(self.take("d") for _ in range(3))
                for _ in range(d if parametric else 0):
                    self.take("d")
        if len(nodes) != total:
            raise ValueError
        return nodes

    def elements_4(self):
        blocks, total, _, _ = (self.take("Q") for _ in range(4))
        elements = []
        for _ in range(blocks):
            d, entity, kind = (self.take("i") for _ in range(3))
            for _ in range(self.take("Q")):
                number = self.take("Q")
                elements.append((number, [self.take("Q") for _ in range(self.NODES[kind])], entity, 0, None))
        if len(elements) != total:
            raise ValueError
        return elements

    def periodic(self):
        links = []
        for _ in range(self.take("i")):
            d = self.take("i")
            self.take("i"), self.take("i")
            links.append((d, None, [(self.take("i"), self.take("i")) for _ in range(self.take("i"))]))
        return links

    def periodic_4(self):
        links = []
        for _ in range(self.take("Q")):
            d, _, _ = (self.take("i") for _ in range(3))
            for _ in range(self.take("Q")):
                self.take("d")
            links.append((d, None, [(self.take("Q"), self.take("Q")) for _ in range(self.take("Q"))]))
        return links


# ---- what a mesh means ----

def barycentric(mesh, nodes, point):
    whole = signed_volume(mesh, nodes)
    weights = []
    for i in range(len(nodes)):
        mesh.nodes[None] = point
        weights.append(signed_volume(mesh, nodes[:i] + [None] + nodes[i + 1:]) / whole)
    del mesh.nodes[None]
    return weights


def groups_together(items, together):
    """Number of groups where each list of `together` is in one."""
    of = {item: {item} for item in items}
    for first, *others in together:
        for other in others:
            if of[other] is not of[first]:
                of[first] |= of[other]
                for item in of[other]:
                    of[item] = of[first]
    return len({id(group) for group in of.values()})


def description(mesh, has_options):
    """What campaign_meshes should find, and why the mesh should be refused."""
    defects = []
    known = {d: {g: name for (dd, g), name in mesh.names.items() if dd == d} for d in (mesh.dim - 1, mesh.dim)}
    owners = collections.defaultdict(list)
    for e, (nodes, _, _) in enumerate(mesh.elements):
        if len(set(nodes)) < len(nodes):
            defects.append("a node twice in an element")
        for f in faces_of(nodes):
            owners[f].append(e)
    volumes = [abs(signed_volume(mesh, nodes)) for nodes, _, _ in mesh.elements]
    heavy = 0.0
    for (nodes, _, groups), v in zip(mesh.elements, volumes):
        names = {known[mesh.dim].get(g) for g in groups}
        if has_options and names <= {None}:
            defects.append("an element without a known group")
        if {"low", "high"} <= names:
            defects.append("an element of two materials")
        heavy += v * (2 if "high" in names else 1)
    if any(len(o) > 2 for o in owners.values()):
        defects.append("a face of three elements")
    free = {f for f, o in owners.items() if len(o) == 1}
    joined = sum(len(o) for o in owners.values() if len(o) == 2)
    for _, _, pairs in mesh.periodic:
        image = dict(pairs)
        for f in sorted(free):
            if f in free and all(n in image for n in f):
                other = tuple(sorted(image[n] for n in f))
                if other not in free or other == f:
                    defects.append("a periodic face without counterpart")
                    continue
                free -= {f, other}
                joined += 2
    groups_of = collections.defaultdict(set)
    has_groups = bool(known[mesh.dim - 1])
    for nodes, _, groups in mesh.faces:
        face = tuple(sorted(nodes))
        if groups and face not in owners:
            defects.append("a tagged face of no element")
        groups_of[face] |= set(groups)
        has_groups = has_groups or bool(groups)
    sides, areas = [0, 0, 0], [0.0, 0.0, 0.0]
    scale = max(map(max, mesh.nodes.values())) - min(map(min, mesh.nodes.values()))
    outside = []
    for f in sorted(free):
        groups = groups_of[f]
        if has_groups and (not groups or (known[mesh.dim - 1] and not groups & set(known[mesh.dim - 1]))):
            defects.append("a side without a known group")
        names = {known[mesh.dim - 1].get(g) for g in groups}
        kinds = {KIND[name] for name in names if name in KIND} if has_options else set()
        if len(kinds) > 1:
            defects.append("a side of two kinds")
        kind = max(kinds, default=0)
        x = [mesh.nodes[n] for n in f]
        normal = cross(difference(x[1], x[0]), difference(x[2], x[0]) if mesh.dim == 3 else (0, 0, 1))
        size = math.sqrt(dot(normal, normal))
        sides[kind] += 1
        areas[kind] += size / 2 if mesh.dim == 3 else size
        nodes = mesh.elements[owners[f][0]][0]
        opposite = next(mesh.nodes[n] for n in nodes if n not in f)
        sign = -1 if dot(normal, difference(opposite, x[0])) > 0 else 1
        for weights in ((.3, .32, .38), (.61, .2, .19), (.2, .6, .2)):
            if mesh.dim == 2:
                weights = weights[:2]
            point = tuple(sum(w / sum(weights) * p[i] for w, p in zip(weights, x)) + sign * 5e-7 * scale * normal[i] / size
                          for i in range(3)) if size > 0 else x[0]
            outside.append((owners[f][0], point))
    if not has_groups and not mesh.periodic:
        parts = groups_together(range(len(mesh.elements)), (o for o in owners.values() if len(o) == 2))
        edges = collections.defaultdict(list)
        for f in free:
            for n in f:
                edges[tuple(k for k in f if k != n)].append(f)
        if groups_together(free, edges.values()) > parts:
            defects.append("a cavity")
    for f, o in owners.items():
        if len(o) == 2:
            side = []
            x = [mesh.nodes[n] for n in f]
            normal = cross(difference(x[1], x[0]), difference(x[2], x[0]) if mesh.dim == 3 else (0, 0, 1))
            for e in o:
                opposite = next((n for n in mesh.elements[e][0] if n not in f), None)
                side.append(opposite is not None and dot(normal, difference(mesh.nodes[opposite], x[0])) > 0)
            if side[0] == side[1]:
                defects.append("elements on one side of their face")
    if not defects:
        boxes = [[(min(c), max(c)) for c in zip(*(mesh.nodes[n] for n in nodes))] for nodes, _, _ in mesh.elements]
        centres = [(e, tuple(sum(c) / len(nodes) for c in zip(*(mesh.nodes[n] for n in nodes))))
                   for e, (nodes, _, _) in enumerate(mesh.elements)]
        for own, point in outside + centres:
            for e, (nodes, _, _) in enumerate(mesh.elements):
                if e != own and all(low < p < high or low == high for p, (low, high) in zip(point, boxes[e])) and \
                        min(barycentric(mesh, nodes, point)) > 1e-8:
                    defects.append("a side in an element, or elements in each other")
    return {"elements": len(mesh.elements), "volume": sum(volumes), "heavy": heavy, "joined": joined, "sides": sides,
            "areas": areas}, sorted(set(defects))


# ---- damage ----

def numbers_in(data):
    """Places of the numbers of a text."""
    places, begin = [], None
    for i, c in enumerate(data + b" "):
        if chr(c) in "+-.0123456789e" and (begin is not None or chr(c) in "+-.0123456789"):
            begin = i if begin is None else begin
        elif begin is not None:
            places.append((begin, i))
            begin = None
    return places


def change_number(data, rng):
    begin, end = rng.choice(numbers_in(data))
    old = data[begin:end]
    try:
        value = float(old)
        near = [str(int(value) + rng.choice((-1, 1, 2, 10))), repr(value * rng.choice((-1, 1.01, 0.5, 2, 1e3)))]
    except ValueError:
        near = ["1"]
    new = rng.choice(near * 3 + ["0", "1", "-1", "nan", "inf", "1e300", "99999999999", "4294967298", str(rng.randrange(30))])
    return data[:begin] + new.encode() + data[end:]


def flip_bytes(data, rng):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def change_integer(data, rng):
    """Of a binary file."""
    at = rng.randrange(len(data) - 8)
    form = rng.choice("<i <q <d".split())
    value = rng.choice((0, 1, 2, -1, rng.randrange(60), 2 ** 31 - 1)) if form != "<d" else rng.uniform(-1, 1)
    return data[:at] + struct.pack(form, value) + data[at + struct.calcsize(form):]


def with_lines(change):
    def damage(data, rng):
        lines = data.split(b"\n")
        change(lines, rng)
        return b"\n".join(lines)
    return damage


def drop(lines, rng):
    at = rng.randrange(len(lines) - 1)
    del lines[at:at + rng.choice((1, 1, 1, 2, 7))]


def double(lines, rng):
    at = rng.randrange(len(lines) - 1)
    lines.insert(rng.choice((at, rng.randrange(len(lines)))), lines[at])


def swap(lines, rng):
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]


def overwrite(lines, rng):
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[a] = lines[b]


def cut(data, rng):
    return data[:rng.randrange(len(data))]


def drop_bytes(data, rng):
    at = rng.randrange(len(data))
    return data[:at] + data[at + rng.choice((1, 4, 8, 30)):]


def double_section(data, rng):
    names = [b"Nodes", b"Elements", b"PhysicalNames", b"Entities", b"Periodic", b"MeshFormat"]
    name = rng.choice([n for n in names if b"$" + n in data])
    begin, end = data.index(b"$" + name), data.index(b"$End" + name) + 5 + len(name)
    return data[:begin] + rng.choice((b"", data[begin:end] * 2)) + data[end:]


def move_node(mesh, rng):
    n = rng.choice(list(mesh.nodes))
    size = rng.choice((1e-9, 1e-3, 0.05, 0.3, 1, 3))
    mesh.nodes[n] = tuple(x + (size * rng.uniform(-1, 1) if i < mesh.dim else 0) for i, x in enumerate(mesh.nodes[n]))


def change_corner(mesh, rng):
    item = rng.choice(mesh.elements if rng.random() < 0.8 or not mesh.faces else mesh.faces)
    item[0][rng.randrange(len(item[0]))] = rng.choice(list(mesh.nodes))


def tear(mesh, rng):
    """An element gets a node of its own at a corner, a little inside: a hole opens there."""
    item = rng.choice(mesh.elements)
    n, own = rng.randrange(len(item[0])), max(mesh.nodes) + 1
    centre = [sum(c) / len(item[0]) for c in zip(*(mesh.nodes[k] for k in item[0]))]
    share = rng.choice((0, 1e-9, 0.01, 0.3, 0.8))
    mesh.nodes[own] = tuple(x + share * (c - x) for x, c in zip(mesh.nodes[item[0][n]], centre))
    item[0][n] = own


def change_elements(mesh, rng):
    items = rng.choice((mesh.elements, mesh.faces)) if mesh.faces else mesh.elements
    at = rng.randrange(len(items))
    if rng.random() < 0.5:
        del items[at:at + rng.choice((1, 1, 3))]
    else:
        items.insert(rng.randrange(len(items)), [list(items[at][0]), *items[at][1:]])


def change_groups(mesh, rng):
    if not mesh.faces:
        return turn(mesh, rng)
    group = rng.choice((LEFT, RIGHT, WALLS, SHEET, LOW, HIGH))
    items = mesh.elements if group in (LOW, HIGH) else mesh.faces
    new = rng.choice(([], [77], [group, 78], [group, LEFT], [LOW if group in (LOW, HIGH) else WALLS], [group, WALLS]))
    one = rng.random() < 0.3
    for item in items:
        if group in item[2] and (not one or rng.random() < 0.3):
            item[2] = list(new)
            item[1] = 50
    if rng.random() < 0.2:
        mesh.faces = [f for f in mesh.faces if group not in f[2]]
    if rng.random() < 0.2:
        mesh.names.pop((mesh.dim - 1, group), None)


def turn(mesh, rng):
    for item in rng.sample(mesh.elements, rng.choice((1, 5, len(mesh.elements)))):
        item[0][0], item[0][1] = item[0][1], item[0][0]


def open_seam(mesh, rng):
    """The two halves of the box no longer share their nodes; they touch, overlap or stand apart, or nodes slide."""
    gap = rng.choice((0, 0, 0, 1e-12, 1e-7, -1e-3, 0.01))
    slide = rng.choice((0, 0, 0.03))
    copy = {}
    for n, x in list(mesh.nodes.items()):
        if abs(x[0]) < 1e-12:
            copy[n] = max(mesh.nodes) + 1
            along = [slide * rng.uniform(-1, 1) if d < mesh.dim and abs(x[d]) < 0.99 else 0 for d in (1, 2)]
            mesh.nodes[copy[n]] = (x[0] + gap, x[1] + along[0], x[2] + along[1])
    for item in mesh.elements:
        if item[1] == 2:
            item[0] = [copy.get(n, n) for n in item[0]]
    right = {f for nodes, entity, _ in mesh.elements if entity == 2 for f in faces_of(nodes)}
    for item in mesh.faces:
        other = [copy.get(n, n) for n in item[0]]
        if item[1] != SHEET and tuple(sorted(other)) in right:
            item[0] = other
    if mesh.faces and rng.random() < 0.5:
        mesh.faces += [[[copy[n] for n in item[0]], SHEET, [SHEET]] for item in mesh.faces if item[1] == SHEET]


def renumber(mesh, rng):
    numbers = list(mesh.nodes)
    new = dict(zip(numbers, rng.sample(range(1, 5 * len(numbers)), len(numbers))))
    mesh.nodes = {new[n]: x for n, x in mesh.nodes.items()}
    for item in mesh.elements + mesh.faces:
        item[0] = [new[n] for n in item[0]]
    mesh.periodic = [(s, m, [(new[a], new[b]) for a, b in p]) for s, m, p in mesh.periodic]
    rng.shuffle(mesh.elements)
    rng.shuffle(mesh.faces)


def change_periods(mesh, rng):
    if not mesh.periodic:
        return move_node(mesh, rng)
    slave, master, pairs = mesh.periodic[0]
    what = rng.randrange(4)
    if what == 0:
        del pairs[rng.randrange(len(pairs))]
    elif what == 1:
        a, b = rng.sample(range(len(pairs)), 2)
        pairs[a], pairs[b] = (pairs[a][0], pairs[b][1]), (pairs[b][0], pairs[a][1])
    elif what == 2:
        size = rng.choice((1e-15, 1e-13, 1e-10, 1e-6, 1e-3))
        for n, _ in pairs:
            mesh.nodes[n] = tuple(x + (size * rng.uniform(-1, 1) if i < mesh.dim else 0) for i, x in enumerate(mesh.nodes[n]))
    else:
        mesh.periodic = []


def split(mesh, rng):
    """One part of a partitioned mesh, or a whole one that says its parts (version 2)."""
    parts = [1 + (sum(mesh.nodes[n][1] for n in item[0]) > 0) for item in mesh.elements]
    if rng.random() < 0.5:
        keep = [i for i, p in enumerate(parts) if p == 1]
        mesh.elements = [mesh.elements[i] for i in keep]
        parts = [1] * len(keep)
        there = {f for nodes, _, _ in mesh.elements for f in faces_of(nodes)}
        mesh.faces = [f for f in mesh.faces if tuple(sorted(f[0])) in there]
    mesh.partitions = parts


TEXT = {"a number changed": change_number, "a line dropped": with_lines(drop), "a line doubled": with_lines(double),
        "lines swapped": with_lines(swap), "a line replaced": with_lines(overwrite)}
BINARY = {"numbers changed (binary)": change_integer}
ANY = {"bytes flipped": flip_bytes, "truncated": cut, "bytes dropped": drop_bytes, "a section dropped or doubled": double_section}
MESH = {"a node moved": move_node, "a corner changed": change_corner, "a corner torn off": tear, "elements dropped or doubled": change_elements,
        "groups removed or doubled": change_groups, "elements turned": turn, "a seam opened": open_seam,
        "numbered anew, shuffled": renumber, "periods changed": change_periods, "one part of several": split}
BASES = [("box", lambda: box(3, 2, 1)), ("periodic box", lambda: box(3, 2, 2, periodic=True)),
         ("rectangle", lambda: box(2, 4, 3)), ("periodic rectangle", lambda: box(2, 4, 4, periodic=True)),
         ("box without groups", lambda: box(3, 2, 5, groups=False))]


def arguments(name, path):
    given = ["--mesh", path, "--problem", "pulse", "--pulse-start", "-1", "--pulse-width", "0.5", "--order", "2", "--dt",
             "0.01", "--steps", "6"]
    if "without groups" not in name:
        given += ["--boundaries", "left:incident;right:absorbing", "--media", "low:1,1;high:2,1"]
    return given


def tries(count, seed):
    """(base, damage, bytes) of each mesh."""
    meshes = [(name, make()) for name, make in BASES]
    kinds = list(TEXT) * 2 + list(BINARY) * 3 + list(ANY) + list(MESH) * 2
    for i in range(count):
        rng = random.Random(f"{seed} {i}")
        name, mesh = meshes[i % len(meshes)]
        kind = kinds[(i // len(meshes)) % len(kinds)]
        version = 2 if kind == "one part of several" else rng.choice((2, 4))
        binary = kind in BINARY or (kind not in TEXT and rng.random() < 0.5)
        if kind in MESH:
            mesh = mesh.copy()
            MESH[kind](mesh, rng)
            data = write(mesh, version, binary)
        else:
            data = {**TEXT, **BINARY, **ANY}[kind](write(mesh, version, binary), rng)
        yield name, kind, data


def same(found, expected):
    # Periodic sides that differ are moved by up to 1e-4 of the mesh.
    tolerance = 1e-3 if any("periodic" in r for r in found["remarks"]) else 1e-9
    for key, value in expected.items():
        for a, b in zip(*((x if isinstance(x, list) else [x]) for x in (found[key], value))):
            if not abs(a - b) <= tolerance * (1 + abs(b)) or (isinstance(b, int) and a != b):
                return False
    return True


def verdict(outcome, data, name, path):
    """(class, why, the mesh as the other reader has it)"""
    mesh = None
    if "broken" in outcome:
        return "bad", outcome["broken"], mesh
    try:
        mesh = Reader(data).read()
        expected, defects = description(mesh, "without groups" not in name)
    except Exception as problem:  # whatever Python says of bytes that are no mesh
        expected, defects = None, [f"no mesh ({type(problem).__name__} {problem})"]
    if "refused" in outcome:
        text = outcome["refused"]
        if "\n" in text or path not in text:
            return "bad", "unclear refusal: " + text, mesh
        return "refused", "" if defects else "valid by the other reader: " + text, mesh
    if defects:
        return "bad", "accepted: " + "; ".join(defects), mesh
    if not same(outcome, expected):
        return "bad", f"read otherwise: {outcome}, expected {expected}", mesh
    unknown = [r for r in outcome["remarks"] if not any(re.match(known, r) for known in REMARKS)]
    if unknown:
        return "bad", f"remarks that the campaign does not know: {unknown}", mesh
    mended = [r for r in outcome["remarks"] if "'sheet'" not in r and "no groups" not in r]
    return "remark" if mended else "harmless", "", mesh


def not_inspected(program, path, outcome):
    """What is wrong with what plaquette-inspect says of a mesh; empty: nothing."""
    done = subprocess.run([program, path], capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=60,
                          check=False)
    if done.returncode == 2 and "refused" in outcome:
        return "" if done.stderr.count("\n") == 1 and path in done.stderr else f"inspect: unclear refusal: {done.stderr}"
    if done.returncode != 0:
        return f"inspect: status {done.returncode}: {done.stderr}"
    said = re.search(r"^elements +(\d+),", done.stdout, re.MULTILINE)
    if "elements" in outcome and (not said or int(said.group(1)) != outcome["elements"]):
        return f"inspect: other elements than {outcome['elements']}: {done.stdout}"
    return ""


def run(driver, lines):
    """Outcomes in the order of the lines, by two processes."""
    halves = [lines[0::2], lines[1::2]]
    results = [None, None]

    def work(i):
        done = subprocess.run([driver], input="".join(line + "\n" for line in halves[i]), capture_output=True, text=True,
                              check=True)
        results[i] = [json.loads(line) for line in done.stdout.splitlines()]
    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    outcomes = [None] * len(lines)
    outcomes[0::2], outcomes[1::2] = results
    return outcomes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", required=True, help="the program campaign_meshes")
    parser.add_argument("--tries", type=int, default=int(os.environ.get("PLAQUETTE_CAMPAIGN_TRIES", 3000)))
    parser.add_argument("--seed", default="1")
    parser.add_argument("--keep", help="a folder for meshes with a bad outcome")
    parser.add_argument("--inspect", help="the program plaquette-inspect")
    parser.add_argument("--show-refused-valid", action="store_true", help="print refusals of what the other reader takes")
    options = parser.parse_args()
    counts = collections.defaultdict(collections.Counter)
    bad = []
    with tempfile.TemporaryDirectory() as folder:
        todo, lines = [], []
        whole = [(name, f"whole, version {v}, {'binary' if b else 'text'}", write(make(), v, b))
                 for name, make in BASES for v in (2, 4) for b in (False, True)]
        for i, (name, kind, data) in enumerate(whole + list(tries(options.tries, options.seed))):
            path = os.path.join(folder, f"{i}.msh")
            with open(path, "wb") as file:
                file.write(data)
            todo.append((name, kind, data, path))
            lines.append("\t".join(arguments(name, path)))
        outcomes = run(options.driver, lines)
        verdicts = [verdict(outcome, data, name, path) for (name, _, data, path), outcome in zip(todo, outcomes)]
        # What was accepted has the energy of the other reader's mesh, written plainly.
        accepted = [i for i, (which, _, _) in enumerate(verdicts) if which in ("harmless", "remark")]
        lines = []
        for i in accepted:
            path = os.path.join(folder, f"{i}-again.msh")
            with open(path, "wb") as file:
                file.write(write_22(verdicts[i][2], False))
            lines.append("\t".join(arguments(todo[i][0], path)))
        again = dict(zip(accepted, run(options.driver, lines)))
        energies = {}
        for i, ((name, kind, data, path), outcome, (which, why, _)) in enumerate(zip(todo, outcomes, verdicts)):
            energy, expected = outcome.get("energy"), again.get(i, {}).get("energy", math.nan)
            if kind.startswith("whole") or kind == "numbered anew, shuffled":
                expected = energies.setdefault(name, expected)
            if which in ("harmless", "remark") and not abs((energy or math.nan) - expected) <= 1e-9 * abs(expected):
                which, why = "bad", f"energy {energy}, expected {expected}; {again[i]}"
            if options.inspect and i % 10 == 0 and which != "bad" and (said := not_inspected(options.inspect, path, outcome)):
                which, why = "bad", said
            if kind.startswith("whole"):
                if which != "harmless":
                    bad.append((name, kind, path, f"{which} {why} {outcome}"))
                continue
            counts[kind][which] += 1
            if which == "bad":
                bad.append((name, kind, path, why))
                keep_bad(options.keep, os.path.basename(path), data)
            elif which == "refused" and why and options.show_refused_valid:
                print(name, "|", kind, "|", why.replace(folder, ""))
    print("| meshes | tries | refused | harmless | with a remark | bad |\n|---|---|---|---|---|---|")
    for kind, c in [*counts.items(), ("all", sum(counts.values(), collections.Counter()))]:
        print(row_of(kind, c))
    for name, kind, path, why in bad:
        print(f"bad: {name}, {kind}, {os.path.basename(path)}: {why}", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
