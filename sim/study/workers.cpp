#include "sim/study/workers.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <map>
#include <stdexcept>
#include <system_error>

#include "sim/study/frames.hpp"

namespace rehearse {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTickMs = 100;
// Points that a process has in hand at the most: it never waits for the next.
constexpr size_t kMostGiven = 8;
constexpr int kMostFalseStarts = 2;

// One process and the socket to it.
struct Lane {
  int socket = -1;  // here: none before the first point and after a death
  pid_t pid = 0;    // 0: elsewhere
  bool elsewhere = false, ready = false, late = false, gone = false;
  int false_starts = 0;  // deaths before it was ready
  FrameReader in;
  std::deque<size_t> given;  // in the order of the answers
  Clock::time_point since;   // when it came to the first of them
};

[[noreturn]] void be_a_worker(int socket, pid_t parent, const std::vector<Point>& points,
                              const PriceFn& price) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);  // the parent's to answer
  int code = 0;
  try {
    // Other workers' sockets and the store's lock are not to live on in here.
    if (socket != 3) dup2(socket, 3);
    close_range(4, ~0u, 0);
    // Where memory runs out, the point goes and not the sweep.
    if (const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); file >= 0) {
      [[maybe_unused]] const auto n = write(file, "1000", 4);
      close(file);
    }
    if (getppid() == parent) serve_points(3, points, price, nullptr);
  } catch (...) {
    code = 3;
  }
  _exit(code);  // the parent's buffers and exit handlers are its own
}

std::string death_text(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("its process ended with status {}", WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  const char* name = sigabbrev_np(signal);
  return fmt::format("its process died of {}", name ? "SIG" + std::string(name) : std::to_string(signal));
}

int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

class Pool {
 public:
  Pool(const std::vector<Point>& points, const std::vector<size_t>& todo, const PriceFn& price,
       const PoolOptions& options, const PoolCalls& calls)
      : points_(points),
        price_(price),
        options_(options),
        calls_(calls),
        todo_(todo.begin(), todo.end()),
        open_(todo.size()) {
    lanes_.resize(std::min<size_t>(size_t(options.jobs), todo.size()));
    for (const int socket : options.elsewhere) {
      lanes_.emplace_back();
      lanes_.back().elsewhere = true;
      lanes_.back().socket = socket;
    }
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    for (Lane& lane : lanes_) end(lane);
  }

  bool run() {
    while (open_ > 0) {
      if (calls_.stop()) return false;
      for (Lane& lane : lanes_) refill(lane);
      wait();
      check_times();
    }
    return true;
  }

 private:
  void refill(Lane& lane);
  bool start(Lane& lane);
  void give_up(Lane& lane, const std::string& why, int error = 0);
  void wait();
  void take(Lane& lane);
  void answer(Lane& lane, const Frame& frame);
  void bury(Lane& lane, const std::string& why);
  void finish(size_t index, Outcome outcome);
  void check_times();
  void end(Lane& lane);

  const std::vector<Point>& points_;
  const PriceFn& price_;
  const PoolOptions& options_;
  const PoolCalls& calls_;
  std::vector<Lane> lanes_;
  std::deque<size_t> todo_;
  std::map<size_t, int> deaths_;  // by point
  size_t open_;                   // points that are not done
};

bool Pool::start(Lane& lane) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) be_a_worker(ends[1], parent, points_, price_);
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return false;
  }
  lane.socket = ends[0];
  lane.pid = child;
  lane.ready = lane.late = false;
  lane.in.clear();
  return true;
}

void Pool::give_up(Lane& lane, const std::string& why, int error) {
  lane.gone = true;
  if (!std::all_of(lanes_.begin(), lanes_.end(), [](const Lane& other) { return other.gone; })) return;
  const std::string what = "no process that prices points can be started";
  if (error != 0) throw std::system_error(error, std::generic_category(), what);
  throw std::runtime_error(what + ": " + why);
}

// Few at a time towards the end, so that no process is left with many while others have none.
void Pool::refill(Lane& lane) {
  const size_t wanted = std::clamp<size_t>(todo_.size() / (4 * lanes_.size()), 1, kMostGiven);
  if (lane.gone || lane.late || todo_.empty() || lane.given.size() >= wanted) return;
  if (lane.socket < 0 && !start(lane)) {
    give_up(lane, "", errno);
    return;
  }
  std::string bytes;
  if (lane.given.empty()) lane.since = Clock::now();
  while (!todo_.empty() && lane.given.size() < wanted) {
    const size_t index = todo_.front();
    todo_.pop_front();
    lane.given.push_back(index);
    const Order order{index, lane.elsewhere ? options_.digest(points_[index]) : ""};
    bytes += frame_bytes(FrameKind::point, bytes_of(order));
  }
  send_bytes(lane.socket, bytes);  // a process that is gone is noticed when its socket is read
}

