// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The command line of a program of this suite: options with strictly read values, and a --help that is enough to use
/// it.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/app/parse.hpp"
#include "common/app/report.hpp"

namespace plaquette {

/// Returns a value as --help shows it: a text as it is, numbers of a list between commas, nothing for null and for a
/// number that is not finite.
std::string shown(const json_document& value);

/// Thrown for --help and --version: the text goes to stdout and the exit status is 0.
struct help_requested {
  std::string text;
};

class option_row;

/// The options of a program, a row each. A row has the name, the variable that it sets, the values and the help text.
/// It may add rules and a key of the report's `parameters` (option_row). The rest is made from the rows: reading,
/// --help, the refusal of what makes no sense, `parameters`, the table in the program's README
/// (tools/option_tables.py). A variable keeps its value, the default that --help shows, if the option is absent. A
/// value that the option does not take is refused with input_error when it is read.
class command_line {
 public:
  /// \param name     of the program
  /// \param summary  what it does, in a sentence or two
  explicit command_line(const std::string& name = "", const std::string& summary = "");
  ~command_line();

  /// Puts the options declared from here on under this title.
  /// \param of_all  they mean the same in all programs, and have a table of their own in miniapps/README.md
  void section(const std::string& title, bool of_all = false);

  /// Reports the options declared from here on under their names, with _ for -, or does not. One with several variables
  /// is reported by option_row::reported_as alone.
  void reports(bool each);

  option_row flag(const std::string& option, bool& value, const std::string& help);
  option_row text(const std::string& option, std::string& value, const std::string& type, const std::string& help);
  /// A default that is not finite is not shown.
  option_row real(const std::string& option, double& value, const std::string& help, const real_range& range = {});
  option_row integer(const std::string& option, int& value, const std::string& help, int lowest, int highest);
  /// Declares an option that is one of a few words.
  option_row choice(const std::string& option, std::string& value, const std::vector<std::string>& words,
                    const std::string& help);
  /// Declares an option of a few words, each of which stands for a value; the report has the word.
  template <class Value>
  option_row choice(const std::string& option, Value& value, std::initializer_list<std::pair<const char*, Value>> words,
                    const std::string& help);
  /// Declares an option whose words are the names of values: name(value).
  template <class Value>
  option_row choice(const std::string& option, Value& value, std::initializer_list<Value> values,
                    const std::string& help);
  /// Declares an option whose text `read(text, option)` turns into the value, or refuses with input_error. The default
  /// is shown as the report would have it, a list with commas.
  template <class Value, class Read>
  option_row value(const std::string& option, Value& value, const std::string& type, Read read,
                   const std::string& help);
  /// Declares an option whose `read` sets more than one variable; the report has it if option_row::reported has a
  /// value.
  option_row custom(const std::string& option, const std::string& type, const std::string& shown_default,
                    std::function<void(const std::string& text, const std::string& option)> read,
                    const std::string& help);

  /// Declares two options of which one at most may be given.
  void exclude(const std::string& one, const std::string& other);
  /// Declares that an option means nothing without another one; `other` is as the message shows it: "--output FILE".
  void needs(const std::string& option, const std::string& other);
  /// Declares that an option means nothing unless another one has a value: needs_value("--relaxation", "--solver",
  /// "mr", solver). `value` is read after the parse.
  void needs_value(const std::string& option, const std::string& other, const std::string& expected,
                   const std::string& value);
  /// Does the same if the other option is a row of this table, which knows its value.
  void needs_value(const std::string& option, const std::string& other, const std::string& expected);
  /// Declares options that have no effect together with another one.
  void no_effect_with(const std::string& other, const std::vector<std::string>& options, const std::string& why = {});

  /// Adds command lines that --help shows, without the program's name.
  void examples(const std::vector<std::string>& lines);
  /// Shows `text` as the default of an option: where --size sets what is not given, for example.
  void show_default(const std::string& option, const std::string& text);
  /// Sets the text at the end of --help.
  void footer(const std::string& text);
  /// Writes an option under a key of the report; see option_row.
  void report(const std::string& option, const std::string& key, json_document value, bool if_true = true);
  void unreport(const std::string& option);

