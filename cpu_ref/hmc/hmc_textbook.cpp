// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/hmc/hmc_textbook.hpp"

#include <Eigen/Dense>
#include <cmath>
#include <complex>
#include <cstddef>
#include <span>
#include <vector>

#include "common/algebra/gamma.hpp"
#include "common/lattice/ghosts.hpp"
#include "common/lattice/source_description.hpp"
#include "common/random/random_stream.hpp"
#include "cpu_ref/dirac/clover_textbook.hpp"
#include "cpu_ref/dirac/wilson_textbook.hpp"
#include "cpu_ref/fields/site_sum.hpp"

namespace plaquette::cpu::textbook {
namespace {

using block_matrix = Eigen::Matrix<std::complex<double>, spin_colours, spin_colours>;

/// Returns T_k = lambda_k / 2 with tr T_k T_l = delta_kl / 2, of the matrices of Gell-Mann.
su3<double> generator(int k) {
  su3<double> t;
  const auto set = [&t](int i, int j, complex<double> number) {
    t(i, j) = number;
    t(j, i) = conj(number);
  };
  constexpr int row[] = {0, 0, 0, 0, 0, 1, 1, 0}, column[] = {1, 1, 0, 2, 2, 2, 2, 0};
  if (k == 2) {
    t(0, 0) = {0.5, 0.0};
    t(1, 1) = {-0.5, 0.0};
  } else if (k == 7) {
    const double unit = 0.5 / std::sqrt(3.0);
    t(0, 0) = t(1, 1) = {unit, 0.0};
    t(2, 2) = {-2.0 * unit, 0.0};
  } else {
    const bool is_imaginary = k == 1 || k == 4 || k == 6;
    set(row[k], column[k], is_imaginary ? complex<double>{0.0, -0.5} : complex<double>{0.5, 0.0});
  }
  return t;
}

su3<double> along(int k) { return complex<double>{0.0, 1.0} * generator(k); }

/// Returns W(x) = U_mu(x) U_nu(x+mu) U_mu(x+nu)^+, with its ghosts: three sides of a plaquette.
site_field<su3<double>> three_sides(const gauge_configuration& u, int mu, int nu, const communicator& comm) {
  site_field<su3<double>> w(u.geometry());
  for_each_site(u.geometry(), [&](const coordinate& x) {
    w(x) = u(x)[mu] * u(shifted(x, mu, +1))[nu] * adjoint(u(shifted(x, nu, +1))[mu]);
  });
  exchange_ghosts(w, comm);
  return w;
}

/// sigma_munu (-i) = [gamma_mu, gamma_nu] / 2 of the planes.
constexpr std::array<spin_matrix, planes.size()> sigma_over_i = [] {
  std::array<spin_matrix, planes.size()> all;
  for (std::size_t k = 0; k < planes.size(); ++k) {
    const spin_matrix a = gamma_matrix(planes[k][0]), b = gamma_matrix(planes[k][1]);
    all[k] = complex<double>{0.5, 0.0} * (a * b - b * a);
  }
  return all;
}();

/// Returns A + i mu gamma_5 at a site, as a matrix on spin and colour. C = -1/2 sum c_munu sigma_munu (-i Fhat_munu).
block_matrix site_block(const coordinate& x, const gauge_configuration& links, const fermion_action& action,
                        double mu) {
  const field_strengths f = field_strengths_at(x, links);
  block_matrix a = block_matrix::Zero();
  for (std::size_t k = 0; k < planes.size(); ++k) {
    const double c = -0.5 * action.clover_coefficient(planes[k][0], planes[k][1]);
    for (int s = 0; s < spins; ++s)
      for (int r = 0; r < spins; ++r) {
        if (norm2(sigma_over_i[k](s, r)) == 0.0) continue;
        for (int i = 0; i < colours; ++i)
          for (int j = 0; j < colours; ++j) {
            const complex<double> number = c * (sigma_over_i[k](s, r) * f[k](i, j));
            a(colours * s + i, colours * r + j) += std::complex<double>(number.re, number.im);
          }
      }
  }
  for (int n = 0; n < spin_colours; ++n)
    a(n, n) += std::complex<double>(action.diagonal(), n < spin_colours / 2 ? mu : -mu);
  return a;
}

double log_determinant(const block_matrix& a) {
  const Eigen::PartialPivLU<block_matrix> lu(a);
  double sum = 0.0;
  for (int k = 0; k < spin_colours; ++k) sum += std::log(std::abs(lu.matrixLU()(k, k)));
  return sum;
}

bool is_odd_site(const lattice_geometry& geometry, const coordinate& x) { return parity(geometry.to_global(x)) == 1; }

/// The sites around a link, copied from all ranks: a lattice of its own with the link at `middle`. Where the whole
/// lattice is smaller, sites stand in it more than once, and spinors have the phase of the boundary that lies between.
class neighbourhood {
 public:
  static constexpr int extent = 6;
  static constexpr coordinate middle{2, 2, 2, 2};

