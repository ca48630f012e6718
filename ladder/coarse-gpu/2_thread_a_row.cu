// SPDX-License-Identifier: BSD-3-Clause
// ladder/coarse-gpu/2_thread_a_row.cu: like 1_thread_a_site, but a thread for each row: 16 times as many threads.
#include "ladder/coarse-gpu/rows.hpp"

namespace ladder::coarse_gpu {
namespace {

const add<rows_rung<order::by_rows>> rung_2("coarse-gpu", 2, "a thread a row", 2e-6,
                                            "like 1, but a thread for each row");

}  // namespace
}  // namespace ladder::coarse_gpu
