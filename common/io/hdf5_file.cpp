// SPDX-License-Identifier: BSD-3-Clause
#include "common/io/hdf5_file.hpp"

#include <algorithm>
#include <utility>

#include "common/error.hpp"
#include "common/io/collective_error.hpp"
#include "common/io/site_slices.hpp"

#ifdef PLAQUETTE_WITH_HDF5
#include <hdf5.h>
#include <sys/resource.h>

#include <cstdio>
#include <filesystem>
#include <system_error>
#include <type_traits>

#include "common/io/hdf5_silence.hpp"
#include "common/io/text.hpp"
#endif

namespace plaquette {

std::size_t bytes_of(hdf5_number number) {
  switch (number) {
    case hdf5_number::complex_double:
      return 16;
    case hdf5_number::complex_single:
    case hdf5_number::real_double:
      return 8;
    case hdf5_number::real_single:
    case hdf5_number::integer:
      return 4;
    case hdf5_number::byte:
      return 1;
  }
  return 0;
}

hdf5_extents extents_of_field(const extents& lattice, const hdf5_extents& site, std::uint64_t blocks) {
  hdf5_extents all;
  if (blocks > 0) all.push_back(blocks);
  for (int mu = dimensions - 1; mu >= 0; --mu) all.push_back(static_cast<std::uint64_t>(lattice[mu]));
  all.insert(all.end(), site.begin(), site.end());
  return all;
}

#ifdef PLAQUETTE_WITH_HDF5

bool has_hdf5() { return true; }

void end_without_hdf5() { H5dont_atexit(); }

namespace {

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

template <class Real>
handle complex_type(hid_t real) {
  handle type(H5Tcreate(H5T_COMPOUND, 2 * sizeof(Real)), H5Tclose);
  H5Tinsert(type, "r", 0, real);
  H5Tinsert(type, "i", sizeof(Real), real);
  return type;
}

handle type_of(hdf5_number number) {
  switch (number) {
    case hdf5_number::complex_double:
      return complex_type<double>(H5T_NATIVE_DOUBLE);
    case hdf5_number::complex_single:
      return complex_type<float>(H5T_NATIVE_FLOAT);
    case hdf5_number::real_double:
      return {H5Tcopy(H5T_NATIVE_DOUBLE), H5Tclose};
    case hdf5_number::real_single:
      return {H5Tcopy(H5T_NATIVE_FLOAT), H5Tclose};
    case hdf5_number::integer:
      return {H5Tcopy(H5T_NATIVE_INT), H5Tclose};
    case hdf5_number::byte:
      break;
  }
  return {H5Tcopy(H5T_NATIVE_UCHAR), H5Tclose};
}

handle space_of(const hdf5_extents& extents) {
  const std::vector<hsize_t> lengths(extents.begin(), extents.end());
  return {H5Screate_simple(static_cast<int>(lengths.size()), lengths.data(), nullptr), H5Sclose};
}

/// The largest number there is where the product passes it.
std::uint64_t elements_of(const hdf5_extents& extents) {
  constexpr std::uint64_t most = std::uint64_t{1} << 56;
  std::uint64_t count = 1;
  for (const std::uint64_t length : extents) {
    if (length != 0 && count > most / length) return most;
    count *= length;
  }
  return count;
}

std::string crossed(const hdf5_extents& lengths) {
  std::string text;
  for (const std::uint64_t length : lengths) {
    if (!text.empty()) text += 'x';
    text += std::to_string(length);
  }
  return text;
}

bool write_attribute(hid_t object, const hdf5_attribute& a) {
  const auto write = [&](hid_t type, const handle& space, const void* value) {
    const handle made(H5Acreate2(object, a.name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    return made.good() && H5Awrite(made, type, value) >= 0;
  };
  const auto one = [] { return handle(H5Screate(H5S_SCALAR), H5Sclose); };
  const auto list = [&](std::size_t size) { return space_of(a.extents.empty() ? hdf5_extents{size} : a.extents); };
  return std::visit(
      [&](const auto& value) {
        using value_type = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_same_v<value_type, int>) {
          return write(H5T_NATIVE_INT, one(), &value);
        } else if constexpr (std::is_same_v<value_type, double>) {
          return write(H5T_NATIVE_DOUBLE, one(), &value);
        } else if constexpr (std::is_same_v<value_type, std::string>) {
          const handle type(H5Tcopy(H5T_C_S1), H5Tclose);
          H5Tset_size(type, value.size() + 1);
          H5Tset_cset(type, H5T_CSET_UTF8);
          return write(type, one(), value.c_str());
        } else if constexpr (std::is_same_v<value_type, std::vector<int>>) {
          return write(H5T_NATIVE_INT, list(value.size()), value.data());
        } else {
          return write(H5T_NATIVE_DOUBLE, list(value.size()), value.data());
        }
      },
      a.value);
}

/// Four digits, since only their size counts.
std::string gib(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g GiB", bytes / 0x1p30);
  return text;
}

/// Refuses a disk or a limit that the file does not fit, before HDF5 meets it: HDF5 cannot close its file any more
/// then.
void require_space(const std::string& path, double bytes) {
  std::filesystem::path directory = std::filesystem::path(path).parent_path();
  if (directory.empty()) directory = ".";
  std::error_code failed;
  const auto space = std::filesystem::space(directory, failed);
  if (!failed && static_cast<double>(space.available) < bytes)
    throw output_error(joined({cleaned(path), ": needs ", gib(bytes), ", and its file system has ",
                               gib(static_cast<double>(space.available)), " left"}));
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      static_cast<double>(limit.rlim_cur) < bytes)
    throw output_error(joined({cleaned(path), ": needs ", gib(bytes), ", and files of this process are limited to ",
                               gib(static_cast<double>(limit.rlim_cur))}));
}

/// Work of rank 0 whose failure is everybody's.
void on_first_rank(const communicator& comm, const std::function<void()>& work) {
  on_all_ranks_or_none(comm, [&] {
    if (comm.rank() == 0) work();
  });
}

}  // namespace

// --- writing: HDF5 makes the file with room for its data, which then is put in place

struct hdf5_output::implementation {
  implementation(const std::string& path, existing_file existing, const std::vector<hdf5_data_set>& sets)
      : destination(path, existing) {
    const hdf5_silence quiet;
    handle file(made(H5Fcreate(destination.temporary_path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)),
                H5Fclose);
    std::vector<handle> data;
    for (const hdf5_data_set& set : sets) {
      const handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
      H5Pset_layout(properties, H5D_CONTIGUOUS);
      H5Pset_alloc_time(properties, H5D_ALLOC_TIME_EARLY);
      H5Pset_fill_time(properties, H5D_FILL_TIME_NEVER);
      H5Pset_obj_track_times(properties, false);  // the same data make the same file at any time
      data.emplace_back(made(H5Dcreate2(file, set.name.c_str(), type_of(set.number), space_of(set.extents), H5P_DEFAULT,
                                        properties, H5P_DEFAULT)),
                        H5Dclose);
      for (const hdf5_attribute& a : set.attributes)
        if (!write_attribute(data.back(), a)) fail();
    }
    for (std::size_t i = 0; i < sets.size(); ++i) {
      const haddr_t offset = elements_of(sets[i].extents) > 0 ? H5Dget_offset(data[i]) : 0;
      if (offset == HADDR_UNDEF || data[i].close() < 0) fail();
      offsets.push_back(offset);
    }
    if (file.close() < 0) fail();
  }
  [[noreturn]] void fail() const {
    throw output_error(joined({cleaned(destination.path()), ": could not be written: ", innermost_error()}));
  }
  hid_t made(hid_t id) const {
    if (id < 0) fail();
    return id;
  }

