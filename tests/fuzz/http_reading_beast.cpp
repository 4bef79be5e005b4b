// Boost.Beast's parser, which is what many C++ servers and clients read HTTP with.
#include <limits>
#include <string>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include "tests/fuzz/http_reading.hpp"

namespace lastcall::fuzz {
namespace {

namespace http = boost::beast::http;
using Text = boost::beast::string_view;
using Error = boost::beast::error_code;

std::string text_of(Text text) {
  return {text.data(), text.size()};
}

template <bool isRequest>
class Parser final : public http::basic_parser<isRequest> {
 public:
  Parser() {
    this->eager(true);
    this->body_limit(boost::none);
    this->header_limit(std::numeric_limits<std::uint32_t>::max());
  }
  Message message;
  bool is_tunnel = false;

 private:
  void on_request_impl(http::verb, Text method, Text target, int, Error& error) override {
    error = {};
    message.start = text_of(method) + " " + text_of(target);
  }
  void on_response_impl(int code, Text, int, Error& error) override {
    error = {};
    message.start = std::to_string(code);
    is_tunnel = code == 101;
  }
  void on_field_impl(http::field, Text, Text, Error& error) override { error = {}; }
  void on_header_impl(Error& error) override { error = {}; }
  void on_body_init_impl(boost::optional<std::uint64_t> const&, Error& error) override {
    error = {};
  }
  std::size_t on_body_impl(Text body, Error& error) override {
    error = {};
    message.body.append(body.data(), body.size());
    return body.size();
  }
  void on_chunk_header_impl(std::uint64_t, Text, Error& error) override { error = {}; }
  std::size_t on_chunk_body_impl(std::uint64_t, Text body, Error& error) override {
    return on_body_impl(body, error);
  }
  void on_finish_impl(Error& error) override { error = {}; }
};

template <bool isRequest>
Reading read(std::string_view stream) {
  Reading reading;
  std::size_t at = 0;
  while (at < stream.size() && reading.stopped == Stopped::at_end) {
    Parser<isRequest> parser;
    Error error;
    std::size_t used = at;
    while (used < stream.size() && !parser.is_done() && !error) {
      std::size_t const taken =
          parser.put(boost::asio::const_buffer(stream.data() + used, stream.size() - used), error);
      used += taken;
      if (taken == 0) {
        break;
      }
    }
    bool const waits = error == http::error::need_more || !error;
    if (waits && !parser.is_done() && parser.is_header_done() && parser.need_eof()) {
      error = {};
      parser.put_eof(error);
    }
    if (parser.is_done()) {
      bool const is_tunnel = parser.is_tunnel || (isRequest && parser.upgrade());
      parser.message.end = at = used;
      reading.messages.push_back(std::move(parser.message));
      reading.stopped = is_tunnel ? Stopped::tunnel : Stopped::at_end;
    } else if (waits) {
      reading.stopped = Stopped::incomplete;
    } else {
      reading.stopped = Stopped::refused;
      reading.why = error.message();
    }
  }
  return reading;
}

}  // namespace

Reading read_beast(std::string_view stream, Side side) {
  return side == Side::requests ? read<true>(stream) : read<false>(stream);
}

}  // namespace lastcall::fuzz
