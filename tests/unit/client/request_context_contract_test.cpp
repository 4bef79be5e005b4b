// The cases of tests/contract/request_context.jsonl, whose format its README describes.
#include <barrier>
#include <fstream>
#include <future>
#include <thread>

#include <gtest/gtest.h>
#include <lastcall/request_context.hpp>
#include <nlohmann/json.hpp>

#include "sdk/cpp/context_state.hpp"

namespace lastcall {
namespace {

using Json = nlohmann::json;
using std::chrono::seconds;

/// Takes the steps of one case, and puts down what did not hold.
class Runner {
 public:
  void take(Json const& steps) {
    for (Json const& step : steps) {
      take_one(step);
    }
  }

  std::vector<std::string> failures;
  bool has_reacted{true};

 private:
  void take_one(Json const& step) {
    Json const result = result_of(step);
    if (step.contains("refused")) {
      expect(result == Json("refused: " + step["refused"].get<std::string>()), step, result);
    } else if (step.contains("is")) {
      expect(result == step["is"], step, result);
    }
  }

  void expect(bool holds, Json const& step, Json const& result) {
    if (!holds) {
      failures.push_back(step.dump() + " gave " + result.dump());
    }
  }

  Json result_of(Json const& step) {
    try {
      return act(step);
    } catch (std::invalid_argument const& refusal) {
      bool const is_cycle = std::string_view(refusal.what()).find("cycle") != std::string::npos;
      return is_cycle ? "refused: cycle" : "refused: id";
    }
  }

  RequestContext const& at(Json const& step, char const* key) {
    return contexts_.at(step.at(key).get<std::string>());
  }

  Json act(Json const& step) {
    std::string const what = step.at("do");
    if (what == "new") {
      std::string const name = step["as"];
      std::string const id = step.value("id", name);
      contexts_.insert_or_assign(
          name, step.contains("root") ? RequestContext(id, step["root"]) : RequestContext(id));
      return nullptr;
    }
    if (what == "wait" || what == "returned") {
      return what == "wait" ? begin_wait(step) : returned(step);
    }
    if (what == "race") {
      return race(step);
    }
    if (what == "notified") {
      return std::exchange(rises_, Json::array());
    }
    if (what.starts_with("fan") || what.starts_with("chain")) {
      return of_many(what, step);
    }
    return of_one(what, at(step, "on"), step);
  }

  Json of_one(std::string const& what, RequestContext const& context, Json const& step) {
    if (what == "stop" || what == "stop_generating" || what == "kill") {
      return cancel(what, context, step);
    }
    if (what == "link_child") {
      return context.link_child(at(step, "child"));
    }
    if (what == "end") {
      return step.contains("outcome") ? context.end(named<Outcome>(step["outcome"]))
                                      : context.end();
    }
    if (what == "confirm") {
      return context.confirm();
    }
    if (what == "id" || what == "root") {
      return what == "id" ? context.id() : context.root();
    }
    if (what == "is_stopped" || what == "is_killed") {
      return what == "is_stopped" ? context.is_stopped() : context.is_killed();
    }
    if (what == "reason" || what == "cause") {
      return word(what == "reason" ? context.reason() : context.cause());
    }
    if (what == "outcome") {
      return word(context.outcome());
    }
    if (what == "children") {
      sdk::TreeLock const lock;
      return sdk::Handles::state_of(context)->place(lock).children().size();
    }
    if (what == "watch") {
      std::string const name = step["on"];
      context.on_stop([this, name](auto const&) { rises_.push_back(name + " stopped"); });
      context.on_kill([this, name](auto const&) { rises_.push_back(name + " killed"); });
      return nullptr;
    }
    return react(what, context, step);
  }

  template <typename Word>
  static Json word(std::optional<Word> said) {
    return said ? Json(name(*said)) : Json(nullptr);
  }
  template <typename Word>
  static Word named(std::string const& text) {
    int number = 0;
    while (name(static_cast<Word>(number)) != text) {
      ++number;
    }
    return static_cast<Word>(number);
  }

  Json cancel(std::string const& what, RequestContext const& context, Json const& step) {
    auto const reason = named<Reason>(step.value("reason", "control"));
    bool const is_named = step.contains("reason");
    if (what == "kill") {
      return is_named ? context.kill(reason) : context.kill();
    }
    if (what == "stop") {
      return is_named ? context.stop(reason) : context.stop();
    }
    return is_named ? context.stop_generating(reason) : context.stop_generating();
  }

  Json react(std::string const& what, RequestContext const& context, Json const& step) {
    if (what != "react") {
      throw std::logic_error("no step is called " + what);
    }
    has_reacted = false;
    auto const callback = [this, step](auto const&) {
      has_reacted = true;
      take(step["with"]);
    };
    return step["to"] == "stop" ? context.on_stop(callback) : context.on_kill(callback);
  }

