// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/dg/dg_solver.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "common/dg/lserk4.hpp"
#include "common/error.hpp"
#include "gpu/comms/device_messages.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/dg/fused_launcher.hpp"
#include "gpu/dg/mesh_on_device.hpp"

namespace plaquette::gpu {

namespace dg {
namespace {

/// A face that another rank needs.
struct sent_face {
  std::int32_t element, face;
};

/// Copies the nodes of faces, in the order of the face's own list, to where messages are sent from.
template <class T, int fields>
struct pack_faces {
  const node_values<T, fields>* state;
  node_values<T, fields>* to;  ///< [column][sent face][m]
  const sent_face* sent;
  const std::uint8_t* partner;
  std::int64_t column_stride, count;  ///< places of a column; face nodes sent of a column
  std::int32_t nodes, face_nodes;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t column = index / count, fm = index - column * count;
    const std::int64_t f = fm / face_nodes;
    const auto m = static_cast<std::int32_t>(fm - f * face_nodes);
    const sent_face face = sent[f];
    const int n = partner[(static_cast<std::int32_t>(mirror_code) + face.face) * face_nodes + m];
    to[index] = state[column * column_stride + std::int64_t{face.element} * nodes + n];
  }
};

/// Writes the incident wave into the ghost faces through which it comes.
template <class T, int fields>
struct fill_incident {
  node_values<T, fields>* ghosts;  ///< the first of the first column
  const double* position;          ///< [node][3]
  std::int64_t column_stride, count;
  double k[3], amplitude[most_fields];
  double shift, inverse_width;  ///< argument = k . x + shift
  bool is_sine;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t column = index / count, m = index - column * count;
    const double* const x = position + 3 * m;
    const double argument = k[0] * x[0] + k[1] * x[1] + k[2] * x[2] + shift;
    const double scaled = argument * inverse_width;
    const double profile = is_sine ? std::sin(argument) : std::exp(-scaled * scaled);
    node_values<T, fields>& to = ghosts[column * column_stride + m];
    for (int f = 0; f < fields; ++f) to.f[f] = static_cast<T>(amplitude[f] * profile);
  }
};

/// Adds a point source to a stage that has been done without it.
template <class T, int fields>
struct add_source {
  node_values<T, fields>*out, *residual;  ///< of the element in the first column
  const double* weights;                  ///< [node]
  std::int64_t column_stride, residual_stride;
  std::int32_t nodes, field;
  double amount, b;  ///< dt f(t) / constant of the medium

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t column = index / nodes, n = index - column * nodes;
    const double change = amount * weights[n];
    T& k = residual[column * residual_stride + n].f[field];
    T& q = out[column * column_stride + n].f[field];
    k = static_cast<T>(static_cast<double>(k) + change);
    q = static_cast<T>(static_cast<double>(q) + b * change);
  }
};

/// Energy of a node and those it is coupled to: J sum_m M_nm (c q_n q_m) / 2, summed over fields.
template <class T, int fields>
struct node_energy {
  const node_values<T, fields>* state;
  const double* mass;       ///< [n][m]
  const double* constants;  ///< [element][2]: J first / 2, J second / 2
  std::int64_t column_stride;
  std::int32_t nodes, first_from, first_to;  ///< fields that go with `first`

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t i, int column, double* sums) const {
    const std::int64_t element = i / nodes;
    const auto n = static_cast<std::int32_t>(i - element * nodes);
    const node_values<T, fields>* const q = state + column * column_stride + element * nodes;
    double sum[fields] = {};
    for (std::int32_t m = 0; m < nodes; ++m)
      for (int f = 0; f < fields; ++f) sum[f] += mass[n * nodes + m] * static_cast<double>(q[m].f[f]);
    double energy = 0.0;
    for (int f = 0; f < fields; ++f)
      energy +=
          constants[2 * element + (f >= first_from && f < first_to ? 0 : 1)] * sum[f] * static_cast<double>(q[n].f[f]);
    sums[0] += energy;
  }
};

/// One stage of a step that is made of right-hand sides, in double, and the state of the next one.
template <class T, int fields>
struct made_stage {
  const node_values<T, fields>* rhs;        ///< [column][element][node], as all but `state`
  const node_values<T, fields>* begin;      ///< of the step; null after its first stage
  node_values<double, fields>*made, *kept;  ///< state and register
  node_values<T, fields>* state;
  std::int64_t column_stride, count;  ///< places of a column of `state`; nodes of elements
  double a, b, dt;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t column = index / count, i = index - column * count;
    for (int f = 0; f < fields; ++f) {
      const double before = begin != nullptr ? static_cast<double>(begin[index].f[f]) : made[index].f[f];
      const double change = dt * static_cast<double>(rhs[index].f[f]);
      const double k = begin != nullptr ? change : a * kept[index].f[f] + change;
      const double q = before + b * k;
      kept[index].f[f] = k;
      made[index].f[f] = q;
      state[column * column_stride + i].f[f] = static_cast<T>(q);
    }
  }
};

