// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/dirac/hopping_term.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "gpu/blas/blas.hpp"
#include "gpu/blas/held_sum.hpp"
#include "gpu/device/graph.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/dirac/hopping_halo.hpp"
#include "gpu/dirac/hopping_site.hpp"
#include "gpu/fields/host_maximum.hpp"
#include "gpu/fields/packed_numbers.hpp"
#include "gpu/fields/random_spinor.hpp"
#include "gpu/gauge/ghost_exchange.hpp"
#include "gpu/halo/halo.hpp"
#include "gpu/tuning/tuner.hpp"

namespace plaquette::gpu {

namespace {

/// Links of files in single precision are in SU(3) to 1e-6.
constexpr double su3_tolerance = 1e-5;

/// Writes the stored numbers of a link, and tells its distance from the nearest link that they can hold.
template <class T>
struct link_packing {
  reconstruct stored;

  /// Few reals hold links in SU(3), 16 bits parts up to 1.
  PLAQUETTE_HOST_DEVICE double unsuitability(const su3<double>& u) const {
    if (stored != reconstruct::none) return distance_from_su3(u);
    if (!is_half<T>) return 0.0;
    double largest = 1.0;
    for (int k = 0; k < colours * colours; ++k)
      for (const double x : {u(k / colours, k % colours).re, u(k / colours, k % colours).im}) {
        const double size = x < 0.0 ? -x : x;
        if (!(size <= largest)) largest = size;
        if (largest != largest) return largest;
      }
    return largest - 1.0;
  }

  /// \param block  of 32 links
  PLAQUETTE_HOST_DEVICE void write(std::byte* block, int lane, const su3<double>& u) const {
    if (stored == reconstruct::eight) {
      double p[8];
      parameters_of_matrix(p, u);
      return store_packed<8>(block, lane, [&](int k) { return as_stored(p[k]); });
    }
    const auto part = [&](int k) {
      const complex<double>& z = u(k / 2 / colours, k / 2 % colours);
      return as_stored(k % 2 == 0 ? z.re : z.im);
    };
    if (stored == reconstruct::twelve) return store_packed<12>(block, lane, part);
    store_packed<18>(block, lane, part);
  }

 private:
  PLAQUETTE_HOST_DEVICE static auto as_stored(double x) {
    if constexpr (is_half<T>) {
      const double inside = x < -1.0 ? -1.0 : x > 1.0 ? 1.0 : x;
      return static_cast<std::uint16_t>(inside * 32767.0 + 32768.5);  // positive: cutting off rounds to the nearest
    } else {
      return static_cast<real_of<T>>(x);
    }
  }
};

/// Packs the four links of a site. Returns how unsuitable the worst of them is.
template <class T>
struct pack_links_of_site {
  gauge_configuration::const_pointer from;
  std::byte* to;
  std::int64_t parity_bytes;
  site_order order;
  link_packing<T> packing;

  PLAQUETTE_HOST_DEVICE double operator()(std::int64_t n) const {
    const auto [parity, i] = site_of_loop(order, n);
    double worst = 0.0;
#pragma unroll 1
    for (int mu = 0; mu < dimensions; ++mu) worst = larger(worst, write(parity, i, mu, from.load(parity, i, mu)));
    return worst;
  }

  /// Packs one link, if there is memory for it. Returns how unsuitable it is; a NaN is not packed.
  PLAQUETTE_HOST_DEVICE double write(int parity, std::int32_t i, int mu, const su3<double>& u) const {
    if (to == nullptr) return 0.0;
    const double distance = packing.unsuitability(u);
    if (distance != distance) return distance;
    packing.write(to + parity * parity_bytes +
                      (static_cast<std::int64_t>(i / lanes) * dimensions + mu) * lanes * link_bytes<T>(packing.stored),
                  i % lanes, u);
    return distance;
  }
};

/// Packs the four links of a site in all precisions that are there; they are read once.
struct pack_links_of_precisions {
  gauge_configuration::const_pointer from;
  site_order order;
  pack_links_of_site<double> in_double;
  pack_links_of_site<float> in_single;
  pack_links_of_site<half> in_half;  ///< where `to` is null, there is no such copy

