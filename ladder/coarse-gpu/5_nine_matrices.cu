// SPDX-License-Identifier: BSD-3-Clause
// ladder/coarse-gpu/5_nine_matrices.cu: like 4_columns, but each of the nine matrices has threads of its own. Sums of
// nine meet in shared memory.
#include "ladder/coarse-gpu/nine.hpp"

namespace ladder::coarse_gpu {
namespace {

const add<nine_rung<1>> rung_5("coarse-gpu", 5, "nine matrices at once", 2e-6,
                               "like 4, but threads for each of the nine matrices");

}  // namespace
}  // namespace ladder::coarse_gpu
