// SPDX-License-Identifier: BSD-3-Clause
// ladder/coarse-gpu/10_library.cpp: like 9_half, but by the library (gpu/coarse/coarse_operator.hpp). It takes any
// number of columns and of numbers a site; plain multiply-adds serve one column, from the same tiles.
#include "gpu/coarse/coarse_operator.hpp"

#include "gpu/context.hpp"
#include "ladder/coarse-gpu/problem.hpp"

namespace ladder::coarse_gpu {
namespace {

using namespace plaquette;

class library : public coarse_rung<order::by_rows> {
 public:
  library(size s, std::uint64_t seed)
      : coarse_rung(s, seed),
        context_(lattice_geometry(fine_extents()), comm_),
        geometry_(coarsened(context_.geometry(), {2, 2, 2, 2})),
        operator_(context_.execution(), gpu::import_matrices(context_.execution(), theirs()),
                  gpu::coarse_storage::half),
        x_(context_.execution(), std::make_shared<gpu::coarse_lattice>(context_.execution(), geometry_),
           {2, n / 2, site_subset::full, columns}),
        y_(like(x_)) {
    const auto from = in_.numbers();
    std::vector<plaquette::complex<double>> to(lattice.size());
    for (int column = 0; column < columns; ++column) {
      for (std::size_t i = 0; i < to.size(); ++i) {
        const coarse_gpu::number& z = from[std::size_t(column) * to.size() + i];
        to[place(int(i))] = {z.re, z.im};
      }
      import_column(x_, column, std::span<const plaquette::complex<double>>(to));
    }
  }

  void run() override {
    operator_.apply(y_, x_);
    context_.execution().queue().synchronize();
  }
  double bytes() const override { return coarse_rung::bytes() - a_.bytes() / 2; }
  std::vector<double> result() const override {
    std::vector<double> to;
    std::vector<plaquette::complex<double>> from(lattice.size());
    for (int column = 0; column < columns; ++column) {
      export_column(std::span(from), y_, column);
      for (int i = 0; i < int(from.size()); ++i) to.insert(to.end(), {from[place(i)].re, from[place(i)].im});
    }
    return to;
  }

 private:
  std::array<int, 4> fine_extents() const {
    auto to = lattice.extent;
    for (int& extent : to) extent *= 2;
    return to;
  }
  /// Returns where number i of a vector is in the library's order: even sites first.
  std::size_t place(int i) const {
    return std::size_t(geometry_.site(lattice.coordinates(i / n))) * n + std::size_t(i % n);
  }
  plaquette::coarse_matrices theirs() const {
    plaquette::coarse_matrices to(geometry_, n);
    for (int site = 0; site < sites; ++site)
      for (int i = 0; i < of_site; ++i) {
        const coarse_gpu::number& z = matrices_of_sites[std::size_t(site) * of_site + std::size_t(i)];
        to.matrix(geometry_.site(lattice.coordinates(site)), 0)[i] = {z.re, z.im};
      }
    return to;
  }

  communicator comm_;
  gpu::context context_;
  coarse_geometry geometry_;
  gpu::coarse_operator<float> operator_;
  gpu::coarse_field<float> x_, y_;
};

const add<library> rung_10("coarse-gpu", 10, "the library", 3e-3, "like 9, by gpu/coarse, for any number of columns");

}  // namespace
}  // namespace ladder::coarse_gpu
