// Seeded answers that move from worker to worker, on virtual time: each is held to one rule, that
// its client has a beginning of one answer, whole at its end.
//
//   migrations [--count N] [--first SEED]
//   migrations --seed SEED    one of them, with what its legs said and what its client got
//   migrations --self-test    streams that were tampered with: each has to be found
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_reader.hpp"
#include "router/continuation/continuation.hpp"
#include "router/continuation/held_leg.hpp"
#include "router/continuation/limits.hpp"
#include "tests/simulation/router/engine_model.hpp"

namespace lastcall::router::simulation {
namespace {

using continuation::Chunk;
using continuation::Continuation;
using continuation::Event;
using continuation::Progress;
using continuation::Received;

struct Totals {
  std::uint64_t answers = 0;
  std::uint64_t whole = 0;
  std::uint64_t refused = 0;
  std::uint64_t moves = 0;
  std::uint64_t by_text = 0;
  std::uint64_t handed_over = 0;
  std::uint64_t released = 0;
  std::uint64_t late = 0;  // of those
  std::uint64_t lies = 0;
  std::uint64_t forgotten = 0;
};

/// What a client reads from its stream.
struct View {
  Texts texts;
  int finishes = 0;
  int dones = 0;
  int roles = 0;
  int prompts = 0;
  bool has_strange_head = false;
  std::string finish;
  TokenIds ids;
  std::optional<continuation::Usage> usage;
};

View view_of(std::string_view stream) {
  View view;
  continuation::EventReader reader;
  std::string id;
  while (auto const event = reader.next(stream)) {
    if (event->kind != Event::Kind::data) {
      continue;
    }
    Chunk const chunk = continuation::read_chunk(event->data);
    view.dones += chunk.kind == Chunk::Kind::done ? 1 : 0;
    view.roles += chunk.has_role ? 1 : 0;
    view.texts.content += chunk.text ? json::to_string(*chunk.text) : "";
    view.texts.reasoning += chunk.reasoning ? json::to_string(*chunk.reasoning) : "";
    if (chunk.finish != continuation::Finish::none) {
      ++view.finishes;
      view.finish = continuation::find_value(chunk.choice, "finish_reason")->text;
    }
    view.usage = chunk.usage ? chunk.usage : view.usage;
    if (chunk.kind != Chunk::Kind::done) {
      std::string const own(continuation::find_value(chunk.top, "id")->text);
      view.has_strange_head = view.has_strange_head || (!id.empty() && own != id);
      id = own;
    }
    view.ids.insert(view.ids.end(), chunk.ids.begin(), chunk.ids.end());
    view.prompts += chunk.prompt_ids ? 1 : 0;
  }
  return view;
}

bool begins_with(std::string_view whole, std::string_view part) {
  return whole.substr(0, part.size()) == part;
}

class World {
 public:
  World(std::uint64_t seed, Totals& totals) : dice_(seed), totals_(totals) { draw(); }

  /// Empty: all is as it must be.
  std::string run();
  std::string const& out() const { return out_; }
  bool traces = false;
  /// Whether the check of an answer that is as it must be finds each event that is sent twice, and
  /// each that is missing.
  bool finds_tampering();

 private:
  void draw();
  Mode draw_mode();
  Lie draw_lie();
  Leg start(std::string const& body, Mode mode, bool may_lie);
  std::string cut_off(Leg& leg);
  std::string draw_stream(Leg& leg);
  Received play(std::string_view stream);
  Received hand_off(std::string_view rest);
  std::string check();
  std::string check_end();
  std::string check_early_end(View const& view) const;
  void adopt(Leg const& leg);

