// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/device/caller_memory.hpp"
#include "gpu/device/launch.hpp"

namespace plaquette::gpu {
namespace {

template <class To, class From>
struct convert_number {
  To* to;
  const From* from;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const { to[n] = static_cast<To>(from[n]); }
};

template <class To, class From>
void convert(To* to, const From* from, std::size_t count, int device) {
  const queue q(device);
  for_each_index(q, static_cast<std::int64_t>(count), convert_number<To, From>{to, from});
  q.synchronize();
}

}  // namespace

void widen_for_caller(double* to, const float* from, std::size_t count, const char* name) {
  convert(to, from, count, device_of_caller(from, count * sizeof(float), name));
}
void round_for_caller(float* to, const double* from, std::size_t count, const char* name) {
  convert(to, from, count, device_of_caller(to, count * sizeof(float), name));
}

}  // namespace plaquette::gpu
