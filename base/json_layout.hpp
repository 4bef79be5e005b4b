// Texts of JSON that differ only in their values: the second one costs a fraction of the first.
//
// Theory of operation. The events of a stream, and mostly those of all streams of a model, have the
// same keys in the same order, with the same spaces. Once such a text has been read, the bytes
// between its values are remembered as its *layout*. In the next text these bytes are compared as
// they are, and only the values between them are read.
//
// Rules:
//  1. What follow() accepts is read exactly as read_object() would read it; whatever has another
//     layout is not accepted, and has to be read.
//  2. Everything that is not the value of a listed member belongs to the layout. So does the value
//     of a member that has an Inner but no list, because another value might have one.
//
// Pure, no thread rule. Source: RFC 8259; json_reader.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_reader.hpp"

namespace lastcall::json {

class Layout {
 public:
  Layout() = default;
  Layout(Layout const&) = delete;
  Layout& operator=(Layout const&) = delete;

  /// Call it with what read_object() has just read and found. From then on the lists must not be
  /// changed or moved, until forget() is called. Nothing is learnt from a long text.
  void learn(std::string_view text, std::vector<Member>& members, std::span<Inner const> inner);
  /// Returns true if the lists now have the members of `text`. Otherwise they have no meaning, but
  /// a later text may still be followed.
  bool follow(std::string_view text);
  /// The lists are about to change.
  void forget() { parts_.clear(); }

 private:
  struct Part {  // a member
    Member* member = nullptr;
    std::uint32_t key = 0;     // where its key is, counted from the end of the part before
    std::uint32_t before = 0;  // the bytes from there to its value, which are compared
    std::uint32_t size = 0;    // of its value
    int depth = 0;             // of its object; 0 if the value is compared, too, and not read
  };
  struct Whole {  // a value that is not read, with the parts that are in it
    std::uint32_t part = 0;
    std::uint32_t last = 0;  // the part after which it ends; itself if there is none in it
    std::uint32_t rest = 0;  // the bytes from the end of that part to its own
  };
  /// Adds the members of an object. `from`: where the text begins that no part has yet.
  void add(char const*& from, std::vector<Member>& members, std::span<Inner const> inner,
           int depth);

  std::string text_;
  std::vector<Part> parts_;  // in the order of their keys; empty if nothing was learnt
  std::vector<Whole> wholes_;
  std::vector<char const*> ends_;  // of each part in the text that is followed
};

}  // namespace lastcall::json
