// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The reference data: results of other programs, in a folder next to the checkout. Tests that use it are skipped, and
/// say so, if it is absent. The environment variable PLAQUETTE_REFERENCE_DIR overrules the path that was configured.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "common/io/gauge_file.hpp"

namespace plaquette::validation {

/// A test with reference data. `document` is its reference.json.
class reference_data : public testing::Test {
 protected:
  void SetUp() override {
    const std::string index = path("reference.json");
    if (!std::filesystem::exists(index)) GTEST_SKIP() << "no reference data: " << index << " does not exist";
    document = nlohmann::json::parse(std::ifstream(index));
  }

  static std::string path(const std::string& file) {
    const char* elsewhere = std::getenv("PLAQUETTE_REFERENCE_DIR");
    return std::string(elsewhere != nullptr ? elsewhere : PLAQUETTE_REFERENCE_DIR) + "/" + file;
  }

  static gauge_configuration read_links(const std::string& file, const extents& lattice) {
    return read_gauge(path(file), lattice_geometry(lattice), communicator()).links;
  }

  nlohmann::json document;
};

}  // namespace plaquette::validation
