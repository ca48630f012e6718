// SPDX-License-Identifier: BSD-3-Clause
// ladder/coarse-gpu/7_tiles.cu: like 6_sixteen_bytes, but a block copies the nine matrices of a site, and what they
// multiply, to the memory that its threads share. The copies are asynchronous. They pass through no register: 23 kB of
// a site are on their way at once, and those of several blocks. A load waits for a free register. Then each thread
// multiplies a tile of two rows by two columns: four numbers are read for four products.
// Bytes and flops are those of rung 4: 4873 and 18432 a site and column, or 1.5 ns at the 3.35 TB/s of an H100.
#include "ladder/coarse-gpu/nine.hpp"
#ifdef __CUDACC__
#include <cuda_pipeline_primitives.h>
#endif

namespace ladder::coarse_gpu {
namespace {

/// Begins to copy 8 or 16 bytes to shared memory.
template <class T>
LADDER_BOTH void begin_copy(T& to, const T& from) {
#ifdef __CUDA_ARCH__
  __pipeline_memcpy_async(&to, &from, sizeof(T));
#else
  to = from;
#endif
}
/// Waits for the copies that this thread has begun. The end of a step waits for those of the others.
LADDER_BOTH void end_copies() {
#ifdef __CUDA_ARCH__
  __pipeline_commit();
  __pipeline_wait_prior(0);
#endif
}

struct tiles_body : arrays {
  static constexpr int width = 2, threads = matrices * n / width * columns / width, steps = 3;
  using pair = group<width>;  // 16 bytes
  struct memory {
    pair a[matrices][n][n / width];         ///< in the order of arrays::a
    pair in[matrices][n][columns / width];  ///< columns of a number lie together
    number products[matrices][columns][n];
  };

  LADDER_BOTH void operator()(int step, int site, int thread, memory& shared) const {
    if (step == 0) {
      for (int i = thread; i < of_site / width; i += threads)
        begin_copy((&shared.a[0][0][0])[i], reinterpret_cast<const pair*>(matrix(site, 0))[i]);
      for (int i = thread; i < matrices * columns * n; i += threads) {
        const int j = i % n, batch = i / n % columns, k = i / n / columns;
        begin_copy(shared.in[k][j][batch / width].z[batch % width], vector(batch, site, k)[j]);
      }
      end_copies();
    } else if (step == 1) {
      const int rows = thread % (n / width), batches = thread / (n / width) % (columns / width);
      const int k = thread / (n / width) / (columns / width);
      number sum[width][width]{};
      for (int j = 0; j < n; ++j) {
        const pair a = shared.a[k][j][rows], v = shared.in[k][j][batches];
        for (int batch = 0; batch < width; ++batch)
          for (int row = 0; row < width; ++row) add_product(sum[batch][row], a.z[row], v.z[batch]);
      }
      for (int batch = 0; batch < width; ++batch)
        for (int row = 0; row < width; ++row)
          shared.products[k][batches * width + batch][rows * width + row] = sum[batch][row];
    } else if (thread < columns * n) {
      add_nine(*this, site, thread / n, thread % n, shared.products);
    }
  }
};

class tiles : public coarse_rung<order::by_columns> {
 public:
  using coarse_rung::coarse_rung;
  void run() override { for_each_block(sites, tiles_body{pointers()}); }
};

const add<tiles> rung_7("coarse-gpu", 7, "tiles", 2e-6, "like 6, but a block copies all that it needs, asynchronously");

}  // namespace
}  // namespace ladder::coarse_gpu
