#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "ipc/codec.hpp"
#include "ipc/line_writer.hpp"

namespace lastcall::ipc {
namespace {

std::string line_of(FromSupervisor const& message) {
  std::string line;
  return encode(message, std::nullopt, line) ? line : std::string();
}

std::string line_of(ToSupervisor const& message) {
  std::string line;
  return encode(message, std::nullopt, line) ? line : std::string();
}

TEST(Encode, Appends_to_what_the_buffer_holds) {
  std::string out = "before\n";
  ASSERT_TRUE(encode(FromSupervisor(HealthCheck{}), 7, out));
  EXPECT_EQ(out, "before\n{\"op\":\"health.check\",\"seq\":7}\n");
}

TEST(Encode, Leaves_the_buffer_alone_when_a_field_exceeds_its_limit) {
  std::string out = "before\n";
  EXPECT_FALSE(encode(FromSupervisor(Remember{std::string(kMaxBlob + 1, 'x')}), std::nullopt, out));
  EXPECT_FALSE(
      encode(FromSupervisor(Exit{0, std::string(kMaxReport + 1, 'x')}), std::nullopt, out));
  EXPECT_FALSE(encode(FromSupervisor(Admitted{std::string(kMaxId + 1, 'x')}), std::nullopt, out));
  EXPECT_FALSE(encode(FromSupervisor(Admitted{""}), std::nullopt, out));
  EXPECT_FALSE(encode(FromSupervisor(CancelBatch{}), std::nullopt, out));
  EXPECT_FALSE(encode(ToSupervisor(Fatal{"r", std::string(kMaxLine, 'x')}), std::nullopt, out));
  EXPECT_EQ(out, "before\n");
}

TEST(Encode, Takes_what_is_exactly_at_the_limit) {
  EXPECT_NE(line_of(FromSupervisor(Remember{std::string(kMaxBlob, 'x')})), "");
  EXPECT_NE(line_of(FromSupervisor(Exit{0, std::string(kMaxReport, '"')})), "");
  EXPECT_NE(line_of(FromSupervisor(Admitted{std::string(kMaxId, 'x')})), "");
}

TEST(Encode, A_line_of_exactly_the_most_bytes_can_be_decoded) {
  std::size_t const around = line_of(ToSupervisor(Fatal{"r", "x"})).size() - 2;
  std::string line = line_of(ToSupervisor(Fatal{"r", std::string(kMaxLine - around, 'x')}));
  ASSERT_EQ(line.size(), kMaxLine + 1);
  line.pop_back();
  EXPECT_EQ(decode_to_supervisor(line).index(), 0U);
}

TEST(Decode, One_byte_more_than_a_line_may_have_is_too_long_and_closes) {
  std::string const line = "{\"op\":\"resume\"}" + std::string(kMaxLine - 14, ' ');
  EXPECT_EQ(line.size(), kMaxLine + 1);
  auto const decoded = decode_to_supervisor(line);
  auto const* const problem = std::get_if<DecodeError>(&decoded);
  ASSERT_NE(problem, nullptr);
  EXPECT_EQ(problem->code, ErrorCode::too_long);
  EXPECT_TRUE(problem->close);
  EXPECT_EQ(decode_to_supervisor(std::string_view(line).substr(1)).index(), 1U);
  EXPECT_EQ(decode_to_supervisor(std::string_view(line).substr(0, kMaxLine)).index(), 0U);
}

TEST(Encode, A_raw_value_that_is_no_single_line_of_json_is_refused) {
  EXPECT_EQ(line_of(FromSupervisor(Ack{1, "{"})), "");
  EXPECT_EQ(line_of(FromSupervisor(Ack{1, "{\n}"})), "");
  EXPECT_EQ(line_of(FromSupervisor(Ack{1, "1,\"seq\":2"})), "");
  EXPECT_NE(line_of(FromSupervisor(Ack{1, "[1, {}]"})), "");
}

TEST(Encode, The_line_is_valid_json_whatever_bytes_a_text_holds) {
  std::string all;
  for (int c = 255; c >= 0; --c) {
    all.push_back(static_cast<char>(c));
  }
  std::string const line = line_of(FromSupervisor(Error{std::nullopt, ErrorCode::busy, all}));
  ASSERT_NE(line, "");
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  auto const parsed = nlohmann::json::parse(line);
  auto const text = parsed.at("message").get<std::string>();
  EXPECT_NE(text.find("\xEF\xBF\xBD"), std::string::npos);
  EXPECT_TRUE(text.ends_with(std::string("\x02\x01\x00", 3)));
}

TEST(Encode, Text_in_utf_8_passes_unchanged) {
  std::string const text = "na\xC3\xAFve \xE2\x82\xAC \xF0\x9F\x8D\xBA \"\\/\b\f\n\r\t";
  std::string line = line_of(ToSupervisor(Fatal{text, ""}));
  line.pop_back();
  auto const again = decode_to_supervisor(line);
  ASSERT_EQ(again.index(), 0U);
  EXPECT_EQ(std::get<Fatal>(std::get<0>(again).message).reason, text);
}

std::vector<std::string> cancelled_by(std::string_view bytes, std::size_t& lines) {
  std::vector<std::string> ids;
  for (lines = 0; !bytes.empty(); ++lines) {
    std::size_t const end = bytes.find('\n');
    EXPECT_LE(end, kMaxLine);
    auto const decoded = decode_from_supervisor(bytes.substr(0, end));
    auto const& batch = std::get<CancelBatch>(std::get<0>(decoded).message);
    ids.insert(ids.end(), batch.ids.begin(), batch.ids.end());
    bytes.remove_prefix(end + 1);
  }
  return ids;
}

TEST(EncodeCancels, Many_ids_share_a_line_and_all_arrive_in_order) {
  CancelBatch batch{{}, CancelMode::kill, CancelReason::engine_dead};
  for (int i = 0; i < 10'000; ++i) {
    batch.ids.push_back("request-" + std::to_string(i));
  }
  std::string out;
  for (std::size_t at = 0; at < batch.ids.size();) {
    std::size_t const next = encode_cancels(batch, at, out);
    ASSERT_GT(next, at);
    at = next;
  }
  std::size_t lines = 0;
  EXPECT_EQ(cancelled_by(out, lines), batch.ids);
  EXPECT_LT(lines, 200U);
}

TEST(EncodeCancels, The_longest_ids_that_need_the_most_escapes_fit_too) {
  CancelBatch batch{std::vector<std::string>(1'000, std::string(kMaxId, '\x01')), CancelMode::stop,
                    CancelReason::migrate};
  std::string out;
  for (std::size_t at = 0; at < batch.ids.size();) {
    at = encode_cancels(batch, at, out);
  }
  std::size_t lines = 0;
  EXPECT_EQ(cancelled_by(out, lines), batch.ids);
}

TEST(MaySend, Each_role_has_its_own_messages) {
  EXPECT_TRUE(may_send(Role::engine, RequestBegin{}));
  EXPECT_FALSE(may_send(Role::shim, RequestBegin{}));
  EXPECT_FALSE(may_send(Role::operator_, RequestBegin{}));
  EXPECT_TRUE(may_send(Role::shim, EngineExited{}));
  EXPECT_FALSE(may_send(Role::engine, EngineExited{}));
  EXPECT_TRUE(may_send(Role::operator_, Drain{}));
  EXPECT_FALSE(may_send(Role::engine, Drain{}));
  EXPECT_TRUE(may_send(Role::engine, Cancel{}));
  EXPECT_TRUE(may_send(Role::operator_, Cancel{}));
  EXPECT_FALSE(may_send(Role::shim, Cancel{}));
  for (Role const role : {Role::shim, Role::engine, Role::operator_}) {
    EXPECT_TRUE(may_send(role, Ack{}));
    EXPECT_TRUE(may_send(role, Error{}));
  }
}

}  // namespace
}  // namespace lastcall::ipc
