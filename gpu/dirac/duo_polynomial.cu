// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/dirac/duo_polynomial.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "common/algorithms/factored_polynomial.hpp"
#include "gpu/device/timing.hpp"
#include "gpu/dirac/duo_packing.hpp"
#include "gpu/dirac/hopping_kernels.hpp"
#include "gpu/fields/duo.hpp"
#include "gpu/fields/random_spinor.hpp"
#include "gpu/tuning/tuner.hpp"

namespace plaquette::gpu {

namespace {

/// Chunks of a site and pair of columns, of which each has four numbers: [block][pair][chunk][32].
constexpr int duo_chunks = 6;
constexpr int words_of_block = chiral_rows * chiral_rows / 2;
/// Shared memory of 32 sites: chunks of links and the last word of each, then chunks of blocks and their last words.
constexpr int link_chunks = 2 * hop_directions, block_chunks = 2 * words_of_block / 4;
constexpr int duo_block_bytes = (link_chunks + block_chunks) * chunk_stride + hop_directions * 4 * lanes;
static_assert(block_chunks * 4 == 2 * words_of_block);

/// What a kernel does besides the hops of `in`, h. A lacks its centre; x has the output's parity.
enum class duo_work {
  divide,       ///< stores A h
  multiply,     ///< stores h + (gain A + 2 diagonal - i turn) x
  add_to_field  ///< adds that to a field, in single precision, times numbers of columns
};

struct duo_arguments {
  hopping_arguments<half> arg;  ///< packed links and blocks of A, order, parity; the field that becomes larger
  const std::byte *in, *x;
  std::byte* out;
  const float* of_columns;
  int pairs;
  float diagonal, gain, factor;          ///< diagonal: of A too; factor: of what is added to a field
  std::uint32_t first_of_both = 0x1010;  ///< see both_by
  duo inside[hop_directions], across[hop_directions], turn;
};

/// A neighbour as `project` takes it.
struct loaded_duos {
  duo number[spinor_reals];

