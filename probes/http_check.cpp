// The HTTP check. Beast parses the response.
#include <algorithm>
#include <optional>
#include <utility>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "probes/check.hpp"
#include "probes/get_attempt.hpp"

namespace lastcall::probes {

namespace http = boost::beast::http;
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::uint64_t kMaxBody = 64 * 1024;
constexpr std::size_t kQuotedBody = 512;

/// The begin of a body, fit for one line of a log.
std::string quote(std::string const& body) {
  std::string text = body.substr(0, kQuotedBody);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; }, ' ');
  auto const last = text.find_last_not_of(' ');
  return last == std::string::npos ? std::string{} : text.substr(0, last + 1);
}

class HttpAttempt final : public GetAttempt {
 public:
  HttpAttempt(asio::any_io_executor const& executor, HttpUrl const& url,
              HttpCheckSettings const& settings, std::shared_ptr<bool> lookup_hangs, CheckDone done)
      : GetAttempt(executor, url, settings.headers, std::move(lookup_hangs), std::move(done)),
        dead_statuses_(settings.dead_statuses) {
    parser_.header_limit(kMaxHeader);
    parser_.body_limit(kMaxBody);
  }

 private:
  std::shared_ptr<HttpAttempt> self() {
    return std::static_pointer_cast<HttpAttempt>(shared_from_this());
  }

  void read_response() override {
    http::async_read(socket_, buffer_, parser_, [self = self()](error_code error, std::size_t) {
      if (!self->is_over()) {
        self->report(self->judge(error));
      }
    });
  }

  CheckOutcome judge(error_code error) const {
    if (error == http::error::end_of_stream) {
      return {.result = CheckResult::failed_unclear,
              .detail = "connection closed without an answer"};
    }
    // A body that is too long for us is no fault of the engine's: the status has been read.
    if (error && error != http::error::body_limit) {
      return {.result = CheckResult::failed_unclear,
              .detail = "cannot read the response: " + error.message()};
    }
    auto const status = parser_.get().result_int();
    CheckOutcome outcome{.status = static_cast<int>(status)};
    bool const is_dead =
        std::find(dead_statuses_.begin(), dead_statuses_.end(), status) != dead_statuses_.end();
    if (!is_dead && status >= 200 && status < 400) {
      outcome.result = CheckResult::passed;
      return outcome;
    }
    outcome.result = is_dead ? CheckResult::failed_definite : CheckResult::failed_unclear;
    std::string const body = quote(parser_.get().body());
    outcome.detail = "status " + std::to_string(status) + (body.empty() ? "" : ": " + body);
    return outcome;
  }

  std::vector<std::uint32_t> const& dead_statuses_;
  boost::beast::flat_buffer buffer_{kMaxHeader + kMaxBody};
  http::response_parser<http::string_body> parser_;
};

}  // namespace

CheckOrError make_http_check(asio::any_io_executor executor, HttpCheckSettings settings) {
  auto url = std::make_shared<HttpUrl>();
  if (auto error = parse_http_url(settings.url, *url); !error.empty()) {
    return error;
  }
  return std::make_unique<AttemptCheck>(
      [executor = std::move(executor), url = std::move(url),
       shared = std::make_shared<HttpCheckSettings const>(std::move(settings)),
       hangs = std::make_shared<bool>(false)](CheckDone done) -> std::shared_ptr<ConnectAttempt> {
        return std::make_shared<HttpAttempt>(executor, *url, *shared, hangs, std::move(done));
      });
}

}  // namespace lastcall::probes
