#include "calibration/backends/cuda/layout.hpp"

namespace rehearse::calibration::cuda {

GemmLayout layout_of(GemmRole role, const GemmShape& shape) {
  const auto m = int64_t(shape.m), n = int64_t(shape.n), k = int64_t(shape.k);
  // B stored [n][k] row-major is a column-major k x n, to be transposed; [k][n] is n x k as it is wanted.
  const Matrix b_rows{k, n, k, n * k, true}, b_columns{n, k, n, n * k, false};
  // A stored [m][k] is k x m, which is A^T as it is wanted; [k][m] is m x k, to be transposed.
  const Matrix a_rows{k, m, k, m * k, false}, a_columns{m, k, m, m * k, true};
  GemmLayout layout{b_rows, a_rows, {n, m, n, m * n, false}, int64_t(shape.batch)};
  if (role != GemmRole::forward) layout.first = b_columns;
  if (role == GemmRole::weight_gradient) layout.second = a_columns;
  return layout;
}

}  // namespace rehearse::calibration::cuda