  PLAQUETTE_HOST_DEVICE double operator()(std::int64_t n) const {
    const auto [parity, i] = site_of_loop(order, n);
    double worst = 0.0;
#pragma unroll 1
    for (int mu = 0; mu < dimensions; ++mu) {
      const su3<double> u = from.load(parity, i, mu);
      for (const double distance :
           {in_double.write(parity, i, mu, u), in_single.write(parity, i, mu, u), in_half.write(parity, i, mu, u)})
        worst = larger(worst, distance);
    }
    return worst;
  }
};

/// Copies the packed links U_mu(x - mu) that lead to the lower face of direction mu of the rank above, for its sites x
/// of one parity. To pack them again in another kernel might give other last bits.
struct take_links_to_next_rank {
  const std::byte* from;  ///< packed links of the sites of the other parity
  std::byte* to;
  face_order faces;
  int mu, parity;
  std::int32_t last;  ///< of x[mu]
  int bytes;          ///< of a link

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const auto f = static_cast<std::int32_t>(index);
    const std::int32_t i = faces.box.index(faces.coordinate_of(mu, last, 1 - parity, f));
    const std::int64_t of_link = std::int64_t{lanes} * bytes;
    copy_packed(to + f / lanes * of_link, f % lanes, from + (std::int64_t{i / lanes} * dimensions + mu) * of_link,
                i % lanes, bytes);
  }
};

bool is_real(const complex<double>& phase) { return phase.im == 0.0; }

/// Shared memory of a multiprocessor (CUDA C++ Programming Guide, compute capabilities).
int shared_bytes_of(int compute_capability) {
  if (compute_capability >= 90 && compute_capability < 120) return 227 << 10;
  return compute_capability == 80 || compute_capability == 87 ? 163 << 10 : 99 << 10;
}

}  // namespace

template <class T>
hopping_term<T>::hopping_term(const context& ctx, const gauge_configuration& links, const fermion_action& action,
                              reconstruct stored)
    : context_(ctx), action_(action), stored_(stored), overlap_(ctx.ranks().overlap) {
  make_room_for_links();
  follow(links);
}

template <class T>
void hopping_term<T>::follow(const gauge_configuration& links) {
  if (!(links.get_context().geometry() == context_.geometry()))
    throw std::logic_error("hopping_term: links of another lattice");
  pack_links(links);
  if (context_.halo() != nullptr) exchange_ghost_links();
}

template <class T>
void hopping_term<T>::make_room_for_links() {
  const queue& q = context_.queue();
  parity_bytes_ = std::int64_t{context_.order().blocks()} * link_block_bytes<T>(stored_);
  links_ = context_.workspace().take(static_cast<std::size_t>(2 * parity_bytes_));
  fill_bytes(q, links_.get(), 0, static_cast<std::size_t>(2 * parity_bytes_));
  if (context_.halo() == nullptr) return;
  const face_order faces{context_.order()};
  const std::int64_t block_bytes = std::int64_t{lanes} * link_bytes<T>(stored_);
  std::int64_t total = 0;
  for (int p = 0; p < 2; ++p)
    for (int mu = 0; mu < dimensions; ++mu) {
      ghost_begin_[p][mu] = total;
      if (context_.geometry().is_cut(mu)) total += faces.blocks(mu) * block_bytes;
    }
  ghost_links_ = context_.workspace().take(static_cast<std::size_t>(total));
  fill_bytes(q, ghost_links_.get(), 0, static_cast<std::size_t>(total));
}

template <class T>
void hopping_term<T>::pack_links(const gauge_configuration& links) {
  require_suitable(
      host_maximum(context_, 2 * static_cast<std::int64_t>(context_.order().sites),
                   pack_links_of_site<T>{links.sites(), links_.get(), parity_bytes_, context_.order(), {stored_}}));
}

template <class T>
void hopping_term<T>::require_suitable(double worst) const {
  if (!(worst <= su3_tolerance))
    throw input_error(std::to_string(stored_reals(stored_)) + " stored reals a link" +
                      (is_half<T> ? ", in 16 bits," : "") + " need links in SU(3): expected within " +
                      std::to_string(su3_tolerance) + ", found a distance of " + std::to_string(worst));
}

