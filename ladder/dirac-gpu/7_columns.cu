// SPDX-License-Identifier: BSD-3-Clause
// ladder/dirac-gpu/7_columns.cu: like 6_half, but a thread takes two columns of a site: a link is loaded, and its third
// row computed, once for both. Four at once need registers that leave room for too few threads.
#include "ladder/dirac-gpu/half.hpp"

namespace ladder::dirac_gpu {
namespace {

struct site_major_body {
  columns_body columns_of;
  LADDER_BOTH void operator()(int index) const {
    columns_of(index % columns_of.l.sites, index / columns_of.l.sites * columns_body::at_once);
  }
};

class two_columns : public half_rung {
 public:
  using half_rung::half_rung;
  void run() override {
    for_each_index(p.sites * columns / columns_body::at_once, site_major_body{{order, links(), spinors(), results()}});
  }
};

const add<two_columns> rung_7("dirac-gpu", 7, "columns", 4e-4, "like 6, but a thread takes two columns");

}  // namespace
}  // namespace ladder::dirac_gpu
