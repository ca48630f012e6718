// SPDX-License-Identifier: BSD-3-Clause
// ladder/dirac-gpu/7_columns.cu: like 6_half, but a thread takes four columns of a site: a link is loaded, and its
// third row computed, once for all.
#include "ladder/dirac-gpu/half.hpp"

namespace ladder::dirac_gpu {
namespace {

class four_columns : public half_rung {
 public:
  using half_rung::half_rung;
  void run() override { for_each_index(p.sites, columns_body{order, links(), spinors(), result_.data()}); }
};

const add<four_columns> rung_7("dirac-gpu", 7, "columns", 4e-4, "like 6, but a thread takes four columns");

}  // namespace
}  // namespace ladder::dirac_gpu