/// Fewest bytes a site: links 576 and the output, 576 of whole matrices in double, 192 and 96 of 12 reals in single and
/// half precision.
void follow_at_once(const gauge_configuration& links, hopping_term<double>& in_double, hopping_term<float>* in_single,
                    hopping_term<half>* in_half) {
  const context& ctx = in_double.context_;
  if (!(links.get_context().geometry() == ctx.geometry()))
    throw std::logic_error("hopping_term: links of another lattice");
  const auto packing_of = [&]<class T>(const hopping_term<T>* hop) {
    if (hop == nullptr) return pack_links_of_site<T>{links.sites(), nullptr, 0, ctx.order(), {reconstruct::none}};
    return pack_links_of_site<T>{links.sites(), hop->links_.get(), hop->parity_bytes_, ctx.order(), {hop->stored_}};
  };
  const double worst = host_maximum(ctx, 2 * static_cast<std::int64_t>(ctx.order().sites),
                                    pack_links_of_precisions{links.sites(), ctx.order(), packing_of(&in_double),
                                                             packing_of(in_single), packing_of(in_half)});
  if (in_half != nullptr)
    in_half->require_suitable(worst);
  else if (in_single != nullptr)
    in_single->require_suitable(worst);
  else
    in_double.require_suitable(worst);
  if (ctx.halo() == nullptr) return;
  in_double.exchange_ghost_links();
  if (in_single != nullptr) in_single->exchange_ghost_links();
  if (in_half != nullptr) in_half->exchange_ghost_links();
}

template <class T>
void hopping_term<T>::exchange_ghost_links() {
  const queue& q = context_.queue();
  const face_order faces{context_.order()};
  for (int mu = 0; mu < dimensions; ++mu) {
    if (!context_.geometry().is_cut(mu)) continue;
    const auto parity_bytes = static_cast<std::size_t>(faces.blocks(mu)) * lanes * link_bytes<T>(stored_);
    const std::size_t side = 2 * parity_bytes;
    const auto buffer = context_.workspace().take(2 * side);  // the half that goes downwards is not used
    fill_bytes(q, buffer.get(), 0, 2 * side);
    for (int p = 0; p < 2; ++p)
      for_each_index(q, faces.sites(mu),
                     take_links_to_next_rank{links_.get() + (1 - p) * parity_bytes_,
                                             buffer.get() + static_cast<std::size_t>(p) * parity_bytes, faces, mu, p,
                                             context_.order().length[mu] - 1, link_bytes<T>(stored_)},
                     128);
    const std::byte* const come = exchange_with_neighbours(context_, mu, buffer.get(), side);
    for (int p = 0; p < 2; ++p)
      copy_on_device(q, ghost_links_.get() + ghost_begin_[p][mu], come + static_cast<std::size_t>(p) * parity_bytes,
                     parity_bytes);
  }
  // Kernels load links before the kernel that comes before them has ended: that must not be this one.
  q.synchronize();
}

template <class T>
unsigned hopping_term<T>::cut_directions() const {
  unsigned cut = 0;
  for (int mu = 0; mu < dimensions; ++mu)
    if (has_halo() && context_.geometry().is_cut(mu)) cut |= 1U << mu;
  return cut;
}

template <class T>
bool hopping_term<T>::has_halo() const {
  return context_.halo() != nullptr && communicates_;
}

template <class T>
bool hopping_term<T>::recordable() const {
  return !has_halo() || context_.halo()->recordable();
}

template <class T>
std::int64_t hopping_term<T>::halo_bytes(int columns) const {
  return has_halo() ? context_.halo()->bytes_sent(columns, ghost_block_bytes<T>) : 0;
}

template <class T>
std::string hopping_term<T>::halo_description() const {
  return has_halo() ? context_.halo()->description() : "none";
}

template <class T>
hopping_problem hopping_term<T>::problem(int columns, bool with_clover) const {
  return {context_.geometry().local(),
          columns,
          is_half<T> ? 2 : static_cast<int>(sizeof(real_of<T>)),
          stored_,
          with_clover,
          context_.device().cache_bytes,
          shared_bytes_of(context_.device().compute_capability),
          context_.queue().starts_kernels_early(),
          cut_directions()};
}

static_assert(2 * chiral_block_bytes<float> <= 3 * spinor_block_bytes<float>);
static_assert(2 * chiral_block_bytes<half> <= 3 * spinor_block_bytes<half>);

template <class T>
class hopping_term<T>::trials {
 public:
  trials(const hopping_term& term, int columns, bool with_clover)
      : term_(term),
        with_clover_(with_clover),
        in_(term.context_, {spins, colours, site_subset::odd, columns}),
        out_(term.context_, {spins, colours, site_subset::even, columns}),
        // Three spinors are not smaller than the blocks of a site. (Of half precision they are blocks of no sensible
        // scale.)
        clover_(term.context_, {spins, colours, site_subset::even, with_clover ? 3 : 1}),
        timer_(term.context_.queue()) {
    // Random numbers: a device at its power limit runs faster on data in which few bits change.
    random_spinors(in_, 1);
    if (with_clover) {
      if constexpr (is_half<T>)
        fill_bytes(
            term.context_.queue(), clover_.sites(0).begin, 0x3c,
            static_cast<std::size_t>(in_.order().blocks()) * static_cast<std::size_t>(clover_.sites(0).block_stride));
      else
        random_spinors(clover_, 2);
      return;
    }
    try {
      numbers_.emplace(like(in_));
      copy(*numbers_, in_);
    } catch (const memory_error&) {
      numbers_.reset();  // drawn again for each stretch
    }
  }