  atomic_file destination;
  std::vector<std::uint64_t> offsets;  ///< of the data in the file
};

hdf5_output::hdf5_output(const std::string& path, existing_file existing, const std::vector<hdf5_data_set>& sets,
                         const communicator& comm)
    : sets_(sets), comm_(comm) {
  constexpr double bytes_of_headers = 1 << 16;
  double bytes = bytes_of_headers;
  for (const hdf5_data_set& set : sets)
    bytes += static_cast<double>(elements_of(set.extents)) * static_cast<double>(bytes_of(set.number));
  on_first_rank(comm_, [&] {
    require_space(path, bytes);
    file_ = std::make_unique<implementation>(path, existing, sets);
  });
}

void hdf5_output::write_field(std::size_t set, std::uint64_t block, const lattice_geometry& geometry,
                              std::size_t numbers_a_site, const site_packer& pack) {
  const int times = geometry.global()[3];
  for (int time = 0; time < times; ++time) {
    const slice_numbers slice = gathered_slice(geometry, time, numbers_a_site, pack, comm_);
    on_first_rank(comm_, [&] {
      const std::uint64_t place = block * static_cast<std::uint64_t>(times) + static_cast<std::uint64_t>(time);
      const auto put = [&](std::span<const std::byte> bytes) {
        file_->destination.write_at(file_->offsets.at(set) + place * bytes.size(), bytes);
      };
      if (sets_.at(set).number == hdf5_number::complex_double) return put(std::as_bytes(std::span(slice)));
      std::vector<complex<float>> rounded(slice.size());
      std::ranges::transform(slice, rounded.begin(), [](const complex<double>& z) {
        return complex<float>{static_cast<float>(z.re), static_cast<float>(z.im)};
      });
      put(std::as_bytes(std::span(rounded)));
    });
  }
}

void hdf5_output::write(std::size_t set, std::uint64_t first, std::span<const std::byte> elements) {
  on_first_rank(comm_, [&] {
    file_->destination.write_at(file_->offsets.at(set) + first * bytes_of(sets_.at(set).number), elements);
  });
}

void hdf5_output::commit() {
  on_first_rank(comm_, [&] { file_->destination.commit(); });
}

// --- reading

struct hdf5_input::implementation {
  explicit implementation(const std::string& name)
      : path(name), file(opened("an HDF5 file", H5Fopen(name.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT)), H5Fclose) {}

