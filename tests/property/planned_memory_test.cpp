// The memory that the order of the actions alone asks for is what the timeline shows.
#include <gtest/gtest.h>

#include <random>

#include "sim/account/report.hpp"
#include "sim/engine/engine.hpp"
#include "sim/graph/lower.hpp"
#include "sim/graph/schedules.hpp"
#include "sim/spec/check.hpp"
#include "tests/support/pick.hpp"
#include "tests/support/scenarios.hpp"

namespace rehearse {
namespace {

using test::pick;

Scenario draw(std::mt19937& random, const std::string& name, const ScheduleKind& kind) {
  Scenario s = test::small_scenario();
  auto& l = s.layout;
  l.tp = pick(random, {1, 2, 3, 4, 16});  // 3: shares that are no binary fractions; 16: across nodes
  l.pp = kind.even_stages ? pick(random, {2, 4}) : pick(random, {1, 2, 3, 4});
  l.dp = pick(random, {1, 2, 3});
  l.zero = pick(random, {0, 1});
  l.sequence_parallel = l.tp > 1 && pick(random, {true, false});
  l.chunks = std::min(kind.max_chunks, std::max(kind.min_chunks, pick(random, {1, 2, 3})));
  l.placement = kind.placement;
  s.model.heads = s.model.kv_heads = 48, s.model.hidden = 48 * 16, s.model.head_dim = 16, s.model.ffn = 3072;
  s.model.layers = l.parts() * pick(random, {1, 2});
  s.model.tied_embeddings = pick(random, {true, false});
  s.model.dropout = pick(random, {true, false});
  s.batch.sequence = 240;
  s.batch.micro = pick(random, {1, 2});
  s.batch.global = s.batch.micro * l.dp * l.pp * pick(random, {2, 4, 6});
  s.recompute.kind = pick(random, {RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full});
  if (s.recompute.kind == RecomputeKind::full && pick(random, {true, false})) s.recompute.full_layers = 1;
  s.overlap = {pick(random, {true, false}), l.zero > 0 && pick(random, {true, false}), false,
               pick(random, {true, false})};
  s.cluster.nodes = l.tp * l.pp * l.dp;
  s.cluster.gpus_per_node = s.cluster.nics_per_node = 1;
  if (l.tp < 16) s.cluster.nodes = l.pp * l.dp, s.cluster.gpus_per_node = s.cluster.nics_per_node = l.tp;
  s.schedule = name;
  check(s);
  return s;
}

void expect_same(const MemoryReport& planned, const MemoryReport& shown, const std::string& what) {
  ASSERT_EQ(planned.stages.size(), shown.stages.size());
  const auto near = [&](double a, double b) { EXPECT_NEAR(a, b, 1e-12 * shown.peak_bytes) << what; };
  for (size_t i = 0; i < shown.stages.size(); ++i) {
    const MemoryParts &a = planned.stages[i].peak, &b = shown.stages[i].peak;
    near(a.total(), b.total());
    near(a.weights, b.weights), near(a.gradients, b.gradients), near(a.optimizer, b.optimizer);
    near(a.activations, b.activations), near(a.logits, b.logits);
    near(a.buffers, b.buffers), near(a.framework, b.framework);
  }
  near(planned.peak_bytes, shown.peak_bytes);
  EXPECT_EQ(planned.capacity_bytes, shown.capacity_bytes);
  EXPECT_EQ(planned.fits, shown.fits);
}

TEST(PlannedMemory, IsThatOfTheTimelineForEverySchedule) {
  std::mt19937 random(20261130);
  for (const auto& row : schedule_table())
    for (int i = 0; i < 25; ++i) {
      Scenario s = draw(random, std::string(row.name), row.value);
      Schedule schedule;
      try {
        schedule = make_schedule(s);
      } catch (const InputErrors& found) {
        FAIL() << row.name << ": " << found.what();
      }
      const TaskGraph graph = lower(s, schedule);
      expect_same(planned_memory(s, schedule), memory_report(s, graph, run_ideal(graph)),
                  std::string(row.name) + " draw " + std::to_string(i));
    }
}

TEST(PlannedMemory, DoesNotFitOneByteBeyondTheCapacity) {
  Scenario s = test::small_scenario();
  s.layout.pp = 4, s.layout.dp = 2;
  const Schedule schedule = make_schedule(s);
  const double peak = planned_memory(s, schedule).peak_bytes;
  auto profile = std::make_shared<DeviceProfile>(*s.profile);
  s.profile = profile;
  profile->memory_bytes.value = peak;
  EXPECT_TRUE(planned_memory(s, schedule).fits);
  profile->memory_bytes.value = peak - 1;
  EXPECT_FALSE(planned_memory(s, schedule).fits);
}

}  // namespace
}  // namespace rehearse
