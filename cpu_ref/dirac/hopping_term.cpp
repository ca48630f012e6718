// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/dirac/hopping_term.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "common/algebra/link_reconstruction.hpp"
#include "common/algebra/projector.hpp"
#include "common/lattice/ghosts.hpp"
#include "cpu_ref/fields/cache_size.hpp"

namespace plaquette::cpu {

namespace {

constexpr int half_spinor_reals = 4 * colours;

/// Inputs larger than this do not stay in the second-level cache.
constexpr std::int64_t prefetch_above_bytes = 1 << 20;
/// Inputs of several columns larger than this come from memory or from a cache that is nearly as far.
constexpr std::int64_t prefetch_columns_above_bytes = 32 << 20;
/// Outputs larger than this are gone from the caches before the next operation reads them.
constexpr std::int64_t stream_above_bytes = 16 << 20;

/// Links of files in single precision are in SU(3) to 1e-6.
constexpr double su3_tolerance = 1e-5;

/// Reads component k of one lane of a block of Dirac spinors, as the kernels do before they scale.
template <class T>
complex<real_of<T>> read_component(const word_of<T>* block, int k, int width) {
  if constexpr (is_half<T>) {
    const auto integer = [](std::uint32_t word) { return static_cast<float>(std::bit_cast<std::int32_t>(word)); };
    const std::uint32_t word = block[k * width];
    return {integer(word << 16), integer(word)};
  } else {
    return {block[2 * k * width], block[(2 * k + 1) * width]};
  }
}

/// The half-spinor of a hop in direction 2 mu or 2 mu + 1 for one lane of a block as the kernels make it (in time
/// without the factor 2), in fixed point with its scale. `stride` separates its numbers.
/// \param exchanged  the halves of psi, for D^+
template <int direction, class T>
void project_lane(const word_of<T>* psi, bool exchanged, int width, real_of<T> hop_scale, real_of<T>* to, int stride) {
  using real = real_of<T>;
  constexpr int mu = direction / 2, sign = sign_of_hop(direction);
  const auto component = [&](int spin, int colour) {
    const int stored = exchanged ? (spin + spins / 2) % spins : spin;
    return read_component<T>(psi, stored * colours + colour, width);
  };
  for (int c = 0; c < colours; ++c) {
    complex<real> h[2];
    if constexpr (mu == 3) {
      for (int a = 0; a < 2; ++a) h[a] = component(spin_kept_in_time(sign) + a, c);
    } else {
      constexpr chiral_links pair = links_of_gamma(mu);
      h[0] = project_spin<mu, sign, 0>(component(0, c), component(pair.lower[0], c));
      h[1] = project_spin<mu, sign, 1>(component(1, c), component(pair.lower[1], c));
    }
    for (int a = 0; a < 2; ++a) {
      to[2 * (a * colours + c) * stride] = h[a].re;
      to[(2 * (a * colours + c) + 1) * stride] = h[a].im;
    }
  }
  if constexpr (is_half<T>)
    to[half_spinor_reals * stride] = std::bit_cast<float>(psi[spins * colours * width]) * hop_scale;
}

template <class T>
using projection = void (*)(const word_of<T>*, bool, int, real_of<T>, real_of<T>*, int);

/// The projection of each direction of hop.
template <class T>
projection<T> projection_of(int direction) {
  static constexpr projection<T> table[hop_directions] = {project_lane<0, T>, project_lane<1, T>, project_lane<2, T>,
                                                          project_lane<3, T>, project_lane<4, T>, project_lane<5, T>,
                                                          project_lane<6, T>, project_lane<7, T>};
  return table[direction];
}

/// What the action makes of U_mu(x): coefficient * phase * U.
struct link_in_action {
  su3<double> u;
  double coefficient;
  complex<double> phase;
};

link_in_action link_of(const gauge_configuration& links, const fermion_action& action, const coordinate& x, int mu) {
  const lattice_geometry& geometry = links.geometry();
  const bool last = geometry.to_global(x)[mu] == geometry.global()[mu] - 1;
  return {links(x)[mu], action.hop_coefficient(mu), last ? action.boundary_phase[mu] : complex<double>{1.0, 0.0}};
}

/// How far a link is from what its stored form can hold: few reals hold links in SU(3), 16 bits parts up to 1.
template <class T>
double unsuitability(const su3<double>& u, reconstruct stored) {
  if (stored != reconstruct::none) return distance_from_su3(u);
  if (!is_half<T>) return 0.0;
  double largest = 1.0;
  for (int k = 0; k < colours * colours; ++k)
    largest =
        larger_magnitude(larger_magnitude(largest, u(k / colours, k % colours).re), u(k / colours, k % colours).im);
  return largest - 1.0;
}

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

/// Sums that kernels make beside their work: for each range of blocks `most_sums` numbers a column. Kernels add lane by
/// lane; the lanes of a range are added as soon as it is done, so that little is left for one thread to add.
class range_sums {
 public:
  static constexpr std::int64_t blocks_of_a_range = 16;
  static std::int64_t ranges_of(std::int64_t blocks) { return (blocks + blocks_of_a_range - 1) / blocks_of_a_range; }

