// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/hmc/trajectory_recorder.hpp"

#include <algorithm>
#include <utility>

#include "cpu_ref/gauge/gauge_fields.hpp"
#include "miniapps/shared/clock_draw.hpp"

namespace plaquette {

void trajectory_recorder::note_operation(const molecular_dynamics& state, std::size_t all) {
  if (done_ == 0) pieces_done_ = 0;
  const std::size_t count = seconds_ < shortest ? 1 : std::clamp(all / least, std::size_t{1}, pieces);
  const auto end_of = [&](std::size_t piece) { return all * piece / count; };
  if (++done_ != end_of(pieces_done_ + 1)) return;
  if (draw_by_clock(pieces_done_ + 1, world_) == 0) {
    std::swap(piece_.before, boundary_);
    piece_.first = end_of(pieces_done_);
    piece_.end = done_;
    piece_.renewals = state.work_of_hierarchy().renewals;
    state.keep(piece_.after);
  }
  state.keep(boundary_);
  ++pieces_done_;
}

void trajectory_recorder::note_trajectory(const molecular_dynamics& state, std::uint64_t number, double dh,
                                          bool accepted, double plaquette, double seconds) {
  done_ = 0;
  ++offered_;
  world_.maximum({&seconds, 1});
  seconds_ = seconds;
  const bool has_room = std::ssize(kept_) < slots_;
  const std::size_t at = has_room ? kept_.size() : draw_by_clock(offered_, world_);
  if (at >= static_cast<std::size_t>(slots_)) return;
  kept_trajectory taken{.number = number,
                        .dh = dh,
                        .plaquette = plaquette,
                        .seconds = seconds,
                        .accepted = accepted,
                        .start = state.links_of_start()};
  taken.renewals = state.work_of_hierarchy().renewals;
  exchange_ghosts(taken.start, world_);  // the device's ghosts may be stale
  if (!accepted) taken.distance_after_rejection = cpu::rms_distance(state.links(), taken.start, world_);
  std::swap(taken.end, boundary_);
  std::swap(taken.piece, piece_);
  if (has_room) {
    kept_.push_back(std::move(taken));
    return;
  }
  boundary_ = std::move(kept_[at].end);  // its memory serves again
  piece_ = std::move(kept_[at].piece);
  kept_[at] = std::move(taken);
}

kept_trajectory trajectory_recorder::take() {
  const auto next = static_cast<std::ptrdiff_t>(draw_by_clock(kept_.size(), world_));
  kept_trajectory taken = std::move(kept_[static_cast<std::size_t>(next)]);
  kept_.erase(kept_.begin() + next);
  return taken;
}

void trajectory_recorder::clear() {
  kept_.clear();
  boundary_.reset();
  piece_ = {};
}

}  // namespace plaquette
