// A core that is wrong on purpose: what it ordered is changed on its way to the world and the
// checker. Each way of being wrong breaks one invariant, so that a checker that is blind to it is
// found. One thread owns it.
#pragma once

#include <span>
#include <vector>

#include "core/lifecycle.hpp"
#include "tests/simulation/run.hpp"

namespace lastcall::simulation {

class Tampering {
 public:
  explicit Tampering(Tamper how) : how_(how) {}
  std::span<lifecycle::Action const> apply(Instant now, lifecycle::Lifecycle const& core,
                                           std::span<lifecycle::Action const> actions);

 private:
  void change_what_is_left();
  void change_admission();
  void change(Instant now, lifecycle::Lifecycle const& core);

  Tamper how_;
  std::vector<lifecycle::Action> changed_;
};

}  // namespace lastcall::simulation
