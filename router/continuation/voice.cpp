#include "router/continuation/voice.hpp"

#include <utility>

#include "base/json_reader.hpp"

namespace lastcall::router::continuation {
namespace {

/// White space at the end of a chat's text is held if the text may have to be sent back.
TextGate::Rules rules_of(Request const& request, bool is_content) {
  if (request.is_plain()) {
    return {};
  }
  bool const is_trimmed = request.endpoint == Endpoint::chat && request.by_text == Refused::no;
  return {.stops = request.stops(),
          .keeps_stop = request.keeps_stop,
          .holds_space = is_content && is_trimmed};
}

bool has(std::optional<json::Value> const& text) {
  return text && !text->text.empty();
}

bool is_end(Chunk const& chunk) {
  return chunk.finish != Finish::none || chunk.has_tool_calls;
}

}  // namespace

void Voice::begin_again() {
  content_.flush();
  reasoning_.reset();
}

void Voice::release(std::string& out) {
  std::string held = reasoning_ ? reasoning_->flush() : std::string();
  if (!held.empty()) {
    client_.text({}, held, out);
  }
  held = content_.flush();
  if (!held.empty()) {
    client_.text(held, {}, out);
  }
}

void Voice::reasoning(Chunk const& chunk, ClientStream::Texts& texts, std::string& out) {
  bool const goes_on = !is_end(chunk) && !has(chunk.text);
  if (has(chunk.reasoning)) {
    if (!reasoning_) {
      reasoning_ = std::make_unique<TextGate>();
    }
    std::string room;
    TextGate::Out passed = reasoning_->pass(json::unescaped(*chunk.reasoning, room),
                                            rules_of(client_.request(), false));
    is_stopped_ = passed.is_stopped;
    texts.reasoning = std::move(passed.text);
    texts.reasoning->append(goes_on || is_stopped_ ? "" : reasoning_->flush());
  } else if (reasoning_ && !goes_on) {
    if (std::string const held = reasoning_->flush(); !held.empty()) {
      client_.text({}, held, out);
    }
  }
}

void Voice::content(Chunk const& chunk, ClientStream::Texts& texts, std::string& out) {
  std::string room;
  TextGate::Out passed =
      has(chunk.text) && !is_stopped_
          ? content_.pass(json::unescaped(*chunk.text, room), rules_of(client_.request(), true))
          : TextGate::Out{.text = {}, .is_stopped = is_stopped_};
  is_stopped_ = passed.is_stopped;
  if (is_end(chunk) && !is_stopped_) {
    passed.text.append(content_.flush());
  }
  if (chunk.text) {
    texts.content = std::move(passed.text);
  } else if (!passed.text.empty()) {
    client_.text(passed.text, {}, out);
  }
}

bool Voice::piece(Event const& event, Chunk const& chunk, std::string& out) {
  ClientStream::Texts texts;
  // If the gate of the content is open, the gate of the reasoning is, too, because both have the
  // same stop strings.
  if (!rules_of(client_.request(), true).are_open()) {
    reasoning(chunk, texts, out);
    content(chunk, texts, out);
  }
  client_.piece(event, chunk, texts, out);
  return is_stopped_;
}

}  // namespace lastcall::router::continuation
