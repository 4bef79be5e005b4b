// The tables of the relay's machines: complete, with the ends that they are declared to have, and
// as docs/relay.md shows them.
#include "relay/moves.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "relay/delivery.hpp"
#include "relay/request_side.hpp"
#include "relay/response_reader.hpp"

namespace lastcall::relay {
namespace {

template <std::size_t kStates, std::size_t kEvents>
struct Names {
  std::array<std::string_view, kStates> states;
  std::array<std::string_view, kEvents> events;
};

constexpr Names<5, 4> kRequestNames{{"body", "complete", "tunnel", "tunnel_ended", "refused"},
                                    {"last_byte", "fault", "switched", "client_end"}};
constexpr Names<5, 6> kResponseNames{{"head", "body", "tunnel", "complete", "malformed"},
                                     {"interim", "switched", "body", "no_body", "end", "fault"}};
constexpr Names<6, 5> kDeliveryNames{{"nothing", "opened", "flowing", "tunnel", "done", "cut"},
                                     {"open", "switched", "first_byte", "end", "cut"}};

template <typename State, typename Event, std::size_t kStates, std::size_t kEvents>
std::string table(Moves<State, Event, kStates, kEvents> const& moves,
                  Names<kStates, kEvents> const& names) {
  std::string text = "| state |";
  for (std::string_view const event : names.events) {
    text.append(" ").append(event).append(" |");
  }
  text += "\n|" + std::string("---|");
  for (std::size_t e = 0; e < kEvents; ++e) {
    text += "---|";
  }
  for (std::size_t s = 0; s < kStates; ++s) {
    text.append("\n| **").append(names.states[s]).append("** |");
    for (auto const& to : moves.rows[s]) {
      text.append(" ").append(to ? names.states[static_cast<std::size_t>(*to)] : "-").append(" |");
    }
  }
  return text + "\n";
}

std::string page_between(std::string_view name) {
  std::ifstream file(LASTCALL_SOURCE_DIR "/docs/relay.md");
  std::ostringstream read;
  read << file.rdbuf();
  std::string const page = read.str();
  std::string const begin = "<!-- " + std::string(name) + ":begin -->\n";
  std::size_t const from = page.find(begin);
  std::size_t const to = page.find("<!-- " + std::string(name) + ":end -->");
  return from == page.npos || to == page.npos
             ? ""
             : page.substr(from + begin.size(), to - from - begin.size());
}

template <typename State, typename Event, std::size_t kStates, std::size_t kEvents>
std::vector<std::size_t> dead_ends(Moves<State, Event, kStates, kEvents> const& moves) {
  std::vector<std::size_t> found;
  for (std::size_t s = 0; s < kStates; ++s) {
    bool const leaves =
        std::any_of(moves.rows[s].begin(), moves.rows[s].end(),
                    [s](auto const& to) { return to && static_cast<std::size_t>(*to) != s; });
    if (!leaves) {
      found.push_back(s);
    }
  }
  return found;
}

TEST(Moves, The_page_shows_the_tables) {
  EXPECT_EQ(page_between("request"), table(kRequestMoves, kRequestNames));
  EXPECT_EQ(page_between("response"), table(kResponseMoves, kResponseNames));
  EXPECT_EQ(page_between("delivery"), table(kDeliveryMoves, kDeliveryNames));
}

TEST(Moves, Each_machine_has_the_ends_that_are_documented) {
  auto const number = [](auto state) { return static_cast<std::size_t>(state); };
  EXPECT_EQ(dead_ends(kRequestMoves),
            (std::vector{number(RequestState::tunnel_ended), number(RequestState::refused)}));
  EXPECT_EQ(dead_ends(kResponseMoves),
            (std::vector{number(ResponseState::complete), number(ResponseState::malformed)}));
  EXPECT_EQ(dead_ends(kDeliveryMoves), (std::vector{number(DeliveryState::cut)}));
}

TEST(MovesDeathTest, A_move_that_is_not_in_the_table_ends_the_process) {
  DeliveryState state = DeliveryState::done;
  EXPECT_EXIT(kDeliveryMoves.apply(state, DeliveryEvent::open), testing::ExitedWithCode(1),
              "broken invariant");
}

}  // namespace
}  // namespace lastcall::relay
