#include "router/level_proof.hpp"

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/json_reader.hpp"
#include "base/json_writer.hpp"
#include "router/continuation/json_edits.hpp"
#include "router/parts.hpp"

namespace lastcall::router {

namespace {

constexpr unsigned kDetokenized = 200;
/// The largest answer in JSON: no tail that is worth the question is longer.
constexpr std::size_t kLargestAnswer = 256 * 1024;

std::string question_of(std::string_view model, continuation::TokenIds const& ids) {
  std::string text = "{\"model\":";
  json::append_string(text, model);
  text += ",\"tokens\":";
  continuation::append_ids(text, ids);
  return text + "}";
}

std::optional<std::string> text_in(std::string_view answer) {
  std::vector<json::Member> members;
  if (json::read_object(answer, members)) {
    return std::nullopt;
  }
  for (std::string_view const key : {"prompt", "text"}) {  // the names in vLLM and in SGLang
    json::Value const* const text = continuation::find(members, key);
    if (text != nullptr && text->kind == json::Kind::string) {
      return json::to_string(*text);
    }
  }
  return std::nullopt;
}

}  // namespace

LevelProof::LevelProof(Parts& parts, Call const& call, Seam& seam, ContinuationOwner& owner)
    : parts_(parts), call_(call), seam_(seam), owner_(owner), question_(parts, kLargestAnswer) {}

bool LevelProof::begin(MoveCause const& cause) {
  std::optional<continuation::Known> const known = seam_.known();
  bool const may_be_given = known && call_.modes.may_take_ids();
  continuation::TokenIds const ids =
      may_be_given ? continuation::ids_to_prove(*known) : continuation::TokenIds{};
  if (ids.empty() || cause.limit != continuation::Refused::no) {
    return false;
  }
  std::array const without{cause.worker->id()};
  // Ids are of no use to other workers, even if they are level.
  Fleet::Wanted const wanted{
      .model = call_.wanted.model, .affinity = call_.affinity(), .fit = [this](Worker const& one) {
        return continuation::takes_ids(call_.modes.of(one)) ? Fit::best : Fit::no;
      }};
  std::shared_ptr<Worker> const worker = parts_.fleet.choose(wanted, without, monotonic_time());
  if (!worker) {
    return false;
  }
  cause_ = cause;
  std::string head = head_of_leg(call_, {.suffix = "-d", .goes_on = true});
  head.replace(0, head.find('\r'), "POST /detokenize HTTP/1.1");
  question_.ask(
      worker,
      {.head = std::move(head), .body = question_of(call_.wanted.model, ids), .asked = call_.asked},
      parts_.settings.timeouts.connect, [this](WholeAnswer const& answer) { answered(answer); });
  return true;
}

void LevelProof::answered(WholeAnswer const& answer) {
  if (answer.status() == kDetokenized) {
    if (std::optional<std::string> const text = text_in(answer.body())) {
      seam_.prove(*text);
    }
  }
  owner_.proof_ended(std::exchange(cause_, {}));
}

}  // namespace lastcall::router
