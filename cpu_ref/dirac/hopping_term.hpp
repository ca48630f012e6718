// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The production hopping term D, one parity at a time: out(x) = sum_mu c_mu [ (1 - gamma_mu) U_mu(x) in(x + mu) +
/// (1 + gamma_mu) U_mu(x - mu)^+ in(x - mu) ]; daggered with the other signs. Batched, threaded, on any process grid.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "common/lattice/fermion_action.hpp"
#include "cpu_ref/fields/field.hpp"
#include "cpu_ref/halo/halo.hpp"

namespace plaquette::cpu {

/// What to do with h = scale * D in before it is stored; see `epilogue`.
template <class T>
struct hopping_finish {
  epilogue finish = epilogue::store;
  double scale = 1.0;
  const field<T>* x = nullptr;  ///< of the output's parity
  double a = 1.0;
  const word_of<T>* clover = nullptr;  ///< site-diagonal blocks of the output's parity, see `site_diagonal`
  /// If not null, `sums` becomes <out, w> and |out|^2 over all ranks: no pass over memory but w's.
  const field<T>* w = nullptr;
  std::optional<std::pair<scalars, scalars>>* sums = nullptr;
};

/// Where the time of halo exchanges went, summed over applications; of this rank.
struct halo_times {
  double pack = 0.0;           ///< seconds in which half-spinors are projected and messages started
  double wait = 0.0;           ///< seconds in which nothing is done but to wait for messages
  double unpack = 0.0;         ///< seconds in which they are put where the kernels read them
  std::int64_t bytes = 0;      ///< sent
  std::int64_t exchanges = 0;  ///< applications with a halo
};

/// Links packed for the kernels, with the action's coefficients c_mu and the boundary phases folded in, and the halo.
/// Results on any process grid are the same bits: a face carries projected spinors, and products are made by the
/// receiver exactly as inside. So a half-spinor of half precision travels as 12 floats and a scale: 16 bits would round
/// it once more. An object is used by one caller at a time (it owns the halo's buffers).
template <class T>
class hopping_term {
 public:
  using real = real_of<T>;

  /// \param links   with ghosts filled (else std::logic_error is thrown); not kept
  /// \param stored  real numbers of each link that are kept
  /// Collective. Throws input_error if the stored form cannot hold the links: 12 and 8 reals hold SU(3), half precision
  /// parts up to 1.
  hopping_term(const context& ctx, const gauge_configuration& links, const fermion_action& action,
               reconstruct stored = reconstruct::none);

  /// Takes other links of the same lattice, in the memory of the links so far. Collective. Throws as the constructor
  /// does; the operator can then be used after it has followed other links.
  void follow(const gauge_configuration& links);

  /// out and in are Dirac spinors on opposite parities with equal columns; x, if used, has out's shape. out may be x,
  /// but not in. Collective.
  void apply(field<T>& out, const field<T>& in, bool daggered = false, const hopping_finish<T>& finish = {}) const;

  /// Computes out = gamma_5 (scale D + a) in + d in + b u + c w on Dirac spinors of the full lattice; without u or w
  /// (null) that term is left out. Both parities are gone through together, so that links and fields come from memory
  /// once. out may be u or w, but not in. Collective.
  void apply_hermitian(field<T>& out, double scale, double a, const field<T>& in, double d, double b, const field<T>* u,
                       double c, const field<T>* w) const;

  const context& get_context() const { return context_; }
  reconstruct stored() const { return stored_; }

  /// Whether interior sites are worked on while messages travel (as it is at first), or after they have arrived.
  void set_overlap(bool overlap) { overlap_ = overlap; }
  const halo_times& halo_seconds() const { return halo_.times; }
  void reset_halo_times() const { halo_.times = {}; }

 private:
  struct halo_buffers {
    halo messages[2];           ///< for each output parity
    int columns[2] = {-1, -1};  ///< that they are prepared for
    aligned_buffer<real> slots;
    halo_times times;
  };
  struct packed_links {
    aligned_buffer<word_of<T>> words;
    std::vector<std::uint8_t> factors;  ///< empty if no link has one
    link_pointer<T> pointer() const { return {words.data(), factors.empty() ? nullptr : factors.data()}; }
  };
  class link_packer;

  void make_room_for_links();
  void pack_links(const gauge_configuration& links);
  link_form form_for(int columns) const;
  /// Of one parity, but for fields with an epilogue's own numbers.
  hopping_arguments<T> arguments_for(field<T>& out, const field<T>& in, bool daggered, double scale) const;
  /// Calls run(kernel, list of blocks, count) for all blocks, while the halo of `in` is exchanged.
  template <class Run>
  void run_with_halo(hopping_arguments<T>& arg, const field<T>& in, int parity, bool daggered, const Run& run) const;
  /// Makes room for the messages of a batch of `columns`, if there is none yet.
  void prepare_halo(int parity, int columns) const;
  pending_exchange start_halo(const field<T>& in, int parity, bool daggered) const;
  void fill_slots(const field<T>& in, int parity, bool daggered) const;

  context context_;
  fermion_action action_;
  reconstruct stored_;
  bool overlap_ = true;
  packed_links links_[2];              ///< [mu][block][words][W] a parity
  packed_links slot_links_[2];         ///< of the neighbours of an output parity: [slot][words][W]
  aligned_buffer<real> link_factors_;  ///< [factor][re, im][W]; number 0 is one
  real hop_scale_[dimensions];
  mutable halo_buffers halo_;
};

/// Returns U_mu(x) as the action uses it: times c_mu, and times the boundary phase on the last link of direction mu. x
/// may be a ghost coordinate.
su3<double> folded_link(const gauge_configuration& links, const fermion_action& action, const coordinate& x, int mu);

}  // namespace plaquette::cpu
