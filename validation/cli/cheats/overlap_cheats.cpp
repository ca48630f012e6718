// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Makes plaquette-overlap-propagator cheat, as PLAQUETTE_CHEAT says: functions of the libraries are replaced at link
/// time (-Wl,--wrap). Without PLAQUETTE_CHEAT all is honest.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "common/app/checkpoint.hpp"
#include "common/app/resumable.hpp"
#include "common/krylov/batch.hpp"
#include "cpu_ref/blas/blas.hpp"
#include "cpu_ref/dirac/hermitian_wilson.hpp"
#include "cpu_ref/fields/random_spinor.hpp"
#include "cpu_ref/observables/correlators.hpp"
#include "cpu_ref/solvers.hpp"
#include "miniapps/shared/operator_checks.hpp"
#include "miniapps/shared/propagator_file.hpp"

namespace plaquette {

namespace {

bool cheats(std::string_view how) {
  const char* chosen = std::getenv("PLAQUETTE_CHEAT");
  return chosen != nullptr && how == chosen;
}

bool are_modes_of_d(const std::string& path) { return path.ends_with(".overlap.h5"); }

/// A bit in the middle of the mantissa.
void flip_a_bit(double& number) { number = std::bit_cast<double>(std::bit_cast<std::uint64_t>(number) ^ (1ull << 30)); }

constexpr std::size_t dropped = 1;  // the pair that a cheat leaves out, the second
int vectors_in_file = 0, kept_of_plus = 0, dropped_partner = 0;

}  // namespace

/// Opens the state of a file, which is protected.
struct changeable : kept_numbers {
  static json_document& state_of(kept_numbers& numbers) { return numbers.*&changeable::state_; }
};

// Names as the linker has them; overlap_cheats.wraps has the same.
#define PLAQUETTE_READ "_ZNK9plaquette9kept_file4readEv"
#define PLAQUETTE_VECTORS "_ZNK9plaquette12kept_content7vectorsEi"
kept_content real_read(const kept_file* file) asm("__real_" PLAQUETTE_READ);
kept_content cheating_read(const kept_file* file) asm("__wrap_" PLAQUETTE_READ);
vector_source real_vectors(const kept_content* content, int count) asm("__real_" PLAQUETTE_VECTORS);
vector_source cheating_vectors(const kept_content* content, int count) asm("__wrap_" PLAQUETTE_VECTORS);

/// "dropped-partner": of one pair the mode in the chirality that was not searched is left out.
kept_content without_a_partner(const kept_file* file) {
  kept_content content = real_read(file);
  json_document& state = changeable::state_of(content);
  vectors_in_file = static_cast<int>(state.at("sums").size());
  const bool is_plus = state.at("searched").get<int>() < 0;
  dropped_partner = static_cast<int>(dropped) + (is_plus ? 0 : static_cast<int>(state.at("plus").size()));
  for (const char* key : {is_plus ? "plus" : "minus", is_plus ? "plus_residuals" : "minus_residuals"})
    state[key].erase(dropped);
  return content;
}

/// "dropped-pair": a file with one mode more than sought is taken for one that has as many, but for one in the middle.
kept_content cheating_read(const kept_file* file) {
  if (cheats("dropped-partner") && are_modes_of_d(file->path())) return without_a_partner(file);
  if (!cheats("dropped-pair") || !are_modes_of_d(file->path())) return real_read(file);
  kept_problem one_more = file->problem();
  one_more.parameters["overlap_modes"] = one_more.parameters.at("overlap_modes").get<int>() + 1;
  const kept_file larger(file->path(), one_more, file->geometry(), file->world());
  kept_content content = real_read(&larger);
  json_document& state = changeable::state_of(content);
  vectors_in_file = static_cast<int>(state.at("sums").size());
  kept_of_plus = static_cast<int>(state.at("plus").size()) - 1;
  for (const char* key : {"plus", "plus_residuals", "minus", "minus_residuals"}) state[key].erase(dropped);
  return content;
}

/// "random-modes": random vectors in place of the vectors in the file.
vector_source cheating_vectors(const kept_content* content, int count) {
  if (are_modes_of_d(content->path()) && cheats("random-modes"))
    return [](int n, spinor_configuration& to) {
      const lattice_geometry& geometry = to.geometry();
      to = cpu::random_spinor(geometry, 77, static_cast<std::uint64_t>(n), communicator());
      const double scale = 1.0 / std::sqrt(24.0 * static_cast<double>(geometry.global_volume()));
      for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
        to(geometry.local_coordinate(site)) = scale * to(geometry.local_coordinate(site));
    };
  if (are_modes_of_d(content->path()) && cheats("dropped-pair")) {
    const int first = static_cast<int>(dropped), second = kept_of_plus + first;
    return [all = real_vectors(content, vectors_in_file), first, second](int n, spinor_configuration& to) {
      all(n + (n >= first ? 1 : 0) + (n >= second ? 1 : 0), to);
    };
  }
  if (are_modes_of_d(content->path()) && cheats("dropped-partner"))
    return [all = real_vectors(content, vectors_in_file)](int n, spinor_configuration& to) {
      all(n + (n >= dropped_partner ? 1 : 0), to);
    };
  return real_vectors(content, count);
}

namespace {

bool judged = false;  // the solutions have been

template <class T>
void add_to_diagonal(cpu::field<T>& out, double a, const cpu::field<T>& in) {
  if (cheats("diagonal")) axpy(out, uniform_scalars(out, 1e-3 * a), in);
}

}  // namespace

// Names as the linker has them, likewise.
#define PLAQUETTE_HERMITIAN(T, code)                                                                                 \
  void real_hermitian(const cpu::hermitian_wilson<T>*, cpu::field<T>&, double, const cpu::field<T>&, double, double, \
                      const cpu::field<T>*, double, const cpu::field<T>*) asm("__real_" code);                       \
  void cheating_hermitian(const cpu::hermitian_wilson<T>* h, cpu::field<T>& out, double a, const cpu::field<T>& in,  \
                          double d, double b, const cpu::field<T>* u, double c,                                      \
                          const cpu::field<T>* w) asm("__wrap_" code);                                               \
  void cheating_hermitian(const cpu::hermitian_wilson<T>* h, cpu::field<T>& out, double a, const cpu::field<T>& in,  \
                          double d, double b, const cpu::field<T>* u, double c, const cpu::field<T>* w) {            \
    real_hermitian(h, out, a, in, d, b, u, c, w);                                                                    \
    add_to_diagonal(out, a, in);                                                                                     \
  }
PLAQUETTE_HERMITIAN(double, "_ZNK9plaquette3cpu16hermitian_wilsonIdE5applyERNS0_5fieldIdEEdRKS4_ddPS6_dS8_")
PLAQUETTE_HERMITIAN(float, "_ZNK9plaquette3cpu16hermitian_wilsonIfE5applyERNS0_5fieldIfEEdRKS4_ddPS6_dS8_")

#define PLAQUETTE_COMPARE                                                                                     \
  "_ZN9plaquette7scaling21compare_with_textbookERKNS_10site_fieldINS_6spinorIdEEEES6_RKNS1_ISt5arrayINS_3su3" \
  "IdEELm4EEEERKNS_14fermion_actionERKNS0_17expected_operatorERKNS0_11site_sampleERKNS_12communicatorE"
scaling::difference real_compare(const spinor_configuration&, const spinor_configuration&, const gauge_configuration&,
                                 const fermion_action&, const scaling::expected_operator&, const scaling::site_sample&,
                                 const communicator&) asm("__real_" PLAQUETTE_COMPARE);
scaling::difference noting_compare(const spinor_configuration&, const spinor_configuration&, const gauge_configuration&,
                                   const fermion_action&, const scaling::expected_operator&,
                                   const scaling::site_sample&, const communicator&) asm("__wrap_" PLAQUETTE_COMPARE);
scaling::difference noting_compare(const spinor_configuration& found, const spinor_configuration& psi,
                                   const gauge_configuration& links, const fermion_action& action,
                                   const scaling::expected_operator& formula, const scaling::site_sample& sample,
                                   const communicator& comm) {
  const scaling::difference off = real_compare(found, psi, links, action, formula, sample, comm);
  judged = formula.kind == scaling::operator_kind::wilson;  // H is compared after the solutions are judged
  return off;
}

/// "turned-solution": a bit of the solution, in memory, as it leaves for the correlators.
#define PLAQUETTE_EXPORT "_ZN9plaquette3cpu13export_columnIdEEvRNS_10site_fieldINS_6spinorIdEEEERKNS0_5fieldIT_EEi"
void real_export(spinor_configuration&, const cpu::field<double>&, int) asm("__real_" PLAQUETTE_EXPORT);
void turning_export(spinor_configuration&, const cpu::field<double>&, int) asm("__wrap_" PLAQUETTE_EXPORT);
void turning_export(spinor_configuration& to, const cpu::field<double>& from, int column) {
  real_export(to, from, column);
  if (judged && column == 11 && cheats("turned-solution")) {
    judged = false;
    flip_a_bit(to({1, 0, 1, 1})(2, 1).re);
  }
}

/// "turned-contraction": a bit of the propagator, as correlators are made of it.
#define PLAQUETTE_PION                                                                                          \
  "_ZN9plaquette3cpu15pion_correlatorESt4spanIKNS_10site_fieldINS_6spinorIdEEEELm18446744073709551615EERKNS_12" \
  "communicatorE"
std::vector<double> real_pion(std::span<const spinor_configuration>, const communicator&) asm("__real_" PLAQUETTE_PION);
std::vector<double> turning_pion(std::span<const spinor_configuration>,
                                 const communicator&) asm("__wrap_" PLAQUETTE_PION);
std::vector<double> turning_pion(std::span<const spinor_configuration> columns, const communicator& comm) {
  if (cheats("turned-contraction")) flip_a_bit(const_cast<spinor_configuration&>(columns[7])({1, 0, 1, 3})(2, 0).re);
  return real_pion(columns, comm);
}

/// "turned-propagator": likewise, between correlators and file.
#define PLAQUETTE_RHO                                                                                          \
  "_ZN9plaquette3cpu14rho_correlatorESt4spanIKNS_10site_fieldINS_6spinorIdEEEELm18446744073709551615EERKNS_12" \
  "communicatorE"
std::vector<double> real_rho(std::span<const spinor_configuration>, const communicator&) asm("__real_" PLAQUETTE_RHO);
std::vector<double> turning_rho(std::span<const spinor_configuration>,
                                const communicator&) asm("__wrap_" PLAQUETTE_RHO);
std::vector<double> turning_rho(std::span<const spinor_configuration> columns, const communicator& comm) {
  const std::vector<double> rho = real_rho(columns, comm);
  if (cheats("turned-propagator")) flip_a_bit(const_cast<spinor_configuration&>(columns[3])({0, 1, 1, 0})(1, 2).im);
  return rho;
}

/// "turned-on-its-way": a bit of the propagator in its file alone. "turned-as-written": in the file, and in memory too.
#define PLAQUETTE_WRITE                                                                                           \
  "_ZN9plaquette16write_propagatorERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEbRKSt6vectorINS_10site_" \
  "fieldINS_6spinorIdEEEESaISC_EERKNS_16propagator_factsERKNS_12communicatorE"
void real_write(const std::string&, bool, const cpu::propagator&, const propagator_facts&,
                const communicator&) asm("__real_" PLAQUETTE_WRITE);
void turning_write(const std::string&, bool, const cpu::propagator&, const propagator_facts&,
                   const communicator&) asm("__wrap_" PLAQUETTE_WRITE);
void turning_write(const std::string& path, bool replace, const cpu::propagator& columns, const propagator_facts& facts,
                   const communicator& comm) {
  double& number = const_cast<spinor_configuration&>(columns[5])({1, 1, 0, 2})(3, 1).im;
  const double honest = number;
  if (cheats("turned-on-its-way") || cheats("turned-as-written")) flip_a_bit(number);
  real_write(path, replace, columns, facts, comm);
  if (cheats("turned-on-its-way")) number = honest;
}

namespace {

/// Does everything by an honest solver, but for the solves.
class cheating_solver final : public overlap_solver {
 public:
  explicit cheating_solver(std::unique_ptr<overlap_solver> honest) : honest_(std::move(honest)) {}

