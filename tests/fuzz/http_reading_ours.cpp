// The relay's own machines: the ones that the ingress drives.
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "relay/http_head.hpp"
#include "relay/request_reader.hpp"
#include "relay/request_side.hpp"
#include "relay/response_reader.hpp"
#include "tests/fuzz/http_reading.hpp"
#include "tests/unit/relay/whole_exchange.hpp"

namespace lastcall::fuzz {
namespace {

using namespace relay;

enum class Step : std::uint8_t { message, stop };

class Reader {
 public:
  Reader(std::string_view stream, Side side) : stream_(stream), side_(side) {}

  Reading run() {
    while (at_ < stream_.size() &&
           (side_ == Side::requests ? request() : response()) == Step::message) {
    }
    return std::move(reading_);
  }

 private:
  Step stop(Stopped why, std::string_view words = {}) {
    reading_.stopped = why;
    reading_.why = words;
    return Step::stop;
  }

  Step add(Message message, std::size_t end, bool is_tunnel) {
    at_ = message.end = end;
    reading_.messages.push_back(std::move(message));
    return is_tunnel ? stop(Stopped::tunnel) : Step::message;
  }

  Step request() {
    std::string_view const rest = stream_.substr(at_);
    RequestReader reader;
    TakenHead taken;
    switch (reader.read(rest, {.head = stream_.size(), .body = {}}, taken)) {
      case RequestReader::Found::incomplete:
        return stop(Stopped::incomplete);
      case RequestReader::Found::refused:
        return stop(Stopped::refused, taken.fault.what);
      case RequestReader::Found::complete:
        break;
    }
    Message message;
    message.start.append(taken.head.method).append(" ").append(taken.head.target);
    std::string body(rest.substr(taken.length));
    RequestSide side(taken.framing, taken.asked);
    std::size_t used = 0;
    if (side.state() == RequestState::body) {
      RequestSide::Taken const got = side.take(body, std::chrono::milliseconds(1), {});
      used = got.used;
      if (got.fault) {
        return stop(Stopped::refused, got.fault.what);
      }
    }
    if (!side.is_done()) {
      return stop(Stopped::incomplete);
    }
    if (taken.framing.kind == Framing::Kind::chunked) {
      test::unchunk(side.to_engine().bytes(), message.body);
    } else {
      message.body = side.to_engine().bytes();
    }
    // We ignore an offer of HTTP/2; the others treat it as a tunnel.
    std::string_view protocol;
    bool const is_tunnel = taken.head.fields.count("upgrade", protocol) > 0 &&
                           taken.head.connection.has("upgrade") &&
                           taken.framing.kind == Framing::Kind::none;
    return add(std::move(message), at_ + taken.length + used, is_tunnel);
  }

  Step response() {
    std::string rest(stream_.substr(at_));
    ResponseReader reader;
    ReadHead read;
    if (!reader.read_head(rest, {.is_upgrade = true}, read)) {
      bool const is_bad = reader.state() == ResponseState::malformed;
      return is_bad ? stop(Stopped::refused, why_malformed(rest)) : stop(Stopped::incomplete);
    }
    Message message;
    message.start = std::to_string(read.head.status);
    bool const is_tunnel = read.head.status == 101;
    std::span<char> left = reader.read_on(rest, read);
    if (reader.state() == ResponseState::body) {
      message.body = reader.read_body(left);
      if (reader.state() == ResponseState::malformed) {
        return stop(
            Stopped::refused,
            "a chunk or a trailer is malformed: expected the chunked coding of RFC 9112, 7.1");
      }
      bool const is_complete = reader.state() == ResponseState::complete ||
                               reader.framing().kind == Framing::Kind::until_close;
      if (!is_complete) {
        return stop(Stopped::incomplete);
      }
    }
    return add(std::move(message), stream_.size() - left.size(), is_tunnel);
  }

  static std::string_view why_malformed(std::string_view bytes) {
    HeadScanner scanner;
    if (scanner.scan(bytes) != HeadScanner::Found::complete) {
      return "the head is malformed: expected the lines of an HTTP/1.1 message, each ended by CRLF";
    }
    ResponseHead head;
    Framing framing;
    HeadFault fault = parse_response_head(bytes.substr(0, scanner.length()), head);
    if (!fault) {
      fault = response_framing(head, "GET", framing);
    }
    return fault.what;
  }

  std::string_view stream_;
  Side side_;
  std::size_t at_ = 0;
  Reading reading_;
};

}  // namespace

Reading read_ours(std::string_view stream, Side side) {
  return Reader(stream, side).run();
}

}  // namespace lastcall::fuzz
