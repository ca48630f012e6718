// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Prints the seconds of calls of plaquette.hpp, and of the solves in them. The calls are a propagator by multigrid,
/// its columns into an array, and a right-hand side from array to array.
///
///     call_times links [kappa [cpu|gpu]]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plaquette/plaquette.hpp"

namespace plq = plaquette::api;

namespace {

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int count, char** words) {
  try {
    if (count < 2) return std::fprintf(stderr, "call_times: expected a file of links\n"), 2;
    const std::string file = words[1];
    const double kappa = count > 2 ? std::atof(words[2]) : 0.1350;
    const plq::device where = count > 3 && std::string(words[3]) == "cpu" ? plq::device::cpu : plq::device::gpu;
    const plq::gauge_field links = plq::gauge_field::read(plq::lattice(plq::gauge_field::extents_in(file)), file);
    const plq::lattice& on = links.on();
    plq::action quarks;
    quarks.mass = plq::action::mass_of_kappa(kappa);
    quarks.csw = 1.769;
    plq::multigrid_options options;
    options.device = where;
    options.columns = 12;
    std::optional<plq::solver> solver;
    const double setup = seconds_of([&] { solver.emplace(plq::make_multigrid_solver(links, quarks, options)); });
    std::printf("setup and tuning            %8.3f s\n", setup);
    const std::size_t numbers = static_cast<std::size_t>(on.local_volume()) * 24;
    std::vector<double> twelve(12 * numbers, 0.0);
    const plq::spinor_layout layout = plq::spinor_layout::dense(on.local());
    const plq::source source{.kind = plq::source_kind::point};
    for (int k = 0; k < 3; ++k) {
      std::optional<plq::propagator> quark;
      const double solve =
          seconds_of([&] { quark.emplace(solver->solve(source, {.tolerance = 1e-10, .judge = false})); });
      const double copy = seconds_of([&] { quark->copy_to(twelve, layout); });
      std::printf("propagator                  %8.3f s, of which solves %.3f; into an array %.3f s, %.1f GB/s\n", solve,
                  quark->report().seconds, copy, 12e-9 * numbers * sizeof(double) / copy);
    }
    std::optional<plq::propagator> quark;
    const double judged = seconds_of([&] { quark.emplace(solver->solve(source, {.tolerance = 1e-10})); });
    std::printf("propagator, judged          %8.3f s, judging %.3f s: %s\n", judged, quark->report().judging_seconds,
                quark->verdict().text.c_str());
    const double pion = seconds_of([&] { (void)quark->pion(); });
    std::printf("pion                        %8.3f s\n", pion);
    options.columns = 1;
    solver.emplace(plq::make_multigrid_solver(links, quarks, options));
    std::vector<double> b(numbers, 0.0), x(numbers, 0.0);
    b[0] = 1.0;
    plq::spinor_layout one = layout;
    plq::spinor_layout odd = layout;  // colours fastest: not consecutive in memory of the library
    odd.spin = 2, odd.colour = 8;
    for (const auto& [name, how] : {std::pair{"dense", one}, std::pair{"colours slowest", odd}})
      for (int k = 0; k < 3; ++k) {
        plq::solve_report report;
        const double call =
            seconds_of([&] { report = solver->solve(x, b, 1, how, {.tolerance = 1e-10, .judge = false}); });
        std::printf("one right-hand side, %-16s %8.3f s, solve %.3f s\n", name, call, report.seconds);
      }
    if (where == plq::device::gpu) {
      plq::gauge_field moving = plq::gauge_field::read(on, file);
      plq::heatbath_options sweep;
      sweep.device = where;
      plq::krylov_options krylov;
      krylov.device = where;
      std::optional<plq::solver> follower;
      for (int k = 0; k < 3; ++k) {
        sweep.first = static_cast<std::uint64_t>(k);
        moving.heatbath(sweep);
        if (follower)
          std::printf("following links on the GPU  %8.3f s\n", seconds_of([&] { follower->follow(moving); }));
        const double made = seconds_of([&] { follower.emplace(plq::make_krylov_solver(moving, quarks, krylov)); });
        std::printf("a solver of links there     %8.3f s\n", made);
      }
    }
    return 0;
  } catch (const plq::error& e) {
    return std::fprintf(stderr, "call_times: %s\n", e.what()), static_cast<int>(e.which());
  }
}
