// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/fields/field.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "common/algebra/float_pair.hpp"
#include "common/lattice/conversion_counts.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/fields/number_groups.hpp"

namespace plaquette::gpu {

namespace {

/// Numbers of columns that travel with a launch.
constexpr int listed_columns = 128;

struct column_list {
  std::int32_t column[listed_columns];
};

column_list list_of(std::span<const int> columns) {
  column_list list{};
  std::ranges::copy(columns, list.column);
  return list;
}

/// Column from[k] of one field becomes column to[k] of another; an index is a chunk of a column of a block.
struct column_copy {
  std::byte* to;
  const std::byte* from;
  std::int64_t to_block_stride, from_block_stride;
  std::int32_t column_stride;
  divisor pieces_of_column, columns;
  column_list to_column, from_column;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const byte_piece piece(index);
    const std::int32_t rest = pieces_of_column.quotient(piece.number), block = columns.quotient(rest);
    const std::int32_t k = rest - block * columns.value;
    const std::int32_t offset = (piece.number - rest * pieces_of_column.value) * byte_piece::bytes + piece.offset;
    store_chunk(
        to + block * to_block_stride + std::int64_t{to_column.column[k]} * column_stride + offset,
        load_chunk(from + block * from_block_stride + std::int64_t{from_column.column[k]} * column_stride + offset));
  }
};

/// Moves columns to the front of each block; an index is a chunk of a block's column, and takes it through all columns.
/// They are ascending, so every chunk moves over one that has moved already.
struct column_compaction {
  std::byte* begin;
  std::int64_t block_stride;
  std::int32_t column_stride, first, count;
  divisor pieces_of_column;
  column_list keep;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const byte_piece piece(index);
    const std::int32_t block = pieces_of_column.quotient(piece.number);
    std::byte* const at = begin + block * block_stride +
                          (piece.number - block * pieces_of_column.value) * byte_piece::bytes + piece.offset;
    for (std::int32_t k = 0; k < count; ++k)
      store_chunk(at + std::int64_t{first + k} * column_stride,
                  load_chunk(at + std::int64_t{keep.column[k]} * column_stride));
  }
};

/// Both of these step through the columns of a view block by block, or through all memory of a field that is none.
template <class T>
struct zero_kernel {
  spinor_pointer<T> x;
  divisor pieces, pieces_of_column;  ///< of a block
  std::int32_t pieces_before_scales;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const byte_piece piece(index);
    const std::int32_t block = pieces.quotient(piece.number), at = piece.number - block * pieces.value;
    chunk zero{};
    if constexpr (is_half<T>) {
      if (at - pieces_of_column.quotient(at) * pieces_of_column.value < pieces_before_scales)
        zero = {{0x80008000U, 0x80008000U, 0x80008000U, 0x80008000U}};  // the integer 0
    }
    store_chunk(x.begin + block * x.block_stride + at * byte_piece::bytes + piece.offset, zero);
  }
};
template <class T>
struct copy_kernel {
  spinor_pointer<T> x;
  spinor_pointer<const T> u;
  divisor pieces;  ///< of a block

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const byte_piece piece(index);
    const std::int32_t block = pieces.quotient(piece.number);
    const std::int32_t offset = (piece.number - block * pieces.value) * byte_piece::bytes + piece.offset;
    store_chunk(x.begin + block * x.block_stride + offset, load_chunk(u.begin + block * u.block_stride + offset));
  }
};

/// Pieces of 128 bytes of a block, all columns.
template <class T>
std::int32_t pieces_of_block(const field<T>& x) {
  return column_bytes<T>(x.components()) / byte_piece::bytes * x.columns();
}

