// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/nodal-dg/step_judge.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <random>

#include "common/dg/exact_solutions.hpp"
#include "common/dg/lserk4.hpp"
#include "cpu_ref/dg/textbook.hpp"

namespace plaquette::nodal_dg {

namespace {

// Multiply-adds of the textbook on one rank: about three seconds each 10^9 on one core.
constexpr double most_work = 6e8, cheap_work = 1.5e8;
constexpr std::int64_t most_steps = 10, fewest_elements = 4, most_elements_drawn = 64;

/// Returns the multiplications of one element and stage.
double work_of_element(const dg_domain& domain) {
  const double nodes = domain.nodes(), faces = domain.reference.faces(), face_nodes = domain.reference.face_nodes;
  return domain.fields * nodes * (domain.reference.dimension * nodes + faces * face_nodes);
}
double work_of_step(const dg_domain& domain, int columns) {
  return work_of_element(domain) * std::min(columns, 2) * lserk4::stages * static_cast<double>(domain.global_elements);
}
bool is_small(const dg_domain& domain, int columns) { return work_of_step(domain, columns) <= most_work; }

/// Numbers of the whole mesh and how many layers lie between each and the nearest drawn element.
struct neighbourhood {
  std::vector<std::int32_t> elements;  ///< ascending
  std::vector<std::int32_t> distance;
};

/// Returns all elements within `layers` layers of the centres. `distance` is -1 everywhere, before and after.
neighbourhood around(const simplex_mesh& mesh, std::span<const std::int32_t> centres, std::int64_t layers,
                     std::vector<std::int32_t>& distance) {
  std::vector<std::int32_t> found(centres.begin(), centres.end());
  for (const std::int32_t e : found) distance[static_cast<std::size_t>(e)] = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::int32_t here = distance[static_cast<std::size_t>(found[i])];
    if (here == layers) break;  // they come by distance
    for (int f = 0; f < mesh.faces(); ++f) {
      const face_link& link = mesh.links[static_cast<std::size_t>(found[i])][static_cast<std::size_t>(f)];
      if (link.is_boundary() || distance[static_cast<std::size_t>(link.element)] >= 0) continue;
      distance[static_cast<std::size_t>(link.element)] = here + 1;
      found.push_back(link.element);
    }
  }
  std::ranges::sort(found);
  neighbourhood n{std::move(found), {}};
  for (const std::int32_t e : n.elements) {
    n.distance.push_back(distance[static_cast<std::size_t>(e)]);
    distance[static_cast<std::size_t>(e)] = -1;
  }
  return n;
}

/// The elements as a mesh of their own. Faces to elements that are not part of it lead outside (face_link::outside).
simplex_mesh cut_out(const simplex_mesh& mesh, std::span<const std::int32_t> elements) {
  simplex_mesh part;
  part.dimension = mesh.dimension;
  part.material_tags = mesh.material_tags;
  part.boundary_tags = mesh.boundary_tags;
  std::vector<std::int32_t> vertices;
  for (const std::int32_t e : elements)
    for (int c = 0; c < mesh.faces(); ++c)
      vertices.push_back(mesh.elements[static_cast<std::size_t>(e)][static_cast<std::size_t>(c)]);
  std::ranges::sort(vertices);
  vertices.erase(std::ranges::unique(vertices).begin(), vertices.end());
  for (const std::int32_t v : vertices) part.vertices.push_back(mesh.vertices[static_cast<std::size_t>(v)]);
  for (const std::int32_t e : elements) {
    auto corners = mesh.elements[static_cast<std::size_t>(e)];
    auto links = mesh.links[static_cast<std::size_t>(e)];
    for (std::size_t c = 0; c < static_cast<std::size_t>(mesh.faces()); ++c) {
      corners[c] = static_cast<std::int32_t>(std::ranges::lower_bound(vertices, corners[c]) - vertices.begin());
      if (links[c].is_boundary()) continue;
      const auto there = std::ranges::lower_bound(elements, links[c].element);
      if (there != elements.end() && *there == links[c].element)
        links[c].element = static_cast<std::int32_t>(there - elements.begin());
      else
        links[c] = {face_link::outside, -1, 0, 0};
    }
    part.elements.push_back(corners);
    part.links.push_back(links);
    part.materials.push_back(mesh.materials[static_cast<std::size_t>(e)]);
  }
  return part;
}

/// The problem on the elements, as if they were the whole mesh.
dg_domain domain_around(const dg_domain& domain, const simplex_mesh& mesh, std::span<const std::int32_t> elements) {
  simplex_mesh part = cut_out(mesh, elements);
  dg_problem problem = domain.problem;
  if (part.boundary_tags.empty()) {  // of a periodic mesh: the edge needs one
    part.boundary_tags = {0};
    problem.boundaries = {boundary_kind::reflecting};
  }
  std::erase_if(problem.sources, [&](const point_source& s) {
    const auto where = static_cast<std::int32_t>(locate(mesh, s.position).element);
    return !std::ranges::binary_search(elements, where);
  });
  return make_domain(part, std::vector<std::int32_t>(elements.size(), 0), domain.reference.order, problem,
                     communicator());
}

/// Reads the numbers of elements here and of columns, [element][column][field][node].
using element_reader =
    std::function<std::vector<double>(std::span<const std::int32_t> elements, std::span<const int> columns)>;

/// Steps in the past, and readers of the states before and after them.
struct readable_steps {
  element_reader begin, end;
  double time = 0.0;
  std::span<const double> dt;
  std::uint64_t drawn = 0;
};

element_reader reader_of(const dg_domain& domain, std::span<const double> states) {
  return [&domain, states](std::span<const std::int32_t> elements, std::span<const int> columns) {
    const auto nodes = static_cast<std::size_t>(domain.nodes());
    std::vector<double> numbers;
    numbers.reserve(elements.size() * columns.size() * static_cast<std::size_t>(domain.fields) * nodes);
    for (const std::int32_t e : elements)
      for (const int column : columns)
        for (int f = 0; f < domain.fields; ++f) {
          const std::int64_t row = (std::int64_t{column} * domain.fields + f) * domain.elements() + e;
          const auto values = states.subspan(static_cast<std::size_t>(row) * nodes, nodes);
          numbers.insert(numbers.end(), values.begin(), values.end());
        }
    return numbers;
  };
}

/// \param from  null: the present state
element_reader reader_of(const dg_domain& domain, const dg_solver& solver, const dg_snapshot* from) {
  return [&domain, &solver, from](std::span<const std::int32_t> elements, std::span<const int> columns) {
    std::vector<double> numbers(elements.size() * columns.size() *
                                static_cast<std::size_t>(domain.fields * domain.nodes()));
    solver.read_elements(domain, from, elements, columns, numbers);
    return numbers;
  };
}

/// The states at the beginning, of all elements of the neighbourhood of this rank: from those who have them.
/// Collective.
/// \param of_rank  the elements that each rank needs
std::vector<double> collected(const dg_domain& domain, const whole_mesh& whole, const element_reader& states,
                              const std::vector<neighbourhood>& of_rank, std::span<const int> columns) {
  const std::size_t width = columns.size() * static_cast<std::size_t>(domain.fields * domain.nodes());
  const communicator& comm = domain.comm;
  std::vector<std::int32_t> here(whole.mesh.elements.size(), -1);
  for (std::int32_t e = 0; e < domain.elements(); ++e)
    here[static_cast<std::size_t>(domain.part.global[static_cast<std::size_t>(e)])] = e;
  std::vector<std::vector<double>> out(static_cast<std::size_t>(comm.size())), in(out.size());
  std::vector<outgoing_message> send;
  std::vector<incoming_message> receive;
  const neighbourhood& mine = of_rank[static_cast<std::size_t>(comm.rank())];
  for (int rank = 0; rank < comm.size(); ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    std::vector<std::int32_t> needed;
    for (const std::int32_t global : of_rank[at].elements)
      if (const std::int32_t e = here[static_cast<std::size_t>(global)]; e >= 0) needed.push_back(e);
    if (!needed.empty()) out[at] = states(needed, columns);
    const auto theirs = std::ranges::count_if(
        mine.elements, [&](std::int32_t e) { return whole.owner[static_cast<std::size_t>(e)] == rank; });
    in[at].resize(static_cast<std::size_t>(theirs) * width);
    if (!out[at].empty()) send.push_back({rank, 0, std::as_bytes(std::span(out[at]))});
    if (!in[at].empty()) receive.push_back({rank, 0, std::as_writable_bytes(std::span(in[at]))});
  }
  comm.start_exchange(send, receive).wait();
  std::vector<double> all;
  std::vector<std::size_t> next(out.size());
  for (const std::int32_t e : mine.elements) {
    const auto rank = static_cast<std::size_t>(whole.owner[static_cast<std::size_t>(e)]);
    const auto first = in[rank].begin() + static_cast<std::ptrdiff_t>(next[rank]);
    all.insert(all.end(), first, first + static_cast<std::ptrdiff_t>(width));
    next[rank] += width;
  }
  return all;
}

/// Of the elements that each rank has drawn, by their numbers here. Collective.
std::vector<neighbourhood> neighbourhoods(const dg_domain& domain, const whole_mesh& whole,
                                          std::span<const std::int32_t> centres, std::int64_t layers) {
  const communicator& comm = domain.comm;
  std::vector<double> counts(static_cast<std::size_t>(comm.size()));
  counts[static_cast<std::size_t>(comm.rank())] = static_cast<double>(centres.size());
  comm.sum(counts);
  const auto longest = static_cast<std::size_t>(std::ranges::max(counts));
  std::vector<std::int32_t> global(longest, -1), all(longest * counts.size());
  for (std::size_t i = 0; i < centres.size(); ++i) global[i] = domain.part.global[static_cast<std::size_t>(centres[i])];
  comm.gather(std::as_bytes(std::span(global)), std::as_writable_bytes(std::span(all)));
  std::vector<std::int32_t> distance(whole.mesh.elements.size(), -1);
  std::vector<neighbourhood> of_rank;
  for (std::size_t rank = 0; rank < counts.size(); ++rank)
    of_rank.push_back(around(whole.mesh, std::span(all).subspan(rank * longest, static_cast<std::size_t>(counts[rank])),
                             layers, distance));
  return of_rank;
}

/// A column of elements that were collected, as dg_solver has states.
std::vector<double> column_of(std::span<const double> collected, std::size_t elements, std::size_t columns,
                              std::size_t column, int fields, int nodes_of_element) {
  const auto nodes = static_cast<std::size_t>(nodes_of_element), width = static_cast<std::size_t>(fields) * nodes;
  std::vector<double> state(elements * width);
  for (std::size_t e = 0; e < elements; ++e)
    for (std::size_t i = 0; i < width; ++i)
      state[(i / nodes * elements + e) * nodes + i % nodes] = collected[(e * columns + column) * width + i];
  return state;
}

/// Steps of one column by the textbook. At the end the elements of distance 0 are right.
void repeat(const dg_domain& domain, std::span<const std::int32_t> distance, std::vector<double>& state, double time,
            std::span<const double> dts) {
  const auto elements = static_cast<std::int64_t>(domain.elements());
  const int nodes = domain.nodes();
  std::vector<double> registers(state.size()), rhs(state.size());
  auto left = static_cast<std::int64_t>(dts.size()) * lserk4::stages;
  const auto place = [&](int f, std::int64_t e, int n) {
    return static_cast<std::size_t>((std::int64_t{f} * elements + e) * nodes + n);
  };
  for (const double dt : dts) {
    for (int s = 0; s < lserk4::stages; ++s) {
      --left;
#pragma omp parallel for schedule(dynamic)
      for (std::int64_t e = 0; e < elements; ++e) {
        if (distance[static_cast<std::size_t>(e)] > left) continue;
        const auto of_element =
            cpu::textbook_right_hand_side(domain, state, {}, time + lserk4::c[s] * dt, static_cast<std::int32_t>(e));
        for (int f = 0; f < domain.fields; ++f)
          for (int n = 0; n < nodes; ++n) rhs[place(f, e, n)] = of_element[static_cast<std::size_t>(f * nodes + n)];
      }
      for (std::int64_t e = 0; e < elements; ++e) {
        if (distance[static_cast<std::size_t>(e)] > left) continue;
        for (int f = 0; f < domain.fields; ++f)
          for (int n = 0; n < nodes; ++n) {
            const std::size_t i = place(f, e, n);
            registers[i] = lserk4::a[s] * registers[i] + dt * rhs[i];
            state[i] += lserk4::b[s] * registers[i];
          }
      }
    }
    time += dt;
  }
}

constexpr double small = 0.1;  // of the largest: elements below are drawn less often

/// The largest number of the first column there.
double size_of_element(const dg_domain& domain, std::span<const double> states, std::int32_t e) {
  const auto nodes = static_cast<std::size_t>(domain.nodes());
  double size = 0.0;
  for (int f = 0; f < domain.fields; ++f)
    for (const double x :
         states.subspan(static_cast<std::size_t>(std::int64_t{f} * domain.elements() + e) * nodes, nodes))
      size = std::max(size, std::abs(x));
  return size;
}

std::uint64_t number_of_rank(const dg_domain& domain, std::uint64_t drawn) {
  return drawn ^ (0x9e3779b97f4a7c15 * static_cast<std::uint64_t>(domain.comm.rank() + 1));
}

/// The largest number of a column, with energy_weight. Collective.
double largest_of(const dg_domain& domain, std::span<const double> column) {
  double largest = largest_number(domain, column);
  domain.comm.maximum({&largest, 1});
  return largest;
}

/// Returns one of some drawn elements whose state at the end is not small against the others'.
std::vector<std::int32_t> one_drawn_element(const dg_domain& domain, const readable_steps& steps) {
  constexpr int candidates = 256;
  if (domain.elements() == 0) return {};
  std::mt19937_64 random(number_of_rank(domain, steps.drawn));
  std::vector<std::int32_t> drawn;
  for (int i = 0; i < candidates; ++i)
    drawn.push_back(static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(domain.elements())));
  const std::array<int, 1> first_column{0};
  const std::vector<double> numbers = steps.end(drawn, first_column);
  const std::size_t width = numbers.size() / drawn.size();
  std::vector<double> sizes;
  double largest = 0.0;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    double size = 0.0;
    for (const double x : std::span(numbers).subspan(i * width, width)) size = std::max(size, std::abs(x));
    sizes.push_back(size);
    largest = std::max(largest, size);
  }
  for (std::size_t i = 0; i < drawn.size(); ++i)
    if (sizes[i] >= small * largest) return {drawn[i]};
  return {};
}

