// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/blas/basis.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "common/algebra/float_pair.hpp"
#include "common/eigen/basis_checks.hpp"
#include "gpu/blas/basis_tiles.hpp"
#include "gpu/blas/blas.hpp"
#include "gpu/blas/cublas_library.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/fields/number_groups.hpp"

namespace plaquette::gpu {

namespace {

/// Sites of all blocks of all parts, padding too.
template <class T>
std::int32_t padded_count(const field<T>& x) {
  return x.all_blocks() * lanes;
}

/// Blocks of a field: first, first + step, first + 2 step ...
struct block_list {
  std::int32_t first, step, count;
};

/// <v_i, w_j> over sites r, r + ranges, r + 2 ranges ... of range r. Index: range fastest, then i, then j.
template <class T>
struct products_of_ranges {
  spinor_pointer<const T> v, w;
  int components;
  block_list blocks;
  std::int32_t ranges, rows;
  padded_sites padded;
  complex<double>* partial;  ///< [j][i][range]

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const auto range = static_cast<std::int32_t>(index % ranges);
    const auto pair = static_cast<std::int32_t>(index / ranges);
    const std::int32_t j = pair / rows, i = pair - j * rows;
    complex<double> sum{};
    for (std::int32_t k = range; k < blocks.count * lanes; k += ranges) {
      const std::int32_t s = (blocks.first + block_of(k) * blocks.step) * lanes + lane_of(k);
      if (!padded.has(s)) continue;
      const site_reader<T> left(v, s, i, components), right(w, s, j, components);
      for (int g = 0; g < groups_of(components); ++g) {
        complex<real_of<T>> x[group_size], y[group_size];
        left.read(g, x);
        right.read(g, y);
        PLAQUETTE_GPU_UNROLL
        for (int c = 0; c < group_size; ++c)
          if (g * group_size + c < components) sum += conj(complex_cast<double>(x[c])) * complex_cast<double>(y[c]);
      }
    }
    partial[index] = sum;
  }
};

/// Adds up parts of a matrix, `of_group` of them. Index: elements, then groups of parts.
template <class Real>
struct sum_of_parts {
  const complex<Real>* partial;
  std::int64_t element_stride, part_stride, elements;
  std::int32_t parts, of_group;
  complex<double>* sums;  ///< [group][element]

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t group = index / elements, element = index - group * elements;
    const std::int64_t first = group * of_group, end = first + of_group < parts ? first + of_group : parts;
    complex<double> sum{};
    for (std::int64_t k = first; k < end; ++k)
      sum += complex_cast<double>(partial[element * element_stride + k * part_stride]);
    sums[index] = sum;
  }
};

/// products += the sum of parts of a matrix on the device.
template <class Real>
void add_parts(const context& ctx, std::vector<complex<double>>& products, const std::shared_ptr<std::byte>& partial,
               std::int64_t element_stride, std::int64_t part_stride, std::int32_t parts) {
  constexpr std::int32_t of_group = 32;  // in sequence
  const auto elements = static_cast<std::int64_t>(products.size());
  const std::int32_t groups = (parts + of_group - 1) / of_group;
  const std::size_t bytes = sizeof(complex<double>) * products.size();
  auto sums = ctx.workspace().take(bytes * static_cast<std::size_t>(groups));
  auto* const to = reinterpret_cast<complex<double>*>(sums.get());
  for_each_index(ctx.queue(), elements * groups,
                 sum_of_parts<Real>{reinterpret_cast<const complex<Real>*>(partial.get()), element_stride, part_stride,
                                    elements, parts, of_group, to},
                 128);
  if (groups > 1) {
    const auto of_groups = std::exchange(sums, ctx.workspace().take(bytes));
    for_each_index(
        ctx.queue(), elements,
        sum_of_parts<double>{to, 1, elements, elements, groups, groups, reinterpret_cast<complex<double>*>(sums.get())},
        128);
  }
  std::vector<complex<double>> found(products.size());
  copy_to_host(ctx.queue(), found.data(), sums.get(), bytes);
  for (std::size_t k = 0; k < found.size(); ++k) products[k] += found[k];
}

