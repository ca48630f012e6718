// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "bindings/cpp/source/devices.hpp"
#include "bindings/cpp/source/state.hpp"
#include "common/io/gauge_file.hpp"
#include "common/io/link_array.hpp"
#include "cpu_ref/gauge/plaquette.hpp"
#ifdef PLAQUETTE_WITH_MPI
#include "common/comms/mpi_communicator.hpp"
#endif

namespace plaquette::api {
inline namespace v1 {

const char* text_of(code what) {
  switch (what) {
    case code::success:
      return "done and verified";
    case code::not_verified:
      return "the result did not pass its independent check, or was not judged";
    case code::unusable_input:
      return "an argument, an array or a file cannot be used";
    case code::no_convergence:
      return "the solver stopped above its tolerance";
    case code::out_of_memory:
      return "memory that is needed is not there";
    case code::output_failed:
      return "a file could not be written";
    case code::interrupted:
      return "the caller's stop function or progress function ended the call";
    case code::not_available:
      return "this library or this machine does not have it";
    case code::invalid_handle:
      return "there is no such object: the handle is zero, freed or of another kind";
    case code::internal_error:
      return "an internal error of the library";
  }
  return "no code of this library";
}

const char* version() { return PLAQUETTE_VERSION; }

communicator ranks_of(const std::optional<int>& fortran_communicator) {
  if (!fortran_communicator) return {};
#ifdef PLAQUETTE_WITH_MPI
  int started = 0, ended = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&ended);
  if (started == 0 || ended != 0)
    throw error(code::unusable_input, "a communicator was given, but MPI is not running; call MPI_Init before");
  const MPI_Comm group = MPI_Comm_f2c(static_cast<MPI_Fint>(*fortran_communicator));
  if (group == MPI_COMM_NULL) throw error(code::unusable_input, "expected a group of ranks, found MPI_COMM_NULL");
  int is_between = 0;
  MPI_Comm_test_inter(group, &is_between);
  if (is_between != 0)
    throw error(code::unusable_input,
                "expected a communicator of one group of ranks, found one between two groups (an intercommunicator)");
  note_threads();
  return communicator_of(group);
#else
  throw error(code::not_available, "this library was built without MPI (PLAQUETTE_MPI=ON builds it)");
#endif
}

namespace {

std::shared_ptr<lattice::state> state_of(const coordinate& extents, const lattice_options& options) {
  constexpr int most = 1 << 15, most_threads = 4096;
  for (const int length : extents)
    if (length < 2 || length > most || length % 2 != 0)
      throw error(code::unusable_input,
                  "lattice: expected even extents from 2 to 32768, found " + plaquette::to_string(extents));
  if (options.threads < 0 || options.threads > most_threads)
    throw error(code::unusable_input, "lattice: expected 0 to 4096 threads, found " + std::to_string(options.threads));
  const communicator comm = ranks_of(options.fortran_communicator);
  const bool is_open = std::ranges::all_of(options.grid, [](int n) { return n == 0; });
  const coordinate grid = is_open ? smallest_surface_grid(extents, comm.size()) : options.grid;
  std::int64_t boxes = 1;
  for (const int n : grid) {
    if (n < 1 || n > most)
      throw error(code::unusable_input,
                  "lattice: expected a grid of positive numbers, or zeros, found " + plaquette::to_string(grid));
    boxes *= n;
  }
  if (boxes != comm.size())
    throw error(code::unusable_input, "lattice: expected a grid of " + std::to_string(comm.size()) + " ranks, found " +
                                          plaquette::to_string(grid));
  return std::make_shared<lattice::state>(comm, lattice_geometry(extents, grid, comm.rank()), options.threads,
                                          options.reproducible);
}

}  // namespace

void require_name(const std::string& file) {
  if (file.empty()) throw error(code::unusable_input, "expected the name of a file, found an empty one");
  if (file.find('\0') != std::string::npos)
    throw error(code::unusable_input, "expected the name of a file, found one with a zero in it");
}

void require_any_sums(const lattice& on, const char* what) {
  if (on.get()->reproducible)
    throw error(code::unusable_input, std::string(what) +
                                          ": expected a lattice without reproducible sums, which Krylov solvers on the "
                                          "CPU have alone, found one with them");
}

lattice::lattice(const coordinate& extents, const lattice_options& options)
    : state_(guarded([&] { return state_of(extents, options); })) {}
coordinate lattice::extents() const { return state_->geometry.global(); }
coordinate lattice::grid() const { return state_->geometry.grid(); }
coordinate lattice::local() const { return state_->geometry.local(); }
coordinate lattice::origin() const { return state_->geometry.origin(); }
int lattice::rank() const { return state_->comm.rank(); }
int lattice::ranks() const { return state_->comm.size(); }
std::int64_t lattice::local_volume() const { return state_->geometry.local_volume(); }

namespace {

plaquette::link_layout places_of(const link_layout& layout) {
  plaquette::link_layout where;
  where.first = layout.first;
  where.site = layout.site, where.direction = layout.direction;
  where.row = layout.row, where.column = layout.column, where.imaginary = layout.imaginary;
  where.places = layout.places;
  return where;
}

folded_phases phases_of(const link_layout& layout) {
  folded_phases folded;
  for (std::size_t mu = 0; mu < 4; ++mu) folded.boundary[mu] = inner(layout.boundary_phase[mu]);
  folded.staggered = layout.staggered_phases;
  return folded;
}

template <class Real>
void copy_links(const lattice& on, std::span<Real> numbers, const gauge_configuration& links,
                const link_layout& layout) {
  array_on_host<Real> array(numbers, layout.memory, on, 72, "array for links");
  export_links(array.get(), links, places_of(layout), on.get()->comm, phases_of(layout));
  array.put();
}

template <class Real>
std::shared_ptr<gauge_field::state> links_of(const lattice& on, std::span<const Real> numbers,
                                             const link_layout& layout) {
  array_on_host<const Real> array(numbers, layout.memory, on, 72, "array of links");
  const lattice::state& here = *on.get();
  std::string remark;
  gauge_configuration links =
      import_links(here.geometry, array.get(), places_of(layout), here.comm, phases_of(layout), &remark);
  return std::make_shared<gauge_field::state>(on, std::make_shared<const gauge_configuration>(std::move(links)),
                                              remark);
}

}  // namespace

gauge_field::state::state(const lattice& on_, std::shared_ptr<const gauge_configuration> links,
                          std::string remark_on_them)
    : on(on_), remark(std::move(remark_on_them)), host_(std::move(links)) {}

gauge_field::state::state(const lattice& on_, std::unique_ptr<link_field> links) : on(on_), gpu_(std::move(links)) {}

gauge_field::state::~state() {
  if (!gpu_) return;
  const auto turn = turn_on(on, device::gpu);
  gpu_.reset();
}

std::shared_ptr<const gauge_configuration> gauge_field::state::on_host() {
  {
    const std::lock_guard one_looks(busy_);
    if (host_) return host_;
  }
  const auto this_turn = turn_on(on, device::gpu);
  const std::lock_guard one_copies(busy_);
  if (!host_) host_ = std::make_shared<const gauge_configuration>(gpu_->exported());
  return host_;
}

void gauge_field::state::move(std::shared_ptr<const gauge_configuration> to, std::string remark_on_them) {
  if (gpu_) {
    const auto turn = turn_on(on, device::gpu);
    gpu_.reset();
  }
  host_ = std::move(to);
  remark = std::move(remark_on_them);
  ++moves;
}

void gauge_field::state::keep_on_gpu(std::unique_ptr<link_field> same) { gpu_ = std::move(same); }

void gauge_field::state::leave_gpu() {
  if (!gpu_) return;
  on_host();
  const auto turn = turn_on(on, device::gpu);
  gpu_.reset();
}

void gauge_field::state::move(std::unique_ptr<link_field> to) {
  gpu_ = std::move(to);
  host_.reset();
  remark.clear();
  ++moves;
}

void used_links::follow(const gauge_field& links, const library& there,
                        const std::function<void(const link_field&)>& follow) {
  require_same_lattice(on(), links.on(), "links");
  const link_field* const on_gpu = links_on_gpu(links, there, on());
  used_links now(links, user_, on_gpu != nullptr ? nullptr : links.get()->on_host());
  follow(on_gpu != nullptr ? *on_gpu : *there.import_links(*now.links_));
  *this = std::move(now);
}

const link_field* links_on_gpu(const gauge_field& links, const library& there, const lattice& on) {
  return there.is_gpu() && links.on().get() == on.get() ? links.get()->on_gpu() : nullptr;
}

link_layout link_layout::dense(const coordinate& local, site_order order) {
  const auto dense = dense_layout(
      local, order == site_order::x_fastest ? site_order_of_array::x_fastest : site_order_of_array::t_fastest,
      direction_of_array::inner, matrix_of_array::row_major);
  link_layout layout;
  layout.site = dense.site, layout.direction = dense.direction;
  return layout;
}

gauge_field::gauge_field(const lattice& on, std::span<const double> numbers, const link_layout& layout)
    : lattice_(on), state_(guarded(on, [&] { return links_of(on, numbers, layout); })) {}
gauge_field::gauge_field(const lattice& on, std::span<const float> numbers, const link_layout& layout)
    : lattice_(on), state_(guarded(on, [&] { return links_of(on, numbers, layout); })) {}

gauge_field gauge_field::read(const lattice& on, const std::string& file) {
  return guarded(on, [&] {
    require_name(file);
    const lattice::state& here = *on.get();
    loaded_gauge loaded = read_gauge(file, here.geometry, here.comm, {.drifted = true});
    const std::string remark = take_back_drift(loaded.links, loaded.header, here.comm);
    return gauge_field(
        on, std::make_shared<state>(on, std::make_shared<const gauge_configuration>(std::move(loaded.links)), remark));
  });
}

namespace {

template <class Real>
void move_to(const gauge_field& handle, std::span<const Real> numbers, const link_layout& layout) {
  const auto made = links_of(handle.on(), numbers, layout);
  handle.get()->move(made->on_host(), made->remark);
}

void require_sweeps(const heatbath_options& options) {
  constexpr int most = 1 << 20;
  for (const int count : {options.heatbaths, options.overrelaxations, options.sweeps})
    if (count < 0 || count > most)
      throw error(code::unusable_input, "heat bath: expected 0 to 1048576 sweeps, found " + std::to_string(count));
  if (options.first > std::uint64_t{1} << 30)
    throw error(code::unusable_input,
                "heat bath: expected a first sweep up to 2^30, found " + std::to_string(options.first));
}

}  // namespace

void gauge_field::assign(std::span<const double> numbers, const link_layout& layout) {
  guarded(lattice_, [&] { move_to(*this, numbers, layout); });
}
void gauge_field::assign(std::span<const float> numbers, const link_layout& layout) {
  guarded(lattice_, [&] { move_to(*this, numbers, layout); });
}
void gauge_field::heatbath(const heatbath_options& options) {
  guarded(lattice_, [&] {
    require_sweeps(options);
    const auto turn = turn_on(lattice_, options.device);
    const bool is_there = options.device == device::gpu && state_->on_gpu() != nullptr;
    auto moving =
        is_there ? state_->on_gpu()->copy() : open_device(lattice_, options.device)->import_links(*state_->on_host());
    for (int n = 0; n < options.sweeps; ++n) {
      moving->combined_sweep({.beta = options.beta, .anisotropy = options.anisotropy},
                             {.heatbath = options.heatbaths, .overrelaxation = options.overrelaxations}, options.seed,
                             options.first + static_cast<std::uint64_t>(n));
      stops_of_call::ask();
    }
    if (options.device == device::gpu && !lattice_.get()->reproducible)  // exact sums are the host's
      state_->move(std::move(moving));
    else
      state_->move(std::make_shared<const gauge_configuration>(moving->take()), {});
  });
}
std::int64_t gauge_field::moves() const { return state_->moves; }
void gauge_field::to_device(api::device where) {
  guarded(lattice_, [&] {
    if (where == device::cpu) {
      state_->leave_gpu();
      return;
    }
    require_any_sums(lattice_, "links on a GPU");
    const auto turn = turn_on(lattice_, where);
    if (state_->on_gpu() == nullptr)
      state_->keep_on_gpu(open_device(lattice_, where)->import_links(*state_->on_host()));
  });
}
coordinate gauge_field::extents_in(const std::string& file) {
  return guarded([&] {
    require_name(file);
    return read_gauge_header(file).lattice;
  });
}
void gauge_field::write(const std::string& file, bool replace) const {
  guarded(lattice_, [&] {
    require_name(file);
    gauge_write_options options;
    options.existing = replace ? existing_file::replace : existing_file::keep;
    options.plaquette = plaquette();
    write_ildg(file, *state_->on_host(), lattice_.get()->comm, options);
  });
}
void gauge_field::copy_to(std::span<double> numbers, const link_layout& layout) const {
  guarded(lattice_, [&] { copy_links(lattice_, numbers, *state_->on_host(), layout); });
}
void gauge_field::copy_to(std::span<float> numbers, const link_layout& layout) const {
  guarded(lattice_, [&] { copy_links(lattice_, numbers, *state_->on_host(), layout); });
}
const std::string& gauge_field::remark() const { return state_->remark; }
double gauge_field::plaquette() const {
  return guarded(lattice_, [&] {
    if (state_->on_gpu() == nullptr) return cpu::average_plaquette(*state_->on_host(), lattice_.get()->comm);
    const auto turn = turn_on(lattice_, device::gpu);
    return state_->on_gpu()->measure().average;
  });
}

namespace {

/// Links of a caller in their place, and other links that are made of them there. Keeps others off their GPU for as
/// long as it lives.
class links_in_place {
 public:
  explicit links_in_place(const gauge_field& links) : on_(links.on()), is_on_gpu_(links.get()->on_gpu() != nullptr) {
    if (is_on_gpu_) {
      turn_ = turn_on(on_, device::gpu);
      links_ = links.get()->on_gpu();
    } else {
      copied_ = open_device(on_, device::cpu)->import_links(*links.get()->on_host());
      links_ = copied_.get();
    }
  }
  const link_field& operator*() const { return *links_; }
  const link_field* operator->() const { return links_; }

