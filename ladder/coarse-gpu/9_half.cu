// SPDX-License-Identifier: BSD-3-Clause
// ladder/coarse-gpu/9_half.cu: like 8_tensor_cores, but numbers of matrices have 16 bits in memory: 11 of mantissa, as
// tensor cores take of the others, and 5 of exponent. A word is a complex number, and an instruction takes eight
// columns of a matrix. Bytes are 2569 a site and column, not 4873: 0.77 ns at the 3.35 TB/s of an H100. Numbers here
// are about one. The library scales them: 16 bits end at 65504, and below 6e-5 they lose places.
#include "ladder/coarse-gpu/tensor.hpp"

namespace ladder::coarse_gpu {

/// A word is two numbers of 16 bits (IEEE binary16): the real part in its lower half.
struct halves {
  static constexpr int width = 8;

  LADDER_BOTH static std::uint32_t word(const number& z) {
    std::uint32_t to;
#ifdef __CUDA_ARCH__
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(to) : "f"(z.im), "f"(z.re));
#else
    to = half(z.re) | half(z.im) << 16;
#endif
    return to;
  }
  /// Returns what lane 4 g + t holds of rows g and g + 8.
  static words<4> words_of_rows(const number* row, const number* row_8, int t) {
    return {{word(row[t]), word(row_8[t]), word(row[t + 4]), word(row_8[t + 4])}};
  }
  template <class Vector>
  LADDER_BOTH static words<2> words_of_vector(const Vector& v, int t) {
    return {{word(v(t)), word(v(t + 4))}};
  }

#ifdef __CUDACC__
  __device__ static void multiply(float (&c)[4], const words<4>& a, const words<2>& b) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a.w[0]), "r"(a.w[1]), "r"(a.w[2]), "r"(a.w[3]), "r"(b.w[0]), "r"(b.w[1]));
  }
#endif
  static float product(std::uint32_t a, std::uint32_t b) {
    return number_of(a) * number_of(b) + number_of(a >> 16) * number_of(b >> 16);
  }

 private:
  /// Returns x in 16 bits, rounded to nearest: times 2^-112 the exponents agree, and 13 bits of mantissa are too many.
  static std::uint32_t half(float x) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(x * 0x1p-112F), sign = bits >> 31;
    return (sign << 15) | (((bits & ~(1U << 31)) + 0xfffU + (bits >> 13 & 1U)) >> 13);
  }
  /// Returns the number in the lower half of a word.
  static float number_of(std::uint32_t word) {
    return std::bit_cast<float>((word & 0x8000U) << 16 | (word & 0x7fffU) << 13) * 0x1p112F;
  }
};

namespace {

const add<tensor_rung<halves>> rung_9("coarse-gpu", 9, "16 bits", 7e-4, "like 8, but numbers of matrices have 16 bits");

}  // namespace
}  // namespace ladder::coarse_gpu
