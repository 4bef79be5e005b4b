#include "router/reference.hpp"

#include <string_view>

#include "config/reference.hpp"
#include "router/settings.hpp"

namespace lastcall::router {
namespace {

constexpr std::string_view kIntroduction = R"(# Configuration of the router

<!-- Generated from router/settings_*.cpp by `ninja -C build/dev router_config_reference`.
     Do not edit. -->

The configuration is one YAML file. `workers` is required, and everything else is optional.
`lastcall-router check` prints every problem at once. [router.md](router.md) explains what the
router does.

Values are looked up in this order, and the last one found applies: the defaults; the file of
`--config`, else of `$LASTCALL_ROUTER_CONFIG`, else `/etc/lastcall/router.yaml` if it exists; the
environment variables named below; `--set a.b=value`, which may be repeated. The file is read as
strictly as that of the supervisor ([config.md](config.md)).

A default in *italics* depends on other keys or the environment. SIGHUP makes the router read the
same sources again: keys marked **live** change, any other key that differs is logged as refused,
and a configuration with errors changes nothing.
)";

}  // namespace

std::string reference_markdown() {
  Settings settings;
  return config::reference_markdown(kIntroduction, keys_of(settings));
}

std::string reference_schema() {
  Settings settings;
  return config::reference_schema("lastcall-router configuration",
                                  "docs/router-config.md explains.", keys_of(settings));
}

}  // namespace lastcall::router
