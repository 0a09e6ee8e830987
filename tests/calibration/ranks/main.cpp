#include "tests/calibration/ranks/job.hpp"

namespace rehearse::calibration {
namespace {

std::unique_ptr<Ranks>& owner() {
  static std::unique_ptr<Ranks> ranks;
  return ranks;
}

}  // namespace

Ranks& job() { return *owner(); }

}  // namespace rehearse::calibration

int main(int argc, char** argv) {
  using namespace rehearse::calibration;
  testing::InitGoogleTest(&argc, argv);
  owner() = make_ranks();
  // One rank tells how it went; the others only what failed.
  if (job().rank() != 0) {
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    class Failures : public testing::EmptyTestEventListener {
      void OnTestPartResult(const testing::TestPartResult& result) override {
        if (result.failed())
          fprintf(stderr, "rank %d: %s:%d: %s\n", job().rank(), result.file_name(), result.line_number(),
                  result.message());
      }
    };
    listeners.Append(new Failures);
  }
  const int status = RUN_ALL_TESTS();
  const bool failed = job().any(status != 0);
  owner().reset();
  return failed ? 1 : 0;
}
