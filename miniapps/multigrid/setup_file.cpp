// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/multigrid/setup_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/algorithms/multigrid_parameters.hpp"
#include "common/app/parse.hpp"
#include "common/error.hpp"
#include "common/io/hdf5_file.hpp"

namespace plaquette {

namespace {

constexpr int format_version = 1;

std::string set_name(std::size_t level) { return "/vectors_" + std::to_string(level); }

hdf5_extents numbers_of_a_site(const null_space& v) {
  return {static_cast<std::uint64_t>(chiralities), static_cast<std::uint64_t>(v.rows),
          static_cast<std::uint64_t>(v.vectors)};
}

/// Extents of all ranks of the lattice whose vectors these are.
extents global_extents(const null_space& v) {
  extents global = v.blocks.coarse().global();
  for (int mu = 0; mu < dimensions; ++mu) global[mu] *= v.blocks.shape()[mu];
  return global;
}

/// Index in the whole lattice of a site of this rank.
std::int64_t global_site(const null_space& v, std::int64_t site) {
  coordinate x = coordinate_of(site, v.blocks.fine_local());
  for (int mu = 0; mu < dimensions; ++mu) x[mu] += v.blocks.coarse().origin()[mu] * v.blocks.shape()[mu];
  return lexicographic(x, global_extents(v));
}

/// Visits the numbers of a site: chirality by chirality, rows * vectors of them.
template <class V, class Visit>
void for_each_chirality(V& v, std::int64_t site, Visit&& visit) {
  for (int chirality = 0; chirality < chiralities; ++chirality)
    visit(v.row(v.blocks.row_begin(v.blocks.place(site), chirality, v.rows)), v.rows * v.vectors);
}

/// A small lattice, in one piece on every rank: [site of the whole lattice][numbers of a site].
std::vector<complex<float>> whole(const null_space& v, const communicator& comm) {
  const std::int64_t sites = volume(v.blocks.fine_local()), numbers = chiralities * v.rows * v.vectors;
  std::vector<complex<float>> mine, all(static_cast<std::size_t>(sites * numbers * comm.size()));
  std::vector<std::int64_t> places, all_places(static_cast<std::size_t>(sites * comm.size()));
  for (std::int64_t s = 0; s < sites; ++s) {
    places.push_back(global_site(v, s));
    for_each_chirality(v, s,
                       [&](const complex<float>* from, int count) { mine.insert(mine.end(), from, from + count); });
  }
  comm.gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
  comm.gather(std::as_bytes(std::span(places)), std::as_writable_bytes(std::span(all_places)));
  std::vector<complex<float>> sorted(all.size());
  for (std::size_t i = 0; i < all_places.size(); ++i)
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(i) * numbers, numbers,
                sorted.begin() + static_cast<std::ptrdiff_t>(all_places[i]) * numbers);
  return sorted;
}

}  // namespace

void write_setup(const std::string& path, bool force, const std::vector<null_space>& vectors,
                 const fermion_action& action, const lattice_geometry& geometry, double plaquette,
                 const communicator& comm) {
  std::vector<hdf5_data_set> sets;
  for (std::size_t level = 0; level < vectors.size(); ++level) {
    const null_space& v = vectors[level];
    hdf5_data_set set{set_name(level), hdf5_number::complex_single,
                      extents_of_field(global_extents(v), numbers_of_a_site(v))};
    const auto& shape = v.blocks.shape();
    set.attributes = {{"aggregate", std::vector<int>(shape.begin(), shape.end())}, {"vectors", v.vectors}};
    if (level == 0) {
      set.attributes.push_back({"format_version", format_version});
      set.attributes.push_back({"levels", static_cast<int>(vectors.size())});
      set.attributes.push_back({"plaquette", plaquette});
      set.attributes.push_back({"mass", action.mass});
      set.attributes.push_back({"clover_spatial", action.clover_spatial});
      set.attributes.push_back({"clover_temporal", action.clover_temporal});
      set.attributes.push_back({"basis", "degrand-rossi, [chirality][spin of a chirality * 3 + colour][vector]"});
    }
    sets.push_back(std::move(set));
  }
  hdf5_output file(path, force ? existing_file::replace : existing_file::keep, sets, comm);
  const null_space& finest = vectors.front();
  file.write_field(0, 0, geometry, static_cast<std::size_t>(chiralities * finest.rows * finest.vectors),
                   [&](const coordinate& x, std::span<complex<double>> numbers) {
                     std::size_t at = 0;
                     for_each_chirality(finest, geometry.local_index(x), [&](const complex<float>* from, int count) {
                       for (int k = 0; k < count; ++k) numbers[at++] = complex_cast<double>(from[k]);
                     });
                   });
  for (std::size_t level = 1; level < vectors.size(); ++level) {
    const auto all = whole(vectors[level], comm);
    file.write(level, 0, std::as_bytes(std::span(all)));
  }
  file.commit();
}

