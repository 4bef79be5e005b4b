#include "config/yaml_problem.hpp"

#include <sstream>

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

namespace lastcall::config {
namespace {

class Ignored : public YAML::EventHandler {
 public:
  void OnDocumentStart(YAML::Mark const& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnNull(YAML::Mark const& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnAlias(YAML::Mark const& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnScalar(YAML::Mark const& /*mark*/, std::string const& /*tag*/, YAML::anchor_t /*anchor*/,
                std::string const& /*value*/) override {}
  void OnSequenceStart(YAML::Mark const& /*mark*/, std::string const& /*tag*/,
                       YAML::anchor_t /*anchor*/, YAML::EmitterStyle::value /*style*/) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(YAML::Mark const& /*mark*/, std::string const& /*tag*/, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {}
  void OnMapEnd() override {}
};

}  // namespace

std::string yaml_problem(YAML::Exception const& error) {
  // yaml-cpp's own text for this is "bad file", the one that it has for a file it cannot open.
  bool const is_too_deep = dynamic_cast<YAML::DeepRecursion const*>(&error) != nullptr;
  return "not valid YAML: " +
         (is_too_deep ? std::string("too many lists or sections inside each other") : error.msg);
}

bool ends_in_quotes(std::string const& text) {
  // A document mark is refused only inside of quotes.
  std::istringstream stream(text + "\n...\n");
  YAML::Parser parser(stream);
  Ignored ignored;
  try {
    if (parser.HandleNextDocument(ignored)) {
      parser.HandleNextDocument(ignored);
    }
  } catch (YAML::Exception const&) {
    return true;
  }
  return false;
}

}  // namespace lastcall::config
