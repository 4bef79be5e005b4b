// Client: what an engine uses of lastcall.
//
// Rules:
//  1. Without a socket (LASTCALL_SOCKET unset) everything works and nothing is sent: an engine runs
//     unchanged outside of a pod.
//  2. With one, the engine never waits for the supervisor and never fails because of it, except
//     where it asked to be admitted; and even then it starts after 1 s without a supervisor.
//  3. The client connects for ever. After each connect it announces its endpoints and its live
//     requests again, so that a restart of the supervisor loses nothing.
//  4. What waits for a supervisor that does not read is that announcement, whatever its length, and
//     at most 1 MiB after it: beyond that the connection is given up, and the announcement of the
//     next one takes its place.
//  5. A forked child's copy of a client sends nothing, for ever; the child makes one of its own.
//     Exec inherits no descriptor.
//
// Thread rule: every method from any thread, but process() from one at a time, and none from a
// signal handler. Callbacks run on the client's thread, or in process(): they must not block and
// not throw. While one runs nothing reaches the supervisor; after a second of it the log reports
// that as soon as another thread has something to send. C++17. Source: docs/ipc.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lastcall/request_context.hpp>
#include <lastcall/words.hpp>

namespace lastcall {

namespace sdk {
class Session;
}  // namespace sdk

struct ClientOptions {
  /// Shown to operators; the program's name unless given. Its end is kept when it is too long.
  std::string name;
  /// Path instead of $LASTCALL_SOCKET; empty: no socket.
  std::optional<std::string> socket;
  /// The engine is dead when this process is: its end while serving is fatal.
  bool critical = false;
  /// An exception that is not caught, and std::terminate() without one, are reported as fatal
  /// before the process ends, with what() and the stack; the terminate handler that was there when
  /// the client was made runs afterwards. false: they are not.
  bool report_uncaught = true;
  /// false: no thread is made, and the program's event loop calls process() (see there).
  bool own_thread = true;
  /// Gets what went wrong, in one line each, from any thread; standard error unless given.
  std::function<void(std::string const&)> log;
};

struct RequestOptions {
  /// 1 to 256 bytes, unique among the live requests of this process; a random one unless given.
  std::string id;
  std::string endpoint;
  std::string model;
  /// The answer comes in parts (true) or whole (false), for metrics; absent: not given.
  std::optional<bool> stream;
  /// The user's request that sub-requests share; the parent's unless given.
  std::string root;
  /// Passes its root on, and its cancels too.
  std::optional<RequestContext> parent;
  /// A parent that is another process's.
  std::string parent_id;
  /// 0, the most urgent, to 7: its place among those that wait for admission, where the supervisor
  /// heeds priorities.
  std::uint8_t priority = 3;
  /// The X-Lastcall-Way of the HTTP request that this is, 0 where it has none: then an id that a
  /// client of the ingress has chosen is not taken for this one. Absent: ids alone decide.
  std::optional<std::uint64_t> way = std::nullopt;
};

/// The result of a request to be admitted.
struct Admission {
  /// Admitted, or there was no supervisor to ask. Otherwise the request is over.
  bool may_run = false;
  /// Set when it was refused; absent when it was cancelled while it waited.
  std::optional<Refusal> refusal;
  std::optional<std::chrono::milliseconds> retry_after;
};

/// Thrown by begin_admitted(): refused, or cancelled while it waited.
class NotAdmitted : public std::runtime_error {
 public:
  NotAdmitted(std::string const& id, Admission admission);
  Admission const& admission() const { return admission_; }

 private:
  Admission admission_;
};

/// One data-parallel rank's load; what is absent is unknown. Good for some seconds: repeat it.
struct Load {
  std::uint64_t dp_rank = 0;
  std::optional<std::uint64_t> active_decode_blocks;
  std::optional<std::uint64_t> kv_total_blocks;
  std::optional<std::uint64_t> active_prefill_tokens;
};

struct HealthAnswer {
  Health status = Health::healthy;
  std::string detail;
};

class Client {
 public:
  /// Starts to connect and returns at once. std::invalid_argument: a socket's path is too long.
  /// std::system_error: the system gives no descriptor or thread.
  explicit Client(ClientOptions options = {});
  /// As close() with 500 ms. Contexts may outlive their client.
  ~Client();
  Client(Client const&) = delete;
  Client& operator=(Client const&) = delete;

