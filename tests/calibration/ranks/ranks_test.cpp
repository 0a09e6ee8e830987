// Ranks by MPI: what each knows of the others.
#include <cstdlib>

#include "tests/calibration/ranks/job.hpp"

namespace rehearse::calibration {
namespace {

TEST(Ranks, AreNumberedAsTheJobIs) {
  const auto numbers = job().gather(job().rank());
  ASSERT_EQ(int(numbers.size()), job().size());
  for (int i = 0; i < job().size(); ++i) EXPECT_EQ(numbers[size_t(i)], i);
  EXPECT_GT(job().size(), 1) << "not a job: mpirun's variables are not seen";
}

TEST(Ranks, AllLieOnThisNode) {
  EXPECT_EQ(job().per_node(), job().size());
  EXPECT_EQ(job().local_rank(), job().rank());
}

TEST(Ranks, AnyHearsOneVoice) {
  EXPECT_TRUE(job().any(job().rank() == job().size() - 1));
  EXPECT_FALSE(job().any(false));
}

TEST(Ranks, BroadcastReachesAllFromAnyRoot) {
  for (int root = 0; root < job().size(); ++root)
    for (size_t length : {size_t(0), size_t(5), size_t(100000)}) {
      const std::string text(length, char('a' + root));
      EXPECT_EQ(job().broadcast(job().rank() == root ? text : "other", root), text);
    }
}

}  // namespace
}  // namespace rehearse::calibration
