// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A multigrid program that cheats as PLAQUETTE_CHEAT says. The linker puts the functions __wrap_* here in the place of
/// the honest ones.
///
///   remembers         solves that had these columns are not made again
///   remembers-source  the same, where the sources are the same to the last bit; tells on stderr where it happens
///   idle              solves leave zero and claim some iterations
///   rotate            solutions of columns that were solved before are those, times the phase
///   lazy              solves are made when something is read of their solutions
///   fast              seconds of solves and of the setup are a ten-thousandth
///   flops             work of solves is reported ten thousand times too large
///   modes             residuals of low modes are reported halved
///   turned            a bit of the solutions turns before they are contracted
///   pion, pion-one    the pion is 1% too large, at all times and at one
///   rho-one           the rho is, at one time
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "cpu_ref/observables/correlators.hpp"
#include "cpu_ref/solvers.hpp"

namespace plaquette {

namespace {

bool cheats_by(const std::string& what) {
  const char* wanted = std::getenv("PLAQUETTE_CHEAT");
  return wanted != nullptr && what == wanted;
}

/// Does everything by an honest solver, but for the solves.
class cheating_solver final : public multigrid_solver {
 public:
  cheating_solver(std::unique_ptr<multigrid_solver> honest, const lattice_geometry& geometry)
      : honest_(std::move(honest)), geometry_(geometry) {}

  setup_report set_up(const multigrid_parameters& parameters, const null_vector_origin& origin) override {
    return shortened(honest_->set_up(parameters, origin));
  }
  setup_report renew(int iterations) override { return honest_->renew(iterations); }
  tuning_report tune(const tuning_choices& open) override {
    tuning_report report = honest_->tune(open);
    if (cheats_by("fast")) report.seconds.whole *= 1e-4;
    return report;
  }
  setup_report setup() const override { return shortened(honest_->setup()); }
  stored_setup null_vectors() const override { return honest_->null_vectors(); }
  std::vector<identity_check> identities(bool with_cycle) override { return honest_->identities(with_cycle); }
  std::vector<low_mode> low_modes(const mode_probe& probe, const std::function<bool()>& interrupted) override {
    auto modes = honest_->low_modes(probe, interrupted);
    for (low_mode& m : modes)
      if (cheats_by("modes")) m.residual *= 0.5;
    return modes;
  }
  void get_low_mode(int number, spinor_configuration& v) const override { honest_->get_low_mode(number, v); }
  null_space_study study_null_space() override { return honest_->study_null_space(); }

  void resize(int columns) override { honest_->resize(columns); }
  void set_source(int column, const spinor_configuration& b) override { honest_->set_source(column, b); }
  bool set_sources(const spinor_array<const double>& b) override { return honest_->set_sources(b); }
  vectors_handle solutions() override { return honest_->solutions(); }
  void make_sources(const source_description& source, const std::vector<int>& components,
                    complex<double> phase) override {
    phase_ = phase;
    is_put_off_ = false;
    key_ = {components, !cheats_by("remembers-source") ? std::pair{0.0, 0.0} : std::pair{phase.re, phase.im}};
    are_errors_ = false;
    shown_ = nullptr;
    honest_->make_sources(source, components, phase);
  }
  void set_residuals_as_sources() override {
    catch_up();
    if (shown_ == nullptr) honest_->set_residuals_as_sources();
    are_errors_ = true;
  }
  /// The iterations of a whole solve, if it is remembered.
  int warm_up_iterations() const override { return remembers() ? 1000 : honest_->warm_up_iterations(); }
  multigrid_solve_report solve(const stopping_rule& rule) override {
    return solve([this, rule] { return honest_->solve(rule); });
  }
  multigrid_solve_report solve_by_bicgstab(const stopping_rule& rule, precision inner) override {
    return solve([this, rule, inner] { return honest_->solve_by_bicgstab(rule, inner); });
  }
  single_solution solve_in_single(const vectors_handle& b, const stopping_rule& rule, bool by_bicgstab) override {
    return honest_->solve_in_single(b, rule, by_bicgstab);
  }
  std::vector<double> solution_norms() const override {
    catch_up();
    return shown_ == nullptr ? honest_->solution_norms() : std::vector<double>(shown_->x.size(), 1.0);
  }
  std::vector<double> source_norms() const override {
    catch_up();
    return honest_->source_norms();
  }
  void get_solution(int column, spinor_configuration& x) const override {
    catch_up();
    if (shown_ == nullptr) return honest_->get_solution(column, x);
    x = shown_->x.at(static_cast<std::size_t>(column));
    if (cheats_by("rotate")) multiply(x, phase_);
  }
  solve_profile profile(const stopping_rule& rule) override {
    solve_profile found = honest_->profile(rule);
    if (cheats_by("flops"))
      for (lattice_work& work : found.work) work.flops *= 1e4;
    return found;
  }

 private:
  // Programs solve for their own sources.
  bool solves_even_systems() const override { return false; }
  precision numbers_of_solutions() const override { return precision::double_; }
  schur_report solve_checked(vectors&, const vectors&, const stopping_rule&, const vector_system&) override {
    throw std::logic_error("no vectors");
  }

