// What samples say of a profile's constants.
#pragma once
#include <vector>

#include "calibration/fit/document.hpp"
#include "calibration/fit/tables.hpp"

namespace rehearse::calibration {

// Of the device: from the limits that its environments state, else its best samples. Always a peak for the
// types of GEMMs and attention.
std::vector<NamedConstant> device_constants(const std::vector<Taken>& taken);

// What a device with this memory and link bandwidth (bytes/s) shows besides: launches, stream kernels,
// overlap, ratios of weight gradients and of attention backward, latency and rate of collectives. The link's
// bandwidth is stated, or only what the samples reached.
std::vector<NamedConstant> software_constants(const std::vector<Taken>& taken, double hbm, double nvlink,
                                              bool nvlink_stated);

}  // namespace rehearse::calibration