  Dice dice_;
  Totals& totals_;
  Case case_;
  std::string body_;
  std::optional<Continuation> machine_;
  std::string out_;
  TokenIds truth_;  // the answer's tokens, as far as the leg that is believed reports
  Leg leg_;         // the present one
  std::string problem_;
  unsigned legs_ = 0;
  bool is_by_ids_ = true;
};

void World::draw() {
  case_.is_chat = dice_.one_in(2);
  case_.reasons = case_.is_chat && dice_.one_in(4);
  case_.reopens = case_.reasons && dice_.one_in(2);
  case_.wants_ids = dice_.one_in(8);
  case_.has_tools = case_.is_chat && dice_.one_in(6);
  std::array<std::string_view, 4> const stops{"END", "the", " \n", "aE"};
  case_.stop = dice_.one_in(3) ? stops[dice_.below(stops.size())] : "";
  case_.keeps_stop = !case_.stop.empty() && dice_.one_in(4);
  case_.wants_usage = dice_.one_in(2);
  case_.max_tokens = 1 + dice_.below(40);
  case_.ids_an_event = dice_.one_in(3) ? 3 : 1;
  body_ = case_.body();
  machine_.emplace(continuation::Asked{
      .endpoint = case_.is_chat ? "chat_completions" : "completions", .body = body_});
}

Mode World::draw_mode() {
  std::array<Mode, 6> const modes{Mode::ids_vllm, Mode::ids_vllm,   Mode::ids_vllm,
                                  Mode::text,     Mode::ids_sglang, Mode::none};
  return modes[dice_.below(modes.size())];
}

Lie World::draw_lie() {
  std::array<Lie, 4> const lies{Lie::starts_over, Lie::silent, Lie::leaks, Lie::one_less};
  return dice_.one_in(5) ? lies[dice_.below(lies.size())] : Lie::none;
}

/// How much of a leg arrives: all, or up to any byte, perhaps with one of an engine's last words.
std::string World::cut_off(Leg& leg) {
  leg.sent = draw_stream(leg);
  return leg.sent;
}

std::string World::draw_stream(Leg& leg) {
  std::string all;
  std::size_t const whole = dice_.below(leg.events.size() + 1);
  bool const dies = dice_.below(3) != 0;
  for (std::size_t i = 0; i < (dies ? whole : leg.events.size()); ++i) {
    all += leg.events[i];
  }
  if (!dies) {
    return all;
  }
  std::array<std::string_view, 5> const words{
      "data: {\"error\":{\"message\":\"dead\",\"code\":500}}\n\ndata: [DONE]\n\n",
      "data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"text\":\"\",\"delta\":{},"
      "\"finish_reason\":\"abort\"}]}\n\ndata: [DONE]\n\n",
      "event: error\ndata: {\"error\":{\"type\":\"migrated\",\"retryable\":true}}\n\n",
      "data: {\"error\":{\"type\":\"engine_dead\",\"code\":503,\"retryable\":true}}\n\n",
      "data: [DONE]\n\n"};
  if (dice_.one_in(2)) {
    std::string_view const word = words[dice_.below(words.size())];
    leg.ends_early = word == words.back();
    return all.append(word);
  }
  std::string const torn = whole < leg.events.size() ? leg.events[whole] : "";
  return all + torn.substr(0, dice_.below(torn.size() + 1));
}

void World::adopt(Leg const& leg) {
  totals_.lies += leg.is_lie ? 1 : 0;
  if (leg.is_lie) {
    problem_ = "a leg that lies was believed";
  }
  Texts const given = texts_of(
      case_, {leg.answer.begin(), leg.answer.begin() + static_cast<std::ptrdiff_t>(leg.given)});
  Texts const before = texts_of(case_, truth_);
  if (!begins_with(before.content, given.content) ||
      !begins_with(before.reasoning, given.reasoning)) {
    problem_ = "a prompt holds what no engine said";
  }
  truth_ = leg.answer;
}

std::string World::check() {
  if (!problem_.empty()) {
    return problem_;
  }
  View const view = view_of(out_);
  Texts const truth = texts_of(case_, truth_);
  if (!begins_with(truth.content, view.texts.content) ||
      !begins_with(truth.reasoning, view.texts.reasoning)) {
    return "the client's text is no beginning of the answer: '" + view.texts.content + "' of '" +
           truth.content + "'";
  }
  if (view.finishes > 1 || view.dones > 1 || view.roles > 1 || view.has_strange_head) {
    return "two ends, two roles, or a head that changes";
  }
  if (view.dones > view.finishes && !leg_.ends_early) {
    return "[DONE] without a finish";
  }
  bool const has_ids = !view.ids.empty() || view.prompts > 0;
  if (case_.wants_ids ? view.prompts > 1 || view.ids.size() > truth_.size() ||
                            !std::equal(view.ids.begin(), view.ids.end(), truth_.begin())
                      : has_ids) {
    return "ids that the client did not want, or that are not the answer's";
  }
  bool const trims = !case_.stop.empty() && !case_.keeps_stop;
  if (trims && (view.texts.content.find(case_.stop) != std::string::npos ||
                view.texts.reasoning.find(case_.stop) != std::string::npos)) {
    return "the client sees the stop string";
  }
  return "";
}

std::string World::check_end() {
  View const view = view_of(out_);
  Texts truth = texts_of(case_, truth_);
  if (view.dones == 1 && view.finishes == 0 && leg_.ends_early) {
    return check_early_end(view);
  }
  if (view.dones != 1 || view.finishes != 1) {
    return "a complete answer without its end";
  }
  for (std::string* text : {&truth.reasoning, &truth.content}) {
    std::size_t const stop = case_.stop.empty() ? text->npos : text->find(case_.stop);
    if (stop != text->npos) {
      // An engine that ignores that option leaves it out; the router, over a seam, does not.
      bool const is_shown =
          case_.keeps_stop && (leg_.keeps_stop || view.texts.content.ends_with(case_.stop));
      text->resize(stop + (is_shown ? case_.stop.size() : 0));
      truth.content = text == &truth.reasoning ? "" : truth.content;
    }
  }
  // At its limit of tokens an answer may end inside of a character, which no client gets.
  if (view.finish == "length") {
    truth.content.resize(truth.content.size() - pending(truth.content));
  }
  if (view.texts.content != truth.content) {
    return "the answer ends early: '" + view.texts.content + "' of '" + truth.content + "'";
  }
  if (case_.wants_usage && is_by_ids_ && view.usage && view.finish != "stop" &&
      view.usage->completion > case_.max_tokens) {
    return "more tokens than were asked for";
  }
  return "";
}

/// Its engine has ended it by its own word: the client has all that it sent.
std::string World::check_early_end(View const& view) const {
  Texts whole = texts_of(
      case_, {leg_.answer.begin(), leg_.answer.begin() + static_cast<std::ptrdiff_t>(leg_.given)});
  Texts const sent = view_of(leg_.sent).texts;
  whole.content += sent.content;
  whole.reasoning += sent.reasoning;
  return view.texts.content == whole.content && view.texts.reasoning == whole.reasoning
             ? ""
             : "an answer without a finish ends early: '" + view.texts.content + "' of '" +
                   whole.content + "'";
}

Leg World::start(std::string const& body, Mode mode, bool may_lie) {
  Lie const lie = may_lie ? draw_lie() : Lie::none;
  Leg leg = generate(case_, body, mode, lie, "leg" + std::to_string(legs_++), dice_);
  if (traces) {
    std::printf("leg %u, mode %d, lie %d, status %u:\n%s\n", legs_ - 1, static_cast<int>(mode),
                static_cast<int>(lie), leg.status, body.c_str());
    for (std::string const& event : leg.events) {
      std::printf("  %s", event.c_str());
    }
  }
  return leg;
}

/// Bytes in pieces of any size; the record is level at some of the seams, and then the answer may
/// be handed over.
Received World::play(std::string_view stream) {
  Received received;
  while (!stream.empty() && received.progress < Progress::done) {
    std::size_t const size = std::min<std::size_t>(stream.size(), 1 + dice_.below(200));
    received = machine_->receive(stream.substr(0, size), out_);
    stream.remove_prefix(size);
    if (received.verified) {
      adopt(leg_);
    }
    if (std::string const bad = check(); !bad.empty()) {
      problem_ = bad;
      return received;
    }
    if (received.progress < Progress::done && dice_.one_in(300)) {  // for lack of memory
      totals_.forgotten += machine_->forget() ? 1 : 0;
    }
    if (received.progress < Progress::done && dice_.one_in(40) && machine_->may_be_cut()) {
      return hand_off(stream);
    }
  }
  return received.progress < Progress::done ? machine_->leg_ended(out_) : received;
}

Received World::hand_off(std::string_view rest) {
  continuation::HeldLeg hand(*machine_);
  Mode const mode = draw_mode();
  auto const body = hand.cut(mode);
  if (!body) {
    return play(rest);
  }
  Leg const old = std::exchange(leg_, start(*body, mode, true));
  machine_->begin_leg(mode);
  std::string const stream = leg_.status == 200 ? cut_off(leg_) : "";
  std::string_view fresh = stream;
  Received received;
  while (hand.state() == continuation::HeldLegState::holding) {
    bool const is_old = !rest.empty() && dice_.one_in(2);
    std::string_view& from = is_old ? rest : fresh;
    std::size_t const size = std::min<std::size_t>(from.size(), 1 + dice_.below(200));
    if (dice_.one_in(100)) {  // the old worker's time is over
      received = hand.release(out_);
      ++totals_.late;
      break;
    }
    if (size == 0) {
      received = hand.release(out_);
    } else if (is_old) {
      received = hand.receive_old(from.substr(0, size), out_);
    } else {
      received = hand.receive_new(from.substr(0, size), out_);
    }
    from.remove_prefix(size);
    if (is_old && rest.empty() && hand.state() == continuation::HeldLegState::holding) {
      received = hand.old_ended(out_);
    }
  }
  bool const has_moved = hand.state() == continuation::HeldLegState::moved;
  (has_moved ? totals_.handed_over : totals_.released) += 1;
  if (has_moved) {
    is_by_ids_ = false;  // counts are not followed over it
    adopt(leg_);
  } else {
    leg_ = old;
  }
  if (std::string const bad = check(); !bad.empty()) {
    problem_ = bad + " (handing over)";
    return received;
  }
  std::string_view const left = has_moved ? fresh : rest;
  return received.progress < Progress::done ? play(left) : received;
}

std::string World::run() {
  ++totals_.answers;
  Mode mode = draw_mode();
  continuation::Way way = continuation::Way::whole;
  std::string body = machine_->first_body(mode);
  for (int moves = 0; moves < 8; ++moves) {
    leg_ = start(body, mode, moves > 0);
    if (way == continuation::Way::whole) {
      truth_ = leg_.answer;
    }
    machine_->begin_leg(mode);
    Received const received = leg_.status == 200 ? play(cut_off(leg_)) : machine_->leg_ended(out_);
    if (std::string const bad = check(); !bad.empty()) {
      return bad;
    }
    if (received.progress == Progress::done) {
      ++totals_.whole;
      return check_end();
    }
    mode = draw_mode();
    auto next = machine_->next(mode, out_);
    if (!next) {
      ++totals_.refused;
      mode = Mode::ids_vllm;  // the worker that can most
      next = machine_->next(mode, out_);
    }
    if (!next) {
      return check();
    }
    way = next->way;
    ++totals_.moves;
    totals_.by_text += way == continuation::Way::by_text ? 1 : 0;
    is_by_ids_ = is_by_ids_ && way != continuation::Way::by_text;
    if (next->finished) {
      ++totals_.whole;
      return check_end();
    }
    body = next->body;
  }
  return check();
}

bool World::finds_tampering() {
  std::vector<std::string> events;
  for (std::size_t at = 0; at < out_.size();) {
    std::size_t const end = std::min(out_.find("\n\n", at), out_.size() - 2) + 2;
    events.push_back(out_.substr(at, end - at));
    at = end;
  }
  std::string const whole = out_;
  bool finds_all = true;
  for (std::size_t i = 0; i < events.size(); ++i) {
    View const view = view_of(events[i]);
    bool const says_all = view.texts.reasoning.empty() && !view.texts.content.empty();
    for (int copies : {0, 2}) {
      out_.clear();
      for (std::size_t k = 0; k < events.size(); ++k) {
        for (int copy = k == i ? copies : 1; copy > 0; --copy) {
          out_ += events[k];
        }
      }
      finds_all = finds_all && (!says_all || !check().empty() || !check_end().empty());
    }
  }
  out_ = whole;
  return finds_all;
}

int self_test() {
  Totals totals;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    World world(seed, totals);
    std::uint64_t const whole = totals.whole;
    if (!world.run().empty() || (totals.whole > whole && !world.finds_tampering())) {
      std::printf("seed %llu: the check finds no tampering\n",
                  static_cast<unsigned long long>(seed));
      return 1;
    }
  }
  return totals.whole > 50 ? 0 : 1;
}

int run_one(std::uint64_t seed, bool prints) {
  Totals totals;
  World world(seed, totals);
  world.traces = prints;
  std::string const problem = world.run();
  if (prints || !problem.empty()) {
    std::printf("seed %llu: %s\n%s\n", static_cast<unsigned long long>(seed),
                problem.empty() ? "as it must be" : problem.c_str(), world.out().c_str());
  }
  return problem.empty() ? 0 : 1;
}

int run_many(std::uint64_t first, std::uint64_t count) {
  Totals totals;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    World world(seed, totals);
    std::string const problem = world.run();
    if (!problem.empty()) {
      std::printf("seed %llu: %s\nreplay it with: migrations --seed %llu\n",
                  static_cast<unsigned long long>(seed), problem.c_str(),
                  static_cast<unsigned long long>(seed));
      return 1;
    }
  }
  std::printf(
      "%llu answers: %llu whole, %llu moves (%llu by text), %llu refused, "
      "%llu handed over, %llu released, %llu of them late, %llu forgotten\n",
      static_cast<unsigned long long>(totals.answers),
      static_cast<unsigned long long>(totals.whole), static_cast<unsigned long long>(totals.moves),
      static_cast<unsigned long long>(totals.by_text),
      static_cast<unsigned long long>(totals.refused),
      static_cast<unsigned long long>(totals.handed_over),
      static_cast<unsigned long long>(totals.released),
      static_cast<unsigned long long>(totals.late),
      static_cast<unsigned long long>(totals.forgotten));
  bool const is_worth_it = totals.whole * 3 > totals.answers && totals.moves > totals.answers / 3 &&
                           totals.by_text > 0 && totals.handed_over > 0 && totals.late > 0 &&
                           totals.forgotten > 0 && totals.released > totals.late;
  return is_worth_it || count < 1000 ? 0 : 1;
}

}  // namespace
}  // namespace lastcall::router::simulation

int main(int argc, char** argv) {
  using namespace lastcall::router::simulation;
  std::uint64_t first = 1;
  std::uint64_t count = std::getenv("LASTCALL_TEST_LONG") != nullptr ? 100'000 : 3'000;
  for (int i = 1; i < argc; i += 2) {
    std::string_view const flag = argv[i];
    if (flag == "--self-test") {
      return self_test();
    }
    if (i + 1 == argc || (flag != "--seed" && flag != "--first" && flag != "--count")) {
      std::fprintf(stderr,
                   "migrations: expected --count N, --first SEED, --seed SEED or "
                   "--self-test, not '%s'\n",
                   argv[i]);
      return 2;
    }
    std::uint64_t const value = std::strtoull(argv[i + 1], nullptr, 10);
    if (flag == "--seed") {
      return run_one(value, true);
    }
    (flag == "--first" ? first : count) = value;
  }
  return run_many(first, count);
}
