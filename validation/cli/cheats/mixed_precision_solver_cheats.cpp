// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// plaquette-mixed-precision-solver with one fault, which PLAQUETTE_CHEAT names:
///   left-out          timed solves are not done
///   lazy              timed solves are done when a solution is read
///   loose             the same, but for 1e-3 of them
///   rotate            timed solutions are the first one's, times the phase
///   half-hearted      one of two timed solves is left out
///   correlators       a bit of a solution flips after it was judged, before correlators are made of it
///   device            the same on the device, where correlators are made there; the host's solutions stay
///   device-pion       the device's pion is off by 1e-10 at one time
///   rho               the CPU's rho is a third of itself
///   rho-one           it is 1% too large at one time
///   pion, pion-one    the CPU's pion is 1% too large, at all times and at one
///   file              a bit of a solution flips before it is written
///   disk              a bit of the written file flips
/// The linker puts the functions __wrap_* here in the place of the honest ones. PLAQUETTE_FLIP="column,site,number,bit"
/// says which bit (0,0,0,0).
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

#include "cpu_ref/solvers.hpp"
#include "miniapps/shared/propagator_file.hpp"

namespace plaquette {

namespace gpu {
class context;
}

namespace {

bool cheats(std::string_view which) {
  const char* const chosen = std::getenv("PLAQUETTE_CHEAT");
  return chosen != nullptr && chosen == which;
}

struct bit_of_a_solution {
  int column = 0, site = 0, number = 0, bit = 0;
};

bit_of_a_solution chosen_bit() {
  bit_of_a_solution b;
  if (const char* const text = std::getenv("PLAQUETTE_FLIP"))
    if (std::sscanf(text, "%d,%d,%d,%d", &b.column, &b.site, &b.number, &b.bit) != 4) std::abort();
  return b;
}

void flip(spinor_configuration& column) {
  const bit_of_a_solution b = chosen_bit();
  spinor<double>& at = column.at_site(b.site % column.geometry().local_volume());
  std::array<std::uint64_t, sizeof at / sizeof(std::uint64_t)> words;
  std::memcpy(words.data(), &at, sizeof at);
  words[static_cast<std::size_t>(b.number) % words.size()] ^= std::uint64_t{1} << (b.bit % 64);
  std::memcpy(static_cast<void*>(&at), words.data(), sizeof at);
}

/// Columns belong to the program, which does not expect them to change.
void flip(std::span<const spinor_configuration> columns) {
  flip(const_cast<spinor_configuration&>(columns[static_cast<std::size_t>(chosen_bit().column) % columns.size()]));
}

class faulty_solver final : public propagator_solver {
 public:
  faulty_solver(std::unique_ptr<propagator_solver> honest, const lattice_geometry& geometry)
      : honest_(std::move(honest)), geometry_(geometry) {}
  const propagator_settings& settings() const override { return honest_->settings(); }
  void set_source(int column, const spinor_configuration& b) override { honest_->set_source(column, b); }
  bool set_sources(const spinor_array<const double>& b) override { return honest_->set_sources(b); }
  vectors_handle solutions() override { return honest_->solutions(); }
  void make_sources(const source_description& source, const std::vector<int>& components,
                    complex<double> phase) override {
    is_timed_ = !(phase.re == 1.0 && phase.im == 0.0);
    is_put_off_ = false;
    phase_ = phase;
    timed_ += is_timed_ ? 1 : 0;
    honest_->make_sources(source, components, phase);
  }
  propagator_report solve(const stopping_rule& rule, const schur_parameters& parameters) override {
    if (cheats("left-out") && is_timed_) return last_;
    if (cheats("half-hearted") && is_timed_ && timed_ % 2 == 0) return last_;
    if (cheats("rotate") && is_timed_) return last_;
    if ((cheats("lazy") || cheats("loose")) && is_timed_) {
      is_put_off_ = true;
      rule_ = rule;
      parameters_ = parameters;
      stopping_rule loose = rule;
      loose.tolerance = 1e-3;
      if (cheats("loose")) honest_->solve(loose, parameters);
      return last_;
    }
    last_ = honest_->solve(rule, parameters);
    first_.clear();
    for (std::size_t k = 0; cheats("rotate") && k < last_.report.columns.size(); ++k) {
      first_.emplace_back(geometry_);
      honest_->get_solution(static_cast<int>(k), first_.back());
    }
    return last_;
  }
  std::vector<double> solution_norms() const override {
    if (cheats("lazy")) catch_up();
    if (cheats("rotate") && is_timed_) return first_norms_;
    auto norms = honest_->solution_norms();
    if (!is_timed_) first_norms_ = norms;
    return norms;
  }
  void get_solution(int column, spinor_configuration& x) const override {
    catch_up();
    if (cheats("rotate") && is_timed_) {
      const spinor_configuration& first = first_.at(static_cast<std::size_t>(column));
      for (std::int64_t site = 0; site < geometry_.local_volume(); ++site)
        x.at_site(site) = phase_ * first.at_site(site);
      return;
    }
    honest_->get_solution(column, x);
    if (cheats("device") && has_correlators_ && column == chosen_bit().column) flip(x);
  }
  std::optional<correlator_pair> correlators() const override {
    auto c = honest_->correlators();
    has_correlators_ = c.has_value();
    if (c && cheats("device-pion")) c->pion[1] *= 1.0 + 1e-10;
    return c;
  }
  std::unique_ptr<operator_trial> full_operator(bool inner) override { return honest_->full_operator(inner); }
  std::unique_ptr<operator_trial> schur_operator(bool inner) override { return honest_->schur_operator(inner); }
  std::string halo_policy() const override { return honest_->halo_policy(); }

