// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Meshes: which elements touch, the contents of Gmsh's files, refused files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <set>

#include "common/dg/element_geometry.hpp"
#include "common/error.hpp"
#include "common/mesh/box_mesh.hpp"
#include "common/mesh/gmsh_file.hpp"
#include "common/mesh/mesh_contact.hpp"
#include "common/mesh/mesh_part.hpp"
#include "common/mesh/vector3.hpp"

namespace plaquette {
namespace {

using testing::HasSubstr;

double volume_of(const simplex_mesh& mesh) {
  double sum = 0.0;
  for (std::int64_t e = 0; e < mesh.size(); ++e) sum += std::abs(signed_volume(mesh, e));
  return sum;
}

/// Each link is answered by the neighbour's, and the corners of both faces lie on each other, up to one translation a
/// face where the mesh is periodic.
void expect_consistent(const simplex_mesh& mesh) {
  for (std::int64_t e = 0; e < mesh.size(); ++e)
    for (int f = 0; f < mesh.faces(); ++f) {
      const face_link& link = mesh.links[static_cast<std::size_t>(e)][static_cast<std::size_t>(f)];
      if (link.is_boundary()) continue;
      const face_link& back = mesh.links[static_cast<std::size_t>(link.element)][static_cast<std::size_t>(link.face)];
      ASSERT_EQ(back.element, e);
      ASSERT_EQ(back.face, f);
      const auto here = corners_of_face(mesh.dimension, f), there = corners_of_face(mesh.dimension, link.face);
      std::array<double, 3> shift{};
      for (int c = 0; c < mesh.dimension; ++c) {
        const int other = face_permutations[link.orientation][c];
        ASSERT_LT(other, mesh.dimension);
        ASSERT_EQ(face_permutations[back.orientation][other], c);
        const auto& x = mesh.vertices[static_cast<std::size_t>(
            mesh.elements[static_cast<std::size_t>(e)][static_cast<std::size_t>(here[static_cast<std::size_t>(c)])])];
        const auto& y = mesh.vertices[static_cast<std::size_t>(mesh.elements[static_cast<std::size_t>(
            link.element)][static_cast<std::size_t>(there[static_cast<std::size_t>(other)])])];
        for (std::size_t i = 0; i < 3; ++i) {
          if (c == 0) shift[i] = y[i] - x[i];
          ASSERT_NEAR(y[i] - x[i], shift[i], 1e-12);
        }
      }
    }
}

int boundary_faces(const simplex_mesh& mesh) {
  int count = 0;
  for (const auto& links : mesh.links)
    for (int f = 0; f < mesh.faces(); ++f) count += links[static_cast<std::size_t>(f)].is_boundary() ? 1 : 0;
  return count;
}

TEST(BoxMesh, FillsTheBoxAndItsSidesHaveTags) {
  for (const int dimension : {2, 3})
    for (const double shaking : {0.0, 0.2}) {
      const simplex_mesh mesh =
          box_mesh({.dimension = dimension, .cells = {3, 2, 4}, .high = {2, 1, 1}, .shaking = shaking});
      EXPECT_EQ(mesh.size(), dimension == 3 ? 6 * 24 : 2 * 6);
      EXPECT_NEAR(volume_of(mesh), dimension == 3 ? 12.0 : 6.0, 1e-12);
      expect_consistent(mesh);
      EXPECT_EQ(boundary_faces(mesh), dimension == 3 ? 2 * 2 * (3 * 2 + 2 * 4 + 3 * 4) : 2 * (3 + 2));
      EXPECT_EQ(mesh.boundary_tags.size(), dimension == 3 ? 7U : 5U);
    }
}

TEST(BoxMesh, PeriodicOnesHaveNoEnds) {
  for (const int cells : {1, 2, 3})
    for (const int dimension : {2, 3}) {
      const simplex_mesh mesh = box_mesh(
          {.dimension = dimension, .cells = {cells, cells, cells}, .periodic = {true, true, true}, .shaking = 0.1});
      EXPECT_EQ(boundary_faces(mesh), 0) << cells;
      expect_consistent(mesh);
    }
}

TEST(BoxMesh, InsideFacesNeedNoTurning) {
  const simplex_mesh mesh = box_mesh({.cells = {3, 3, 3}, .periodic = {true, false, true}, .shaking = 0.2});
  for (const auto& links : mesh.links)
    for (const face_link& link : links) EXPECT_EQ(link.orientation, 0);
}

TEST(Mesh, RefinementKeepsVolumeSidesAndPeriods) {
  for (const int dimension : {2, 3}) {
    const simplex_mesh coarse =
        box_mesh({.dimension = dimension, .cells = {2, 2, 1}, .periodic = {true, false, false}, .shaking = 0.2});
    const simplex_mesh fine = refined(coarse);
    EXPECT_EQ(fine.size(), coarse.size() * (dimension == 3 ? 8 : 4));
    EXPECT_NEAR(volume_of(fine), volume_of(coarse), 1e-12);
    EXPECT_EQ(boundary_faces(fine), boundary_faces(coarse) * (dimension == 3 ? 4 : 2));
    EXPECT_EQ(fine.boundary_tags.size(), coarse.boundary_tags.size());
    expect_consistent(fine);
  }
}

TEST(Mesh, NormalsPointOutwardsAndCloseEveryElement) {
  const simplex_mesh mesh = box_mesh({.cells = {2, 2, 2}, .shaking = 0.2});
  for (std::int64_t e = 0; e < mesh.size(); ++e) {
    const element_geometry g = geometry_of(mesh, e);
    EXPECT_NEAR(g.jacobian * 4.0 / 3.0, std::abs(signed_volume(mesh, e)), 1e-14);
    for (std::size_t i = 0; i < 3; ++i) {  // sum of area n = 0; area of face f = 2 J Fscale
      double sum = 0.0;
      for (std::size_t f = 0; f < 4; ++f) sum += g.face_scale[f] * g.normal[f][i];
      EXPECT_NEAR(sum, 0.0, 1e-12);
    }
    for (int f = 0; f < 4; ++f) {  // the corner behind a face lies inwards
      const auto& corners = mesh.elements[static_cast<std::size_t>(e)];
      const auto& behind = mesh.vertices[static_cast<std::size_t>(corners[static_cast<std::size_t>(f)])];
      const auto& on = mesh.vertices[static_cast<std::size_t>(corners[static_cast<std::size_t>((f + 1) % 4)])];
      double along = 0.0;
      for (std::size_t i = 0; i < 3; ++i) along += g.normal[static_cast<std::size_t>(f)][i] * (behind[i] - on[i]);
      EXPECT_NEAR(along, -2.0 / g.face_scale[static_cast<std::size_t>(f)], 1e-12);
    }
  }
}

TEST(Mesh, APointIsFoundInItsElement) {
  const simplex_mesh mesh = box_mesh({.cells = {3, 3, 3}, .shaking = 0.2});
  for (const std::array<double, 3>& x : {std::array<double, 3>{0.1, 0.2, 0.3}, {-1, -1, -1}, {1, 0.999, -0.5}}) {
    const point_location found = locate(mesh, x);
    ASSERT_GE(found.element, 0);
    const auto there = position(mesh, found.element, found.at);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(there[i], x[i], 1e-12);
  }
  EXPECT_EQ(locate(mesh, {1.5, 0, 0}).element, -1);
  EXPECT_EQ(locate(mesh, {1.0 + 1e-3, 0, 0}).element, -1);
  EXPECT_GE(locate(mesh, {1.0 + 1e-10, 0, 0}).element, 0);
  // A vertex belongs to several elements: the one that comes first in the numbers given.
  const point_location first = locate(mesh, mesh.vertices[0]);
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(mesh.size()));
  for (std::size_t e = 0; e < numbers.size(); ++e) numbers[e] = static_cast<std::int32_t>(numbers.size() - e);
  EXPECT_GT(locate(mesh, mesh.vertices[0], numbers).element, first.element);
}

TEST(Partition, EveryElementHasOnePartAndHalosAnswerEachOther) {
  const simplex_mesh box = box_mesh({.cells = {4, 3, 3}, .periodic = {true, false, false}, .shaking = 0.1});
  const simplex_mesh mesh = reordered(box, curve_order(box));
  expect_consistent(mesh);
  for (const char* method : {"curve", "auto"})
    for (const int parts : {1, 2, 5}) {
      const auto partition = partition_mesh(mesh, parts, method);
      std::vector<mesh_part> all;
      std::set<std::int32_t> seen;
      for (int rank = 0; rank < parts; ++rank) {
        all.push_back(part_of_mesh(mesh, partition, rank));
        for (const std::int32_t e : all.back().global) EXPECT_TRUE(seen.insert(e).second);
        EXPECT_LE(all.back().size(), mesh.size() / parts * 1.2 + 8) << "balance";
      }
      EXPECT_EQ(static_cast<std::int64_t>(seen.size()), mesh.size());
      for (int rank = 0; rank < parts; ++rank) {
        const mesh_part& here = all[static_cast<std::size_t>(rank)];
        for (const mesh_peer& peer : here.peers) {
          const mesh_part& there = all[static_cast<std::size_t>(peer.rank)];
          const auto back = std::ranges::find(there.peers, rank, &mesh_peer::rank);
          ASSERT_NE(back, there.peers.end());
          ASSERT_EQ(back->send.size(), peer.send.size());
          for (std::size_t i = 0; i < peer.send.size(); ++i) {  // what I send as i-th lies behind their i-th halo face
            const auto [element, face] = back->send[i];
            const face_link& link = there.links[static_cast<std::size_t>(element)][static_cast<std::size_t>(face)];
            EXPECT_EQ(link.halo_face(), back->first_halo_face + static_cast<int>(i));
            EXPECT_EQ(there.halo_elements[static_cast<std::size_t>(link.halo_face())],
                      here.global[static_cast<std::size_t>(peer.send[i].element)]);
            EXPECT_EQ(link.face, peer.send[i].face);
          }
        }
        for (std::int32_t e = 0; e < here.interior; ++e)
          for (const face_link& link : here.links[static_cast<std::size_t>(e)]) EXPECT_FALSE(link.is_halo());
      }
    }
  EXPECT_THROW(partition_mesh(mesh, 0), input_error);
  EXPECT_THROW(partition_mesh(mesh, 100000), input_error);
}

// ---- files ----

/// Two tetrahedra on a common face, the second left-handed; a wall, two materials, gaps in the numbers.
const std::string two_tetrahedra =
    "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n"
    "$PhysicalNames\n2\n2 5 \"wall\"\n3 9 \"glass\"\n$EndPhysicalNames\n"
    "$Nodes\n5\n10 0 0 0\n20 1 0 0\n30 0 1 0\n41 0 0 1\n77 1 1 1\n$EndNodes\n"
    "$Elements\n4\n1 15 2 0 1 10\n2 2 2 5 1 10 20 30\n3 4 2 9 1 10 20 30 41\n8 4 2 3 2 20 30 41 77\n$EndElements\n";

simplex_mesh read_text(const std::string& text, int dimension = 0) {
  return read_gmsh(memory_source("m.msh", std::as_bytes(std::span(text))), dimension);
}

TEST(GmshFile, TextOfVersionTwo) {
  const simplex_mesh mesh = read_text(two_tetrahedra);
  ASSERT_EQ(mesh.size(), 2);
  EXPECT_EQ(mesh.dimension, 3);
  EXPECT_NEAR(volume_of(mesh), 1.0 / 6.0 + 1.0 / 3.0, 1e-14);
  expect_consistent(mesh);
  EXPECT_EQ(mesh.material_tags, (std::vector<group_set>{0, 9, 3}));
  EXPECT_EQ(mesh.boundary_tags, (std::vector<group_set>{0, 5}));
  EXPECT_EQ(mesh.names.at({2, 5}), "wall");
  EXPECT_EQ(boundary_faces(mesh), 6);
}

TEST(GmshFile, WhatIsWrittenIsRead) {
  const simplex_mesh mesh = box_mesh({.cells = {2, 1, 2}, .periodic = {true, false, true}, .shaking = 0.1});
  const simplex_mesh again = read_text(gmsh_text(mesh));
  EXPECT_EQ(boundary_faces(again), boundary_faces(mesh));
  EXPECT_EQ(again.vertices, mesh.vertices);
  EXPECT_EQ(again.elements, mesh.elements);
  EXPECT_EQ(again.boundary_tags.size(), mesh.boundary_tags.size());
}

/// A file of version 4.1, in text or in binary of either byte order, from one description.
class version_4_file {
 public:
  version_4_file(bool binary, bool swapped) : binary_(binary), swapped_(swapped) {
    text = std::string("$MeshFormat\n4.1 ") + (binary ? "1" : "0") + " 8\n";
    if (binary) integer(1);
    text += "\n$EndMeshFormat\n$Entities\n";
    for (const int n : {0, 0, 2, 1}) size(n);
    for (const int tag : {7, 8}) {
      integer(tag);
      for (int i = 0; i < 6; ++i) real(i / 2);
      size(tag == 7 ? 1 : 0);
      if (tag == 7) integer(5);
      size(0);
    }
    integer(3);
    for (int i = 0; i < 6; ++i) real(i / 2);
    size(1);
    integer(9);
    size(1);
    integer(-7);
    text += "\n$EndEntities\n$Nodes\n";
    for (const int n : {1, 5, 10, 77}) size(n);
    for (const int n : {3, 3, 0}) integer(n);
    size(5);
    for (const int n : {10, 20, 30, 41, 77}) size(n);
    for (const int x : {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1}) real(x);
    text += "\n$EndNodes\n$Elements\n";
    for (const int n : {2, 3, 1, 3}) size(n);
    for (const int n : {2, 7, 2}) integer(n);
    size(1);
    for (const int n : {1, 10, 20, 30}) size(n);
    for (const int n : {3, 3, 4}) integer(n);
    size(2);
    for (const int n : {2, 10, 20, 30, 41, 3, 20, 30, 41, 77}) size(n);
    text += "\n$EndElements\n";
  }
  std::string text;