  template <spinor_part part>
  PLAQUETTE_KERNEL_INLINE void load(const std::byte* site) {
    constexpr int first = part == spinor_part::lower ? duo_chunks / 2 : 0;
    constexpr int last = part == spinor_part::upper ? duo_chunks / 2 : duo_chunks;
#pragma unroll
    for (int c = first; c < last; ++c) {
      const auto v = load_words<load_hint::ordered, 4>(site + c * chunk_stride);
#pragma unroll
      for (int j = 0; j < 4; ++j) number[4 * c + j].bits = v.w[j];
    }
  }
  PLAQUETTE_KERNEL_INLINE duo operator[](int k) const { return number[k]; }
  PLAQUETTE_KERNEL_INLINE static duo sum(duo a, duo b) { return a + b; }
  PLAQUETTE_KERNEL_INLINE static duo plain(duo a) { return a; }
};

PLAQUETTE_KERNEL_INLINE complex<duo>& number_of_spinor(spin_rows<duo, 4>& psi, int k) {
  return psi.z[k / colours][k % colours];
}

/// psi = a psi with the blocks of A that a thread has left in shared memory, halved.
template <bool two_pipes>
PLAQUETTE_KERNEL_INLINE void multiply_by_duo_blocks(spin_rows<duo, 4>& psi, const std::byte* blocks, std::uint32_t lane,
                                                    std::uint32_t first_of_both) {
  spin_rows<duo, 4> sum;
#pragma unroll
  for (int chirality = 0; chirality < 2; ++chirality) {
    std::uint32_t word[words_of_block + 2];
    constexpr int half_of_chunks = block_chunks / 2 + 1;  // 18 words: the middle chunk is of both
#pragma unroll
    for (int k = 0; k < half_of_chunks; ++k) {
      const auto v = load_words<load_hint::none, 4>(blocks + 16 * lane + (k + chirality * 4) * chunk_stride);
#pragma unroll
      for (int j = 0; j < 4; ++j) word[4 * k + j] = v.w[j];
    }
    const int first = chirality * 2;
    complex<duo> v[chiral_rows], r[chiral_rows];
#pragma unroll
    for (int k = 0; k < chiral_rows; ++k) {
      const complex<duo>&u = number_of_spinor(psi, k), &l = number_of_spinor(psi, k + chiral_rows);
      v[k] = chirality == 0 ? complex<duo>{u.re + l.re, u.im + l.im} : complex<duo>{u.re - l.re, u.im - l.im};
      const duo two{word[first + k / 2]}, a = k % 2 == 0 ? both_of<0>(two) : both_of<1>(two);
      r[k] = {a * v[k].re, a * v[k].im};
    }
#pragma unroll
    for (int row = 1; row < chiral_rows; ++row)
#pragma unroll
      for (int column = 0; column < row; ++column) {
        const duo e{word[first + chiral_rows / 2 + hermitian_6x6::lower_index(row, column)]};
        const duo re = two_pipes ? both_by(e, first_of_both) : both_of<0>(e), im = both_of<1>(e);
        r[row].re = multiply_add(re, v[column].re, multiply_add(-im, v[column].im, r[row].re));
        r[row].im = multiply_add(re, v[column].im, multiply_add(im, v[column].re, r[row].im));
        r[column].re = multiply_add(re, v[row].re, multiply_add(im, v[row].im, r[column].re));
        r[column].im = multiply_add(re, v[row].im, multiply_add(-im, v[row].re, r[column].im));
      }
#pragma unroll
    for (int k = 0; k < chiral_rows; ++k) {
      complex<duo>&u = number_of_spinor(sum, k), &l = number_of_spinor(sum, k + chiral_rows);
      if (chirality == 0) {
        u = l = r[k];
      } else {
        u = {u.re + r[k].re, u.im + r[k].im};
        l = {l.re - r[k].re, l.im - r[k].im};
      }
    }
  }
  psi = sum;
}

/// field += by * one of the two columns.
template <int which>
PLAQUETTE_KERNEL_INLINE void add_column(const spinor_pointer<half>& field, std::int32_t i, int column, float by,
                                        spin_rows<duo, 4>& psi) {
  complex<float> x[spins * colours];
  load_site<half>(spinor_pointer<const half>(field), i, column, x);
#pragma unroll
  for (int k = 0; k < spins * colours; ++k) {
    const complex<duo>& z = number_of_spinor(psi, k);
    x[k] = {multiply_add(by, number_of<which>(z.re), x[k].re), multiply_add(by, number_of<which>(z.im), x[k].im)};
  }
  store_site<half>(field, i, column, x);
}

/// One parity. A thread keeps the links and blocks of its site in shared memory, made whole, and goes through all
/// columns.
template <duo_work work, bool two_pipes>
__global__ void __launch_bounds__(256, 2)
    duo_hops(const __grid_constant__ duo_arguments duos, const __grid_constant__ tile_walk walk) {
#ifdef __CUDACC__
  extern __shared__ __align__(16) std::byte shared[];
#else
  std::byte* const shared = shared_of_host_block;
#endif
  trigger_dependent_launch();
  const hopping_arguments<half>& arg = duos.arg;
  const site_of_thread s = find_site(walk, row_of_tiles(walk));
  if (!inside(s, arg.order)) return;
  const int in_tile = static_cast<int>(threadIdx.x) +
                      walk.tile[0] * (static_cast<int>(threadIdx.y) + walk.tile[1] * static_cast<int>(threadIdx.z));
  const hop_neighbours n = neighbours_of(arg.order, arg.parity, s.half_x, s.y, s.z, s.t);
  std::byte* const links = shared + static_cast<std::uint32_t>(in_tile) / lanes * duo_block_bytes;
  std::byte* const blocks = links + link_chunks * chunk_stride;
  std::byte* const ninths = blocks + block_chunks * chunk_stride;
  const std::uint32_t lane = lane_of(in_tile);
  for_directions<0, hop_directions>([&]<int d>() {
    constexpr bool backwards = d % 2 == 1;
    packed_link link;
    link.load<load_hint::constant>(backwards ? arg.links_there : arg.links_here, backwards ? n.index[d] : n.here,
                                   d / 2);
    su3<float> u;
#pragma unroll
    for (int k = 0; k < 2 * colours; ++k) u.e[k / colours][k % colours] = {link.number(2 * k), link.number(2 * k + 1)};
    third_row_from_others(u);
    const auto bits = [&](int k) {
      return duo_of(u.e[k / colours][k % colours].re, u.e[k / colours][k % colours].im).bits;
    };
#pragma unroll
    for (int c = 0; c < 2; ++c)
      *reinterpret_cast<words<4>*>(links + 16 * lane + (2 * d + c) * chunk_stride) = {
          {bits(4 * c), bits(4 * c + 1), bits(4 * c + 2), bits(4 * c + 3)}};
    *reinterpret_cast<std::uint32_t*>(ninths + 4 * lane + d * 4 * lanes) = bits(8);
  });
  std::uint32_t word[2 * words_of_block];
  packed_blocks a;
  a.load<load_hint::constant>(arg.clover, n.here);
#pragma unroll
  for (int chirality = 0; chirality < 2; ++chirality) {
    const float scale = 0.5F * duos.gain * a.scale(chirality);
#pragma unroll
    for (int k = 0; k < words_of_block; ++k) {
      const float more = k < chiral_rows / 2 ? duos.diagonal : 0.0F;
      word[chirality * words_of_block + k] = duo_of(multiply_add(scale, a.number(chirality, 2 * k), more),
                                                    multiply_add(scale, a.number(chirality, 2 * k + 1), more))
                                                 .bits;
    }
  }
#pragma unroll
  for (int c = 0; c < block_chunks; ++c)
    *reinterpret_cast<words<4>*>(blocks + 16 * lane +
                                 c * chunk_stride) = {{word[4 * c], word[4 * c + 1], word[4 * c + 2], word[4 * c + 3]}};
  wait_for_previous_kernel();

  constexpr int of_pair = duo_chunks * lanes;  // in units of 16 bytes
  const auto place = [&](std::int32_t i) {
    return static_cast<std::uint32_t>(i) / lanes * static_cast<std::uint32_t>(duos.pairs * of_pair) + lane_of(i);
  };
  std::uint32_t places[hop_directions];
#pragma unroll
  for (int d = 0; d < hop_directions; ++d) places[d] = place(n.index[d]);
  const std::uint32_t here = place(n.here);
#pragma unroll 1
  for (int pair = 0; pair < duos.pairs; ++pair) {
    const std::int64_t offset = std::int64_t{pair} * of_pair * chunk_bytes;
    spin_rows<duo, 4> h{};
    for_directions<0, hop_directions>([&]<int d>() {
      loaded_duos psi;
      psi.load<part_of_hop<d>>(advanced(duos.in + offset, places[d], chunk_bytes));
      su3<duo> u;
      const auto put = [&](int k, std::uint32_t bits) {
        const duo e{bits};
        u.e[k / colours][k % colours] = {two_pipes ? both_by(e, duos.first_of_both) : both_of<0>(e), both_of<1>(e)};
      };
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const auto v = load_words<load_hint::none, 4>(links + 16 * lane + (2 * d + c) * chunk_stride);
#pragma unroll
        for (int j = 0; j < 4; ++j) put(4 * c + j, v.w[j]);
      }
      put(8, load_words<load_hint::none, 1>(ninths + 4 * lane + d * 4 * lanes).w[0]);
      const duo weight = n.across[d] ? duos.across[d] : duos.inside[d];
      spin_rows<duo, 2> projected, g;
      project<d>(projected, psi);
      multiply<d % 2 == 1>(g, u, projected);
      add_unprojected<d>(h, g, weight);
    });
    if constexpr (work == duo_work::divide) {
      multiply_by_duo_blocks<two_pipes>(h, blocks, lane, duos.first_of_both);
    } else {
      spin_rows<duo, 4> v;
      loaded_duos x;
      x.load<spinor_part::both>(advanced(duos.x + offset, here, chunk_bytes));
#pragma unroll
      for (int k = 0; k < spins * colours; ++k) {
        complex<duo>& z = number_of_spinor(h, k);
        number_of_spinor(v, k) = {x[2 * k], x[2 * k + 1]};
        z.re = multiply_add(duos.turn, x[2 * k + 1], z.re);
        z.im = multiply_add(-duos.turn, x[2 * k], z.im);
      }
      multiply_by_duo_blocks<two_pipes>(v, blocks, lane, duos.first_of_both);
#pragma unroll
      for (int k = 0; k < spins * colours; ++k) number_of_spinor(h, k) += number_of_spinor(v, k);
    }
    if constexpr (work == duo_work::add_to_field) {
      add_column<0>(arg.out, n.here, 2 * pair, duos.factor * duos.of_columns[2 * pair], h);
      if (2 * pair + 1 < arg.columns)
        add_column<1>(arg.out, n.here, 2 * pair + 1, duos.factor * duos.of_columns[2 * pair + 1], h);
    } else {
      std::byte* const to = advanced(duos.out + offset, here, chunk_bytes);
#pragma unroll
      for (int c = 0; c < duo_chunks; ++c) {
        const complex<duo>&first = number_of_spinor(h, 2 * c), &second = number_of_spinor(h, 2 * c + 1);
        store_words<4>(to + c * chunk_stride, words<4>{{first.re.bits, first.im.bits, second.re.bits, second.im.bits}},
                       arg.past_caches);
      }
    }
  }
}

/// What columns are multiplied with so that their numbers are near 1/16: a column of one number becomes one below 4000
/// on 10^8 sites. And the inverse.
struct make_scales {
  const complex<double>* norms;  ///< |r|^2
  float *there, *back;
  double numbers;  ///< of a column

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t column) const {
    const double size = 16.0 * std::sqrt(norms[column].re / numbers);
    back[column] = static_cast<float>(size);
    there[column] = size == 0.0 ? 0.0F : static_cast<float>(1.0 / size);
  }
};

