// The HTTP check.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probes/checks/check.hpp"
#include "probes/checks/engine_answers.hpp"
#include "probes/checks/http_attempt.hpp"

namespace lastcall::probes {

namespace asio = boost::asio;

namespace {

constexpr std::size_t kMaxBody = std::size_t{64} * 1024;

class HttpCheckAttempt final : public HttpAttempt {
 public:
  HttpCheckAttempt(asio::any_io_executor const& executor, HttpUrl const& url,
                   HttpCheckSettings const& settings, std::shared_ptr<bool> lookup_hangs,
                   CheckDone done)
      : HttpAttempt(executor, url, get_request(url, settings.headers), std::move(lookup_hangs),
                    std::move(done)),
        dead_statuses_(settings.dead_statuses) {}

 private:
  Then head(unsigned status, std::string_view) override {
    status_ = status;
    return Then::go_on;
  }

  /// A body that is too long for us is not the engine's fault: the status has already been read.
  Then piece(std::string_view bytes) override {
    body_.append(bytes.substr(0, kMaxBody - std::min(kMaxBody, body_.size())));
    if (body_.size() < kMaxBody) {
      return Then::go_on;
    }
    complete();
    return Then::stop;
  }

  void complete() override {
    CheckOutcome outcome{.status = static_cast<int>(status_)};
    bool const is_dead =
        std::find(dead_statuses_.begin(), dead_statuses_.end(), status_) != dead_statuses_.end();
    if (!is_dead && status_ >= 200 && status_ < 400) {
      outcome.result = CheckResult::passed;
    } else {
      outcome.result = is_dead ? CheckResult::failed_definite : CheckResult::failed_unclear;
      std::string const text = quoted_body(body_);
      outcome.detail = "status " + std::to_string(status_) + (text.empty() ? "" : ": " + text);
    }
    report(std::move(outcome));
  }

  std::vector<std::uint32_t> const& dead_statuses_;
  unsigned status_ = 0;
  std::string body_;
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
        return std::make_shared<HttpCheckAttempt>(executor, *url, *shared, hangs, std::move(done));
      });
}

}  // namespace lastcall::probes
