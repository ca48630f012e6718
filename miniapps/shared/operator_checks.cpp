// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/shared/operator_checks.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <span>
#include <stdexcept>

#include "common/algebra/gamma.hpp"
#include "cpu_ref/dirac/clover_textbook.hpp"
#include "cpu_ref/dirac/wilson_textbook.hpp"
#include "cpu_ref/fields/site_sum.hpp"

namespace plaquette::scaling {

namespace {

constexpr std::int64_t all_sites_up_to = std::int64_t{1} << 16;
constexpr double sampled_sites_a_rank = 4096.0;

/// A well-mixed function of a site's number (the finaliser of splitmix64).
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

constexpr int rows = spins * colours;
using site_matrix = Eigen::Matrix<std::complex<double>, rows, rows>;
using site_vector = Eigen::Matrix<std::complex<double>, rows, 1>;

/// The formulas of the Wilson-clover operator site by site, from the textbook's hops and field strengths.
class site_formulas {
 public:
  site_formulas(const gauge_configuration& links, const fermion_action& action, bool dagger)
      : links_(links), action_(action), dagger_(dagger) {}

  /// (D psi)(x), or (D^+ psi)(x)
  spinor<double> hops(const coordinate& x, const spinor_configuration& psi) const {
    spinor<double> sum;
    for (int mu = 0; mu < dimensions; ++mu)
      for (const int sign : {+1, -1}) sum += cpu::textbook::hop(x, mu, sign, psi, links_, action_, dagger_);
    return sum;
  }

  /// (A psi)(x)
  spinor<double> diagonal(const coordinate& x, const spinor_configuration& psi) const {
    spinor<double> result = action_.diagonal() * psi(x);
    if (action_.has_clover()) result += cpu::textbook::clover_at_site(x, psi, links_, action_);
    return result;
  }

  /// A(x)^-1 psi, by elimination.
  spinor<double> inverse_diagonal(const coordinate& x, const spinor<double>& psi) const {
    if (!action_.has_clover()) return (1.0 / action_.diagonal()) * psi;
    site_vector v;
    for (int i = 0; i < rows; ++i) {
      const complex<double>& z = psi(i / colours, i % colours);
      v(i) = {z.re, z.im};
    }
    const site_vector solved = diagonal_matrix(x).partialPivLu().solve(v);
    spinor<double> result;
    for (int i = 0; i < rows; ++i) result(i / colours, i % colours) = {solved(i).real(), solved(i).imag()};
    return result;
  }

 private:
  /// A(x) = 4 + m - 1/2 sum_{mu<nu} c_munu sigma_munu (-i Fhat_munu(x)) as a matrix, rows by spin and colour.
  site_matrix diagonal_matrix(const coordinate& x) const {
    constexpr complex<double> i{0.0, 1.0};
    site_matrix a = site_matrix::Identity() * action_.diagonal();
    for (int mu = 0; mu < dimensions; ++mu)
      for (int nu = mu + 1; nu < dimensions; ++nu) {
        const spin_matrix sigma =
            (0.5 * i) * (gamma_matrix(mu) * gamma_matrix(nu) - gamma_matrix(nu) * gamma_matrix(mu));
        const su3<double> f = -i * cpu::textbook::field_strength(x, mu, nu, links_);
        for (int row = 0; row < rows; ++row)
          for (int column = 0; column < rows; ++column) {
            const complex<double> element = sigma(row / colours, column / colours) * f(row % colours, column % colours);
            const double c = -0.5 * action_.clover_coefficient(mu, nu);
            a(row, column) += std::complex<double>(c * element.re, c * element.im);
          }
      }
    return a;
  }

