// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/nodal-dg/field_files.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "common/dg/exact_solutions.hpp"
#include "common/error.hpp"
#include "common/io/collective_error.hpp"

#ifdef PLAQUETTE_WITH_HDF5
#include <hdf5.h>

#include "common/io/hdf5_silence.hpp"
#endif

namespace plaquette::nodal_dg {

namespace {

/// The bytes of all ranks on rank 0, one rank after the other: keep(bytes) there. Collective.
template <class Keep>
void one_after_the_other(const communicator& comm, std::span<const std::byte> mine, Keep&& keep) {
  const std::uint64_t size = mine.size();
  std::vector<std::uint64_t> sizes(static_cast<std::size_t>(comm.size()));
  comm.gather(std::as_bytes(std::span(&size, 1)), std::as_writable_bytes(std::span(sizes)));
  for (int rank = 0; rank < comm.size(); ++rank) {
    std::vector<std::byte> theirs;
    std::vector<outgoing_message> send;
    std::vector<incoming_message> receive;
    if (comm.rank() == rank) send.push_back({0, 0, mine});
    if (comm.rank() == 0) {
      theirs.resize(sizes[static_cast<std::size_t>(rank)]);
      receive.push_back({rank, 0, theirs});
    }
    comm.start_exchange(send, receive).wait();
    if (comm.rank() == 0) keep(std::span<const std::byte>(theirs));
  }
}

#ifdef PLAQUETTE_WITH_HDF5
bool is_left_handed(const dg_domain& domain, std::int32_t element) {
  const auto& x = domain.corners[static_cast<std::size_t>(element)];
  std::array<std::array<double, 3>, 3> e{};
  e[2] = {0.0, 0.0, 1.0};
  for (std::size_t c = 0; c < static_cast<std::size_t>(domain.reference.dimension); ++c)
    for (std::size_t i = 0; i < 3; ++i) e[c][i] = x[c + 1][i] - x[0][i];
  return e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) - e[0][1] * (e[1][0] * e[2][2] - e[1][2] * e[2][0]) +
             e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0]) <
         0.0;
}
#endif

}  // namespace

/// In coordinates u = i + j + k, v = j + k, w = k of the lattice the element is where N >= u >= v >= w >= 0, and Kuhn's
/// simplices of the unit cubes fill it.
std::vector<std::array<std::int32_t, 4>> parts_of_element(int dimension, int order) {
  std::map<std::array<int, 3>, std::int32_t> number;  // of (u, v, w)
  for (int k = 0; k <= (dimension == 3 ? order : 0); ++k)
    for (int j = 0; j + k <= order; ++j)
      for (int i = 0; i + j + k <= order; ++i)
        number.emplace(std::array<int, 3>{i + j + k, j + k, k}, static_cast<std::int32_t>(number.size()));
  std::vector<std::array<std::int32_t, 4>> parts;
  for (const auto& [low, first] : number)
    for (std::size_t way = 0; way < std::size(face_permutations); ++way) {
      const auto& order_of_steps = face_permutations[way];
      if (dimension == 2 && order_of_steps[2] != 2) continue;
      std::array<int, 3> at = low;
      std::array<std::int32_t, 4> part{first, -1, -1, -1};
      bool inside = true;
      for (std::size_t d = 0; d < static_cast<std::size_t>(dimension) && inside; ++d) {
        ++at[static_cast<std::size_t>(order_of_steps[d])];
        const auto found = number.find(at);
        inside = found != number.end();
        if (inside) part[d + 1] = found->second;
      }
      if (!inside) continue;
      const bool is_odd = way == 1 || way == 2 || way == 5;  // of the permutation
      if (is_odd) std::swap(part[0], part[1]);
      parts.push_back(part);
    }
  return parts;
}

#ifdef PLAQUETTE_WITH_HDF5

bool has_vtkhdf() { return true; }