PLAQUETTE_HOST_DEVICE inline void keep_larger(double& largest, double x) {
  if (!(x <= largest) && largest == largest) largest = x;  // NaN stays
}

/// Fields of a wave that go with `first` of the medium, the others with `second`.
struct field_range {
  std::int32_t from, to;
  PLAQUETTE_HOST_DEVICE int constant_of(int field) const { return field >= from && field < to ? 0 : 1; }
};

/// The differences of the nodes of an element, see step_difference.
template <class T, int fields>
struct element_differences {
  const node_values<double, fields>* made;   ///< [column][element][node]
  const node_values<T, fields>*begin, *end;  ///< likewise
  const double* weights;                     ///< [element][2]: roots of first and second
  double* differences;                       ///< [column][element][3]
  std::int64_t elements;
  std::int32_t nodes;
  field_range of_first;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t element = index % elements;
    double differs = 0.0, moved = 0.0, largest = 0.0;
    for (std::int64_t i = index * nodes; i < (index + 1) * nodes; ++i)
      for (int f = 0; f < fields; ++f) {
        const double weight = weights[2 * element + of_first.constant_of(f)];
        const double q = made[i].f[f], first = static_cast<double>(begin[i].f[f]);
        keep_larger(differs, weight * std::abs(q - static_cast<double>(end[i].f[f])));
        keep_larger(moved, weight * std::abs(q - first));
        keep_larger(largest, weight * std::abs(q));
        keep_larger(largest, weight * std::abs(first));
      }
    differences[3 * index] = differs;
    differences[3 * index + 1] = moved;
    differences[3 * index + 2] = largest;
  }
};

/// The largest number of an element of a column.
template <class T, int fields>
struct element_largest {
  const node_values<T, fields>* state;
  const double* weights;
  double* largest;  ///< [element]
  std::int32_t nodes;
  field_range of_first;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t element) const {
    double found = 0.0;
    for (std::int64_t i = element * nodes; i < (element + 1) * nodes; ++i)
      for (int f = 0; f < fields; ++f)
        keep_larger(found,
                    weights[2 * element + of_first.constant_of(f)] * std::abs(static_cast<double>(state[i].f[f])));
    largest[element] = found;
  }
};

/// 1 for each word of a node that differs between a state and one that was kept.
template <class T, int fields>
struct differing_words {
  const node_values<T, fields>*state, *kept;  ///< [column][place], [column][element][node]
  std::int64_t column_stride, count;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t i, int column, double* sums) const {
    constexpr int words = sizeof(node_values<T, fields>) / sizeof(std::uint32_t);
    const auto* const a = reinterpret_cast<const std::uint32_t*>(state + column * column_stride + i);
    const auto* const b = reinterpret_cast<const std::uint32_t*>(kept + column * count + i);
    int differing = 0;
    for (int w = 0; w < words; ++w) differing += a[w] != b[w] ? 1 : 0;
    sums[0] += differing;
  }
};

/// Gathers numbers of elements, [element of the list][column of the list][field][node].
template <class T, int fields>
struct gathered_elements {
  const node_values<T, fields>* states;
  const std::int32_t *elements, *columns;  ///< lists
  double* to;
  std::int64_t column_stride;  ///< of `states`
  std::int32_t of_columns, nodes, used;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t pair = index / nodes, n = index - pair * nodes, e = pair / of_columns;
    const std::int64_t place = columns[pair - e * of_columns] * column_stride + std::int64_t{elements[e]} * nodes + n;
    for (std::int32_t f = 0; f < used; ++f) to[(pair * used + f) * nodes + n] = static_cast<double>(states[place].f[f]);
  }
};

using clock = std::chrono::steady_clock;
double seconds_since(clock::time_point start) { return std::chrono::duration<double>(clock::now() - start).count(); }

dg_solver_options::choice automatic_choice(const dg_domain& domain, precision p) {
  return has_fused_stage(domain, p) ? dg_solver_options::choice::fused : dg_solver_options::choice::classic;
}

