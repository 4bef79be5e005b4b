#include "discovery/file_registry.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/discovery/loop.hpp"

namespace lastcall::discovery::test {
namespace {

namespace fs = std::filesystem;

class FileRegistryTest : public LoopTest {
 protected:
  FileRegistryTest() {
    std::string pattern = fs::temp_directory_path() / "lastcall-registry-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
  }
  ~FileRegistryTest() override { fs::remove_all(directory_); }

  static Instance instance() {
    return {.dynamo_namespace = "dynamo",
            .component = "backend",
            .endpoint = "generate",
            .id = instance_id("pod-1", "generate"),
            .advertise = "http://10.0.0.7:8080",
            .model = "Qwen/Qwen3-0.6B",
            .pod_uid = "pod-1"};
  }
  std::unique_ptr<Registry> registry() {
    return make_file_registry(io_.get_executor(), directory_, instance());
  }
  RegistryResult enter(Registry& registry) {
    std::optional<RegistryResult> result;
    registry.register_instances(in(Duration{5000}), [&](RegistryResult r) { result = r; });
    EXPECT_FALSE(result) << "called from inside the call";
    run_until([&] { return result.has_value(); });
    return result.value_or(RegistryResult::failed("no answer"));
  }
  RegistryResult remove(Registry& registry) {
    std::optional<RegistryResult> result;
    registry.deregister(in(Duration{5000}), [&](RegistryResult r) { result = r; });
    run_until([&] { return result.has_value(); });
    return result.value_or(RegistryResult::failed("no answer"));
  }
  fs::path file_of(Instance const& of) const {
    return fs::path(directory_) / (instance_hex(of.id) + ".json");
  }
  std::string read(fs::path const& path) const {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(fs::path const& path, std::string const& text) const { std::ofstream(path) << text; }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
  }