/// A site and pair of columns of a field, scaled.
struct to_duos {
  spinor_pointer<const half> field;
  const float* scales;  ///< of columns
  std::byte* duos;
  std::int32_t sites;
  int columns;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const auto pair = static_cast<int>(index / sites);
    const auto i = static_cast<std::int32_t>(index - static_cast<std::int64_t>(pair) * sites);
    complex<float> first[spins * colours], second[spins * colours] = {};
    load_site<half>(field, i, 2 * pair, first);
    const bool both = 2 * pair + 1 < columns;
    if (both) load_site<half>(field, i, 2 * pair + 1, second);
    const float by_first = scales[2 * pair], by_second = both ? scales[2 * pair + 1] : 0.0F;
    std::byte* const to = duos + (std::int64_t{i / lanes} * ((columns + 1) / 2) + pair) * duo_chunks * chunk_stride +
                          lane_of(i) * chunk_bytes;
    PLAQUETTE_GPU_UNROLL
    for (int c = 0; c < duo_chunks; ++c) {
      chunk made;
      PLAQUETTE_GPU_UNROLL
      for (int j = 0; j < 2; ++j) {
        const complex<float>&a = first[2 * c + j], &b = second[2 * c + j];
        made.word[2 * j] = duo_of(by_first * a.re, by_second * b.re).bits;
        made.word[2 * j + 1] = duo_of(by_first * a.im, by_second * b.im).bits;
      }
      store_chunk(to + c * chunk_stride, made);
    }
  }
};

