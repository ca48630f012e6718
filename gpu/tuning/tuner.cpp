// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/tuning/tuner.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "common/error.hpp"
#include "common/io/atomic_file.hpp"

namespace plaquette::gpu {

namespace {

using json = nlohmann::ordered_json;

constexpr const char* file_format = "plaquette tuning";
constexpr int file_format_version = 1;
constexpr std::int64_t largest_file = 16 << 20;  // far beyond any such file: something else stands there
constexpr int most_warm_up_trials = 100'000;     // for a clock that stands still

bool is_time(double seconds) { return std::isfinite(seconds) && seconds > 0.0; }

/// A candidate for which the running computation leaves no memory cannot be measured; that ends no run.
double seconds_or_infinity(const std::function<double(int)>& seconds_of, int candidate) {
  try {
    return seconds_of(candidate);
  } catch (const memory_error&) {
    return INFINITY;
  }
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return 0.5 * (values[(n - 1) / 2] + values[n / 2]);
}

/// Of one candidate: seconds of an application, one number a round.
using samples = std::vector<double>;

bool can_run(const samples& of_candidate) { return std::ranges::all_of(of_candidate, is_time); }

/// The median of the distances from the median.
double noise_of(const samples& values) {
  const double middle = median(values);
  samples distances;
  for (const double x : values) distances.push_back(std::abs(x - middle));
  return median(distances);
}

/// Returns the candidates that are near the best after one round, and the default if it runs.
std::vector<int> near_the_best(const std::vector<samples>& of_candidate, double near_best, int untuned) {
  std::vector<int> field;
  double best = INFINITY;
  for (const samples& first : of_candidate)
    if (can_run(first)) best = std::min(best, first[0]);
  for (int i = 0; i < static_cast<int>(of_candidate.size()); ++i) {
    const samples& first = of_candidate[static_cast<std::size_t>(i)];
    if (can_run(first) && (i == untuned || first[0] <= near_best * best)) field.push_back(i);
  }
  return field;
}

/// Sorts the field by medians. Leaves the first `most` candidates, and the default.
void keep_best(std::vector<int>& field, const std::vector<samples>& of_candidate, std::size_t most, int untuned) {
  std::ranges::stable_sort(field, {}, [&](int i) {
    const samples& values = of_candidate[static_cast<std::size_t>(i)];
    return can_run(values) ? median(values) : INFINITY;
  });
  if (field.size() <= most) return;
  const bool drops_default =
      std::find(field.begin() + static_cast<std::ptrdiff_t>(most), field.end(), untuned) != field.end();
  field.resize(most);
  if (drops_default) field.push_back(untuned);
}

/// Others wait for this one while it lives. Where the lock cannot be had in some seconds (a process that was stopped, a
/// file system without locks) work goes on without. The file stays whole all the same, and at worst a choice is lost.
class file_lock {
 public:
  explicit file_lock(const std::string& file) {
    using namespace std::chrono_literals;
    descriptor_ = ::open((file + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) return;
    for (int attempt = 0; attempt < 500; ++attempt) {
      if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
      if (errno != EWOULDBLOCK && errno != EINTR) return;
      std::this_thread::sleep_for(10ms);
    }
  }
  file_lock(const file_lock&) = delete;
  file_lock& operator=(const file_lock&) = delete;
  ~file_lock() {
    if (descriptor_ >= 0) ::close(descriptor_);  // which unlocks
  }

 private:
  int descriptor_ = -1;
};

struct file_content {
  bool exists = false;
  std::string foreign;  ///< why it is no tuning file; empty if it is one, or is not there
  json document;        ///< with an array "choices"
};

json empty_document() {
  return {{"format", file_format}, {"format_version", file_format_version}, {"choices", json::array()}};
}

/// Throws input_error if something is there that cannot be read.
file_content read_content(const std::string& file) {
  file_content content;
  content.document = empty_document();
  struct stat found{};
  if (::stat(file.c_str(), &found) != 0) {
    if (errno == ENOENT) return content;
    throw input_error(std::string("cannot be read: ") + std::strerror(errno));
  }
  if (!S_ISREG(found.st_mode)) throw input_error("expected a regular file, found something else");
  content.exists = true;
  if (found.st_size > largest_file) {
    content.foreign = "it has " + std::to_string(found.st_size) + " bytes";
    return content;
  }
  std::ifstream in(file, std::ios::binary);
  if (!in) throw input_error(std::string("cannot be read: ") + std::strerror(errno));
  const json document = json::parse(in, nullptr, false);
  if (document.is_discarded())
    content.foreign = "it is no complete JSON document";
  else if (!document.is_object() || document.value("format", json()) != file_format)
    content.foreign = std::string("it does not name the format \"") + file_format + "\"";
  else if (document.value("format_version", json()) != file_format_version)
    content.foreign = "its format_version is not " + std::to_string(file_format_version);
  else if (!document.contains("choices") || !document["choices"].is_array())
    content.foreign = "it has no list of choices";
  else
    content.document = document;
  return content;
}

/// Returns the text of a member, or nothing if the entry has no such text.
std::optional<std::string> text_of(const json& entry, const char* name) {
  if (!entry.is_object()) return {};
  const auto found = entry.find(name);
  if (found == entry.end() || !found->is_string()) return {};
  return found->get<std::string>();
}

double number_of(const json& entry, const char* name) {
  const auto found = entry.find(name);
  return found != entry.end() && found->is_number() ? found->get<double>() : 0.0;
}

/// The key of an entry of this device and version; nothing for any other.
std::optional<tuning_key> key_of(const json& entry, const tuning_options& options) {
  const auto kernel = text_of(entry, "kernel"), volume = text_of(entry, "volume"),
             precision = text_of(entry, "precision"), details = text_of(entry, "details");
  if (!kernel || !volume || !precision || !details) return {};
  if (text_of(entry, "device") != options.device || text_of(entry, "version") != options.version) return {};
  return tuning_key{*kernel, *volume, *precision, *details};
}

json entry_of(const tuning_record& record, const tuning_options& options) {
  return {{"kernel", record.key.kernel},   {"volume", record.key.volume},     {"precision", record.key.precision},
          {"details", record.key.details}, {"device", options.device},        {"version", options.version},
          {"choice", record.name},         {"candidates", record.candidates}, {"seconds", record.seconds}};
}

/// One entry a line, so that a person can read the file and compare two of them.
std::string text_of_document(const json& document) {
  std::string text = "{\n";
  for (const auto& [name, value] : document.items())
    if (name != "choices") text += "  " + json(name).dump() + ": " + value.dump() + ",\n";
  text += "  \"choices\": [";
  const char* separator = "\n";
  for (const json& entry : document["choices"]) {
    text += separator + ("    " + entry.dump(-1, ' ', false, json::error_handler_t::replace));
    separator = ",\n";
  }
  return text + "\n  ]\n}\n";
}

std::string directory_of(const std::string& file) {
  const auto parent = std::filesystem::path(file).parent_path();
  return parent.empty() ? "." : parent.string();
}

}  // namespace

std::string_view name_of(tuning_mode mode) {
  switch (mode) {
    case tuning_mode::off:
      return "off";
    case tuning_mode::on:
      return "on";
    default:
      return "force";
  }
}

tuning_mode tuning_mode_from(std::string_view name) {
  for (const auto mode : {tuning_mode::off, tuning_mode::on, tuning_mode::force})
    if (name == name_of(mode)) return mode;
  throw input_error("tuning: expected off, on or force, found '" + std::string(name) + "'");
}

std::string to_string(const tuning_key& key) {
  std::string text = key.kernel + " " + key.volume + " " + key.precision;
  if (!key.details.empty()) text += " " + key.details;
  return text;
}

std::string_view name_of(tuning_origin origin) {
  switch (origin) {
    case tuning_origin::untuned:
      return "untuned";
    case tuning_origin::file:
      return "file";
    default:
      return "measured";
  }
}

std::string default_tuning_file() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (const std::string file = variable("PLAQUETTE_TUNING_FILE"); !file.empty()) return file;
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) return cache + "/plaquette/tuning.json";
  if (const std::string home = variable("HOME"); !home.empty()) return home + "/.cache/plaquette/tuning.json";
  return "";
}

