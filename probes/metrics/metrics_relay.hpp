// The engine's own metrics through our listener.
//
//   /metrics/engine   the engine's exposition, unchanged; 502 or 504 if there is none
//   /metrics          ours, followed by the engine's if `merge` is set
//
// Rules:
//  1. Our own metrics are sent within `timeout`, whatever the engine does; they show whether the
//     engine's are included (lastcall_engine_metrics_up).
//  2. The engine is asked for the format that the scraper accepts, but without compression.
//  3. A URL that leads back to ourselves is reported as such and fetched only once: a fetch is
//     marked, and a marked request makes no further fetch.
//
// Thread rule: answer() on the listener's thread; `own_text` and `report_up` are called under a
// lock, from there or from the thread of the fetches. Source: docs/metrics.md, "The engine's own".
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "probes/checks/engine_text.hpp"
#include "probes/listener/listener.hpp"

namespace lastcall::probes {

struct MetricsRelaySettings {
  std::string engine_url;  // empty: none is known
  bool merge = false;
  Duration timeout{5'000};
};

class MetricsRelay {
 public:
  MetricsRelay(MetricsRelaySettings settings, std::function<std::string()> own_text,
               std::function<void(bool)> report_up);
  ~MetricsRelay();

  /// False if the path is not one of these; then nothing was answered.
  bool answer(Request const& request, Responder const& responder);

 private:
  enum class Origin { scraper, ourselves, another };

  Origin origin_of(Request const& request) const;
  void relay(Request const& request, Responder const& responder);
  void merge(Request const& request, Responder const& responder);
  Reply merged(EngineText::Answer const& answer);
  Duration bound(Request const& request) const;

  MetricsRelaySettings const settings_;
  std::function<std::string()> own_text_;
  std::function<void(bool)> report_up_;
  std::string const mark_;  // marks our fetches
  std::mutex mutex_;
  std::unique_ptr<EngineText> engine_;  // last: its thread ends first
};

}  // namespace lastcall::probes