 private:
  template <class Number>
  void put(Number n) {
    if (!binary_) {
      text += std::to_string(n) + " ";
      return;
    }
    std::array<char, sizeof(Number)> bytes;
    std::memcpy(bytes.data(), &n, bytes.size());
    if (swapped_) std::ranges::reverse(bytes);
    text.append(bytes.data(), bytes.size());
  }
  void integer(std::int32_t n) { put(n); }
  void size(std::uint64_t n) { put(n); }
  void real(double x) { put(x); }
  bool binary_, swapped_;
};

TEST(GmshFile, VersionFourInTextAndBothByteOrders) {
  for (const auto& file : {version_4_file(false, false), version_4_file(true, false), version_4_file(true, true)}) {
    const simplex_mesh mesh = read_text(file.text);
    ASSERT_EQ(mesh.size(), 2);
    EXPECT_NEAR(volume_of(mesh), 0.5, 1e-14);
    EXPECT_EQ(mesh.material_tags, (std::vector<group_set>{0, 9}));
    EXPECT_EQ(mesh.boundary_tags, (std::vector<group_set>{0, 5}));
    expect_consistent(mesh);
  }
}

TEST(GmshFile, PeriodicSides) {
  // One cube of six tetrahedra whose sides x = 0 and x = 1 are one.
  const simplex_mesh cube = box_mesh({.cells = {1, 1, 1}, .low = {0, 0, 0}, .high = {1, 1, 1}});
  std::string text = gmsh_text(cube);
  text += "$Periodic\n1\n2 2 1\nAffine 1 0 0 1 0 1 0 0 0 0 1 0 0 0 0 1\n4\n2 1\n4 3\n6 5\n8 7\n$EndPeriodic\n";
  const simplex_mesh mesh = read_text(text);
  EXPECT_EQ(boundary_faces(mesh), 8);
  expect_consistent(mesh);
}

std::string refusal(const std::string& text, int dimension = 0) {
  try {
    read_text(text, dimension);
  } catch (const input_error& e) {
    const std::string what = e.what();
    EXPECT_EQ(what.find('\n'), std::string::npos);
    EXPECT_EQ(what.find("m.msh"), 0U) << what;
    return what;
  }
  return "accepted";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(GmshFile, HostileFilesAreRefusedInOneLine) {
  EXPECT_THAT(refusal(""), HasSubstr("found nothing"));
  EXPECT_THAT(refusal("hello"), HasSubstr("expected the beginning of a section"));
  EXPECT_THAT(refusal("$Nodes\n"), HasSubstr("$MeshFormat"));
  EXPECT_THAT(refusal(replaced(two_tetrahedra, "2.2", "3.0")), HasSubstr("version"));
  EXPECT_THAT(refusal(replaced(two_tetrahedra, "$Nodes\n5", "$Nodes\n4")), HasSubstr("expected $EndNodes"));
  EXPECT_THAT(refusal(replaced(two_tetrahedra, "$Nodes\n5", "$Nodes\n99999999999")),
              HasSubstr("more than the file can hold"));
  EXPECT_THAT(refusal(replaced(two_tetrahedra, "$Nodes\n5", "$Nodes\n-5")), HasSubstr("claims -5"));
  EXPECT_THAT(refusal(replaced(two_tetrahedra, "77 1 1 1", "77 1 nan 1")), HasSubstr("not finite"));
  EXPECT_THAT(refusal(replaced(two_tetrahedra, "77 1 1 1", "41 1 1 1")), HasSubstr("node 41 twice"));
  EXPECT_THAT(refusal(replaced(two_tetrahedra, "20 30 41 77", "20 30 41 78")), HasSubstr("names node 78"));
  EXPECT_THAT(refusal(replaced(two_tetrahedra, "77 1 1 1", "77 .3 .3 .4")), HasSubstr("flat"));
  EXPECT_THAT(refusal(replaced(two_tetrahedra, "8 4 2 3 2 20", "8 11 2 3 2 20")),
              HasSubstr("number"));  // tet10, cut short
  EXPECT_THAT(refusal(replaced(two_tetrahedra, "8 4 2 3 2 20", "8 140 2 3 2 20")), HasSubstr("found type 140"));
  EXPECT_THAT(refusal(replaced(two_tetrahedra, "5 1 10 20 30", "5 1 10 20 77")), HasSubstr("face of no element"));
  EXPECT_THAT(refusal(two_tetrahedra, 2), HasSubstr("triangles alone"));
  // A third tetrahedron on the same face.
  std::string three = replaced(two_tetrahedra, "$Nodes\n5", "$Nodes\n6");
  three = replaced(three, "77 1 1 1", "77 1 1 1\n78 2 2 1");
  three = replaced(three, "$Elements\n4", "$Elements\n5");
  three = replaced(three, "$EndElements", "9 4 2 3 2 20 30 41 78\n$EndElements");
  EXPECT_THAT(refusal(three), HasSubstr("3 elements share the face"));
  // The second tetrahedron on the side of the first: the mesh is folded. A file may list corners in any order, though.
  EXPECT_THAT(refusal(replaced(two_tetrahedra, "77 1 1 1", "77 -1 -1 -1")),
              HasSubstr("same side of their common face"));
  EXPECT_EQ(refusal(replaced(two_tetrahedra, "9 1 10 20 30 41", "9 1 20 10 30 41")), "accepted");
  EXPECT_THAT(refusal(replaced(two_tetrahedra, "3 2 20 30 41 77", "3 2 20 30 41 10")), HasSubstr("same side"));
  EXPECT_THAT(refusal(replaced(two_tetrahedra, "4 2 3 2 20", "4 2 3000000000 2 20")), HasSubstr("found 3000000000"));
  // Triangles where tetrahedra are expected, and triangles out of their plane.
  std::string flat = replaced(two_tetrahedra, "$Elements\n4", "$Elements\n1");
  flat = flat.substr(0, flat.find("1 15 2")) + "2 2 2 5 1 10 20 30\n$EndElements\n";
  EXPECT_THAT(refusal(flat, 3), HasSubstr("expected tetrahedra, found none"));
  EXPECT_EQ(refusal(flat, 2), "accepted");
  EXPECT_THAT(refusal(replaced(flat, "10 20 30", "10 20 41"), 2), HasSubstr("plane z = 0"));
  const version_4_file four(false, false);
  EXPECT_THAT(refusal(replaced(four.text, "2 7 2 1", "2 6 2 1")), HasSubstr("which $Entities does not list"));
}

TEST(GmshFile, PeriodicSidesThatAreNotTheSameFaceAreRefused) {
  const simplex_mesh cube = box_mesh({.cells = {1, 1, 1}, .low = {0, 0, 0}, .high = {1, 1, 1}});
  const std::string text = gmsh_text(cube) + "$Periodic\n1\n2 2 1\n4\n2 1\n4 3\n6 5\n8 7\n$EndPeriodic\n";
  EXPECT_EQ(refusal(text), "accepted");
  EXPECT_THAT(refusal(replaced(text, "\n2 1\n4 3\n6 5\n8 7", "\n2 7\n4 3\n6 5\n8 1")), HasSubstr("not one face moved"));
  EXPECT_THAT(refusal(replaced(text, "\n4\n2 1", "\n40000\n2 1")), HasSubstr("more than the file can hold"));
}

TEST(GmshFile, MessagesCountAsTheFileDoes) {
  EXPECT_THAT(refusal(replaced(two_tetrahedra, "20 30 41 77", "20 30 41 78")), HasSubstr("element 8 names node 78"));
  EXPECT_THAT(refusal(replaced(two_tetrahedra, "77 1 1 1", "77 .3 .3 .4")), HasSubstr("element 8 is flat"));
  EXPECT_THAT(
      refusal(replaced(two_tetrahedra, "77 1 1 1", "77 -1 -1 -1")),
      HasSubstr("elements 3 and 8 overlap: both lie on the same side of their common face of vertices 20, 30, 41"));
}

TEST(GmshFile, NumbersOutOfTheirRangeAreRefused) {
  EXPECT_THAT(refusal(replaced(two_tetrahedra, "8 4 2 3 2 20", "8 4 2 4294967299 2 20")), HasSubstr("32 bits"));
  EXPECT_THAT(refusal(replaced(two_tetrahedra, "8 4 2 3 2 20", "8 4 2 -3 2 20")), HasSubstr("groups from 0"));
  EXPECT_THAT(refusal(replaced(two_tetrahedra, "77 1 1 1", "77 1 1 1e200")), HasSubstr("above 1e90"));
  EXPECT_THAT(refusal(replaced(two_tetrahedra, "2 5 \"wall\"", "2 99999999999 \"wall\"")), HasSubstr("physical group"));
  EXPECT_THAT(refusal(replaced(two_tetrahedra, "2 5 \"wall\"", "3 9 \"wall\"")), HasSubstr("found two"));
  EXPECT_THAT(refusal(replaced(two_tetrahedra, "8 4 2 3 2 20", "8 4 3 3 2 20")),
              HasSubstr("a line of section $Elements ends"));
  EXPECT_THAT(refusal(replaced(two_tetrahedra, "77 1 1 1", "77 1 1 1 5")), HasSubstr("more numbers in its line"));
  const std::string nodes = "$Nodes\n1\n99 5 5 5\n$EndNodes\n";
  EXPECT_THAT(refusal(two_tetrahedra + nodes), HasSubstr("expected one section $Nodes, found two"));
  const version_4_file four(false, false);
  EXPECT_THAT(refusal(replaced(four.text, "$Nodes\n1 5", "$Nodes\n1 6")),
              HasSubstr("claims 6 nodes, its blocks hold 5"));
  EXPECT_THAT(refusal(replaced(four.text, "$Elements\n2 3", "$Elements\n2 4")), HasSubstr("claims 4 elements"));
}

TEST(GmshFile, ParametricNodesOfVersionTwo) {
  const std::string text = replaced(
      replaced(two_tetrahedra, "$Nodes\n5\n10 0 0 0\n20 1 0 0\n30 0 1 0\n41 0 0 1\n77 1 1 1\n$EndNodes",
               "$ParametricNodes\n5\n10 0 0 0 0 1\n20 1 0 0 1 4 0.25\n30 0 1 0 2 6 0.5 0.25\n41 0 0 1 3 1\n77 1 1 1 "
               "0 2\n$EndParametricNodes"),
      "2.2", "2.2");
  const simplex_mesh mesh = read_text(text), plain = read_text(two_tetrahedra);
  EXPECT_EQ(mesh.vertices, plain.vertices);
  EXPECT_EQ(mesh.elements, plain.elements);
  EXPECT_THAT(refusal(replaced(text, "2 6 0.5 0.25", "2 6 0.5")), HasSubstr("a line of section $ParametricNodes ends"));
  EXPECT_THAT(refusal(replaced(text, "1 4 0.25", "7 4 0.25")), HasSubstr("entity of dimension 7"));
}

TEST(GmshFile, NamesKeepTheirUtf8) {
  const auto name_of = [](const std::string& name) {
    return read_text(replaced(two_tetrahedra, "wall", name)).names.at({2, 5});
  };
  for (const char* name : {"W\xc3\xa4nde & \"Deckel\"", "\xe5\xa3\x81", "\xf0\x9f\x94\x8a"})
    EXPECT_EQ(name_of(name), name);
  EXPECT_EQ(name_of("a\x1b[2J"), "a?[2J");
  EXPECT_EQ(name_of("\xc2\x9b\x33"), "??3") << "a control character of Latin-1";
  EXPECT_EQ(name_of("\xe4nde"), "?nde") << "Latin-1 is no UTF-8";
  EXPECT_EQ(name_of("\xed\xa0\x80\xc0\xaf"), "?????") << "a surrogate, and a slash in two bytes";
}

TEST(GmshFile, AFaceAndAnElementAreInAllTheirGroups) {
  std::string two = replaced(two_tetrahedra, "$Elements\n4", "$Elements\n6");
  two = replaced(two, "$EndElements", "9 2 2 2 1 30 10 20\n10 4 2 4 1 10 20 30 41\n$EndElements");
  for (const std::string& text :
       {two, replaced(replaced(version_4_file(false, false).text, "1 5 0", "2 5 2 0"), "1 9 1 -7", "2 9 -4 1 -7")}) {
    const simplex_mesh mesh = read_text(text);
    ASSERT_EQ(mesh.size(), 2);
    group_set sides(2), materials(4);
    sides.add(5);
    materials.add(9);
    ASSERT_EQ(sides.tags, (std::vector<int>{2, 5}));
    EXPECT_THAT(mesh.boundary_tags, testing::Contains(sides));
    EXPECT_EQ(mesh.material_tags.at(static_cast<std::size_t>(mesh.materials[0])), materials);
    EXPECT_EQ(boundary_faces(mesh), 6);
  }
  // The same element twice in one group, or of another entity, is an overlap.
  EXPECT_THAT(refusal(replaced(two, "10 4 2 4 1 10", "10 4 2 9 1 10")), HasSubstr("overlap"));
  EXPECT_THAT(refusal(replaced(two, "10 4 2 4 1 10", "10 4 2 4 2 10")), HasSubstr("overlap"));
}

TEST(GmshFile, GroupsInsideAreCounted) {
  const simplex_mesh mesh = read_text(replaced(two_tetrahedra, "2 2 2 5 1 10 20 30", "2 2 2 5 1 20 30 41"));
  EXPECT_EQ(mesh.boundary_tags.size(), 1U);
  ASSERT_TRUE(mesh.inner_groups.contains(5));
  EXPECT_EQ(mesh.inner_groups.at(5).between_elements, 1);
  EXPECT_EQ(refined(mesh).inner_groups.at(5).between_elements, 4);
  const simplex_mesh cube = box_mesh({.cells = {1, 1, 1}});
  const simplex_mesh periodic =
      read_text(gmsh_text(cube) + "$Periodic\n1\n2 2 1\n4\n2 1\n4 3\n6 5\n8 7\n$EndPeriodic\n");
  EXPECT_EQ(periodic.inner_groups.at(1).periodic, 2);
  EXPECT_EQ(periodic.inner_groups.at(2).periodic, 2);
}

TEST(GmshFile, OnePartOfAMeshIsRefused) {
  const std::string part =
      replaced(replaced(two_tetrahedra, "3 4 2 9 1 10", "3 4 4 9 1 1 2 10"), "8 4 2 3 2 20", "8 4 4 3 2 1 2 20");
  EXPECT_THAT(refusal(part), HasSubstr("found elements of partition 2 alone"));
  EXPECT_EQ(refusal(replaced(part, "3 2 1 2 20", "3 2 1 1 20")), "accepted") << "a whole mesh that says its parts";
}

TEST(GmshFile, TurnedElementsAreRemarkedOn) {
  const simplex_mesh mesh = read_text(two_tetrahedra);
  ASSERT_EQ(mesh.remarks.size(), 0U);
  const simplex_mesh reversed = read_text(replaced(two_tetrahedra, "9 1 10 20 30 41", "9 1 20 10 30 41"));
  ASSERT_EQ(reversed.remarks.size(), 1U);
  EXPECT_THAT(reversed.remarks[0], HasSubstr("1 of 2 tetrahedra have a negative volume"));
  EXPECT_EQ(reversed.elements, mesh.elements);
  std::string flat = replaced(two_tetrahedra, "$Elements\n4", "$Elements\n1");
  flat = flat.substr(0, flat.find("1 15 2")) + "2 2 2 5 1 20 10 30\n$EndElements\n";
  EXPECT_THAT(read_text(flat).remarks.at(0), HasSubstr("1 of 1 triangles are listed clockwise"));
  EXPECT_TRUE(read_text(gmsh_text(box_mesh({.cells = {2, 2, 2}, .shaking = 0.1}))).remarks.empty());
}

/// Moves and scales a mesh.
simplex_mesh placed(simplex_mesh mesh, double scale, const std::array<double, 3>& shift) {
  for (auto& x : mesh.vertices)
    for (std::size_t i = 0; i < 3; ++i) x[i] = scale * x[i] + shift[i];
  return mesh;
}

TEST(GmshFile, TolerancesGoWithTheSizeOfTheMesh) {
  for (const double scale : {1e-60, 1e-12, 1.0, 1e12, 1e60}) {
    const simplex_mesh box = box_mesh({.cells = {2, 2, 2}, .periodic = {true, false, false}, .shaking = 0.1});
    EXPECT_EQ(refusal(gmsh_text(placed(box, scale, {}))), "accepted") << scale;
    const simplex_mesh flat = box_mesh({.dimension = 2, .cells = {2, 2, 1}});
    EXPECT_EQ(refusal(gmsh_text(placed(flat, scale, {0, 0, 1e-11 * scale}))), "accepted") << scale;
    EXPECT_THAT(refusal(gmsh_text(placed(flat, scale, {0, 0, 1e-3 * scale}))), HasSubstr("plane z = 0")) << scale;
  }
}

/// Both meshes in one, without common nodes.
simplex_mesh together(const simplex_mesh& a, const simplex_mesh& b) {
  simplex_mesh both = a;
  both.vertices.insert(both.vertices.end(), b.vertices.begin(), b.vertices.end());
  const auto first = static_cast<std::int32_t>(a.vertices.size());
  for (auto corners : b.elements) {
    for (std::int32_t& c : corners)
      if (c >= 0) c += first;
    both.elements.push_back(corners);
  }
  both.materials.clear();
  connect(both, {}, {"both"});
  return both;
}

TEST(GmshFile, PartsThatTouchWithoutCommonNodesAreRefused) {
  for (const int dimension : {2, 3}) {
    const simplex_mesh box =
        box_mesh({.dimension = dimension, .cells = {2, 2, 2}, .low = {0, 0, 0}, .high = {1, 1, 1}});
    const auto alongside = [&](const box_shape& shape, const std::array<double, 3>& shift, double scale = 1.0) {
      return refusal(gmsh_text(placed(together(box, placed(box_mesh(shape), 1.0, shift)), scale, {})));
    };
    const box_shape same{.dimension = dimension, .cells = {2, 2, 2}, .low = {0, 0, 0}, .high = {1, 1, 1}};
    for (const double scale : {1e-9, 1.0, 1e9}) {
      EXPECT_THAT(alongside(same, {1, 0, 0}, scale), HasSubstr("parts that touch need common nodes")) << scale;
      EXPECT_THAT(alongside(same, {1 + 1e-7, 0, 0}, scale), HasSubstr("lies on")) << "a gap of rounding";
      EXPECT_EQ(alongside(same, {1.001, 0, 0}, scale), "accepted") << "a gap";
    }
    // Faces that cover others in part: of another size, shifted, and one that touches with a corner's width.
    box_shape other = same;
    other.cells = {3, 5, 3};
    EXPECT_THAT(alongside(other, {1, 0, 0}), HasSubstr("lies on"));
    EXPECT_THAT(alongside(other, {1, 0.37, dimension == 3 ? 0.21 : 0.0}), HasSubstr("lies on"));
    EXPECT_THAT(alongside(same, {1, 0.99, 0}), HasSubstr("lies on"));
    other.cells = {1, 1, 1};
    EXPECT_THAT(alongside(other, {0, -1, 0}), HasSubstr("lies on")) << "one face on parts of several";
    // A common edge or corner carries no wave.
    EXPECT_EQ(alongside(same, {1, 1, 0}), "accepted");
    const double up = dimension == 3 ? 0.11 : 0.0;
    // Overlaps: slightly, one inside the other, and the same mesh twice.
    EXPECT_THAT(alongside(same, {0.999, 0.001, up}), HasSubstr("the mesh overlaps itself"));
    EXPECT_THAT(alongside(same, {0.31, 0.27, up}), HasSubstr("the mesh overlaps itself"));
    box_shape small = same;
    small.low = {0.4, 0.35, dimension == 3 ? 0.3 : 0.0};
    small.high = {0.45, 0.42, dimension == 3 ? 0.37 : 1.0};
    EXPECT_THAT(alongside(small, {0, 0, 0}), HasSubstr("the mesh overlaps itself"));
    EXPECT_THAT(alongside(same, {0, 0, 0}), HasSubstr("lies on"));
  }
}

TEST(GmshFile, AnElementWithAWrongCornerIsRefused) {
  for (const int dimension : {2, 3}) {
    const simplex_mesh box = box_mesh({.dimension = dimension, .cells = {3, 3, 3}, .shaking = 0.1});
    int accepted = 0;
    for (std::size_t e = 0; e < box.elements.size(); e += 5)
      for (std::size_t c = 0; c <= static_cast<std::size_t>(dimension); ++c)
        for (const std::int32_t vertex : {0, 5, 10}) {
          simplex_mesh wrong = box;
          if (std::ranges::count(wrong.elements[e], vertex) > 0) continue;
          wrong.elements[e][c] = vertex;
          wrong.boundary_tags = {0};
          std::string text = gmsh_text(wrong);  // without sides: only places tell
          accepted += refusal(text) == "accepted" ? 1 : 0;
        }
    EXPECT_EQ(accepted, 0);
  }
}

TEST(Mesh, ItsCavitiesAreCounted) {
  for (const int dimension : {2, 3}) {
    const simplex_mesh box = box_mesh({.dimension = dimension, .cells = {6, 6, 6}});
    EXPECT_EQ(cavities_of(box), 0);
    EXPECT_EQ(cavities_of(together(box, placed(box, 1.0, {5, 0, 0}))), 0);
    const auto without = [&](const std::vector<std::array<double, 3>>& places) {
      simplex_mesh holed = box;
      for (const auto& x : places)
        holed.elements.erase(holed.elements.begin() + static_cast<std::ptrdiff_t>(locate(holed, x).element));
      holed.materials.clear();
      connect(holed, {}, {"holed"});
      return cavities_of(holed);
    };
    EXPECT_EQ(without({{0.05, 0.1, 0.12}}), 1);
    EXPECT_EQ(without({{-0.45, -0.4, -0.42}, {0.4, 0.45, 0.35}}), 2);
    EXPECT_EQ(without({{-0.99, 0.0, 0.01}}), 0) << "a dent";
  }
}

TEST(GmshFile, PeriodicSidesThatDifferByRoundingBecomeTheSame) {
  for (const double error : {1e-15, 2e-13, 1e-9, 1e-6}) {
    simplex_mesh box = box_mesh({.cells = {3, 3, 3},
                                 .low = {0.1, -0.7, 0.3},
                                 .high = {1.3, 1.1, 2.9},
                                 .periodic = {true, true, false},
                                 .shaking = 0.1});
    std::uint32_t random = 1;
    for (const vertex_pairs& pairs : box.periodic)
      for (const auto& [from, to] : pairs)
        for (double& x : box.vertices[static_cast<std::size_t>(from)]) {
          random = 1664525U * random + 1013904223U;
          x += error * (static_cast<double>(random) / 4294967296.0 - 0.5);
        }
    const simplex_mesh mesh = read_text(gmsh_text(box));
    EXPECT_EQ(mesh.remarks.size(), error > 1e-10 ? 1U : 0U);
    for (const simplex_mesh& m : {mesh, refined(refined(mesh))})
      for (const vertex_pairs& pairs : m.periodic) {
        const auto shift = [&m](const auto& pair) {
          return difference(m.vertices[static_cast<std::size_t>(pair.second)],
                            m.vertices[static_cast<std::size_t>(pair.first)]);
        };
        for (const auto& pair : pairs) ASSERT_EQ(shift(pair), shift(*pairs.begin())) << error;
      }
    for (std::size_t v = 0; v < mesh.vertices.size(); ++v)
      for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(mesh.vertices[v][i], box.vertices[v][i], 3.0 * error + 1e-13);
  }
}

TEST(GmshFile, PeriodicSidesThatLackNodesAreRefused) {
  const simplex_mesh cube = box_mesh({.cells = {2, 2, 2}, .periodic = {true, false, false}});
  std::string text = gmsh_text(cube);
  EXPECT_EQ(refusal(text), "accepted");
  text = replaced(text, "2 2 1\n9\n3 1\n", "2 2 1\n8\n");
  EXPECT_THAT(refusal(text), HasSubstr("lies in a periodic side and has no counterpart"));
  EXPECT_THAT(refusal(replaced(gmsh_text(cube), "2 2 1\n9\n3 1\n", "2 2 1\n10\n3 1\n3 4\n")),
              HasSubstr("two of node 3"));
}

TEST(GmshFile, EveryTruncationIsRefused) {
  for (const std::string& whole : {two_tetrahedra, version_4_file(false, false).text, version_4_file(true, false).text})
    for (std::size_t length = 0; length + 1 < whole.size(); ++length)
      ASSERT_NE(refusal(whole.substr(0, length)), "accepted") << length;
}

/// Each part of the making of a mesh asks whether to stop, some times in 6 * 16^3 elements, and ends if told.
TEST(Meshes, stop_in_each_part_of_their_making) {
  const box_shape shape{.cells = {16, 16, 16}, .periodic = {true, false, false}, .shaking = 0.1};
  const simplex_mesh mesh = box_mesh(shape), coarse = box_mesh({.cells = {8, 8, 8}, .periodic = {true, true, true}});
  const std::string text = gmsh_text(mesh);
  const auto order = curve_order(mesh);
  const auto parts = partition_mesh(mesh, 2, "curve");
  using part = std::function<void(const stop_check&)>;
  const std::vector<std::pair<const char*, part>> all{
      {"box", [&](const stop_check& stop) { box_mesh(shape, stop); }},
      {"file", [&](const stop_check& stop) { read_gmsh(memory_source("m", std::as_bytes(std::span(text))), 3, stop); }},
      {"refined", [&](const stop_check& stop) { refined(coarse, "fine", stop); }},
      {"order", [&](const stop_check& stop) { curve_order(mesh, stop); }},
      {"reordered", [&](const stop_check& stop) { reordered(mesh, order, stop); }},
      {"part", [&](const stop_check& stop) { part_of_mesh(mesh, parts, 1, stop); }},
      {"contact", [&](const stop_check& stop) { require_apart(mesh, {"m"}, stop); }}};
  for (const auto& [name, make] : all) {
    int calls = 0;
    make([&calls] { ++calls; });
    // A stop after each 4096 of: elements once, or of all their faces while these are sorted.
    EXPECT_GE(calls,
              std::string(name) == "box" || std::string(name) == "file" || std::string(name) == "refined" ? 300 : 6)
        << name;
    for (const int last : {1, calls / 2, calls}) {
      int n = 0;
      EXPECT_THROW(make([&] {
                     if (++n == last) throw input_error("enough");
                   }),
                   input_error)
          << name << ", call " << last << " of " << calls;
      EXPECT_EQ(n, last) << name;
    }
  }
}

}  // namespace
}  // namespace plaquette
