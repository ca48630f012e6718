// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/coarse/coarse_operator.hpp"

#include <stdexcept>

#include "gpu/coarse/coarse_products.hpp"
#include "gpu/device/launch.hpp"

namespace plaquette::gpu {

namespace {

/// Packs the sites of a list; an index is a number of a listed site.
template <class T>
struct pack_sites {
  complex<T>* to;
  coarse_pointer<const complex<T>> from;
  const std::int32_t* list;
  std::int64_t first_site;
  std::int32_t columns;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t of_a_site = std::int64_t{from.n} * columns, k = index / of_a_site, rest = index - k * of_a_site;
    to[index] = from.at(list[k] - first_site, 0)[rest];
  }
};

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

void grow(const execution& on, std::shared_ptr<std::byte>& memory, std::size_t& has, std::size_t needed) {
  if (has >= needed) return;
  memory = on.workspace().take(needed);
  has = needed;
}

}  // namespace

template <class T>
const complex<T>* coarse_ghosts<T>::fetch(const coarse_field<T>& x) {
  if (x.geometry().faces().empty()) return nullptr;
  const execution& on = x.get_execution();
  const std::int64_t of_a_site = std::int64_t{x.components()} * x.columns();
  const auto& list = x.lattice().sent(x.shape().sites);
  const std::size_t bytes = static_cast<std::size_t>(of_a_site) * sizeof(complex<T>);
  grow(on, packed_, packed_bytes_, static_cast<std::size_t>(list.count) * bytes);
  grow(on, ghosts_, ghost_bytes_, static_cast<std::size_t>(x.geometry().ghosts()) * bytes);
  if (x.numbers().site_stride != of_a_site)
    throw std::logic_error("coarse operator on several ranks: not for a view of some columns");
  for_each_index(on.queue(), list.count * of_a_site,
                 pack_sites<T>{reinterpret_cast<complex<T>*>(packed_.get()), x.numbers(), list.sites.get(),
                               x.first_site(), x.columns()});
  exchange_coarse_faces(on, x.lattice(), x.shape().sites, bytes, packed_.get(), ghosts_.get());
  return reinterpret_cast<const complex<T>*>(ghosts_.get());
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
  p.ghosts = ghosts_.fetch(in);
  queue_products(execution_.queue(), p, kernel_);
}

template <class T>
void coarse_operator<T>::apply_dagger(coarse_field<T>& out, const coarse_field<T>& in) const {
  coarse_field<T> turned = like(in);
  multiply_gamma5(turned, in);
  apply(out, turned);
  multiply_gamma5(out, out);
}

template <class T>
coarse_schur<T>::coarse_schur(const execution& on, const coarse_matrices& m, coarse_storage storage)
    : execution_(on), lattice_(m.shared_lattice()), n_(m.n()), storage_(storage) {
  if (!geometry().red_black()) {
    whole_.emplace(on, m, storage);
    return;
  }
  const std::int64_t size = std::int64_t{n_} * n_, sites = geometry().sites();
  const auto inverse = inverse_diagonals(m);
  const auto links = preconditioned_links(m, inverse.get());
  diagonal_ = tiled_matrices(on, storage, n_, 1, geometry().even_sites(), m.begin(), coarse_matrices_of_a_site * size);
  inverse_ = tiled_matrices(on, storage, n_, 1, sites, inverse.get(), size);
  links_ = tiled_matrices(on, storage, n_, hop_directions, sites, links.get(), hop_directions * size);
  on.queue().synchronize();  // kernels load matrices before they wait for those before them
}

template <class T>
void coarse_schur<T>::set_kernel(product_kernel kernel) {
  kernel_ = kernel;
  if (whole_) whole_->set_kernel(kernel);
}

template <class T>
coarse_field<T>& coarse_schur<T>::scratch(int which, site_subset sites, int columns) const {
  auto& held = scratch_[static_cast<std::size_t>(which)];
  const field_shape shape{chiralities, n_ / 2, sites, columns};
  if (!held || !(held->shape() == shape)) held = std::make_shared<coarse_field<T>>(execution_, lattice_, shape);
  return *held;
}

/// out(x) = factor sum_d Yhat_d(x) in(x + d) + start(x), x of the parity of `out`, `in` of the other.
template <class T>
void coarse_schur<T>::hop(coarse_field<T>& out, const coarse_field<T>& in, double factor,
                          const coarse_field<T>* start) const {
  coarse_products<T> p = products_of(out, in, links_);
  p.ghosts = ghosts_.fetch(in);
  p.factor = static_cast<T>(factor);
  if (start != nullptr) p.start = start->numbers();
  queue_products(execution_.queue(), p, kernel_);
}

