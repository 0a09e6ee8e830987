// The pool of processes: every point once, in whatever process; a death or an endless run costs one point.
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <limits>
#include <map>
#include <set>
#include <thread>

#include "sim/study/frames.hpp"
#include "sim/study/workers.hpp"

namespace rehearse {
namespace {

std::vector<Point> points_of(int count) {
  std::vector<Point> points;
  for (int i = 0; i < count; ++i) points.push_back({{"n=" + std::to_string(i)}});
  return points;
}
int number_of(const Point& point) { return std::stoi(point.settings[0].substr(2)); }

std::vector<size_t> all_of(const std::vector<Point>& points) {
  std::vector<size_t> todo;
  for (size_t i = 0; i < points.size(); ++i) todo.push_back(i);
  return todo;
}

Outcome square(const Point& point) {
  const double n = number_of(point);
  return {.verdict = Verdict::simulated, .figures = {n * n, double(getpid())}, .stage_peak_bytes = {n}};
}

struct Priced {
  std::map<size_t, Outcome> outcomes;
  bool whole = false;
};
Priced price(const std::vector<Point>& points, const PriceFn& fn, PoolOptions options) {
  Priced priced;
  priced.whole = price_all(points, all_of(points), fn, options,
                           {[&](size_t index, Outcome outcome) {
                              EXPECT_TRUE(priced.outcomes.emplace(index, std::move(outcome)).second)
                                  << "twice: " << index;
                            },
                            [] { return false; }});
  return priced;
}

TEST(StudyWorkers, PriceEveryPointOnce) {
  const auto points = points_of(500);
  for (const int jobs : {1, 2, 7}) {
    const Priced priced = price(points, square, {.jobs = jobs});
    EXPECT_TRUE(priced.whole);
    ASSERT_EQ(priced.outcomes.size(), points.size());
    std::set<double> processes;
    for (const auto& [index, outcome] : priced.outcomes) {
      EXPECT_EQ(outcome.verdict, Verdict::simulated);
      EXPECT_EQ(outcome.figures[0], double(index) * double(index));
      EXPECT_EQ(outcome.stage_peak_bytes, std::vector<double>{double(index)});
      processes.insert(outcome.figures[1]);
    }
    EXPECT_EQ(processes.size(), size_t(jobs));
    EXPECT_FALSE(processes.contains(double(getpid())));
  }
}

TEST(StudyWorkers, HaveNothingToDo) { EXPECT_TRUE(price({}, square, {.jobs = 3}).whole); }

TEST(StudyWorkers, PassOutcomesOnUnchanged) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Outcome sent{Verdict::rejected, "E-CODE", "text\nwith \xc3\xa9 and \0", {1.5, nan, -0.0}, {}};
  const Outcome got = outcome_of(bytes_of(sent));
  EXPECT_EQ(got.verdict, sent.verdict);
  EXPECT_EQ(got.code, sent.code);
  EXPECT_EQ(got.message, sent.message);
  ASSERT_EQ(got.figures.size(), 3u);
  EXPECT_EQ(got.figures[0], 1.5);
  EXPECT_TRUE(std::isnan(got.figures[1]) && std::signbit(got.figures[2]));
  const std::string bytes = bytes_of(sent);
  for (size_t cut = 0; cut < bytes.size(); ++cut)
    EXPECT_THROW(outcome_of(bytes.substr(0, cut)), std::runtime_error) << cut;
}

TEST(StudyWorkers, ADeathCostsOnePoint) {
  const auto points = points_of(60);
  const Priced priced = price(points,
                              [](const Point& point) {
                                if (number_of(point) == 17)
                                  std::signal(SIGSEGV, SIG_DFL), std::raise(SIGSEGV);
                                if (number_of(point) == 18) _exit(9);
                                if (number_of(point) == 19) throw std::runtime_error("no way");
                                return square(point);
                              },
                              {.jobs = 2});
  ASSERT_EQ(priced.outcomes.size(), 60u);
  for (const auto& [index, outcome] : priced.outcomes)
    EXPECT_EQ(outcome.verdict, index >= 17 && index <= 19 ? Verdict::failed : Verdict::simulated) << index;
  EXPECT_EQ(priced.outcomes.at(17).message, "its process died of SIGSEGV, twice");
  EXPECT_EQ(priced.outcomes.at(18).message, "its process ended with status 9, twice");
  EXPECT_EQ(priced.outcomes.at(19).message, "no way");
  for (const size_t index : {17, 18, 19}) EXPECT_EQ(priced.outcomes.at(index).code, "E-POINT-CRASH");
}

TEST(StudyWorkers, TryAPointOnceMore) {
  const std::string mark = testing::TempDir() + "study_workers_" + std::to_string(getpid());
  const Priced priced = price(points_of(20),
                              [&](const Point& point) {
                                if (number_of(point) == 5 && access(mark.c_str(), F_OK) != 0) {
                                  fclose(fopen(mark.c_str(), "w"));
                                  std::raise(SIGKILL);
                                }
                                return square(point);
                              },
                              {.jobs = 2});
  unlink(mark.c_str());
  ASSERT_EQ(priced.outcomes.size(), 20u);
  for (const auto& [index, outcome] : priced.outcomes) EXPECT_EQ(outcome.verdict, Verdict::simulated);
}

TEST(StudyWorkers, AnEndlessRunCostsOnePoint) {
  const auto began = std::chrono::steady_clock::now();
  const Priced priced = price(points_of(40),
                              [](const Point& point) {
                                while (number_of(point) == 3) pause();
                                return square(point);
                              },
                              {.jobs = 2, .timeout_s = 0.3});
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
  ASSERT_EQ(priced.outcomes.size(), 40u);
  for (const auto& [index, outcome] : priced.outcomes)
    EXPECT_EQ(outcome.verdict, index == 3 ? Verdict::failed : Verdict::simulated) << index;
  EXPECT_EQ(priced.outcomes.at(3).code, "E-POINT-TIME");
  EXPECT_EQ(priced.outcomes.at(3).message, "it took longer than 0.3 s, twice");
}

TEST(StudyWorkers, StopAtOnce) {
  const auto points = points_of(1000);
  size_t done = 0;
  const auto began = std::chrono::steady_clock::now();
  const bool whole = price_all(points, all_of(points),
                               [](const Point& point) {
                                 if (number_of(point) >= 10)
                                   while (true) pause();
                                 return square(point);
                               },
                               {.jobs = 2}, {[&](size_t, Outcome) { ++done; }, [&] { return done >= 8; }});
  EXPECT_FALSE(whole);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a process is left";
}

// A process elsewhere: a thread stands in for the program that starts it.
TEST(StudyWorkers, LetProcessesElsewhereTakePart) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const auto points = points_of(100);
  const DigestFn digest = [](const Point& point) { return point.settings[0]; };
  int priced_there = 0;
  std::thread there([&] {
    serve_points(
        ends[1], points,
        [&](const Point& point) {
          ++priced_there;
          return square(point);
        },
        digest);
  });
  const Priced priced = price(points, square, {.jobs = 0, .elsewhere = {ends[0]}, .digest = digest});
  shutdown(ends[0], SHUT_RDWR);
  there.join();
  EXPECT_EQ(priced_there, 100);
  EXPECT_EQ(priced.outcomes.size(), 100u);
  for (const int end : ends) close(end);
}

