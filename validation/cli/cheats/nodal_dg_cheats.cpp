// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// plaquette-nodal-dg with one fault, which PLAQUETTE_CHEAT names:
///   frozen            time steps do nothing
///   early-frozen      the same, but for steps that come alone or in the second half of the run
///   halved            fluxes are halved in time steps; the right-hand side is right
///   halved-elsewhere  the same, but for 64 elements at even distances
///   weak              fluxes are 10% too small for 0.3 after half of the run; the right-hand side is right
///   weak-everywhere   the same, and in the right-hand side
///   slow-again        steps that are made again at the end take 4.5 s
///   mid-run           a bit of the state flips before the step after half of the run
///   between           a bit of the state flips between two stretches of steps, after the first was read back
///   skips             about one step of 16 does nothing: the same ones whenever they are made
///   selective         calls of more than four steps do nothing
///   ends              calls of more than four steps make only the last two
///   lazy              steps are made when something is read, after the clock
///   ahead             a stretch of steps is made before it is requested, while the one before is judged
///   unjudged          a call of several steps does nothing, and the run is told to stop
///   flip-then-stop    a bit flips as by mid-run; 0.2 later the run is told to stop
///   slow-plane        the plane takes 4.5 s to write
///   output            a bit of the state flips after it was judged, before the plane is written
/// The linker puts the functions __wrap_* here in the place of the honest ones. PLAQUETTE_FLIP="place,bit" says which
/// bit flips (0,62; the place is a share of the state, 0 to 1), PLAQUETTE_HALF the time of half of the run.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "miniapps/nodal-dg/dg_engine.hpp"

namespace plaquette::nodal_dg {

namespace {

bool cheats(std::string_view which) {
  const char* const chosen = std::getenv("PLAQUETTE_CHEAT");
  return chosen != nullptr && chosen == which;
}

double half_of_the_run() {
  const char* const text = std::getenv("PLAQUETTE_HALF");
  return text != nullptr ? std::atof(text) : 0.0;
}

void flip(std::span<const double> state) {
  double place = 0.0;
  int bit = 62;
  if (const char* const text = std::getenv("PLAQUETTE_FLIP")) std::sscanf(text, "%lf,%d", &place, &bit);
  double& number = const_cast<double&>(state[static_cast<std::size_t>(place * static_cast<double>(state.size() - 1))]);
  number = std::bit_cast<double>(std::bit_cast<std::uint64_t>(number) ^ (std::uint64_t{1} << bit));
}

dg_domain with_halved_fluxes(dg_domain domain) {
  for (std::int32_t e = 0; e < domain.elements(); ++e) {
    bool is_spared = false;
    if (cheats("halved-elsewhere")) {
      const std::int64_t i = (std::int64_t{e} * 64 + domain.elements() - 1) / domain.elements();
      is_spared = i * domain.elements() / 64 == e;
    }
    if (!is_spared)
      for (double& scale : domain.geometry[static_cast<std::size_t>(e)].face_scale)
        scale *= cheats("weak") || cheats("weak-everywhere") ? 0.9 : 0.5;
  }
  return domain;
}

class cheating_solver final : public dg_solver {
 public:
  template <class Make>
  cheating_solver(const dg_domain& domain, Make&& make)
      : half_(with_halved_fluxes(domain)), size_(static_cast<std::size_t>(domain.state_size())), honest_(make(domain)) {
    if (cheats("halved") || cheats("halved-elsewhere") || cheats("weak") || cheats("weak-everywhere"))
      cheat_ = make(half_);
  }
  int columns() const override { return honest_->columns(); }
  void set_state(std::span<const double> state, double time) override {
    put_off_ = 0;
    if (cheats("ahead") && cached_steps_ > 0 && std::ranges::equal(state, cached_from_)) {
      honest_->set_state(state, time);
      honest_->advance(cached_steps_, cached_dt_);
      cached_.resize(state.size());
      honest_->get_state(cached_);
      cached_time_ = honest_->time();
      cached_start_ = time;
    }
    if (cheats("slow-again") && !flipped_ && honest_->time() >= half_of_the_run() && time < honest_->time()) {
      flipped_ = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(4500));
    }
    honest_->set_state(state, time);
  }
  void get_state(std::span<double> state) const override {
    make_what_was_put_off();
    honest_->get_state(state);
  }
  void right_hand_side(std::span<double> rhs) override {
    make_what_was_put_off();
    if (!cheats("weak-everywhere") || !is_weak()) return honest_->right_hand_side(rhs);
    std::vector<double> state(size_ * static_cast<std::size_t>(columns()));
    honest_->get_state(state);
    cheat_->set_state(state, honest_->time());
    cheat_->right_hand_side(rhs);
  }
  void advance(std::int64_t steps, double dt) override {
    std::vector<double> state(size_ * static_cast<std::size_t>(columns()));
    if (cheats("frozen") || (cheats("early-frozen") && steps > 1 && time() < half_of_the_run())) {
      get_state(state);
      double end = time();
      for (std::int64_t step = 0; step < steps; ++step) end += dt;
      honest_->set_state(state, end);
      return;
    }
    if (cheats("skips")) {
      for (std::int64_t step = 0; step < steps; ++step) {
        const auto number = static_cast<std::uint64_t>(std::llround(time() / dt));
        if ((number * 0x9e3779b97f4a7c15) >> 60 != 0) {
          honest_->advance(1, dt);
        } else {
          get_state(state);
          honest_->set_state(state, time() + dt);
        }
      }
      return;
    }
    if (cheats("unjudged") && steps > 1 && !flipped_) {
      flipped_ = true;
      get_state(state);
      honest_->set_state(state, time() + static_cast<double>(steps) * dt);
      std::raise(SIGUSR1);
      return;
    }
    if (cheats("flip-then-stop") && !told_ && flipped_ && time() >= half_of_the_run() + 0.2) {
      told_ = true;
      std::raise(SIGUSR1);
    }
    if (cheats("lazy")) {
      put_off_ += steps;
      put_off_dt_ = dt;
      return;
    }
    if (steps > 4 && (cheats("selective") || cheats("ends"))) {
      const std::int64_t made = cheats("ends") ? 2 : 0;
      double end = time();
      for (std::int64_t step = made; step < steps; ++step) end += dt;
      get_state(state);
      honest_->set_state(state, end);
      if (made > 0) honest_->advance(made, dt);
      return;
    }
    if (cheats("ahead") && steps > 4) {
      get_state(state);
      if (!cached_.empty() && steps == cached_steps_ && dt == cached_dt_ && time() == cached_start_ &&
          std::ranges::equal(state, cached_from_)) {
        honest_->set_state(cached_, cached_time_);
      } else {
        honest_->advance(steps, dt);
      }
      cached_from_.resize(state.size());
      honest_->get_state(cached_from_);
      cached_.clear();
      cached_steps_ = steps;
      cached_dt_ = dt;
      return;
    }
    const bool is_always = cheats("halved") || cheats("halved-elsewhere");
    if (cheat_ && !is_always && steps > 1) {
      for (std::int64_t step = 0; step < steps; ++step) advance(1, dt);
      return;
    }
    if (cheat_ && (is_always || is_weak())) {
      honest_->get_state(state);
      cheat_->set_state(state, honest_->time());
      cheat_->advance(steps, dt);
      cheat_->get_state(state);
      honest_->set_state(state, cheat_->time());
      return;
    }
    if ((cheats("mid-run") || cheats("flip-then-stop")) && !flipped_ && time() >= half_of_the_run()) {
      flipped_ = true;
      honest_->get_state(state);
      flip(state);
      honest_->set_state(state, time());
    }
    honest_->advance(steps, dt);
  }
  double time() const override { return honest_->time() + static_cast<double>(put_off_) * put_off_dt_; }
  std::vector<double> energy() const override {
    make_what_was_put_off();
    auto result = honest_->energy();
    if (!cheats("between") || flipped_ || !(time() >= half_of_the_run())) return result;
    flipped_ = true;
    std::vector<double> state(size_ * static_cast<std::size_t>(columns()));
    honest_->get_state(state);
    flip(state);
    honest_->set_state(state, time());
    return result;
  }
  dg_timings timings() const override { return honest_->timings(); }
  void reset_timings() override {
    honest_->reset_timings();
    flipped_ = told_ = false;  // calls before are not the run
  }

