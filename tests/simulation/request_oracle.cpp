// The checker's own table of requests: maps and nothing clever, to be compared with the ledger.
#include <algorithm>

#include "tests/simulation/invariants.hpp"

namespace lastcall::simulation {

using namespace lifecycle;

namespace {

template <typename T>
std::size_t count_of(std::span<Action const> actions) {
  return static_cast<std::size_t>(std::count_if(
      actions.begin(), actions.end(), [](auto const& a) { return std::holds_alternative<T>(a); }));
}

}  // namespace

std::size_t RequestOracle::graceful_in_flight() const {
  std::size_t count = 0;
  for (auto const& [key, live] : live_) {
    auto const found = graceful_.find({key.first, live.endpoint});
    count += found == graceful_.end() || found->second ? 1 : 0;
  }
  return count;
}

void RequestOracle::remove(std::map<Key, Live>::iterator entry) {
  settled_now_ += entry->second.counted ? 1 : 0;
  live_.erase(entry);
}

void RequestOracle::lose(PeerId peer) {
  for (auto it = live_.begin(); it != live_.end();) {
    auto const current = it++;
    if (current->first.first == peer) {
      bool const has_run =
          current->second.stands == Stands::place || current->second.stands == Stands::part;
      lost_ += current->second.counted && has_run ? 1 : 0;
      remove(current);
    }
  }
  lost_at_.erase(peer);
}

/// The live request of that id: its own peer's, or of the last peer that has one, or the relayed.
RequestOracle::Live const* RequestOracle::named(PeerId peer, std::string const& id) const {
  Live const* found = nullptr;
  for (auto const& [key, live] : live_) {
    if (key.second == id && key.first == peer) {
      return &live;
    }
    if (key.second == id && (key.first != kIngressPeer || found == nullptr)) {
      found = &live;
    }
  }
  return found;
}

/// What it is a part of: the parent that it names, else the relayed request of its id or root.
RequestOracle::Live const* RequestOracle::whole_of(RequestBegun const& begun) const {
  Live const* const parent = named(begun.peer, begun.parent);
  if (parent != nullptr || begun.peer == kIngressPeer) {
    return parent;
  }
  auto relayed = live_.find({kIngressPeer, begun.id});
  if (relayed == live_.end() && !begun.root.empty()) {
    relayed = live_.find({kIngressPeer, begun.root});
  }
  return relayed == live_.end() ? nullptr : &relayed->second;
}

/// It belongs to what was cut a moment ago, and is counted with that.
bool RequestOracle::is_late(StepView const& step, RequestBegun const& begun) const {
  Live const* const root = begun.root == begun.id ? nullptr : named(begun.peer, begun.root);
  bool is_wanted = false;
  step.core.requests().for_each(
      [&](RequestView const& view) {
        auto const found = live_.find({view.peer, std::string(view.id)});
        is_wanted = is_wanted || (root != nullptr && found != live_.end() &&
                                  &found->second == root && view.state == RequestState::live);
      },
      step.core.endpoints());
  auto const known = [&](std::string const& id) {
    auto const found = cut_.find(id);
    return found == cut_.end() || step.now >= found->second.until ? nullptr : &found->second;
  };
  auto const* own = known(begun.id);
  return begun.peer != kIngressPeer && whole_of(begun) == nullptr && !is_wanted &&
         ((own != nullptr && own->relayed) ||
          (begun.parent != begun.id && known(begun.parent) != nullptr) ||
          (begun.root != begun.id && known(begun.root) != nullptr));
}

void RequestOracle::apply_begin(StepView const& step, RequestBegun const& begun) {
  bool const rejected = was_rejected(step, begun.peer, begun.id);
  settled_now_ += rejected ? 1 : 0;
  if (peers_.contains(begun.peer) && !exited_) {
    sources_.insert(begun.peer);
  }
  if (rejected || count_of<Refuse>(step.actions) > 0) {
    return;
  }
  Live live{.endpoint = begun.endpoint,
            .counted = true,
            .delivered = {},
            .asked = begun.admit,
            .arrived = step.now,
            .priority = begun.priority,
            .order = arrivals_++};
  if (begun.resumed || begun.admit) {
    // Its entry of a connection that went away, the last one, moves here.
    auto orphan = live_.end();
    for (auto it = live_.begin(); it != live_.end(); ++it) {
      if (it->first.second == begun.id && !peers_.contains(it->first.first)) {
        orphan = it;
      }
    }
    if (orphan != live_.end() && (begun.resumed || orphan->second.asked)) {
      live.counted = orphan->second.counted;
      live.asked = orphan->second.asked;
      live.stands = orphan->second.stands;
      live_.erase(orphan);
      live_[{begun.peer, begun.id}] = live;
      return;
    }
  }
  live.counted = whole_of(begun) == nullptr && !is_late(step, begun);
  live.stands = stands_of(step, begun);
  live_[{begun.peer, begun.id}] = live;
}

void RequestOracle::apply(StepView const& step, Phase before) {
  exited_ = before == Phase::exited;
  if (auto const* connected = std::get_if<PeerConnected>(&step.event)) {
    peers_.insert(connected->peer);
    if (connected->critical && connected->watched) {
      keeps_watching_.insert(connected->peer);
    }
  } else if (auto const* endpoint = std::get_if<EndpointRegistered>(&step.event)) {
    graceful_[{endpoint->peer, endpoint->endpoint}] = endpoint->graceful;
    if (endpoint->peer != kIngressPeer) {  // which is a source once it relayed something
      sources_.insert(endpoint->peer);
    }
  } else if (auto const* gone = std::get_if<PeerDisconnected>(&step.event)) {
    if (peers_.erase(gone->peer) > 0) {
      lost_at_[gone->peer] = step.now + step.core.settings().reconnect_window;
    }
    for (auto it = live_.begin(); it != live_.end();) {
      auto const current = it++;
      bool const has_run =
          current->second.stands == Stands::place || current->second.stands == Stands::part;
      if (current->first.first == gone->peer && !has_run) {
        remove(current);  // a waiter hangs up with its connection
      }
    }
  } else if (auto const* died = std::get_if<PeerGone>(&step.event)) {
    source_died_ = source_died_ || sources_.contains(died->peer);
    lose(died->peer);
    peers_.erase(died->peer);
    sources_.erase(died->peer);
  } else if (auto const* begun = std::get_if<RequestBegun>(&step.event)) {
    apply_begin(step, *begun);
  } else if (auto const* load = std::get_if<LoadReported>(&step.event)) {
    ranks_told_load_ = ranks_told_load_ || load->peer;
  } else if (auto const* ended = std::get_if<RequestEnded>(&step.event)) {
    if (auto const found = live_.find({ended->peer, ended->id}); found != live_.end()) {
      remove(found);
    }
  }
  for (auto it = lost_at_.begin(); it != lost_at_.end();) {
    auto const [peer, at] = *it++;
    if (step.now >= at) {
      lose(peer);
      if (!keeps_watching_.contains(peer)) {
        sources_.erase(peer);
      }
    }
  }
  for (Action const& action : step.actions) {
    auto const* begins = std::get_if<PhaseBegun>(&action);
    if (begins != nullptr && begins->phase == Phase::exited) {
      while (!live_.empty()) {
        remove(live_.begin());
      }
      exited_ = true;
    }
  }
}

std::string RequestOracle::check_delivered(StepView const& step) {
  for (Delivered const& cancel : step.delivered) {
    auto const found = live_.find({cancel.peer, cancel.id});
    if (found == live_.end()) {
      return "a cancel was sent for '" + cancel.id + "', which is not in flight";
    }
    Live& live = found->second;
    if (live.delivered && *live.delivered >= cancel.mode) {
      return "the cancel of '" + cancel.id + "' was sent twice in the same or a lower mode";
    }
    live.delivered = cancel.mode;
    auto const flag = graceful_.find({cancel.peer, live.endpoint});
    bool const graceful = flag == graceful_.end() || flag->second;
    if (cancel.reason == CancelReason::migrate && graceful) {
      return "'" + cancel.id + "' of a graceful endpoint was cancelled to migrate";
    }
  }
  return {};
}

std::string RequestOracle::check(StepView const& step, Phase before, Duration) {
  settled_now_ = 0;
  std::string wrong;
  if (auto const* begun = std::get_if<RequestBegun>(&step.event)) {
    wrong = check_arrival(step, *begun);
  }
  was_silent_ = step.after.silent;
  apply(step, before);
  if (wrong.empty() && !exited_) {
    wrong = check_answers(step, before);
  }
  if (wrong.empty()) {
    wrong = check_admission(step);
  }
  if (!wrong.empty()) {
    return wrong;
  }
  if (live_.size() != step.core.requests().in_flight()) {
    return "in flight are " + std::to_string(live_.size()) + ", the core says " +
           std::to_string(step.core.requests().in_flight());
  }
  if (auto const announced = count_of<RequestSettled>(step.actions); announced != settled_now_) {
    return std::to_string(settled_now_) + " requests ended in this step, " +
           std::to_string(announced) + " were counted";
  }
  if (step.core.endpoints().ungraceful_in_flight() != live_.size() - graceful_in_flight()) {
    return "the core's number of requests on endpoints that are not graceful is wrong";
  }
  cut_.clear();
  step.core.cut_requests().for_each(step.now,
                                    [&](std::string_view id, Cut const& cut, Instant until) {
                                      cut_[std::string(id)] = {cut.relayed, until};
                                    });
  return check_delivered(step);
}

}  // namespace lastcall::simulation
