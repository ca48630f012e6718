// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/mixed-precision-solver/timed_solver.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include "common/app/timing.hpp"
#include "common/krylov/work_clock.hpp"
#include "common/solvers/schur_work.hpp"
#include "cpu_ref/fields/random_spinor.hpp"
#include "miniapps/shared/device_timing.hpp"
#include "miniapps/shared/gpu_access.hpp"
#include "miniapps/shared/machine_speed.hpp"
#include "miniapps/shared/spinor_difference.hpp"

namespace plaquette {

namespace {

bool is_cut(const lattice_geometry& geometry) {
  return std::ranges::any_of(geometry.grid(), [](int ranks) { return ranks > 1; });
}

/// Clocks are read from this rank's GPU; the energy is the sum of all GPUs, if all report it.
json_document of_all_gpus(const gpu_window& window, const communicator& comm) {
  json_document seen = to_json(window);
  std::array<double, 2> sums{window.energy_joule.value_or(0.0), window.energy_joule ? 1.0 : 0.0};
  comm.sum(std::span(sums));
  if (sums[1] == comm.size()) seen["energy_joule_of_all_ranks"] = sums[0];
  return seen;
}

/// Random numbers on all sites: of a point source's image most sites are zero, and would judge nothing.
void set_random(operator_trial& a, std::uint64_t seed, const lattice_geometry& geometry, const communicator& comm) {
  for (int n = 0; n < a.columns(); ++n)
    a.set_input(n, cpu::random_spinor(geometry, seed, static_cast<std::uint64_t>(n), comm));
}

scaling::weighed_sums sums_of(const operator_trial& a, const lattice_geometry& geometry, const communicator& comm) {
  scaling::weighed_sums sums{spinor_configuration(geometry), spinor_configuration(geometry)};
  spinor_configuration column(geometry);
  const auto add = [&](spinor_configuration& sum, int n) {
    for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
      sum.at_site(site) += scaling::weight_of(n) * column.at_site(site);
  };
  for (int n = 0; n < a.columns(); ++n) {
    a.get_input(n, column);
    add(sums.in, n);
    a.get_output(n, column);
    add(sums.out, n);
  }
  exchange_ghosts(sums.in, comm);
  return sums;
}

/// Returns whether the cost of the halo is measured together with an operator: on GPUs, if the lattice is cut.
bool measures_halo(const timed_solver& on, const operator_trial& a) {
  return a.has_halo_settings() && on.gpu && is_cut(on.device.geometry());
}

/// \param judge  judge(sums, columns)
std::vector<timed_samples> samples_of(const timed_solver& on, operator_trial& a, std::uint64_t seed,
                                      const std::function<void(const scaling::weighed_sums&, int)>& judge,
                                      const std::function<bool()>& should_stop) {
  set_random(a, seed, on.device.geometry(), on.device.comm());
  const auto apply = [&a] { a.apply(); };
  const timed_work work = [&](int applications) { return on.device.seconds_of(applications, apply); };
  int stretch = 0;
  const auto refresh = [&] {
    ++stretch;
    a.restart(scaling::phase_of_stretch(stretch), scaling::phase_of_stretch(2 * stretch + 1));
  };
  const auto judge_output = [&] { judge(sums_of(a, on.device.geometry(), on.device.comm()), a.columns()); };
  std::vector<timed_work> together;
  if (measures_halo(on, a)) {
    together.push_back([&, overlap = on.solver.settings().overlap](int applications) {
      a.set_overlap(!overlap);
      const double seconds = work(applications);
      a.set_overlap(overlap);
      return seconds;
    });
    together.push_back([&](int applications) {
      a.set_communication(false);
      const double seconds = work(applications);
      a.set_communication(true);
      return seconds;
    });
  }
  return time_applications(on.gpu, 9, {.apply = work, .refresh = refresh, .judge = judge_output}, should_stop,
                           together);
}

/// \param found  alongside are its samples with the other overlap, without communication
json_document halo_of(const timed_solver& on, const operator_trial& a, const timed_samples& found) {
  const bool overlap = on.solver.settings().overlap;
  const double whole = found.seconds.median, other = found.alongside[0].median;
  const halo_seconds seconds{overlap ? whole : other, overlap ? other : whole, found.alongside[1].median};
  constexpr double hops = 2.0;  // of the Schur complement
  return halo_costs(seconds, overlap, hops * a.halo_bytes(), on.solver.halo_policy(), false, on.device.comm());
}

operator_figure figure_of(const timed_solver& on, const operator_trial& a, const timed_samples& timed, int threads,
                          precision numbers, reconstruct links) {
  const bool clover = on.solver.settings().action.has_clover();
  operator_figure figure;
  figure.operator_name = clover ? "clover_schur" : "wilson_schur";
  figure.layout = "even-odd";
  figure.precision = name(numbers);
  figure.reconstruct = stored_reals(links);
  figure.rhs = a.columns();
  figure.lattice = on.device.geometry().global();
  figure.ranks = on.device.comm().size();
  figure.device = on.gpu ? "gpu" : "cpu";
  figure.threads = threads;
  figure.seconds = timed.seconds;
  figure.details = timed.details;
  const double even_sites = 0.5 * static_cast<double>(on.device.geometry().global_volume());
  set_rates(figure, {a.flops(), schur_bytes_per_site(clover, a.columns(), numbers, links) * even_sites});
  return figure;
}

/// Reads all solutions, so that no work on them is left.
std::vector<double> norms_of_solutions(const timed_solver& on) {
  std::vector<double> norms = on.solver.solution_norms();
  if (!norms.empty()) return norms;
  spinor_configuration x(on.device.geometry());
  for (int column = 0; column < on.solver.settings().columns; ++column) {
    on.solver.get_solution(column, x);
    norms.push_back(norm_of(x, on.device.comm()));
  }
  return norms;
}

}  // namespace

timed_solve solve(const timed_solver& on, const stopping_rule& rule, const schur_parameters& parameters) {
  if (on.gpu) {
    on.device.finish();
    on.gpu->monitor().begin();  // which takes some milliseconds, on one rank more than on another
  }
  const energy_reading before = on.energy ? on.energy->now() : energy_reading{};  // this too
  on.device.comm().barrier();
  const work_clock watch(on.device);
  propagator_report solved = on.solver.solve(rule, parameters);
  std::vector<double> norms = norms_of_solutions(on);
  const stretch_seconds spent = end_together(watch, on.device.comm());
  timed_solve result;
  result.seconds = spent.work;
  result.tuning_seconds = spent.tuning;
  if (on.gpu) result.gpu = of_all_gpus(on.gpu->monitor().end(), on.device.comm());
  if (on.energy) result.host_energy = energy_since(before, *on.energy, on.device.comm());
  result.report = std::move(solved.report);
  result.norms = std::move(norms);
  result.flops = solved.flops;
  return result;
}

scaling::weighed_sums apply_to_random(propagator_solver& solver, bool inner, bool dagger, std::uint64_t seed,
                                      const lattice_geometry& geometry, const communicator& comm) {
  const auto m = solver.full_operator(inner);
  set_random(*m, seed, geometry, comm);
  m->apply(dagger);
  return sums_of(*m, geometry, comm);
}

std::vector<operator_figure> time_operators(const timed_solver& on, int threads, std::uint64_t seed,
                                            const operator_judge& judge, const std::function<bool()>& should_stop) {
  std::vector<operator_figure> figures;
  const propagator_settings& settings = on.solver.settings();
  const auto time_one = [&](bool inner, precision numbers, reconstruct links) {
    const auto a = on.solver.schur_operator(inner);
    const auto judged = [&](const scaling::weighed_sums& sums, int columns) { judge(sums, columns, numbers, links); };
    for (const timed_samples& samples : samples_of(on, *a, seed, judged, should_stop)) {
      figures.push_back(figure_of(on, *a, samples, threads, numbers, links));
      if (measures_halo(on, *a)) figures.back().details["halo"] = halo_of(on, *a, samples);
    }
  };
  time_one(true, settings.inner, settings.inner_links);
  if (!settings.one_operator() && !(should_stop && should_stop())) time_one(false, settings.outer, settings.links);
  return figures;
}

json_document halo_facts(const timed_solver& on) {
  json_document facts = nullptr;
  if (!is_cut(on.device.geometry())) return facts;
  if (on.gpu) facts["policy"] = on.solver.halo_policy();
  facts["overlap"] = on.solver.settings().overlap ? "on" : "off";
  return facts;
}

}  // namespace plaquette
