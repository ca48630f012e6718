// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ghost faces that kernels write into the memory of other ranks' GPUs, without the host. For .cu files only.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/mesh/mesh_part.hpp"
#include "gpu/comms/peer_memory.hpp"
#include "gpu/comms/rank_map.hpp"
#include "gpu/comms/rank_options.hpp"
#include "gpu/comms/watchdog.hpp"
#include "gpu/device/device_flags.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/dg/mesh_on_device.hpp"

namespace plaquette::gpu::dg {

/// Where another rank's GPU takes this rank's faces.
template <class Values>
struct peer_landing {
  Values* begin[2];            ///< this rank's first face there, of messages of even and odd number
  std::int64_t column_stride;  ///< nodes
};

/// Copies nodes of faces, in the order of the face's own list, into the memory of the ranks that need them.
template <class Values>
struct send_faces {
  struct face {
    std::int32_t element, face;
    std::int32_t peer, place;  ///< who gets it; its number among the faces for that peer
  };
  const Values* state;
  const face* sent;
  const peer_landing<Values>* peers;
  const std::uint8_t* partner;
  std::int64_t column_stride, count;  ///< places of a column of the state; face nodes sent of a column
  std::int32_t nodes, face_nodes;
  int buffer;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t column = index / count, fm = index - column * count;
    const std::int64_t f = fm / face_nodes;
    const auto m = static_cast<std::int32_t>(fm - f * face_nodes);
    const face what = sent[f];
    const peer_landing<Values> to = peers[what.peer];
    const int n = partner[(static_cast<std::int32_t>(mirror_code) + what.face) * face_nodes + m];
    to.begin[buffer][column * to.column_stride + std::int64_t{what.place} * face_nodes + m] =
        state[column * column_stride + std::int64_t{what.element} * nodes + n];
  }
};

/// Tells a peer that a message is there; an index is a peer.
struct announce_faces {
  std::uint32_t* const* flags;
  std::uint32_t number;
  PLAQUETTE_HOST_DEVICE void operator()([[maybe_unused]] std::int64_t peer) const {
#if !defined(__CUDACC__) || defined(__CUDA_ARCH__)
    order_memory();
    set_flag(flags[peer], number);
#endif
  }
};

/// Waits for the message that a face is part of, and copies it to the ghost faces of a state.
template <class Values>
struct take_faces {
  const Values* landing;              ///< [column][face][m]
  Values* ghosts;                     ///< of the first column
  const std::int32_t* peer_of;        ///< [face]
  std::uint32_t* const* flags;        ///< [peer]
  std::uint64_t* waiting;             ///< [peer] of the watchdog, or null
  std::int64_t column_stride, count;  ///< places of a column of the state; face nodes of a column here
  std::int32_t face_nodes;
  std::uint32_t number;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t column = index / count, fm = index - column * count;
    const std::int32_t peer = peer_of[fm / face_nodes];
    wait_for_flag(flags[peer], number, waiting != nullptr ? waiting + peer : nullptr, std::uint64_t{1} << 32 | number);
    ghosts[column * column_stride + fm] = landing[index];
  }
};

/// The exchange of a solver's ghost faces. Messages have numbers: a rank writes message n + 2 where n was, once it has
/// n + 1 of the other, which was sent when n had been read.
template <class Values>
class peer_ghosts {
 public:
  /// Returns null, on every rank, where some GPU does not reach another's memory, or two ranks share one. Collective.
  static std::unique_ptr<peer_ghosts> make(const mesh_part& part, std::int32_t face_nodes, int columns,
                                           const communicator& comm, const queue& q, const rank_options& options) {
    if (rank_map(comm, q.device()).shares_a_device()) return nullptr;
    std::unique_ptr<peer_ghosts> made(new peer_ghosts(part, face_nodes, columns, comm, q, options));
    return made->landing_.reaches_all() && made->flags_.reaches_all() ? std::move(made) : nullptr;
  }

  /// Queues the writing of this rank's faces to all peers.
  /// \param state  with column_stride places a column
  void send(const Values* state, std::int64_t column_stride, const std::uint8_t* partner, std::int32_t nodes) {
    ++number_;
    const send_faces<Values> body{state,        sent_.data(), peers_.data(), partner, column_stride,
                                  sent_nodes(), nodes,        face_nodes_,   buffer()};
    for_each_index(queue_, sent_nodes() * columns_, body);
    for_each_index(queue_, static_cast<std::int64_t>(announced_.size()), announce_faces{announced_.data(), number_},
                   32);
  }
  /// Queues the wait for what peers have sent, and its copy to the ghost faces of a state.
  void receive(Values* ghosts, std::int64_t column_stride) {
    const take_faces<Values> body{mine() + buffer() * columns_ * taken_nodes(),
                                  ghosts,
                                  peer_of_.data(),
                                  arrived_.data(),
                                  waiting_.get(),
                                  column_stride,
                                  taken_nodes(),
                                  face_nodes_,
                                  number_};
    for_each_index(queue_, taken_nodes() * columns_, body);
  }

