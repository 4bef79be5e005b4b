// Owns objects of one kind. Each knows its own seat, so it is removed without a search, and costs
// one pointer here.
//
// Invariant: there are no empty seats, because the last object moves to the seat that was left.
//
// Thread rule: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace lastcall::ingress {

/// The base of an object that has a seat.
class Seated {
  template <typename T>
  friend class Seats;

  std::uint32_t seat_ = 0;
};

template <typename T>
class Seats {
 public:
  void add(std::unique_ptr<T> one) {
    one->seat_ = static_cast<std::uint32_t>(all_.size());
    all_.push_back(std::move(one));
  }
  std::unique_ptr<T> take_out(T const& one) {
    std::uint32_t const seat = one.seat_;
    all_.back()->seat_ = seat;
    std::swap(all_[seat], all_.back());
    std::unique_ptr<T> taken = std::move(all_.back());
    all_.pop_back();
    return taken;
  }
  T& operator[](std::size_t seat) const { return *all_[seat]; }
  std::size_t size() const { return all_.size(); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

 private:
  std::vector<std::unique_ptr<T>> all_;
};

}  // namespace lastcall::ingress
