// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Links of an array in any order are the ones that were put into it; wrong arrays and layouts are refused.
#include "common/io/link_array.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"

namespace plaquette {
namespace {

const extents lattice{4, 2, 6, 8};

lattice_geometry part(const communicator& world) {
  return lattice_geometry(lattice, smallest_surface_grid(lattice, world.size()), world.rank());
}

/// Writes by nested loops, slowest index first, as another program does: `order` names x, y, z, t, the direction m, and
/// row and column r, c.
std::vector<double> written(const gauge_configuration& links, const std::string& order) {
  const extents& local = links.geometry().local();
  const auto length = [&](char index) -> int {
    const auto nu = std::string("xyzt").find(index);
    return nu != std::string::npos ? local[static_cast<int>(nu)] : index == 'm' ? dimensions : colours;
  };
  std::vector<double> array;
  std::vector<int> at(order.size(), 0);
  const auto value = [&](char index) { return at[order.find(index)]; };
  for (bool more = true; more;) {
    const su3<double>& u =
        links(coordinate{value('x'), value('y'), value('z'), value('t')})[static_cast<std::size_t>(value('m'))];
    array.push_back(u(value('r'), value('c')).re);
    array.push_back(u(value('r'), value('c')).im);
    more = false;
    for (std::size_t k = order.size(); k-- > 0 && !more;) {
      more = ++at[k] < length(order[k]);
      if (!more) at[k] = 0;
    }
  }
  return array;
}

struct named_order {
  const char* loops;
  site_order_of_array sites;
  direction_of_array directions;
  matrix_of_array matrices;
};
using enum site_order_of_array;
using enum direction_of_array;
using enum matrix_of_array;
const std::vector<named_order> orders{{"tzyxmrc", x_fastest, inner, row_major},
                                      {"xyztmrc", t_fastest, inner, row_major},
                                      {"mtzyxcr", x_fastest, outer, column_major},
                                      {"mxyztcr", t_fastest, outer, column_major}};

bool same_links(const gauge_configuration& a, const gauge_configuration& b) {
  return std::ranges::equal(a.values(), b.values());
}

std::string refusal(const lattice_geometry& geometry, const std::vector<double>& array, const link_layout& layout,
                    const communicator& world) {
  try {
    import_links(geometry, array, layout, world);
  } catch (const input_error& refused) {
    return refused.what();
  }
  return {};
}

TEST(LinkArray, IsReadInAnyOrderWithItsGhosts) {
  const auto world = communicator::world();
  const lattice_geometry geometry = part(world);
  const gauge_configuration links = cpu::random_configuration(geometry, 17, world);
  for (const named_order& o : orders) {
    const link_layout layout = dense_layout(geometry.local(), o.sites, o.directions, o.matrices);
    EXPECT_TRUE(same_links(import_links(geometry, written(links, o.loops), layout, world), links)) << o.loops;
  }
}

TEST(LinkArray, MayHaveGapsAndOtherOrdersOfDirections) {
  const auto world = communicator::world();
  const lattice_geometry geometry = part(world);
  const gauge_configuration links = cpu::random_configuration(geometry, 17, world);
  const std::vector<double> dense = written(links, "tzyxmrc");
  // Real and imaginary parts in arrays of their own, behind seven other numbers; the last direction first.
  link_layout layout = dense_layout(geometry.local(), x_fastest, inner, row_major);
  for (auto* step : {&layout.row, &layout.column}) *step /= 2;
  for (auto& step : layout.site) step /= 2;
  layout.first = 7;
  layout.direction = {27, 18, 9, 0};
  layout.imaginary = static_cast<std::int64_t>(dense.size() / 2 + 3);
  std::vector<double> parts(dense.size() + 10, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t k = 0; k < dense.size() / 2; ++k) {
    const std::size_t mu = k / 9 % 4, to = k - 9 * mu + 9 * (3 - mu) + 7;
    parts[to] = dense[2 * k];
    parts[to + dense.size() / 2 + 3] = dense[2 * k + 1];
  }
  EXPECT_TRUE(same_links(import_links(geometry, parts, layout, world), links));
}

TEST(LinkArray, IsWrittenAsItIsRead) {
  const auto world = communicator::world();
  const lattice_geometry geometry = part(world);
  const gauge_configuration links = cpu::random_configuration(geometry, 11, world);
  for (const named_order& order : orders) {
    const std::vector<double> expected = written(links, order.loops);
    std::vector<double> array(expected.size());
    export_links(array, links, dense_layout(geometry.local(), order.sites, order.directions, order.matrices), world);
    EXPECT_EQ(array, expected) << order.loops;
    std::vector<float> floats(expected.size());
    export_links(floats, links, dense_layout(geometry.local(), order.sites, order.directions, order.matrices), world);
    EXPECT_EQ(floats, std::vector<float>(expected.begin(), expected.end())) << order.loops;
  }
  // Phases are folded in again; gaps stay.
  folded_phases folded;
  folded.boundary[3] = {-1.0, 0.0};
  folded.boundary[1] = {0.6, 0.8};
  folded.staggered = true;
  link_layout layout = dense_layout(geometry.local(), x_fastest, inner, row_major);
  for (std::int64_t& stride : layout.site) stride = stride / 72 * 75;
  layout.first = 2;
  const auto size = static_cast<std::size_t>(75 * geometry.local_volume());
  std::vector<double> array(size, -7.0);
  export_links(array, links, layout, world, folded);
  for (std::size_t i = 0; i < size; i += 75)
    EXPECT_TRUE(array[i] == -7.0 && array[i + 1] == -7.0 && array[i + 2] != -7.0 && array[i + 74] == -7.0);
  const gauge_configuration back = import_links(geometry, array, layout, world, folded);
  double worst = 0.0;
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
    for (int mu = 0; mu < dimensions; ++mu)
      for (int k = 0; k < 9; ++k) {
        const auto at = static_cast<std::size_t>(mu);
        const complex<double> off = back.at_site(site)[at](k / 3, k % 3) - links.at_site(site)[at](k / 3, k % 3);
        worst = std::max(worst, norm2(off));
      }
  EXPECT_LE(worst, 1e-30);
  EXPECT_NE(refusal(geometry, array, layout, world).find("SU(3)"), std::string::npos) << "the phases are in it";
  layout.site[0] = 0;
  EXPECT_THROW(export_links(array, links, layout, world), input_error);
}

TEST(LinkArray, IsRefusedWhereItsSizeOrItsStridesAreWrong) {
  const auto world = communicator::world();
  const lattice_geometry geometry = part(world);
  std::vector<double> array = written(cpu::random_configuration(geometry, 17, world), "tzyxmrc");
  const link_layout right = dense_layout(geometry.local(), x_fastest, inner, row_major);
  link_layout layout = right;
  layout.site[3] += 72;
  EXPECT_NE(refusal(geometry, array, layout, world).find("check its strides"), std::string::npos);
  layout = right;
  layout.site[1] = layout.site[0];
  EXPECT_NE(refusal(geometry, array, layout, world).find("where another one stands"), std::string::npos);
  layout = right;
  layout.first = -1;
  EXPECT_NE(refusal(geometry, array, layout, world).find("at place -1"), std::string::npos);
  array.pop_back();
  EXPECT_NE(refusal(geometry, array, right, world).find("expected at least"), std::string::npos);
}

TEST(LinkArray, IsRefusedWhereALinkIsNotInSU3) {
  const auto world = communicator::world();
  const lattice_geometry geometry = part(world);
  const std::vector<double> right = written(cpu::random_configuration(geometry, 17, world), "tzyxmrc");
  const link_layout layout = dense_layout(geometry.local(), x_fastest, inner, row_major);
  EXPECT_EQ(refusal(geometry, right, layout, world), "");
  for (const double wrong : {1e-9, std::numeric_limits<double>::quiet_NaN()}) {
    std::vector<double> array = right;
    // On the last rank alone: site (0, 0, 1, 0) of its box, direction z.
    if (world.rank() == world.size() - 1)
      array[static_cast<std::size_t>(layout.site[2] + layout.direction[2]) + 4] += wrong;
    const std::string said = refusal(geometry, array, layout, world);
    EXPECT_NE(said.find("direction z"), std::string::npos) << said;
  }
  // Numbers that are minus their links, as in a file with the boundary condition folded in.
  std::vector<double> array = right;
  for (double& number : array) number = -number;
  EXPECT_NE(refusal(geometry, array, layout, world).find("boundary condition"), std::string::npos);
}

}  // namespace
}  // namespace plaquette
