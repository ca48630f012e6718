// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/shared/stopped_report.hpp"

#include <algorithm>
#include <array>
#include <fstream>

#include "common/app/standard_streams.hpp"

namespace plaquette {

namespace {

bool says_stopped(const json_document& report) {
  return std::ranges::any_of(report.at("checks"), [](const json_document& c) {
    return !c.at("passed").get<bool>() && c.at("name").get<std::string>().starts_with("run was not stopped by ");
  });
}

bool are_alike(const json_document& stored, const json_document& now) {
  constexpr std::array fitted{"command", "placement", "batches", "restart_length", "levels"};
  return std::ranges::all_of(now.items(), [&](const auto& item) {
    const bool is_fitted = std::ranges::find(fitted, item.key()) != fitted.end();
    return is_fitted || (stored.contains(item.key()) && stored.at(item.key()) == item.value());
  });
}

}  // namespace

bool is_report_of_stopped_run(const std::string& path, const std::string& app, const json_document& parameters) {
  if (path.empty() || path == standard_output_name) return false;
  std::ifstream file(path);
  if (!file) return false;
  const json_document report = json_document::parse(file, nullptr, false);
  try {
    return report.at("app") == app && says_stopped(report) && are_alike(report.at("parameters"), parameters);
  } catch (const json_document::exception&) {
    return false;
  }
}

}  // namespace plaquette
