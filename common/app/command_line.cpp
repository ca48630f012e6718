// SPDX-License-Identifier: BSD-3-Clause
#include "common/app/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

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

struct command_line::implementation {
  CLI::App app;
  std::string section = "Options", examples{};
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
  app.get_formatter()->column_width(description_column);
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
      [&value, option, type](const std::string& t) {
        if (t.empty()) throw input_error(option + ": expected a text, found nothing");
        if (t == standard_output_name && option != "--json" && (type.starts_with("FILE") || type.starts_with("PREFIX")))
          throw input_error(option + ": expected the name of a file, found '-' (only a report goes to standard " +
                            "output, with --json -)");
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
      throw input_error(fmt::format("{}: expected {} with it, found none", option, other));
  });
}

void command_line::needs_value(const std::string& option, const std::string& other, const std::string& expected,
                               const std::string& value) {
  implementation_->rules.emplace_back([this, option, other, expected, &value] {
    if (given(option) && value != expected)
      throw input_error(fmt::format("{}: expected {} {} with it, found {}", option, other, expected, value));
  });
}

void command_line::no_effect_with(const std::string& other, const std::vector<std::string>& options,
                                  const std::string& why) {
  implementation_->rules.emplace_back([this, other, options, why] {
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
  for (const auto& holds : implementation_->rules) holds();
}

bool command_line::given(const std::string& option) const {
  const CLI::Option* declared = implementation_->app.get_option_no_throw(option);
  return declared != nullptr && declared->count() > 0;
}

}  // namespace plaquette