  [[noreturn]] void refuse(const std::string& expected, const std::string& found) const {
    throw input_error(joined({cleaned(path), ": expected ", expected, ", found: ", found}));
  }
  [[noreturn]] void refuse(const std::string& set, const std::string& attribute, const std::string& expected) const {
    throw input_error(
        joined({cleaned(path), ": attribute ", attribute, " of ", set, ": expected ", expected, ", found otherwise"}));
  }
  hid_t opened(const std::string& expected, hid_t id) const {
    if (id < 0) refuse(expected, innermost_error());
    return id;
  }
  handle data(const std::string& set) const {
    return {opened("a data set " + set, H5Dopen2(file, set.c_str(), H5P_DEFAULT)), H5Dclose};
  }
  hdf5_extents extents_of(const std::string& set) const {
    const handle of = data(set), space(H5Dget_space(of), H5Sclose);
    const int ndims = H5Sget_simple_extent_ndims(space);
    std::vector<hsize_t> found(static_cast<std::size_t>(std::max(ndims, 0)));
    H5Sget_simple_extent_dims(space, found.data(), nullptr);
    return {found.begin(), found.end()};
  }
  handle attribute(const std::string& set, const std::string& name) const {
    const handle of = data(set);
    handle found(H5Aopen(of, name.c_str(), H5P_DEFAULT), H5Aclose);
    if (!found.good()) refuse(set, name, "to find it");
    return found;
  }
  void numbers_into(const std::string& set, const std::string& name, hid_t type, std::size_t count,
                    void* values) const {
    const handle a = attribute(set, name), space(H5Aget_space(a), H5Sclose);
    if (H5Sget_simple_extent_npoints(space) != static_cast<hssize_t>(count) || H5Aread(a, type, values) < 0)
      refuse(set, name, std::to_string(count) + " numbers");
  }
  std::string text(const std::string& set, const std::string& name) const {
    constexpr std::size_t longest = 1 << 16;
    const handle a = attribute(set, name), type(H5Aget_type(a), H5Tclose), space(H5Aget_space(a), H5Sclose);
    const std::size_t size = H5Tget_size(type);
    if (H5Tget_class(type) != H5T_STRING || H5Sget_simple_extent_npoints(space) != 1 || size == 0 || size > longest)
      refuse(set, name, "a text");
    if (H5Tis_variable_str(type) > 0) {  // as h5py writes texts
      char* of_hdf5 = nullptr;
      if (H5Aread(a, type, static_cast<void*>(&of_hdf5)) < 0 || of_hdf5 == nullptr) refuse(set, name, "a text");
      std::string value(of_hdf5);
      H5free_memory(of_hdf5);
      return value;
    }
    std::string value(size + 1, '\0');
    if (H5Aread(a, type, value.data()) < 0) refuse(set, name, "a text");
    value.resize(value.find('\0'));
    return value;
  }
  /// Elements from `first` on, along the two slowest extents of a field with blocks or the slowest of one without.
  slice_numbers slice(const std::string& set, std::uint64_t block, std::uint64_t time, std::size_t size) const {
    const handle of = data(set), space(H5Dget_space(of), H5Sclose);
    const hdf5_extents extents = extents_of(set);
    std::vector<hsize_t> start(extents.size(), 0), count(extents.begin(), extents.end());
    const std::size_t time_axis = is_blocked(extents, size) ? 1 : 0;
    if (extents.size() <= time_axis) refuse("a field over a lattice in " + set, "extents " + crossed(extents));
    if (time_axis == 1) {
      start[0] = block;
      count[0] = 1;
    }
    start[time_axis] = time;
    count[time_axis] = 1;
    if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) < 0 ||
        H5Sget_select_npoints(space) != static_cast<hssize_t>(size))
      refuse(std::to_string(size) + " numbers a time slice of " + set, "extents " + crossed(extents));
    slice_numbers slice(size);
    const hsize_t length = size;
    const handle memory(H5Screate_simple(1, &length, nullptr), H5Sclose);
    if (H5Dread(of, type_of(hdf5_number::complex_double), memory, space, H5P_DEFAULT, slice.data()) < 0)
      refuse("the data of time " + std::to_string(time) + " of " + set, innermost_error());
    return slice;
  }
  /// Returns whether the first extent counts blocks: time is the first one otherwise.
  static bool is_blocked(const hdf5_extents& extents, std::size_t size_of_slice) {
    std::uint64_t rest = 1;
    for (std::size_t i = 1; i < extents.size(); ++i) rest *= extents[i];
    return rest != size_of_slice;
  }

  hdf5_silence quiet{};
  std::string path;
  handle file;
};

