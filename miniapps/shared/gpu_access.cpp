// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/shared/gpu_access.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "common/app/memory.hpp"
#include "common/app/provenance.hpp"
#include "common/error.hpp"

namespace plaquette {

namespace {

library_options library_options_of(const shared_options& options, int ranks, placement_policy placement) {
  using enum halo_policy;
  library_options result;
  result.ranks.policy = options.halo == "staged" ? staged
                        : options.halo == "peer" ? peer
                        : options.halo == "mpi"  ? mpi
                        : options.halo == "nccl" ? nccl
                                                 : automatic;
  result.ranks.wait = options.wait == "block" ? wait_mode::block : wait_mode::spin;
  result.ranks.overlap = options.overlap;
  result.ranks.stall_timeout = ranks > 1 ? options.stall_timeout : 0.0;
  result.is_misplaced = placement == placement_policy::bad;
  result.tuning = {.mode = options.tune, .file = options.tune_file, .version = build_information().version};
  return result;
}

json_document map_of_ranks(const device_facts& facts, placement_policy placement) {
  json_document ranks = json_document::array();
  for (std::size_t rank = 0; rank < facts.ranks.size(); ++rank) {
    const rank_on_gpu& place = facts.ranks[rank];
    json_document links = json_document::object();
    for (const auto& [other, link] : place.links) links[std::to_string(other)] = link;
    ranks.push_back({{"rank", rank},
                     {"host", place.host},
                     {"device", place.device},
                     {"gpu", place.gpu},
                     {"pci_bus_id", place.pci_bus_id},
                     {"cores", place.cores},
                     {"cores_near_gpu", place.cores_near_gpu},
                     {"links", links}});
  }
  return {{"placement", name(placement)}, {"remarks", facts.remarks}, {"ranks", ranks}};
}

}  // namespace

std::shared_ptr<const library> open_device(const shared_options& options, const lattice_geometry& geometry,
                                           const communicator& world, placement_policy placement) {
  const device_kind device = device_of(options);
  const platform* const found = find_platform(device);
  if (found == nullptr)
    throw input_error(
        "--device gpu: this program was built without CUDA (PLAQUETTE_PRESET=cuda ./plaquette builds with it, if nvcc "
        "is found)");
  if (found->devices() == 0) throw input_error("--device gpu: no GPU was found (or no driver for it)");
  return open_library(device, geometry, world, library_options_of(options, world.size(), placement));
}

void note_gpu(machine_record& machine, const gpu_access& gpu, placement_policy placement) {
  const device_facts& facts = gpu.facts();
  machine.gpu =
      fmt::format("{}, {} multiprocessors, {}", facts.name, facts.multiprocessors, format_bytes(facts.memory_bytes));
  machine.driver = gpu.driver();
  machine.libraries.emplace_back("cuda", facts.cuda);
  machine.gpus = map_of_ranks(facts, placement);
}

std::string describe(gpu_access& gpu) {
  constexpr std::size_t most_lines = 8;
  const device_facts& facts = gpu.facts();
  std::string lines = fmt::format("gpu        {}, {} multiprocessors, {} of memory, driver {}, CUDA {}\n", facts.name,
                                  facts.multiprocessors, format_bytes(facts.memory_bytes), gpu.driver(), facts.cuda);
  if (!gpu.monitor().works())
    lines += fmt::format("           clocks and energy cannot be read: {}\n", gpu.monitor().trouble());
  const auto& ranks = facts.ranks;
  for (std::size_t i = 0; ranks.size() > 1 && i < std::min(ranks.size(), most_lines); ++i)
    lines += fmt::format("           rank {} on {}: GPU {} ({}), cores {}\n", i, ranks[i].host, ranks[i].device,
                         ranks[i].pci_bus_id, ranks[i].cores);
  if (ranks.size() > most_lines)
    lines += fmt::format("           and {} ranks more (all in the report)\n", ranks.size() - most_lines);
  for (const std::string& remark : facts.remarks) lines += fmt::format("remark     {}\n", remark);
  return lines;
}

json_document to_json(const tuning_summary& tuning) {
  json_document choices = json_document::array();
  for (const tuned_kernel& used : tuning.kernels)
    choices.push_back({{"kernel", used.kernel},
                       {"choice", used.choice},
                       {"candidates", used.candidates},
                       {"gain", used.gain},
                       {"origin", used.origin}});
  return {{"mode", tuning.mode}, {"file", tuning.file}, {"seconds", tuning.seconds}, {"choices", choices}};
}

void require_gpu_memory(const library& device, double bytes, const std::string& what) {
  const int ranks = device.facts().ranks_sharing;
  const double free = device.free_bytes(), needed = bytes * ranks;
  if (needed <= free) return;
  throw memory_error(fmt::format("{} needs {} on the GPU{}, and {} of its {} are free", what, format_bytes(needed),
                                 ranks > 1 ? fmt::format(" that {} ranks share", ranks) : "", format_bytes(free),
                                 format_bytes(device.facts().memory_bytes)));
}

}  // namespace plaquette
