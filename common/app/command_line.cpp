// SPDX-License-Identifier: BSD-3-Clause
#include "common/app/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "common/app/parse.hpp"
#include "common/app/provenance.hpp"
#include "common/app/standard_streams.hpp"
#include "common/error.hpp"

namespace plaquette {

namespace {
std::string joined(const std::vector<std::string>& words, const std::string& between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

/// The letters to insert, leave out, replace or swap with the next one that make one word of another.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

constexpr std::size_t description_column = 34;

/// Appends a line of a help text, in pieces.
void append_wrapped(std::string& text, std::string line, std::size_t width) {
  const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
  const bool of_option = line.compare(first, 1, "-") == 0 || first >= description_column;
  const std::string indent(of_option ? description_column : first, ' ');
  while (line.size() > width) {
    const std::size_t least = std::max(first, line.starts_with(indent) ? indent.size() : first) + 1;
    std::size_t at = line.rfind(' ', width), next = at + 1;
    if (at == std::string::npos || at < least) {
      at = line.find_last_of("|,", width - 1);
      if (at != std::string::npos && at >= least) {
        next = ++at;
      } else {  // a word that has no joint
        at = line.find(' ', least);
        if (at == std::string::npos) break;
        next = at + 1;
      }
    }
    text += line.substr(0, line.find_last_not_of(' ', at - 1) + 1) + '\n';
    line = indent + line.substr(next);
  }
  text += line + '\n';
}
}  // namespace

std::string wrapped(const std::string& text, std::size_t width) {
  std::string result;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    append_wrapped(result, text.substr(begin, end - begin), width);
    begin = end + 1;
  }
  return result;
}

std::string nearest_word(const std::string& mistyped, const std::vector<std::string>& known) {
  std::string best;
  std::size_t least = std::max<std::size_t>(mistyped.size() / 4, 1) + 1;
  for (const std::string& word : known)
    if (const std::size_t letters = distance(mistyped, word); letters < least) {
      least = letters;
      best = word;
    }
  return best;
}

std::string shown(const json_document& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return std::isfinite(value.get<double>()) ? fmt::format("{}", value.get<double>()) : "";
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const json_document& one : value) text += (text.empty() ? "" : ",") + shown(one);
  return text;
}

namespace {
/// What the table has of an option.
struct row {
  struct report {
    std::string key;
    json_document value = nullptr;  ///< null: the variable's
    bool if_true = true;
  };

  std::string option, type, section, help;
  bool of_all = false, is_automatic = false;  ///< reported under its name until it is reported otherwise
  std::function<json_document()> value{};     ///< of the variable; empty: the row has several
  std::vector<report> reports{};
};
}  // namespace

struct command_line::implementation {
  CLI::App app;
  std::vector<row> rows{};
  bool of_all = false, reports = false;
  std::string section = "Options", examples{};
  /// Each throws input_error if it is broken. Contradictions are refused before what is missing.
  std::vector<std::function<void()>> rules_of_values{}, rules_of_effect{}, rules_of_need{};

  void add_row(const std::string& option, const std::string& type, const std::string& help,
               std::function<json_document()> value) {
    rows.push_back({.option = option, .type = type, .section = section, .help = help});
    rows.back().of_all = of_all;
    rows.back().value = std::move(value);
    if (!reports || !rows.back().value) return;
    rows.back().is_automatic = true;
    rows.back().reports.push_back({option.substr(2)});
    std::ranges::replace(rows.back().reports.front().key, '-', '_');
  }

