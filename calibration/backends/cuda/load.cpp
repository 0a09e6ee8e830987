// Opens the GPU backend, which is a file of its own: beside the program, or where it is installed.
#include <dlfcn.h>
#include <unistd.h>

#include <climits>

#include "calibration/backends/backend.hpp"

namespace rehearse::calibration {

namespace {

constexpr const char* kFile = "librehearse_cuda.so";

std::string folder_of_program() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0) return ".";
  const std::string program(path, size_t(length));
  return program.substr(0, program.rfind('/'));
}

// Never closed: the libraries in it do not expect that.
void* open_backend() {
  const std::string program = folder_of_program();
  std::string reason;
  for (const std::string& path :
       {program + "/" + kFile, program + "/" REHEARSE_INSTALLED_FROM_PROGRAM "/" + kFile}) {
    if (access(path.c_str(), F_OK) != 0) continue;
    if (void* backend = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return backend;
    reason = dlerror();
    break;
  }
  throw BackendError("the GPU backend does not load: " +
                     (reason.empty() ? std::string(kFile) + " is not beside the program" : reason));
}

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(Ranks& ranks) {
  static void* const backend = open_backend();
  using Make = Backend*(Ranks * ranks);
  const auto make = reinterpret_cast<Make*>(dlsym(backend, "rehearse_make_cuda_backend"));
  if (!make) throw BackendError(std::string("the GPU backend is of another version: ") + dlerror());
  return std::unique_ptr<Backend>(make(&ranks));
}

}  // namespace rehearse::calibration