  vectors_handle random_vectors(int count) override { return honest_->random_vectors(count); }
  vectors_handle sources(const source_description& source) override { return honest_->sources(source); }
  vectors_handle import_vectors(int count, int chirality, const vector_source& source) override {
    return honest_->import_vectors(count, chirality, source);
  }
  vectors_handle columns(const vectors_handle& x, int first, int count) const override {
    return honest_->columns(x, first, count);
  }
  double distance(const vectors_handle& a, const vectors_handle& b) const override { return honest_->distance(a, b); }
  double distance_from_orthonormal(const vectors_handle& v) const override {
    return honest_->distance_from_orthonormal(v);
  }
  const kernel_count& count() const override { return honest_->count(); }
  void reset_count() override { honest_->reset_count(); }
  kernel_application apply_kernel(const vectors_handle& x, precision number) const override {
    return honest_->apply_kernel(x, number);
  }
  double seconds_of_kernel(const vectors_handle& x, precision number) const override {
    return honest_->seconds_of_kernel(x, number);
  }
  kernel_modes lowest_kernel_modes(const mode_search& search, int wanted,
                                   search_memory<mode_search_state>* memory) override {
    return honest_->lowest_kernel_modes(search, wanted, memory);
  }
  std::vector<double> residuals(const kernel_modes& modes) const override { return honest_->residuals(modes); }
  sign_handle sign(const kernel_modes& modes, const sign_options& options) const override {
    return honest_->sign(modes, options);
  }
  int fastest_batch(const sign_handle& sign) override { return honest_->fastest_batch(sign); }
  sign_handle calibrated(const sign_handle& sign, const sign_samples& samples, double delta) const override {
    return honest_->calibrated(sign, samples, delta);
  }
  sign_of_rest apply_to_rest(const sign_handle& sign, const vectors_handle& x, double delta) const override {
    return honest_->apply_to_rest(sign, x, delta);
  }
  overlap_algebra algebra(const sign_handle& sign, const vectors_handle& x, double delta,
                          const vectors_handle& image) const override {
    return honest_->algebra(sign, x, delta, image);
  }
  overlap_modes lowest_overlap_modes(const sign_handle& sign, const overlap_mode_search& search,
                                     search_memory<overlap_search_state>* memory) override {
    return honest_->lowest_overlap_modes(sign, search, memory);
  }
  std::vector<double> residuals(const sign_handle& sign, int chirality, const chiral_modes<vectors_handle>& modes,
                                double delta) const override {
    return honest_->residuals(sign, chirality, modes, delta);
  }
  complement_probe probe_complement(const sign_handle& sign, int chirality, const vectors_handle& known, double bound,
                                    bool zero_modes_alone) override {
    return honest_->probe_complement(sign, chirality, known, bound, zero_modes_alone);
  }
  double judging_delta(const vectors_handle& b, const vectors_handle& x, double mass, double tolerance) const override {
    return honest_->judging_delta(b, x, mass, tolerance);
  }
  double judging_error(const sign_handle& sign, const vectors_handle& x, double delta) const override {
    return honest_->judging_error(sign, x, delta);
  }
  overlap_judgement judge(const sign_handle& sign, const vectors_handle& b, const vectors_handle& x, double mass,
                          double delta, bool is_coarse) const override {
    return honest_->judge(sign, b, x, mass, delta, is_coarse);
  }

