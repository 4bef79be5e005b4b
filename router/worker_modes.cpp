#include "router/worker_modes.hpp"

#include <optional>

namespace lastcall::router {

using continuation::Mode;
using continuation::Way;

Mode WorkerModes::of(Worker const& worker) const {
  if (are_plain) {
    return Mode::none;
  }
  switch (by) {
    case MigrateBy::probe:
      return worker.found(endpoint).value_or(Mode::text);
    case MigrateBy::off:
      return Mode::none;
    case MigrateBy::text:
      return Mode::text;
    case MigrateBy::vllm_ids:
      return Mode::ids_vllm;
    case MigrateBy::sglang_ids:
      return Mode::ids_sglang;
  }
  return Mode::none;
}

Mode WorkerModes::best(continuation::Known const& known) const {
  if (are_plain || by == MigrateBy::off) {
    return Mode::none;
  }
  if (by == MigrateBy::sglang_ids) {
    return Mode::ids_sglang;
  }
  bool const by_ids = by == MigrateBy::vllm_ids ||
                      (by == MigrateBy::probe && way_for(known, Mode::ids_vllm) == Way::by_ids);
  return by_ids ? Mode::ids_vllm : Mode::text;
}

Fit WorkerModes::fit(continuation::Known const& known, Worker const& worker) const {
  std::optional<Way> const way = way_for(known, of(worker));
  if (!way || is_spent(known, *way)) {
    return Fit::no;
  }
  bool const is_known = by != MigrateBy::probe || worker.found(endpoint);
  return *way != Way::by_text ? Fit::best : is_known ? Fit::yes : Fit::perhaps;
}

}  // namespace lastcall::router
