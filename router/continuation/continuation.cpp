#include "router/continuation/continuation.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/json_reader.hpp"
#include "relay/engine_error.hpp"
#include "router/continuation/chunk_reader.hpp"
#include "router/continuation/hint.hpp"
#include "router/continuation/json_edits.hpp"

namespace lastcall::router::continuation {
namespace {

using json::Kind;
using Members = std::vector<json::Member>;

/// Returns the reason of a failure if an error object states that the request may be sent again.
std::optional<std::string_view> retryable_type(std::string_view data) {
  Members members;
  Members error;
  if (json::read_object(data, members)) {
    return std::nullopt;
  }
  json::Value const* const object = find(members, "error");
  if (object == nullptr || object->kind != Kind::object || json::read_object(object->text, error)) {
    return std::nullopt;
  }
  json::Value const* const retryable = find(error, "retryable");
  json::Value const* const type = find(error, "type");
  if (retryable == nullptr || retryable->kind != Kind::boolean || !json::is_true(*retryable)) {
    return std::nullopt;
  }
  for (std::string_view const known : {"migrated", "engine_dead"}) {
    if (type != nullptr && type->text == known) {
      return known;
    }
  }
  return "retryable";
}

/// Reads the chunk of one event. Behind it nothing large is kept.
class Reading {
 public:
  explicit Reading(std::string_view data) : data_(data), chunk_(reader().read(data)) {}
  ~Reading() { reader().forget_large(data_); }
  Reading(Reading const&) = delete;
  Reading& operator=(Reading const&) = delete;

  Chunk const& chunk() const { return chunk_; }

 private:
  static ChunkReader& reader() {
    thread_local ChunkReader reader;  // events of all streams are alike
    return reader;
  }

  std::string_view data_;
  Chunk const& chunk_;
};

/// Counts code points, as engines do.
std::uint64_t characters_of(std::string_view text) {
  constexpr unsigned kKind = 0xC0;
  constexpr unsigned kInside = 0x80;
  return static_cast<std::uint64_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & kKind) != kInside;
  }));
}

}  // namespace

Continuation::Continuation(Asked const& asked)
    : request_(read_request(
          endpoint_of(asked.endpoint), asked.body,
          {.is_forbidden = asked.forbidden, .allows_penalties = asked.allows_penalties})),
      voice_(request_) {}

std::string Continuation::first_body(Mode mode) {
  std::string body = continuation::first_body(request_, mode);
  if (std::optional<TokenIds> const ids = request_.prompt_ids()) {
    transcript_.report_prompt(*ids);
  }
  request_.forget_members();  // it may be long before the answer arrives
  return body;
}

void Continuation::begin_leg(Mode mode) {
  Promised const promised = std::exchange(promised_, {});
  leg_ = Leg{
      .state = leg_.state, .way = promised.way, .was_empty = leg_.was_empty, .kept = promised.kept};
  bool const is_whole = leg_.way == Way::whole;
  kLegMoves.apply(leg_.state, is_whole ? LegEvent::first : LegEvent::again);
  leg_.holds_text = request_.has_tools || (!request_.stops().empty() && mode != Mode::ids_vllm);
  leg_.sends_ahead = mode != Mode::ids_vllm;
  ClientStream& client = voice_.client();
  ClientStream::Leg as_client_sees{.is_later = client.has_begun(),
                                   .asks_more = mode != Mode::none && !request_.is_plain()};
  if (!is_whole) {
    as_client_sees.before = std::make_unique<ClientStream::Before>(
        ClientStream::Before{.kept = leg_.kept,
                             .prompt = transcript_.prompt_count(),
                             .characters = characters_of(transcript_.text())});
  }
  client.begin_leg(std::move(as_client_sees));
  if (!is_whole) {
    request_.forget_members();
    leg_.verifier = std::make_unique<Verifier>(proof_of(known(), leg_.way));
    return;
  }
  transcript_.begin_again();
  voice_.begin_again();
}

