// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/hmc/chain_store.hpp"

#include <fmt/core.h>

#include <array>
#include <bit>
#include <cstring>
#include <span>

#include "common/app/checkpoint.hpp"
#include "common/app/lime_record.hpp"
#include "common/app/parse.hpp"
#include "common/io/checksum.hpp"
#include "common/io/gauge_file.hpp"

namespace plaquette {

namespace {

constexpr const char* record_type = "plaquette-chain";
constexpr int format_version = 2;

json_document to_json(const trajectory_record& t) {
  json_document forces = json_document::array();
  for (const force_size& f : t.forces) forces.push_back({f.rms, f.largest});
  json_document line{{"dh", t.dh},           {"accepted", t.accepted}, {"plaquette", t.plaquette},
                     {"seconds", t.seconds}, {"forces", forces},       {"iterations", t.iterations},
                     {"parts", t.parts}};
  if (const hierarchy_work& h = t.hierarchy; h.seconds > 0.0)
    line["hierarchy"] = {h.renewals, h.seconds, h.iterations, h.fresh_iterations};
  if (t.measured) {
    const chain_measurement& m = *t.measured;
    line["measured"] = {m.spatial, m.temporal, m.rectangle, m.polyakov.re, m.polyakov.im, m.t0, m.charge, m.seconds};
  }
  return line;
}

trajectory_record trajectory_of(const std::string& name, const json_document& line) {
  trajectory_record t;
  t.dh = checkpoint_value<double>(name, line, "dh");
  t.accepted = checkpoint_value<bool>(name, line, "accepted");
  t.plaquette = checkpoint_number<double>(name, line, "plaquette", -1.0 - 1e-9, 1.0 + 1e-9);
  t.seconds = checkpoint_number<double>(name, line, "seconds", 0.0, 1e12);
  for (const auto& pair : checkpoint_value<std::vector<std::vector<double>>>(name, line, "forces")) {
    if (pair.size() != 2) refuse_checkpoint_value(name, "forces");
    t.forces.push_back({pair[0], pair[1]});
  }
  t.iterations = checkpoint_value<std::vector<long>>(name, line, "iterations");
  t.parts = checkpoint_value<std::vector<double>>(name, line, "parts");
  if (line.contains("hierarchy")) {
    const auto h = checkpoint_value<std::vector<double>>(name, line, "hierarchy");
    if (h.size() != 4) refuse_checkpoint_value(name, "hierarchy");
    t.hierarchy = {static_cast<int>(h[0]), h[1], static_cast<std::int64_t>(h[2]), static_cast<std::int64_t>(h[3])};
  }
  if (line.contains("measured")) {
    const auto m = checkpoint_value<std::vector<double>>(name, line, "measured");
    if (m.size() != 8) refuse_checkpoint_value(name, "measured");
    t.measured = chain_measurement{m[0], m[1], m[2], {m[3], m[4]}, m[5], m[6], m[7]};
  }
  return t;
}

json_document document_in(const std::string& path) {
  return checkpoint_in_lime_record(path, record_type, "the state of a chain of plaquette-hmc", format_version);
}

}  // namespace

std::uint64_t sum_of_links(const gauge_configuration& links, const communicator& comm) {
  const lattice_geometry& geometry = links.geometry();
  std::uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
    std::array<std::uint64_t, sizeof(site_links) / sizeof(std::uint64_t)> words{};
    std::memcpy(words.data(), &links.at_site(site), sizeof(site_links));
    auto mixed = static_cast<std::uint64_t>(geometry.global_index(geometry.local_coordinate(site)));
    for (const std::uint64_t word : words) mixed = (std::rotl(mixed, 23) ^ word) * 0x9e3779b97f4a7c15;
    sum += mixed;
  }
  comm.sum(std::span<std::uint64_t>(&sum, 1));
  return sum;
}

std::vector<std::uint32_t> sums_of_history(const chain_state& state) {
  const auto begin = std::bit_cast<std::uint64_t>(state.start_plaquette);
  std::uint32_t sum = crc32(std::as_bytes(std::span(&begin, 1)));
  std::vector<std::uint32_t> sums;
  for (const trajectory_record& t : state.history) {
    const std::array<std::uint64_t, 4> words{sums.size() + 1, std::bit_cast<std::uint64_t>(t.dh),
                                             std::bit_cast<std::uint64_t>(t.plaquette), t.accepted ? 1U : 0U};
    sums.push_back(sum = crc32(std::as_bytes(std::span(words)), sum));
  }
  return sums;
}

void write_chain(const std::string& path, const gauge_configuration& links, const chain_state& state,
                 const json_document& parameters, const communicator& world) {
  json_document lines = json_document::array();
  const std::vector<std::uint32_t> sums = sums_of_history(state);
  for (std::size_t n = 0; n < sums.size(); ++n) {
    lines.push_back(to_json(state.history[n]));
    lines.back().update({{"trajectory", n + 1}, {"sum", hexadecimal(sums[n])}});
  }
  const json_document document{{"version", format_version},
                               {"parameters", parameters},
                               {"unfinished_files", state.unfinished_files},
                               {"start_plaquette", state.start_plaquette},
                               {"links_sum", sum_of_links(links, world)},
                               {"history", lines}};
  gauge_write_options how;
  how.existing = existing_file::replace;
  how.ensemble_label = "state of a chain of plaquette-hmc";
  how.information = fmt::format("after trajectory {}", state.trajectories_done());
  how.records = {{record_type, checkpoint_text(document)}};
  write_ildg(path, links, world, how);
}

json_document parameters_in_chain(const std::string& path) {
  return checkpoint_value<json_document>(printable(path), document_in(path), "parameters");
}

chain_state read_chain(const std::string& path, const hmc_options& options) {
  const std::string name = printable(path);
  const json_document document = document_in(path);
  require_same_parameters(path, checkpoint_value<json_document>(name, document, "parameters"),
                          parameters_of_chain(options));
  chain_state state;
  state.start_plaquette = checkpoint_number<double>(name, document, "start_plaquette", -1.0 - 1e-9, 1.0 + 1e-9);
  state.links_sum = checkpoint_value<std::uint64_t>(name, document, "links_sum");
  state.unfinished_files = checkpoint_value<std::vector<std::string>>(name, document, "unfinished_files");
  const auto lines = checkpoint_value<json_document>(name, document, "history");
  if (!lines.is_array()) refuse_checkpoint_value(name, "history");
  for (const json_document& line : lines) state.history.push_back(trajectory_of(name, line));
  const std::vector<std::uint32_t> sums = sums_of_history(state);
  for (std::size_t n = 0; n < sums.size(); ++n) {
    const auto number = checkpoint_value<std::uint64_t>(name, lines[n], "trajectory");
    const auto sum = checkpoint_value<std::string>(name, lines[n], "sum");
    if (number != n + 1 || sum != hexadecimal(sums[n]))
      throw input_error(
          fmt::format("{}: expected trajectory {} with the sum {} of the history before it, found "
                      "trajectory {} with {}: the history was changed",
                      name, n + 1, hexadecimal(sums[n]), number, printable(sum)));
  }
  if (state.trajectories_done() > options.trajectories)
    throw input_error(fmt::format("{}: expected a chain of at most {} trajectories, as --trajectories says, found {}",
                                  name, options.trajectories, state.trajectories_done()));
  return state;
}

}  // namespace plaquette
