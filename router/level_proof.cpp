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

bool LevelProof::begin(Leaving const& leaving) {
  std::optional<continuation::Known> const known = seam_.known();
  bool const may_be_given = known && call_.modes.may_take_ids();
  continuation::TokenIds const ids =
      may_be_given ? continuation::ids_to_prove(*known) : continuation::TokenIds{};
  if (ids.empty() || leaving.limit != continuation::Refused::no) {
    return false;
  }
  std::array const without{leaving.worker->id()};
  // Ids are of no use to other workers, even if they are level.
  Fleet::Wanted const wanted{
      .model = call_.wanted.model, .affinity = call_.affinity(), .fit = [this](Worker const& one) {
        return continuation::takes_ids(call_.modes.of(one)) ? Fit::best : Fit::no;
      }};
  std::shared_ptr<Worker> const worker = parts_.fleet.choose(wanted, without, monotonic_time());
  if (!worker) {
    return false;
  }
  question_ = question_of(call_.wanted.model, ids);
  answer_ = WholeAnswer(kLargestAnswer);
  std::string head = head_of_leg(call_, {.suffix = "-d", .goes_on = true});
  head.replace(0, head.find('\r'), "POST /detokenize HTTP/1.1");
  leg_ = Leg::begin(
      parts_, *this, worker,
      {.head = std::move(head), .body = question_, .awaits = Awaits::whole_answer, .work = {}});
  if (!leg_) {
    return false;
  }
  leaving_ = leaving;
  parts_.deadlines.arm(deadline_, ingress::Wait::connect);
  return true;
}

void LevelProof::drop() {
  deadline_.disarm();
  Leg::end(leg_, false);
}

void LevelProof::end(bool keep) {
  deadline_.disarm();
  Leg::end(leg_, keep);
  owner_.proof_ended(std::exchange(leaving_, {}));
}

void LevelProof::expired(ingress::Wait /*wait*/) {
  end(false);
}

void LevelProof::leg_is_late(Leg& /*leg*/, Late /*how*/) {
  end(false);
}

void LevelProof::leg_ended(Leg& /*leg*/, bool /*orderly*/) {
  end(false);
}

void LevelProof::leg_response(Leg& leg, std::span<char> bytes) {
  WholeAnswer::State const state = answer_.take(leg.reader(), bytes, call_.asked);
  bool const is_proof = state == WholeAnswer::State::whole && answer_.status() == kDetokenized;
  if (is_proof) {
    if (std::optional<std::string> const text = text_in(answer_.body())) {
      seam_.prove(*text);
    }
  }
  if (state != WholeAnswer::State::reading || answer_.status() > kDetokenized) {
    end(is_proof && leg.reader().keeps_alive());
  }
}

}  // namespace lastcall::router
