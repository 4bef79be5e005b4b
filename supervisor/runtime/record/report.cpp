#include "supervisor/runtime/record/report.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_member.hpp"
#include "ipc/limits.hpp"

namespace lastcall::runtime {
namespace {

using Json = nlohmann::ordered_json;
using lifecycle::name;
using lifecycle::to_ms;

/// Kubernetes reads at most this many bytes of a termination message.
constexpr std::size_t kLargestMessage = 4096;
constexpr std::size_t kMostNamed = 8;
constexpr std::string_view kReportBegins = R"({"cause":)";

/// The end of a text, because a traceback has its message there. The dump repairs broken UTF-8.
std::string last_part(std::string const& text, std::size_t most) {
  return text.size() <= most ? text : "[...] " + text.substr(text.size() - most);
}

Json json_of(lifecycle::PhaseRecord const& record) {
  return {{"outcome", name(record.outcome)}, {"ms", to_ms(record.elapsed)}};
}

Json requests_of(lifecycle::OutcomeCounts const& counts) {
  Json json = Json::object();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    json[std::string(lifecycle::vocabulary::kWordsOf<lifecycle::Outcome>[i])] = counts[i];
  }
  return json;
}

Json cleanup_of(lifecycle::Report const& report, std::size_t most_text) {
  Json json = Json::object();
  for (std::size_t i = 0; i < lifecycle::kCleanupItems; ++i) {
    lifecycle::CleanupRecord const& record = report.cleanup[i];
    Json item{{"outcome", name(record.outcome)}, {"ms", to_ms(record.elapsed)}};
    if (!record.detail.empty()) {
      item["detail"] = last_part(record.detail, most_text);
    }
    json[std::string(lifecycle::vocabulary::kWordsOf<lifecycle::CleanupItem>[i])] = std::move(item);
  }
  return json;
}

Json registries_of(lifecycle::Report const& report, std::vector<std::string> const& names,
                   std::size_t most_text) {
  Json json = Json::array();
  for (std::size_t i = 0; i < std::min(names.size(), report.registries.size()); ++i) {
    lifecycle::RegistryRecord const& record = report.registries[i];
    Json item{{"name", last_part(names[i], most_text)}, {"state", name(record.state)}};
    if (!record.detail.empty()) {
      item["detail"] = last_part(record.detail, most_text);
    }
    json.push_back(std::move(item));
  }
  return json;
}

Json engine_of(lifecycle::Report const& report, bool end_is_unknown) {
  if (end_is_unknown) {
    return {{"state", "unknown"},
            {"oom", report.engine_exit.oom},
            {"detail", report.engine_exit.oom ? "its container was killed for lack of memory (oom)"
                                              : "its shim is gone"}};
  }
  Json json{{"state", name(report.engine)}};
  if (report.engine == lifecycle::EngineState::exited) {
    bool const by_signal = report.engine_exit.signal != 0;
    json[by_signal ? "signal" : "code"] =
        by_signal ? report.engine_exit.signal : report.engine_exit.code;
    json["ordered"] = report.engine_ordered;
    json["oom"] = report.engine_exit.oom;
    if (!report.rest_names.empty() || report.rest_alive > 0) {
      auto const named = std::min(report.rest_names.size(), kMostNamed);
      Json names = Json::array();
      std::copy_n(report.rest_names.begin(), named, std::back_inserter(names));
      json["left_behind"] = {{"names", std::move(names)}, {"alive", report.rest_alive}};
    }
  }
  return json;
}

/// The text that the engine itself wrote there, without reports: the last whole lines of it.
std::string last_lines_of_others(int fd, off_t size, std::size_t report_size) {
  std::size_t const room =
      report_size + 1 < kLargestMessage ? kLargestMessage - report_size - 1 : 0;
  std::string text(std::min<std::size_t>(static_cast<std::size_t>(size), kLargestMessage), '\0');
  ssize_t const count =
      ::pread(fd, text.data(), text.size(), size - static_cast<off_t>(text.size()));
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  if (!text.empty() && text.back() != '\n') {
    text += '\n';
  }
  std::string kept;
  bool const is_cut = size > static_cast<off_t>(kLargestMessage);  // it begins within a line
  for (std::size_t at = is_cut ? text.find('\n') + 1 : 0; at < text.size();) {
    std::size_t const end = text.find('\n', at) + 1;
    if (!std::string_view(text).substr(at).starts_with(kReportBegins)) {
      kept += text.substr(at, end - at);
    }
    at = end;
  }
  std::size_t const from = kept.size() > room ? kept.find('\n', kept.size() - room - 1) + 1 : 0;
  return kept.substr(from);
}

std::string dump(lifecycle::Report const& report, ReportFacts const& facts, std::size_t most_detail,
                 std::size_t most_text) {
  Json json{{"cause", report.cause}};
  if (!report.detail.empty()) {
    json["detail"] = last_part(report.detail, most_detail);
  }
  json["mode"] = name(report.mode);
  json["exit_code"] = report.exit_code;
  json["stopped_in_starting"] = report.stopped_in_starting;
  json["phases"] = {{"deregistering", json_of(report.deregistering)},
                    {"draining", json_of(report.draining)},
                    {"cleaning_up", json_of(report.cleaning_up)}};
  json["requests"] = requests_of(report.requests);
  json["in_flight"] = name(report.source);
  if (report.in_flight_at_end) {
    json["in_flight_at_end"] = *report.in_flight_at_end;
  }
  if (report.unseen.value_or(0) > 0) {
    json["in_flight_at_phase"] = *report.unseen;
  }
  json["longest_request_ms"] = to_ms(report.longest_request);
  json["time_left_ms"] = to_ms(report.time_left);
  json["cleanup"] = cleanup_of(report, most_text);
  if (!facts.registries.empty() && !report.registries.empty()) {
    json["registries"] = registries_of(report, facts.registries, most_text);
  }
  if (report.engine_known) {
    json["engine"] = engine_of(report, facts.engine_end_is_unknown);
  }
  json["signals_ignored"] = report.ignored_signals;
  return json::dump(json);
}

}  // namespace

