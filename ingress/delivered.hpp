// The client of a relayed request, and how much of the answer it has. Pure values.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lastcall::ingress {

struct Delivered {
  std::string client;                   // the address of its connection
  std::uint64_t bytes = 0;              // bytes of the body
  std::optional<std::uint64_t> events;  // complete events, if it is a stream of events
  std::optional<std::uint64_t> tokens;  // if the engine reports them in its events
};

/// One entry for each requested id, in that order; absent if the request has ended.
using Deliveries = std::vector<std::optional<Delivered>>;
using ReportDeliveries = std::function<void(Deliveries const&)>;

}  // namespace lastcall::ingress
