// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/blas/basis.hpp"

#include <algorithm>
#include <stdexcept>

#include "gpu/device/launch.hpp"
#include "gpu/fields/number_groups.hpp"

namespace plaquette::gpu {

namespace {

template <class T>
void require_same_sites(const field<T>& a, const field<T>& b) {
  field_shape shape = a.shape();
  shape.columns = b.columns();
  if (!(shape == b.shape())) throw std::logic_error("basis: fields of different sites, spins or colours");
}

void require_size(std::span<const complex<double>> matrix, int rows, int columns) {
  if (matrix.size() != static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns))
    throw std::logic_error("basis: a matrix of the wrong size");
}

template <class T>
void require_spinors(const field<T>& full, int spins_of_other, const field<T>& other) {
  field_shape shape = full.shape();
  shape.spins = spins_of_other;
  if (full.shape().spins != spins || full.shape().colours != colours || !(shape == other.shape()))
    throw std::logic_error("basis: a chirality is part of a Dirac spinor: expected fields of one shape, 4 x 3 (2 x 3)");
}

double sign_of(int sign) {
  if (sign != 1 && sign != -1) throw std::logic_error("basis: the sign of a chirality is +1 or -1");
  return sign;
}

/// Sites of all blocks of all parts, padding too.
template <class T>
std::int32_t padded_count(const field<T>& x) {
  return x.all_blocks() * lanes;
}

/// <v_i, w_j> over sites r, r + ranges, r + 2 ranges ... of range r. Index: range fastest, then i, then j.
template <class T>
struct products_of_ranges {
  spinor_pointer<const T> v, w;
  int components;
  std::int32_t sites, ranges;
  std::int32_t rows;
  padded_sites padded;
  complex<double>* partial;  ///< [j][i][range]

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const auto range = static_cast<std::int32_t>(index % ranges);
    const auto pair = static_cast<std::int32_t>(index / ranges);
    const std::int32_t j = pair / rows, i = pair - j * rows;
    complex<double> sum{};
    for (std::int32_t s = range; s < sites; s += ranges) {
      if (!padded.has(s)) continue;
      const site_reader<T> left(v, s, i, components), right(w, s, j, components);
      for (int g = 0; g < groups_of(components); ++g) {
        complex<real_of<T>> x[group_size], y[group_size];
        left.read(g, x);
        right.read(g, y);
        PLAQUETTE_GPU_UNROLL
        for (int k = 0; k < group_size; ++k)
          if (g * group_size + k < components) sum += conj(complex_cast<double>(x[k])) * complex_cast<double>(y[k]);
      }
    }
    partial[index] = sum;
  }
};

/// target = start target + V C. Index: sites of all blocks, then columns of the target.
template <class T>
struct combination_of_site {
  spinor_pointer<T> target;
  spinor_pointer<const T> v;
  int components;
  std::int32_t sites, rows;
  real_of<T> start;              ///< 1 or 0
  const complex<real_of<T>>* c;  ///< [column][row]
  padded_sites padded;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const auto s = static_cast<std::int32_t>(index % sites);
    const auto j = static_cast<std::int32_t>(index / sites);
    if (!padded.has(s)) return;
    std::byte* const to = target.site(s, j);
    const int chunks = chunks_of<T>(components);
    for (int g = 0; g < groups_of(components); ++g) {
      complex<real_of<T>> sum[group_size] = {};
      if (start != real_of<T>(0)) site_reader<T>(target, s, j, components).read(g, sum);
      for (std::int32_t i = 0; i < rows; ++i) {
        complex<real_of<T>> x[group_size];
        site_reader<T>(v, s, i, components).read(g, x);
        const complex<real_of<T>> z = c[static_cast<std::int64_t>(j) * rows + i];
        PLAQUETTE_GPU_UNROLL
        for (int k = 0; k < group_size; ++k) sum[k] += z * x[k];
      }
      store_group<T>(to, g, chunks, pack_group<T>(sum, 1.0F));
    }
  }
};

template <class T>
void add_products(field<T>& target, const field<T>& v, std::span<const complex<double>> c, double start,
                  double factor) {
  require_same_sites(target, v);
  require_size(c, v.columns(), target.columns());
  using number = complex<real_of<T>>;
  std::vector<number> numbers;
  numbers.reserve(c.size());
  for (const complex<double>& z : c) numbers.push_back(complex_cast<real_of<T>>(factor * z));
  const context& ctx = v.get_context();
  const auto memory = ctx.workspace().take(sizeof(number) * numbers.size());
  copy_to_device(ctx.queue(), memory.get(), numbers.data(), sizeof(number) * numbers.size());
  const std::int32_t sites = padded_count(v);
  for_each_index(ctx.queue(), std::int64_t{sites} * target.columns(),
                 combination_of_site<T>{target.sites(0), v.sites(0), v.components(), sites, v.columns(),
                                        static_cast<real_of<T>>(start), reinterpret_cast<const number*>(memory.get()),
                                        padded_sites(ctx.order())},
                 128);
}

