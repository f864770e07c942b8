// The second tile of 16 rows would begin at row 16, and the matrix ends there.
// ptxsim: launch block=32
// ptxsim: arg a = ints(16, 16):f16
// ptxsim: arg d = zeros(16, 16):f32
// ptxsim: expect out-of-bounds at 13
#include <mma.h>
using namespace nvcuda;

__global__ void product(const half* a, float* d) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::load_matrix_sync(left, a + 16 * 16, 16);
  wmma::load_matrix_sync(right, a, 16);
  wmma::fill_fragment(sum, 0);
  wmma::mma_sync(sum, left, right, sum);
  wmma::store_matrix_sync(d, sum, 16, wmma::mem_row_major);
}
