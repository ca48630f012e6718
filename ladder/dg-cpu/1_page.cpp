// SPDX-License-Identifier: BSD-3-Clause
// ladder/dg-cpu/1_page.cpp: the scheme on one page, as MaxwellRHS3D.m of the book has it: derivatives inside an
// element, upwind fluxes through its faces, lifted. Behind a conducting wall dH = 0 and dE = -2 E.
#include <array>

#include "ladder/dg-cpu/problem.hpp"

namespace ladder::dg {
namespace {

using vector3 = std::array<double, 3>;
double dot(const vector3& a, const vector3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
vector3 cross(const vector3& a, const vector3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

class page : public rung {
 public:
  page(size s, std::uint64_t seed) : p_(s, seed), q_(p_.state) {}

  void run() override {
    q_ = p_.state;
    lserk4_steps(q_, p_.dt, [this](double* rate, const double* q) {
      for (int e = 0; e < p_.elements; ++e) rate_of(e, rate, q);
    });
  }
  std::vector<double> result() const override { return q_; }

 private:
  void rate_of(int e, double* rate, const double* q) const {
    const auto& reference = p_.domain.reference;
    const auto& geometry = p_.domain.geometry[std::size_t(e)];
    for (int n = 0; n < np; ++n) {
      vector3 gradient[fields]{};  // by the chain rule, d/dx = rx Dr + sx Ds + tx Dt
      for (int f = 0; f < fields; ++f)
        for (std::size_t a = 0; a < 3; ++a) {
          double along = 0;
          for (int m = 0; m < np; ++m) along += reference.derivative[a](n, m) * q[p_.at(f, e, m)];
          for (std::size_t i = 0; i < 3; ++i) gradient[f][i] += geometry.metric[a][i] * along;
        }
      for (int i = 0; i < 3; ++i) {
        const std::size_t j = std::size_t(i + 1) % 3, k = std::size_t(i + 2) % 3;
        rate[p_.at(i, e, n)] = -(gradient[3 + k][j] - gradient[3 + j][k]);  // -curl E
        rate[p_.at(3 + i, e, n)] = gradient[k][j] - gradient[j][k];         // curl H
      }
    }
    for (int face = 0; face < faces; ++face)
      for (int m = 0; m < nfp; ++m) {
        const vector3& normal = geometry.normal[std::size_t(face)];
        const int inside = reference.node_of_face(face, m),
                  behind = p_.vmap_p[std::size_t((e * faces + face) * nfp + m)];
        vector3 dh, de;
        for (int i = 0; i < 3; ++i) {
          const double h = q[p_.at(i, e, inside)], electric = q[p_.at(3 + i, e, inside)];
          dh[std::size_t(i)] = behind < 0 ? 0 : q[p_.at(i, 0, behind)] - h;
          de[std::size_t(i)] = behind < 0 ? -2 * electric : q[p_.at(3 + i, 0, behind)] - electric;
        }
        const vector3 n_de = cross(normal, de), n_dh = cross(normal, dh);
        for (int i = 0; i < 3; ++i) {
          const double ni = normal[std::size_t(i)];
          const double flux_h = 0.5 * (dh[std::size_t(i)] - ni * dot(normal, dh) - n_de[std::size_t(i)]);
          const double flux_e = 0.5 * (de[std::size_t(i)] - ni * dot(normal, de) + n_dh[std::size_t(i)]);
          for (int n = 0; n < np; ++n) {
            const double lift = reference.lift(n, face * nfp + m) * geometry.face_scale[std::size_t(face)];
            rate[p_.at(i, e, n)] += lift * flux_h;
            rate[p_.at(3 + i, e, n)] += lift * flux_e;
          }
        }
      }
  }

  problem p_;
  std::vector<double> q_;
};

double stages_of_run(size s) { return 6 * std::pow(cells_of(s), 3) * steps * plaquette::lserk4::stages; }
const describe ladder("dg-cpu", "four time steps of Maxwell's equations, nodal discontinuous Galerkin of order 3",
                      "stage of an element", stages_of_run, 2.0 * fields * np * (3 * np + faces * nfp));
const add<page> rung_1("dg-cpu", 1, "one page", 0, "plain Maxwell, with loops over all indices");

}  // namespace
}  // namespace ladder::dg
