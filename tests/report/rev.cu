__device__ int swapped(int* s, int t) { return s[63 - t]; }
__global__ void rev(int* d) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = d[t];
  d[t] = swapped(s, t);
}