/// Judges by these elements of this rank.
/// \param judged  the columns
/// \param units   of each: its largest number
step_verdict judge_by(const std::vector<std::int32_t>& centres, const dg_domain& domain, const whole_mesh& whole,
                      const readable_steps& steps, std::span<const int> judged, std::span<const double> units) {
  const communicator& comm = domain.comm;
  step_verdict verdict;
  verdict.largest = units[0];
  const auto of_rank = neighbourhoods(domain, whole, centres, std::int64_t{lserk4::stages} * std::ssize(steps.dt));
  const std::vector<double> begin = collected(domain, whole, steps.begin, of_rank, judged);
  const std::vector<double> end = centres.empty() ? std::vector<double>{} : steps.end(centres, judged);
  const neighbourhood& mine = of_rank[static_cast<std::size_t>(comm.rank())];
  const dg_domain around_mine = domain_around(domain, whole.mesh, mine.elements);
  const auto nodes = static_cast<std::size_t>(domain.nodes()), width = static_cast<std::size_t>(domain.fields) * nodes;
  for (std::size_t j = 0; j < judged.size(); ++j) {
    const double scale = units[j] == 0.0 ? 1.0 : units[j];  // NaN stays
    const auto place = [&](std::size_t e, std::size_t i) {  // i: field and node
      return (i / nodes * mine.elements.size() + e) * nodes + i % nodes;
    };
    std::vector<double> state = column_of(begin, mine.elements.size(), judged.size(), j, domain.fields, domain.nodes());
    const std::vector<double> before = state;
    repeat(around_mine, mine.distance, state, steps.time, steps.dt);
    for (std::size_t c = 0; c < centres.size(); ++c) {
      const auto e = static_cast<std::size_t>(
          std::ranges::lower_bound(mine.elements, domain.part.global[static_cast<std::size_t>(centres[c])]) -
          mine.elements.begin());
      for (std::size_t i = 0; i < width; ++i) {
        const double found = end[(c * judged.size() + j) * width + i], expected = state[place(e, i)];
        const double unit = energy_weight(domain, static_cast<int>(i / nodes), centres[c]) / scale;
        verdict.worst = larger_or_nan(verdict.worst, unit * std::abs(found - expected));
        verdict.moved = std::max(verdict.moved, unit * std::abs(expected - before[place(e, i)]));
      }
    }
  }
  std::array<double, 2> worst{verdict.worst, verdict.moved};
  comm.maximum(worst);
  double count = static_cast<double>(centres.size());
  comm.sum({&count, 1});
  verdict.worst = worst[0];
  verdict.moved = worst[1];
  verdict.elements = static_cast<std::int64_t>(count);
  return verdict;
}

