#include "sdk/cpp/session.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include <errno.h>

#include "sdk/cpp/clipped.hpp"
#include "sdk/cpp/fork_watch.hpp"

namespace lastcall::sdk {
namespace {

std::unique_ptr<Connection> connection_for(ClientOptions const& options) {
  char const* const given = std::getenv("LASTCALL_SOCKET");
  std::string path = options.socket.value_or(given == nullptr ? "" : given);
  return path.empty() ? nullptr : std::make_unique<Connection>(std::move(path));
}

std::uint8_t checked_priority(std::uint8_t priority) {
  if (priority >= lifecycle::kPriorities) {
    throw std::invalid_argument("cannot use the priority " + std::to_string(priority) +
                                ": expected 0 to " + std::to_string(lifecycle::kPriorities - 1));
  }
  return priority;
}

}  // namespace

Session::Session(ClientOptions options)
    : options_(std::move(options)),
      hello_{.role = ipc::Role::engine,
             .name = clipped(options_.name.empty() ? program_invocation_short_name : options_.name),
             .sdk = "cpp/" LASTCALL_VERSION,
             .critical = options_.critical},
      connection_(connection_for(options_)),
      outbox_(connection_.get()) {
  watch_forks(*this);
}

Session::~Session() {
  unwatch_forks(*this);
  if (has_thread_ && !is_joined_ && !is_detached()) {
    ::pthread_detach(thread_);  // a callback has closed and destroyed the client
  }
}

void Session::abandon_in_child() {
  if (connection_) {
    connection_->abandon();
  }
}

RequestContext Session::begin(RequestOptions options, Decided decided) {
  std::string id = options.id.empty() ? random_id() : checked_id(std::move(options.id));
  std::string parent = std::move(options.parent_id);
  if (options.parent) {
    parent = options.parent->id();
    if (options.root.empty()) {
      options.root = options.parent->root();
    }
  }
  std::string root = options.root.empty() ? id : checked_id(std::move(options.root), "root");
  auto const context =
      std::make_shared<ContextState>(std::move(id), std::move(root), shared_from_this());
  Entry entry{.context = context,
              .endpoint = options.endpoint.empty()
                              ? std::string()
                              : checked_id(std::move(options.endpoint), "endpoint"),
              .model = clipped(std::move(options.model)),
              .parent = parent.empty() ? std::string() : checked_id(std::move(parent), "parent"),
              .stream = options.stream,
              .priority = checked_priority(options.priority),
              .way = options.way,
              .waiting = {}};
  if (is_detached() && decided) {
    decided(Handles::of(context), {.may_run = true});
  }
  lock_.locked([&](Later& later) { ledger_.begin(std::move(entry), std::move(decided), later); });
  if (options.parent) {  // a parent that was cancelled cancels the wait, too
    options.parent->link_child(Handles::of(context));
  }
  return Handles::of(context);
}

std::optional<RequestContext> Session::find(std::string_view id) {
  std::optional<RequestContext> found;
  lock_.locked([&](Later&) {
    if (Entry const* const entry = ledger_.find(id); entry != nullptr) {
      found = Handles::of(entry->context);
    }
  });
  return found;
}

std::vector<RequestContext> Session::live() {
  std::vector<ContextPtr> states;
  lock_.locked([&](Later&) { states = ledger_.live(); });
  std::vector<RequestContext> all;
  all.reserve(states.size());
  for (ContextPtr& state : states) {
    all.push_back(Handles::of(std::move(state)));
  }
  return all;
}

std::size_t Session::in_flight() {
  std::size_t size = 0;
  lock_.locked([&](Later&) { size = ledger_.size(); });
  return size;
}

void Session::send(ipc::ToSupervisor const& message) {
  lock_.locked([&](Later&) { outbox_.send(message); });
}

// --- Owner

void Session::raised(std::span<ContextPtr const> contexts, Notified const& notified) {
  lock_.locked([&](Later& later) { ledger_.raised(contexts, notified, later); });
}

void Session::ended(ContextPtr const& context, Outcome outcome) {
  lock_.locked([&](Later& later) { ledger_.ended(*context, outcome, later); });
}

void Session::confirmed(ContextPtr const& context) {
  lock_.locked([&](Later&) { ledger_.confirmed(*context); });
}

void Session::progress(ContextState& context) {
  // In the common case, a second token within the interval, no lock is taken.
  if (!context.moved.load(std::memory_order_relaxed)) {
    lock_.locked([&](Later&) { ledger_.progress(context); });
  }
}

}  // namespace lastcall::sdk
