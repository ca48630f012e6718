// SPDX-License-Identifier: BSD-3-Clause
#include "common/app/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "common/app/provenance.hpp"
#include "common/error.hpp"

namespace plaquette {

namespace {
std::string joined(const std::vector<std::string>& words, const std::string& between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}
}  // namespace

struct command_line::implementation {
  CLI::App app;
  std::string section = "Options";
  std::vector<std::function<void()>> rules{};  ///< each throws input_error where it is broken

  CLI::Option* declare(const std::string& option, const std::string& type, const std::string& shown_default,
                       std::function<void(const std::string&)> read, const std::string& help) {
    auto* added = app.add_option_function<std::string>(option, std::move(read), help);
    added->type_name(type)->default_str(shown_default)->group(section);
    return added;
  }
};

command_line::command_line(const std::string& name, const std::string& summary)
    : implementation_(std::make_unique<implementation>()) {
  auto& app = implementation_->app;
  app.name(name);
  app.description(summary);
  app.set_help_flag("-h,--help", "This text");
  const build_record build = build_information();
  app.set_version_flag(
      "--version", name + ' ' + build.version + " (revision " + build.revision + (build.dirty ? ", changed)" : ")"));
  app.get_formatter()->column_width(34);
}

command_line::~command_line() = default;

void command_line::section(const std::string& title) { implementation_->section = title; }

void command_line::flag(const std::string& option, bool& value, const std::string& help) {
  implementation_->app.add_flag(option, value, help)->group(implementation_->section)->disable_flag_override();
}

void command_line::text(const std::string& option, std::string& value, const std::string& type,
                        const std::string& help) {
  implementation_->declare(
      option, type, value,
      [&value, option](const std::string& t) {
        if (t.empty()) throw input_error(option + ": expected a text, found nothing");
        value = t;
      },
      help);
}

void command_line::real(const std::string& option, double& value, const std::string& help, const real_range& range) {
  implementation_->declare(
      option, "NUMBER", std::isfinite(value) ? fmt::format("{}", value) : "",
      [&value, option, range](const std::string& t) { value = parse_real(t, option, range); }, help);
}

void command_line::integer(const std::string& option, int& value, const std::string& help, int lowest, int highest) {
  implementation_->declare(
      option, "INTEGER", std::to_string(value),
      [&value, option, lowest, highest](const std::string& t) {
        value = static_cast<int>(parse_integer(t, option, lowest, highest));
      },
      help);
}

void command_line::choice(const std::string& option, std::string& value, const std::vector<std::string>& words,
                          const std::string& help) {
  implementation_->declare(
      option, joined(words, "|"), value,
      [&value, option, words](const std::string& t) {
        if (std::ranges::find(words, t) == words.end())
          throw input_error(
              fmt::format("{}: expected one of {}, found '{}'", option, joined(words, ", "), printable(t)));
        value = t;
      },
      help);
}

void command_line::custom(const std::string& option, const std::string& type, const std::string& shown_default,
                          std::function<void(const std::string&, const std::string&)> read, const std::string& help) {
  implementation_->declare(
      option, type, shown_default, [read = std::move(read), option](const std::string& t) { read(t, option); }, help);
}

void command_line::exclude(const std::string& one, const std::string& other) {
  implementation_->app.get_option(one)->excludes(implementation_->app.get_option(other));
}

void command_line::needs(const std::string& option, const std::string& other) {
  implementation_->rules.emplace_back([this, option, other] {
    if (given(option) && !given(other.substr(0, other.find(' '))))
      throw input_error(fmt::format("{}: expected {} beside it, found none", option, other));
  });
}

void command_line::needs_value(const std::string& option, const std::string& other, const std::string& expected,
                               const std::string& value) {
  implementation_->rules.emplace_back([this, option, other, expected, &value] {
    if (given(option) && value != expected)
      throw input_error(fmt::format("{}: expected {} {} beside it, found {}", option, other, expected, value));
  });
}

void command_line::useless_beside(const std::string& other, const std::vector<std::string>& options,
                                  const std::string& why) {
  implementation_->rules.emplace_back([this, other, options, why] {
    for (const std::string& option : options)
      if (given(option) && given(other))
        throw input_error(fmt::format("{} has no effect beside {}{}", option, other, why.empty() ? "" : ": " + why));
  });
}

void command_line::footer(const std::string& text) { implementation_->app.footer(text); }

void command_line::parse(int argc, const char* const* argv) {
  for (int i = 0; i < argc; ++i) typed_ += (i > 0 ? " " : "") + std::string(argv[i]);
  auto& app = implementation_->app;
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    throw help_requested{app.help()};
  } catch (const CLI::CallForVersion& version) {
    throw help_requested{std::string(version.what()) + '\n'};
  } catch (const CLI::ParseError& refused) {
    throw input_error(std::string(refused.what()) + " (--help lists the options)");
  }
  for (const auto& holds : implementation_->rules) holds();
}

bool command_line::given(const std::string& option) const {
  const CLI::Option* declared = implementation_->app.get_option_no_throw(option);
  return declared != nullptr && declared->count() > 0;
}

}  // namespace plaquette
