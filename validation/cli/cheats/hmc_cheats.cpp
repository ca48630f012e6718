// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// plaquette-hmc that cheats as PLAQUETTE_CHEAT says. The linker puts the functions __wrap_* here in the place of the
/// honest ones.
///
///   no-trajectory   nothing is done in every second trajectory, and dH is said to be small.
///   no-warm-up      the same in a warm-up.
///   other-warm-up   quarks of kappa 0.12 have kappa 0.125.
///   light-warm-up   quarks have no force in a warm-up.
///   fewer-steps     two drifts are one.
///   short-tau       steps are nine tenths of the reported ones.
///   other-dh        dH of the first trajectory is reported.
///   always-accept   links are not put back.
///   heavier         the quark of forces and actions is heavier.
///   other-beta      the links have another beta.
///   less-shift      the mass of the heavy factor is smaller.
///   less-twist      the twisted mass of forces and actions is smaller.
///   force           forces of quarks are 1% too large.
///   one-force       the force of the quarks is left out once in a trajectory.
///   no-determinant  log det A_oo has neither force nor action.
///   other-noise     momenta and pseudofermions come from another seed.
///   loose           systems are solved to 1e-3.
///   no-trace        the clover force leaves out the trace of the matrices that it inserts.
///   one-slice       the force of the links is zero on the first slice in time.
///   small-momenta   momenta are 0.99 of the drawn ones.
///   large-dh        dH is 0.5 larger than it is.
///   one-drift       a drift is left out in the second trajectory alone, once.
///   no-rejected     report and history leave out trajectories that were rejected.
///   other-links     the store has the links of another run.
///   stale-ghosts    the clover term sees the links of other ranks as they were before the last move.
///   stale-hierarchy multigrid has the coarse operator of the hierarchy before.
///   slow-clock      time goes half as fast.
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/io/gauge_file.hpp"
#include "cpu_ref/coarse/galerkin.hpp"
#include "cpu_ref/dirac/clover_term.hpp"
#include "cpu_ref/dirac/fermion_force.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/gauge/gauge_force.hpp"
#include "cpu_ref/gauge/link_arithmetic.hpp"
#include "cpu_ref/gauge/momenta.hpp"
#include "cpu_ref/solvers.hpp"
#include "miniapps/hmc/chain_store.hpp"
#include "miniapps/hmc/hmc_report.hpp"
#ifdef PLAQUETTE_WITH_GPU
#include "gpu/dirac/fermion_force.hpp"
#include "gpu/gauge/gauge_fields.hpp"
#include "gpu/gauge/gauge_force.hpp"
#include "gpu/gauge/link_arithmetic.hpp"
#include "gpu/gauge/momenta.hpp"
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
  if (cheats_by("other-warm-up") && std::abs(action.quarks->action.kappa() - 0.12) < 1e-9)
    action.quarks->action.mass = fermion_action::mass_of_kappa(0.125, 1.0, 1.0);
  if (cheats_by("other-beta")) action.gauge.beta += 0.3;
  if (cheats_by("less-shift")) action.quarks->mass_shifts.back() *= 0.99;
  if (cheats_by("less-twist")) action.quarks->twisted_mass *= 0.99;
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
    if (is_left_out() || (cheats_by("one-drift") && trajectory_ == 1 && !std::exchange(has_left_out_, true))) return;
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
    if (quarks.empty() || (cheats_by("light-warm-up") && is_warm_up())) return;
    if (cheats_by("one-force") && ++kicks_ == 3) return;
    honest_->kick(quarks, cheats_by("force") ? 1.01 * step : step);
  }
  void displaced_kick(std::span<const int> terms, double step, double displacement) override {
    honest_->displaced_kick(terms, step, displacement);
  }
  energy_change change_of_energy() override {
    energy_change change = honest_->change_of_energy();
    if (is_left_out()) return {1e-9 * static_cast<double>(trajectory_), {}};
    if (cheats_by("large-dh")) change.kinetic += 0.5;
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
  void halt() override { honest_->halt(); }
  void keep(std::unique_ptr<md_state>& in) const override { honest_->keep(in); }
  void put_back(const md_state& kept) override { honest_->put_back(kept); }
  void get(md_matrices which, std::span<const coordinate> at, std::span<site_links> to) const override {
    honest_->get(which, at, to);
  }
  void make_force(int term, double tolerance) override { honest_->make_force(term, tolerance); }
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
  bool is_warm_up() const { return trajectory_ >= (std::uint64_t{1} << 40) + (std::uint64_t{1} << 20); }
  bool is_left_out() const {
    return (cheats_by("no-trajectory") && trajectory_ % 2 == 1) || (cheats_by("no-warm-up") && is_warm_up());
  }

  std::unique_ptr<molecular_dynamics> honest_;
  std::unique_ptr<energy_change> first_;
  std::uint64_t trajectory_ = 0;
  double waiting_ = 0.0;  ///< a drift that was left out
  int kicks_ = 0;
  bool has_left_out_ = false;
};

