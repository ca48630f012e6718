// SPDX-License-Identifier: BSD-3-Clause
// ladder/coarse-gpu/7_half.cu: like 6_sixteen_bytes, but numbers of matrices have 16 bits in memory, and a scale a
// matrix. A thread has four rows, so that a load is 16 bytes again.
#include <algorithm>

#include "ladder/coarse-gpu/nine.hpp"

namespace ladder::coarse_gpu {
namespace {

constexpr float largest = 32767;
struct fixed {
  short re, im;
};
struct alignas(16) four_fixed {
  fixed z[4];
};

struct load_fixed {
  const fixed* numbers;  ///< in the order of arrays::a
  const float* scales;   ///< [site][matrix]

  LADDER_BOTH group<4> operator()(const arrays&, int site, int k, int at) const {
    const auto four = *reinterpret_cast<const four_fixed*>(numbers + site * of_site + k * of_matrix + at);
    const float scale = scales[site * matrices + k];
    group<4> to;
    for (int i = 0; i < 4; ++i) to.z[i] = {scale * float(four.z[i].re), scale * float(four.z[i].im)};
    return to;
  }
};

class sixteen_bits : public coarse_rung<order::by_columns> {
 public:
  sixteen_bits(size s, std::uint64_t seed) : coarse_rung(s, seed), scales_(scales()), fixed_(packed()) {}
  void run() override {
    for_each_block(sites / 4, nine_body<4, load_fixed>{pointers(), {fixed_.data(), scales_.data()}});
  }
  double bytes() const override { return coarse_rung::bytes() - a_.bytes() + fixed_.bytes() + scales_.bytes(); }

 private:
  std::vector<float> scales() const {
    std::vector<float> to(std::size_t(sites) * matrices);
    for (std::size_t i = 0; i < matrices_of_sites.size(); ++i) {
      const number& z = matrices_of_sites[i];
      to[i / of_matrix] = std::max({to[i / of_matrix], std::abs(z.re) / largest, std::abs(z.im) / largest});
    }
    return to;
  }
  std::vector<fixed> packed() const {
    const auto scale = scales();
    std::vector<fixed> to;
    for (const number& z : a_.numbers()) {
      const float s = scale[to.size() / of_matrix];
      to.push_back({short(std::lrint(z.re / s)), short(std::lrint(z.im / s))});
    }
    return to;
  }

  device_array<float> scales_;
  device_array<fixed> fixed_;
};

const add<sixteen_bits> rung_7("coarse-gpu", 7, "16 bits", 4e-4, "like 6, but numbers of matrices have 16 bits");

}  // namespace
}  // namespace ladder::coarse_gpu
