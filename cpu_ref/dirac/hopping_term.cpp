// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/dirac/hopping_term.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "common/algebra/projector.hpp"

namespace plaquette::cpu {

namespace {

constexpr int link_components = colours * colours;
constexpr int half_spinor_components = 2 * colours;
constexpr int half_spinor_reals = 2 * half_spinor_components;

/// Inputs larger than this do not stay in the second-level cache.
constexpr std::int64_t prefetch_above_bytes = 1 << 20;
/// Outputs larger than this are gone from the caches before the next operation reads them.
constexpr std::int64_t stream_above_bytes = 16 << 20;

/// Writes lane `lane` of a packed 3x3 matrix.
template <class T>
void store_link(T* packed, int lane, int width, const su3<double>& u) {
  for (int k = 0; k < link_components; ++k) {
    packed[2 * k * width + lane] = static_cast<T>(u(k / colours, k % colours).re);
    packed[(2 * k + 1) * width + lane] = static_cast<T>(u(k / colours, k % colours).im);
  }
}

/// The two spins of (1 + sign gamma_mu) psi for one lane of a block. `stride` separates the numbers of the half-spinor.
template <int mu, int sign, class T>
void project_lane(const T* psi, int width, T* half, int stride) {
  constexpr chiral_links pair = links_of_gamma(mu);
  const auto component = [&](int spin, int colour) {
    const T* const at = psi + 2 * (spin * colours + colour) * width;
    return complex<T>{at[0], at[width]};
  };
  for (int c = 0; c < colours; ++c) {
    const complex<T> h[2] = {project_spin<mu, sign, 0>(component(0, c), component(pair.lower[0], c)),
                             project_spin<mu, sign, 1>(component(1, c), component(pair.lower[1], c))};
    for (int a = 0; a < 2; ++a) {
      half[2 * (a * colours + c) * stride] = h[a].re;
      half[(2 * (a * colours + c) + 1) * stride] = h[a].im;
    }
  }
}

template <class T>
using projection = void (*)(const T*, int, T*, int);

/// The projection of each direction of hop: forwards 1 - gamma, backwards 1 + gamma, the other way round where
/// daggered.
template <class T>
projection<T> projection_of(int direction, bool daggered) {
  static constexpr projection<T> table[2][hop_directions] = {
      {project_lane<0, -1, T>, project_lane<0, +1, T>, project_lane<1, -1, T>, project_lane<1, +1, T>,
       project_lane<2, -1, T>, project_lane<2, +1, T>, project_lane<3, -1, T>, project_lane<3, +1, T>},
      {project_lane<0, +1, T>, project_lane<0, -1, T>, project_lane<1, +1, T>, project_lane<1, -1, T>,
       project_lane<2, +1, T>, project_lane<2, -1, T>, project_lane<3, +1, T>, project_lane<3, -1, T>}};
  return table[daggered ? 1 : 0][direction];
}

/// Sums that kernels make beside their work: a row of lanes for each column of each range of blocks.
class lane_sums {
 public:
  static constexpr std::int64_t blocks_of_a_range = 16;
  static std::int64_t ranges_of(std::int64_t blocks) { return (blocks + blocks_of_a_range - 1) / blocks_of_a_range; }

  lane_sums(std::int64_t blocks, int columns, int width)
      : columns_(columns), width_(width), reals_(static_cast<std::size_t>(columns * most_sums * width)) {
    if (blocks > 0) values_.resize(static_cast<std::size_t>(ranges_of(blocks) + 1) * reals_);  // two lists: one more
  }

  /// So many ranges; returns the number of the first.
  std::int64_t claim(std::int64_t ranges) { return std::exchange(claimed_, claimed_ + ranges); }
  double* range(std::int64_t i) { return values_.data() + static_cast<std::size_t>(i) * reals_; }

  /// <out, w> and |out|^2: range by range in each lane, then lane by lane, then over ranks.
  std::pair<scalars, scalars> total(const communicator& comm) {
    for (std::int64_t i = 1; i < claimed_; ++i)
      for (std::size_t k = 0; k < reals_; ++k) values_[k] += range(i)[k];
    std::vector<double> sums(static_cast<std::size_t>(columns_ * most_sums));
    for (std::size_t s = 0; s < sums.size(); ++s)
      for (int lane = 0; lane < width_; ++lane) sums[s] += values_[s * static_cast<std::size_t>(width_) + lane];
    comm.sum(std::span(sums));
    std::vector<complex<double>> dots, norms;
    for (std::size_t c = 0; c < sums.size(); c += most_sums) {
      dots.push_back({sums[c], sums[c + 1]});
      norms.push_back({sums[c + 2], 0.0});
    }
    return {scalars(std::move(dots)), scalars(std::move(norms))};
  }

