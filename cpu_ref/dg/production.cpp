// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/dg/production.hpp"

#include <omp.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "common/dg/exact_solutions.hpp"
#include "common/dg/lserk4.hpp"
#include "common/error.hpp"
#include "cpu_ref/dg/dg_plan.hpp"

namespace plaquette::cpu {

namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Asks at ever longer distances.
void sleep_until_over(pending_exchange& exchange) {
  constexpr std::chrono::microseconds longest{128};
  for (std::chrono::microseconds pause{2}; !exchange.poll(); pause = std::min(2 * pause, longest))
    std::this_thread::sleep_for(pause);
}

/// Numbers below the smallest normal one are zero while it lives, in this thread. Far from a pulse there is nothing
/// else, and arithmetic with them is a hundred times slower.
class without_denormals {
 public:
  without_denormals() {
#ifdef __SSE__
    constexpr unsigned flush_results = 0x8000, flush_operands = 0x0040;
    _mm_setcsr(before_ | flush_results | flush_operands);
#endif
  }
  without_denormals(const without_denormals&) = delete;
  without_denormals& operator=(const without_denormals&) = delete;
  ~without_denormals() {
#ifdef __SSE__
    _mm_setcsr(before_);
#endif
  }

 private:
#ifdef __SSE__
  unsigned before_ = _mm_getcsr();
#endif
};

template <class T>
const dg_kernel_table<T>& table_of(instruction_set isa) {
  const dg_kernel_set& set = dg_kernels_of(isa);
  if constexpr (sizeof(T) == 4)
    return set.single_precision;
  else
    return set.double_precision;
}

template <class T>
aligned_buffer<T> zeros(std::int64_t count, const stop_check& stop = {}) {
  if (stop) stop();
  aligned_buffer<T> buffer(static_cast<std::size_t>(count));
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count; ++i) buffer.data()[i] = T{0};
  return buffer;
}

template <class T>
struct production_snapshot final : dg_snapshot {
  explicit production_snapshot(std::int64_t words) : state(zeros<T>(words)) {}
  aligned_buffer<T> state;
};

template <class T>
class production_solver final : public dg_solver {
 public:
  production_solver(const dg_domain& domain, const dg_options& options)
      : domain_(domain),
        options_(options),
        threads_(options.threads > 0 ? options.threads : omp_get_max_threads()),
        kernels_(table_of<T>(options.isa)),
        plan_(domain, kernels_, options.stop),
        state_(zeros<T>(plan_.state_words() * options.columns, options.stop)),
        register_(zeros<T>(plan_.state_words() * options.columns, options.stop)),
        traces_{zeros<T>(trace_words(), options.stop), zeros<T>(trace_words(), options.stop)},
        ticks_(static_cast<std::size_t>(threads_)) {
    const std::int64_t scratch = dg_scratch_words(domain.nodes(), domain.reference.face_nodes, plan_.block);
    for (int t = 0; t < threads_; ++t) scratch_.emplace_back(static_cast<std::size_t>(scratch));
    for (const mesh_peer& peer : domain.part.peers) outgoing_faces_ += static_cast<std::int64_t>(peer.send.size());
    outgoing_ = zeros<T>(outgoing_faces_ * plan_.slot_words * options.columns);
    incoming_ = zeros<T>(outgoing_faces_ * plan_.slot_words * options.columns);
  }

  int columns() const override { return options_.columns; }

  void set_state(std::span<const double> state, double time) override {
    for_each_number([&](std::int64_t here, std::size_t there, double sign) {
      state_.data()[here] = static_cast<T>(sign * state[there]);
      register_.data()[here] = T{0};
    });
    time_ = time;
    write_traces();
  }

  void get_state(std::span<double> state) const override { get(state_, state); }

  void right_hand_side(std::span<double> rhs) override {
    compute_rhs(time_);
    get(*rhs_, rhs);
  }