/// On the host if the device has no room for it.
template <class T, int fields>
struct device_snapshot final : dg_snapshot {
  device_array<node_values<T, fields>> on_device;  ///< [column][element][node]
  std::vector<node_values<T, fields>> on_host;     ///< likewise

  bool is_on_device() const { return on_host.empty(); }
};

template <class T, int fields>
class device_dg_solver final : public dg_solver {
 public:
  using values = node_values<T, fields>;

  device_dg_solver(const dg_domain& domain, int columns, const queue& q, const dg_solver_options& options)
      : queue_(q),
        comm_(domain.comm),
        problem_(domain.problem),
        used_(domain.fields),
        columns_(columns),
        interior_(domain.part.interior),
        mesh_(q, domain),
        places_(std::int64_t{domain.elements()} * domain.nodes() +
                std::int64_t{mesh_.ghosts().count()} * domain.reference.face_nodes),
        residual_(q, residual_places()) {
    for (device_array<values>& state : state_) {
      state = device_array<values>(q, static_cast<std::size_t>(places_ * columns));
      fill_bytes(q, state.data(), 0, state.bytes());
    }
    fill_bytes(q, residual_.data(), 0, residual_.bytes());
    launcher_ = make_launcher(domain, options);
    prepare_energy(domain);
    prepare_sources(domain);
    prepare_messages(domain, options);
    if (mesh_.ghosts().incident > 0) {
      std::vector<double> x;
      for (const auto& node : mesh_.ghosts().incident_nodes) x.insert(x.end(), node.begin(), node.end());
      incident_nodes_ = device_array<double>(q, x);
    }
    q.synchronize();
  }

  int columns() const override { return columns_; }

  void set_state(std::span<const double> state, double time) override {
    check_size(state.size());
    for (int c = 0; c < columns_; ++c)
      in_pieces([&](std::int64_t begin, std::int64_t count, values* numbers) {
#pragma omp parallel for schedule(static)
        for (std::int64_t n = 0; n < count; ++n)
          for (int f = 0; f < fields; ++f)
            numbers[n].f[f] =
                f < used_ ? static_cast<T>(state[host_place(c, f, static_cast<std::size_t>(begin + n))]) : T(0);
        copy_to_device(queue_, now().data() + c * places_ + begin, numbers,
                       static_cast<std::size_t>(count) * sizeof(values));
        queue_.synchronize();  // before the numbers of the next piece come
      });
    fill_bytes(queue_, residual_.data(), 0, residual_.bytes());
    queue_.synchronize();
    time_ = time;
  }
  void get_state(std::span<double> state) const override {
    check_size(state.size());
    for (int c = 0; c < columns_; ++c) to_host(now().data() + c * places_, c, state);
  }

  void right_hand_side(std::span<double> rhs) override {
    check_size(rhs.size());
    compute_rhs(time_);
    for (int c = 0; c < columns_; ++c) to_host(rhs_.data() + c * element_nodes(), c, rhs);
  }

  void advance(std::int64_t steps, double dt) override {
    const auto start = clock::now();
    const double exchanged = timings_.exchange;
    for (std::int64_t step = 0; step < steps; ++step) {
      for (int i = 0; i < lserk4::stages; ++i) {
        do_stage(residual_.data(), {lserk4::a[i], lserk4::b[i], dt, time_ + lserk4::c[i] * dt});
        present_ = 1 - present_;
      }
      time_ += dt;
    }
    queue_.synchronize();
    const double seconds = seconds_since(start);
    timings_.total += seconds;
    timings_.stages += steps * lserk4::stages;
    share_out(seconds - (timings_.exchange - exchanged));
  }
  double time() const override { return time_; }

  std::vector<double> energy() const override {
    const field_range of_first = fields_of_first();
    const node_energy<T, fields> body{now().data(), mass_.data(),         energy_constants_.data(),
                                      places_,      mesh_.arrays().nodes, of_first.from,
                                      of_first.to};
    const device_array<double> sums(queue_, static_cast<std::size_t>(columns_));
    sum_over<1>(queue_, element_nodes(), columns_, sums.data(), body);
    std::vector<double> result(static_cast<std::size_t>(columns_));
    copy_to_host(queue_, result.data(), sums.data(), sums.bytes());
    comm_.sum(result);
    return result;
  }

  dg_timings timings() const override { return timings_; }
  void reset_timings() override { timings_ = {}; }

