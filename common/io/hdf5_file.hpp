// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// HDF5 files: named data sets with attributes, complete or not at all. All data pass through rank 0, so that any HDF5
/// library will do. Fields over a lattice are stored as [block][T][Z][Y][X][numbers of a site]; the process grid that
/// reads a field need not be the one that wrote it. Complex numbers are compounds {r, i} (h5py reads them as complex).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "common/algebra/complex.hpp"
#include "common/comms/communicator.hpp"
#include "common/io/atomic_file.hpp"
#include "common/lattice/geometry.hpp"

namespace plaquette {

/// Returns whether the suite was built with HDF5. Without it the constructors below throw input_error.
bool has_hdf5();

/// For programs, which close all that they open: HDF5 does nothing at their end. What a damaged file leaves open there
/// it could not close, and would say so on stderr. Called before any other function of HDF5.
void end_without_hdf5();

enum class hdf5_number { complex_double, complex_single, real_double, real_single, integer, byte };
std::size_t bytes_of(hdf5_number number);

/// Extents, the slowest first.
using hdf5_extents = std::vector<std::uint64_t>;

struct hdf5_attribute {
  std::string name;
  std::variant<int, double, std::string, std::vector<int>, std::vector<double>> value;
  hdf5_extents extents{};  ///< of a list; empty: one dimension
};

/// A data set of a file that is to be written.
struct hdf5_data_set {
  std::string name;  ///< "/propagator"
  hdf5_number number = hdf5_number::complex_double;
  hdf5_extents extents;
  std::vector<hdf5_attribute> attributes{};
};

/// Returns extents of a field over a lattice: [T][Z][Y][X] and what is at a site; with `blocks` > 0 that many of them.
hdf5_extents extents_of_field(const extents& lattice, const hdf5_extents& site, std::uint64_t blocks = 0);

/// Puts the numbers of a site of this rank, local coordinate x, into `numbers`.
using site_packer = std::function<void(const coordinate& x, std::span<complex<double>> numbers)>;
/// The inverse.
using site_unpacker = std::function<void(const coordinate& x, std::span<const complex<double>> numbers)>;

/// A file that is being written. Every member is collective and throws output_error on all ranks or on none.
class hdf5_output {
 public:
  /// Makes the file with room for all data sets. Refuses a disk or a file size limit that they do not fit.
  hdf5_output(const std::string& path, existing_file existing, const std::vector<hdf5_data_set>& sets,
              const communicator& comm);
  ~hdf5_output();

  /// Writes one block of a field of complex numbers: pack is called for each site of this rank.
  /// \param set              number of the data set, in the order of the constructor
  /// \param block            of the data set; 0 where there is one
  /// \param numbers_a_site   complex numbers of a site
  void write_field(std::size_t set, std::uint64_t block, const lattice_geometry& geometry, std::size_t numbers_a_site,
                   const site_packer& pack);
  /// Writes elements from `first` on, as rank 0 has them; other ranks' are not read. Their bytes are stored as they
  /// are.
  void write(std::size_t set, std::uint64_t first, std::span<const std::byte> elements);
  /// Gives the file its name. The last call.
  void commit();

 private:
  struct implementation;
  std::unique_ptr<implementation> file_;  ///< null but on rank 0
  std::vector<hdf5_data_set> sets_;
  const communicator& comm_;
};

/// A file that is being read. Every member is collective and throws input_error, naming the file, on all ranks or on
/// none.
class hdf5_input {
 public:
  hdf5_input(const std::string& path, const communicator& comm);
  ~hdf5_input();

  bool has(const std::string& set) const;
  bool has_attribute(const std::string& set, const std::string& attribute) const;
  hdf5_extents extents_of(const std::string& set) const;
  /// Throws unless the data set is there and has these extents. `what` says what was expected: "a propagator on lattice
  /// 8x8x8x16".
  void require(const std::string& set, const hdf5_extents& extents, const std::string& what) const;

  int integer(const std::string& set, const std::string& attribute) const;
  double real(const std::string& set, const std::string& attribute) const;
  std::string text(const std::string& set, const std::string& attribute) const;
  std::vector<int> integers(const std::string& set, const std::string& attribute, std::size_t count) const;
  std::vector<double> reals(const std::string& set, const std::string& attribute, std::size_t count) const;

  /// Reads one block of a field, of single or double precision: unpack is called for each site of this rank.
  void read_field(const std::string& set, std::uint64_t block, const lattice_geometry& geometry,
                  std::size_t numbers_a_site, const site_unpacker& unpack) const;
  /// Reads a whole data set, the same on all ranks, converted to `number`; it must have as many bytes as `elements`.
  void read(const std::string& set, hdf5_number number, std::span<std::byte> elements) const;
  /// Reads a data set of bytes of any length.
  std::string read_text(const std::string& set) const;

 private:
  struct implementation;
  std::unique_ptr<implementation> file_;  ///< null but on rank 0
  const communicator& comm_;
};

}  // namespace plaquette
