#include "calibration/cli/devices.hpp"

#include "calibration/measure/agree.hpp"
#include "sim/base/error.hpp"
#include "sim/base/names.hpp"
#include "sim/base/text.hpp"

namespace rehearse::calibration {
namespace {

using Make = std::unique_ptr<Backend> (*)(Ranks&);
constexpr Named<Make> kBackends[] = {
    {"host", "the processor: OpenBLAS, MPI", make_host_backend},
#ifdef REHEARSE_HAS_CUDA
    {"cuda", "NVIDIA GPUs: cuBLASLt, cuDNN, NCCL", make_cuda_backend},
#endif
};

[[noreturn]] void refuse_backend(const std::string& message, const std::string& hint) {
  throw InputErrors(InputError{{}, "", "E-BACKEND", message, hint});
}

}  // namespace

void check_backend(const std::string& name) {
  if (find_named(kBackends, name)) return;
  if (name == "cuda") refuse_backend("this program was built without CUDA", "build it where nvcc is found");
  refuse_backend("unknown backend " + quote(name), suggest(name, names_in(kBackends)));
}

std::unique_ptr<Backend> make_backend(const std::string& name, Ranks& ranks) {
  check_backend(name);
  std::unique_ptr<Backend> backend;
  try {
    together(ranks, [&] { backend = find_named(kBackends, name)->value(ranks); });
  } catch (const BackendError& e) {
    refuse_backend(std::string("no device: ") + e.what(), "");
  }
  return backend;
}

}  // namespace rehearse::calibration
