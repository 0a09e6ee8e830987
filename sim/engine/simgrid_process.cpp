#include "sim/engine/simgrid_process.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "sim/engine/engine.hpp"

namespace rehearse {

namespace {

std::runtime_error system_error(const char* what) {
  return std::runtime_error(std::string("cannot ") + what + " SimGrid's process: " + std::strerror(errno));
}

void write_bytes(int pipe, const void* data, size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = write(pipe, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error("write from");
    at += n;
    size -= static_cast<size_t>(n);
  }
}

// False when the other end closed before all of it came.
bool read_bytes(int pipe, void* data, size_t size) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t n = read(pipe, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

template <class Row>
void write_all(int pipe, const Row& rows) {
  static_assert(std::is_trivially_copyable_v<typename Row::value_type>);
  const size_t count = rows.size();
  write_bytes(pipe, &count, sizeof count);
  write_bytes(pipe, rows.data(), count * sizeof rows[0]);
}

template <class Row>
bool read_all(int pipe, Row& rows) {
  size_t count = 0;
  if (!read_bytes(pipe, &count, sizeof count)) return false;
  rows.resize(count);
  return read_bytes(pipe, rows.data(), count * sizeof rows[0]);
}

struct Totals {
  double step = 0;
  int64_t events = 0, flows = 0, link_flows = 0, shared_flows = 0;
};

void write_timeline(int pipe, const Timeline& t) {
  write_all(pipe, t.engine);
  const Totals totals{t.step, t.events, t.flows, t.link_flows, t.shared_flows};
  write_bytes(pipe, &totals, sizeof totals);
  write_all(pipe, t.start);
  write_all(pipe, t.end);
  write_all(pipe, t.slowed);
}

bool read_timeline(int pipe, Timeline& t) {
  Totals totals;
  const bool whole = read_all(pipe, t.engine) && read_bytes(pipe, &totals, sizeof totals) &&
                     read_all(pipe, t.start) && read_all(pipe, t.end) && read_all(pipe, t.slowed);
  t.step = totals.step;
  t.events = totals.events;
  t.flows = totals.flows;
  t.link_flows = totals.link_flows;
  t.shared_flows = totals.shared_flows;
  return whole;
}

// Message: the text of what was thrown, empty if nothing was; then what write() tells.
void send(int pipe, const std::function<std::function<void()>()>& work) {
  std::function<void()> write;
  std::string thrown;
  try {
    write = work();
  } catch (const std::exception& e) {
    thrown = e.what();
    if (thrown.empty()) thrown = "?";
  }
  write_all(pipe, thrown);
  if (thrown.empty()) write();
}

[[noreturn]] void be_the_child(int pipe, pid_t parent,
                               const std::function<std::function<void()>(int pipe)>& work) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // not to outlive a parent that was killed
  int code = 0;
  try {
    if (getppid() == parent) send(pipe, [&] { return work(pipe); });
  } catch (...) {
    code = 3;
  }
  _exit(code);  // the parent's buffers and exit handlers are its own
}

// Runs `work` in a child: it returns what writes its result, which `read` takes here.
void in_child(const std::function<std::function<void()>(int pipe)>& work,
              const std::function<bool(int pipe)>& read) {
  int ends[2];
  if (pipe(ends) != 0) throw system_error("reach");
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    be_the_child(ends[1], parent, work);
  }
  close(ends[1]);
  std::string thrown;
  const bool whole = child > 0 && read_all(ends[0], thrown) && (!thrown.empty() || read(ends[0]));
  close(ends[0]);
  if (child < 0) throw system_error("start");
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!whole)
    throw ProcessDied("SimGrid's process ended without a result" +
                      (WIFSIGNALED(status) ? " (signal " + std::to_string(WTERMSIG(status)) + ")" : ""));
  if (!thrown.empty()) throw std::runtime_error(thrown);
}

}  // namespace

Timeline run_in_child(const std::function<Timeline()>& replay) {
  Timeline timeline;
  in_child([&](int pipe) { return [pipe, t = replay()] { write_timeline(pipe, t); }; },
           [&](int pipe) { return read_timeline(pipe, timeline); });
  return timeline;
}

std::vector<double> numbers_from_child(const std::function<std::vector<double>()>& make) {
  std::vector<double> numbers;
  const auto once = [&] {
    numbers.clear();
    in_child([&](int pipe) { return [pipe, made = make()] { write_all(pipe, made); }; },
             [&](int pipe) { return read_all(pipe, numbers); });
  };
  try {
    once();
  } catch (const ProcessDied&) {
    once();
  }
  return numbers;
}

}  // namespace rehearse