/// components: of a site, or 0 if only `given` knows.
template <class To, class From, int components>
struct conversion {
  spinor_pointer<To> to;
  spinor_pointer<const From> from;
  padded_sites sites;
  divisor columns;
  std::int32_t given;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const auto warp = static_cast<std::int32_t>(index / lanes);
    const std::int32_t block = columns.quotient(warp), column = warp - block * columns.value;
    const std::int32_t i = block * lanes + static_cast<std::int32_t>(index % lanes);
    if (!sites.has(i)) return;
    if constexpr (components > 0) {
      complex<real_of<From>> read[components];
      complex<real_of<To>> numbers[components];
      load_site<From>(from, i, column, read);
      PLAQUETTE_GPU_UNROLL
      for (int k = 0; k < components; ++k) numbers[k] = complex_cast<real_of<To>>(read[k]);
      store_site(to, i, column, numbers);
    } else {
      convert_groups(i, column);
    }
  }

  /// Half needs to see a site twice: for its scale, then for its numbers.
  PLAQUETTE_HOST_DEVICE void convert_groups(std::int32_t i, int column) const {
    const site_reader<From> reader(from, i, column, given);
    const int chunks = chunks_of<To>(given);
    complex<real_of<From>> read[group_size];
    float inverse = 1.0F;
    if constexpr (is_half<To>) {
      float largest = 0.0F;
      for (int g = 0; g < groups_of(given); ++g) {
        reader.read(g, read);
        largest = largest_of(largest, read);
      }
      const site_scale s = scale_of(largest);
      *to.scale(i, column, chunks) = s.scale;
      inverse = s.inverse;
    }
    for (int g = 0; g < groups_of(given); ++g) {
      reader.read(g, read);
      complex<real_of<To>> numbers[group_size];
      PLAQUETTE_GPU_UNROLL
      for (int k = 0; k < group_size; ++k) numbers[k] = complex_cast<real_of<To>>(read[k]);
      store_group<To>(to.site(i, column), g, chunks, pack_group<To>(numbers, inverse));
    }
  }
};

/// Chunks of a column of all blocks of all parts.
template <class T>
std::int64_t chunks_of_all(const field<T>& x) {
  return x.all_blocks() * std::int64_t{column_bytes<T>(x.components()) / chunk_bytes};
}

}  // namespace

template <class T>
field<T>::field(const context& ctx, const field_shape& shape) : context_(ctx), shape_(shape) {
  if (shape.columns < 0 || shape.spins < 1 || shape.colours < 1) throw std::invalid_argument("field: impossible shape");
  block_stride_ = std::int64_t{shape.columns} * column_bytes<T>(components());
  storage_ = context_.workspace().take(static_cast<std::size_t>(block_stride_ * all_blocks()));
  begin_ = storage_.get();
  // Kernels leave padding unchanged, but copies move it with the rest: it must not be undefined.
  if (order().sites % lanes != 0)
    for (int part = 0; part < parts(); ++part)
      fill_bytes(context_.queue(), begin_ + (part + 1) * part_stride() - block_stride_, 0,
                 static_cast<std::size_t>(block_stride_));
}

template <class T>
field<T> field<T>::parity(int p) const {
  if (shape_.sites != site_subset::full) throw std::logic_error("field::parity: only a full field has two parities");
  field half = *this;
  half.shape_.sites = p == 0 ? site_subset::even : site_subset::odd;
  half.begin_ = begin_ + p * part_stride();
  return half;
}

template <class T>
scalars make_scalars(const field<T>& x, std::span<const complex<double>> numbers) {
  if (static_cast<int>(numbers.size()) != x.columns()) throw std::logic_error("make_scalars: one number a column");
  return scalars(x.get_context(), numbers);
}

template <class T>
void zero(field<T>& x) {
  if (x.columns() == 0) return;
  const std::int32_t pieces = pieces_of_block(x);
  for_each_index(x.get_context().queue(), std::int64_t{byte_piece::chunks} * pieces * x.all_blocks(),
                 zero_kernel<T>{x.sites(0), divisor(pieces), divisor(pieces / x.columns()),
                                chunks_of<T>(x.components()) * chunk_stride / byte_piece::bytes});
}
template <class T>
void copy(field<T>& x, const field<T>& u) {
  if (!(x.shape() == u.shape())) throw std::logic_error("copy: fields of different shapes");
  if (x.columns() == 0) return;
  const std::int32_t pieces = pieces_of_block(x);
  for_each_index(x.get_context().queue(), std::int64_t{byte_piece::chunks} * pieces * x.all_blocks(),
                 copy_kernel<T>{x.sites(0), u.sites(0), divisor(pieces)});
}
template <class T>
field<T> view(const field<T>& x, int first, int count) {
  if (first < 0 || count < 0 || first + count > x.columns()) throw std::logic_error("view: columns out of range");
  field<T> part = x;
  part.begin_ = x.begin_ + std::int64_t{first} * column_bytes<T>(x.components());
  part.shape_.columns = count;
  return part;
}

template <class T>
void compact(field<T>& x, std::span<const int> keep) {
  const std::int32_t stride = column_bytes<T>(x.components());
  for (std::size_t first = 0; first < keep.size(); first += listed_columns) {
    const auto some = keep.subspan(first, std::min<std::size_t>(listed_columns, keep.size() - first));
    for_each_index(
        x.get_context().queue(), chunks_of_all(x),
        column_compaction{x.begin_, x.block_stride_, stride, static_cast<std::int32_t>(first),
                          static_cast<std::int32_t>(some.size()), divisor(stride / byte_piece::bytes), list_of(some)});
  }
  x.shape_.columns = static_cast<int>(keep.size());
}