  /// Returns the seconds of an application: of a millisecond or so of them, or of more the more often it is called for
  /// a candidate. One that is far behind is not measured longer.
  double seconds_of(int candidate, const hopping_launch& launch) {
    constexpr double stretch_seconds = 1e-3, far_behind = 2.0;
    constexpr int most_times = 50, most_stretches = 5;
    auto found = stretches_.find(candidate);
    if (found == stretches_.end()) {
      const auto term = std::make_shared<hopping_term>(term_);
      term->forced_ = launch;
      term->communicates_ = false;  // ranks try as often as each of them likes
      const auto apply = [this, term] { there_and_back(*term); };
      seconds_of_work(apply);  // loads the kernels
      const double once = seconds_of_work(apply);
      best_once_ = std::min(best_once_, once);
      if (once > far_behind * best_once_) return once / applications();
      const int times = std::clamp(static_cast<int>(stretch_seconds / std::max(once, 1e-7)), 1, most_times);
      found = stretches_.emplace(candidate, stretch{term, work_graph(term_.context_.queue(), times, apply), 0}).first;
    }
    stretch& s = found->second;
    s.launches = std::min(s.launches + 1, most_stretches);
    double sum = 0.0;
    for (int k = 0; k < s.launches; ++k) sum += seconds_of_work([&s] { s.graph.launch(); });
    return sum / (s.graph.times() * s.launches * applications());
  }

 private:
  /// Many applications as a graph: on a small lattice single launches would time the host.
  struct stretch {
    std::shared_ptr<const hopping_term> term;  ///< has tables that the graph reads
    work_graph graph;
    int launches;  ///< of the last measurement
  };

  int applications() const { return with_clover_ ? 1 : 2; }
  /// There and back, as in use: the output is read next, and has to find its place in the cache. The scale keeps
  /// numbers in range for one stretch. (Blocks of random numbers would not, so with them it goes one way.)
  void there_and_back(const hopping_term& term) {
    hopping_finish<T> finish;
    if (with_clover_) {
      finish.finish = epilogue::clover;
      finish.clover = clover_.sites(0).begin;
      term.apply(out_, in_, false, finish);
      return;
    }
    finish.scale = 1.0 / 6.0;
    term.apply(out_, in_, false, finish);
    term.apply(in_, out_, false, finish);
  }
  /// Of work on the numbers of the beginning.
  template <class Work>
  double seconds_of_work(const Work& work) {
    if (numbers_)
      copy(in_, *numbers_);
    else if (!with_clover_)
      random_spinors(in_, 1);
    timer_.start();
    work();
    timer_.stop();
    return timer_.seconds();
  }

  const hopping_term& term_;
  bool with_clover_;
  field<T> in_, out_, clover_;
  std::optional<field<T>> numbers_;  ///< that `in_` begins with, unless it is only read
  device_timer timer_;
  double best_once_ = std::numeric_limits<double>::infinity();
  std::map<int, stretch> stretches_;
};

template <class T>
hopping_launch hopping_term<T>::launch_for(int columns, bool with_clover) const {
  if (forced_) return *forced_;
  if (kernels_run_on_host()) return {};
  const auto key = std::tuple(columns, with_clover, has_halo());
  const auto found = chosen_.find(key);
  if (found != chosen_.end()) return found->second;
  const int tuned = columns_tuned_for(columns);
  // A batch passes through 8, 4 and 2 columns while the last of them converge: few candidates are worth a trial there.
  const bool is_passing = tuned > 1 && tuned < 12;
  constexpr int few = 12, all = 64;
  const std::vector<hopping_launch> list = candidates(problem(tuned, with_clover), is_passing ? few : all);
  std::vector<std::string> names;
  for (const hopping_launch& launch : list) names.push_back(launch.name());
  const tuning_key what{"hopping", plaquette::to_string(context_.geometry().local()),
                        is_half<T>                ? "half"
                        : sizeof(real_of<T>) == 4 ? "single"
                                                  : "double",
                        "reconstruct=" + std::to_string(stored_reals(stored_)) + " columns=" + std::to_string(tuned) +
                            (with_clover ? " clover" : "") + text_of_cut(cut_directions())};
  std::optional<trials> measured;
  const int choice = context_.tuner().choose(what, names, [&](int i) {
    if (!measured) measured.emplace(*this, tuned, with_clover);
    return measured->seconds_of(i, list[static_cast<std::size_t>(i)]);
  });
  return chosen_[key] = list[static_cast<std::size_t>(choice)];
}