  const gauge_configuration& links_;
  const fermion_action& action_;
  bool dagger_;
};

bool is_even(const lattice_geometry& geometry, const coordinate& x) { return parity(geometry.to_global(x)) == 0; }

/// D_eo A_oo^-1 D_oe psi reads phi = A_oo^-1 D_oe psi next to the sample, which may be another rank's: each rank makes
/// phi where it lies, and the ghosts bring it.
spinor_configuration odd_intermediate(const site_formulas& formulas, const spinor_configuration& psi,
                                      const site_sample& sample, const communicator& comm) {
  const lattice_geometry& geometry = psi.geometry();
  spinor_configuration phi(geometry);
  cpu::for_each_site(geometry, [&](const coordinate& x) {
    if (!is_even(geometry, x) && sample.is_next_to(geometry.to_global(x)))
      phi(x) = formulas.inverse_diagonal(x, formulas.hops(x, psi));
  });
  exchange_ghosts(phi, comm);
  return phi;
}

/// A_ee^-1 psi where the odd intermediate reads it.
spinor_configuration even_inverted(const site_formulas& formulas, const spinor_configuration& psi,
                                   const site_sample& sample, const communicator& comm) {
  const lattice_geometry& geometry = psi.geometry();
  spinor_configuration inverted(geometry);
  cpu::for_each_site(geometry, [&](const coordinate& x) {
    if (is_even(geometry, x) && sample.is_two_from(geometry.to_global(x)))
      inverted(x) = formulas.inverse_diagonal(x, psi(x));
  });
  exchange_ghosts(inverted, comm);
  return inverted;
}

/// Compares at the sampled sites that `in_output` has; expected(x) is the formula.
template <class InOutput, class Expected>
difference compare(const spinor_configuration& found, const site_sample& sample, const communicator& comm,
                   InOutput&& in_output, Expected&& expected) {
  const lattice_geometry& geometry = found.geometry();
  std::vector<double> worst_of_rows(static_cast<std::size_t>(geometry.local_volume() / geometry.local()[0]), 0.0);
  const auto sums = cpu::sum_over_sites<3>(geometry, comm, [&](const coordinate& x) -> std::array<double, 3> {
    if (!in_output(x) || !sample.holds(geometry.to_global(x))) return {};
    const spinor<double> right = expected(x);
    const double wrong = norm2(found(x) - right);
    double& worst = worst_of_rows[static_cast<std::size_t>(geometry.local_index(x) / geometry.local()[0])];
    if (wrong > worst) worst = wrong;  // a NaN shows in the sums
    return {wrong, norm2(right), 1.0};
  });
  const auto [wrong, size, sites] = sums;
  std::array<double, 1> worst{*std::ranges::max_element(worst_of_rows)};
  comm.maximum(std::span(worst));
  const double norm = std::sqrt(wrong / size);
  return {norm, std::isnan(norm) ? norm : std::sqrt(worst[0] / (size / sites))};
}

}  // namespace

site_sample::site_sample(const lattice_geometry& geometry, bool everywhere, std::uint64_t number)
    : lattice_(geometry.global()), number_(mixed(number)) {
  const auto sites = static_cast<double>(geometry.global_volume());
  const double wanted = sampled_sites_a_rank * static_cast<double>(volume(geometry.grid()));
  if (everywhere || geometry.global_volume() <= all_sites_up_to || wanted >= sites) return;
  threshold_ = static_cast<std::uint64_t>(wanted / sites * 0x1p64);
}

bool site_sample::holds(const coordinate& global) const {
  return everywhere() || mixed(number_ ^ static_cast<std::uint64_t>(lexicographic(global, lattice_))) < threshold_;
}

template <class Predicate>
bool site_sample::any_neighbour(const coordinate& global, Predicate&& predicate) const {
  for (int mu = 0; mu < dimensions; ++mu)
    for (const int step : {1, lattice_[mu] - 1}) {
      coordinate y = global;
      y[mu] = (y[mu] + step) % lattice_[mu];
      if (predicate(y)) return true;
    }
  return false;
}

bool site_sample::is_next_to(const coordinate& global) const {
  return everywhere() || any_neighbour(global, [this](const coordinate& y) { return holds(y); });
}

bool site_sample::is_two_from(const coordinate& global) const {
  return everywhere() || any_neighbour(global, [this](const coordinate& y) { return is_next_to(y); });
}

difference compare_with_textbook(const spinor_configuration& found, const spinor_configuration& psi,
                                 const gauge_configuration& links, const fermion_action& action,
                                 const expected_operator& formula, const site_sample& sample,
                                 const communicator& comm) {
  const lattice_geometry& geometry = links.geometry();
  fermion_action used = action;
  if (formula.kind != operator_kind::clover && formula.kind != operator_kind::clover_schur)
    used.clover_spatial = used.clover_temporal = 0.0;
  const site_formulas formulas(links, used, formula.dagger);
  const auto everywhere = [](const coordinate&) { return true; };
  const auto even = [&](const coordinate& x) { return is_even(geometry, x); };
  const auto odd = [&](const coordinate& x) { return !is_even(geometry, x); };

  switch (formula.kind) {
    case operator_kind::hopping: {
      const auto d = [&](const coordinate& x) { return formulas.hops(x, psi); };
      return formula.layout == site_layout::full ? compare(found, sample, comm, everywhere, d)
                                                 : compare(found, sample, comm, odd, d);
    }
    case operator_kind::wilson:
    case operator_kind::clover:
      return compare(found, sample, comm, everywhere,
                     [&](const coordinate& x) { return cpu::textbook::at_site(x, psi, links, used, formula.dagger); });
    case operator_kind::wilson_schur:
    case operator_kind::clover_schur:
      break;
    case operator_kind::axpy:
    case operator_kind::dot:
    case operator_kind::norm2:
      throw std::logic_error("the textbook has no vector operations");
  }
  if (formula.preconditioning == schur_kind::asymmetric) {  // A_ee - 1/4 D_eo A_oo^-1 D_oe
    const auto phi = odd_intermediate(formulas, psi, sample, comm);
    return compare(found, sample, comm, even,
                   [&](const coordinate& x) { return formulas.diagonal(x, psi) + -0.25 * formulas.hops(x, phi); });
  }
  if (!formula.dagger) {  // 1 - 1/4 A_ee^-1 D_eo A_oo^-1 D_oe
    const auto phi = odd_intermediate(formulas, psi, sample, comm);
    return compare(found, sample, comm, even, [&](const coordinate& x) {
      return psi(x) + -0.25 * formulas.inverse_diagonal(x, formulas.hops(x, phi));
    });
  }
  const auto phi = odd_intermediate(formulas, even_inverted(formulas, psi, sample, comm), sample, comm);
  return compare(found, sample, comm, even,
                 [&](const coordinate& x) { return psi(x) + -0.25 * formulas.hops(x, phi); });
}

difference tolerance_of(const operator_case& c, double distance_from_su3) {
  // Eight reals divide by numbers that may be small: then a few sites are far worse than the rest.
  const bool eight = c.links == reconstruct::eight;
  if (c.precision == number_precision::half_precision) return {1e-4, eight ? 1e-3 : 4e-4};
  if (c.precision == number_precision::pairs_precision) return {0x1p-44, 0x1p-42};
  const double unit_roundoff = c.precision == number_precision::double_precision ? 0x1p-53 : 0x1p-24;
  const double off = c.links == reconstruct::none ? 0.0 : distance_from_su3;
  return {(eight ? 40.0 : 20.0) * unit_roundoff + 4.0 * off, (eight ? 500.0 : 50.0) * unit_roundoff + 40.0 * off};
}

}  // namespace plaquette::scaling