  std::unique_ptr<dg_snapshot> new_snapshot(const dg_domain&) const override {
    auto snapshot = std::make_unique<device_snapshot<T, fields>>();
    if (!leaves_room(residual_.bytes())) {
      snapshot->on_host.resize(residual_places());
      return snapshot;
    }
    try {
      snapshot->on_device = device_array<values>(queue_, residual_places());
    } catch (const memory_error&) {  // another process took it
      snapshot->on_host.resize(residual_places());
    }
    return snapshot;
  }
  void save(dg_snapshot& to) const override {
    auto& kept = static_cast<snapshot&>(to);
    const std::size_t bytes = bytes_of_column();
    for (int c = 0; c < columns_; ++c) {
      const values* const from = now().data() + c * places_;
      if (kept.is_on_device())
        copy_on_device(queue_, kept.on_device.data() + c * element_nodes(), from, bytes);
      else
        copy_to_host(queue_, kept.on_host.data() + c * element_nodes(), from, bytes);
    }
  }
  void restore(const dg_snapshot& from, double time) override {
    const auto& kept = static_cast<const snapshot&>(from);
    const std::size_t bytes = bytes_of_column();
    for (int c = 0; c < columns_; ++c) {
      values* const to = now().data() + c * places_;
      if (kept.is_on_device())
        copy_on_device(queue_, to, kept.on_device.data() + c * element_nodes(), bytes);
      else
        copy_to_device(queue_, to, kept.on_host.data() + c * element_nodes(), bytes);
    }
    fill_bytes(queue_, residual_.data(), 0, residual_.bytes());
    queue_.synchronize();
    time_ = time;
  }
  bool is_same(const dg_domain&, const dg_snapshot& as) const override {
    const auto& kept = static_cast<const snapshot&>(as);
    if (!kept.is_on_device()) {
      bool same = true;
      for (int c = 0; c < columns_; ++c)
        in_pieces([&](std::int64_t begin, std::int64_t count, values* numbers) {
          const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(values);
          copy_to_host(queue_, numbers, now().data() + c * places_ + begin, bytes);
          same = same && std::memcmp(numbers, kept.on_host.data() + c * element_nodes() + begin, bytes) == 0;
        });
      return same;
    }
    const device_array<double> sums(queue_, static_cast<std::size_t>(columns_));
    sum_over<1>(queue_, element_nodes(), columns_, sums.data(),
                differing_words<T, fields>{now().data(), kept.on_device.data(), places_, element_nodes()});
    const std::vector<double> differing = on_host(sums);
    return std::ranges::all_of(differing, [](double words) { return words == 0.0; });
  }
  double largest(const dg_domain& domain) const override {
    if (domain.elements() == 0) return 0.0;
    const device_array<double> of_element(queue_, static_cast<std::size_t>(domain.elements()));
    for_each_index(queue_, domain.elements(),
                   element_largest<T, fields>{now().data(), weights_.data(), of_element.data(), mesh_.arrays().nodes,
                                              fields_of_first()});
    double largest = 0.0;
    for (const double x : on_host(of_element)) keep_larger(largest, x);
    return largest;
  }
  void read_elements(const dg_domain&, const dg_snapshot* from, std::span<const std::int32_t> elements,
                     std::span<const int> of_columns, std::span<double> to) const override {
    if (elements.empty()) return;
    const auto* const kept = static_cast<const snapshot*>(from);
    const std::int32_t nodes = mesh_.arrays().nodes;
    if (kept != nullptr && !kept->is_on_device()) {
      auto next = to.begin();
      for (const std::int32_t e : elements)
        for (const int column : of_columns)
          for (int f = 0; f < used_; ++f)
            for (std::int32_t n = 0; n < nodes; ++n)
              *next++ = static_cast<double>(
                  kept->on_host[static_cast<std::size_t>(column * element_nodes() + std::int64_t{e} * nodes + n)].f[f]);
      return;
    }
    const device_array<std::int32_t> list(queue_, std::vector<std::int32_t>(elements.begin(), elements.end()));
    const device_array<std::int32_t> columns(queue_, std::vector<std::int32_t>(of_columns.begin(), of_columns.end()));
    const device_array<double> gathered(queue_, to.size());
    const gathered_elements<T, fields> body{kept == nullptr ? now().data() : kept->on_device.data(),
                                            list.data(),
                                            columns.data(),
                                            gathered.data(),
                                            kept == nullptr ? places_ : element_nodes(),
                                            static_cast<std::int32_t>(of_columns.size()),
                                            nodes,
                                            used_};
    for_each_index(queue_, static_cast<std::int64_t>(elements.size() * of_columns.size()) * nodes, body);
    copy_to_host(queue_, to.data(), gathered.data(), gathered.bytes());
  }
  std::vector<step_difference> repeat_step(const dg_domain& domain, const dg_snapshot& begin, const dg_snapshot& end,
                                           double time, double dt, std::span<double> first_rhs) override {
    const auto &first = static_cast<const snapshot&>(begin), &last = static_cast<const snapshot&>(end);
    if (!has_room_for_steps() || !first.is_on_device() || !last.is_on_device())
      return dg_solver::repeat_step(domain, begin, end, time, dt, first_rhs);
    restore(begin, time);
    for (int s = 0; s < lserk4::stages; ++s) {
      compute_rhs(time + lserk4::c[s] * dt);
      if (s == 0)
        for (int c = 0; c < columns_; ++c) to_host(rhs_.data() + c * element_nodes(), c, first_rhs);
      const made_stage<T, fields> body{rhs_.data(),     s == 0 ? first.on_device.data() : nullptr,
                                       made_.data(),    made_register_.data(),
                                       now().data(),    places_,
                                       element_nodes(), lserk4::a[s],
                                       lserk4::b[s],    dt};
      for_each_index(queue_, static_cast<std::int64_t>(residual_places()), body);
    }
    std::vector<step_difference> differences(static_cast<std::size_t>(columns_));
    const std::int64_t elements = domain.elements();
    if (elements == 0) return differences;
    const device_array<double> of_element(queue_, static_cast<std::size_t>(3 * columns_ * elements));
    for_each_index(
        queue_, columns_ * elements,
        element_differences<T, fields>{made_.data(), first.on_device.data(), last.on_device.data(), weights_.data(),
                                       of_element.data(), elements, mesh_.arrays().nodes, fields_of_first()});
    const std::vector<double> numbers = on_host(of_element);
    for (std::size_t i = 0; i < numbers.size(); i += 3) {
      step_difference& of_column = differences[i / static_cast<std::size_t>(3 * elements)];
      keep_larger(of_column.differs, numbers[i]);
      keep_larger(of_column.moved, numbers[i + 1]);
      keep_larger(of_column.largest, numbers[i + 2]);
    }
    return differences;
  }
  /// Computes unused right-hand sides for a millisecond or so.
  void warm_up() override {
    const int times = kernels_run_on_host() ? 1 : 10;
    const dg_timings before = timings_;
    for (int i = 0; i < times; ++i) compute_rhs(time_);
    queue_.synchronize();
    timings_ = before;
  }

