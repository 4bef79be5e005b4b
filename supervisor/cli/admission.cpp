#include <cmath>
#include <cstdint>
#include <ostream>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/parse_number.hpp"
#include "config/text.hpp"
#include "supervisor/cli/app.hpp"
#include "supervisor/cli/subcommands.hpp"

namespace lastcall::cli {
namespace {

using Json = nlohmann::ordered_json;
using Text = std::optional<std::string>;

constexpr std::uint64_t kMostRequests = 1'000'000;
constexpr std::uint64_t kMostTokens = 1'000'000'000'000;
constexpr std::string_view kNone = "null";
constexpr std::string_view kAnswer = "a state of admission";

/// Reads the flags, and complains about the first bad one.
class Flags {
 public:
  explicit Flags(std::ostream& err) : err_(err) {}

  ipc::Change<std::uint64_t> count(char const* flag, Text const& text, std::uint64_t least,
                                   std::uint64_t most) {
    ipc::Change<std::uint64_t> change;
    if (begin(text, change) &&
        (!read(*text, change.value) || change.value < least || change.value > most)) {
      complain(flag, *text, std::to_string(least) + " to " + std::to_string(most));
    }
    return change;
  }

  ipc::Change<double> share(char const* flag, Text const& text) {
    ipc::Change<double> change;
    if (begin(text, change) &&
        (!read(*text, change.value) || !(change.value >= 0 && change.value <= 1))) {
      complain(flag, *text, "a share from 0 to 1");
    }
    return change;
  }

  ipc::Change<std::uint64_t> duration(char const* flag, Text const& text) {
    ipc::Change<std::uint64_t> change;
    if (begin(text, change)) {
      auto const parsed = config::parse_duration(*text).value;
      if (!parsed || parsed->count() < 1) {
        complain(flag, *text, "a duration such as 30s");
      } else {
        change.value = static_cast<std::uint64_t>(parsed->count());
      }
    }
    return change;
  }

  bool are_good() const { return are_good_; }
  bool are_any() const { return are_any_; }

 private:
  /// Sets the kind of the change; returns whether there is a value to read.
  template <typename T>
  bool begin(Text const& text, ipc::Change<T>& change) {
    using Kind = typename ipc::Change<T>::Kind;
    are_any_ = are_any_ || text;
    change.kind = !text ? Kind::keep : *text == kNone ? Kind::clear : Kind::set;
    return change.kind == Kind::set;
  }

  template <typename T>
  static bool read(std::string const& text, T& value) {
    auto const number = parse_number<T>(text);
    value = number.value_or(T{});
    return number.has_value();
  }

  void complain(char const* flag, std::string const& text, std::string const& expected) {
    if (are_good_) {
      err_ << "lastcall admission: " << flag << ' ' << text << ": expected " << expected
           << ", or null\n";
    }
    are_good_ = false;
  }

  std::ostream& err_;
  bool are_good_ = true;
  bool are_any_ = false;
};

void print(Json const& state, Output output, std::ostream& out) {
  if (output == Output::json) {
    out << state.dump() << '\n';
    return;
  }
  for (auto const& [key, value] : state.items()) {
    out << key << ": " << (value.is_null() ? "none" : value.dump()) << '\n';
  }
}

}  // namespace

int run_admission(AdmissionOptions const& options, config::Environment const& environment,
                  std::ostream& out, std::ostream& err) {
  Flags limits(err);
  ipc::AdmissionSet const admission{
      .engine_request_limit =
          limits.count("--engine-request-limit", options.engine_request_limit, 1, kMostRequests),
      .queue_limit = limits.count("--queue-limit", options.queue_limit, 0, kMostRequests),
      .queue_timeout_ms = limits.duration("--queue-timeout", options.queue_timeout),
      .engine_wait_limit =
          limits.count("--engine-wait-limit", options.engine_wait_limit, 1, kMostRequests)};
  Flags load(err);
  ipc::ThresholdsSet thresholds;
  if (limits.are_good()) {
    thresholds.active_decode_blocks_threshold =
        load.share("--active-decode-blocks-threshold", options.active_decode_blocks_threshold);
    thresholds.active_prefill_tokens_threshold =
        load.count("--active-prefill-tokens-threshold", options.active_prefill_tokens_threshold, 0,
                   kMostTokens);
  }
  if (!limits.are_good() || !load.are_good()) {
    return kExitUsage;
  }
  auto [client, exit_code] = connect_or_complain(options.common, environment, err);
  if (!client) {
    return exit_code;
  }
  std::optional<Json> state;
  if (limits.are_any() && !(state = ask_for_object(*client, admission, kAnswer, err))) {
    return kExitFailure;
  }
  if (load.are_any() && !(state = ask_for_object(*client, thresholds, kAnswer, err))) {
    return kExitFailure;
  }
  if (!state) {
    auto const status = ask_for_object(*client, ipc::StatusQuery{}, kAnswer, err);
    if (!status) {
      return kExitFailure;
    }
    state = status->value("admission", Json::object());
  }
  print(*state, options.common.output, out);
  return kExitSuccess;
}

}  // namespace lastcall::cli