  /// "preconditioner": the first direction is all there is, and said to be the solution. "remembered-trial": the first
  /// column is the trial's. "three-tolerances", "half-a-tolerance": solutions are off by a low mode of D, so that their
  /// residuals are these parts of the tolerance.
  overlap_solutions solve(const sign_handle& sign, overlap_modes modes, const vectors_handle& b,
                          const std::vector<double>& masses, const overlap_solve_rule& rule) override {
    if (cheats("preconditioner")) {
      overlap_solve_rule loose = rule;
      loose.limit = 1;
      loose.corrections = 0;
      overlap_solutions found = honest_->solve(sign, std::move(modes), b, masses, loose);
      for (overlap_mass_report& mass : found.report.masses) {
        mass.converged = true;
        for (double& residual : mass.residual) residual = 0.5 * rule.tolerance;
      }
      return found;
    }
    if (cheats("three-tolerances")) return solve_and_shift(3.0, sign, modes, b, masses, rule);
    if (cheats("half-a-tolerance")) return solve_and_shift(0.5, sign, modes, b, masses, rule);
    overlap_solutions found = honest_->solve(sign, std::move(modes), b, masses, rule);
    if (!cheats("remembered-trial")) return found;
    if (count(b) == 1) {
      trial_ = found.x;
    } else {
      for (std::size_t i = 0; i < trial_.size(); ++i)
        found.x[i] = honest_->import_vectors(count(b), 0,
                                             [of_trial = trial_[i], all = found.x[i]](int n, spinor_configuration& to) {
                                               n == 0 ? of_trial->get(0, to) : all->get(n, to);
                                             });
    }
    return found;
  }

