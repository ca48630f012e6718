// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/hmc/trajectory_judge.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>
#include <span>

#include "common/algebra/largest.hpp"
#include "common/app/draw.hpp"
#include "common/random/random_stream.hpp"
#include "cpu_ref/fields/site_sum.hpp"
#include "cpu_ref/gauge/plaquette.hpp"
#include "cpu_ref/hmc/hmc_textbook.hpp"
#include "miniapps/hmc/companion_checks.hpp"
#include "miniapps/hmc/drawn_sites.hpp"
#include "miniapps/hmc/work_beside.hpp"
#include "miniapps/shared/clock_draw.hpp"

namespace plaquette {

namespace {

namespace textbook = cpu::textbook;

constexpr double roundoff = 0x1p-53;

/// Returns numbers 0, 1, ..., length - 1, 0, 1, ... in an order that is drawn.
std::array<int, trajectory_judge::judged_links> drawn_order(int length, const communicator& world) {
  std::array<int, trajectory_judge::judged_links> order{};
  const std::uint64_t first = draw_by_clock(static_cast<std::uint64_t>(length), world);
  for (std::size_t n = 0; n < order.size(); ++n)
    order[n] = static_cast<int>((first + n) % static_cast<std::uint64_t>(length));
  for (std::size_t n = order.size() - 1; n > 0; --n) std::swap(order[n], order[draw_by_clock(n + 1, world)]);
  return order;
}

struct drawn_link {
  coordinate at;
  int mu;
};

/// Draws links such that every slice of up to as many has one of them.
std::vector<drawn_link> drawn_links(const app_run& run) {
  std::vector<drawn_link> links(trajectory_judge::judged_links);
  for (int mu = 0; mu <= dimensions; ++mu) {
    const auto order = drawn_order(mu < dimensions ? run.geometry.global()[mu] : dimensions, run.world);
    for (std::size_t n = 0; n < links.size(); ++n) (mu < dimensions ? links[n].at[mu] : links[n].mu) = order[n];
  }
  return links;
}

/// Judges one trajectory. Fields of the host are made once: links of both ends, momenta of the end, and the vectors of
/// the pseudofermions, which both the heat bath and the energy need.
class judgement {
 public:
  judgement(app_run& run, part_seconds& parts, const hybrid_action& action, const md_plan& plan,
            molecular_dynamics& state, const kept_trajectory& kept, std::vector<coordinate> sites)
      : run_(run), parts_(parts), action_(action), plan_(plan), state_(state), kept_(kept), sites_(std::move(sites)) {}

  /// \param meanwhile  other work of the device, done while the textbook may be busy on the host
  void judge(const std::function<void()>& meanwhile);
  /// Judges the heat bath and the piece, but not its way back.
  void judge_start_and_piece();
  void judge_whole();

 private:
  using values = std::vector<site_links>;

  /// The vectors of one pseudofermion.
  struct vectors {
    int factor, pair;
    spinor_configuration phi, start;
  };

  /// The end of the trajectory on the host.
  struct trajectory_end {
    gauge_configuration links, momenta;
    std::vector<spinor_configuration> solutions;  ///< of the systems; get their ghosts when they are judged
    double change;                                ///< of H, by the device
  };

  void add(const std::string& name, double value, double tolerance) {
    run_.result.checks.keep_worse({name, value, tolerance});
  }
  const quark_pairs& quarks() const { return *action_.quarks; }
  double force_tolerance() const;
  values at_sites(md_matrices which) const {
    values all(sites_.size());
    state_.get(which, sites_, all);
    return all;
  }
  double distance(const values& a, const values& b) const { return rms_distance_at_sites(a, b, run_.world); }
  spinor_configuration vector(int factor, factor_vectors which, int pair) const {
    spinor_configuration psi(run_.geometry);
    state_.get(factor, which, pair, psi);
    return psi;
  }
  spinor<double> noise_at(const coordinate& x, int factor, int pair) const;
  template <class Value>
  double even_rms(Value&& value) const;
  double residual(spinor_configuration& z, const textbook::source_at_site& r, const textbook::judged_sites& on,
                  int factor, bool daggered) const {
    return textbook::even_system_residual(z, r, on, textbook::operator_of(quarks(), factor), daggered, run_.world);
  }
  /// Returns W_k X at sites. If masses are shifted that is a field of all sites, which `held` keeps.
  textbook::source_at_site source_of(const spinor_configuration& phi, int factor, const gauge_configuration& links,
                                     std::optional<spinor_configuration>& held) const;

