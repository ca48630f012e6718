// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/gauge/link_arithmetic.hpp"

#include <cmath>

#include "cpu_ref/fields/site_sum.hpp"

namespace plaquette::cpu {

void assign(gauge_configuration& to, const gauge_configuration& from) {
  if (!(to.geometry() == from.geometry())) {
    to = from;
    return;
  }
  const extents local = to.geometry().local();
#pragma omp parallel for
  for (int t = -1; t <= local[3]; ++t)
    for (int z = -1; z <= local[2]; ++z)
      for (int y = -1; y <= local[1]; ++y)
        for (int x = -1; x <= local[0]; ++x) to({x, y, z, t}) = from({x, y, z, t});
}

void clear(gauge_configuration& matrices) {
  for_each_site(matrices.geometry(), [&](const coordinate& x) { matrices(x).fill({}); });
}

void combine(gauge_configuration& p, double a, const gauge_configuration& f, double b) {
  for_each_site(p.geometry(), [&](const coordinate& x) {
    for (std::size_t mu = 0; mu < dimensions; ++mu) p(x)[mu] = a * p(x)[mu] + b * f(x)[mu];
  });
}

void reunitarise(gauge_configuration& links, const communicator& comm) {
  for_each_site(links.geometry(), [&](const coordinate& x) {
    for (su3<double>& u : links(x)) u = reunitarised(u, [](double number) { return std::sqrt(number); });
  });
  exchange_ghosts(links, comm);
}

}  // namespace plaquette::cpu
