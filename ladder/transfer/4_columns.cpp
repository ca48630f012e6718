// SPDX-License-Identifier: BSD-3-Clause
// ladder/transfer/4_columns.cpp: like 3_lanes, but four columns at once: a register of P is loaded once for all. P is
// most of what is read: 8 numbers for each number of a column.
#include "ladder/transfer/lanes.hpp"

namespace ladder::transfer {
namespace {

class four_columns : public transfer_rung {
 public:
  four_columns(size s, std::uint64_t seed) : transfer_rung(s, seed), p_(blocks) {}
  void run() override {
    p_.restrict_to<columns>(c.data(), x.data());
    p_.prolong<columns>(y.data(), d.data());
  }

 private:
  lanes_of_rows p_;
};

const add<four_columns> rung_4("transfer", 4, "columns", 4e-15, "like 3, but P is loaded once for four columns");

}  // namespace
}  // namespace ladder::transfer
