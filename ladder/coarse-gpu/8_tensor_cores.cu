// SPDX-License-Identifier: BSD-3-Clause
// ladder/coarse-gpu/8_tensor_cores.cu: like 7_tiles, but tensor cores multiply, a warp a matrix: an instruction for
// four columns of a matrix and four of the batch, 256 complex products. The warp loads its matrix straight into the
// registers that the instruction wants. No number is needed twice, so that only sums of nine meet in shared memory.
// Matrices have as many bytes as before, yet products are of numbers rounded to 11 bits (TF32); sums are in single
// precision. Where that is too coarse, as in a solver's residual, what rounding leaves is multiplied too.
#include "ladder/coarse-gpu/tensor.hpp"

namespace ladder::coarse_gpu {

/// A word is a number in single precision, rounded to 11 bits.
struct tf32 {
  static constexpr int width = 4;

  /// Returns a word: rounded to nearest.
  LADDER_BOTH static std::uint32_t word(float x) {
    std::uint32_t to;
#ifdef __CUDA_ARCH__
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(to) : "f"(x));
#else
    to = (std::bit_cast<std::uint32_t>(x) + 0x1000U) & ~0x1fffU;
#endif
    return to;
  }
  /// Returns what lane 4 g + t holds of rows g and g + 8: of a row, real parts are words 0 to 3, imaginary ones 4 to 7.
  static words<4> words_of_rows(const number* row, const number* row_8, int t) {
    return {{word(row[t].re), word(row_8[t].re), word(row[t].im), word(row_8[t].im)}};
  }
  template <class Vector>
  LADDER_BOTH static words<2> words_of_vector(const Vector& v, int t) {
    const number z = v(t);
    return {{word(z.re), word(z.im)}};
  }

#ifdef __CUDACC__
  __device__ static void multiply(float (&c)[4], const words<4>& a, const words<2>& b) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a.w[0]), "r"(a.w[1]), "r"(a.w[2]), "r"(a.w[3]), "r"(b.w[0]), "r"(b.w[1]));
  }
#endif
  static float product(std::uint32_t a, std::uint32_t b) { return std::bit_cast<float>(a) * std::bit_cast<float>(b); }
};

namespace {

const add<tensor_rung<tf32>> rung_8("coarse-gpu", 8, "tensor cores", 7e-4, "like 7, but tensor cores multiply");

}  // namespace
}  // namespace ladder::coarse_gpu