template <class T>
void copy_columns(field<T>& x, std::span<const int> to, const field<T>& u, std::span<const int> from) {
  if (to.size() != from.size() || x.parts() != u.parts() || x.components() != u.components())
    throw std::logic_error("copy_columns: shapes differ");
  const std::int32_t stride = column_bytes<T>(x.components());
  const auto into = x.sites(0);
  const auto source = u.sites(0);
  for (std::size_t first = 0; first < to.size(); first += listed_columns) {
    const std::size_t count = std::min<std::size_t>(listed_columns, to.size() - first);
    for_each_index(x.get_context().queue(), chunks_of_all(x) * static_cast<std::int64_t>(count),
                   column_copy{into.begin, source.begin, into.block_stride, source.block_stride, stride,
                               divisor(stride / byte_piece::bytes), divisor(static_cast<std::int32_t>(count)),
                               list_of(to.subspan(first, count)), list_of(from.subspan(first, count))});
  }
}

template <class T>
int columns_at_once(const field<T>& x, int /*vectors*/) {
  return std::max(x.columns(), 1);
}

namespace {

/// Sites that are staged at a time.
constexpr std::int64_t staged_bytes = std::int64_t{16} << 20;

/// Returns how many blocks of a column fit into `room` bytes, at least 1.
template <class T>
std::int32_t blocks_of_stretch(const field<T>& x, std::int64_t room) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(room / column_bytes<T>(x.components()), 1, x.all_blocks()));
}

/// Visits a column block by block as it lies in memory, a stretch of blocks of the host's page-locked memory at a time.
/// Calls visit(pointer to the stretch, its first block, its number of blocks), blocks of all parts counted on.
template <class T, class Visit>
void for_each_stretch(const field<T>& x, Visit&& visit) {
  const std::int64_t bytes = column_bytes<T>(x.components());
  const std::int32_t at_once = blocks_of_stretch(x, staged_bytes);
  std::byte* const staged = x.get_context().queue().staging(static_cast<std::size_t>(at_once * bytes));
  for (std::int32_t first = 0; first < x.all_blocks(); first += at_once)
    visit(staged, first, std::min(at_once, x.all_blocks() - first));
}

/// Room for the numbers of a site, which a thread uses for one site after the other. On the stack for a Dirac spinor,
/// on the heap for larger sites.
class numbers_of_site {
 public:
  explicit numbers_of_site(int components)
      : many_(components > static_cast<int>(few_.size()) ? static_cast<std::size_t>(components) : 0) {}
  complex<double>* data() { return many_.empty() ? few_.data() : many_.data(); }

 private:
  std::array<complex<double>, spins * colours> few_;
  std::vector<complex<double>> many_;
};

/// Calls visit(part, site i of it, site's place in the stretch, room for its numbers) for the sites of a stretch.
template <class T, class Visit>
void for_each_site_of_stretch(const field<T>& x, std::int32_t first, std::int32_t blocks, Visit&& visit) {
  const site_order& order = x.order();
#pragma omp parallel
  {
    numbers_of_site numbers(x.components());
#pragma omp for schedule(static)
    for (std::int32_t b = 0; b < blocks; ++b)
      for (int lane = 0; lane < lanes; ++lane) {
        const int part = (first + b) / order.blocks();
        const std::int32_t i = ((first + b) % order.blocks()) * lanes + lane;
        if (i < order.sites) visit(part, i, b * lanes + lane, numbers.data());
      }
  }
}

/// One site of any shape from numbers of the host, rounded.
template <class T>
void write_site(const spinor_pointer<T>& to, std::int32_t i, int components, const complex<double>* numbers) {
  const int chunks = chunks_of<T>(components);
  const auto group = [&](int g) {
    std::array<complex<real_of<T>>, group_size> z{};
    for (int k = 0; k < group_size && g * group_size + k < components; ++k)
      z[static_cast<std::size_t>(k)] = complex_cast<real_of<T>>(numbers[g * group_size + k]);
    return z;
  };
  float inverse = 1.0F;
  if constexpr (is_half<T>) {
    float largest = 0.0F;
    for (int k = 0; k < components; ++k)
      largest = larger_magnitude_of(larger_magnitude_of(largest, static_cast<float>(numbers[k].re)),
                                    static_cast<float>(numbers[k].im));
    const site_scale s = scale_of(largest);
    *to.scale(i, 0, chunks) = s.scale;
    inverse = s.inverse;
  }
  for (int g = 0; g < groups_of(components); ++g) {
    complex<real_of<T>> z[group_size];
    std::ranges::copy(group(g), z);
    store_group<T>(to.site(i, 0), g, chunks, pack_group<T>(z, inverse));
  }
}

