// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Operations on a few coarse fields at once: a thread takes a pair of numbers of a site.
#include "gpu/blas/few_fields.hpp"
#include "gpu/coarse/coarse_field.hpp"

namespace plaquette::gpu {

namespace {

template <class T>
struct pair_access {
  using source = coarse_pointer<const complex<T>>;
  using target = coarse_pointer<complex<T>>;
  using real = T;
  using number = complex<T>;
  using loaded = number_pair<T>;
  static constexpr bool has_integers = false;
  static constexpr int numbers = 2, chunks_at_once = 1, fields_at_once = combined_fields;

  divisor pairs, columns;
  std::int32_t all;  ///< pairs of a column

  std::int64_t sites() const { return all; }
  PLAQUETTE_HOST_DEVICE static constexpr int chunks() { return 1; }
  PLAQUETTE_HOST_DEVICE static constexpr bool has(std::int64_t /*i*/) { return true; }

  struct position {
    std::int64_t i;
    int column;
  };
  /// Columns of a site follow each other.
  PLAQUETTE_HOST_DEVICE position site_and_column(std::int64_t index) const {
    const auto i = static_cast<std::int32_t>(index);
    const std::int32_t rest = pairs.quotient(i), site = columns.quotient(rest);
    return {std::int64_t{site} * pairs.value + (i - rest * pairs.value), rest - site * columns.value};
  }
  template <class Number>
  PLAQUETTE_HOST_DEVICE Number* place(const coarse_pointer<Number>& x, std::int64_t i, int column) const {
    const std::int32_t site = pairs.quotient(static_cast<std::int32_t>(i));
    return x.at(site, column) + 2 * (static_cast<std::int32_t>(i) - site * pairs.value);
  }

  struct reader {
    const number* at = nullptr;

    reader() = default;
    PLAQUETTE_HOST_DEVICE reader(const pair_access& access, const source& from, std::int64_t i, int column)
        : at(access.place(from, i, column)) {}
    PLAQUETTE_HOST_DEVICE loaded load(int /*chunk*/) const { return *reinterpret_cast<const loaded*>(at); }
    PLAQUETTE_HOST_DEVICE static void unpack(const loaded& pair, number (&z)[numbers]) {
      z[0] = pair.z[0];
      z[1] = pair.z[1];
    }
  };

  template <class Change, class Stored>
  PLAQUETTE_HOST_DEVICE void replace(const target& x, std::int64_t i, int column, const Change& change,
                                     const Stored& stored) const {
    const reader from(*this, x, i, column);
    number z[1][numbers];
    reader::unpack(from.load(0), z[0]);
    change(0, z);
    const loaded as_stored[1] = {{{z[0][0], z[0][1]}}};
    *reinterpret_cast<loaded*>(place(x, i, column)) = as_stored[0];
    stored(from, as_stored);
  }
};

}  // namespace

template <class T>
static pair_access<T> access_of(const coarse_field<T>& x) {
  const int pairs = x.components() / 2;
  return {divisor(pairs), divisor(x.columns()), static_cast<std::int32_t>(x.sites() * pairs)};
}
template <class T>
static coarse_pointer<const complex<T>> source_of(const coarse_field<T>& x) {
  return x.numbers();
}
template <class T>
static coarse_pointer<complex<T>> target_of(coarse_field<T>& x) {
  return x.numbers();
}

template <class T>
std::vector<scalars> fused_least_squares(std::span<const coarse_field<T>> v, const coarse_field<T>& r,
                                         double rounding) {
  return least_squares_of(v, r, rounding);
}
template <class T>
std::vector<scalars> fused_coefficients(std::span<const coarse_field<T>> v, std::span<const scalars> norms,
                                        const coarse_field<T>& w, const scalars& mask) {
  return coefficients_of(v, norms, w, mask);
}
template <class T>
void fused_combination(coarse_field<T>& x, double sign, std::span<const scalars> c,
                       std::span<const coarse_field<T>> v) {
  add_combination_to(x, sign, c, v);
}
template <class T>
std::pair<scalars, scalars> fused_combination(coarse_field<T>& x, double sign, std::span<const scalars> c,
                                              std::span<const coarse_field<T>> v, const coarse_field<T>& w) {
  return add_combination_to(x, sign, c, v, w);
}

#define PLAQUETTE_INSTANTIATE(T)                                                                                       \
  template std::vector<scalars> fused_least_squares(std::span<const coarse_field<T>>, const coarse_field<T>&, double); \
  template std::vector<scalars> fused_coefficients(std::span<const coarse_field<T>>, std::span<const scalars>,         \
                                                   const coarse_field<T>&, const scalars&);                            \
  template void fused_combination(coarse_field<T>&, double, std::span<const scalars>,                                  \
                                  std::span<const coarse_field<T>>);                                                   \
  template std::pair<scalars, scalars> fused_combination(coarse_field<T>&, double, std::span<const scalars>,           \
                                                         std::span<const coarse_field<T>>, const coarse_field<T>&);
PLAQUETTE_INSTANTIATE(float)
PLAQUETTE_INSTANTIATE(double)
#undef PLAQUETTE_INSTANTIATE

}  // namespace plaquette::gpu
