// The host backend alone in its process, and operands on it.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "calibration/backends/backend.hpp"

namespace rehearse::calibration {

using Values = std::vector<std::vector<double>>;  // of each operand

class HostTest : public testing::Test {
 protected:
  ~HostTest() override {
    for (void* data : allocated_) backend_->release(data);
  }
  Operands operands(const Work& work) {
    Operands list;
    for (const auto& spec : operands_of(work)) {
      list.push_back({spec, backend_->allocate(size_t(spec.bytes()))});
      allocated_.push_back(list.back().data);
      backend_->fill(list.back());
    }
    return list;
  }
  // What is overwritten holds something else before, so that what is added to it instead is seen.
  static void soil(const Operands& list) {
    for (const auto& tensor : list)
      if (tensor.spec.content == Content::zero)
        std::fill_n(static_cast<float*>(tensor.data), tensor.spec.count, 7.0f);
  }
  Values read(const Operands& list) {
    Values values;
    for (const auto& tensor : list) values.push_back(backend_->read(tensor, 0, tensor.spec.count));
    return values;
  }
  Elapsed run(const Work& work, const Operands& list) {
    const Call call{&work, &list};
    return backend_->time({&call, 1}, Clocking::stream);
  }

  std::unique_ptr<Ranks> ranks_ = make_ranks();
  std::unique_ptr<Backend> backend_ = make_host_backend(*ranks_);

 private:
  std::vector<void*> allocated_;
};

// Each element within `tolerance` of the largest of its operand.
inline void expect_near(const Values& found, const Values& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t t = 0; t < found.size(); ++t) {
    ASSERT_EQ(found[t].size(), expected[t].size()) << "operand " << t;
    double largest = 1e-6;
    for (double x : expected[t]) largest = std::max(largest, std::abs(x));
    for (size_t i = 0; i < found[t].size(); ++i)
      ASSERT_NEAR(found[t][i], expected[t][i], tolerance * largest) << "operand " << t << ", element " << i;
  }
}

}  // namespace rehearse::calibration
