#include "router/level_proof.hpp"

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/json_reader.hpp"
#include "base/json_writer.hpp"
#include "router/continuation/json_edits.hpp"
#include "router/parts.hpp"

namespace lastcall::router {

using relay::ResponseState;

namespace {

constexpr unsigned kDetokenized = 200;
/// Bytes of an answer in JSON: no tail that is worth the question has more.
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
  for (std::string_view const key : {"prompt", "text"}) {  // as vLLM and as SGLang name it
    json::Value const* const text = continuation::find(members, key);
    if (text != nullptr && text->kind == json::Kind::string) {
      return json::to_string(*text);
    }
  }
  return std::nullopt;
}

}  // namespace

bool LevelProof::begin(Leaving const& leaving) {
  continuation::TokenIds const ids = seam_.ids_to_prove();
  if (ids.empty() || leaving.limit != continuation::Refused::no) {
    return false;
  }
  std::array const without{leaving.worker->id()};
  std::shared_ptr<Worker> const worker =
      parts_.fleet.choose(call_.wanted.model, without, ingress::monotonic_now());
  if (!worker) {
    return false;
  }
  question_ = question_of(call_.wanted.model, ids);
  answer_.clear();
  std::string head = call_.head_of_leg("-d", false, true);
  head.replace(0, head.find('\r'), "POST /detokenize HTTP/1.1");
  leg_ = Leg::begin(
      parts_, *this, worker,
      {.head = std::move(head), .body = question_, .awaits = Awaits::whole_answer, .load = {}});
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
  relay::ResponseReader& reader = leg.reader();
  while (reader.state() == ResponseState::head && !bytes.empty()) {
    relay::ReadHead read;
    if (!reader.read_head(bytes, call_.asked, read)) {
      if (reader.state() == ResponseState::malformed) {
        end(false);
      }
      return;
    }
    if (read.head.status > kDetokenized) {
      end(false);
      return;
    }
    bytes = reader.read_on(bytes, read);
  }
  while (reader.state() == ResponseState::body && !bytes.empty()) {
    answer_ += reader.read_body(bytes);
  }
  if (reader.state() == ResponseState::complete) {
    if (std::optional<std::string> const text = text_in(answer_)) {
      seam_.prove(*text);
    }
    end(reader.keeps_alive());
  } else if (reader.state() == ResponseState::malformed || answer_.size() > kLargestAnswer) {
    end(false);
  }
}

}  // namespace lastcall::router
