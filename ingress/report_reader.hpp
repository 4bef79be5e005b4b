// Reads the mail of the workers: each report becomes a call of the Tracker, on the core's thread.
//
// Invariant: only the core's thread knows the requests. One that a worker has begun exists from the
// moment at which its report is received, and a report about one that does not exist is dropped.
//
// Thread rule: the loop's thread. Source: docs/adr/0008-ingress-threads.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "ingress/live_requests.hpp"
#include "ingress/report.hpp"
#include "ingress/tracker.hpp"

namespace lastcall::ingress {

/// The requests that the core knows, and where each is relayed.
class KnownRequests {
 public:
  struct Place {
    std::size_t seat = 0;
    std::uint64_t serial = 0;
  };

  void begin(std::string const& id, Place place) { known_.insert_or_assign(id, place); }
  /// Returns false if it does not exist.
  bool end(std::string const& id) { return known_.erase(id) > 0; }
  bool contains(std::string const& id) const { return known_.contains(id); }
  std::optional<Place> find(std::string const& id) const {
    auto const found = known_.find(id);
    return found == known_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::unordered_map<std::string, Place> known_;
};

class ReportReader {
 public:
  struct Listeners {
    /// The core has received a request, and decided that it waits, or is admitted or refused.
    std::function<void(Request const&, Admission const&)> decided;
    std::function<void(std::size_t seat, report::Connections const&)> connections;
  };

  /// `tracker` and `known` outlive it.
  ReportReader(Tracker& tracker, KnownRequests& known, Listeners listeners);

  void read(std::size_t seat, report::Report const& reported);

 private:
  void receive(std::size_t seat, report::Begun const& reported);
  void receive(std::size_t seat, report::FirstByte const& reported);
  void receive(std::size_t seat, report::Moved const& reported);
  void receive(std::size_t seat, report::ClientGone const& reported);
  void receive(std::size_t seat, report::Ended const& reported);
  void receive(std::size_t seat, report::HandedOff const& reported);
  void receive(std::size_t seat, report::EventGap const& reported);
  void receive(std::size_t seat, report::ErrorHeld const& reported);
  void receive(std::size_t seat, report::Evicted const& reported);
  void receive(std::size_t seat, report::Shed const& reported);
  void receive(std::size_t seat, relay::Refusal const& reported);
  void receive(std::size_t seat, report::GreetingFailed const& reported);
  void receive(std::size_t seat, report::ControlCalled const& reported);
  void receive(std::size_t seat, report::SlowTurn const& reported);
  void receive(std::size_t seat, report::Connections const& reported);

  Tracker& tracker_;
  KnownRequests& known_;
  Listeners const listeners_;
};

}  // namespace lastcall::ingress