struct duo_kernel {
  void (*function)(const duo_arguments, const tile_walk);
  std::atomic<std::int64_t>* prepared;
};
template <duo_work work>
duo_kernel made_duo_kernel(bool two_pipes) {
  if (two_pipes) return {duo_hops<work, true>, detail::prepared_of<duo_hops<work, true>>()};
  return {duo_hops<work, false>, detail::prepared_of<duo_hops<work, false>>()};
}

int shared_bytes_of(const hopping_launch& how) { return (how.sites() + lanes - 1) / lanes * duo_block_bytes; }

template <duo_work work>
void launch_duos(const queue& q, duo_arguments arguments, const hopping_launch& how) {
  const auto parts = [](int length, int of) { return (length + of - 1) / of; };
  const site_order& order = arguments.arg.order;
  tile_walk walk{};
  for (int mu = 0; mu < 3; ++mu) walk.tile[mu] = how.tile[mu];
  walk.log2_z = log2_of(how.tile[2]);
  walk.tiles_x = parts(order.half_x.value, how.tile[0]);
  walk.tiles_y = parts(order.length[1], how.tile[1]);
  walk.tile_t = how.tile[3];
  const int tiles_z = parts(order.length[2], how.tile[2]), tiles_t = parts(order.length[3], how.tile[3]);
  walk.slab = how.slab == 0 || how.slab > tiles_z ? tiles_z : how.slab;
  walk.by_x = divisor(walk.tiles_x);
  walk.by_y = divisor(walk.tiles_y);
  walk.backwards = how.alternates && q.next_is_reversed();
  arguments.arg.past_caches = how.past_caches;
  const int shared = shared_bytes_of(how);
  const duo_kernel kernel = made_duo_kernel<work>(how.links_once);
  detail::prepare_kernel(kernel, shared, std::max(1, 512 / how.sites()), q.device());
  const dim3 blocks{static_cast<unsigned>(walk.tiles_x * walk.tiles_y * walk.slab), static_cast<unsigned>(tiles_t),
                    static_cast<unsigned>(parts(tiles_z, walk.slab))},
      block{static_cast<unsigned>(how.tile[0]), static_cast<unsigned>(how.tile[1]),
            static_cast<unsigned>(how.tile[2] * how.tile[3])};
#ifdef __CUDACC__
  launch_kernel(q, blocks, block, shared, how.dependent, kernel.function, arguments, walk);
#else
  run_blocks(blocks, block, shared, false, kernel.function, arguments, walk);
#endif
}

}  // namespace

