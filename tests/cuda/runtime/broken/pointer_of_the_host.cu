// A kernel is given a pointer of new[]. finding: out-of-bounds at 3
__global__ void count(const int* data, int* found) {
  if (data[threadIdx.x] > 0) atomicAdd(found, 1);
}
int main() {
  int *data = new int[32](), *found;
  cudaMalloc(&found, sizeof(int));
  cudaMemset(found, 0, sizeof(int));
  count<<<1, 32>>>(data, found);
  return cudaGetLastError() == cudaErrorIllegalAddress ? 0 : 9;
}