template <class T>
void hopping_term<T>::apply(field<T>& out, const field<T>& in, bool daggered, const hopping_finish<T>& finish) const {
  const auto is_spinor = [](const field<T>& f) {
    return f.parts() == 1 && f.shape().spins == spins && f.shape().colours == colours;
  };
  if (!is_spinor(out) || !is_spinor(in) || out.parity_of_part(0) == in.parity_of_part(0) ||
      out.columns() != in.columns() || (finish.x != nullptr && !(finish.x->shape() == out.shape())) ||
      (finish.w != nullptr && !(finish.w->shape() == out.shape())))
    throw std::logic_error("hopping_term: fields must be Dirac spinors on opposite parities with equal columns");
  if ((needs_x(finish.finish) && finish.x == nullptr) || (needs_clover(finish.finish) && finish.clover == nullptr))
    throw std::logic_error("hopping_term: the epilogue lacks its field or its clover blocks");

  hopping_work<T> work = work_for(out, in, daggered, finish);
  std::shared_ptr<std::byte> runs;
  if (finish.w != nullptr && makes_sums_in_kernels(work.arg.clover != nullptr)) {
    work.arg.w = finish.w->sites(0);
    work.arg.sums = sums_of_runs(context_.order());
    runs = context_.workspace().take(sizeof(double) * static_cast<std::size_t>(work.arg.sums.numbers(in.columns())));
    work.arg.sums.begin = reinterpret_cast<double*>(runs.get());
  }
  const hopping_launch how =
      work.phases.used ? hopping_launch{} : launch_for(in.columns(), needs_clover(finish.finish));
  if (has_halo())
    queue_on_ranks(work, how);
  else
    queue_alone(work, how);
  if (finish.w != nullptr)
    *finish.sums = runs != nullptr ? add_up(work.arg.sums, runs, in.columns()) : dot_norm2(out, *finish.w);
}

template <class T>
bool hopping_term<T>::makes_sums_in_kernels(bool with_clover) const {
  if (sums_in_kernels_) return *sums_in_kernels_;
  const std::int64_t column = std::int64_t{context_.order().blocks()} * spinor_block_bytes<T>;
  return leaves_sums<T>(with_clover) && sums_of_runs(context_.order()).sites() > 1 &&
         2 * column > static_cast<std::int64_t>(context_.device().cache_bytes);
}

template <class T>
std::pair<scalars, scalars> hopping_term<T>::add_up(const sums_of_runs& runs, const std::shared_ptr<std::byte>& memory,
                                                    int columns) const {
  const column_sums sums(context_, columns, sums_of_runs::count);
  hold_back_sum<sums_of_runs::count>(context_, runs.runs, columns, add_up_runs{runs}, sums,
                                     context_.kernels_sum_over_ranks(columns), {memory});
  return dot_and_norm(sums);
}

template <class T>
hopping_work<T> hopping_term<T>::work_for(field<T>& out, const field<T>& in, bool daggered,
                                          const hopping_finish<T>& finish) const {
  hopping_work<T> work;
  hopping_arguments<T>& arg = work.arg;
  const int p = out.parity_of_part(0);
  arg.out = out.sites(0);
  arg.in = in.sites(0);
  if (needs_x(finish.finish)) arg.x = finish.x->sites(0);
  arg.links_here = links_.get() + p * parity_bytes_;
  arg.links_there = links_.get() + (1 - p) * parity_bytes_;
  arg.clover = needs_clover(finish.finish) ? finish.clover : nullptr;
  arg.order = context_.order();
  arg.parity = p;
  arg.columns = in.columns();
  // gamma_5 D gamma_5 = D^+, and gamma_5 exchanges upper and lower half.
  arg.exchanged = daggered;
  arg.exchange = daggered && !is_half<T> ? spinor_block_bytes<T> / 2 : 0;
  arg.finish = finish.finish;
  arg.a = static_cast<real_of<T>>(finish.a);
  set_weights(work, finish.scale);
  return work;
}

