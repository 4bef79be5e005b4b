// Peers that send anything, in any order: the real codec, sessions and core; sockets and log are
// fakes that take their place at the linker. An input is lines:
//   N TEXT   peer N (0 to 3) says TEXT; the first that it says must be a hello
//   x N      its connection ends        k N   its process ends        t   half a second passes
//   o TEXT   an operator says TEXT, if it is a cancel
// Checked after each: what is answered can be encoded; a cancel reaches only its own peer and only
// requests in flight; each request that began is in flight or has ended once. When all processes
// have ended nothing is in flight.
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "core/lifecycle.hpp"
#include "ipc/codec.hpp"
#include "ipc/server.hpp"
#include "supervisor/runtime/sessions/sdk_sessions.hpp"
#include "supervisor/runtime/sessions/shim_session.hpp"
#include "telemetry/log.hpp"
#include "tests/fuzz/work.hpp"

using lastcall::fuzz::require;

// --- what takes the place of sockets and log -----------------------------------------------------

namespace lastcall::ipc {

class Server::Impl {
 public:
  std::map<PeerId, PeerInfo> peers;
  std::set<PeerId> ready;

  void say(FromSupervisor const& message, Seq seq) {
    std::string line;
    require(encode(message, seq, line));
  }
};

Server::~Server() = default;
Server::Server(boost::asio::io_context&, ServerOptions, Observer&)
    : impl_(std::make_shared<Impl>()) {}
void Server::welcome(PeerId, Welcome const& welcome) {
  impl_->say(welcome, std::nullopt);
}
void Server::send(PeerId, FromSupervisor const& message) {
  impl_->say(message, std::nullopt);
}
void Server::ack(PeerId, Seq seq, std::string_view) {
  if (seq) {
    impl_->say(Ack{*seq, {}}, std::nullopt);
  }
}
void Server::error(PeerId, Seq seq, ErrorCode code, std::string_view message) {
  impl_->say(Error{seq, code, std::string(message)}, std::nullopt);
}
void Server::cancels_ready(PeerId peer) {
  impl_->ready.insert(peer);
}
void Server::forget(PeerId peer) {
  impl_->peers.erase(peer);
  impl_->ready.erase(peer);
}
PeerInfo const* Server::info(PeerId peer) const {
  auto const found = impl_->peers.find(peer);
  return found == impl_->peers.end() ? nullptr : &found->second;
}

}  // namespace lastcall::ipc

namespace lastcall::telemetry {

struct Log::Sink {};
Log::Log(LogLevel, LogFormat, int) {}
Log::~Log() = default;
void Log::write(LogLevel, std::string_view, Fields) {}

}  // namespace lastcall::telemetry

namespace lastcall::runtime {

ipc::Welcome welcome_of(lifecycle::Lifecycle const&) {
  return {};
}

}  // namespace lastcall::runtime

// --- the world -----------------------------------------------------------------------------------

namespace {

using namespace lastcall;
using namespace lastcall::lifecycle;
using runtime::StepReply;

constexpr int kMostLines = 256;

/// Steps the core and obeys what concerns peers.
class World : public runtime::EventSink {
 public:
  World()
      : core_(Settings{}),
        log_(telemetry::LogLevel::error, telemetry::LogFormat::json, 2),
        server_(no_loop(), {}, observer_),
        sessions_(server_, core_, *this, log_) {
    sessions_.listen({.joined = [](auto) {},
                      .health = [](auto, auto const&) {},
                      .registered = [](auto) {},
                      .deregistered = [](auto) {},
                      .left = [](auto) {},
                      .request_began = [](auto) {},
                      .own_mark = [] { return std::string("m"); }});
    feed(SupervisorStarted{});
    feed(ShimHello{.boot = "b", .engine = EngineState::running});
  }

  StepReply const& feed(Event const& event) override {
    reply_ = {};
    std::vector<PeerId> forgotten;
    for (Action const& action : core_.step(now_, event)) {
      if (auto const* const refuse = std::get_if<Refuse>(&action)) {
        reply_.refusal = *refuse;
      } else if (std::holds_alternative<RequestSettled>(action)) {
        ++settled_;
      } else if (auto const* const cancels = std::get_if<CancelsReady>(&action)) {
        server_.cancels_ready(cancels->peer);
        ready_.insert(cancels->peer);
      } else if (auto const* const forget = std::get_if<ForgetPeer>(&action)) {
        forgotten.push_back(forget->peer);
      }
    }
    for (PeerId const peer : forgotten) {
      sessions_.forget(peer);
    }
    return reply_;
  }

