#include "discovery/file_registry.hpp"

#include <utility>

#include "base/calendar.hpp"
#include "discovery/instance_file.hpp"
#include "discovery/worker.hpp"

namespace lastcall::discovery {

namespace {

class FileRegistry final : public Registry {
 public:
  FileRegistry(boost::asio::any_io_executor executor, std::string directory,
               std::vector<Instance> instances)
      : files_(std::make_shared<Files const>(
            Files{std::move(directory), std::move(instances), utc_now(Fraction::none)})),
        worker_(std::move(executor), "file-registry", kSmallStack, Worker::Thread::kept) {}

  // The deadline is ignored: system calls on a dead network file system have none. The set keeps
  // it.
  void register_instances(TimePoint, RegistryDone done) override {
    for_each(
        [](Files const& files, Instance const& instance) {
          auto failed = write_instance_file(files.directory, instance, files.started_at);
          return failed.empty() ? RegistryResult::ok() : RegistryResult::failed(std::move(failed));
        },
        std::move(done));
  }

  void deregister(TimePoint, RegistryDone done) override {
    for_each(
        [](Files const& files, Instance const& instance) {
          return remove_instance_file(files.directory, instance);
        },
        std::move(done));
  }

 private:
  struct Files {
    std::string directory;
    std::vector<Instance> instances;
    std::string started_at;
  };
  using Work = RegistryResult (*)(Files const&, Instance const&);

  /// Does the work for every instance, even after a failure, and reports the first failure.
  void for_each(Work work, RegistryDone done) {
    auto const result = std::make_shared<RegistryResult>(RegistryResult::ok());
    worker_.run(
        [files = files_, work, result] {
          for (auto const& instance : files->instances) {
            auto one = work(*files, instance);
            if (result->confirmed && (!one.confirmed || result->reason.empty())) {
              *result = std::move(one);
            }
          }
        },
        [result, done = std::move(done)] { done(std::move(*result)); });
  }

  std::shared_ptr<Files const> files_;  // shared with jobs, which may outlive the registry
  Worker worker_;
};

}  // namespace

std::unique_ptr<Registry> make_file_registry(boost::asio::any_io_executor executor,
                                             std::string directory,
                                             std::vector<Instance> instances) {
  return std::make_unique<FileRegistry>(std::move(executor), std::move(directory),
                                        std::move(instances));
}

}  // namespace lastcall::discovery