Received Continuation::receive(std::string_view payload, std::string& out) {
  Received all;
  std::size_t const before = out.size();
  while (leg_.state == LegState::live || leg_.state == LegState::verifying) {
    std::optional<Event> const event = leg_.reader.next(payload);
    if (!event) {
      break;
    }
    Received const one = take(*event, out);
    bool const stays = all.progress == Progress::verified_now && one.progress < Progress::done;
    all.progress = stays || one.progress == Progress::nothing ? all.progress : one.progress;
    all.reason = one.reason;
    all.error_status = one.error_status;
    all.tokens += one.tokens;
    all.verified = all.verified || one.verified;
    all.hand_off_ms = one.hand_off_ms ? one.hand_off_ms : all.hand_off_ms;
  }
  all.moved = out.size() > before;
  return all;
}

Received Continuation::take(Event const& event, std::string& out) {
  bool const is_comment = event.kind == Event::Kind::comment;
  bool const ends_ours = std::exchange(leg_.has_our_comment, false);  // with an empty line
  leg_.has_our_comment = is_comment && event.data.starts_with(" lastcall-");
  bool const is_ours = leg_.has_our_comment || ends_ours;
  bool const is_for_client = leg_.state == LegState::live && !is_ours;
  switch (event.kind) {
    case Event::Kind::comment:
      if (auto const hint = read_hint(event.data)) {
        return {.hand_off_ms = hint->deadline_ms};
      }
      [[fallthrough]];
    case Event::Kind::blank:
      voice_.client().raw(is_for_client ? event.bytes : "", false, out);
      return {};
    case Event::Kind::torn_comment:
      return {};  // the next leg could not end its line
    case Event::Kind::error:
      return take_error(event, out);
    case Event::Kind::other:
    case Event::Kind::torn:
      return take_odd(event, out);
    case Event::Kind::data:
      return take_data(event, out);
  }
  return {};
}

/// The event can be relayed, but nothing after it can be guaranteed to continue correctly.
Received Continuation::take_odd(Event const& event, std::string& out) {
  if (leg_.state == LegState::verifying) {
    return fail("odd_event", out);
  }
  odd_ = odd_ == Refused::no || odd_ == Refused::memory ? Refused::odd_event : odd_;
  voice_.release(out);
  voice_.client().raw(event.bytes, true, out);
  return {Progress::more};
}

Received Continuation::take_error(Event const& event, std::string& out) {
  if (auto const type = retryable_type(event.data)) {
    return fail(*type, out);
  }
  relay::EngineError const error = relay::error_of_event(event.bytes);
  if (error == relay::EngineError::suspect || leg_.state == LegState::verifying) {
    return fail("error", out);
  }
  if (error == relay::EngineError::none) {
    return take_odd(event, out);
  }
  // The request is at fault: another worker would answer the same.
  voice_.release(out);
  voice_.client().raw(event.bytes, true, out);
  kLegMoves.apply(leg_.state, LegEvent::complete);
  return {.progress = Progress::done, .error_status = relay::status_of_error(event.bytes)};
}

Received Continuation::take_data(Event const& event, std::string& out) {
  Reading const reading(event.data);
  Chunk const& chunk = reading.chunk();
  switch (chunk.kind) {
    case Chunk::Kind::error:
      return take_error(event, out);
    case Chunk::Kind::done:
      return take_end(event, out);
    case Chunk::Kind::piece:
    case Chunk::Kind::usage:
      break;
  }
  if (chunk.finish == Finish::failure) {
    return fail("abort", out);
  }
  if (leg_.state == LegState::verifying) {
    return take_proof(event, chunk, out);
  }
  if (chunk.kind == Chunk::Kind::piece) {
    return take_piece(event, chunk, out);
  }
  leg_.tokens = chunk.usage ? as_tokens(chunk.usage->completion) : leg_.tokens;
  voice_.client().usage(event, chunk, out);
  return {Progress::more};
}