  /// There is a socket to talk to; otherwise all of it is a no-op.
  bool is_enabled() const;
  /// A supervisor is there and has welcomed this client.
  bool is_connected() const;
  /// The last phase that a supervisor reported; absent before the first.
  std::optional<Phase> phase() const;
  /// New work will be refused or is likely to be cut.
  bool is_draining() const;
  /// Until the stop under way has to be over; absent without one.
  std::optional<std::chrono::milliseconds> time_left() const;
  /// Sends what is queued, at most for `at_most`, and disconnects for good. No callback runs when
  /// it returns. In a callback it may be called too: with a thread of the client's own it returns
  /// at once, and a later close(), or the end of the client, on another thread waits for that one.
  void close(std::chrono::milliseconds at_most = std::chrono::milliseconds(500));

  /// `graceful_shutdown`: a drain waits for its requests; otherwise they are handed off.
  void register_endpoint(std::string name, bool graceful_shutdown = true, std::string model = {});
  void unregister_endpoint(std::string const& name);

  /// A request has begun; context.end() ends it. std::invalid_argument: an id, a name or a priority
  /// that is not valid, or an id that is live already.
  RequestContext begin(RequestOptions options = {});
  /// As begin(), but the supervisor is asked first: `decided` is called once, at once or later.
  RequestContext begin_admitted(
      RequestOptions options, std::function<void(RequestContext const&, Admission const&)> decided);
  /// The same, and blocks until that is decided; throws NotAdmitted. std::logic_error: the client
  /// has no thread of its own, or this is a callback on it, so that no thread would receive the
  /// answer.
  RequestContext begin_admitted(RequestOptions options);

  std::optional<RequestContext> find(std::string_view id) const;
  std::vector<RequestContext> live() const;
  std::size_t in_flight() const;
  /// Cancel own live requests, all of a root; the results are for how many it was news.
  std::size_t stop_root(std::string_view root, Reason reason = Reason::control);
  std::size_t kill_root(std::string_view root, Reason reason = Reason::control);

  void report_load(Load const& load);
  /// Unasked; on_health() answers what is asked.
  void report_health(Health status, std::string detail = {});
  /// The engine cannot go on: the supervisor begins a fatal stop. Ready with true when it has
  /// acknowledged, with false when it cannot: no socket, or closed before. The first report counts.
  std::shared_future<bool> report_fatal(std::string reason, std::string detail = {});

  /// The engine does not outlive this child process: an end of any kind but with 0 or by TERM is
  /// fatal, and with `any_end` every end. It is not reaped; an end that the program itself reaps
  /// before it could be read counts with `any_end` only. Ends are not reported once the supervisor
  /// cleans up. One thread is made at the first call, whatever `own_thread` says.
  /// std::invalid_argument: not the id of a process. std::system_error: it cannot be watched.
  void watch_child(int pid, std::string name = {}, bool any_end = false);
  /// False: it is not watched (any more).
  bool forget_child(int pid);
#ifdef __cpp_exceptions
  /// Calls the function and returns its result. An exception that leaves it is reported as fatal,
  /// and goes on: for loops that keep the engine alive, where something catches it (such as a
  /// future). NotAdmitted is not a failure.
  template <typename Function>
  decltype(auto) guard(std::string const& name, Function&& function) {
    try {
      return std::forward<Function>(function)();
    } catch (NotAdmitted const&) {
      throw;
    } catch (...) {
      failed_with_exception(name);
      throw;
    }
  }
#endif

  using Done = std::function<void()>;
  /// Each sets the one callback of its kind. `done` may be called later and from any thread.
  /// Answers the supervisor's `ipc` health check; without one the process answers that it is there.
  void on_health(std::function<HealthAnswer()> callback);
  /// Free what outlives the process, within `left`; nothing is in flight any more.
  void on_cleanup(std::function<void(std::chrono::milliseconds left, Done done)> callback);
  /// Leave the registries that this process joined by itself.
  void on_deregister(std::function<void(Done done)> callback);
  void on_phase(std::function<void(Phase)> callback);

  /// For an event loop, with `own_thread` off: poll this descriptor for reading, and nothing else;
  /// it stays the same for the client's life. -1: there is no socket. Call process() when it is
  /// readable; it never blocks, and a call too many does no harm.
  int native_handle() const;
  void process();

 private:
  void failed_with_exception(std::string const& name);

  std::shared_ptr<sdk::Session> session_;
};

/// Ends a request with the block that holds this: with `error` when an exception leaves it, else as
/// RequestContext::end().
class RequestScope {
 public:
  explicit RequestScope(RequestContext context);
  ~RequestScope();
  RequestScope(RequestScope const&) = delete;
  RequestScope& operator=(RequestScope const&) = delete;

  RequestContext const& context() const { return context_; }
  RequestContext const* operator->() const { return &context_; }

 private:
  RequestContext context_;
  int exceptions_;
};

}  // namespace lastcall
