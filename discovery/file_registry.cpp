#include "discovery/file_registry.hpp"

#include <utility>

#include "base/calendar.hpp"
#include "discovery/instance_file.hpp"
#include "discovery/job_thread.hpp"

namespace lastcall::discovery {

namespace {

class FileRegistry final : public Registry {
 public:
  FileRegistry(boost::asio::any_io_executor executor, std::string directory, Instance instance)
      : file_(std::make_shared<File const>(
            File{std::move(directory), std::move(instance), utc_now(Fraction::none)})),
        thread_(std::move(executor), "file-registry", kSmallStack, JobThread::Life::kept) {}

  // The deadline is ignored: system calls on a dead network file system have none. The set keeps
  // it.
  void register_instances(TimePoint, RegistryDone done) override {
    run(
        [](File const& file) {
          auto failed = write_instance_file(file.directory, file.instance, file.started_at);
          return failed.empty() ? RegistryResult::ok() : RegistryResult::failed(std::move(failed));
        },
        std::move(done));
  }

  void deregister(TimePoint, RegistryDone done) override {
    run([](File const& file) { return remove_instance_file(file.directory, file.instance); },
        std::move(done));
  }

 private:
  struct File {
    std::string directory;
    Instance instance;
    std::string started_at;
  };
  using Work = RegistryResult (*)(File const&);

  void run(Work work, RegistryDone done) {
    auto const result = std::make_shared<RegistryResult>();
    thread_.run([file = file_, work, result] { *result = work(*file); },
                [result, done = std::move(done)] { done(std::move(*result)); });
  }

  std::shared_ptr<File const> file_;  // shared with jobs, which may outlive the registry
  JobThread thread_;
};

}  // namespace

std::unique_ptr<Registry> make_file_registry(boost::asio::any_io_executor executor,
                                             std::string directory, Instance instance) {
  return std::make_unique<FileRegistry>(std::move(executor), std::move(directory),
                                        std::move(instance));
}

}  // namespace lastcall::discovery
