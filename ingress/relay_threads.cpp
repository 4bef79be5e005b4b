#include "ingress/relay_threads.hpp"

#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace lastcall::ingress {
namespace {

/// Serials of two threads are never the same.
constexpr unsigned kSerialBits = 48;

}  // namespace

RelayThreads::RelayThreads(boost::asio::io_context& io, Options const& options, unsigned threads,
                           Tracker& tracker)
    : io_(io),
      tracker_(tracker),
      memory_(options.max_buffer_memory),
      listener_(io, {options.max_connections, options.max_connections_per_address},
                {.take = [this](Accepted accepted) { crew_.adopt(std::move(accepted)); },
                 .refused = [&tracker](relay::Refusal const& refusal) { tracker.refused(refusal); },
                 .shed = [&tracker](Scarce what) { tracker.shed(what); },
                 .slow = [&tracker](std::string_view kind,
                                    Poller::Duration took) { tracker.slow_turn(kind, took); }}),
      reader_(tracker, known_,
              {.decided = [this](Request const& request,
                                 Admission const& admission) { decided(request, admission); },
               .connections =
                   [this](std::size_t seat, report::Connections const& reported) {
                     connections(seat, reported);
                   }}) {
  for (std::size_t seat = 0; seat < threads; ++seat) {
    std::uint64_t const first_serial = static_cast<std::uint64_t>(seat) << kSerialBits;
    crew_.add(std::make_unique<RelayThread>(options, RelayThread::Shared{ids_, memory_},
                                            first_serial, mail_of(seat)));
  }
}

RelayThreads::~RelayThreads() {
  *alive_ = false;
}

std::string RelayThreads::start() {
  std::string problem;
  for (std::size_t i = 0; i < crew_.size() && problem.empty(); ++i) {
    problem = crew_.thread(i).start(static_cast<unsigned>(i));
  }
  return problem;
}

ReportMailer::Mail RelayThreads::mail_of(std::size_t seat) {
  return [this, seat, alive = alive_](report::Batch batch) {
    boost::asio::post(io_, [this, seat, alive, batch = std::move(batch)] {
      for (std::size_t i = 0; *alive && i < batch.size(); ++i) {
        batch[i](reader_, seat);
      }
    });
  };
}

// --- orders --------------------------------------------------------------------------------------

void RelayThreads::order(Order const& order) {
  for (std::size_t seat = 0; seat < crew_.size(); ++seat) {
    crew_.thread(seat).order(order);
  }
}

std::uint64_t RelayThreads::serial_of(std::string_view id) const {
  auto const found = known_.find(std::string(id));
  return found ? found->serial : 0;
}

RelayThread* RelayThreads::thread_of(Request const& request) const {
  auto const found = known_.find(request.id);
  return found && found->serial == request.serial ? &crew_.thread(found->seat) : nullptr;
}

void RelayThreads::admitted(Request const& request) {
  if (RelayThread* const thread = thread_of(request)) {
    thread->order([request](Proxy& proxy) { proxy.admitted(request); });
  }
}

void RelayThreads::rejected(Request const& request, relay::Refusal const& refusal) {
  if (RelayThread* const thread = thread_of(request)) {
    known_.end(request.id);  // no end of it will be reported
    thread->order([request, refusal](Proxy& proxy) { proxy.rejected(request, refusal); });
  }
}

void RelayThreads::cut(Request const& request, relay::Refusal const& refusal, bool at_once) {
  if (RelayThread* const thread = thread_of(request)) {
    thread->order(
        [request, refusal, at_once](Proxy& proxy) { proxy.cut(request, refusal, at_once); });
  }
}

/// The change is mailed, so that a thread first receives what the core has cut because of the
/// engine's end, and only then that this end is known.
void RelayThreads::engine_changed() {
  // This runs after the turn that carries out the decisions made until now.
  boost::asio::post(io_, [this, alive = alive_] {
    if (!*alive) {
      return;
    }
    EngineDoubt const engine{tracker_.engine_may_be_gone(), tracker_.engine_may_be_dying()};
    if (std::exchange(engine_, engine) == engine) {
      return;
    }
    for (std::size_t seat = 0; seat < crew_.size(); ++seat) {
      crew_.thread(seat).engine_changed(engine);
    }
  });
}

void RelayThreads::after_orders(std::function<void()> then) {
  ask([then = std::move(then)](bool) { then(); });
}

bool RelayThreads::is_flushed() {
  bool const was_flushed = std::exchange(is_flushed_, false);
  if (!was_flushed && !std::exchange(is_asking_, true)) {
    ask([this](bool is_flushed) {
      is_asking_ = false;
      is_flushed_ = is_flushed;
    });
  }
  return was_flushed;
}

void RelayThreads::ask(std::function<void(bool is_flushed)> const& answered) {
  struct Question {
    std::size_t left = 0;
    bool is_flushed = true;
  };
  auto const question = std::make_shared<Question>(Question{crew_.size()});
  for (std::size_t seat = 0; seat < crew_.size(); ++seat) {
    // The function is copied and called only on the loop's thread; the other just carries it.
    crew_.thread(seat).ask([this, alive = alive_, question, answered](bool is_flushed) {
      boost::asio::post(io_, [alive, question, answered, is_flushed] {
        question->is_flushed = question->is_flushed && is_flushed;
        if (--question->left == 0 && *alive) {
          answered(question->is_flushed);
        }
      });
    });
  }
}

// --- what the threads report ---------------------------------------------------------------------

void RelayThreads::decided(Request const& request, Admission const& admission) {
  switch (admission.kind) {
    case Admission::Kind::admitted:
      admitted(request);
      return;
    case Admission::Kind::waits:
      return;
    case Admission::Kind::refused:
      rejected(request, admission.refusal);
      return;
  }
}

void RelayThreads::connections(std::size_t seat, report::Connections const& reported) {
  for (std::size_t left = crew_.update(seat, reported); left > 0; --left) {
    listener_.client_left();
  }
  Crew::Totals const totals = crew_.totals();
  tracker_.connections(totals.clients, totals.upstream);
}

}  // namespace lastcall::ingress
