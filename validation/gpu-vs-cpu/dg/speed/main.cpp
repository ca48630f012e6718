// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// dg_speed [ORDERS [KINDS [NODES [ONLY]]]]: times stages. ORDERS "1-8", KINDS of "a" (acoustics), "m" (Maxwell), "f"
/// (float), "d" (double), "c" (central fluxes in place of upwind ones), NODES in millions, ONLY a part of the variants'
/// names.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "gpu/device/machine_speed.hpp"
#include "validation/gpu-vs-cpu/dg/speed/dg_bench.hpp"

int main(int argc, char** argv) {
  using namespace plaquette::gpu;
  const auto argument = [&](int i, const char* otherwise) { return std::string(argc > i ? argv[i] : otherwise); };
  try {
    const std::string orders = argument(1, "1-8"), kinds = argument(2, "amfd");
    const int first = std::atoi(orders.c_str());
    const auto dash = orders.find('-');
    const int last = dash == std::string::npos ? first : std::atoi(orders.c_str() + dash + 1);
    const double millions = std::atof(argument(3, "3").c_str());
    const auto has = [&](char kind) { return kinds.find(kind) != std::string::npos; };
    const queue q;
    dg::speed_options options;
    options.only = argument(4, "");
    options.copy_gbytes = kernels_run_on_host() ? 0.0 : copy_gbytes_per_s(q);
    std::printf("%s: copy %.0f GB/s\n", describe_device(q.device()).name.c_str(), options.copy_gbytes);
    for (int order = first; order <= last; ++order) {
      plaquette::dg_domain domain = dg::make_speed_domain(order, static_cast<std::int64_t>(millions * 1e6));
      if (has('c')) domain.problem.upwinding = 0.0;
      if (has('a') && has('f')) dg::time_acoustics_single(domain, q, options);
      if (has('a') && has('d')) dg::time_acoustics_double(domain, q, options);
      if (has('m') && has('f')) dg::time_maxwell_single(domain, q, options);
      if (has('m') && has('d')) dg::time_maxwell_double(domain, q, options);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dg_speed: %s\n", error.what());
    return 70;
  }
  return 0;
}
