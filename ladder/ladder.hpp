// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a rung offers, so that one driver can test and time them all. A ladder is one operator, written again and
/// again; each rung differs from the one below in one idea.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace ladder {

/// One way to compute the operator, on one random input.
class rung {
 public:
  virtual ~rung() = default;
  /// Computes; this is what is timed. It gives the same result each time.
  virtual void run() = 0;
  /// Returns the last result as plain numbers, in the order of rung 1.
  virtual std::vector<double> result() const = 0;
  /// Returns what else a reader may want to know, such as a number of iterations.
  virtual std::string remark() const { return {}; }
  /// Returns the bytes that a run moves at least: each kernel reads or writes each number once. 0: not counted.
  virtual double bytes() const { return 0; }
};

/// How big a problem is. What a number means is the ladder's affair: 0 for tests, 1 to learn, 2 to measure.
enum class size { nano, small, reference };

/// Returns Input(from...). Rungs of a run share it: it is made again only where the arguments differ from the last.
template <class Input, class... From>
std::shared_ptr<const Input> shared_input(const From&... from) {
  static std::tuple<From...> made_from;
  static std::shared_ptr<const Input> last;
  if (last == nullptr || made_from != std::tuple(from...))
    last = std::make_shared<const Input>(from...), made_from = {from...};
  return last;
}

struct rung_entry {
  std::string name;
  std::string idea;      ///< "like the rung below, but ..."
  double tolerance = 0;  ///< of |result - result of rung 1| / |result of rung 1|
  std::unique_ptr<rung> (*make)(size, std::uint64_t seed) = nullptr;
};

struct ladder {
  std::string what;            ///< the operator
  std::string item;            ///< what times are given for: a site, an element, a solve
  double (*items)(size) = {};  ///< in one run
  double flops = 0;            ///< of an item, by the standard count; 0: none is known
  std::map<int, rung_entry> rungs;
};

/// Returns all ladders by name. Rungs add themselves before main begins.
inline std::map<std::string, ladder>& all() {
  static std::map<std::string, ladder> ladders;
  return ladders;
}

struct describe {
  describe(const char* name, const char* what, const char* item, double (*items)(size), double flops) {
    ladder& l = all()[name];
    l.what = what, l.item = item, l.items = items, l.flops = flops;
  }
};

/// Adds Rung, which is constructed from (size, seed).
template <class Rung>
struct add {
  add(const char* ladder, int number, const char* name, double tolerance, const char* idea) {
    all()[ladder].rungs[number] = {name, idea, tolerance, [](size s, std::uint64_t seed) -> std::unique_ptr<rung> {
                                     return std::make_unique<Rung>(s, seed);
                                   }};
  }
};

}  // namespace ladder
