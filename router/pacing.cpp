#include "router/pacing.hpp"

#include <algorithm>

namespace lastcall::router {

std::vector<std::uint64_t> Pacing::full(Load const& load) const {
  std::vector<std::uint64_t> found;
  if (load.kind == Load::Kind::usual) {
    return found;
  }
  for (auto const& [worker, taken] : workers_) {
    bool const is_full = load.kind == Load::Kind::suspect
                             ? taken.suspects > 0
                             : taken.going_on > 0 && taken.tokens + load.tokens > most_;
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

void Pacing::Place::take(Pacing& pacing, std::uint64_t worker, Load const& load) {
  give_back();
  if (load.kind == Load::Kind::usual) {
    return;
  }
  pacing_ = &pacing;
  worker_ = worker;
  load_ = load;
  Taken& taken = pacing.workers_[worker];
  if (load.kind == Load::Kind::suspect) {
    ++taken.suspects;
  } else {
    ++taken.going_on;
    taken.tokens += load.tokens;
  }
}

void Pacing::Place::give_back() {
  Pacing* const pacing = std::exchange(pacing_, nullptr);
  if (pacing == nullptr) {
    return;
  }
  auto const found = pacing->workers_.find(worker_);
  Taken& taken = found->second;
  if (load_.kind == Load::Kind::suspect) {
    --taken.suspects;
  } else {
    --taken.going_on;
    taken.tokens -= load_.tokens;
  }
  if (taken.suspects == 0 && taken.going_on == 0) {
    pacing->workers_.erase(found);
  }
  pacing->freed_();
}

}  // namespace lastcall::router