/// Variant 1: products += V^+ W over some blocks, each thread on its own.
template <class T>
void add_products_of_sites(std::vector<complex<double>>& products, const field<T>& v, const field<T>& w,
                           const block_list& blocks) {
  const context& ctx = v.get_context();
  const std::int32_t ranges = std::min(blocks.count * lanes, 256);
  const auto pairs = static_cast<std::int64_t>(products.size());
  const auto partial = ctx.workspace().take(sizeof(complex<double>) * static_cast<std::size_t>(pairs * ranges));
  for_each_index(ctx.queue(), pairs * ranges,
                 products_of_ranges<T>{v.sites(0), w.sites(0), v.components(), blocks, ranges, v.columns(),
                                       padded_sites(ctx.order()), reinterpret_cast<complex<double>*>(partial.get())},
                 128);
  add_parts<double>(ctx, products, partial, ranges, 1, ranges);
}

/// Whether a column of a block is one stretch of numbers, with nothing between them.
template <class T>
bool is_dense(const field<T>& x) {
  return x.components() % numbers_of_chunk<T> == 0;
}
template <class T>
const complex<T>* numbers_of(const field<T>& x, std::int32_t block) {
  const spinor_pointer<const T> sites = x.sites(0);
  return reinterpret_cast<const complex<T>*>(sites.begin + block * sites.block_stride);
}
template <class T>
complex<T>* numbers_of(field<T>& x, std::int32_t block) {
  return const_cast<complex<T>*>(numbers_of(std::as_const(x), block));
}
/// Numbers from a block to the next.
template <class T>
long long numbers_of_block(const field<T>& x) {
  return x.sites(0).block_stride / static_cast<long long>(sizeof(complex<T>));
}

/// Returns whether the kernels of basis_tiles.hpp take `columns` columns on the other side. For many columns they read
/// V several times, and cuBLAS is better if it is installed.
bool in_tiles(const context& ctx, int columns) {
#ifdef __CUDACC__
  return ctx.device().compute_capability >= 90 && (columns <= 6 * tile_columns || !has_cublas(ctx.queue()));
#else
  static_cast<void>(ctx), static_cast<void>(columns);
  return false;
#endif
}

/// Returns whether they make V^+ W too: in double precision cuBLAS is better where many of their warps have nothing to
/// do.
template <class T>
bool makes_products_in_tiles(const context& ctx, int v_columns, int w_columns) {
#ifdef __CUDACC__
  return in_tiles(ctx, w_columns) &&
         (sizeof(T) == 4 || 8 * warps_of_products(v_columns) >= 7 * started_warps_of_products(v_columns) ||
          !has_cublas(ctx.queue()));
#else
  static_cast<void>(ctx), static_cast<void>(v_columns), static_cast<void>(w_columns);
  return false;
#endif
}

#ifdef __CUDACC__
/// products += V^+ W over `count` blocks from `first` on, on the tensor cores.
template <class T>
void add_products_in_tiles(std::vector<complex<double>>& products, const field<T>& v, const field<T>& w,
                           std::int32_t first, std::int32_t count) {
  if (count == 0) return;
  const context& ctx = v.get_context();
  const auto pairs = static_cast<std::int64_t>(products.size());
  // One round of blocks: as many ranges as the device holds blocks for.
  const std::int64_t most = std::max(1, blocks_at_once(ctx.device().multiprocessors, v.columns(), w.columns()));
  const auto of_range = static_cast<std::int32_t>((count + most - 1) / most);
  const std::int32_t ranges = (count + of_range - 1) / of_range;
  const auto partial = ctx.workspace().take(sizeof(complex<double>) * static_cast<std::size_t>(pairs * ranges));
  const auto blocks_of = [&](const field<T>& x) {
    return basis_blocks<T>{numbers_of(x, first), numbers_of_block(x), x.columns()};
  };
  launch_products_in_tiles(ctx.queue(), blocks_of(v), blocks_of(w), v.components() * lanes, count, of_range,
                           reinterpret_cast<complex<double>*>(partial.get()));
  add_parts<double>(ctx, products, partial, 1, pairs, ranges);
}
#endif

