// The limit of bytes that the buffers of all connections may hold, and the bytes that they hold.
//
// Each connection charges its bytes when their number has changed; the budget only adds them up.
// Above three quarters the budget is tight: little is read at a time, and new requests that need a
// buffer are refused. If it is exceeded, connections are closed until the others fit (see
// Clients::shed()).
//
// Thread rule: any thread; the figures are exact once the threads are at rest.
// Source: docs/ingress.md, 'Limits'.
#pragma once

#include <atomic>
#include <cstddef>

namespace lastcall::ingress {

class MemoryBudget {
 public:
  /// `limit` is in bytes; 0 means none.
  explicit MemoryBudget(std::size_t limit) : limit_(limit) {}
  MemoryBudget(MemoryBudget const&) = delete;
  MemoryBudget& operator=(MemoryBudget const&) = delete;

  bool is_tight() const { return limit_ != 0 && used() >= limit_ / 4 * 3; }
  bool is_exceeded() const { return limit_ != 0 && used() > limit_; }
  /// Below this, no more connections are closed.
  bool is_relieved() const { return limit_ == 0 || used() <= limit_ / 8 * 7; }

  std::size_t limit() const { return limit_; }
  std::size_t used() const { return used_.load(std::memory_order_relaxed); }
  /// The maximum since the last call of restart_peak().
  std::size_t peak() const { return peak_.load(std::memory_order_relaxed); }
  void restart_peak() { peak_.store(used(), std::memory_order_relaxed); }

 private:
  friend class Charge;

  void add(std::size_t bytes) {
    std::size_t const now = used_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (now > peak()) {
      peak_.store(now, std::memory_order_relaxed);
    }
  }
  void subtract(std::size_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  std::size_t const limit_;
  std::atomic<std::size_t> used_{0};
  std::atomic<std::size_t> peak_{0};
};

/// The bytes of one holder, which its destructor gives back.
class Charge {
 public:
  /// `budget` outlives this.
  explicit Charge(MemoryBudget& budget) : budget_(budget) {}
  Charge(Charge const&) = delete;
  Charge& operator=(Charge const&) = delete;
  ~Charge() { set(0); }

  std::size_t bytes() const { return bytes_; }
  void set(std::size_t bytes) {
    if (bytes > bytes_) {
      budget_.add(bytes - bytes_);
    } else if (bytes < bytes_) {
      budget_.subtract(bytes_ - bytes);
    }
    bytes_ = bytes;
  }

 private:
  MemoryBudget& budget_;
  std::size_t bytes_ = 0;
};

}  // namespace lastcall::ingress
