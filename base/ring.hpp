// Objects in a ring, each of which knows its neighbours: joining and leaving cost a few pointers,
// and no block of the heap.
//
// Rules:
//  1. An object is in one ring at most; one that is destroyed leaves it.
//  2. A ring outlives those that are in it, or is empty.
// No thread rule.
#pragma once

#include <cstddef>

namespace lastcall {

class RingLink {
 public:
  RingLink() = default;
  RingLink(RingLink const&) = delete;
  RingLink& operator=(RingLink const&) = delete;

  bool is_in_ring() const { return next_ != nullptr; }
  void leave_ring() {
    if (is_in_ring()) {
      previous_->next_ = next_;
      next_->previous_ = previous_;
      previous_ = next_ = nullptr;
    }
  }

 protected:
  ~RingLink() { leave_ring(); }

 private:
  template <class T>
  friend class Ring;

  RingLink* previous_ = nullptr;
  RingLink* next_ = nullptr;
};

/// `T` is derived from RingLink.
template <class T>
class Ring {
 public:
  Ring() { ends_.previous_ = ends_.next_ = &ends_; }

  bool empty() const { return ends_.next_ == &ends_; }
  /// It takes as long as there are many.
  std::size_t size() const {
    std::size_t count = 0;
    for (RingLink const* one = ends_.next_; one != &ends_; one = one->next_) {
      ++count;
    }
    return count;
  }
  /// The one that has been in it for longest; it is not empty.
  T& front() const { return static_cast<T&>(*ends_.next_); }
  /// `one` leaves the ring that it was in.
  void push_back(T& one) {
    RingLink& link = one;
    link.leave_ring();
    link.previous_ = ends_.previous_;
    link.next_ = &ends_;
    ends_.previous_->next_ = &link;
    ends_.previous_ = &link;
  }
  /// Calls `with` for each, which changes nothing here.
  template <class With>
  void for_each(With const& with) const {
    for (RingLink* one = ends_.next_; one != &ends_; one = one->next_) {
      with(static_cast<T&>(*one));
    }
  }

 private:
  struct Ends : RingLink {};
  Ends ends_;
};

}  // namespace lastcall
