#include "inject/decisions.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/ascii.hpp"
#include "base/parse_number.hpp"
#include "base/words.hpp"
#include "config/text.hpp"
#include "inject/settings.hpp"

namespace lastcall::inject {
namespace {

/// The time that the kubelet itself needs at the end of a pod.
constexpr std::int64_t kKubeletSeconds = 2;
/// shutdown.grace_period is at most a day.
constexpr std::int64_t kLongestGraceSeconds = 86'400;
/// A shell splits its words there.
constexpr std::string_view kSpaces = " \t\n\f\r";

std::optional<std::int64_t> whole_number(std::string_view text, int base = 10) {
  auto const number = parse_number<std::int64_t>(text, base);
  return number && *number >= 0 ? number : std::nullopt;
}

/// The number that Kubernetes' tools read, also in YAML 1.1's other notations: 0755 is 493.
std::optional<std::int64_t> whole_number(Node const& node) {
  std::string digits = node.text;
  if (node.is_quoted || digits.size() < 2 || !ascii::is_digit(digits[0])) {
    return whole_number(std::string_view(digits));
  }
  digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
  int base = 10;
  std::size_t prefix = 0;
  if (digits[0] == '0') {
    char const letter = ascii::lower(digits[1]);
    bool const has_letter = letter == 'x' || letter == 'o' || letter == 'b';
    base = letter == 'x' ? 16 : letter == 'b' ? 2 : 8;
    prefix = has_letter ? 2 : 1;
    if (!has_letter && digits.find_first_of("89") != std::string::npos) {
      base = 10;  // it is read as a number with a fraction
    }
  }
  return whole_number(std::string_view(digits).substr(prefix), base);
}

/// The duration in milliseconds, or 0 if it is not one; the check of the whole configuration
/// reports that.
std::int64_t milliseconds_of(std::string_view duration) {
  auto const parsed = config::parse_duration(duration).value;
  return parsed ? parsed->count() : 0;
}

/// The engine's kind, if the name of the image shows it. Triton's images name the engine that they
/// embed, but Triton answers at other paths than that engine's own server.
std::string kind_of_image(std::string_view image) {
  std::string const name = ascii::lower_text(image);
  auto const has = [&](char const* word) { return name.find(word) != std::string::npos; };
  if (has("tritonserver")) {
    return "custom";
  }
  if (has("vllm")) {
    return "vllm";
  }
  if (has("sglang")) {
    return "sglang";
  }
  return has("tensorrt-llm") || has("tensorrtllm") || has("trtllm") ? "trtllm" : "custom";
}

bool is_empty(Node const* node) {
  return node == nullptr || node->kind == Node::Kind::null ||
         (node->kind == Node::Kind::list && node->items.empty());
}

/// The words of a container's command and arguments.
std::vector<std::string_view> words_of(Node const& container) {
  std::vector<std::string_view> words;
  for (char const* const key : {"command", "args"}) {
    if (Node const* const list = find(container, key)) {
      for (Node const& word : list->items) {
        words.push_back(word.text);
      }
    }
  }
  return words;
}

/// Notes the conditions that the sidecar will write although no readiness gate waits for them.
void note_gates(Ledger const& ledger, Settings const& settings) {
  Node const* const gates = find(*ledger.target.spec, "readinessGates");
  for (std::string const& condition :
       settings.texts_of_items("discovery", "kubernetes.readiness_gate")) {
    bool const is_named =
        gates != nullptr &&
        std::any_of(gates->items.begin(), gates->items.end(),
                    [&](Node const& gate) { return text_of(gate, "conditionType") == condition; });
    if (!is_named) {
      ledger.note(ledger.target.spec->begin,
                  "discovery[].kubernetes.readiness_gate is " + condition +
                      ", but nothing waits for it: expected it in the pod's readinessGates, "
                      "which an injection does not change");
    }
  }
}

class Decisions {
 public:
  Decisions(Ledger const& ledger, Options const& options, Node const& engine)
      : ledger_(ledger),
        options_(options),
        target_(ledger.target),
        engine_(engine),
        settings_(file(), options.overrides) {}

  PodPlan take() {
    plan_.is_native = options_.is_native;
    plan_.pod = options_.pod;
    plan_.user = options_.pod.user;
    plan_.config = file();
    decide_form();
    take_settings_of_pod();
    decide_times();
    decide_user();
    decide_words();
    return std::move(plan_);
  }

 private:
  /// The pod's own configuration file, or the one that the command line names.
  std::string file() const {
    std::string_view const own = target_.annotation(kConfigNote);
    return own.empty() ? options_.config : std::string(own);
  }

  Node const& spec() const { return *target_.spec; }

  void refuse(Node const& at, std::string text) const { ledger_.refuse(at.begin, std::move(text)); }