  Json of_many(std::string const& what, Json const& step) {
    if (what == "chain") {
      auto& chain = many_[step["top"]];
      chain.resize(step["length"].get<std::size_t>());
      for (std::size_t i = 1; i < chain.size(); ++i) {
        expect(chain[i - 1].link_child(chain[i]), step, i);
      }
      contexts_.insert_or_assign(step["top"], chain.front());
      contexts_.insert_or_assign(step["last"], chain.back());
      return nullptr;
    }
    auto& all = many_[step.contains("top") ? step["top"] : step["below"]];
    if (what == "fan") {
      for (int i = 0; i < step["count"]; ++i) {
        RequestContext const& child = all.emplace_back();
        child.on_stop([this](RequestContext const& each) { notified_.push_back(each); });
        expect(at(step, "below").link_child(child), step, i);
      }
    } else if (what == "fan_notified") {
      expect(notified_ == all, step, notified_.size());
    } else {
      for (auto each = all.rbegin(); each != all.rend(); ++each) {
        expect(each->end(), step, each->id());
      }
    }
    return nullptr;
  }

  Json race(Json const& step) {
    for (int round = 0; round < step["times"]; ++round) {
      take(step["before"]);
      std::vector<std::thread> threads;
      std::vector<Json> results(step["threads"].size(), Json::array());
      std::barrier gate(static_cast<std::ptrdiff_t>(results.size()));
      for (std::size_t i = 0; i < results.size(); ++i) {
        threads.emplace_back([&, i] {
          gate.arrive_and_wait();
          for (Json const& each : step["threads"][i]) {
            results[i].push_back(result_of(each));
          }
        });
      }
      int trues = 0;
      for (std::size_t i = 0; i < results.size(); ++i) {
        threads[i].join();
        for (Json const& each : results[i]) {
          trues += each == Json(true) ? 1 : 0;
        }
      }
      expect(trues == step.value("trues", trues), step, results);
      take(step["after"]);
    }
    return nullptr;
  }

  template <typename Result>
  void put_wait(std::string const& as, std::shared_future<Result> const& future) {
    waits_[as] = [future](seconds at_most) {
      return future.wait_for(at_most) == std::future_status::ready;
    };
  }

  Json begin_wait(Json const& step) {
    RequestContext const& context = at(step, "on");
    std::string const what = step["for"];
    if (what == "async_killed_or_stopped") {
      put_wait(step["as"], context.async_killed_or_stopped());
    } else {
      put_wait(step["as"], what == "stopped" ? context.stopped() : context.killed());
    }
    return nullptr;
  }

  Json returned(Json const& step) {
    return waits_.at(step["wait"])(seconds(step["is"] == true ? 20 : 0));
  }

  std::map<std::string, RequestContext> contexts_;
  std::map<std::string, std::vector<RequestContext>> many_;
  std::map<std::string, std::function<bool(seconds)>> waits_;
  std::vector<RequestContext> notified_;
  Json rises_ = Json::array();
};

std::vector<Json> context_cases() {
  std::ifstream in(LASTCALL_SOURCE_DIR "/tests/contract/request_context.jsonl");
  std::vector<Json> found;
  for (std::string line; std::getline(in, line);) {
    found.push_back(Json::parse(line));
  }
  return found;
}

TEST(RequestContextContract, Every_case_of_the_table_holds) {
  auto const table = context_cases();
  EXPECT_GE(table.size(), 80U);
  for (Json const& each : table) {
    Runner runner;
    runner.take(each["steps"]);
    EXPECT_TRUE(runner.failures.empty()) << each["case"] << ": " << runner.failures.front();
    EXPECT_TRUE(runner.has_reacted) << each["case"];
  }
}

TEST(RequestContextContract, A_case_that_does_not_hold_is_noticed) {
  for (auto const* const step : {
           R"({"do":"is_stopped","on":"a","is":true})",
           R"({"do":"stop","on":"a","is":false})",
           R"({"do":"notified","is":["a stopped"]})",
           R"({"do":"link_child","on":"a","child":"b","refused":"cycle"})",
           R"({"do":"race","times":1,"before":[],"threads":[[{"do":"stop","on":"a"}]],
               "after":[],"trues":0})",
       }) {
    Runner runner;
    runner.take(Json::parse(R"([{"do":"new","as":"a"},{"do":"new","as":"b"}])"));
    runner.take(Json::array({Json::parse(step)}));
    EXPECT_EQ(runner.failures.size(), 1U) << step;
  }
}

}  // namespace
}  // namespace lastcall
