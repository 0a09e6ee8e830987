// rehearse merge on stores that hold the same points.
#include <gmock/gmock.h>

#include "sim/study/store.hpp"
#include "tests/support/program.hpp"

namespace rehearse {
namespace {

using ::testing::HasSubstr;

StoredPoint point_of(const std::string& digest, double step, Verdict verdict = Verdict::simulated) {
  StoredPoint point{digest, {{"layout.tp=" + digest}}, {}};
  point.outcome.verdict = verdict;
  point.outcome.figures.assign(figure_table().size(), step);
  if (verdict == Verdict::failed) point.outcome.code = "E-POINT-CRASH";
  return point;
}

struct StudyMerge : ::testing::Test {
  test::ProgramRun merge(const std::vector<std::vector<StoredPoint>>& stores) {
    std::string words = "merge";
    for (size_t i = 0; i < stores.size(); ++i) {
      words += " " + std::to_string(i) + ".sqlite";
      create_store(folder.file(std::to_string(i) + ".sqlite"), {}, stores[i]);
    }
    return test::run_program(words + " -o all.sqlite", folder.file(""));
  }
  test::TemporaryFolder folder;
};

TEST_F(StudyMerge, TakesEqualPointsOnce) {
  const auto done = merge({{point_of("1", 5), point_of("2", 6)}, {point_of("2", 6), point_of("3", 7)}});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(done.out, "all.sqlite: 3 points of 2 stores, 1 of them twice\n");
  EXPECT_EQ(Store(folder.file("all.sqlite"), Store::Mode::read).points().size(), 3u);
}

TEST_F(StudyMerge, RefusesOtherResultsOfAPoint) {
  const auto done = merge({{point_of("1", 5)}, {point_of("1", 5.0000001)}});
  EXPECT_EQ(done.status, 2);
  EXPECT_EQ(done.out, "");
  EXPECT_THAT(done.err, HasSubstr("1.sqlite: error: the point layout.tp=1 has another result in '0.sqlite' "
                                  "[E-STORE-CONFLICT]"));
  EXPECT_FALSE(std::filesystem::exists(folder.file("all.sqlite")));
}

TEST_F(StudyMerge, LetsFailedPointsGiveWay) {
  const auto failed = point_of("1", 0, Verdict::failed);
  for (const auto& [first, second] :
       {std::pair(failed, point_of("1", 5)), std::pair(point_of("1", 5), failed)}) {
    const auto done = merge({{first}, {second}});
    EXPECT_EQ(done.status, 0) << done.err;
    const auto points = Store(folder.file("all.sqlite"), Store::Mode::read).points();
    ASSERT_EQ(points.size(), 1u);
    EXPECT_EQ(points[0].outcome.verdict, Verdict::simulated);
    for (const char* file : {"0.sqlite", "1.sqlite", "all.sqlite"})
      std::filesystem::remove(folder.file(file));
  }
}

}  // namespace
}  // namespace rehearse
