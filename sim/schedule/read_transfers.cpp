#include "sim/schedule/read_transfers.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "sim/schedule/dependencies.hpp"
#include "sim/schedule/shape.hpp"
#include "sim/schedule/transfers.hpp"

namespace rehearse {

namespace {

std::string name_of(const CommCell& cell) {
  std::string name = std::to_string(cell.chunk.value);
  for (const auto& row : kCommKinds)
    if (row.value == cell.kind) name += row.name;
  return moves_micro_batch(cell.kind) ? name + std::to_string(cell.micro.value) : name;
}

// The action that a send or receive serves; a backward stands for an input gradient too.
Action served(const CommCell& cell) {
  const bool forward = cell.kind == CommKind::send_f || cell.kind == CommKind::recv_f;
  return {forward ? ActionKind::forward : ActionKind::backward, cell.chunk, cell.micro};
}

bool is_send(CommKind kind) { return kind == CommKind::send_f || kind == CommKind::send_b; }

class Checker {
 public:
  Checker(const Schedule& schedule, const std::function<Place(int, int)>& place)
      : schedule_(schedule), shape_(schedule.shape), index_(schedule), place_(place) {}

  void error(const CommCell& cell, const std::string& message, const std::string& hint) {
    errors_.push_back(
        {place_(cell.line, cell.column), "schedule", "E-SCHEDULE-COMM", name_of(cell) + " " + message, hint});
  }
  void missing(const std::string& name, int stage) {
    errors_.push_back({{schedule_.name, 0, 0, ""},
                       "schedule",
                       "E-SCHEDULE-COMM",
                       name + " is missing on stage " + std::to_string(stage),
                       "a schedule with sends and receives has all that its actions need"});
  }
  void raise() {
    if (!errors_.empty()) throw InputErrors(shorten(std::move(errors_)));
  }

  bool at_home(const CommCell& cell, int stage) {
    const bool inside = cell.chunk.value < chunk_count(shape_) &&
                        (!moves_micro_batch(cell.kind) || index_.holds(served(cell)));
    if (!inside) {
      error(cell, "is outside of the pipeline", "");
    } else if (stage_of(cell.chunk, shape_).value != stage) {
      error(cell,
            "stands on stage " + std::to_string(stage) + ", but its chunk lives on stage " +
                std::to_string(stage_of(cell.chunk, shape_).value),
            "a transfer is named by the chunk of its own stage");
    } else {
      return true;
    }
    return false;
  }

  ActionPosition find(Action a) const {
    if (a.kind == ActionKind::backward && !index_.find(a).valid()) a.kind = ActionKind::input_gradient;
    return index_.find(a);
  }

  void transfer(const CommCell& cell, int stage, std::vector<TransferStep>& steps) {
    const Action a = served(cell);
    const bool send = is_send(cell.kind);
    if (send ? !sends(a, shape_) : !receives(a, shape_)) {
      error(cell, "moves nothing: the chunk beside it lies on the same stage, or there is none", "");
      return;
    }
    const ActionPosition at = find(a);
    const std::string action = short_name(schedule_.stages[size_t(at.stage)][size_t(at.index)]);
    if (send && at.index >= cell.before)
      error(cell, "stands before " + action + ", which makes what it sends", "");
    if (!send && at.index < cell.before) error(cell, "stands behind " + action + ", which needs it", "");
    if (!seen_.insert({int(cell.kind), cell.chunk.value, cell.micro.value}).second)
      error(cell, "is there twice on stage " + std::to_string(stage), "");
    steps.push_back({send, a, cell.before});
  }

  // Each action of a chunk that is unsharded somewhere runs between an UNSHARD and the next RESHARD; the
  // gradients of a chunk are complete when they are reduced.
  void weights(const std::vector<CommCell>& cells, int stage) {
    std::map<int, std::vector<const CommCell*>> of_chunk;
    for (const auto& cell : cells)
      if (!moves_micro_batch(cell.kind)) of_chunk[cell.chunk.value].push_back(&cell);
    const auto& order = schedule_.stages[size_t(stage)];
    for (const auto& [chunk, marks] : of_chunk) {
      const bool gathers = std::any_of(marks.begin(), marks.end(),
                                       [](const CommCell* m) { return m->kind == CommKind::unshard; });
      bool open = !gathers;
      size_t next = 0;
      const CommCell* reduced = nullptr;
      for (size_t i = 0; i <= order.size(); ++i) {
        for (; next < marks.size() && marks[next]->before == int(i); ++next)
          mark(*marks[next], gathers, open, reduced);
        if (i == order.size() || order[i].chunk.value != chunk) continue;
        if (!open) error(*marks.front(), "does not enclose " + short_name(order[i]), "");
        if (reduced != nullptr && order[i].kind != ActionKind::forward)
          error(*reduced, "stands before " + short_name(order[i]),
                "gradients are complete after the last B or W");
      }
    }
  }