/// One site of a column. Index: sites of all blocks, then columns.
template <class T>
struct spinor_sites {
  std::int32_t sites;
  padded_sites padded;

  explicit spinor_sites(const field<T>& x) : sites(padded_count(x)), padded(x.order()) {}
  std::int64_t count(const field<T>& x) const { return std::int64_t{sites} * x.columns(); }
  /// function(site, column)
  template <class Function>
  PLAQUETTE_HOST_DEVICE void visit(std::int64_t index, const Function& function) const {
    const auto s = static_cast<std::int32_t>(index % sites);
    if (padded.has(s)) function(s, static_cast<std::int32_t>(index / sites));
  }
};

/// Halves change places: words, so that numbers of 16 bits stay the integers that they are.
template <class T>
struct exchange_halves {
  spinor_pointer<T> out;
  spinor_pointer<const T> in;
  spinor_sites<T> walk;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    walk.visit(index, [&](std::int32_t s, std::int32_t column) {
      constexpr int chunks = chunks_of<T>(spins * colours), word_count = 4 * chunks;
      const std::byte* const from = in.site(s, column);
      std::byte* const to = out.site(s, column);
      std::uint32_t word[word_count];
      PLAQUETTE_GPU_UNROLL
      for (int k = 0; k < chunks; ++k) {
        const chunk c = load_chunk(from + k * chunk_stride);
        PLAQUETTE_GPU_UNROLL
        for (int i = 0; i < 4; ++i) word[4 * k + i] = c.word[i];
      }
      PLAQUETTE_GPU_UNROLL
      for (int k = 0; k < chunks; ++k) {
        chunk c;
        PLAQUETTE_GPU_UNROLL
        for (int i = 0; i < 4; ++i) c.word[i] = word[(4 * k + i + word_count / 2) % word_count];
        store_chunk(to + k * chunk_stride, c);
      }
      if constexpr (is_half<T>) *out.scale(s, column, chunks) = *in.scale(s, column, chunks);
    });
  }
};

inline constexpr int of_spinor = spins * colours, of_chirality = of_spinor / 2;

template <class T>
struct project_chirality {
  spinor_pointer<T> out;
  spinor_pointer<const T> in;
  spinor_sites<T> walk;
  real_of<T> sign;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    walk.visit(index, [&](std::int32_t s, std::int32_t column) {
      complex<real_of<T>> from[of_spinor], to[of_spinor];
      load_site<T>(in, s, column, from);
      PLAQUETTE_GPU_UNROLL
      for (int k = 0; k < of_spinor; ++k)
        to[k] = real_of<T>(0.5) * (from[k] + sign * from[(k + of_chirality) % of_spinor]);
      store_site<T>(out, s, column, to);
    });
  }
};

template <class T>
struct chirality_of_site {
  spinor_pointer<T> half_vectors;
  spinor_pointer<const T> full;
  spinor_sites<T> walk;
  real_of<T> factor, sign;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    walk.visit(index, [&](std::int32_t s, std::int32_t column) {
      complex<real_of<T>> from[of_spinor], to[of_chirality];
      load_site<T>(full, s, column, from);
      PLAQUETTE_GPU_UNROLL
      for (int k = 0; k < of_chirality; ++k) to[k] = factor * (from[k] + sign * from[k + of_chirality]);
      store_site<T>(half_vectors, s, column, to);
    });
  }
};

template <class T>
struct site_of_chirality {
  spinor_pointer<T> full;
  spinor_pointer<const T> half_vectors;
  spinor_sites<T> walk;
  real_of<T> factor, sign;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    walk.visit(index, [&](std::int32_t s, std::int32_t column) {
      complex<real_of<T>> from[of_chirality], to[of_spinor];
      load_site<T>(half_vectors, s, column, from);
      PLAQUETTE_GPU_UNROLL
      for (int k = 0; k < of_chirality; ++k) {
        to[k] = factor * from[k];
        to[k + of_chirality] = sign * to[k];
      }
      store_site<T>(full, s, column, to);
    });
  }
};

constexpr double inverse_root_two = 0.70710678118654752440;

}  // namespace

