#include "calibration/measure/measure.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <random>
#include <thread>

#include "tests/support/scripted_backend.hpp"

namespace rehearse::calibration {
namespace {

TEST(MeasureQuantiles, AreBetweenOrderStatistics) {
  const Quantiles q = quantiles({5, 1, 4, 2, 3});
  EXPECT_EQ(q.median, 3);
  EXPECT_EQ(q.mad, 1);
  EXPECT_DOUBLE_EQ(q.p10, 1.4);
  EXPECT_DOUBLE_EQ(q.p90, 4.6);
  EXPECT_EQ(q.n, 5);
  EXPECT_EQ(quantiles({1, 2, 3, 4}).median, 2.5);
  EXPECT_EQ(quantiles({}).n, 0);
}

// Ranks of the two-sided 95 % interval of the median, from tables of the binomial distribution.
TEST(MeasureInterval, HasTheTabulatedRanks) {
  const auto ranks = [](int n) {
    std::vector<double> values;
    for (int i = 1; i <= n; ++i) values.push_back(i);
    return median_interval(values);
  };
  EXPECT_EQ(ranks(5), std::pair(1.0, 5.0));  // no 95 % interval: the whole
  EXPECT_EQ(ranks(6), std::pair(1.0, 6.0));
  EXPECT_EQ(ranks(10), std::pair(2.0, 9.0));
  EXPECT_EQ(ranks(20), std::pair(6.0, 15.0));
  EXPECT_EQ(ranks(50), std::pair(18.0, 33.0));
  EXPECT_EQ(ranks(100), std::pair(40.0, 61.0));
}

TEST(MeasureInterval, CoversTheMedianAsOftenAsItSays) {
  std::mt19937 random(1);
  std::exponential_distribution<double> draw(1);
  int covered = 0;
  constexpr int trials = 2000;
  for (int i = 0; i < trials; ++i) {
    std::vector<double> values(25);
    for (double& v : values) v = draw(random);
    const auto [low, high] = median_interval(values);
    covered += low <= std::log(2) && std::log(2) <= high;
  }
  EXPECT_GT(covered, 0.945 * trials);
  EXPECT_LT(covered, 0.975 * trials);
}

// A machine whose i-th timing takes `call(i)` seconds a call; what it was asked.
struct FakeCall {
  std::function<double(int)> call;
  int timings = 0;
  std::vector<int> repeats;
  Elapsed operator()(int n) {
    repeats.push_back(n);
    const double t = call(timings++) * n;
    return {t, 2 * t};
  }
};

Measurement run(FakeCall& machine, Rules rules = {}) {
  ScriptedRanks alone;
  return measure([&](int n) { return machine(n); }, rules, alone);
}

TEST(Measure, AQuietMachineTakesTheLeast) {
  FakeCall machine{[](int) { return 3e-3; }};
  const Measurement m = run(machine);
  EXPECT_TRUE(m.settled);
  EXPECT_EQ(m.device.n, Rules{}.least_timings);
  EXPECT_EQ(m.repeats, 1);
  EXPECT_DOUBLE_EQ(m.device.median, 3e-3);
  EXPECT_DOUBLE_EQ(m.host.median, 6e-3);
}

TEST(Measure, ShortCallsAreRepeatedUntilATimingLasts) {
  FakeCall machine{[](int) { return 2e-6; }};
  const Measurement m = run(machine);
  EXPECT_GE(m.repeats, 100);
  EXPECT_LE(m.repeats, 200);
  EXPECT_DOUBLE_EQ(m.device.median, 2e-6);
}

TEST(Measure, RepeatsGrowWhereOnlyTheFirstCallsAreSlow) {
  FakeCall machine{[](int i) { return i < 4 ? 1e-3 : 2e-6; }};
  const Measurement m = run(machine);
  EXPECT_GE(m.repeats * 2e-6, 0.8 * Rules{}.least_timing_s);
  EXPECT_DOUBLE_EQ(m.device.median, 2e-6);
}

TEST(Measure, WarmUpIsNotCounted) {
  FakeCall machine{[](int i) { return i < 11 ? 9e-3 - 0.5e-3 * i : 3e-3; }};
  const Measurement m = run(machine);
  EXPECT_DOUBLE_EQ(m.device.p90, 3e-3);
  EXPECT_GE(m.warmups, 14);
}

TEST(Measure, NoiseTakesAsManyTimingsAsItNeeds) {
  std::mt19937 random(3);
  std::normal_distribution<double> noise(1, 0.03);
  FakeCall machine{[&](int) { return 1e-3 * noise(random); }};
  const Measurement m = run(machine);
  EXPECT_TRUE(m.settled);
  EXPECT_GT(m.device.n, Rules{}.least_timings);
  EXPECT_LT(m.device.n, 150);
  EXPECT_NEAR(m.device.median, 1e-3, 0.015e-3);
}

TEST(Measure, StopsAtTheCapWhereNothingSettles) {
  std::mt19937 random(4);
  std::uniform_real_distribution<double> noise(0.2, 1.8);
  FakeCall machine{[&](int) { return 1e-3 * noise(random); }};
  Rules rules;
  rules.most_timings = 40;
  const Measurement m = run(machine, rules);
  EXPECT_FALSE(m.settled);
  EXPECT_EQ(m.device.n, 40);
}

TEST(Measure, TheTimeCapHolds) {
  FakeCall machine{[](int) { return 1e-3; }};
  Rules rules;
  rules.cap_s = 0;
  const Measurement m = run(machine, rules);
  EXPECT_EQ(m.device.n, 3);
  EXPECT_FALSE(m.settled);
}

// Noise of 16 % asks for some 60 timings; by then the drift shows between the halves, while the interval of
// the median is narrow.
TEST(Measure, ADriftIsNoRest) {
  const auto settles = [](double drift) {
    std::mt19937 random(6);
    std::uniform_real_distribution<double> noise(0.95, 1.05);
    FakeCall machine{[&](int i) { return 1e-3 * (1 + drift * i) * noise(random); }};
    Rules rules;
    rules.most_timings = 150;
    const Measurement m = run(machine, rules);
    return std::pair(m.settled, m.device.n);
  };
  EXPECT_TRUE(settles(0).first);
  EXPECT_LT(settles(0).second, 150);
  EXPECT_EQ(settles(0.0009), std::pair(false, 150));
}

TEST(Measure, TwoModesDoNotSettleAndAreNotBelieved) {
  FakeCall machine{[](int i) { return i / 3 % 2 ? 1.5e-3 : 1e-3; }};
  Rules rules;
  rules.most_timings = 60;
  const Measurement m = run(machine, rules);
  EXPECT_FALSE(m.settled);
  Sample sample;
  sample.work = LaunchCall{false};
  sample.device = m.device;
  sample.flags = {"unsettled"};
  const Verdict verdict = judge(sample, {}, rules);
  EXPECT_EQ(verdict.status, Status::rejected);
  EXPECT_EQ(verdict.code, "unstable");
}

TEST(Measure, RareSlowTimingsDoNotMatter) {
  FakeCall machine{[](int i) { return i % 12 == 0 ? 5e-3 : 1e-3; }};
  const Measurement m = run(machine);
  EXPECT_TRUE(m.settled);
  EXPECT_DOUBLE_EQ(m.device.median, 1e-3);
}

TEST(Measure, TheSlowestRankIsKept) {
  ScriptedRanks two(2);
  two.other = [](double value) { return 2 * value; };
  FakeCall machine{[](int) { return 1e-3; }};
  const Measurement m = measure([&](int n) { return machine(n); }, Rules{}, two);
  EXPECT_DOUBLE_EQ(m.rank_min, 1e-3);
  EXPECT_DOUBLE_EQ(m.rank_max, 2e-3);
  EXPECT_DOUBLE_EQ(m.device.median, 2e-3);
}

TEST(Measure, GoesOnAsLongAsAnotherRankHasNotSettled) {
  ScriptedRanks two(2);
  double before = 0;
  two.other = [&](double value) {  // the other is over at once, which is asked after whether one goes on
    const bool over = value == 0 && before == 1;
    before = value;
    return over ? 1 : value;
  };
  FakeCall machine{[](int) { return 1e-3; }};
  const Measurement m = measure([&](int n) { return machine(n); }, Rules{}, two);
  EXPECT_FALSE(m.settled);
  EXPECT_EQ(m.device.n, 3);
}

// Threads that pass for ranks and wait for each other as ranks do.
class ThreadRanks final : public Ranks {
 public:
  struct Job {
    explicit Job(int size) : values(size_t(size)), turn(size) {}
    std::vector<double> values;
    std::string text;
    std::barrier<> turn;
  };
  ThreadRanks(Job& job, int rank) : job_(job), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return int(job_.values.size()); }
  int local_rank() const override { return rank_; }
  int per_node() const override { return size(); }
  void barrier() override { job_.turn.arrive_and_wait(); }
  std::vector<double> gather(double value) override {
    job_.values[size_t(rank_)] = value;
    barrier();
    auto all = job_.values;
    barrier();
    return all;
  }
  std::string broadcast(const std::string& text, int root) override {
    if (rank_ == root) job_.text = text;
    barrier();
    auto all = job_.text;
    barrier();
    return all;
  }

 private:
  Job& job_;
  int rank_;
};

// Whenever it fails, in warm-up or later: no rank waits for it, and all say why.
TEST(Measure, ACallThatFailsOnOneRankEndsItOnAll) {
  for (const int fails_at : {0, 1, 5, 12}) {
    ThreadRanks::Job job(2);
    std::vector<std::string> said(2);
    const auto measured = [&](int rank) {
      ThreadRanks ranks(job, rank);
      FakeCall machine{[&](int i) {
        if (rank == 1 && i == fails_at) throw BackendError("the driver is gone");
        return 1e-3 * (1 + 0.3 * (i % 7));
      }};
      try {
        measure([&](int n) { return machine(n); }, Rules{}, ranks);
      } catch (const BackendError& e) {
        said[size_t(rank)] = e.what();
      }
    };
    std::thread other(measured, 1);
    measured(0);
    other.join();
    EXPECT_EQ(said[0], "rank 1: the driver is gone") << fails_at;
    EXPECT_EQ(said[1], said[0]);
  }
}

}  // namespace
}  // namespace rehearse::calibration
