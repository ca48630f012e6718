// SPDX-License-Identifier: BSD-3-Clause
// ladder/dirac-gpu/6_half.cu: like 5_two_rows, but numbers have 16 bits in memory, also those of the result. They lie
// so that a thread loads 16 bytes at a time: by two bytes a load, and with divisions, this rung took 1.8 times as long
// as 5.
#include "ladder/dirac-gpu/half.hpp"

namespace ladder::dirac_gpu {
namespace {

struct half_body {
  lattice l;
  half_links links;
  half_spinors in, out;

  LADDER_BOTH void operator()(int index) const {
    const int site = index % l.sites, column = index / l.sites;
    spinor<float> sum[1]{};
    add_hops(sum, l, site, links, [&](spinor<float>& psi, int, int y) { in(psi, column, y); });
    out.store(column, site, sum[0]);
  }
};

class sixteen_bits : public half_rung {
 public:
  using half_rung::half_rung;
  void run() override { for_each_index(p.sites * columns, half_body{order, links(), spinors(), results()}); }
};

const add<sixteen_bits> rung_6("dirac-gpu", 6, "16 bits", 4e-4, "like 5, but numbers have 16 bits in memory");

}  // namespace
}  // namespace ladder::dirac_gpu
