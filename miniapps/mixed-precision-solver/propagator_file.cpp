// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/mixed-precision-solver/propagator_file.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>

#include "common/error.hpp"

#ifdef PLAQUETTE_WITH_HDF5
#include <fmt/core.h>
#include <hdf5.h>
#include <sys/resource.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <type_traits>
#include <utility>

#include "common/app/memory.hpp"
#include "common/app/parse.hpp"
#include "common/app/provenance.hpp"
#include "common/io/atomic_file.hpp"
#include "common/io/collective_error.hpp"
#endif

namespace plaquette {

namespace {

/// The 12 x 12 complex numbers of a site: [sink spin][sink colour][source spin][source colour].
constexpr int site_numbers = cpu::spin_colours * cpu::spin_colours;

}  // namespace

std::string name_of(gamma_basis basis) {
  switch (basis) {
    case gamma_basis::degrand_rossi:
      return "degrand-rossi";
    case gamma_basis::nonrelativistic:
      return "nonrelativistic";
    case gamma_basis::dirac_pauli:
      return "dirac-pauli";
    case gamma_basis::openqcd:
      return "openqcd";
    case gamma_basis::tmlqcd:
      return "tmlqcd";
  }
  return "unknown";
}

double propagator_file_bytes(const extents& lattice) {
  return static_cast<double>(volume(lattice)) * site_numbers * sizeof(complex<double>);
}

void rotate_basis(cpu::propagator& columns, const spin_matrix& rotation) {
  if (rotation == spin_matrix::identity()) return;
  const lattice_geometry& geometry = columns.front().geometry();
#pragma omp parallel for
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
    const coordinate x = geometry.local_coordinate(site);
    std::array<spinor<double>, cpu::spin_colours> rotated{};
    for (int d = 0; d < spins; ++d)
      for (int e = 0; e < colours; ++e) {
        const spinor<double> sink = rotation * columns[static_cast<std::size_t>(colours * d + e)](x);
        for (int f = 0; f < spins; ++f)  // S'(f) = sum_d (R S)(d) conj R(f, d)
          rotated[static_cast<std::size_t>(colours * f + e)] += conj(rotation(f, d)) * sink;
      }
    for (std::size_t n = 0; n < rotated.size(); ++n) columns[n](x) = rotated[n];
  }
}

#ifdef PLAQUETTE_WITH_HDF5

bool has_propagator_files() { return true; }

