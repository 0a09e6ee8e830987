#include "calibration/cli/launch.hpp"

#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>

#include "sim/base/error.hpp"

namespace rehearse::calibration {
namespace {

constexpr const char* kWatched = "REHEARSE_WATCHED";

bool is_in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((folder += "/" + name).c_str(), X_OK) == 0) return true;
  return false;
}

}  // namespace

int launched_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (const char* rank = std::getenv(name)) return std::atoi(rank);
  return -1;
}

int after_first_rank(int status) {
  if (status != 0 && launched_rank() > 0) std::this_thread::sleep_for(std::chrono::seconds(2));
  return status;
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

int default_ranks(const std::string& backend) {
  return backend == "host" && usable_cores() >= 2 && is_in_path("mpirun") ? 2 : 1;
}

void restart_under_mpirun(int ranks, const std::string& program, const std::vector<std::string>& words) {
  // As many threads as cores a rank: one. A thread pool would measure itself.
  for (const char* name : {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"}) setenv(name, "1", 1);
  if (geteuid() == 0)
    for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"})
      setenv(name, "1", 1);
  if (is_watched()) setenv(kWatched, "1", 1);
  std::vector<std::string> line{"mpirun", "-q", "-n", std::to_string(ranks), "--map-by", "slot", "--bind-to",
                                ranks <= usable_cores() ? "core" : "none", "--oversubscribe",
                                // between SIGTERM and SIGKILL: time to finish a point
                                "--mca", "odls_base_sigkill_timeout", "10", program};
  line.insert(line.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  arguments.reserve(line.size() + 1);
  for (auto& word : line) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp("mpirun", arguments.data());
  throw InputErrors(InputError{{},
                               "",
                               "E-BACKEND",
                               std::string("mpirun cannot be started: ") + std::strerror(errno),
                               "install Open MPI, or measure one rank alone with --ranks 1"});
}

bool is_watched() { return isatty(STDERR_FILENO) || std::getenv(kWatched); }

}  // namespace rehearse::calibration
