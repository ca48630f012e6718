// SPDX-License-Identifier: BSD-3-Clause
// An operator of one's own under the multigrid of the library: Wilson quarks with a twisted mass, M + i mu gamma_5.
// (Frezzotti, Grassi, Sint, Weisz, hep-lat/0101001) The library sees no more of it than what it does to vectors.
#include <cmath>
#include <cstdio>
#include <plaquette/own_operator.hpp>

namespace plq = plaquette::api;
using number = std::complex<double>;

template <class Number, class Real>
std::span<Real> reals(std::span<Number> z, Real* first) {
  return {first, 2 * z.size()};
}

int main() try {
  const plq::lattice lattice({4, 4, 4, 8});
  std::vector<double> links(72 * lattice.local_volume());  // [site][mu][row][column]: diagonal ones
  for (int n = 0; n < 4 * lattice.local_volume(); ++n)
    for (int c = 0; c < 3; ++c) {
      const double phase = (c - 1) * 0.9 * std::sin(1.0 + n / 4 + 3 * (n % 4));
      links[18 * n + 8 * c] = std::cos(phase), links[18 * n + 8 * c + 1] = std::sin(phase);
    }
  const plq::gauge_field gauge(lattice, links, plq::link_layout::dense(lattice.local()));

  const plq::dirac_operator wilson(gauge, {.mass = -0.25});
  const plq::spinor_layout layout = plq::spinor_layout::dense(lattice.local());
  const double mu = 0.02;
  const auto twisted = [&](std::span<number> out, std::span<const number> in) {
    wilson.apply(reals(out, reinterpret_cast<double*>(out.data())),
                 reals(in, reinterpret_cast<const double*>(in.data())), layout);
    for (std::size_t i = 0; i < in.size(); ++i)  // gamma_5 = diag(1, 1, -1, -1), three colours a spin
      out[i] += number(0.0, i % 12 < 6 ? mu : -mu) * in[i];
  };

  bool passed = true;
  for (const int levels : {1, 2}) {
    plq::own_solver solver(lattice, twisted, {.levels = levels});
    const plq::propagator quark = solver.solve(plq::source{}, {.tolerance = 1e-10});
    std::printf("%d level(s), %d iterations, %.2f s\n", solver.levels(), quark.report().columns[0].iterations,
                quark.report().seconds);
    if (levels == 2)
      for (const double value : quark.pion()) std::printf("%.15e\n", value);
    passed = passed && quark.verdict().passed;
  }
  std::printf("VERIFIED %s\n", passed ? "PASSED" : "FAILED");
  return passed ? 0 : 1;
} catch (const plq::error& e) {
  std::fprintf(stderr, "%s: %s\n", plq::text_of(e.which()), e.what());
  return static_cast<int>(e.which());
}