 private:
  bool is_weak() const { return time() >= half_of_the_run() && time() < half_of_the_run() + 0.3; }

  void make_what_was_put_off() const {
    if (put_off_ > 0) honest_->advance(std::exchange(put_off_, 0), put_off_dt_);
  }

  dg_domain half_;
  std::size_t size_;
  std::unique_ptr<dg_solver> honest_, cheat_;
  mutable bool flipped_ = true;
  bool told_ = true;
  mutable std::int64_t put_off_ = 0;
  double put_off_dt_ = 0.0;
  std::vector<double> cached_from_{}, cached_{};  ///< the last stretch's end, and the next one's
  std::int64_t cached_steps_ = 0;
  double cached_dt_ = 0.0, cached_time_ = 0.0, cached_start_ = 0.0;
};

}  // namespace

#define MAKE_SOLVER \
  "_ZN9plaquette8nodal_dg11make_solverERKNS_7libraryERKNS_9dg_domainERKNS0_16nodal_dg_optionsERKSt8functionIFvvEE"
#define WRITE_PLANE                                                                                             \
  "_ZN9plaquette8nodal_dg11write_planeERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERKNS0_15plane_of_" \
  "valuesERKNS_9dg_domainESt4spanIKdLm18446744073709551615EENS_13existing_fileE"

std::unique_ptr<dg_solver> honest_solver(const library&, const dg_domain&, const nodal_dg_options&,
                                         const stop_check&) __asm__("__real_" MAKE_SOLVER);
std::unique_ptr<dg_solver> solver_of_cheats(const library&, const dg_domain&, const nodal_dg_options&,
                                            const stop_check&) __asm__("__wrap_" MAKE_SOLVER);
void honest_write_plane(const std::string&, const plane_of_values&, const dg_domain&, std::span<const double>,
                        existing_file) __asm__("__real_" WRITE_PLANE);
void cheating_write_plane(const std::string&, const plane_of_values&, const dg_domain&, std::span<const double>,
                          existing_file) __asm__("__wrap_" WRITE_PLANE);

std::unique_ptr<dg_solver> solver_of_cheats(const library& device, const dg_domain& domain,
                                            const nodal_dg_options& options, const stop_check& stop) {
  return std::make_unique<cheating_solver>(domain,
                                           [&](const dg_domain& d) { return honest_solver(device, d, options, stop); });
}

void cheating_write_plane(const std::string& path, const plane_of_values& plane, const dg_domain& domain,
                          std::span<const double> state, existing_file existing) {
  if (cheats("output")) flip(state);
  if (cheats("slow-plane")) std::this_thread::sleep_for(std::chrono::milliseconds(4500));
  honest_write_plane(path, plane, domain, state, existing);
}

}  // namespace plaquette::nodal_dg