  neighbourhood(const coordinate& at, const lattice_geometry& of, const communicator& comm)
      : at_(at), of_(of), comm_(comm) {}

  /// Returns the values around the link, ghosts filled.
  template <class Value>
  site_field<Value> copy(const site_field<Value>& field) const {
    static_assert(sizeof(Value) % sizeof(double) == 0);
    site_field<Value> here(box_);
    constexpr std::size_t numbers = sizeof(Value) / sizeof(double);
    std::vector<double> all(numbers * static_cast<std::size_t>(box_.local_volume()));
    for (std::int64_t n = 0; n < box_.local_volume(); ++n) {
      coordinate local;
      if (!of_.holds(global_of(box_.local_coordinate(n)), local)) continue;
      const auto* from = reinterpret_cast<const double*>(&field(local));
      std::copy(from, from + numbers, all.begin() + static_cast<std::ptrdiff_t>(numbers) * n);
    }
    comm_.sum(std::span<double>(all));
    for (std::int64_t n = 0; n < box_.local_volume(); ++n)
      std::copy(all.begin() + static_cast<std::ptrdiff_t>(numbers) * n,
                all.begin() + static_cast<std::ptrdiff_t>(numbers) * (n + 1),
                reinterpret_cast<double*>(&here.at_site(n)));
    exchange_ghosts(here, communicator());
    return here;
  }
  /// Returns spinors around the link with the phases of the boundaries.
  spinor_configuration copy(const spinor_configuration& field, const fermion_action& action) const {
    spinor_configuration here = copy(field);
    for (std::int64_t n = 0; n < box_.local_volume(); ++n) {
      const coordinate x = box_.local_coordinate(n);
      for (int mu = 0; mu < dimensions; ++mu) {
        const int place = at_[mu] + x[mu] - middle[mu], length = of_.global()[mu];
        const int crossings = place >= 0 ? place / length : -((length - 1 - place) / length);
        for (int k = 0; k < std::abs(crossings); ++k)
          here(x) = (crossings > 0 ? action.boundary_phase[mu] : conj(action.boundary_phase[mu])) * here(x);
      }
    }
    exchange_ghosts(here, communicator());
    return here;
  }

 private:
  coordinate global_of(const coordinate& x) const {
    coordinate y;
    for (int mu = 0; mu < dimensions; ++mu) {
      const int length = of_.global()[mu];
      y[mu] = ((at_[mu] + x[mu] - middle[mu]) % length + length) % length;
    }
    return y;
  }

