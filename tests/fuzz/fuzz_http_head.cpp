// What a client or an engine can send as a head. Checked:
//  1. the end of a head is the same however its bytes arrive;
//  2. a head that passes is passed on as one that passes too, with the same length and host;
//  3. a fault has words and a status that belongs to it;
//  4. work grows with the bytes alone, whatever is repeated how often.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "relay/endpoint_name.hpp"
#include "relay/head_writer.hpp"
#include "relay/http_head.hpp"
#include "relay/priority.hpp"
#include "tests/fuzz/work.hpp"

namespace {

using namespace lastcall::relay;
using lastcall::fuzz::require;

std::pair<HeadScanner::Found, std::size_t> scan(std::string_view bytes, std::size_t step) {
  HeadScanner scanner;
  HeadScanner::Found found = HeadScanner::Found::incomplete;
  for (std::size_t size = 0; size < bytes.size() && found == HeadScanner::Found::incomplete;) {
    size = std::min(size + step, bytes.size());
    found = scanner.scan(bytes.substr(0, size));
  }
  return {found, found == HeadScanner::Found::complete ? scanner.length() : 0};
}

void check_fault(HeadFault const& fault) {
  require(fault.status >= 400 && fault.status < 600 && !fault.what.empty());
}

void check_request(std::string_view bytes) {
  RequestHead head;
  Framing framing;
  Destination destination;
  if (HeadFault const fault = parse_request_head(bytes, head)) {
    return check_fault(fault);
  }
  if (HeadFault const fault = request_framing(head, framing)) {
    return check_fault(fault);
  }
  if (HeadFault const fault = find_destination(head, destination)) {
    return check_fault(fault);
  }
  static_cast<void>(endpoint_of(head.method, destination.target, false));
  static_cast<void>(priority_of(head.fields));
  std::string out;
  bool const is_odd = bytes.size() % 2 == 1;  // either is as good as the other
  write_request_head(out, head, destination,
                     {.request_id = "r",
                      .client = "::1",
                      .is_proxy = is_odd,
                      .keeps_underscores = bytes.size() % 4 < 2,
                      .body = framing});
  require(scan(out, out.size()) == std::pair(HeadScanner::Found::complete, out.size()));
  RequestHead again;
  Framing framing_again;
  Destination destination_again;
  HeadFault const fault = parse_request_head(out, again);
  if (fault) {
    require(fault.status == 431);  // what we add can be one too many
    return;
  }
  require(!request_framing(again, framing_again) && !find_destination(again, destination_again));
  require(framing.kind == framing_again.kind && framing.length == framing_again.length);
  require(destination.host == destination_again.host);
}

void check_response(std::string_view bytes) {
  ResponseHead head;
  Framing framing;
  if (HeadFault const fault = parse_response_head(bytes, head)) {
    return check_fault(fault);
  }
  if (HeadFault const fault = response_framing(head, "GET", framing)) {
    return check_fault(fault);
  }
  std::string out;
  write_response_head(out, head,
                      {.request_id = "r", .chunked = framing.kind == Framing::Kind::chunked});
  require(scan(out, 7) == std::pair(HeadScanner::Found::complete, out.size()));
  ResponseHead again;
  Framing framing_again;
  if (HeadFault const fault = parse_response_head(out, again)) {
    require(fault.status == 431);
    return;
  }
  require(!response_framing(again, "GET", framing_again));
  require(framing.kind == framing_again.kind && framing.length == framing_again.length);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  // Lines have a cost of their own, so this is more than a long head takes (fuzz_head_work.cpp).
  lastcall::fuzz::BoundedWork const work(size, {.a_byte = 75, .besides = 20'000});
  std::string const bytes(data, data + size);
  auto const whole = scan(bytes, bytes.size() + 1);
  require(whole == scan(bytes, 1) && whole == scan(bytes, 3));
  if (whole.first == HeadScanner::Found::complete) {
    check_request(std::string_view(bytes).substr(0, whole.second));
    check_response(std::string_view(bytes).substr(0, whole.second));
  }
  return 0;
}
