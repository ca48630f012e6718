// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/multigrid/setup_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "common/app/parse.hpp"
#include "common/error.hpp"
#include "common/io/hdf5_file.hpp"
#include "common/lattice/coarse_geometry.hpp"
#include "common/multigrid/multigrid_parameters.hpp"
#include "common/operators/whole_lattice.hpp"
#include "common/random/random_stream.hpp"

namespace plaquette {

namespace {

constexpr int format_version = 2;                      // 2: a checksum of the links and the whole action
constexpr std::uint64_t checksum_stream = 0x73657475;  // of the numbers that links are multiplied by

constexpr const char* coefficients_name = "/coefficients";

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
  std::vector<complex<float>> mine;
  std::vector<std::int64_t> places;
  for (std::int64_t s = 0; s < sites; ++s) {
    places.push_back(global_site(v, s));
    for_each_chirality(v, s,
                       [&](const complex<float>* from, int count) { mine.insert(mine.end(), from, from + count); });
  }
  return gathered_sites(mine, places, static_cast<std::size_t>(numbers), comm);
}

/// The same for numbers of a coarse lattice, [site of this rank][number].
std::vector<complex<float>> whole(const std::vector<complex<double>>& column, const coarse_geometry& coarse,
                                  std::size_t numbers, const communicator& comm) {
  std::vector<complex<float>> mine;
  for (const complex<double>& number : column) mine.push_back(complex_cast<float>(number));
  std::vector<std::int64_t> places;
  for (std::int64_t s = 0; s < coarse.sites(); ++s) places.push_back(coarse.global_index(s));
  return gathered_sites(mine, places, numbers, comm);
}

/// Returns the parameters of M except the mass, with the words of a message.
std::vector<std::pair<std::string, double>> numbers_of(const fermion_action& action) {
  std::vector<std::pair<std::string, double>> numbers{{"clover coefficient c_R", action.clover_spatial},
                                                      {"clover coefficient c_T", action.clover_temporal},
                                                      {"anisotropy", action.anisotropy},
                                                      {"nu", action.nu}};
  for (int mu = 0; mu < dimensions; ++mu) {
    const complex<double> phase = action.boundary_phase[static_cast<std::size_t>(mu)];
    numbers.emplace_back(fmt::format("boundary phase {} (Re)", "xyzt"[mu]), phase.re);
    numbers.emplace_back(fmt::format("boundary phase {} (Im)", "xyzt"[mu]), phase.im);
  }
  return numbers;
}

std::vector<double> values_of(const fermion_action& action) {
  std::vector<double> values;
  for (const auto& [what, value] : numbers_of(action)) values.push_back(value);
  return values;
}

/// Throws input_error unless the file is of these links and this action.
void require_origin(const hdf5_input& file, const std::string& path, const setup_origin& origin) {
  constexpr double rounding = 1e-11;  // of the links if another device has smeared them: 1e-14, and a margin
  const double links = file.real(set_name(0), "links_checksum");
  if (!(std::abs(links - origin.links) <= rounding))
    throw input_error(fmt::format(
        "{}: the setup of another configuration: expected links of checksum {:.12f}, found {:.12f}; --save-setup makes "
        "one of these links",
        printable(path), origin.links, links));
  const auto expected = numbers_of(origin.action);
  const std::vector<double> found = file.reals(set_name(0), "action", expected.size());
  for (std::size_t k = 0; k < found.size(); ++k)
    if (!(std::abs(found[k] - expected[k].second) <= 1e-12))
      throw input_error(
          fmt::format("{}: the setup of another action: expected {} {:g}, found {:g}; only the mass may differ",
                      printable(path), expected[k].first, expected[k].second, found[k]));
}

}  // namespace

double links_checksum(const gauge_configuration& links, const communicator& comm) {
  const lattice_geometry& geometry = links.geometry();
  double sum = 0.0;
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
    const coordinate x = geometry.local_coordinate(site);
    random_stream weights(0, random_stream_id(random_purpose::test, checksum_stream),
                          static_cast<std::uint64_t>(geometry.global_index(x)));
    for (const su3<double>& u : links(x))
      for (int row = 0; row < colours; ++row)
        for (int column = 0; column < colours; ++column) {
          const complex<double> number = u(row, column);
          sum += (2.0 * weights.uniform() - 1.0) * number.re;
          sum += (2.0 * weights.uniform() - 1.0) * number.im;
        }
  }
  std::array<double, 1> all{sum};
  comm.sum(std::span(all));
  return all[0] / std::sqrt(72.0 * static_cast<double>(geometry.global_volume()));
}

