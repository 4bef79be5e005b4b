// Reads single values: a scalar of the document into a member of the configuration.
//
// Each read() either leaves the member alone and returns what is wrong, or sets it and returns
// nothing. Types are strict: a quoted number is a text, a number is not a text, 010 is neither 8
// nor 10.
// Internal to config. Pure values, no thread rule.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/document.hpp"
#include "config/keys.hpp"

namespace lastcall::config {

/// "'abc' is not a duration": the first half of a problem's text.
using Complaint = std::optional<std::string>;

Complaint read(Node const& node, Key const& key, bool& out);
Complaint read(Node const& node, Key const& key, std::string& out);
Complaint read(Node const& node, Key const& key, Duration& out);
Complaint read(Node const& node, Key const& key, std::uint32_t& out);
Complaint read(Node const& node, Key const& key, std::uint64_t& out);
Complaint read(Node const& node, Key const& key, double& out);
Complaint read(Node const& node, Key const& key, Address& out);
Complaint read(Node const& node, Key const& key, FileMode const& out);
Complaint read(Node const& node, Key const& key, Choice const& out);

/// "a list", "a section", "no value", "'abc'".
std::string describe(Node const& node);

/// Shortened, without control characters, in single quotes.
std::string quote(std::string_view text);

}  // namespace lastcall::config
