// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The kernels behind the operations on a few fields at once (common/krylov/few_fields.hpp). A thread takes a site
/// of a column, or a pair of numbers of a coarse one, and reads every number once. For .cu files only.
///
/// An `Access` says how numbers lie in memory. Its `source` is a field that is read, its `target` one that is written.
/// A chunk has `numbers` of type `number`; a site has `chunks()`. `reader` loads a chunk as it lies in memory,
/// `loaded`, and unpacks it. `replace` changes all numbers of a site, `chunks_at_once` at a time.
///
/// Fields are loaded `fields_at_once` at a time, before any of them is used: a load that waits for the one before
/// takes three times as long as memory does.
#pragma once

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/krylov/few_fields.hpp"
#include "gpu/blas/blas.hpp"
#include "gpu/blas/held_sum.hpp"
#include "gpu/blas/vector_kernels.hpp"
#include "gpu/device/many_sums.hpp"
#include "gpu/fields/scalar_program.hpp"

namespace plaquette::gpu {

/// Fields of one call at most: of fused_least_squares, as many as a thread's registers hold sums for, and of the
/// others.
inline constexpr int gram_fields = static_cast<int>(most_fused_in_least_squares),
                     combined_fields = static_cast<int>(most_fused);

/// Where gram_kernel leaves its sums: real and imaginary part.
struct gram_places {
  static constexpr int pairs = gram_fields * (gram_fields + 1) / 2;
  static constexpr int count = 2 * (pairs + gram_fields);
  /// Returns <v_i, v_j>, j <= i
  static PLAQUETTE_HOST_DEVICE constexpr int of_pair(int i, int j) { return 2 * (i * (i + 1) / 2 + j); }
  /// Returns <v_i, r>
  static PLAQUETTE_HOST_DEVICE constexpr int of_source(int i) { return 2 * (pairs + i); }
};

/// Adds conj(a) b to the sums at `at`.
template <int Count>
PLAQUETTE_HOST_DEVICE inline void add_conjugate_product(double (&sums)[Count], int at, const complex<double>& a,
                                                        const complex<double>& b) {
  sums[at] = fused(a.im, b.im, fused(a.re, b.re, sums[at]));
  sums[at + 1] = fused(-a.im, b.re, fused(a.re, b.im, sums[at + 1]));
}

/// Loads some chunks of a site. Of several at once, missing ones are zero bytes.
template <class Access>
PLAQUETTE_HOST_DEVICE inline void load_chunks(const Access& access, const typename Access::reader& from, int first,
                                              typename Access::loaded (&to)[Access::chunks_at_once]) {
  PLAQUETTE_GPU_UNROLL
  for (int c = 0; c < Access::chunks_at_once; ++c)
    to[c] =
        Access::chunks_at_once == 1 || first + c < access.chunks() ? from.load(first + c) : typename Access::loaded{};
}

/// `count` fields v, at most `Most`, and one more.
template <class Access, int Most>
struct fields_and_one_more {
  static constexpr int least_sites_of_a_thread = 4;

  Access access;
  typename Access::source v[Most], more;
  std::int32_t count;

  /// Calls body(numbers of v [Most][Access::numbers], numbers of the one more) for one site and column, chunk after
  /// chunk.
  template <class Body>
  PLAQUETTE_HOST_DEVICE void for_each_chunk(std::int64_t i, int column, Body&& body) const {
    if (!access.has(i)) return;
    using reader = typename Access::reader;
    const reader from_more(access, more, i, column);
    reader from[Most];
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < Most; ++k)
      if (k < count) from[k] = reader(access, v[k], i, column);
    for (int chunk = 0; chunk < access.chunks(); ++chunk) {
      typename Access::number z[Most][Access::numbers], of_more[Access::numbers];
      const typename Access::loaded stored = from_more.load(chunk);
      typename Access::loaded all[Most];
      PLAQUETTE_GPU_UNROLL
      for (int k = 0; k < Most; ++k)
        if (k < count) all[k] = from[k].load(chunk);
      from_more.unpack(stored, of_more);
      PLAQUETTE_GPU_UNROLL
      for (int k = 0; k < Most; ++k)
        if (k < count) from[k].unpack(all[k], z[k]);
      body(z, of_more);
    }
  }
};

