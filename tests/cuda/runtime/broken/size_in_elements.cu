// cudaMalloc gets the number of elements, not of bytes. finding: out-of-bounds at 4
template <class T>
__global__ void iota(T* values) {
  values[blockIdx.x * blockDim.x + threadIdx.x] = T(threadIdx.x);
}
int main() {
  double* values;
  cudaMalloc(&values, 256);
  iota<<<2, 128>>>(values);
  return cudaGetLastError() == cudaErrorIllegalAddress ? 0 : 9;
}
