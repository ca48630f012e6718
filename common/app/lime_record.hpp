// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The document of a checkpoint in a record of a LIME file. Its links are in the same file.
#pragma once

#include <string>

#include "common/app/report.hpp"

namespace plaquette {

/// Returns the document of the record of that type (checkpoint_text). Throws input_error, naming the file, if it is no
/// LIME file or has no such record, or if its "version" is another.
/// \param what  what was expected, for messages: "a checkpoint of plaquette-make-configuration"
json_document checkpoint_in_lime_record(const std::string& path, const std::string& record_type,
                                        const std::string& what, int version);

}  // namespace plaquette
