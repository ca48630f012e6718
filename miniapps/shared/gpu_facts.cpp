// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/core.h>

#include <algorithm>

#include "common/app/memory.hpp"
#include "common/error.hpp"
#include "miniapps/shared/gpu_access.hpp"

namespace plaquette {

void note_gpu(machine_record& machine, const gpu_access& gpu) {
  const gpu_facts& facts = gpu.facts();
  machine.gpu =
      fmt::format("{}, {} multiprocessors, {}", facts.name, facts.multiprocessors, format_bytes(facts.memory_bytes));
  machine.driver = facts.driver;
  machine.libraries.emplace_back("cuda", facts.cuda);
  machine.gpus = facts.map;
}

std::string describe(gpu_access& gpu) {
  constexpr std::size_t most_lines = 8;
  const gpu_facts& facts = gpu.facts();
  std::string lines = fmt::format("gpu        {}, {} multiprocessors, {} of memory, driver {}, CUDA {}\n", facts.name,
                                  facts.multiprocessors, format_bytes(facts.memory_bytes), facts.driver, facts.cuda);
  if (!gpu.monitor().works())
    lines += fmt::format("           clocks and energy cannot be read: {}\n", gpu.monitor().trouble());
  const json_document ranks = facts.map.is_null() ? json_document::array() : facts.map["ranks"];
  for (std::size_t i = 0; ranks.size() > 1 && i < std::min(ranks.size(), most_lines); ++i)
    lines += fmt::format("           rank {} on {}: GPU {} ({}), cores {}\n", i, ranks[i]["host"].get<std::string>(),
                         ranks[i]["device"].get<int>(), ranks[i]["pci_bus_id"].get<std::string>(),
                         ranks[i]["cores"].get<std::string>());
  if (ranks.size() > most_lines)
    lines += fmt::format("           and {} ranks more (all in the report)\n", ranks.size() - most_lines);
  for (const std::string& remark : facts.remarks) lines += fmt::format("remark     {}\n", remark);
  return lines;
}

void require_gpu_memory(const gpu_access& gpu, double bytes, const std::string& what) {
  const double free = gpu.free_bytes(), needed = bytes * gpu.facts().ranks_sharing;
  if (needed <= free) return;
  const int ranks = gpu.facts().ranks_sharing;
  throw memory_error(fmt::format("{} needs {} on the GPU{}, and {} of its {} are free", what, format_bytes(needed),
                                 ranks > 1 ? fmt::format(" that {} ranks share", ranks) : "", format_bytes(free),
                                 format_bytes(gpu.facts().memory_bytes)));
}

}  // namespace plaquette
