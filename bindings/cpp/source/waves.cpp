// SPDX-License-Identifier: BSD-3-Clause
#include "plaquette/waves.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include "bindings/cpp/source/devices.hpp"
#include "common/algebra/largest.hpp"
#include "common/dg/lserk4.hpp"
#include "common/dg/stable_step.hpp"
#include "common/io/collective_error.hpp"
#include "common/mesh/box_mesh.hpp"
#include "common/mesh/gmsh_file.hpp"
#include "common/mesh/mesh_contact.hpp"
#include "common/mesh/mesh_part.hpp"
#include "common/number_text.hpp"
#include "common/stopwatch.hpp"
#include "cpu_ref/dg/textbook.hpp"

namespace plaquette::api {
inline namespace v1 {

struct wave_solver::state {
  wave_options options;
  dg_domain domain;  ///< that the solver refers to
  std::unique_ptr<dg_solver> solver{};
  double largest_step = 0.0;  ///< that is stable, if it was measured
  busy_object busy{};
};

namespace {

/// Does what guarded() does, with the threads of OpenMP.
template <class Work>
auto working(Work&& work) {
  return guarded([&] {
    const threads_of_call threads(0);
    return work();
  });
}

/// Does the same, until the caller's functions end it. Collective.
template <class Work>
auto working(const communicator& ranks, Work&& work) {
  return working([&] { return stoppable(ranks, work); });
}

void require_options(const wave_options& options) {
  constexpr int highest_order = 9, most_columns = 1024;
  if (options.order < 1 || options.order > highest_order)
    throw error(code::unusable_input, "waves: expected an order from 1 to 9, found " + std::to_string(options.order));
  if (options.columns < 1 || options.columns > most_columns)
    throw error(code::unusable_input, "waves: expected 1 to 1024 columns, found " + std::to_string(options.columns));
  if (!(options.upwinding >= 0.0 && options.upwinding <= 1.0))
    throw error(code::unusable_input, "waves: expected upwinding from 0 to 1");
  if (options.precision == precision::half)
    throw error(code::unusable_input, "waves: expected double or single precision, found half");
}

/// Throws error(out_of_memory) before memory is taken that this machine has not. Counts a state, its register and
/// right-hand side on this rank, and what judging a step takes: its begin, end and textbook.
void require_memory(double elements, const wave_options& options) {
  const double n = options.order, nodes = (n + 1.0) * (n + 2.0) * (n + 3.0) / 6.0;
  const double fields = options.equations == waves::maxwell ? 6.0 : 4.0;
  constexpr double states = 6.0, bytes_of_an_element = 500.0;  // its geometry, and its place in the mesh
  const double needed = elements * (bytes_of_an_element + states * sizeof(double) * fields * nodes * options.columns);
  const double there = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  char text[160];
  std::snprintf(text, sizeof text, "waves: %.0f elements on a rank need %.3g GB of memory, this machine has %.3g GB",
                elements, 1e-9 * needed, 1e-9 * there);
  if (!(needed <= there)) throw memory_error(text);
}

std::shared_ptr<wave_solver::state> solver_on(const simplex_mesh& mesh, std::vector<medium> media,
                                              const wave_options& options, const communicator& ranks) {
  if (mesh.dimension != 3) throw error(code::unusable_input, "waves: expected a mesh of tetrahedra, found triangles");
  on_all_ranks_or_none(ranks, [&] { require_memory(static_cast<double>(mesh.size()) / ranks.size(), options); });
  dg_problem problem;
  problem.equations = options.equations == waves::maxwell ? wave_equations::maxwell : wave_equations::acoustics;
  problem.upwinding = options.upwinding;
  problem.media = std::move(media);
  problem.boundaries.assign(mesh.boundary_tags.size(),
                            options.absorbing ? boundary_kind::absorbing : boundary_kind::reflecting);
  auto s = std::make_shared<wave_solver::state>(
      options, make_domain(mesh, partition_mesh(mesh, ranks.size()), options.order, problem, ranks));
  s->solver = make_wave_solver(s->domain, options.device, options.precision == precision::single, options.columns);
  return s;
}

/// Takes what can be no mesh for one before memory is taken for it.
void require_mesh(const wave_mesh& given) {
  const auto refuse = [](const std::string& what) { throw input_error("mesh of a caller: " + what); };
  const std::size_t vertices = given.vertices.size() / 3, elements = given.elements.size() / 4;
  const auto is_none = [](std::size_t numbers, std::size_t of_each) { return numbers == 0 || numbers % of_each != 0; };
  if (is_none(given.vertices.size(), 3))
    refuse("expected three coordinates a vertex, found " + std::to_string(given.vertices.size()));
  if (is_none(given.elements.size(), 4))
    refuse("expected four vertices an element, found " + std::to_string(given.elements.size()));
  if (elements > static_cast<std::size_t>(most_elements) || vertices > 4 * elements)
    refuse("expected up to " + std::to_string(most_elements) + " elements, and each vertex in one of them, found " +
           std::to_string(elements) + " and " + std::to_string(vertices) + " vertices");
  if (!given.media.empty() && given.media.size() != 2 * elements)
    refuse("expected two numbers an element for media, or none, found " + std::to_string(given.media.size()));
  for (std::size_t i = 0; i < given.vertices.size(); ++i)
    if (!(std::abs(given.vertices[i]) <= 1e90))
      refuse("vertex " + std::to_string(i / 3) + " has a coordinate that is not finite, or above 1e90");
  for (std::size_t i = 0; i < given.elements.size(); ++i)
    if (given.elements[i] < 0 || static_cast<std::size_t>(given.elements[i]) >= vertices)
      refuse("element " + std::to_string(i / 4) + " names vertex " + std::to_string(given.elements[i]) + " of " +
             std::to_string(vertices));
  for (const double number : given.media)
    if (!(std::isfinite(number) && number > 0.0))
      refuse("expected finite numbers above 0 for media, found " + number_text(number));
}

/// Returns a number that differs for different meshes.
std::uint32_t mark_of(const wave_mesh& mesh) {
  std::uint32_t mark = 2166136261U;  // FNV-1a
  const auto add = [&](const auto& numbers) {
    for (const std::byte byte : std::as_bytes(numbers)) mark = (mark ^ static_cast<std::uint32_t>(byte)) * 16777619U;
  };
  add(mesh.vertices), add(mesh.elements), add(mesh.media);
  return mark;
}

/// Returns the mesh, and the media of its materials: one of each pair of numbers.
std::pair<simplex_mesh, std::vector<medium>> connected(const wave_mesh& given) {
  simplex_mesh mesh;
  std::vector<medium> media;
  std::map<std::pair<double, double>, std::int16_t> numbers;
  for (std::size_t i = 0; i < given.vertices.size(); i += 3)
    mesh.vertices.push_back({given.vertices[i], given.vertices[i + 1], given.vertices[i + 2]});
  for (std::size_t e = 0; e < given.elements.size() / 4; ++e) {
    const auto corners = given.elements.subspan(4 * e, 4);
    mesh.elements.push_back({corners[0], corners[1], corners[2], corners[3]});
    const std::pair<double, double> two =
        given.media.empty() ? std::pair{1.0, 1.0} : std::pair{given.media[2 * e], given.media[2 * e + 1]};
    const auto [at, is_new] = numbers.try_emplace(two, static_cast<std::int16_t>(media.size()));
    if (is_new) media.push_back({two.first, two.second});
    if (media.size() > 32000) throw input_error("mesh of a caller: expected up to 32000 different media, found more");
    mesh.materials.push_back(at->second);
  }
  mesh.material_tags.assign(media.size(), {});
  const mesh_naming naming{"mesh of a caller"};
  connect(mesh, {}, naming);
  require_apart(mesh, naming);
  return {std::move(mesh), std::move(media)};
}

void require_room(std::size_t length, std::int64_t size) {
  if (static_cast<std::int64_t>(length) != size)
    throw input_error("waves: expected a state of " + std::to_string(size) + " numbers, found " +
                      std::to_string(length));
}

}  // namespace

wave_solver::wave_solver(const wave_box& box, const wave_options& options)
    : state_(working([&] {
        constexpr int most_cells = 1 << 10;
        for (std::size_t i = 0; i < 3; ++i)
          if (box.cells[i] < 1 || box.cells[i] > most_cells || !(box.low[i] < box.high[i]) ||
              !std::isfinite(box.high[i] - box.low[i]))
            throw error(code::unusable_input, "waves: expected 1 to 1024 cells in each direction, and low below high");
        box_shape shape;
        shape.cells = box.cells;
        shape.low = box.low, shape.high = box.high;
        shape.periodic = box.periodic;
        require_options(options);
        const communicator ranks = ranks_of(options.fortran_communicator);
        const std::int64_t elements = std::int64_t{6} * box.cells[0] * box.cells[1] * box.cells[2];
        if (elements > most_elements)
          throw error(code::unusable_input, "waves: expected up to " + std::to_string(most_elements) +
                                                " elements, six a cell, found " + std::to_string(elements));
        on_all_ranks_or_none(ranks, [&] { require_memory(static_cast<double>(elements) / ranks.size(), options); });
        return solver_on(box_mesh(shape), {medium{}}, options, ranks);
      })) {}

wave_solver::wave_solver(const std::string& file, const wave_options& options)
    : state_(working([&] {
        require_options(options);
        require_name(file);
        const simplex_mesh mesh = read_gmsh(file, 3);
        return solver_on(mesh, std::vector<medium>(mesh.material_tags.size()), options,
                         ranks_of(options.fortran_communicator));
      })) {}

wave_solver::wave_solver(const wave_mesh& mesh, const wave_options& options)
    : state_(working([&] {
        require_options(options);
        const communicator ranks = ranks_of(options.fortran_communicator);
        std::pair<simplex_mesh, std::vector<medium>> made;
        on_all_ranks_or_none(ranks, [&] {
          require_mesh(mesh);
          made = connected(mesh);
        });
        const double mark = mark_of(mesh);
        std::array<double, 2> marks{mark, -mark};
        ranks.maximum(std::span(marks));
        if (marks[0] != -marks[1])
          throw error(code::unusable_input, "mesh of a caller: expected the same one on all ranks, found several");
        return solver_on(made.first, std::move(made.second), options, ranks);
      })) {}

std::int64_t wave_solver::elements() const { return state_->domain.elements(); }
int wave_solver::nodes() const { return state_->domain.nodes(); }
int wave_solver::fields() const { return state_->domain.fields; }
int wave_solver::columns() const { return state_->options.columns; }
std::vector<std::int32_t> wave_solver::numbers() const { return state_->domain.part.global; }
std::int64_t wave_solver::size() const { return state_->options.columns * state_->domain.state_size(); }
double wave_solver::time() const { return state_->solver->time(); }

std::vector<std::array<double, 3>> wave_solver::positions() const {
  return working([&] {
    const dg_domain& domain = state_->domain;
    std::vector<std::array<double, 3>> all;
    for (std::int32_t e = 0; e < domain.elements(); ++e)
      for (int n = 0; n < domain.nodes(); ++n) all.push_back(domain.node_position(e, n));
    return all;
  });
}

void wave_solver::set_state(std::span<const double> numbers, double time) {
  working([&] {
    on_all_ranks_or_none(state_->domain.comm, [&] {
      require_room(numbers.size(), size());
      if (!std::isfinite(time) || !std::ranges::all_of(numbers, [](double x) { return std::isfinite(x); }))
        throw input_error("waves: expected a state and a time of finite numbers, found one that is not");
    });
    const std::lock_guard one_at_a_time(state_->busy);
    state_->solver->set_state(numbers, time);
  });
}

void wave_solver::get_state(std::span<double> numbers) const {
  working([&] {
    on_all_ranks_or_none(state_->domain.comm, [&] { require_room(numbers.size(), size()); });
    const std::lock_guard one_at_a_time(state_->busy);
    state_->solver->get_state(numbers);
  });
}

std::vector<double> wave_solver::energies() const {
  return working([&] {
    const std::lock_guard one_at_a_time(state_->busy);
    return state_->solver->energy();
  });
}

double wave_solver::stable_step() const {
  return working([&] { return stable_time_step(state_->domain); });
}

namespace {

/// Compares the end of a step with the textbook's, from the same begin.
verdict judged(const dg_domain& domain, const wave_options& options, std::span<const double> begin,
               std::span<const double> end, double time, double dt) {
  std::vector<double> expected(begin.size());
  const auto textbook = cpu::make_textbook_dg_solver(domain, options.columns);
  textbook->set_state(begin, time);
  textbook->advance(1, dt);
  textbook->get_state(expected);
  std::array<double, 3> largest{};  // of the state, of the difference, of the change by the step
  for (std::size_t i = 0; i < begin.size(); ++i) {
    keep_largest(largest[0], std::abs(expected[i]));
    keep_largest(largest[1], std::abs(end[i] - expected[i]));
    keep_largest(largest[2], std::abs(begin[i] - expected[i]));
  }
  domain.comm.maximum(std::span(largest));
  // Each stage rounds the state once or twice, and dt f, of the same size at most, some N + 1 times.
  const double u = options.precision == precision::single ? 0x1p-24 : 0x1p-53;
  verdict result;
  result.judged = true;
  result.worst = largest[1] / largest[0];
  result.tolerance = 2.0 * std::sqrt(static_cast<double>(lserk4::stages)) * (domain.reference.order + 2.0) * u;
  const double moved = largest[2] / largest[0];
  result.passed = result.worst <= result.tolerance && moved >= 10.0 * result.tolerance;
  char text[160];
  std::snprintf(text, sizeof text, "%s: last step against the textbook %.2e, tolerance %.2e, the step changes %.2e",
                result.passed ? "passed" : "failed", result.worst, result.tolerance, moved);
  result.text = text;
  return result;
}

/// Fails a verdict if a column's energy has grown: nothing feeds it, fluxes and sides keep it or take from it.
void judge_energy(verdict& result, const dg_domain& domain, const wave_options& options, std::span<const double> before,
                  std::span<const double> after, std::int64_t steps) {
  double growth = 0.0;
  for (std::size_t c = 0; c < before.size(); ++c)
    keep_largest(growth, before[c] > 0.0 || !(after[c] == 0.0) ? (after[c] - before[c]) / before[c] : 0.0);
  // Roundings of the state change the energy by 2 u a stage, independent ones, and the sum over nodes its own.
  const double u = options.precision == precision::single ? 0x1p-24 : 0x1p-53;
  const double tolerance = 8.0 * u * std::sqrt(static_cast<double>(lserk4::stages) * static_cast<double>(steps)) +
                           16.0 * std::sqrt(static_cast<double>(domain.nodes())) * 0x1p-53;
  if (growth <= tolerance) return;
  char text[160];
  std::snprintf(text, sizeof text, "failed: the energy grew by %.2e of itself in %lld steps, tolerance %.2e", growth,
                static_cast<long long>(steps), tolerance);
  result.worst = growth;
  result.tolerance = tolerance;
  result.passed = false;
  result.text = text;
}

/// Throws error(unusable_input) if steps are not stable. Those longer than stable_step() are compared with the longest
/// that are, which the first such call measures; the state stays. Collective.
void require_stable(wave_solver::state& s, double dt) {
  if (dt <= stable_time_step(s.domain)) return;
  if (s.largest_step == 0.0) {
    std::vector<double> kept(static_cast<std::size_t>(s.options.columns * s.domain.state_size()));
    const double time = s.solver->time();
    s.solver->get_state(kept);
    s.largest_step = largest_stable_step(*s.solver, s.domain);
    s.solver->set_state(kept, time);
  }
  if (dt <= s.largest_step) return;
  char text[160];
  std::snprintf(text, sizeof text,
                "waves: expected a step of at most %.4g, the largest that is stable here, found %.4g", s.largest_step,
                dt);
  throw error(code::unusable_input, text);
}

}  // namespace

namespace {

/// Does steps, and asks between them whether to go on: after one, two, four, ... as long as these take a tenth of a
/// second at most on all ranks.
void advance_stoppably(dg_solver& solver, const communicator& ranks, std::int64_t steps, double dt) {
  constexpr double most_seconds = 0.1;
  std::int64_t at_once = 1;
  for (std::int64_t done = 0; done < steps;) {
    const std::int64_t now = std::min(at_once, steps - done);
    const stopwatch advancing;
    solver.advance(now, dt);
    done += now;
    stops_of_call::note(done);
    stops_of_call::ask();
    std::array<double, 1> seconds{advancing.seconds()};
    ranks.maximum(std::span(seconds));
    if (seconds[0] < 0.5 * most_seconds)
      at_once *= 2;
    else if (seconds[0] > most_seconds)
      at_once = std::max<std::int64_t>(1, at_once / 2);
  }
}

}  // namespace

verdict wave_solver::advance(std::int64_t steps, double dt, bool judge) {
  return working(state_->domain.comm, [&] {
    if (steps < 1)
      throw error(code::unusable_input, "waves: expected one step or more, found " + std::to_string(steps));
    if (!(std::isfinite(dt) && dt > 0.0))
      throw error(code::unusable_input, "waves: expected a finite step above 0, found " + number_text(dt));
    const std::lock_guard one_at_a_time(state_->busy);
    dg_solver& solver = *state_->solver;
    require_stable(*state_, dt);
    const communicator& ranks = state_->domain.comm;
    const stops_of_call::part part("steps of waves", steps);
    if (!judge) {
      advance_stoppably(solver, ranks, steps, dt);
      return verdict{.text = "not judged: the last step was not repeated"};
    }
    const std::vector<double> energies_before = solver.energy();
    if (steps > 1) advance_stoppably(solver, ranks, steps - 1, dt);
    std::vector<double> begin(static_cast<std::size_t>(size())), end(begin);
    solver.get_state(begin);
    const double time = solver.time();
    solver.advance(1, dt);
    solver.get_state(end);
    verdict result = judged(state_->domain, state_->options, begin, end, time, dt);
    judge_energy(result, state_->domain, state_->options, energies_before, solver.energy(), steps);
    return result;
  });
}

}  // namespace v1
}  // namespace plaquette::api
