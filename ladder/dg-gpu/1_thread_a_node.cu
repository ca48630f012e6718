// SPDX-License-Identifier: BSD-3-Clause
// ladder/dg-gpu/1_thread_a_node.cu: the page of rung 1 of dg-cpu, with a thread for each node. Each of the 20 threads
// of an element computes all 40 fluxes for itself. A second kernel does the Runge-Kutta update.
#include "ladder/dg-gpu/update.hpp"

namespace ladder::dg_gpu {
namespace {

struct node_body {
  tables<double> t;
  const double* q;
  double* rate;

  LADDER_BOTH void operator()(int index) const {
    const int element = index / np, n = index % np;
    double sum[fields]{};
    add_curls(sum, t, element, n, [&](int f, int m) { return q[t.at(f, element, m)]; });
    for (int face = 0; face < faces; ++face)
      for (int m = 0; m < nfp; ++m) {
        double flux[fields];
        t.fluxes(flux, q, element, face, m);
        for (int f = 0; f < fields; ++f) sum[f] += t.lift[n * face_nodes + face * nfp + m] * flux[f];
      }
    for (int f = 0; f < fields; ++f) rate[t.at(f, element, n)] = sum[f];
  }
};

class thread_a_node : public update_rung {
 public:
  using update_rung::update_rung;

 private:
  void compute_rate() override { for_each_index(p.elements * np, node_body{mesh(), q(), rate_.data()}); }
  double states_of_stage() const override { return 2 + 5; }  // q and rate; rate, and q and k both ways
};

double stages_of_run(size s) { return 6 * std::pow(dg::cells_of(s), 3) * stages; }
const describe ladder("dg-gpu",
                      "four time steps of Maxwell's equations, nodal discontinuous Galerkin of order 3, on a GPU",
                      "stage of an element", stages_of_run, 2.0 * fields * np * (3 * np + face_nodes));
const add<thread_a_node> rung_1("dg-gpu", 1, "a thread a node", 0, "the page, a thread for each node");

}  // namespace
}  // namespace ladder::dg_gpu
