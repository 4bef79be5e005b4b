// Resolves names for threads that must be able to stop waiting: getaddrinfo(3) itself blocks until
// the servers of resolv.conf answer or time out, and nothing can interrupt it.
//
// Invariants:
//  1. find() returns by its deadline, and soon after wake() if `interrupted` is set by then.
//  2. Each lookup has a thread of its own, which is left behind if it hangs. While it hangs, no
//     second lookup of that name begins: the next caller waits for the first.
//  3. Numeric addresses are never looked up.
//
// Thread rule: one thread calls find(); wake() may be called from any, and never blocks.
// Source: getaddrinfo(3), resolv.conf(5).
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "discovery/registry.hpp"

namespace lastcall::discovery {

class Lookup {
 public:
  struct Found {
    std::vector<std::string> addresses;  // numeric, in the system's order; empty: see error
    std::string error;
    bool is_open = false;  // the lookup is still under way
  };

  Lookup();
  ~Lookup();
  Lookup(Lookup const&) = delete;
  Lookup& operator=(Lookup const&) = delete;

  Found find(std::string const& host, TimePoint deadline, std::atomic<bool> const& interrupted);
  void wake();

 private:
  struct Board;
  std::shared_ptr<Board> board_;  // shared with threads, which may outlive this
};

}  // namespace lastcall::discovery