 private:
  // Programs solve for their own sources.
  bool solves_even_systems() const override { return false; }
  precision numbers_of_solutions() const override { return precision::double_; }
  schur_report solve_checked(vectors&, const vectors&, const stopping_rule&, const vector_system&) override {
    throw std::logic_error("no vectors");
  }

  void catch_up() const {
    if (is_put_off_) honest_->solve(rule_, parameters_);
    is_put_off_ = false;
  }

  std::unique_ptr<propagator_solver> honest_;
  lattice_geometry geometry_;
  complex<double> phase_{1.0, 0.0};
  int timed_ = 0;  ///< solves until now
  mutable bool is_put_off_ = false;
  stopping_rule rule_;
  schur_parameters parameters_;
  std::vector<spinor_configuration> first_;  ///< solutions from sources without a phase
  mutable std::vector<double> first_norms_;
  bool is_timed_ = false;
  mutable bool has_correlators_ = false;
  propagator_report last_;
};

}  // namespace

#define SPINORS "NS_10site_fieldINS_6spinorIdEEEE"
#define ON_CPU                                                                                  \
  "_ZN9plaquette3cpu22make_propagator_solverERKNS0_7contextESt10shared_ptrIKNS_10site_fieldISt" \
  "5arrayINS_3su3IdEELm4EEEEERKNS_19propagator_settingsE"
#define ON_GPU                                                                                  \
  "_ZN9plaquette3gpu22make_propagator_solverERKNS0_7contextESt10shared_ptrIKNS_10site_fieldISt" \
  "5arrayINS_3su3IdEELm4EEEEERKNS_19propagator_settingsE"
#define PION "_ZN9plaquette3cpu15pion_correlatorESt4spanIK" SPINORS "Lm18446744073709551615EERKNS_12communicatorE"
#define RHO "_ZN9plaquette3cpu14rho_correlatorESt4spanIK" SPINORS "Lm18446744073709551615EERKNS_12communicatorE"
#define WRITE                                                                                                   \
  "_ZN9plaquette16write_propagatorERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEbRKSt6vectorI" SPINORS \
  "SaISC_EERKNS_16propagator_factsERKNS_12communicatorE"

using solver_handle = std::unique_ptr<propagator_solver>;
using links_handle = std::shared_ptr<const gauge_configuration>;
using columns_view = std::span<const spinor_configuration>;
solver_handle honest_on_cpu(const cpu::context&, links_handle, const propagator_settings&) __asm__("__real_" ON_CPU);
solver_handle faulty_on_cpu(const cpu::context&, links_handle, const propagator_settings&) __asm__("__wrap_" ON_CPU);
#ifdef PLAQUETTE_WITH_GPU
solver_handle honest_on_gpu(const gpu::context&, links_handle, const propagator_settings&) __asm__("__real_" ON_GPU);
solver_handle faulty_on_gpu(const gpu::context&, links_handle, const propagator_settings&) __asm__("__wrap_" ON_GPU);
#endif
std::vector<double> honest_pion(columns_view, const communicator&) __asm__("__real_" PION);
std::vector<double> faulty_pion(columns_view, const communicator&) __asm__("__wrap_" PION);
std::vector<double> honest_rho(columns_view, const communicator&) __asm__("__real_" RHO);
std::vector<double> faulty_rho(columns_view, const communicator&) __asm__("__wrap_" RHO);
void honest_write(const std::string&, bool, const cpu::propagator&, const propagator_facts&,
                  const communicator&) __asm__("__real_" WRITE);
void faulty_write(const std::string&, bool, const cpu::propagator&, const propagator_facts&,
                  const communicator&) __asm__("__wrap_" WRITE);

solver_handle faulty_on_cpu(const cpu::context& ctx, links_handle links, const propagator_settings& settings) {
  const lattice_geometry geometry = links->geometry();
  return std::make_unique<faulty_solver>(honest_on_cpu(ctx, std::move(links), settings), geometry);
}
#ifdef PLAQUETTE_WITH_GPU
solver_handle faulty_on_gpu(const gpu::context& ctx, links_handle links, const propagator_settings& settings) {
  const lattice_geometry geometry = links->geometry();
  return std::make_unique<faulty_solver>(honest_on_gpu(ctx, std::move(links), settings), geometry);
}
#endif
std::vector<double> faulty_pion(columns_view columns, const communicator& comm) {
  if (cheats("correlators")) flip(columns);
  std::vector<double> pion = honest_pion(columns, comm);
  for (std::size_t t = 0; t < pion.size(); ++t)
    if (cheats("pion") || (cheats("pion-one") && t == 2)) pion[t] *= 1.01;
  return pion;
}
std::vector<double> faulty_rho(columns_view columns, const communicator& comm) {
  std::vector<double> rho = honest_rho(columns, comm);
  if (cheats("rho"))
    for (double& value : rho) value /= 3.0;
  if (cheats("rho-one")) rho[2] *= 1.01;
  return rho;
}
void faulty_write(const std::string& path, bool replace, const cpu::propagator& columns, const propagator_facts& facts,
                  const communicator& comm) {
  if (cheats("file")) flip(columns);
  honest_write(path, replace, columns, facts, comm);
  if (!cheats("disk") || comm.rank() != 0) return;
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary | std::ios::ate);
  const auto at = static_cast<std::streamoff>(file.tellg()) / 2;
  file.seekg(at);
  char byte = 0;
  file.get(byte);
  file.seekp(at);
  file.put(static_cast<char>(byte ^ (1 << (chosen_bit().bit % 8))));
}

}  // namespace plaquette