template <class T>
void read_site(const spinor_pointer<const T>& from, std::int32_t i, int components, complex<double>* numbers) {
  const site_reader<T> reader(from, i, 0, components);
  for (int g = 0; g < groups_of(components); ++g) {
    complex<real_of<T>> z[group_size];
    reader.read(g, z);
    for (int k = 0; k < group_size && g * group_size + k < components; ++k)
      numbers[g * group_size + k] = complex_cast<double>(z[k]);
  }
}

template <class T>
void require_column(const field<T>& x, int column) {
  if (column < 0 || column >= x.columns()) throw std::logic_error("field: no such column");
}

/// numbers_of(part, i, numbers) gives the numbers of a site.
template <class T, class NumbersOf>
void upload_column(field<T>& x, int column, NumbersOf&& numbers_of) {
  require_column(x, column);
  const std::int32_t bytes = column_bytes<T>(x.components());
  const queue& q = x.get_context().queue();
  const auto all = x.sites(0);
  for_each_stretch(x, [&](std::byte* staged, std::int32_t first, std::int32_t blocks) {
    const spinor_pointer<T> to{staged, bytes, bytes};
    q.synchronize();  // the copy of the stretch before
    for_each_site_of_stretch(x, first, blocks,
                             [&](int part, std::int32_t i, std::int32_t place, complex<double>* numbers) {
                               numbers_of(part, i, numbers);
                               write_site(to, place, x.components(), numbers);
                             });
    copy_rows_to_device(q, {static_cast<std::size_t>(blocks), static_cast<std::size_t>(bytes)},
                        all.begin + first * all.block_stride + std::int64_t{column} * bytes,
                        static_cast<std::size_t>(all.block_stride), staged, static_cast<std::size_t>(bytes));
  });
  q.synchronize();  // staging is anyone's again
}

/// take(part, i, numbers) gets the numbers of a site. While numbers of a stretch of blocks are read the next one comes.
template <class T, class Take>
void download_column(const field<T>& x, int column, Take&& take) {
  require_column(x, column);
  const std::int32_t bytes = column_bytes<T>(x.components()), all_blocks = x.all_blocks();
  const std::int32_t at_once = blocks_of_stretch(x, staged_bytes / 2);
  const queue& q = x.get_context().queue();
  const auto all = x.sites(0);
  std::byte* const staged =
      q.staging(static_cast<std::size_t>(2) * static_cast<std::size_t>(at_once) * static_cast<std::size_t>(bytes));
  const auto place_of = [&](std::int32_t first) {
    return staged + std::int64_t{first / at_once % 2} * at_once * bytes;
  };
  const auto blocks_from = [&](std::int32_t first) { return std::min(at_once, all_blocks - first); };
  const auto fetch = [&](std::int32_t first) {
    copy_rows_to_host(q, {static_cast<std::size_t>(blocks_from(first)), static_cast<std::size_t>(bytes)},
                      place_of(first), static_cast<std::size_t>(bytes),
                      all.begin + first * all.block_stride + std::int64_t{column} * bytes,
                      static_cast<std::size_t>(all.block_stride));
  };
  fetch(0);
  for (std::int32_t first = 0; first < all_blocks; first += at_once) {
    q.synchronize();
    if (first + at_once < all_blocks) fetch(first + at_once);
    const spinor_pointer<const T> from{place_of(first), bytes, bytes};
    for_each_site_of_stretch(x, first, blocks_from(first),
                             [&](int part, std::int32_t i, std::int32_t place, complex<double>* numbers) {
                               read_site(from, place, x.components(), numbers);
                               take(part, i, numbers);
                             });
  }
}

template <class T>
void require_dirac_spinors(const field<T>& x) {
  if (x.shape().spins != spins || x.shape().colours != colours)
    throw std::logic_error("a canonical spinor field has 4 spins and 3 colours");
}

template <class T>
coordinate coordinate_of_site(const field<T>& x, int part, std::int32_t i) {
  const site_coordinate at = x.order().coordinate_of(x.parity_of_part(part), i);
  return {at.x[0], at.x[1], at.x[2], at.x[3]};
}

}  // namespace

