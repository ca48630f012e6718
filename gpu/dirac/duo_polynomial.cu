// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/dirac/duo_polynomial.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>

#include "gpu/device/timing.hpp"
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

/// What a kernel does besides the hops of `in`, h: it stores A h; h + gain (A - shift) x - i turn x, where x has the
/// output's parity; or that, in single precision, times numbers of columns and added to a field.
enum class duo_work { divide, multiply, add_to_field };

struct duo_arguments {
  hopping_arguments<half> arg;  ///< links, blocks of A, order, parity; the field that becomes larger
  const std::byte *in, *x;
  std::byte* out;
  const float* of_columns;
  int pairs;
  float shift, gain, factor;
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
template <reconstruct stored, duo_work work, bool two_pipes>
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
    loaded_link<half, stored> link;
    load_link_of_hop<half, stored, d, load_hint::constant>(link, arg, n);
    su3<float> u;
    make_whole(u, link);
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
#pragma unroll
  for (int chirality = 0; chirality < 2; ++chirality) {
    loaded_clover<half> a;
    a.template load<load_hint::constant>(clover_of<half>(arg.clover, n.here) + chirality * chiral_block_bytes<half>,
                                         lane_of(n.here));
    const float scale = 0.5F * duos.gain * a.scale, shift = 0.5F * duos.gain * duos.shift;
#pragma unroll
    for (int k = 0; k < words_of_block; ++k) {
      const float less = k < chiral_rows / 2 ? shift : 0.0F;
      word[chirality * words_of_block + k] =
          duo_of(scale * a.number(2 * k) - less, scale * a.number(2 * k + 1) - less).bits;
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
template <reconstruct stored, duo_work work>
duo_kernel made_duo_kernel(bool two_pipes) {
  if (two_pipes) return {duo_hops<stored, work, true>, detail::prepared_of<duo_hops<stored, work, true>>()};
  return {duo_hops<stored, work, false>, detail::prepared_of<duo_hops<stored, work, false>>()};
}

int shared_bytes_of(const hopping_launch& how) { return (how.sites() + lanes - 1) / lanes * duo_block_bytes; }

template <duo_work work>
void launch_duos(const queue& q, reconstruct stored, duo_arguments arguments, const hopping_launch& how) {
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
  const duo_kernel kernel = stored == reconstruct::none ? made_duo_kernel<reconstruct::none, work>(how.links_once)
                                                        : made_duo_kernel<reconstruct::twelve, work>(how.links_once);
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

/// A polynomial of B as product: factor times all (B - root) gain. Roots that are conjugate follow each other.
struct factored_polynomial {
  struct linear {
    std::complex<double> root;
    double gain;  ///< such that the product with it is as long as before, about
  };
  std::vector<linear> factors;
  double factor = 1.0;
};

/// Returns the coefficients of p as a polynomial of B = A / a - 1.
std::vector<double> around_centre(std::vector<double> c, double a) {
  double power = 1.0;
  for (double& number : c) {
    number *= power;
    power *= a;
  }
  // sum c_j (1 + B)^j by Horner's rule with polynomials.
  std::vector<double> e(c.size(), 0.0);
  for (std::size_t j = c.size(); j-- > 0;) {
    for (std::size_t k = e.size() - 1; k > 0; --k) e[k] += e[k - 1];
    e[0] += c[j];
  }
  return e;
}

/// Returns the roots of a polynomial with real coefficients. (Durand and Kerner)
std::vector<std::complex<double>> roots_of(const std::vector<double>& e) {
  using complex_double = std::complex<double>;
  const std::size_t degree = e.size() - 1;
  double largest = 0.0;
  for (const double x : e) largest = std::max(largest, std::abs(x / e.back()));
  std::vector<complex_double> z;
  const double radius = std::pow(largest, 1.0 / static_cast<double>(degree));
  for (std::size_t k = 0; k < degree; ++k)
    z.push_back(std::polar(radius, 0.4 + 2.0 * std::acos(-1.0) * static_cast<double>(k) / static_cast<double>(degree)));
  for (int step = 0; step < 500; ++step)
    for (std::size_t k = 0; k < degree; ++k) {
      complex_double value = 0.0, others = e.back();
      for (std::size_t j = e.size(); j-- > 0;) value = value * z[k] + e[j];
      for (std::size_t j = 0; j < degree; ++j)
        if (j != k) others *= z[k] - z[j];
      if (others != 0.0) z[k] -= value / others;
    }
  return z;
}

factored_polynomial factored(std::vector<double> e) {
  double largest = 0.0;
  for (const double x : e) largest = std::max(largest, std::abs(x));
  while (e.size() > 1 && std::abs(e.back()) <= 1e-12 * largest) e.pop_back();
  factored_polynomial p;
  p.factor = e.back();
  std::vector<std::complex<double>> left = roots_of(e);
  const auto take = [&](std::complex<double> root) {
    p.factors.push_back({root, 1.0 / std::sqrt(1.0 + std::norm(root))});
    p.factor *= std::sqrt(1.0 + std::norm(root));
  };
  // Next comes the root that is farthest from those before (Leja), so that no product is large or small for long.
  while (!left.empty()) {
    const auto far = [&](std::complex<double> z) {
      double product = std::abs(z) + 1e-3;
      if (!p.factors.empty()) product = 1.0;
      for (const auto& f : p.factors) product *= std::abs(z - f.root);
      return product;
    };
    const auto next = std::ranges::max_element(left, {}, far);
    const std::complex<double> root = *next;
    left.erase(next);
    if (left.empty() || std::abs(root.imag()) <= 1e-7 * std::abs(root)) {
      take(root.real());
      continue;
    }
    take(root);
    take(std::conj(root));
    left.erase(std::ranges::min_element(left, {}, [&](auto z) { return std::abs(z - std::conj(root)); }));
  }
  return p;
}

}  // namespace

struct duo_polynomial::parts {
  context ctx;
  hopping_work<half> even, odd;  ///< to sites of this parity
  const wilson_clover<half>* full;
  int columns;
  double centre;
  factored_polynomial polynomial;
  std::shared_ptr<std::byte> y[2], t, scales;
  hopping_launch how;

  std::int64_t bytes() const {
    return std::int64_t{ctx.order().blocks()} * ((columns + 1) / 2) * duo_chunks * chunk_stride;
  }
  float* there() const { return reinterpret_cast<float*>(scales.get()); }
  float* back() const { return there() + columns; }

  duo_arguments arguments(int parity, int of_columns, double weight) const {
    duo_arguments a{};
    a.arg = parity == 0 ? even.arg : odd.arg;
    a.arg.columns = of_columns;
    a.pairs = (of_columns + 1) / 2;
    a.gain = 1.0F;
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
    const reconstruct stored = full->hopping().stored();
    duo_arguments to_odd = arguments(1, of_columns, 0.5);
    to_odd.in = in;
    to_odd.out = t.get();
    launch_duos<duo_work::divide>(q, stored, to_odd, how);
    const double gain = f.gain / centre;
    duo_arguments to_even = arguments(0, of_columns, -0.5 * gain);
    to_even.in = t.get();
    to_even.x = in;
    to_even.out = out;
    to_even.gain = static_cast<float>(gain);
    to_even.shift = static_cast<float>(centre * (1.0 + f.root.real()));
    const auto turn = static_cast<float>(f.gain * f.root.imag());
    to_even.turn = duo_of(turn, turn);
    if (x == nullptr) return launch_duos<duo_work::multiply>(q, stored, to_even, how);
    to_even.arg.out = x->sites(0);
    to_even.of_columns = back();
    to_even.factor = static_cast<float>(polynomial.factor);
    launch_duos<duo_work::add_to_field>(q, stored, to_even, how);
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
  const hopping_problem problem = full->hopping().problem(columns, true);
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
  const tuning_key what{
      "duos", plaquette::to_string(ctx.geometry().local()), "half",
      "reconstruct=" + std::to_string(stored_reals(full->hopping().stored())) + " columns=" + std::to_string(columns)};
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
  const char* const wanted = std::getenv("PLAQUETTE_DUOS");
  if (wanted != nullptr && std::string(wanted) == "0") return false;
  const auto& hopping = system.full().hopping();
  return columns > 1 && system.kind() == schur_kind::asymmetric && !system.full().diagonal().is_number() &&
         hopping.stored() != reconstruct::eight && !hopping.exchanges_messages() &&
         !hopping.work_on_lattice(1.0).phases.used;
}

duo_polynomial::duo_polynomial(const schur_wilson_clover<half>& system, int columns,
                               const std::vector<double>& coefficients) {
  if (coefficients.size() < 2) throw std::logic_error("duo_polynomial: expected at least two coefficients");
  const auto& full = system.full();
  const auto& hopping = full.hopping();
  hopping_work<half> work[2];
  for (int p = 0; p < 2; ++p) {
    work[p] = hopping.work_on_lattice(1.0);
    const std::int64_t of_parity = std::int64_t{work[p].arg.order.blocks()} * link_block_bytes<half>(hopping.stored());
    work[p].arg.links_here += p * of_parity;
    work[p].arg.links_there += (1 - p) * of_parity;
    work[p].arg.parity = p;
    work[p].arg.clover = p == 0 ? full.diagonal().blocks(0) : full.inverse_diagonal().blocks(1);
  }
  const double centre = full.action().diagonal();
  parts_ = std::make_shared<parts>(parts{hopping.get_context(),
                                         work[0],
                                         work[1],
                                         &full,
                                         columns,
                                         centre,
                                         factored(around_centre(coefficients, centre)),
                                         {},
                                         {},
                                         {},
                                         {}});
  memory_pool& pool = parts_->ctx.workspace();
  for (auto* const one : {&parts_->y[0], &parts_->y[1], &parts_->t})
    *one = pool.take(static_cast<std::size_t>(parts_->bytes()));
  parts_->scales = pool.take(2 * sizeof(float) * static_cast<std::size_t>(columns));
  parts_->how = parts_->fastest();
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
  if (coefficients.size() < 2 || !duo_polynomial::serves(system, shape.columns())) return nullptr;
  return [whole = duo_polynomial(system, shape.columns(), coefficients)](
             field<half>& x, const field<half>& r, const scalars& norms) { whole.add_to(x, r, norms); };
}

}  // namespace plaquette::gpu