Received Continuation::take_end(Event const& event, std::string& out) {
  ClientStream& client = voice_.client();
  if (leg_.state == LegState::verifying) {
    return fail(name(Verdict::unproven), out);
  }
  bool const is_empty = !client.has_finished() && !request_.is_plain() && odd_ == Refused::no &&
                        !transcript_.has_text() && leg_.tokens == 0;
  if (is_empty && !std::exchange(leg_.was_empty, true)) {
    return fail("empty", out);  // another worker may have more, or also nothing
  }
  voice_.release(out);
  if (client.is_later()) {
    return complete(out);
  }
  client.raw(event.bytes, true, out);
  kLegMoves.apply(leg_.state, LegEvent::complete);
  return {Progress::done};
}

Received Continuation::take_proof(Event const& event, Chunk const& chunk, std::string& out) {
  Verdict const verdict = leg_.verifier->receive(chunk);
  if (verdict == Verdict::open) {
    return {};
  }
  if (verdict == Verdict::reasons) {
    transcript_.report_reasons();
  }
  if (verdict != Verdict::proven) {
    return fail(name(verdict), out);
  }
  // The leg's output is recorded after the text that it was given.
  kLegMoves.apply(leg_.state, LegEvent::proven);
  if (leg_.way == Way::by_ids) {
    transcript_.go_on_by_ids();
  } else {
    std::size_t const again = request_.endpoint == Endpoint::chat ? voice_.drop_space() : 0;
    transcript_.go_on_by_text(again, std::move(leg_.verifier->reported()));
  }
  TokenIds const& early = leg_.verifier->early_ids();  // ids of the start of a character
  transcript_.add({.ids = &early});
  leg_.tokens = as_tokens(leg_.tokens + early.size());
  voice_.client().report_early(early);
  leg_.verifier.reset();  // it contains the ids of the whole prompt
  Received received = take_piece(event, chunk, out);
  received.progress =
      received.progress < Progress::done ? Progress::verified_now : received.progress;
  received.verified = true;
  return received;
}

void Continuation::record(Chunk const& chunk) {
  if (leg_.way == Way::whole && chunk.prompt_ids) {
    transcript_.report_prompt(*chunk.prompt_ids);
  } else if (leg_.way == Way::whole && chunk.usage && chunk.usage->prompt > 0) {
    transcript_.report_prompt_count(chunk.usage->prompt);
  }
  bool const has_text = (chunk.text && !chunk.text->text.empty()) ||
                        (chunk.reasoning && !chunk.reasoning->text.empty());
  leg_.tokens =
      as_tokens(chunk.usage ? chunk.usage->completion
                            : leg_.tokens + std::max<std::size_t>(chunk.ids.size(), has_text));
  bool const is_new = odd_ == Refused::no || odd_ == Refused::memory;
  // One of several answers that has ended must not begin again.
  bool const has_ended_one = chunk.finish != Finish::none && request_.choices.get() != 1U;
  if (is_new && (chunk.has_tool_calls || chunk.is_odd || has_ended_one)) {
    odd_ = chunk.has_tool_calls && !chunk.is_odd ? Refused::tool_call_begun : Refused::odd_event;
  }
  if (odd_ != Refused::no) {
    return;
  }
  std::string content;
  std::string reasoning;
  transcript_.add(
      {.ids = &chunk.ids,
       .content = chunk.text ? json::unescaped(*chunk.text, content) : "",
       .reasoning = chunk.reasoning ? json::unescaped(*chunk.reasoning, reasoning) : "",
       .completion = chunk.usage ? std::optional(chunk.usage->completion) : std::nullopt,
       .may_lag = leg_.holds_text,
       .sends_ahead = leg_.sends_ahead});
}

