// Writes the trace of a hand-built step, for the viewers' tests. usage: make_trace FILE.json[.gz]|DIR/
// chunk|kernel
#include <cstdio>
#include <exception>
#include <string>

#include "tests/support/trace_files.hpp"

int main(int argc, char** argv) {
  using namespace rehearse;
  if (argc != 3) {
    std::fputs("usage: make_trace FILE.json[.gz]|DIR/ chunk|kernel\n", stderr);
    return 2;
  }
  try {
    rehearse::test::StepShape shape;
    shape.pp = 4;
    shape.micro = 8;
    shape.kernel = 0.00123457;
    shape.transfer = 0.00033;
    const auto step = rehearse::test::make_step(shape);
    const std::string path = argv[1];
    const TraceOptions options{std::string(argv[2]) == "kernel" ? TraceDetail::kernel : TraceDetail::chunk,
                               {}};
    if (path.back() == '/')
      rehearse::test::write_dir(path, step, options);
    else
      rehearse::test::write_file(path, step, options);
  } catch (const std::exception& e) {
    std::fputs(e.what(), stderr);
    return 1;
  }
  return 0;
}
