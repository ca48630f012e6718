// SPDX-License-Identifier: BSD-3-Clause
// ladder/coarse-gpu/3_matrix_order.cu: like 2_thread_a_row, but a matrix lies by columns: 16 threads, a row each, read
// 16 numbers that follow each other, and not 16 that lie 128 bytes apart.
#include "ladder/coarse-gpu/rows.hpp"

namespace ladder::coarse_gpu {
namespace {

const add<rows_rung<order::by_columns>> rung_3("coarse-gpu", 3, "matrix order", 2e-6,
                                               "like 2, but a matrix lies by columns");

}  // namespace
}  // namespace ladder::coarse_gpu
