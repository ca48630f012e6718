// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/coarse/coarse_matrices.hpp"

#include <stdexcept>

#include "gpu/lattice/site_order.hpp"

namespace plaquette::gpu {

namespace {

std::shared_ptr<complex<float>> numbers_on_device(const execution& on, std::int64_t count) {
  auto memory = on.workspace().take(static_cast<std::size_t>(count) * sizeof(complex<float>));
  return {memory, reinterpret_cast<complex<float>*>(memory.get())};
}

}  // namespace

coarse_matrices::coarse_matrices(const execution& on, std::shared_ptr<const coarse_lattice> lattice,
                                 int numbers_of_a_site)
    : execution_(on), lattice_(std::move(lattice)), n_(numbers_of_a_site), begin_(numbers_on_device(on, count())) {}

coarse_matrices import_matrices(const execution& on, const plaquette::coarse_matrices& from) {
  coarse_matrices to(on, std::make_shared<const coarse_lattice>(on, from.geometry), from.n);
  copy_to_device(on.queue(), to.begin(), from.numbers.data(), from.numbers.size() * sizeof(complex<float>));
  return to;
}

plaquette::coarse_matrices export_matrices(const coarse_matrices& from) {
  plaquette::coarse_matrices to(from.lattice().geometry(), from.n());
  copy_to_host(from.get_execution().queue(), to.numbers.data(), from.begin(),
               to.numbers.size() * sizeof(complex<float>));
  return to;
}

aggregate_tables::aggregate_tables(const execution& on, const aggregates& blocks, bool is_coarse)
    : blocks_(blocks), is_coarse_(is_coarse), coarse_(std::make_shared<const coarse_lattice>(on, blocks.coarse())) {
  const coarse_geometry& coarse = blocks.coarse();
  const extents& local = blocks.fine_local();
  extents global = coarse.global();
  for (int mu = 0; mu < dimensions; ++mu) global[mu] *= blocks.shape()[mu];
  const auto places = static_cast<std::size_t>(blocks.fine_sites());
  std::vector<std::int32_t> site(places), even, ahead(dimensions * places);
  std::vector<std::uint8_t> crossing(places);
  const coarse_geometry fine_lattice(is_coarse ? global : extents{1, 1, 1, 1},
                                     is_coarse ? coarse.grid() : extents{1, 1, 1, 1}, is_coarse ? coarse.rank() : 0);
  coordinate origin{};
  for (int mu = 0; mu < dimensions; ++mu) origin[mu] = coarse.origin()[mu] * blocks.shape()[mu];
  const site_order order = is_coarse ? site_order() : site_order(local);  // of quark fields
  std::int32_t ghosts[dimensions] = {}, all_ghosts = 0;
  for (int mu = 0; mu < dimensions; ++mu) {
    ghosts[mu] = all_ghosts;
    if (coarse.grid()[mu] > 1) face_sites_[mu] = volume(local) / local[mu];
    all_ghosts += static_cast<std::int32_t>(face_sites_[mu]);
  }
#pragma omp parallel for schedule(static)
  for (std::size_t k = 0; k < places; ++k) {
    const coordinate x = coordinate_of(blocks.fine_site(static_cast<std::int64_t>(k)), local);
    site[k] = is_coarse ? static_cast<std::int32_t>(fine_lattice.site(x))
                        : ((parity(x) + parity(origin)) & 1) * order.sites + order.index(x);
    for (int mu = 0; mu < dimensions; ++mu) {
      coordinate y = x;
      ++y[mu];
      if (y[mu] % blocks.shape()[mu] == 0) crossing[k] = static_cast<std::uint8_t>(crossing[k] | (1U << mu));
      const bool leaves = y[mu] == local[mu];
      if (leaves) y[mu] = 0;
      extents face = local;
      face[mu] = 1;
      ahead[static_cast<std::size_t>(mu) * places + k] =
          leaves && coarse.grid()[mu] > 1 ? -1 - (ghosts[mu] + static_cast<std::int32_t>(lexicographic(y, face)))
                                          : static_cast<std::int32_t>(blocks.place(lexicographic(y, local)));
    }
  }
  for (std::int64_t s = 0; s < coarse.sites(); ++s) even.push_back(blocks.sites_of(s, 0));
  site_ = array_on_device(on, site);
  even_ = array_on_device(on, even);
  ahead_ = array_on_device(on, ahead);
  crossing_ = array_on_device(on, crossing);
  for (int mu = 0; mu < dimensions; ++mu) {
    std::vector<std::int32_t> mine;
    extents face = local;
    face[mu] = 1;
    for (std::int64_t i = 0; i < face_sites_[mu]; ++i)
      mine.push_back(static_cast<std::int32_t>(blocks.place(lexicographic(coordinate_of(i, face), local))));
    face_[mu] = array_on_device(on, mine);
  }
}

null_space::null_space(const execution& on, std::shared_ptr<const aggregate_tables> tables, int rows_of_a_chirality,
                       int count)
    : execution_(on),
      tables_(std::move(tables)),
      rows_(rows_of_a_chirality),
      vectors_(count),
      begin_(numbers_on_device(on, all_rows() * count)) {}

null_space import_null_space(const execution& on, const plaquette::null_space& from, bool is_coarse) {
  null_space to(on, std::make_shared<const aggregate_tables>(on, from.blocks, is_coarse), from.rows, from.vectors);
  copy_to_device(on.queue(), to.begin(), from.numbers.data(), from.numbers.size() * sizeof(complex<float>));
  return to;
}

plaquette::null_space export_null_space(const null_space& from) {
  plaquette::null_space to(from.blocks(), from.rows(), from.vectors());
  copy_to_host(from.get_execution().queue(), to.numbers.data(), from.begin(),
               to.numbers.size() * sizeof(complex<float>));
  return to;
}

}  // namespace plaquette::gpu