  range_sums(std::int64_t blocks, int columns, int width)
      : sums_(static_cast<std::size_t>(columns * most_sums)), width_(static_cast<std::size_t>(width)) {
    if (blocks > 0) values_.resize(static_cast<std::size_t>(ranges_of(blocks) + 1) * sums_);  // two lists: one more
  }

  /// So many ranges; returns the number of the first.
  std::int64_t claim(std::int64_t ranges) { return std::exchange(claimed_, claimed_ + ranges); }

  /// A thread's own, zero: [column][most_sums][W].
  std::vector<double> lanes() const { return std::vector<double>(sums_ * width_); }
  /// Adds up the lanes of range i and sets them to zero.
  void add_lanes(std::int64_t i, std::vector<double>& lanes) {
    double* const of_range = values_.data() + static_cast<std::size_t>(i) * sums_;
    for (std::size_t k = 0; k < lanes.size(); ++k) of_range[k / width_] += lanes[k];
    std::ranges::fill(lanes, 0.0);
  }

  /// <out, w> and |out|^2: range by range, then over ranks.
  std::pair<scalars, scalars> total(const communicator& comm) const {
    std::vector<double> sums(sums_);
    for (std::size_t k = 0; k < static_cast<std::size_t>(claimed_) * sums_; ++k) sums[k % sums_] += values_[k];
    comm.sum(std::span(sums));
    std::vector<complex<double>> dots, norms;
    for (std::size_t c = 0; c < sums.size(); c += most_sums) {
      dots.push_back({sums[c], sums[c + 1]});
      norms.push_back({sums[c + 2], 0.0});
    }
    return {scalars(std::move(dots)), scalars(std::move(norms))};
  }

 private:
  std::size_t sums_, width_;
  std::int64_t claimed_ = 0;
  std::vector<double> values_;  ///< [range][column][most_sums]
};

/// Blocks of the interior that are worked on between two looks at the messages: an eighth, but not so few that starting
/// the threads would count; whole ranges of `range_sums`.
std::int64_t piece_of(std::int64_t blocks) {
  constexpr std::int64_t least = 8 * range_sums::blocks_of_a_range;
  const std::int64_t eighth = blocks / 8 / range_sums::blocks_of_a_range * range_sums::blocks_of_a_range;
  return std::max(eighth, least);
}

}  // namespace

su3<double> folded_link(const gauge_configuration& links, const fermion_action& action, const coordinate& x, int mu) {
  const link_in_action link = link_of(links, action, x, mu);
  return (link.coefficient * link.phase) * link.u;
}

/// Writes links lane by lane, and finds which factor of the table each block of lanes takes. For several threads.
template <class T>
class hopping_term<T>::link_packer {
 public:
  link_packer(reconstruct stored, int width) : stored_(stored), width_(width) {
    table_.assign(static_cast<std::size_t>(width), {1.0, 0.0});
  }