hdf5_input::hdf5_input(const std::string& path, const communicator& comm) : comm_(comm) {
  on_first_rank(comm_, [&] { file_ = std::make_unique<implementation>(path); });
}

namespace {

/// Rank 0's list for all ranks.
template <class Number>
std::vector<Number> shared_list(const communicator& comm, std::vector<Number> list) {
  std::uint64_t size = list.size();
  comm.broadcast(std::as_writable_bytes(std::span(&size, 1)), 0);
  list.resize(size);
  comm.broadcast(std::as_writable_bytes(std::span(list)), 0);
  return list;
}

std::string shared_text(const communicator& comm, const std::string& text) {
  const std::vector<char> all = shared_list(comm, std::vector<char>(text.begin(), text.end()));
  return {all.begin(), all.end()};
}

}  // namespace

bool hdf5_input::has(const std::string& set) const {
  std::vector<int> found{0};
  if (file_) found[0] = H5Lexists(file_->file, set.c_str(), H5P_DEFAULT) > 0 ? 1 : 0;
  return shared_list(comm_, found)[0] != 0;
}

bool hdf5_input::has_attribute(const std::string& set, const std::string& attribute) const {
  std::vector<int> found{0};
  on_first_rank(comm_, [&] {
    const handle of = file_->data(set);
    found[0] = H5Aexists(of, attribute.c_str()) > 0 ? 1 : 0;
  });
  return shared_list(comm_, found)[0] != 0;
}

hdf5_extents hdf5_input::extents_of(const std::string& set) const {
  hdf5_extents found;
  on_first_rank(comm_, [&] { found = file_->extents_of(set); });
  return shared_list(comm_, found);
}

void hdf5_input::require(const std::string& set, const hdf5_extents& extents, const std::string& what) const {
  on_first_rank(comm_, [&] {
    const hdf5_extents found = file_->extents_of(set);
    if (found != extents) file_->refuse(what, "extents " + crossed(found));
  });
}

int hdf5_input::integer(const std::string& set, const std::string& attribute) const {
  return integers(set, attribute, 1)[0];
}
double hdf5_input::real(const std::string& set, const std::string& attribute) const {
  return reals(set, attribute, 1)[0];
}

std::string hdf5_input::text(const std::string& set, const std::string& attribute) const {
  std::string value;
  on_first_rank(comm_, [&] { value = file_->text(set, attribute); });
  return shared_text(comm_, value);
}

std::vector<int> hdf5_input::integers(const std::string& set, const std::string& attribute, std::size_t count) const {
  std::vector<int> values(count);
  on_first_rank(comm_, [&] { file_->numbers_into(set, attribute, H5T_NATIVE_INT, count, values.data()); });
  return shared_list(comm_, values);
}

std::vector<double> hdf5_input::reals(const std::string& set, const std::string& attribute, std::size_t count) const {
  std::vector<double> values(count);
  on_first_rank(comm_, [&] { file_->numbers_into(set, attribute, H5T_NATIVE_DOUBLE, count, values.data()); });
  return shared_list(comm_, values);
}

