#include "router/seam.hpp"

#include <utility>

#include "router/large_bodies.hpp"

namespace lastcall::router {

using continuation::Mode;
using continuation::Refused;

Causes::Words& Causes::words() {
  if (!words_) {
    words_ = std::make_unique<Words>();
  }
  return *words_;
}

continuation::Received Causes::noted(continuation::Received received) {
  if (received.progress == continuation::Progress::failed) {
    set_reason(received.reason);
  }
  return received;
}

void Seam::begin(Call const& call) {
  bool const is_recorded =
      call.wanted.stream && call.modes.endpoint != continuation::Endpoint::other;
  if (!is_recorded || call.modes.by == MigrateBy::off) {
    return;
  }
  story_ = std::make_unique<continuation::Continuation>(
      continuation::Asked{.endpoint = call.route.endpoint(),
                          .body = call.body.text(),
                          .forbidden = call.forbids_migration});
}

std::optional<continuation::Known> Seam::known() const {
  return story_ ? std::optional<continuation::Known>(story_->known()) : std::nullopt;
}

bool Seam::prepare(Mode mode, std::string& body) {
  if (!story_) {
    return true;
  }
  if (moves_ == 0) {
    mode_ = mode;
    body = story_->first_body(mode_);
    return true;
  }
  std::string nothing;
  std::optional<continuation::Way> const way = way_for(story_->known(), mode);
  bool const is_spent = way && continuation::is_spent(story_->known(), *way);
  auto next = is_spent ? std::nullopt : story_->next(mode, nothing);
  if (!next) {
    return false;
  }
  mode_ = mode;
  body = std::move(next->body);
  return true;
}

continuation::Received Seam::receive(std::string_view payload, std::string& out) {
  return causes_.noted(is_holding() ? held_leg_->receive_old(payload, out)
                                    : story_->receive(payload, out));
}

continuation::Received Seam::leg_ended(std::string& out) {
  return causes_.noted(is_holding() ? held_leg_->old_ended(out) : story_->leg_ended(out));
}

Seam::Going Seam::go_on(Call const& call, std::string_view reason, Refused limit,
                        std::string& out) {
  causes_.set_reason(reason);
  if (!story_->known().is_unproven) {
    causes_.set_cause(reason);
  }
  if (reason == kStall || reason == kGone || reason == kHandOff) {
    // The end was not sent by a worker. If only [DONE] was missing, the answer is whole with it.
    if (story_->leg_ended(out).progress == continuation::Progress::done) {
      return Going::finished;
    }
  }
  causes_.set_why_not(story_->refused());
  if (!why_not().empty()) {
    return Going::refused;
  }
  auto const next = story_->next(call.modes.best(story_->known()), out);
  if (next && next->finished) {
    return Going::finished;
  }
  if (!next || limit != Refused::no) {
    causes_.set_why_not(continuation::label(limit != Refused::no ? limit : Refused::worker_cannot));
    return Going::refused;
  }
  ++moves_;
  return Going::on;
}

std::optional<std::string> Seam::warming_body(Mode mode) {
  if (story_ && !held_leg_) {
    held_leg_ = std::make_unique<continuation::HeldLeg>(*story_);
  }
  return held_leg_ ? held_leg_->warm(mode) : std::nullopt;
}

std::optional<std::string> Seam::cut(Mode mode) {
  std::optional<std::string> body = held_leg_ ? held_leg_->cut(mode) : std::nullopt;
  if (!body) {
    return std::nullopt;
  }
  if (!has_memory_for([&] { story_->begin_leg(mode); })) {
    std::string nothing;  // nothing has been held yet
    held_leg_->release(nothing);
    return std::nullopt;
  }
  mode_ = mode;
  ++moves_;
  return body;
}

bool Seam::is_holding() const {
  return held_leg_ && held_leg_->state() == continuation::HeldLegState::holding;
}

continuation::Received Seam::receive_next(std::string_view payload, std::string& out) {
  continuation::Received const received = causes_.noted(held_leg_->receive_new(payload, out));
  if (!is_holding()) {
    held_leg_.reset();  // it is over, and another hand-off begins anew
  }
  return received;
}

continuation::Received Seam::release(std::string& out) {
  return causes_.noted(held_leg_->release(out));
}

void Seam::give_up(Refused why) {
  causes_.set_why_not(continuation::label(why));
}

std::size_t Seam::capacity() const {
  return story_ ? story_->held() : 0;
}

bool Seam::forget() {
  return story_ && !is_holding() && story_->forget();
}

std::uint64_t tokens_of(Seam const& seam, Call const& call) {
  constexpr std::size_t kBytesAToken = 4;
  std::uint64_t const guess = call.body.text().size() / kBytesAToken;
  std::optional<continuation::Known> const known = seam.known();
  return known
             ? known->transcript.prompt_count().value_or(guess) + known->transcript.count().about()
             : guess;
}

}  // namespace lastcall::router
