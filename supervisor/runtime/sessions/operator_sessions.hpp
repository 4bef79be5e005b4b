// The operators on the admin socket: their questions, drains and watches.
//
// Rules:
//  1. A question without a `seq` is answered with a `status` line, so that it can be typed on a
//     terminal.
//  2. A watch gets a line at each change, but at most one per kWatchPause, and one per requested
//     interval. Without a watch no timer runs.
//  3. An impossible order is refused with a code and a reason, never ignored.
//  4. Each order leaves one record: its sender (uid and pid as the kernel reports them, or the
//     address of an HTTP call), the order, and its outcome, including refusals. Questions leave
//     none.
//
// Thread rule: the loop's thread. Source: docs/ipc.md.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/event.hpp"
#include "ipc/server.hpp"
#include "supervisor/runtime/loop/event_sink.hpp"
#include "telemetry/log.hpp"

namespace boost::asio {
class io_context;
}

namespace lastcall::runtime {

inline constexpr lifecycle::Duration kWatchPause{500};

class OperatorSessions {
 public:
  /// The reason of a refusal, or the result as JSON text.
  struct ReloadAnswer {
    std::optional<std::string> refusal;
    std::string result;
  };
  struct Answers {
    std::function<ipc::Welcome()> welcome;
    std::function<std::string()> status;
    /// The page is reported in this call or soon; it is absent if `after` is not a cursor.
    std::function<void(std::string const& after, std::size_t limit,
                       std::function<void(std::optional<std::string>)> report)>
        requests;
    std::function<ReloadAnswer()> reload;
    /// Each answers with the current state.
    std::function<std::string(ipc::AdmissionSet const&)> set_admission;
    std::function<std::string(ipc::ThresholdsSet const&)> set_thresholds;
    /// Receives each order, with its sender and outcome, as a sentence.
    std::function<void(std::string text)> noted;
  };

  OperatorSessions(boost::asio::io_context& io, ipc::Server& server, EventSink& events,
                   telemetry::Log& log, Answers answers);
  ~OperatorSessions();

  void hello(ipc::PeerId peer, ipc::Hello&& hello);
  void message(ipc::PeerId peer, ipc::ToSupervisor&& message, ipc::Seq seq);
  void disconnected(ipc::PeerId peer);

  /// The result of an order that did not arrive on the socket.
  struct Outcome {
    std::optional<std::string> refusal;
    bool has_changed = false;
  };
  /// Carries out an order and leaves its record; `caller` is an address.
  Outcome order_from_afar(std::string const& caller, std::string const& command,
                          lifecycle::Event const& event);

  /// Called when the watched state has changed.
  void changed();
  /// Sends a last line to each watch at once, because connections are about to be closed.
  void end();
  std::size_t count() const { return watches_.size(); }

 private:
  struct Timer;
  /// The state of a watching peer: the time of its last line, and its interval.
  struct Watch {
    bool is_on = false;
    bool is_stale = false;
    lifecycle::Instant notified_at{};
    std::optional<lifecycle::Duration> interval;
  };

  void drain(ipc::PeerId peer, ipc::Drain const& drain, ipc::Seq seq);
  void requests(ipc::PeerId peer, ipc::RequestsQuery const& query, ipc::Seq seq);
  void cancel(ipc::PeerId peer, ipc::Cancel&& cancel, ipc::Seq seq);
  void reload(ipc::PeerId peer, ipc::Seq seq);
  /// The result of an order, as it is recorded.
  struct Effect {
    std::string word;
    std::string detail;
  };
  Effect answer(ipc::PeerId peer, ipc::Seq seq, StepReply const& reply);
  Effect effect_of(StepReply const& reply) const;
  void record(ipc::PeerId peer, std::string const& command, Effect const& effect);
  void send_status(ipc::PeerId peer);
  static std::optional<lifecycle::Instant> due(Watch const& watch);
  void serve_watches();

  ipc::Server& server_;
  EventSink& events_;
  telemetry::Log& log_;
  Answers answers_;
  std::map<ipc::PeerId, Watch> watches_;  // all operators that are connected
  std::unique_ptr<Timer> timer_;
  std::optional<lifecycle::Instant> armed_for_;
};

}  // namespace lastcall::runtime
