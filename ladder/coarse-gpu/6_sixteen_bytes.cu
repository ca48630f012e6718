// SPDX-License-Identifier: BSD-3-Clause
// ladder/coarse-gpu/6_sixteen_bytes.cu: like 5_nine_matrices, but a thread has two rows: it loads 16 bytes at a time.
// An instruction moves no more. A number of the vector serves both rows.
#include "ladder/coarse-gpu/nine.hpp"

namespace ladder::coarse_gpu {
namespace {

const add<nine_rung<2>> rung_6("coarse-gpu", 6, "16 bytes a load", 2e-6, "like 5, but a thread loads two rows at once");

}  // namespace
}  // namespace ladder::coarse_gpu
