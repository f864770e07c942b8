// Launches of one mechanism each, for tools/data/bursts: words of a lane stored one after the other, copies of one wave or a few, double-width products and quotients.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
typedef unsigned u32; typedef unsigned long long u64;
#define K extern "C" __global__ void
#define AT (blockIdx.x * blockDim.x + threadIdx.x)
// WORDS words of a lane side by side, each after so many dependent sums, once; begun when a word has been loaded.
template <int WORDS, int BETWEEN> __device__ __forceinline__ void burst(const u32 *x, u32 *y, u32 turns) {
    u32 v = x[AT], at = AT * WORDS;
    for (u32 t = 0; t < turns; t++) v = v * v + t;
    #pragma unroll
    for (int k = 0; k < WORDS; k++) {
        #pragma unroll
        for (int b = 0; b < BETWEEN; b++) asm volatile("mad.lo.u32 %0,%0,%0,%1;" : "+r"(v) : "r"(at));
        asm volatile("st.global.u32 [%0],%1;" ::"l"(y + at + k), "r"(v) : "memory");
    }
}
#define BURST(W, B) K burst##W##_##B(const u32 *x, u32 *y, u32 turns) { burst<W, B>(x, y, turns); }
BURST(4, 0) BURST(4, 1) BURST(4, 2) BURST(4, 4) BURST(4, 8) BURST(4, 16) BURST(4, 32) BURST(2, 0) BURST(2, 2) BURST(2, 8) BURST(8, 0) BURST(8, 2) BURST(8, 8)
// Streams of a wave or a few: so many loads a thread and so many stores, of V words.
template <class V, int LOADS, int STORES> __device__ __forceinline__ void stream(const V *x, V *y) {
    V v[LOADS + 1]; u32 n = gridDim.x * blockDim.x; u32 *w = (u32 *)v; w[0] = 1;
    #pragma unroll
    for (int k = 0; k < LOADS; k++) v[k] = x[AT + k * n];
    u32 s = 0;
    #pragma unroll
    for (int k = 0; k < LOADS * int(sizeof(V) / 4); k++) s ^= w[k];
    w[0] ^= s;
    #pragma unroll
    for (int k = 0; k < STORES; k++) y[AT + k * n] = v[k < LOADS ? k : 0];
    if (!STORES && s == 0x12345) y[0] = v[0];
}
#define STREAM(T, L, S) K s_##T##_##L##_##S(const T *x, T *y) { stream<T, L, S>(x, y); }
STREAM(u32, 1, 0) STREAM(u32, 1, 1) STREAM(u32, 0, 1) STREAM(uint4, 1, 0) STREAM(uint4, 1, 1) STREAM(uint4, 0, 1) STREAM(uint4, 2, 1) STREAM(uint4, 2, 2) STREAM(uint2, 1, 1) STREAM(uint4, 4, 1) STREAM(u32, 4, 4) STREAM(u32, 8, 1)
// Products of double width with sums between them that do not need them: CHAINS of them, each with SUMS of the ALU, or of the FMA pipe (F).
template <int CHAINS, int SUMS, bool F> __device__ __forceinline__ void wide(u32 *y, u32 f, u32 turns) {
    u64 a[CHAINS]; u32 s[8]; float g[8];
    #pragma unroll
    for (int k = 0; k < CHAINS; k++) a[k] = AT + k;
    #pragma unroll
    for (int k = 0; k < 8; k++) s[k] = AT * k, g[k] = k;
    #pragma unroll 1
    for (u32 t = 0; t < turns; t++) {
        #pragma unroll
        for (int r = 0; r < 32 / CHAINS; r++)
            #pragma unroll
            for (int k = 0; k < CHAINS; k++) {
                asm volatile("mad.wide.u32 %0,%1,%2,%0;" : "+l"(a[k]) : "r"(u32(a[k])), "r"(f));
                #pragma unroll
                for (int j = 0; j < SUMS; j++) {
                    int at = (k * SUMS + j) % 8;
                    if (F) asm volatile("fma.rn.f32 %0,%0,%1,%1;" : "+f"(g[at]) : "f"(__uint_as_float(f)));
                    else asm volatile("{.reg .u32 z; xor.b32 z,%0,%1; and.b32 %0,z,%2;}" : "+r"(s[at]) : "r"(f), "r"(t));
                }
            }
    }
    u64 r = 0;
    #pragma unroll
    for (int k = 0; k < CHAINS; k++) r ^= a[k];
    #pragma unroll
    for (int k = 0; k < 8; k++) r += s[k] + u32(g[k]);
    if (r == 12345) y[0] = 1;
}
#define WIDE(C, S) K wide_##C##_##S(u32 *y, u32 f, u32 turns) { wide<C, S, false>(y, f, turns); } K widef_##C##_##S(u32 *y, u32 f, u32 turns) { wide<C, S, true>(y, f, turns); }
WIDE(1, 0) WIDE(2, 0) WIDE(4, 0) WIDE(8, 0) WIDE(4, 1) WIDE(8, 1) WIDE(4, 2) WIDE(8, 2) WIDE(8, 3) WIDE(8, 4) WIDE(1, 1) WIDE(1, 2) WIDE(1, 4)
// Multi-word numbers: a product of WORDS words by one and their sum with another, as carry chains.
template <int WORDS> __device__ __forceinline__ void rows(u32 *y, u32 f, u32 turns) {
    u32 a[WORDS], t[WORDS + 1];
    #pragma unroll
    for (int k = 0; k < WORDS; k++) a[k] = AT + k, t[k] = k;
    t[WORDS] = 0;
    #pragma unroll 1
    for (u32 u = 0; u < turns; u++) {
        u32 b = f + u; u64 c = 0;
        #pragma unroll
        for (int k = 0; k < WORDS; k++) { c += (u64)a[k] * b + t[k]; t[k] = (u32)c, c >>= 32; }
        t[WORDS] += (u32)c; a[0] ^= t[WORDS];
    }
    u32 r = 0;
    #pragma unroll
    for (int k = 0; k <= WORDS; k++) r ^= t[k];
    if (r == 12345) y[0] = 1;
}
K rows4(u32 *y, u32 f, u32 turns) { rows<4>(y, f, turns); }
K rows8(u32 *y, u32 f, u32 turns) { rows<8>(y, f, turns); }
K rows16(u32 *y, u32 f, u32 turns) { rows<16>(y, f, turns); }
// Quotients in straight code, eight a turn that do not need each other, with so many products between; MUFU alone in the place of them (M).
template <int SUMS, int HOW> __device__ __forceinline__ void quotients(u32 *y, float f, u32 turns) {
    float a[8];
    #pragma unroll
    for (int k = 0; k < 8; k++) a[k] = 1.f + AT * 0.001f + k;
    #pragma unroll 1
    for (u32 t = 0; t < turns; t++)
        #pragma unroll
        for (int k = 0; k < 8; k++) {
            if (HOW == 0) a[k] = f / a[k];
            else if (HOW == 1) asm volatile("rcp.approx.ftz.f32 %0,%0;" : "+f"(a[k]));
            else asm volatile("ex2.approx.ftz.f32 %0,%0;" : "+f"(a[k]));
            #pragma unroll
            for (int j = 0; j < SUMS; j++) asm volatile("fma.rn.f32 %0,%0,%1,%1;" : "+f"(a[(k + j) % 8]) : "f"(0.5f));
        }
    float r = 0;
    #pragma unroll
    for (int k = 0; k < 8; k++) r += a[k];
    if (r == 12345) y[0] = 1;
}
#define QUOT(S) K q_##S(u32 *y, float f, u32 turns) { quotients<S, 0>(y, f, turns); } K m_##S(u32 *y, float f, u32 turns) { quotients<S, 1>(y, f, turns); }
QUOT(0) QUOT(2) QUOT(4) QUOT(8) QUOT(16)
#define RUN(name, ctas, threads, ...) for (int r = 0; r < 3; r++) name<<<ctas, threads>>>(__VA_ARGS__);
int main() {
    char *x, *y; cudaMalloc(&x, 256 << 20); cudaMalloc(&y, 256 << 20); cudaMemset(x, 0, 256 << 20); cudaMemset(y, 0, 256 << 20);
    const u32 *xw = (const u32 *)x; u32 *yw = (u32 *)y;
    #define B(n, per, th, t) RUN(n, 132 * per, th, xw, yw, t)
    #define BS(n) B(n, 1, 128, 0) B(n, 1, 256, 0) B(n, 2, 256, 0) B(n, 4, 256, 0) B(n, 8, 256, 0) B(n, 4, 256, 200)
    BS(burst4_0) BS(burst4_1) BS(burst4_2) BS(burst4_4) BS(burst4_8) BS(burst4_16) BS(burst4_32) BS(burst2_0) BS(burst2_2) BS(burst2_8) BS(burst8_0) BS(burst8_2) BS(burst8_8)
    RUN(burst4_0, 1, 1024, xw, yw, 0) RUN(burst4_2, 1, 1024, xw, yw, 0) RUN(burst4_8, 1, 1024, xw, yw, 0)
    #define S(n, T) RUN(n, 132, 256, (const T *)x, (T *)y) RUN(n, 264, 256, (const T *)x, (T *)y) RUN(n, 528, 256, (const T *)x, (T *)y) RUN(n, 1056, 256, (const T *)x, (T *)y) RUN(n, 2112, 256, (const T *)x, (T *)y) RUN(n, 1, 1024, (const T *)x, (T *)y)
    S(s_u32_1_0, u32) S(s_u32_1_1, u32) S(s_u32_0_1, u32) S(s_uint4_1_0, uint4) S(s_uint4_1_1, uint4) S(s_uint4_0_1, uint4) S(s_uint4_2_1, uint4) S(s_uint4_2_2, uint4) S(s_uint2_1_1, uint2) S(s_uint4_4_1, uint4) S(s_u32_4_4, u32) S(s_u32_8_1, u32)
    #define W(n) RUN(n, 132, 128, yw, 3, 32) RUN(n, 132, 512, yw, 3, 32) RUN(n, 132, 1024, yw, 3, 32)
    #define WW(C, S) W(wide_##C##_##S) W(widef_##C##_##S)
    WW(1, 0) WW(2, 0) WW(4, 0) WW(8, 0) WW(4, 1) WW(8, 1) WW(4, 2) WW(8, 2) WW(8, 3) WW(8, 4) WW(1, 1) WW(1, 2) WW(1, 4)
    W(rows4) W(rows8) W(rows16)
    #define Q(n) RUN(n, 132, 128, yw, 1.7f, 32) RUN(n, 132, 512, yw, 1.7f, 32) RUN(n, 132, 1024, yw, 1.7f, 32)
    Q(q_0) Q(q_2) Q(q_4) Q(q_8) Q(q_16) Q(m_0) Q(m_2) Q(m_4) Q(m_8) Q(m_16)
    if (cudaDeviceSynchronize()) { printf("error\n"); return 1; }
    return 0;
}
