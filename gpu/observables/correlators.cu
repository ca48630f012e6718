// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/observables/correlators.hpp"

#include <algorithm>
#include <span>

#include "common/algebra/monomial.hpp"
#include "common/lattice/source_description.hpp"
#include "gpu/fields/dirac_spinors.hpp"
#include "gpu/fields/host_sums.hpp"
#include "gpu/fields/lattice_sites.hpp"
#include "gpu/observables/slice_sum.hpp"

namespace plaquette::gpu {

void require_propagator(const field<double>& s) {
  require_full_lattice(s, "a correlator");
  if (s.columns() != spin_colours)
    throw input_error("a correlator needs the 12 columns of a propagator, found " + std::to_string(s.columns()));
}

namespace {

/// The sites of a time slice, numbered: sites of each parity follow each other in memory.
struct slice_order {
  std::int32_t sites_of_parity;

  explicit slice_order(const site_order& order) : sites_of_parity(order.sites / order.length[3]) {}
  PLAQUETTE_HOST_DEVICE site_number site(std::int64_t n, int time) const {
    const auto at = static_cast<std::int32_t>(n);
    const bool odd = at >= sites_of_parity;
    return {odd ? 1 : 0, time * sites_of_parity + (odd ? at - sites_of_parity : at)};
  }
};

/// |S|^2 of a site.
struct sum_of_squares {
  spinor_pointer<const double> s[2];
  slice_order slice;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n, int time, double (&sums)[1]) const {
    const auto [parity, i] = slice.site(n, time);
    const spinor_pointer<const double> here = parity == 0 ? s[0] : s[1];
    double sum = 0.0;
#pragma unroll 1
    for (int column = 0; column < spin_colours; ++column) {
      complex<double> numbers[spinor_components];
      load_site<double, spinor_components>(here, i, column, numbers);
      PLAQUETTE_GPU_UNROLL
      for (int k = 0; k < spinor_components; ++k) sum += norm2(numbers[k]);
    }
    sums[0] += sum;
  }
};

/// R m R^+ with R of rotate_spin_basis: (1/sqrt 2) [[1, 1], [1, -1]] in blocks of two spins. Exact for entries of one
/// size.
spin_matrix in_time_diagonal_basis(const spin_matrix& m) {
  spin_matrix r;
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 2; ++b) {
      const complex<double> uu = m(a, b), ul = m(a, b + 2), lu = m(a + 2, b), ll = m(a + 2, b + 2);
      r(a, b) = 0.5 * ((uu + ll) + (ul + lu));
      r(a, b + 2) = 0.5 * ((uu - ll) + (lu - ul));
      r(a + 2, b) = 0.5 * ((uu - ll) + (ul - lu));
      r(a + 2, b + 2) = 0.5 * ((uu + ll) - (ul + lu));
    }
  return r;
}

/// tr [ left S right S^+ ] of a site. `left` acts on the spin of the sink, and so stands in the field's basis; `right`
/// acts on the spin of the source, which the columns name: row d has its one entry in column right_column[d].
struct contraction {
  spinor_pointer<const double> s[2];
  complex<double> left[spins][spins];
  complex<double> right_entry[spins];
  int right_column[spins];

  contraction(const field<double>& quark, const meson_gammas& gammas) : s{quark.sites(0), quark.sites(1)} {
    const spin_matrix gamma5 = gamma_matrix(4), in_basis = in_time_diagonal_basis(gamma5 * gammas.sink);
    monomial_of(gamma5 * gammas.sink);
    const monomial right = monomial_of(gammas.source * gamma5);
    for (int a = 0; a < spins; ++a) {
      for (int b = 0; b < spins; ++b) left[a][b] = in_basis(a, b);
      right_entry[a] = right.entry[a];
      right_column[a] = right.column[a];
    }
  }

  PLAQUETTE_HOST_DEVICE complex<double> operator()(const site_number& at) const {
    const spinor_pointer<const double> here = at.parity == 0 ? s[0] : s[1];
    complex<double> sum;
#pragma unroll 1
    for (int column = 0; column < spin_colours; ++column) {
      const int d = column / colours, e = column % colours;
      complex<double> from[spinor_components], to[spinor_components];
      load_site<double, spinor_components>(here, at.index, column, from);
      load_site<double, spinor_components>(here, at.index, colours * right_column[d] + e, to);
      complex<double> of_column;
      PLAQUETTE_GPU_UNROLL
      for (int a = 0; a < spins; ++a) PLAQUETTE_GPU_UNROLL
      for (int b = 0; b < spins; ++b) {
        complex<double> overlap;
        PLAQUETTE_GPU_UNROLL
        for (int c = 0; c < colours; ++c) overlap += from[colours * b + c] * conj(to[colours * a + c]);
        of_column += left[a][b] * overlap;
      }
      sum += right_entry[d] * of_column;
    }
    return sum;
  }
};

/// Re tr [ left S right S^+ ] of a site.
struct sum_of_contractions {
  contraction term;
  slice_order slice;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n, int time, double (&sums)[1]) const {
    sums[0] += term(slice.site(n, time)).re;
  }
};

/// One number a time slice of the whole lattice: a rank's slices go where they belong, and ranks are added.
template <class Body>
std::vector<double> sum_over_space(const field<double>& s, const Body& body) {
  const context& ctx = s.get_context();
  const std::vector<double> slices =
      host_sums<1>(ctx, 2 * std::int64_t{slice_order(ctx.order()).sites_of_parity}, ctx.order().length[3], body);
  std::vector<double> correlator(static_cast<std::size_t>(ctx.geometry().global()[3]));
  std::copy(slices.begin(), slices.end(), correlator.begin() + ctx.geometry().origin()[3]);
  ctx.comm().sum(std::span<double>(correlator));
  return correlator;
}

}  // namespace

std::vector<double> meson_correlator(const field<double>& s, const spin_matrix& gamma) {
  require_propagator(s);
  return sum_over_space(s, sum_of_contractions{contraction(s, gamma), slice_order(s.order())});
}

std::vector<complex<double>> momentum_correlator(const field<double>& s, const meson_gammas& gammas,
                                                 const lattice_momentum& momentum, int direction) {
  require_propagator(s);
  return fourier_sum_over_slices(s.get_context(), direction, momentum, contraction(s, gammas));
}

std::vector<double> pion_correlator(const field<double>& s) {
  require_propagator(s);
  return sum_over_space(s, sum_of_squares{{s.sites(0), s.sites(1)}, slice_order(s.order())});
}

std::vector<double> rho_correlator(const field<double>& s) {
  std::vector<double> average;
  for (int i = 0; i < 3; ++i) {
    const std::vector<double> one = meson_correlator(s, gamma_matrix(i));
    average.resize(one.size());
    for (std::size_t t = 0; t < one.size(); ++t) average[t] += one[t] / 3.0;
  }
  return average;
}

}  // namespace plaquette::gpu
