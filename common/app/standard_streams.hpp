// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The standard streams of a program, which may be closed, full, or a pipe that nobody reads.
#pragma once

#include <string_view>

namespace plaquette {

/// The name of a file that means standard output.
inline constexpr std::string_view standard_output_name = "-";

/// Opens /dev/null as each of the descriptors 0 to 2 that is closed, so that no file of the run gets its number. A
/// closed stdout still refuses all that is written to it. Called before anything else opens a file.
void open_standard_streams();

/// Writes a text to stderr, as far as stderr takes it. It neither throws nor raises SIGPIPE.
void write_to_stderr(std::string_view text) noexcept;

/// From here on, what is printed on stdout goes to stderr; write_to_standard_output still reaches stdout.
void print_tables_on_stderr();

/// Writes a text to the program's stdout. Throws output_error if it cannot be written.
void write_to_standard_output(std::string_view text);

}  // namespace plaquette