  /// Returns whether the textbook may compute on other cores while the device works: it then makes no messages, and no
  /// sums that the device's solves may switch to exact ones.
  bool works_beside() const { return run_.shared.device == "gpu" && run_.world.size() == 1 && !action_.exact_sums; }
  /// Adds what the textbook found, when it has found it.
  void take(work_beside& textbook) {
    for (const check& found : parts_("heat bath and energy, by the textbook", [&] { return textbook.checks(); }))
      run_.result.checks.keep_worse(found);
  }

  void begin();
  void get_vectors();
  trajectory_end get_end();
  std::vector<check> checks_of_heat_bath(const values& momenta);
  std::vector<std::size_t> drawn_operations(const kept_piece& piece) const;
  void judge_piece(bool goes_back);
  void judge_forces(const gauge_configuration& links);
  void judge_systems_of_force(int factor, const gauge_configuration& links, const textbook::judged_sites& on,
                              std::vector<spinor_configuration>& x, std::vector<spinor_configuration>& y,
                              worst_of_several& worst);
  std::vector<check> checks_of_energy(trajectory_end& end) const;

  app_run& run_;
  part_seconds& parts_;
  const hybrid_action& action_;
  const md_plan& plan_;
  molecular_dynamics& state_;
  const kept_trajectory& kept_;
  std::vector<coordinate> sites_;
  std::vector<vectors> vectors_;
};

/// Returns eta of a pseudofermion at a site: normal deviates with <eta eta^+> = 1.
spinor<double> judgement::noise_at(const coordinate& x, int factor, int pair) const {
  random_stream random(action_.seed, random_stream_id(random_purpose::spinor, noise_index(kept_.number, factor, pair)),
                       static_cast<std::uint64_t>(run_.geometry.global_index(x)));
  const double size = std::sqrt(0.5);
  spinor<double> eta;
  for (int s = 0; s < spins; ++s)
    for (int c = 0; c < colours; ++c) {
      const auto [re, im] = random.gaussians();
      eta(s, c) = {size * re, size * im};
    }
  return eta;
}

/// Returns the root of the sum of |value(x)|^2 over the judged sites that are even.
template <class Value>
double judgement::even_rms(Value&& value) const {
  double sum = 0.0;
  for (const coordinate& x : sites_)
    if (parity(run_.geometry.to_global(x)) == 0) sum += norm2(value(x));
  run_.world.sum({&sum, 1});
  return std::sqrt(sum);
}

textbook::source_at_site judgement::source_of(const spinor_configuration& phi, int factor,
                                              const gauge_configuration& links,
                                              std::optional<spinor_configuration>& held) const {
  if (!quarks().has_mass_shifts() || quarks().is_last(factor))
    return [this, &phi, factor](const coordinate& x) { return textbook::source_at(phi(x), quarks(), factor); };
  held = textbook::source_of_action(phi, quarks(), factor, links, run_.world);
  return [&held](const coordinate& x) { return (*held)(x); };
}

/// Gets the vectors of the pseudofermions and of the start.
void judgement::get_vectors() {
  if (!action_.quarks) return;
  for (int k = 0; k < quarks().factors(); ++k)
    for (int pair = 0; pair < quarks().pairs; ++pair)
      vectors_.emplace_back(k, pair, vector(k, factor_vectors::pseudofermion, pair),
                            vector(k, factor_vectors::start, pair));
}

/// \param momenta  of the heat bath, at the judged sites
std::vector<check> judgement::checks_of_heat_bath(const values& momenta) {
  std::vector<check> checks;
  values drawn(sites_.size());
  for (std::size_t n = 0; n < sites_.size(); ++n)
    drawn[n] = textbook::momenta_at_site(sites_[n], run_.geometry, action_.seed, kept_.number);
  checks.push_back({"momenta of the drawn trajectory", distance(momenta, drawn), 64.0 * roundoff});
  if (!action_.quarks) return checks;
  const textbook::judged_sites on(kept_.start, sites_, quarks().action.has_clover());
  worst_of_several noise, worst;
  std::optional<spinor_configuration> held;
  for (vectors& v : vectors_) {
    const int k = v.factor;
    const auto eta = [&](const coordinate& x) { return noise_at(x, k, v.pair); };
    if (quarks().is_last(k)) {
      noise.add(even_rms([&](const coordinate& x) { return v.start(x) - eta(x); }) / even_rms(eta), 64.0 * roundoff);
    } else if (quarks().has_mass_shifts()) {
      spinor_configuration all_of_eta(run_.geometry), of_next = v.start;
      cpu::for_each_site(run_.geometry, [&](const coordinate& x) { all_of_eta(x) = eta(x); });
      textbook::even_product(of_next, kept_.start, textbook::operator_of(quarks(), k + 1),
                             run_.world);  // its odd sites
      worst.add(residual(of_next, source_of(all_of_eta, k, kept_.start, held), on, k + 1, false),
                10.0 * action_.action_tolerance);
    } else {  // the odd sites of both operators are the same
      worst.add(
          residual(
              v.start, [&](const coordinate& x) { return textbook::source_at(eta(x), quarks(), k); }, on, k + 1, false),
          10.0 * action_.action_tolerance);
    }
    worst.add(residual(v.start, source_of(v.phi, k, kept_.start, held), on, k, false), 10.0 * action_.action_tolerance);
  }
  checks.push_back({"noise of pseudofermions", noise.value, noise.tolerance});
  checks.push_back({"systems of the heat bath, by the textbook", worst.value, worst.tolerance});
  return checks;
}

/// Draws an operation of each kind and level of a piece.
std::vector<std::size_t> judgement::drawn_operations(const kept_piece& piece) const {
  std::vector<std::size_t> drawn;
  std::vector<std::uint64_t> seen;
  for (std::size_t n = piece.first; n < piece.end; ++n) {
    const auto is_like = [&](std::size_t m) {
      const md_operation &a = plan_.operations[m], &b = plan_.operations[n];
      return a.what == b.what && (a.what == md_operation::kind::drift || a.level == b.level);
    };
    const auto at = static_cast<std::size_t>(std::ranges::find_if(drawn, is_like) - drawn.begin());
    if (at == drawn.size()) {
      drawn.push_back(n);
      seen.push_back(1);
    } else if (draw_by_clock(++seen[at], run_.world) == 0) {
      drawn[at] = n;
    }
  }
  return drawn;
}

/// Makes a piece again as it was made in the run, and goes back. Some operations in it, drawn now, are made by the
/// host.
void judgement::judge_piece(bool goes_back) {
  const kept_piece& piece = kept_.piece;
  if (piece.first > 0) state_.put_back(*piece.before);
  const values before = at_sites(md_matrices::links);
  const std::vector<std::size_t> drawn = drawn_operations(piece);
  for (const std::size_t n : drawn) run_.note_draw("operation", n);
  const std::span<const md_operation> operations(plan_.operations.data() + piece.first, piece.end - piece.first);
  double seconds = 0.0;
  parts_("a piece, made again", [&] {
    const stopwatch watch;
    for (std::size_t n = piece.first; n < piece.end; ++n) {
      if (std::ranges::find(drawn, n) == drawn.end()) {
        operate(state_, plan_, plan_.operations[n]);
        continue;
      }
      add("drawn operation of the drawn trajectory",
          error_of_operation(state_, plan_, plan_.operations[n], sites_, run_.world),
          action_.forecasts > 0 ? force_tolerance() : 1e-10);
    }
    state_.finish();
    seconds = watch.seconds();
  });
  const values links = at_sites(md_matrices::links), momenta = at_sites(md_matrices::momenta);
  if (goes_back) {
    parts_("the way back", [&] {
      state_.reverse();
      for (auto operation = operations.rbegin(); operation != operations.rend(); ++operation)
        operate(state_, plan_, *operation);
      state_.finish();
    });
    add("links after the way back", distance(at_sites(md_matrices::links), before), force_tolerance());
  }
  // Solves begin with the same start vectors as in the run, but for forecasts and the vectors of a hierarchy that was
  // renewed.
  const double tolerance = action_.forecasts > 0 || piece.renewals > 0 ? force_tolerance() : 1e-12;
  state_.put_back(*piece.after);
  double off = distance(links, at_sites(md_matrices::links));
  keep_largest(off, distance(momenta, at_sites(md_matrices::momenta)));
  add("links of the drawn trajectory, made again", off, tolerance);
  // A trajectory that was made takes its time again. Ranks that share cores with others wait for a second now and then.
  constexpr double noise = 1.0;
  run_.world.maximum({&seconds, 1});
  const double of_run =
      kept_.seconds * static_cast<double>(operations.size()) / static_cast<double>(plan_.operations.size());
  add("seconds of the drawn trajectory made again, against those of the run", seconds / (of_run + noise), 30.0);
}

/// Makes the heat bath of the trajectory again.
void judgement::begin() {
  parts_("heat bath", [&] {
    state_.set_links(kept_.start);
    run_.world.barrier();
    state_.refresh(kept_.number);
    state_.finish();
  });
}

/// Gets the end of the trajectory for the textbook, and judges what needs no textbook.
judgement::trajectory_end judgement::get_end() {
  state_.put_back(*kept_.end);
  const energy_change change = parts_("energy of the end", [&] { return state_.change_of_energy(); });
  const double scale = static_cast<double>(run_.geometry.global_volume());
  // Solutions by a hierarchy that was renewed in the run are others, to the tolerance of actions.
  const double of_solutions = kept_.renewals > 0 ? action_.action_tolerance * scale : 0.0;
  add("dH of the drawn trajectory, made again", std::abs(change.total() - kept_.dh),
      1e3 * roundoff * scale + 1e-9 + of_solutions);
  trajectory_end end = parts_("fields of the end", [&] {
    trajectory_end fields{state_.links(), state_.momenta(), {}, change.total()};
    for (const vectors& v : vectors_) fields.solutions.push_back(vector(v.factor, factor_vectors::end, v.pair));
    return fields;
  });
  exchange_ghosts(end.links, run_.world);  // the device's ghosts may be stale
  if (kept_.accepted)
    add("links of the drawn trajectory, made again",
        std::abs(cpu::measure_plaquettes(end.links, run_.world).average - kept_.plaquette), 1e-12);
  else
    add("links of the drawn trajectory were put back", *kept_.distance_after_rejection, 0.0);
  return end;
}

void judgement::judge_start_and_piece() {
  begin();
  const values momenta = at_sites(md_matrices::momenta);
  parts_("vectors of the heat bath", [&] { get_vectors(); });
  work_beside textbook(works_beside(), [&] { return checks_of_heat_bath(momenta); });
  judge_piece(false);
  take(textbook);
}

void judgement::judge(const std::function<void()>& meanwhile) {
  begin();
  const values momenta = at_sites(md_matrices::momenta);
  parts_("vectors of the heat bath", [&] { get_vectors(); });
  trajectory_end end = get_end();
  work_beside textbook(works_beside(), [&] {
    std::vector<check> checks = checks_of_heat_bath(momenta);
    std::ranges::copy(checks_of_energy(end), std::back_inserter(checks));
    return checks;
  });
  // A piece at the start follows the heat bath. The solves of the end may have renewed a hierarchy.
  if (kept_.piece.first == 0 || action_.has_multigrid()) begin();
  judge_piece(true);
  meanwhile();
  take(textbook);
  state_.put_back(*kept_.end);
  parts_("forces", [&] { judge_forces(end.links); });
}

std::vector<check> judgement::checks_of_energy(trajectory_end& end) const {
  std::vector<check> checks;
  double total = textbook::kinetic_change(end.momenta, action_.seed, kept_.number, run_.world) +
                 textbook::gauge_action_change(end.links, kept_.start, action_.gauge, run_.world);
  double numbers = dimensions * (8.0 + 6.0 * action_.gauge.beta);  // of H, a site
  if (action_.quarks) {
    numbers += 12.0 * quarks().factors() * quarks().pairs;
    if (action_.has_determinant())
      total -= 2.0 * quarks().pairs * textbook::log_determinant_change(end.links, kept_.start, quarks(), run_.world);
    const textbook::judged_sites on(end.links, sites_, quarks().action.has_clover());
    worst_of_several worst;
    std::optional<spinor_configuration> held;
    for (std::size_t n = 0; n < vectors_.size(); ++n) {
      const vectors& v = vectors_[n];
      worst.add(residual(end.solutions[n], source_of(v.phi, v.factor, end.links, held), on, v.factor, false),
                10.0 * action_.action_tolerance);
      total += textbook::factor_action_change(end.solutions[n], v.start, v.phi, quarks().is_last(v.factor), run_.world);
    }
    checks.push_back({"systems of the end, by the textbook", worst.value, worst.tolerance});
  }
  const double sites = static_cast<double>(run_.geometry.global_volume());
  checks.push_back({"dH of the drawn trajectory, by the textbook", std::abs(total - end.change),
                    1e3 * roundoff * numbers * sites + 1e-9});
  return checks;
}

/// A force of each term as a trajectory has it. The drawn operation shows that kicks are made of these forces.
void judgement::judge_forces(const gauge_configuration& links) {
  const std::vector<std::string> names = term_names(action_);
  // On cold links the gauge force is zero but for rounding: 1e-10 of this.
  constexpr double rounding = 1e-3;
  worst_of_several worst;
  std::optional<textbook::judged_sites> on;
  if (action_.quarks) on.emplace(links, sites_, quarks().action.has_clover());
  const std::vector<drawn_link> drawn = drawn_links(run_);
  for (int term = 0; term < std::ssize(names); ++term) {
    state_.make_force(term, 0.0);
    const int factor = term - first_factor_term(action_);
    std::vector<spinor_configuration> x, y;
    if (action_.quarks && factor >= 0) judge_systems_of_force(factor, links, *on, x, y, worst);
    double difference = 0.0, size = 0.0;
    for (const auto& [at, mu] : drawn) {
      const textbook::link_surroundings link(at, mu, links, run_.world);
      textbook::link_derivatives expected{};
      const auto add_to = [&](const textbook::link_derivatives& more, double weight) {
        for (std::size_t k = 0; k < expected.size(); ++k) expected[k] += weight * more[k];
      };
      if (term == 0) add_to(textbook::gauge_derivatives(link, action_.gauge), 1.0);
      if (term > 0 && factor < 0) add_to(textbook::determinant_derivatives(link, quarks()), quarks().pairs);
      for (std::size_t n = 0; n < x.size(); ++n)
        add_to(textbook::quark_derivatives(link, x[n], y[n], quarks().action, run_.world), 1.0);
      std::array<double, 8> found{};
      if (coordinate local; run_.geometry.holds(link.at, local)) {
        site_links force;
        state_.get(md_matrices::force, std::span(&local, 1), std::span(&force, 1));
        found = textbook::components(force[static_cast<std::size_t>(link.mu)]);
      }
      run_.world.sum(std::span<double>(found));
      for (std::size_t k = 0; k < found.size(); ++k) {
        difference = std::max(difference, std::abs(found[k] + expected[k]));
        size = std::max(size, std::abs(expected[k]));
        if (std::isnan(found[k])) difference = found[k];
      }
    }
    add(fmt::format("force {} at {} drawn links, by the textbook", names[static_cast<std::size_t>(term)],
                    trajectory_judge::judged_links),
        difference / std::max(size, rounding), 1e-10);
  }
  if (action_.quarks) add("systems of the last force, by the textbook", worst.value, worst.tolerance);
}

/// Judges the solutions that the last force of a factor was made of, and appends them to x and y.
void judgement::judge_systems_of_force(int factor, const gauge_configuration& links, const textbook::judged_sites& on,
                                       std::vector<spinor_configuration>& x, std::vector<spinor_configuration>& y,
                                       worst_of_several& worst) {
  const bool is_cg = action_.solvers[static_cast<std::size_t>(factor)].method == factor_solver::kind::cg;
  const double tolerance = is_cg ? 2.0 * action_.cg_force_tolerance : 100.0 * action_.force_tolerance;
  const textbook::factor_operator w = textbook::operator_of(quarks(), factor);
  const bool is_last = quarks().is_last(factor);
  const bool has_heavier = quarks().has_mass_shifts() && !is_last;  // x is phi + X then
  for (const vectors& v : vectors_) {
    if (v.factor != factor) continue;
    const spinor_configuration& phi = v.phi;
    spinor_configuration x_of = vector(factor, factor_vectors::force_x, v.pair);
    spinor_configuration y_of = vector(factor, factor_vectors::force_y, v.pair);
    // cg solves for y, and X or phi + X is W^+ y.
    const bool adds_phi = !is_last && !has_heavier;
    worst.add(residual(
                  y_of, [&](const coordinate& s) { return adds_phi ? phi(s) + x_of(s) : x_of(s); }, on, factor, true),
              is_cg && (is_last || !quarks().is_normal()) ? 1e-12 : tolerance);
    std::optional<spinor_configuration> held;
    const textbook::source_at_site source = source_of(phi, factor, links, held);
    if (is_last || quarks().is_normal()) {
      worst.add(residual(x_of, source, on, factor, false), tolerance);
    } else {                                       // the system of phi + X was solved
      spinor_configuration psi = phi, sum = x_of;  // even_product makes the odd sites of psi
      const spinor_configuration product = textbook::even_product(psi, links, w, run_.world);
      if (!has_heavier) cpu::for_each_site(run_.geometry, [&](const coordinate& s) { sum(s) = sum(s) + psi(s); });
      worst.add(
          residual(sum, [&](const coordinate& s) { return source(s) + product(s); }, on, factor, false), tolerance);
    }
    if (has_heavier) {
      spinor_configuration heavier_x = vector(factor, factor_vectors::heavier_x, v.pair);
      spinor_configuration heavier_y = vector(factor, factor_vectors::heavier_y, v.pair);
      const textbook::factor_operator heavier = textbook::operator_of(quarks(), factor + 1);
      worst.add(even_rms([&](const coordinate& s) { return heavier_x(s) + phi(s); }) / even_rms(phi), 1e-12);
      worst.add(even_rms([&](const coordinate& s) { return heavier_y(s) - y_of(s); }) / even_rms(y_of), 1e-12);
      worst.add(textbook::odd_part(heavier_x, links, heavier, false, run_.world), 1e-12);
      worst.add(textbook::odd_part(heavier_y, links, heavier, true, run_.world), 1e-12);
      x.push_back(std::move(heavier_x));
      y.push_back(std::move(heavier_y));
    }
    x.push_back(std::move(x_of));
    y.push_back(std::move(y_of));
  }
}

/// A solve whose iterations change by one on the way back is off by its tolerance, and so is one that begins with other
/// solutions than on the way there. Exact ways back are for the companion.
double judgement::force_tolerance() const {
  double tolerance = 1e-10;
  for (const factor_solver& solver : action_.solvers) {
    const bool is_cg = solver.method == factor_solver::kind::cg;
    tolerance = std::max(tolerance, (is_cg && action_.forecasts == 0 ? 1.0 : 10.0) *
                                        (is_cg ? action_.cg_force_tolerance : action_.force_tolerance));
  }
  return tolerance;
}

/// Makes the whole trajectory again, and goes back.
void judgement::judge_whole() {
  state_.put_back(*kept_.end);
  const values end = at_sites(md_matrices::links);
  state_.set_links(kept_.start);
  const values start = at_sites(md_matrices::links);
  state_.refresh(kept_.number);
  integrate(state_, plan_);
  const double scale = static_cast<double>(run_.geometry.global_volume());
  add("dH of the drawn trajectory, made again", std::abs(state_.change_of_energy().total() - kept_.dh),
      1e3 * roundoff * scale + 1e-9);
  add("links of the drawn trajectory, made again", distance(at_sites(md_matrices::links), end), 1e-12);
  state_.reverse();
  integrate(state_, plan_);
  add("links after the way back", distance(at_sites(md_matrices::links), start), force_tolerance());
}

}  // namespace

void part_seconds::add(const std::string& name, double seconds) {
  const auto known = std::ranges::find(parts_, name, &std::pair<std::string, double>::first);
  if (known != parts_.end())
    known->second += seconds;
  else
    parts_.emplace_back(name, seconds);
}

double part_seconds::total() const {
  double sum = 0.0;
  for (const auto& [name, seconds] : parts_) sum += seconds;
  return sum;
}

json_document part_seconds::document() const {
  json_document all = json_document::object();
  for (const auto& [name, seconds] : parts_) all[name] = seconds;
  return all;
}

std::string part_seconds::describe() const {
  std::string text;
  for (const auto& [name, seconds] : parts_)
    text += fmt::format("{}{} {:.3g}", text.empty() ? "" : "; ", name, seconds);
  return text;
}

int trajectory_judge::slots(const lattice_geometry& geometry) {
  extents padded = geometry.local();
  for (int& length : padded) length += 2;
  const double of_each = (1.0 + 2.0 * states) * static_cast<double>(volume(padded)) * sizeof(site_links);
  return std::clamp(static_cast<int>(bytes / of_each), 1, most_kept);
}

void trajectory_judge::offer(const molecular_dynamics& state, std::uint64_t number, const trajectory_record& record) {
  offered_.push_back({number, record.dh, record.plaquette, record.accepted});
  seconds_ += record.seconds;
  parts_("copies in the run", [&] {
    recorder_.note_trajectory(state, number, record.dh, record.accepted, record.plaquette, record.seconds);
  });
}

void trajectory_judge::judge(molecular_dynamics& state, const std::function<void()>& companion) {
  if (offered_.empty()) run_.result.checks.add("nothing was made: not judged", 1.0, 0.0);
  run_.begin("judging of trajectories");
  double spent = 0.0;
  const double most = std::max(seconds, share * seconds_);
  while (!recorder_.is_empty() && (judged_.empty() || spent < most) && !run_.control.should_stop()) {
    const kept_trajectory kept = recorder_.take();
    run_.note_draw("trajectory", kept.number);
    const std::uint64_t seed = drawn_number(run_.world);
    run_.note_draw("sites", seed);
    const stopwatch watch;
    judgement now(run_, parts_, options_.action, options_.plan, state, kept, drawn_sites(run_.geometry, seed));
    double of_companion = 0.0;
    now.judge([&] {
      if (!judged_.empty()) return;
      const stopwatch inner;
      companion();
      of_companion = inner.seconds();
    });
    judged_.push_back(kept.number);
    spent += watch.seconds() - of_companion;
    run_.world.maximum({&spent, 1});
    if (spent + 2.0 * kept.seconds > most) continue;
    const stopwatch whole;
    parts_("whole trajectories, made again", [&] { now.judge_whole(); });
    judged_whole_.push_back(kept.number);
    spent += whole.seconds();
    run_.world.maximum({&spent, 1});
  }
  recorder_.clear();
  run_.progress.clear();
  if (judged_.empty()) companion();
}

void trajectory_judge::judge_warm_up(molecular_dynamics& state, const hybrid_action& action,
                                     const kept_trajectory& kept) {
  run_.note_draw("trajectory of the warm-up", kept.number);
  const std::uint64_t seed = drawn_number(run_.world);
  run_.note_draw("sites, of the warm-up", seed);
  part_seconds all_are_one;
  parts_("the warm-up", [&] {
    judgement now(run_, all_are_one, action, options_.plan, state, kept, drawn_sites(run_.geometry, seed));
    now.judge_start_and_piece();
  });
}

void trajectory_judge::check_offered(const chain_state& state, int first) const {
  const auto made = static_cast<std::ptrdiff_t>(offered_.size());
  std::ptrdiff_t off = std::abs(std::ssize(state.history) - first - made);
  for (std::ptrdiff_t n = 0; n < made; ++n) {
    const offered_trajectory& t = offered_[static_cast<std::size_t>(n)];
    const auto at = static_cast<std::size_t>(first + n);
    if (at >= state.history.size()) break;
    const trajectory_record& r = state.history[at];
    off += t.number == at && t.dh == r.dh && t.plaquette == r.plaquette && t.accepted == r.accepted ? 0 : 1;
  }
  run_.result.checks.add("trajectories of this run that the history has not, or has not as they were made",
                         static_cast<double>(off), 0.0);
}

json_document trajectory_judge::judged(int first) const {
  json_document numbers = json_document::array(), whole = json_document::array();
  for (const std::uint64_t number : judged_) numbers.push_back(number + 1);
  for (const std::uint64_t number : judged_whole_) whole.push_back(number + 1);
  const double made = static_cast<double>(offered_.size());
  return {{"earlier_trajectories", first},
          {"made", offered_.size()},
          {"drawn", numbers},
          {"made_whole", whole},
          {"pieces_of_a_trajectory", trajectory_recorder::pieces},
          {"seconds", parts_.document()},
          {"chance_of_each", made > 0.0 ? static_cast<double>(judged_.size()) / made : 0.0}};
}

std::string trajectory_judge::describe_judged(int first) const {
  std::vector<std::uint64_t> sorted = judged_;
  std::ranges::sort(sorted);
  std::string numbers;
  for (const std::uint64_t number : sorted) numbers += fmt::format("{}{}", numbers.empty() ? "" : ", ", number + 1);
  std::string text =
      fmt::format("trajector{} {}, drawn from the {} of this run: one wrong trajectory is drawn with chance {:.2g}",
                  sorted.size() == 1 ? "y" : "ies", numbers, offered_.size(),
                  static_cast<double>(judged_.size()) / static_cast<double>(offered_.size()));
  if (judged_whole_.size() < judged_.size())
    text += fmt::format("; of {} of them both ends and one piece of {}, drawn too",
                        judged_.size() - judged_whole_.size(), trajectory_recorder::pieces);
  if (first > 0) text += fmt::format("; the {} before it by history alone", first);
  return text;
}

}  // namespace plaquette
