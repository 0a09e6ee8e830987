// Communication actions of PyTorch's lowered form, checked against the actions they serve; internal to
// sim/schedule.
#pragma once
#include <functional>
#include <optional>

#include "sim/base/error.hpp"
#include "sim/schedule/schedule.hpp"

namespace rehearse {

enum class CommKind : uint8_t { send_f, recv_f, send_b, recv_b, unshard, reshard, reduce_grad };
inline constexpr Named<CommKind> kCommKinds[] = {
    {"SEND_F", "output to the next chunk's stage", CommKind::send_f},
    {"RECV_F", "input from the previous chunk's stage", CommKind::recv_f},
    {"SEND_B", "gradient to the previous chunk's stage", CommKind::send_b},
    {"RECV_B", "gradient from the next chunk's stage", CommKind::recv_b},
    {"UNSHARD", "weights of a chunk gathered", CommKind::unshard},
    {"RESHARD", "gathered weights dropped", CommKind::reshard},
    {"REDUCE_GRAD", "gradients of a chunk reduced", CommKind::reduce_grad},
};
constexpr bool moves_micro_batch(CommKind kind) { return kind <= CommKind::recv_b; }

struct CommCell {
  CommKind kind;
  ChunkId chunk;
  MicroBatch micro;  // not of weights and gradients
  int before = 0;    // index of the stage's action before which it stands
  int line = 0, column = 0;
};

// Sets schedule.transfers from the cells of each stage, where they hold sends or receives. The schedule has
// passed validate(). Throws InputErrors (E-SCHEDULE-COMM, E-SCHEDULE-DEADLOCK).
void read_transfers(Schedule& schedule, const std::vector<std::vector<CommCell>>& cells,
                    const std::function<Place(int line, int column)>& place);

}  // namespace rehearse