template <class T>
std::vector<complex<double>> inner_products(const field<T>& v, const field<T>& w) {
  require_same_sites(v, w);
  const context& ctx = v.get_context();
  const std::int32_t sites = padded_count(v), ranges = std::min(sites, 256);
  const std::int64_t pairs = std::int64_t{v.columns()} * w.columns();
  const std::size_t bytes = sizeof(complex<double>) * static_cast<std::size_t>(pairs * ranges);
  const auto memory = ctx.workspace().take(bytes);
  for_each_index(ctx.queue(), pairs * ranges,
                 products_of_ranges<T>{v.sites(0), w.sites(0), v.components(), sites, ranges, v.columns(),
                                       padded_sites(ctx.order()), reinterpret_cast<complex<double>*>(memory.get())},
                 128);
  std::vector<complex<double>> partial(static_cast<std::size_t>(pairs * ranges)), products;
  copy_to_host(ctx.queue(), partial.data(), memory.get(), bytes);
  for (auto it = partial.begin(); it != partial.end(); it += ranges) {
    complex<double> sum{};
    for (std::int32_t r = 0; r < ranges; ++r) sum += it[r];
    products.push_back(sum);
  }
  ctx.comm().sum(std::span(&products.data()->re, 2 * products.size()));
  return products;
}

template <class T>
void subtract_combinations(field<T>& w, const field<T>& v, std::span<const complex<double>> c) {
  add_products(w, v, c, 1.0, -1.0);
}
template <class T>
void add_combinations(field<T>& w, const field<T>& v, std::span<const complex<double>> c) {
  add_products(w, v, c, 1.0, 1.0);
}
template <class T>
void combine(field<T>& out, const field<T>& v, std::span<const complex<double>> q) {
  add_products(out, v, q, 0.0, 1.0);
}

template <class T>
void gamma5(field<T>& out, const field<T>& in) {
  require_spinors(in, spins, out);
  const spinor_sites<T> walk(in);
  for_each_index(in.get_context().queue(), walk.count(in), exchange_halves<T>{out.sites(0), in.sites(0), walk}, 128);
}

template <class T>
void chirality_part(field<T>& out, const field<T>& in, int sign) {
  require_spinors(in, spins, out);
  const spinor_sites<T> walk(in);
  for_each_index(in.get_context().queue(), walk.count(in),
                 project_chirality<T>{out.sites(0), in.sites(0), walk, static_cast<real_of<T>>(sign_of(sign))}, 128);
}

template <class T>
void take_chirality(field<T>& half_vectors, const field<T>& full, int sign) {
  require_spinors(full, spins / 2, half_vectors);
  const spinor_sites<T> walk(full);
  for_each_index(
      full.get_context().queue(), walk.count(full),
      chirality_of_site<T>{half_vectors.sites(0), full.sites(0), walk, static_cast<real_of<T>>(inverse_root_two),
                           static_cast<real_of<T>>(sign_of(sign))},
      128);
}

template <class T>
void put_chirality(field<T>& full, const field<T>& half_vectors, int sign) {
  require_spinors(full, spins / 2, half_vectors);
  const spinor_sites<T> walk(full);
  for_each_index(
      full.get_context().queue(), walk.count(full),
      site_of_chirality<T>{full.sites(0), half_vectors.sites(0), walk, static_cast<real_of<T>>(inverse_root_two),
                           static_cast<real_of<T>>(sign_of(sign))},
      128);
}

#define PLAQUETTE_INSTANTIATE(T)                                 \
  template void gamma5(field<T>&, const field<T>&);              \
  template void chirality_part(field<T>&, const field<T>&, int); \
  template void take_chirality(field<T>&, const field<T>&, int); \
  template void put_chirality(field<T>&, const field<T>&, int);
PLAQUETTE_INSTANTIATE(half)
PLAQUETTE_INSTANTIATE(float)
PLAQUETTE_INSTANTIATE(double)
#undef PLAQUETTE_INSTANTIATE

#define PLAQUETTE_INSTANTIATE(T)                                                                     \
  template std::vector<complex<double>> inner_products(const field<T>&, const field<T>&);            \
  template void subtract_combinations(field<T>&, const field<T>&, std::span<const complex<double>>); \
  template void add_combinations(field<T>&, const field<T>&, std::span<const complex<double>>);      \
  template void combine(field<T>&, const field<T>&, std::span<const complex<double>>);
PLAQUETTE_INSTANTIATE(float)
PLAQUETTE_INSTANTIATE(double)
#undef PLAQUETTE_INSTANTIATE

}  // namespace plaquette::gpu
