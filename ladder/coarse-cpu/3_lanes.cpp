// SPDX-License-Identifier: BSD-3-Clause
// ladder/coarse-cpu/3_lanes.cpp: like 2_nine_matrices, but eight rows of a matrix are a register.
#include "ladder/coarse-cpu/lanes.hpp"

namespace ladder::coarse {
namespace {

class lanes : public coarse_rung {
 public:
  lanes(size s, std::uint64_t seed) : coarse_rung(s, seed), matrices_({p, blocks, diagonal}) {}
  void run() override {
    for (std::size_t column = 0; column < columns; ++column) matrices_.apply<1>(&out[column], &in[column]);
  }

 private:
  lanes_of_rows matrices_;
};

const add<lanes> rung_3("coarse-cpu", 3, "8 rows a register", 1e-14,
                        "like 2, but eight rows of a matrix are a register");

}  // namespace
}  // namespace ladder::coarse