/// out = matrix of each site times in; fields of one parity.
template <class T>
void coarse_schur<T>::multiply(coarse_field<T>& out, const coarse_field<T>& in, const tiled_matrices& matrices) const {
  const coarse_products<T> p = products_of(out, in, matrices);
  queue_products(execution_.queue(), p, kernel_);
}

template <class T>
void coarse_schur<T>::apply(coarse_field<T>& out, const coarse_field<T>& in) const {
  if (whole_) return whole_->apply(out, in);
  if (in.shape().sites != site_subset::even || !(out.shape() == in.shape()) || in.components() != n_)
    throw std::logic_error("coarse_schur: fields must lie on even sites");
  coarse_field<T>& odd = scratch(0, site_subset::odd, in.columns());
  hop(odd, in, 1.0, nullptr);
  hop(out, odd, -1.0, &in);
}

template <class T>
void coarse_schur<T>::apply_dagger(coarse_field<T>& out, const coarse_field<T>& in) const {
  if (whole_) return whole_->apply_dagger(out, in);
  coarse_field<T>& turned = scratch(1, site_subset::even, in.columns());
  multiply_gamma5(turned, in);
  multiply(out, turned, inverse_);
  apply(turned, out);
  multiply(out, turned, diagonal_);
  multiply_gamma5(out, out);
}

template <class T>
void coarse_schur<T>::prepare_source(coarse_field<T>& even, const coarse_field<T>& b) const {
  if (whole_) return copy(even, b);
  coarse_field<T>& odd = scratch(0, site_subset::odd, b.columns());
  multiply(odd, b.parity(1), inverse_);
  coarse_field<T>& diagonal_part = scratch(1, site_subset::even, b.columns());
  multiply(diagonal_part, b.parity(0), inverse_);
  hop(even, odd, -1.0, &diagonal_part);
}

template <class T>
void coarse_schur<T>::reconstruct_solution(coarse_field<T>& x, const coarse_field<T>& even,
                                           const coarse_field<T>& b) const {
  if (whole_) return copy(x, even);
  coarse_field<T> x_even = x.parity(0), x_odd = x.parity(1);
  copy(x_even, even);
  coarse_field<T>& odd = scratch(0, site_subset::odd, b.columns());
  multiply(odd, b.parity(1), inverse_);
  hop(x_odd, even, -1.0, &odd);
}

template <class T>
coarse_field<T> coarse_schur<T>::even_like(const coarse_field<T>& full) const {
  return working_field(full.columns());
}

template <class T>
void coarse_schur<T>::full_residual(coarse_field<T>& full, const coarse_field<T>& r) const {
  if (whole_) return copy(full, r);
  multiply(full, r, diagonal_);
}

template <class T>
coarse_field<T> coarse_schur<T>::full_field(int columns) const {
  return {execution_, lattice_, {chiralities, n_ / 2, site_subset::full, columns}};
}
template <class T>
coarse_field<T> coarse_schur<T>::working_field(int columns) const {
  const site_subset sites = geometry().red_black() ? site_subset::even : site_subset::full;
  return {execution_, lattice_, {chiralities, n_ / 2, sites, columns}};
}

template <class T>
double coarse_schur<T>::flops() const {
  const double n = n_, sites = static_cast<double>(geometry().sites());
  return sites * ((whole_ ? 9.0 : 8.0) * 8.0 * n * n - (whole_ ? 2.0 * n : 0.0));
}
template <class T>
double coarse_schur<T>::bytes(int columns) const {
  const double n = n_, sites = static_cast<double>(geometry().sites());
  const double matrices = (whole_ ? 9.0 : 8.0) * n * n * (storage_ == coarse_storage::single ? 8.0 : 4.0);
  return sites * (matrices + 2.0 * n * columns * sizeof(complex<T>));
}

#define PLAQUETTE_INSTANTIATE(T)     \
  template class coarse_ghosts<T>;   \
  template class coarse_operator<T>; \
  template class coarse_schur<T>;
PLAQUETTE_INSTANTIATE(float)
PLAQUETTE_INSTANTIATE(double)
#undef PLAQUETTE_INSTANTIATE

}  // namespace plaquette::gpu
