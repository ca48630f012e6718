// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which record of an ILDG, SciDAC or ETMC file holds the field, and what the records around it say of it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/io/lime.hpp"
#include "common/lattice/extents.hpp"

namespace plaquette {

enum class scidac_content {
  gauge,
  spinor,
  propagator  ///< 4 x 4 x 3 x 3 complex numbers, as QDP++ has them: [sink spin][source spin][sink colour][source
              ///< colour]
};

/// Returns the real numbers of a site: 72, 24 or 288.
int reals_of(scidac_content content);

/// The part of a spinor field in a file of sources and solutions, as its own records say it.
enum class field_role { unsaid, source, solution };

/// A field in a file. Its bytes are big-endian, sites with x fastest.
struct scidac_field {
  bool is_ildg = false;  ///< described by an ildg-format record
  bool is_etmc = false;  ///< described by an etmc-propagator-format record: tmLQCD's
  extents lattice{};
  int precision_bits = 0;
  std::uint64_t offset = 0;          ///< of the data in the file
  std::string checksum;              ///< as site_checksum::text gives it; empty where the file holds none
  std::vector<std::string> remarks;  ///< what the records leave out, and what was assumed
  field_role role = field_role::unsaid;
  std::optional<std::pair<int, int>> spin_colour{};  ///< of the source of a solution, as usqcdPropInfo names them
};

/// Throws input_error unless the file holds exactly one field of this kind, all records that describe it agree, and its
/// data have the size that they imply. Some programs leave records or elements out; where the sizes decide, the field
/// is taken with a remark. A tmLQCD file of two flavours is refused.
/// \param lattice  where it is known: that of an ildg-binary-data record which no other record describes
scidac_field find_scidac_field(const byte_source& source, const std::vector<lime_record>& records,
                               scidac_content content, const std::optional<extents>& lattice = {});

struct scidac_fields {
  std::vector<scidac_field> fields;  ///< in the order of the file
  bool are_pairs = false;            ///< the file says that these are pairs of source and solution
  std::string reason;                ///< why other data of the file is no such field; empty if there is none
};

/// Returns all fields of this kind; throws as find_scidac_field does, but not for their number. One
/// etmc-propagator-format record describes all fields up to the next description, as tmLQCD writes several columns into
/// one file.
scidac_fields find_scidac_fields(const byte_source& source, const std::vector<lime_record>& records,
                                 scidac_content content);

/// Returns the records that begin a SciDAC file of one volume. `dims`: the extents, a blank behind each.
std::string scidac_file_records(const std::string& dims, const std::string& title);

}  // namespace plaquette