void hdf5_input::read_field(const std::string& set, std::uint64_t block, const lattice_geometry& geometry,
                            std::size_t numbers_a_site, const site_unpacker& unpack) const {
  const extents& lattice = geometry.global();
  const std::size_t size = static_cast<std::size_t>(volume(lattice) / lattice[3]) * numbers_a_site;
  for (int time = 0; time < lattice[3]; ++time) {
    slice_numbers slice;
    on_first_rank(comm_, [&] { slice = file_->slice(set, block, static_cast<std::uint64_t>(time), size); });
    scatter_slice(geometry, time, numbers_a_site, slice, unpack, comm_);
  }
}

void hdf5_input::read(const std::string& set, hdf5_number number, std::span<std::byte> elements) const {
  on_first_rank(comm_, [&] {
    const handle of = file_->data(set);
    const hdf5_extents extents = file_->extents_of(set);
    if (elements_of(extents) != elements.size() / bytes_of(number) || elements.size() % bytes_of(number) != 0)
      file_->refuse(std::to_string(elements.size() / bytes_of(number)) + " numbers in " + set,
                    "extents " + crossed(extents));
    if (H5Dread(of, type_of(number), H5S_ALL, H5S_ALL, H5P_DEFAULT, elements.data()) < 0)
      file_->refuse("the data of " + set, innermost_error());
  });
  comm_.broadcast(elements, 0);
}

std::string hdf5_input::read_text(const std::string& set) const {
  std::string text;
  on_first_rank(comm_, [&] {
    // No text of ours is compressed: a longer one than its file is made of nothing.
    hsize_t bytes = 0;
    H5Fget_filesize(file_->file, &bytes);
    const auto longest = static_cast<hssize_t>(std::min<hsize_t>(bytes, hsize_t{1} << 28));
    const handle of = file_->data(set), space(H5Dget_space(of), H5Sclose), type(H5Dget_type(of), H5Tclose);
    const hssize_t size = H5Sget_simple_extent_npoints(space);
    if (H5Tget_class(type) != H5T_INTEGER || size < 1 || size > longest)
      file_->refuse("a text in " + set, "other data");
    text.resize(static_cast<std::size_t>(size));
    if (H5Dread(of, H5T_NATIVE_UCHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()) < 0)
      file_->refuse("a text in " + set, innermost_error());
  });
  return shared_text(comm_, text);
}

#else

bool has_hdf5() { return false; }

void end_without_hdf5() {}

namespace {
[[noreturn]] void refuse() { throw input_error("HDF5 files: this program was built without HDF5"); }
}  // namespace

struct hdf5_output::implementation {};
struct hdf5_input::implementation {};

hdf5_output::hdf5_output(const std::string&, existing_file, const std::vector<hdf5_data_set>&, const communicator& comm)
    : comm_(comm) {
  refuse();
}
void hdf5_output::write_field(std::size_t, std::uint64_t, const lattice_geometry&, std::size_t, const site_packer&) {
  refuse();
}
void hdf5_output::write(std::size_t, std::uint64_t, std::span<const std::byte>) { refuse(); }
void hdf5_output::commit() { refuse(); }

hdf5_input::hdf5_input(const std::string&, const communicator& comm) : comm_(comm) { refuse(); }
bool hdf5_input::has(const std::string&) const { refuse(); }
bool hdf5_input::has_attribute(const std::string&, const std::string&) const { refuse(); }
hdf5_extents hdf5_input::extents_of(const std::string&) const { refuse(); }
void hdf5_input::require(const std::string&, const hdf5_extents&, const std::string&) const { refuse(); }
int hdf5_input::integer(const std::string&, const std::string&) const { refuse(); }
double hdf5_input::real(const std::string&, const std::string&) const { refuse(); }
std::string hdf5_input::text(const std::string&, const std::string&) const { refuse(); }
std::vector<int> hdf5_input::integers(const std::string&, const std::string&, std::size_t) const { refuse(); }
std::vector<double> hdf5_input::reals(const std::string&, const std::string&, std::size_t) const { refuse(); }
void hdf5_input::read_field(const std::string&, std::uint64_t, const lattice_geometry&, std::size_t,
                            const site_unpacker&) const {
  refuse();
}
void hdf5_input::read(const std::string&, hdf5_number, std::span<std::byte>) const { refuse(); }
std::string hdf5_input::read_text(const std::string&) const { refuse(); }

#endif

hdf5_output::~hdf5_output() = default;
hdf5_input::~hdf5_input() = default;

}  // namespace plaquette