 private:
  peer_ghosts(const mesh_part& part, std::int32_t face_nodes, int columns, const communicator& comm, const queue& q,
              const rank_options& options)
      : queue_(q),
        columns_(columns),
        face_nodes_(face_nodes),
        halo_faces_(part.halo_faces),
        landing_(comm, q.device(), sizeof(Values) * static_cast<std::size_t>(2 * columns * taken_nodes())),
        flags_(comm, q.device(), static_cast<std::size_t>(comm.size()) * flag_stride),
        watch_(std::make_shared<watchdog>(comm, options.stall_timeout)) {
    if (!landing_.reaches_all() || !flags_.reaches_all()) return;
    // What each rank expects from each: the first of its faces, and how many faces it has in all.
    const auto ranks = static_cast<std::size_t>(comm.size());
    std::vector<std::int32_t> wanted(ranks + 1, 0), all(ranks * (ranks + 1));
    for (const mesh_peer& peer : part.peers) wanted[static_cast<std::size_t>(peer.rank)] = peer.first_halo_face;
    wanted[ranks] = part.halo_faces;
    comm.gather(std::as_bytes(std::span(wanted)), std::as_writable_bytes(std::span(all)));
    std::vector<typename send_faces<Values>::face> sent;
    std::vector<peer_landing<Values>> peers;
    std::vector<std::uint32_t*> announced, arrived;
    std::vector<std::int32_t> peer_of(static_cast<std::size_t>(part.halo_faces));
    std::vector<int> names;
    for (const mesh_peer& peer : part.peers) {
      const auto number = static_cast<std::int32_t>(peers.size());
      const auto row = static_cast<std::size_t>(peer.rank) * (ranks + 1);
      const std::int64_t stride = std::int64_t{all[row + ranks]} * face_nodes;
      Values* const there = reinterpret_cast<Values*>(landing_.of(peer.rank)) +
                            std::int64_t{all[row + static_cast<std::size_t>(comm.rank())]} * face_nodes;
      peers.push_back({{there, there + columns * stride}, stride});
      announced.push_back(flag(flags_.of(peer.rank), comm.rank()));
      arrived.push_back(flag(flags_.mine(), peer.rank));
      names.push_back(peer.rank);
      for (std::size_t f = 0; f < peer.send.size(); ++f) {
        sent.push_back({peer.send[f].element, peer.send[f].face, number, static_cast<std::int32_t>(f)});
        peer_of[static_cast<std::size_t>(peer.first_halo_face) + f] = number;
      }
    }
    sent_ = {q, sent};
    peers_ = {q, peers};
    announced_ = {q, announced};
    arrived_ = {q, arrived};
    peer_of_ = {q, peer_of};
    const std::size_t words = std::max<std::size_t>(names.size(), 1);
    waiting_ = watch_->device_words(words, [names](std::uint64_t word) {
      std::string of;
      for (const int name : names) of += (of.empty() ? "" : ", ") + std::to_string(name);
      return "faces of rank " + of + ", stage " + std::to_string(static_cast<std::uint32_t>(word));
    });
    q.synchronize();
  }

  static constexpr std::size_t flag_stride = 128;  // flags of different ranks in different lines of the cache
  static std::uint32_t* flag(std::byte* base, int rank) {
    return reinterpret_cast<std::uint32_t*>(base + static_cast<std::size_t>(rank) * flag_stride);
  }
  Values* mine() const { return reinterpret_cast<Values*>(landing_.mine()); }
  int buffer() const { return static_cast<int>(number_ & 1U); }
  std::int64_t taken_nodes() const { return std::int64_t{halo_faces_} * face_nodes_; }
  std::int64_t sent_nodes() const { return static_cast<std::int64_t>(sent_.size()) * face_nodes_; }

  queue queue_;
  int columns_;
  std::int32_t face_nodes_, halo_faces_;
  peer_memory landing_, flags_;
  std::shared_ptr<watchdog> watch_;
  std::shared_ptr<std::uint64_t> waiting_;
  device_array<typename send_faces<Values>::face> sent_;
  device_array<peer_landing<Values>> peers_;
  device_array<std::uint32_t*> announced_, arrived_;
  device_array<std::int32_t> peer_of_;
  std::uint32_t number_ = 0;
};

}  // namespace plaquette::gpu::dg