std::string report_json(lifecycle::Report const& report, ReportFacts const& facts) {
  std::string text;
  // Each round halves the texts that people wrote; escaping may turn one byte into six.
  for (std::size_t most = 2048; most > 0; most /= 2) {
    text = dump(report, facts, most, most / 8);
    if (text.size() <= kLargestReport) {
      return text;
    }
  }
  lifecycle::Report bare = report;
  bare.registries.clear();
  return dump(bare, facts, 0, 0);
}

std::string will_json(lifecycle::Report const& report, lifecycle::Phase phase,
                      std::size_t in_flight) {
  for (std::size_t most = 1024;; most /= 2) {
    Json json{{"cause", report.cause}};
    if (!report.detail.empty() && most > 0) {
      json["detail"] = last_part(report.detail, most);
    }
    json["mode"] = name(report.mode);
    json["phase"] = name(phase);
    json["requests"] = requests_of(report.requests);
    json["in_flight"] = name(report.source);
    if (std::uint64_t const unseen = report.unseen.value_or(0);
        unseen > 0 || report.source != lifecycle::InFlightSource::unknown) {
      json["in_flight_at_phase"] = std::max<std::uint64_t>(unseen, in_flight);
    }
    std::string text = json::dump(json);
    if (text.size() <= ipc::kMaxWillReport || most == 0) {
      return text;
    }
  }
}

std::string termination_log_path() {
  char const* const path = std::getenv("LASTCALL_TERMINATION_LOG");
  return path == nullptr || *path == '\0' ? "/dev/termination-log" : path;
}

bool write_termination_log(std::string const& path, std::string const& report) {
  int const fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) {
    return false;
  }
  struct stat status {};
  bool is_written = false;
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
    std::string const text =
        report + "\n" + last_lines_of_others(fd, status.st_size, report.size());
    is_written = ::ftruncate(fd, 0) == 0 &&
                 ::pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
  }
  ::close(fd);
  return is_written;
}

}  // namespace lastcall::runtime