namespace {

/// Closes objects that HDF5 has opened.
class hdf5_object {
 public:
  hdf5_object(hid_t id, herr_t (*close)(hid_t), const std::string& path) : id_(id), close_(close) {
    if (id < 0) throw output_error(path + ": HDF5 could not write it");
  }
  hdf5_object(const hdf5_object&) = delete;
  hdf5_object& operator=(const hdf5_object&) = delete;
  ~hdf5_object() { close_(id_); }
  hid_t id() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

class vtkhdf_writer {
 public:
  /// \param path  for messages
  vtkhdf_writer(const std::string& temporary_path, const std::string& path)
      : path_(path),
        file_(H5Fcreate(temporary_path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose, path),
        group_(H5Gcreate2(file_.id(), "VTKHDF", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose, path),
        point_data_(H5Gcreate2(group_.id(), "PointData", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose, path) {
    const std::array<std::int64_t, 2> version{1, 0};
    const hsize_t two = 2;
    const hdf5_object pair(H5Screate_simple(1, &two, nullptr), H5Sclose, path);
    const hdf5_object number(H5Acreate2(group_.id(), "Version", H5T_NATIVE_INT64, pair.id(), H5P_DEFAULT, H5P_DEFAULT),
                             H5Aclose, path);
    require(H5Awrite(number.id(), H5T_NATIVE_INT64, version.data()));
    constexpr std::string_view kind = "UnstructuredGrid";
    const hdf5_object type(H5Tcopy(H5T_C_S1), H5Tclose, path);
    require(H5Tset_size(type.id(), kind.size()));
    require(H5Tset_strpad(type.id(), H5T_STR_NULLPAD));
    const hdf5_object scalar(H5Screate(H5S_SCALAR), H5Sclose, path);
    const hdf5_object name(H5Acreate2(group_.id(), "Type", type.id(), scalar.id(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                           path);
    require(H5Awrite(name.id(), type.id(), kind.data()));
  }

  /// Data in memory of HDF5 goes to the disk, which may be full.
  void finish() const { require(H5Fflush(file_.id(), H5F_SCOPE_GLOBAL)); }
  /// A list of rows; columns 1: a plain list.
  template <class Number>
  void write(bool of_points, const std::string& name, hid_t type, const std::vector<Number>& numbers,
             hsize_t columns = 1) {
    const std::array<hsize_t, 2> extents{numbers.size() / columns, columns};
    const hid_t place = of_points ? point_data_.id() : group_.id();
    const hdf5_object space(H5Screate_simple(columns == 1 ? 1 : 2, extents.data(), nullptr), H5Sclose, path_);
    const hdf5_object properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, path_);
    require(H5Pset_obj_track_times(properties.id(), false));  // the same data make the same file at any time
    const hdf5_object set(H5Dcreate2(place, name.c_str(), type, space.id(), H5P_DEFAULT, properties.id(), H5P_DEFAULT),
                          H5Dclose, path_);
    require(H5Dwrite(set.id(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data()));
  }

 private:
  void require(herr_t status) const {
    if (status < 0) throw output_error(path_ + ": HDF5 could not write it (is the disk full?)");
  }
  hdf5_silence quiet_;
  std::string path_;
  hdf5_object file_, group_, point_data_;
};

}  // namespace

void write_vtkhdf(const std::string& path, const dg_domain& domain, std::span<const double> state,
                  existing_file existing) {
  const auto numbers = static_cast<std::size_t>(domain.elements()) * static_cast<std::size_t>(domain.nodes());
  std::vector<float> points, mine(3 * numbers);
  for (std::int32_t e = 0; e < domain.elements(); ++e)
    for (int n = 0; n < domain.nodes(); ++n) {
      const auto x = domain.node_position(e, n);
      for (std::size_t i = 0; i < 3; ++i)
        mine[3 * (static_cast<std::size_t>(e) * static_cast<std::size_t>(domain.nodes()) +
                  static_cast<std::size_t>(n)) +
             i] = static_cast<float>(x[i]);
    }
  const auto gather = [&domain](const std::vector<float>& here, std::vector<float>& all) {
    one_after_the_other(domain.comm, std::as_bytes(std::span(here)), [&all](std::span<const std::byte> bytes) {
      const auto* first = reinterpret_cast<const float*>(bytes.data());
      all.insert(all.end(), first, first + bytes.size() / sizeof(float));
    });
  };
  gather(mine, points);
  std::vector<float> reversed, left_handed;
  for (std::int32_t e = 0; e < domain.elements(); ++e) reversed.push_back(is_left_handed(domain, e) ? 1.0F : 0.0F);
  gather(reversed, left_handed);
  std::vector<std::vector<float>> fields(static_cast<std::size_t>(domain.fields));
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const auto part = state.subspan(f * numbers, numbers);
    gather(std::vector<float>(part.begin(), part.end()), fields[f]);
  }
  on_all_ranks_or_none(domain.comm, [&] {
    if (domain.comm.rank() != 0) return;
    const auto parts = parts_of_element(domain.reference.dimension, domain.reference.order);
    const auto corners = static_cast<std::size_t>(domain.reference.dimension) + 1;
    std::vector<std::int64_t> connectivity, offsets{0};
    for (std::int64_t e = 0; e < domain.global_elements; ++e)
      for (auto part : parts) {
        if (left_handed[static_cast<std::size_t>(e)] != 0.0F) std::swap(part[0], part[1]);
        for (std::size_t c = 0; c < corners; ++c) connectivity.push_back(e * domain.nodes() + part[c]);
        offsets.push_back(static_cast<std::int64_t>(connectivity.size()));
      }
    const auto cells = static_cast<std::int64_t>(offsets.size()) - 1;
    atomic_file file(path, existing);
    {
      vtkhdf_writer out(file.temporary_path(), path);
      const auto one = [](std::size_t n) { return std::vector<std::int64_t>{static_cast<std::int64_t>(n)}; };
      out.write(false, "NumberOfPoints", H5T_NATIVE_INT64, one(points.size() / 3));
      out.write(false, "NumberOfCells", H5T_NATIVE_INT64, one(static_cast<std::size_t>(cells)));
      out.write(false, "NumberOfConnectivityIds", H5T_NATIVE_INT64, one(connectivity.size()));
      out.write(false, "Points", H5T_NATIVE_FLOAT, points, 3);
      out.write(false, "Connectivity", H5T_NATIVE_INT64, connectivity);
      out.write(false, "Offsets", H5T_NATIVE_INT64, offsets);
      constexpr std::uint8_t triangle = 5, tetrahedron = 10;  // VTK's numbers
      out.write(false, "Types", H5T_NATIVE_UINT8,
                std::vector<std::uint8_t>(static_cast<std::size_t>(cells),
                                          domain.reference.dimension == 3 ? tetrahedron : triangle));
      const auto names = field_names(domain.problem.equations, domain.reference.dimension);
      for (std::size_t f = 0; f < fields.size(); ++f) out.write(true, names[f], H5T_NATIVE_FLOAT, fields[f]);
      out.finish();
    }
    file.commit();
  });
}

#else

bool has_vtkhdf() { return false; }
void write_vtkhdf(const std::string& path, const dg_domain&, std::span<const double>, existing_file) {
  throw input_error(path + ": this program was built without HDF5 (libhdf5-dev), which VTKHDF files need");
}

#endif

void write_plane(const std::string& path, const plane_of_values& plane, const dg_domain& domain,
                 std::span<const double> state, existing_file existing) {
  const auto axis = static_cast<std::size_t>(plane.axis);
  const std::array<std::size_t, 2> across{axis == 0 ? 1U : 0U, axis == 2 ? 1U : 2U};
  std::array<double, 4> sides{1e300, 1e300, 1e300, 1e300};  // low, low, -high, -high
  for (const auto& corners : domain.corners)
    for (int c = 0; c <= domain.reference.dimension; ++c)
      for (std::size_t i = 0; i < 2; ++i) {
        const double x = corners[static_cast<std::size_t>(c)][across[i]];
        sides[i] = std::min(sides[i], x);
        sides[i + 2] = std::min(sides[i + 2], -x);
      }
  for (double& x : sides) x = -x;
  domain.comm.maximum(sides);
  for (double& x : sides) x = -x;
  const std::array<double, 2> low{sides[0], sides[1]}, high{-sides[2], -sides[3]};
  std::array<double, 2> step{};
  for (std::size_t i = 0; i < 2; ++i) step[i] = (high[i] - low[i]) / plane.pixels;

  std::string text;
  for (std::int32_t e = 0; e < domain.elements(); ++e) {
    const auto& corners = domain.corners[static_cast<std::size_t>(e)];
    const auto& metric = domain.geometry[static_cast<std::size_t>(e)].metric;
    std::array<double, 3> from{1e300, 1e300, 1e300}, to{-1e300, -1e300, -1e300};
    for (int c = 0; c <= domain.reference.dimension; ++c)
      for (std::size_t i = 0; i < 3; ++i) {
        from[i] = std::min(from[i], corners[static_cast<std::size_t>(c)][i]);
        to[i] = std::max(to[i], corners[static_cast<std::size_t>(c)][i]);
      }
    if (plane.at < from[axis] || plane.at > to[axis]) continue;
    const auto pixel = [&](std::size_t i, double x) { return static_cast<int>(std::floor((x - low[i]) / step[i])); };
    for (int b = std::max(0, pixel(1, from[across[1]])); b <= std::min(plane.pixels - 1, pixel(1, to[across[1]])); ++b)
      for (int a = std::max(0, pixel(0, from[across[0]])); a <= std::min(plane.pixels - 1, pixel(0, to[across[0]]));
           ++a) {
        std::array<double, 3> x{};
        x[axis] = plane.at;
        x[across[0]] = low[0] + (a + 0.5) * step[0];
        x[across[1]] = low[1] + (b + 0.5) * step[1];
        reference_point r{};
        double rest = 1.0, lowest = 1.0;
        for (std::size_t d = 0; d < static_cast<std::size_t>(domain.reference.dimension); ++d) {
          double along = 0.0;
          for (std::size_t i = 0; i < 3; ++i) along += metric[d][i] * (x[i] - corners[0][i]);
          r[d] = along - 1.0;
          lowest = std::min(lowest, 0.5 * along);
          rest -= 0.5 * along;
        }
        if (std::min(lowest, rest) < -1e-12) continue;
        text += fmt::format("{:.6g} {:.6g}", x[across[0]], x[across[1]]);
        for (const double value : value_at(domain, state, e, r)) text += fmt::format(" {:.6g}", value);
        text += '\n';
      }
  }
  std::string whole = fmt::format("# {} {}", "xyz"[across[0]], "xyz"[across[1]]);
  for (const auto& name : field_names(domain.problem.equations, domain.reference.dimension)) whole += " " + name;
  whole += fmt::format("\n# plane {} = {:g}, {} x {} pixels from {:g}, {:g} to {:g}, {:g}\n", "xyz"[axis], plane.at,
                       plane.pixels, plane.pixels, low[0], low[1], high[0], high[1]);
  one_after_the_other(domain.comm, std::as_bytes(std::span(text)), [&whole](std::span<const std::byte> bytes) {
    whole.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
  on_all_ranks_or_none(domain.comm, [&] {
    if (domain.comm.rank() == 0) write_file_atomically(path, whole, existing);
  });
}

}  // namespace plaquette::nodal_dg