 private:
  using snapshot = device_snapshot<T, fields>;

  struct stage_numbers {
    double a, b, dt, time;
  };

  /// Fills rhs_; the state stays.
  void compute_rhs(double time) {
    if (rhs_.size() == 0) rhs_ = device_array<values>(queue_, residual_places());
    fill_bytes(queue_, rhs_.data(), 0, rhs_.bytes());
    do_stage(rhs_.data(), {0.0, 0.0, 1.0, time});
  }
  /// Whether the device has memory for judging, and some more, which later work must not lack.
  bool leaves_room(std::size_t bytes) const {
    constexpr std::size_t some_more = std::size_t{2} << 30;
    if (kernels_run_on_host()) return true;
    return memory_of_device(queue_.device()).available >= bytes + residual_.bytes() + some_more;
  }
  /// Takes the memory of repeat_step once.
  bool has_room_for_steps() {
    if (made_.size() > 0) return true;
    if (!leaves_room(2 * residual_places() * sizeof(node_values<double, fields>))) return false;
    try {
      device_array<node_values<double, fields>> made(queue_, residual_places());
      made_register_ = device_array<node_values<double, fields>>(queue_, residual_places());
      made_ = std::move(made);
      return true;
    } catch (const memory_error&) {
      return false;
    }
  }
  field_range fields_of_first() const {
    const bool acoustic = problem_.equations == wave_equations::acoustics;
    return {acoustic ? 0 : (fields == 6 ? 3 : 2), acoustic ? 1 : fields};
  }
  std::vector<double> on_host(const device_array<double>& numbers) const {
    std::vector<double> result(numbers.size());
    if (!result.empty()) copy_to_host(queue_, result.data(), numbers.data(), numbers.bytes());
    return result;
  }

  /// Seconds of several stages, shared among the parts as in the last one.
  void share_out(double seconds) {
    const stage_parts parts = launcher_->parts();
    const double all = parts.volume + parts.surface + parts.update;
    if (!(all > 0.0)) return;
    timings_.volume += seconds * parts.volume / all;
    timings_.surface += seconds * parts.surface / all;
    timings_.update += seconds * parts.update / all;
  }