/// All <v_i, v_j> for j <= i, and <v_i, r>, where r is the one more.
template <class Access>
struct gram_kernel : fields_and_one_more<Access, gram_fields> {
  template <int Count>
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t i, int column, double (&sums)[Count]) const {
    this->for_each_chunk(i, column, [&sums, count = this->count](const auto& z, const auto& r) {
      PLAQUETTE_GPU_UNROLL
      for (int n = 0; n < Access::numbers; ++n) {
        complex<double> wide[gram_fields];
        PLAQUETTE_GPU_UNROLL
        for (int k = 0; k < gram_fields; ++k) {
          if (k >= count) continue;
          wide[k] = complex_cast<double>(z[k][n]);
          PLAQUETTE_GPU_UNROLL
          for (int j = 0; j <= k; ++j) add_conjugate_product(sums, gram_places::of_pair(k, j), wide[k], wide[j]);
          add_conjugate_product(sums, gram_places::of_source(k), wide[k], complex_cast<double>(r[n]));
        }
      }
    });
  }
};

/// The c of G c = g by G = L D L^+, for one column. A pivot of which only rounding is left counts as zero, and so does
/// its c.
struct gram_solution {
  const double* sums;                          ///< [column][gram_places::count]
  complex<double>* coefficients[gram_fields];  ///< of each field, [column]
  std::int32_t fields;
  double rounding2;
  std::int32_t count = 1;  ///< tasks at the end of a kernel

  PLAQUETTE_HOST_DEVICE void operator()(int /*task*/, int column) const { (*this)(std::int64_t{column}); }
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t column) const {
    const double* const of = sums + column * gram_places::count;
    const auto sum = [of](int at) { return complex<double>{of[at], of[at + 1]}; };
    constexpr int most = gram_fields;
    complex<double> l[most][most], ld[most], c[most];  // L, a row of L D
    double inverse[most];                              // of D
    for (int i = 0; i < fields; ++i) {
      const double length = of[gram_places::of_pair(i, i)];
      double d = length;
      c[i] = sum(gram_places::of_source(i));
      for (int k = 0; k < i; ++k) {
        ld[k] = sum(gram_places::of_pair(i, k));
        for (int m = 0; m < k; ++m) ld[k] = ld[k] - rounded_product(ld[m], conj(l[k][m]));
        l[i][k] = {ld[k].re * inverse[k], ld[k].im * inverse[k]};
        d -= rounded_product(ld[k], conj(l[i][k])).re;
        c[i] = c[i] - rounded_product(l[i][k], c[k]);
      }
      inverse[i] = d > rounding2 * length ? 1.0 / d : 0.0;
    }
    for (int i = fields - 1; i >= 0; --i) {
      c[i] = {c[i].re * inverse[i], c[i].im * inverse[i]};
      for (int k = i + 1; k < fields; ++k)
        if (inverse[i] != 0.0) c[i] = c[i] - rounded_product(conj(l[k][i]), c[k]);
      coefficients[i][column] = c[i];
    }
  }
};

/// <v_k, w>, where w is the one more.
template <class Access>
struct product_kernel : fields_and_one_more<Access, combined_fields> {
  template <int Count>
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t i, int column, double (&sums)[Count]) const {
    if constexpr (Access::has_integers)
      products_of_integers(i, column, sums);
    else
      this->for_each_chunk(i, column, [&sums, count = this->count](const auto& z, const auto& w) {
        PLAQUETTE_GPU_UNROLL
        for (int k = 0; k < combined_fields; ++k) {
          if (k >= count) continue;
          PLAQUETTE_GPU_UNROLL
          for (int n = 0; n < Access::numbers; ++n)
            add_conjugate_product(sums, 2 * k, complex_cast<double>(z[k][n]), complex_cast<double>(w[n]));
        }
      });
  }

 private:
  /// Computes exact sums over a site; its scales multiply at the end.
  template <int Count>
  PLAQUETTE_HOST_DEVICE void products_of_integers(std::int64_t i, int column, double (&sums)[Count]) const {
    const Access& access = this->access;
    if (!access.has(i)) return;
    using reader = typename Access::reader;
    constexpr int fields = Access::fields_at_once;
    const reader from_w(access, this->more, i, column);
    typename Access::loaded w[Access::chunks_at_once];
    load_chunks(access, from_w, 0, w);
    PLAQUETTE_GPU_UNROLL
    for (int first = 0; first < combined_fields; first += fields) {
      if (first >= this->count) continue;
      typename Access::loaded v[fields][Access::chunks_at_once];
      float scale[fields];
      PLAQUETTE_GPU_UNROLL
      for (int k = 0; k < fields; ++k) {
        if (first + k >= this->count) continue;
        const reader from(access, this->v[first + k], i, column);
        scale[k] = from.scale;
        load_chunks(access, from, 0, v[k]);
      }
      PLAQUETTE_GPU_UNROLL
      for (int k = 0; k < fields; ++k) {
        if (first + k >= this->count) continue;
        typename Access::integer_sums of_site;
        PLAQUETTE_GPU_UNROLL
        for (int c = 0; c < Access::chunks_at_once; ++c)
          if (c < access.chunks()) access.add_dot(of_site, v[k][c], w[c]);
        const double scales = static_cast<double>(scale[k]) * static_cast<double>(from_w.scale);
        sums[2 * (first + k)] += scales * of_site.dot_re();
        sums[2 * (first + k) + 1] += scales * of_site.dot_im();
      }
    }
  }
};