template <class T>
void import_column(field<T>& x, int column, const spinor_configuration& from) {
  require_dirac_spinors(x);
  count_conversions({.from_host_fields = 1});
  upload_column(x, column, [&](int part, std::int32_t i, complex<double>* numbers) {
    const spinor<double>& psi = from(coordinate_of_site(x, part, i));
    for (int k = 0; k < spins * colours; ++k) numbers[k] = psi(k / colours, k % colours);
    rotate_spin_basis(numbers, colours);
  });
}

template <class T>
void export_column(spinor_configuration& to, const field<T>& x, int column) {
  require_dirac_spinors(x);
  count_conversions({.to_host_fields = 1});
  if (x.parts() == 1)
    for (std::int64_t s = 0; s < to.geometry().local_volume(); ++s) to.at_site(s) = {};
  download_column(x, column, [&](int part, std::int32_t i, complex<double>* numbers) {
    rotate_spin_basis(numbers, colours);
    spinor<double>& psi = to(coordinate_of_site(x, part, i));
    for (int k = 0; k < spins * colours; ++k) psi(k / colours, k % colours) = numbers[k];
  });
}

template <class T>
std::vector<complex<double>> column_numbers(const field<T>& x, int column) {
  const auto components = static_cast<std::size_t>(x.components()), sites = static_cast<std::size_t>(x.order().sites);
  std::vector<complex<double>> all(static_cast<std::size_t>(x.parts()) * sites * components);
  download_column(x, column, [&](int part, std::int32_t i, const complex<double>* numbers) {
    std::copy_n(numbers, components,
                all.begin() + static_cast<std::ptrdiff_t>(
                                  (static_cast<std::size_t>(part) * sites + static_cast<std::size_t>(i)) * components));
  });
  return all;
}

template <class T>
void set_column_numbers(field<T>& x, int column, std::span<const complex<double>> numbers) {
  const auto components = static_cast<std::size_t>(x.components()), sites = static_cast<std::size_t>(x.order().sites);
  if (numbers.size() != static_cast<std::size_t>(x.parts()) * sites * components)
    throw std::logic_error("set_column_numbers: one number a component and site");
  upload_column(x, column, [&](int part, std::int32_t i, complex<double>* of_site) {
    std::copy_n(numbers.data() + (static_cast<std::size_t>(part) * sites + static_cast<std::size_t>(i)) * components,
                components, of_site);
  });
}

namespace {

template <int components, class To, class From>
void launch_conversion(field<To>& to, const field<From>& from) {
  for_each_index(to.get_context().queue(), std::int64_t{lanes} * to.all_blocks() * to.columns(),
                 conversion<To, From, components>{to.sites(0), from.sites(0), padded_sites(to.order()),
                                                  divisor(to.columns()), to.components()});
}

}  // namespace

template <class To, class From>
void convert(field<To>& to, const field<From>& from) {
  if (!(to.shape() == from.shape())) throw std::logic_error("convert: shapes differ");
  if (to.columns() == 0) return;
  if constexpr (std::is_same_v<To, From>) {
    copy(to, from);  // bits and all: a scale would be rounded once more
  } else {
    switch (to.components()) {
      case 12:
        return launch_conversion<12>(to, from);
      case 6:
        return launch_conversion<6>(to, from);
      default:
        return launch_conversion<0>(to, from);
    }
  }
}

#define PLAQUETTE_INSTANTIATE(T)                                                                      \
  template class field<T>;                                                                            \
  template scalars make_scalars(const field<T>&, std::span<const complex<double>>);                   \
  template void zero(field<T>&);                                                                      \
  template void copy(field<T>&, const field<T>&);                                                     \
  template field<T> view(const field<T>&, int, int);                                                  \
  template void compact(field<T>&, std::span<const int>);                                             \
  template void copy_columns(field<T>&, std::span<const int>, const field<T>&, std::span<const int>); \
  template int columns_at_once(const field<T>&, int);                                                 \
  template void import_column(field<T>&, int, const spinor_configuration&);                           \
  template void export_column(spinor_configuration&, const field<T>&, int);                           \
  template std::vector<complex<double>> column_numbers(const field<T>&, int);                         \
  template void set_column_numbers(field<T>&, int, std::span<const complex<double>>);                 \
  template void convert(field<T>&, const field<double>&);                                             \
  template void convert(field<T>&, const field<float_pair>&);                                         \
  template void convert(field<T>&, const field<float>&);                                              \
  template void convert(field<T>&, const field<half>&);
PLAQUETTE_INSTANTIATE(half)
PLAQUETTE_INSTANTIATE(float)
PLAQUETTE_INSTANTIATE(double)
PLAQUETTE_INSTANTIATE(float_pair)
#undef PLAQUETTE_INSTANTIATE

}  // namespace plaquette::gpu