  void advance(std::int64_t steps, double dt) override {
    const double start = seconds_now();
    for (std::int64_t step = 0; step < steps; ++step) {
      for (int i = 0; i < lserk4::stages; ++i) {
        stage(time_ + lserk4::c[i] * dt, lserk4::a[i], lserk4::b[i], dt, true);
        ++timings_.stages;
      }
      time_ += dt;
    }
    timings_.total += seconds_now() - start;
  }

  double time() const override { return time_; }

  std::vector<double> energy() const override {
    read_.resize(static_cast<std::size_t>(domain_.state_size() * columns()));
    get_state(read_);
    return energy_of(domain_, read_, columns());
  }

  std::unique_ptr<dg_snapshot> new_snapshot(const dg_domain&) const override {
    return std::make_unique<production_snapshot<T>>(words());
  }
  void save(dg_snapshot& to) const override {
    T* const kept = static_cast<production_snapshot<T>&>(to).state.data();
    for_each_word([&](std::int64_t i) { kept[i] = state_.data()[i]; });
  }
  void restore(const dg_snapshot& from, double time) override {
    const T* const kept = state_of(from);
    for_each_word([&](std::int64_t i) {
      state_.data()[i] = kept[i];
      register_.data()[i] = T{0};
    });
    time_ = time;
    write_traces();
  }
  bool is_same(const dg_domain&, const dg_snapshot& as) const override {
    const T* const kept = state_of(as);
    bool same = true;
    for (int column = 0; column < columns(); ++column)
#pragma omp parallel for schedule(static) num_threads(threads_) reduction(&& : same)
      for (std::int32_t e = 0; e < domain_.elements(); ++e)
        for (int f = 0; f < plan_.map.fields; ++f)
          for (int n = 0; n < domain_.nodes(); ++n) {
            const std::int64_t i = column * plan_.state_words() + plan_.at(e, f, n);
            same = same && std::memcmp(&state_.data()[i], &kept[i], sizeof(T)) == 0;
          }
    return same;
  }
  double largest(const dg_domain&) const override {
    return over_numbers<double>(0, [&](double& largest, double weight, std::int64_t i) {
      keep_largest(largest, weight * std::abs(static_cast<double>(state_.data()[i])));
    });
  }
  void read_elements(const dg_domain&, const dg_snapshot* from, std::span<const std::int32_t> elements,
                     std::span<const int> of_columns, std::span<double> to) const override {
    const T* const states = from == nullptr ? state_.data() : state_of(*from);
    const int fields = plan_.map.fields, nodes = domain_.nodes();
    auto first = to.begin();  // of an element and column
    for (const std::int32_t e : elements)
      for (const int column : of_columns) {
        for (int f = 0; f < fields; ++f) {
          const auto field = static_cast<std::size_t>(f);
          for (int n = 0; n < nodes; ++n)
            first[plan_.map.from[field] * nodes + n] =
                plan_.map.sign[field] * static_cast<double>(states[column * plan_.state_words() + plan_.at(e, f, n)]);
        }
        first += fields * nodes;
      }
  }
  std::vector<step_difference> repeat_step(const dg_domain&, const dg_snapshot& begin, const dg_snapshot& end,
                                           double time, double dt, std::span<double> first_rhs) override {
    const T *const at_begin = state_of(begin), *const at_end = state_of(end);
    if (!made_) {
      made_.emplace(zeros<double>(words()));
      made_register_.emplace(zeros<double>(words()));
    }
    double *const made = made_->data(), *const registers = made_register_->data();
    restore(begin, time);
    for (int s = 0; s < lserk4::stages; ++s) {
      compute_rhs(time + lserk4::c[s] * dt);
      if (s == 0) get(*rhs_, first_rhs);
      const double a = lserk4::a[s], b = lserk4::b[s];
      for_each_word([&](std::int64_t i) {
        const double before = s == 0 ? static_cast<double>(at_begin[i]) : made[i];
        registers[i] = (s == 0 ? 0.0 : a * registers[i]) + dt * static_cast<double>(rhs_->data()[i]);
        made[i] = before + b * registers[i];
        state_.data()[i] = static_cast<T>(made[i]);
      });
      write_traces();
    }
    std::vector<step_difference> differences;
    for (int column = 0; column < columns(); ++column)
      differences.push_back(
          over_numbers<step_difference>(column, [&](step_difference& largest, double weight, std::int64_t i) {
            const auto first = static_cast<double>(at_begin[i]), last = static_cast<double>(at_end[i]);
            keep_largest(largest, {weight * std::abs(made[i] - last), weight * std::abs(made[i] - first),
                                   weight * std::max(std::abs(made[i]), std::abs(first))});
          }));
    return differences;
  }