/// mask <v_k, w> / |v_k|^2 for one column, 0 if |v_k| is 0.
struct product_ratios {
  const double* sums;                              ///< [column][2 combined_fields]
  const complex<double>* norms[combined_fields];   ///< |v_k|^2, [column]
  const complex<double>* mask;                     ///< [column]
  complex<double>* coefficients[combined_fields];  ///< of each field, [column]
  std::int32_t count, columns;                     ///< tasks: fields

  PLAQUETTE_HOST_DEVICE void operator()(int k, int column) const {
    const double* const sum = sums + std::int64_t{column} * 2 * combined_fields + std::int64_t{2} * k;
    coefficients[k][column] =
        rounded_product(mask[column], rounded_ratio(complex<double>{sum[0], sum[1]}, norms[k][column]));
  }
  /// 0 <= index < count columns
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    (*this)(static_cast<int>(index / columns), static_cast<int>(index % columns));
  }
};

/// x += sign sum_k c_k v_k; with sums: <w, x> and |x|^2 of the new x as it is stored.
template <class Access>
struct combination_kernel {
  static constexpr int least_sites_of_a_thread = 4;
  static constexpr int resident_blocks = Access::has_integers ? 2 : sizeof(typename Access::real) == 4 ? 3 : 0;
  using number = typename Access::number;
  using real = typename Access::real;