void write_setup(const std::string& path, bool force, const stored_setup& setup, const setup_origin& origin,
                 const lattice_geometry& geometry, const communicator& comm) {
  const std::vector<null_space>& vectors = setup.vectors;
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
      set.attributes.push_back({"links_checksum", origin.links});
      set.attributes.push_back({"mass", origin.action.mass});
      set.attributes.push_back({"action", values_of(origin.action)});
      set.attributes.push_back({"basis", "degrand-rossi, [chirality][spin of a chirality * 3 + colour][vector]"});
    }
    sets.push_back(std::move(set));
  }
  const coarse_geometry& coarse = vectors.front().blocks.coarse();
  const auto n = static_cast<std::size_t>(chiralities * vectors.front().vectors);
  sets.push_back({coefficients_name, hdf5_number::complex_single,
                  extents_of_field(coarse.global(), {n}, setup.coefficients.size())});
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
  for (std::size_t k = 0; k < setup.coefficients.size(); ++k) {
    const auto all = whole(setup.coefficients[k], coarse, n, comm);
    file.write(vectors.size(), k * all.size(), std::as_bytes(std::span(all)));
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
  constexpr int most_levels = 7, most_vectors = 512, longest_aggregate = 1 << 12;  // as --levels and --vectors have it
  const auto bounded = [&](const std::string& what, int value, int highest) {
    if (value < 1 || value > highest)
      throw input_error(
          fmt::format("{}: expected {} from 1 to {}, found {}; the file is damaged: --save-setup makes one",
                      printable(path), what, highest, value));
  };
  const int levels = file.integer(set_name(0), "levels");
  bounded("levels", levels, most_levels);
  std::vector<coarsening> list;
  for (int level = 0; level < levels; ++level) {
    const std::string set = set_name(static_cast<std::size_t>(level));
    const auto shape = file.integers(set, "aggregate", dimensions);
    coarsening c;
    std::copy(shape.begin(), shape.end(), c.aggregate.begin());
    c.vectors = file.integer(set, "vectors");
    bounded(fmt::format("null vectors of level {}", level + 1), c.vectors, most_vectors);
    for (const int length : c.aggregate)
      bounded(fmt::format("aggregates of level {}", level + 1), length, longest_aggregate);
    list.push_back(c);
  }
  return list;
}

void require_coarsenings_fit(const std::string& path, const std::vector<coarsening>& list,
                             const lattice_geometry& geometry) {
  extents local = geometry.local();
  std::int64_t rows = 6;
  for (const coarsening& c : list) {
    try {
      local = coarse_extents(local, local, c.aggregate);
    } catch (const input_error& e) {
      throw input_error(fmt::format("{}: {}", printable(path), e.what()));
    }
    if (c.vectors > rows * volume(c.aggregate))
      throw input_error(
          fmt::format("{}: {} null vectors of a chirality on aggregates of {}, which hold {} numbers of one",
                      printable(path), c.vectors, to_string(c.aggregate), rows * volume(c.aggregate)));
    rows = c.vectors;
  }
}

namespace {

/// Notes numbers that are none of orthonormal vectors, and tells of them on all ranks.
class number_watch {
 public:
  explicit number_watch(double longest) : longest2_(longest * longest) {}
  const complex<float>& operator()(const complex<float>& z) {
    if (!(norm2(z) <= longest2_)) bad_ = 1.0;
    return z;
  }
  void require(const std::string& path, const std::string& what, const communicator& comm) const {
    std::array<double, 1> bad{bad_};
    comm.maximum(std::span(bad));
    if (bad[0] > 0.0)
      throw input_error(
          fmt::format("{}: expected {} of size {:g} at most, found others; the file is damaged: --save-setup "
                      "makes one",
                      printable(path), what, std::sqrt(longest2_)));
  }

 private:
  double longest2_, bad_ = 0.0;
};

}  // namespace

stored_setup read_setup(const std::string& path, const setup_origin& origin, const lattice_geometry& geometry,
                        const communicator& comm) {
  const std::vector<coarsening> list = coarsenings_of_setup(path, comm);
  const hdf5_input file(path, comm);
  require_origin(file, path, origin);
  require_coarsenings_fit(path, list, geometry);
  std::vector<null_space> vectors;
  number_watch orthonormal(1.0 + 1e-3), finite(1e15);
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
                          for (int k = 0; k < count; ++k) to[k] = orthonormal(complex_cast<float>(from[at++]));
                        });
                      });
    } else {
      std::vector<complex<float>> all(static_cast<std::size_t>(volume(global_extents(v))) * numbers);
      file.read(set_name(level), hdf5_number::complex_single, std::as_writable_bytes(std::span(all)));
      for (std::int64_t s = 0; s < volume(v.blocks.fine_local()); ++s) {
        const complex<float>* from = all.data() + static_cast<std::size_t>(global_site(v, s)) * numbers;
        for_each_chirality(v, s, [&](complex<float>* to, int count) {
          for (int k = 0; k < count; ++k) to[k] = orthonormal(from[k]);
          from += count;
        });
      }
    }
    vectors.push_back(std::move(v));
  }
  orthonormal.require(path, "numbers of null vectors", comm);
  const coarse_geometry& first = vectors.front().blocks.coarse();
  const auto n = static_cast<std::size_t>(chiralities * list.front().vectors);
  const auto count = static_cast<std::size_t>(list.front().vectors);
  file.require(coefficients_name, extents_of_field(first.global(), {n}, count), "coefficients of the null vectors");
  const std::size_t column = static_cast<std::size_t>(volume(first.global())) * n;
  std::vector<complex<float>> all(column * count);
  file.read(coefficients_name, hdf5_number::complex_single, std::as_writable_bytes(std::span(all)));
  std::vector<std::vector<complex<double>>> coefficients(count);
  for (std::size_t k = 0; k < count; ++k)
    for (std::int64_t s = 0; s < first.sites(); ++s)
      for (std::size_t i = 0; i < n; ++i)
        coefficients[k].push_back(
            complex_cast<double>(finite(all[k * column + static_cast<std::size_t>(first.global_index(s)) * n + i])));
  finite.require(path, "coefficients", comm);
  const double mass = file.real(set_name(0), "mass");
  if (!std::isfinite(mass)) throw input_error(fmt::format("{}: expected a mass, found {}", printable(path), mass));
  return {std::move(vectors), std::move(coefficients), mass};
}

}  // namespace plaquette