struct duo_polynomial::parts {
  context ctx;
  hopping_problem problem;
  hopping_arguments<half> to_parity[2];
  int columns;
  double centre;
  factored_polynomial polynomial;
  std::shared_ptr<std::byte> links[2], blocks[2], y[2], t, scales;
  hopping_launch how;

  parts(const wilson_clover<half>& full, int most_columns, const std::vector<double>& coefficients)
      : ctx(full.hopping().get_context()),
        problem(full.hopping().problem(most_columns, true)),
        columns(most_columns),
        centre(full.action().diagonal()),
        polynomial(factored(around_centre(coefficients, centre))) {
    memory_pool& pool = ctx.workspace();
    const std::int64_t all_blocks = ctx.order().blocks();
    const auto take = [&](std::int64_t number) { return pool.take(static_cast<std::size_t>(number)); };
    const hopping_arguments<half> whole = full.hopping().work_on_lattice(1.0).arg;
    for (int p = 0; p < 2; ++p) {
      links[p] = take(all_blocks * packed_links_bytes);
      blocks[p] = take(all_blocks * packed_blocks_bytes);
      for_each_index(ctx.queue(), ctx.order().sites,
                     pack_for_duos{whole.links_here + p * all_blocks * link_block_bytes<half>(reconstruct::twelve),
                                   p == 0 ? full.diagonal().blocks(0) : full.inverse_diagonal().blocks(1),
                                   links[p].get(), blocks[p].get(), static_cast<float>(p == 0 ? centre : 1.0 / centre)},
                     128);
    }
    for (int p = 0; p < 2; ++p) {
      to_parity[p] = whole;
      to_parity[p].parity = p;
      to_parity[p].links_here = links[p].get();
      to_parity[p].links_there = links[1 - p].get();
      to_parity[p].clover = blocks[p].get();
    }
    for (auto* const one : {&y[0], &y[1], &t}) *one = take(bytes());
    scales = take(2 * static_cast<std::int64_t>(sizeof(float)) * columns);
    // Kernels load links before the kernel that comes before them has ended: that must not be the one that packs.
    ctx.queue().synchronize();
    how = fastest();
  }

  std::int64_t bytes() const {
    return std::int64_t{ctx.order().blocks()} * ((columns + 1) / 2) * duo_chunks * chunk_stride;
  }
  float* there() const { return reinterpret_cast<float*>(scales.get()); }
  float* back() const { return there() + columns; }

  duo_arguments arguments(int parity, int of_columns, double weight) const {
    duo_arguments a{};
    a.arg = to_parity[parity];
    a.arg.columns = of_columns;
    a.pairs = (of_columns + 1) / 2;
    a.gain = 1.0F;
    a.diagonal = static_cast<float>(0.5 / centre);
    for (int d = 0; d < hop_directions; ++d) {
      const auto times = [&](float x) {
        const auto y = static_cast<float>(weight * static_cast<double>(x));
        return duo_of(y, y);
      };
      a.inside[d] = times(a.arg.inside[d]);
      a.across[d] = times(a.arg.across[d]);
    }
    return a;
  }
  /// out = (B - root) gain in, or x += factor times that.
  void step(std::byte* out, const std::byte* in, int of_columns, const factored_polynomial::linear& f,
            field<half>* x = nullptr) const {
    const queue& q = ctx.queue();
    duo_arguments to_odd = arguments(1, of_columns, 0.5);
    to_odd.in = in;
    to_odd.out = t.get();
    launch_duos<duo_work::divide>(q, to_odd, how);
    const double gain = f.gain / centre;
    duo_arguments to_even = arguments(0, of_columns, -0.5 * gain);
    to_even.in = t.get();
    to_even.x = in;
    to_even.out = out;
    to_even.gain = static_cast<float>(gain);
    to_even.diagonal = static_cast<float>(-0.5 * f.gain * f.root.real());  // the blocks lack the centre
    const auto turn = static_cast<float>(f.gain * f.root.imag());
    to_even.turn = duo_of(turn, turn);
    if (x == nullptr) return launch_duos<duo_work::multiply>(q, to_even, how);
    to_even.arg.out = x->sites(0);
    to_even.of_columns = back();
    to_even.factor = static_cast<float>(polynomial.factor);
    launch_duos<duo_work::add_to_field>(q, to_even, how);
  }
  /// y[0] = r, scaled
  void begin(const field<half>& r, const scalars& norms) const {
    const queue& q = ctx.queue();
    const std::int32_t sites = ctx.order().sites;
    for_each_index(q, r.columns(), make_scales{norms.on_device(), there(), back(), 24.0 * static_cast<double>(sites)},
                   32);
    for_each_index(q, std::int64_t{sites} * ((r.columns() + 1) / 2),
                   to_duos{r.sites(0), there(), y[0].get(), sites, r.columns()}, 128);
  }
  hopping_launch fastest() const;
};

