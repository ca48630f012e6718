// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The kernel of rung 3 for any precision, with covariant components.
#pragma once

#include "ladder/dg-gpu/problem.hpp"

namespace ladder::dg_gpu {

/// What rung 4 brings: covariant components. With E_a = E . dx/dr_a the curl has six derivatives, not nine:
///   curl E = (1/J) sum_a dx/dr_a (D_b E_c - D_c E_b), with a, b, c in cyclic order.
/// The tangents of the tables are (dx/dr_a) / J; so the E_a below lack J, which divides out with one division.
template <class R>
struct covariant {
  LADDER_BOTH static void keep(R (&u)[fields], const tables<R>& t, int element) {
    const vector3<R> h{{u[0], u[1], u[2]}}, e{{u[3], u[4], u[5]}};
    for (int a = 0; a < 3; ++a) {
      u[a] = dot(t.tangent[element * 3 + a], h);
      u[3 + a] = dot(t.tangent[element * 3 + a], e);
    }
  }
  template <class Fields>
  LADDER_BOTH static void add(R (&rate)[fields], const tables<R>& t, int element, int n, const Fields& u) {
    R curl[fields]{};  // of H, then of E
    for (int m = 0; m < np; ++m)
      for (int a = 0; a < 3; ++a) {
        const int b = (a + 1) % 3, c = (a + 2) % 3;
        const R along_b = t.derivative[(b * np + n) * np + m], along_c = t.derivative[(c * np + n) * np + m];
        curl[a] += along_b * u(c, m) - along_c * u(b, m);
        curl[3 + a] += along_b * u(3 + c, m) - along_c * u(3 + b, m);
      }
    const vector3<R>* tangent = t.tangent + element * 3;
    const R j = 1 / dot(tangent[0], t.metric[element * 3]);  // J: d r_0 / d r_0 = 1
    for (int i = 0; i < 3; ++i)
      for (int a = 0; a < 3; ++a) {
        rate[i] -= j * tangent[a][i] * curl[3 + a];
        rate[3 + i] += j * tangent[a][i] * curl[a];
      }
  }
};

template <class R>
struct covariant_body {
  tables<R> t;
  R a, b, dt;
  const R* old;
  R *q, *k;

  static constexpr int elements = 4, threads = elements * face_nodes, steps = 2;
  struct memory {
    R field[elements][fields][np], flux[elements][fields][face_nodes];
  };

  LADDER_BOTH void operator()(int step, int block, int thread, memory& shared) const {
    const int here = step == 0 ? thread / face_nodes : thread / np, element = block * elements + here;
    if (step == 0) {
      const int m = thread % face_nodes;
      R flux[fields], u[fields];
      t.fluxes(flux, old, element, m / nfp, m % nfp);
      for (int f = 0; f < fields; ++f) shared.flux[here][f][m] = flux[f];
      if (m >= np) return;
      for (int f = 0; f < fields; ++f) u[f] = old[t.at(f, element, m)];
      covariant<R>::keep(u, t, element);
      for (int f = 0; f < fields; ++f) shared.field[here][f][m] = u[f];
    } else if (here < elements) {
      const int n = thread % np;
      R rate[fields]{};
      covariant<R>::add(rate, t, element, n, [&](int f, int m) { return shared.field[here][f][m]; });
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

template <class R>
class covariant_rung : public dg_rung<R> {
 public:
  using dg_rung<R>::dg_rung;

 private:
  using body = covariant_body<R>;
  void do_stage(R a, R b) override {
    for_each_block(this->p.elements / body::elements,
                   body{this->mesh(), a, b, R(this->p.dt), this->q(), this->other_q(), this->k_.data()});
    this->now_ = 1 - this->now_;
  }
  double states_of_stage() const override { return 4; }  // the old state, the new one, k both ways
};

}  // namespace ladder::dg_gpu
