// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Fields on a coarse lattice of multigrid, on the device. They meet `field_batch` of common/concepts.hpp. The twin of
/// cpu_ref/coarse/coarse_field.hpp.
#pragma once

#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpu/coarse/coarse_lattice.hpp"
#include "gpu/device/unroll.hpp"
#include "gpu/fields/scalars.hpp"

namespace plaquette::gpu {

/// The numbers of a coarse field as kernels take them; T is complex<..>, const if they are read only.
template <class Number>
struct coarse_pointer {
  Number* begin = nullptr;
  std::int64_t site_stride = 0;  ///< numbers from site to site
  std::int32_t n = 0;            ///< numbers of a column of a site

  PLAQUETTE_HOST_DEVICE Number* at(std::int64_t site, int column) const {
    return begin + site * site_stride + static_cast<std::int64_t>(column) * n;
  }
  template <class N = Number>
    requires(!std::is_const_v<N>)
  PLAQUETTE_HOST_DEVICE operator coarse_pointer<const N>() const {
    return {begin, site_stride, n};
  }
};

/// Two numbers, moved 16 bytes at a time.
template <class T>
struct alignas(16) number_pair {
  complex<T> z[2];
};

/// T is double or float. Numbers lie as [site][column][n], n = spins * colours = 2 * vectors, index chirality * vectors
/// + vector, sites as `coarse_geometry` numbers them: the even sites of a full field come first. Copies share storage.
template <class T>
class coarse_field {
 public:
  using scalars = gpu::scalars;
  using value_type = T;

  /// Undefined contents. Throws memory_error.
  coarse_field(const execution& on, std::shared_ptr<const coarse_lattice> lattice, const field_shape& shape);

  const execution& get_execution() const { return execution_; }
  const coarse_lattice& lattice() const { return *lattice_; }
  const std::shared_ptr<const coarse_lattice>& shared_lattice() const { return lattice_; }
  const coarse_geometry& geometry() const { return lattice_->geometry(); }
  const field_shape& shape() const { return shape_; }
  int columns() const { return shape_.columns; }
  /// Returns n
  int components() const { return shape_.spins * shape_.colours; }
  std::int64_t sites() const {
    return shape_.sites == site_subset::full ? geometry().sites()
                                             : geometry().sites_of(shape_.sites == site_subset::even ? 0 : 1);
  }
  /// Returns the number, in the lattice, of the first site of this field.
  std::int64_t first_site() const { return shape_.sites == site_subset::odd ? geometry().first_of(1) : 0; }

  /// Returns the numbers of the device; sites count from the field's first.
  coarse_pointer<complex<T>> numbers() { return {begin_, column_stride_ * components(), components()}; }
  coarse_pointer<const complex<T>> numbers() const { return {begin_, column_stride_ * components(), components()}; }
  std::shared_ptr<const void> storage() const { return storage_; }

  /// Returns the even (0) or odd (1) sites of a full field; shares storage.
  coarse_field parity(int p) const;

  template <class U>
  friend coarse_field<U> view(const coarse_field<U>& x, int first, int count);
  template <class U>
  friend void compact(coarse_field<U>& x, std::span<const int> keep);

