// Bad input, case by case: the exact words and places of each complaint.
#include <gtest/gtest.h>

#include "tests/unit/config/support.hpp"

namespace lastcall::config {
namespace {

struct BadInput {
  char const* name;
  std::string yaml;
  std::vector<std::string> errors;
};

class Decode : public testing::TestWithParam<BadInput> {};

TEST_P(Decode, Complains_in_these_words) {
  EXPECT_EQ(texts(load_text(GetParam().yaml).errors), GetParam().errors);
}

std::string const kDuration = "expected a duration such as 60s, 500ms or 2m, ";
std::string const kControlPathWords =
    "a path such as /sleep or /update_weights*, without '%', '?', doubled slashes or dot segments";
std::string const kCipherWords =
    "a cipher with forward secrecy such as TLS_AES_128_GCM_SHA256 or ECDHE-RSA-AES128-GCM-SHA256 "
    "(docs/ingress.md lists them)";
std::string const kTopLevel =
    "identity, engine, shutdown, cleanup, health, probes, lifecycle, ipc, discovery, events, "
    "ingress, admission, log, endpoints";

std::vector<BadInput> const kBadInputs{
    {"unknown_key", "zebra: 1\n", {"c.yaml:1:1: zebra: unknown key, expected one of " + kTopLevel}},
    {"misspelt_section",
     "shutdwon: {}\n",
     {"c.yaml:1:1: shutdwon: unknown key, did you mean 'shutdown'?"}},
    {"misspelt_key",
     "shutdown:\n  grace_periud: 5s\n",
     {"c.yaml:2:3: shutdown.grace_periud: unknown key, did you mean 'grace_period'?"}},
    {"key_in_the_wrong_section",
     "late_accept: 5s\n",
     {"c.yaml:1:1: late_accept: unknown key, did you mean 'shutdown.late_accept'?"}},
    {"duplicate_key",
     "log: {level: info}\nprobes: {}\nlog: {level: debug}\n",
     {"c.yaml:3:1: log: duplicate key, first in line 1"}},
    {"quoted_number",
     "admission: {queue_limit: \"64\"}\n",
     {"c.yaml:1:26: admission.queue_limit: '64' is quoted, which makes it a text, expected a "
      "whole number, 0 to 1000000"}},
    {"quoted_boolean",
     "lifecycle: {enabled: 'true'}\n",
     {"c.yaml:1:22: lifecycle.enabled: 'true' is quoted, which makes it a text, expected true or "
      "false"}},
    {"yes_for_true",
     "lifecycle: {enabled: yes}\n",
     {"c.yaml:1:22: lifecycle.enabled: 'yes', expected true or false"}},
    {"number_for_text",
     "identity: {model: 1.5}\n",
     {"c.yaml:1:19: identity.model: '1.5' is a number unless quoted, expected a text of one "
      "line"}},
    {"boolean_for_text",
     "identity: {namespace: no}\n",
     {"c.yaml:1:23: identity.namespace: 'no' is a boolean unless quoted, expected letters, "
      "digits, '.', '_' and '-'"}},
    {"alias",
     "identity: {model: &m x, component: *m}\n",
     {"c.yaml:1:19: identity.model: an anchor, expected none: aliases are not supported",
      "c.yaml:1:36: identity.component: an alias, expected the value itself"}},
    {"alias_of_nothing",
     "identity: {model: *m}\n",
     {"c.yaml:1:19: not valid YAML: the referenced anchor is not defined"}},
    {"merge_key",
     "log:\n  <<: {level: info}\n",
     {"c.yaml:2:3: log.<<: a merge key, expected the keys themselves"}},
    {"tag",
     "identity: {model: !!str 5}\n",
     {"c.yaml:1:19: identity.model: a tag, expected none: the type of a value follows from its "
      "key"}},
    {"key_that_is_no_text", "? [a]\n: b\n", {"c.yaml:1:3: ?: not a text, expected a key"}},
    {"two_documents",
     "log: {}\n---\nlog: {}\n",
     {"c.yaml:2:1: a second document, expected one per file"}},
    {"syntax", "log: {level: info\n", {"c.yaml:2:1: not valid YAML: end of map flow not found"}},
    {"double_quote_left_open",
     "identity:\n  model: \"a\nlog: {level: debug}\n",
     {"c.yaml:2:10: identity.model: a quote that is not closed"}},
    {"single_quote_left_open",
     "cleanup:\n  paths:\n    - '/tmp/a\n    - /tmp/b\n",
     {"c.yaml:3:7: cleanup.paths[0]: a quote that is not closed"}},
    {"quote_left_open_without_a_line_end",
     "identity:\n  model: 'a\nlog: {level: debug}",
     {"c.yaml:2:10: identity.model: a quote that is not closed"}},
    {"quote_that_another_one_closes",
     "identity:\n  model: \"a\n  component: \"b\"\n",
     {"c.yaml:2:10: not valid YAML: a quote that is closed only in line 3, where the rest of the "
      "line cannot follow it"}},
    {"quote_that_a_text_beginning_with_a_mark_closes",
     "engine:\n  kind: \"vllm\nprobes:\n  listen: \":7090\"\n",
     {"c.yaml:2:9: not valid YAML: a quote that is closed only in line 4, where the rest of the "
      "line cannot follow it"}},
    {"error_behind_a_text_of_two_lines",
     "identity: {model: \"a\n  b\", component: [c}\n",
     {"c.yaml:2:20: not valid YAML: illegal flow end"}},
    {"lines_of_an_old_mac",
     "log:\r  level: info\r",
     {"c.yaml:1:5: a carriage return without a line feed, expected LF or CRLF at the ends of "
      "lines"}},
    {"carriage_return_inside_a_line",
     "log:\r\n  level: in\rfo\r\n",
     {"c.yaml:2:12: a carriage return without a line feed, expected LF or CRLF at the ends of "
      "lines"}},
    {"second_byte_order_mark",
     "\xef\xbb\xbflog:\n  level: info\n\xef\xbb\xbfidentity: {}\n",
     {"c.yaml:3:1: a byte order mark (U+FEFF), expected it only at the start"}},
    {"tab",
     "log:\n\tlevel: info\n",
     {"c.yaml:2:7: not valid YAML: illegal map value (line 2 is indented with a tab, expected "
      "spaces)"}},
    {"list_at_the_top", "[a]\n", {"c.yaml:1:1: a list, expected a section of keys"}},
    {"text_at_the_top", "hello\n", {"c.yaml:1:1: 'hello', expected a section of keys"}},
    {"text_for_a_section",
     "log: debug\n",
     {"c.yaml:1:6: log: 'debug', expected a section of keys"}},
    {"list_for_a_value",
     "log: {level: [info]}\n",
     {"c.yaml:1:14: log.level: a list, expected trace, debug, info, warning, error or critical"}},
    {"nothing_for_a_value",
     "shutdown:\n  grace_period:\n",
     {"c.yaml:2:3: shutdown.grace_period: no value, " + kDuration + "1s to 24h"}},
    {"nothing_for_a_list",
     "discovery:\n",
     {"c.yaml:1:1: discovery: no value, expected a list of sections"}},
    {"wrong_choice",
     "engine: {kind: vLLM}\n",
     {"c.yaml:1:16: engine.kind: 'vLLM', expected vllm, sglang, trtllm, dynamo or custom"}},
    {"duration_without_unit",
     "shutdown: {grace_period: 60}\n",
     {"c.yaml:1:26: shutdown.grace_period: '60' has no unit, " + kDuration + "1s to 24h"}},
    {"negative_duration",
     "shutdown: {late_accept: -1s}\n",
     {"c.yaml:1:25: shutdown.late_accept: '-1s' is negative, " + kDuration + "0s to 1h"}},
    {"overflowing_duration",
     "shutdown: {late_accept: 99999999999999999999s}\n",
     {"c.yaml:1:25: shutdown.late_accept: '99999999999999999999s' is out of range, " + kDuration +
      "0s to 1h"}},
    {"duration_out_of_range",
     "shutdown: {grace_period: 25h}\n",
     {"c.yaml:1:26: shutdown.grace_period: '25h' is out of range, " + kDuration + "1s to 24h"}},
    {"octal_number",
     "admission: {queue_limit: 010}\n",
     {"c.yaml:1:26: admission.queue_limit: '010' has a leading zero, expected a whole number, 0 "
      "to 1000000"}},
    {"hexadecimal_number",
     "admission: {queue_limit: 0x10}\n",
     {"c.yaml:1:26: admission.queue_limit: '0x10' is not a decimal whole number, expected a "
      "whole number, 0 to 1000000"}},
    {"negative_number",
     "ipc: {allow_uids: [-1]}\n",
     {"c.yaml:1:20: ipc.allow_uids[0]: '-1' is negative, expected a whole number, 0 to "
      "4294967294"}},
    {"word_that_is_not_any",
     "ipc: {allow_uids: all}\n",
     {"c.yaml:1:19: ipc.allow_uids: 'all', expected any, or a list of values, each a whole number, "
      "0 to 4294967294"}},
    {"overflowing_number",
     "admission: {queue_limit: 18446744073709551616}\n",
     {"c.yaml:1:26: admission.queue_limit: '18446744073709551616' is out of range, expected a "
      "whole number, 0 to 1000000"}},
    {"threshold_out_of_range",
     "admission: {active_decode_blocks_threshold: 1.01}\n",
     {"c.yaml:1:45: admission.active_decode_blocks_threshold: '1.01' is out of range, expected "
      "a number, 0 to 1"}},
    {"threshold_not_a_number",
     "admission: {active_decode_blocks_threshold: .nan}\n",
     {"c.yaml:1:45: admission.active_decode_blocks_threshold: '.nan' is not a number, expected a "
      "number, 0 to 1"}},
    {"status_outside_its_set",
     "admission: {overload_status: 504}\n",
     {"c.yaml:1:30: admission.overload_status: '504', expected 503, 529 or 429"}},
    {"plain_file_mode",
     "ipc: {mode: 0660}\n",
     {"c.yaml:1:13: ipc.mode: '0660' is a number unless quoted, expected a quoted octal mode "
      "such as \"0660\""}},
    {"file_mode_that_is_not_octal",
     "ipc: {mode: \"0680\"}\n",
     {"c.yaml:1:13: ipc.mode: '0680', expected a quoted octal mode such as \"0660\""}},
    {"long_socket_path",
     "ipc: {socket: /" + std::string(107, 'x') + "}\n",
     {"c.yaml:1:15: ipc.socket: '/" + std::string(59, 'x') +
      "...', expected an absolute path of at most 107 bytes"}},
    {"host_name_to_listen_on",
     "probes: {listen: \"localhost:1\"}\n",
     {"c.yaml:1:18: probes.listen: 'localhost:1' is not an IP address, expected an IP address "
      "and a port such as [::]:7090 or 0.0.0.0:7090"}},
    {"port_0_to_connect_to",
     "health: {checks: [{name: a, tcp: {address: \"a:0\"}}]}\n",
     {"c.yaml:1:44: health.checks[0].tcp.address: 'a:0' has port 0, expected a host and a port "
      "such as 127.0.0.1:8000"}},
    {"upstream_of_no_kind",
     "ingress: {upstream: \"unix:relative\"}\n",
     {"c.yaml:1:21: ingress.upstream: 'unix:relative', expected an address such as 127.0.0.1:8000, "
      "or a socket such as unix:/run/engine.sock"}},
    {"missing_required_key",
     "cleanup: {hooks: [{name: a}]}\n",
     {"c.yaml:1:19: cleanup.hooks[0].command: missing, expected a list of values, each a text"}},
    {"empty_command",
     "cleanup: {hooks: [{name: a, command: []}]}\n",
     {"c.yaml:1:38: cleanup.hooks[0].command: an empty list, expected a list of values, each a "
      "text"}},
    {"check_without_kind",
     "health: {checks: [{name: a}]}\n",
     {"c.yaml:1:19: health.checks[0]: no kind, expected one of http, tcp, exec, ipc, progress"}},
    {"check_of_two_kinds",
     "health: {checks: [{name: a, ipc: {}, progress: {}}]}\n",
     {"c.yaml:1:38: health.checks[0].progress: a second kind, expected only one: ipc is there "
      "already"}},
    {"unknown_kind",
     "discovery:\n  - ectd: {}\n",
     {"c.yaml:2:5: discovery[0].ectd: unknown key, did you mean 'etcd'?",
      "c.yaml:2:5: discovery[0]: no kind, expected one of etcd, kubernetes, http, file, ipc"}},
    {"key_inside_an_empty_kind",
     "discovery: [{ipc: {x: 1}}]\n",
     {"c.yaml:1:20: discovery[0].ipc.x: unknown key, expected none here"}},
    {"required_key_of_a_kind_without_value",
     "discovery: [{http: }]\n",
     {"c.yaml:1:20: discovery[0].http.url: missing, expected a URL such as "
      "http://10.0.0.7:8080"}},
    {"NUL",
     std::string("log: {level: in\0fo}\n", 20),
     {"c.yaml:1:16: a NUL byte, expected UTF-8 text"}},
    {"control_character",
     "log:\n  level: \x1b[31m\n",
     {"c.yaml:2:10: a control character (0x1b), expected UTF-8 text"}},
    {"invalid_UTF_8",
     "log: {}\n# caf\xe9\n",
     {"c.yaml:2:6: invalid UTF-8 (byte 0xe9), expected UTF-8 text"}},
    {"overlong_UTF_8",
     "# \xc0\xaf\n",
     {"c.yaml:1:3: invalid UTF-8 (byte 0xc0), expected UTF-8 text"}},
    {"UTF_16",
     std::string("\xff\xfel\0o\0g\0", 8),
     {"c.yaml:1:1: invalid UTF-8 (byte 0xff), expected UTF-8 text"}},
    {"same_name_twice",
     "endpoints: [{name: a}, {name: b}, {name: a}]\n",
     {"c.yaml:1:42: endpoints[2].name: 'a' is used already, expected another name"}},
    {"lease_of_half_a_second",
     "discovery: [{etcd: {lease_ttl: 2500ms}}]\n",
     {"c.yaml:1:32: discovery[0].etcd.lease_ttl: 2500ms, expected whole seconds, as etcd "
      "counts"}},
    {"no_etcd_servers",
     "discovery: [{etcd: {endpoints: []}}]\n",
     {"c.yaml:1:32: discovery[0].etcd.endpoints: an empty list, expected at least one server"}},
    {"one_port_for_two_listeners",
     "ingress: {listen: \"127.0.0.1:7090\"}\n",
     {"c.yaml:1:19: ingress.listen: 127.0.0.1:7090 overlaps probes.listen, expected an address "
      "of its own"}},
    {"network_with_an_address_in_it",
     "ingress: {trusted_proxies: [10.0.0.0/8, 10.0.0.1/8, proxy]}\n",
     {"c.yaml:1:41: ingress.trusted_proxies[1]: '10.0.0.1/8', expected a network such as "
      "10.0.0.0/8 or fd00::/8, with only zeros after its prefix, or an address",
      "c.yaml:1:53: ingress.trusted_proxies[2]: 'proxy', expected a network such as "
      "10.0.0.0/8 or fd00::/8, with only zeros after its prefix, or an address"}},
    {"control_paths_that_are_none",
     "ingress:\n"
     "  control_paths:\n"
     "    access: open\n"
     "    paths:\n"
     "      - {path: sleep, access: relay}\n"
     "      - {path: /a/../b}\n"
     "      - {path: /a%62}\n"
     "      - {access: refuse}\n",
     {"c.yaml:3:13: ingress.control_paths.access: 'open', expected relay, operators or refuse",
      "c.yaml:5:16: ingress.control_paths.paths[0].path: 'sleep', expected " + kControlPathWords,
      "c.yaml:6:16: ingress.control_paths.paths[1].path: '/a/../b', expected " + kControlPathWords,
      "c.yaml:7:16: ingress.control_paths.paths[2].path: '/a%62', expected " + kControlPathWords,
      "c.yaml:8:9: ingress.control_paths.paths[3].path: missing, expected " + kControlPathWords}},
    {"ciphers_without_forward_secrecy",
     "ingress:\n"
     "  tls:\n"
     "    cert_file: /c\n"
     "    key_file: /k\n"
     "    min_version: TLSv1.1\n"
     "    ciphers: [AES128-GCM-SHA256, TLS_AES_128_GCM_SHA256, ALL]\n",
     {"c.yaml:5:18: ingress.tls.min_version: 'TLSv1.1', expected TLSv1.2 or TLSv1.3",
      "c.yaml:6:15: ingress.tls.ciphers[0]: 'AES128-GCM-SHA256', expected " + kCipherWords,
      "c.yaml:6:58: ingress.tls.ciphers[2]: 'ALL', expected " + kCipherWords}},
    {"ciphers_of_the_wrong_version",
     "ingress: {tls: {cert_file: /c, key_file: /k, min_version: TLSv1.3, ciphers: "
     "[ECDHE-RSA-AES128-GCM-SHA256]}}\n",
     {"c.yaml:1:77: ingress.tls.ciphers: no cipher of TLS 1.3, which ingress.tls.min_version "
      "requires, expected one that begins with TLS_"}},
    {"no_ciphers",
     "ingress: {tls: {cert_file: /c, key_file: /k, ciphers: []}}\n",
     {"c.yaml:1:55: ingress.tls.ciphers: an empty list, expected at least one cipher"}},
    {"client_certificates_over_plain_http",
     "ingress:\n"
     "  tls: {client_ca_file: /ca}\n"
     "  control_paths: {certificates: [ops]}\n",
     {"c.yaml:2:25: ingress.tls.client_ca_file: set without cert_file and key_file, expected both: "
      "clients speak plain HTTP"}},
    {"client_certificates_that_nobody_signs",
     "ingress:\n"
     "  tls: {cert_file: /c, key_file: /k}\n"
     "  control_paths: {certificates: [ops]}\n",
     {"c.yaml:3:33: ingress.control_paths.certificates: set without ingress.tls.client_ca_file: "
      "no certificate is requested from clients"}},
    {"ingress_in_front_of_itself",
     "ingress: {listen: \"[::]:8000\"}\n",
     {"c.yaml:1:10: ingress.upstream: 127.0.0.1:8000 is the ingress itself, expected the "
      "engine's address, with another port than ingress.listen"}},
    {"metrics_of_our_own",
     "engine: {kind: custom, metrics: {url: \"http://127.0.0.1:7090/metrics\"}}\n",
     {"c.yaml:1:39: engine.metrics.url: http://127.0.0.1:7090/metrics is lastcall's own listener "
      "(probes.listen), expected the engine's"}},
    {"a_certificate_without_its_key",
     "ingress: {upstream: \"127.0.0.1:8000\", tls: {cert_file: /a/b}}\n",
     {"c.yaml:1:56: ingress.tls.cert_file: set alone, expected both cert_file and key_file"}},
    {"one_path_for_two_sockets",
     "ipc: {socket: /a/s, admin_socket: /a/s}\n",
     {"c.yaml:1:35: ipc.admin_socket: the same path as ipc.socket, expected another"}},
};

INSTANTIATE_TEST_SUITE_P(Input, Decode, testing::ValuesIn(kBadInputs),
                         [](auto const& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace lastcall::config