/// Returns momenta that agree with `before` on the first slice.
gauge_configuration without_first_slice(gauge_configuration after, const gauge_configuration& before) {
  for (std::int64_t n = 0; n < after.geometry().local_volume(); ++n)
    if (after.geometry().to_global(after.geometry().local_coordinate(n))[3] == 0) after.at_site(n) = before.at_site(n);
  return after;
}

void take_trace(su3<double>& m) {
  const complex<double> third = (1.0 / 3.0) * trace(m);
  for (int a = 0; a < colours; ++a) m(a, a) = m(a, a) - third;
}

chain_state without_rejected(chain_state state) {
  if (cheats_by("no-rejected")) std::erase_if(state.history, [](const trajectory_record& t) { return !t.accepted; });
  return state;
}

}  // namespace

// ---- Forces and momenta

#define PLAQUETTE_CPU_GAUGE_FORCE                                                                    \
  "_ZN9plaquette3cpu15add_gauge_forceERNS_10site_fieldISt5arrayINS_3su3IdEELm4EEEERKS6_RKNS_11loop_" \
  "actionEdRKNS_12communicatorE"
void honest_gauge_force(gauge_configuration&, const gauge_configuration&, const loop_action&, double,
                        const communicator&) asm("__real_" PLAQUETTE_CPU_GAUGE_FORCE);
void cheating_gauge_force(gauge_configuration&, const gauge_configuration&, const loop_action&, double,
                          const communicator&) asm("__wrap_" PLAQUETTE_CPU_GAUGE_FORCE);
void cheating_gauge_force(gauge_configuration& p, const gauge_configuration& links, const loop_action& action,
                          double step, const communicator& comm) {
  const gauge_configuration before = p;
  honest_gauge_force(p, links, action, step, comm);
  if (cheats_by("one-slice")) p = without_first_slice(p, before);
}

#define PLAQUETTE_CPU_DIAGONAL                                                                                \
  "_ZN9plaquette3cpu18make_site_diagonalERNS_10site_fieldINS_12clover_blockEEERKNS1_ISt5arrayINS_3su3IdEELm4" \
  "EEEERKNS_14fermion_actionE"
void honest_diagonal(cpu::clover_configuration&, const gauge_configuration&,
                     const fermion_action&) asm("__real_" PLAQUETTE_CPU_DIAGONAL);
void stale_diagonal(cpu::clover_configuration&, const gauge_configuration&,
                    const fermion_action&) asm("__wrap_" PLAQUETTE_CPU_DIAGONAL);
void stale_diagonal(cpu::clover_configuration& a, const gauge_configuration& links, const fermion_action& action) {
  if (!cheats_by("stale-ghosts")) return honest_diagonal(a, links, action);
  static std::unique_ptr<gauge_configuration> before;
  gauge_configuration stale = links;
  const lattice_geometry& geometry = links.geometry();
  extents padded = geometry.local();
  for (int& length : padded) length += 2;
  for (std::int64_t n = 0; before && before->geometry() == geometry && n < volume(padded); ++n) {
    coordinate x = coordinate_of(n, padded);
    bool is_of_another_rank = false;
    for (int mu = 0; mu < dimensions; ++mu) {
      --x[mu];
      is_of_another_rank |= geometry.is_cut(mu) && (x[mu] < 0 || x[mu] >= geometry.local()[mu]);
    }
    if (is_of_another_rank) stale(x) = (*before)(x);
  }
  honest_diagonal(a, stale, action);
  before = std::make_unique<gauge_configuration>(links);
}

