// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/nodal-dg/dg_checkpoint.hpp"

#include <fmt/core.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include "common/app/bit_sum.hpp"
#include "common/app/checkpoint.hpp"
#include "common/app/parse.hpp"
#include "common/io/atomic_file.hpp"
#include "common/io/byte_source.hpp"
#include "common/io/checksum.hpp"
#include "common/io/collective_error.hpp"

namespace plaquette::nodal_dg {

namespace {

static_assert(std::endian::native == std::endian::little, "checkpoints are little-endian");

constexpr std::string_view magic = "PlaqDG01";
constexpr int format_version = 3;
constexpr std::uint64_t longest_head = std::uint64_t{1} << 28;

/// The fields of one element lie together: [element][column][field][node].
struct element_record {
  std::size_t numbers;
  std::vector<double> values;

  element_record(const dg_domain& domain, int columns)
      : numbers(static_cast<std::size_t>(columns * domain.fields * domain.nodes())), values(numbers) {}

  /// body(place in values, place in the states of this rank)
  template <class Body>
  void for_each(const dg_domain& domain, int columns, std::int32_t element, Body&& body) {
    std::size_t at = 0;
    for (int c = 0; c < columns; ++c)
      for (int f = 0; f < domain.fields; ++f)
        for (int n = 0; n < domain.nodes(); ++n)
          body(at++, static_cast<std::size_t>(
                         ((std::int64_t{c} * domain.fields + f) * domain.elements() + element) * domain.nodes() + n));
  }
};

struct head {
  json_document state;
  std::uint64_t data_at;
};

head read_head(const byte_source& source) {
  const std::string name = printable(source.name());
  const auto refuse = [&name](const std::string& found) {
    throw input_error(name + ": expected a checkpoint of plaquette-nodal-dg, found " + found);
  };
  if (source.size() < 16 || source.read_text(0, magic.size()) != magic) refuse("something else");
  std::uint64_t length = 0;
  source.read(8, std::as_writable_bytes(std::span(&length, 1)));
  if (length > longest_head || length > source.size() - 16) refuse("one that is truncated");
  head h{parse_checkpoint_text(source.name(), source.read_text(16, length)), 16 + length};
  if (const int version = checkpoint_value<int>(name, h.state, "version"); version != format_version)
    refuse(fmt::format("version {} of it, where this program knows {}", version, format_version));
  return h;
}

}  // namespace

std::string content_of(const simplex_mesh& mesh, const dg_problem& problem) {
  std::vector<double> numbers;
  bit_sum sum;
  for (std::size_t e = 0; e < mesh.elements.size(); ++e) {
    numbers.clear();
    const medium& m = problem.media[static_cast<std::size_t>(mesh.materials[e])];
    numbers.insert(numbers.end(), {m.first, m.second});
    for (std::size_t c = 0; c < static_cast<std::size_t>(mesh.faces()); ++c) {
      const auto& x = mesh.vertices[static_cast<std::size_t>(mesh.elements[e][c])];
      numbers.insert(numbers.end(), x.begin(), x.end());
      const face_link& link = mesh.links[e][c];
      if (link.is_boundary())
        numbers.insert(numbers.end(),
                       {-1.0, static_cast<double>(problem.boundaries[static_cast<std::size_t>(link.boundary)])});
      else
        numbers.insert(numbers.end(), {static_cast<double>(link.element), static_cast<double>(link.face),
                                       static_cast<double>(link.orientation)});
    }
    sum.add(std::span(numbers));
  }
  return fmt::format("{:016x}", sum.value());
}

void write_dg_checkpoint(const std::string& path, const dg_domain& domain, std::span<const double> states, int columns,
                         const dg_progress& progress, const json_document& parameters) {
  element_record record(domain, columns);
  site_checksum checksum(checksum_kind::scidac);
  const auto fill = [&](std::int32_t e) {
    record.for_each(domain, columns, e,
                    [&](std::size_t here, std::size_t there) { record.values[here] = states[there]; });
  };
  for (std::int32_t e = 0; e < domain.elements(); ++e) {
    fill(e);
    checksum.add(static_cast<std::uint64_t>(domain.part.global[static_cast<std::size_t>(e)]),
                 std::as_bytes(std::span(record.values)), false);
  }
  checksum.combine(domain.comm);
  json_document failures = json_document::array();  // a value that is not finite becomes null
  for (const check& failure : progress.failures.checks())
    failures.push_back({failure.name, failure.value, failure.tolerance});
  const std::string text = checkpoint_text({{"version", format_version},
                                            {"parameters", parameters},
                                            {"steps_done", progress.steps_done},
                                            {"time", progress.time},
                                            {"dt", progress.dt},
                                            {"energy", progress.energy},
                                            {"unfinished_files", progress.unfinished_files},
                                            {"failures", failures},
                                            {"elements", domain.global_elements},
                                            {"numbers_an_element", record.numbers},
                                            {"checksum", checksum.text()}});
  const std::uint64_t length = text.size(), data_at = 16 + length;

  std::optional<atomic_file> file;
  std::array<char, 4096> temporary{};
  on_all_ranks_or_none(domain.comm, [&] {
    if (domain.comm.rank() != 0) return;
    file.emplace(path, existing_file::replace);
    if (file->temporary_path().size() >= temporary.size()) throw output_error(path + ": the path is too long");
    std::ranges::copy(file->temporary_path(), temporary.begin());
  });
  domain.comm.broadcast(std::as_writable_bytes(std::span(temporary)), 0);
  on_all_ranks_or_none(domain.comm, [&] {
    std::optional<atomic_file_part> part;
    if (!file) part.emplace(temporary.data(), path);
    for (std::int32_t e = 0; e < domain.elements(); ++e) {
      fill(e);
      const std::uint64_t at = data_at + static_cast<std::uint64_t>(domain.part.global[static_cast<std::size_t>(e)]) *
                                             record.numbers * sizeof(double);
      const auto bytes = std::as_bytes(std::span(record.values));
      if (file)
        file->write_at(at, bytes);
      else
        part->write_at(at, bytes);
    }
    if (part) part->finish();
  });
  on_all_ranks_or_none(domain.comm, [&] {
    if (!file) return;
    file->write_at(0, std::as_bytes(std::span(magic)));
    file->write_at(8, std::as_bytes(std::span(&length, 1)));
    file->write_at(16, std::as_bytes(std::span(text)));
    file->commit();
  });
}

std::vector<std::string> files_of_stopped_run(const std::string& path) {
  if (!checkpoint_exists(path)) return {};
  const file_source source(path);
  return checkpoint_value<std::vector<std::string>>(printable(path), read_head(source).state, "unfinished_files");
}

dg_progress read_dg_progress(const std::string& path, const json_document& parameters) {
  const file_source source(path);
  const std::string name = printable(path);
  const head h = read_head(source);
  const auto stored = checkpoint_value<json_document>(name, h.state, "parameters");
  if (stored.is_object() && stored.contains("content") && stored["content"] != parameters.at("content"))
    throw input_error(name +
                      ": expected a checkpoint of this mesh, with these media and sides, found one of other content: "
                      "name another file, or the mesh that it was made on");
  require_same_parameters(path, stored, parameters);
  dg_progress progress;
  const auto number = [&](const char* key, auto value, auto lowest, auto highest) {
    if (!(value >= lowest && value <= highest))
      throw input_error(fmt::format("{}: expected \"{}\" from {:g} to {:g}, found {:g}", name, key,
                                    static_cast<double>(lowest), static_cast<double>(highest),
                                    static_cast<double>(value)));
    return value;
  };
  constexpr std::int64_t most_steps = 1'000'000'000'000;
  constexpr double longest = 1e100;
  progress.steps_done =
      number("steps_done", checkpoint_value<std::int64_t>(name, h.state, "steps_done"), std::int64_t{0}, most_steps);
  progress.dt = number("dt", checkpoint_value<double>(name, h.state, "dt"), 1.0 / longest, longest);
  progress.time = number("time", checkpoint_value<double>(name, h.state, "time"), 0.0, longest * 1e12);
  // Each step's sum is rounded once.
  const auto steps = static_cast<double>(progress.steps_done);
  const double expected = steps * progress.dt;
  if (!(std::abs(progress.time - expected) <= 0x1p-52 * (steps + 1.0) * expected))
    throw input_error(
        fmt::format("{}: expected the time {:.17g} after {} steps of {:.17g}, found {:.17g} (a run whose "
                    "last step was shorter is at its end)",
                    name, expected, progress.steps_done, progress.dt, progress.time));
  progress.energy = checkpoint_value<json_document>(name, h.state, "energy");
  if (!progress.energy.is_array() || progress.energy.empty())
    throw input_error(name + ": expected \"energy\" as a list, found " + printable(progress.energy.dump()));
  double before = 0.0;
  for (const json_document& line : progress.energy) {
    const bool is_pair = line.is_array() && line.size() == 2 && line[0].is_number() && line[1].is_number();
    if (!is_pair || !(line[0].get<double>() >= before && line[0].get<double>() <= progress.time) ||
        !std::isfinite(line[1].get<double>()))
      throw input_error(fmt::format(
          "{}: expected \"energy\" as pairs of a time, from 0 to {:g} and ascending, and a number, found {}", name,
          progress.time, printable(line.dump())));
    before = line[0].get<double>();
  }
  progress.unfinished_files = checkpoint_value<std::vector<std::string>>(name, h.state, "unfinished_files");
  const auto failures = checkpoint_value<json_document>(name, h.state, "failures");
  if (!failures.is_array()) refuse_checkpoint_value(name, "failures");
  for (const json_document& line : failures) {
    if (!line.is_array() || line.size() != 3 || !line[0].is_string() || !(line[1].is_number() || line[1].is_null()) ||
        !line[2].is_number())
      refuse_checkpoint_value(name, "failures");
    const double value = line[1].is_null() ? std::numeric_limits<double>::quiet_NaN() : line[1].get<double>();
    progress.failures.keep_worse({line[0].get<std::string>(), value, line[2].get<double>()});
  }
  return progress;
}

std::vector<double> read_dg_states(const std::string& path, const dg_domain& domain, int columns) {
  std::vector<double> states(static_cast<std::size_t>(domain.state_size() * columns));
  site_checksum checksum(checksum_kind::scidac);
  std::string expected;
  on_all_ranks_or_none(domain.comm, [&] {
    const file_source source(path);
    const head h = read_head(source);
    element_record record(domain, columns);
    expected = checkpoint_value<std::string>(path, h.state, "checksum");
    const std::uint64_t bytes = record.numbers * sizeof(double);
    if (checkpoint_value<std::uint64_t>(path, h.state, "numbers_an_element") != record.numbers ||
        checkpoint_value<std::int64_t>(path, h.state, "elements") != domain.global_elements ||
        source.size() != h.data_at + bytes * static_cast<std::uint64_t>(domain.global_elements))
      throw input_error(printable(path) + ": expected the fields of this run's mesh, found another number of them");
    for (std::int32_t e = 0; e < domain.elements(); ++e) {
      const auto global = static_cast<std::uint64_t>(domain.part.global[static_cast<std::size_t>(e)]);
      source.read(h.data_at + global * bytes, std::as_writable_bytes(std::span(record.values)));
      checksum.add(global, std::as_bytes(std::span(record.values)), false);
      record.for_each(domain, columns, e,
                      [&](std::size_t here, std::size_t there) { states[there] = record.values[here]; });
    }
  });
  checksum.combine(domain.comm);
  if (checksum.text() != expected)
    throw input_error(printable(path) + ": expected fields of checksum " + expected + ", found " + checksum.text());
  return states;
}

}  // namespace plaquette::nodal_dg
