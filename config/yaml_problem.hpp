// YAML texts that yaml-cpp refuses: what is wrong with them, for messages, and what is not.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace YAML {
class Exception;
}

namespace lastcall::config {

/// Such as "not valid YAML: end of map flow not found", without the place.
std::string yaml_problem(YAML::Exception const& error);

/// The position after the quote that ends the text in quotes at `quote`; npos if none does.
std::size_t end_of_quoted(std::string_view text, std::size_t quote);

/// The text for yaml-cpp, with every other byte at its place: JSON writes a character above U+FFFF
/// as the escapes of two surrogates, which yaml-cpp refuses. In double quotes such a pair becomes
/// the character itself, and blanks behind the quotes make up for its shorter form.
std::string with_joined_surrogates(std::string text);

/// Whether the text ends inside of a quoted scalar. yaml-cpp ends such a scalar silently at a line
/// break that ends the text, so that everything after a forgotten quote would be part of it.
bool ends_in_quotes(std::string const& text);

/// The problem if the last quoted text before the error, which begins at `quote`, spans several
/// lines and ends in the line of the error, before something that cannot follow it: its quote was
/// most likely left open, and ended where the quote of another text begins. Otherwise empty.
/// `first_line` is the number of the text's first line.
std::string open_quote_problem(std::string_view text, std::size_t quote, int first_line,
                               YAML::Exception const& error);

}  // namespace lastcall::config
