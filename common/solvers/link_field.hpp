// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Links that live on the device of a library and change there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/algebra/su3.hpp"
#include "common/error.hpp"
#include "common/gauge/flow_history.hpp"
#include "common/lattice/gauge_action.hpp"
#include "common/lattice/gauge_condition.hpp"
#include "common/lattice/link_smearing.hpp"
#include "common/lattice/same_lattice.hpp"
#include "common/lattice/site_field.hpp"
#include "common/lattice/stout_smearing.hpp"
#include "common/solvers/library_part.hpp"

namespace plaquette {

struct flowed_links;
struct fixed_links;

/// A gauge configuration that lives on the device of a library and changes there. It counts how often it moved, so that
/// operators made from it know when they have to follow. Objects of its library take it, and no others. Links that are
/// made of it are of the same library. One caller at a time.
class link_field : public library_part {
 public:
  link_field() = default;
  link_field(const link_field&) = delete;
  link_field& operator=(const link_field&) = delete;
  virtual ~link_field() = default;

  /// Makes a sweep as cpu::heatbath_updater does. Collective; it is done when it returns. If a `stop_point` throws, the
  /// links are as before the sweep.
  virtual void combined_sweep(const gauge_action& action, const sweep_plan& plan, std::uint64_t seed,
                              std::uint64_t number) = 0;
  /// Makes stout smearing. Collective; it is done when it returns.
  virtual void smear(const stout_smearing& smearing) = 0;
  virtual plaquettes measure() = 0;
  /// Returns the links on the host, ghosts filled. The reference is valid until the links change.
  virtual const gauge_configuration& on_host() = 0;
  /// Moves the same links out, for the caller to keep: this object loses them, which is a move. From then on all
  /// members but `moves` and `move_count` throw input_error, and so do objects that are given to follow it.
  virtual gauge_configuration take() = 0;
  /// Returns a copy of the same links, for the caller to keep. The links stay. A GPU keeps no other copy of them on the
  /// host.
  virtual gauge_configuration exported() = 0;
  /// Returns an independent copy of the links on the same device.
  virtual std::unique_ptr<link_field> copy() const = 0;

  // Other links on the same device, made of these. Collective; they are done when they are returned. All throw
  // input_error for parameters that cannot be used.

  /// Returns smeared links. (APE: Albanese et al., Phys. Lett. B 192 (1987) 163; HYP: Hasenfratz, Knechtli,
  /// hep-lat/0103029; stout: Morningstar, Peardon, hep-lat/0311018)
  virtual std::unique_ptr<link_field> smeared(const stout_smearing& smearing) const = 0;
  virtual std::unique_ptr<link_field> smeared(const ape_smearing& smearing) const = 0;
  virtual std::unique_ptr<link_field> smeared(const hyp_smearing& smearing) const = 0;
  /// Returns the links after the gradient flow to a time, and measurements along it. (Luescher, arXiv:1006.4518)
  /// \param step       of the time; the last one may be shorter
  /// \param step_done  called after each step, if it is a function
  virtual flowed_links flowed(double time, double step, const std::function<void()>& step_done = {}) const = 0;
  /// Returns the links in a gauge. (Giusti et al., hep-lat/0104012)
  virtual fixed_links fixed(gauge_condition condition, const gauge_fixing_rule& rule) const = 0;

  /// Keeps the links as they are now, for `restore`: in memory that the first call takes.
  virtual void snapshot() = 0;
  /// Brings the kept links back, which is a move. Throws input_error if none were kept.
  virtual void restore() = 0;

  /// Returns how often the links moved.
  std::int64_t moves() const { return *moves_; }
  /// Returns the counter of the moves; it outlives the links.
  std::shared_ptr<const std::int64_t> move_count() const { return moves_; }

 protected:
  void note_move() { ++*moves_; }
  static void require_snapshot(bool is_there) {
    if (!is_there) throw input_error("links: expected a snapshot before they are restored, found none");
  }

 private:
  std::shared_ptr<std::int64_t> moves_ = std::make_shared<std::int64_t>(0);
};

/// Links of a gradient flow at its last time.
struct flowed_links {
  std::unique_ptr<link_field> links;
  std::vector<flow_measurement> history{};  ///< at time 0 and after each step
};

/// Links in a gauge.
struct fixed_links {
  std::unique_ptr<link_field> links;  ///< g(x) U_mu(x) g(x+mu)^+
  site_field<su3<double>> g;          ///< on the host
  gauge_quality quality{};            ///< of these links, measured again
  int sweeps = 0;
  bool converged = false;  ///< quality.theta meets its tolerance
};

/// A link_field that holds the links in the type of its library.
template <class Links>
class link_field_of : public link_field {
 public:
  explicit link_field_of(Links links) : links_(std::move(links)) {}

  /// Throws input_error if they were taken.
  const Links& links() const {
    if (!links_)
      throw input_error("links: these were taken: use what take() returned; exported() returns a copy and leaves them");
    return *links_;
  }

 protected:
  /// Notes a move, and returns the links to be changed. Throws as `links` does.
  Links& moved_links() {
    links();
    note_move();
    return *links_;
  }
  /// Notes a move, and returns the links, which this object loses. Throws as `links` does.
  Links lost_links() {
    Links lost = std::move(moved_links());
    links_.reset();
    return lost;
  }

 private:
  std::optional<Links> links_;
};

/// Returns the links behind a handle. Throws input_error if they were taken, or if they are of another kind of library
/// or of another lattice.
/// \param whose  has the lattice `geometry`, for the message: "an operator"
template <class Links>
const Links& links_behind(const link_field& handle, const lattice_geometry& geometry, const std::string& whose) {
  const auto* known = dynamic_cast<const link_field_of<Links>*>(&handle);
  if (known == nullptr) throw input_error("links: expected those of this library, found those of another");
  const Links& u = known->links();
  if constexpr (requires { u.get_context(); })
    require_same_lattice(u.get_context().geometry(), geometry, "links", whose + " on ");
  else
    require_same_lattice(u.geometry(), geometry, "links", whose + " on ");
  return u;
}

/// The state of an object that follows links: which move it has followed.
class followed_links {
 public:
  /// Notes that the object starts to change to new links. Until `note` it follows no links.
  void begin() { is_half_moved_ = true; }
  /// Notes that these links were followed, as they are now.
  void note(const link_field& links) {
    count_ = links.move_count();
    followed_ = *count_;
    is_half_moved_ = false;
  }
  /// Throws input_error if the links have moved since, or if a follow has failed halfway.
  /// \param whose  "this operator"
  void require_current(const std::string& whose) const {
    if (is_half_moved_)
      throw input_error(whose + " follows no links, since its last follow failed halfway: call follow(links) with " +
                        "links that it can follow");
    if (count_ != nullptr && *count_ != followed_)
      throw input_error(whose + " follows move " + std::to_string(followed_) + " of its links, which have made " +
                        std::to_string(*count_) + ": call follow(links) first");
  }

 private:
  std::shared_ptr<const std::int64_t> count_{};
  std::int64_t followed_ = 0;
  bool is_half_moved_ = false;
};

}  // namespace plaquette