hopping_launch duo_polynomial::parts::fastest() const {
  std::vector<hopping_launch> list = candidates(problem, 1000), tried;
  for (hopping_launch& launch : list) {
    launch.groups = launch.parts = 1;
    launch.whole_links = false;
    if (launch.variant != hopping_variant::batch || launch.sites() < 96 ||
        shared_bytes_of(launch) > problem.shared_bytes)
      continue;
    if (tried.size() >= 24 || std::ranges::find(tried, launch) != tried.end()) continue;
    tried.push_back(launch);
    launch.links_once = true;
    tried.push_back(launch);
  }
  if (tried.empty()) {
    hopping_launch launch;
    launch.tile[0] = std::min(ctx.order().half_x.value, 128);
    tried.push_back(launch);
  }
  if (kernels_run_on_host()) return tried.front();
  std::vector<std::string> names;
  for (const hopping_launch& launch : tried) names.push_back(launch.name());
  const tuning_key what{"duos", plaquette::to_string(ctx.geometry().local()), "half",
                        "columns=" + std::to_string(columns)};
  const int choice = ctx.tuner().choose(what, names, [&](int i) {
    parts trial = *this;
    trial.how = tried[static_cast<std::size_t>(i)];
    // Numbers in which many bits change.
    field<half> random(ctx, {spins, colours, site_subset::even, columns});
    random_spinors(random, 1);
    begin(random, norm2(random));
    return seconds_a_launch_over(ctx.queue(), 2e-3,
                                 [&] { trial.step(y[1].get(), y[0].get(), columns, {{0.5, 0.5}, 0.8}); });
  });
  return tried[static_cast<std::size_t>(choice)];
}

bool duo_polynomial::serves(const schur_wilson_clover<half>& system, int columns) {
  const auto& hopping = system.full().hopping();
  return columns > 1 && system.kind() == schur_kind::asymmetric && !system.full().diagonal().is_number() &&
         hopping.stored() == reconstruct::twelve && !hopping.exchanges_messages() &&
         !hopping.work_on_lattice(1.0).phases.used;
}

duo_polynomial::duo_polynomial(const schur_wilson_clover<half>& system, int columns,
                               const std::vector<double>& coefficients) {
  if (coefficients.size() < 2 || coefficients.back() == 0.0)
    throw std::logic_error("duo_polynomial: expected at least two coefficients, the last not zero");
  parts_ = std::make_shared<parts>(system.full(), columns, coefficients);
}

void duo_polynomial::add_to(field<half>& x, const field<half>& r, const scalars& norms) const {
  const parts& p = *parts_;
  const auto& factors = p.polynomial.factors;
  p.begin(r, norms);
  for (std::size_t k = 0; k < factors.size(); ++k)
    p.step(p.y[(k + 1) % 2].get(), p.y[k % 2].get(), r.columns(), factors[k], k + 1 < factors.size() ? nullptr : &x);
}

fused_steps fused_polynomial(const schur_wilson_clover<half>& system, const field<half>& shape,
                             const std::vector<double>& coefficients) {
  if (coefficients.size() < 2 || coefficients.back() == 0.0 || !duo_polynomial::serves(system, shape.columns()))
    return nullptr;
  return [whole = duo_polynomial(system, shape.columns(), coefficients)](
             field<half>& x, const field<half>& r, const scalars& norms) { whole.add_to(x, r, norms); };
}

}  // namespace plaquette::gpu
