// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/overlap-propagator/overlap_estimate.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/lattice/source_description.hpp"
#include "common/overlap/overlap_solve_rule.hpp"
#include "common/solvers/schur_work.hpp"

namespace plaquette {

namespace {

/// Share of its directions that a column needs if it begins with directions of other columns: 21 of 41 on 10^3x20.
constexpr double share_after_recycling = 0.55;

}  // namespace

double overlap_memory::largest(bool without_kernel_basis, bool without_overlap_basis) const {
  return links + std::max({kernel_modes + (without_kernel_basis ? 0.0 : kernel_basis),
                           overlap_modes + (without_overlap_basis ? 0.0 : overlap_basis), solves});
}

double expected_mode(int modes, double volume) {
  // Modes below |lambda| on 16^3x32: 40 below .234, 200 on 24^3x64 below .205; the density grows with the seventh power
  // or so above 0.15.
  const double density = std::max(1.0, modes + 0.0) / volume;
  return std::clamp(0.205 * std::pow(density / (200.0 / 884736.0), 0.2), 0.03, 0.6);
}

overlap_memory memory_of(const overlap_options& options, const lattice_geometry& geometry) {
  const double spinor = 24.0 * sizeof(double) * static_cast<double>(geometry.local_volume());
  const restart_sizes of_search = sizes_of_search(search_of(options));
  const double search = of_search.most + of_search.block;
  const restart_sizes of_overlap = sizes_of_search(overlap_search_of(options));
  const double overlap_search = of_overlap.most + of_overlap.block;
  overlap_memory memory;
  memory.links = (72.0 * sizeof(double) * 1.5 + 72.0 * sizeof(double)) * static_cast<double>(geometry.local_volume());
  if (options.modes > 0) {
    memory.kernel_basis = spinor * search;
    memory.kernel_modes = spinor * (options.modes + 60.0);
  }
  // In single precision the search has a copy of the modes of H of its own.
  const bool in_single = overlap_search_in_single(options);
  if (options.overlap_modes > 0) {
    memory.overlap_basis = (in_single ? 0.25 : 0.5) * spinor * overlap_search;
    memory.overlap_modes = spinor * ((in_single ? 1.5 : 1.0) * options.modes + 1.5 * options.overlap_modes + 60.0);
  }
  const auto masses = static_cast<double>(options.masses.size());
  memory.solves = spinor * (options.modes + options.overlap_modes + 12.0 * (3.0 * masses + 12.0));
  if (options.scheme == overlap_scheme::preconditioned || options.scheme_is_open) {
    const overlap_preconditioner& p = options.preconditioner;
    const int batch = p.batch > 0 ? p.batch : spin_colours;
    const int leading = p.recycled > 0 ? std::min(batch, leading_columns(spin_colours)) : batch;
    const auto volume = static_cast<double>(geometry.global_volume());
    const auto space_of = [&](int columns, double share) {
      overlap_options these = options;
      these.preconditioner.batch = columns;
      const double each = share * expected_directions(these, volume, options.tolerance());
      // Three of ten directions have images better than single precision; the last blocks of both are half full.
      constexpr double of_direction = 1.15, of_both_kinds = 2.5;
      return spinor * (of_direction * columns * std::min<double>(p.directions, each) +
                       0.5 * of_both_kinds * block_length_of(columns));
    };
    // The first columns are done with when the directions are there that others begin with.
    memory.solve_spaces =
        std::max(space_of(leading, 1.0),
                 p.recycled > 0 ? space_of(batch, share_after_recycling) + 2.0 * spinor * p.recycled : 0.0);
    // Inner steps keep two vectors each in single precision, and work with M or a sign function; the accurate sign
    // function takes as much as twelve vectors.
    const double of_inner_steps = p.inner_steps + (p.modes_in_single ? 6.0 : 11.0);
    const int narrow = p.narrow > 0 ? std::min(p.narrow, batch) : batch;
    const double of_step = std::max(4.0 * batch + 12.0 * narrow, batch + narrow * (of_inner_steps + 8.0));
    // M in three precisions; if multigrid may be faster its null vectors and coarse lattices, too.
    const bool by_bicgstab = p.method == clover_method::bicgstab;
    // Modes of H in single precision, too; modes of D, until the lowest are directions with images. Sources of twelve
    // columns. While the space grows, the residual of each and vectors of a step; solutions of another batch may be
    // there. When it is complete, solutions and vectors of the sign functions that judge them.
    const double first_directions = 3.0 * std::min(options.overlap_modes, most_modes_as_directions),
                 of_modes = (p.modes_in_single ? 1.5 : 1.0) * options.modes + first_directions;
    const double of_solutions = 12.0 * masses, of_judges = 10.0 * std::max<double>(batch, masses);
    const double of_steps = 0.5 * batch + of_step + (batch < 12 ? of_solutions : 0.0);
    const double of_images = options.overlap_modes + 60.0;  // before there is a space
    const double preconditioned =
        spinor * (of_modes + 12.0 + (by_bicgstab ? 16.0 : 42.0)) +
        std::max(spinor * of_images, spinor * std::max(of_steps, of_solutions + of_judges) + memory.solve_spaces);
    memory.solves = options.scheme_is_open ? std::max(memory.solves, preconditioned) : preconditioned;
  }
  return memory;
}

double expected_bound(const overlap_options& options) {
  return options.sign.highest > 0.0 ? options.sign.highest : std::min(6.2, 8.0 - options.rho);
}

double expected_overlap_mode(const overlap_options& options, double volume) {
  // e_3 = .08 and e_20 = .29 on 8^3x16; e_6 = .025 and e_10 = .046 on 12^3x24.
  return std::min(0.3, 190.0 * (options.overlap_modes + 1.0) / volume);
}

namespace {

/// Seconds of a sign function, a column.
struct sign_cost {
  double lowest, highest;
  bool mixed;