/// The first column and one that is drawn.
std::vector<int> judged_columns(int columns, std::uint64_t drawn) {
  std::vector<int> judged{0};
  if (columns > 1) judged.push_back(1 + static_cast<int>(drawn % (static_cast<unsigned>(columns) - 1U)));
  return judged;
}

}  // namespace

std::int64_t steps_to_judge(const dg_domain& domain, int columns, std::int64_t steps) {
  if (!is_small(domain, columns)) return std::min<std::int64_t>(steps, 1);
  const auto cheap = static_cast<std::int64_t>(cheap_work / work_of_step(domain, columns));
  return std::min(steps, std::clamp<std::int64_t>(cheap, 1, most_steps));
}

std::int64_t affordable_elements(const dg_domain& domain) {
  return std::max<std::int64_t>(64, static_cast<std::int64_t>(most_work / work_of_element(domain)));
}

std::vector<std::int32_t> drawn_elements(const dg_domain& domain, std::span<const double> states, std::int64_t most,
                                         std::uint64_t drawn_number) {
  const std::int32_t elements = domain.elements();
  std::vector<std::int32_t> drawn;
  if (most >= elements) {
    for (std::int32_t e = 0; e < elements; ++e) drawn.push_back(e);
    return drawn;
  }
  std::vector<double> size(static_cast<std::size_t>(elements));
  double largest = 0.0;
  for (std::int32_t e = 0; e < elements; ++e) {
    size[static_cast<std::size_t>(e)] = size_of_element(domain, states, e);
    largest = std::max(largest, size[static_cast<std::size_t>(e)]);
  }
  std::vector<std::int32_t> lively;
  for (std::int32_t e = 0; e < elements; ++e)
    if (size[static_cast<std::size_t>(e)] >= small * largest) lively.push_back(e);
  std::mt19937_64 random(number_of_rank(domain, drawn_number));
  for (std::int64_t i = 0; i < most; ++i) {
    const bool from_all = i % 2 == 1 || lively.empty();
    const auto choice = random() % static_cast<std::uint64_t>(from_all ? elements : std::ssize(lively));
    drawn.push_back(from_all ? static_cast<std::int32_t>(choice) : lively[static_cast<std::size_t>(choice)]);
  }
  std::ranges::sort(drawn);
  drawn.erase(std::ranges::unique(drawn).begin(), drawn.end());
  return drawn;
}

