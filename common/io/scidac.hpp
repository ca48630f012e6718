// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which record of an ILDG, SciDAC or ETMC file holds the field, and what the records around it say of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/io/lime.hpp"
#include "common/lattice/extents.hpp"

namespace plaquette {

enum class scidac_content { gauge, spinor };

/// The one field of a kind in a file. Its bytes are big-endian, sites with x fastest.
struct scidac_field {
  bool is_ildg = false;  ///< described by an ildg-format record
  extents lattice{};
  int precision_bits = 0;
  std::uint64_t offset = 0;          ///< of the data in the file
  std::string checksum;              ///< as site_checksum::text gives it; empty where the file holds none
  std::vector<std::string> remarks;  ///< what the records leave out, and what was assumed
};

/// Throws input_error unless the file holds exactly one field of this kind, all records that describe it agree, and its
/// data have the size that they imply. Some programs leave records or elements out; where the sizes decide, the field
/// is taken with a remark.
/// \param lattice  where it is known: that of an ildg-binary-data record which no other record describes
scidac_field find_scidac_field(const byte_source& source, const std::vector<lime_record>& records,
                               scidac_content content, const std::optional<extents>& lattice = {});

}  // namespace plaquette
