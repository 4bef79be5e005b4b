// Client: lastcall's interface for an engine.
//
// Rules:
//  1. Without a socket (LASTCALL_SOCKET is unset), everything works and nothing is sent: an engine
//     runs unchanged outside of a pod.
//  2. With a socket, the engine never waits for the supervisor and never fails because of it. The
//     exception is a requested admission; and even then, a request starts after 1 s without a
//     supervisor, or 2 s without an answer.
//  3. The client always reconnects. After each connect it announces its endpoints and its live
//     requests again, so that a restart of the supervisor loses nothing.
//  4. If a supervisor does not read, that announcement is kept, whatever its length, and at most 1
//     MiB after it. Beyond that the connection is closed, and the announcement on the next
//     connection replaces what was lost.
//  5. A forked child's copy of a client never sends anything; the child makes one of its own. No
//     descriptor is inherited by exec.
//
// Thread rule: every method from any thread, except process(), which only one thread at a time may
// call; no method from a signal handler. Callbacks run on the client's thread, or in process();
// they must neither block nor throw. While a callback runs, nothing reaches the supervisor; if it
// takes longer than a second, the log reports that as soon as another thread has something to send.
// C++17. Source: docs/ipc.md.
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
  /// The name that operators see; by default the program's name. If it is too long, its end is
  /// kept.
  std::string name;
  /// A path to use instead of $LASTCALL_SOCKET; empty means no socket.
  std::optional<std::string> socket;
  /// The engine cannot work without this process, so its end while serving is fatal.
  bool critical = false;
  /// If true, an exception that is not caught, and std::terminate() without one, are reported as
  /// fatal before the process ends, with what() and the stack. The terminate handler that was set
  /// before the client's construction runs afterwards; when the last client is closed it is set
  /// again. If false, they are not reported.
  bool report_uncaught = true;
  /// If false, no thread is made, and the program's event loop calls process() (see there).
  bool own_thread = true;
  /// Receives problems, in one line each, from any thread; by default they go to standard error.
  std::function<void(std::string const&)> log;
};

struct RequestOptions {
  /// The request's id: 1 to 256 bytes, unique among the live requests of this process; by default a
  /// random one.
  std::string id;
  std::string endpoint;
  std::string model;
  /// Whether the answer is a stream, for metrics; absent if unknown.
  std::optional<bool> stream;
  /// The id of the user's request that sub-requests share; by default the parent's.
  std::string root;
  /// The parent in this process; it passes on its root and its cancels.
  std::optional<RequestContext> parent;
  /// The id of a parent in another process.
  std::string parent_id;
  /// From 0, the most urgent, to 7: the priority among the requests that wait for admission, if the
  /// supervisor uses priorities.
  std::uint8_t priority = 3;
  /// The X-Lastcall-Way of this HTTP request, or 0 if it has none, so that an id that a client of
  /// the ingress has chosen is not mistaken for this request. If absent, requests are matched by
  /// their ids.
  std::optional<std::uint64_t> way = std::nullopt;
};

/// The result of a request for admission.
struct Admission {
  /// True if the request was admitted, or if there was no supervisor. If false, the request is
  /// over.
  bool may_run = false;
  /// Set if the request was refused; absent if it was cancelled while it waited.
  std::optional<Refusal> refusal;
  std::optional<std::chrono::milliseconds> retry_after;
};

/// Thrown by begin_admitted() if the request was refused, or cancelled while it waited.
class NotAdmitted : public std::runtime_error {
 public:
  NotAdmitted(std::string const& id, Admission admission);
  Admission const& admission() const { return admission_; }

 private:
  Admission admission_;
};

