// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The command line of a program of this suite: options with strictly read values, and a --help that is enough to use
/// it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/app/parse.hpp"

namespace plaquette {

/// Thrown for --help and --version: the text goes to stdout and the exit status is 0.
struct help_requested {
  std::string text;
};

/// Options are declared with the variable they set, which keeps its value (the default, shown by --help) where the
/// option is absent. A value that is not what the option takes is refused with input_error when it is read.
class command_line {
 public:
  /// \param name     of the program
  /// \param summary  what it does, in a sentence or two
  command_line(const std::string& name, const std::string& summary);
  ~command_line();

  /// Puts the options declared from here on under this title.
  void section(const std::string& title);

  void flag(const std::string& option, bool& value, const std::string& help);
  void text(const std::string& option, std::string& value, const std::string& type, const std::string& help);
  /// A default that is not finite is not shown.
  void real(const std::string& option, double& value, const std::string& help, const real_range& range = {});
  void integer(const std::string& option, int& value, const std::string& help, int lowest, int highest);
  /// Declares an option that is one of a few words.
  void choice(const std::string& option, std::string& value, const std::vector<std::string>& words,
              const std::string& help);
  /// `read` gets the text and the option's name; it throws input_error where it cannot use the text.
  void custom(const std::string& option, const std::string& type, const std::string& shown_default,
              std::function<void(const std::string& text, const std::string& option)> read, const std::string& help);

  /// Declares two options of which one at most may be given.
  void exclude(const std::string& one, const std::string& other);
  /// Declares that an option means nothing without another one; `other` is as the message shows it: "--output FILE".
  void needs(const std::string& option, const std::string& other);
  /// Declares that an option means nothing unless another one has a value: needs_value("--relaxation", "--solver",
  /// "mr", solver). `value` is read after the parse.
  void needs_value(const std::string& option, const std::string& other, const std::string& expected,
                   const std::string& value);
  /// Declares options that have no effect together with another one.
  void no_effect_with(const std::string& other, const std::vector<std::string>& options, const std::string& why = {});

  /// Adds command lines that --help shows, without the program's name.
  void examples(const std::vector<std::string>& lines);
  /// Shows `text` as the default of an option: where --size sets what is not given, for example.
  void show_default(const std::string& option, const std::string& text);
  /// Sets the text at the end of --help.
  void footer(const std::string& text);

  /// Reads the arguments. Throws input_error for arguments that cannot be used and help_requested for --help and
  /// --version.
  void parse(int argc, const char* const* argv);
  /// True where the option was given; never where it was not declared.
  bool given(const std::string& option) const;
  /// Returns the arguments as typed, for the report.
  const std::string& typed() const { return typed_; }

 private:
  struct implementation;
  std::unique_ptr<implementation> implementation_;
  std::string typed_;
};

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