/// The same as products of matrices. Each group of blocks adds to a matrix of its own. A launch takes one block of
/// every group, which is enough work for the device.
template <class T>
void add_products_of_blocks(std::vector<complex<double>>& products, const field<T>& v, const field<T>& w,
                            std::int32_t first, std::int32_t count) {
  if (count == 0) return;
  constexpr std::int64_t tile = 64 * 32, enough_tiles = 1024;
  const context& ctx = v.get_context();
  const auto pairs = static_cast<std::int64_t>(products.size());
  const auto groups = static_cast<std::int32_t>(
      std::min<std::int64_t>(count, std::clamp<std::int64_t>(enough_tiles * tile / pairs, 4, 512)));
  const std::int32_t of_group = (count + groups - 1) / groups, whole_groups = count / of_group;
  const auto partial = ctx.workspace().take(sizeof(complex<T>) * static_cast<std::size_t>(pairs * (whole_groups + 1)));
  matrix_products<T> work;
  work.adjoint = true;
  work.rows = v.columns();
  work.columns = w.columns();
  work.inner = v.components() * lanes;
  work.a_column = work.b_column = work.inner;
  work.a_next = of_group * numbers_of_block(v);
  work.b_next = of_group * numbers_of_block(w);
  work.c = reinterpret_cast<complex<T>*>(partial.get());
  work.c_column = v.columns();
  work.c_next = pairs;
  for (std::int32_t k = 0; k < of_group; ++k) {
    // The last group may be shorter.
    const bool in_last = whole_groups * of_group + k < count;
    work.a = numbers_of(v, first + k);
    work.b = numbers_of(w, first + k);
    work.beta = k == 0 ? T(0) : T(1);
    work.batches = whole_groups + (in_last ? 1 : 0);
    multiply_matrices(ctx.queue(), work);
  }
  const std::int32_t parts = whole_groups + (whole_groups * of_group < count ? 1 : 0);
  add_parts<T>(ctx, products, partial, 1, pairs, parts);
}

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

/// A matrix of the host on the device, times a factor.
template <class T>
std::shared_ptr<std::byte> matrix_on_device(const context& ctx, std::span<const complex<double>> c, double factor) {
  std::vector<complex<T>> numbers;
  numbers.reserve(c.size());
  for (const complex<double>& z : c) numbers.push_back(complex_cast<T>(factor * z));
  const std::size_t bytes = sizeof(complex<T>) * numbers.size();
  auto memory = ctx.workspace().take(std::max<std::size_t>(bytes, 1));
  copy_to_device(ctx.queue(), memory.get(), numbers.data(), bytes);
  return memory;
}

/// The matrix for `multiply_blocks`, for which the kernels of basis_tiles.hpp take double numbers.
template <class T>
std::shared_ptr<std::byte> matrix_of_blocks(const context& ctx, std::span<const complex<double>> c, int columns,
                                            double factor) {
  return in_tiles(ctx, columns) ? matrix_on_device<double>(ctx, c, factor) : matrix_on_device<T>(ctx, c, factor);
}

/// Blocks of columns of a result, one behind the other.
template <class T>
struct column_blocks {
  complex<T>* begin;
  long long block_stride;  ///< numbers
  std::int32_t columns;
};

