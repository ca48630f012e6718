// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The words that the command line takes, and above all the words that it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "common/app/command_line.hpp"
#include "common/app/gauge_choice.hpp"
#include "common/app/options.hpp"
#include "common/app/parse.hpp"
#include "common/error.hpp"

namespace plaquette {
namespace {

using testing::HasSubstr;

TEST(Help, IsBrokenAtBlanksElseAtJointsOfLists) {
  const std::string option = "  --size a|b                      " + std::string(60, 'x') + " " + std::string(50, 'y');
  const std::string broken = wrapped(option + "\nshort\n");
  EXPECT_EQ(broken, "  --size a|b                      " + std::string(60, 'x') + "\n" + std::string(34, ' ') +
                        std::string(50, 'y') + "\nshort\n");
  EXPECT_EQ(wrapped("aaa bbb ccc", 8), "aaa bbb\nccc\n");
  EXPECT_EQ(wrapped(std::string(120, 'z')), std::string(120, 'z') + "\n");
  std::string list = "  --kind ";
  for (int i = 0; i < 20; ++i) list += "word" + std::to_string(i) + "|";
  std::string joined;
  for (const char c : wrapped(list))
    if (c != '\n' && c != ' ') joined += c;
  EXPECT_EQ(joined, "--kind" + list.substr(9));
}

TEST(Words, AreGuessedWhereFewLettersDiffer) {
  const std::vector<std::string> known{"--lattice", "--grid", "--gauge", "--rhs"};
  EXPECT_EQ(nearest_word("--latice", known), "--lattice");
  EXPECT_EQ(nearest_word("--gague", known), "--gauge");
  EXPECT_EQ(nearest_word("--unknown", known), "");
}

template <class Action>
std::string refusal_of(Action&& action) {
  try {
    action();
  } catch (const input_error& e) {
    EXPECT_EQ(e.status(), exit_status::unusable_input);
    return e.what();
  }
  return "accepted";
}

TEST(RealNumber, IsReadWithAllItsDigits) {
  EXPECT_EQ(parse_real("0.1", "x"), 0.1);
  EXPECT_EQ(parse_real("-2.5e-3", "x"), -2.5e-3);
  EXPECT_EQ(parse_real("12", "x"), 12.0);
}

TEST(RealNumber, IsRefusedUnlessTheWholeTextIsOneFiniteNumber) {
  for (const char* text : {"", " ", "abc", "1.0x", "1.0 ", " 1.0", "1,0", "nan", "NaN", "inf", "-inf", "infinity",
                           "1e400", "0x10", "--1", "1e", "."})
    EXPECT_THAT(refusal_of([&] { parse_real(text, "--mass"); }), HasSubstr("--mass: expected a finite number, found"))
        << '\'' << text << '\'';
}

TEST(RealNumber, IsRefusedOutsideItsRange) {
  EXPECT_THAT(refusal_of([] { parse_real("-1", "--kappa", real_range::positive()); }),
              HasSubstr("expected a positive number, found '-1'"));
  EXPECT_THAT(refusal_of([] { parse_real("0", "--kappa", real_range::positive()); }), HasSubstr("positive"));
  EXPECT_THAT(refusal_of([] { parse_real("2", "--tol", {0.0, 1.0}); }), HasSubstr("from 0 up to 1"));
  EXPECT_EQ(parse_real("0", "x", real_range::not_negative()), 0.0);
}

TEST(Integer, IsRefusedUnlessTheWholeTextIsOneIntegerInRange) {
  EXPECT_EQ(parse_integer("-7", "n"), -7);
  for (const char* text : {"", "x", "1.5", "1e3", "99999999999999999999", "4 ", "+4", "nan"})
    EXPECT_THAT(refusal_of([&] { parse_integer(text, "--rhs"); }), HasSubstr("--rhs: expected an integer"))
        << '\'' << text << '\'';
  EXPECT_THAT(refusal_of([] { parse_integer("0", "--rhs", 1, 12); }), HasSubstr("from 1 to 12, found '0'"));
  EXPECT_THAT(refusal_of([] { parse_unsigned("-1", "--seed"); }), HasSubstr("--seed"));
  EXPECT_EQ(parse_unsigned("18446744073709551615", "--seed"), 18446744073709551615ull);
}

TEST(ListOfNumbers, HasTheCountThatWasAskedFor) {
  EXPECT_THAT(parse_real_list("0,0.5,-1,1", "a", 4), testing::ElementsAre(0.0, 0.5, -1.0, 1.0));
  for (const char* text : {"0,0,0", "0,0,0,0,0", "0,,0,0", "", "0,0,0,x", "0,0,0,nan"})
    EXPECT_NE(refusal_of([&] { parse_real_list(text, "a", 4); }), "accepted") << text;
  EXPECT_THAT(parse_integer_list("0,1,2,3", "p", 4, 0, 7), testing::ElementsAre(0, 1, 2, 3));
  EXPECT_NE(refusal_of([&] { parse_integer_list("0,1,2,8", "p", 4, 0, 7); }), "accepted");
}

TEST(Message, StaysOnOneLineWhateverWasTyped) {
  EXPECT_EQ(printable("a\nb\x1b[31m"), "a\\x0ab\\x1b[31m");
  EXPECT_EQ(printable(std::string(1000, 'x')).size(), 203u);
  const std::string message = refusal_of([] { parse_real("1\n2", "--mass"); });
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

TEST(GaugeChoice, KnowsItsWordsAndTakesTheRestForAFile) {
  using enum gauge_choice::origin;
  EXPECT_EQ(parse_gauge_choice("unit", "g").from, unit);
  EXPECT_EQ(parse_gauge_choice("random", "g").from, random);
  EXPECT_EQ(parse_gauge_choice("weak:0.2", "g").noise, 0.2);
  const gauge_choice thermal = parse_gauge_choice("heatbath:5.7:30", "g");
  EXPECT_EQ(thermal.from, heat_bath);
  EXPECT_EQ(thermal.beta, 5.7);
  EXPECT_EQ(thermal.sweeps, 30);
  EXPECT_EQ(parse_gauge_choice("heatbath:6", "g").sweeps, gauge_choice::default_sweeps);
  EXPECT_EQ(parse_gauge_choice("some/file.lime", "g").path, "some/file.lime");
  const gauge_choice repeated = parse_gauge_choice("heatbath:6:30:4x4x4x8", "g");
  EXPECT_EQ(repeated.sweeps, 30);
  EXPECT_EQ(repeated.cell, (extents{4, 4, 4, 8}));
  EXPECT_EQ(repeated.noise, gauge_choice::default_noise_of_cell);
  for (const char* word : {"unit", "random", "weak:0.25", "heatbath:6:100", "heatbath:6:30:4x4x4x8:0.05"})
    EXPECT_EQ(parse_gauge_choice(word, "g").describe(), word);
}

TEST(GaugeChoice, RefusesNumbersThatMakeNoSense) {
  for (const char* text :
       {"", "weak", "heatbath", "weak:", "weak:x", "weak:nan", "weak:-1", "heatbath:", "heatbath:-6",
        "heatbath:6:", "heatbath:6:x", "heatbath:6:-1", "heatbath:6:1.5", "heatbath:6:1:4x4", "heatbath:6:1:4x4x4x4:1",
        "heatbath:6:1:4x4x4x4:", "heatbath:6:1:4x4x4x4:0.1:2", "heatbath:inf"})
    EXPECT_THAT(refusal_of([&] { parse_gauge_choice(text, "--gauge"); }), HasSubstr("--gauge")) << text;
}

/// The shared options as a program would have them after these arguments.
shared_options parsed(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "program");
  command_line line("program", "A test.");
  shared_option_set options(line, {});
  line.parse(static_cast<int>(arguments.size()), arguments.data());
  return options.collected();
}

enum class colour { red, green };
std::string name(colour c) { return c == colour::red ? "red" : "green"; }

/// Variables and rows of a program.
struct table {
  colour paint = colour::red;
  int bits = 64, count = 1;
  bool open = false, quiet = false;
  double width = 0.5;
  std::string word = "abc";
  std::vector<int> list{1, 2};
  command_line line{"program", "A test."};

