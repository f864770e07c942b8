// So many special registers are read first thing by each warp; and rows of one load and one store as users write them, by a grid of two dimensions.
typedef unsigned u32;
#define K extern "C" __global__ void
template <int N> __device__ void special(u32 *out) {
    u32 v = 0, r;
#define S(k, name) if (N > k) { asm volatile("mov.u32 %0, %%" name ";" : "=r"(r)); v += r * (k + 3); }
    S(0, "tid.x") S(1, "ctaid.x") S(2, "tid.y") S(3, "ctaid.y") S(4, "tid.z") S(5, "ctaid.z") S(6, "laneid") S(7, "warpid")
    if (v == 123456789u) out[0] = v;
}
#define P(N) K special_##N(u32 *out) { special<N>(out); }
P(1) P(2) P(4) P(6) P(8)
K grid_scale(const float *__restrict__ x, float *__restrict__ y, int n) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    y[r * n + c] = 2 * x[r * n + c];
}
K grid_stencil(const float *__restrict__ x, float *__restrict__ y, int n) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (c < 1 || r < 1 || c >= n - 1 || r >= n - 1) return;
    y[r * n + c] = x[r * n + c] + 0.25f * (x[r * n + c - 1] + x[r * n + c + 1] + x[(r - 1) * n + c] + x[(r + 1) * n + c]);
}
// A row a CTA: each thread adds up so many words, a sum by shuffles and shared memory, one store.
K row_sums(const float *__restrict__ x, float *__restrict__ y, int n) {
    __shared__ float part[32];
    float s = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) s += x[(size_t)blockIdx.x * n + i];
    for (int o = 16; o; o /= 2) s += __shfl_down_sync(~0u, s, o);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x < 32) {
        s = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
        for (int o = 16; o; o /= 2) s += __shfl_down_sync(~0u, s, o);
        if (threadIdx.x == 0) y[blockIdx.x] = s;
    }
}
// The same, and the row is scaled by it.
K row_scale(const float *__restrict__ x, float *__restrict__ y, int n) {
    __shared__ float part[32];
    float s = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) s += x[(size_t)blockIdx.x * n + i];
    for (int o = 16; o; o /= 2) s += __shfl_xor_sync(~0u, s, o);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
    __syncthreads();
    s = 0;
    for (int k = 0; k < blockDim.x / 32; k++) s += part[k];
    s = 1 / s;
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[(size_t)blockIdx.x * n + i] = x[(size_t)blockIdx.x * n + i] * s;
}
// Each lane stores N pieces of T next to each other, one after the other.
template <class T, int N, bool LOADS> __device__ void pieces(const u32 *x, T *y) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x, v = LOADS ? x[i] : i;
#pragma unroll
    for (int k = 0; k < N; k++) { y[i * N + k] = (T)(v >> k); asm volatile("" ::: "memory"); }
}
typedef unsigned char u8;
#define Q(T, N) K pieces_##T##_##N(const u32 *x, T *y) { pieces<T, N, false>(x, y); } K loaded_##T##_##N(const u32 *x, T *y) { pieces<T, N, true>(x, y); }
Q(u8, 1) Q(u8, 3) Q(u8, 5) Q(u8, 10) Q(u32, 2) Q(u32, 3) Q(u32, 4) Q(u32, 8)
