// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// plaquette-hmc that cheats as PLAQUETTE_CHEAT says. The linker puts the functions __wrap_* here in the place of the
/// honest ones.
///
///   no-trajectory   nothing is done in every second trajectory, and dH is said to be small
///   fewer-steps     two drifts are one
///   short-tau       steps are nine tenths of what they are said to be
///   other-dh        dH is that of the first trajectory
///   always-accept   links are not put back
///   heavier         the quark of forces and actions is heavier
///   force           forces of quarks are 1% too large
///   one-force       the force of the quarks is left out once in a trajectory
///   no-determinant  log det A_oo has neither force nor action
///   other-noise     momenta and pseudofermions are those of another seed
///   loose           systems are solved to 1e-3
///   slow-clock      time goes half as fast
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cpu_ref/solvers.hpp"
#ifdef PLAQUETTE_WITH_GPU
#include "gpu/solvers.hpp"
#endif

namespace plaquette {

namespace {

bool cheats_by(const std::string& what) {
  const char* wanted = std::getenv("PLAQUETTE_CHEAT");
  return wanted != nullptr && what == wanted;
}

hybrid_action cheating_action(hybrid_action action) {
  if (cheats_by("heavier")) action.quarks->action.mass += 0.01;
  if (cheats_by("other-noise")) ++action.seed;
  if (cheats_by("loose")) action.force_tolerance = action.cg_force_tolerance = action.action_tolerance = 1e-3;
  return action;
}

/// Does everything by honest molecular dynamics, but for the cheat.
class cheating_dynamics final : public molecular_dynamics {
 public:
  explicit cheating_dynamics(std::unique_ptr<molecular_dynamics> honest) : honest_(std::move(honest)) {}

  const hybrid_action& action() const override { return honest_->action(); }
  void set_links(const gauge_configuration& links) override { honest_->set_links(links); }
  gauge_configuration links() const override { return honest_->links(); }
  gauge_configuration links_of_start() const override { return honest_->links_of_start(); }
  gauge_configuration momenta() const override { return honest_->momenta(); }
  void refresh(std::uint64_t trajectory) override {
    honest_->refresh(trajectory);
    trajectory_ = trajectory;
    waiting_ = 0.0;
    kicks_ = 0;
  }
  void set_momenta(const gauge_configuration& momenta) override { honest_->set_momenta(momenta); }
  void set_pseudofermion(int factor, int pair, const spinor_configuration& phi) override {
    honest_->set_pseudofermion(factor, pair, phi);
  }
  void drift(double step) override {
    if (is_left_out()) return;
    if (cheats_by("short-tau")) step *= 0.9;
    if (cheats_by("fewer-steps")) {
      if (waiting_ == 0.0) return void(waiting_ = step);
      step += std::exchange(waiting_, 0.0);
    }
    honest_->drift(step);
  }
  void kick(std::span<const int> terms, double step) override {
    if (is_left_out()) return;
    if (cheats_by("short-tau")) step *= 0.9;
    std::vector<int> gauge, quarks;
    for (const int term : terms)
      if (!(cheats_by("no-determinant") && term == 1)) (term == 0 ? gauge : quarks).push_back(term);
    if (!gauge.empty()) honest_->kick(gauge, step);
    if (quarks.empty() || (cheats_by("one-force") && ++kicks_ == 3)) return;
    honest_->kick(quarks, cheats_by("force") ? 1.01 * step : step);
  }
  void displaced_kick(std::span<const int> terms, double step, double displacement) override {
    honest_->displaced_kick(terms, step, displacement);
  }
  energy_change change_of_energy() override {
    energy_change change = honest_->change_of_energy();
    if (is_left_out()) return {1e-9 * static_cast<double>(trajectory_), {}};
    if (cheats_by("no-determinant")) change.terms[1] = 0.0;
    if (cheats_by("other-dh")) {
      if (!first_) first_ = std::make_unique<energy_change>(change);
      return *first_;
    }
    return change;
  }
  void restore() override {
    if (!cheats_by("always-accept")) honest_->restore();
  }
  void reunitarise() override { honest_->reunitarise(); }
  void reverse() override { honest_->reverse(); }
  gauge_configuration force(int term, double tolerance) override { return honest_->force(term, tolerance); }
  void get(int factor, factor_vectors which, int pair, spinor_configuration& to) const override {
    honest_->get(factor, which, pair, to);
  }
  void solve_for_actions() override { honest_->solve_for_actions(); }
  std::vector<force_size> sizes_of_forces() const override { return honest_->sizes_of_forces(); }
  std::vector<factor_work> work() const override { return honest_->work(); }
  hierarchy_work work_of_hierarchy() const override { return honest_->work_of_hierarchy(); }
  plaquettes measure_plaquettes() override { return honest_->measure_plaquettes(); }
  double distance_from_su3() override { return honest_->distance_from_su3(); }
  void finish() override { honest_->finish(); }

