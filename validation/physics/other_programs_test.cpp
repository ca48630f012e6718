// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Operators and propagators of other programs, from the reference data: openQCD, tmLQCD, Chroma, MILC, and a free
/// pion.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "common/algebra/gamma.hpp"
#include "common/io/spinor_file.hpp"
#include "validation/support/actions.hpp"
#include "validation/support/backend.hpp"
#include "validation/support/operator_under_test.hpp"
#include "validation/support/reference_data.hpp"
#include "validation/support/test_fields.hpp"
#include "validation/support/test_solver.hpp"

namespace plaquette::validation {
namespace {

class other_programs : public reference_data, public testing::WithParamInterface<operator_under_test> {};

/// Half a unit of the last of `digits` significant digits of a number.
double half_a_digit(double number, int digits) {
  return 0.5 * std::pow(10.0, std::floor(std::log10(std::abs(number))) + 1 - digits);
}

/// All of `digits` printed digits, and no more than 1e-9 of a difference in how links were put back into SU(3).
void expect_every_printed_digit(const std::vector<double>& found, const std::vector<double>& expected, int digits) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t t = 0; t < found.size(); ++t)
    EXPECT_TRUE(std::abs(found[t] - expected[t]) <= half_a_digit(expected[t], digits) + 1e-9 * std::abs(expected[t]))
        << "t = " << t << ": " << found[t] << ", expected " << expected[t];
}

void expect_relatively_equal(const std::vector<double>& found, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t t = 0; t < found.size(); ++t)
    EXPECT_TRUE(std::abs(found[t] - expected[t]) <= tolerance * std::abs(expected[t]))
        << "t = " << t << ": " << found[t] << ", expected " << expected[t] << ", relative difference "
        << found[t] / expected[t] - 1.0;
}

// ---- openQCD: the operator itself --------------------------------------------------------------------------------