  dg_timings timings() const override {
    dg_timings result = timings_;
    std::array<double, 3> parts{};
    for (const dg_ticks& t : ticks_) {
      parts[0] += static_cast<double>(t.volume);
      parts[1] += static_cast<double>(t.surface);
      parts[2] += static_cast<double>(t.update);
    }
    const double all = parts[0] + parts[1] + parts[2];
    if (all > 0.0) {
      const double computing = result.total - result.exchange;
      result.volume = computing * parts[0] / all;
      result.surface = computing * parts[1] / all;
      result.update = computing * parts[2] / all;
    }
    return result;
  }
  void reset_timings() override {
    timings_ = {};
    std::ranges::fill(ticks_, dg_ticks{});
  }

 private:
  std::int64_t trace_words() const { return plan_.trace_words() * options_.columns; }
  std::int64_t words() const { return plan_.state_words() * options_.columns; }
  static const T* state_of(const dg_snapshot& snapshot) {
    return static_cast<const production_snapshot<T>&>(snapshot).state.data();
  }

  template <class Body>
  void for_each_word(Body&& body) const {
    const std::int64_t count = words();
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::int64_t i = 0; i < count; ++i) body(i);
  }
  /// The largest ones of body(largest so far, weight, place) for each number of a column.
  template <class Result, class Body>
  Result over_numbers(int column, Body&& body) const {
    Result all{};
#pragma omp parallel num_threads(threads_)
    {
      Result of_thread{};
#pragma omp for schedule(static) nowait
      for (std::int32_t e = 0; e < domain_.elements(); ++e)
        for (int f = 0; f < plan_.map.fields; ++f) {
          const double weight = energy_weight(domain_, plan_.map.from[static_cast<std::size_t>(f)], e);
          for (int n = 0; n < domain_.nodes(); ++n)
            body(of_thread, weight, column * plan_.state_words() + plan_.at(e, f, n));
        }
#pragma omp critical
      keep_largest(all, of_thread);
    }
    return all;
  }

  /// Of the state, which is another one now.
  void write_traces() {
    const auto write = kernels_.write_traces[static_cast<int>(plan_.map.system)][plan_.central ? 1 : 0];
    for (int column = 0; column < columns(); ++column) {
      const auto s = arguments(column);
#pragma omp parallel num_threads(threads_)
      {
        const without_denormals flush;  // as in the steps: a run that goes on from a state has the same bits
#pragma omp for schedule(static)
        for (std::int64_t block = 0; block < plan_.blocks; ++block)
          write(s, block, scratch_[static_cast<std::size_t>(omp_get_thread_num())].data());
      }
    }
    std::swap(traces_[0], traces_[1]);
  }

  /// Fills rhs_; the state stays.
  void compute_rhs(double t) {
    if (!rhs_) rhs_.emplace(zeros<T>(words()));
    std::swap(*rhs_, register_);
    stage(t, 0.0, 0.0, 1.0, false);
    std::swap(*rhs_, register_);
  }

  /// body(place here, place in the caller's order, sign) for each number of all columns.
  template <class Body>
  void for_each_number(Body&& body) const {
    const int nodes = domain_.nodes(), fields = plan_.map.fields;
    for (int column = 0; column < columns(); ++column)
#pragma omp parallel for schedule(static) num_threads(threads_)
      for (std::int32_t e = 0; e < domain_.elements(); ++e)
        for (int f = 0; f < fields; ++f) {
          const auto field = static_cast<std::size_t>(f);
          const std::int64_t there =
              ((std::int64_t{column} * fields + plan_.map.from[field]) * domain_.elements() + e) * nodes;
          for (int n = 0; n < nodes; ++n)
            body(column * plan_.state_words() + plan_.at(e, f, n), static_cast<std::size_t>(there + n),
                 plan_.map.sign[field]);
        }
  }
  void get(const aligned_buffer<T>& from, std::span<double> to) const {
    for_each_number([&](std::int64_t here, std::size_t there, double sign) {
      to[there] = sign * static_cast<double>(from.data()[here]);
    });
  }

  dg_stage_arguments<T> arguments(int column) const {
    dg_stage_arguments<T> s = plan_.arguments();
    const std::int64_t traces = plan_.trace_words() * column;
    s.q = state_.data() + plan_.state_words() * column;
    s.residual = register_.data() + plan_.state_words() * column;
    s.traces = traces_[0].data() + traces;
    s.new_traces = traces_[1].data() + traces;
    return s;
  }
  T* slot(int column, std::int64_t number) const {
    return traces_[0].data() + plan_.trace_words() * column + plan_.slot_at(number);
  }

  /// The incident wave behind faces that have it, at time t.
  void fill_incident(double t) {
    const plane_wave& wave = domain_.problem.incident;
    const reference_element& ref = domain_.reference;
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::size_t i = 0; i < plan_.incident.size(); ++i) {
      const incident_face& face = plan_.incident[i];
      for (int m = 0; m < ref.face_nodes; ++m) {
        const auto x = domain_.node_position(face.element, ref.node_of_face(face.face, m));
        const double profile = wave.profile(wave.argument(x[0], x[1], x[2], t));
        for (int i = 0; i < plan_.components; ++i) {
          double value = 0.0;
          for (int f = 0; f < plan_.map.fields; ++f) {
            const auto field = static_cast<std::size_t>(f);
            value += face.weights[static_cast<std::size_t>(i)][field] * plan_.map.sign[field] *
                     wave.amplitude[static_cast<std::size_t>(plan_.map.from[field])] * profile;
          }
          for (int column = 0; column < columns(); ++column)
            slot(column, face.slot)[m * plan_.components + i] = static_cast<T>(value);
        }
      }
    }
  }

  /// Starts to exchange the traces of the halo. A message holds, for one column after the other, all faces of a peer.
  pending_exchange start_exchange() {
    std::vector<outgoing_message> send;
    std::vector<incoming_message> receive;
    T *out = outgoing_.data(), *in = incoming_.data();
    for (const mesh_peer& peer : domain_.part.peers) {
      const std::size_t words = peer.send.size() * static_cast<std::size_t>(plan_.slot_words * columns());
      send.push_back({peer.rank, 0, std::as_bytes(std::span(out, words))});
      receive.push_back({peer.rank, 0, std::as_writable_bytes(std::span(in, words))});
      for (int column = 0; column < columns(); ++column)
        for (const auto& [element, face] : peer.send) {
          std::copy_n(slot(column, std::int64_t{element} * domain_.reference.faces() + face), plan_.slot_words, out);
          out += plan_.slot_words;
        }
      in += words;
    }
    return domain_.comm.start_exchange(send, receive);
  }
  void place_halo() {
    const T* in = incoming_.data();
    for (const mesh_peer& peer : domain_.part.peers)
      for (int column = 0; column < columns(); ++column)
        for (std::size_t face = 0; face < peer.send.size(); ++face) {
          const auto number = plan_.halo_slot + peer.first_halo_face + static_cast<std::int64_t>(face);
          std::copy_n(in, plan_.slot_words, slot(column, number));
          in += plan_.slot_words;
        }
  }

  void run_blocks(const std::vector<dg_stage_arguments<T>>& of_column, std::int64_t first, std::int64_t last) {
    const auto run = kernels_.stage[static_cast<int>(plan_.map.system)][plan_.central ? 1 : 0];
#pragma omp parallel num_threads(threads_)
    {
      const without_denormals flush;
      const auto thread = static_cast<std::size_t>(omp_get_thread_num());
      auto mine = of_column;
      for (auto& s : mine) s.ticks = options_.time_parts ? &ticks_[thread] : nullptr;
#pragma omp for schedule(static)
      for (std::int64_t block = first; block < last; ++block)
        for (const auto& s : mine) run(s, block, block + 1, scratch_[thread].data());
    }
  }

  /// register = a register + dt f(q, t); q += b register. Without `update` the register becomes f(q, t).
  void stage(double t, double a, double b, double dt, bool update) {
    fill_incident(t);
    auto sources = plan_.sources;
    for (std::size_t i = 0; i < sources.size(); ++i)
      sources[i].amplitude = static_cast<T>(domain_.sources[i].source.at(t));
    std::vector<dg_stage_arguments<T>> of_column;
    for (int column = 0; column < columns(); ++column) {
      auto s = arguments(column);
      s.a = static_cast<T>(a);
      s.b = static_cast<T>(b);
      s.dt = static_cast<T>(dt);
      s.update = update;
      s.sources = sources.data();
      s.source_count = static_cast<int>(sources.size());
      of_column.push_back(s);
    }
    if (domain_.comm.size() == 1) {
      run_blocks(of_column, 0, plan_.blocks);
    } else {
      auto exchange = start_exchange();
      if (options_.overlap) run_blocks(of_column, 0, plan_.interior_blocks);
      const double start = seconds_now();
      if (options_.waits_asleep) sleep_until_over(exchange);
      exchange.wait();
      timings_.exchange += seconds_now() - start;
      place_halo();
      run_blocks(of_column, options_.overlap ? plan_.interior_blocks : 0, plan_.blocks);
    }
    if (update) std::swap(traces_[0], traces_[1]);
  }

  const dg_domain& domain_;
  dg_options options_;
  int threads_;
  const dg_kernel_table<T>& kernels_;
  dg_plan<T> plan_;
  aligned_buffer<T> state_, register_;
  std::optional<aligned_buffer<T>> rhs_;                        ///< of right_hand_side(), once it was requested
  std::optional<aligned_buffer<double>> made_, made_register_;  ///< of repeat_step()
  mutable std::vector<double> read_;                            ///< likewise, the state of energy()
  std::array<aligned_buffer<T>, 2> traces_;  ///< [column][slot][words]: of q, and of q after the stage
  std::vector<aligned_buffer<T>> scratch_;
  std::int64_t outgoing_faces_ = 0;
  aligned_buffer<T> outgoing_, incoming_;
  std::vector<dg_ticks> ticks_;
  double time_ = 0.0;
  dg_timings timings_;
};