  Access access;
  typename Access::target x;
  typename Access::source v[combined_fields], w;
  const complex<double>* c[combined_fields];  ///< [column]
  real sign;
  std::int32_t count;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const auto [i, column] = access.site_and_column(index);
    double none[3];
    work_on<false>(i, column, none);
  }
  template <int Count>
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t i, int column, double (&sums)[Count]) const {
    work_on<true>(i, column, sums);
  }

 private:
  template <bool with_sums, int Count>
  PLAQUETTE_HOST_DEVICE void work_on(std::int64_t i, int column, double (&sums)[Count]) const {
    if (!access.has(i)) return;
    constexpr int chunks = Access::chunks_at_once, fields = Access::fields_at_once;
    // If a site is taken as a whole, coefficients are loaded when its numbers are under way.
    constexpr bool late = chunks > 1;
    number by[combined_fields];
    if constexpr (!late) find_coefficients<combined_fields>(by, 0, column);
    reader from_w;
    if constexpr (with_sums) from_w = reader(access, w, i, column);
    typename Access::loaded of_w[chunks];
    access.replace(
        x, i, column,
        [&](int first_chunk, number(&z)[chunks][Access::numbers]) {
          if constexpr (with_sums) load_chunks(access, from_w, first_chunk, of_w);
          PLAQUETTE_GPU_UNROLL
          for (int first = 0; first < combined_fields; first += fields) {
            if (first >= count) continue;
            reader from[fields];
            typename Access::loaded all[fields][chunks];
            PLAQUETTE_GPU_UNROLL
            for (int k = 0; k < fields; ++k) {
              if (first + k >= count) continue;
              from[k] = reader(access, v[first + k], i, column);
              load_chunks(access, from[k], first_chunk, all[k]);
            }
            if constexpr (late) find_coefficients<fields>(by + first, first, column);
            PLAQUETTE_GPU_UNROLL
            for (int k = 0; k < fields; ++k)
              if (first + k < count) add_products(z, by[first + k], from[k], all[k]);
          }
        },
        [&](const reader& x_as_stored, const typename Access::loaded(&of_x)[chunks]) {
          if constexpr (with_sums) add_sums(sums, from_w, of_w, x_as_stored, of_x);
        });
  }
  using reader = typename Access::reader;

  /// Of some fields from `first` on.
  template <int fields>
  PLAQUETTE_HOST_DEVICE void find_coefficients(number* by, int first, int column) const {
    complex<double> wide[fields];
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < fields; ++k)
      if (first + k < count) wide[k] = c[first + k][column];
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < fields; ++k) {
      const auto factor = complex_cast<real>(wide[k]);
      by[k] = {sign * factor.re, sign * factor.im};
    }
  }
  static PLAQUETTE_HOST_DEVICE void add_products(number (&z)[Access::chunks_at_once][Access::numbers], const number& by,
                                                 const reader& from,
                                                 const typename Access::loaded (&v)[Access::chunks_at_once]) {
    PLAQUETTE_GPU_UNROLL
    for (int chunk = 0; chunk < Access::chunks_at_once; ++chunk) {
      number add[Access::numbers];
      from.unpack(v[chunk], add);
      PLAQUETTE_GPU_UNROLL
      for (int n = 0; n < Access::numbers; ++n) z[chunk][n] = add_product(z[chunk][n], by, add[n]);
    }
  }
  /// Adds <w, x> and |x|^2 of x as it was stored.
  template <int Count>
  PLAQUETTE_HOST_DEVICE void add_sums(double (&sums)[Count], const reader& from_w,
                                      const typename Access::loaded (&of_w)[Access::chunks_at_once],
                                      const reader& from_x,
                                      const typename Access::loaded (&of_x)[Access::chunks_at_once]) const {
    if constexpr (Access::has_integers) {
      typename Access::integer_sums of_site;
      PLAQUETTE_GPU_UNROLL
      for (int chunk = 0; chunk < Access::chunks_at_once; ++chunk)
        if (chunk < access.chunks()) access.add_dot_and_norm(of_site, of_w[chunk], of_x[chunk]);
      const double w_scale = from_w.scale, x_scale = from_x.scale;
      sums[0] += w_scale * x_scale * of_site.dot_re();
      sums[1] += w_scale * x_scale * of_site.dot_im();
      sums[2] += x_scale * x_scale * of_site.norm();
    } else {
      static_assert(Access::chunks_at_once == 1);
      number xs[Access::numbers], ws[Access::numbers];
      from_x.unpack(of_x[0], xs);
      from_w.unpack(of_w[0], ws);
      PLAQUETTE_GPU_UNROLL
      for (int n = 0; n < Access::numbers; ++n) {
        const auto wide = complex_cast<double>(xs[n]);
        add_conjugate_product(sums, 0, complex_cast<double>(ws[n]), wide);
        sums[2] = fused(wide.im, wide.im, fused(wide.re, wide.re, sums[2]));
      }
    }
  }
};

// --- Launches, for fields Field whose `access_of(f)` is their Access
// -------------------------------------------------------

template <class Field>
void require_few(const Field& x, std::span<const Field> v, std::size_t scalars_given, std::size_t most) {
  if (v.size() != scalars_given || v.empty() || v.size() > most)
    throw std::logic_error("blas: a number for each of 1 to " + std::to_string(most) + " fields");
  for (const Field& one : v)
    if (!(one.shape() == x.shape())) throw std::logic_error("blas: fields of different shapes");
}

/// Numbers that a kernel computes for each of some fields.
class field_coefficients {
 public:
  field_coefficients(const execution& on, int columns, std::size_t fields) {
    for (std::size_t k = 0; k < fields; ++k) numbers_.emplace_back(on, columns, 2);
  }
  template <std::size_t Most>
  void point(complex<double>* (&to)[Most]) const {
    for (std::size_t k = 0; k < numbers_.size(); ++k)
      to[k] = reinterpret_cast<complex<double>*>(numbers_[k].on_device());
  }
  std::vector<scalars> handles() const {
    std::vector<scalars> all;
    for (const column_sums& one : numbers_) all.push_back(one.complex_sum(0));
    return all;
  }

 private:
  std::vector<column_sums> numbers_;
};

/// Makes sums, and numbers that are computed from them: at the end of the same kernel on one rank, else by a launch
/// behind the sum over ranks.
/// \param indices  of that launch
template <int Count, class Field, class Body, class End>
void sum_and_finish(const Field& model, const Body& body, const column_sums& sums, const End& end,
                    std::int64_t indices) {
  const execution& on = model.get_execution();
  const std::int64_t sites = body.access.sites();
  if (on.comm().size() == 1)
    return sum_many_over<Count>(on.queue(), sites, model.columns(), sums.on_device(), body, end);
  sum_many_over<Count>(on.queue(), sites, model.columns(), sums.on_device(), body, nothing_at_the_end{});
  sums.add_over_ranks();
  on.complete_sums();
  for_each_index(on.queue(), indices, end, 32);
}

