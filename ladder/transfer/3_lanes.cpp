// SPDX-License-Identifier: BSD-3-Clause
// ladder/transfer/3_lanes.cpp: like 2_aggregates, but eight rows of P are a register.
#include "ladder/transfer/lanes.hpp"

namespace ladder::transfer {
namespace {

class lanes : public transfer_rung {
 public:
  lanes(size s, std::uint64_t seed) : transfer_rung(s, seed), p_(blocks) {}
  void run() override {
    for (std::size_t column = 0; column < columns; ++column) {
      p_.restrict_to<1>(&c[column], &x[column]);
      p_.prolong<1>(&y[column], &d[column]);
    }
  }

 private:
  lanes_of_rows p_;
};

const add<lanes> rung_3("transfer", 3, "8 rows a register", 4e-15, "like 2, but eight rows of P are a register");

}  // namespace
}  // namespace ladder::transfer
