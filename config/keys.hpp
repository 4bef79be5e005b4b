// The one table of configuration keys.
//
// Each row binds a key to its member of a Config and gives its range, its form and its meaning. The
// decoder, the comparison for reload, docs/config.md and the JSON Schema all walk these rows;
// nothing else knows a key by name.
//
// Rules:
//  1. A key has the type and the default of the member that it is bound to; neither is repeated
//     here.
//  2. A dotted path names nested sections; every section has a row of its own, before its keys.
//  3. Rows of lists and alternatives lead to further rows, bound to the element they describe. They
//     stay valid until the list they came from grows.
//
// Internal to config. Pure values, no thread rule.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/schema.hpp"
#include "config/text.hpp"

namespace lastcall::config {

struct Key;
using Keys = std::vector<Key>;

/// A map of further keys. `enables` becomes true when the section is present.
struct Section {
  bool* enables = nullptr;
};

/// One of a closed set of words; `names` are in the order of the enumerators.
struct Choice {
  std::span<std::string_view const> names;
  std::function<std::size_t()> get;
  std::function<void(std::size_t)> set;
};

/// Permission bits, written as a quoted octal number.
struct FileMode {
  std::uint32_t* at = nullptr;
};

/// A list of user ids, or the word `any`.
struct Uids {
  AllowedUids* at = nullptr;
};

/// A list of sections.
struct Items {
  std::function<std::size_t()> size;
  std::function<Keys(std::size_t)> at;
  std::function<Keys()> append;  // adds a default element
  std::function<void()> clear;   // makes the list empty, which is not the same as unset
  std::function<bool()> is_set;
};

struct Alternative {
  std::string_view name;
  std::string_view doc;
  std::function<Keys()> select;  // makes it the held one; keeps its values if it already is
};

/// Sections; exactly one of them must be present.
struct OneOf {
  std::vector<Alternative> alternatives;
  std::function<std::size_t()> held;
};

using Slot =
    std::variant<Section, bool*, std::optional<bool>*, std::string*, std::optional<std::string>*,
                 Duration*, std::optional<Duration>*, std::uint32_t*, std::optional<std::uint32_t>*,
                 std::optional<std::uint64_t>*, std::optional<double>*, Address*,
                 std::optional<Address>*, std::vector<std::string>*, std::vector<std::uint32_t>*,
                 std::optional<std::vector<std::uint32_t>>*, FileMode, Uids, Choice, Items, OneOf>;

/// Inclusive bounds: milliseconds of a duration, the port of an address, otherwise the number
/// itself.
struct Range {
  std::int64_t minimum;
  std::int64_t maximum;
};

struct Key {
  std::string_view path;
  Slot slot;
  std::string_view doc;  // one sentence
  std::optional<Range> range = std::nullopt;
  Form const* form = nullptr;                // for a text, or for each text in a list
  std::string_view unset = "";               // for an optional key: the meaning if it is left out
  std::string_view env = "";                 // a variable that overrides the file
  bool required = false;                     // a list must also not be empty
  bool live = false;                         // may change by reload
  bool secret = false;                       // its value is never shown
  bool local = false;                        // for an address: we listen on it
  std::span<std::uint32_t const> allowed{};  // for a number: the only values
};

/// All top-level rows, bound to `config`.
Keys keys_of(Config& config);

/// Adds the second half of the top-level rows (keys_serving.cpp).
void add_serving_keys(Keys& keys, Config& config);
/// Adds the rows of the ingress (keys_ingress.cpp).
void add_ingress_keys(Keys& keys, Ingress& ingress);

/// Rows of list elements (keys_items.cpp, keys_ingress.cpp).
Keys keys_of(Hook& hook);
Keys keys_of(HealthCheck& check);
Keys keys_of(Registry& registry);
Keys keys_of(EndpointSettings& endpoint);
Keys keys_of(ControlRule& rule);

/// The row's current value as YAML flow text that decodes to it; empty for sections and unset keys.
std::string value_text(Key const& key);

/// The type in words: "duration", "list of texts".
std::string_view type_text(Key const& key);

/// "1s to 24h", "503, 529 or 429"; empty without a range.
std::string range_text(Key const& key);

/// "a duration such as 60s, 500ms or 2m, 1s to 24h": completes "expected ...".
std::string expectation(Key const& key);
/// The same for one element of a list of values.
std::string element_expectation(Key const& key);

}  // namespace lastcall::config
