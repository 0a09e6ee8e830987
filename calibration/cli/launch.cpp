#include "calibration/cli/launch.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <thread>

#include "sim/base/error.hpp"
#include "sim/words/words.hpp"

namespace rehearse::calibration {
namespace {

constexpr const char* kWatched = "REHEARSE_WATCHED";
constexpr const char* kMark = "REHEARSE_START_MARK";

bool is_in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((folder += "/" + name).c_str(), X_OK) == 0) return true;
  return false;
}

// A file that the first rank removes: what mpirun's own failures return, ranks return too.
class StartMark {
 public:
  StartMark() : path_((std::filesystem::temp_directory_path() / "rehearse-start-XXXXXX").string()) {
    const int file = mkostemp(path_.data(), O_CLOEXEC);
    if (file < 0) throw std::system_error(errno, std::generic_category(), path_);
    close(file);
    setenv(kMark, path_.c_str(), 1);
  }
  StartMark(const StartMark&) = delete;
  StartMark& operator=(const StartMark&) = delete;
  ~StartMark() { unlink(path_.c_str()); }
  bool is_gone() const { return access(path_.c_str(), F_OK) != 0; }

 private:
  std::string path_;
};

volatile pid_t mpirun = 0;
void pass_on(int signal) { kill(mpirun, signal); }

[[noreturn]] void refuse_mpirun(const std::string& why) {
  throw InputErrors(InputError{{},
                               "",
                               "E-BACKEND",
                               "mpirun cannot be started: " + why,
                               "install Open MPI, or measure one rank alone: try --ranks 1"});
}

[[noreturn]] void become_mpirun(int ranks, const std::string& program,
                                const std::vector<std::string>& words) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
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
  std::perror("mpirun");
  _exit(127);
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

int run_under_mpirun(int ranks, const std::string& program, const std::vector<std::string>& words) {
  // As many threads as cores a rank: one. A thread pool would measure itself.
  for (const char* name : {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"}) setenv(name, "1", 1);
  if (geteuid() == 0)
    for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"})
      setenv(name, "1", 1);
  if (is_watched()) setenv(kWatched, "1", 1);
  const StartMark mark;
  mpirun = fork();
  if (mpirun == 0) become_mpirun(ranks, program, words);
  if (mpirun < 0) refuse_mpirun(std::string("no process: ") + std::strerror(errno));
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, pass_on);
  int status = 0;
  while (waitpid(mpirun, &status, 0) < 0 && errno == EINTR) {
  }
  if (!mark.is_gone()) refuse_mpirun("it ended before its ranks began");
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  std::signal(WTERMSIG(status), SIG_DFL);
  std::raise(WTERMSIG(status));
  return kInternal;
}

void tell_started() {
  if (const char* mark = std::getenv(kMark); mark && launched_rank() == 0) unlink(mark);
}

bool is_watched() { return isatty(STDERR_FILENO) || std::getenv(kWatched); }

}  // namespace rehearse::calibration