TEST(StudyWorkers, RefuseProcessesThatSeeOtherFiles) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const auto points = points_of(3);
  std::thread there(
      [&] { serve_points(ends[1], points, square, [](const Point&) { return std::string("other"); }); });
  try {
    price(points, square, {.jobs = 0, .elsewhere = {ends[0]}, .digest = [](const Point&) { return "d"; }});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const InputErrors& found) {
    EXPECT_EQ(found.errors.at(0).code, "E-SWEEP-RANKS");
  }
  there.join();
  for (const int end : ends) close(end);
}

// What started the process reports its death, and starts it anew for the next point.
TEST(StudyWorkers, ADeathElsewhereCostsOnePoint) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const auto points = points_of(30);
  std::thread there([&] {
    FrameReader in;
    bool running = false, dead = false;
    while (in.fill(ends[1]))
      while (const auto frame = in.next()) {
        if (frame->kind == FrameKind::buried) dead = false;
        if (frame->kind != FrameKind::point || dead) continue;  // what was given to the dead is lost
        if (!running) send_frame(ends[1], FrameKind::hello, "");
        running = true;
        const size_t index = order_of(frame->body).index;
        if (index == 4) {
          running = false;
          dead = true;
          send_frame(ends[1], FrameKind::died, "its process died of SIGBUS");
        } else {
          send_frame(ends[1], FrameKind::outcome, bytes_of(square(points[index])));
        }
      }
  });
  const Priced priced =
      price(points, square, {.jobs = 0, .elsewhere = {ends[0]}, .digest = [](const Point&) { return ""; }});
  shutdown(ends[0], SHUT_RDWR);
  there.join();
  ASSERT_EQ(priced.outcomes.size(), 30u);
  for (const auto& [index, outcome] : priced.outcomes)
    EXPECT_EQ(outcome.verdict, index == 4 ? Verdict::failed : Verdict::simulated) << index;
  EXPECT_EQ(priced.outcomes.at(4).message, "its process died of SIGBUS, twice");
  for (const int end : ends) close(end);
}

TEST(StudyWorkers, NothingCanBeStartedElsewhere) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const auto points = points_of(3);
  std::thread there([&] {
    FrameReader in;
    while (in.fill(ends[1]))
      while (const auto frame = in.next())
        if (frame->kind == FrameKind::point)
          send_frame(ends[1], FrameKind::died, "its process ended with status 127");
  });
  EXPECT_THROW(
      price(points, square, {.jobs = 0, .elsewhere = {ends[0]}, .digest = [](const Point&) { return ""; }}),
      std::runtime_error);
  shutdown(ends[0], SHUT_RDWR);
  there.join();
  for (const int end : ends) close(end);
}

}  // namespace
}  // namespace rehearse
