// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The hopping term D on the device, one parity at a time: out(x) = sum_mu c_mu [ (1 - gamma_mu) U_mu(x) in(x + mu) +
/// (1 + gamma_mu) U_mu(x - mu)^+ in(x - mu) ]; daggered with the other signs. The twin of cpu_ref/dirac/hopping_term.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "common/lattice/dirac_operator.hpp"
#include "common/lattice/fermion_action.hpp"
#include "gpu/dirac/hopping_launch.hpp"
#include "gpu/dirac/hopping_tiles.hpp"
#include "gpu/fields/field.hpp"
#include "gpu/gauge/gauge_fields.hpp"

namespace plaquette::gpu {

using plaquette::epilogue;

/// What to do with h = scale * D in before it is stored; see `epilogue`.
template <class T>
struct hopping_finish {
  epilogue finish = epilogue::store;
  double scale = 1.0;
  const field<T>* x = nullptr;  ///< of the output's parity
  double a = 1.0;
  const std::byte* clover = nullptr;  ///< site-diagonal blocks of the output's parity, see `site_diagonal`
  /// If not null, `sums` becomes <out, w> and |out|^2.
  const field<T>* w = nullptr;
  std::optional<std::pair<scalars, scalars>>* sums = nullptr;
};

template <class T>
struct hopping_work;  // hopping_site.hpp
struct sums_of_runs;  // hopping_sums.hpp

template <class T>
class hopping_term;
/// Lets operators of up to three precisions follow links, which are read once: the same bits as `follow` of each. Null:
/// there is none. Collective. Throws as the constructor does.
void follow_at_once(const gauge_configuration& links, hopping_term<double>& in_double, hopping_term<float>* in_single,
                    hopping_term<half>* in_half);

/// Links packed for the kernels, as matrices. Coefficient and boundary condition of a hop are a weight that the kernel
/// multiplies with. A boundary phase that is not a sign is paid for: only the kernel of variant 1 knows it. On several
/// ranks faces are exchanged as projected spinors, and the result is the same bits as on one. A site at a cut is
/// computed whole, when its messages are here. An object is used by one caller at a time.
template <class T>
class hopping_term {
 public:
  /// \param links   not kept
  /// \param stored real numbers of each link that are kept.
  /// Throws input_error if the stored form cannot hold the links: 12 and 8 reals hold SU(3), half precision parts up to
  /// 1.
  hopping_term(const context& ctx, const gauge_configuration& links, const fermion_action& action,
               reconstruct stored = reconstruct::none);
  /// From a configuration of the host, whose ghosts do not matter.
  hopping_term(const context& ctx, const plaquette::gauge_configuration& links, const fermion_action& action,
               reconstruct stored = reconstruct::none)
      : hopping_term(ctx, import_links(ctx, links), action, stored) {}

  /// Takes other links of the same lattice, in the memory of the links so far, so that graphs and launches that were
  /// recorded still hold. Collective. Throws as the constructor does; the operator can then be used after it has
  /// followed other links.
  void follow(const gauge_configuration& links);

  /// out and in are Dirac spinors on opposite parities with equal columns; x, if used, has out's shape. out may be x,
  /// but not in. Collective.
  void apply(field<T>& out, const field<T>& in, bool daggered = false, const hopping_finish<T>& finish = {}) const;

  const context& get_context() const { return context_; }
  const fermion_action& action() const { return action_; }
  reconstruct stored() const { return stored_; }

  /// Returns the arguments of a kernel that goes over both parities of a lattice that is not divided among ranks.
  /// They are links, weights of the hops times `scale`, the order of sites. The fields are the caller's.
  hopping_work<T> work_on_lattice(double scale) const;

  /// Whether applications exchange messages with other ranks.
  bool exchanges_messages() const { return has_halo(); }
  /// Returns U_mu(x - mu) of the sites of a parity on the lower face of mu, [block of 32 face sites][link].
  const std::byte* ghost_links(int parity, int mu) const { return ghost_links_.get() + ghost_begin_[parity][mu]; }

