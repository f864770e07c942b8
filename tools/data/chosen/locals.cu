// Arrays of a thread's own in local memory, whose elements lanes choose each for itself or alike: changed, written, read.
typedef unsigned u32; typedef unsigned char u8; typedef unsigned short u16;
#define K extern "C" __global__ void
template <class T, int W, int HOW, bool SAME> __device__ __forceinline__ void run(u32 *y, int n) {
    T a[W]; u32 t = blockIdx.x * blockDim.x + threadIdx.x, v = SAME ? 12345u + n : t * 2654435761u + n, s = 0;
    for (int k = 0; k < W; k++) a[k] = (T)(k + n);
#pragma unroll 1
    for (int i = 0; i < n; i++) {
#pragma unroll
        for (int k = 0; k < 4; k++) { v = v * 1664525u + 1013904223u; u32 at = (v >> 16) % W; if (HOW == 0) a[at] += 1; else if (HOW == 1) a[at] = (T)v; else s += a[at]; }
    }
    for (int k = 0; k < W; k++) s = s * 31 + a[k];
    y[t] = s;
}
#define ONE(NAME, T, W) K c_##NAME(u32 *y, int n) { run<T, W, 0, false>(y, n); } K w_##NAME(u32 *y, int n) { run<T, W, 1, false>(y, n); } K r_##NAME(u32 *y, int n) { run<T, W, 2, false>(y, n); } K cs_##NAME(u32 *y, int n) { run<T, W, 0, true>(y, n); }
ONE(u8_32, u8, 32) ONE(u8_128, u8, 128) ONE(u16_32, u16, 32) ONE(u32_8, u32, 8) ONE(u32_32, u32, 32)