  void decide_form() {
    Node const* const command = find(engine_, "command");
    plan_.is_prestop = is_empty(command);
    if (command != nullptr && command->kind != Node::Kind::list &&
        command->kind != Node::Kind::null) {
      refuse(*command, "the command is not a list, expected [PROGRAM, ARGUMENT, ...]");
    }
    Node const* hook = find_path(engine_, "lifecycle.preStop");
    hook = is_null(hook) ? nullptr : hook;
    if (plan_.is_prestop && options_.requires_shim) {
      refuse(engine_, "container " + std::string(text_of(engine_, "name")) +
                          " has no command, expected the entry point of its image (" +
                          std::string(text_of(engine_, "image")) +
                          ") written out as `command`, so that the shim can start it");
    } else if (plan_.is_prestop && hook != nullptr) {
      refuse(*hook,
             "it has a preStop hook, expected none, because lastcall's replaces it "
             "(shutdown.late_accept replaces a sleep there), or a `command`, which needs no hook");
    } else if (hook != nullptr) {
      ledger_.note(hook->begin,
                   "its preStop hook runs before lastcall is notified of the stop, and uses up a "
                   "part of the grace: shutdown.late_accept replaces a sleep there");
    }
    if (!plan_.is_prestop && command->kind == Node::Kind::list) {
      note_shell(*command);
    }
  }

  /// Notes that a shell dies of TERM at once, so that its engine has only `engine.rest_grace` left.
  void note_shell(Node const& command) const {
    std::string_view const program = command.items.front().text;
    std::string_view const name = program.substr(program.rfind('/') + 1);
    bool const is_shell = name == "sh" || name == "bash" || name == "dash" || name == "ash";
    std::vector<std::string_view> const words = words_of(engine_);
    bool const execs = std::any_of(words.begin(), words.end(), [](std::string_view word) {
      return word.find("exec ") != std::string_view::npos;
    });
    if (is_shell && !execs) {
      ledger_.note(command.begin,
                   "the main process is a shell: let it `exec` the engine, so that the container "
                   "ends with the engine");
    }
  }

  void decide_times() {
    Node const* const own = find(spec(), kGraceKey);
    std::optional<std::int64_t> const seconds =
        own == nullptr || own->kind == Node::Kind::null ? 0 : whole_number(*own);
    if (!seconds || (own != nullptr && own->is_quoted)) {
      refuse(*own, "terminationGracePeriodSeconds is not a whole number, expected one");
      return;
    }
    std::string const& usual = options_.pod.grace;
    std::int64_t const room = *seconds - kKubeletSeconds;
    bool const has_room = room > milliseconds_of(usual) / 1'000;
    if (room > kLongestGraceSeconds && !settings_.has("shutdown.grace_period")) {
      refuse(*own, "terminationGracePeriodSeconds is " + std::to_string(*seconds) +
                       ", expected at most " +
                       std::to_string(kLongestGraceSeconds + kKubeletSeconds) +
                       ", or a shutdown.grace_period of at most 24h besides it");
      return;
    }
    settings_.suggest("shutdown.grace_period", has_room ? std::to_string(room) + "s" : usual);
    plan_.grace = settings_.get("shutdown.grace_period");
    std::int64_t const asked = (milliseconds_of(plan_.grace) + 999) / 1'000;
    plan_.pod_grace = std::max(*seconds, asked + kKubeletSeconds);
  }

  void take_settings_of_pod() {
    Node const* const notes = target_.annotations();
    if (notes == nullptr) {
      return;
    }
    for (Entry const& note : notes->entries) {
      if (note.key.text.starts_with(kKeyNote)) {
        settings_.set(note.key.text.substr(kKeyNote.size()), note.value.text);
      }
    }
  }

  /// The sidecar gets the engine's user if the pod names it, but never runs as root.
  void decide_user() {
    Node const* uid = find_path(engine_, "securityContext.runAsUser");
    if (uid == nullptr || uid->kind == Node::Kind::null) {
      uid = find_path(spec(), "securityContext.runAsUser");
    }
    std::optional<std::int64_t> const known = uid == nullptr ? std::nullopt : whole_number(*uid);
    if (known && *known != 0) {
      plan_.user = *known;
      return;
    }
    // The user in the engine's image is unknown, so any user may connect: only this pod's
    // containers mount the volume.
    settings_.suggest("ipc.allow_uids", "any");
    settings_.suggest("ipc.mode", "0666");
  }

