// SPDX-License-Identifier: BSD-3-Clause
// ladder/coarse-cpu/5_library.cpp: like 4_columns, but by the library (cpu_ref/coarse/coarse_operator.hpp), in single
// precision: cycles of multigrid need no more. It works on any process grid and for any n.
#include "cpu_ref/coarse/coarse_operator.hpp"
#include "ladder/coarse-cpu/nine_matrices.hpp"
#include "ladder/transfer/library.hpp"

namespace ladder::coarse {
namespace {

using namespace plaquette;

class library : public coarse_rung {
 public:
  library(size s, std::uint64_t seed)
      : coarse_rung(s, seed),
        context_(lattice_geometry(p.extent), comm_, 1),
        operator_(context_, matrices()),
        in_(context_, geometry_, {2, n / 2, site_subset::full, columns}),
        out_(like(in_)) {
    for (int column = 0; column < columns; ++column)
      transfer::import_vector(in_, column, in[std::size_t(column)], blocks.coarse);
  }

  void run() override { operator_.apply(out_, in_); }
  std::vector<double> result() const override {
    std::vector<double> numbers;
    vector v(in[0].size());
    for (int column = 0; column < columns; ++column) {
      transfer::export_vector(v, out_, column, blocks.coarse);
      for (const number& z : v) numbers.insert(numbers.end(), {z.real(), z.imag()});
    }
    return numbers;
  }

 private:
  coarse_matrices matrices() const {
    const nine_matrices ours(p, blocks, diagonal);
    coarse_matrices theirs(*geometry_, n);
    for (int site = 0; site < ours.sites; ++site)
      for (int k = 0; k < 1 + hops; ++k)
        for (int i = 0; i < n * n; ++i) {
          const number z = ours.matrix(site, k)[i];
          theirs.matrix(geometry_->site(blocks.coarse.coordinates(site)), k)[i] = {float(z.real()), float(z.imag())};
        }
    return theirs;
  }

  communicator comm_;
  cpu::context context_;
  std::shared_ptr<const coarse_geometry> geometry_ =
      std::make_shared<coarse_geometry>(coarsened(context_.geometry(), {2, 2, 2, 2}));
  cpu::coarse_operator<float> operator_;
  cpu::coarse_field<float> in_, out_;
};

const add<library> rung_5("coarse-cpu", 5, "the library", 1e-6, "like 4, by cpu_ref/coarse, in single precision");

}  // namespace
}  // namespace ladder::coarse
