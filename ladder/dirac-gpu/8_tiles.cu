// SPDX-License-Identifier: BSD-3-Clause
// ladder/dirac-gpu/8_tiles.cu: like 7_columns, but 128 threads that run together take a tile of the lattice, not 128
// sites in a row. Most neighbours of a tile lie inside it: they are in the cache of the multiprocessor already.
#include "ladder/dirac-gpu/half.hpp"

namespace ladder::dirac_gpu {
namespace {

/// Returns the site of a thread, of the sites of one pair of columns: tiles follow each other, and each is 8 x 4 x 2 x
/// 2 sites (4 x 4 x 2 x 4 where x has 4). Two numbers of 16 bytes along x are the 32 bytes that memory hands out at
/// once.
LADDER_BOTH int site_of_tiles(const lattice& l, int index) {
  const int width = l.extent[0] % 8 == 0 ? 8 : 4, tile[4] = {width, 4, 2, 16 / width};
  int within = index % 128, which = index / 128, site = 0, stride = 1;
  for (int mu = 0; mu < 4; ++mu) {
    const int tiles = l.extent[mu] / tile[mu];
    site += (which % tiles * tile[mu] + within % tile[mu]) * stride;
    which /= tiles, within /= tile[mu], stride *= l.extent[mu];
  }
  return site;
}

struct tiles_body {
  columns_body columns_of;
  LADDER_BOTH void operator()(int index) const {
    const int sites = columns_of.l.sites;
    columns_of(site_of_tiles(columns_of.l, index % sites), index / sites * columns_body::at_once);
  }
};

class tiles : public half_rung {
 public:
  using half_rung::half_rung;
  void run() override {
    for_each_index(p.sites * columns / columns_body::at_once, tiles_body{{order, links(), spinors(), results()}});
  }
};

const add<tiles> rung_8("dirac-gpu", 8, "tiles", 4e-4, "like 7, but a block of threads takes a tile of the lattice");

}  // namespace
}  // namespace ladder::dirac_gpu
