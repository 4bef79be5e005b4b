// The head of a request, from which the heads of its legs are made; kept as long as another worker
// may get the request.
//
// Rules:
//  1. One text holds everything, and the request's id occurs in it once.
//  2. The lines that describe the client are written for each leg, because its connection still has
//     the facts.
// Values only, no thread rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/compact_array.hpp"
#include "relay/head_writer.hpp"

namespace lastcall::router {

class LegHead {
 public:
  explicit LegHead(std::string_view id) : text_(id), end_(static_cast<std::uint32_t>(id.size())) {}

  std::string_view id() const { return text().substr(id_at_, end_ - id_at_); }
  /// Method, target and version.
  std::string_view line() const { return lines().substr(0, lines().find("\r\n")); }
  /// The host of the target, which the second line has.
  std::string_view host() const {
    constexpr std::string_view kHost = "\r\nHost: ";
    std::string_view const rest = lines().substr(line().size() + kHost.size());
    return rest.substr(0, rest.find("\r\n"));
  }
  std::size_t capacity() const { return text_.capacity(); }

  /// `lines` is the head without its content length, id, parent and final empty line, and without
  /// the lines that describe the client, unless it is a proxy. `parent` is the parent that the
  /// client sent; if it is empty, the router's own request is the parent.
  void set(std::string lines, std::string_view parent) {
    auto const id_at = static_cast<std::uint32_t>(lines.size());
    lines.append(id());
    auto const end = static_cast<std::uint32_t>(lines.size());
    text_ = CompactText(lines.append(parent));
    id_at_ = id_at;
    end_ = end;
  }

  /// The differences between the heads of the legs of one request.
  struct Which {
    std::string_view suffix;   // of its id
    bool is_recorded = false;  // its worker may hint that it is draining
    bool goes_on = false;      // it continues an answer, so it precedes new requests
  };
  /// The head of one leg, without its content length and its final empty line. `sender` is absent
  /// if the lines of the head describe the client.
  std::string of_leg(Which const& which, std::optional<relay::Sender> const& sender) const {
    // A worker's queue may be long, and the client has waited already.
    std::string_view const router = which.is_recorded ? "X-Lastcall-Router: 1\r\n" : "";
    std::string_view const priority = which.goes_on ? "Priority: u=0\r\n" : "";
    std::string out;
    out.reserve(text().size() + 2 * host().size() + kRoom);
    out.append(lines());
    if (sender) {
      relay::append_sender(out, *sender);
    }
    out.append("X-Request-Id: ").append(id()).append(which.suffix);
    out.append("\r\nX-Lastcall-Parent: ");
    if (parent().empty()) {
      out.append("router/").append(id());
    } else {
      out.append(parent());
    }
    return out.append("\r\n").append(router).append(priority);
  }

 private:
  static constexpr std::size_t kRoom = 384;  // for the lines that a leg adds, and a small body

  std::string_view text() const { return text_.view(); }
  std::string_view lines() const { return text().substr(0, id_at_); }
  std::string_view parent() const { return text().substr(end_); }
  CompactText text_;
  std::uint32_t id_at_ = 0;
  std::uint32_t end_;  // of the id; the client's parent follows
};

}  // namespace lastcall::router
