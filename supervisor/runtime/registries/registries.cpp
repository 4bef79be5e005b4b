#include "supervisor/runtime/registries/registries.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "discovery/instance.hpp"
#include "supervisor/runtime/registries/registry_factory.hpp"

namespace lastcall::runtime {
namespace {

using discovery::RegistryState;
using discovery::RegistryStatus;

/// The time that is reserved for a disconnect when a removal is waited for first.
constexpr lifecycle::Duration kFarewell{50};

}  // namespace

Registries::Registries(boost::asio::any_io_executor executor, config::Config const& config,
                       std::optional<std::string> const& advertise, EventSink& events,
                       telemetry::Log& log, Callbacks const& callbacks)
    : executor_(executor),
      events_(events),
      log_(log),
      on_change_(callbacks.on_change),
      set_(std::move(executor), [this](RegistryStatus const& status) { changed(status); }) {
  discovery::Instance const instance = instance_of(config, advertise);
  for (config::Registry const& registry : config.discovery) {
    add(registry, instance, callbacks);
  }
  if (asks_sdks_unnamed(config)) {
    std::string name = "ipc";
    while (std::find(names_.begin(), names_.end(), name) != names_.end()) {
      name += "-sdk";
    }
    set_.add(name,
             sdks_.make(executor_, callbacks.ask_self_registering, callbacks.peers_expected_until));
    names_.push_back(name);
    sdks_.set_unnamed(std::move(name));
  }
  begin_life();
}

void Registries::add(config::Registry const& registry, discovery::Instance const& instance,
                     Callbacks const& callbacks) {
  std::string const& name = registry.name;  // the configuration ensures that names differ
  if (std::holds_alternative<config::IpcRegistry>(registry.kind)) {
    set_.add(name, sdks_.make(executor_, callbacks.ask_peers, callbacks.peers_expected_until));
  } else {
    auto made = make_registry(executor_, registry, instance, callbacks.hooks);
    if (made.registry == nullptr) {
      problem_ = "registry '" + name + "': " + made.problem;
      return;
    }
    if (!made.warning.empty()) {
      log_.warning("registry '" + name + "': " + made.warning);
    }
    named_.push_back(made.registry.get());
    set_.add(name, std::move(made.registry));
  }
  names_.push_back(name);
}

void Registries::warn(std::string const& reason, std::string const& text) {
  for (discovery::Registry* const registry : named_) {
    registry->warn(reason, text);
  }
}

void Registries::note_self_registering() {
  std::optional<std::string> const shown = sdks_.show_unnamed();
  if (!shown) {
    return;
  }
  for (RegistryStatus const& status : set_.status()) {
    if (status.name == *shown) {
      report(status);
    }
  }
}

std::vector<RegistryStatus> Registries::status() const {
  std::vector<RegistryStatus> all = set_.status();
  std::erase_if(all, [this](RegistryStatus const& status) { return sdks_.is_hidden(status.name); });
  return all;
}

std::vector<std::string> Registries::names() const {
  std::vector<std::string> shown = names_;
  std::erase_if(shown, [this](std::string const& name) { return sdks_.is_hidden(name); });
  return shown;
}

void Registries::register_all() {
  for (RegistryStatus const& status : set_.status()) {
    note_registered(status);  // for those that have nothing to do
  }
  set_.register_all();
}

void Registries::note_registered(RegistryStatus const& status) {
  if (status.state == RegistryState::registered) {
    std::erase(awaited_, status.name);
  }
}

void Registries::deregister(lifecycle::Instant deadline, bool returns) {
  if (deadline <= monotonic_now()) {  // no time was given to wait
    set_.ask_all_to_leave();
    return;
  }
  set_.deregister_all(
      to_steady(deadline),
      [this](std::vector<RegistryStatus> const& results) {
        std::for_each(results.begin(), results.end(),
                      [this](RegistryStatus const& status) { settle(status); });
      },
      returns ? discovery::Leaving::for_a_while : discovery::Leaving::for_good);
}

void Registries::disconnect(lifecycle::Instant deadline, CleanupHooks::Done done) {
  std::vector<RegistryStatus> const now = set_.status();
  bool const is_there = std::any_of(now.begin(), now.end(), [](RegistryStatus const& status) {
    return status.state == RegistryState::deregistering || status.state == RegistryState::failed;
  });
  if (!is_there) {
    disconnect_now(deadline, std::move(done));
    return;
  }
  // A fatal stop does not wait in phase 1, nor does a stop whose registries are asked only once.
  // Here, a removal that is under way is not cut off, and one that failed gets its last try.
  set_.deregister_all(to_steady(deadline - kFarewell),
                      [this, deadline, done = std::move(done)](auto const&) mutable {
                        disconnect_now(deadline, std::move(done));
                      });
}

void Registries::disconnect_now(lifecycle::Instant deadline, CleanupHooks::Done done) {
  set_.disconnect_all(to_steady(deadline),
                      [this, done = std::move(done)](std::vector<RegistryStatus> const& results) {
                        ItemResult result;
                        if (names().empty()) {
                          result.outcome = lifecycle::ItemOutcome::skipped;
                        }
                        for (RegistryStatus const& status : results) {
                          if (!status.last_error.empty() && !sdks_.is_hidden(status.name)) {
                            result.outcome = lifecycle::ItemOutcome::failed;
                            result.detail += (result.detail.empty() ? "" : "; ") + status.name +
                                             ": " + status.last_error;
                          }
                        }
                        done(std::move(result));
                      });
}

void Registries::changed(RegistryStatus const& status) {
  note_registered(status);
  if (!sdks_.is_hidden(status.name)) {
    report(status);
  }
  settle(status);
}

void Registries::report(RegistryStatus const& status) {
  bool const has_failed = !status.last_error.empty() && status.state != RegistryState::registered &&
                          status.state != RegistryState::deregistered;
  log_.write(has_failed ? telemetry::LogLevel::warning : telemetry::LogLevel::info, "registry",
             {{"registry", status.name},
              {"state", discovery::name(status.state)},
              {"attempts", status.attempts},
              {"error", has_failed ? std::optional(status.last_error) : std::nullopt},
              {"note", status.note.empty() ? std::nullopt : std::optional(status.note)},
              {"took_ms", status.latency.count()}});
  on_change_(status);
}

void Registries::settle(RegistryStatus const& status) {
  bool const is_over =
      status.state == RegistryState::deregistered || status.state == RegistryState::failed;
  auto const found = std::find(names_.begin(), names_.end(), status.name);
  if (is_over && found != names_.end()) {
    events_.feed(lifecycle::RegistrySettled{
        .registry = static_cast<std::uint32_t>(found - names_.begin()),
        .confirmed = status.state == RegistryState::deregistered,
        .detail = status.state == RegistryState::failed ? status.last_error : ""});
  }
}

bool Registries::were_all_registered() const {
  return std::all_of(awaited_.begin(), awaited_.end(),
                     [this](std::string const& name) { return sdks_.is_hidden(name); });
}

}  // namespace lastcall::runtime
