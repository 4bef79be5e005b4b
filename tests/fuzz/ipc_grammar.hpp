// The protocol of docs/ipc.md as a grammar: one row an op, one a field. It is written from the page
// and not from the codec, so that the two can be held against each other.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace lastcall::fuzz {

using Words = std::span<std::string_view const>;

struct Key {
  enum class Is : std::uint8_t {
    id,       // 1 to `most` bytes
    text,     // up to `most` bytes; 0: as many as the line holds
    ids,      // a list of ids
    boolean,  //
    number,   // `least` to `most`
    word,     // of `words`
    newer,    // of `words`, and others are not an error
    signal,   //
    change,   // a number, or null, which means something
    share,    // 0 to 1, or null
    object,   // of `inner`
    any,      // an object that is not looked into
    report,   // a text of up to `most` bytes that is an object
    fixed,    // just that one of `words`
  };
  std::string_view name;
  Is is = Is::text;
  bool required = false;
  std::uint64_t most = 0;
  std::uint64_t least = 0;
  Words words = {};
  std::span<Key const> inner = {};
};

struct Row {
  std::string_view op;
  std::span<Key const> keys;
  bool for_shim = false;  // of what the supervisor sends
};

std::span<Row const> to_supervisor_rows();
std::span<Row const> from_supervisor_rows();

}  // namespace lastcall::fuzz