#define PLAQUETTE_CPU_GALERKIN                                                                              \
  "_ZN9plaquette3cpu16galerkin_productERKNS0_9executionERKNS_10site_fieldISt5arrayINS_3su3IdEELm4EEEERKNS_" \
  "14fermion_actionERKNS_10null_spaceE"
coarse_matrices honest_galerkin(const cpu::execution&, const gauge_configuration&, const fermion_action&,
                                const null_space&) asm("__real_" PLAQUETTE_CPU_GALERKIN);
coarse_matrices stale_galerkin(const cpu::execution&, const gauge_configuration&, const fermion_action&,
                               const null_space&) asm("__wrap_" PLAQUETTE_CPU_GALERKIN);
coarse_matrices stale_galerkin(const cpu::execution& on, const gauge_configuration& links, const fermion_action& action,
                               const null_space& vectors) {
  coarse_matrices made = honest_galerkin(on, links, action, vectors);
  if (!cheats_by("stale-hierarchy")) return made;
  static std::unique_ptr<coarse_matrices> before;
  if (!before) before = std::make_unique<coarse_matrices>(made);
  return std::exchange(*before, std::move(made));
}

#define PLAQUETTE_CPU_CLOVER_FORCE                                                                     \
  "_ZN9plaquette3cpu16add_clover_forceERNS_10site_fieldISt5arrayINS_3su3IdEELm4EEEERKS6_RKNS0_10leaf_" \
  "fieldEdRKNS_12communicatorE"
void honest_clover_force(gauge_configuration&, const gauge_configuration&, const cpu::leaf_field&, double,
                         const communicator&) asm("__real_" PLAQUETTE_CPU_CLOVER_FORCE);
void cheating_clover_force(gauge_configuration&, const gauge_configuration&, const cpu::leaf_field&, double,
                           const communicator&) asm("__wrap_" PLAQUETTE_CPU_CLOVER_FORCE);
void cheating_clover_force(gauge_configuration& p, const gauge_configuration& links, const cpu::leaf_field& z,
                           double step, const communicator& comm) {
  cpu::leaf_field leaves = z;
  if (cheats_by("no-trace"))
    for (std::int64_t n = 0; n < z.geometry().local_volume(); ++n)
      for (su3<double>& leaf : leaves(z.geometry().local_coordinate(n))) take_trace(leaf);
  honest_clover_force(p, links, leaves, step, comm);
}

#define PLAQUETTE_CPU_MOMENTA "_ZN9plaquette3cpu15refresh_momentaERNS_10site_fieldISt5arrayINS_3su3IdEELm4EEEEmm"
void honest_momenta(gauge_configuration&, std::uint64_t, std::uint64_t) asm("__real_" PLAQUETTE_CPU_MOMENTA);
void small_momenta(gauge_configuration&, std::uint64_t, std::uint64_t) asm("__wrap_" PLAQUETTE_CPU_MOMENTA);
void small_momenta(gauge_configuration& p, std::uint64_t seed, std::uint64_t index) {
  honest_momenta(p, seed, index);
  if (cheats_by("small-momenta")) cpu::combine(p, 0.99, p, 0.0);
}

#ifdef PLAQUETTE_WITH_GPU
#define PLAQUETTE_GPU_GAUGE_FORCE \
  "_ZN9plaquette3gpu15add_gauge_forceERNS0_12matrix_fieldILi4EEERKS2_RKNS_11loop_actionEd"
void honest_gauge_force(gpu::gauge_momenta&, const gpu::gauge_configuration&, const loop_action&,
                        double) asm("__real_" PLAQUETTE_GPU_GAUGE_FORCE);
void cheating_gauge_force(gpu::gauge_momenta&, const gpu::gauge_configuration&, const loop_action&,
                          double) asm("__wrap_" PLAQUETTE_GPU_GAUGE_FORCE);
void cheating_gauge_force(gpu::gauge_momenta& p, const gpu::gauge_configuration& links, const loop_action& action,
                          double step) {
  if (!cheats_by("one-slice")) return honest_gauge_force(p, links, action, step);
  const gauge_configuration before = gpu::export_links(p);
  honest_gauge_force(p, links, action, step);
  gpu::assign(p, gpu::import_links(p.get_context(), without_first_slice(gpu::export_links(p), before)));
}

