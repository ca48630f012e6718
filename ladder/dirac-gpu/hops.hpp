// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The kernel of rungs 3 and 4 for any way to load: all hops of a site in registers, by the half spinors of the ladder
/// dirac-cpu. Rungs from 5 on differ in how links and spinors are loaded.
#pragma once

#include "ladder/dirac-gpu/problem.hpp"

namespace ladder::dirac_gpu {

/// Adds all hops of C columns of a site. links(u, site, mu) and spinors(psi, column, site) load.
template <int C, class R, class Links, class Spinors>
LADDER_BOTH void add_hops(spinor<R> (&sum)[C], const lattice& l, int site, const Links& links, const Spinors& spinors) {
  dirac::for_each_hop([&]<int mu, int sign>() {
    const int y = l.neighbour(site, mu, sign);
    link<R> u;
    links(u, sign > 0 ? site : y, mu);
    for (int column = 0; column < C; ++column) {
      spinor<R> psi;
      spinors(psi, column, y);
      dirac::add_hop<mu, sign>(sum[column], u, psi);
    }
  });
}

/// Makes the third row of a link of SU(3): the conjugate of the cross product of the others.
template <class R>
LADDER_BOTH void make_third_row(link<R>& u) {
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    const complex<R>&a = u[0][j], &b = u[1][k], &c = u[0][k], &d = u[1][j];
    u[2][i] = {a.re * b.re - a.im * b.im - c.re * d.re + c.im * d.im,
               -(a.re * b.im + a.im * b.re - c.re * d.im - c.im * d.re)};
  }
}

/// Spinors as [column][spin][colour][site] numbers.
template <class R>
struct whole_spinors {
  const complex<R>* numbers;
  int sites;
  LADDER_BOTH void operator()(spinor<R>& psi, int column, int site) const {
    for (int k = 0; k < 12; ++k) psi[k / 3][k % 3] = numbers[(column * 12 + k) * sites + site];
  }
};

template <class R>
LADDER_BOTH void store(complex<R>* out, int column, int site, int sites, const spinor<R>& psi) {
  for (int k = 0; k < 12; ++k) out[(column * 12 + k) * sites + site] = psi[k / 3][k % 3];
}

/// A thread for each site and column.
template <class R, class Links, class Spinors>
struct hops_body {
  lattice l;
  Links links;
  Spinors spinors;
  complex<R>* out;

  LADDER_BOTH void operator()(int index) const {
    const int site = index % l.sites, column = index / l.sites;
    spinor<R> sum[1]{};
    add_hops(sum, l, site, links, [&](spinor<R>& psi, int, int y) { spinors(psi, column, y); });
    store(out, column, site, l.sites, sum[0]);
  }
};

/// A rung with numbers of precision R in site order, whose links are loaded by Links.
template <class R, template <class> class Links>
class hops_rung : public site_order_rung<R> {
 public:
  hops_rung(size s, std::uint64_t seed)
      : site_order_rung<R>(s, seed),
        links_(by_number<R>(this->p.links, this->p.sites, 36)),
        in_(by_number<R>(this->p.in, this->p.sites, 12)) {}
  double bytes() const override {
    return links_.bytes() * Links<R>::numbers_of_link / 9 + in_.bytes() + this->result_.bytes();
  }
  void run() override {
    const int sites = this->p.sites;
    for_each_index(sites * columns,
                   hops_body<R, Links<R>, whole_spinors<R>>{
                       this->order, {links_.data(), sites}, {in_.data(), sites}, this->result_.data()});
  }

 protected:
  device_array<complex<R>> links_, in_;
};

}  // namespace ladder::dirac_gpu
