#include "router/load_control.hpp"

#include <string>
#include <variant>

#include "base/clock.hpp"

namespace lastcall::router {

LoadControl::LoadControl(boost::asio::io_context& io, Parts& parts)
    : parts_(parts),
      loads_(
          io, parts.settings.load, [&parts] { return parts.ids.draw(); },
          {.asks = [&parts](Worker& worker) { parts.fleet.asked(worker, monotonic_time()); },
           .reported = [this](Worker& worker, ReportedLoad const& load) { reported(worker, load); },
           .reported_nothing =
               [&parts](Worker& worker, NoLoad why) {
                 parts.fleet.reported_nothing(worker, why, monotonic_time());
               }}) {}

void LoadControl::configure() {
  parts_.thresholds.configure(parts_.settings.rejection.thresholds, parts_.settings.load.max_age);
  limit_all();
}

void LoadControl::came(std::shared_ptr<Worker> const& worker) {
  parts_.fleet.limit(*worker, parts_.thresholds.of(worker->model()));
  loads_.follow(worker);
}

void LoadControl::left(Worker const& worker) {
  loads_.forget(worker);
  parts_.metrics.worker_left(worker.url());
}

void LoadControl::reported(Worker& worker, ReportedLoad const& load) {
  parts_.fleet.reported(worker, load, monotonic_time());
  parts_.metrics.worker_load(worker.url(), load);
}

void LoadControl::limit_all() {
  for (auto const& worker : parts_.fleet.workers()) {
    parts_.fleet.limit(*worker, parts_.thresholds.of(worker->model()));
  }
}

probes::Reply LoadControl::answer(probes::ThresholdCall const& call) {
  auto const* change = std::get_if<probes::ThresholdChange>(&call);
  if (change == nullptr) {
    return probes::threshold_list(parts_.thresholds.rows(parts_.fleet.models()));
  }
  if (!change->is_read()) {
    if (!parts_.fleet.announces(change->model)) {
      return probes::threshold_error(404, "model: '" + change->model + "' is not served here");
    }
    parts_.log.info("load thresholds set", {{"by", "http"}, {"model", change->model}});
    parts_.thresholds.set(*change);
    limit_all();
  }
  return probes::threshold_reply(parts_.thresholds.row(change->model));
}

}  // namespace lastcall::router