  /// Of one link on all lanes; `link_at(lane)` gives them. Returns the number of its factor.
  template <class LinkAt>
  std::uint8_t pack(word_of<T>* to, LinkAt&& link_at) {
    std::vector<complex<double>> factors;
    double distance = 0.0;
    for (int lane = 0; lane < width_; ++lane) {
      const link_in_action link = link_at(lane);
      distance = larger_magnitude(distance, unsuitability<T>(link.u, stored_));
      // A link of 16 bits has no room for a coefficient: that goes to the half-spinor, hop_scale_.
      const double coefficient = is_half<T> ? 1.0 : link.coefficient;
      if (stored_ != reconstruct::none) factors.push_back(factor_of(coefficient, link.phase));
      double numbers[18];
      if (stored_ == reconstruct::eight) {
        double parameters[8];
        parameters_of_matrix(parameters, link.u);
        std::ranges::copy(parameters, numbers);
      } else {
        for (int k = 0; k < colours * colours; ++k) {
          const auto z = coefficient * (link.phase * link.u(k / colours, k % colours));
          numbers[2 * k] = z.re;
          numbers[2 * k + 1] = z.im;
        }
      }
      store(to + lane, numbers);
    }
    if (stored_ == reconstruct::none && !is_half<T>) return 0;
    std::uint8_t number = 0;
#pragma omp critical(plaquette_link_factors)
    {
      worst_ = larger_magnitude(worst_, distance);
      number = number_of(factors);
    }
    return number;
  }

  bool has_factors() const { return table_.size() > static_cast<std::size_t>(width_); }
  double worst() const { return worst_; }

  /// [factor][re, im][W]
  aligned_buffer<real> table() const {
    aligned_buffer<real> result(2 * table_.size());
    for (std::size_t i = 0; i < table_.size(); ++i) {
      const std::size_t factor = i / static_cast<std::size_t>(width_), lane = i % static_cast<std::size_t>(width_);
      result.data()[2 * factor * static_cast<std::size_t>(width_) + lane] = static_cast<real>(table_[i].re);
      result.data()[(2 * factor + 1) * static_cast<std::size_t>(width_) + lane] = static_cast<real>(table_[i].im);
    }
    return result;
  }

 private:
  /// With rows c phi u stored, conj(row1 x row2) = c^2 phi^-2 u3, as |phi| = 1: the third row is that times phi^3 / c.
  complex<double> factor_of(double coefficient, const complex<double>& phase) const {
    if (stored_ == reconstruct::eight) return coefficient * phase;
    return (coefficient == 0.0 ? 0.0 : 1.0 / coefficient) * (phase * phase * phase);
  }

  void store(word_of<T>* to, const double* numbers) const {
    const int reals = stored_reals(stored_);
    if constexpr (is_half<T>) {
      const auto part = [](double x) { return static_cast<float>(std::clamp(x, -1.0, 1.0)); };
      for (int k = 0; k < reals / 2; ++k)
        to[k * width_] = pack_fixed_point({part(numbers[2 * k]), part(numbers[2 * k + 1])});
    } else {
      for (int k = 0; k < reals; ++k) to[k * width_] = static_cast<T>(numbers[k]);
    }
  }

  std::uint8_t number_of(const std::vector<complex<double>>& factors) {
    if (factors.empty()) return 0;
    const auto width = static_cast<std::size_t>(width_);
    for (std::size_t i = 0; i < table_.size(); i += width)
      if (std::equal(factors.begin(), factors.end(), table_.begin() + static_cast<std::ptrdiff_t>(i)))
        return static_cast<std::uint8_t>(i / width);
    if (table_.size() / width > 255) throw std::logic_error("hopping_term: too many patterns of boundary phases");
    table_.insert(table_.end(), factors.begin(), factors.end());
    return static_cast<std::uint8_t>(table_.size() / width - 1);
  }

