// SPDX-License-Identifier: BSD-3-Clause
// ladder/transfer/5_library.cpp: like 4_columns, but by the library (cpu_ref/coarse/transfer.hpp), which keeps P in
// single precision. Its registers hold vectors, not rows; it reads spinors from the lanes of dirac-cpu, in any
// precision, and knows fields of even sites alone.
#include "ladder/transfer/library.hpp"
#include "ladder/transfer/problem.hpp"

namespace ladder::transfer {
namespace {

using namespace plaquette;

class library : public transfer_rung {
 public:
  library(size s, std::uint64_t seed)
      : transfer_rung(s, seed),
        context_(lattice_geometry(blocks.fine.extent), comm_, 1),
        p_(context_, null_space_of(blocks, context_.geometry())),
        x_(context_, {4, 3, site_subset::full, columns}),
        y_(like(x_)),
        d_(p_.coarse_like(columns)),
        c_(like(d_)) {
    for (int column = 0; column < columns; ++column) {
      spinor_configuration psi(context_.geometry());
      for (int k = 0; k < 12 * blocks.fine.sites(); ++k) {
        const number z = x[std::size_t(column)][std::size_t(k)];
        psi.at_site(k / 12)(k % 12 / 3, k % 3) = {z.real(), z.imag()};
      }
      import_column(x_, column, psi);
      import_vector(d_, column, d[std::size_t(column)], blocks.coarse);
    }
  }

  void run() override {
    p_.restrict_to(c_, x_);
    p_.prolong(y_, d_);
  }

  std::vector<double> result() const override {
    std::vector<double> numbers;
    vector v(d[0].size());
    for (int column = 0; column < columns; ++column) {
      export_vector(v, c_, column, blocks.coarse);
      for (const number& z : v) numbers.insert(numbers.end(), {z.real(), z.imag()});
    }
    for (int column = 0; column < columns; ++column) {
      spinor_configuration psi(context_.geometry());
      export_column(psi, y_, column);
      for (int k = 0; k < 12 * blocks.fine.sites(); ++k) {
        const auto& z = psi.at_site(k / 12)(k % 12 / 3, k % 3);
        numbers.insert(numbers.end(), {z.re, z.im});
      }
    }
    return numbers;
  }

 private:
  communicator comm_;
  cpu::context context_;
  cpu::transfer<float> p_;
  cpu::field<float> x_, y_;
  cpu::coarse_field<float> d_, c_;
};

const add<library> rung_5("transfer", 5, "the library", 4e-7,
                          "like 4, by cpu_ref/coarse/transfer.hpp, single precision");

}  // namespace
}  // namespace ladder::transfer
