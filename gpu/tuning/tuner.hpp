// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The autotuner: which of several ways to launch a kernel, or of several kernels that give the same numbers, is the
/// fastest here. Measured at first use under sustained load, remembered in a file that several processes may share.
/// The measurement is successive halving (Karnin, Koren, Somekh 2013): all candidates once, then the better half once
/// more, and so on. The default stays to the end, and another candidate is chosen if it is faster beyond noise.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plaquette::gpu {

/// off: the default way, no file. on: the file's choice, else measure. force: measure again, whatever the file knows.
enum class tuning_mode { off, on, force };

/// Returns "off", "on", "force".
std::string_view name_of(tuning_mode mode);
/// Returns the inverse; throws input_error naming the three words.
tuning_mode tuning_mode_from(std::string_view name);

/// The problem that a choice is valid for, in addition to the device and the version, which are the tuner's.
struct tuning_key {
  std::string kernel;     ///< "hopping"
  std::string volume;     ///< "32x32x32x64", or the numbers of a vector
  std::string precision;  ///< "double", "single", "half"
  std::string details;    ///< whatever else decides: "reconstruct=12 columns=12 finish=clover_xpay"

  auto operator<=>(const tuning_key&) const = default;
};
/// Returns "hopping 32x32x32x64 single reconstruct=12 columns=12".
std::string to_string(const tuning_key& key);

/// Where a choice that was used came from.
enum class tuning_origin { untuned, file, measured };
/// Returns "untuned", "file", "measured".
std::string_view name_of(tuning_origin origin);

/// A choice that was used.
struct tuning_record {
  tuning_key key;
  int choice = 0;      ///< from 0
  std::string name;    ///< of that candidate
  int candidates = 1;  ///< how many there were
  double seconds = 0;  ///< of the chosen one, when it was measured; 0 if it never was
  double gain = 1;     ///< seconds of candidate `untuned` / seconds of the chosen one; 1 if not measured now
  double spent = 0;    ///< seconds that this process spent measuring it
  tuning_origin origin = tuning_origin::untuned;
};

/// How a tuner works.
struct tuning_options {
  tuning_mode mode = tuning_mode::off;
  std::string file;     ///< empty: nothing is remembered beyond the process
  std::string device;   ///< as the driver names it
  std::string version;  ///< of the library: another version's choices are left in the file and not used
  /// A device that was idle runs faster than one that is at its power limit. Before the first key, the default
  /// candidate runs for so long before anything is measured.
  double warm_up_seconds = 1.5;
  /// Before a later key, it runs for so long at most if the last trial ended more than `idle_seconds` ago. That is
  /// short: programs work between keys, and candidates are compared with each other alone.
  double second_warm_up_seconds = 0.1;
  double idle_seconds = 0.5;
  int rounds = 5;                 ///< measurements of each finalist; the median counts
  double near_best = 1.25;        ///< times the best of the first round: a slower candidate is not measured again
  double seconds_a_key = 0.5;     ///< a key that has taken longer goes on with its finalists alone
  std::function<double()> clock;  ///< seconds; a steady clock where empty
  std::function<void(const std::string&)> say;  ///< one line for the user; standard error where empty
  /// One line for the user when the first measurement begins; where empty, standard error if that is a terminal.
  std::function<void(const std::string&)> progress;
};

/// Returns $PLAQUETTE_TUNING_FILE, or plaquette/tuning.json in the user's cache directory; empty if there is none.
std::string default_tuning_file();

/// Makes choices. One object a process and device is enough; its members may be called from several threads.
///
/// The file is one JSON document, replaced as a whole under a lock of its own (FILE.lock), after entries of other
/// processes have been read. A file that is no such document is renamed to FILE.set-aside and one line says so. A file
/// that cannot be read or written costs one line and the memory of this process. No member throws for the file's sake.
class tuner {
 public:
  /// Mode off.
  tuner() : tuner(tuning_options{}) {}
  explicit tuner(tuning_options options);

  tuner(const tuner&) = delete;
  tuner& operator=(const tuner&) = delete;

  /// Returns the candidate, 0 <= choice < names.size(), to be used for `key`, the same for the life of the tuner.
  /// \param names       of the candidates; a remembered choice counts if a candidate of its name is among as many
  /// \param seconds_of  runs candidate i for some milliseconds, longer when it is called for it again, and returns the
  ///                    seconds of one application; infinity or NaN if it cannot run here. It must leave the data of
  ///                    the running computation alone: it writes to scratch, or repeats a launch that may be repeated.
  ///                    A memory_error of its means that it cannot run; whatever else it throws passes through. It is
  ///                    called only if there is something to measure, and may itself call `choose`.
  /// \param untuned     the candidate for mode off, for warming up, and if none can be measured
  int choose(const tuning_key& key, std::span<const std::string> names, const std::function<double(int)>& seconds_of,
             int untuned = 0);
  /// Returns the same with candidates that are named "0", "1", ...
  int choose(const tuning_key& key, int candidates, const std::function<double(int)>& seconds_of, int untuned = 0);

  tuning_mode mode() const { return options_.mode; }
  const std::string& file() const { return options_.file; }
  /// Returns every choice so far, in the order of first use.
  std::vector<tuning_record> used() const;
  /// Returns the seconds that went into measuring; to be reported apart from a program's measurements.
  double seconds_spent() const;
  /// Adds seconds of trials that this process made for another rank's tuner.
  void add_seconds_spent(double seconds);
  /// Shows no progress from now on: the tuner of another rank does.
  void hide_progress();

 private:
  struct stored_choice {
    std::string name;
    int candidates = 0;
    double seconds = 0;
  };
  struct file_state {
    std::int64_t inode = -1, size = -1, modified = -1;  ///< modified: nanoseconds
    bool operator==(const file_state&) const = default;
  };

  double now() const;
  void say(const std::string& line);
  void tell_of_tuning();
  void warm_up(const std::function<double(int)>& seconds_of, int candidate);
  tuning_record measure(const tuning_key& key, std::span<const std::string> names,
                        const std::function<double(int)>& seconds_of, int untuned);
  const tuning_record* find_used(const tuning_key& key) const;
  const tuning_record& keep(const tuning_record& record);
  bool find_remembered(tuning_record& record, std::span<const std::string> names);
  void read_file_if_changed(bool locked);  ///< locked: the caller holds the file's lock
  void remember(const tuning_record& record);
  void give_up_file(const std::string& why);

  tuning_options options_;
  std::recursive_mutex trials_;              ///< one measurement at a time, and others inside its trials
  int depth_ = 0;                            ///< of measurements within each other; guarded by trials_
  mutable std::mutex mutex_;                 ///< of all below; never held while a candidate runs
  std::map<tuning_key, std::size_t> index_;  ///< into used_
  std::vector<tuning_record> used_;
  std::map<tuning_key, stored_choice> from_file_;  ///< of this device and version
  file_state seen_;                                ///< the file as it was read last
  bool file_works_ = true;                         ///< until one line has said that it does not
  double last_trial_ = -1e300;
  bool has_measured_ = false;
  double spent_ = 0;
};

}  // namespace plaquette::gpu