  device_array<values>& now() { return state_[present_]; }
  const device_array<values>& now() const { return state_[present_]; }
  std::int64_t element_nodes() const { return std::int64_t{mesh_.arrays().elements} * mesh_.arrays().nodes; }
  std::size_t bytes_of_column() const { return static_cast<std::size_t>(element_nodes()) * sizeof(values); }
  /// body(first node, number of nodes, page-locked memory of the host for them) for pieces of a column.
  template <class Body>
  void in_pieces(Body&& body) const {
    constexpr std::int64_t most = 1 << 21;
    const std::int64_t count = element_nodes(), piece = std::min(count, most);
    if (on_host_ == nullptr) on_host_ = allocate_pinned(static_cast<std::size_t>(piece) * sizeof(values));
    for (std::int64_t begin = 0; begin < count; begin += piece)
      body(begin, std::min(piece, count - begin), reinterpret_cast<values*>(on_host_.get()));
  }
  std::size_t residual_places() const { return static_cast<std::size_t>(element_nodes() * columns_); }
  std::size_t host_place(int column, int field, std::size_t node) const {
    return static_cast<std::size_t>((std::int64_t{column} * used_ + field) * element_nodes()) + node;
  }
  void check_size(std::size_t size) const {
    const auto expected = static_cast<std::size_t>(element_nodes() * columns_ * used_);
    if (size != expected)
      throw std::invalid_argument("dg_solver: " + std::to_string(size) + " numbers given, a state has " +
                                  std::to_string(expected));
  }
  void to_host(const values* from, int column, std::span<double> state) const {
    in_pieces([&](std::int64_t begin, std::int64_t count, values* numbers) {
      copy_to_host(queue_, numbers, from + begin, static_cast<std::size_t>(count) * sizeof(values));
#pragma omp parallel for schedule(static)
      for (std::int64_t n = 0; n < count; ++n)
        for (int f = 0; f < used_; ++f)
          state[host_place(column, f, static_cast<std::size_t>(begin + n))] = static_cast<double>(numbers[n].f[f]);
    });
  }

  std::unique_ptr<stage_launcher<T, fields>> make_launcher(const dg_domain& domain, const dg_solver_options& options) {
    using choice = dg_solver_options::choice;
    choice kernel = options.kernel;
    constexpr precision p = sizeof(T) == 8 ? precision::double_ : precision::single;
    if (kernel == choice::automatic) kernel = automatic_choice(domain, p);
    if (kernel == choice::products)
      return make_products_launcher<T, fields>(problem_.equations, queue_, domain.reference, domain.elements());
    if (kernel == choice::gather) return make_gather_launcher<T, fields>(problem_.equations);
    if (kernel == choice::classic)
      return make_classic_launcher<T, fields>(problem_.equations, queue_, static_cast<std::int64_t>(residual_places()));
    if (!has_fused_stage(domain, p))
      throw input_error(
          "fused kernels integrate acoustics and Maxwell's equations in three dimensions, with orders 1 to " +
          std::to_string(highest_fused_order) + ": choose the classic kernels");
    return make_fused_launcher<T, fields>(domain.reference, domain.geometry, domain.problem.upwinding == 1.0, queue_);
  }

  void prepare_energy(const dg_domain& domain) {
    mass_ = device_array<double>(queue_, domain.reference.mass.values);
    std::vector<double> constants;
    for (std::size_t e = 0; e < domain.geometry.size(); ++e) {
      constants.push_back(0.5 * domain.geometry[e].jacobian * domain.media[e].first);
      constants.push_back(0.5 * domain.geometry[e].jacobian * domain.media[e].second);
    }
    energy_constants_ = device_array<double>(queue_, constants);
    std::vector<double> weights;
    for (const medium& m : domain.media) weights.insert(weights.end(), {std::sqrt(m.first), std::sqrt(m.second)});
    weights_ = device_array<double>(queue_, weights);
  }
  void prepare_sources(const dg_domain& domain) {
    for (const placed_source& source : domain.sources) {
      const medium& m = domain.media[static_cast<std::size_t>(source.element)];
      const bool acoustic = problem_.equations == wave_equations::acoustics;
      const int field = source.source.field;
      const bool is_first = acoustic ? field == 0 : field >= (fields == 6 ? 3 : 2);
      sources_.push_back({source.source, source.element, 1.0 / (is_first ? m.first : m.second),
                          device_array<double>(queue_, source.weights)});
    }
  }
  void prepare_messages(const dg_domain& domain, const dg_solver_options& options) {
    std::vector<sent_face> sent;
    for (const mesh_peer& peer : domain.part.peers) {
      peers_.push_back({peer.rank, static_cast<std::int64_t>(sent.size()), static_cast<std::int64_t>(peer.send.size()),
                        peer.first_halo_face});
      for (const auto& face : peer.send) sent.push_back({face.element, face.face});
    }
    if (comm_.size() == 1) return;
    before_messages_ = options.ranks.overlap ? interior_ : 0;
    sent_ = device_array<sent_face>(queue_, sent);
    sent_nodes_ = static_cast<std::int64_t>(sent.size()) * mesh_.arrays().face_nodes;
    outgoing_ = device_array<values>(queue_, static_cast<std::size_t>(sent_nodes_ * columns_));
    const halo_policy policy =
        options.ranks.policy == halo_policy::peer ? halo_policy::automatic : options.ranks.policy;
    messages_ = std::make_unique<device_messages>(comm_, queue_.device(), policy, options.ranks.wait);
  }