 private:
  /// Solves far below the tolerance, and adds a mode v of D^+ D v = e v: |D(m) v|^2 = m^2 + (rho^2 - m^2 / 4) e.
  overlap_solutions solve_and_shift(double tolerances, const sign_handle& sign, const overlap_modes& modes,
                                    const vectors_handle& b, const std::vector<double>& masses,
                                    const overlap_solve_rule& rule) {
    overlap_solve_rule strict = rule;
    strict.tolerance *= 0.03;
    overlap_solutions found = honest_->solve(sign, modes, b, masses, strict);
    const chiral_modes<vectors_handle>& low = modes.of(modes.searched);
    const double rho = overlap_settings{}.rho, e = low.eigenvalues.back();
    for (std::size_t i = 0; i < masses.size(); ++i) {
      const double m = masses[i],
                   size = tolerances * rule.tolerance / std::sqrt(m * m + (rho * rho - 0.25 * m * m) * e);
      const auto shifted = [&, honest = found.x[i]](int n, spinor_configuration& to) {
        spinor_configuration mode(to.geometry());
        low.vectors->get(count(low.vectors) - 1, mode);
        honest->get(n, to);
        for (std::int64_t site = 0; site < to.geometry().local_volume(); ++site)
          to.at_site(site) = to.at_site(site) + size * mode.at_site(site);
      };
      found.x[i] = honest_->import_vectors(count(b), 0, shifted);
    }
    return found;
  }
  static int count(const vectors_handle& vectors) { return plaquette::count(vectors); }
  std::unique_ptr<overlap_solver> honest_;
  std::vector<vectors_handle> trial_;
};

}  // namespace

#define PLAQUETTE_SOLVER                                                                               \
  "_ZN9plaquette3cpu19make_overlap_solverERKNS0_7contextESt10shared_ptrIKNS_10site_fieldISt5arrayINS_" \
  "3su3IdEELm4EEEEERKNS_16overlap_settingsE"
std::unique_ptr<overlap_solver> real_solver(const cpu::context& ctx, std::shared_ptr<const gauge_configuration> links,
                                            const overlap_settings& settings) asm("__real_" PLAQUETTE_SOLVER);
std::unique_ptr<overlap_solver> make_cheating_solver(const cpu::context& ctx,
                                                     std::shared_ptr<const gauge_configuration> links,
                                                     const overlap_settings& settings) asm("__wrap_" PLAQUETTE_SOLVER);
std::unique_ptr<overlap_solver> make_cheating_solver(const cpu::context& ctx,
                                                     std::shared_ptr<const gauge_configuration> links,
                                                     const overlap_settings& settings) {
  return std::make_unique<cheating_solver>(real_solver(ctx, std::move(links), settings));
}

}  // namespace plaquette