/// target = V C over some blocks, or that is added, as products of matrices.
template <class T>
void multiply_blocks(const field<T>& v, std::int32_t first, std::int32_t count, const column_blocks<T>& target,
                     const std::byte* c, bool add) {
  const context& ctx = v.get_context();
#ifdef __CUDACC__
  if (in_tiles(ctx, target.columns))
    return launch_combine_in_tiles<T>(ctx.queue(), {numbers_of(v, first), numbers_of_block(v), v.columns()},
                                      target.begin, target.block_stride, target.columns, v.components() * lanes, count,
                                      reinterpret_cast<const complex<double>*>(c), add);
#endif
  matrix_products<T> work;
  work.rows = work.a_column = work.c_column = v.components() * lanes;
  work.columns = target.columns;
  work.inner = work.b_column = v.columns();
  work.a = numbers_of(v, first);
  work.b = reinterpret_cast<const complex<T>*>(c);
  work.c = target.begin;
  work.beta = add ? T(1) : T(0);
  work.a_next = numbers_of_block(v);
  work.c_next = target.block_stride;
  work.batches = count;
  multiply_matrices(ctx.queue(), work);
}
/// Whether that can be done.
template <class T>
bool multiplies_blocks(const field<T>& v, int columns) {
  const context& ctx = v.get_context();
  return is_dense(v) && (in_tiles(ctx, columns) || has_cublas(ctx.queue()));
}

template <class T>
void add_products(field<T>& target, const field<T>& v, std::span<const complex<double>> c, bool add, double factor) {
  require_same_sites(target, v);
  require_size(c, v.columns(), target.columns());
  const context& ctx = v.get_context();
  if (multiplies_blocks(v, target.columns())) {
    const auto memory = matrix_of_blocks<T>(ctx, c, target.columns(), factor);
    return multiply_blocks(v, 0, v.all_blocks(),
                           column_blocks<T>{numbers_of(target, 0), numbers_of_block(target), target.columns()},
                           memory.get(), add);
  }
  const auto memory = matrix_on_device<T>(ctx, c, factor);
  const auto* const matrix = reinterpret_cast<const complex<T>*>(memory.get());
  const std::int32_t sites = padded_count(v);
  for_each_index(ctx.queue(), std::int64_t{sites} * target.columns(),
                 combination_of_site<T>{target.sites(0), v.sites(0), v.components(), sites, v.columns(),
                                        add ? T(1) : T(0), matrix, padded_sites(ctx.order())},
                 128);
}

/// Blocks of bytes to places in a field, 16 bytes an index.
struct put_blocks {
  const std::byte* from;
  std::byte* to;
  std::int64_t block_bytes, to_stride;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t at = index * chunk_bytes, block = at / block_bytes;
    store_chunk(to + block * to_stride + (at - block * block_bytes), load_chunk(from + at));
  }
};

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
  const std::int32_t of_part = v.order().blocks();
  std::vector<complex<double>> products(static_cast<std::size_t>(v.columns()) * static_cast<std::size_t>(w.columns()));
  const bool tiles = makes_products_in_tiles<T>(ctx, v.columns(), w.columns());
  if (is_dense(v) && (tiles || has_cublas(ctx.queue()))) {
    const auto add = [&](std::int32_t first, std::int32_t count) {
#ifdef __CUDACC__
      if (tiles) return add_products_in_tiles(products, v, w, first, count);
#endif
      add_products_of_blocks(products, v, w, first, count);
    };
    const bool has_padding = v.order().sites % lanes != 0;  // which may hold anything
    if (has_padding) {
      for (int part = 0; part < v.parts(); ++part) add(part * of_part, of_part - 1);
      add_products_of_sites(products, v, w, {of_part - 1, of_part, v.parts()});
    } else {
      add(0, v.all_blocks());
    }
  } else {
    add_products_of_sites(products, v, w, {0, 1, v.all_blocks()});
  }
  ctx.comm().sum(std::span(&products.data()->re, 2 * products.size()));
  return products;
}