void Pool::wait() {
  std::vector<pollfd> polled;
  std::vector<Lane*> lanes;
  for (Lane& lane : lanes_)
    if (lane.socket >= 0 && !lane.gone) {
      polled.push_back({lane.socket, POLLIN, 0});
      lanes.push_back(&lane);
    }
  if (poll(polled.data(), polled.size(), kTickMs) <= 0) return;
  for (size_t i = 0; i < polled.size(); ++i)
    if (polled[i].revents != 0) take(*lanes[i]);
}

void Pool::take(Lane& lane) {
  bool whole = lane.in.fill(lane.socket);
  try {
    if (whole)
      while (const auto frame = lane.in.next()) answer(lane, *frame);
  } catch (const std::runtime_error&) {  // not a message: the process writes nonsense
    whole = false;
  }
  if (whole) return;
  if (lane.elsewhere) {
    give_up(lane, "the program that starts them is gone");
    bury(lane, "its process is gone");
    return;
  }
  kill(lane.pid, SIGKILL);
  const int status = wait_for(lane.pid);
  close(lane.socket);
  lane.socket = -1;
  bury(lane, death_text(status));
}

void Pool::answer(Lane& lane, const Frame& frame) {
  if (frame.kind == FrameKind::hello) {
    lane.ready = true;
    lane.false_starts = 0;
    lane.since = Clock::now();
  } else if (frame.kind == FrameKind::outcome && !lane.given.empty()) {
    const size_t index = lane.given.front();
    lane.given.pop_front();
    lane.since = Clock::now();
    finish(index, outcome_of(frame.body));
  } else if (frame.kind == FrameKind::died) {
    send_frame(lane.socket, FrameKind::buried, "");
    bury(lane, frame.body);
  } else if (frame.kind == FrameKind::refused) {
    throw InputErrors(InputError{{},
                                 "",
                                 "E-SWEEP-RANKS",
                                 "a rank sees other files than rank 0",
                                 "give all machines the same study, data and program"});
  }
}

// Its process is dead: the point it was at gets the blame, those behind it go back.
void Pool::bury(Lane& lane, const std::string& why) {
  const bool began = lane.ready, late = lane.late;
  lane.ready = lane.late = false;
  for (; lane.given.size() > (began ? 1 : 0); lane.given.pop_back()) todo_.push_front(lane.given.back());
  if (!began) {
    if (++lane.false_starts >= kMostFalseStarts) give_up(lane, why);
    return;
  }
  if (lane.given.empty()) return;
  const size_t index = lane.given.front();
  lane.given.pop_front();
  if (++deaths_[index] == 1) {
    todo_.push_front(index);
    return;
  }
  const std::string text =
      late ? fmt::format("it took longer than {:g} s, twice", options_.timeout_s) : why + ", twice";
  finish(index,
         {.verdict = Verdict::failed, .code = late ? "E-POINT-TIME" : "E-POINT-CRASH", .message = text});
}

void Pool::finish(size_t index, Outcome outcome) {
  --open_;
  calls_.done(index, std::move(outcome));
}

void Pool::check_times() {
  for (Lane& lane : lanes_) {
    if (!lane.ready || lane.late || lane.given.empty() || lane.gone) continue;
    if (std::chrono::duration<double>(Clock::now() - lane.since).count() < options_.timeout_s) continue;
    lane.late = true;
    if (lane.elsewhere)
      send_frame(lane.socket, FrameKind::stop, "");
    else
      kill(lane.pid, SIGKILL);
  }
}

void Pool::end(Lane& lane) {
  if (lane.elsewhere || lane.socket < 0) return;
  close(lane.socket);
  kill(lane.pid, SIGKILL);  // it holds nothing that could be lost
  wait_for(lane.pid);
}

}  // namespace

bool price_all(const std::vector<Point>& points, const std::vector<size_t>& todo, const PriceFn& price,
               const PoolOptions& options, const PoolCalls& calls) {
  return Pool(points, todo, price, options, calls).run();
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

}  // namespace rehearse
