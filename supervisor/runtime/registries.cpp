#include "supervisor/runtime/registries.hpp"

#include <algorithm>
#include <utility>

#include "discovery/instance.hpp"
#include "supervisor/runtime/clock.hpp"
#include "supervisor/runtime/registry_factory.hpp"

namespace lastcall::runtime {
namespace {

using discovery::RegistryState;
using discovery::RegistryStatus;

/// What a disconnect keeps of its time when a removal is waited for first.
constexpr lifecycle::Duration kFarewell{50};

}  // namespace

Registries::Registries(boost::asio::any_io_executor executor, config::Config const& config,
                       std::optional<std::string> const& advertise, EventSink& events, Log& log,
                       Callbacks const& callbacks)
    : executor_(executor),
      events_(events),
      log_(log),
      on_change_(callbacks.on_change),
      set_(std::move(executor), [this](RegistryStatus const& status) { changed(status); }) {
  discovery::Instance const instance = instance_of(config, advertise);
  for (config::Registry const& registry : config.discovery) {
    add(registry, instance, callbacks);
  }
}

void Registries::add(config::Registry const& registry, discovery::Instance const& instance,
                     Callbacks const& callbacks) {
  std::string const& name = registry.name;  // the configuration keeps them apart
  if (std::holds_alternative<config::IpcRegistry>(registry.kind)) {
    auto sdk = std::make_unique<discovery::IpcRegistry>(executor_, callbacks.ask_peers,
                                                        callbacks.peers_expected_until);
    sdk_.push_back(sdk.get());
    set_.add(name, std::move(sdk));
  } else {
    auto made = make_registry(executor_, registry, instance, callbacks.hooks);
    if (made.registry == nullptr) {
      problem_ = "registry '" + name + "': " + made.problem;
      return;
    }
    set_.add(name, std::move(made.registry));
  }
  names_.push_back(name);
}

void Registries::register_all() {
  set_.register_all();
}

void Registries::deregister(lifecycle::Instant deadline) {
  set_.deregister_all(to_steady(deadline), [this](std::vector<RegistryStatus> const& results) {
    std::for_each(results.begin(), results.end(),
                  [this](RegistryStatus const& status) { settle(status); });
  });
}

void Registries::disconnect(lifecycle::Instant deadline, CleanupHooks::Done done) {
  std::vector<RegistryStatus> const now = set_.status();
  bool const is_removing = std::any_of(now.begin(), now.end(), [](RegistryStatus const& status) {
    return status.state == RegistryState::deregistering;
  });
  if (!is_removing) {
    disconnect_now(deadline, std::move(done));
    return;
  }
  // A fatal stop does not wait in phase 1; the removal that it began is not cut off here.
  set_.deregister_all(to_steady(deadline - kFarewell),
                      [this, deadline, done = std::move(done)](auto const&) mutable {
                        disconnect_now(deadline, std::move(done));
                      });
}

void Registries::disconnect_now(lifecycle::Instant deadline, CleanupHooks::Done done) {
  set_.disconnect_all(
      to_steady(deadline), [done = std::move(done)](std::vector<RegistryStatus> const& results) {
        ItemResult result;
        for (RegistryStatus const& status : results) {
          if (!status.last_error.empty()) {
            result.outcome = lifecycle::ItemOutcome::failed;
            result.detail +=
                (result.detail.empty() ? "" : "; ") + status.name + ": " + status.last_error;
          }
        }
        done(std::move(result));
      });
}

void Registries::changed(RegistryStatus const& status) {
  bool const has_failed = !status.last_error.empty() && status.state != RegistryState::registered &&
                          status.state != RegistryState::deregistered;
  log_.write(has_failed ? LogLevel::warning : LogLevel::info, "registry",
             {{"registry", status.name},
              {"state", discovery::name(status.state)},
              {"attempts", status.attempts},
              {"error", has_failed ? std::optional(status.last_error) : std::nullopt},
              {"took_ms", status.latency.count()}});
  on_change_(status);
  settle(status);
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

void Registries::peer_joined(ipc::PeerId peer) {
  for (discovery::IpcRegistry* const registry : sdk_) {
    registry->peer_joined(peer);
  }
}

void Registries::peer_done(ipc::PeerId peer) {
  for (discovery::IpcRegistry* const registry : sdk_) {
    registry->peer_done(peer);
  }
}

void Registries::peer_gone(ipc::PeerId peer) {
  for (discovery::IpcRegistry* const registry : sdk_) {
    registry->peer_gone(peer);
  }
}

void Registries::peer_replaced(ipc::PeerId peer) {
  for (discovery::IpcRegistry* const registry : sdk_) {
    registry->peer_replaced(peer);
  }
}

void Registries::peers_may_be_back() {
  for (discovery::IpcRegistry* const registry : sdk_) {
    registry->peers_may_be_back();
  }
}

bool Registries::is_asking_sdks() const {
  return std::any_of(sdk_.begin(), sdk_.end(), [](discovery::IpcRegistry const* registry) {
    return registry->is_deregistering();
  });
}

bool Registries::all_registered() const {
  std::vector<RegistryStatus> const all = set_.status();
  return std::all_of(all.begin(), all.end(), [](RegistryStatus const& status) {
    return status.state == RegistryState::registered;
  });
}

}  // namespace lastcall::runtime
