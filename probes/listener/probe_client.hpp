// Asks one probe over HTTP and waits for the answer, for `lastcall probe` in images without curl.
//
// Rules:
//  1. One time limit covers everything except the lookup of a host name.
//  2. A listener on "::" or 0.0.0.0 is reached through the loopback address of either family.
//  3. Anything but an HTTP answer is a problem with a text, never a success.
//
// Blocks; no thread rule. Source: RFC 9112.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace lastcall::probes {

struct ProbeAnswer {
  int status = 0;       // 0: there was no answer
  std::string body;     // at most 64 KiB of it
  std::string problem;  // why there was no answer
};

ProbeAnswer ask_probe(std::string const& host, std::uint16_t port, std::string const& path,
                      std::chrono::milliseconds timeout);

}  // namespace lastcall::probes
