// Launches that cannot start: CUDA gives an error, ptxsim says what is wrong.
__global__ void any(int *x) { *x = 1; }
__global__ void __launch_bounds__(128) bounded(int *x) { *x = 1; }
__global__ void __cluster_dims__(2) pairs(int *x) { *x = 1; }

int main() {
  int *x, n = 0, wrong = 0;
  cudaMalloc(&x, 4);
  any<<<(n + 127) / 128, 128>>>(x);
  wrong += cudaGetLastError() == cudaErrorInvalidConfiguration;
  any<<<dim3(1, 70000), 128>>>(x);
  wrong += cudaGetLastError() == cudaErrorInvalidConfiguration;
  any<<<1, dim3(64, 64)>>>(x);
  wrong += cudaGetLastError() == cudaErrorInvalidConfiguration;
  bounded<<<1, 256>>>(x);
  wrong += cudaGetLastError() == cudaErrorInvalidValue;
  pairs<<<3, 32>>>(x);
  wrong += cudaGetLastError() == cudaErrorInvalidClusterSize;
  return wrong == 5 ? 0 : 1;
}
