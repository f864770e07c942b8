// More launches of one mechanism each: conversions, compare and swap, when warps begin.
#include <cuda_fp16.h>
typedef unsigned u32; typedef unsigned long long u64; typedef unsigned char u8; typedef unsigned short u16;
#define K extern "C" __global__ void
#define AT (blockIdx.x * blockDim.x + threadIdx.x)
#define LANE (threadIdx.x & 31)
// Eight conversions a turn, of eight registers.
#define EIGHT(NAME, BODY) K NAME(u32 *y, int n) { u32 v[8]; float f[8]; \
    _Pragma("unroll") for (int k = 0; k < 8; k++) v[k] = AT + k, f[k] = k + AT; \
    _Pragma("unroll 1") for (int t = 0; t < n; t++) { _Pragma("unroll") for (int k = 0; k < 8; k++) { BODY; } } \
    u32 s = 0; _Pragma("unroll") for (int k = 0; k < 8; k++) s ^= v[k] ^ __float_as_uint(f[k]); y[AT] = s; }
EIGHT(v_e4m3_h2, asm volatile("{ .reg .b16 a,b; mov.b32 {a,b},%0; cvt.rn.f16x2.e4m3x2 %0,a; }" : "+r"(v[k])))
EIGHT(v_e5m2_h2, asm volatile("{ .reg .b16 a,b; mov.b32 {a,b},%0; cvt.rn.f16x2.e5m2x2 %0,a; }" : "+r"(v[k])))
EIGHT(v_h2_e4m3, asm volatile("{ .reg .b16 a; cvt.rn.satfinite.e4m3x2.f16x2 a,%0; cvt.u32.u16 %0,a; }" : "+r"(v[k])))
// Compare and swap until it holds, or once, on words of its own lane or shared by `share` lanes; after a load of it or not.
K x_cas32(u32 *p, const u32 *x, u32 mask) { u32 *q = p + (AT & mask), old = *q, seen; u32 v = x[AT]; do { seen = old; old = atomicCAS(q, seen, seen + v); } while (old != seen); }
K x_cas64(u64 *p, const u64 *x, u32 mask) { u64 *q = p + (AT & mask), old = *q, seen; u64 v = x[AT]; do { seen = old; old = atomicCAS(q, seen, seen + v); } while (old != seen); }
K x_once32(u32 *p, u32 *y, u32 mask, int n) { u32 *q = p + (AT & mask), s = 0;
    #pragma unroll 1
    for (int t = 0; t < n; t++) s = atomicCAS(q, s, s + 1);
    y[AT] = s; }
K x_once64(u64 *p, u64 *y, u32 mask, int n) { u64 *q = p + (AT & mask), s = 0;
    #pragma unroll 1
    for (int t = 0; t < n; t++) s = atomicCAS(q, s, s + 1);
    y[AT] = s; }
K x_exch(u32 *p, u32 *y, u32 mask, int n) { u32 *q = p + (AT & mask), s = AT;
    #pragma unroll 1
    for (int t = 0; t < n; t++) s = atomicExch(q, s);
    y[AT] = s; }
K x_add(u32 *p, u32 *y, u32 mask, int n) { u32 *q = p + (AT & mask), s = 1;
    #pragma unroll 1
    for (int t = 0; t < n; t++) s = atomicAdd(q, s);
    y[AT] = s; }
// One reduction a thread, words `apart` from lane to lane, of each type.
K r_u32(const u32 *x, u32 *p, u32 apart) { asm volatile("red.global.add.u32 [%0],%1;" ::"l"(p + AT * apart), "r"(x[AT]) : "memory"); }
K r_f32(const float *x, float *p, u32 apart) { asm volatile("red.global.add.f32 [%0],%1;" ::"l"(p + AT * apart), "f"(x[AT]) : "memory"); }
K r_h2(const u32 *x, u32 *p, u32 apart) { asm volatile("red.global.add.noftz.f16x2 [%0],%1;" ::"l"(p + AT * apart), "r"(x[AT] & 0x03ff03ff) : "memory"); }
K r_max(const u32 *x, u32 *p, u32 apart) { asm volatile("red.global.max.u32 [%0],%1;" ::"l"(p + AT * apart), "r"(x[AT]) : "memory"); }
// Lines at random, each by a whole warp, of each type.
K l_u32(const u32 *x, u32 *p, u32 mask) { u32 h = x[AT / 32]; asm volatile("red.global.add.u32 [%0],%1;" ::"l"(p + (h >> 8 & mask) * 32 + LANE), "r"(h) : "memory"); }
K l_f32(const u32 *x, float *p, u32 mask) { u32 h = x[AT / 32]; asm volatile("red.global.add.f32 [%0],%1;" ::"l"(p + (h >> 8 & mask) * 32 + LANE), "f"(1.f) : "memory"); }
K l_h2(const u32 *x, u32 *p, u32 mask) { u32 h = x[AT / 32]; asm volatile("red.global.add.noftz.f16x2 [%0],%1;" ::"l"(p + (h >> 8 & mask) * 32 + LANE), "r"(0x00010001) : "memory"); }
// When each warp begins, on which SM, and when it has what it loads.
K g_begin(const u32 *x, u32 *out) { u32 c = clock(), sm; asm volatile("mov.u32 %0,%%smid;" : "=r"(sm)); u32 v = x[AT]; u32 d = clock() + (v >> 31 >> 1); if (!LANE) { u32 w = AT / 32; out[4 * w] = sm, out[4 * w + 1] = c, out[4 * w + 2] = d, out[4 * w + 3] = blockIdx.x; } }
