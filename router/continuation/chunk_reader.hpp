// Reads one event of a generation after the other.
//
// Theory of operation. Every event of every stream is read, and nearly all of them differ from an
// event before only in their values, as all those of one model do: such an event costs half as much
// (base/json_layout.hpp), and its lists have room already. Two events are remembered, so that two
// kinds of engine behind one router, or the first and last events of streams, do not make all
// others unknown again.
//
// Pure, no thread rule.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "base/json_layout.hpp"
#include "base/json_reader.hpp"
#include "router/continuation/chunk.hpp"

namespace lastcall::router::continuation {

class ChunkReader {
 public:
  /// The chunk is valid until the next call, as long as `data` is.
  Chunk const& read(std::string_view data);
  /// Called when the chunk is not needed any more: the lists of a large event may take twenty times
  /// its memory, so nothing of it is kept.
  void forget_large(std::string_view data);

 private:
  /// A chunk, and what is known about the members that it lists.
  struct Known {
    /// Returns false if the data has another layout; then nothing is known.
    bool follow(std::string_view data);
    /// Returns false if the data is not an object.
    bool list_members(std::string_view data);
    void understand();
    /// Replaces the chunk by one without any list.
    void empty(Chunk::Kind kind);

    Chunk chunk;
    json::Layout layout;
    std::size_t choices = 0;
    json::Kind choice_kind = json::Kind::null;  // of the first choice
    json::Kind usage_kind = json::Kind::null;
  };

  std::array<Known, 2> known_;
  std::size_t last_ = 0;  // the one that was used last
};

}  // namespace lastcall::router::continuation
