// SPDX-License-Identifier: BSD-3-Clause
// ladder/transfer/2_aggregates.cpp: like 1_matrix, but without its zeros: a column of P lives on one aggregate and
// chirality. Work no longer grows with the square of the volume.
#include "ladder/transfer/problem.hpp"

namespace ladder::transfer {
namespace {

class by_aggregate : public transfer_rung {
 public:
  using transfer_rung::transfer_rung;

  void run() override {
    for (std::size_t column = 0; column < columns; ++column) {
      c[column] = blocks.restricted(x[column]);
      y[column] = blocks.prolonged(d[column]);
    }
  }
};

const add<by_aggregate> rung_2("transfer", 2, "aggregates", 4e-15, "like 1, but without the zeros");

}  // namespace
}  // namespace ladder::transfer
