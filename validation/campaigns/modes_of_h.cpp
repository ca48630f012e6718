// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Campaign: many searches for the lowest modes of H, against the whole spectrum by dense matrices. Fields with levels
/// of any multiplicity, instantons, rho, every number of modes from 1 to 40, start vectors, block widths, filters and
/// instruction sets vary. No search may say that it is complete and lack a mode.
///
/// Environment: PLAQUETTE_CAMPAIGN_TRIES, the number of searches, and PLAQUETTE_CAMPAIGN_FIRST, the number of the
/// first.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "common/eigen/hermitian_modes.hpp"
#include "common/overlap/sign_function.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/gauge/heatbath.hpp"
#include "validation/support/dense_dirac.hpp"
#include "validation/support/overlap_backend.hpp"

namespace plaquette::validation {
namespace {

struct library {
  template <class T>
  using field = backend::field<T>;
  template <class T>
  using hermitian_wilson = backend::hermitian_wilson<T>;
};
using Field = backend::field<double>;
using InnerField = backend::field<float>;

fermion_action kernel_action(bool periodic, double rho) {
  fermion_action action = fermion_action::isotropic(-rho, 0.0);
  if (periodic) action.boundary_phase[3] = {1.0, 0.0};
  return action;
}

int from_environment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : otherwise;
}

enum class field_kind { free, flux, flux_in_two_colours, rough };

/// Links, and the |eigenvalues| of H on them, ascending.
struct known_field {
  std::string name;
  field_kind kind;
  gauge_configuration links;
  bool periodic;
  double rho = 1.4;
  std::vector<double> spectrum{};
};

/// H of plane waves: |lambda|^2 = (sum_mu (1 - cos p_mu) - rho)^2 + sum_mu sin^2 p_mu, for four components a colour.
std::vector<double> free_spectrum(const known_field& field, int colours_of_it) {
  std::vector<double> all;
  const lattice_geometry& geometry = field.links.geometry();
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
    const coordinate n = geometry.local_coordinate(site);
    double w = 0.0, s2 = 0.0;
    for (int mu = 0; mu < dimensions; ++mu) {
      const double shift = mu == 3 && !field.periodic ? 0.5 : 0.0;
      const double p = 2.0 * std::numbers::pi * (n[mu] + shift) / geometry.global()[mu];
      w += 1.0 - std::cos(p);
      s2 += std::sin(p) * std::sin(p);
    }
    all.insert(all.end(), static_cast<std::size_t>(spins * colours_of_it),
               std::sqrt((w - field.rho) * (w - field.rho) + s2));
  }
  return all;
}

std::vector<double> absolute_eigenvalues(const dense_matrix& wilson) {
  dense_matrix h = wilson;
  h.bottomRows(h.rows() / 2) *= -1.0;
  const Eigen::SelfAdjointEigenSolver<dense_matrix> pairs(h, Eigen::EigenvaluesOnly);
  std::vector<double> all;
  for (const double value : pairs.eigenvalues()) all.push_back(std::abs(value));
  return all;
}

/// M on colour 0, which others do not mix with.
dense_matrix one_colour(const known_field& field) {
  const fermion_action action = kernel_action(field.periodic, field.rho);
  const Eigen::Index n = field.links.geometry().local_volume();
  dense_matrix m = (4.0 - field.rho) * dense_matrix::Identity(spins * n, spins * n);
  const dense_matrix unit = dense_matrix::Identity(spins, spins);
  for (int mu = 0; mu < dimensions; ++mu) {
    const sparse_matrix all = covariant_shift(field.links, action, mu);
    dense_matrix shift(n, n);
    for (Eigen::Index j = 0; j < n; ++j)
      for (Eigen::Index i = 0; i < n; ++i) shift(i, j) = all.coeff(colours * i, colours * j);
    const dense_matrix back = shift.adjoint();
    m -= 0.5 * (kronecker(unit - dense_gamma(mu), shift) + kronecker(unit + dense_gamma(mu), back));
  }
  return m;
}

void find_spectrum(known_field& field) {
  std::vector<double>& all = field.spectrum;
  if (!all.empty()) return;
  if (field.kind == field_kind::free) {
    all = free_spectrum(field, colours);
  } else if (field.kind == field_kind::rough) {
    all = absolute_eigenvalues(dense_dirac(field.links, kernel_action(field.periodic, field.rho)));
  } else {  // the complex conjugate has the same |eigenvalues|
    const std::vector<double> one = absolute_eigenvalues(one_colour(field));
    if (field.kind == field_kind::flux_in_two_colours) all = free_spectrum(field, 1);
    for (int n = field.kind == field_kind::flux ? 3 : 2; n > 0; --n) all.insert(all.end(), one.begin(), one.end());
  }
  std::ranges::sort(all);
}