#define PLAQUETTE_GPU_CLOVER_FORCE "_ZN9plaquette3gpu16add_clover_forceERNS0_12matrix_fieldILi4EEERKS2_RKNS1_ILi6EEEd"
void honest_clover_force(gpu::gauge_momenta&, const gpu::gauge_configuration&, const gpu::leaf_field&,
                         double) asm("__real_" PLAQUETTE_GPU_CLOVER_FORCE);
void cheating_clover_force(gpu::gauge_momenta&, const gpu::gauge_configuration&, const gpu::leaf_field&,
                           double) asm("__wrap_" PLAQUETTE_GPU_CLOVER_FORCE);
void cheating_clover_force(gpu::gauge_momenta& p, const gpu::gauge_configuration& links, const gpu::leaf_field& z,
                           double step) {
  if (cheats_by("no-trace")) {  // in tests the kernels are loops of the host, which reads their fields
    const auto sites = gpu::leaf_field(z).sites();  // shares its storage
    for (int parity = 0; parity < 2; ++parity)
      for (std::int32_t i = 0; i < z.get_context().order().sites; ++i)
        for (int plane = 0; plane < planes; ++plane) {
          su3<double> leaf = sites.load(parity, i, plane);
          take_trace(leaf);
          sites.store(parity, i, plane, leaf);
        }
  }
  honest_clover_force(p, links, z, step);
}

#define PLAQUETTE_GPU_MOMENTA "_ZN9plaquette3gpu15refresh_momentaERNS0_12matrix_fieldILi4EEEmm"
void honest_momenta(gpu::gauge_momenta&, std::uint64_t, std::uint64_t) asm("__real_" PLAQUETTE_GPU_MOMENTA);
void small_momenta(gpu::gauge_momenta&, std::uint64_t, std::uint64_t) asm("__wrap_" PLAQUETTE_GPU_MOMENTA);
void small_momenta(gpu::gauge_momenta& p, std::uint64_t seed, std::uint64_t index) {
  honest_momenta(p, seed, index);
  if (cheats_by("small-momenta")) gpu::combine(p, 0.99, p, 0.0);
}
#endif

// ---- The report and the store

#define PLAQUETTE_NOTE_CHAIN "_ZN9plaquette10note_chainERNS_6reportERKNS_11chain_stateERKNS_11hmc_optionsEi"
void honest_note(report&, const chain_state&, const hmc_options&, int) asm("__real_" PLAQUETTE_NOTE_CHAIN);
void cheating_note(report&, const chain_state&, const hmc_options&, int) asm("__wrap_" PLAQUETTE_NOTE_CHAIN);
void cheating_note(report& result, const chain_state& state, const hmc_options& options, int first) {
  honest_note(result, without_rejected(state), options, first);
}

#define PLAQUETTE_TABLE "_ZN9plaquette13history_tableB5cxx11ERKNS_11chain_stateERKNS_11hmc_optionsE"
std::string honest_table(const chain_state&, const hmc_options&) asm("__real_" PLAQUETTE_TABLE);
std::string cheating_table(const chain_state&, const hmc_options&) asm("__wrap_" PLAQUETTE_TABLE);
std::string cheating_table(const chain_state& state, const hmc_options& options) {
  return honest_table(without_rejected(state), options);
}

#define PLAQUETTE_WRITE                                                                                        \
  "_ZN9plaquette10write_ildgERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERKNS_10site_fieldISt5array" \
  "INS_3su3IdEELm4EEEERKNS_12communicatorERKNS_19gauge_write_optionsE"
void honest_file(const std::string&, const gauge_configuration&, const communicator&,
                 const gauge_write_options&) asm("__real_" PLAQUETTE_WRITE);
void other_file(const std::string&, const gauge_configuration&, const communicator&,
                const gauge_write_options&) asm("__wrap_" PLAQUETTE_WRITE);
void other_file(const std::string& path, const gauge_configuration& links, const communicator& world,
                const gauge_write_options& how) {
  honest_file(path, cheats_by("other-links") ? cpu::random_configuration(links.geometry(), 8, world) : links, world,
              how);
}

// ---- Molecular dynamics

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
