// Receives what the threads report by mail, and passes it to the Tracker, on the core's thread.
//
// Invariant: only the core's thread knows the requests. One that a thread has begun exists from the
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

  /// For reports that are not about a request, or about one that the core knows.
  Tracker& tracker() { return tracker_; }
  bool knows(std::string const& id) const { return known_.contains(id); }

  void begin(std::size_t seat, Begun const& begun);
  void end(std::string const& id, lifecycle::Outcome outcome);
  void connections(std::size_t seat, report::Connections const& reported) {
    listeners_.connections(seat, reported);
  }

 private:
  Tracker& tracker_;
  KnownRequests& known_;
  Listeners const listeners_;
};

}  // namespace lastcall::ingress
