#include "supervisor/cli/status_view.hpp"

#include <algorithm>
#include <cstdint>
#include <iomanip>
#include <map>
#include <sstream>
#include <utility>

#include <nlohmann/json.hpp>

#include "telemetry/visible_text.hpp"

namespace lastcall::cli {
namespace {

using Json = nlohmann::ordered_json;

Json parse(std::string_view text) {
  return Json::parse(text, nullptr, false);
}

std::string visible(std::string_view text) {
  std::string out;
  runtime::append_visible(out, text);
  return out;
}

/// Only its first line: of a traceback the log has the rest.
std::string text_of(Json const& object, char const* key, std::string fallback = {}) {
  auto const found = object.find(key);
  if (found == object.end() || !found->is_string()) {
    return fallback;
  }
  std::string_view const text = found->get_ref<std::string const&>();
  return visible(text.substr(0, text.find('\n')));
}

std::int64_t number_of(Json const& object, char const* key, std::int64_t fallback = 0) {
  auto const found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<std::int64_t>() : fallback;
}

bool flag_of(Json const& object, char const* key) {
  auto const found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

Json const& child_of(Json const& object, char const* key) {
  static Json const kNone = Json::object();
  auto const found = object.find(key);
  return found != object.end() ? *found : kNone;
}

/// "1.4 s", "2 min 05 s".
std::string duration_text(std::int64_t ms) {
  std::ostringstream out;
  if (ms < 60'000) {
    out << std::fixed << std::setprecision(1) << static_cast<double>(ms) / 1000.0 << " s";
  } else if (ms < 3'600'000) {
    out << ms / 60'000 << " min " << std::setw(2) << std::setfill('0') << ms / 1000 % 60 << " s";
  } else {
    out << ms / 3'600'000 << " h " << std::setw(2) << std::setfill('0') << ms / 60'000 % 60
        << " min";
  }
  return out.str();
}

std::string painted(std::string const& text, bool good, ViewOptions options) {
  return options.color ? (good ? "\033[32m" : "\033[33m") + text + "\033[0m" : text;
}

constexpr std::size_t kLabel = 12;

void put_row(std::ostream& out, char const* label, std::string const& text) {
  out << std::left << std::setw(kLabel) << label << text << '\n';
}

/// The columns of a line that a terminal shows: colours take none, a character of UTF-8 takes one.
std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  bool in_color = false;
  for (char const c : text) {
    in_color = in_color || c == '\033';
    bool const continues = (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
    width += in_color || continues ? 0 : 1;
    in_color = in_color && c != 'm';
  }
  return width;
}

/// Breaks a row between words; what follows stands below its text.
std::string broken(std::string const& row, std::size_t columns) {
  std::string out = row.substr(0, kLabel);
  std::size_t used = width_of(out);
  std::istringstream words(row.substr(std::min(row.size(), kLabel)));
  for (std::string word; words >> word;) {
    bool const is_first = used <= kLabel;
    std::size_t const width = width_of(word);
    if (!is_first && used + 1 + width > columns) {
      out += '\n' + std::string(kLabel, ' ');
      used = kLabel;
    } else if (!is_first) {
      out += ' ';
      ++used;
    }
    out += word;
    used += width;
  }
  return out + '\n';
}

std::string fitted(std::string const& text, std::size_t columns) {
  if (columns <= 2 * kLabel) {
    return text;
  }
  std::string out;
  std::istringstream rows(text);
  for (std::string row; std::getline(rows, row);) {
    out += width_of(row) > columns ? broken(row, columns) : row + '\n';
  }
  return out;
}

void put_cut(std::ostream& out, Json const& status) {
  if (status.contains("cut_left_ms")) {
    put_row(out, "requests", "are cut in " + duration_text(number_of(status, "cut_left_ms")));
  }
}

void put_stop(std::ostream& out, Json const& status) {
  if (!status.contains("cause")) {
    return;
  }
  std::string const detail = text_of(status, "cause_detail");
  put_row(out, "stop",
          text_of(status, "mode") + ", cause " + text_of(status, "cause") +
              (detail.empty() ? "" : " (" + detail + ")"));
  if (status.contains("deadline_left_ms")) {
    put_row(out, "deadline", "in " + duration_text(number_of(status, "deadline_left_ms")));
  }
}

/// preStop mode: who waits, and whether another engine is waited for.
void put_hook(std::ostream& out, Json const& status) {
  if (Json const& hook = child_of(status, "prestop"); !hook.empty()) {
    std::string line = "called " + duration_text(number_of(hook, "called_ms")) + " ago, ";
    line += flag_of(hook, "deletion") ? "the pod is deleted" : "a container restart";
    if (flag_of(hook, "waits")) {
      line += ", returns within " + duration_text(number_of(hook, "returns_within_ms"));
    }
    put_row(out, "preStop", line);
  }
  if (Json const& replacement = child_of(status, "replacement"); !replacement.empty()) {
    put_row(out, "preStop",
            "another engine is awaited for " + duration_text(number_of(replacement, "for_ms")) +
                (flag_of(replacement, "condemned") ? ", this one was found dead" : ""));
  }
}

void put_requests(std::ostream& out, Json const& status) {
  Json const& flight = child_of(status, "in_flight");
  std::string const source = text_of(flight, "source", "unknown");
  std::string line = source == "unknown" ? std::string("unknown (no SDK or ingress counts them)")
                                         : std::to_string(number_of(flight, "requests"));
  if (std::int64_t const late = number_of(flight, "late"); late > 0) {
    line += ", " + std::to_string(late) + " came late";
  }
  if (std::int64_t const oldest = number_of(flight, "oldest_ms"); oldest > 0) {
    line += ", oldest " + duration_text(oldest);
  }
  put_row(out, "in flight", line);
  // Peers may share a name, or have given none: people ask how much is left of what.
  std::map<std::pair<std::string, bool>, std::int64_t> endpoints;
  for (Json const& endpoint : child_of(status, "endpoints")) {
    std::string name = text_of(endpoint, "name");
    endpoints[{name.empty() ? "(unnamed)" : std::move(name),
               flag_of(endpoint, "graceful_shutdown")}] += number_of(endpoint, "in_flight");
  }
  for (auto const& [endpoint, in_flight] : endpoints) {
    put_row(out, "",
            endpoint.first + ": " + std::to_string(in_flight) +
                (endpoint.second ? ", drains" : ", migrates"));
  }
}

/// What runs and waits, where something bounds it; that the engine is busy, always.
void put_admission(std::ostream& out, Json const& status) {
  Json const& admission = child_of(status, "admission");
  bool const busy = flag_of(admission, "busy");
  std::int64_t const limit = number_of(admission, "engine_request_limit");
  if (!busy && limit == 0 && number_of(admission, "engine_wait_limit") == 0) {
    return;
  }
  auto const count = [&admission](char const* key) {
    return std::to_string(number_of(admission, key));
  };
  std::string line = count("running") + " run, " + count("waiting") + " wait";
  if (limit > 0) {
    line += ", at most " + std::to_string(limit) + " and " + count("queue_limit");
  }
  put_row(out, "admission", line + (busy ? "; busy" : ""));
}

void put_health(std::ostream& out, Json const& status, ViewOptions options) {
  Json const& health = child_of(status, "health");
  std::string const verdict = text_of(health, "verdict", "unknown");
  put_row(out, "health",
          painted(verdict, verdict == "healthy", options) + ": " + text_of(health, "reason"));
  for (Json const& check : child_of(health, "checks")) {
    std::string line = text_of(check, "name") + ": " + text_of(check, "state");
    if (std::int64_t const failures = number_of(check, "failures"); failures > 0) {
      line += " (" + std::to_string(failures) + " in a row)";
    }
    if (std::string const detail = text_of(check, "detail"); !detail.empty()) {
      line += ", " + detail;
    }
    put_row(out, "", line);
  }
}

void put_engine(std::ostream& out, Json const& status) {
  Json const& engine = child_of(status, "engine");
  std::string line = text_of(engine, "state", "unknown");
  if (engine.contains("pid")) {
    line += ", pid " + std::to_string(number_of(engine, "pid"));
  }
  put_row(out, "engine", line + ", shim " + text_of(engine, "shim", "none"));
}

void put_surroundings(std::ostream& out, Json const& status) {
  for (Json const& registry : child_of(status, "registries")) {
    std::string line = text_of(registry, "name") + ": " + text_of(registry, "state");
    if (std::string const error = text_of(registry, "error"); !error.empty()) {
      line += ", " + error;
    }
    put_row(out, "registry", line);
  }
  for (Json const& warning : child_of(status, "warnings")) {
    if (warning.is_string()) {
      put_row(out, "warning", visible(warning.get_ref<std::string const&>()));
    }
  }
}

}  // namespace

std::string status_text(std::string_view status_json, ViewOptions options) {
  Json const status = parse(status_json);
  if (!status.is_object()) {
    return std::string(status_json);
  }
  std::ostringstream out;
  std::string const phase = text_of(status, "phase", "unknown");
  bool const ready = flag_of(status, "ready");
  put_row(out, "phase",
          painted(phase, phase == "serving", options) + " for " +
              duration_text(number_of(status, "phase_for_ms")));
  put_stop(out, status);
  put_cut(out, status);
  put_row(out, "ready",
          ready ? painted("yes", true, options)
                : painted("no", false, options) + ": " + text_of(status, "ready_reason"));
  put_hook(out, status);
  put_requests(out, status);
  put_admission(out, status);
  put_health(out, status, options);
  put_engine(out, status);
  put_surroundings(out, status);
  return fitted(out.str(), options.columns);
}

std::string drain_bar(std::string_view status_json, std::size_t& most) {
  constexpr std::size_t kWidth = 24;
  Json const status = parse(status_json);
  if (!status.is_object()) {
    return std::string(status_json);
  }
  Json const& flight = child_of(status, "in_flight");
  bool const known = text_of(flight, "source", "unknown") != "unknown";
  auto const left =
      static_cast<std::size_t>(std::max<std::int64_t>(number_of(flight, "requests"), 0));
  most = std::max(most, left);
  std::size_t const all_done = known ? kWidth : 0;
  std::size_t const done = most == 0 ? all_done : kWidth * (most - left) / most;
  std::ostringstream out;
  out << std::left << std::setw(14) << text_of(status, "phase", "unknown") << '['
      << std::string(done, '#') << std::string(kWidth - done, '.') << "] ";
  if (known) {
    out << left << " in flight";
  } else {
    out << "in flight unknown";
  }
  if (status.contains("cut_left_ms")) {
    out << ", requests are cut in " << duration_text(number_of(status, "cut_left_ms"));
  } else if (status.contains("deadline_left_ms")) {
    out << ", deadline in " << duration_text(number_of(status, "deadline_left_ms"));
  }
  return out.str();
}

std::string requests_text(std::string_view page_json, bool heading) {
  Json const page = parse(page_json);
  std::ostringstream out;
  auto const row = [&out](std::string const& id, std::string const& endpoint,
                          std::string const& model, std::string const& state,
                          std::string const& age) {
    out << std::left << std::setw(38) << id << ' ' << std::setw(20) << endpoint << ' '
        << std::setw(24) << model << ' ' << std::setw(24) << state << ' ' << age << '\n';
  };
  if (heading) {
    row("ID", "ENDPOINT", "MODEL", "STATE", "AGE");
  }
  for (Json const& request : child_of(page, "requests")) {
    std::string state = text_of(request, "state");
    if (flag_of(request, "waiting")) {
      state += ", waits";
    }
    if (std::string const reason = text_of(request, "reason"); !reason.empty()) {
      state += " (" + reason + ")";
    }
    if (flag_of(request, "late")) {
      state += ", late";
    }
    row(text_of(request, "id"), text_of(request, "endpoint", "-"), text_of(request, "model", "-"),
        state, duration_text(number_of(request, "age_ms")));
  }
  return out.str();
}

}  // namespace lastcall::cli