template <class T>
void subtract_combinations(field<T>& w, const field<T>& v, std::span<const complex<double>> c) {
  add_products(w, v, c, true, -1.0);
}
template <class T>
void add_combinations(field<T>& w, const field<T>& v, std::span<const complex<double>> c) {
  add_products(w, v, c, true, 1.0);
}
template <class T>
void combine(field<T>& out, const field<T>& v, std::span<const complex<double>> q) {
  add_products(out, v, q, false, 1.0);
}

template <class T>
void rotate(field<T>& v, std::span<const complex<double>> q, int count) {
  if (count < 0 || count > v.columns()) throw std::logic_error("basis: a rotation to more columns than there are");
  require_size(q, v.columns(), count);
  if (count == 0) return;
  const context& ctx = v.get_context();
  if (!multiplies_blocks(v, count)) {
    field<T> result = like(v, count), first = view(v, 0, count);
    combine(result, v, q);
    return copy(first, result);
  }
  const auto memory = matrix_of_blocks<T>(ctx, q, count, 1.0);
  // Room for a part of the result: enough for the device to be busy.
  constexpr std::int64_t most_bytes = std::int64_t{1} << 29;
  const spinor_pointer<T> sites = v.sites(0);
  const std::int64_t block_bytes = std::int64_t{count} * sites.column_stride;
  const auto at_once = static_cast<std::int32_t>(std::clamp<std::int64_t>(most_bytes / block_bytes, 1, v.all_blocks()));
  const auto room = ctx.workspace().take(static_cast<std::size_t>(at_once * block_bytes));
  for (std::int32_t first = 0; first < v.all_blocks(); first += at_once) {
    const std::int32_t blocks = std::min(at_once, v.all_blocks() - first);
    multiply_blocks(v, first, blocks,
                    column_blocks<T>{reinterpret_cast<complex<T>*>(room.get()),
                                     block_bytes / static_cast<long long>(sizeof(complex<T>)), count},
                    memory.get(), false);
    for_each_index(ctx.queue(), blocks * block_bytes / chunk_bytes,
                   put_blocks{room.get(), sites.begin + first * sites.block_stride, block_bytes, sites.block_stride});
  }
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
                 project_chirality<T>{out.sites(0), in.sites(0), walk, static_cast<real_of<T>>(chirality_sign(sign))},
                 128);
}

template <class T>
void take_chirality(field<T>& half_vectors, const field<T>& full, int sign) {
  require_spinors(full, spins / 2, half_vectors);
  const spinor_sites<T> walk(full);
  for_each_index(
      full.get_context().queue(), walk.count(full),
      chirality_of_site<T>{half_vectors.sites(0), full.sites(0), walk, static_cast<real_of<T>>(inverse_root_two),
                           static_cast<real_of<T>>(chirality_sign(sign))},
      128);
}

template <class T>
void put_chirality(field<T>& full, const field<T>& half_vectors, int sign) {
  require_spinors(full, spins / 2, half_vectors);
  const spinor_sites<T> walk(full);
  for_each_index(
      full.get_context().queue(), walk.count(full),
      site_of_chirality<T>{full.sites(0), half_vectors.sites(0), walk, static_cast<real_of<T>>(inverse_root_two),
                           static_cast<real_of<T>>(chirality_sign(sign))},
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
template void put_chirality(field<float_pair>&, const field<float_pair>&, int);

#define PLAQUETTE_INSTANTIATE(T)                                                                     \
  template std::vector<complex<double>> inner_products(const field<T>&, const field<T>&);            \
  template void subtract_combinations(field<T>&, const field<T>&, std::span<const complex<double>>); \
  template void add_combinations(field<T>&, const field<T>&, std::span<const complex<double>>);      \
  template void combine(field<T>&, const field<T>&, std::span<const complex<double>>);               \
  template void rotate(field<T>&, std::span<const complex<double>>, int);
PLAQUETTE_INSTANTIATE(float)
PLAQUETTE_INSTANTIATE(double)
#undef PLAQUETTE_INSTANTIATE

}  // namespace plaquette::gpu
