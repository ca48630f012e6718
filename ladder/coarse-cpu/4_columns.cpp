// SPDX-License-Identifier: BSD-3-Clause
// ladder/coarse-cpu/4_columns.cpp: like 3_lanes, but four columns at once: matrices are nearly all that is read, and a
// number of them now serves four times.
#include "ladder/coarse-cpu/lanes.hpp"

namespace ladder::coarse {
namespace {

class four_columns : public coarse_rung {
 public:
  four_columns(size s, std::uint64_t seed) : coarse_rung(s, seed), matrices_({p, blocks, diagonal}) {}
  void run() override { matrices_.apply<columns>(out.data(), in.data()); }

 private:
  lanes_of_rows matrices_;
};

const add<four_columns> rung_4("coarse-cpu", 4, "columns", 1e-14,
                               "like 3, but matrices are loaded once for four columns");

}  // namespace
}  // namespace ladder::coarse
