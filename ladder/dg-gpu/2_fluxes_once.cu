// SPDX-License-Identifier: BSD-3-Clause
// ladder/dg-gpu/2_fluxes_once.cu: like 1_thread_a_node, but a kernel of its own computes each flux once, with a thread
// for each node of a face. The price is that fluxes go through memory, twice the numbers of a state.
#include "ladder/dg-gpu/update.hpp"

namespace ladder::dg_gpu {
namespace {

struct flux_body {
  tables<double> t;
  const double* q;
  double* flux;  // [field][element][face][m]

  LADDER_BOTH void operator()(int index) const {
    double numbers[fields];
    t.fluxes(numbers, q, index / face_nodes, index % face_nodes / nfp, index % nfp);
    for (int f = 0; f < fields; ++f) flux[f * t.elements * face_nodes + index] = numbers[f];
  }
};

struct lift_body {
  tables<double> t;
  const double *q, *flux;
  double* rate;

  LADDER_BOTH void operator()(int index) const {
    const int element = index / np, n = index % np;
    double sum[fields]{};
    add_curls(sum, t, element, n, [&](int f, int m) { return q[t.at(f, element, m)]; });
    for (int m = 0; m < face_nodes; ++m)
      for (int f = 0; f < fields; ++f)
        sum[f] += t.lift[n * face_nodes + m] * flux[(f * t.elements + element) * face_nodes + m];
    for (int f = 0; f < fields; ++f) rate[t.at(f, element, n)] = sum[f];
  }
};

class fluxes_once : public update_rung {
 public:
  fluxes_once(size s, std::uint64_t seed)
      : update_rung(s, seed), flux_(std::vector<double>(std::size_t(fields * p.elements * face_nodes))) {}

 private:
  void compute_rate() override {
    for_each_index(p.elements * face_nodes, flux_body{mesh(), q(), flux_.data()});
    for_each_index(p.elements * np, lift_body{mesh(), q(), flux_.data(), rate_.data()});
  }
  double states_of_stage() const override { return (1 + 2) + (1 + 2 + 1) + 5; }

  device_array<double> flux_;
};

const add<fluxes_once> rung_2("dg-gpu", 2, "fluxes once", 6e-15, "like 1, but a kernel computes each flux once");

}  // namespace
}  // namespace ladder::dg_gpu
