// Sends and receives between stages, as a communication stream runs them.
#pragma once
#include "sim/schedule/schedule.hpp"

namespace rehearse {

// Whether the action's result goes to another stage, or its input comes from one.
bool sends(const Action& action, const PipelineShape& shape);
bool receives(const Action& action, const PipelineShape& shape);
// The action whose receive matches the send of `action`: the next chunk's forward, or the previous one's
// backward.
Action receiver_of(const Action& action);

// The stage at the other end.
StageId other_stage(const TransferStep& step, const PipelineShape& shape);

// schedule.transfers where they are given. Else as PyTorch adds them: in rounds in which each stage runs its
// next action if it can, a send is issued behind the action that makes what it sends, and its receive where
// the receiver then stands. Such an order always makes progress.
TransferSteps transfers_of(const Schedule& schedule);

// Throws InputErrors (E-SCHEDULE-DEADLOCK, with the cycle, action by action) where a transfer starts only
// when both stages have come to it, batches of a stage run one after the other, and no progress is possible.
// `blocking`: a stage waits for its batch, else only the action that needs a receive does.
void check_rendezvous(const Schedule& schedule, const TransferSteps& transfers, bool blocking);

}  // namespace rehearse
