// The records of all answers, from which they could continue elsewhere, and the limit on the memory
// that these records may use together.
//
// Rules:
//  1. If they exceed the limit, the largest is dropped: its answer continues, but can no longer
//     move (`memory`). A record that is larger than a quarter of the limit is dropped at once.
//  2. A record in the middle of a move is kept until the move is over.
//  3. A size is reported whenever it may have changed; a report of an unchanged size costs nothing.
//
// Thread rule: the router's thread. Source: docs/continuation.md, 'Limits'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "router/continuation/memory_budget.hpp"

namespace lastcall::router {

/// The answer that a record belongs to.
class RecordOwner : public continuation::MemoryBudget::Holder {
 public:
  /// Drops the record. Returns false if it is needed now.
  virtual bool forget_record() = 0;

 protected:
  ~RecordOwner() = default;
};

class Records {
 public:
  using Changed = std::function<void(std::size_t bytes, std::uint64_t dropped)>;

  /// `most`: the limit in bytes; `changed` receives the number of bytes that are held and the
  /// number of records dropped so far.
  Records(std::size_t most, Changed changed)
      : most_(most), budget_(most), changed_(std::move(changed)) {}

  /// Sets the size of the record of `owner`. It must be 0 before the owner is destroyed.
  void hold(RecordOwner& owner, std::size_t bytes) {
    if (bytes != owner.bytes()) {
      set(owner, bytes);
    }
  }

 private:
  static constexpr std::size_t kShare = 4;

  void set(RecordOwner& owner, std::size_t bytes);
  void drop(RecordOwner& owner);

  std::size_t const most_;
  continuation::MemoryBudget budget_;
  Changed const changed_;
  std::uint64_t dropped_ = 0;
};

}  // namespace lastcall::router
