// MUFU (x), BREV (b) or an exclusive or (l) after each of so many products, eight a turn, none (f), on 1 to 8 warps of a sub-core; `sums`: of the ALU, in CTAs of 1 to 10 warps.
typedef unsigned u32;
extern "C" __global__ void sums(u32 *y, u32 turns) {
    u32 a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3;
    #pragma unroll 1
    for (u32 t = 0; t < turns; t++)
        #pragma unroll
        for (int k = 0; k < 8; k++)
            asm volatile("xor.b32 %0,%0,%4; add.u32 %1,%1,%4; xor.b32 %2,%2,%4; add.u32 %3,%3,%4;" : "+r"(a), "+r"(b), "+r"(c), "+r"(d) : "r"(t));
    if (a + b + c + d == 12345) y[0] = 1;
}
// MUFU, or quotients' check, among products: how many of them for one, at 1 to 8 warps of a sub-core.
template <int SUMS, int HOW> __device__ __forceinline__ void mixed(u32 *y, float f, u32 turns) {
    float a[8], g[8];
    #pragma unroll
    for (int k = 0; k < 8; k++) a[k] = 1.f + threadIdx.x * 0.001f + k, g[k] = k;
    #pragma unroll 1
    for (u32 t = 0; t < turns; t++)
        #pragma unroll
        for (int k = 0; k < 8; k++) {
            if (HOW == 1) asm volatile("ex2.approx.ftz.f32 %0,%0;" : "+f"(a[k]));
            if (HOW == 2) { u32 r; asm volatile("brev.b32 %0,%1;" : "=r"(r) : "r"(__float_as_uint(a[k]))); a[k] = __uint_as_float(r); }
            if (HOW == 3) asm volatile("{.reg .u32 z; mov.b32 z,%0; xor.b32 z,z,%1; mov.b32 %0,z;}" : "+f"(a[k]) : "r"(t));
            #pragma unroll
            for (int j = 0; j < SUMS; j++) asm volatile("fma.rn.f32 %0,%0,%1,%1;" : "+f"(g[j % 8]) : "f"(f));
        }
    float r = 0;
    #pragma unroll
    for (int k = 0; k < 8; k++) r += a[k] + g[k];
    if (r == 12345) y[0] = 1;
}
#define MIX(S) extern "C" __global__ void f_##S(u32 *y, float f, u32 t) { mixed<S, 0>(y, f, t); } extern "C" __global__ void x_##S(u32 *y, float f, u32 t) { mixed<S, 1>(y, f, t); } extern "C" __global__ void b_##S(u32 *y, float f, u32 t) { mixed<S, 2>(y, f, t); } extern "C" __global__ void l_##S(u32 *y, float f, u32 t) { mixed<S, 3>(y, f, t); }
MIX(4) MIX(8) MIX(16) MIX(32)
#include <cstdio>
#include <cuda_runtime.h>
#define RUN(name, ctas, threads, ...) for (int r = 0; r < 3; r++) name<<<ctas, threads>>>(__VA_ARGS__);
int main() {
    u32 *y; cudaMalloc(&y, 1 << 20);
    for (int threads : {32, 64, 96, 128, 160, 192, 256, 320}) for (int per = 1; per <= 8; per++) if (per * threads <= 1024) RUN(sums, 132 * per, threads, y, 64)
    #define M(n) RUN(n, 132, 128, y, 0.5f, 32) RUN(n, 132, 512, y, 0.5f, 32) RUN(n, 132, 1024, y, 0.5f, 32)
    #define MM(S) M(f_##S) M(x_##S) M(b_##S) M(l_##S)
    MM(4) MM(8) MM(16) MM(32)
    return cudaDeviceSynchronize() != 0;
}