gauge_configuration flux_links(const std::array<int, 2>& fluxes, abelian_embedding embedding) {
  return cpu::constant_flux_configuration(lattice_geometry({4, 4, 4, 4}), fluxes, embedding, communicator());
}

gauge_configuration heatbath_links(const extents& lattice, std::uint64_t seed) {
  gauge_action action;
  action.beta = 5.7;
  return cpu::heatbath_configuration(lattice_geometry(lattice), action, sweep_plan{}, 20, seed, communicator());
}

std::vector<known_field> all_fields() {
  std::vector<known_field> fields;
  for (const bool periodic : {true, false}) {
    const auto add = [&](const std::string& name, field_kind kind, gauge_configuration links) {
      fields.push_back({name + (periodic ? ", periodic" : ", antiperiodic"), kind, std::move(links), periodic});
    };
    for (const auto& [a, b] : {std::pair{2, 1}, {1, 1}, {0, 1}, {2, -2}, {3, 1}}) {
      const std::string numbers = "(" + std::to_string(a) + "," + std::to_string(b) + ")";
      add("flux " + numbers, field_kind::flux, flux_links({a, b}, abelian_embedding::all_colours));
      add("flux " + numbers + " in two colours", field_kind::flux_in_two_colours,
          flux_links({a, b}, abelian_embedding::su3));
    }
    add("free 4x4x4x4", field_kind::free, unit_links({4, 4, 4, 4}));
    add("free 4x4x4x8", field_kind::free, unit_links({4, 4, 4, 8}));
    add("free 2x6x4x4", field_kind::free, unit_links({2, 6, 4, 4}));
    for (const std::uint64_t seed : {3, 4}) {
      add("heat bath " + std::to_string(seed), field_kind::rough, heatbath_links({2, 2, 4, 4}, seed));
      add("weak " + std::to_string(seed), field_kind::rough, weak_links({2, 2, 2, 4}, 0.5, seed));
      add("random " + std::to_string(seed), field_kind::rough, random_links({2, 2, 2, 4}, seed));
    }
    add("nearly free", field_kind::rough, weak_links({2, 2, 2, 4}, 1e-5, 5));
    // Of a radius that has a mode near zero at rho 1.2, far below the rest. One is as smooth as can be, one is like a
    // file of 32-bit numbers, one is rough.
    for (const double noise : {0.0, 1e-7, 0.05}) {
      add("instanton, noise " + std::to_string(noise), field_kind::rough, instanton_links({4, 4, 4, 4}, 1.1, noise, 3));
      fields.back().rho = 1.2;
    }
  }
  // Likewise at other rho.
  const std::size_t of_all = fields.size();
  for (std::size_t i = 0; i < of_all; ++i)
    if (fields[i].kind == field_kind::free || fields[i].links.geometry().global_volume() <= 64) {
      known_field other = fields[i];
      other.rho = i % 2 == 0 ? 1.2 : 1.0;
      other.name += i % 2 == 0 ? ", rho 1.2" : ", rho 1.0";
      fields.push_back(std::move(other));
    }
  return fields;
}

/// The statement of a search, and whether it is true.
enum class outcome { complete, said_incomplete, bad };

struct found_modes {
  outcome result;
  int found = 0, late = 0, block = 0, cycles = 0;
  double filtered = 0.0;
};

backend::context context_of(const lattice_geometry& geometry, [[maybe_unused]] int number) {
#ifdef PLAQUETTE_TEST_GPU_BACKEND
  return backend::context(geometry, communicator());
#else
  const std::array sets{cpu::instruction_set::generic, cpu::instruction_set::avx2, cpu::instruction_set::avx512};
  const auto isa = std::min(sets[static_cast<std::size_t>(number) % sets.size()], cpu::best_instruction_set());
  return backend::context(geometry, communicator(), 0, isa);
#endif
}