  table() {
    line.section("First");
    line.reports(true);
    line.choice("--paint", paint, {colour::red, colour::green}, "Of it");
    line.choice("--bits", bits, {{"64", 64}, {"32", 32}}, "Of a number").reported_as("size.bits", bits);
    line.flag("--is-open", open, "Door").needs_value("--paint", "green");
    line.value("--list", list, "N,N", [](const std::string&, const std::string&) { return std::vector{7}; }, "Numbers");
    line.reports(false);
    line.integer("--count", count, "How many", 1, 9).reported("size.count", open);
    line.real("--width", width, "Of it").excludes("--list");
    line.reports(true);
    line.text("--word", word, "TEXT", "Read twice").reported_as("letters", word.size()).reported("word");
    line.flag("--quiet", quiet, "Not in the report").unreported();
  }
  json_document read(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "program");
    line.parse(static_cast<int>(arguments.size()), arguments.data());
    return line.parameters();
  }
};

TEST(Rows, ReportTheirVariables) {
  EXPECT_EQ(table().read({"--width", "2"}),
            json_document::parse(R"({"paint": "red", "size": {"bits": 64}, "is_open": false, "list": [1, 2],
                                     "letters": 3, "word": "abc"})"));
  table given;
  EXPECT_EQ(
      given.read({"--paint", "green", "--is-open", "--bits", "32", "--list", "x"}).dump(),
      R"({"paint":"green","size":{"bits":64},"is_open":true,"list":[7],"letters":3,"word":"abc"})");  // of bits, as
                                                                                                      // they were
                                                                                                      // declared
  EXPECT_EQ(given.paint, colour::green);
  EXPECT_EQ(given.bits, 32);
}

TEST(Rows, RefuseWhatMakesNoSense) {
  const auto refusal = [](const std::vector<const char*>& arguments) {
    try {
      table().read(arguments);
    } catch (const input_error& refused) {
      return std::string(refused.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal({"--paint", "blue"}), "--paint: expected one of red, green, found 'blue'");
  EXPECT_EQ(refusal({"--bits", "16"}), "--bits: expected one of 64, 32, found '16'");
  EXPECT_EQ(refusal({"--is-open"}), "--is-open: expected --paint green with it, found red");
  EXPECT_EQ(refusal({"--is-open", "--paint", "green"}), "");
  EXPECT_THAT(refusal({"--list", "x", "--width", "1"}), HasSubstr("--width"));
}

TEST(Rows, AreData) {
  try {
    table().read({"--help-json"});
    FAIL() << "expected the rows";
  } catch (const help_requested& help) {
    const json_document rows = json_document::parse(help.text);
    ASSERT_EQ(rows.size(), 8U);
    EXPECT_EQ(rows[0]["type"], "red|green");
    EXPECT_EQ(rows[0]["default"], "red");
    EXPECT_EQ(rows[3]["default"], "1,2");
    EXPECT_EQ(rows[4].dump(), R"({"section":"First","of_all_programs":false,"option":"--count","type":"INTEGER",)"
                              R"("default":"1","help":"How many","keys":["size.count"]})");
    EXPECT_EQ(rows[5]["keys"], json_document::array());
    EXPECT_EQ(rows[6]["keys"], json_document({"letters", "word"}));
  }
}

/// Whether two objects have the same keys and values, in any order; numbers to rounding.
testing::AssertionResult alike(const json_document& found, const json_document& expected) {
  const auto same = [](const json_document& a, const json_document& b) {
    return a.is_number_float() ? std::abs(a.get<double>() - b.get<double>()) < 1e-12 : a == b;
  };
  for (const auto& [key, value] : expected.items())
    if (!found.contains(key) || !same(found[key], value)) return testing::AssertionFailure() << key << ": " << found;
  if (found.size() != expected.size()) return testing::AssertionFailure() << "more than expected: " << found;
  return testing::AssertionSuccess();
}

json_document reported(const std::vector<const char*>& arguments) {
  return shared_parameters(parsed(arguments), lattice_geometry({4, 4, 4, 8}));
}

TEST(SharedOptions, AreInTheReport) {
  const std::string common =
      R"("lattice": [4, 4, 4, 8], "grid": [1, 1, 1, 1], "overlap": "on", "seed": 1, "anisotropy": 1.0, "nu": 1.0,)";
  EXPECT_TRUE(alike(
      reported({"--mass", "1"}),
      json_document::parse("{" + common + R"("device": "cpu", "gauge": "heatbath:6:100", "mass": 1.0, "kappa": 0.1,
        "clover_spatial": 0.0, "clover_temporal": 0.0,
        "boundary_phases": [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]]})")));
  EXPECT_TRUE(alike(reported({"--kappa", "0.1", "--csw", "1.5", "--clover-temporal", "2", "--device", "gpu", "--gauge",
                              "FILE", "--reunitarise", "--stout-steps", "2", "--boundary-angles", "0,0,0,0.5"}),
                    json_document::parse("{" + common + R"("device": "gpu", "gauge": "FILE", "mass": 1.0, "kappa": 0.1,
        "clover_spatial": 1.5, "clover_temporal": 2.0,
        "boundary_phases": [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], "reunitarise": true,
        "stout": {"steps": 2, "rho": 0.1, "spatial": false}, "tune": "on", "protocol_seconds": [2.0, 1.5],
        "halo": "auto", "wait": "spin", "stall_timeout": 120.0})")));
}

TEST(SharedOptions, AreReadIntoTheirPlaces) {
  const shared_options o =
      parsed({"--lattice", "4x6x2x8", "--grid=1x1x1x2", "--mass", "-0.25", "--csw", "1.5", "--rhs", "3", "--tol",
              "1e-9", "--seed", "7", "--json", "r.json", "--check", "--threads", "2"});
  EXPECT_EQ(o.lattice, (extents{4, 6, 2, 8}));
  EXPECT_TRUE(o.lattice_given);
  EXPECT_EQ(o.grid, (extents{1, 1, 1, 2}));
  EXPECT_EQ(o.action.mass, -0.25);
  EXPECT_EQ(o.action.clover_spatial, 1.5);
  EXPECT_EQ(o.action.clover_temporal, 1.5);
  EXPECT_EQ(o.rhs, 3);
  EXPECT_EQ(o.tolerance, 1e-9);
  EXPECT_EQ(o.seed, 7u);
  EXPECT_EQ(o.json, "r.json");
  EXPECT_TRUE(o.check);
  EXPECT_EQ(o.threads, 2);
  EXPECT_EQ(parsed({"--grid", "auto"}).grid, std::nullopt);
}

TEST(SharedOptions, TakeKappaInPlaceOfTheMass) {
  EXPECT_NEAR(parsed({"--kappa", "0.125"}).action.mass, 0.0, 1e-15);
  EXPECT_NEAR(parsed({"--kappa", "0.1", "--anisotropy", "2", "--nu", "0.5"}).action.mass, 5.0 - 1.0 - 0.75, 1e-14);
}

TEST(SharedOptions, FoldTheBoundaryConditionIntoPhases) {
  const auto phase = [](std::vector<const char*> arguments, int mu) {
    return parsed(std::move(arguments)).action.boundary_phase[static_cast<std::size_t>(mu)];
  };
  EXPECT_EQ(phase({}, 3), (complex<double>{-1, 0}));
  EXPECT_EQ(phase({"--time-bc", "periodic"}, 3), (complex<double>{1, 0}));
  EXPECT_EQ(phase({"--boundary-angles", "0.5,0,-0.5,1"}, 0), (complex<double>{0, 1}));
  EXPECT_EQ(phase({"--boundary-angles", "0.5,0,-0.5,1"}, 2), (complex<double>{0, -1}));
  EXPECT_EQ(phase({"--boundary-angles", "0.5,0,-0.5,1"}, 3), (complex<double>{-1, 0}));
  EXPECT_EQ(phase({"--boundary-angles", "4,0,0,-3"}, 3), (complex<double>{-1, 0}));
  EXPECT_DOUBLE_EQ(phase({"--boundary-angles", "0.25,0,0,1"}, 0).im, 0.70710678118654752);
}

TEST(SharedOptions, RefuseWhatCannotBeUsedNamingTheOption) {
  using arguments = std::vector<const char*>;
  const std::pair<arguments, const char*> cases[] = {
      {{"--mass", "0.1", "--kappa", "0.12"}, "--kappa"},
      {{"--mass", "heavy"}, "--mass"},
      {{"--mass", "nan"}, "--mass"},
      {{"--mass"}, "--mass"},
      {{"--kappa", "-0.1"}, "--kappa"},
      {{"--kappa", "0"}, "--kappa"},
      {{"--kappa", "1e-320"}, "--kappa"},
      {{"--lattice", "4x4x4"}, "--lattice"},
      {{"--lattice", "4x4x4x-4"}, "--lattice"},
      {{"--lattice", "4x4x4x4x4"}, "--lattice"},
      {{"--grid", "some"}, "--grid"},
      {{"--rhs", "0"}, "--rhs"},
      {{"--rhs", "many"}, "--rhs"},
      {{"--tol", "-1e-8"}, "--tol"},
      {{"--tol", "nan"}, "--tol"},
      {{"--seed", "-1"}, "--seed"},
      {{"--threads", "-2"}, "--threads"},
      {{"--precision", "quadruple"}, "--precision"},
      {{"--device", "abacus"}, "--device"},
      {{"--time-bc", "open"}, "--time-bc"},
      {{"--boundary-angles", "0,0,0"}, "--boundary-angles"},
      {{"--boundary-angles", "0,0,0,1", "--time-bc", "periodic"}, "--boundary-angles"},
      {{"--anisotropy", "0"}, "--anisotropy"},
      {{"--time-limit", "-1"}, "--time-limit"},
      {{"--json", ""}, "--json"},
      {{"--unknown"}, "--unknown"},
      {{"stray"}, "stray"},
      {{"--check=maybe"}, "check"},
      {{"--mass", "1", "--mass", "2"}, "--mass"},
      {{"--csw", "1", "--clover-spatial", "1", "--clover-temporal", "1"}, "--csw"},
  };
  for (const auto& [given, named] : cases) {
    const std::string message = refusal_of([&] { parsed(given); });
    EXPECT_THAT(message, HasSubstr(named)) << given.front();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(SharedOptions, AreAllInTheHelpText) {
  try {
    parsed({"--help"});
    FAIL() << "--help did not ask for the help text";
  } catch (const help_requested& help) {
    for (const char* option : {"--lattice",
                               "--grid",
                               "--device",
                               "--precision",
                               "--gauge",
                               "--mass",
                               "--kappa",
                               "--csw",
                               "--rhs",
                               "--tol",
                               "--seed",
                               "--json",
                               "--check",
                               "--threads",
                               "--force",
                               "--dryrun",
                               "--time-bc",
                               "--anisotropy",
                               "--nu",
                               "--clover-spatial",
                               "--clover-temporal",
                               "--boundary-angles",
                               "--time-limit",
                               "Exit status"})
      EXPECT_THAT(help.text, HasSubstr(option));
  }
}

}  // namespace
}  // namespace plaquette
