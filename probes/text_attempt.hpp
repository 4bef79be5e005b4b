// An attempt that reads a text by GET and hands it on in pieces.
//
// Rules:
//  1. Passes when the answer was a 200 that was read to its end; anything else says why not. What
//     was handed on until then is a part.
//  2. `take` is called at least once for a 200, also for an empty one.
//
// Thread rule: the loop thread. Source: RFC 9112.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "probes/get_attempt.hpp"

namespace lastcall::probes {

class TextAttempt final : public GetAttempt {
 public:
  using Take = std::function<void(std::string_view content_type, std::string_view piece)>;
  /// Bytes of a text; more is a failure.
  static constexpr std::uint64_t kMostText = 16 * 1024 * 1024;

  TextAttempt(boost::asio::any_io_executor const& executor, HttpUrl const& url,
              Headers const& headers, std::shared_ptr<bool> lookup_hangs, Take take,
              CheckDone done);
  ~TextAttempt() override;

 private:
  struct Parser;

  void read_response() override { read_piece(); }
  void read_piece();
  void take_piece(boost::system::error_code error);

  Take take_;
  std::unique_ptr<Parser> parser_;
};

}  // namespace lastcall::probes