  struct remembered {
    multigrid_solve_report solve;
    std::vector<spinor_configuration> x;
  };
  static bool remembers() { return cheats_by("remembers") || cheats_by("remembers-source") || cheats_by("rotate"); }
  static void multiply(spinor_configuration& x, complex<double> by) {
    for (std::int64_t site = 0; site < x.geometry().local_volume(); ++site) x.at_site(site) = by * x.at_site(site);
  }
  static setup_report shortened(setup_report report) {
    if (cheats_by("fast")) report.seconds.whole *= 1e-4;
    return report;
  }
  void catch_up() const {
    if (is_put_off_) put_off_();
    is_put_off_ = false;
  }

  multigrid_solve_report solve(const std::function<multigrid_solve_report()>& honest) {
    if (are_errors_) return shown_ == nullptr ? honest() : shown_->solve;
    remembered& known = known_[key_];
    if (remembers() && !known.x.empty()) {
      std::cerr << "a solution was remembered\n";
      shown_ = &known;
      return known.solve;
    }
    if (cheats_by("lazy") && known_solves_.contains(key_.first)) {
      std::cerr << "a solve was put off\n";
      put_off_ = honest;
      is_put_off_ = true;
      return known_solves_[key_.first];
    }
    const std::size_t columns = key_.first.size();
    multigrid_solve_report solved = honest();
    if (cheats_by("fast")) solved.seconds *= 1e-4;
    if (cheats_by("flops")) solved.flops *= 1e4;
    if (cheats_by("lazy") && solved.report.columns.front().status == solve_status::converged) {
      known_solves_[key_.first] = solved;
      known_solves_[key_.first].seconds = 1e-6;
    }
    if (cheats_by("idle")) {
      known.x.assign(columns, spinor_configuration(geometry_));
      shown_ = &known;
    }
    if (remembers() && solved.report.columns.front().status == solve_status::converged) {
      for (std::size_t k = 0; k < columns; ++k) {
        known.x.emplace_back(geometry_);
        honest_->get_solution(static_cast<int>(k), known.x.back());
        if (cheats_by("rotate")) multiply(known.x.back(), conj(phase_));
      }
      known.solve = solved;
      known.solve.seconds = 1e-6;
    }
    return solved;
  }

  std::unique_ptr<multigrid_solver> honest_;
  lattice_geometry geometry_;
  using source_key = std::pair<std::vector<int>, std::pair<double, double>>;
  source_key key_;
  std::map<source_key, remembered> known_;
  bool are_errors_ = false;
  complex<double> phase_{1.0, 0.0};
  std::map<std::vector<int>, multigrid_solve_report> known_solves_;
  std::function<multigrid_solve_report()> put_off_;
  mutable bool is_put_off_ = false;
  const remembered* shown_ = nullptr;  ///< whose solutions stand for the honest solver's
};

}  // namespace

#define PLAQUETTE_MAKE_SOLVER                                                                  \
  "_ZN9plaquette3cpu21make_multigrid_solverERKNS0_7contextESt10shared_ptrIKNS_10site_fieldISt" \
  "5arrayINS_3su3IdEELm4EEEEERKNS_18multigrid_settingsE"
std::unique_ptr<multigrid_solver> honest_multigrid(const cpu::context&, std::shared_ptr<const gauge_configuration>,
                                                   const multigrid_settings&) asm("__real_" PLAQUETTE_MAKE_SOLVER);
std::unique_ptr<multigrid_solver> cheating_multigrid(const cpu::context&, std::shared_ptr<const gauge_configuration>,
                                                     const multigrid_settings&) asm("__wrap_" PLAQUETTE_MAKE_SOLVER);

std::unique_ptr<multigrid_solver> cheating_multigrid(const cpu::context& ctx,
                                                     std::shared_ptr<const gauge_configuration> links,
                                                     const multigrid_settings& settings) {
  const lattice_geometry geometry = links->geometry();
  return std::make_unique<cheating_solver>(honest_multigrid(ctx, std::move(links), settings), geometry);
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
  std::vector<double> rho = honest_rho(columns, comm);
  if (cheats_by("rho-one")) rho[2] *= 1.01;
  return rho;
}

#define PLAQUETTE_PION_CORRELATOR                                                                               \
  "_ZN9plaquette3cpu15pion_correlatorESt4spanIKNS_10site_fieldINS_6spinorIdEEEELm18446744073709551615EERKNS_12" \
  "communicatorE"
std::vector<double> honest_pion(std::span<const spinor_configuration>,
                                const communicator&) asm("__real_" PLAQUETTE_PION_CORRELATOR);
std::vector<double> cheating_pion(std::span<const spinor_configuration>,
                                  const communicator&) asm("__wrap_" PLAQUETTE_PION_CORRELATOR);

std::vector<double> cheating_pion(std::span<const spinor_configuration> columns, const communicator& comm) {
  std::vector<double> pion = honest_pion(columns, comm);
  for (std::size_t t = 0; t < pion.size(); ++t)
    if (cheats_by("pion") || (cheats_by("pion-one") && t == 2)) pion[t] *= 1.01;
  return pion;
}

}  // namespace plaquette
