// The relay threads and how many clients each has: a new client goes to the one with the
// fewest, because connections are kept, and stay with the thread that they begin with.
//
// Thread rule: the loop's thread. Source: docs/adr/0008-ingress-threads.md.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "ingress/relay_thread.hpp"
#include "ingress/report.hpp"

namespace lastcall::ingress {

class Crew {
 public:
  struct Totals {
    std::size_t clients = 0;
    std::size_t upstream = 0;
  };

  void add(std::unique_ptr<RelayThread> thread) { seats_.push_back({std::move(thread)}); }
  std::size_t size() const { return seats_.size(); }
  RelayThread& thread(std::size_t seat) const { return *seats_[seat].thread; }

  void adopt(Accepted accepted);
  /// Takes over what a thread reports of its connections; returns the number of its clients that
  /// have left since.
  std::size_t update(std::size_t seat, report::Connections const& reported);
  Totals totals() const;

 private:
  struct Seat {
    std::unique_ptr<RelayThread> thread;
    std::size_t given = 0;    // number of clients that it was ever given
    std::size_t clients = 0;  // those that have not left, as far as is known here
    std::size_t adopted = 0;  // how many of `given` it has adopted, by its own count
    std::size_t upstream = 0;
  };

  std::size_t next_ = 0;  // index of the seat that is preferred if several have the fewest clients
  std::vector<Seat> seats_;
};

}  // namespace lastcall::ingress
