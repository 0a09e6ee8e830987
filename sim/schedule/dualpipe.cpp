#include <deque>

#include "sim/schedule/builders.hpp"

namespace rehearse {

namespace {

// One stage's order. It has two chunks: `near`, whose forwards come first, and `far`, whose backwards do.
class Stage {
 public:
  Stage(ChunkId near, ChunkId far, int first_near, int first_far)
      : chunk_{near, far}, forward_{first_near, first_far}, backward_{first_near, first_far} {}

  void forward(int which) {
    order_.push_back({ActionKind::forward, chunk_[which], MicroBatch(forward_[which]++)});
  }
  void backward(int which, bool split) {
    const MicroBatch micro(backward_[which]++);
    order_.push_back({split ? ActionKind::input_gradient : ActionKind::backward, chunk_[which], micro});
    if (split) weights_.push_back({ActionKind::weight_gradient, chunk_[which], micro});
  }
  void weight() {
    order_.push_back(weights_.front());
    weights_.pop_front();
  }
  std::vector<Action> take() { return std::move(order_); }

 private:
  ChunkId chunk_[2];
  int forward_[2], backward_[2];  // next micro-batches
  std::deque<Action> weights_;
  std::vector<Action> order_;
};

// `distance` stages from the end where the near chunk's micro-batches enter, of `half` such; `micro_batches`
// pass through each chunk.
void run(Stage& stage, int distance, int half, int micro_batches) {
  constexpr int near = 0, far = 1;
  const int later = half - distance - 1;
  for (int i = 0; i < 2 * later; ++i) stage.forward(near);
  for (int i = 0; i <= distance; ++i) stage.forward(near), stage.forward(far);
  for (int i = 0; i < later; ++i) stage.backward(far, true), stage.weight(), stage.forward(far);
  for (int i = 0; i < micro_batches - 2 * half + distance + 1; ++i) {
    stage.forward(near), stage.backward(far, false);
    stage.forward(far), stage.backward(near, false);
  }
  for (int i = 0; i < later; ++i) stage.backward(far, false), stage.forward(far), stage.backward(near, false);
  // Of the last backwards the second half is split, so that the stages behind wait less.
  for (int i = 0; i < 2 * (distance + 1); ++i) stage.backward(i % 2 == 0 ? far : near, i > distance);
  for (int i = 0; i < later; ++i) stage.weight(), stage.backward(near, true);
  for (int i = 0; i <= distance; ++i) stage.weight();
}

// DeepSeek-AI 2024, section 3.2.1.
constexpr const char* kTurns =
    "the F and B of a pair take turns, so that the next stage begins earlier; pairs kept whole leave the "
    "published "
    "bubble, (p/2 - 1)(F&B + B - 3W)";

}  // namespace

Schedule build_dualpipe(const PipelineShape& shape, const BuildOptions&) {
  Schedule schedule{"dualpipe", shape};
  schedule.note = kTurns;
  const int p = shape.stages, each = shape.micro_batches / 2;
  for (int s = 0; s < p; ++s) {
    const bool lower = s < p / 2;  // nearer to where the first copy's micro-batches enter
    const ChunkId first(s), second(2 * p - 1 - s);
    Stage stage = lower ? Stage(first, second, 0, each) : Stage(second, first, each, 0);
    run(stage, lower ? s : p - 1 - s, p / 2, each);
    schedule.stages.push_back(stage.take());
  }
  return schedule;
}

Schedule build_dualpipe_v(const PipelineShape& shape, const BuildOptions&) {
  Schedule schedule{"dualpipe-v", shape};
  schedule.note = kTurns;
  for (int s = 0; s < shape.stages; ++s) {
    Stage stage(chunk_on(s, 0, shape), chunk_on(s, 1, shape), 0, 0);
    run(stage, s, shape.stages, shape.micro_batches);
    schedule.stages.push_back(stage.take());
  }
  return schedule;
}

}  // namespace rehearse
