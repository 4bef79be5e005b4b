#include "sdk/cpp/requests.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include "sdk/cpp/clipped.hpp"
#include "sdk/cpp/request_ids.hpp"

namespace lastcall::sdk {
namespace {

std::uint8_t checked_priority(std::uint8_t priority) {
  if (priority >= lifecycle::kPriorities) {
    throw std::invalid_argument("cannot use the priority " + std::to_string(priority) +
                                ": expected 0 to " + std::to_string(lifecycle::kPriorities - 1));
  }
  return priority;
}

}  // namespace

RequestContext Requests::begin(RequestOptions options, Decided decided,
                               std::shared_ptr<Owner> self) {
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
      std::make_shared<ContextState>(std::move(id), std::move(root), std::move(self));
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
  if (lock_.is_detached() && decided) {
    decided(Handles::of(context), {.may_run = true});
  }
  lock_.locked([&](Later& later) { ledger_.begin(std::move(entry), std::move(decided), later); });
  if (options.parent) {  // a parent that was cancelled cancels the wait, too
    options.parent->link_child(Handles::of(context));
  }
  return Handles::of(context);
}

std::optional<RequestContext> Requests::find(std::string_view id) {
  std::optional<RequestContext> found;
  lock_.locked([&](Later&) {
    if (Entry const* const entry = ledger_.find(id); entry != nullptr) {
      found = Handles::of(entry->context);
    }
  });
  return found;
}

std::vector<RequestContext> Requests::live() {
  std::vector<ContextPtr> states;
  lock_.locked([&](Later&) { states = ledger_.live(); });
  std::vector<RequestContext> all;
  all.reserve(states.size());
  for (ContextPtr& state : states) {
    all.push_back(Handles::of(std::move(state)));
  }
  return all;
}

std::size_t Requests::in_flight() {
  std::size_t size = 0;
  lock_.locked([&](Later&) { size = ledger_.size(); });
  return size;
}

// --- from the supervisor

void Requests::admitted(ipc::Admitted const& message) {
  lock_.locked([&](Later& later) { ledger_.admitted(message.id, later); });
}

void Requests::rejected(ipc::Rejected const& message) {
  lock_.locked([&](Later& later) { ledger_.rejected(message, later); });
}

void Requests::cancel(ipc::CancelBatch const& message) {
  std::vector<ContextPtr> contexts;
  lock_.locked([&](Later&) {
    for (std::string const& id : message.ids) {
      if (Entry const* const entry = ledger_.find(id); entry != nullptr) {
        contexts.push_back(entry->context);  // otherwise it has ended meanwhile
      }
    }
  });
  Notified const notified(message.ids.begin(), message.ids.end());
  Level const level = message.mode == ipc::CancelMode::kill ? Level::killed : Level::stopped;
  for (ContextPtr const& context : contexts) {
    context->raise(level, static_cast<Reason>(message.reason), std::nullopt, notified);
  }
}

// --- Owner

void Requests::raised(std::span<ContextPtr const> contexts, Notified const& notified) {
  lock_.locked([&](Later& later) { ledger_.raised(contexts, notified, later); });
}

void Requests::ended(ContextPtr const& context, Outcome outcome) {
  lock_.locked([&](Later& later) { ledger_.ended(*context, outcome, later); });
}

void Requests::confirmed(ContextPtr const& context) {
  lock_.locked([&](Later&) { ledger_.confirmed(*context); });
}

void Requests::progress(ContextState& context) {
  // In the common case, a second token within the interval, no lock is taken.
  if (!context.moved.load(std::memory_order_relaxed)) {
    lock_.locked([&](Later&) { ledger_.progress(context); });
  }
}

}  // namespace lastcall::sdk
