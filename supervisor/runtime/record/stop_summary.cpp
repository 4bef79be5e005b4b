#include "supervisor/runtime/record/stop_summary.hpp"

#include <string>

namespace lastcall::runtime {
namespace {

using lifecycle::name;
using lifecycle::PhaseOutcome;
using lifecycle::to_ms;

bool is_good(PhaseOutcome outcome) {
  return outcome == PhaseOutcome::completed || outcome == PhaseOutcome::skipped;
}

std::string phase_text(char const* phase, lifecycle::PhaseRecord const& record) {
  return std::string("; ") + phase + " " + std::string(name(record.outcome)) + " in " +
         std::to_string(to_ms(record.elapsed)) + " ms";
}

}  // namespace

discovery::KubernetesSummary summarize(lifecycle::Report const& report, bool engine_has_ended) {
  std::string text = std::string(name(report.mode)) + " stop: " + report.cause;
  text += phase_text("deregistering", report.deregistering);
  text += phase_text("draining", report.draining);
  text += "; requests:";
  for (std::size_t i = 0; i < report.requests.size(); ++i) {
    text += std::string(i == 0 ? " " : ", ") + std::to_string(report.requests[i]) + " " +
            std::string(lifecycle::vocabulary::kWordsOf<lifecycle::Outcome>[i]);
  }
  if (report.source == lifecycle::InFlightSource::unknown) {
    text += "; in flight unknown";
    if (report.unseen.value_or(0) > 0) {
      text += ", " + std::to_string(*report.unseen) + " before the supervisor was restarted";
    }
  }
  if (report.in_flight_at_end) {
    text += "; " + std::to_string(*report.in_flight_at_end) + " in flight at the end of the drain";
  }
  if (engine_has_ended || report.mode == lifecycle::StopMode::fatal) {
    text += "; exit code " + std::to_string(report.exit_code);
  }
  bool const is_warning = report.mode == lifecycle::StopMode::fatal ||
                          !is_good(report.deregistering.outcome) ||
                          !is_good(report.draining.outcome);
  return {is_warning, std::move(text)};
}

}  // namespace lastcall::runtime