  std::string engine_port() const {
    if (Node const* const ports = find(engine_, "ports")) {
      for (Node const& port : ports->items) {
        std::string_view const protocol = text_of(port, "protocol");
        bool const is_tcp = protocol.empty() || protocol == "TCP";
        Node const* const number = find(port, "containerPort");
        if (is_tcp && number != nullptr && whole_number(*number)) {
          return std::to_string(*whole_number(*number));
        }
      }
    }
    std::vector<std::string_view> words;
    for (std::string_view const word : words_of(engine_)) {  // one may be a script of `sh -c`
      std::vector<std::string_view> const parts = split(word, kSpaces);
      words.insert(words.end(), parts.begin(), parts.end());
    }
    constexpr std::string_view kPort = "--port";
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i] == kPort && i + 1 < words.size() && whole_number(words[i + 1])) {
        return std::string(words[i + 1]);
      }
      if (words[i].starts_with("--port=") && whole_number(words[i].substr(kPort.size() + 1))) {
        return std::string(words[i].substr(kPort.size() + 1));
      }
    }
    return settings_.get("engine.kind") == "sglang" ? "30000" : "8000";
  }

  void decide_words() {
    for (char const* const key : {"ipc.socket", "ipc.admin_socket", "probes.listen",
                                  "lifecycle.enabled", "lifecycle.http", "lifecycle.listen"}) {
      if (settings_.has(key)) {
        refuse(engine_, name_of(key) +
                            " is given, expected it to be left out: the injection decides it for "
                            "all containers of the pod");
      }
    }
    // A file in the pod's own annotation is used unchanged: an admission policy cannot read it.
    if (target_.annotation(kConfigNote).empty()) {
      settings_.suggest("engine.kind", kind_of_image(text_of(engine_, "image")));
      settings_.suggest("engine.url", "http://127.0.0.1:" + engine_port());
    }
    settings_.suggest("shutdown.late_accept", "5s");
    if (plan_.is_prestop) {
      settings_.set("lifecycle.enabled", "true");
      settings_.set("lifecycle.http", "false");
    }
    if (ends_by_itself()) {
      decide_words_of_job();
    }
    decide_ingress();
    note_gates(ledger_, settings_);
    if (!plan_.config.empty() && !target_.is_template) {
      refuse(spec(),
             "the pod has no metadata of its own to carry a configuration file, expected --set "
             "instead of --config");
    }
    if (!options_.config.empty() && !target_.annotation(kConfigNote).empty()) {
      refuse(*target_.annotations(),
             "both lastcall.dev/config and --config are given, expected one of them");
    }
    for (std::string const& override : settings_.overrides()) {
      plan_.words.push_back("--set=" + override);
    }
    check_settings();
  }

  /// Whether the end of an engine need not be a failure. A webhook sees only a Job's pods.
  bool ends_by_itself() const {
    std::string_view const policy = text_of(spec(), "restartPolicy");
    return target_.kind == "Job" || target_.kind == "CronJob" || policy == "Never" ||
           policy == "OnFailure";
  }

  /// In a Job an engine ends when it has finished its work, and so must the pod.
  void decide_words_of_job() {
    settings_.suggest("engine.on_exit", "propagate");
    if (!plan_.is_native) {
      settings_.suggest("shutdown.after_stop", "exit");
    }
  }

  void decide_ingress() {
    bool const is_there = settings_.has("ingress.listen") || settings_.has("ingress");
    if (!is_there || settings_.get("ingress.enabled") == "false") {
      return;
    }
    std::string const listen = settings_.get("ingress.listen");
    plan_.ingress_port = whole_number(std::string_view(listen).substr(listen.rfind(':') + 1));
    if (!plan_.ingress_port) {
      plan_.ingress_port = 8080;
    }
    ledger_.note(target_.object->begin,
                 "the ingress listens at port " + std::to_string(*plan_.ingress_port) +
                     ": the Service must send requests there, which an injection does not change");
  }

  /// A key as it was written: it may be an annotation's.
  std::string name_of(std::string_view key) const {
    std::string note = std::string(kKeyNote) + std::string(key);
    Node const* const notes = target_.annotations();
    return notes != nullptr && find(*notes, note) != nullptr ? note : std::string(key);
  }

  void check_settings() const {
    if (!options_.check || !ledger_.refusals.empty()) {
      return;
    }
    constexpr std::string_view kOverride = "--set ";
    for (config::Problem& problem :
         options_.check({file(), settings_.overrides(), plan_.pod_grace})) {
      std::string& source = problem.place.source;
      if (source.starts_with(kOverride)) {
        std::string const key = source.substr(kOverride.size());
        std::string name = name_of(key);
        source = name == key ? source : std::move(name);
      }
      refuse(*target_.object, "the sidecar's configuration: " + to_text(problem));
    }
  }

  Ledger const& ledger_;
  Options const& options_;
  Target const& target_;
  Node const& engine_;
  Settings settings_;
  PodPlan plan_;
};

}  // namespace

PodPlan decide(Ledger const& ledger, Options const& options, Node const& engine) {
  return Decisions(ledger, options, engine).take();
}

}  // namespace lastcall::inject
