// The requests that control the engine instead of giving it work, and who may send them.
//
// Rules:
//  1. The meaning of a path decides, not how it is written: percent-encoding is undone until none
//     is left, and a doubled or last slash, the part of a segment after a ';', and ASCII case do
//     not count. The path is relayed unchanged.
//  2. A path with a dot segment or a control character, encoded or not, may mean different paths to
//     two servers, so it is `ambiguous`. (The `$` in Starlette's routes makes it read "/sleep\n" as
//     "/sleep".)
//  3. An entry stands for its path and all paths below it or, if it ends with a '*', for all paths
//     that begin with it. The longest entry that matches decides; if two are equal, the later one
//     does.
//  4. A path that is written plainly is decided without a copy; no request costs more than a few
//     steps per byte.
//
// Pure, no thread rule. Source: docs/ingress.md, 'Control paths'; how uvicorn and Starlette, the
// servers of vLLM, SGLang and TensorRT-LLM, read a target: they decode it once and compare.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lastcall::relay {

enum class Access : std::uint8_t { relay, operators, refuse };

/// Whether a request puts the engine to sleep, or wakes it up.
enum class Rest : std::uint8_t { none, begins, ends };

struct ControlPath {
  std::string path;  // "/sleep", "/update_weights*"
  Access access = Access::refuse;
  bool is_engines = false;  // a known control path of its servers; open or not, it is not work
  Rest rest = Rest::none;
};

class ControlPaths {
 public:
  struct Decision {
    Access access = Access::relay;
    bool is_control = false;    // a drain neither waits for such requests nor refuses them
    bool is_ambiguous = false;  // nothing else is decided then
    Rest rest = Rest::none;
  };

  explicit ControlPaths(std::vector<ControlPath> paths);

  /// `target` is in origin form, with its query.
  Decision decide(std::string_view target) const;

 private:
  struct Entry {
    std::string prefix;    // without its last slash or '*'
    bool is_open = false;  // any suffix matches, else only whole segments
    Access access = Access::refuse;
    bool is_engines = false;
    Rest rest = Rest::none;
  };
  using Bucket = std::vector<Entry>;

  Decision look_up(std::string_view path) const;

  std::array<Bucket, 33> buckets_;  // by the first letter; the last is for those without one
  std::size_t most_ = 2;            // the length of a path that any entry looks at
};

}  // namespace lastcall::relay