  void complete(const TransferSteps& steps) {
    std::set<std::tuple<bool, int, int>> sent, received;
    for (const auto& own : steps)
      for (const auto& step : own)
        (step.send ? sent : received)
            .insert(
                {step.action.kind == ActionKind::forward, step.action.chunk.value, step.action.micro.value});
    for (int s = 0; s < shape_.stages; ++s)
      for (const Action& a : schedule_.stages[size_t(s)]) {
        const bool forward = a.kind == ActionKind::forward;
        const std::tuple key{forward, a.chunk.value, a.micro.value};
        auto name = [&](const char* kind) {
          return std::to_string(a.chunk.value) + kind + (forward ? "F" : "B") + std::to_string(a.micro.value);
        };
        if (sends(a, shape_) && !sent.count(key)) missing(name("SEND_"), s);
        if (receives(a, shape_) && !received.count(key)) missing(name("RECV_"), s);
      }
  }

  // Between two stages the k-th receive takes what the k-th send gives, whatever was meant.
  void paired(const std::vector<std::vector<CommCell>>& cells) {
    std::map<std::pair<int, int>, std::vector<const CommCell*>> sent, received;
    for (int s = 0; s < shape_.stages; ++s)
      for (const auto& cell : cells[size_t(s)]) {
        if (!moves_micro_batch(cell.kind)) continue;
        const bool forward = served(cell).kind == ActionKind::forward, send = is_send(cell.kind);
        const int beside = stage_of(ChunkId(cell.chunk.value + (forward == send ? 1 : -1)), shape_).value;
        (send ? sent[{s, beside}] : received[{beside, s}]).push_back(&cell);
      }
    for (const auto& [pair, row] : received)
      for (size_t k = 0; k < row.size(); ++k) {
        const CommCell& given = *sent[pair][k];
        const Action want = served(*row[k]), got = receiver_of(served(given));
        if (want == got) continue;
        error(*row[k],
              "takes what " + name_of(given) + " sends: each is number " + std::to_string(k + 1) +
                  " between stages " + std::to_string(pair.first) + " and " + std::to_string(pair.second),
              "receives are in the order of the sends");
        break;
      }
  }

 private:
  void mark(const CommCell& cell, bool gathers, bool& open, const CommCell*& reduced) {
    if (cell.kind == CommKind::reduce_grad) {
      reduced = &cell;
    } else if (gathers) {
      if (open == (cell.kind == CommKind::unshard))
        error(cell, open ? "follows another UNSHARD" : "has no UNSHARD before it", "");
      open = cell.kind == CommKind::unshard;
    } else {
      error(cell, "has no UNSHARD before it", "");
    }
  }

  const Schedule& schedule_;
  const PipelineShape& shape_;
  ActionIndex index_;
  const std::function<Place(int, int)>& place_;
  std::vector<InputError> errors_;
  std::set<std::tuple<int, int, int>> seen_;
};

}  // namespace

void read_transfers(Schedule& schedule, const std::vector<std::vector<CommCell>>& cells,
                    const std::function<Place(int line, int column)>& place) {
  Checker checker(schedule, place);
  TransferSteps steps(cells.size());
  bool moves = false;
  for (size_t s = 0; s < cells.size(); ++s) {
    for (const auto& cell : cells[s]) {
      if (!checker.at_home(cell, int(s)) || !moves_micro_batch(cell.kind)) continue;
      moves = true;
      checker.transfer(cell, int(s), steps[s]);
    }
    checker.weights(cells[s], int(s));
  }
  checker.raise();
  if (!moves) return;
  checker.complete(steps);
  checker.raise();
  checker.paired(cells);
  checker.raise();
  schedule.transfers = std::move(steps);
}

}  // namespace rehearse