/// The load of one data-parallel rank; absent figures are unknown. A report is valid for a few
/// seconds and must be repeated.
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
  /// Starts to connect and returns at once. Throws std::invalid_argument if a socket's path is too
  /// long or contains a zero byte, and std::system_error if there is no descriptor or thread.
  explicit Client(ClientOptions options = {});
  /// Does the same as close() with 500 ms. Contexts may outlive their client.
  ~Client();
  Client(Client const&) = delete;
  Client& operator=(Client const&) = delete;

  /// Whether there is a socket; without one, every call does nothing.
  bool is_enabled() const;
  /// Whether a supervisor has welcomed this client.
  bool is_connected() const;
  /// The last phase that a supervisor reported; absent before the first report.
  std::optional<Phase> phase() const;
  /// Whether new work will be refused, or is likely to be cut.
  bool is_draining() const;
  /// The time until the deadline of the stop under way; absent if there is none.
  std::optional<std::chrono::milliseconds> time_left() const;
  /// Sends what is queued, for at most `at_most`, and disconnects for good. No callback runs after
  /// it has returned. It may also be called in a callback: if the client has a thread of its own,
  /// the call then returns at once, and a later close() or destruction of the client on another
  /// thread waits until the client's thread has ended.
  void close(std::chrono::milliseconds at_most = std::chrono::milliseconds(500));

  /// `graceful_shutdown` means that a drain waits for the endpoint's requests; otherwise they are
  /// handed off.
  void register_endpoint(std::string name, bool graceful_shutdown = true, std::string model = {});
  void unregister_endpoint(std::string const& name);

  /// A request has begun; context.end() ends it. Throws std::invalid_argument if an id, a name or a
  /// priority is not valid, or if the id is live already.
  RequestContext begin(RequestOptions options = {});
  /// Does the same as begin(), but requests admission first: `decided` is called once, at once or
  /// later.
  RequestContext begin_admitted(
      RequestOptions options, std::function<void(RequestContext const&, Admission const&)> decided);
  /// Does the same, but blocks until that is decided; throws NotAdmitted. Throws std::logic_error
  /// if no thread would receive the answer: because the client has no thread of its own, or because
  /// this is a callback on it. Without a socket that is the same, although there is no wait.
  RequestContext begin_admitted(RequestOptions options);

  std::optional<RequestContext> find(std::string_view id) const;
  std::vector<RequestContext> live() const;
  std::size_t in_flight() const;
  /// Cancel the client's own live requests, or all of a root. The result is the number of requests
  /// that the call cancelled.
  std::size_t stop_root(std::string_view root, Reason reason = Reason::control);
  std::size_t kill_root(std::string_view root, Reason reason = Reason::control);

  void report_load(Load const& load);
  /// Reports health on the program's own initiative; on_health() answers the supervisor's
  /// questions.
  void report_health(Health status, std::string detail = {});
  /// Reports that the engine cannot continue: the supervisor begins a fatal stop. The future
  /// becomes ready with true when the supervisor has acknowledged the report, and with false if it
  /// cannot, because there is no socket or the client was closed before. Only the first report
  /// counts.
  std::shared_future<bool> report_fatal(std::string reason, std::string detail = {});

  /// Watches a child process without which the engine cannot work: an end with anything but exit
  /// code 0 or TERM is fatal, and with `any_end` every end is. The child is not reaped. If the
  /// program itself reaps the child before its status could be read, the end counts only with
  /// `any_end`. Ends are not reported once the supervisor cleans up. The first call makes one
  /// thread, whatever the value of `own_thread`. Throws std::invalid_argument if the number is not
  /// the id of a process, and std::system_error if the process cannot be watched.
  void watch_child(int pid, std::string name = {}, bool any_end = false);
  /// Returns false if the process is not watched (any more).
  bool forget_child(int pid);
#ifdef __cpp_exceptions
  /// Calls the function and returns its result. An exception that leaves it is reported as fatal
  /// and rethrown. This is for loops that keep the engine alive and whose exceptions are caught
  /// (for example by a future). NotAdmitted is not a failure.
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
  /// Each of these sets the one callback of its kind. `done` may be called later and from any
  /// thread.
  /// Answers the supervisor's `ipc` health check; without this callback the process answers that it
  /// is alive.
  void on_health(std::function<HealthAnswer()> callback);
  /// Frees resources that outlive the process, within `left`. No request is in flight any more.
  void on_cleanup(std::function<void(std::chrono::milliseconds left, Done done)> callback);
  /// Leaves the registries that this process itself joined.
  void on_deregister(std::function<void(Done done)> callback);
  void on_phase(std::function<void(Phase)> callback);

  /// For an event loop, with `own_thread` set to false: poll this descriptor for reading, and do
  /// nothing else with it. It stays the same for the client's life; it is -1 if there is no socket.
  /// Call process() when it is readable; process() never blocks, and an extra call is harmless.
  int native_handle() const;
  void process();

 private:
  void failed_with_exception(std::string const& name);

  std::shared_ptr<sdk::Session> session_;
};

/// Ends a request at the end of a block: with `error` if an exception leaves the block, otherwise
/// in the same way as RequestContext::end().
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
