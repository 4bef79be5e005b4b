// Requests on one connection, as ours and two other parsers read them. Checked:
//  1. where each request ends, its method, target and body are the same for all, or the difference
//     is one that http_differences.cpp lists;
//  2. what we send to the engine for those that we take is the same requests for the others, and
//     nothing else: no request travels inside another one;
//  3. our work grows with the bytes alone, however many requests they are.
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "relay/head_writer.hpp"
#include "relay/http_head.hpp"
#include "tests/fuzz/http_reading.hpp"
#include "tests/fuzz/work.hpp"

namespace {

using namespace lastcall;

/// Frames a body as the ingress does: a chunked body is chunked again, a length stays.
void write_body(std::string& out, std::string_view body, relay::Framing const& framing) {
  if (framing.kind != relay::Framing::Kind::chunked) {
    out.append(body);
    return;
  }
  if (!body.empty()) {
    char size[20];
    auto const end = std::to_chars(size, size + sizeof size, body.size(), 16);
    out.append(size, end.ptr).append("\r\n").append(body).append("\r\n");
  }
  out.append("0\r\n\r\n");
}

void write_request(std::string& out, std::string_view bytes, std::string_view body) {
  relay::HeadScanner scanner;
  scanner.scan(bytes);
  relay::RequestHead head;
  relay::Framing framing;
  relay::Destination destination;
  parse_request_head(bytes.substr(0, scanner.length()), head);
  request_framing(head, framing);
  find_destination(head, destination);
  write_request_head(out, head, destination,
                     {.request_id = "r", .client = "192.0.2.1", .body = framing});
  write_body(out, body, framing);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string const stream(data, data + size);
  fuzz::compare_readings(stream, fuzz::Side::requests);
  std::string written;
  std::vector<std::string> bodies;
  std::size_t begin = 0;
  {
    // The limit is a third above that of a head alone (fuzz_http_head.cpp), because everything is
    // also written once.
    fuzz::BoundedWork const work(size, {.a_byte = 100, .besides = 20'000});
    for (fuzz::Message const& message : fuzz::read_ours(stream, fuzz::Side::requests).messages) {
      write_request(written, std::string_view(stream).substr(begin, message.end - begin),
                    message.body);
      bodies.push_back(message.body);
      begin = message.end;
    }
  }
  fuzz::compare_written(written, fuzz::Side::requests, bodies);
  return 0;
}
