#include "probes/checks/text_attempt.hpp"

#include <utility>

namespace lastcall::probes {
namespace {

constexpr char const* kTooLong = "cannot read the response: body limit exceeded";

}  // namespace

TextAttempt::TextAttempt(boost::asio::any_io_executor const& executor, HttpUrl const& url,
                         Headers const& headers, std::shared_ptr<bool> lookup_hangs, Take take,
                         CheckDone done)
    : HttpAttempt(executor, url, get_request(url, headers), std::move(lookup_hangs),
                  std::move(done)),
      take_(std::move(take)) {}

HttpAttempt::Then TextAttempt::head(unsigned status, std::string_view content_type) {
  constexpr unsigned kOk = 200;
  if (status != kOk) {
    fail("status " + std::to_string(status));
    return Then::stop;
  }
  if (announces_more_than(kMostText)) {
    fail(kTooLong);
    return Then::stop;
  }
  content_type_ = content_type;
  take_(content_type_, {});
  return Then::go_on;
}

HttpAttempt::Then TextAttempt::piece(std::string_view bytes) {
  size_ += bytes.size();
  if (size_ > kMostText) {
    fail(kTooLong);
    return Then::stop;
  }
  take_(content_type_, bytes);
  return Then::go_on;
}

}  // namespace lastcall::probes
