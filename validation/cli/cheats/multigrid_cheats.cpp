// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A multigrid program that cheats as PLAQUETTE_CHEAT says. The linker puts these functions in front of two of the
/// honest libraries (--wrap).
///
///   remembers         solves that had these columns are not made again
///   remembers-source  the same, where the sources are the same to the last bit; tells on stderr where it happens
///   idle              solves leave zero and claim some iterations
///   fast              seconds of solves are a ten-thousandth
///   turned            a bit of the solutions turns before they are contracted
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <string>
#include <utility>

#include "cpu_ref/observables/correlators.hpp"
#include "miniapps/multigrid/multigrid_engine.hpp"

namespace plaquette {

namespace {

bool cheats_by(const std::string& what) {
  const char* wanted = std::getenv("PLAQUETTE_CHEAT");
  return wanted != nullptr && what == wanted;
}

/// Everything by an honest engine, but for the solves.
class cheating_engine final : public multigrid_engine {
 public:
  cheating_engine(std::unique_ptr<multigrid_engine> honest, const lattice_geometry& geometry)
      : honest_(std::move(honest)), geometry_(geometry) {}

  setup_summary set_up() override { return honest_->set_up(); }
  void save_setup(const std::string& path, bool force) override { honest_->save_setup(path, force); }
  std::vector<identity> identities(bool with_cycle) override { return honest_->identities(with_cycle); }
  std::vector<low_mode> low_modes(const mode_probe& probe, const std::function<bool()>& interrupted) override {
    return honest_->low_modes(probe, interrupted);
  }
  json_document explanation() override { return honest_->explanation(); }

  void set_sources(const std::vector<int>& columns, complex<double> phase) override {
    key_ = {columns, cheats_by("remembers") ? std::pair{0.0, 0.0} : std::pair{phase.re, phase.im}};
    are_errors_ = false;
    shown_ = nullptr;
    honest_->set_sources(columns, phase);
  }
  void set_residuals_as_sources() override {
    if (shown_ == nullptr) honest_->set_residuals_as_sources();
    are_errors_ = true;
  }
  void warm_up(bool by_multigrid, const stopping_rule& rule) override {
    honest_->warm_up(by_multigrid, rule);
    if (remembers()) solve(by_multigrid, rule);
  }
  timed_multigrid_solve solve_by_multigrid(const stopping_rule& rule) override { return solve(true, rule); }
  timed_multigrid_solve solve_by_bicgstab(const stopping_rule& rule) override { return solve(false, rule); }
  std::vector<double> solution_norms() const override {
    return shown_ == nullptr ? honest_->solution_norms() : std::vector<double>(shown_->x.size(), 1.0);
  }
  std::vector<double> source_norms() const override { return honest_->source_norms(); }
  void get_solution(int place, spinor_configuration& out) const override {
    if (shown_ == nullptr)
      honest_->get_solution(place, out);
    else
      out = shown_->x.at(static_cast<std::size_t>(place));
  }
  solve_profile profile(const stopping_rule& rule) override { return honest_->profile(rule); }

 private:
  struct remembered {
    timed_multigrid_solve solve;
    std::vector<spinor_configuration> x;
  };
  static bool remembers() { return cheats_by("remembers") || cheats_by("remembers-source"); }

  timed_multigrid_solve solve(bool by_multigrid, const stopping_rule& rule) {
    if (are_errors_) return shown_ == nullptr ? honest(by_multigrid, rule) : shown_->solve;
    remembered& known = known_[key_];
    if (remembers() && !known.x.empty()) {
      std::cerr << "a solution was remembered\n";
      shown_ = &known;
      return known.solve;
    }
    const std::size_t columns = key_.first.size();
    timed_multigrid_solve solved = honest(by_multigrid, rule);
    if (cheats_by("fast")) solved.seconds *= 1e-4;
    if (cheats_by("idle")) {
      known.x.assign(columns, spinor_configuration(geometry_));
      shown_ = &known;
    }
    if (remembers()) {
      for (std::size_t k = 0; k < columns; ++k) {
        known.x.emplace_back(geometry_);
        honest_->get_solution(static_cast<int>(k), known.x.back());
      }
      known.solve = solved;
      known.solve.seconds = 1e-6;
    }
    return solved;
  }
  timed_multigrid_solve honest(bool by_multigrid, const stopping_rule& rule) {
    return by_multigrid ? honest_->solve_by_multigrid(rule) : honest_->solve_by_bicgstab(rule);
  }

  std::unique_ptr<multigrid_engine> honest_;
  lattice_geometry geometry_;
  using source_key = std::pair<std::vector<int>, std::pair<double, double>>;
  source_key key_;
  std::map<source_key, remembered> known_;
  bool are_errors_ = false;
  const remembered* shown_ = nullptr;  ///< whose solutions stand for the honest engine's
};

}  // namespace

#define PLAQUETTE_MAKE_CPU_MULTIGRID                                                                         \
  "_ZN9plaquette18make_cpu_multigridERKNS_3cpu7contextERKNS_10site_fieldISt5arrayINS_3su3IdEELm4EEEERKNS_12" \
  "setup_originERKNS_17multigrid_optionsE"
std::unique_ptr<multigrid_engine> honest_multigrid(
    const cpu::context&, const gauge_configuration&, const setup_origin&,
    const multigrid_options&) asm("__real_" PLAQUETTE_MAKE_CPU_MULTIGRID);
std::unique_ptr<multigrid_engine> cheating_multigrid(
    const cpu::context&, const gauge_configuration&, const setup_origin&,
    const multigrid_options&) asm("__wrap_" PLAQUETTE_MAKE_CPU_MULTIGRID);

std::unique_ptr<multigrid_engine> cheating_multigrid(const cpu::context& ctx, const gauge_configuration& links,
                                                     const setup_origin& origin, const multigrid_options& options) {
  return std::make_unique<cheating_engine>(honest_multigrid(ctx, links, origin, options), links.geometry());
}

#define PLAQUETTE_RHO_CORRELATOR                                                                               \
  "_ZN9plaquette3cpu14rho_correlatorESt4spanIKNS_10site_fieldINS_6spinorIdEEEELm18446744073709551615EERKNS_12" \
  "communicatorE"
std::vector<double> honest_rho(std::span<const spinor_configuration>,
                               const communicator&) asm("__real_" PLAQUETTE_RHO_CORRELATOR);
std::vector<double> cheating_rho(std::span<const spinor_configuration>,
                                 const communicator&) asm("__wrap_" PLAQUETTE_RHO_CORRELATOR);

std::vector<double> cheating_rho(std::span<const spinor_configuration> columns, const communicator& comm) {
  if (cheats_by("turned")) {  // the last bit of one number
    auto& number = const_cast<spinor_configuration&>(columns[7]).at_site(3)(2, 1).re;
    std::uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    bits ^= 1U;
    std::memcpy(&number, &bits, sizeof bits);
  }
  return honest_rho(columns, comm);
}

}  // namespace plaquette
