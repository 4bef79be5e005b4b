#include "relay/chunk_decoder.hpp"
#include "relay/http_head.hpp"
#include "tests/fuzz/http_reading.hpp"

namespace lastcall::fuzz {
namespace {

using namespace relay;

enum class Step : std::uint8_t { message, stop };

class Reader {
 public:
  Reader(std::string_view stream, Side side) : stream_(stream), side_(side) {}

  Reading run() {
    while (at_ < stream_.size() && message() == Step::message) {
    }
    return std::move(reading_);
  }

 private:
  Step stop(Stopped why, std::string_view words = {}) {
    reading_.stopped = why;
    reading_.why = words;
    return Step::stop;
  }

  Step message() {
    std::string_view const rest = stream_.substr(at_);
    HeadScanner scanner;
    switch (scanner.scan(rest)) {
      case HeadScanner::Found::incomplete:
        return stop(Stopped::incomplete);
      case HeadScanner::Found::bad:
        return stop(Stopped::refused, "a malformed head");
      case HeadScanner::Found::complete:
        break;
    }
    Message message;
    Framing framing;
    std::string_view const head = rest.substr(0, scanner.length());
    HeadFault const fault = side_ == Side::requests ? request(head, message, framing)
                                                    : response(head, message, framing);
    if (fault) {
      return stop(Stopped::refused, fault.what);
    }
    return body(rest.substr(head.size()), at_ + head.size(), std::move(message), framing);
  }

  HeadFault request(std::string_view bytes, Message& message, Framing& framing) {
    RequestHead head;
    Destination destination;
    HeadFault fault = parse_request_head(bytes, head);
    if (!fault) {
      fault = request_framing(head, framing);
    }
    if (!fault) {
      fault = find_destination(head, destination);
    }
    message.start.append(head.method).append(" ").append(head.target);
    std::string_view protocol;
    is_tunnel_ = head.fields.count("upgrade", protocol) > 0 && head.connection.has("upgrade") &&
                 framing.kind == Framing::Kind::none;
    return fault;
  }

  HeadFault response(std::string_view bytes, Message& message, Framing& framing) {
    ResponseHead head;
    HeadFault fault = parse_response_head(bytes, head);
    if (!fault) {
      fault = response_framing(head, "GET", framing);
    }
    message.start = std::to_string(head.status);
    is_tunnel_ = head.status == 101;
    return fault;
  }

  Step body(std::string_view rest, std::size_t from, Message message, Framing const& framing) {
    switch (framing.kind) {
      case Framing::Kind::none:
        message.end = from;
        break;
      case Framing::Kind::length:
        if (rest.size() < framing.length) {
          return stop(Stopped::incomplete);
        }
        message.body = rest.substr(0, framing.length);
        message.end = from + message.body.size();
        break;
      case Framing::Kind::until_close:
        message.body = rest;
        message.end = stream_.size();
        break;
      case Framing::Kind::chunked: {
        ChunkDecoder decoder;
        message.body = rest;
        ChunkDecoder::Step const step = decoder.decode(message.body);
        if (step.state != ChunkDecoder::State::done) {
          bool const is_bad = step.state == ChunkDecoder::State::bad;
          return is_bad ? stop(Stopped::refused, "a malformed chunk") : stop(Stopped::incomplete);
        }
        message.body.resize(step.payload);
        message.end = from + step.consumed;
        break;
      }
    }
    at_ = message.end;
    reading_.messages.push_back(std::move(message));
    return is_tunnel_ ? stop(Stopped::tunnel) : Step::message;
  }

  std::string_view stream_;
  Side side_;
  std::size_t at_ = 0;
  bool is_tunnel_ = false;
  Reading reading_;
};

}  // namespace

Reading read_ours(std::string_view stream, Side side) {
  return Reader(stream, side).run();
}

}  // namespace lastcall::fuzz