  /// Returns other links, of the same device, as a caller has them.
  gauge_field kept(std::unique_ptr<link_field> made) const {
    if (is_on_gpu_) return {on_, std::make_shared<gauge_field::state>(on_, std::move(made))};
    return {on_, std::make_shared<gauge_field::state>(on_, std::make_shared<const gauge_configuration>(made->take()))};
  }

 private:
  lattice on_;
  bool is_on_gpu_;
  device_turn turn_{};
  std::unique_ptr<link_field> copied_{};
  const link_field* links_ = nullptr;
};

std::unique_ptr<link_field> smeared(const link_field& links, const link_smearing& how) {
  switch (how.kind) {
    case smearing_kind::stout:
      return links.smeared(stout_smearing{how.steps, how.weight, how.spatial});
    case smearing_kind::ape:
      return links.smeared(ape_smearing{how.steps, how.weight, how.spatial});
    case smearing_kind::hyp:
      if (how.spatial)
        throw error(code::unusable_input,
                    "smearing: expected HYP of all four directions, found one in space alone, which "
                    "is stout's and APE's");
      return links.smeared(hyp_smearing{how.steps, how.alpha[0], how.alpha[1], how.alpha[2]});
  }
  throw error(code::unusable_input, "smearing: expected stout, APE or HYP");
}

}  // namespace

gauge_field gauge_field::smeared(const link_smearing& how) const {
  return guarded(lattice_, [&] {
    const stops_of_call::part part("smearing");
    const links_in_place links(*this);
    return links.kept(v1::smeared(*links, how));
  });
}

flow_result gauge_field::flow(double time, double step) const {
  return guarded(lattice_, [&] {
    const stops_of_call::part part("gradient flow", flow_steps(0.0, time, step));
    const links_in_place links(*this);
    std::int64_t steps = 0;
    flowed_links flowed = links->flowed(time, step, [&] { stops_of_call::note(++steps); });
    flow_result result{.links = links.kept(std::move(flowed.links))};
    for (const auto& point : flowed.history) result.history.push_back({point.time, point.energy_density, point.charge});
    if (const double t0 = reference_time(flowed.history); t0 > 0.0) result.t0 = t0;
    return result;
  });
}

std::size_t flow_points(double time, double step) {
  return guarded([&] { return static_cast<std::size_t>(flow_steps(0.0, time, step)) + 1; });
}

fixed_gauge gauge_field::fixed(gauge_condition condition, double tolerance, int sweep_limit) const {
  return guarded(lattice_, [&] {
    const stops_of_call::part part("gauge fixing", sweep_limit);
    const links_in_place links(*this);
    fixed_links found = links->fixed(
        condition == gauge_condition::landau ? plaquette::gauge_condition::landau : plaquette::gauge_condition::coulomb,
        {.tolerance = tolerance, .sweep_limit = sweep_limit});
    fixed_gauge result{links.kept(std::move(found.links)), found.quality.functional, found.quality.theta, found.sweeps,
                       found.converged};
    for (std::int64_t site = 0; site < lattice_.local_volume(); ++site)
      for (int i = 0; i < colours; ++i)
        for (int j = 0; j < colours; ++j) {
          const plaquette::complex<double> element = found.g.at_site(site)(i, j);
          result.g.emplace_back(element.re, element.im);
        }
    return result;
  });
}

device_memory::device_memory(const lattice& on, std::size_t bytes)
    : memory_(guarded(on, [&] { return memory_of_gpu(on, bytes, device_); })), size_(bytes) {}
void* device_memory::address() const { return memory_.get(); }
int device_memory::device() const { return device_; }
std::size_t device_memory::size() const { return size_; }

namespace {

void require_bytes(std::size_t found, std::size_t most) {
  if (found > most)
    throw error(code::unusable_input, "memory of the device: expected at most " + std::to_string(most) +
                                          " bytes, found " + std::to_string(found));
}

}  // namespace

void device_memory::write(std::span<const std::byte> from) const {
  guarded([&] {
    require_bytes(from.size(), size_);
    copy_to_gpu(memory_.get(), from.data(), from.size(), "memory of the device");
  });
}
void device_memory::read(std::span<std::byte> to) const {
  guarded([&] {
    require_bytes(to.size(), size_);
    copy_from_gpu(to.data(), memory_.get(), to.size(), "memory of the device");
  });
}

}  // namespace v1
}  // namespace plaquette::api
