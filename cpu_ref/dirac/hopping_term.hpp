// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The production hopping term D, one parity at a time: out(x) = sum_mu c_mu [ (1 - gamma_mu) U_mu(x) in(x + mu) +
/// (1 + gamma_mu) U_mu(x - mu)^+ in(x - mu) ]; daggered with the other signs. Batched, threaded, on any process grid.
#pragma once

#include <memory>
#include <utility>

#include "common/lattice/fermion_action.hpp"
#include "cpu_ref/fields/field.hpp"

namespace plaquette::cpu {

/// What to do with h = scale * D in before it is stored; see `epilogue`.
template <class T>
struct hopping_finish {
  epilogue finish = epilogue::store;
  double scale = 1.0;
  const field<T>* x = nullptr;  ///< of the output's parity
  double a = 1.0;
  const T* clover = nullptr;  ///< site-diagonal blocks of the output's parity: [block][2][36][W]
  /// Where not null, `sums` becomes <out, w> and |out|^2 over all ranks: no pass over memory but w's.
  const field<T>* w = nullptr;
  std::pair<scalars, scalars>* sums = nullptr;
};

/// Links packed for the kernels, with the action's coefficients c_mu and the boundary phases folded in, and the halo.
/// Results on any process grid are the same bits: a face carries projected spinors, and products are made by the
/// receiver exactly as inside. An object is used by one caller at a time (it owns the halo's buffers).
template <class T>
class hopping_term {
 public:
  /// \param links  with ghosts filled; not kept
  hopping_term(const context& ctx, const gauge_configuration& links, const fermion_action& action);

  /// out and in are Dirac spinors on opposite parities with equal columns; x, where used, has out's shape. out may be
  /// x, but not in. Collective.
  void apply(field<T>& out, const field<T>& in, bool daggered = false, const hopping_finish<T>& finish = {}) const;

  const context& get_context() const { return context_; }

 private:
  struct halo_buffers {
    int columns = -1;
    aligned_buffer<T> send, receive, slots;
  };

  void pack_links(const gauge_configuration& links, const fermion_action& action);
  pending_exchange start_halo(const field<T>& in, int parity, bool daggered) const;
  void fill_slots(const field<T>& in, int parity, bool daggered) const;

  context context_;
  aligned_buffer<T> links_[2];       ///< [mu][block][9][re, im][W] a parity
  aligned_buffer<T> slot_links_[2];  ///< of the neighbours of an output parity: [slot][9][re, im][W]
  mutable halo_buffers halo_;
};

/// U_mu(x) as the action uses it: times c_mu, and times the boundary phase on the last link of direction mu. x may be a
/// ghost coordinate.
su3<double> folded_link(const gauge_configuration& links, const fermion_action& action, const coordinate& x, int mu);

}  // namespace plaquette::cpu