/// Returns the c for which |r - sum_k c_k v_k| is smallest.
template <class Field>
std::vector<scalars> least_squares_of(std::span<const Field> v, const Field& r, double rounding) {
  require_few(r, v, v.size(), gram_fields);
  const execution& on = r.get_execution();
  const int columns = r.columns(), count = static_cast<int>(v.size());
  const field_coefficients result(on, columns, v.size());
  if (columns == 0) return result.handles();
  const auto access = access_of(r);
  gram_kernel<std::remove_const_t<decltype(access)>> body{{access, {}, source_of(r), count}};
  for (std::size_t k = 0; k < v.size(); ++k) body.v[k] = source_of(v[k]);
  const column_sums sums(on, columns, gram_places::count);
  gram_solution solution{sums.on_device(), {}, count, rounding * rounding};
  result.point(solution.coefficients);
  sum_and_finish<gram_places::count>(r, body, sums, solution, columns);
  return result.handles();
}

/// Returns mask <v_k, w> / |v_k|^2, at most `combined_fields` of them.
template <class Field>
std::vector<scalars> coefficients_of(std::span<const Field> v, std::span<const scalars> norms, const Field& w,
                                     const scalars& mask) {
  require_few(w, v, norms.size(), combined_fields);
  const execution& on = w.get_execution();
  const int columns = w.columns(), count = static_cast<int>(v.size());
  const field_coefficients result(on, columns, v.size());
  if (columns == 0) return result.handles();
  const auto access = access_of(w);
  product_kernel<std::remove_const_t<decltype(access)>> body{{access, {}, source_of(w), count}};
  const column_sums sums(on, columns, 2 * combined_fields);
  product_ratios ratios{sums.on_device(), {}, mask.on_device(), {}, count, columns};
  result.point(ratios.coefficients);
  for (std::size_t k = 0; k < v.size(); ++k) {
    body.v[k] = source_of(v[k]);
    ratios.norms[k] = norms[k].on_device();
  }
  sum_and_finish<2 * combined_fields>(w, body, sums, ratios, std::int64_t{count} * columns);
  return result.handles();
}

template <class Field>
auto combination_of(Field& x, double sign, std::span<const scalars> c, std::span<const Field> v, const Field* w) {
  require_few(x, v, c.size(), combined_fields);
  const auto access = access_of(std::as_const(x));
  using kernel = combination_kernel<std::remove_const_t<decltype(access)>>;
  kernel body{access, target_of(x), {}, {}, {}, static_cast<typename kernel::real>(sign), static_cast<int>(v.size())};
  if (w != nullptr) body.w = source_of(*w);
  for (std::size_t k = 0; k < v.size(); ++k) {
    body.v[k] = source_of(v[k]);
    body.c[k] = c[k].on_device();
  }
  return body;
}

/// Computes x += sign sum_k c_k v_k
template <class Field>
void add_combination_to(Field& x, double sign, std::span<const scalars> c, std::span<const Field> v) {
  if (x.columns() == 0) return;
  const auto body = combination_of<Field>(x, sign, c, v, nullptr);
  for_each_index(x.get_execution().queue(), body.access.sites() * x.columns(), body);
}

/// Does the same; returns <w, x> and |x|^2.
template <class Field>
std::pair<scalars, scalars> add_combination_to(Field& x, double sign, std::span<const scalars> c,
                                               std::span<const Field> v, const Field& w) {
  const execution& on = x.get_execution();
  const column_sums sums(on, x.columns(), 3);
  if (x.columns() == 0) return dot_and_norm(sums);
  const auto body = combination_of<Field>(x, sign, c, v, &w);
  std::vector<std::shared_ptr<const void>> kept{x.storage(), w.storage()};
  for (const Field& one : v) kept.push_back(one.storage());
  for (const scalars& one : c) kept.push_back(one.storage());
  hold_back_sum<3>(on, body.access.sites(), x.columns(), body, sums, on.kernels_sum_over_ranks(x.columns()),
                   std::move(kept));
  return dot_and_norm(sums);
}

}  // namespace plaquette::gpu
