// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Small coarse lattices that every rank holds whole, so that nothing is exchanged on them.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "common/multigrid/multigrid_levels.hpp"

namespace plaquette {

/// Whole copies of divided lattices, made when they are first needed.
template <class Library>
class whole_lattices {
  using level = multigrid_level<Library>;
  using gather = typename Library::gather_of_lattice;

 public:
  explicit whole_lattices(const Library& library) : library_(library) {}

  void forget() { levels_.clear(); }

  /// Returns the whole coarse lattice `number`. Collective at its first call.
  /// \param divided          all levels
  /// \param finer_is_whole   whether the lattice above is held whole too: then the way from it is made
  const level& at(std::size_t number, const std::vector<level>& divided, bool finer_is_whole) {
    levels_.resize(divided.size());
    level& made = levels_[number - 1];
    const level& part = divided[number - 1];
    const Library alone = library_.alone();
    if (finer_is_whole && !made.from_finer) {
      made.vectors = std::make_shared<const typename Library::basis>(library_.whole(*part.vectors));
      made.from_finer = alone.make_transfer(*made.vectors);
    }
    if (!made.system) {
      made.operator_numbers =
          std::make_shared<const typename Library::matrices>(library_.whole(*part.operator_numbers));
      made.system = alone.make_system(*made.operator_numbers);
    }
    return made;
  }

  /// Returns the way of fields between a divided lattice and the same one held whole.
  std::shared_ptr<const gather> gather_to(const level& whole, const level& divided) {
    if (!gather_ || gather_of_ != whole.system) {
      gather_ = library_.make_gather(*divided.system, *whole.system);
      gather_of_ = whole.system;
    }
    return gather_;
  }

 private:
  Library library_;
  std::vector<level> levels_;
  std::shared_ptr<const gather> gather_;
  std::shared_ptr<const typename Library::coarse_system> gather_of_;  ///< the whole lattice that it leads to
};

}  // namespace plaquette
