// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Marks the objects of a library, so that they are told from the objects of another.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "common/error.hpp"
#include "common/lattice/geometry.hpp"
#include "common/lattice/same_lattice.hpp"

namespace plaquette {

/// The identity of a library: the address of its lattice. Null for an object that no library made.
using library_mark = std::shared_ptr<const lattice_geometry>;

/// Throws input_error unless both marks are of one library.
/// \param what   has the mark `a`, for the message: "vectors"
/// \param whose  has the mark `b`: "this solver"
inline void require_same_library(const library_mark& a, const library_mark& b, const std::string& what,
                                 const std::string& whose) {
  if (a == nullptr || b == nullptr)
    throw input_error(what + " and " + whose + ": expected both of one library, found that no library made " +
                      (a == nullptr ? "the " + what : whose));
  if (a == b) return;
  require_same_lattice(*a, *b, what, whose + " on ");
  throw input_error(what + " of another library: expected the library of " + whose + "; copy them by way of the host");
}

/// A solver, an operator or links that a library made. The library marks it as its own.
class library_part {
 public:
  const library_mark& mark() const { return mark_; }
  void set_mark(library_mark mark) { mark_ = std::move(mark); }

 protected:
  ~library_part() = default;

 private:
  library_mark mark_{};
};

}  // namespace plaquette
