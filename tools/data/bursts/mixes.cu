// Instructions that are rare among others that keep a pipe busy: eight a turn of WHAT, and after each SUMS of the others (OTHERS), on 1 to 8 warps of a sub-core.
#include <cuda_runtime.h>
typedef unsigned u32;
enum { NONE, MUFU, FLO, CONVERT, SHUFFLE, SHARED, WIDE, VOTE, HIGH, DOUBLE, BRANCH };
enum { FMA, ALU, BOTH, IMAD, THIRDS };
template <int WHAT, int OTHERS, int SUMS> __device__ __forceinline__ void mixed(u32 *y, float f, u32 turns) {
    __shared__ u32 s[1024]; s[threadIdx.x] = threadIdx.x;
    float a[8], g[8]; u32 l[8], m[8]; u32 low = (u32)__cvta_generic_to_shared(s) + threadIdx.x * 4; double d[8]; u32 word = __float_as_uint(f);
    #pragma unroll
    for (int k = 0; k < 8; k++) a[k] = 1.f + threadIdx.x * 0.001f + k, g[k] = k, l[k] = k + threadIdx.x, m[k] = k * threadIdx.x, d[k] = k;
    #pragma unroll 1
    for (u32 t = 0; t < turns; t++)
        #pragma unroll
        for (int k = 0; k < 8; k++) {
            if (WHAT == MUFU) asm volatile("ex2.approx.ftz.f32 %0,%0;" : "+f"(a[k]));
            if (WHAT == FLO) asm volatile("bfind.u32 %0,%0;" : "+r"(m[k]));
            if (WHAT == CONVERT) asm volatile("cvt.rzi.s32.f32 %0,%1;" : "=r"(m[k]) : "f"(a[k]));
            if (WHAT == SHUFFLE) asm volatile("shfl.sync.bfly.b32 %0,%0,1,31,-1;" : "+r"(m[k]));
            if (WHAT == SHARED) asm volatile("ld.shared.u32 %0,[%1];" : "=r"(m[k]) : "r"(low));
            if (WHAT == WIDE) { unsigned long long w; asm volatile("mul.wide.u32 %0,%1,%2;" : "=l"(w) : "r"(m[k]), "r"(word)); m[k] = (u32)(w >> 32) | 1; }
            if (WHAT == HIGH) asm volatile("mul.hi.u32 %0,%0,%1;" : "+r"(m[k]) : "r"(word));
            if (WHAT == VOTE) asm volatile("{.reg .pred p; setp.gt.u32 p,%0,%1; vote.sync.ballot.b32 %0,p,-1;}" : "+r"(m[k]) : "r"(word));
            if (WHAT == DOUBLE) asm volatile("fma.rn.f64 %0,%0,%0,%0;" : "+d"(d[k]));
            if (WHAT == BRANCH) asm volatile("{.reg .pred p; setp.eq.u32 p,%0,0x7654321; @p trap;}" ::"r"(m[k]));
            #pragma unroll
            for (int j = 0; j < SUMS; j++) {
                int way = OTHERS == BOTH ? j & 1 : OTHERS == THIRDS ? (j % 3 == 2) : OTHERS;
                if (way == FMA) asm volatile("fma.rn.f32 %0,%0,%1,%1;" : "+f"(g[j % 8]) : "f"(f));
                if (way == ALU) asm volatile("xor.b32 %0,%0,%1;" : "+r"(l[j % 8]) : "r"(word));
                if (OTHERS == IMAD) asm volatile("mad.lo.u32 %0,%0,%1,%1;" : "+r"(l[j % 8]) : "r"(word));
            }
        }
    u32 r = 0;
    #pragma unroll
    for (int k = 0; k < 8; k++) r += u32(a[k] + g[k]) + l[k] + m[k] + (u32)d[k];
    if (r == 12345) y[0] = 1;
}
#define ALL(X) X(NONE) X(MUFU) X(FLO) X(CONVERT) X(SHUFFLE) X(SHARED) X(WIDE) X(HIGH) X(VOTE) X(DOUBLE) X(BRANCH)
#define MIX(W) extern "C" __global__ void fma_##W(u32 *y, float f, u32 t) { mixed<W, FMA, 24>(y, f, t); } extern "C" __global__ void alu_##W(u32 *y, float f, u32 t) { mixed<W, ALU, 12>(y, f, t); } \
    extern "C" __global__ void both_##W(u32 *y, float f, u32 t) { mixed<W, BOTH, 24>(y, f, t); } extern "C" __global__ void imad_##W(u32 *y, float f, u32 t) { mixed<W, IMAD, 12>(y, f, t); } extern "C" __global__ void thirds_##W(u32 *y, float f, u32 t) { mixed<W, THIRDS, 24>(y, f, t); }
ALL(MIX)
#define RUN(name, ctas, threads, ...) for (int r = 0; r < 3; r++) name<<<ctas, threads>>>(__VA_ARGS__);
int main() {
    u32 *y; cudaMalloc(&y, 1 << 20);
    #define M(n) RUN(n, 132, 128, y, 0.5f, 32) RUN(n, 132, 256, y, 0.5f, 32) RUN(n, 132, 1024, y, 0.5f, 32)
    #define GO(W) M(fma_##W) M(alu_##W) M(both_##W) M(imad_##W) M(thirds_##W)
    ALL(GO)
    return cudaDeviceSynchronize() != 0;
}
