// SPDX-License-Identifier: BSD-3-Clause
// ladder/dg-gpu/5_single.cu: like 4_covariant, but in single precision: half the bytes, and twice the arithmetic in
// the same time. Half as much shared memory leaves room for more blocks.
#include "ladder/dg-gpu/problem.hpp"

namespace ladder::dg_gpu {
namespace {

struct single_body {
  tables<float> t;
  float a, b, dt;
  const float* old;
  float *q, *k;

  static constexpr int elements = 4, threads = elements * face_nodes, steps = 2;
  struct memory {
    float field[elements][fields][np], flux[elements][fields][face_nodes];
  };

  /// Computes the components along the tangents, (dx/dr_a) / J, of H and E at a node.
  LADDER_BOTH void project(float (&u)[fields], int element) const {
    const vector3<float> h{{u[0], u[1], u[2]}}, e{{u[3], u[4], u[5]}};
    for (int i = 0; i < 3; ++i) {
      u[i] = dot(t.tangent[element * 3 + i], h);
      u[3 + i] = dot(t.tangent[element * 3 + i], e);
    }
  }
  /// Adds (-curl E, curl H) at node n, of the components u that project has left.
  LADDER_BOTH void add_curl(float (&rate)[fields], int element, int n, const float (&u)[fields][np]) const {
    float curl[fields]{};  // of H, then of E
    for (int m = 0; m < np; ++m)
      for (int i = 0; i < 3; ++i) {
        const int j = (i + 1) % 3, l = (i + 2) % 3;
        const float along_j = t.derivative[(j * np + n) * np + m], along_l = t.derivative[(l * np + n) * np + m];
        curl[i] += along_j * u[l][m] - along_l * u[j][m];
        curl[3 + i] += along_j * u[3 + l][m] - along_l * u[3 + j][m];
      }
    const vector3<float>* tangent = t.tangent + element * 3;
    const float jacobian = 1 / dot(tangent[0], t.metric[element * 3]);  // d r_0 / d r_0 = 1
    for (int x = 0; x < 3; ++x)
      for (int i = 0; i < 3; ++i) {
        rate[x] -= jacobian * tangent[i][x] * curl[3 + i];
        rate[3 + x] += jacobian * tangent[i][x] * curl[i];
      }
  }

  LADDER_BOTH void operator()(int step, int block, int thread, memory& shared) const {
    const int here = step == 0 ? thread / face_nodes : thread / np, element = block * elements + here;
    if (step == 0) {
      const int m = thread % face_nodes;
      float flux[fields], u[fields];
      t.fluxes(flux, old, element, m / nfp, m % nfp);
      for (int f = 0; f < fields; ++f) shared.flux[here][f][m] = flux[f];
      if (m >= np) return;
      for (int f = 0; f < fields; ++f) u[f] = old[t.at(f, element, m)];
      project(u, element);
      for (int f = 0; f < fields; ++f) shared.field[here][f][m] = u[f];
    } else if (here < elements) {
      const int n = thread % np;
      float rate[fields]{};
      add_curl(rate, element, n, shared.field[here]);
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

class single_precision : public dg_rung<float> {
 public:
  using dg_rung::dg_rung;

 private:
  void do_stage(float a, float b) override {
    for_each_block(p.elements / single_body::elements,
                   single_body{mesh(), a, b, float(p.dt), q(), other_q(), k_.data()});
    now_ = 1 - now_;
  }
  double states_of_stage() const override { return 4; }  // the old state, the new one, k both ways
};

const add<single_precision> rung_5("dg-gpu", 5, "single precision", 3e-6, "like 4, but in single precision");

}  // namespace
}  // namespace ladder::dg_gpu
