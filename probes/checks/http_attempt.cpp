#include "probes/checks/http_attempt.hpp"

#include <algorithm>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/write.hpp>

#include "relay/http_text.hpp"

namespace lastcall::probes {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

std::string request_text(std::string_view method, HttpUrl const& url, Headers fields,
                         Headers const& headers) {
  for (auto const& header : headers) {
    std::erase_if(fields, [&](auto const& field) {
      return relay::http_text::same(field.first, header.first);
    });
    fields.push_back(header);
  }
  std::string text;
  text.append(method).append(" ").append(url.path).append(" HTTP/1.1\r\n");
  for (auto const& [name, value] : fields) {
    text.append(name).append(": ").append(value).append("\r\n");
  }
  return text.append("\r\n");
}

}  // namespace

std::string get_request(HttpUrl const& url, Headers const& headers) {
  return request_text("GET", url,
                      {{"Host", url.host_header},
                       {"User-Agent", "lastcall"},
                       {"Accept", "*/*"},
                       {"Connection", "close"}},
                      headers);
}

std::string post_request(HttpUrl const& url, Headers const& headers, std::string_view json) {
  Headers all = headers;
  all.emplace_back("Content-Length", std::to_string(json.size()));
  return request_text("POST", url,
                      {{"Host", url.host_header},
                       {"User-Agent", "lastcall"},
                       {"Accept", "application/json"},
                       {"Content-Type", "application/json"},
                       {"Connection", "close"}},
                      all)
      .append(json);
}

HttpAttempt::HttpAttempt(asio::any_io_executor const& executor, HttpUrl const& url,
                         std::string request, std::shared_ptr<bool> lookup_hangs, CheckDone done)
    : ConnectAttempt(executor, url.target, std::move(lookup_hangs), std::move(done)),
      request_(std::move(request)) {}

void HttpAttempt::fail(std::string why) {
  report({.result = CheckResult::failed_unclear, .detail = std::move(why)});
}

void HttpAttempt::on_connected() {
  auto self = std::static_pointer_cast<HttpAttempt>(shared_from_this());
  asio::async_write(socket_, asio::buffer(request_), [self](error_code error, std::size_t) {
    if (self->is_over()) {
      return;
    }
    if (error) {
      self->fail("cannot send the request: " + error.message());
      return;
    }
    self->read();
    self->sent();  // last, because the receiver may end this attempt
  });
}

void HttpAttempt::read() {
  auto self = std::static_pointer_cast<HttpAttempt>(shared_from_this());
  socket_.async_read_some(asio::buffer(buffer_), [self](error_code error, std::size_t size) {
    if (self->is_over()) {
      return;
    }
    if (error) {
      self->ended(error == asio::error::eof ? "" : error.message());
    } else if (self->take(std::span(self->buffer_).first(size))) {
      self->read();
    }
  });
}

/// `why` is empty if the connection ended in order.
void HttpAttempt::ended(std::string_view why) {
  bool const is_in_body = response_.state() == relay::ResponseState::body;
  if (!why.empty()) {
    fail("cannot read the response: " + std::string(why));
  } else if (is_in_body && response_.framing().kind == relay::Framing::Kind::until_close) {
    complete();
  } else if (response_.has_nothing()) {
    fail("connection closed without an answer");
  } else {
    fail("cannot read the response: connection closed in the middle of it");
  }
}

/// Returns whether more should be read.
bool HttpAttempt::take(std::span<char> bytes) {
  while (!bytes.empty() && response_.state() == relay::ResponseState::head) {
    if (!take_head(bytes)) {
      return false;
    }
  }
  while (!bytes.empty() && response_.state() == relay::ResponseState::body) {
    std::string_view const payload = response_.read_body(bytes);
    if (!payload.empty() && piece(payload) == Then::stop) {
      return false;
    }
  }
  switch (response_.state()) {
    case relay::ResponseState::complete:
      complete();
      return false;
    case relay::ResponseState::malformed:
      malformed();
      return false;
    case relay::ResponseState::head:
    case relay::ResponseState::body:
    case relay::ResponseState::tunnel:
      break;
  }
  return true;
}

/// Returns false if the attempt is over.
bool HttpAttempt::take_head(std::span<char>& bytes) {
  relay::ReadHead read;
  head_size_ += bytes.size();
  bool const is_there = response_.read_head(bytes, {}, read);
  bool const waits = !is_there && response_.state() == relay::ResponseState::head;
  if ((is_there && read.length > kMaxHeader) || (waits && head_size_ > kMaxHeader)) {
    fail("cannot read the response: its head is too large");
    return false;
  }
  if (!is_there) {
    bytes = {};
    return true;
  }
  head_size_ = 0;
  std::string_view type;
  read.head.fields.count("content-type", type);
  bool const is_final = read.head.status >= 200;
  if (is_final && head(read.head.status, type) == Then::stop) {
    return false;
  }
  bytes = response_.read_on(bytes, read);
  return true;
}

}  // namespace lastcall::probes