  /// From `now` to the other state; `residual` is the register.
  void do_stage(values* residual, const stage_numbers& numbers) {
    const std::int32_t elements = mesh_.arrays().elements;
    fill_incident_faces(numbers.time);
    if (messages_ == nullptr) {
      run(residual, numbers, 0, elements);
    } else {
      start_exchange();
      run(residual, numbers, 0, before_messages_);
      const auto start = clock::now();
      messages_->finish(queue_);
      timings_.exchange += seconds_since(start);
      run(residual, numbers, before_messages_, elements);
    }
    add_sources(residual, numbers);
  }
  void run(values* residual, const stage_numbers& numbers, std::int32_t begin, std::int32_t end) {
    if (begin >= end) return;
    launcher_->run(queue_,
                   {mesh_.arrays(), now().data(), state_[1 - present_].data(), residual, places_, columns_, begin, end,
                    static_cast<T>(numbers.a), static_cast<T>(numbers.b), static_cast<T>(numbers.dt)});
  }
  void start_exchange() {
    const mesh_arrays<T>& mesh = mesh_.arrays();
    const pack_faces<T, fields> pack{now().data(), outgoing_.data(), sent_.data(),
                                     mesh.partner, places_,          std::max<std::int64_t>(sent_nodes_, 1),
                                     mesh.nodes,   mesh.face_nodes};
    for_each_index(queue_, sent_nodes_ * columns_, pack);
    std::vector<device_message> send, receive;
    for (const peer_faces& peer : peers_)
      for (int c = 0; c < columns_; ++c) {
        const std::size_t bytes = static_cast<std::size_t>(peer.count * mesh.face_nodes) * sizeof(values);
        values* const from = outgoing_.data() + c * sent_nodes_ + peer.first_sent * mesh.face_nodes;
        values* const to =
            now().data() + c * places_ + element_nodes() + std::int64_t{peer.first_halo} * mesh.face_nodes;
        send.push_back({peer.rank, c, reinterpret_cast<std::byte*>(from), bytes});
        receive.push_back({peer.rank, c, reinterpret_cast<std::byte*>(to), bytes});
      }
    messages_->start(queue_, send, receive);
  }
  void fill_incident_faces(double time) {
    const ghost_faces& ghosts = mesh_.ghosts();
    if (ghosts.incident == 0) return;
    const plane_wave& wave = problem_.incident;
    const std::int64_t face_nodes = mesh_.arrays().face_nodes;
    fill_incident<T, fields> body{};
    body.ghosts = now().data() + element_nodes() + ghosts.first_incident() * face_nodes;
    body.position = incident_nodes_.data();
    body.column_stride = places_;
    body.count = ghosts.incident * face_nodes;
    for (std::size_t i = 0; i < 3; ++i) body.k[i] = wave.wave_vector[i];
    for (std::size_t f = 0; f < most_fields; ++f)
      body.amplitude[f] = static_cast<int>(f) < used_ ? wave.amplitude[f] : 0.0;
    body.shift = wave.argument(0.0, 0.0, 0.0, time);
    body.inverse_width = 1.0 / wave.width;
    body.is_sine = wave.form == plane_wave::shape::sine;
    for_each_index(queue_, body.count * columns_, body);
  }
  void add_sources(values* residual, const stage_numbers& numbers) {
    const std::int32_t nodes = mesh_.arrays().nodes;
    for (const device_source& source : sources_) {
      const std::int64_t place = std::int64_t{source.element} * nodes;
      const add_source<T, fields> body{state_[1 - present_].data() + place,
                                       residual + place,
                                       source.weights.data(),
                                       places_,
                                       element_nodes(),
                                       nodes,
                                       source.source.field,
                                       numbers.dt * source.per_constant * source.source.at(numbers.time),
                                       numbers.b};
      for_each_index(queue_, std::int64_t{nodes} * columns_, body);
    }
  }

