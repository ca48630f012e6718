// SPDX-License-Identifier: BSD-3-Clause
#include "common/app/profiler.hpp"

#include <dlfcn.h>
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#else
inline int nvtxRangePushA(const char* /*name*/) { return 0; }
inline int nvtxRangePop() { return 0; }
#endif

namespace plaquette {

namespace {

using caliper_function = void (*)(const char*);
caliper_function caliper(const char* name) { return reinterpret_cast<caliper_function>(dlsym(RTLD_DEFAULT, name)); }

}  // namespace

void mark_range(const std::string& name) {
  static const caliper_function begin = caliper("cali_begin_region"), end = caliper("cali_end_region");
  static std::string current;
  if (!current.empty()) {
    nvtxRangePop();
    if (begin != nullptr && end != nullptr) end(current.c_str());
  }
  current = name;
  if (current.empty()) return;
  nvtxRangePushA(current.c_str());
  if (begin != nullptr && end != nullptr) begin(current.c_str());
}

}  // namespace plaquette
