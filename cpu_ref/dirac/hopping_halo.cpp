// SPDX-License-Identifier: BSD-3-Clause
// The halo of a hopping term: half-spinors that go to other ranks, and slots for half-spinors from other ranks.
#include <omp.h>

#include <bit>
#include <utility>
#include <vector>

#include "common/algebra/projector.hpp"
#include "cpu_ref/dirac/hopping_term.hpp"

namespace plaquette::cpu {

namespace {

constexpr int half_spinor_reals = 4 * colours;

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

/// Makes the half-spinor of a hop in direction 2 mu or 2 mu + 1 for one lane of a block like the kernels (in time
/// without the factor 2). It is in fixed point with its scale. `stride` separates its numbers.
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

}  // namespace

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

template void hopping_term<half>::prepare_halo(int, int) const;
template void hopping_term<float>::prepare_halo(int, int) const;
template void hopping_term<double>::prepare_halo(int, int) const;
template pending_exchange hopping_term<half>::start_halo(const field<half>&, int, bool) const;
template pending_exchange hopping_term<float>::start_halo(const field<float>&, int, bool) const;
template pending_exchange hopping_term<double>::start_halo(const field<double>&, int, bool) const;
template void hopping_term<half>::fill_slots(const field<half>&, int, bool) const;
template void hopping_term<float>::fill_slots(const field<float>&, int, bool) const;
template void hopping_term<double>::fill_slots(const field<double>&, int, bool) const;

}  // namespace plaquette::cpu