  /// Returns how a problem of this size is launched: as set, else the tuner's choice, else the table's.
  hopping_launch launch_for(int columns, bool with_clover) const;
  /// Sets the launch, for measurements and tests; none gives the choice back.
  void set_launch(std::optional<hopping_launch> launch) { forced_ = launch; }
  /// Returns the problem that a launch is chosen for.
  hopping_problem problem(int columns, bool with_clover) const;

  /// Whether <out, w> and |out|^2 are made by the kernels of the hopping term, or by `dot_norm2`; the two differ by
  /// rounding. For measurements and tests; none gives the choice back. By default the kernels make the sums where a
  /// column of the result and one of w are more than the second-level cache holds, whatever the batch. They also need
  /// registers for it (in half precision: with clover).
  void set_sums_in_kernels(std::optional<bool> in_kernels) { sums_in_kernels_ = in_kernels; }
  bool makes_sums_in_kernels(bool with_clover) const;

  /// Whether sites whose neighbours are all here are worked on while messages travel; at first as the context's
  /// rank_options have it.
  void set_overlap(bool overlap) { overlap_ = overlap; }
  bool overlaps() const { return overlap_; }
  /// Without it this rank's box is taken as periodic: for measurements of the cost of communication.
  void set_communication(bool communicates) { communicates_ = communicates; }
  /// Whether applications may be recorded in a work_graph.
  bool recordable() const;
  /// Returns the bytes that this rank sends in an application.
  std::int64_t halo_bytes(int columns) const;
  /// Returns how messages travel, see `halo::description`; "none" if no direction is cut.
  std::string halo_description() const;

 private:
  void make_room_for_links();
  friend void follow_at_once(const gauge_configuration& links, hopping_term<double>& in_double,
                             hopping_term<float>* in_single, hopping_term<half>* in_half);
  void pack_links(const gauge_configuration& links);
  void require_suitable(double worst) const;
  void exchange_ghost_links();
  void set_weights(hopping_work<T>& work, double scale) const;
  hopping_work<T> work_for(field<T>& out, const field<T>& in, bool daggered, const hopping_finish<T>& finish) const;
  /// Returns the sums that a kernel has left to `runs`, for all sites.
  std::pair<scalars, scalars> add_up(const sums_of_runs& runs, const std::shared_ptr<std::byte>& memory,
                                     int columns) const;
  void queue_alone(const hopping_work<T>& work, const hopping_launch& how) const;
  void queue_on_ranks(const hopping_work<T>& work, const hopping_launch& how) const;
  const tile_table& tiles_of(const hopping_launch& how) const;
  /// Returns the phase of a hop across the end of the box.
  complex<double> phase_across(int direction) const;
  bool has_halo() const;
  unsigned cut_directions() const;  ///< bit mu, if there is a halo
  /// The measurements of candidates for one key; they share numbers.
  class trials;

  context context_;
  fermion_action action_;
  reconstruct stored_;
  std::shared_ptr<std::byte> links_;  ///< [parity][block][mu], see hop_algebra.hpp
  std::int64_t parity_bytes_ = 0;
  /// U_mu(x - mu) at the lower faces of cut directions: [output parity][mu][block of 32 face sites].
  std::shared_ptr<std::byte> ghost_links_;
  std::int64_t ghost_begin_[2][dimensions] = {};  ///< bytes
  bool overlap_ = true, communicates_ = true;
  mutable std::map<std::string, tile_table> tiles_;  ///< by name of the launch
  std::optional<hopping_launch> forced_;
  std::optional<bool> sums_in_kernels_;
  mutable std::map<std::tuple<int, bool, bool>, hopping_launch> chosen_;  ///< by columns, clover, halo
};

}  // namespace plaquette::gpu