Received Continuation::take_piece(Event const& event, Chunk const& chunk, std::string& out) {
  record(chunk);
  bool const has_text = chunk.has_output() && chunk.finish == Finish::none;
  std::size_t const tokens = std::max<std::size_t>(chunk.ids.size(), has_text);
  bool const is_plain = request_.is_plain() && !voice_.client().is_later();
  if (voice_.client().has_finished() && !is_plain) {
    return fail("after_finish", out);
  }
  bool const is_stopped = voice_.piece(event, chunk, out);
  Received received{Progress::more};
  if (is_stopped && chunk.finish == Finish::none) {  // across the seam, so no engine saw it
    voice_.client().finish("stop", out);
    received = complete(out);
  }
  received.tokens = static_cast<unsigned>(tokens);
  return received;
}

/// A failure after the answer's finish_reason does not affect the answer.
Received Continuation::fail(std::string_view reason, std::string& out) {
  if (voice_.client().has_finished() && !leg_.reader.is_inside_torn()) {
    return complete(out);
  }
  kLegMoves.apply(leg_.state, LegEvent::failed);
  return {Progress::failed, reason};
}

Received Continuation::complete(std::string& out) {
  voice_.client().own_usage(transcript_.prompt_count(), std::uint64_t{leg_.kept} + leg_.tokens,
                            out);
  voice_.client().done(out);
  kLegMoves.apply(leg_.state, LegEvent::complete);
  return {Progress::done};
}

Received Continuation::leg_ended(std::string& out) {
  if (leg_.state == LegState::over) {
    return {Progress::done};
  }
  std::size_t const before = out.size();
  Received received = fail("eof", out);
  received.moved = out.size() > before;
  return received;
}

std::optional<Continuation::Next> Continuation::next(Mode mode, std::string& out) {
  std::optional<Way> const way = way_for(known(), mode);
  if (!way || why_not(known()) != Refused::no || leg_.state != LegState::none) {
    return std::nullopt;
  }
  promised_ = {};
  if (*way == Way::whole) {
    return Next{first_body(mode), false, Way::whole};
  }
  bool const by_ids = *way == Way::by_ids;
  promised_ = {.way = *way, .kept = as_tokens(kept(known(), *way))};
  if (is_spent(known(), *way)) {
    Promised const promised = std::exchange(promised_, {});
    leg_ = Leg{.way = promised.way, .kept = promised.kept};
    voice_.client().finish("length", out);
    complete(out);
    return Next{{}, true, leg_.way};
  }
  GoOn how{.way = promised_.way, .ids = {}, .text = {}, .kept = promised_.kept};
  if (by_ids) {
    how.ids = transcript_.history();
  } else {
    how.text = transcript_.text();
    bool const is_trimmed = request_.endpoint == Endpoint::chat;
    how.text.resize(how.text.size() - (is_trimmed ? space_at_end(how.text) : 0));
  }
  return Next{continued_body(request_, mode, how), false, promised_.way};
}

bool Continuation::may_be_cut() const {
  bool const by_ids = why_not_by_ids(known()) == Refused::no;
  bool const will_be = request_.by_ids == Refused::no && transcript_.knows_ids();
  return leg_.state == LegState::live && !voice_.client().has_finished() &&
         !is_spent(known(), by_ids ? Way::by_ids : Way::by_text) && transcript_.has_text() &&
         odd_ == Refused::no && (by_ids || (!will_be && why_not_by_text(known()) == Refused::no));
}

Continuation::Parked Continuation::swap_leg(Parked other) {
  return {std::exchange(leg_, std::move(other.leg)),
          voice_.client().begin_leg(std::move(other.client))};
}

std::size_t Continuation::held() const {
  return transcript_.bytes() + leg_.reader.held() + voice_.held().size();
}

bool Continuation::forget() {
  bool const is_needed = leg_.state != LegState::none || transcript_.has_text();
  if (leg_.state != LegState::live && is_needed) {
    return false;
  }
  // If nothing was sent yet, the whole request can still be sent again.
  bool const has_sent_ids = request_.wants_ids && !transcript_.tail_ids().empty();
  if (odd_ == Refused::no && (transcript_.has_text() || has_sent_ids)) {
    odd_ = Refused::memory;
  }
  transcript_.forget();
  return true;
}

}  // namespace lastcall::router::continuation
