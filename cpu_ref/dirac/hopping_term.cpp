// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/dirac/hopping_term.hpp"

#include <omp.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "common/lattice/ghosts.hpp"
#include "common/stop_point.hpp"
#include "cpu_ref/dirac/range_sums.hpp"
#include "cpu_ref/fields/cache_size.hpp"
#include "cpu_ref/fields/exact_sums.hpp"

namespace plaquette::cpu {

namespace {

/// Inputs larger than this do not stay in the second-level cache.
constexpr std::int64_t prefetch_above_bytes = 1 << 20;
/// Inputs of several columns larger than this come from memory or from a cache that is nearly as far.
constexpr std::int64_t prefetch_columns_above_bytes = 32 << 20;
/// Outputs larger than this are gone from the caches before the next operation reads them.
constexpr std::int64_t stream_above_bytes = 16 << 20;

class stopwatch {
 public:
  /// Seconds since the last call, or since it was made.
  double lap() {
    const double now = omp_get_wtime();
    return now - std::exchange(begin_, now);
  }

 private:
  double begin_ = omp_get_wtime();
};

/// Blocks of the interior that are worked on between two looks at the messages: an eighth, but not so few that starting
/// the threads would count; whole ranges of `range_sums`.
std::int64_t piece_of(std::int64_t blocks) {
  constexpr std::int64_t least = 8 * range_sums::blocks_of_a_range;
  const std::int64_t eighth = blocks / 8 / range_sums::blocks_of_a_range * range_sums::blocks_of_a_range;
  return std::max(eighth, least);
}

}  // namespace

template <class T>
hopping_term<T>::hopping_term(const context& ctx, const gauge_configuration& links, const fermion_action& action,
                              reconstruct stored)
    : context_(ctx), action_(action), stored_(stored) {
  for (int mu = 0; mu < dimensions; ++mu) {
    const double times = mu == 3 ? 2.0 : 1.0;  // of 1 +- gamma_t, which the kernels leave out
    hop_scale_[mu] = is_half<T>
                         ? static_cast<real>(times * action.hop_coefficient(mu)) * static_cast<real>(fixed_point_unit)
                         : real(1);
  }
  make_room_for_links();
  follow(links);
}

template <class T>
void hopping_term<T>::follow(const gauge_configuration& links) {
  if (!(links.geometry() == context_.geometry())) throw std::logic_error("hopping_term: links of another lattice");
  if (!has_current_ghosts(links, context_.comm()))
    throw std::logic_error("hopping_term: ghosts of the links are not their neighbours' links: call exchange_ghosts");
  pack_links(links);
}

template <class T>
link_form hopping_term<T>::form_for(int columns) const {
  if (stored_ == reconstruct::eight) return link_form::expanded;
  // An expanded link serves all columns.
  if (columns > 1 && (is_half<T> || stored_ == reconstruct::twelve)) return link_form::expanded;
  return stored_ == reconstruct::twelve ? link_form::two_rows : link_form::whole;
}

template <class T>
hopping_arguments<T> hopping_term<T>::arguments_for(field<T>& out, const field<T>& in, bool daggered,
                                                    double scale) const {
  const block_layout& layout = context_.layout<T>();
  const int p = out.parity_of_part(0);
  hopping_arguments<T> arg;
  arg.out = out.blocks(0);
  arg.in = in.blocks(0);
  arg.columns = in.columns();
  arg.exchanged = daggered;
  arg.links_here = links_[p].pointer();
  arg.links_there = links_[1 - p].pointer();
  arg.slot_links = slot_links_[p].pointer();
  arg.link_factors = link_factors_.data();
  arg.stored = stored_;
  arg.expand = form_for(in.columns()) == link_form::expanded;
  std::ranges::copy(hop_scale_, arg.hop_scale);
  arg.blocks = layout.blocks();
  arg.neighbours = layout.neighbours(p);
  arg.permutations = layout.permutations(p);
  arg.permutation_table = context_.permutation_table<T>();
  arg.newly_needed = layout.newly_needed(p).data();
  arg.newly_needed_from = layout.newly_needed_from(p).data();
  const double link_unit = is_half<T> && stored_ != reconstruct::eight ? fixed_point_unit : 1.0;
  arg.scale = static_cast<real>(scale * link_unit);
  const std::int64_t bytes =
      layout.blocks() * in.block_words() * in.columns() * static_cast<std::int64_t>(sizeof(word_of<T>));
  const auto link_bytes = static_cast<std::int64_t>(links_[p].words.size() * sizeof(word_of<T>));  // of one parity
  arg.prefetch_links = prefetch_of_links(2.0 * static_cast<double>(link_bytes) / last_level_cache_bytes(),
                                         2.0 * static_cast<double>(bytes) / last_level_cache_bytes(), in.columns());
  arg.prefetch_columns = bytes > prefetch_columns_above_bytes;
  arg.prefetch = bytes > prefetch_above_bytes;
  arg.stream = bytes > stream_above_bytes;
  return arg;
}

/// Returns which kernel to call: for blocks without slots of the halo, or for blocks with slots.
template <class T>
int far_kernel(const hopping_arguments<T>& arg) {
  return arg.prefetch || arg.prefetch_links.blocks_ahead > 0 || arg.prefetch_columns ? 1 : 0;
}

template <class T>
template <class Run>
void hopping_term<T>::run_with_halo(hopping_arguments<T>& arg, const field<T>& in, int p, bool daggered,
                                    const Run& run) const {
  const block_layout& layout = context_.layout<T>();
  const auto& kernels = context_.kernels<T>().hop[static_cast<int>(form_for(in.columns()))];
  const auto inside = kernels[far_kernel(arg)];
  if (!layout.has_halo()) return run(inside, nullptr, layout.blocks());
  stopwatch clock;
  auto exchange = start_halo(in, p, daggered);
  arg.slots = halo_.slots.data();
  halo_.times.pack += clock.lap();
  const std::int32_t* const interior = layout.interior(p).data();
  const auto interior_blocks = static_cast<std::int64_t>(layout.interior(p).size());
  if (overlap_) {
    // In pieces, between which MPI gets a chance to move messages.
    const std::int64_t piece = piece_of(interior_blocks);
    for (std::int64_t first = 0; first < interior_blocks; first += piece) {
      run(inside, interior + first, std::min(piece, interior_blocks - first));
      exchange.poll();
    }
    clock.lap();
  }
  exchange.wait();
  halo_.times.wait += clock.lap();
  fill_slots(in, p, daggered);
  halo_.times.unpack += clock.lap();
  ++halo_.times.exchanges;
  if (!overlap_) run(inside, interior, interior_blocks);
  run(kernels[1], layout.boundary(p).data(), static_cast<std::int64_t>(layout.boundary(p).size()));
}

template <class T>
void hopping_term<T>::apply(field<T>& out, const field<T>& in, bool daggered, const hopping_finish<T>& finish) const {
  const auto is_spinor = [](const field<T>& f) { return f.parts() == 1 && f.components() == spins * colours; };
  if (!is_spinor(out) || !is_spinor(in) || out.parity_of_part(0) == in.parity_of_part(0) ||
      out.columns() != in.columns() || (finish.x != nullptr && !(finish.x->shape() == out.shape())) ||
      (finish.w != nullptr && !(finish.w->shape() == out.shape())))
    throw std::logic_error("hopping_term: fields must be Dirac spinors on opposite parities with equal columns");
  if ((needs_x(finish.finish) && finish.x == nullptr) || (needs_clover(finish.finish) && finish.clover == nullptr))
    throw std::logic_error("hopping_term: the epilogue lacks its field or its clover blocks");

  if (context_.geometry().local_volume() >= sites_between_stops) stop_point(stop_kind::late);
  const int p = out.parity_of_part(0);
  hopping_arguments<T> arg = arguments_for(out, in, daggered, finish.scale);
  if (finish.x != nullptr) arg.x = finish.x->blocks(0);
  arg.clover = finish.clover;
  arg.a = static_cast<real>(finish.a);
  arg.finish = finish.finish;
  const int threads = context_.threads();
  const block_layout& layout = context_.layout<T>();
  range_sums sums(finish.w != nullptr ? layout.blocks() : 0, in.columns(), layout.width());
  if (finish.w != nullptr) arg.w = finish.w->blocks(0);
  const auto run = [&](auto kernel, const std::int32_t* list, std::int64_t count) {
    if (finish.w == nullptr) {
#pragma omp parallel for num_threads(threads) schedule(static)
      for (int t = 0; t < threads; ++t) {
        const std::int64_t first = count * t / threads;
        kernel(arg, list, first, count * (t + 1) / threads - first);
      }
      return;
    }
    // Sums of fixed ranges of blocks, so that they do not depend on the number of threads.
    const std::int64_t ranges = sums.ranges_of(count), before = sums.claim(ranges);
#pragma omp parallel num_threads(threads)
    {
      std::vector<double> lanes = sums.lanes();
      hopping_arguments<T> part = arg;
      part.lane_sums = lanes.data();
#pragma omp for schedule(static)
      for (std::int64_t i = 0; i < ranges; ++i) {
        const std::int64_t first = i * range_sums::blocks_of_a_range;
        kernel(part, list, first, std::min(range_sums::blocks_of_a_range, count - first));
        sums.add_lanes(before + i, lanes);
      }
    }
  };
  run_with_halo(arg, in, p, daggered, run);
  if (finish.w == nullptr) return;
  if (exact_sums::are_on())
    *finish.sums = {scalars(exact_products(out, *finish.w)), scalars(exact_products(out, out))};
  else
    *finish.sums = sums.total(context_.comm());
}

template <class T>
void hopping_term<T>::apply_hermitian(field<T>& out, double scale, double a, const field<T>& in, double d, double b,
                                      const field<T>* u, double c, const field<T>* w) const {
  const auto fits = [&](const field<T>& f) {
    return f.parts() == 2 && f.shape().spins == spins && f.shape().colours == colours && f.shape() == in.shape();
  };
  if (!fits(out) || !fits(in) || (u != nullptr && !fits(*u)) || (w != nullptr && !fits(*w)))
    throw std::logic_error("hopping_term: fields must be Dirac spinors on the full lattice with equal columns");
  if (context_.geometry().local_volume() >= sites_between_stops) stop_point(stop_kind::late);
  hopping_arguments<T> of_parity[2];
  for (int p = 0; p < 2; ++p) {
    field<T> to = out.parity(p);
    hopping_arguments<T>& arg = of_parity[p] = arguments_for(to, in.parity(1 - p), false, scale);
    arg.hermitian = true;
    arg.x = in.blocks(p);
    if (u != nullptr) arg.u = u->blocks(p);
    if (w != nullptr) arg.w = w->blocks(p);
    arg.a = static_cast<real>(a);
    arg.b = static_cast<real>(b);
    arg.c = static_cast<real>(c);
    arg.d = static_cast<real>(d);
  }
  const int threads = context_.threads();
  const block_layout& layout = context_.layout<T>();
  if (layout.has_halo()) {
    for (int p = 0; p < 2; ++p) {
      hopping_arguments<T>& arg = of_parity[p];
      run_with_halo(arg, in.parity(1 - p), p, false, [&](auto kernel, const std::int32_t* list, std::int64_t count) {
#pragma omp parallel for num_threads(threads) schedule(static)
        for (int t = 0; t < threads; ++t) {
          const std::int64_t first = count * t / threads;
          kernel(arg, list, first, count * (t + 1) / threads - first);
        }
      });
    }
    return;
  }
  // A few blocks of one parity, then blocks of the other, which lie between them.
  constexpr std::int64_t few = 8;
  const auto kernel = context_.kernels<T>().hop[static_cast<int>(form_for(in.columns()))][far_kernel(of_parity[0])];
  const std::int64_t blocks = layout.blocks();
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int t = 0; t < threads; ++t) {
    const std::int64_t last = blocks * (t + 1) / threads;
    for (std::int64_t first = blocks * t / threads; first < last; first += few)
      for (const hopping_arguments<T>& arg : of_parity) kernel(arg, nullptr, first, std::min(few, last - first));
  }
}

template class hopping_term<half>;
template class hopping_term<float>;
template class hopping_term<double>;

}  // namespace plaquette::cpu
