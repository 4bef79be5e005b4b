#include "ingress/worker_pool.hpp"

#include <utility>
#include <variant>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace lastcall::ingress {
namespace {

/// Serials of two workers are never the same.
constexpr unsigned kSerialBits = 48;

}  // namespace

WorkerPool::WorkerPool(boost::asio::io_context& io, Options const& options, unsigned threads,
                       Tracker& tracker)
    : io_(io),
      tracker_(tracker),
      memory_(options.max_buffer_memory),
      listener_(io, {options.max_connections, options.max_connections_per_address},
                {.take = [this](Accepted accepted) { take(std::move(accepted)); },
                 .refused = [&tracker](relay::Refusal const& refusal) { tracker.refused(refusal); },
                 .shed = [&tracker](Scarce what) { tracker.shed(what); },
                 .slow = [&tracker](std::string_view kind,
                                    Poller::Duration took) { tracker.slow_turn(kind, took); }}) {
  for (std::size_t seat = 0; seat < threads; ++seat) {
    std::uint64_t const first_serial = static_cast<std::uint64_t>(seat) << kSerialBits;
    seats_.push_back({std::make_unique<Worker>(options, Worker::Shared{ids_, memory_}, first_serial,
                                               mail_of(seat))});
  }
}

WorkerPool::~WorkerPool() {
  *alive_ = false;
}

std::string WorkerPool::start() {
  std::string problem;
  for (std::size_t i = 0; i < seats_.size() && problem.empty(); ++i) {
    problem = seats_[i].worker->start(static_cast<unsigned>(i));
  }
  return problem;
}

Worker::Mail WorkerPool::mail_of(std::size_t seat) {
  return [this, seat, alive = alive_](report::Batch batch) {
    boost::asio::post(io_, [this, seat, alive, batch = std::move(batch)] {
      for (std::size_t i = 0; *alive && i < batch.size(); ++i) {
        std::visit([&](auto const& reported) { receive(seat, reported); }, batch[i]);
      }
    });
  };
}

/// The client goes to the worker that has the fewest, because connections are kept, and stay with
/// the worker that they begin with.
void WorkerPool::take(Accepted accepted) {
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
  seats_[chosen].worker->adopt(std::move(accepted));
}

// --- orders --------------------------------------------------------------------------------------

void WorkerPool::order(Order const& order) {
  for (Seat const& seat : seats_) {
    seat.worker->order(order);
  }
}

std::uint64_t WorkerPool::serial_of(std::string_view id) const {
  auto const found = live_.find(std::string(id));
  return found == live_.end() ? 0 : found->second.serial;
}

Worker* WorkerPool::worker_of(Request const& request) const {
  auto const found = live_.find(request.id);
  bool const is_it = found != live_.end() && found->second.serial == request.serial;
  return is_it ? seats_[found->second.seat].worker.get() : nullptr;
}

void WorkerPool::admitted(Request const& request) {
  if (Worker* const worker = worker_of(request)) {
    worker->order([request](Proxy& proxy) { proxy.admitted(request); });
  }
}

void WorkerPool::rejected(Request const& request, relay::Refusal const& refusal) {
  if (Worker* const worker = worker_of(request)) {
    live_.erase(request.id);  // no end of it will be reported
    worker->order([request, refusal](Proxy& proxy) { proxy.rejected(request, refusal); });
  }
}

void WorkerPool::cut(Request const& request, relay::Refusal const& refusal, bool at_once) {
  if (Worker* const worker = worker_of(request)) {
    worker->order(
        [request, refusal, at_once](Proxy& proxy) { proxy.cut(request, refusal, at_once); });
  }
}

/// The change is mailed, so that a worker first receives what the core has cut because of the
/// engine's end, and only then that this end is known.
void WorkerPool::engine_changed() {
  // This runs after the turn that carries out the decisions made until now.
  boost::asio::post(io_, [this, alive = alive_] {
    if (*alive) {
      notify_engine();
    }
  });
}

void WorkerPool::notify_engine() {
  bool const may_be_gone = tracker_.engine_may_be_gone();
  bool const may_be_dying = tracker_.engine_may_be_dying();
  bool const was_gone = std::exchange(engine_may_be_gone_, may_be_gone);
  bool const was_dying = std::exchange(engine_may_be_dying_, may_be_dying);
  if (was_gone != may_be_gone || was_dying != may_be_dying) {
    for (Seat const& seat : seats_) {
      seat.worker->engine_changed(may_be_gone, may_be_dying);
    }
  }
}

void WorkerPool::after_orders(std::function<void()> then) {
  ask([then = std::move(then)](bool) { then(); });
}