std::vector<coarsening> coarsenings_of_setup(const std::string& path, const communicator& comm) {
  const hdf5_input file(path, comm);
  if (!file.has(set_name(0)))
    throw input_error(fmt::format("{}: expected the null vectors of a multigrid setup, found a file without {}",
                                  printable(path), set_name(0)));
  const int version = file.integer(set_name(0), "format_version");
  if (version != format_version)
    throw input_error(
        fmt::format("{}: expected format version {}, found {}", printable(path), format_version, version));
  std::vector<coarsening> list;
  for (int level = 0; level < file.integer(set_name(0), "levels"); ++level) {
    const std::string set = set_name(static_cast<std::size_t>(level));
    const auto shape = file.integers(set, "aggregate", dimensions);
    coarsening c;
    std::copy(shape.begin(), shape.end(), c.aggregate.begin());
    c.vectors = file.integer(set, "vectors");
    if (c.vectors < 1 || std::ranges::any_of(c.aggregate, [](int length) { return length < 1; }))
      throw input_error(fmt::format("{}: level {} has no sensible aggregates", printable(path), level));
    list.push_back(c);
  }
  if (list.empty()) throw input_error(fmt::format("{}: holds no level", printable(path)));
  return list;
}

std::vector<null_space> read_setup(const std::string& path, const lattice_geometry& geometry, double plaquette,
                                   const communicator& comm) {
  const auto list = coarsenings_of_setup(path, comm);
  const hdf5_input file(path, comm);
  const double stored = file.real(set_name(0), "plaquette");
  // The file holds the plaquette to the last bit; another process grid sums it in another order.
  if (!(std::abs(stored - plaquette) <= 1e-12))
    throw input_error(fmt::format(
        "{}: the setup of another configuration: expected its plaquette {:.15g}, found {:.15g} of these links",
        printable(path), stored, plaquette));
  std::vector<null_space> vectors;
  coarse_geometry coarse = coarsened(geometry, list.front().aggregate);
  for (std::size_t level = 0; level < list.size(); ++level) {
    const coarse_geometry finer = coarse;
    if (level > 0) coarse = coarsened(finer, list[level].aggregate);
    null_space v = level == 0 ? null_space(aggregates(geometry, coarse), 6, list[level].vectors)
                              : null_space(aggregates(finer, coarse), list[level - 1].vectors, list[level].vectors);
    file.require(set_name(level), extents_of_field(global_extents(v), numbers_of_a_site(v)),
                 "null vectors on lattice " + to_string(global_extents(v)));
    const auto numbers = static_cast<std::size_t>(chiralities * v.rows * v.vectors);
    if (level == 0) {
      file.read_field(set_name(0), 0, geometry, numbers,
                      [&](const coordinate& x, std::span<const complex<double>> from) {
                        std::size_t at = 0;
                        for_each_chirality(v, geometry.local_index(x), [&](complex<float>* to, int count) {
                          for (int k = 0; k < count; ++k) to[k] = complex_cast<float>(from[at++]);
                        });
                      });
    } else {
      std::vector<complex<float>> all(static_cast<std::size_t>(volume(global_extents(v))) * numbers);
      file.read(set_name(level), hdf5_number::complex_single, std::as_writable_bytes(std::span(all)));
      for (std::int64_t s = 0; s < volume(v.blocks.fine_local()); ++s) {
        const complex<float>* from = all.data() + static_cast<std::size_t>(global_site(v, s)) * numbers;
        for_each_chirality(v, s, [&](complex<float>* to, int count) {
          std::copy_n(from, count, to);
          from += count;
        });
      }
    }
    vectors.push_back(std::move(v));
  }
  return vectors;
}

}  // namespace plaquette
