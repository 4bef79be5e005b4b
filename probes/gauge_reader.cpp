#include "probes/gauge_reader.hpp"

#include <array>
#include <cmath>
#include <utility>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "probes/get_attempt.hpp"
#include "probes/prometheus_text.hpp"

namespace lastcall::probes {

namespace http = boost::beast::http;
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t kPiece = 8 * 1024;

std::vector<std::string> names_of(GaugeSettings const& settings) {
  std::vector<std::string> names;
  for (std::string const* name :
       {&settings.running, &settings.waiting, &settings.tokens, &settings.kv_usage}) {
    if (!name->empty()) {
      names.push_back(*name);
    }
  }
  return names;
}

/// More than nothing is never rounded to nothing.
std::uint64_t whole(double figure) {
  return static_cast<std::uint64_t>(std::ceil(std::min(figure, 1e15)));
}

}  // namespace

struct GaugeReader::State {
  GaugeSettings settings;
  HttpUrl url;
  std::optional<PrometheusText> text;  // of the reading under way

  GaugeReading reading() const {
    GaugeReading reading;
    auto const running = text->sum(settings.running);
    auto const waiting =
        settings.waiting.empty() ? std::optional(0.0) : text->sum(settings.waiting);
    if (running && waiting) {
      reading.in_flight = whole(*running + *waiting);
    } else {
      reading.problem = "no figure of " + (running ? settings.waiting : settings.running);
    }
    if (auto const tokens = text->sum(settings.tokens)) {
      reading.tokens = whole(*tokens);
    }
    reading.kv_usage = text->least(settings.kv_usage);
    return reading;
  }
};

namespace {

/// Reads a response into `text`; passes when it was a 200 that was read to its end.
class TextAttempt final : public GetAttempt {
 public:
  TextAttempt(asio::any_io_executor const& executor, HttpUrl const& url,
              std::optional<PrometheusText>& text, std::shared_ptr<bool> lookup_hangs,
              CheckDone done)
      : GetAttempt(executor, url, {{"Accept", "text/plain"}}, std::move(lookup_hangs),
                   std::move(done)),
        text_(text) {
    parser_.header_limit(kMaxHeader);
    parser_.body_limit(GaugeReader::kMostText);
  }

 private:
  std::shared_ptr<TextAttempt> self() {
    return std::static_pointer_cast<TextAttempt>(shared_from_this());
  }

  void read_response() override { read_piece(); }

  void read_piece() {
    parser_.get().body().data = piece_.data();
    parser_.get().body().size = piece_.size();
    parser_.get().body().more = true;
    http::async_read(socket_, buffer_, parser_, [self = self()](error_code error, std::size_t) {
      if (!self->is_over()) {
        self->take_piece(error);
      }
    });
  }

  void take_piece(error_code error) {
    if (error && error != http::error::need_buffer) {
      fail("cannot read the response: " + error.message());
      return;
    }
    if (parser_.is_header_done() && parser_.get().result() != http::status::ok) {
      fail("status " + std::to_string(parser_.get().result_int()));
      return;
    }
    text_->take({piece_.data(), piece_.size() - parser_.get().body().size});
    if (!parser_.is_done()) {
      read_piece();
      return;
    }
    text_->finish();
    report({.result = CheckResult::passed});
  }

  std::optional<PrometheusText>& text_;
  boost::beast::flat_buffer buffer_{kMaxHeader + kPiece};
  http::response_parser<http::buffer_body> parser_;
  std::array<char, kPiece> piece_{};
};

}  // namespace

GaugeReader::GaugeReader(asio::any_io_executor executor, GaugeSettings settings)
    : state_(std::make_shared<State>()) {
  state_->settings = std::move(settings);
  problem_ = parse_http_url(state_->settings.url, state_->url);
  check_ = std::make_unique<AttemptCheck>([executor = std::move(executor), state = state_,
                                           hangs = std::make_shared<bool>(false)](
                                              CheckDone done) -> std::shared_ptr<ConnectAttempt> {
    return std::make_shared<TextAttempt>(executor, state->url, state->text, hangs, std::move(done));
  });
}

GaugeReader::~GaugeReader() = default;

void GaugeReader::read(Duration timeout, Done done) {
  state_->text.emplace(names_of(state_->settings));
  check_->start(timeout, [state = state_, done = std::move(done)](CheckOutcome const& outcome) {
    bool const is_read = outcome.result == CheckResult::passed;
    done(is_read ? state->reading() : GaugeReading{.problem = outcome.detail});
  });
}

void GaugeReader::cancel() {
  check_->cancel();
}

}  // namespace lastcall::probes
