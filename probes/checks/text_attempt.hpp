// An attempt that fetches a text by GET and passes it on in pieces.
//
// Rules:
//  1. It passes if the answer was a 200 that was read to its end; otherwise the outcome has the
//     reason, and the text that was passed on is incomplete.
//  2. `take` is called at least once for a 200, even for an empty one.
//
// Thread rule: the loop thread. Source: RFC 9112.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "probes/checks/http_attempt.hpp"

namespace lastcall::probes {

class TextAttempt final : public HttpAttempt {
 public:
  using Take = std::function<void(std::string_view content_type, std::string_view piece)>;
  /// The most bytes of a text; more is a failure.
  static constexpr std::uint64_t kMostText = 16 * 1024 * 1024;

  TextAttempt(boost::asio::any_io_executor const& executor, HttpUrl const& url,
              Headers const& headers, std::shared_ptr<bool> lookup_hangs, Take take,
              CheckDone done);

 private:
  Then head(unsigned status, std::string_view content_type) override;
  Then piece(std::string_view bytes) override;
  void complete() override { report({.result = CheckResult::passed}); }

  Take take_;
  std::string content_type_;
  std::uint64_t size_ = 0;
};

}  // namespace lastcall::probes
