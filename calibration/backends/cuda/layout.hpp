// How a row-major GEMM of the harness is put to a column-major library.
#pragma once
#include <cstdint>

#include "sim/spec/kernel.hpp"

namespace rehearse::calibration::cuda {

// One matrix as the library sees it, column-major: elements.
struct Matrix {
  int64_t rows, columns, leading;
  int64_t stride;  // from one matrix of the batch to the next
  bool transposed;
};

// A row-major C[m][n] is the column-major C^T[n][m] = B^T A^T, so the library's first factor is the harness's
// B. Nothing is moved: only the names of the dimensions change.
struct GemmLayout {
  Matrix first, second, result;  // of B, A and C
  int64_t batch;
};
GemmLayout layout_of(GemmRole role, const GemmShape& shape);

}  // namespace rehearse::calibration::cuda
