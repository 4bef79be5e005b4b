// The head of a request, from which the heads of its legs are made; kept as long as another worker
// may get the request.
//
// Rule: one text holds everything, and the request's id occurs in it once.
// Values only, no thread rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/compact_array.hpp"

namespace lastcall::router {

class LegHead {
 public:
  explicit LegHead(std::string_view id) : text_(id), end_(static_cast<std::uint32_t>(id.size())) {}

  std::string_view id() const { return lines().substr(id_at_); }
  /// Method, target and version.
  std::string_view line() const { return lines().substr(0, lines().find("\r\n")); }
  std::size_t capacity() const { return text_.capacity(); }

  /// `lines` is the head without its content length, id, parent and final empty line. `parent` is
  /// the parent that the client sent; if it is empty, the router's own request is the parent.
  void set(std::string lines, std::string_view parent) {
    lines.append(kId);
    auto const id_at = static_cast<std::uint32_t>(lines.size());
    lines.append(id());
    auto const end = static_cast<std::uint32_t>(lines.size());
    text_ = CompactText(lines.append(parent));
    id_at_ = id_at;
    end_ = end;
  }

  /// The head of one leg, without its content length and its final empty line. `is_recorded`: its
  /// worker may hint that it is draining. `goes_on`: it continues an answer, so it precedes new
  /// requests.
  std::string of_leg(std::string_view suffix, bool is_recorded, bool goes_on) const {
    // A worker's queue may be long, and the client has waited already.
    std::string_view const router = is_recorded ? "X-Lastcall-Router: 1\r\n" : "";
    std::string_view const priority = goes_on ? "Priority: u=0\r\n" : "";
    std::string out;
    out.reserve(lines().size() + kRoom);
    out.append(lines()).append(suffix).append("\r\nX-Lastcall-Parent: ");
    if (parent().empty()) {
      out.append("router/").append(id());
    } else {
      out.append(parent());
    }
    return out.append("\r\n").append(router).append(priority);
  }

  static constexpr std::string_view kId = "X-Request-Id: ";

 private:
  static constexpr std::size_t kRoom = 256;  // for the lines that a leg adds, and a small body

  std::string_view lines() const { return text_.view().substr(0, end_); }
  std::string_view parent() const { return text_.view().substr(end_); }

  CompactText text_;
  std::uint32_t id_at_ = 0;
  std::uint32_t end_;  // of the id; the client's parent follows
};

}  // namespace lastcall::router