tuner::tuner(tuning_options options) : options_(std::move(options)) { file_works_ = !options_.file.empty(); }

int tuner::choose(const tuning_key& key, int candidates, const std::function<double(int)>& seconds_of, int untuned) {
  std::vector<std::string> names(static_cast<std::size_t>(std::max(candidates, 0)));
  for (int i = 0; i < candidates; ++i) names[static_cast<std::size_t>(i)] = std::to_string(i);
  return choose(key, names, seconds_of, untuned);
}

int tuner::choose(const tuning_key& key, std::span<const std::string> names,
                  const std::function<double(int)>& seconds_of, int untuned) {
  const int candidates = static_cast<int>(names.size());
  if (untuned < 0 || untuned >= candidates)
    throw std::logic_error("tuner: the untuned candidate of '" + to_string(key) + "' is not among its candidates");
  const auto known = [&]() -> std::optional<int> {
    const std::lock_guard guard(mutex_);
    const tuning_record* record = find_used(key);
    if (!record) return {};
    if (record->candidates != candidates || record->name != names[static_cast<std::size_t>(record->choice)])
      throw std::logic_error("tuner: '" + to_string(key) + "' was requested with two lists of candidates");
    return record->choice;
  };
  if (const auto choice = known()) return *choice;

  const std::lock_guard one_at_a_time(trials_);
  if (const auto choice = known()) return *choice;  // made by another thread meanwhile
  tuning_record record{
      .key = key, .choice = untuned, .name = names[static_cast<std::size_t>(untuned)], .candidates = candidates};
  const bool measures = options_.mode != tuning_mode::off && candidates > 1;
  if (measures && !find_remembered(record, names)) {
    record = measure(key, names, seconds_of, untuned);
    if (record.origin == tuning_origin::measured) remember(record);
  }
  const std::lock_guard guard(mutex_);
  return keep(record).choice;
}

