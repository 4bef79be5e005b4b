// An intrusive ring of objects, each of which links to its neighbours: joining and leaving it
// change a few pointers and allocate nothing.
//
// Rules:
//  1. An object is in at most one ring, and leaves it when it is destroyed.
//  2. A ring outlives its objects, or is empty when it is destroyed.
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

/// `T` derives from RingLink.
template <class T>
class Ring {
 public:
  Ring() { ends_.previous_ = ends_.next_ = &ends_; }

  bool empty() const { return ends_.next_ == &ends_; }
  /// Walks the whole ring: the time grows with the number of objects.
  std::size_t size() const {
    std::size_t count = 0;
    for (RingLink const* one = ends_.next_; one != &ends_; one = one->next_) {
      ++count;
    }
    return count;
  }
  /// The object that has been in the ring for longest; the ring must not be empty.
  T& front() const { return static_cast<T&>(*ends_.next_); }
  /// Takes `one` out of the ring that it is in, if any.
  void push_back(T& one) {
    RingLink& link = one;
    link.leave_ring();
    link.previous_ = ends_.previous_;
    link.next_ = &ends_;
    ends_.previous_->next_ = &link;
    ends_.previous_ = &link;
  }
  /// Calls `with` for each object; `with` must not change the ring.
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