  /// Reads the arguments. Throws input_error for arguments that cannot be used and help_requested for --help and
  /// --version.
  void parse(int argc, const char* const* argv);
  /// True where the option was given; never where it was not declared.
  bool given(const std::string& option) const;
  /// Returns the arguments as typed, for the report.
  const std::string& typed() const { return typed_; }
  /// Returns the values, as the variables have them now, of the options that are reported; in the order of the rows.
  /// A run declares its rows again for this, with the variables that it used.
  json_document parameters() const;
  /// Returns the rows as data, which the hidden option --help-json prints: section, option, type, default, help, keys.
  json_document rows() const;

 private:
  /// Declares an option of words; `word` gives the one that is set, `take` sets the one of a number.
  option_row choice_of(const std::string& option, std::vector<std::string> words, std::function<std::string()> word,
                       std::function<void(std::size_t)> take, const std::string& help);
  option_row bound(const std::string& option, const std::string& type, const std::string& shown_default,
                   std::function<void(const std::string& text, const std::string& option)> read,
                   std::function<json_document()> value, const std::string& help);

  struct implementation;
  std::unique_ptr<implementation> implementation_;
  std::string typed_;
};

/// A row of a command_line, to which rules and a key of the report are added. Usable while the command line lives.
class option_row {
 public:
  option_row(command_line& line, std::string option) : line_(&line), option_(std::move(option)) {}

  /// See command_line.
  option_row& excludes(const std::string& other) { return line_->exclude(option_, other), *this; }
  option_row& needs(const std::string& other) { return line_->needs(option_, other), *this; }
  option_row& needs_value(const std::string& other, const std::string& expected) {
    return line_->needs_value(option_, other, expected), *this;
  }
  option_row& shows(const std::string& text) { return line_->show_default(option_, text), *this; }

  /// Writes the variable's value under `key` of the report's `parameters`, unless `if_true` is false. A dot leads into
  /// an object: "stout.steps".
  option_row& reported(const std::string& key, bool if_true = true) {
    return line_->report(option_, key, nullptr, if_true), *this;
  }
  /// Writes `value` there, as it is now. A row may have several keys.
  option_row& reported_as(const std::string& key, json_document value, bool if_true = true) {
    return line_->report(option_, key, std::move(value), if_true), *this;
  }
  option_row& unreported() { return line_->unreport(option_), *this; }

 private:
  command_line* line_;
  std::string option_;
};

template <class Value>
option_row command_line::choice(const std::string& option, Value& value,
                                std::initializer_list<std::pair<const char*, Value>> words, const std::string& help) {
  std::vector<std::string> names;
  std::vector<Value> values;
  for (const auto& [word, one] : words) {
    names.emplace_back(word);
    values.push_back(one);
  }
  const auto word = [&value, names, values] {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (values[i] == value) return names[i];
    return std::string();
  };
  return choice_of(option, names, word, [&value, values](std::size_t i) { value = values[i]; }, help);
}

template <class Value>
option_row command_line::choice(const std::string& option, Value& value, std::initializer_list<Value> values,
                                const std::string& help) {
  std::vector<std::string> names;
  for (const Value& one : values) names.emplace_back(name(one));
  return choice_of(
      option, names, [&value] { return std::string(name(value)); },
      [&value, all = std::vector<Value>(values)](std::size_t i) { value = all[i]; }, help);
}

template <class Value, class Read>
option_row command_line::value(const std::string& option, Value& value, const std::string& type, Read read,
                               const std::string& help) {
  const auto as_json = [&value] { return json_document(value); };
  return bound(
      option, type, shown(as_json()),
      [&value, read](const std::string& text, const std::string& name) { value = read(text, name); }, as_json, help);
}

struct gauge_choice;

/// After command_line::parse. Throws input_error where --gauge names a file and nothing gives the quark mass: a file's
/// links belong to a mass, which no default knows.
void require_mass_of_file(const command_line& line, const gauge_choice& gauge);

/// Returns `text` with no line longer than `width`, broken at blanks, or at | and , where there are none. Lines of
/// options go on below their descriptions.
std::string wrapped(const std::string& text, std::size_t width = 100);

/// Returns the word that a mistyped one may have meant: the nearest, where few letters differ; empty: none.
std::string nearest_word(const std::string& mistyped, const std::vector<std::string>& known);

}  // namespace plaquette
