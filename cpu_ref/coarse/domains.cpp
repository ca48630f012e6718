// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/coarse/domains.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace plaquette::cpu {

namespace {

/// to = from on some sites of a coarse lattice, 0 elsewhere.
class chosen_coarse_sites {
 public:
  chosen_coarse_sites(const execution& on, const coarse_geometry& geometry, const extents& shape, int colour)
      : threads_(on.threads()),
        chosen_(std::make_shared<const std::vector<std::uint8_t>>(sites_of_colour(geometry, shape, colour))) {}
  template <class T>
  void apply(coarse_field<T>& to, const coarse_field<T>& from) const {
#pragma omp parallel for num_threads(threads_)
    for (std::int64_t site = 0; site < to.sites(); ++site) {
      const bool kept = (*chosen_)[static_cast<std::size_t>(to.first_site() + site)] != 0;
      for (int c = 0; c < to.columns(); ++c)
        if (kept)
          std::copy_n(from.at(site, c), to.components(), to.at(site, c));
        else
          std::fill_n(to.at(site, c), to.components(), complex<T>{});
    }
  }

 private:
  int threads_;
  std::shared_ptr<const std::vector<std::uint8_t>> chosen_;
};

}  // namespace

template <class T>
schwarz_domains<field<T>> fine_domains(const schur_wilson_clover<T>& a, const gauge_configuration& links,
                                       const extents& shape) {
  const context& ctx = a.full().hopping().get_context();
  const auto inside = std::make_shared<const wilson_clover<T>>(a.full(), links_inside_domains(links, shape));
  schwarz_domains<field<T>> made{any_operator<field<T>>(schur_wilson_clover<T>(inside, a.kind()))};
  for (const int colour : {0, 1})
    made.colours.emplace_back(site_diagonal<T>(ctx, domains_of_colour(ctx.geometry(), shape, colour)));
  return made;
}

schwarz_domains<coarse_field<float>> coarse_domains(const execution& on, const coarse_matrices& m,
                                                    const extents& shape) {
  using Field = coarse_field<float>;
  schwarz_domains<Field> made{any_operator<Field>(coarse_schur<float>(on, links_inside_domains(m, shape)))};
  for (const int colour : {0, 1}) made.colours.emplace_back(chosen_coarse_sites(on, m.geometry, shape, colour));
  return made;
}

template schwarz_domains<field<float>> fine_domains(const schur_wilson_clover<float>&, const gauge_configuration&,
                                                    const extents&);
template schwarz_domains<field<half>> fine_domains(const schur_wilson_clover<half>&, const gauge_configuration&,
                                                   const extents&);

}  // namespace plaquette::cpu
