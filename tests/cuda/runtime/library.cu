// A library that a Python program loads.
__global__ void twice(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2;
}
extern "C" int run(float *host, int n) {
  float *x;
  cudaMalloc(&x, 4 * n);
  cudaMemcpy(x, host, 4 * n, cudaMemcpyDefault);
  twice<<<(n + 127) / 128, 128>>>(x, n);
  cudaMemcpy(host, x, 4 * n, cudaMemcpyDefault);
  cudaFree(x);
  return cudaGetLastError();
}