 private:
  execution execution_;
  std::shared_ptr<const coarse_lattice> lattice_;
  field_shape shape_;
  std::shared_ptr<std::byte> storage_;
  complex<T>* begin_;
  std::int64_t column_stride_;  ///< columns from site to site
};

template <class T>
coarse_field<T> like(const coarse_field<T>& x) {
  return coarse_field<T>(x.get_execution(), x.shared_lattice(), x.shape());
}
/// Returns the same with n columns in another precision.
template <class T, class U>
coarse_field<T> like(const coarse_field<U>& x, int columns, std::type_identity<coarse_field<T>>) {
  field_shape shape = x.shape();
  shape.columns = columns;
  return coarse_field<T>(x.get_execution(), x.shared_lattice(), shape);
}
template <class T>
coarse_field<T> like(const coarse_field<T>& x, int columns) {
  return like(x, columns, std::type_identity<coarse_field<T>>{});
}
template <class T>
scalars make_scalars(const coarse_field<T>& x, std::span<const complex<double>> numbers);
template <class T>
coarse_field<T> view(const coarse_field<T>& x, int first, int count);
/// In place: sites keep their room, so this is for a view too.
template <class T>
void compact(coarse_field<T>& x, std::span<const int> keep);
template <class T>
void copy_columns(coarse_field<T>& x, std::span<const int> to, const coarse_field<T>& u, std::span<const int> from);
/// Copies the same numbers in another precision, rounded; shapes agree.
template <class To, class From>
void convert(coarse_field<To>& to, const coarse_field<From>& from);

/// Copies column `column` from numbers [site of the field][n], and the inverse, which waits.
template <class T>
void import_column(coarse_field<T>& x, int column, std::span<const complex<double>> numbers);
template <class T>
void export_column(std::span<complex<double>> numbers, const coarse_field<T>& x, int column);

/// Fills with normal deviates of variance 1, re and im: the CPU library's, but for the last places of logarithm and
/// cosine. Column c is the field of index `first_index` + c of this seed.
template <class T>
void fill_random(coarse_field<T>& x, std::uint64_t seed, std::uint64_t first_index);

// Vector operations, as for fields of quarks (gpu/blas/blas.hpp). Sums are double, in a fixed order: the same bits run
// after run.
template <class T>
void zero(coarse_field<T>& x);
template <class T>
void copy(coarse_field<T>& x, const coarse_field<T>& u);
template <class T>
void scale(coarse_field<T>& x, const scalars& a);
template <class T>
void axpy(coarse_field<T>& x, const scalars& a, const coarse_field<T>& u);
template <class T>
void xpay(coarse_field<T>& x, const coarse_field<T>& u, const scalars& a);
template <class T>
scalars dot(const coarse_field<T>& u, const coarse_field<T>& v);
template <class T>
scalars norm2(const coarse_field<T>& u);
template <class T>
scalars axpy_norm2(coarse_field<T>& x, const scalars& a, const coarse_field<T>& u);
template <class T>
void axpy_pair(coarse_field<T>& x, const scalars& a, const coarse_field<T>& u, const scalars& b,
               const coarse_field<T>& v);
template <class T>
scalars subtract_norm2(coarse_field<T>& x, const coarse_field<T>& u, const coarse_field<T>& v);
template <class T>
scalars cg_update(coarse_field<T>& x, coarse_field<T>& y, const scalars& a, const coarse_field<T>& u,
                  const coarse_field<T>& v);
template <class T>
scalars bicgstab_step(coarse_field<T>& x, coarse_field<T>& y, coarse_field<T>& z, const scalars& a, const scalars& b,
                      const scalars& c, const coarse_field<T>& u, const coarse_field<T>& v);
template <class T>
std::pair<scalars, scalars> dot_norm2(const coarse_field<T>& u, const coarse_field<T>& v);
template <class T>
std::pair<scalars, scalars> axpy_dot_norm2(coarse_field<T>& x, const scalars& a, const coarse_field<T>& u,
                                           const coarse_field<T>& w);

// The same on a few fields at once (gpu/blas/blas.hpp).
template <class T>
std::vector<scalars> fused_least_squares(std::span<const coarse_field<T>> v, const coarse_field<T>& r, double rounding);
template <class T>
std::vector<scalars> fused_coefficients(std::span<const coarse_field<T>> v, std::span<const scalars> norms,
                                        const coarse_field<T>& w, const scalars& mask);
template <class T>
void fused_combination(coarse_field<T>& x, double sign, std::span<const scalars> c, std::span<const coarse_field<T>> v);
template <class T>
std::pair<scalars, scalars> fused_combination(coarse_field<T>& x, double sign, std::span<const scalars> c,
                                              std::span<const coarse_field<T>> v, const coarse_field<T>& w);

}  // namespace plaquette::gpu
