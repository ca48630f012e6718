// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/coarse/coarse_operator.hpp"

#include <stdexcept>

#include "gpu/coarse/coarse_halo.hpp"
#include "gpu/coarse/coarse_products.hpp"
#include "gpu/device/launch.hpp"

namespace plaquette::gpu {

namespace {

/// Changes the sign of chirality 1.
template <class T>
struct times_gamma5 {
  coarse_pointer<complex<T>> out;
  coarse_pointer<const complex<T>> in;
  std::int32_t columns;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t rest = index / out.n, site = rest / columns;
    const auto k = static_cast<std::int32_t>(index - rest * out.n);
    const int column = static_cast<int>(rest - site * columns);
    const complex<T> z = in.at(site, column)[k];
    out.at(site, column)[k] = k < out.n / 2 ? z : -z;
  }
};

template <class T>
void multiply_gamma5(coarse_field<T>& out, const coarse_field<T>& in) {
  for_each_index(in.get_execution().queue(), in.sites() * in.columns() * in.components(),
                 times_gamma5<T>{out.numbers(), in.numbers(), in.columns()});
}

/// Adds i mu gamma_5 to the diagonal of X.
struct add_twist {
  complex<float>* numbers;
  std::int64_t numbers_of_a_site;
  std::int32_t n;
  float mu;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t site = index / n, k = index - site * n;
    numbers[site * numbers_of_a_site + k * n + k].im += k < n / 2 ? mu : -mu;
  }
};

template <class T>
coarse_products<T> products_of(coarse_field<T>& out, const coarse_field<T>& in, const tiled_matrices& matrices) {
  coarse_products<T> p;
  p.matrices = matrices.pointer();
  p.out = out.numbers();
  p.in = in.numbers();
  p.first_site = out.first_site();
  p.first_in = in.first_site();
  p.sites = static_cast<std::int32_t>(out.sites());
  p.columns = out.columns();
  p.neighbours = out.lattice().neighbours();
  return p;
}

}  // namespace

coarse_matrices with_twist(const coarse_matrices& m, double mu) {
  const queue& q = m.get_execution().queue();
  coarse_matrices twisted(m.get_execution(), m.shared_lattice(), m.n());
  copy_on_device(q, twisted.begin(), m.begin(), static_cast<std::size_t>(m.count()) * sizeof(complex<float>));
  for_each_index(q, m.lattice().geometry().sites() * m.n(),
                 add_twist{twisted.begin(), std::int64_t{coarse_matrices_of_a_site} * m.n() * m.n(), m.n(),
                           static_cast<float>(mu)});
  return twisted;
}

template <class T>
coarse_operator<T>::coarse_operator(const execution& on, const coarse_matrices& m, coarse_storage storage)
    : execution_(on),
      matrices_(on, storage, m.n(), coarse_matrices_of_a_site, m.lattice().geometry().sites(), m.begin(),
                std::int64_t{coarse_matrices_of_a_site} * m.n() * m.n()) {
  on.queue().synchronize();  // kernels load matrices before they wait for those before them
}

template <class T>
void coarse_operator<T>::apply(coarse_field<T>& out, const coarse_field<T>& in) const {
  if (in.shape().sites != site_subset::full || !(out.shape() == in.shape()) ||
      in.components() != matrices_.pointer().order.n)
    throw std::logic_error("coarse_operator: fields must have all sites");
  coarse_products<T> p = products_of(out, in, matrices_);
  exchange_faces(p, in);
  queue_products(execution_.queue(), p, kernel_);
}

template <class T>
void coarse_operator<T>::apply_dagger(coarse_field<T>& out, const coarse_field<T>& in) const {
  coarse_field<T> rotated = like(in);
  multiply_gamma5(rotated, in);
  apply(out, rotated);
  multiply_gamma5(out, out);
}

template <class T>
red_black_matrices<T>::red_black_matrices(const execution& on, const coarse_matrices& m, coarse_storage storage)
    : execution_(on), lattice_(m.shared_lattice()) {
  const coarse_geometry& geometry = lattice_->geometry();
  const std::int64_t size = std::int64_t{m.n()} * m.n(), sites = geometry.sites();
  const auto inverse = inverse_diagonals(m);
  const auto links = preconditioned_links(m, inverse.get());
  diagonal_ = tiled_matrices(on, storage, m.n(), 1, geometry.even_sites(), m.begin(), coarse_matrices_of_a_site * size);
  inverse_ = tiled_matrices(on, storage, m.n(), 1, sites, inverse.get(), size);
  links_ = tiled_matrices(on, storage, m.n(), hop_directions, sites, links.get(), hop_directions * size);
  on.queue().synchronize();  // kernels load matrices before they wait for those before them
}

template <class T>
void red_black_matrices<T>::hop_and_divide(field& out, const field& in, bool, double factor, const field* start) const {
  coarse_products<T> p = products_of(out, in, links_);
  exchange_faces(p, in);
  p.factor = static_cast<T>(-factor);
  if (start != nullptr) p.start = start->numbers();
  queue_products(execution_.queue(), p, kernel_);
}

/// out = matrix of each site times in; fields of one parity.
template <class T>
void red_black_matrices<T>::multiply_sites(field& out, const field& in, const tiled_matrices& matrices) const {
  const coarse_products<T> p = products_of(out, in, matrices);
  queue_products(execution_.queue(), p, kernel_);
}
template <class T>
void red_black_matrices<T>::multiply(field& out, const field& in, bool) const {
  multiply_sites(out, in, diagonal_);
}
template <class T>
void red_black_matrices<T>::multiply_by_inverse(field& out, const field& in, bool) const {
  multiply_sites(out, in, inverse_);
}
template <class T>
void red_black_matrices<T>::gamma5(field& x) const {
  multiply_gamma5(x, x);
}

#define PLAQUETTE_INSTANTIATE(T)     \
  template class coarse_operator<T>; \
  template class red_black_matrices<T>;
PLAQUETTE_INSTANTIATE(float)
PLAQUETTE_INSTANTIATE(double)
#undef PLAQUETTE_INSTANTIATE

}  // namespace plaquette::gpu

namespace plaquette {

template class coarse_schur_complement<gpu::coarse_parts<float>>;
template class coarse_schur_complement<gpu::coarse_parts<double>>;

}  // namespace plaquette