namespace {

constexpr int format_version = 1;
constexpr const char* data_set_name = "/propagator";
constexpr const char* columns_name = "/columns";
constexpr const char* state_name = "/state";

/// Closes what HDF5 has opened.
class handle {
 public:
  handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  handle(handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  handle& operator=(handle&&) = delete;
  ~handle() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const { return id_; }  // NOLINT: HDF5's functions take the number
  bool good() const { return id_ >= 0; }
  /// Closes now; negative where that failed.
  herr_t close() { return close_(std::exchange(id_, -1)); }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

/// HDF5 prints its errors on stderr unless it is told not to; here they become exceptions.
class silence {
 public:
  silence() {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~silence() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  silence(const silence&) = delete;
  silence& operator=(const silence&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

/// What HDF5 says of the error that came first.
std::string innermost_error() {
  std::string text = "HDF5 gives no reason";
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned depth, const H5E_error2_t* e, void* out) -> herr_t {
        if (depth == 0 && e->desc != nullptr) *static_cast<std::string*>(out) = e->desc;
        return 0;
      },
      &text);
  return text;
}

handle complex_type() {
  handle type(H5Tcreate(H5T_COMPOUND, sizeof(complex<double>)), H5Tclose);
  H5Tinsert(type, "r", offsetof(complex<double>, re), H5T_NATIVE_DOUBLE);
  H5Tinsert(type, "i", offsetof(complex<double>, im), H5T_NATIVE_DOUBLE);
  return type;
}

using data_extents = std::vector<hsize_t>;

/// Of a field of spinors, whatever there is of it at a site: a propagator's source spin and colour, or some columns.
data_extents extents_of_data(const extents& lattice, const data_extents& copies) {
  const auto length = [&](int mu) { return static_cast<hsize_t>(lattice[static_cast<std::size_t>(mu)]); };
  data_extents all{length(3), length(2), length(1), length(0), spins, colours};
  all.insert(all.end(), copies.begin(), copies.end());
  return all;
}

const data_extents source_spin_colours{spins, colours};

std::string joined(const data_extents& lengths) {
  std::string text;
  for (const hsize_t length : lengths) {
    if (!text.empty()) text += 'x';
    text += std::to_string(length);
  }
  return text;
}

/// Memory and file spaces of one time slice.
struct time_slice {
  handle in_file, in_memory;
};
time_slice slice_at(hid_t file_space, data_extents count, int time) {
  data_extents start(count.size(), 0);
  start[0] = static_cast<hsize_t>(time);
  count[0] = 1;
  time_slice slice{handle(H5Scopy(file_space), H5Sclose),
                   handle(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), H5Sclose)};
  H5Sselect_hyperslab(slice.in_file, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
  return slice;
}

// --- between ranks: the part of a time slice that a rank holds, sites in local order, and the slice as the file has it

using numbers = std::vector<complex<double>>;

/// Some columns, in the order of their file.
using column_list = std::vector<spinor_configuration*>;
using const_column_list = std::vector<const spinor_configuration*>;

const_column_list all_of(const cpu::propagator& columns) {
  const_column_list list;
  for (const spinor_configuration& column : columns) list.push_back(&column);
  return list;
}
column_list all_of(cpu::propagator& columns) {
  column_list list;
  for (spinor_configuration& column : columns) list.push_back(&column);
  return list;
}

/// Complex numbers a site: [sink spin][sink colour][column].
template <class List>
std::size_t numbers_of_site(const List& columns) {
  return columns.size() * cpu::spin_colours;
}

std::size_t sites_of_slice(const extents& lattice) { return static_cast<std::size_t>(volume(lattice) / lattice[3]); }

/// This rank's sites of a time slice of the whole lattice.
template <class Visit>
void for_each_own_site(const lattice_geometry& geometry, int time, Visit&& visit) {
  const extents& local = geometry.local();
  coordinate x{0, 0, 0, time - geometry.origin()[3]};
  if (x[3] < 0 || x[3] >= local[3]) return;
  std::size_t at = 0;
  for (x[2] = 0; x[2] < local[2]; ++x[2])
    for (x[1] = 0; x[1] < local[1]; ++x[1])
      for (x[0] = 0; x[0] < local[0]; ++x[0]) visit(x, at++);
}

std::size_t own_sites(const lattice_geometry& geometry, int time) {
  std::size_t count = 0;
  for_each_own_site(geometry, time, [&](const coordinate&, std::size_t) { ++count; });
  return count;
}

numbers packed(const const_column_list& columns, int time) {
  const lattice_geometry& geometry = columns.front()->geometry();
  numbers part(own_sites(geometry, time) * numbers_of_site(columns));
  for_each_own_site(geometry, time, [&](const coordinate& x, std::size_t site) {
    complex<double>* to = part.data() + site * numbers_of_site(columns);
    for (int a = 0; a < spins; ++a)
      for (int c = 0; c < colours; ++c)
        for (const spinor_configuration* column : columns) *to++ = (*column)(x)(a, c);
  });
  return part;
}

void unpack(const column_list& columns, int time, const numbers& part) {
  const lattice_geometry geometry = columns.front()->geometry();
  for_each_own_site(geometry, time, [&](const coordinate& x, std::size_t site) {
    const complex<double>* from = part.data() + site * numbers_of_site(columns);
    for (int a = 0; a < spins; ++a)
      for (int c = 0; c < colours; ++c)
        for (spinor_configuration* column : columns) (*column)(x)(a, c) = *from++;
  });
}

/// Calls copy(numbers of the slice, numbers of the part) for each site of a rank's part.
template <class Copy>
void for_each_site_of_part(const lattice_geometry& part_of, int time, std::size_t site_numbers, numbers& slice,
                           numbers& part, Copy&& copy) {
  const extents& lattice = part_of.global();
  for_each_own_site(part_of, time, [&](const coordinate& x, std::size_t site) {
    coordinate g = part_of.to_global(x);
    g[3] = 0;
    copy(slice.data() + static_cast<std::size_t>(lexicographic(g, lattice)) * site_numbers,
         part.data() + site * site_numbers);
  });
}

lattice_geometry geometry_of_rank(const lattice_geometry& geometry, int rank) {
  return lattice_geometry(geometry.global(), geometry.grid(), rank);
}

/// Every rank's part of a time slice goes to rank 0, which puts the slice together. Collective.
numbers gathered(const const_column_list& columns, int time, const communicator& comm) {
  const lattice_geometry& geometry = columns.front()->geometry();
  const std::size_t site_numbers = numbers_of_site(columns);
  const numbers part = packed(columns, time);
  std::vector<numbers> parts;
  std::vector<incoming_message> receive;
  if (comm.rank() == 0) {
    parts.resize(static_cast<std::size_t>(comm.size()));
    for (int rank = 0; rank < comm.size(); ++rank) {
      numbers& from = parts[static_cast<std::size_t>(rank)];
      from.resize(own_sites(geometry_of_rank(geometry, rank), time) * site_numbers);
      if (!from.empty()) receive.push_back({rank, 0, std::as_writable_bytes(std::span(from))});
    }
  }
  std::vector<outgoing_message> send;
  if (!part.empty()) send.push_back({0, 0, std::as_bytes(std::span(part))});
  comm.start_exchange(send, receive).wait();
  if (comm.rank() != 0) return {};
  numbers slice(sites_of_slice(geometry.global()) * site_numbers);
  for (int rank = 0; rank < comm.size(); ++rank)
    for_each_site_of_part(
        geometry_of_rank(geometry, rank), time, site_numbers, slice, parts[static_cast<std::size_t>(rank)],
        [&](complex<double>* to, const complex<double>* from) { std::copy_n(from, site_numbers, to); });
  return slice;
}

/// The inverse of `gathered`. Collective.
void scatter(const column_list& columns, int time, numbers& slice, const communicator& comm) {
  const lattice_geometry geometry = columns.front()->geometry();
  const std::size_t site_numbers = numbers_of_site(columns);
  numbers part(own_sites(geometry, time) * site_numbers);
  std::vector<numbers> parts;
  std::vector<outgoing_message> send;
  if (comm.rank() == 0) {
    parts.resize(static_cast<std::size_t>(comm.size()));
    for (int rank = 0; rank < comm.size(); ++rank) {
      numbers& to = parts[static_cast<std::size_t>(rank)];
      const lattice_geometry theirs = geometry_of_rank(geometry, rank);
      to.resize(own_sites(theirs, time) * site_numbers);
      for_each_site_of_part(
          theirs, time, site_numbers, slice, to,
          [&](const complex<double>* from, complex<double>* out) { std::copy_n(from, site_numbers, out); });
      if (!to.empty()) send.push_back({rank, 0, std::as_bytes(std::span(to))});
    }
  }
  std::vector<incoming_message> receive;
  if (!part.empty()) receive.push_back({0, 0, std::as_writable_bytes(std::span(part))});
  comm.start_exchange(send, receive).wait();
  unpack(columns, time, part);
}

// --- attributes

/// Writes attributes of one object; remembers whether all went well.
class attribute_writer {
 public:
  explicit attribute_writer(hid_t object) : object_(object) {}
  void text(const char* name, const std::string& value) {
    const handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type, value.size() + 1);
    H5Tset_cset(type, H5T_CSET_UTF8);
    write(name, type, handle(H5Screate(H5S_SCALAR), H5Sclose), value.c_str());
  }
  void integer(const char* name, int value) {
    write(name, H5T_NATIVE_INT, handle(H5Screate(H5S_SCALAR), H5Sclose), &value);
  }
  void real(const char* name, double value) {
    write(name, H5T_NATIVE_DOUBLE, handle(H5Screate(H5S_SCALAR), H5Sclose), &value);
  }
  template <class Number>
  void list(const char* name, hid_t type, std::vector<hsize_t> lengths, const Number* values) {
    write(name, type, handle(H5Screate_simple(static_cast<int>(lengths.size()), lengths.data(), nullptr), H5Sclose),
          values);
  }
  bool good() const { return good_; }

 private:
  void write(const char* name, hid_t type, const handle& space, const void* value) {
    const handle attribute(H5Acreate2(object_, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    good_ = good_ && attribute.good() && H5Awrite(attribute, type, value) >= 0;
  }
  hid_t object_;
  bool good_ = true;
};

bool write_facts(hid_t data_set, const propagator_facts& facts) {
  attribute_writer to(data_set);
  to.integer("format_version", format_version);
  to.text("basis", name_of(facts.basis));
  to.text("basis_note", "S' = R S R^+ from the DeGrand-Rossi basis; gamma_5 = gamma_x gamma_y gamma_z gamma_t");
  to.text("gauge", facts.gauge);
  to.real("plaquette", facts.plaquette);
  to.real("mass", facts.action.mass);
  to.real("kappa", facts.action.kappa());
  to.real("clover_spatial", facts.action.clover_spatial);
  to.real("clover_temporal", facts.action.clover_temporal);
  to.real("anisotropy", facts.action.anisotropy);
  to.real("nu", facts.action.nu);
  to.list("boundary_phases", H5T_NATIVE_DOUBLE, {dimensions, 2}, &facts.action.boundary_phase[0].re);
  to.text("source", cpu::name(facts.source.kind));
  to.list("source_position", H5T_NATIVE_INT, {dimensions}, facts.source.position.data());
  to.real("smearing_radius", facts.source.smearing_radius);
  to.integer("smearing_steps", facts.source.smearing_steps);
  to.list("residuals", H5T_NATIVE_DOUBLE, {facts.residuals.size()}, facts.residuals.data());
  to.real("tolerance", facts.tolerance);
  to.text("revision", build_information().revision);
  return to.good();
}

/// Reads attributes of one object; throws input_error for one that is not there or not what it should be.
class attribute_reader {
 public:
  attribute_reader(hid_t object, std::string file) : object_(object), file_(std::move(file)) {}
  std::string text(const char* name) const {
    const handle attribute = open(name);
    const handle type(H5Aget_type(attribute), H5Tclose);
    const handle space(H5Aget_space(attribute), H5Sclose);
    constexpr std::size_t longest = 1 << 16;
    const std::size_t size = H5Tget_size(type);
    if (H5Tget_class(type) != H5T_STRING || H5Sget_simple_extent_npoints(space) != 1 || size == 0 || size > longest)
      refuse(name, "a text");
    if (H5Tis_variable_str(type) > 0) return text_of_any_length(name, attribute, type);
    std::string value(size + 1, '\0');
    if (H5Aread(attribute, type, value.data()) < 0) refuse(name, "a text");
    value.resize(value.find('\0'));
    return value;
  }
  int integer(const char* name) const {
    int value = 0;
    numbers_into(name, H5T_NATIVE_INT, 1, &value);
    return value;
  }
  double real(const char* name) const {
    double value = 0;
    numbers_into(name, H5T_NATIVE_DOUBLE, 1, &value);
    return value;
  }
  template <class Number>
  void numbers_into(const char* name, hid_t type, hssize_t count, Number* values) const {
    const handle attribute = open(name);
    const handle space(H5Aget_space(attribute), H5Sclose);
    if (H5Sget_simple_extent_npoints(space) != count || H5Aread(attribute, type, values) < 0)
      refuse(name, std::to_string(count) + " numbers");
  }

 private:
  /// As h5py writes texts.
  std::string text_of_any_length(const char* name, hid_t attribute, hid_t type) const {
    char* of_hdf5 = nullptr;
    if (H5Aread(attribute, type, static_cast<void*>(&of_hdf5)) < 0 || of_hdf5 == nullptr) refuse(name, "a text");
    std::string value(of_hdf5);
    H5free_memory(of_hdf5);
    return value;
  }
  handle open(const char* name) const {
    handle attribute(H5Aopen(object_, name, H5P_DEFAULT), H5Aclose);
    if (!attribute.good()) refuse(name, "to find it");
    return attribute;
  }
  [[noreturn]] void refuse(const char* name, const std::string& expected) const {
    throw input_error(
        fmt::format("{}: attribute {} of {}: expected {}, found otherwise", file_, name, data_set_name, expected));
  }
  hid_t object_;
  std::string file_;
};

propagator_facts read_facts(hid_t data_set, const std::string& path) {
  const attribute_reader from(data_set, path);
  if (const int version = from.integer("format_version"); version != format_version)
    throw input_error(fmt::format("{}: expected format_version {}, found {}", path, format_version, version));
  propagator_facts facts;
  facts.basis = parse_gamma_basis(from.text("basis"));
  facts.gauge = from.text("gauge");
  facts.plaquette = from.real("plaquette");
  facts.action.mass = from.real("mass");
  facts.action.clover_spatial = from.real("clover_spatial");
  facts.action.clover_temporal = from.real("clover_temporal");
  facts.action.anisotropy = from.real("anisotropy");
  facts.action.nu = from.real("nu");
  from.numbers_into("boundary_phases", H5T_NATIVE_DOUBLE, 2 * dimensions, &facts.action.boundary_phase[0].re);
  facts.source.kind = cpu::parse_source_kind(from.text("source"));
  from.numbers_into("source_position", H5T_NATIVE_INT, dimensions, facts.source.position.data());
  facts.source.smearing_radius = from.real("smearing_radius");
  facts.source.smearing_steps = from.integer("smearing_steps");
  if (facts.source.smearing_steps > most_smearing_steps)
    throw input_error(fmt::format("{}: expected at most {} smearing_steps, found {}", path, most_smearing_steps,
                                  facts.source.smearing_steps));
  facts.residuals.resize(cpu::spin_colours);
  from.numbers_into("residuals", H5T_NATIVE_DOUBLE, cpu::spin_colours, facts.residuals.data());
  facts.tolerance = from.real("tolerance");
  return facts;
}

/// A disk or a limit that the file does not fit is met before HDF5 meets it, which cannot close its file any more then.
void require_space(const std::string& path, double bytes) {
  std::filesystem::path directory = std::filesystem::path(path).parent_path();
  if (directory.empty()) directory = ".";
  std::error_code failed;
  const auto space = std::filesystem::space(directory, failed);
  if (!failed && static_cast<double>(space.available) < bytes)
    throw output_error(fmt::format("{}: needs {}, and its file system has {} left", printable(path),
                                   format_bytes(bytes), format_bytes(static_cast<double>(space.available))));
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      static_cast<double>(limit.rlim_cur) < bytes)
    throw output_error(fmt::format("{}: needs {}, and files of this process are limited to {}", printable(path),
                                   format_bytes(bytes), format_bytes(static_cast<double>(limit.rlim_cur))));
}

/// Adds to a new file what describes its data; false where that failed.
using describe_data = std::function<bool(hid_t file, hid_t data_set)>;

/// Rank 0's side of writing: the file is made by HDF5 with room for its data, which then is put in place slice by
/// slice.
class writer {
 public:
  writer(const std::string& path, existing_file existing, const char* name, const data_extents& extents_of_set,
         const describe_data& describe)
      : destination_(path, existing) {
    const silence quiet;
    handle file(made(H5Fcreate(destination_.temporary_path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)),
                H5Fclose);
    const handle type = complex_type(), properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    const handle space(H5Screate_simple(static_cast<int>(extents_of_set.size()), extents_of_set.data(), nullptr),
                       H5Sclose);
    H5Pset_layout(properties, H5D_CONTIGUOUS);
    H5Pset_alloc_time(properties, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(properties, H5D_FILL_TIME_NEVER);
    H5Pset_obj_track_times(properties, false);  // the same propagator makes the same file at any time
    handle data(made(H5Dcreate2(file, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT)), H5Dclose);
    if (!describe(file, data)) fail();
    const haddr_t offset = H5Sget_simple_extent_npoints(space) > 0 ? H5Dget_offset(data) : 0;
    if (offset == HADDR_UNDEF || data.close() < 0 || file.close() < 0) fail();
    offset_ = offset;
  }
  void write(int time, const numbers& slice) {
    const auto bytes = std::as_bytes(std::span(slice));
    destination_.write_at(offset_ + static_cast<std::uint64_t>(time) * bytes.size(), bytes);
  }
  void commit() { destination_.commit(); }

 private:
  [[noreturn]] void fail() const {
    throw output_error(fmt::format("{}: could not be written: {}", printable(destination_.path()), innermost_error()));
  }
  hid_t made(hid_t id) const {
    if (id < 0) fail();
    return id;
  }
  atomic_file destination_;
  std::uint64_t offset_ = 0;  ///< of the data in the file
};

/// Rank 0's side of reading.
class reader {
 public:
  /// \param what  the data set is, and `extents_of_set` what extents it must have
  reader(const std::string& path, const char* name, const data_extents& extents_of_set, const std::string& what)
      : path_(path),
        extents_(extents_of_set),
        file_(opened("an HDF5 file", H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT)), H5Fclose),
        type_(complex_type()),
        data_(opened("a data set " + std::string(name), H5Dopen2(file_, name, H5P_DEFAULT)), H5Dclose),
        space_(H5Dget_space(data_), H5Sclose) {
    const int ndims = H5Sget_simple_extent_ndims(space_);
    if (ndims != std::ssize(extents_)) refuse(fmt::format("{} dimensions", extents_.size()), std::to_string(ndims));
    data_extents found(extents_.size());
    H5Sget_simple_extent_dims(space_, found.data(), nullptr);
    if (found != extents_) refuse(what, "extents " + joined(found));
  }
  propagator_facts facts() const { return read_facts(data_, path_); }
  numbers read(int time) const {
    std::size_t size = 1;
    for (std::size_t i = 1; i < extents_.size(); ++i) size *= extents_[i];
    numbers slice(size);
    const time_slice where = slice_at(space_, extents_, time);
    if (H5Dread(data_, type_, where.in_memory, where.in_file, H5P_DEFAULT, slice.data()) < 0)
      refuse("the data of time " + std::to_string(time), innermost_error());
    return slice;
  }

 private:
  [[noreturn]] void refuse(const std::string& expected, const std::string& found) const {
    throw input_error(fmt::format("{}: expected {}, found: {}", printable(path_), expected, found));
  }
  hid_t opened(const std::string& expected, hid_t id) const {
    if (id < 0) refuse(expected, innermost_error());
    return id;
  }
  silence quiet_;
  std::string path_;
  data_extents extents_;
  handle file_, type_, data_, space_;
};

/// The facts of rank 0 for all; only what the solve needs.
void share_facts(propagator_facts& facts, const communicator& comm) {
  facts.residuals.resize(cpu::spin_colours);
  const auto share = [&comm](auto& value) { comm.broadcast(std::as_writable_bytes(std::span(&value, 1)), 0); };
  share(facts.action);
  share(facts.source);
  share(facts.basis);
  share(facts.plaquette);
  share(facts.tolerance);
  comm.broadcast(std::as_writable_bytes(std::span(facts.residuals)), 0);
}

/// Work of rank 0 whose failure is everybody's.
void on_first_rank(const communicator& comm, const std::function<void()>& work) {
  on_all_ranks_or_none(comm, [&] {
    if (comm.rank() == 0) work();
  });
}

/// All time slices of some columns, through rank 0's writer, and the file's name at last.
void write_slices(std::unique_ptr<writer>& out, const const_column_list& columns, const communicator& comm) {
  for (int time = 0; time < columns.front()->geometry().global()[3]; ++time) {
    const numbers slice = gathered(columns, time, comm);
    on_first_rank(comm, [&] { out->write(time, slice); });
  }
  on_first_rank(comm, [&] { out->commit(); });
}

void read_slices(const std::unique_ptr<reader>& in, const column_list& columns, const communicator& comm) {
  for (int time = 0; time < columns.front()->geometry().global()[3]; ++time) {
    numbers slice;
    on_first_rank(comm, [&] { slice = in->read(time); });
    scatter(columns, time, slice, comm);
  }
}

constexpr double bytes_of_headers = 1 << 16;

bool write_text(hid_t file, const char* name, const std::string& text) {
  const hsize_t size = text.size();
  const handle space(H5Screate_simple(1, &size, nullptr), H5Sclose);
  const handle data(H5Dcreate2(file, name, H5T_NATIVE_UCHAR, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
  return data.good() && H5Dwrite(data, H5T_NATIVE_UCHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()) >= 0;
}

/// The columns of a list of numbers.
template <class Propagator>
auto chosen(Propagator& columns, const std::vector<int>& which) {
  const auto all = all_of(columns);
  std::remove_const_t<decltype(all)> some;
  for (const int column : which) some.push_back(all.at(static_cast<std::size_t>(column)));
  return some;
}

}  // namespace

void write_propagator(const std::string& path, bool replace, const cpu::propagator& columns,
                      const propagator_facts& facts, const communicator& comm) {
  const extents lattice = columns.front().geometry().global();
  cpu::propagator rotated;  // a copy where there is something to rotate
  if (facts.basis != gamma_basis::degrand_rossi) {
    rotated = columns;
    rotate_basis(rotated, basis_rotation(facts.basis));
  }
  std::unique_ptr<writer> out;
  on_first_rank(comm, [&] {
    require_space(path, propagator_file_bytes(lattice) + bytes_of_headers);
    out = std::make_unique<writer>(path, replace ? existing_file::replace : existing_file::keep, data_set_name,
                                   extents_of_data(lattice, source_spin_colours),
                                   [&](hid_t, hid_t data) { return write_facts(data, facts); });
  });
  write_slices(out, all_of(rotated.empty() ? columns : rotated), comm);
}

loaded_propagator read_propagator(const std::string& path, const lattice_geometry& geometry, const communicator& comm) {
  loaded_propagator loaded{cpu::propagator(cpu::spin_colours, spinor_configuration(geometry)), {}};
  std::unique_ptr<reader> in;
  on_first_rank(comm, [&] {
    in = std::make_unique<reader>(path, data_set_name, extents_of_data(geometry.global(), source_spin_colours),
                                  "a propagator on lattice " + to_string(geometry.global()));
    loaded.facts = in->facts();
  });
  share_facts(loaded.facts, comm);
  read_slices(in, all_of(loaded.columns), comm);
  rotate_basis(loaded.columns, adjoint(basis_rotation(loaded.facts.basis)));
  return loaded;
}

void write_columns(const std::string& path, const cpu::propagator& columns, const std::vector<int>& which,
                   const std::string& state, const communicator& comm) {
  const extents lattice = columns.front().geometry().global();
  const data_extents shape = extents_of_data(lattice, {which.size()});
  std::unique_ptr<writer> out;
  on_first_rank(comm, [&] {
    const double share = static_cast<double>(which.size()) / cpu::spin_colours;
    require_space(path, share * propagator_file_bytes(lattice) + static_cast<double>(state.size()) + bytes_of_headers);
    out = std::make_unique<writer>(path, existing_file::replace, columns_name, shape,
                                   [&](hid_t file, hid_t) { return write_text(file, state_name, state); });
  });
  if (which.empty())
    on_first_rank(comm, [&] { out->commit(); });
  else
    write_slices(out, chosen(columns, which), comm);
}

std::string read_columns_state(const std::string& path) {
  const silence quiet;
  const auto refuse = [&path](const std::string& expected) {
    throw input_error(fmt::format("{}: expected {}, found: {}", printable(path), expected, innermost_error()));
  };
  const handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!file.good()) refuse("an HDF5 file");
  const handle data(H5Dopen2(file, state_name, H5P_DEFAULT), H5Dclose);
  if (!data.good())
    refuse("a checkpoint of plaquette-mixed-precision-solver, with a data set " + std::string(state_name));
  const handle space(H5Dget_space(data), H5Sclose), type(H5Dget_type(data), H5Tclose);
  constexpr hssize_t longest = hssize_t{1} << 30;
  const hssize_t size = H5Sget_simple_extent_npoints(space);
  if (H5Tget_class(type) != H5T_INTEGER || size < 1 || size > longest) refuse("a text in " + std::string(state_name));
  std::string state(static_cast<std::size_t>(size), '\0');
  if (H5Dread(data, H5T_NATIVE_UCHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, state.data()) < 0)
    refuse("a text in " + std::string(state_name));
  return state;
}

void read_columns(const std::string& path, cpu::propagator& columns, const std::vector<int>& which,
                  const communicator& comm) {
  if (which.empty()) return;
  const extents lattice = columns.front().geometry().global();
  std::unique_ptr<reader> in;
  on_first_rank(comm, [&] {
    in = std::make_unique<reader>(path, columns_name, extents_of_data(lattice, {which.size()}),
                                  fmt::format("{} columns on lattice {}", which.size(), to_string(lattice)));
  });
  read_slices(in, chosen(columns, which), comm);
}

#else

bool has_propagator_files() { return false; }

void write_propagator(const std::string&, bool, const cpu::propagator&, const propagator_facts&, const communicator&) {
  throw input_error("propagator files: this program was built without HDF5");
}

loaded_propagator read_propagator(const std::string&, const lattice_geometry&, const communicator&) {
  throw input_error("propagator files: this program was built without HDF5");
}

void write_columns(const std::string&, const cpu::propagator&, const std::vector<int>&, const std::string&,
                   const communicator&) {
  throw input_error("propagator files: this program was built without HDF5");
}

std::string read_columns_state(const std::string&) {
  throw input_error("propagator files: this program was built without HDF5");
}

void read_columns(const std::string&, cpu::propagator&, const std::vector<int>&, const communicator&) {
  throw input_error("propagator files: this program was built without HDF5");
}

#endif

}  // namespace plaquette
