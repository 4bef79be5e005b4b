// The status page: `/` is one self-contained HTML file, and `/status` is the document that it
// shows.
//
// Rules:
//  1. Nothing can be changed through it, and a page of another origin cannot read it.
//  2. The owner of the data makes the document when a client asks for it, and at most once per
//     kFresh: no number of clients or requests costs the owner more than that.
//  3. While the owner does not react, at most kMostWaiting callers wait; the others get a 503.
//
// Thread rule: answer() on the listener's thread, publish() on any.
// Source: docs/status-page.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/listener/listener.hpp"

namespace lastcall::probes {

/// The page, made from status_page.html by the build.
std::string_view status_html();

class StatusPage {
 public:
  static constexpr std::chrono::milliseconds kFresh{250};
  static constexpr std::size_t kMostWaiting = 64;

  /// `ask` makes the owner call publish(), now or later, from any thread.
  explicit StatusPage(std::function<void()> ask) : ask_(std::move(ask)) {}

  /// True if the path belongs to the page; then the answer was sent or will be.
  bool answer(Request const& request, Responder const& responder);
  /// Takes the document that was asked for.
  void publish(std::string document);

 private:
  using Clock = std::chrono::steady_clock;

  /// The document if it is fresh; nothing if the caller has to wait for it.
  std::optional<Reply> from_memory(Responder const& responder, bool& must_ask);

  std::function<void()> const ask_;
  std::mutex mutex_;
  std::string document_;
  std::optional<Clock::time_point> made_at_;
  std::vector<Responder> waiting_;
};

}  // namespace lastcall::probes
