#include "ingress/crew.hpp"

#include <algorithm>

namespace lastcall::ingress {

void Crew::adopt(Accepted accepted) {
  std::size_t chosen = next_;
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    std::size_t const other = (next_ + i) % seats_.size();
    if (seats_[other].clients < seats_[chosen].clients) {
      chosen = other;
    }
  }
  next_ = (chosen + 1) % seats_.size();
  ++seats_[chosen].given;
  ++seats_[chosen].clients;
  seats_[chosen].thread->adopt(std::move(accepted));
}

std::size_t Crew::update(std::size_t seat, report::Connections const& reported) {
  Seat& one = seats_[seat];
  std::size_t const before = one.clients;
  std::size_t const on_their_way = one.given - reported.adopted;
  one.clients = std::min(before, reported.clients + on_their_way);
  one.adopted = reported.clients;
  one.upstream = reported.upstream;
  return before - one.clients;
}

Crew::Totals Crew::totals() const {
  Totals totals;
  for (Seat const& seat : seats_) {
    totals.clients += seat.adopted;
    totals.upstream += seat.upstream;
  }
  return totals;
}

}  // namespace lastcall::ingress