  void line(std::string_view text) {
    if (text.empty()) {
      return;
    }
    char const what = text.front();
    text.remove_prefix(text.size() > 1 ? 2 : 1);
    if (what >= '0' && what <= '3') {
      says(static_cast<std::size_t>(what - '0'), text);
    } else if (what == 'o') {
      operator_says(text);
    } else if (what == 't') {
      now_ += Duration{500};
      feed(TimerExpired{});
    } else if ((what == 'x' || what == 'k') && !text.empty()) {
      end(static_cast<std::size_t>(text.front() - '0') % 4, what == 'k');
    }
    take_cancels();
    check();
  }

  void finish() {
    for (std::size_t number = 0; number < 4; ++number) {
      end(number, true);
    }
    // A peer that only lost its connection may come back for a while.
    now_ += Duration{60'000};
    for (int i = 0; i < 100 && core_.next_deadline().value_or(now_ + Duration{1}) <= now_; ++i) {
      feed(TimerExpired{});
    }
    check();
    if (core_.snapshot().phase != Phase::exited) {
      require(core_.requests().in_flight() == 0 && core_.requests().roots_begun() == settled_);
    }
  }

 private:
  /// The fake server never calls these parts, or never runs on them.
  class Nobody : public ipc::Observer {
    void hello(PeerId, ipc::Hello&&) override {}
    void message(PeerId, ipc::ToSupervisor&&, ipc::Seq) override {}
    void disconnected(PeerId, std::string_view) override {}
    void process_gone(PeerId) override {}
    std::size_t next_cancels(PeerId, ipc::CancelBatch&) override { return 0; }
    void trouble(std::string_view) override {}
    void error_sent(ipc::ErrorCode) override {}
    void peer_dropped(ipc::Drop) override {}
  };
  static boost::asio::io_context& no_loop() {
    static std::max_align_t nothing;
    void* const place = &nothing;
    return *static_cast<boost::asio::io_context*>(place);
  }

  void says(std::size_t number, std::string_view text) {
    auto decoded = ipc::decode_to_supervisor(text.substr(0, ipc::kMaxLine));
    auto* const incoming = std::get_if<ipc::Incoming<ipc::ToSupervisor>>(&decoded);
    if (incoming == nullptr) {
      return;
    }
    auto* const hello = std::get_if<ipc::Hello>(&incoming->message);
    auto const known = connected_.find(number);
    if (known == connected_.end()) {
      if (hello != nullptr && hello->role == ipc::Role::engine) {
        PeerId const peer = ++last_peer_;
        connected_[number] = peer;
        sessions_.hello(peer, std::move(*hello));
      }
    } else if (hello == nullptr && ipc::may_send(ipc::Role::engine, incoming->message)) {
      sessions_.message(known->second, std::move(incoming->message), incoming->seq);
    }
  }

  void operator_says(std::string_view text) {
    auto decoded = ipc::decode_to_supervisor(text);
    if (auto* const incoming = std::get_if<ipc::Incoming<ipc::ToSupervisor>>(&decoded)) {
      if (auto* const cancel = std::get_if<ipc::Cancel>(&incoming->message)) {
        feed(CancelRequested{std::nullopt, std::move(cancel->ids), std::move(cancel->root),
                             cancel->mode, cancel->reason});
      }
    }
  }

  void end(std::size_t number, bool with_process) {
    auto const known = connected_.find(number);
    if (known == connected_.end()) {
      return;
    }
    PeerId const peer = known->second;
    connected_.erase(known);
    sessions_.disconnected(peer, "closed by the peer");
    if (with_process) {
      sessions_.process_gone(peer);
      require(core_.requests().of_peer(peer) == 0);
    }
  }

  void take_cancels() {
    for (PeerId const peer : std::exchange(ready_, {})) {
      ipc::CancelBatch batch;
      while (sessions_.next_cancels(peer, batch) > 0) {
        for (std::string const& id : batch.ids) {
          require(core_.requests().owns(peer, id));
        }
        batch = {};
      }
    }
  }

  void check() const {
    RequestLedger const& requests = core_.requests();
    require(settled_ <= requests.roots_begun());
    require(requests.roots_begun() <= settled_ + requests.in_flight());
    require(requests.roots_in_flight() <= requests.in_flight());
    require(requests.unconfirmed() <= requests.in_flight());
  }

  Lifecycle core_;
  telemetry::Log log_;
  Nobody observer_;
  ipc::Server server_;
  runtime::SdkSessions sessions_;
  Instant now_ = instant_from_ms(1'000);
  StepReply reply_;
  std::map<std::size_t, PeerId> connected_;
  std::set<PeerId> ready_;
  PeerId last_peer_ = 0;
  std::uint64_t settled_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  lastcall::fuzz::BoundedWork const work(size, {.a_byte = 500, .besides = 200'000});
  std::string_view rest(reinterpret_cast<char const*>(data), size);
  World world;
  for (int count = 0; count < kMostLines && !rest.empty(); ++count) {
    std::size_t const end = std::min(rest.find('\n'), rest.size());
    world.line(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  world.finish();
  return 0;
}
