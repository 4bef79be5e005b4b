#include "router/continuation/limits.hpp"

#include <algorithm>

namespace lastcall::router::continuation {

Cause cause_of(std::string_view reason) {
  if (reason == "migrated" || reason == "hand_off" || reason == "gone") {
    return Cause::planned;
  }
  for (std::string_view const word :
       {"other_prompt", "unproven", "leaks_prompt", "reasons", "empty", "malformed"}) {
    if (reason == word) {
      return Cause::unproven;
    }
  }
  return reason == "stall" ? Cause::stall : Cause::engine_death;
}

Refused MoveLimit::take(Cause cause) {
  switch (cause) {
    case Cause::planned:
      return ++planned_ > kMostPlanned ? Refused::moved_too_often : Refused::no;
    case Cause::engine_death:
      return ++deaths_ > kMostDeaths ? Refused::engine_died_twice : Refused::no;
    case Cause::unproven:
      return ++unproven_ > kMostUnproven ? Refused::worker_cannot : Refused::no;
    case Cause::stall:
      return Refused::no;  // all requests share one budget for that
  }
  return Refused::no;
}

std::uint64_t hash_of_request(Asking const& asking) {
  constexpr std::uint64_t kPrime = 0x100000001b3ULL;
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (std::string_view const part : {asking.line, asking.model, asking.body}) {
    for (char const c : part) {
      hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
    }
    hash *= kPrime;  // marks the end of a part
  }
  return hash;
}

void Suspects::forget_old(Time now) {
  while (!by_age_.empty() && (by_age_.size() > most_ || now - by_age_.front().last >= kSuspected)) {
    entries_.erase(by_age_.front().request);
    by_age_.pop_front();
  }
}

void Suspects::note_death(std::uint64_t request, Death death, Time now) {
  forget_old(now);
  auto const found = entries_.find(request);
  if (found == entries_.end()) {
    entries_[request] = by_age_.insert(by_age_.end(), Entry{request, death.number, false, now});
  } else {
    Entry& entry = *found->second;
    bool const follows = death.number != entry.first && death.known >= entry.first;
    entry.has_second = entry.has_second || follows;
    entry.last = now;
    by_age_.splice(by_age_.end(), by_age_, found->second);
  }
  forget_old(now);
}

void Suspects::clear(std::uint64_t request) {
  auto const found = entries_.find(request);
  if (found != entries_.end()) {
    by_age_.erase(found->second);
    entries_.erase(found);
  }
}

Suspects::Verdict Suspects::verdict(std::uint64_t request, Time now) {
  forget_old(now);
  auto const found = entries_.find(request);
  if (found == entries_.end()) {
    return Verdict::unknown;
  }
  return found->second->has_second ? Verdict::poison : Verdict::suspect;
}

DeathNumber RecentDeaths::note(std::string_view pool, std::uint64_t worker, Time now) {
  std::erase_if(deaths_, [now](Death const& death) { return now - death.at >= kManyWithin; });
  Death noted{std::string(pool), worker, 0, now};
  for (Death const& death : deaths_) {
    if (death.worker == worker && now - death.at < kOneDeath) {
      if (death.pool == pool) {
        return death.number;
      }
      noted.number = death.number;  // the worker serves several models
      noted.at = death.at;
    }
  }
  noted.number = noted.number == 0 ? ++last_number_ : noted.number;
  deaths_.push_back(noted);
  return noted.number;
}

bool RecentDeaths::are_many(std::string_view pool, Time now) const {
  return std::count_if(deaths_.begin(), deaths_.end(), [&](Death const& death) {
           return death.pool == pool && now - death.at < kManyWithin;
         }) > 1;
}

void RetryBudget::note_request() {
  hundredths_ = std::min(hundredths_ + kPercent, kMost * 100);
}

bool RetryBudget::take() {
  if (hundredths_ < 100) {
    return false;
  }
  hundredths_ -= 100;
  return true;
}

}  // namespace lastcall::router::continuation
