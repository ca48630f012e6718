// SPDX-License-Identifier: BSD-3-Clause
// ladder/dg-gpu/5_single.cu: like 4_covariant, but in single precision: half the bytes, and twice the arithmetic in
// the same time.
#include "ladder/dg-gpu/covariant.hpp"

namespace ladder::dg_gpu {
namespace {

const add<covariant_rung<float>> rung_5("dg-gpu", 5, "single precision", 3e-6, "like 4, but in single precision");

}  // namespace
}  // namespace ladder::dg_gpu
