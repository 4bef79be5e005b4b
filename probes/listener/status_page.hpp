// The status page: `/`, one file of HTML that needs no other, and `/status`, the document that it
// shows.
//
// Rules:
//  1. Nothing can be changed through it, and a page of another origin cannot read it.
//  2. The document is made by the owner of its data, when a client asks, and at most once in
//     kFresh: however many clients ask, and however often, the owner has no higher cost than that.
//  3. An owner that stands still keeps at most kMostWaiting callers waiting; the rest gets a 503.
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

  /// `ask` has the owner call publish(), now or later, from any thread.
  explicit StatusPage(std::function<void()> ask) : ask_(std::move(ask)) {}

  /// True: the path is one of the page's, and the answer is sent or will be.
  bool answer(Request const& request, Responder const& responder);
  /// The document that was asked for.
  void publish(std::string document);

 private:
  using Clock = std::chrono::steady_clock;

  /// The document, where it is fresh; nothing where the caller has to wait for it.
  std::optional<Reply> from_memory(Responder const& responder, bool& must_ask);

  std::function<void()> const ask_;
  std::mutex mutex_;
  std::string document_;
  std::optional<Clock::time_point> made_at_;
  std::vector<Responder> waiting_;
};

}  // namespace lastcall::probes