bool WorkerPool::is_flushed() {
  bool const was_flushed = std::exchange(is_flushed_, false);
  if (!was_flushed && !std::exchange(is_asking_, true)) {
    ask([this](bool is_flushed) {
      is_asking_ = false;
      is_flushed_ = is_flushed;
    });
  }
  return was_flushed;
}

void WorkerPool::ask(std::function<void(bool is_flushed)> const& answered) {
  struct Question {
    std::size_t left = 0;
    bool is_flushed = true;
  };
  auto const question = std::make_shared<Question>(Question{seats_.size()});
  for (Seat const& seat : seats_) {
    // The function is copied and called only on the loop's thread; the worker just carries it.
    seat.worker->ask([this, alive = alive_, question, answered](bool is_flushed) {
      boost::asio::post(io_, [alive, question, answered, is_flushed] {
        question->is_flushed = question->is_flushed && is_flushed;
        if (--question->left == 0 && *alive) {
          answered(question->is_flushed);
        }
      });
    });
  }
}

// --- what workers report -------------------------------------------------------------------------

void WorkerPool::receive(std::size_t seat, report::Begun const& reported) {
  live_.insert_or_assign(reported.id, Live{seat, reported.serial});
  Admission const admission = tracker_.begin({.id = reported.id,
                                              .serial = reported.serial,
                                              .endpoint = reported.endpoint,
                                              .model = reported.model,
                                              .streaming = reported.streaming,
                                              .priority = reported.priority,
                                              .parent = reported.parent,
                                              .way = reported.way});
  switch (admission.kind) {
    case Admission::Kind::admitted:
      admitted({reported.id, reported.serial});
      return;
    case Admission::Kind::waits:
      return;
    case Admission::Kind::refused:
      rejected({reported.id, reported.serial}, admission.refusal);
      return;
  }
}

void WorkerPool::receive(std::size_t, report::FirstByte const& reported) {
  if (live_.contains(reported.id)) {
    tracker_.first_byte(reported.id, reported.endpoint, reported.model, reported.took);
  }
}

void WorkerPool::receive(std::size_t, report::Moved const& reported) {
  if (live_.contains(reported.id)) {
    tracker_.moved(reported.id);
  }
}

void WorkerPool::receive(std::size_t, report::ClientGone const& reported) {
  if (live_.contains(reported.id)) {
    tracker_.client_gone(reported.id, reported.mode);
  }
}

void WorkerPool::receive(std::size_t, report::Ended const& reported) {
  if (live_.erase(reported.id) > 0) {
    tracker_.ended(reported.id, reported.outcome);
  }
}

void WorkerPool::receive(std::size_t, report::HandedOff const& reported) {
  tracker_.handed_off({.id = reported.id,
                       .endpoint = reported.endpoint,
                       .model = reported.model,
                       .reason = reported.reason,
                       .events = reported.events,
                       .bytes = reported.bytes});
}

void WorkerPool::receive(std::size_t, report::EventGap const& reported) {
  tracker_.event_gap(reported.endpoint, reported.took);
}

void WorkerPool::receive(std::size_t, report::ErrorHeld const&) {
  tracker_.error_held();
}

void WorkerPool::receive(std::size_t, report::Evicted const& reported) {
  tracker_.evicted(reported.what);
}

void WorkerPool::receive(std::size_t, report::Shed const& reported) {
  tracker_.shed(reported.what);
}

void WorkerPool::receive(std::size_t, relay::Refusal const& reported) {
  tracker_.refused(reported);
}

void WorkerPool::receive(std::size_t, report::GreetingFailed const& reported) {
  tracker_.greeting_failed({reported.why, reported.address});
}

void WorkerPool::receive(std::size_t, report::ControlCalled const& reported) {
  tracker_.control_called({.is_granted = reported.is_granted,
                           .is_open = reported.is_open,
                           .rest = reported.rest,
                           .certificate = reported.certificate,
                           .method = reported.method,
                           .path = reported.path,
                           .address = reported.address});
}

void WorkerPool::receive(std::size_t, report::SlowTurn const& reported) {
  tracker_.slow_turn(reported.kind, reported.took);
}

void WorkerPool::receive(std::size_t number, report::Connections const& reported) {
  Seat& seat = seats_[number];
  std::size_t const on_their_way = seat.given - reported.adopted;
  for (std::size_t const now = reported.clients + on_their_way; seat.clients > now;) {
    --seat.clients;
    listener_.client_left();
  }
  seat.adopted = reported.clients;
  seat.upstream = reported.upstream;
  std::size_t clients = 0;
  std::size_t upstream = 0;
  for (Seat const& one : seats_) {
    clients += one.adopted;
    upstream += one.upstream;
  }
  tracker_.connections(clients, upstream);
}

}  // namespace lastcall::ingress
