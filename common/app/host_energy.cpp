// SPDX-License-Identifier: BSD-3-Clause
#include "common/app/host_energy.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "common/app/timing.hpp"
#include "common/comms/communicator.hpp"
#include "common/comms/host_name.hpp"

namespace plaquette {

namespace {

namespace fs = std::filesystem;
constexpr double micro = 1e-6;
/// No part of a host takes more. A counter that says so has run backward, and its overflow is none.
constexpr double most_watt = 5000.0;

std::string word_of(const fs::path& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

std::optional<double> number_of(const fs::path& path) {
  std::ifstream file(path);
  double number = 0.0;
  return file >> number ? std::optional(number) : std::nullopt;
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

/// One file of microjoules, or of microwatts.
struct energy_file {
  fs::path path;
  std::string name;
  double range = 0.0;     ///< of microjoules, where the counter begins again; 0: it does not
  bool is_power = false;  ///< in microwatts
  double last = 0.0;
};

struct found_files {
  std::string kind;
  std::vector<energy_file> files;
  std::string unreadable;  ///< the first that there is and that cannot be read
  void add(energy_file file) {
    if (const auto number = number_of(file.path)) {
      file.last = *number;
      files.push_back(std::move(file));
    } else if (unreadable.empty()) {
      unreadable = file.path.string();
    }
  }
};

/// Packages and memory. Cores lie within packages, and psys holds more than can be named.
found_files rapl_below(const fs::path& root) {
  found_files found{"RAPL", {}, {}};
  for (const fs::path& zone : entries_of(root / "powercap")) {
    if (!zone.filename().string().starts_with("intel-rapl:")) continue;
    const std::string name = word_of(zone / "name");
    if (name.starts_with("package") || name == "dram")
      found.add({zone / "energy_uj", name, number_of(zone / "max_energy_range_uj").value_or(0.0)});
  }
  return found;
}

/// Sockets of amd_energy; else what a power meter of the board says.
found_files hwmon_below(const fs::path& root) {
  found_files sockets{"hwmon", {}, {}}, meters{"hwmon", {}, {}};
  for (const fs::path& sensor : entries_of(root / "hwmon")) {
    const std::string name = word_of(sensor / "name");
    for (const fs::path& file : name == "amd_energy" ? entries_of(sensor) : std::vector<fs::path>{}) {
      const std::string number = file.filename().string();
      if (!number.starts_with("energy") || !number.ends_with("_input")) continue;
      const std::string label = word_of(sensor / (number.substr(0, number.size() - 5) + "label"));
      if (label.starts_with("Esocket")) sockets.add({file, label});
    }
    if (name == "power_meter" || name == "fam15h_power")
      for (const char* file : {"power1_average", "power1_input"})
        if (fs::exists(sensor / file)) {
          meters.add({sensor / file, name, 0.0, true});
          break;
        }
  }
  return sockets.files.empty() && !meters.files.empty() ? meters : sockets;
}

}  // namespace

struct host_energy::state {
  std::vector<energy_file> files{};
  std::string source{}, trouble{};
  double start = seconds_now(), last = start, joule = 0.0;

  std::mutex mutex{};
  std::condition_variable_any wake{};
  std::jthread thread{};  ///< the last member: it ends before what it reads

  void read() {
    const double now = seconds_now(), passed = now - last;
    last = now;
    for (energy_file& file : files) {
      const auto number = number_of(file.path);
      if (!number) {
        trouble = file.path.string() + " cannot be read any more";
        return;
      }
      double more = micro * (*number - file.last);
      if (file.is_power)
        more = 0.5 * micro * (*number + file.last) * passed;
      else if (more < 0.0)
        more += micro * file.range;
      // Some time passes between the files, and a counter may have stood still before.
      if (!(more >= 0.0 && more <= most_watt * (passed + 1.0)))
        trouble = file.path.string() + " ran backward, or faster than any host takes";
      file.last = *number;
      joule += more;
    }
  }

  void watch(const std::stop_token& stop) {
    const bool has_power = std::ranges::any_of(files, &energy_file::is_power);
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      wake.wait_for(lock, stop, std::chrono::duration<double>(has_power ? 1.0 : 10.0), [] { return false; });
      if (!stop.stop_requested()) read();
    }
  }
};

host_energy::host_energy(const std::string& root) : state_(std::make_unique<state>()) {
  state& s = *state_;
  found_files found = rapl_below(root);
  const std::string unreadable = found.unreadable;
  if (found.files.empty()) found = hwmon_below(root);
  s.files = found.files;
  for (const energy_file& file : s.files) s.source += (s.source.empty() ? found.kind + " " : ", ") + file.name;
  if (!s.files.empty()) {
    s.thread = std::jthread([&s](const std::stop_token& stop) { s.watch(stop); });
    return;
  }
  const std::string& first = unreadable.empty() ? found.unreadable : unreadable;
  s.trouble = first.empty() ? "no counter of energy in " + root + "/powercap or " + root + "/hwmon"
                            : first + " cannot be read (many systems let only root)";
}

host_energy::~host_energy() = default;

const std::string& host_energy::source() const { return state_->source; }

std::string host_energy::trouble() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->trouble;
}

energy_reading host_energy::now() {
  const std::scoped_lock lock(state_->mutex);
  if (state_->trouble.empty())
    state_->read();
  else
    state_->last = seconds_now();
  return {state_->last - state_->start, state_->joule};
}

json_document energy_since(const energy_reading& before, host_energy& host, const communicator& world) {
  const energy_reading after = host.now();
  const int sharing = ranks_on_this_host(world);
  const std::string trouble = host.trouble();
  std::array<double, 2> sums{(after.joule - before.joule) / sharing, trouble.empty() ? 0.0 : 1.0};
  world.sum(std::span(sums));
  const double seconds = after.seconds - before.seconds;
  if (sums[1] > 0.0) return {{"none", trouble.empty() ? "another host tells none" : trouble}};
  if (!(seconds > 0.0 && sums[0] > 0.0)) return {{"none", "counters stood still"}};
  return {
      {"seconds", seconds}, {"energy_joule", sums[0]}, {"power_watt", sums[0] / seconds}, {"source", host.source()}};
}

}  // namespace plaquette
