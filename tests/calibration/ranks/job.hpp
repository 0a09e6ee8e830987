// The job of ranks that runs the tests: every rank runs every test.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "calibration/backends/backend.hpp"

namespace rehearse::calibration {

Ranks& job();

class JobTest : public testing::Test {
 protected:
  JobTest() : backend_(make_host_backend(job())), rank_(job().rank()), size_(job().size()) {}
  ~JobTest() override {
    for (void* data : allocated_) backend_->release(data);
  }
  // Filled with what this rank holds.
  Operands operands(const Work& work) {
    Operands list;
    for (auto spec : operands_of(work)) {
      spec.seed = seed_on(spec.seed, rank_);
      list.push_back({spec, backend_->allocate(size_t(spec.bytes()))});
      allocated_.push_back(list.back().data);
      backend_->fill(list.back());
    }
    return list;
  }
  std::vector<double> read(const Tensor& tensor) { return backend_->read(tensor, 0, tensor.spec.count); }

  std::unique_ptr<Backend> backend_;
  int rank_, size_;

 private:
  std::vector<void*> allocated_;
};

}  // namespace rehearse::calibration
