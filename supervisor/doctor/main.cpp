// lastcall-doctor: the program that `lastcall doctor` becomes. It is a program of its own, so that
// the supervisor does not contain its code.
//
//   lastcall-doctor [--config FILE] [--set KEY=VALUE]... [--json]
//
// Exit code 0: no findings; 1: findings; 2: bad usage or configuration.
#include <cerrno>
#include <exception>
#include <iostream>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json_member.hpp"
#include "base/standard_descriptors.hpp"
#include "base/undumpable.hpp"
#include "ipc/operator_client.hpp"
#include "supervisor/doctor/findings.hpp"
#include "supervisor/doctor/reach.hpp"

namespace {

using namespace lastcall;
using Json = nlohmann::ordered_json;

struct Asked {
  config::LoadOptions load;
  bool json = false;
};

std::optional<Asked> asked(int argc, char** argv) {
  Asked asked;
  asked.load.look_around = true;
  for (int i = 1; i < argc; ++i) {
    std::string const word = argv[i];
    bool const has_value = i + 1 < argc;
    if (word == "--json") {
      asked.json = true;
    } else if (word == "--config" && has_value) {
      asked.load.path = argv[++i];
    } else if (word == "--set" && has_value) {
      asked.load.overrides.emplace_back(argv[++i]);
    } else {
      return std::nullopt;
    }
  }
  return asked;
}

/// The status of a supervisor at the configured socket; null if none answers.
std::pair<doctor::Speaks, Json> status_of(std::string const& socket) {
  using doctor::Speaks;
  auto connected = ipc::OperatorClient::connect(socket, "lastcall-doctor", doctor::kReach);
  auto* const client = std::get_if<ipc::OperatorClient>(&connected);
  if (client == nullptr) {
    bool const was_refused = std::get<ipc::Failure>(connected).code.has_value();
    bool const is_closed = doctor::socket_error(socket) == EACCES;
    return {was_refused ? Speaks::not_to_us
            : is_closed ? Speaks::perhaps_not_to_us
                        : Speaks::no,
            nullptr};
  }
  auto const answer = client->request(ipc::StatusQuery{}, doctor::kReach);
  auto const* const text = std::get_if<std::string>(&answer);
  return {Speaks::yes, text == nullptr ? Json() : Json::parse(*text, nullptr, false)};
}

doctor::Findings examine(config::Loaded const& loaded, config::Environment const& environment) {
  auto const [speaks, status] = status_of(loaded.config.ipc.admin_socket);
  doctor::Visit const visit{loaded, environment, speaks, status};
  doctor::Findings findings;
  for (auto const look :
       {doctor::examine_configuration, doctor::examine_ports, doctor::examine_sockets,
        doctor::examine_graces, doctor::examine_engine, doctor::examine_registries}) {
    look(visit, findings);
  }
  return findings;
}

void print(doctor::Findings const& findings, bool as_json) {
  if (as_json) {
    Json list = Json::array();
    for (doctor::Finding const& finding : findings) {
      list.push_back({{"area", finding.area}, {"text", finding.text}});
    }
    Json const json{{"ok", findings.empty()}, {"findings", std::move(list)}};
    std::cout << json::dump(json) << '\n';
    return;
  }
  for (doctor::Finding const& finding : findings) {
    std::cout << finding.area << ": " << finding.text << '\n';
  }
  if (findings.empty()) {
    std::cout << "no problems found with ports, sockets, users, graces, engine and registries\n";
  }
}

int visit(int argc, char** argv) {
  auto const options = asked(argc, argv);
  if (!options) {
    std::cerr << "usage: lastcall-doctor [--config FILE] [--set KEY=VALUE]... [--json]\n";
    return 2;
  }
  auto const environment = config::process_environment();
  config::Loaded const loaded = config::load(options->load, environment);
  if (!loaded.errors.empty()) {
    for (config::Problem const& problem : loaded.errors) {
      std::cerr << config::to_text(problem) << '\n';
    }
    return 2;
  }
  doctor::Findings const findings = examine(loaded, environment);
  print(findings, options->json);
  return findings.empty() && std::cout.flush() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  become_undumpable();  // the environment holds secrets
  reserve_standard_descriptors();
  try {
    return visit(argc, argv);
  } catch (std::exception const& error) {
    std::cerr << "lastcall-doctor: unexpected failure: " << error.what() << '\n';
    return 70;
  }
}