/// A spinor field of openQCD: four extents T, X, Y, Z and a zero, 32-bit integers; the squared norm; then t, x, y, z
/// with z fastest. Little-endian doubles, in openQCD's gamma basis.
spinor_configuration read_openqcd_spinor(const std::string& file, const lattice_geometry& geometry) {
  std::ifstream in(file, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  constexpr std::size_t header = 5 * 4 + 8;
  const std::size_t site_bytes = spinor_reals * sizeof(double);
  EXPECT_EQ(bytes.size(), header + site_bytes * static_cast<std::size_t>(geometry.global_volume())) << file;
  spinor_configuration psi(geometry);
  const extents& l = geometry.global();
  const char* next = bytes.data() + header;
  coordinate x;
  for (x[3] = 0; x[3] < l[3]; ++x[3])
    for (x[0] = 0; x[0] < l[0]; ++x[0])
      for (x[1] = 0; x[1] < l[1]; ++x[1])
        for (x[2] = 0; x[2] < l[2]; ++x[2], next += site_bytes) std::memcpy(psi(x).s, next, site_bytes);
  return times(adjoint(basis_rotation(gamma_basis::openqcd)), psi);
}

/// The sites of one parity of the inner time slices 1 and 2, where openQCD's open boundary does not reach; `which` = 2
/// takes both parities.
spinor_configuration inner_slices(spinor_configuration psi, int which) {
  visit_sites(psi.geometry(), [&](const coordinate& x) {
    const bool inner = x[3] == 1 || x[3] == 2;
    if (!inner || (which != 2 && parity(x) != which)) psi(x) = {};
  });
  return psi;
}

TEST_P(other_programs, openqcd_has_the_same_operator_and_the_same_even_odd_blocks) {
  const extents lattice{4, 4, 4, 4};
  const lattice_geometry geometry(lattice);
  const gauge_configuration links = read_links("openqcd/gauge.bc_0.bin", lattice);
  const auto field = [&](const std::string& name) {
    return read_openqcd_spinor(path("openqcd/" + name + ".bc_0.bin"), geometry);
  };
  const fermion_action action = fermion_action::isotropic(fermion_action::mass_of_kappa(0.135), 1.978);
  const double boundary_improvement = 1.3 - 1.0;  // cF - 1, on the slices next to the open boundaries: here 1 and 2
  const dirac_operator m = GetParam().make(links, action);
  const spinor_configuration source = field("src");
  EXPECT_NEAR(dot(source, source).re, document["openqcd_operator"]["norm2"]["src"].get<double>(), 1e-9);

  constexpr int even = 0, odd = 1, both = 2;
  const struct {
    std::string file;
    int from, to;
  } blocks[] = {{"dst_Dw_dble", both, both},
                {"dst_Dwee_dble", even, even},
                {"dst_Dwoo_dble", odd, odd},
                {"dst_Dweo_dble", odd, even}};
  for (const auto& [file, from, to] : blocks) {
    const spinor_configuration in = inner_slices(source, from);
    spinor_configuration out = image(m, in);
    if (from == to) out = sum(out, {boundary_improvement, 0.0}, in);
    const spinor_configuration expected = inner_slices(field(file), to);
    // openQCD's field minus ours, where its own rounding is as large as the textbook's.
    const double distance = norm(sum(inner_slices(out, to), {-1.0, 0.0}, expected)) / norm(in);
    EXPECT_TRUE(distance <= GetParam().rounding) << file << ": " << distance;
    EXPECT_TRUE(norm(expected) > 0.1 * norm(in)) << file;
  }
}

INSTANTIATE_TEST_SUITE_P(all, other_programs, testing::ValuesIn(operators_under_test()),
                         [](const auto& info) { return info.param.name; });

// ---- Propagators -------------------------------------------------------------------------------------------------

class propagators_of_other_programs : public reference_data, public testing::WithParamInterface<operator_under_test> {
 protected:
  /// Twelve columns for a point source, solved far below any printed digit.
  std::vector<spinor_configuration> solve_point(const gauge_configuration& links, const fermion_action& action,
                                                const coordinate& origin) const {
    const extents& lattice = links.geometry().global();
    test_propagator s = propagator(GetParam().make(links, action), 1e-12,
                                   [&](int spin, int colour) { return point_source(lattice, origin, spin, colour); });
    EXPECT_TRUE(s.worst <= 1e-10) << s.worst;
    return std::move(s.columns);
  }
};

/// Of production operators alone: openQCD and tmLQCD hold the textbook's, which takes minutes for twelve columns.
class correlators_of_other_programs : public propagators_of_other_programs {};

TEST_P(propagators_of_other_programs, tmlqcd_columns_solve_our_system_and_give_our_pion) {
  const extents lattice{4, 4, 4, 8};
  const lattice_geometry geometry(lattice);
  const gauge_configuration links = read_links("tmlqcd/L4T8conf", lattice);
  const fermion_action action = fermion_action::isotropic(fermion_action::mass_of_kappa(0.150), 0.0);
  const dirac_operator m = GetParam().make(links, action);
  const spin_matrix to_ours = adjoint(basis_rotation(gamma_basis::tmlqcd));
  std::vector<spinor_configuration> columns;
  for (int spin = 0; spin < spins; ++spin)
    for (int colour = 0; colour < colours; ++colour) {
      const int index = spin * colours + colour;
      const std::string number = (index < 10 ? "0" : "") + std::to_string(index);
      spinor_configuration psi = times(
          to_ours, read_lime_spinor(path("tmlqcd/source_1.0003.00.inverted." + number), geometry, communicator()));
      // Antiperiodicity there is a phase exp(i pi/T) on every temporal link, here a sign at the boundary.
      visit_sites(geometry,
                  [&](const coordinate& x) { psi(x) = unit_phase(std::numbers::pi * x[3] / lattice[3]) * psi(x); });
      const spinor_configuration source = times(to_ours, point_source(lattice, {0, 0, 0, 0}, spin, colour));
      // tmLQCD's CG on the normal equations of the even-odd system stopped at |Mhat^+ r|^2 = 1.45e-15, hence |r| <=
      // 3.8e-8 |Mhat^-1|, and |Mhat^-1| = 3.41 in its normalisation (inverse iteration on this configuration).
      const double residual = norm(sum(image(m, psi), {-1.0, 0.0}, source));
      EXPECT_TRUE(residual <= 3.41 * std::sqrt(1.45e-15)) << number << ": " << residual;
      columns.push_back(std::move(psi));
    }
  const auto expected = document["tmlqcd_wilson_propagator"]["pion_sum|S|^2"]["0.150"].get<std::vector<double>>();
  expect_relatively_equal(pion_correlator(columns), expected, 1e-12);
  // 2 |M^-1| |r| with |M^-1| = 1.99 and the residual |r| <= 6e-8 found above, if it is spread like S itself.
  expect_relatively_equal(pion_correlator(solve_point(links, action, {0, 0, 0, 0})), expected, 2.5e-7);
}

source_description smeared_source_of_chroma(int time) {
  source_description source;
  source.kind = source_kind::gaussian;
  source.position = {0, 0, 0, time};
  source.smearing_radius = 2.0;
  source.smearing_steps = 5;
  return source;
}

TEST_F(reference_data, chroma_has_our_smeared_source) {
  const gauge_configuration links = read_links("chroma/weak_field.lime", {4, 4, 4, 8});
  double norm2_of_all = 0.0;
  for (int spin = 0; spin < spins; ++spin)
    for (int colour = 0; colour < colours; ++colour) {
      const auto source = backend::canonical_source(smeared_source_of_chroma(0), spin, colour, links);
      norm2_of_all += dot(source, source).re;
    }
  // The figure belongs to time 0; the one of time 4, where the propagator starts, differs by 0.2%.
  EXPECT_TRUE(std::abs(norm2_of_all - 6.63399911) <= half_a_digit(6.63399911, 9)) << norm2_of_all;
}

TEST_P(correlators_of_other_programs, chroma_has_our_clover_pion_from_a_smeared_source) {
  const gauge_configuration links = read_links("chroma/weak_field.lime", {4, 4, 4, 8});
  const test_propagator s =
      propagator(GetParam().make(links, fermion_action::isotropic(0.1, 1.17)), 1e-12, [&](int spin, int colour) {
        return backend::canonical_source(smeared_source_of_chroma(4), spin, colour, links);
      });
  EXPECT_TRUE(s.worst <= 1e-10) << s.worst;
  // Solved to 3e-12 there; twelve decimals were printed, ten digits of the smallest number.
  const auto expected = document["chroma_clover_propagator"]["pion_sum|S|^2"]["m=0.1"].get<std::vector<double>>();
  expect_relatively_equal(pion_correlator(s.columns), expected, 1e-10);
}

TEST_P(propagators_of_other_programs, the_free_pion_is_the_published_one) {
  const extents lattice{4, 4, 4, 4};
  const fermion_action action = periodic(fermion_action::isotropic(fermion_action::mass_of_kappa(0.15), 0.0));
  std::vector<double> pion = pion_correlator(solve_point(unit_links(lattice), action, {0, 0, 0, 0}), 2);
  for (double& c : pion) c /= 64.0;
  expect_relatively_equal(pion, document["free_wilson_pion"]["values"].get<std::vector<double>>(), 1e-9);
}

/// sum over space of tr [ gamma_i S gamma_i gamma_5 S^+ gamma_5 ], averaged over i: rows of S are components of a
/// column, columns of S are sources.
std::vector<double> rho_correlator(const std::vector<spinor_configuration>& columns) {
  const lattice_geometry& geometry = columns.front().geometry();
  std::vector<double> c(static_cast<std::size_t>(geometry.global()[3]));
  for (int k = 0; k < 3; ++k) {
    const spin_matrix source_side = gamma_matrix(k) * gamma_matrix(4), sink_side = gamma_matrix(4) * gamma_matrix(k);
    visit_sites(geometry, [&](const coordinate& x) {
      for (int b = 0; b < spins; ++b)
        for (int a = 0; a < spins; ++a) {
          if (norm2(source_side(b, a)) == 0.0) continue;
          for (int colour = 0; colour < colours; ++colour) {
            const spinor<double> left = columns[static_cast<std::size_t>(a * colours + colour)](x);
            const spinor<double> right = sink_side * columns[static_cast<std::size_t>(b * colours + colour)](x);
            c[static_cast<std::size_t>(x[3])] += (source_side(b, a) * dot(left, right)).re / 3.0;
          }
        }
    });
  }
  return c;
}

/// The files hold single precision, and MILC puts the links it has read back into SU(3): 4e-8 in the correlators, which
/// is seen in their last digits.
gauge_configuration in_su3_to_double(gauge_configuration links) {
  visit_sites(links.geometry(), [&](const coordinate& x) {
    for (auto& u : links(x)) u = reunitarised(u, [](double a) { return std::sqrt(a); });
  });
  exchange_ghosts(links, communicator());
  return links;
}

TEST_P(correlators_of_other_programs, milc_prints_our_correlators) {
  for (const auto& [name, reference] : document["milc_correlators"]["cases"].items()) {
    SCOPED_TRACE(name);
    const double kappa = reference["kappa"].get<double>();
    fermion_action action =
        fermion_action::isotropic(fermion_action::mass_of_kappa(kappa), reference["csw"].get<double>());
    if (reference["time_bc"] == "periodic") action = periodic(action);
    const extents lattice = reference["extent"].get<extents>();
    const gauge_configuration links =
        in_su3_to_double(read_links("milc/" + reference["file"].get<std::string>(), lattice));
    const auto columns = solve_point(links, action, {0, 0, 0, 0});
    std::vector<double> pion = pion_correlator(columns), rho = rho_correlator(columns);
    const double factor = 1.0 / (4.0 * kappa * kappa);
    for (double& c : pion) c *= factor;
    for (double& c : rho) c *= factor;
    expect_every_printed_digit(pion, reference["pion"].get<std::vector<double>>(), 7);
    expect_every_printed_digit(rho, reference["rho_average"].get<std::vector<double>>(), 7);
  }
}

INSTANTIATE_TEST_SUITE_P(all, propagators_of_other_programs, testing::ValuesIn(double_precision_operators()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(all, correlators_of_other_programs,
                         testing::Values(production_operator<double>(std::string(backend::operators_name) + "_double")),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace plaquette::validation
