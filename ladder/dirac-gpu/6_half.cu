// SPDX-License-Identifier: BSD-3-Clause
// ladder/dirac-gpu/6_half.cu: like 5_two_rows, but numbers have 16 bits in memory.
#include "ladder/dirac-gpu/half.hpp"

namespace ladder::dirac_gpu {
namespace {

class sixteen_bits : public half_rung {
 public:
  using half_rung::half_rung;
  void run() override {
    for_each_index(p.sites * columns,
                   hops_body<float, half_links, half_spinors>{order, links(), spinors(), result_.data()});
  }
};

const add<sixteen_bits> rung_6("dirac-gpu", 6, "16 bits", 4e-4, "like 5, but numbers have 16 bits in memory");

}  // namespace
}  // namespace ladder::dirac_gpu
