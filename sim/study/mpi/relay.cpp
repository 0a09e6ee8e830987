// rehearse-mpi: a sweep over the processes of an MPI job. It only passes messages on: rank 0 starts
// `rehearse sweep`, the other ranks start processes that price its points. So nothing here needs the
// simulator, whose SimGrid exports MPI's names and must not meet a real MPI.
#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "sim/study/frames.hpp"

namespace rehearse {

namespace {

constexpr int kBadInput = 2;
constexpr int kWaitMs = 1;     // for sockets, between looks at MPI: a point takes several
constexpr int kEnd = 1 << 14;  // tag of "no more"; smaller ones are slots

volatile std::sig_atomic_t stop_asked = 0;

struct Child {
  pid_t pid = 0;
  int socket = -1;
  FrameReader from_child, from_rank0;
  bool buried = true;  // what comes is for the next process, not for one that died
};

// `rehearse` beside this program.
std::string simulator() {
  char path[PATH_MAX];
  const auto length = readlink("/proc/self/exe", path, sizeof path);
  const std::string self(path, length > 0 ? size_t(length) : 0);
  return self.substr(0, self.rfind('/') + 1) + "rehearse";
}

// Processes that each rank keeps: --jobs, 1 where it is not given. A wrong one is for the sweep to refuse.
int jobs_of(const std::vector<std::string>& words) {
  for (size_t i = 0; i < words.size(); ++i) {
    const bool apart = words[i] == "--jobs" && i + 1 < words.size();
    if (apart || words[i].rfind("--jobs=", 0) == 0)
      return std::clamp(std::atoi(apart ? words[i + 1].c_str() : words[i].c_str() + 7), 1, 1024);
  }
  return 1;
}

// Starts the simulator with these words; `prepare` runs in the new process. It dies with this one.
pid_t start(const std::vector<std::string>& words, const std::function<void()>& prepare) {
  const std::string program = simulator();
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  prepare();
  std::vector<char*> arguments{const_cast<char*>(program.c_str())};
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  std::fprintf(stderr, "error: cannot start %s: %s\n", program.c_str(), std::strerror(errno));
  _exit(127);
}

std::string death_text(int status) {
  if (WIFSIGNALED(status)) {
    const char* name = sigabbrev_np(WTERMSIG(status));
    return "its process died of " + (name ? "SIG" + std::string(name) : std::to_string(WTERMSIG(status)));
  }
  return "its process ended with status " + std::to_string(WEXITSTATUS(status));
}

void send_to_rank(int rank, int tag, const std::string& bytes) {
  MPI_Send(bytes.data(), int(bytes.size()), MPI_BYTE, rank, tag, MPI_COMM_WORLD);
}

struct Message {
  int rank = 0, tag = 0;
  std::string bytes;
};
bool receive(Message& message) {
  int there = 0, size = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
  if (!there) return false;
  MPI_Get_count(&status, MPI_BYTE, &size);
  message = {status.MPI_SOURCE, status.MPI_TAG, std::string(size_t(size), '\0')};
  MPI_Recv(message.bytes.data(), size, MPI_BYTE, message.rank, message.tag, MPI_COMM_WORLD, &status);
  return true;
}

// Calls `ready` for each socket with something to read; negative ones are left out.
void wait_for_sockets(const std::vector<int>& sockets, const std::function<void(size_t)>& ready) {
  std::vector<pollfd> polled;
  for (const int socket : sockets) polled.push_back({socket, POLLIN, 0});
  if (poll(polled.data(), polled.size(), kWaitMs) <= 0) return;
  for (size_t i = 0; i < polled.size(); ++i)
    if (sockets[i] >= 0 && polled[i].revents != 0) ready(i);
}

// ---- rank 0: the sweep, and a socket for each process of the other ranks

struct Lanes {
  std::vector<int> ours, theirs;
  std::string list;  // of theirs, for the sweep
};
Lanes make_lanes(int count) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  Lanes lanes;
  for (int i = 0; i < count; ++i) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      std::perror("error: too many ranks for rank 0's open files");
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
    lanes.ours.push_back(ends[0]);
    lanes.theirs.push_back(ends[1]);
    lanes.list += (i ? "," : "") + std::to_string(ends[1]);
  }
  return lanes;
}

void take_lane(Lanes& lanes, size_t i, int jobs) {
  char buffer[4096];
  const ssize_t n = recv(lanes.ours[i], buffer, sizeof buffer, MSG_DONTWAIT);
  if (n > 0)
    send_to_rank(1 + int(i) / jobs, int(i) % jobs, std::string(buffer, size_t(n)));
  else if (n == 0 || (errno != EINTR && errno != EAGAIN))
    lanes.ours[i] = -1;  // the sweep has closed it
}

