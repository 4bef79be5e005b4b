#include "router/continuation/fitting.hpp"

#include <algorithm>

namespace lastcall::router::continuation {
namespace {

constexpr double kShare = 0.75;  // of the time that the rest may take

/// The number of tokens that can still come for each token that the leg has reported.
double left_for_each(Pace const& pace, Stretch const& left) {
  std::uint64_t const most = left.most.value_or(0);
  std::uint64_t const to_come = most - std::min(most, left.made);
  std::uint64_t const reported = left.made - std::min<std::uint64_t>(left.made, pace.made);
  return static_cast<double>(to_come) / static_cast<double>(std::max<std::uint64_t>(reported, 1));
}

double ms(Time time) {
  return static_cast<double>(time.count());
}

}  // namespace

bool fits(Pace const& pace, Stretch const& left) {
  double const needs = left_for_each(pace, left) * ms(left.now - pace.since);
  return left.most && needs <= kShare * ms(left.cut_at - left.now - kForAMove);
}

Time fits_until(Pace const& pace, Stretch const& left) {
  double const each = left_for_each(pace, left);
  double const end = kShare * ms(left.cut_at - kForAMove) + each * ms(pace.since);
  Time const at(static_cast<Time::rep>(end / (each + kShare)) + 1);
  return std::clamp(at, left.now, std::max(left.now, left.cut_at));
}

}  // namespace lastcall::router::continuation
