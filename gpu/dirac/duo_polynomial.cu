// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/dirac/duo_polynomial.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "common/approximation/factored_polynomial.hpp"
#include "gpu/device/timing.hpp"
#include "gpu/dirac/duo_halo_kernels.hpp"
#include "gpu/dirac/duo_kernels.hpp"
#include "gpu/dirac/hopping_tiles.hpp"
#include "gpu/fields/random_spinor.hpp"
#include "gpu/halo/halo.hpp"
#include "gpu/tuning/tuner.hpp"

namespace plaquette::gpu {

namespace {

/// The factors of columns that make their numbers near 1/16: a column of one number becomes one below 4000 on 10^8
/// sites. And the inverse.
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

template <class... Parameters>
struct duo_kernel {
  void (*function)(Parameters...);
  std::atomic<std::int64_t>* prepared;
};
template <duo_work work>
duo_kernel<const duo_arguments, const tile_walk> made_duo_kernel(bool two_pipes) {
  if (two_pipes) return {duo_hops<work, true>, detail::prepared_of<duo_hops<work, true>>()};
  return {duo_hops<work, false>, detail::prepared_of<duo_hops<work, false>>()};
}
template <duo_work work>
duo_kernel<const duo_arguments, const rank_walk, const duo_halo> made_duo_kernel_of_rank(bool two_pipes) {
  if (two_pipes) return {duo_hops_of_rank<work, true>, detail::prepared_of<duo_hops_of_rank<work, true>>()};
  return {duo_hops_of_rank<work, false>, detail::prepared_of<duo_hops_of_rank<work, false>>()};
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
  const auto kernel = made_duo_kernel<work>(how.links_once);
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

/// \param packs  the same kernel packs the faces
template <duo_work work>
void launch_duos_of_rank(const queue& q, duo_arguments arguments, const duo_halo& halo, const hopping_launch& how,
                         const tile_table& tiles, box_part part, bool packs) {
  if (how.sites() < hop_directions) throw std::logic_error("duos: fewer threads than messages to wait for");
  rank_walk walk = walk_through(how, tiles, part, how.alternates && q.next_is_reversed());
  if (packs) deal_packing(walk, arguments.arg.order, halo.zones, arguments.pairs, how.sites());
  if (walk.blocks() == 0) return;
  arguments.arg.past_caches = how.past_caches;
  const int shared = shared_bytes_of(how);
  const auto kernel = made_duo_kernel_of_rank<work>(how.links_once);
  detail::prepare_kernel(kernel, shared, std::max(1, 512 / how.sites()), q.device());
  const dim3 block{static_cast<unsigned>(how.tile[0]), static_cast<unsigned>(how.tile[1]),
                   static_cast<unsigned>(how.tile[2] * how.tile[3])};
#ifdef __CUDACC__
  launch_kernel(q, dim3(walk.blocks()), block, shared, how.dependent, kernel.function, arguments, walk, halo);
#else
  run_blocks({walk.blocks(), 1, 1}, block, shared, false, kernel.function, arguments, walk, halo);
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
  /// Of several ranks, else null.
  struct between_ranks {
    std::shared_ptr<std::byte> ghost_links;
    duo_halo to_parity[2];  ///< zones apart
    tile_table tiles;
    bool overlap;
  };
  std::shared_ptr<const between_ranks> ranks;

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
    if (full.hopping().exchanges_messages()) ranks = made_between_ranks(full.hopping());
  }

  std::shared_ptr<const between_ranks> made_between_ranks(const hopping_term<half>& hopping) const {
    const auto made = std::make_shared<between_ranks>();
    const face_order faces{ctx.order()};
    const auto is_cut = [&](int mu) { return (problem.cut >> mu & 1U) != 0; };
    std::int64_t total = 0;
    for (int mu = 0; mu < dimensions; ++mu)
      if (is_cut(mu)) total += 2 * std::int64_t{faces.blocks(mu)} * chunk_stride;
    made->ghost_links = ctx.workspace().take(static_cast<std::size_t>(total));
    std::byte* next = made->ghost_links.get();
    for (int p = 0; p < 2; ++p)
      for (int mu = 0; mu < dimensions; ++mu) {
        if (!is_cut(mu)) continue;
        for_each_index(ctx.queue(), faces.sites(mu), pack_ghost_links_for_duos{hopping.ghost_links(p, mu), next}, 128);
        made->to_parity[p].links[mu] = next;
        next += std::int64_t{faces.blocks(mu)} * chunk_stride;
      }
    made->tiles = make_tile_table(ctx.queue(), ctx.workspace(), ctx.order(), how, problem.cut);
    made->overlap = hopping.overlaps();
    ctx.halo()->zones((columns + 1) / 2, ghost_duo_bytes);  // so that the first application may be recorded
    ctx.queue().synchronize();                              // kernels load links early, as above
    return made;
  }

  std::int64_t bytes() const {
    return std::int64_t{ctx.order().blocks()} * ((columns + 1) / 2) * duo_chunks * chunk_stride;
  }
  double numbers_of_column() const { return 12.0 * static_cast<double>(ctx.geometry().global_volume()); }
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
  template <duo_work work>
  void launch(const duo_arguments& arguments) const {
    const queue& q = ctx.queue();
    if (!ranks) return launch_duos<work>(q, arguments, how);
    gpu::halo& exchange = *ctx.halo();
    duo_halo halo = ranks->to_parity[arguments.arg.parity];
    halo.zones = exchange.zones(arguments.pairs, ghost_duo_bytes);
    const auto launch_part = [&](box_part part, bool at_once) {
      hopping_launch launch = how;
      launch.dependent = at_once;
      launch_duos_of_rank<work>(q, arguments, halo, launch, ranks->tiles, part, at_once);
    };
    if (ranks->overlap && !exchange.has_host_messages() && !kernels_run_on_host())
      return launch_part(box_part::all, true);
    queue_duo_packing(q, arguments, halo.zones);
    if (exchange.has_host_messages()) exchange.start_messages(q);
    if (ranks->overlap) launch_part(box_part::interior, false);
    if (exchange.has_host_messages()) exchange.finish_messages(q);
    exchange.queue_wait(q);
    launch_part(ranks->overlap ? box_part::boundary : box_part::all, false);
  }
  /// out = (B - root) gain in, or x += factor times that.
  void step(std::byte* out, const std::byte* in, int of_columns, const factored_polynomial::linear& f,
            field<half>* x = nullptr) const {
    duo_arguments to_odd = arguments(1, of_columns, 0.5);
    to_odd.in = in;
    to_odd.out = t.get();
    launch<duo_work::divide>(to_odd);
    const double gain = f.gain / centre;
    duo_arguments to_even = arguments(0, of_columns, -0.5 * gain);
    to_even.in = t.get();
    to_even.x = in;
    to_even.out = out;
    to_even.gain = static_cast<float>(gain);
    to_even.diagonal = static_cast<float>(-0.5 * f.gain * f.root.real());  // the blocks lack the centre
    const auto turn = static_cast<float>(f.gain * f.root.imag());
    to_even.turn = duo_of(turn, turn);
    if (x == nullptr) return launch<duo_work::multiply>(to_even);
    to_even.arg.out = x->sites(0);
    to_even.of_columns = back();
    to_even.factor = static_cast<float>(polynomial.factor);
    launch<duo_work::add_to_field>(to_even);
  }
  /// y[0] = r, scaled
  void begin(const field<half>& r, const scalars& norms) const {
    const queue& q = ctx.queue();
    const std::int32_t sites = ctx.order().sites;
    for_each_index(q, r.columns(), make_scales{norms.on_device(), there(), back(), numbers_of_column()}, 32);
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
    // Each message is waited for by a thread of its own: a block has eight at least.
    if (launch.tile[0] < hop_directions)
      for (int mu = 1; mu < dimensions; ++mu) launch.tile[mu] = 2;
    tried.push_back(launch);
  }
  if (kernels_run_on_host()) return tried.front();
  std::vector<std::string> names;
  for (const hopping_launch& launch : tried) names.push_back(launch.name());
  const tuning_key what{"duos", plaquette::to_string(ctx.geometry().local()), "half",
                        "columns=" + std::to_string(columns) + text_of_cut(problem.cut)};
  const int choice = ctx.tuner().choose(what, names, [&](int i) {
    parts trial = *this;  // without other ranks: each tries as often as it likes
    trial.how = tried[static_cast<std::size_t>(i)];
    // Numbers in which many bits change.
    field<half> random(ctx, {spins, colours, site_subset::even, columns});
    random_spinors(random, 1);
    begin(random,
          scalars(ctx, std::vector<complex<double>>(static_cast<std::size_t>(columns), {numbers_of_column(), 0.0})));
    return seconds_a_launch_over(ctx.queue(), 2e-3,
                                 [&] { trial.step(y[1].get(), y[0].get(), columns, {{0.5, 0.5}, 0.8}); });
  });
  return tried[static_cast<std::size_t>(choice)];
}

bool duo_polynomial::serves(const schur_wilson_clover<half>& system, int columns) {
  const auto& hopping = system.full().hopping();
  return columns > 1 && system.kind() == schur_kind::asymmetric && !system.full().diagonal().is_number() &&
         hopping.stored() == reconstruct::twelve && !hopping.work_on_lattice(1.0).phases.used;
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
