// Drives a whole exchange through the relay, as the ingress does with sockets: the bytes of a
// client and of an engine go in, in pieces; what both get comes out.
//
// Pure, no thread rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relay/exchange.hpp"

namespace lastcall::relay::test {

/// Where bytes are split into reads: at each of these positions, and at every multiple of `step`.
struct Split {
  std::size_t step = 0;  // 0: nowhere
  std::vector<std::size_t> at;

  std::vector<std::string> pieces(std::string_view bytes) const;
};

struct Script {
  std::string request;       // of the client
  std::string response;      // of the engine
  bool engine_ends = false;  // its connection, after that
  bool engine_ends_in_order = true;
  bool engine_may_be_dying = false;
  bool dies = false;  // what is held back was its death
  bool is_closing = false;
  std::optional<std::size_t> cut_after;  // so many bytes of the response
};

struct Result {
  unsigned refused = 0;   // the status that the request's head or body was refused with
  std::string to_engine;  // the body of the request alone
  std::string wire;       // what the client gets
  std::string rest;       // of what the client sent, not of this request
  std::optional<Farewell> farewell;
  RequestState request{};
  ResponseState leg{};
  DeliveryState delivery{};
  After after{};
  lifecycle::Outcome outcome{};
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
  int first_bytes = 0;
  bool held = false;
  bool leg_is_clean = false;
};

Result run(Script const& script, Split const& of_request, Split const& of_response);

/// A message that was written to a client, read by nothing but plain searches: its status, its
/// headers in one text, its payload, and whether it is complete by its own framing.
struct Read {
  unsigned status = 0;
  std::string head;
  std::string payload;
  bool is_complete = false;
  bool ends_with_connection = false;
};
/// The last message of `wire`, which has interim ones before it.
Read read_final(std::string_view wire, bool is_head = false);
/// The payload of chunks; false: they are not complete.
bool unchunk(std::string_view bytes, std::string& payload);

}  // namespace lastcall::relay::test