  struct peer_faces {
    int rank;
    std::int64_t first_sent, count;
    std::int32_t first_halo;
  };
  struct device_source {
    point_source source;
    std::int32_t element;
    double per_constant;
    device_array<double> weights;
  };

  queue queue_;
  communicator comm_;
  dg_problem problem_;
  int used_, columns_;
  std::int32_t interior_;
  std::int32_t before_messages_ = 0;
  mesh_on_device<T> mesh_;
  std::int64_t places_;  ///< of a column
  device_array<values> state_[2], residual_, rhs_, outgoing_;
  mutable std::shared_ptr<std::byte> on_host_;  ///< nodes on their way
  int present_ = 0;
  double time_ = 0.0;
  dg_timings timings_;
  std::unique_ptr<stage_launcher<T, fields>> launcher_;
  device_array<double> mass_, energy_constants_, weights_, incident_nodes_;
  device_array<node_values<double, fields>> made_, made_register_;  ///< of repeat_step
  std::vector<device_source> sources_;
  std::vector<peer_faces> peers_;
  device_array<sent_face> sent_;
  std::int64_t sent_nodes_ = 0;
  std::unique_ptr<device_messages> messages_;
};

int stored_fields(wave_equations equations) { return equations == wave_equations::maxwell ? 6 : 4; }

}  // namespace
}  // namespace dg

bool has_fused_stage(const dg_domain& domain, precision p) {
  return p != precision::half && domain.reference.dimension == 3 &&
         domain.problem.equations != wave_equations::maxwell_tm && domain.reference.order <= dg::highest_fused_order;
}

std::unique_ptr<dg_solver> make_dg_solver(const dg_domain& domain, precision p, int columns, const queue& q,
                                          const dg_solver_options& options) {
  if (domain.reference.order > highest_dg_order)
    throw input_error("order " + std::to_string(domain.reference.order) + ": kernels of the GPU know 1 to " +
                      std::to_string(highest_dg_order));
  if (p == precision::half) throw input_error("nodal DG has no half precision: choose single or double");
  if (columns < 1) throw input_error("the number of states is " + std::to_string(columns) + ", expected at least 1");
  const bool wide = dg::stored_fields(domain.problem.equations) == 6;
  if (p == precision::double_) {
    if (wide) return std::make_unique<dg::device_dg_solver<double, 6>>(domain, columns, q, options);
    return std::make_unique<dg::device_dg_solver<double, 4>>(domain, columns, q, options);
  }
  if (wide) return std::make_unique<dg::device_dg_solver<float, 6>>(domain, columns, q, options);
  return std::make_unique<dg::device_dg_solver<float, 4>>(domain, columns, q, options);
}

std::size_t bytes_of_dg_solver(const dg_domain& domain, precision p, int columns, dg_solver_options::choice kernel) {
  using choice = dg_solver_options::choice;
  if (kernel == choice::automatic) kernel = dg::automatic_choice(domain, p);
  const std::size_t number = p == precision::double_ ? 8 : 4;
  const auto fields = static_cast<std::size_t>(dg::stored_fields(domain.problem.equations));
  const auto elements = static_cast<std::size_t>(domain.elements()), nodes = static_cast<std::size_t>(domain.nodes());
  const std::size_t ghosts =
      static_cast<std::size_t>(domain.part.halo_faces) * static_cast<std::size_t>(domain.reference.face_nodes);
  const std::size_t state = (elements * nodes + ghosts) * fields * number;
  const std::size_t through_memory =
      kernel == choice::classic ? static_cast<std::size_t>(columns) * elements * nodes * fields * number
      : kernel == choice::products
          ? dg::bytes_of_products(domain.problem.equations, domain.reference, domain.elements(), number)
          : 0;
  return through_memory + static_cast<std::size_t>(columns) * (3 * state + ghosts * fields * number) +
         elements * ((16 + (domain.uniform_media ? 0 : dg::media_numbers)) * number + 16 + 16);
}

}  // namespace plaquette::gpu
