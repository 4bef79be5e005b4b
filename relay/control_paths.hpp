// The requests that control the engine instead of asking it for work, and who may send them.
//
// Rules:
//  1. The meaning of a path decides, not how it is written: percent-encoding is undone until none
//     is left, a doubled or last slash, what follows a ';' in a segment, and ASCII case do not
//     count. The path is relayed as it came.
//  2. A path with a dot segment or a control character, encoded or not, is two paths to two
//     servers: it is `ambiguous`. (The `$` of Starlette's routes takes "/sleep\n" for "/sleep".)
//  3. An entry stands for its path and all paths below it; with a '*' at its end for all paths that
//     begin so. The longest entry that fits decides, of two equal ones the later.
//  4. A path without any of that spelling is decided on where it lies; no request costs more than a
//     few steps a byte.
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

/// Whether a request puts the engine to rest, or orders it to go on.
enum class Rest : std::uint8_t { none, begins, ends };

struct ControlPath {
  std::string path;  // "/sleep", "/update_weights*"
  Access access = Access::refuse;
  bool is_engines = false;  // one that its servers are known for: open or not, it is no work
  Rest rest = Rest::none;
};

class ControlPaths {
 public:
  struct Decision {
    Access access = Access::relay;
    bool is_control = false;    // a drain neither waits for such requests nor refuses them
    bool is_ambiguous = false;  // nothing else counts then
    Rest rest = Rest::none;
  };

  explicit ControlPaths(std::vector<ControlPath> paths);

  /// `target`: in origin form, with its query.
  Decision decide(std::string_view target) const;

 private:
  struct Entry {
    std::string prefix;    // without its last slash or '*'
    bool is_open = false;  // any end fits, else that of a segment
    Access access = Access::refuse;
    bool is_engines = false;
    Rest rest = Rest::none;
  };
  using Bucket = std::vector<Entry>;

  Decision look_up(std::string_view path) const;

  std::array<Bucket, 33> buckets_;  // by the first letter; the last: those without one
  std::size_t most_ = 2;            // of a path, what any of them looks at
};

}  // namespace lastcall::relay