step_verdict judge_steps(const dg_domain& domain, const whole_mesh& whole, int columns, const made_steps& steps) {
  // A neighbourhood of five layers has about this many elements times stages.
  const double of_drawn = work_of_element(domain) * std::min(columns, 2) * (domain.reference.dimension == 3 ? 150 : 60);
  const std::int64_t most = is_small(domain, columns)
                                ? domain.global_elements
                                : std::clamp<std::int64_t>(static_cast<std::int64_t>(most_work / of_drawn),
                                                           fewest_elements, most_elements_drawn);
  const std::vector<int> judged = judged_columns(columns, steps.drawn);
  const auto size = static_cast<std::size_t>(domain.state_size());
  std::vector<double> units;
  for (const int column : judged)
    units.push_back(largest_of(domain, steps.end.subspan(static_cast<std::size_t>(column) * size, size)));
  return judge_by(drawn_elements(domain, steps.end, most, steps.drawn), domain, whole,
                  {reader_of(domain, steps.begin), reader_of(domain, steps.end), steps.time, steps.dt, steps.drawn},
                  judged, units);
}

step_verdict judge_one_element(const dg_domain& domain, const whole_mesh& whole, const solver_step& step, double unit) {
  const std::vector<int> judged = judged_columns(step.solver.columns(), step.drawn);
  std::vector<double> units;
  for (const int column : judged) units.push_back(std::ldexp(unit, -column));
  const readable_steps steps{reader_of(domain, step.solver, &step.begin), reader_of(domain, step.solver, nullptr),
                             step.time, std::span(&step.dt, 1), step.drawn};
  return judge_by(one_drawn_element(domain, steps), domain, whole, steps, judged, units);
}

}  // namespace plaquette::nodal_dg