  reconstruct stored_;
  int width_;
  double worst_ = 0.0;
  std::vector<complex<double>> table_;  ///< [factor][W]
};

template <class T>
hopping_term<T>::hopping_term(const context& ctx, const gauge_configuration& links, const fermion_action& action,
                              reconstruct stored)
    : context_(ctx), stored_(stored) {
  if (!(links.geometry() == ctx.geometry())) throw std::logic_error("hopping_term: links of another lattice");
  if (!has_current_ghosts(links, ctx.comm()))
    throw std::logic_error("hopping_term: ghosts of the links are not their neighbours' links: call exchange_ghosts");
  for (int mu = 0; mu < dimensions; ++mu) {
    const double times = mu == 3 ? 2.0 : 1.0;  // of 1 +- gamma_t, which the kernels leave out
    hop_scale_[mu] = is_half<T>
                         ? static_cast<real>(times * action.hop_coefficient(mu)) * static_cast<real>(fixed_point_unit)
                         : real(1);
  }
  pack_links(links, action);
}

template <class T>
void hopping_term<T>::pack_links(const gauge_configuration& links, const fermion_action& action) {
  const block_layout& layout = context_.layout<T>();
  const int width = layout.width();
  const std::int64_t link_size = static_cast<std::int64_t>(link_words<T>(stored_reals(stored_))) * width;
  link_packer packer(stored_, width);
  for (int p = 0; p < 2; ++p) {
    const std::size_t link_count = static_cast<std::size_t>(dimensions * layout.blocks());
    const std::size_t slot_count = layout.slot_directions(p).size();
    links_[p] = {aligned_buffer<word_of<T>>(link_count * static_cast<std::size_t>(link_size)),
                 std::vector<std::uint8_t>(link_count)};
    slot_links_[p] = {aligned_buffer<word_of<T>>(slot_count * static_cast<std::size_t>(link_size)),
                      std::vector<std::uint8_t>(slot_count)};
#pragma omp parallel for num_threads(context_.threads()) schedule(static)
    for (std::int64_t b = 0; b < layout.blocks(); ++b)
      for (int mu = 0; mu < dimensions; ++mu) {
        const auto at = [&](int lane) { return layout.geometry().local_coordinate(layout.site(p, b, lane)); };
        const std::int64_t index = mu * layout.blocks() + b;
        links_[p].factors[static_cast<std::size_t>(index)] = packer.pack(
            links_[p].words.data() + index * link_size, [&](int lane) { return link_of(links, action, at(lane), mu); });
        const std::int32_t behind = layout.neighbours(p)[b * hop_directions + 2 * mu + 1];
        if (behind < 0)
          slot_links_[p].factors[static_cast<std::size_t>(-1 - behind)] =
              packer.pack(slot_links_[p].words.data() + (-1 - behind) * link_size,
                          [&](int lane) { return link_of(links, action, shifted(at(lane), mu, -1), mu); });
      }
  }
  std::array<double, 1> worst{packer.worst()};
  context_.comm().maximum(std::span(worst));
  if (!(worst[0] <= su3_tolerance))
    throw input_error(std::to_string(stored_reals(stored_)) + " stored reals a link" +
                      (is_half<T> ? ", in 16 bits," : "") + " need links in SU(3): expected within " +
                      std::to_string(su3_tolerance) + ", found a distance of " + std::to_string(worst[0]));
  link_factors_ = packer.table();
  if (!packer.has_factors())
    for (int p = 0; p < 2; ++p) links_[p].factors = slot_links_[p].factors = {};
}

template <class T>
link_form hopping_term<T>::form_for(int columns) const {
  if (stored_ == reconstruct::eight) return link_form::expanded;
  // What is made of a link once serves all columns.
  if (columns > 1 && (is_half<T> || stored_ == reconstruct::twelve)) return link_form::expanded;
  return stored_ == reconstruct::twelve ? link_form::two_rows : link_form::whole;
}

template <class T>
void hopping_term<T>::prepare_halo(int parity, int columns) const {
  if (halo_.columns[parity] == columns) return;
  const block_layout& layout = context_.layout<T>();
  const std::int64_t site_reals = static_cast<std::int64_t>(columns) * slot_reals<T>;
  std::vector<halo_traffic> traffic;
  for (const halo_face& face : layout.faces(parity))
    traffic.push_back({face.direction, face.send_to, face.receive_from, std::ssize(face.send), face.receive_count});
  halo_.columns[parity] = -1;
  halo_.messages[parity].prepare(std::move(traffic), static_cast<std::size_t>(site_reals) * sizeof(real));
  halo_.columns[parity] = columns;
}

template <class T>
pending_exchange hopping_term<T>::start_halo(const field<T>& in, int parity, bool daggered) const {
  const block_layout& layout = context_.layout<T>();
  const int width = layout.width(), columns = in.columns();
  const auto& faces = layout.faces(parity);
  const std::int64_t site_reals = static_cast<std::int64_t>(columns) * slot_reals<T>;
  prepare_halo(parity, columns);
  halo& messages = halo_.messages[parity];
  const std::size_t slots = std::max(layout.slot_directions(0).size(), layout.slot_directions(1).size()) *
                            static_cast<std::size_t>(site_reals * width);
  if (halo_.slots.size() != slots) halo_.slots = aligned_buffer<real>(slots);

  for (std::size_t k = 0; k < faces.size(); ++k) {
    const halo_face& face = faces[k];
    real* const to = reinterpret_cast<real*>(messages.outgoing(k));
    const auto project = projection_of<T>(face.direction);
    const auto sites = std::ssize(face.send);
#pragma omp parallel for num_threads(context_.threads())
    for (std::int64_t s = 0; s < sites; ++s) {
      const block_site from = face.send[static_cast<std::size_t>(s)];
      for (int c = 0; c < columns; ++c)
        project(in.block(0, from.block, c) + from.lane, daggered, width, hop_scale_[face.direction / 2],
                to + s * site_reals + c * slot_reals<T>, 1);
    }
  }
  halo_.times.bytes += messages.bytes_sent();
  return messages.start(context_.comm());
}

template <class T>
void hopping_term<T>::fill_slots(const field<T>& in, int parity, bool daggered) const {
  const block_layout& layout = context_.layout<T>();
  const int width = layout.width(), columns = in.columns();
  const auto& directions = layout.slot_directions(parity);
  const auto& lanes = layout.slot_lanes(parity);
  const auto slots = static_cast<std::int64_t>(directions.size());
  const auto* const messages = reinterpret_cast<const real*>(halo_.messages[parity].incoming(0));
#pragma omp parallel for num_threads(context_.threads())
  for (std::int64_t s = 0; s < slots; ++s) {
    const int direction = directions[static_cast<std::size_t>(s)];
    const auto project = projection_of<T>(direction);
    for (int lane = 0; lane < width; ++lane) {
      const slot_lane& source = lanes[static_cast<std::size_t>(s * width + lane)];
      for (int c = 0; c < columns; ++c) {
        real* const slot = halo_.slots.data() + (s * columns + c) * slot_reals<T> * width + lane;
        if (source.message < 0) {
          project(in.block(0, source.local.block, c) + source.local.lane, daggered, width, hop_scale_[direction / 2],
                  slot, width);
        } else {
          const real* const message = messages + (source.message * columns + c) * slot_reals<T>;
          for (int k = 0; k < slot_reals<T>; ++k) slot[k * width] = message[k];
        }
      }
    }
  }
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

/// Which kernel: for blocks without slots of the halo, or for those with them.
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
  const bool needs_x = finish.finish == epilogue::add || finish.finish == epilogue::add_clover ||
                       finish.finish == epilogue::clover_x_add;
  const bool needs_clover = finish.finish == epilogue::clover || finish.finish == epilogue::add_clover ||
                            finish.finish == epilogue::clover_x_add;
  if ((needs_x && finish.x == nullptr) || (needs_clover && finish.clover == nullptr))
    throw std::logic_error("hopping_term: the epilogue lacks its field or its clover blocks");

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
  if (finish.w != nullptr) *finish.sums = sums.total(context_.comm());
}

template <class T>
void hopping_term<T>::apply_hermitian(field<T>& out, double scale, double a, const field<T>& in, double d, double b,
                                      const field<T>* u, double c, const field<T>* w) const {
  const auto fits = [&](const field<T>& f) {
    return f.parts() == 2 && f.shape().spins == spins && f.shape().colours == colours && f.shape() == in.shape();
  };
  if (!fits(out) || !fits(in) || (u != nullptr && !fits(*u)) || (w != nullptr && !fits(*w)))
    throw std::logic_error("hopping_term: fields must be Dirac spinors on the full lattice with equal columns");
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
  // A few blocks of one parity, then those of the other, which lie between them.
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
