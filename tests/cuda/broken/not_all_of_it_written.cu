// Half of the tile is filled, all of it is summed.
// ptxsim: launch block=32
// ptxsim: arg x = ones(32):f32
// ptxsim: expect uninitialized-read at 11
__global__ void sum_up(float* x) {
  __shared__ float tile[64];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < 64; ++i) sum += tile[i];
    x[0] = sum;
  }
}
