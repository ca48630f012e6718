// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/coarse/coarse_operator.hpp"

#include <Eigen/Dense>
#include <complex>
#include <stdexcept>
#include <type_traits>

#include "common/error.hpp"
#include "cpu_ref/coarse/coarse_halo.hpp"
#include "cpu_ref/coarse/coarse_kernels.hpp"

namespace plaquette::cpu {

namespace {

template <class T>
std::int64_t packed_size(int n) {
  return 2LL * padded_row(n) * n;
}

/// Changes the sign of chirality 1.
template <class T>
void multiply_gamma5(coarse_field<T>& x) {
  const int n = x.components();
#pragma omp parallel for num_threads(x.get_execution().threads())
  for (std::int64_t s = 0; s < x.sites(); ++s)
    for (int c = 0; c < x.columns(); ++c)
      for (int k = n / 2; k < n; ++k) x.at(s, c)[k] = -x.at(s, c)[k];
}

/// Bytes of a site's columns; they lie together.
template <class T>
std::size_t bytes_of_a_site(const coarse_field<T>& x) {
  return static_cast<std::size_t>(x.columns() * x.components()) * sizeof(complex<T>);
}

/// Fetches the neighbours of other ranks.
template <class T>
void fetch_ghosts(const coarse_field<T>& x, std::vector<std::byte>& ghosts) {
  const bool parities[2] = {x.shape().sites != site_subset::odd, x.shape().sites != site_subset::even};
  exchange_coarse_faces(
      x.geometry(), x.get_execution().comm(), bytes_of_a_site(x),
      [&](std::int64_t s) { return reinterpret_cast<const std::byte*>(x.at(s - x.first_site(), 0)); }, ghosts,
      parities);
}

/// Adds to `p` the products of a site's links with its neighbours, links `first` to `first` + 7 of the site's matrices.
template <class T>
void add_hops(row_products<T>& p, const coarse_geometry& geometry, const packed_matrices<T>& matrices, int first,
              std::int64_t site, const coarse_field<T>& in, const std::vector<std::byte>& ghosts) {
  for (int d = 0; d < hop_directions; ++d) {
    const std::int64_t y = geometry.neighbour(site, d);
    const int m = p.products++;
    p.matrix[m] = matrices.matrix(site, first + d);
    if (y >= 0) {
      p.x[m] = in.at(y - in.first_site(), 0);
    } else {
      p.x[m] = reinterpret_cast<const complex<T>*>(ghosts.data()) + (-1 - y) * in.columns() * in.components();
    }
    p.x_stride[m] = in.components();
  }
}

template <class T>
row_products<T> products_into(coarse_field<T>& out, std::int64_t site) {
  row_products<T> p;
  p.rows = p.length = out.components();
  p.columns = out.columns();
  p.out = out.at(site, 0);
  p.out_stride = out.components();
  return p;
}

using matrix = Eigen::Matrix<std::complex<double>, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

matrix as_eigen(const complex<float>* numbers, int n) {
  matrix m(n, n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) m(i, j) = {numbers[i * n + j].re, numbers[i * n + j].im};
  return m;
}

std::vector<complex<double>> as_numbers(const matrix& m) {
  std::vector<complex<double>> numbers;
  for (Eigen::Index i = 0; i < m.rows(); ++i)
    for (Eigen::Index j = 0; j < m.cols(); ++j) numbers.push_back({m(i, j).real(), m(i, j).imag()});
  return numbers;
}

}  // namespace

template <class T>
packed_matrices<T>::packed_matrices(std::int64_t sites, int matrices_of_a_site, int n)
    : of_a_site_(matrices_of_a_site),
      n_(n),
      size_(packed_size<T>(n)),
      data_(static_cast<std::size_t>(sites * matrices_of_a_site * size_)) {}

template <class T>
template <class U>
void packed_matrices<T>::set(std::int64_t site, int which, const complex<U>* numbers) {
  const int padded = padded_row(n_);
  T* column = data_.data() + (site * of_a_site_ + which) * size_;
  for (int j = 0; j < n_; ++j, column += 2 * padded)
    for (int i = 0; i < padded; ++i) {
      const complex<U> z = i < n_ ? numbers[i * n_ + j] : complex<U>{};
      column[i] = static_cast<T>(z.re);
      column[padded + i] = static_cast<T>(z.im);
    }
}

template <class T>
coarse_operator<T>::coarse_operator(const execution& on, const coarse_matrices& m) : execution_(on) {
  auto packed = std::make_shared<packed_matrices<T>>(m.geometry.sites(), coarse_matrices_of_a_site, m.n);
#pragma omp parallel for num_threads(on.threads())
  for (std::int64_t s = 0; s < m.geometry.sites(); ++s)
    for (int k = 0; k < coarse_matrices_of_a_site; ++k) packed->set(s, k, m.matrix(s, k));
  matrices_ = std::move(packed);
}

template <class T>
void coarse_operator<T>::apply(coarse_field<T>& out, const coarse_field<T>& in) const {
  if (in.shape().sites != site_subset::full || !(out.shape() == in.shape()))
    throw std::logic_error("coarse_operator: fields must have all sites");
  const coarse_geometry& geometry = in.geometry();
  const auto kernel = coarse_kernels_of<T>(execution_.isa()).by_rows;
  fetch_ghosts(in, *ghosts_);
#pragma omp parallel for num_threads(execution_.threads()) schedule(static)
  for (std::int64_t s = 0; s < geometry.sites(); ++s) {
    row_products<T> p = products_into(out, s);
    p.products = 1;
    p.matrix[0] = matrices_->matrix(s, 0);
    p.x[0] = in.at(s, 0);
    p.x_stride[0] = in.components();
    add_hops(p, geometry, *matrices_, 1, s, in, *ghosts_);
    kernel(p);
  }
}

template <class T>
void coarse_operator<T>::apply_dagger(coarse_field<T>& out, const coarse_field<T>& in) const {
  coarse_field<T> rotated = like(in);
  copy(rotated, in);
  multiply_gamma5(rotated);
  apply(out, rotated);
  multiply_gamma5(out);
}

template <class T>
coarse_products<T>::coarse_products(const execution& on, const coarse_matrices& m)
    : execution_(on), geometry_(std::make_shared<const coarse_geometry>(m.geometry)) {
  const std::int64_t sites = geometry_->sites();
  packed made{packed_matrices<T>(geometry_->even_sites(), 1, m.n), packed_matrices<T>(sites, 1, m.n),
              packed_matrices<T>(sites, hop_directions, m.n)};
  bool singular = false;
#pragma omp parallel for num_threads(on.threads()) reduction(|| : singular)
  for (std::int64_t s = 0; s < sites; ++s) {
    if (s < geometry_->even_sites()) made.diagonal.set(s, 0, m.matrix(s, 0));
    const matrix inverse = as_eigen(m.matrix(s, 0), m.n).partialPivLu().inverse();
    singular = singular || !inverse.allFinite();
    made.inverse.set(s, 0, as_numbers(inverse).data());
    for (int d = 0; d < hop_directions; ++d)
      made.links.set(s, d, as_numbers(inverse * as_eigen(m.matrix(s, 1 + d), m.n)).data());
  }
  double wrong = singular ? 1.0 : 0.0;
  on.comm().maximum({&wrong, 1});
  if (wrong > 0.0)
    throw input_error(
        "multigrid: the coarse operator's diagonal has no inverse at some site; use other null vectors "
        "(another seed, more setup iterations) or another aggregate shape");
  matrices_ = std::make_shared<const packed>(std::move(made));
}

namespace {

/// out(x) = factor sum_d links_d(x) in(x + d) + start(x), x of the parity of `out`, `in` of the other.
template <class T>
void hop(coarse_field<T>& out, const coarse_field<T>& in, const packed_matrices<T>& links, double factor,
         const coarse_field<T>* start, std::vector<std::byte>& ghosts) {
  const coarse_geometry& geometry = in.geometry();
  const auto kernel = coarse_kernels_of<T>(in.get_execution().isa()).by_rows;
  fetch_ghosts(in, ghosts);
#pragma omp parallel for num_threads(in.get_execution().threads()) schedule(static)
  for (std::int64_t s = 0; s < out.sites(); ++s) {
    row_products<T> p = products_into(out, s);
    p.factor = static_cast<T>(factor);
    if (start != nullptr) {
      p.start = start->at(s, 0);
      p.start_stride = start->components();
    }
    add_hops(p, geometry, links, 0, out.first_site() + s, in, ghosts);
    kernel(p);
  }
}

/// out = matrix of each site times in; fields of one parity.
template <class T>
void multiply_sites(coarse_field<T>& out, const coarse_field<T>& in, const packed_matrices<T>& matrices) {
  const auto kernel = coarse_kernels_of<T>(in.get_execution().isa()).by_rows;
#pragma omp parallel for num_threads(in.get_execution().threads()) schedule(static)
  for (std::int64_t s = 0; s < out.sites(); ++s) {
    row_products<T> p = products_into(out, s);
    p.products = 1;
    p.matrix[0] = matrices.matrix(out.first_site() + s, 0);
    p.x[0] = in.at(s, 0);
    p.x_stride[0] = in.components();
    kernel(p);
  }
}

}  // namespace

template <class T>
void coarse_products<T>::multiply(field& out, const field& in, bool) const {
  multiply_sites(out, in, matrices_->diagonal);
}
template <class T>
void coarse_products<T>::multiply_by_inverse(field& out, const field& in, bool) const {
  multiply_sites(out, in, matrices_->inverse);
}
template <class T>
void coarse_products<T>::hop_and_divide(field& out, const field& in, bool, double factor, const field* start) const {
  hop<T>(out, in, matrices_->links, -factor, start, *ghosts_);
}
template <class T>
void coarse_products<T>::gamma5(field& x) const {
  multiply_gamma5(x);
}

#define PLAQUETTE_INSTANTIATE(T)     \
  template class packed_matrices<T>; \
  template class coarse_operator<T>; \
  template class coarse_products<T>;
PLAQUETTE_INSTANTIATE(float)
PLAQUETTE_INSTANTIATE(double)
#undef PLAQUETTE_INSTANTIATE

}  // namespace plaquette::cpu

namespace plaquette {

template class coarse_schur_complement<cpu::coarse_parts<float>>;
template class coarse_schur_complement<cpu::coarse_parts<double>>;

}  // namespace plaquette
