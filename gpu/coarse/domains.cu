// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/coarse/domains.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "gpu/device/launch.hpp"

namespace plaquette::gpu {

namespace {

/// to = from on chosen sites, 0 elsewhere; an index is a number of a column of a site.
template <class T>
struct choose_coarse_sites {
  coarse_pointer<complex<T>> to;
  coarse_pointer<const complex<T>> from;
  const std::uint8_t* chosen;  ///< of the field's sites
  std::int32_t columns;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t rest = index / to.n, site = rest / columns;
    const auto k = static_cast<int>(index - rest * to.n), c = static_cast<int>(rest - site * columns);
    to.at(site, c)[k] = chosen[site] != 0 ? from.at(site, c)[k] : complex<T>{};
  }
};

class chosen_coarse_sites {
 public:
  chosen_coarse_sites(const execution& on, const coarse_geometry& geometry, const extents& shape, int colour)
      : execution_(on), chosen_(array_on_device(on, sites_of_colour(geometry, shape, colour))) {}
  void apply(coarse_field<float>& to, const coarse_field<float>& from) const {
    for_each_index(
        execution_.queue(), to.sites() * to.columns() * to.components(),
        choose_coarse_sites<float>{to.numbers(), from.numbers(), chosen_.get() + to.first_site(), to.columns()});
  }

 private:
  execution execution_;
  std::shared_ptr<const std::uint8_t> chosen_;
};

}  // namespace

template <class T>
schwarz_domains<field<T>> fine_domains(const schur_wilson_clover<T>& a, const gauge_configuration& links,
                                       const extents& shape) {
  const context& ctx = a.full().hopping().get_context();
  const auto inside = std::make_shared<const wilson_clover<T>>(
      a.full(), import_links(ctx, links_inside_domains(export_links(links), shape)));
  schwarz_domains<field<T>> made{any_operator<field<T>>(schur_wilson_clover<T>(inside, a.kind()))};
  for (const int colour : {0, 1})
    made.colours.emplace_back(
        site_diagonal<T>(ctx, import_clover(ctx, domains_of_colour(ctx.geometry(), shape, colour))));
  return made;
}

schwarz_domains<coarse_field<float>> coarse_domains(const coarse_matrices& m, const extents& shape,
                                                    coarse_storage storage) {
  using Field = coarse_field<float>;
  const execution& on = m.get_execution();
  const plaquette::coarse_matrices inside = links_inside_domains(export_matrices(m), shape);
  coarse_matrices there(on, m.shared_lattice(), m.n());
  copy_to_device(on.queue(), there.begin(), inside.numbers.data(), inside.numbers.size() * sizeof(complex<float>));
  schwarz_domains<Field> made{any_operator<Field>(coarse_schur<float>(on, there, storage))};
  for (const int colour : {0, 1})
    made.colours.emplace_back(chosen_coarse_sites(on, m.lattice().geometry(), shape, colour));
  return made;
}

template schwarz_domains<field<float>> fine_domains(const schur_wilson_clover<float>&, const gauge_configuration&,
                                                    const extents&);
template schwarz_domains<field<half>> fine_domains(const schur_wilson_clover<half>&, const gauge_configuration&,
                                                   const extents&);

}  // namespace plaquette::gpu
