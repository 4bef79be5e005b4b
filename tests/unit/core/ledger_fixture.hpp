// What the ledger's tests share: a ledger with short calls. One thread owns it.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/request_ledger.hpp"

namespace lastcall::lifecycle {

struct LedgerTest : testing::Test {
  RequestLedger::Begin begin(PeerId peer, std::string id, std::string parent = {},
                             bool resumed = false) {
    RequestBegun request;
    request.peer = peer;
    request.id = std::move(id);
    request.parent = std::move(parent);
    request.resumed = resumed;
    return ledger.begin(now, request, 0, false);
  }
  std::size_t stop(std::string_view id, CancelReason reason = CancelReason::control) {
    return ledger.cancel_id(now, 1, id, CancelMode::stop, reason);
  }
  std::size_t kill(std::string_view id) {
    return ledger.cancel_id(now, 1, id, CancelMode::kill, CancelReason::control);
  }
  RequestState state(std::string_view id) {
    RequestState found = RequestState::live;
    ledger.for_each([&](RequestView const& view) { found = view.id == id ? view.state : found; },
                    endpoints);
    return found;
  }
  /// Everything that waits for a peer, in the order in which it would be sent.
  std::vector<std::string> sent(PeerId peer = 1) {
    std::vector<std::string> lines;
    while (true) {
      CancelBatch const batch = ledger.take_cancels(peer, 100);
      if (batch.ids.empty()) {
        return lines;
      }
      for (auto const id : batch.ids) {
        lines.push_back(std::string(name(batch.mode)) + " " + std::string(id));
      }
    }
  }
  void SetUp() override {
    ledger.peer_connected(1);
    ledger.peer_connected(2);
    endpoints.slot(1, "");
  }

  EndpointTracker endpoints;
  RequestLedger ledger;
  Instant now = instant_from_ms(1'000);
};

using Lines = std::vector<std::string>;

}  // namespace lastcall::lifecycle