int lead(const std::vector<std::string>& words, int ranks) {
  const int jobs = jobs_of(words);
  Lanes lanes = make_lanes((ranks - 1) * jobs);
  const pid_t sweep = start(words, [&] {
    for (const int socket : lanes.theirs) fcntl(socket, F_SETFD, 0);
    setenv("REHEARSE_LANES", lanes.list.c_str(), 1);
  });
  for (const int socket : lanes.theirs) close(socket);
  int status = 3 << 8;
  bool told = false;
  while (sweep > 0 && waitpid(sweep, &status, WNOHANG) == 0) {
    if (stop_asked && !told) kill(sweep, SIGTERM);
    told = stop_asked != 0;
    wait_for_sockets(lanes.ours, [&](size_t i) { take_lane(lanes, i, jobs); });
    Message message;
    while (receive(message))
      send_bytes(lanes.ours[size_t((message.rank - 1) * jobs + message.tag)], message.bytes);
  }
  for (int rank = 1; rank < ranks; ++rank) send_to_rank(rank, kEnd, "");
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  std::fprintf(stderr, "error: the sweep: %s\n", death_text(status).c_str());
  return 3;
}

// ---- other ranks: processes that price, started anew where one died

void bury(Child& child, int slot) {
  int status = 0;
  while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  close(child.socket);
  child = Child{};
  child.buried = false;
  send_to_rank(0, slot, frame_bytes(FrameKind::died, death_text(status)));
}

void take_child(Child& child, int slot) {
  std::string bytes;
  bool alive = child.from_child.fill(child.socket);
  try {
    while (const auto frame = child.from_child.next()) bytes += frame_bytes(frame->kind, frame->body);
  } catch (const std::exception&) {
    kill(child.pid, SIGKILL);
    alive = false;
  }
  if (!bytes.empty()) send_to_rank(0, slot, bytes);
  if (!alive) bury(child, slot);
}

void start_pricing(Child& child, const std::vector<std::string>& words) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
  child.socket = ends[0];
  child.pid = start(words, [&] {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
    dup2(ends[1], STDIN_FILENO);
    dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
    setenv("REHEARSE_SERVE", "1", 1);
  });
  close(ends[1]);
}

void take_message(Child& child, int slot, const std::string& bytes, const std::vector<std::string>& words) {
  child.from_rank0.take(bytes);
  while (const auto frame = child.from_rank0.next()) {
    if (frame->kind == FrameKind::buried) child.buried = true;
    if (frame->kind == FrameKind::stop && child.pid > 0) kill(child.pid, SIGKILL);
    if (frame->kind != FrameKind::point || !child.buried) continue;
    if (child.pid == 0) start_pricing(child, words);
    if (child.pid <= 0) {
      child = Child{};
      child.buried = false;
      send_to_rank(0, slot, frame_bytes(FrameKind::died, "its process could not be started"));
      return;
    }
    send_frame(child.socket, frame->kind, frame->body);
  }
}

void follow(const std::vector<std::string>& words) {
  std::vector<Child> children(size_t(jobs_of(words)));
  for (bool ended = false; !ended;) {
    std::vector<int> sockets;
    for (const Child& child : children) sockets.push_back(child.socket);
    wait_for_sockets(sockets, [&](size_t slot) { take_child(children[slot], int(slot)); });
    Message message;
    while (!ended && receive(message)) {
      ended = message.tag == kEnd;
      if (!ended) take_message(children[size_t(message.tag)], message.tag, message.bytes, words);
    }
  }
  for (const Child& child : children) {
    if (child.pid > 0) kill(child.pid, SIGKILL);
    if (child.pid > 0) waitpid(child.pid, nullptr, 0);
  }
}

int relay(const std::vector<std::string>& words) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (words.empty() || words[0] != "sweep") {
    if (rank == 0)
      std::fputs(
          "usage: mpirun -n N rehearse-mpi sweep STUDY [options of rehearse sweep]\n"
          "Prices the points of a study on all ranks; --jobs: processes of each, 1 by default.\n",
          stderr);
    return kBadInput;
  }
  // Rank 0 hands a signal on to the sweep, which ends the job; the others wait for that.
  struct sigaction action {};
  action.sa_handler = [](int) { stop_asked = 1; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  if (rank == 0) return lead(words, ranks);
  follow(words);
  return 0;
}

}  // namespace

}  // namespace rehearse

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int status = rehearse::relay({argv + 1, argv + argc});
  MPI_Finalize();
  return status;
}