  row& find(const std::string& option) {
    const auto found = std::ranges::find(rows, option, &row::option);
    if (found == rows.end()) throw std::logic_error(option + " is not declared");
    return *found;
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
  app.add_flag_callback("--help-json", [this] { throw help_requested{rows().dump(1) + '\n'}; })->group("");
  app.get_formatter()->column_width(description_column);
}

command_line::~command_line() = default;

void command_line::section(const std::string& title, bool of_all) {
  implementation_->section = title;
  implementation_->of_all = of_all;
}

option_row command_line::bound(const std::string& option, const std::string& type, const std::string& shown_default,
                               std::function<void(const std::string&, const std::string&)> read,
                               std::function<json_document()> value, const std::string& help) {
  implementation_->app
      .add_option_function<std::string>(
          option, [read = std::move(read), option](const std::string& t) { read(t, option); }, help)
      ->type_name(type)
      ->default_str(shown_default)
      ->group(implementation_->section);
  implementation_->add_row(option, type, help, std::move(value));
  return {*this, option};
}

option_row command_line::custom(const std::string& option, const std::string& type, const std::string& shown_default,
                                std::function<void(const std::string&, const std::string&)> read,
                                const std::string& help) {
  return bound(option, type, shown_default, std::move(read), {}, help);
}

option_row command_line::flag(const std::string& option, bool& value, const std::string& help) {
  implementation_->app.add_flag(option, value, help)->group(implementation_->section)->disable_flag_override();
  implementation_->add_row(option, "", help, [&value] { return json_document(value); });
  return {*this, option};
}

option_row command_line::text(const std::string& option, std::string& value, const std::string& type,
                              const std::string& help) {
  return this->value(
      option, value, type,
      [type](const std::string& t, const std::string& name) {
        if (t.empty()) throw input_error(name + ": expected a text, found nothing");
        if (t == standard_output_name && name != "--json" && (type.starts_with("FILE") || type.starts_with("PREFIX")))
          throw input_error(name + ": expected the name of a file, found '-' (only a report goes to standard " +
                            "output, with --json -)");
        return t;
      },
      help);
}

option_row command_line::real(const std::string& option, double& value, const std::string& help,
                              const real_range& range) {
  return this->value(
      option, value, "NUMBER",
      [range](const std::string& t, const std::string& name) { return parse_real(t, name, range); }, help);
}

option_row command_line::integer(const std::string& option, int& value, const std::string& help, int lowest,
                                 int highest) {
  return this->value(
      option, value, "INTEGER",
      [lowest, highest](const std::string& t, const std::string& name) {
        return static_cast<int>(parse_integer(t, name, lowest, highest));
      },
      help);
}

option_row command_line::choice_of(const std::string& option, std::vector<std::string> words,
                                   std::function<std::string()> word, std::function<void(std::size_t)> take,
                                   const std::string& help) {
  const std::string type = joined(words, "|"), usual = word();
  return bound(
      option, type, usual,
      [words = std::move(words), take = std::move(take)](const std::string& t, const std::string& name) {
        const auto found = std::ranges::find(words, t);
        if (found == words.end())
          throw input_error(fmt::format("{}: expected one of {}, found '{}'", name, joined(words, ", "), printable(t)));
        take(static_cast<std::size_t>(found - words.begin()));
      },
      [word = std::move(word)] { return json_document(word()); }, help);
}

option_row command_line::choice(const std::string& option, std::string& value, const std::vector<std::string>& words,
                                const std::string& help) {
  return choice_of(
      option, words, [&value] { return value; }, [&value, words](std::size_t i) { value = words[i]; }, help);
}

void command_line::exclude(const std::string& one, const std::string& other) {
  implementation_->app.get_option(one)->excludes(implementation_->app.get_option(other));
}

void command_line::needs(const std::string& option, const std::string& other) {
  implementation_->rules_of_need.emplace_back([this, option, other] {
    if (given(option) && !given(other.substr(0, other.find(' '))))
      throw input_error(fmt::format("{}: expected {} with it, found none", option, other));
  });
}

void command_line::needs_value(const std::string& option, const std::string& other, const std::string& expected,
                               const std::string& value) {
  implementation_->rules_of_values.emplace_back([this, option, other, expected, &value] {
    if (given(option) && value != expected)
      throw input_error(fmt::format("{}: expected {} {} with it, found {}", option, other, expected, value));
  });
}

void command_line::needs_value(const std::string& option, const std::string& other, const std::string& expected) {
  implementation_->rules_of_values.emplace_back([this, option, other, expected] {
    if (const std::string found = shown(implementation_->find(other).value()); given(option) && found != expected)
      throw input_error(fmt::format("{}: expected {} {} with it, found {}", option, other, expected, found));
  });
}

void command_line::no_effect_with(const std::string& other, const std::vector<std::string>& options,
                                  const std::string& why) {
  implementation_->rules_of_effect.emplace_back([this, other, options, why] {
    for (const std::string& option : options)
      if (given(option) && given(other))
        throw input_error(
            fmt::format("{} has no effect together with {}{}", option, other, why.empty() ? "" : ": " + why));
  });
}

void command_line::examples(const std::vector<std::string>& lines) {
  implementation_->examples = "\nExamples:\n";
  for (const std::string& one : lines)
    implementation_->examples += "  " + implementation_->app.get_name() + ' ' + one + '\n';
}

void command_line::show_default(const std::string& option, const std::string& text) {
  implementation_->app.get_option(option)->default_str(text);
}

void command_line::reports(bool each) { implementation_->reports = each; }

void command_line::report(const std::string& option, const std::string& key, json_document value, bool if_true) {
  row& of = implementation_->find(option);
  if (std::exchange(of.is_automatic, false)) of.reports.clear();
  of.reports.push_back({key, std::move(value), if_true});
}

void command_line::unreport(const std::string& option) { implementation_->find(option).reports.clear(); }

json_document command_line::parameters() const {
  json_document all = json_document::object();
  for (const row& one : implementation_->rows)
    for (const auto& [key, value, if_true] : one.reports) {
      if (!if_true) continue;
      const std::size_t dot = key.find('.');
      json_document& place = dot == std::string::npos ? all[key] : all[key.substr(0, dot)][key.substr(dot + 1)];
      place = value.is_null() ? one.value() : value;
    }
  return all;
}

json_document command_line::rows() const {
  json_document all = json_document::array();
  for (const row& one : implementation_->rows) {
    json_document keys = json_document::array();
    for (const auto& report : one.reports) keys.push_back(report.key);
    all.push_back({{"section", one.section},
                   {"of_all_programs", one.of_all},
                   {"option", one.option},
                   {"type", one.type},
                   {"default", implementation_->app.get_option(one.option)->get_default_str()},
                   {"help", one.help},
                   {"keys", keys}});
  }
  return all;
}

void command_line::footer(const std::string& text) { implementation_->app.footer(text); }

void command_line::parse(int argc, const char* const* argv) {
  for (int i = 0; i < argc; ++i) typed_ += (i > 0 ? " " : "") + std::string(argv[i]);
  auto& app = implementation_->app;
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const std::span words(argv, static_cast<std::size_t>(argc));
    const auto starts_with_h = [](std::string_view word) { return word.starts_with("-h") && word.size() > 2; };
    // CLI11 reads a misspelled "-history x" as -h.
    if (const auto found = std::ranges::find_if(words, starts_with_h); found != words.end())
      throw input_error(fmt::format("{}: expected an option of two dashes, or -h alone", printable(*found)));
    std::string text = app.help();
    const std::size_t end = text.find("\nExit status");
    text.insert(end == std::string::npos ? text.size() : end, implementation_->examples);
    throw help_requested{wrapped(text)};
  } catch (const CLI::CallForVersion& version) {
    throw help_requested{std::string(version.what()) + '\n'};
  } catch (const CLI::ExtrasError& refused) {
    std::vector<std::string> known;
    for (const CLI::Option* option : app.get_options()) known.push_back("--" + option->get_single_name());
    std::string meant;
    for (int i = 1; i < argc && meant.empty(); ++i) {
      const std::string word = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
      if (word.starts_with("--") && std::ranges::find(known, word) == known.end()) meant = nearest_word(word, known);
    }
    throw input_error(std::string(refused.what()) + (meant.empty() ? "" : "; did you mean " + meant + "?") +
                      " (--help lists the options)");
  } catch (const CLI::ParseError& refused) {
    throw input_error(std::string(refused.what()) + " (--help lists the options)");
  }
  for (const auto* rules :
       {&implementation_->rules_of_values, &implementation_->rules_of_effect, &implementation_->rules_of_need})
    for (const auto& holds : *rules) holds();
}

bool command_line::given(const std::string& option) const {
  const CLI::Option* declared = implementation_->app.get_option_no_throw(option);
  return declared != nullptr && declared->count() > 0;
}

}  // namespace plaquette