template <class T>
void hopping_term<T>::set_weights(hopping_work<T>& work, double scale) const {
  hopping_arguments<T>& arg = work.arg;
  for (int d = 0; d < hop_directions; ++d) {
    const int mu = d / 2;
    const complex<double> phase = phase_across(d);
    const double weight = scale * action_.hop_coefficient(mu) * (mu == 3 ? 2.0 : 1.0);
    arg.inside[d] = static_cast<real_of<T>>(weight);
    arg.across[d] = static_cast<real_of<T>>(is_real(phase) ? weight * phase.re : weight);
    // A complex phase is a factor of the link: U backwards is conjugated.
    work.phases.across[d] = {real_of<T>(1), real_of<T>(0)};
    if (!is_real(phase)) {
      work.phases.across[d] = complex_cast<real_of<T>>(d % 2 == 0 ? phase : conj(phase));
      work.phases.used = true;
    }
  }
}

template <class T>
hopping_work<T> hopping_term<T>::work_on_lattice(double scale) const {
  hopping_work<T> work;
  work.arg.links_here = work.arg.links_there = links_.get();
  work.arg.order = context_.order();
  set_weights(work, scale);
  return work;
}

template <class T>
complex<double> hopping_term<T>::phase_across(int direction) const {
  const lattice_geometry& geometry = context_.geometry();
  const int mu = direction / 2;
  const int last = direction % 2 == 0 ? geometry.grid()[mu] - 1 : 0;
  const bool leaves_lattice = !has_halo() || geometry.rank_coordinate()[mu] == last;
  return leaves_lattice ? action_.boundary_phase[static_cast<std::size_t>(mu)] : complex<double>{1.0, 0.0};
}

namespace {

/// Calls function.operator()<stored>() for the stored reals.
template <class Function>
void with_stored(reconstruct stored, const Function& function) {
  switch (stored) {
    case reconstruct::none:
      return function.template operator()<reconstruct::none>();
    case reconstruct::twelve:
      return function.template operator()<reconstruct::twelve>();
    case reconstruct::eight:
      return function.template operator()<reconstruct::eight>();
  }
}

}  // namespace

template <class T>
void hopping_term<T>::queue_alone(const hopping_work<T>& work, const hopping_launch& how) const {
  with_stored(stored_, [&]<reconstruct stored>() { launch_hopping<T, stored>(context_.queue(), work, how); });
}

template <class T>
void hopping_term<T>::queue_on_ranks(const hopping_work<T>& work, const hopping_launch& how) const {
  const queue& q = context_.queue();
  gpu::halo& exchange = *context_.halo();
  hopping_halo halo{exchange.zones(work.arg.columns, ghost_block_bytes<T>)};
  for (int mu = 0; mu < dimensions; ++mu) halo.ghost_links[mu] = ghost_links(work.arg.parity, mu);
  const bool in_tiles = how.variant != hopping_variant::gather;
  const tile_table* const tiles = in_tiles ? &tiles_of(how) : nullptr;
  const auto queue_part = [&](box_part part, const hopping_launch& launch, bool packs = false) {
    with_stored(stored_, [&]<reconstruct stored>() {
      queue_hops_of_rank<T, stored>(q, work, halo, launch, tiles, part, packs);
    });
  };
  hopping_launch in_order = how, at_once = how;
  in_order.dependent = false;
  at_once.dependent = true;

  if (in_tiles && overlap_ && !exchange.has_host_messages()) return queue_part(box_part::all, at_once, true);
  queue_packing(q, work.arg, halo);
  if (exchange.has_host_messages()) exchange.start_messages(q);
  if (overlap_) queue_part(box_part::interior, in_order);
  if (exchange.has_host_messages()) exchange.finish_messages(q);
  exchange.queue_wait(q);
  queue_part(overlap_ ? box_part::boundary : box_part::all, in_order);
}

template <class T>
const tile_table& hopping_term<T>::tiles_of(const hopping_launch& how) const {
  const auto found = tiles_.find(how.name());
  if (found != tiles_.end()) return found->second;
  return tiles_[how.name()] =
             make_tile_table(context_.queue(), context_.workspace(), context_.order(), how, cut_directions());
}

template class hopping_term<half>;
template class hopping_term<float>;
template class hopping_term<double>;

}  // namespace plaquette::gpu
