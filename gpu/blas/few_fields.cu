// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/blas/few_fields.hpp"

#include "gpu/blas/site_sums.hpp"
#include "gpu/device/one_kernel.hpp"
#include "gpu/fields/number_groups.hpp"

namespace plaquette::gpu {

namespace {

/// Numbers of a field, a chunk at a time.
template <class T>
struct site_access {
  using source = spinor_pointer<const T>;
  using target = spinor_pointer<T>;
  using real = real_of<T>;
  using number = complex<real>;
  static constexpr int numbers = numbers_of_chunk<T>;
  using loaded = chunk;
  /// In half a whole site: its scale is known when all its numbers are. Sums are of integers, exact.
  static constexpr bool has_integers = is_half<T>;
  static constexpr int chunks_at_once = is_half<T> ? chunks_of<T>(12) : 1, fields_at_once = 4;

  padded_sites padded;
  divisor columns;
  std::int32_t blocks, of_site;

  std::int64_t sites() const { return std::int64_t{lanes} * blocks; }
  PLAQUETTE_HOST_DEVICE int chunks() const { return of_site; }
  PLAQUETTE_HOST_DEVICE bool has(std::int64_t i) const { return padded.has(static_cast<std::int32_t>(i)); }

  struct position {
    std::int64_t i;
    int column;
  };
  /// Index of a launch over lanes, columns, blocks of all parts.
  PLAQUETTE_HOST_DEVICE position site_and_column(std::int64_t index) const {
    const auto warp = static_cast<std::int32_t>(index / lanes);
    const std::int32_t block = columns.quotient(warp);
    return {block * std::int64_t{lanes} + index % lanes, warp - block * columns.value};
  }

  struct reader {
    const std::byte* site = nullptr;
    float scale = 1.0F;

    reader() = default;
    PLAQUETTE_HOST_DEVICE reader(const site_access& access, const source& from, std::int64_t i, int column)
        : site(from.site(static_cast<std::int32_t>(i), column)) {
      if constexpr (is_half<T>) scale = *from.scale(static_cast<std::int32_t>(i), column, access.chunks());
    }
    PLAQUETTE_HOST_DEVICE loaded load(int chunk) const { return load_chunk(site + chunk * chunk_stride); }
    PLAQUETTE_HOST_DEVICE void unpack(const loaded& c, number (&z)[numbers]) const { gpu::unpack<T>(c, scale, z); }
  };

  using integer_sums = site_sums<half>;
  PLAQUETTE_HOST_DEVICE static void add_dot(integer_sums& sums, const loaded& left, const loaded& right) {
    sums.add_dot(bytes_of_integers(left), bytes_of_integers(right));
  }
  /// The norm belongs to `right`.
  PLAQUETTE_HOST_DEVICE static void add_dot_and_norm(integer_sums& sums, const loaded& left, const loaded& right) {
    const bytes_of_integers of_right(right);
    sums.add_dot(bytes_of_integers(left), of_right);
    sums.add_norm(of_right);
  }