 private:
  bool is_left_out() const { return cheats_by("no-trajectory") && trajectory_ % 2 == 1; }

  std::unique_ptr<molecular_dynamics> honest_;
  std::unique_ptr<energy_change> first_;
  std::uint64_t trajectory_ = 0;
  double waiting_ = 0.0;  ///< a drift that was left out
  int kicks_ = 0;
};

}  // namespace

#define PLAQUETTE_CPU_DYNAMICS                                                                                   \
  "_ZN9plaquette3cpu23make_molecular_dynamicsERKNS0_7contextERKNS_10site_fieldISt5arrayINS_3su3IdEELm4EEEERKNS_" \
  "13hybrid_actionE"
std::unique_ptr<molecular_dynamics> honest_on_cpu(const cpu::context&, const gauge_configuration&,
                                                  const hybrid_action&) asm("__real_" PLAQUETTE_CPU_DYNAMICS);
std::unique_ptr<molecular_dynamics> cheating_on_cpu(const cpu::context&, const gauge_configuration&,
                                                    const hybrid_action&) asm("__wrap_" PLAQUETTE_CPU_DYNAMICS);
std::unique_ptr<molecular_dynamics> cheating_on_cpu(const cpu::context& ctx, const gauge_configuration& links,
                                                    const hybrid_action& action) {
  return std::make_unique<cheating_dynamics>(honest_on_cpu(ctx, links, cheating_action(action)));
}

#ifdef PLAQUETTE_WITH_GPU
#define PLAQUETTE_GPU_DYNAMICS                                                                                   \
  "_ZN9plaquette3gpu23make_molecular_dynamicsERKNS0_7contextERKNS_10site_fieldISt5arrayINS_3su3IdEELm4EEEERKNS_" \
  "13hybrid_actionE"
std::unique_ptr<molecular_dynamics> honest_on_gpu(const gpu::context&, const gauge_configuration&,
                                                  const hybrid_action&) asm("__real_" PLAQUETTE_GPU_DYNAMICS);
std::unique_ptr<molecular_dynamics> cheating_on_gpu(const gpu::context&, const gauge_configuration&,
                                                    const hybrid_action&) asm("__wrap_" PLAQUETTE_GPU_DYNAMICS);
std::unique_ptr<molecular_dynamics> cheating_on_gpu(const gpu::context& ctx, const gauge_configuration& links,
                                                    const hybrid_action& action) {
  return std::make_unique<cheating_dynamics>(honest_on_gpu(ctx, links, cheating_action(action)));
}
#endif

#define PLAQUETTE_NOW "_ZN9plaquette11seconds_nowEv"
double honest_now() asm("__real_" PLAQUETTE_NOW);
double slow_now() asm("__wrap_" PLAQUETTE_NOW);
double slow_now() { return (cheats_by("slow-clock") ? 0.5 : 1.0) * honest_now(); }

}  // namespace plaquette
