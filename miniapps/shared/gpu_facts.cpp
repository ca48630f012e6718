// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/core.h>

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
}

std::string describe(gpu_access& gpu) {
  const gpu_facts& facts = gpu.facts();
  std::string lines = fmt::format("gpu        {}, {} multiprocessors, {} of memory, driver {}, CUDA {}\n", facts.name,
                                  facts.multiprocessors, format_bytes(facts.memory_bytes), facts.driver, facts.cuda);
  if (!gpu.monitor().works())
    lines += fmt::format("           clocks and energy cannot be read: {}\n", gpu.monitor().trouble());
  return lines;
}

void require_gpu_memory(const gpu_access& gpu, double bytes, const std::string& what) {
  const double free = gpu.free_bytes();
  if (bytes <= free) return;
  throw memory_error(fmt::format("{} needs {} on the GPU, and {} of its {} are free", what, format_bytes(bytes),
                                 format_bytes(free), format_bytes(gpu.facts().memory_bytes)));
}

}  // namespace plaquette