  std::string directory_;
};

TEST_F(FileRegistryTest, A_pipe_in_its_files_place_is_replaced_and_never_waited_for) {
  ASSERT_EQ(::mkfifo(file_of(instance()).c_str(), 0600), 0);
  auto const mine = registry();
  EXPECT_TRUE(enter(*mine).confirmed);
  EXPECT_TRUE(fs::is_regular_file(file_of(instance())));
  fs::remove(file_of(instance()));
  ASSERT_EQ(::mkfifo(file_of(instance()).c_str(), 0600), 0);
  EXPECT_TRUE(remove(*mine).confirmed);
  EXPECT_EQ(files(), 0U);
}

TEST_F(FileRegistryTest, A_file_in_its_place_that_is_too_long_is_not_read_whole) {
  write(file_of(instance()), std::string(100'000, ' ') + R"({"pod_uid": "pod-2"})");
  auto const mine = registry();
  EXPECT_TRUE(enter(*mine).confirmed);
  EXPECT_LT(fs::file_size(file_of(instance())), 1'000U);
}

TEST_F(FileRegistryTest, Writes_one_whole_file) {
  auto const mine = registry();
  auto const result = enter(*mine);
  EXPECT_TRUE(result.confirmed) << result.reason;
  EXPECT_EQ(files(), 1U);  // and no temporary file
  auto const content = nlohmann::json::parse(read(file_of(instance())));
  EXPECT_EQ(content.at("instance_id"), instance().id);
  EXPECT_EQ(content.at("namespace"), "dynamo");
  EXPECT_EQ(content.at("component"), "backend");
  EXPECT_EQ(content.at("endpoint"), "generate");
  EXPECT_EQ(content.at("advertise"), "http://10.0.0.7:8080");
  EXPECT_EQ(content.at("model"), "Qwen/Qwen3-0.6B");
  EXPECT_EQ(content.at("pod_uid"), "pod-1");
  EXPECT_EQ(content.at("started_at").get<std::string>().size(), 20U);
}

TEST_F(FileRegistryTest, Deregister_removes_it_and_confirms) {
  auto const mine = registry();
  enter(*mine);
  auto const result = remove(*mine);
  EXPECT_TRUE(result.confirmed) << result.reason;
  EXPECT_EQ(files(), 0U);
  EXPECT_TRUE(remove(*mine).confirmed) << "twice is harmless";
}

TEST_F(FileRegistryTest, Makes_a_missing_directory_and_deregisters_from_none) {
  auto const parent = directory_;
  directory_ += "/a/b";
  EXPECT_TRUE(remove(*registry()).confirmed);
  EXPECT_TRUE(enter(*registry()).confirmed);
  EXPECT_EQ(files(), 1U);
  directory_ = parent;
}

TEST_F(FileRegistryTest, What_others_left_behind_in_a_write_is_removed_an_hour_later) {
  fs::path const place(directory_);
  std::string const another = instance_hex(instance_id("pod-9", "generate"));
  fs::path const old = place / ("." + another + ".json.tmp");
  fs::path const young = place / ("." + instance_hex(8) + ".json.tmp");
  fs::path const instance_of_another = place / (another + ".json");
  fs::path const foreign = place / ".something.json.tmp";
  for (fs::path const& path : {old, young, instance_of_another, foreign}) {
    write(path, "half");
  }
  for (fs::path const& path : {old, instance_of_another, foreign}) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::minutes(61));
  }
  auto const one = registry();
  EXPECT_TRUE(enter(*one).confirmed);
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young)) << "it may be written just now";
  EXPECT_TRUE(fs::exists(instance_of_another));
  EXPECT_TRUE(fs::exists(foreign));
}

TEST_F(FileRegistryTest, A_file_of_our_earlier_life_is_replaced) {
  write(file_of(instance()), R"({"pod_uid": "pod-1", "advertise": "http://old"})");
  write(fs::path(directory_) / ("." + instance_hex(instance().id) + ".json.tmp"), "half");
  EXPECT_TRUE(enter(*registry()).confirmed);
  EXPECT_EQ(nlohmann::json::parse(read(file_of(instance()))).at("advertise"),
            "http://10.0.0.7:8080");
  EXPECT_EQ(files(), 1U);
}

TEST_F(FileRegistryTest, A_file_of_our_earlier_life_is_removed_without_registering_first) {
  write(file_of(instance()), R"({"pod_uid": "pod-1"})");
  EXPECT_TRUE(remove(*registry()).confirmed);
  EXPECT_EQ(files(), 0U);
}

TEST_F(FileRegistryTest, What_an_earlier_life_was_writing_when_it_was_killed_is_removed) {
  auto const torn = fs::path(directory_) / ("." + instance_hex(instance().id) + ".json.tmp");
  write(torn, R"({"instance_id": 7, "pod_)");
  EXPECT_TRUE(remove(*registry()).confirmed);
  EXPECT_EQ(files(), 0U);
  write(torn, R"({"pod_uid": "pod-2"})");
  EXPECT_TRUE(remove(*registry()).confirmed);
  EXPECT_EQ(files(), 1U) << "it belongs to another pod";
}

TEST_F(FileRegistryTest, Foreign_files_are_left_alone) {
  auto const other = fs::path(directory_) / "1234.json";
  write(other, "theirs");
  write(file_of(instance()), R"({"pod_uid": "pod-2"})");
  auto const entered = enter(*registry());
  EXPECT_FALSE(entered.confirmed);
  EXPECT_NE(entered.reason.find("belongs to pod pod-2"), std::string::npos) << entered.reason;
  auto const left = remove(*registry());
  EXPECT_TRUE(left.confirmed) << "nobody finds us there";
  EXPECT_NE(left.reason.find("belongs to pod pod-2"), std::string::npos) << left.reason;
  EXPECT_EQ(read(other), "theirs");
  EXPECT_EQ(read(file_of(instance())), R"({"pod_uid": "pod-2"})");
}

TEST_F(FileRegistryTest, A_file_that_cannot_be_read_is_an_error_and_no_end) {
  fs::create_directories(file_of(instance()));
  EXPECT_FALSE(enter(*registry()).confirmed);
  EXPECT_FALSE(remove(*registry()).confirmed);
}

TEST_F(FileRegistryTest, Failures_name_the_path_and_the_reason) {
  directory_ += "/file";
  write(directory_, "not a directory");
  auto const result = enter(*registry());
  EXPECT_FALSE(result.confirmed);
  EXPECT_TRUE(result.reason.starts_with("cannot ")) << result.reason;
  EXPECT_NE(result.reason.find(directory_), std::string::npos) << result.reason;
  directory_ = fs::path(directory_).parent_path();
}

TEST_F(FileRegistryTest, Does_not_follow_a_link_in_place_of_its_temporary_file) {
  auto const victim = fs::path(directory_) / "victim";
  write(victim, "precious");
  fs::create_symlink(victim,
                     fs::path(directory_) / ("." + instance_hex(instance().id) + ".json.tmp"));
  EXPECT_TRUE(enter(*registry()).confirmed);
  EXPECT_EQ(read(victim), "precious");
}

TEST_F(FileRegistryTest, A_directory_that_may_be_written_but_not_listed_will_do) {
  constexpr uid_t kNobody = 65'534;
  uid_t const self = ::geteuid();
  ::chmod(directory_.c_str(), self == 0 ? 0333 : 0300);
  if (self == 0) {
    ASSERT_EQ(::seteuid(kNobody), 0);  // root may list everything
  }
  RegistryResult const entered = enter(*registry());
  bool const is_there = ::access(file_of(instance()).c_str(), F_OK) == 0;
  RegistryResult const left = remove(*registry());
  if (self == 0) {
    ASSERT_EQ(::seteuid(self), 0);
  }
  ::chmod(directory_.c_str(), 0700);
  EXPECT_TRUE(entered.confirmed) << entered.reason;
  EXPECT_TRUE(is_there);
  EXPECT_TRUE(left.confirmed) << left.reason;
  EXPECT_EQ(files(), 0U);
}

TEST_F(FileRegistryTest, May_be_destroyed_while_it_works) {
  bool reported = false;
  {
    auto const gone = registry();
    gone->register_instances(in(Duration{5000}), [&](RegistryResult const&) { reported = true; });
  }
  run_for(Duration{50});
  EXPECT_FALSE(reported);
}

}  // namespace
}  // namespace lastcall::discovery::test