  /// change(first chunk, numbers of the chunks at once) until all numbers of a site are changed; they are rounded when
  /// they are stored. Then stored(reader, chunks) of these.
  template <class Change, class Stored>
  PLAQUETTE_HOST_DEVICE void replace(const target& x, std::int64_t site, int column, const Change& change,
                                     const Stored& stored) const {
    const auto i = static_cast<std::int32_t>(site);
    reader from(*this, x, site, column);
    std::byte* const to = x.site(i, column);
    if constexpr (!is_half<T>) {
      for (int chunk = 0; chunk < chunks(); ++chunk) {
        loaded as_stored[1] = {from.load(chunk)};
        number z[1][numbers];
        from.unpack(as_stored[0], z[0]);
        change(chunk, z);
        as_stored[0] = pack<T>(z[0], 1.0F);
        store_chunk(to + chunk * chunk_stride, as_stored[0]);
        stored(from, as_stored);
      }
    } else {
      loaded as_stored[chunks_at_once];
      load_chunks(*this, from, 0, as_stored);
      number z[chunks_at_once][numbers];
      PLAQUETTE_GPU_UNROLL
      for (int chunk = 0; chunk < chunks_at_once; ++chunk) from.unpack(as_stored[chunk], z[chunk]);
      change(0, z);
      float largest = 0.0F;
      PLAQUETTE_GPU_UNROLL
      for (int chunk = 0; chunk < chunks_at_once; ++chunk) {
        if (chunk >= chunks()) continue;
        PLAQUETTE_GPU_UNROLL
        for (int n = 0; n < numbers; ++n)
          largest = larger_magnitude_of(larger_magnitude_of(largest, z[chunk][n].re), z[chunk][n].im);
      }
      const site_scale by = scale_of(largest);
      *x.scale(i, column, chunks()) = by.scale;
      PLAQUETTE_GPU_UNROLL
      for (int chunk = 0; chunk < chunks_at_once; ++chunk) {
        as_stored[chunk] = pack<T>(z[chunk], by.inverse);
        if (chunk < chunks()) store_chunk(to + chunk * chunk_stride, as_stored[chunk]);
      }
      from.scale = by.scale;
      stored(from, as_stored);
    }
  }
};

}  // namespace

template <class T>
static site_access<T> access_of(const field<T>& x) {
  if (x.components() > 12) throw std::logic_error("blas: at most 12 numbers a site");
  return {padded_sites(x.order()), divisor(x.columns()), x.all_blocks(), chunks_of<T>(x.components())};
}
template <class T>
static spinor_pointer<const T> source_of(const field<T>& x) {
  return x.sites(0);
}
template <class T>
static spinor_pointer<T> target_of(field<T>& x) {
  return x.sites(0);
}

// The numbers of a kernel (one_kernel.hpp): bytes of a number, then one of these.
enum few_fields_operation { least_squares_of_few, coefficients_of_few, combination_of_few, combination_and_sums };
template <class T>
constexpr int bytes_of_few = is_half<T> ? 2 : static_cast<int>(sizeof(real_of<T>));

template <class T>
std::vector<scalars> fused_least_squares(std::span<const field<T>> v, const field<T>& r, double rounding) {
  if constexpr (is_compiled<bytes_of_few<T>, least_squares_of_few>()) return least_squares_of(v, r, rounding);
  refuse_kernel<bytes_of_few<T>, least_squares_of_few>();
}
template <class T>
std::vector<scalars> fused_coefficients(std::span<const field<T>> v, std::span<const scalars> norms, const field<T>& w,
                                        const scalars& mask) {
  if constexpr (is_compiled<bytes_of_few<T>, coefficients_of_few>()) return coefficients_of(v, norms, w, mask);
  refuse_kernel<bytes_of_few<T>, coefficients_of_few>();
}
template <class T>
void fused_combination(field<T>& x, double sign, std::span<const scalars> c, std::span<const field<T>> v) {
  if constexpr (is_compiled<bytes_of_few<T>, combination_of_few>()) return add_combination_to(x, sign, c, v);
  refuse_kernel<bytes_of_few<T>, combination_of_few>();
}
template <class T>
std::pair<scalars, scalars> fused_combination(field<T>& x, double sign, std::span<const scalars> c,
                                              std::span<const field<T>> v, const field<T>& w) {
  if constexpr (is_compiled<bytes_of_few<T>, combination_and_sums>()) return add_combination_to(x, sign, c, v, w);
  refuse_kernel<bytes_of_few<T>, combination_and_sums>();
}

#define PLAQUETTE_INSTANTIATE(T)                                                                           \
  template std::vector<scalars> fused_least_squares(std::span<const field<T>>, const field<T>&, double);   \
  template std::vector<scalars> fused_coefficients(std::span<const field<T>>, std::span<const scalars>,    \
                                                   const field<T>&, const scalars&);                       \
  template void fused_combination(field<T>&, double, std::span<const scalars>, std::span<const field<T>>); \
  template std::pair<scalars, scalars> fused_combination(field<T>&, double, std::span<const scalars>,      \
                                                         std::span<const field<T>>, const field<T>&);
PLAQUETTE_INSTANTIATE(double)
PLAQUETTE_INSTANTIATE(float)
PLAQUETTE_INSTANTIATE(half)
#undef PLAQUETTE_INSTANTIATE

}  // namespace plaquette::gpu