  /// \param as_double, as_single  seconds of H
  double at(double delta, double as_double, double as_single) const {
    const double degree = std::log(0.41 / delta) / (2.1 * lowest / highest);
    // Measured: double precision has the orders below .4 n at 1e-9, and none from 1e-6 on.
    const double share = mixed ? std::clamp(0.13 * (-std::log10(delta) - 6.0), 0.0, 0.5) : 1.0;
    return 2.0 * degree * (share * as_double + (1.0 - share) * as_single);
  }
  /// The average while delta grows evenly in its logarithm.
  double between(double first, double last, double as_double, double as_single) const {
    double sum = 0.0;
    constexpr int steps = 14;
    for (int i = 0; i <= steps; ++i)
      sum += at(first * std::pow(last / first, static_cast<double>(i) / steps), as_double, as_single);
    return sum / (steps + 1);
  }
};

/// Calibrates and measures a sign function: see calibrate_sign.
double time_of_measurement(const sign_cost& mixed, const measured_columns& columns, double delta, bool on_gpu,
                           const kernel_speed& speed) {
  const sign_cost in_double{mixed.lowest, mixed.highest, false};
  const auto as_double = [&](double of_delta) { return in_double.at(of_delta, speed.many, speed.many); };
  const auto as_used = [&](double of_delta) { return mixed.at(of_delta, speed.many, speed.single_many); };
  // A calibration takes two steps, if there is something to calibrate. The relations of D take four sign functions a
  // column, of which one is there.
  const double used = columns.mixed + (mixed.mixed ? 5.0 : 3.0) * columns.calibration;
  const double first_launches = on_gpu ? (columns.mixed + columns.calibration) * (as_double(0.1) + as_used(0.1)) : 0.0;
  return first_launches + columns.as_double * (as_double(1e-3 * delta) + 2.0 * as_double(delta)) +
         used * as_used(delta);
}

}  // namespace

measured_columns measured_columns_of(double volume) {
  measured_columns columns;
  if (volume > 16384.0) columns.as_double = 2;
  return columns;
}

double share_of_trial(double tolerance) { return std::log(trial_tolerance) / std::log(tolerance) / spin_colours; }

double share_of_directions_in_batch(const overlap_preconditioner& preconditioner) {
  const double batch = preconditioner.batch > 0 ? preconditioner.batch : spin_colours;
  return std::pow(batch, -0.2);
}

double expected_directions(const overlap_options& options, double volume, double tolerance) {
  // Of a column alone, from runs on 8^3x16, 12^3x24 and 24^3x64 for four masses from .01 to .3 to 1e-8. Low modes of D
  // slow it down; a batch finds them together. With eight inner steps 4, 6 and 12 columns took 34, 31 and 26 each on
  // 24^3x64.
  constexpr double small = 8192.0, medium = 41472.0, large = 884736.0;
  const double of_volume = volume < medium  ? 13.0 * std::pow(volume / small, 0.37)
                           : volume < large ? 24.0 * std::pow(volume / medium, 0.33)
                                            : 68.0 * std::pow(volume / large, 0.226);
  const double of_mass = std::clamp(std::pow(0.01 / std::max(1e-6, options.masses.front()), 0.7), 0.4, 1.5);
  // Eight inner steps took 41 directions for 65 on 24^3x64.
  const int steps = options.preconditioner.inner_steps;
  const double of_steps = steps > 0 ? std::pow(4.0 / steps, 0.65) : 2.6;
  // Of partners, counted later: 168 directions for 203 on 8^3x16, 182 for 218 on 6^3x12; none with more inner steps.
  const double of_partners = steps > 0 && steps <= 4 ? 0.82 : 1.0;
  // Six low modes of D as first directions took 42% of them away on 12^3x24, for a column alone.
  const double of_modes = options.overlap_modes >= 6 ? 0.6 : 1.0;
  return of_partners *
         std::max(15.0, of_modes * of_mass * of_volume * share_of_directions_in_batch(options.preconditioner)) *
         of_steps * std::log(tolerance) / std::log(1e-8);
}

bool takes_many_directions(const overlap_options& options, double volume) {
  overlap_options one = options;
  one.preconditioner.batch = 1;
  one.preconditioner.inner_steps = 4;
  return expected_directions(one, volume, 1e-8) >= 28.0;
}

double time_of_preconditioned(const overlap_options& options, double lowest, double highest, double directions,
                              double clover_applications, const kernel_speed& speed) {
  const bool mixed =
      options.sign.precision != sign_precision::as_double && options.sign.method == sign_method::polynomial;
  const sign_cost cost{lowest, highest, mixed};
  const overlap_preconditioner& p = options.preconditioner;
  const double tolerance = options.tolerance(), masses = static_cast<double>(options.masses.size());
  const double accurate = cost.between(p.relaxation * tolerance, 1e-2, speed.many, speed.single_many);
  const double cheap = cost.at(p.inner_delta, speed.many, speed.single_many);
  // An application of M with the sums of its solver, in units of applications of H.
  const double of_clover = 1.3 * clover_applications * speed.single_many;
  const double leading = leading_columns(12) / 12.0;
  if (p.recycled > 0) directions *= leading + (1.0 - leading) * share_after_recycling;
  return p.recycled * cost.at(0.01 * tolerance, speed.many, speed.single_many) +
         12.0 * (directions * (accurate + p.inner_steps * cheap + std::max(1, p.inner_steps) * of_clover) +
                 masses * cost.at(0.02 * tolerance, speed.many, speed.single_many));
}

overlap_times times_of(const overlap_options& options, double volume, double lowest, double highest, double gap,
                       const kernel_speed& speed) {
  const bool mixed =
      options.sign.precision != sign_precision::as_double && options.sign.method == sign_method::polynomial;
  const sign_cost cost{lowest, highest, mixed};
  overlap_times t;
  const bool on_gpu = options.shared.device == "gpu";
  // A cycle of 2.5 l columns and some of l / 4; in addition to the filter of degree d, matrix products with the search
  // space.
  const double filter =
      options.filter_degree > 0 ? options.filter_degree : chosen_filter_degree(options.method, 1.05 * lowest, highest);
  const double search = options.search_space > 0 ? options.search_space : std::max(16.0, 2.5 * options.modes);
  t.kernel_modes = 2.0 * filter * 1.6 * search * (1.0 + (on_gpu ? 0.05 : 0.15) * search / filter) * speed.block;
  t.sign = time_of_measurement(cost, measured_columns_of(volume), options.delta, on_gpu, speed);
  if (options.until == overlap_stage::modes) t.sign = 0.0;
  if (options.until <= overlap_stage::sign) return t;

  // A Krylov space of S vectors has some S (2 / pi) asin sqrt(e_l / 4) Ritz values below e_l. A search takes 150
  // vectors and 1.4 times as many as l of these values need (thick restarts of 2.5 l vectors on evenly spaced e, and
  // runs up to 16^3x32). With blocks of p vectors it takes some 4 (p - 1) in 100 more; besides, cheap ones for
  // chirality and zero modes. A pass over a vector is a fifth of an application: two over the modes of H and over the
  // search space for each block.
  const double l = options.overlap_modes;
  if (l > 0) {
    const overlap_mode_search wanted = overlap_search_of(options);
    const restart_sizes sizes = sizes_of_search(wanted);
    const double p = sizes.block, finest = overlap_search_accuracy(options.overlap_tolerance, 1.0, 1.0);
    const double applications =
        (1.0 + 0.04 * (p - 1.0)) *
        (150.0 + 1.4 * l * std::numbers::pi / (2.0 * std::asin(0.5 * std::sqrt(std::min(4.0, gap)))));
    const double passes = (overlap_search_in_single(options) ? 0.2 : 0.4) *
                          (options.modes + 0.25 * (sizes.keep + sizes.most)) / p * speed.one;
    t.overlap_modes = applications * (cost.at(finest, speed.of_search, speed.single_of_search) + passes) +
                      100.0 * cost.at(1e-5, speed.one, speed.single_one) +
                      l * cost.at(accuracy_of_residuals(options.overlap_tolerance), speed.many, speed.single_many);
    if (overlap_search_in_single(options) && wanted.for_deflation)
      t.overlap_modes += 10.0 * l * cost.at(3e-3, speed.many, speed.single_many);
  }
  // Factors for work that the formulas leave out, from runs on 16^3x32 and 24^3x64
  // (validation/results/predictions.csv).
  constexpr double more_in_modes = 1.15, more_in_solves = 1.75, more_in_preconditioned = 1.75;
  t.overlap_modes *= more_in_modes;
  if (options.until == overlap_stage::overlap_modes) return t;

  if (options.scheme == overlap_scheme::preconditioned) {
    const double of_clover = std::min(45.0, 29.0 * std::pow(volume / 8192.0, 0.43)) *
                             std::log(options.preconditioner.tolerance) / std::log(0.03);
    t.propagators = more_in_preconditioned *
                    time_of_preconditioned(options, lowest, highest,
                                           expected_directions(options, volume, options.tolerance()), of_clover, speed);
    return t;
  }
  const double m = options.masses.front(), tolerance = options.tolerance();
  const double sigma = m * m / (options.rho * options.rho - 0.25 * m * m);
  const double for_a_digit = 0.4 * std::sqrt((4.0 + sigma) / (gap + sigma));  // of base e
  const bool is_relaxed = options.scheme == overlap_scheme::relaxed;
  const double masses = static_cast<double>(options.masses.size());
  // Loose modes leave some twenty times their residual, which is corrected mass by mass; heavier ones take less.
  const double left = l > 0 ? std::max(0.3 * tolerance, 20.0 * options.overlap_tolerance) : 0.3 * tolerance;
  const double first = is_relaxed ? left : 0.3 * tolerance;
  const double finest = 0.01 * tolerance, coarsest = 0.1 * gap;
  const double each = is_relaxed ? cost.between(0.05 * first, coarsest, speed.many, speed.single_many)
                      : options.scheme == overlap_scheme::fixed ? cost.at(finest, speed.many, speed.single_many)
                                                                : 2.0 * cost.at(1e-4, speed.many, speed.single_many);
  const double corrections = 0.9 * masses * for_a_digit * std::log(left / (0.3 * tolerance));
  const double cheap = is_relaxed ? cost.between(1e-5, coarsest, speed.many, speed.single_many) : each;
  t.propagators = more_in_solves * 12.0 *
                  (for_a_digit * std::log(2.0 / first) * each + corrections * cheap +
                   1.5 * masses * cost.at(finest, speed.many, speed.single_many));
  return t;
}

expected_choice choice_of(const overlap_options& options, double volume, double lowest, double highest,
                          const kernel_speed& speed) {
  expected_choice found{options};
  if (!options.scheme_is_open || options.until != overlap_stage::propagators) return found;
  const auto time_with = [&](overlap_scheme scheme) {
    const overlap_options with = with_scheme(options, scheme);
    const overlap_times t = times_of(with, volume, lowest, highest, expected_overlap_mode(with, volume), speed);
    return t.overlap_modes + t.propagators;
  };
  found.preconditioned = time_with(overlap_scheme::preconditioned);
  found.other = time_with(overlap_scheme::relaxed);
  found.trial = found.preconditioned * share_of_trial(options.tolerance());
  found.options = with_scheme(
      options, found.preconditioned < found.other ? overlap_scheme::preconditioned : overlap_scheme::relaxed);
  return found;
}

int block_of_search(const overlap_options& options) {
  return std::clamp(static_cast<int>(2.5 * options.modes / 50.0), 1, 10);
}

kernel_time time_of_kernel(const machine_figures& machine, const overlap_options& options,
                           const lattice_geometry& geometry, int columns, precision numbers) {
  const double real = bytes_of_real(numbers), spinor = bytes_of_spinor(numbers);
  // In, out and, every second time, a vector of Clenshaw's recurrence; four links a site, of twelve numbers on a GPU.
  const double links = dimensions * real * (machine.is_gpu ? 12.0 : 18.0);
  kernel_work work;
  work.bytes = static_cast<double>(geometry.local_volume()) * (links + 2.5 * spinor * columns);
  work.share = machine.share_of(fmt::format("kernel {}", name(numbers)), columns);
  work.hops = 2;
  work.overlap = options.shared.overlap;
  work.sent_a_site = 0.5 * columns * (0.5 * spinor_reals * real);
  work.read_a_site = 0.5 * columns * spinor;
  return time_of(machine, divided(geometry.global(), geometry.grid()), work);
}

kernel_speed speed_on(const machine_figures& machine, const overlap_options& options,
                      const lattice_geometry& geometry) {
  const auto seconds = [&](int columns, precision numbers) {
    return time_of_kernel(machine, options, geometry, columns, numbers).seconds / columns;
  };
  const int of_search = std::min(12, overlap_search_of(options).block);
  const double one = seconds(1, precision::double_), single_one = seconds(1, precision::single);
  const double twelve = seconds(12, precision::double_), single_twelve = seconds(12, precision::single);
  return {.one = one,
          .block = seconds(block_of_search(options), precision::double_),
          .many = std::min(one, twelve),
          .single_one = single_one,
          .single_many = std::min(single_one, single_twelve),
          .of_search = std::min(one, seconds(of_search, precision::double_)),
          .single_of_search = std::min(single_one, seconds(of_search, precision::single)),
          .many_of_twelve = twelve,
          .single_many_of_twelve = single_twelve};
}

double seconds_of_verification(const overlap_options& options, const lattice_geometry& geometry, double lowest,
                               double highest, const kernel_speed& speed) {
  constexpr double of_the_host = 8e-8;  // a site and column; of 16 cores, from a GPU
  const bool mixed =
      options.sign.precision != sign_precision::as_double && options.sign.method == sign_method::polynomial;
  const sign_cost cost{lowest, highest, mixed}, in_double{lowest, highest, false};
  const double columns = 12.0 * static_cast<double>(options.masses.size());
  // Solutions are rarely longer than some times their source. One column is judged by double precision, too.
  const double delta = accuracy_of_judgement(options.tolerance(), options.rho);
  return (columns + 1.0) * cost.at(delta, speed.many, speed.single_many) +
         in_double.at(0.1 * delta, speed.one, speed.one) +
         columns * of_the_host * static_cast<double>(geometry.local_volume());
}

}  // namespace plaquette
