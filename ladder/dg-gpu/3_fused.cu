// SPDX-License-Identifier: BSD-3-Clause
// ladder/dg-gpu/3_fused.cu: like 2_fluxes_once, but one kernel does a stage, and a block of threads takes four
// elements. Their fields and fluxes are in the memory that the block shares, and the rate of change is in registers.
// Neighbours read the old state at any time, so the new one goes to another array.
#include "ladder/dg-gpu/problem.hpp"

namespace ladder::dg_gpu {
namespace {

struct fused_body {
  tables<double> t;
  double a, b, dt;
  const double* old;
  double *q, *k;

  static constexpr int elements = 4, threads = elements * face_nodes, steps = 2;
  struct memory {
    double field[elements][fields][np], flux[elements][fields][face_nodes];
  };

  LADDER_BOTH void operator()(int step, int block, int thread, memory& shared) const {
    const int here = step == 0 ? thread / face_nodes : thread / np, element = block * elements + here;
    if (step == 0) {
      const int m = thread % face_nodes;
      double flux[fields];
      t.fluxes(flux, old, element, m / nfp, m % nfp);
      for (int f = 0; f < fields; ++f) shared.flux[here][f][m] = flux[f];
      if (m >= np) return;
      for (int f = 0; f < fields; ++f) shared.field[here][f][m] = old[t.at(f, element, m)];
    } else if (here < elements) {
      const int n = thread % np;
      double rate[fields]{};
      add_curls(rate, t, element, n, [&](int f, int m) { return shared.field[here][f][m]; });
      for (int m = 0; m < face_nodes; ++m)
        for (int f = 0; f < fields; ++f) rate[f] += t.lift[n * face_nodes + m] * shared.flux[here][f][m];
      for (int f = 0; f < fields; ++f) {
        const int i = t.at(f, element, n);
        k[i] = a * k[i] + dt * rate[f];
        q[i] = old[i] + b * k[i];
      }
    }
  }
};

class fused : public dg_rung<double> {
 public:
  using dg_rung::dg_rung;

 private:
  void do_stage(double a, double b) override {
    for_each_block(p.elements / fused_body::elements, fused_body{mesh(), a, b, p.dt, q(), other_q(), k_.data()});
    now_ = 1 - now_;
  }
  double states_of_stage() const override { return 4; }  // the old state, the new one, k both ways
};

const add<fused> rung_3("dg-gpu", 3, "one kernel", 6e-15, "like 2, but one kernel does a stage");

}  // namespace
}  // namespace ladder::dg_gpu
