// NCCL's model as questions ask it, and what corrects it.
#pragma once
#include "sim/cost/collective.hpp"

namespace rehearse {

// The model alone. all_to_all and send_recv (a ring shift), which have no algorithm, by 8 us + 0.6 us a rank
// (send_recv 10 us) and the slower of NVLink and the bytes that leave a node over 0.926 of its NICs' rate,
// which 2 nodes of B300 and 2 racks of GB200 reach within 4 %. Throws InputErrors (E-NCCL-ALGO) where nothing
// that the filter allows can run.
CollectiveCost nccl_prediction(const DeviceProfile& profile, const CollectiveQuery& query);

}  // namespace rehearse
