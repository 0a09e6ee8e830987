// The constants of a profile, one row each: what a profile must give, and what a report names.
#pragma once
#include <string_view>

#include "sim/base/range.hpp"
#include "sim/spec/profile.hpp"

namespace rehearse {

enum class ConstantUnit { number, bytes, seconds, bytes_per_s, flop_per_s };

// What a report adds to a key, so that a name says its unit.
constexpr std::string_view suffix_of(ConstantUnit unit) {
  switch (unit) {
    case ConstantUnit::bytes:
      return "_bytes";
    case ConstantUnit::seconds:
      return "_s";
    case ConstantUnit::bytes_per_s:
      return "_bytes_per_s";
    case ConstantUnit::flop_per_s:
      return "_flops";
    case ConstantUnit::number:
      break;
  }
  return "";
}

template <class T>
struct ConstantRow {
  std::string_view key;
  Constant T::*field;
  ConstantUnit unit;
  NumberRange range = kPositive;
  bool may_miss = false;  // and then has no effect
};

inline constexpr ConstantRow<DeviceProfile> kDeviceConstants[] = {
    {"memory", &DeviceProfile::memory_bytes, ConstantUnit::bytes},
    {"hbm", &DeviceProfile::hbm_bytes_per_s, ConstantUnit::bytes_per_s},
    {"nvlink", &DeviceProfile::nvlink_bytes_per_s, ConstantUnit::bytes_per_s},
    {"nvlink_latency", &DeviceProfile::nvlink_latency_s, ConstantUnit::seconds, kNotNegative},
    {"sms", &DeviceProfile::sms, ConstantUnit::number},
    {"framework", &DeviceProfile::framework_bytes, ConstantUnit::bytes, kNotNegative},
    {"attention_backward", &DeviceProfile::attention_backward, ConstantUnit::number},
    {"odd_head", &DeviceProfile::odd_head_flops, ConstantUnit::flop_per_s},
    {"nvlink_efficiency", &DeviceProfile::nvlink_efficiency, ConstantUnit::number, kFraction},
    {"p2p_nvlink_latency", &DeviceProfile::p2p_nvlink_latency_s, ConstantUnit::seconds, kNotNegative},
    {"p2p_network_latency", &DeviceProfile::p2p_network_latency_s, ConstantUnit::seconds, kNotNegative},
};

inline constexpr ConstantRow<CollectiveAlgorithm> kAlgorithmConstants[] = {
    {"base", &CollectiveAlgorithm::base_s, ConstantUnit::seconds},
    {"hop_nvlink", &CollectiveAlgorithm::hop_nvlink_s, ConstantUnit::seconds, kNotNegative},
    {"hop_network", &CollectiveAlgorithm::hop_network_s, ConstantUnit::seconds, kNotNegative},
    {"payload", &CollectiveAlgorithm::payload, ConstantUnit::number, kFraction},
};

inline constexpr ConstantRow<Stack> kStackConstants[] = {
    {"gemm_scale", &Stack::gemm_scale, ConstantUnit::number},
    {"memory_efficiency", &Stack::memory_efficiency, ConstantUnit::number, kFraction},
    {"kernel_floor", &Stack::kernel_floor_s, ConstantUnit::seconds, kNotNegative},
    {"host_per_kernel", &Stack::host_per_kernel_s, ConstantUnit::seconds, kNotNegative},
    {"host_per_exchange", &Stack::host_per_exchange_s, ConstantUnit::seconds, kNotNegative, true},
    {"overlap_slowdown", &Stack::overlap_slowdown, ConstantUnit::number, kNotNegative},
    {"network_efficiency", &Stack::network_efficiency, ConstantUnit::number, kFraction},
    {"p2p_efficiency", &Stack::p2p_efficiency, ConstantUnit::number, kFraction},
    {"wgrad_scale", &Stack::wgrad_scale, ConstantUnit::number},
    {"grad_accumulate_bytes", &Stack::grad_accumulate_bytes, ConstantUnit::number, kNotNegative},
    {"loss_bytes_per_logit", &Stack::loss_bytes_per_logit, ConstantUnit::number, kNotNegative},
    {"optimizer_bytes_per_param", &Stack::optimizer_bytes_per_param, ConstantUnit::number, kNotNegative},
    {"straggler_per_doubling", &Stack::straggler_per_doubling, ConstantUnit::number, kNotNegative},
    {"blocking_launches", &Stack::blocking_launches, ConstantUnit::number, NumberRange{0, 1}},
};

}  // namespace rehearse
