// The head of a request for its legs, kept as long as another worker may get the request.
//
// Rule: one text holds all of it, and ends with the request's id, so that the id is there once.
// Values only, no thread rule.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace lastcall::router {

class LegHead {
 public:
  explicit LegHead(std::string id) : text_(std::move(id)) {}

  std::string_view id() const { return std::string_view(text_).substr(id_at_); }
  /// Method, target and version.
  std::string_view line() const { return std::string_view(text_).substr(0, text_.find("\r\n")); }
  std::size_t capacity() const { return text_.capacity() + (parent_ ? parent_->capacity() : 0); }

  /// `lines`: all of it except its length, its id, its parent and its last line. `parent`: that of
  /// the client; if empty, the router's own request is the parent.
  void set(std::string lines, std::string_view parent) {
    std::string const id(this->id());
    lines.append(kId);
    id_at_ = lines.size();
    lines.append(id);
    text_ = std::move(lines);
    text_.shrink_to_fit();
    parent_ = parent.empty() ? nullptr : std::make_unique<std::string>(parent);
  }

  /// That of one leg, without its length and its last line. `is_recorded`: its worker may hint that
  /// it drains; `goes_on`: it continues an answer, and precedes new requests.
  std::string of_leg(std::string_view suffix, bool is_recorded, bool goes_on) const {
    // A worker's queue may be long, and its client has waited.
    std::string_view const router = is_recorded ? "X-Lastcall-Router: 1\r\n" : "";
    std::string_view const priority = goes_on ? "Priority: u=0\r\n" : "";
    std::string out;
    out.reserve(text_.size() + kRoom);
    out.append(text_).append(suffix).append("\r\nX-Lastcall-Parent: ");
    if (parent_) {
      out.append(*parent_);
    } else {
      out.append("router/").append(id());
    }
    return out.append("\r\n").append(router).append(priority);
  }

  static constexpr std::string_view kId = "X-Request-Id: ";

 private:
  static constexpr std::size_t kRoom = 256;  // for the lines of a leg, and a small body

  std::string text_;
  std::size_t id_at_ = 0;
  std::unique_ptr<std::string> parent_;
};

}  // namespace lastcall::router
