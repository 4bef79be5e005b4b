#include "router/pacing.hpp"

#include <algorithm>

namespace lastcall::router {

std::vector<std::uint64_t> Pacing::full(LegWork const& work) const {
  std::vector<std::uint64_t> found;
  if (work.kind == LegWork::Kind::usual) {
    return found;
  }
  for (auto const& [worker, taken] : workers_) {
    bool const is_full = work.kind == LegWork::Kind::suspect
                             ? taken.suspects > 0
                             : taken.continuing > 0 && taken.tokens + work.tokens > most_;
    if (is_full) {
      found.push_back(worker);
    }
  }
  return found;
}

bool Pacing::has_suspect() const {
  return std::any_of(workers_.begin(), workers_.end(),
                     [](auto const& each) { return each.second.suspects > 0; });
}

void Pacing::Place::take(Pacing& pacing, std::uint64_t worker, LegWork const& work) {
  give_back();
  if (work.kind == LegWork::Kind::usual) {
    return;
  }
  pacing_ = &pacing;
  worker_ = worker;
  work_ = work;
  Taken& taken = pacing.workers_[worker];
  if (work.kind == LegWork::Kind::suspect) {
    ++taken.suspects;
  } else {
    ++taken.continuing;
    taken.tokens += work.tokens;
  }
}

void Pacing::Place::give_back() {
  if (Pacing* const pacing = pacing_) {
    withdraw();
    pacing->freed_();
  }
}

void Pacing::Place::withdraw() {
  Pacing* const pacing = std::exchange(pacing_, nullptr);
  if (pacing == nullptr) {
    return;
  }
  auto const found = pacing->workers_.find(worker_);
  Taken& taken = found->second;
  if (work_.kind == LegWork::Kind::suspect) {
    --taken.suspects;
  } else {
    --taken.continuing;
    taken.tokens -= work_.tokens;
  }
  if (taken.suspects == 0 && taken.continuing == 0) {
    pacing->workers_.erase(found);
  }
}

}  // namespace lastcall::router
