// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How much of its time a GPU is idle in any program, and which kernels take the rest. A library that the CUDA driver
/// loads into the program; it prints to stderr when the program ends:
///
///   CUDA_INJECTION64_PATH=$PWD/libidle_time.so plaquette-multigrid --device gpu ...
///
/// Pauses of PLAQUETTE_IDLE_PAUSE milliseconds (2) cut a run into stretches; the PLAQUETTE_IDLE_STRETCHES (6) longest
/// are printed, in the order of time. Kernels of a graph are seen one by one, and each then waits until the one before
/// has ended. So where kernels start early (programmatic dependent launch), idle times are longer than without this
/// library. With PLAQUETTE_IDLE_GRAPHS=whole a graph is one activity, and only pauses between graphs are seen.
#include <cupti.h>
#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <unordered_map>

#include "gpu/lab/activity_summary.hpp"

namespace plaquette::gpu::lab {
namespace {

struct record {
  std::mutex mutex;
  std::vector<activity> activities;
  std::vector<std::string> names;
  std::unordered_map<std::string, std::uint32_t> places;
  std::size_t dropped = 0;

  std::uint32_t place_of(const char* name) {
    const auto [at, is_new] = places.emplace(name, static_cast<std::uint32_t>(names.size()));
    if (is_new) names.emplace_back(name);
    return at->second;
  }
  void add(std::uint64_t begin, std::uint64_t end, const char* name) {
    if (begin == 0 || end < begin)
      ++dropped;
    else
      activities.push_back({begin, end, place_of(name)});
  }
};

/// Never destroyed: buffers may come after main has ended.
record& recorded() {
  static auto* const all = new record;
  return *all;
}

double from_environment(const char* name, double otherwise) {
  const char* const text = std::getenv(name);
  return text ? std::atof(text) : otherwise;
}

constexpr std::size_t buffer_bytes = std::size_t{8} << 20, alignment = 8;

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(alignment, buffer_bytes));
  *size = *buffer ? buffer_bytes : 0;
  *most_records = 0;
}

void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t /*size*/,
                          std::size_t filled) {
  record& all = recorded();
  const std::lock_guard lock(all.mutex);
  CUpti_Activity* next = nullptr;
  while (filled > 0 && cuptiActivityGetNextRecord(buffer, filled, &next) == CUPTI_SUCCESS) {
    switch (next->kind) {
      case CUPTI_ACTIVITY_KIND_KERNEL:
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
        const auto* const k = reinterpret_cast<const CUpti_ActivityKernel10*>(next);
        all.add(k->start, k->end, k->name);
        break;
      }
      case CUPTI_ACTIVITY_KIND_MEMCPY: {
        const auto* const c = reinterpret_cast<const CUpti_ActivityMemcpy6*>(next);
        all.add(c->start, c->end, "copy of memory");
        break;
      }
      case CUPTI_ACTIVITY_KIND_MEMSET: {
        const auto* const s = reinterpret_cast<const CUpti_ActivityMemset4*>(next);
        all.add(s->start, s->end, "fill of memory");
        break;
      }
      case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: {
        const auto* const g = reinterpret_cast<const CUpti_ActivityGraphTrace2*>(next);
        all.add(g->start, g->end, "graph");
        break;
      }
      default:
        break;
    }
  }
  std::size_t lost = 0;
  if (cuptiActivityGetNumDroppedRecords(context, stream, &lost) == CUPTI_SUCCESS) all.dropped += lost;
  std::free(buffer);
}

/// A kernel's name without the types of its parameters.
std::string readable(const std::string& name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 && text ? text : name;
  std::free(text);
  // The list of parameters is the last pair of brackets at the end.
  int depth = 0;
  for (std::size_t k = result.size(); k-- > 0;) {
    if (result[k] == ')') ++depth;
    if (result[k] == '(' && --depth == 0) {
      if (k > 0) result.resize(k);
      break;
    }
  }
  for (const std::string word : {"plaquette::gpu::", "plaquette::", "(anonymous namespace)::", "void "})
    for (std::size_t at = 0; (at = result.find(word, at)) != std::string::npos;) result.erase(at, word.size());
  constexpr std::size_t longest = 150;
  return result.size() > longest ? result.substr(0, longest - 3) + "..." : result;
}

void print() {
  cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  record& all = recorded();
  const std::lock_guard lock(all.mutex);
  const double pause_ms = from_environment("PLAQUETTE_IDLE_PAUSE", 2.0);
  std::vector<activity_stretch> found = stretches_of(all.activities, static_cast<std::uint64_t>(1e6 * pause_ms));
  std::vector<double> lengths;
  for (const activity_stretch& s : found) lengths.push_back(s.seconds());
  std::ranges::sort(lengths, std::ranges::greater{});
  const auto wanted = static_cast<std::size_t>(from_environment("PLAQUETTE_IDLE_STRETCHES", 6.0));
  const double shortest = wanted == 0 || lengths.empty() ? 1e300 : lengths[std::min(wanted, lengths.size()) - 1];
  std::fprintf(stderr, "idle time  %zu activities, %zu without times; %zu stretches between pauses of %g ms\n",
               all.activities.size(), all.dropped, found.size(), pause_ms);
  for (const activity_stretch& s : found) {
    if (s.seconds() < shortest) continue;
    std::fprintf(stderr, "stretch    from %.3f s: %.4f s, idle %.1f%% (longest pause %.1f us), %lld activities\n",
                 1e-9 * static_cast<double>(s.begin - found.front().begin), s.seconds(), 100.0 * s.idle_share(),
                 1e-3 * static_cast<double>(s.longest_idle), static_cast<long long>(s.count));
    constexpr std::size_t most_names = 14;
    for (std::size_t k = 0; k < std::min(most_names, s.shares.size()); ++k) {
      const activity_share& share = s.shares[k];
      std::fprintf(stderr, "  %5.1f%%  %9.3f ms  %7lld x %9.2f us  %s\n", 100.0 * share.seconds / s.seconds(),
                   1e3 * share.seconds, static_cast<long long>(share.count),
                   1e6 * share.seconds / static_cast<double>(share.count), readable(all.names[share.name]).c_str());
    }
  }
}

bool succeeds(CUptiResult result, const char* what) {
  if (result == CUPTI_SUCCESS) return true;
  const char* why = "?";
  cuptiGetResultString(result, &why);
  std::fprintf(stderr, "idle time  nothing is recorded: %s: %s\n", what, why);
  return false;
}

}  // namespace
}  // namespace plaquette::gpu::lab

/// The CUDA driver calls this when it starts. Returns 1: loaded.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  using namespace plaquette::gpu::lab;
  const char* const graphs = std::getenv("PLAQUETTE_IDLE_GRAPHS");
  const bool whole = graphs && std::strcmp(graphs, "whole") == 0;
  if (succeeds(cuptiActivityRegisterCallbacks(give_buffer, take_buffer), "callbacks") &&
      succeeds(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "kernels") &&
      succeeds(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY), "copies") &&
      succeeds(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET), "fills") &&
      (!whole || succeeds(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), "graphs")))
    std::atexit(print);
  return 1;
}