 private:
  int columns_, width_;
  std::size_t reals_;
  std::int64_t claimed_ = 0;
  std::vector<double> values_;
};

}  // namespace

su3<double> folded_link(const gauge_configuration& links, const fermion_action& action, const coordinate& x, int mu) {
  const lattice_geometry& geometry = links.geometry();
  const double coefficient = action.hop_coefficient(mu);
  complex<double> factor{coefficient, 0.0};
  if (geometry.to_global(x)[mu] == geometry.global()[mu] - 1) factor = coefficient * action.boundary_phase[mu];
  return factor * links(x)[mu];
}

template <class T>
hopping_term<T>::hopping_term(const context& ctx, const gauge_configuration& links, const fermion_action& action)
    : context_(ctx) {
  if (!(links.geometry() == ctx.geometry())) throw std::logic_error("hopping_term: links of another lattice");
  pack_links(links, action);
}

template <class T>
void hopping_term<T>::pack_links(const gauge_configuration& links, const fermion_action& action) {
  const block_layout& layout = context_.layout<T>();
  const int width = layout.width();
  const std::int64_t link_size = 2 * link_components * width;
  for (int p = 0; p < 2; ++p) {
    links_[p] = aligned_buffer<T>(static_cast<std::size_t>(dimensions * layout.blocks() * link_size));
    slot_links_[p] = aligned_buffer<T>(layout.slot_directions(p).size() * static_cast<std::size_t>(link_size));
#pragma omp parallel for num_threads(context_.threads())
    for (std::int64_t b = 0; b < layout.blocks(); ++b)
      for (int lane = 0; lane < width; ++lane) {
        const coordinate x = layout.geometry().local_coordinate(layout.site(p, b, lane));
        for (int mu = 0; mu < dimensions; ++mu) {
          store_link(links_[p].data() + (mu * layout.blocks() + b) * link_size, lane, width,
                     folded_link(links, action, x, mu));
          const std::int32_t behind = layout.neighbours(p)[b * hop_directions + 2 * mu + 1];
          if (behind < 0)
            store_link(slot_links_[p].data() + (-1 - behind) * link_size, lane, width,
                       folded_link(links, action, shifted(x, mu, -1), mu));
        }
      }
  }
}

template <class T>
pending_exchange hopping_term<T>::start_halo(const field<T>& in, int parity, bool daggered) const {
  const block_layout& layout = context_.layout<T>();
  const int width = layout.width(), columns = in.columns();
  const auto& faces = layout.faces(parity);
  std::int64_t outgoing = 0;
  for (const halo_face& face : faces) outgoing += static_cast<std::int64_t>(face.send.size());
  const std::int64_t site_reals = static_cast<std::int64_t>(columns) * half_spinor_reals;
  if (halo_.columns != columns) {
    const std::size_t slots = std::max(layout.slot_directions(0).size(), layout.slot_directions(1).size());
    halo_.send = aligned_buffer<T>(static_cast<std::size_t>(outgoing * site_reals));
    halo_.receive = aligned_buffer<T>(static_cast<std::size_t>(layout.incoming(parity) * site_reals));
    halo_.slots = aligned_buffer<T>(slots * static_cast<std::size_t>(site_reals * width));
    halo_.columns = columns;
  }

  std::vector<outgoing_message> send;
  std::vector<incoming_message> receive;
  T* to = halo_.send.data();
  for (const halo_face& face : faces) {
    const auto project = projection_of<T>(face.direction, daggered);
    const auto sites = static_cast<std::int64_t>(face.send.size());
#pragma omp parallel for num_threads(context_.threads())
    for (std::int64_t s = 0; s < sites; ++s) {
      const block_site from = face.send[static_cast<std::size_t>(s)];
      for (int c = 0; c < columns; ++c)
        project(in.block(0, from.block, c) + from.lane, width, to + s * site_reals + c * half_spinor_reals, 1);
    }
    send.push_back(
        {face.send_to, face.direction, std::as_bytes(std::span(to, static_cast<std::size_t>(sites * site_reals)))});
    to += sites * site_reals;
    receive.push_back({face.receive_from, face.direction,
                       std::as_writable_bytes(std::span(halo_.receive.data() + face.receive_offset * site_reals,
                                                        static_cast<std::size_t>(face.receive_count * site_reals)))});
  }
  return context_.comm().start_exchange(send, receive);
}

template <class T>
void hopping_term<T>::fill_slots(const field<T>& in, int parity, bool daggered) const {
  const block_layout& layout = context_.layout<T>();
  const int width = layout.width(), columns = in.columns();
  const auto& directions = layout.slot_directions(parity);
  const auto& lanes = layout.slot_lanes(parity);
  const auto slots = static_cast<std::int64_t>(directions.size());
#pragma omp parallel for num_threads(context_.threads())
  for (std::int64_t s = 0; s < slots; ++s) {
    const auto project = projection_of<T>(directions[static_cast<std::size_t>(s)], daggered);
    for (int lane = 0; lane < width; ++lane) {
      const slot_lane& source = lanes[static_cast<std::size_t>(s * width + lane)];
      for (int c = 0; c < columns; ++c) {
        T* const half = halo_.slots.data() + (s * columns + c) * half_spinor_reals * width + lane;
        if (source.message < 0) {
          project(in.block(0, source.local.block, c) + source.local.lane, width, half, width);
        } else {
          const T* const message = halo_.receive.data() + (source.message * columns + c) * half_spinor_reals;
          for (int k = 0; k < half_spinor_reals; ++k) half[k * width] = message[k];
        }
      }
    }
  }
}

template <class T>
void hopping_term<T>::apply(field<T>& out, const field<T>& in, bool daggered, const hopping_finish<T>& finish) const {
  const auto is_half = [](const field<T>& f) { return f.parts() == 1 && f.components() == spins * colours; };
  if (!is_half(out) || !is_half(in) || out.parity_of_part(0) == in.parity_of_part(0) || out.columns() != in.columns() ||
      (finish.x != nullptr && !(finish.x->shape() == out.shape())) ||
      (finish.w != nullptr && !(finish.w->shape() == out.shape())))
    throw std::logic_error("hopping_term: fields must be Dirac spinors on opposite parities with equal columns");
  const bool needs_x = finish.finish == epilogue::add || finish.finish == epilogue::add_clover ||
                       finish.finish == epilogue::clover_x_add;
  const bool needs_clover = finish.finish == epilogue::clover || finish.finish == epilogue::add_clover ||
                            finish.finish == epilogue::clover_x_add;
  if ((needs_x && finish.x == nullptr) || (needs_clover && finish.clover == nullptr))
    throw std::logic_error("hopping_term: the epilogue lacks its field or its clover blocks");

  const block_layout& layout = context_.layout<T>();
  const int p = out.parity_of_part(0);
  hopping_arguments<T> arg;
  arg.out = out.blocks(0);
  arg.in = in.blocks(0);
  if (finish.x != nullptr) arg.x = finish.x->blocks(0);
  arg.columns = in.columns();
  arg.links_here = links_[p].data();
  arg.links_there = links_[1 - p].data();
  arg.blocks = layout.blocks();
  arg.neighbours = layout.neighbours(p);
  arg.permutations = layout.permutations(p);
  arg.permutation_table = context_.permutation_table<T>();
  arg.clover = finish.clover;
  arg.slot_links = slot_links_[p].data();
  arg.scale = static_cast<T>(finish.scale);
  arg.a = static_cast<T>(finish.a);
  arg.finish = finish.finish;
  const std::int64_t bytes =
      layout.blocks() * layout.width() * spinor_reals * in.columns() * static_cast<std::int64_t>(sizeof(T));
  arg.prefetch = bytes > prefetch_above_bytes;
  arg.stream = bytes > stream_above_bytes;

  const auto& kernels = context_.kernels<T>().hop[daggered ? 1 : 0];
  const int threads = context_.threads();
  lane_sums sums(finish.w != nullptr ? layout.blocks() : 0, in.columns(), layout.width());
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
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::int64_t i = 0; i < ranges; ++i) {
      hopping_arguments<T> part = arg;
      part.lane_sums = sums.range(before + i);
      const std::int64_t first = i * lane_sums::blocks_of_a_range;
      kernel(part, list, first, std::min(lane_sums::blocks_of_a_range, count - first));
    }
  };
  if (!layout.has_halo()) {
    run(kernels[0], nullptr, layout.blocks());
    if (finish.w != nullptr) *finish.sums = sums.total(context_.comm());
    return;
  }
  auto exchange = start_halo(in, p, daggered);
  arg.slots = halo_.slots.data();
  run(kernels[0], layout.interior(p).data(), static_cast<std::int64_t>(layout.interior(p).size()));
  exchange.wait();
  fill_slots(in, p, daggered);
  run(kernels[1], layout.boundary(p).data(), static_cast<std::int64_t>(layout.boundary(p).size()));
  if (finish.w != nullptr) *finish.sums = sums.total(context_.comm());
}

template class hopping_term<float>;
template class hopping_term<double>;

}  // namespace plaquette::cpu
