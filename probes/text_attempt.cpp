#include "probes/text_attempt.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

namespace lastcall::probes {

namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

constexpr std::size_t kPiece = 8 * 1024;

}  // namespace

struct TextAttempt::Parser {
  boost::beast::flat_buffer buffer{kMaxHeader + kPiece};
  http::response_parser<http::buffer_body> response;
  std::array<char, kPiece> piece{};
};

TextAttempt::TextAttempt(boost::asio::any_io_executor const& executor, HttpUrl const& url,
                         Headers const& headers, std::shared_ptr<bool> lookup_hangs, Take take,
                         CheckDone done)
    : GetAttempt(executor, url, headers, std::move(lookup_hangs), std::move(done)),
      take_(std::move(take)),
      parser_(std::make_unique<Parser>()) {
  parser_->response.header_limit(kMaxHeader);
  parser_->response.body_limit(kMostText);
}

TextAttempt::~TextAttempt() = default;

void TextAttempt::read_piece() {
  auto& body = parser_->response.get().body();
  body.data = parser_->piece.data();
  body.size = parser_->piece.size();
  body.more = true;
  auto self = std::static_pointer_cast<TextAttempt>(shared_from_this());
  http::async_read(socket_, parser_->buffer, parser_->response,
                   [self = std::move(self)](error_code error, std::size_t) {
                     if (!self->is_over()) {
                       self->take_piece(error);
                     }
                   });
}

void TextAttempt::take_piece(error_code error) {
  if (error && error != http::error::need_buffer) {
    fail("cannot read the response: " + error.message());
    return;
  }
  auto const& response = parser_->response.get();
  if (parser_->response.is_header_done() && response.result() != http::status::ok) {
    fail("status " + std::to_string(response.result_int()));
    return;
  }
  auto const type = response[http::field::content_type];
  take_({type.data(), type.size()},
        {parser_->piece.data(), parser_->piece.size() - response.body().size});
  if (parser_->response.is_done()) {
    report({.result = CheckResult::passed});
  } else {
    read_piece();
  }
}

}  // namespace lastcall::probes