  coordinate at_;
  const lattice_geometry& of_;
  const communicator& comm_;
  lattice_geometry box_{{extent, extent, extent, extent}};
};

/// Returns the sites whose hops or leaves have the link (middle, mu) in them.
std::vector<coordinate> touched_sites(int mu) {
  std::vector<coordinate> sites;
  for (const coordinate& x : {neighbourhood::middle, shifted(neighbourhood::middle, mu, +1)}) {
    sites.push_back(x);
    for (int nu = 0; nu < dimensions; ++nu)
      if (nu != mu) sites.insert(sites.end(), {shifted(x, nu, +1), shifted(x, nu, -1)});
  }
  return sites;
}

/// Returns the derivatives of a function of the link (middle, mu) that is linear in it, over the real numbers, but for
/// a constant: f(i T_k U) - f(0).
template <class Function>
link_derivatives derivatives_of(gauge_configuration& links, int mu, const Function& function) {
  su3<double>& link = links(neighbourhood::middle)[mu];
  const su3<double> u = link;
  link = su3<double>();
  const double constant = function();
  link_derivatives result;
  for (int k = 0; k < std::ssize(result); ++k) {
    link = along(k) * u;
    result[static_cast<std::size_t>(k)] = function() - constant;
  }
  link = u;
  return result;
}

/// Returns term(0) + ... + term(count - 1). The terms are computed by all threads, and summed in order.
template <class Term>
double sum_of(std::size_t count, const Term& term) {
  std::vector<double> terms(count);
#pragma omp parallel for schedule(static)
  for (std::size_t n = 0; n < count; ++n) terms[n] = term(n);
  double sum = 0.0;
  for (const double number : terms) sum += number;
  return sum;
}

fermion_action without_boundaries(fermion_action action) {
  action.boundary_phase.fill({1.0, 0.0});
  return action;
}

/// Returns Re tr of a closed path that begins at x: steps +-(mu + 1).
double loop(const gauge_configuration& u, coordinate x, std::initializer_list<int> steps) {
  su3<double> product = su3<double>::identity();
  for (const int step : steps) {
    const int mu = std::abs(step) - 1;
    if (step < 0) x = shifted(x, mu, -1);
    product = product * (step > 0 ? u(x)[mu] : adjoint(u(x)[mu]));
    if (step > 0) x = shifted(x, mu, +1);
  }
  return trace(product).re;
}

}  // namespace

namespace {

/// Returns Re tr A B^+.
double trace_of_product(const su3<double>& a, const su3<double>& b) {
  double sum = 0.0;
  for (int i = 0; i < colours; ++i)
    for (int j = 0; j < colours; ++j) sum += a(i, j).re * b(i, j).re + a(i, j).im * b(i, j).im;
  return sum;
}

/// Returns the sum of Re tr of the plaquettes that begin at x, with their weights.
double plaquettes_at(const coordinate& x, const gauge_configuration& u, const loop_action& action) {
  double sum = 0.0;
  for (int mu = 0; mu < dimensions; ++mu)
    for (int nu = mu + 1; nu < dimensions; ++nu)
      sum += action.plaquette_weight(mu, nu) *
             trace_of_product(u(x)[mu] * u(shifted(x, mu, +1))[nu], u(x)[nu] * u(shifted(x, nu, +1))[mu]);
  return sum;
}

}  // namespace

double gauge_action_change(const gauge_configuration& after, const gauge_configuration& before,
                           const loop_action& action, const communicator& comm) {
  if (action.c1 == 0.0)
    return action.beta / colours *
           sum_over_sites<1>(after.geometry(), comm, [&](const coordinate& x) -> std::array<double, 1> {
             return {plaquettes_at(x, before, action) - plaquettes_at(x, after, action)};
           })[0];
  double change = 0.0;
  for (int mu = 0; mu < dimensions; ++mu)
    for (int nu = 0; nu < dimensions; ++nu) {
      if (mu == nu) continue;
      const auto w_after = three_sides(after, mu, nu, comm), w_before = three_sides(before, mu, nu, comm);
      const auto loops = [&](const gauge_configuration& u, const site_field<su3<double>>& w, const coordinate& x) {
        const double plaquette = mu < nu ? trace(w(x) * adjoint(u(x)[nu])).re : 0.0;
        const su3<double> bent = u(x)[mu] * w(shifted(x, mu, +1)) * adjoint(u(shifted(x, nu, +1))[mu]);
        const double rectangle = trace(bent * adjoint(u(x)[nu])).re;
        return action.plaquette_weight(mu, nu) * plaquette + action.c1 * rectangle;
      };
      change += sum_over_sites<1>(after.geometry(), comm, [&](const coordinate& x) -> std::array<double, 1> {
        return {loops(before, w_before, x) - loops(after, w_after, x)};
      })[0];
    }
  return action.beta / colours * change;
}

site_links momenta_at_site(const coordinate& x, const lattice_geometry& geometry, std::uint64_t seed,
                           std::uint64_t trajectory) {
  static const std::array<su3<double>, 8> directions = [] {
    std::array<su3<double>, 8> all;
    for (int k = 0; k < 8; ++k) all[static_cast<std::size_t>(k)] = along(k);
    return all;
  }();
  random_stream random(seed, random_stream_id(random_purpose::momenta, trajectory),
                       static_cast<std::uint64_t>(geometry.global_index(x)));
  site_links p{};
  for (su3<double>& a : p)
    for (std::size_t k = 0; k < directions.size(); k += 2) {
      const auto [first, second] = random.gaussians();
      a += first * directions[k] + second * directions[k + 1];
    }
  return p;
}

gauge_configuration momenta(const lattice_geometry& geometry, std::uint64_t seed, std::uint64_t trajectory,
                            const communicator& comm) {
  gauge_configuration p(geometry);
  for_each_site(geometry, [&](const coordinate& x) { p(x) = momenta_at_site(x, geometry, seed, trajectory); });
  exchange_ghosts(p, comm);
  return p;
}

namespace {

/// Returns -tr A^2 of the links of a site.
double kinetic_energy_at(const site_links& momenta) {
  double energy = 0.0;
  for (const su3<double>& a : momenta)
    for (int i = 0; i < colours; ++i)
      for (int j = 0; j < colours; ++j) energy -= (a(i, j) * a(j, i)).re;
  return energy;
}

}  // namespace

double kinetic_change(const gauge_configuration& after, const gauge_configuration& before, const communicator& comm) {
  return sum_over_sites<1>(after.geometry(), comm, [&](const coordinate& x) -> std::array<double, 1> {
    return {kinetic_energy_at(after(x)) - kinetic_energy_at(before(x))};
  })[0];
}

double kinetic_change(const gauge_configuration& after, std::uint64_t seed, std::uint64_t trajectory,
                      const communicator& comm) {
  return sum_over_sites<1>(after.geometry(), comm, [&](const coordinate& x) -> std::array<double, 1> {
    return {kinetic_energy_at(after(x)) - kinetic_energy_at(momenta_at_site(x, after.geometry(), seed, trajectory))};
  })[0];
}

double log_determinant_change(const gauge_configuration& after, const gauge_configuration& before,
                              const quark_pairs& quarks, const communicator& comm) {
  return sum_over_sites<1>(after.geometry(), comm, [&](const coordinate& x) -> std::array<double, 1> {
    if (!is_odd_site(after.geometry(), x)) return {0.0};
    return {log_determinant(site_block(x, after, quarks.action, quarks.twisted_mass)) -
            log_determinant(site_block(x, before, quarks.action, quarks.twisted_mass))};
  })[0];
}

spinor_configuration gamma5_of_even(const spinor_configuration& psi, complex<double> factor) {
  spinor_configuration out(psi.geometry());
  for_each_site(psi.geometry(), [&](const coordinate& x) {
    if (is_odd_site(psi.geometry(), x)) return;
    for (int s = 0; s < spins; ++s)
      for (int c = 0; c < colours; ++c) out(x)(s, c) = (s < 2 ? factor : -factor) * psi(x)(s, c);
  });
  return out;
}

namespace {

/// Returns a + b on even sites, zero on odd ones.
spinor_configuration even_sum(const spinor_configuration& a, const spinor_configuration& b) {
  spinor_configuration out(a.geometry());
  for_each_site(a.geometry(), [&](const coordinate& x) {
    if (!is_odd_site(a.geometry(), x)) out(x) = a(x) + b(x);
  });
  return out;
}

}  // namespace

factor_operator operator_of(const quark_pairs& quarks, int factor) {
  return {quarks.action_of(factor), quarks.twisted_mass, quarks.mu(factor)};
}

namespace {

/// Computes the image of z on all sites.
spinor_configuration image_of(spinor_configuration& z, const gauge_configuration& links, const factor_operator& w,
                              bool daggered, const communicator& comm) {
  spinor_configuration image(z.geometry());
  apply(image, z, links, w.action, comm, daggered);
  for_each_site(z.geometry(), [&](const coordinate& x) {
    const double mu = is_odd_site(z.geometry(), x) ? w.mu : w.mu + w.even_mu;
    for (int s = 0; s < spins; ++s)
      for (int c = 0; c < colours; ++c)
        image(x)(s, c) += complex<double>{0.0, (s < 2) != daggered ? mu : -mu} * z(x)(s, c);
  });
  return image;
}

}  // namespace

double even_system_residual(spinor_configuration& z, const spinor_configuration& r, const gauge_configuration& links,
                            const factor_operator& w, bool daggered, const communicator& comm) {
  const spinor_configuration image = image_of(z, links, w, daggered, comm);
  const auto sums = sum_over_sites<2>(z.geometry(), comm, [&](const coordinate& x) -> std::array<double, 2> {
    double residual = 0.0, source = 0.0;
    for (int s = 0; s < spins; ++s)
      for (int c = 0; c < colours; ++c) {
        residual += norm2(image(x)(s, c) - r(x)(s, c));
        source += norm2(r(x)(s, c));
      }
    return {residual, source};
  });
  return std::sqrt(sums[0] / sums[1]);
}

judged_sites::judged_sites(const gauge_configuration& on, std::span<const coordinate> sites, bool has_clover)
    : links(on), at(sites), leaves(has_clover ? sites.size() : 0) {
  const auto count = static_cast<std::int64_t>(leaves.size());
#pragma omp parallel for schedule(static)
  for (std::int64_t n = 0; n < count; ++n)
    leaves[static_cast<std::size_t>(n)] = field_strengths_at(at[static_cast<std::size_t>(n)], links);
}

double even_system_residual(spinor_configuration& z, const source_at_site& r, const judged_sites& sites,
                            const factor_operator& w, bool daggered, const communicator& comm) {
  exchange_ghosts(z, comm);
  std::vector<std::array<double, 2>> of_site(sites.at.size());
  const auto count = static_cast<std::int64_t>(of_site.size());
#pragma omp parallel for schedule(static)
  for (std::int64_t k = 0; k < count; ++k) {
    const auto n = static_cast<std::size_t>(k);
    const coordinate& x = sites.at[n];
    const bool is_odd = is_odd_site(z.geometry(), x);
    spinor<double> image = wilson_at_site(x, z, sites.links, w.action, daggered);
    if (w.action.has_clover()) image += clover_at_site(z(x), sites.leaves[n], w.action);
    const double mu = is_odd ? w.mu : w.mu + w.even_mu;
    const spinor<double> source = is_odd ? spinor<double>{} : r(x);
    for (int s = 0; s < spins; ++s)
      for (int c = 0; c < colours; ++c) {
        const complex<double> twist = complex<double>{0.0, (s < 2) != daggered ? mu : -mu} * z(x)(s, c);
        of_site[n][0] += norm2(image(s, c) + twist - source(s, c));
        of_site[n][1] += norm2(source(s, c));
      }
  }
  std::array<double, 2> sums{};
  for (const auto& [residual, source] : of_site) {
    sums[0] += residual;
    sums[1] += source;
  }
  comm.sum(std::span<double>(sums));
  return std::sqrt(sums[0] / sums[1]);
}

double odd_part(spinor_configuration& z, const gauge_configuration& links, const factor_operator& w, bool daggered,
                const communicator& comm) {
  const spinor_configuration image = image_of(z, links, w, daggered, comm);
  const auto sums = sum_over_sites<2>(z.geometry(), comm, [&](const coordinate& x) -> std::array<double, 2> {
    double odd = 0.0, all = 0.0;
    for (int s = 0; s < spins; ++s)
      for (int c = 0; c < colours; ++c) {
        if (is_odd_site(z.geometry(), x)) odd += norm2(image(x)(s, c));
        all += norm2(z(x)(s, c));
      }
    return {odd, all};
  });
  return std::sqrt(sums[0] / sums[1]);
}

spinor_configuration even_product(spinor_configuration& psi, const gauge_configuration& links, const factor_operator& w,
                                  const communicator& comm) {
  const spinor_configuration none(psi.geometry());
  psi = even_sum(psi, none);
  const spinor_configuration hops = image_of(psi, links, w, false, comm);
  for_each_site(psi.geometry(), [&](const coordinate& x) {
    if (!is_odd_site(psi.geometry(), x)) return;
    using vector = Eigen::Matrix<std::complex<double>, spin_colours, 1>;
    vector numbers;
    for (int k = 0; k < spin_colours; ++k) {
      const complex<double>& number = hops(x)(k / colours, k % colours);
      numbers(k) = {-number.re, -number.im};
    }
    const vector solution = site_block(x, links, w.action, w.mu).partialPivLu().solve(numbers);
    for (int k = 0; k < spin_colours; ++k) psi(x)(k / colours, k % colours) = {solution(k).real(), solution(k).imag()};
  });
  return even_sum(image_of(psi, links, w, false, comm), none);
}

spinor_configuration source_of_action(const spinor_configuration& phi, const quark_pairs& quarks, int factor,
                                      const gauge_configuration& links, const communicator& comm) {
  if (quarks.is_last(factor)) return gamma5_of_even(phi);
  if (quarks.has_mass_shifts()) {
    spinor_configuration psi = phi;
    spinor_configuration lighter = even_product(psi, links, operator_of(quarks, factor), comm);
    for_each_site(phi.geometry(), [&](const coordinate& x) { lighter(x) = -1.0 * lighter(x); });
    return even_sum(even_product(psi, links, operator_of(quarks, factor + 1), comm), lighter);
  }
  return gamma5_of_even(phi, {0.0, quarks.mu(factor + 1) - quarks.mu(factor)});
}

spinor<double> source_at(const spinor<double>& phi, const quark_pairs& quarks, int factor) {
  const complex<double> number = quarks.is_last(factor)
                                     ? complex<double>{1.0, 0.0}
                                     : complex<double>{0.0, quarks.mu(factor + 1) - quarks.mu(factor)};
  spinor<double> out;
  for (int s = 0; s < spins; ++s)
    for (int c = 0; c < colours; ++c) out(s, c) = (s < 2 ? number : -number) * phi(s, c);
  return out;
}

double factor_action_change(const spinor_configuration& after, const spinor_configuration& before,
                            const spinor_configuration& phi, bool is_last, const communicator& comm) {
  return sum_over_sites<1>(after.geometry(), comm, [&](const coordinate& x) -> std::array<double, 1> {
    if (is_odd_site(after.geometry(), x)) return {0.0};
    double change = 0.0;
    for (int s = 0; s < spins; ++s)
      for (int c = 0; c < colours; ++c) {
        const complex<double> shift = is_last ? complex<double>{} : phi(x)(s, c);
        change += norm2(shift + after(x)(s, c)) - norm2(shift + before(x)(s, c));
      }
    return {change};
  })[0];
}

link_derivatives components(const su3<double>& force) {
  link_derivatives f;
  for (int k = 0; k < std::ssize(f); ++k) f[static_cast<std::size_t>(k)] = 2.0 * trace(generator(k) * force).im;
  return f;
}

link_surroundings::link_surroundings(const coordinate& place, int direction, const gauge_configuration& all,
                                     const communicator& comm)
    : at(place), mu(direction), of(all), links(neighbourhood(place, all.geometry(), comm).copy(all)) {}

link_derivatives gauge_derivatives(const link_surroundings& link, const loop_action& action) {
  const gauge_configuration& u = link.links;
  constexpr extents starts{3, 3, 3, 3};  // of loops that reach the middle
  return derivatives_of(link.links, link.mu, [&] {
    return -action.beta / colours * sum_of(static_cast<std::size_t>(volume(starts)), [&](std::size_t n) {
      const coordinate x = coordinate_of(static_cast<std::int64_t>(n), starts);
      double sum = 0.0;
      for (int a = 1; a <= dimensions; ++a)
        for (int b = a + 1; b <= dimensions; ++b) {
          sum += action.plaquette_weight(a - 1, b - 1) * loop(u, x, {a, b, -a, -b});
          if (action.c1 == 0.0) continue;
          sum += action.c1 * (loop(u, x, {a, a, b, -a, -a, -b}) + loop(u, x, {a, b, b, -a, -b, -b}));
        }
      return sum;
    });
  });
}

link_derivatives quark_derivatives(const link_surroundings& link, const spinor_configuration& x,
                                   const spinor_configuration& y, const fermion_action& action,
                                   const communicator& comm) {
  const neighbourhood around(link.at, link.of.geometry(), comm);
  const spinor_configuration x_here = around.copy(x, action), y_here = around.copy(y, action);
  const fermion_action inside = without_boundaries(action);
  const std::vector<coordinate> sites = touched_sites(link.mu);
  return derivatives_of(link.links, link.mu, [&] {
    return -2.0 * sum_of(sites.size(), [&](std::size_t n) {
      const spinor<double> image = at_site(sites[n], x_here, link.links, inside);
      double sum = 0.0;
      for (int s = 0; s < spins; ++s)
        for (int c = 0; c < colours; ++c) sum += (conj(y_here(sites[n])(s, c)) * image(s, c)).re;
      return sum;
    });
  });
}

link_derivatives determinant_derivatives(const link_surroundings& link, const quark_pairs& quarks) {
  const auto block = [&](const coordinate& site) {
    return site_block(site, link.links, quarks.action, quarks.twisted_mass);
  };
  std::vector<coordinate> sites;
  std::vector<block_matrix> inverses;
  for (const coordinate& site : touched_sites(link.mu))
    if ((parity(link.at) + parity(site)) % 2 == 1) {  // the middle is even
      sites.push_back(site);
      inverses.push_back(block(site).inverse());
    }
  return derivatives_of(link.links, link.mu, [&] {
    return -2.0 * sum_of(sites.size(), [&](std::size_t n) { return (inverses[n] * block(sites[n])).trace().real(); });
  });
}

}  // namespace plaquette::cpu::textbook