std::vector<tuning_record> tuner::used() const {
  const std::lock_guard guard(mutex_);
  return used_;
}

double tuner::seconds_spent() const {
  const std::lock_guard guard(mutex_);
  return spent_;
}

void tuner::add_seconds_spent(double seconds) {
  const std::lock_guard lock(mutex_);
  spent_ += seconds;
}

double tuner::now() const {
  if (options_.clock) return options_.clock();
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void tuner::say(const std::string& line) {
  if (options_.say)
    options_.say(line);
  else
    std::fprintf(stderr, "%s\n", line.c_str());
}

void tuner::warm_up(const std::function<double(int)>& seconds_of, int candidate) {
  const double start = now();
  if (start - last_trial_ <= options_.idle_seconds) return;
  const double seconds =
      has_measured_ ? std::min(options_.second_warm_up_seconds, options_.warm_up_seconds) : options_.warm_up_seconds;
  for (int i = 0; i < most_warm_up_trials && now() - start < seconds; ++i)
    if (!is_time(seconds_or_infinity(seconds_of, candidate))) return;  // it does not load the device
}

void tuner::tell_of_tuning() {
  if (has_measured_) return;
  const std::string line = file_works_ ? "tuning kernels, once a machine: " + options_.file + " keeps the choices"
                                       : std::string("tuning kernels, for this run only: no file keeps the choices");
  if (options_.progress)
    options_.progress(line);
  else if (::isatty(STDERR_FILENO) != 0)
    std::fprintf(stderr, "\r\033[K%s\n", line.c_str());
}

void tuner::hide_progress() {
  options_.progress = [](const std::string&) {};
}

tuning_record tuner::measure(const tuning_key& key, std::span<const std::string> names,
                             const std::function<double(int)>& seconds_of, int untuned) {
  struct nesting {
    int& depth;
    explicit nesting(int& d) : depth(d) { ++depth; }
    ~nesting() { --depth; }
  } const nested(depth_);
  const double start = now();
  if (depth_ == 1) tell_of_tuning();
  warm_up(seconds_of, untuned);

  constexpr std::size_t finalists = 2;
  const std::size_t candidates = names.size();
  std::vector<samples> of_candidate(candidates);
  const auto measure_again = [&](int i) {
    of_candidate[static_cast<std::size_t>(i)].push_back(seconds_or_infinity(seconds_of, i));
  };
  const double first = now();
  for (int i = 0; i < static_cast<int>(candidates); ++i) measure_again(i);
  std::vector<int> field = near_the_best(of_candidate, options_.near_best, untuned);
  // Alternately, so that drifts of clocks and temperature meet all alike.
  for (int round = 1; round < options_.rounds; ++round) {
    const bool is_late = now() - first > options_.seconds_a_key;
    keep_best(field, of_candidate, is_late ? finalists : std::max(finalists, (candidates + 1) >> round), untuned);
    for (const int i : field) measure_again(i);
  }
  keep_best(field, of_candidate, finalists, untuned);

  tuning_record record{.key = key,
                       .choice = untuned,
                       .name = names[static_cast<std::size_t>(untuned)],
                       .candidates = static_cast<int>(candidates)};
  const samples& of_untuned = of_candidate[static_cast<std::size_t>(untuned)];
  const double best_untuned = can_run(of_untuned) ? median(of_untuned) : INFINITY;
  double best = best_untuned;
  if (!field.empty()) {
    const samples& of_best = of_candidate[static_cast<std::size_t>(field[0])];
    if (can_run(of_best) &&
        (!std::isfinite(best_untuned) || median(of_best) + noise_of(of_best) + noise_of(of_untuned) < best_untuned)) {
      record.choice = field[0];
      best = median(of_best);
    }
  }
  has_measured_ = true;
  last_trial_ = now();
  record.spent = last_trial_ - start;
  if (std::isfinite(best)) {
    record.name = names[static_cast<std::size_t>(record.choice)];
    record.seconds = best;
    record.gain = std::isfinite(best_untuned) ? best_untuned / best : 1.0;
    record.origin = tuning_origin::measured;
  }
  const std::lock_guard guard(mutex_);
  if (depth_ == 1) spent_ += record.spent;
  return record;
}

const tuning_record* tuner::find_used(const tuning_key& key) const {
  const auto found = index_.find(key);
  return found == index_.end() ? nullptr : &used_[found->second];
}

const tuning_record& tuner::keep(const tuning_record& record) {
  index_.emplace(record.key, used_.size());
  used_.push_back(record);
  return used_.back();
}

bool tuner::find_remembered(tuning_record& record, std::span<const std::string> names) {
  if (options_.mode == tuning_mode::force) return false;
  const std::lock_guard guard(mutex_);
  read_file_if_changed(false);
  const auto found = from_file_.find(record.key);
  if (found == from_file_.end() || found->second.candidates != static_cast<int>(names.size())) return false;
  const auto name = std::ranges::find(names, found->second.name);
  if (name == names.end()) return false;
  record.choice = static_cast<int>(name - names.begin());
  record.name = *name;
  record.seconds = found->second.seconds;
  record.origin = tuning_origin::file;
  return true;
}

void tuner::read_file_if_changed(bool locked) {
  if (!file_works_) return;
  file_state state;
  struct stat found{};
  if (::stat(options_.file.c_str(), &found) == 0)
    state = {static_cast<std::int64_t>(found.st_ino), static_cast<std::int64_t>(found.st_size),
             static_cast<std::int64_t>(found.st_mtim.tv_sec) * 1'000'000'000 + found.st_mtim.tv_nsec};
  if (state == seen_) return;
  seen_ = state;
  try {
    file_content content = read_content(options_.file);
    if (!content.foreign.empty()) {
      std::optional<file_lock> lock;
      if (!locked) lock.emplace(options_.file);
      content = read_content(options_.file);  // another process may have set it aside
      if (!content.foreign.empty()) {
        const std::string aside = options_.file + ".set-aside";
        std::filesystem::rename(options_.file, aside);
        say("tuning: " + options_.file + " cannot be used (" + content.foreign + "): renamed to " + aside);
        content.document = empty_document();
      }
    }
    from_file_.clear();
    for (const json& entry : content.document["choices"]) {
      const auto key = key_of(entry, options_);
      const auto choice = text_of(entry, "choice");
      if (!key || !choice) continue;
      from_file_[*key] = {*choice, static_cast<int>(std::clamp(number_of(entry, "candidates"), 0.0, 1e6)),
                          number_of(entry, "seconds")};
    }
  } catch (const std::exception& e) {
    give_up_file(e.what());
  }
}

void tuner::remember(const tuning_record& record) {
  const std::lock_guard guard(mutex_);
  if (!file_works_) return;
  try {
    std::filesystem::create_directories(directory_of(options_.file));
    const file_lock lock(options_.file);
    seen_ = {};
    read_file_if_changed(true);  // which sets a foreign file aside
    if (!file_works_) return;
    json document = read_content(options_.file).document;
    json& choices = document["choices"];
    choices.erase(std::remove_if(choices.begin(), choices.end(),
                                 [&](const json& entry) { return key_of(entry, options_) == record.key; }),
                  choices.end());
    choices.push_back(entry_of(record, options_));
    write_file_atomically(options_.file, text_of_document(document), existing_file::replace);
    seen_ = {};  // so that the next key reads the file
  } catch (const std::exception& e) {
    give_up_file(e.what());
  }
}

void tuner::give_up_file(const std::string& why) {
  file_works_ = false;
  from_file_.clear();
  const bool named = why.find(options_.file) != std::string::npos;
  say("tuning: " + (named ? why : options_.file + ": " + why) + "; choices are kept for this run only");
}

}  // namespace plaquette::gpu
