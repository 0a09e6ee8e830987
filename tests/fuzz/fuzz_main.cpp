// libFuzzer's entry; REHEARSE_FUZZ_TARGET is one of kTargets' functions.
#include "tests/fuzz/targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const auto ground = rehearse::fuzz::make_ground();
  rehearse::fuzz::REHEARSE_FUZZ_TARGET(bytes, size, ground);
  return 0;
}