template <class T>
double bytes_needed(const dg_domain& domain, const dg_options& options) {
  const auto& kernels = table_of<T>(options.isa);
  const double block = kernels.block(), elements = std::ceil(domain.elements() / block) * block;
  const double fields = domain.fields, faces = domain.reference.faces();
  const double state = elements * fields * domain.nodes();
  const auto system = field_map_of(domain.problem.equations, domain.reference.dimension).system;
  const bool central = domain.problem.upwinding != 1.0;
  const double trace = dg_trace_components(system, central) * domain.reference.face_nodes;
  const double traces = elements * std::max<double>(kernels.width, faces * trace);
  const double constants = elements * dg_constants::words(system, domain.reference.faces());
  return sizeof(T) * (options.columns * 2.0 * (state + traces) + constants) + elements * faces * 5.0;
}

}  // namespace

std::unique_ptr<dg_solver> make_dg_solver(const dg_domain& domain, const dg_options& options) {
  if (options.columns < 1) throw input_error("states: expected 1 or more, found " + std::to_string(options.columns));
  if (table_of<float>(options.isa).width == 0)
    throw input_error("instruction set " + std::string(name_of(options.isa)) + ": this processor does not have it");
  if (options.precision == "single") return std::make_unique<production_solver<float>>(domain, options);
  if (options.precision == "double") return std::make_unique<production_solver<double>>(domain, options);
  throw input_error("precision: expected single or double, found " + options.precision);
}

double dg_memory_needed(const dg_domain& domain, const dg_options& options) {
  return options.precision == "single" ? bytes_needed<float>(domain, options) : bytes_needed<double>(domain, options);
}

}  // namespace plaquette::cpu