found_modes search_once(const known_field& field, int number, const mode_search& search) {
  const fermion_action action = kernel_action(field.periodic, field.rho);
  const backend::context ctx = context_of(field.links.geometry(), number);
  const hermitian_kernel<library> kernel(
      std::make_shared<const backend::hermitian_wilson<double>>(ctx, field.links, action, reconstruct::none),
      std::make_shared<const backend::hermitian_wilson<float>>(ctx, field.links, action, reconstruct::none));
  std::uint64_t next = 0;
  const random_fill<Field> fill = [&](Field& x) {
    for (int c = 0; c < x.columns(); ++c)
      import_column(
          x, c, cpu::random_spinor(ctx.geometry(), 100 + static_cast<std::uint64_t>(number), next++, communicator()));
  };
  Field shape(ctx, {spins, colours, site_subset::full, 1}), sample = like(shape, 4);
  fill(sample);
  InnerField as_single = like(sample, 4, as<InnerField>);
  convert(as_single, sample);
  const double size = 12.0 * static_cast<double>(ctx.geometry().global_volume());
  const mode_space<Field, InnerField> space{shape, as_single, size, fill};
  const mode_set<Field> modes = lowest_modes(kernel.as_double(), kernel.as_single(), space, search);
  found_modes found{outcome::complete, static_cast<int>(modes.values.size()), modes.late, modes.block, modes.cycles,
                    modes.filtered};
  // Residuals r move a value by r^2 over a gap, and by r at most.
  bool is_right = true;
  for (std::size_t i = 0; i < modes.values.size(); ++i)
    is_right = is_right && std::abs(std::abs(modes.values[i]) - field.spectrum[i]) <= 1e-8;
  if (!modes.complete)
    found.result = outcome::said_incomplete;
  else if (!is_right || found.found != search.modes)
    found.result = outcome::bad;
  return found;
}

void search_many(std::vector<known_field> fields, int start, int tries) {
  struct row {
    int tries = 0, complete = 0, said = 0, bad = 0;
    double seconds = 0.0;
  };
  std::vector<row> rows(fields.size());
  row all;
  for (int number = start; number < start + tries; ++number) {
    const std::size_t which = static_cast<std::size_t>(number) % fields.size();
    const int turn = number / static_cast<int>(fields.size());
    known_field& field = fields[which];
    find_spectrum(field);
    constexpr std::array blocks{0, 0, 1, 2, 5, 0, 3, 8};
    mode_search search{.modes = 1 + (7 * turn + 11 * number) % 40};
    search.block = blocks[static_cast<std::size_t>(turn + 3 * number) % blocks.size()];
    if (number % 7 == 3) search.degree = 8 + 4 * (turn % 5);
    if (number % 5 == 4) search.window = field.spectrum[static_cast<std::size_t>(search.modes + 5)] * 1.01;
    if (number % 11 == 5) search.method = mode_method::arnoldi;
    const auto begin = std::chrono::steady_clock::now();
    const found_modes found = search_once(field, number, search);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    for (row* r : {&rows[which], &all}) {
      ++r->tries;
      ++(found.result == outcome::complete ? r->complete : found.result == outcome::bad ? r->bad : r->said);
      r->seconds += seconds;
    }
    EXPECT_NE(found.result, outcome::bad) << number << " " << field.name;
    if (found.result != outcome::complete || std::getenv("PLAQUETTE_CAMPAIGN_ALL") != nullptr)
      std::printf(
          "%4d %-38s %2d modes, block %d, degree %d: %s, found %d, late %d, block %d, cycles %d, %.0f, %.2f s\n",
          number, field.name.c_str(), search.modes, search.block, search.degree,
          found.result == outcome::bad        ? "BAD"
          : found.result == outcome::complete ? "complete"
                                              : "incomplete, said",
          found.found, found.late, found.block, found.cycles, found.filtered, seconds);
    std::fflush(stdout);
  }
  std::printf("%-40s %5s %8s %16s %3s %8s\n", "field", "tries", "complete", "incomplete, said", "bad", "seconds");
  const auto print = [](const std::string& name, const row& r) {
    if (r.tries > 0)
      std::printf("%-40s %5d %8d %16d %3d %8.1f\n", name.c_str(), r.tries, r.complete, r.said, r.bad, r.seconds);
  };
  for (std::size_t i = 0; i < fields.size(); ++i) print(fields[i].name, rows[i]);
  print("all", all);
  EXPECT_EQ(all.bad, 0);
  EXPECT_EQ(all.tries, tries);
}

TEST(CampaignOfModesOfH, finds_all_modes_or_says_that_some_are_missing) {
  search_many(all_fields(), from_environment("PLAQUETTE_CAMPAIGN_FIRST", 0),
              from_environment("PLAQUETTE_CAMPAIGN_TRIES", 12));
}

// In seconds, so that the host build of the kernels runs it too.
TEST(CampaignOfModesOfH, finds_all_modes_of_a_few_small_fields) {
  std::vector<known_field> fields = all_fields();
  std::erase_if(fields, [](const known_field& field) {
    return field.links.geometry().global_volume() > 32 || field.name.starts_with("heat");
  });
  search_many(std::move(fields), 0, 10);
}

}  // namespace
}  // namespace plaquette::validation
