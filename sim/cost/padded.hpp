// What a collective takes where any call may be padded to a larger one: never more than one of more bytes.
#pragma once
#include "sim/cost/nccl_predict.hpp"

namespace rehearse {

// predict_collective() at powers of two and at the sizes of tables of this very group, each no more than at a
// larger one; linear in the bytes between them. Algorithm and protocol are those chosen at `c.bytes` itself.
Prediction padded_collective(const DeviceProfile& profile, const CollectiveCase& c,
                             const NcclFilter& filter = {});

}  // namespace rehearse
