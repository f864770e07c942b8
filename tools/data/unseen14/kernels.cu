// Variants: the same work done in two or three ways each, as people weigh them; to judge by.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
typedef unsigned u32;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned long long u64;
#define K extern "C" __global__ void
#define R __restrict__
#define AT (blockIdx.x * blockDim.x + threadIdx.x)
#define T threadIdx.x
#define LANE (threadIdx.x & 31)
#define WARP (threadIdx.x >> 5)
#define ALL 0xffffffffu
#define UNROLL _Pragma("unroll")
__device__ __forceinline__ u32 place(const void *p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ float warp_sum(float v) {
    UNROLL for (int k = 16; k; k /= 2) v += __shfl_xor_sync(ALL, v, k);
    return v;
}
__device__ __forceinline__ void mb_init(u64 *b, u32 n) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(place(b)), "r"(n) : "memory"); }
__device__ __forceinline__ void mb_tx(u64 *b, u32 n) { asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(place(b)), "r"(n) : "memory"); }
__device__ __forceinline__ void mb_arrive(u64 *b) { asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(place(b)) : "memory"); }
__device__ __forceinline__ void mb_wait(u64 *b, u32 p) { asm volatile("{\n.reg .pred p;\nW: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@!p bra W;\n}" ::"r"(place(b)), "r"(p) : "memory"); }
__device__ __forceinline__ void bulk(void *to, const void *from, u32 n, u64 *b) { asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(place(to)), "l"(from), "r"(n), "r"(place(b)) : "memory"); }
__device__ __forceinline__ void cp16(void *to, const void *from) { asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place(to)), "l"(from) : "memory"); }
__device__ __forceinline__ void cp_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ __forceinline__ void cp_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

// 1. Particles as structures of seven words, and as seven arrays.
struct Particle { float x, y, z, u, v, w, m; };
K particles_struct(Particle *p, int n, float dt) {
    int i = AT;
    if (i >= n) return;
    Particle q = p[i];
    float r = rsqrtf(q.x * q.x + q.y * q.y + q.z * q.z + .1f), a = -q.m * r * r * r * dt;
    q.u += a * q.x, q.v += a * q.y, q.w += a * q.z, q.x += dt * q.u, q.y += dt * q.v, q.z += dt * q.w;
    p[i] = q;
}
K particles_arrays(float *p, int n, float dt) {
    int i = AT;
    if (i >= n) return;
    float x = p[i], y = p[n + i], z = p[2 * n + i], u = p[3 * n + i], v = p[4 * n + i], w = p[5 * n + i], m = p[6 * n + i];
    float r = rsqrtf(x * x + y * y + z * z + .1f), a = -m * r * r * r * dt;
    u += a * x, v += a * y, w += a * z;
    p[i] = x + dt * u, p[n + i] = y + dt * v, p[2 * n + i] = z + dt * w, p[3 * n + i] = u, p[4 * n + i] = v, p[5 * n + i] = w;
}
// 2. Softplus by one word a thread, and by four.
K softplus_one(const float *R x, float *R y, int n) {
    int i = AT;
    if (i < n) { float v = x[i]; y[i] = v > 20 ? v : log1pf(expf(v)); }
}
K softplus_four(const float4 *R x, float4 *R y, int n) {
    int i = AT;
    if (i >= n) return;
    float4 v = x[i];
    v.x = v.x > 20 ? v.x : log1pf(expf(v.x)), v.y = v.y > 20 ? v.y : log1pf(expf(v.y)), v.z = v.z > 20 ? v.z : log1pf(expf(v.z)), v.w = v.w > 20 ? v.w : log1pf(expf(v.w));
    y[i] = v;
}
// 3. A machine of eight instructions: one program for all lanes, and one for each.
__device__ __forceinline__ u32 machine(const u8 *code, int stride, int steps, u32 a) {
    u32 b = 1, c = 7;
    for (int k = 0; k < steps; k++) {
        switch (code[k * stride] & 7) {
        case 0: a += b; break;
        case 1: b ^= a << 3; break;
        case 2: c = a * b + c; break;
        case 3: a = __brev(a) + c; break;
        case 4: b = __popc(a) * 77 + b; break;
        case 5: a = a > c ? a - c : c - a; break;
        case 6: c = (c >> 5) | (c << 27); break;
        default: a = __umulhi(a, 0x9e3779b9u) ^ b;
        }
    }
    return a ^ b ^ c;
}
K machine_alike(const u8 *R code, u32 *R y, int steps, int n) { y[AT] = machine(code, 1, steps, AT); }
K machine_apart(const u8 *R code, u32 *R y, int steps, int n) { y[AT] = machine(code + AT, n, steps, AT); }
// 4. A function called, and put in place.
__device__ __noinline__ float smooth_far(float a, float b, float t) { t = t * t * (3 - 2 * t); return a + t * (b - a); }
__device__ __forceinline__ float smooth_here(float a, float b, float t) { t = t * t * (3 - 2 * t); return a + t * (b - a); }
#define NOISE(NAME, F) K NAME(const float *R g, float *R y, int n) { \
    float s = 0, x = AT * .037f; \
    for (int k = 0; k < n; k++) { int i = (int)x & 255; float t = x - floorf(x); s = F(s, F(g[i], g[i + 1], t), .25f); x = x * 1.71f + .3f; if (x > 200.f) x -= 199.f; } \
    y[AT] = s; }
NOISE(noise_called, smooth_far)
NOISE(noise_inline, smooth_here)
// 5. Remainders by division, by a reciprocal in floats, and by high products.
K remainder_plain(const u32 *R x, u32 *R y, u32 m, int n) { u32 s = 0, v = x[AT]; for (int k = 0; k < n; k++) v = v * 747796405u + k, s += v % m; y[AT] = s; }
K remainder_float(const u32 *R x, u32 *R y, u32 m, int n) {
    u32 s = 0, v = x[AT]; float r = 1.f / m;
    for (int k = 0; k < n; k++) { v = v * 747796405u + k; u32 w = v >> 10, q = (u32)(w * r), rest = w - q * m; if ((int)rest < 0) rest += m; if (rest >= m) rest -= m; s += rest; }
    y[AT] = s;
}
K remainder_high(const u32 *R x, u32 *R y, u32 m, u32 magic, int n) { u32 s = 0, v = x[AT]; for (int k = 0; k < n; k++) v = v * 747796405u + k, s += v - __umulhi(v, magic) * m; y[AT] = s; }
// 6. Sums in doubles, in pairs of floats.
K harmonic_double(double *R y, int n) { double s = 0; for (int k = 1; k <= n; k++) s += 1.0 / (double)(AT % 64 + k); y[AT] = s; }
K harmonic_pair(float2 *R y, int n) {
    float h = 0, l = 0;
    for (int k = 1; k <= n; k++) {
        float a = AT % 64 + k, b = __frcp_rn(a), c = __fmaf_rn(-a, b, 1.f) * b;
        float s = __fadd_rn(h, b), v = __fsub_rn(s, h), e = __fadd_rn(__fsub_rn(h, __fsub_rn(s, v)), __fsub_rn(b, v));
        e = __fadd_rn(e, __fadd_rn(l, c)); h = __fadd_rn(s, e), l = __fsub_rn(e, __fsub_rn(h, s));
    }
    y[AT] = make_float2(h, l);
}
// 7. A small array of a thread's own, indexed by what it computes: local memory, shared memory, registers chosen from.
#define WALK(NAME, DECL, READ, WRITE) K NAME(const u32 *R x, u32 *R y, int n) { \
    DECL; u32 v = x[AT]; UNROLL for (int k = 0; k < 8; k++) WRITE(k, v + k); \
    for (int k = 0; k < n; k++) { u32 i = (v >> 7) & 7, w = READ(i); v = v * 1103515245u + w; u32 j = (v >> 11) & 7; WRITE(j, v ^ w); } \
    u32 s = 0; UNROLL for (int k = 0; k < 8; k++) s = s * 31 + READ(k); y[AT] = s; }
#define LREAD(i) a[i]
#define LWRITE(i, v) a[i] = v
#define SREAD(i) a[i][T]
#define SWRITE(i, v) a[i][T] = v
__device__ __forceinline__ u32 chosen(const u32 *a, u32 i) { u32 v = a[0]; UNROLL for (int k = 1; k < 8; k++) v = i == k ? a[k] : v; return v; }
#define RREAD(i) chosen(a, i)
#define RWRITE(i, v) { u32 here = v, which = i; UNROLL for (int q = 0; q < 8; q++) a[q] = which == q ? here : a[q]; }
WALK(own_local, u32 a[8], LREAD, LWRITE)
WALK(own_shared, __shared__ u32 a[8][128], SREAD, SWRITE)
WALK(own_registers, u32 a[8], RREAD, RWRITE)
// 8. Sums of rows of 4 KB: plain loads, cp.async, bulk copies.
K rows_loaded(const float4 *R x, float *R y, int rows) {
    __shared__ float part[4];
    for (int r = blockIdx.x; r < rows; r += gridDim.x) {
        const float4 *p = x + r * 256 + T; float4 a = p[0], b = p[128];
        float s = warp_sum(a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w);
        if (!LANE) part[WARP] = s;
        __syncthreads();
        if (!T) y[r] = part[0] + part[1] + part[2] + part[3];
        __syncthreads();
    }
}
K rows_copied(const float4 *R x, float *R y, int rows) {
    __shared__ float4 ring[3][256]; __shared__ float part[4];
    int r = blockIdx.x, far = r;
    UNROLL for (int k = 0; k < 2; k++, far += gridDim.x) { if (far < rows) cp16(&ring[k][T], x + far * 256 + T), cp16(&ring[k][T + 128], x + far * 256 + T + 128); cp_commit(); }
    for (int s = 0; r < rows; r += gridDim.x, far += gridDim.x, s = s == 2 ? 0 : s + 1) {
        int t = s >= 1 ? s - 1 : 2;
        if (far < rows) cp16(&ring[t][T], x + far * 256 + T), cp16(&ring[t][T + 128], x + far * 256 + T + 128);
        cp_commit(); cp_wait<2>();
        float4 a = ring[s][T], b = ring[s][T + 128]; float v = warp_sum(a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w);
        if (!LANE) part[WARP] = v;
        __syncthreads();
        if (!T) y[r] = part[0] + part[1] + part[2] + part[3];
        __syncthreads();
    }
}
K rows_bulk(const float4 *R x, float *R y, int rows) {
    __shared__ __align__(128) float4 ring[3][256]; __shared__ float part[4]; __shared__ u64 full[3];
    if (!T) for (int k = 0; k < 3; k++) mb_init(full + k, 1);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    int far = blockIdx.x;
    if (!T) for (int k = 0; k < 2; k++, far += gridDim.x) if (far < rows) mb_tx(full + k, 4096), bulk(ring[k], x + far * 256, 4096, full + k);
    int s = 0, phase = 0;
    for (int r = blockIdx.x; r < rows; r += gridDim.x) {
        if (!T && far < rows) { int t = s >= 1 ? s - 1 : 2; mb_tx(full + t, 4096), bulk(ring[t], x + far * 256, 4096, full + t); far += gridDim.x; }
        mb_wait(full + s, phase);
        float4 a = ring[s][T], b = ring[s][T + 128]; float v = warp_sum(a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w);
        if (!LANE) part[WARP] = v;
        __syncthreads();
        if (!T) y[r] = part[0] + part[1] + part[2] + part[3];
        __syncthreads();
        if (++s == 3) s = 0, phase ^= 1;
    }
}
// 9. What passes a test is put in a row: an atomic a lane, or one a warp.
K keep_lane(const u32 *R x, u32 *R y, u32 *count, int n) { int i = AT; if (i < n) { u32 v = x[i]; if (v % 3 == 0) y[atomicAdd(count, 1u)] = v; } }
K keep_warp(const u32 *R x, u32 *R y, u32 *count, int n) {
    int i = AT; u32 v = i < n ? x[i] : 1; bool keep = v % 3 == 0; u32 m = __ballot_sync(ALL, keep), base = 0;
    if (!LANE && m) base = atomicAdd(count, __popc(m));
    base = __shfl_sync(ALL, base, 0);
    if (keep) y[base + __popc(m & ((1u << LANE) - 1))] = v;
}
// 10. Sums into a vector of floats: one by one, and by fours.
K add_ones(const float4 *R x, const int *R where, float *y, int n) { int i = AT; if (i < n) { float4 v = x[i]; float *p = y + where[i] * 4; atomicAdd(p, v.x), atomicAdd(p + 1, v.y), atomicAdd(p + 2, v.z), atomicAdd(p + 3, v.w); } }
K add_fours(const float4 *R x, const int *R where, float *y, int n) { int i = AT; if (i < n) { float4 v = x[i]; float *p = y + where[i] * 4; asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory"); } }
// 11. A naive transpose that reads in order, and one that writes in order.
K turn_read(const float *R x, float *R y, int w) { int c = blockIdx.x * 32 + LANE, r = blockIdx.y * 8 + WARP; y[c * w + r] = x[r * w + c]; }
K turn_write(const float *R x, float *R y, int w) { int c = blockIdx.x * 32 + LANE, r = blockIdx.y * 8 + WARP; y[r * w + c] = x[c * w + r]; }
// 12. Dot products of s8 by dp4a and by mma.
K s8_dp4a(const int *R a, const int *R b, int *R y, int words) {
    int w = AT / 32, row = (w % 4) * 16 + LANE / 2, col = (w / 4) * 8 + LANE % 2 * 4; int s[4] = {};
    for (int k = 0; k < words; k++) { int v = a[row * words + k]; UNROLL for (int j = 0; j < 4; j++) s[j] = __dp4a(v, b[(col + j) * words + k], s[j]); }
    UNROLL for (int j = 0; j < 4; j++) y[row * (gridDim.x * blockDim.x / 128 * 8) + col + j] = s[j];
}
K s8_mma(const int *R a, const int *R b, int *R y, int words) {
    int w = AT / 32, g = LANE / 4, q = LANE % 4, row = (w % 4) * 16 + g, col = (w / 4) * 8; int c[4] = {};
    for (int k = 0; k < words; k += 8) {
        int a0 = a[row * words + k + q], a1 = a[(row + 8) * words + k + q], a2 = a[row * words + k + q + 4], a3 = a[(row + 8) * words + k + q + 4];
        int b0 = b[(col + g) * words + k + q], b1 = b[(col + g) * words + k + q + 4];
        asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    }
    int pitch = gridDim.x * blockDim.x / 128 * 8; int *o = y + row * pitch + col + 2 * q;
    *(int2 *)o = make_int2(c[0], c[1]), *(int2 *)(o + 8 * pitch) = make_int2(c[2], c[3]);
}
// 13. A forest of small trees: nodes in global memory, in shared memory.
__device__ __forceinline__ float forest(const float2 *t, const float *v, int trees, int depth) {
    float s = 0;
    for (int k = 0; k < trees; k++) { const float2 *n = t + (k << depth); int i = 1; for (int d = 1; d < depth; d++) { float2 q = n[i]; i = 2 * i + (v[(int)q.x * 128] > q.y); } s += n[i >> 1].y * (i & 3); }
    return s;
}
K forest_global(const float2 *R t, const float *R x, float *R y, int trees, int depth) { __shared__ float v[8 * 128]; for (int k = 0; k < 8; k++) v[k * 128 + T] = x[k * gridDim.x * 128 + AT]; y[AT] = forest(t, v + T, trees, depth); }
K forest_shared(const float2 *R t, const float *R x, float *R y, int trees, int depth) { __shared__ float v[8 * 128]; __shared__ float2 n[1024]; for (int k = T; k < trees << depth; k += 128) n[k] = t[k]; for (int k = 0; k < 8; k++) v[k * 128 + T] = x[k * gridDim.x * 128 + AT]; __syncthreads(); y[AT] = forest(n, v + T, trees, depth); }
// 14. Sixteen words of each thread in order: a network in registers, an insertion in local memory.
K order_network(const u32 *R x, u32 *R y, int n) {
    u32 a[16]; UNROLL for (int k = 0; k < 16; k++) a[k] = x[k * n + AT];
    UNROLL for (int p = 2; p <= 16; p *= 2) UNROLL for (int q = p / 2; q; q /= 2) UNROLL for (int i = 0; i < 16; i++) { int j = i ^ q; if (j > i) { u32 lo = min(a[i], a[j]), hi = max(a[i], a[j]); bool up = !(i & p); a[i] = up ? lo : hi, a[j] = up ? hi : lo; } }
    UNROLL for (int k = 0; k < 16; k++) y[k * n + AT] = a[k];
}
K order_insert(const u32 *R x, u32 *R y, int n) {
    u32 a[16];
    for (int k = 0; k < 16; k++) { u32 v = x[k * n + AT]; int j = k; while (j > 0 && a[j - 1] > v) a[j] = a[j - 1], j--; a[j] = v; }
    for (int k = 0; k < 16; k++) y[k * n + AT] = a[k];
}
// 15. Roots and quotients, rounded and approximate.
K norm3_rounded(const float *R x, float *R y, int n, int rounds) { float a = x[AT], b = x[n + AT], c = x[2 * n + AT]; for (int k = 0; k < rounds; k++) { float l = __fsqrt_rn(a * a + b * b + c * c); a = __fdiv_rn(a, l) + .5f, b = __fdiv_rn(b, l) - .25f, c = __fdiv_rn(c, l) + .1f; } y[AT] = a + b + c; }
K norm3_fast(const float *R x, float *R y, int n, int rounds) { float a = x[AT], b = x[n + AT], c = x[2 * n + AT]; for (int k = 0; k < rounds; k++) { float l = rsqrtf(a * a + b * b + c * c); a = a * l + .5f, b = b * l - .25f, c = c * l + .1f; } y[AT] = a + b + c; }
// 16. The same sums by CTAs of 64, 256 and 1024 threads.
K spread_sum(const float *R x, float *R y, int words) {
    __shared__ float part[32]; const float *p = x + (size_t)blockIdx.x * words; float s = 0;
    for (int k = T; k < words; k += blockDim.x) s += fabsf(p[k]) * .5f;
    s = warp_sum(s); if (!LANE) part[WARP] = s;
    __syncthreads();
    if (T < 32) { s = T < blockDim.x / 32 ? part[T] : 0; s = warp_sum(s); if (!T) y[blockIdx.x] = s; }
}
// 17. Tiles of 2 KB: one CTA each, or CTAs that stay.
K tiles_each(const float4 *R x, float4 *R y, float f) { float4 v = x[AT]; v.x = v.x * f + 1, v.y = v.y * f + 2, v.z = v.z * f + 3, v.w = v.w * f + 4; y[AT] = v; }
K tiles_stay(const float4 *R x, float4 *R y, float f, int tiles) { for (int t = blockIdx.x; t < tiles; t += gridDim.x) { float4 v = x[t * 128 + T]; v.x = v.x * f + 1, v.y = v.y * f + 2, v.z = v.z * f + 3, v.w = v.w * f + 4; y[t * 128 + T] = v; } }
// 18. Two CTAs that answer each other through flags: release and acquire, or fences.
K answer_acquire(u32 *flags, u32 *y, int rounds) {
    u32 *mine = flags + blockIdx.x * 32, *theirs = flags + (blockIdx.x ^ 1) * 32, v = 0;
    if (!T) for (int k = 1; k <= rounds; k++) {
        if (!(blockIdx.x & 1)) asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(mine), "r"((u32)k) : "memory");
        do asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(v) : "l"(theirs) : "memory"); while (v < (u32)k);
        if (blockIdx.x & 1) asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(mine), "r"((u32)k) : "memory");
    }
    if (!T) y[blockIdx.x] = v;
}
K answer_fence(volatile u32 *flags, u32 *y, int rounds) {
    volatile u32 *mine = flags + blockIdx.x * 32, *theirs = flags + (blockIdx.x ^ 1) * 32; u32 v = 0;
    if (!T) for (int k = 1; k <= rounds; k++) {
        if (!(blockIdx.x & 1)) { __threadfence(); *mine = k; }
        while ((v = *theirs) < (u32)k) ;
        __threadfence();
        if (blockIdx.x & 1) { __threadfence(); *mine = k; }
    }
    if (!T) y[blockIdx.x] = v;
}
// 19. Halves of a CTA hand tiles over: one barrier for all, or two named ones.
K halves_all(const float *R x, float *R y, int n) {
    __shared__ float t[2][128]; float s = 0;
    for (int k = 0; k <= n; k++) {
        if (T < 128) { if (k < n) t[k & 1][T] = x[(blockIdx.x * n + k) * 128 + T]; }
        else if (k) { const float *p = t[(k - 1) & 1]; int i = T - 128; s = s * .5f + p[i] + p[i ^ 1] * p[127 - i]; }
        __syncthreads();
    }
    if (T >= 128) y[blockIdx.x * 128 + T - 128] = s;
}
K halves_named(const float *R x, float *R y, int n) {
    __shared__ float t[2][128]; float s = 0;
    if (T < 128) for (int k = 0; k < n; k++) {
        float v = x[(blockIdx.x * n + k) * 128 + T];
        if (k >= 2) { if (k & 1) asm volatile("bar.sync 4, 256;" ::: "memory"); else asm volatile("bar.sync 3, 256;" ::: "memory"); }
        t[k & 1][T] = v;
        if (k & 1) asm volatile("bar.arrive 2, 256;" ::: "memory"); else asm volatile("bar.arrive 1, 256;" ::: "memory");
    }
    else for (int k = 0; k < n; k++) {
        if (k & 1) asm volatile("bar.sync 2, 256;" ::: "memory"); else asm volatile("bar.sync 1, 256;" ::: "memory");
        const float *p = t[k & 1]; int i = T - 128; s = s * .5f + p[i] + p[i ^ 1] * p[127 - i];
        if (k + 2 < n) { if (k & 1) asm volatile("bar.arrive 4, 256;" ::: "memory"); else asm volatile("bar.arrive 3, 256;" ::: "memory"); }
    }
    if (T >= 128) y[blockIdx.x * 128 + T - 128] = s;
}
// 20. A matrix in shared memory by a vector: words, pairs and fours.
template <class V> __device__ __forceinline__ float part_of(V a, V b);
template <> __device__ __forceinline__ float part_of(float a, float b) { return a * b; }
template <> __device__ __forceinline__ float part_of(float2 a, float2 b) { return a.x * b.x + a.y * b.y; }
template <> __device__ __forceinline__ float part_of(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
template <class V> __device__ __forceinline__ void held(const float *m, const float *v, float *y, int rounds) {
    constexpr int W = sizeof(V) / 4, P = 64 + W; __shared__ __align__(16) float s[64 * (64 + W)], q[64];
    for (int k = T; k < 4096; k += 64) s[k / 64 * P + k % 64] = m[blockIdx.x * 4096 + k];
    q[T] = v[T]; __syncthreads();
    for (int r = 0; r < rounds; r++) { float a = 0; UNROLL for (int k = 0; k < 64; k += W) a += part_of(*(V *)(s + T * P + k), *(V *)(q + k)); __syncthreads(); q[T] = a * .01f; __syncthreads(); }
    y[AT] = q[T];
}
K held_one(const float *R m, const float *R v, float *R y, int rounds) { held<float>(m, v, y, rounds); }
K held_two(const float *R m, const float *R v, float *R y, int rounds) { held<float2>(m, v, y, rounds); }
K held_four(const float *R m, const float *R v, float *R y, int rounds) { held<float4>(m, v, y, rounds); }
// 21. Powers by powf, by ex2 and lg2, and by products.
K gamma_pow(const float *R x, float *R y, float g, int n) { float v = x[AT], s = 0; for (int k = 0; k < n; k++) v = powf(v, g) * .9f + .01f, s += v; y[AT] = s; }
K gamma_fast(const float *R x, float *R y, float g, int n) { float v = x[AT], s = 0; for (int k = 0; k < n; k++) v = __powf(v, g) * .9f + .01f, s += v; y[AT] = s; }
// 22. Products of halves by fma of pairs, floats by fma, and f16 by wmma-sized mma.
K dots_half2(const __half2 *R a, const __half2 *R b, float *R y, int n) { __half2 s = __floats2half2_rn(0, 0), t = s; for (int k = 0; k < n; k += 2) s = __hfma2(a[k * 128 + T], b[k], s), t = __hfma2(a[k * 128 + 128 + T], b[k + 1], t); float2 u = __half22float2(__hadd2(s, t)); y[AT] = u.x + u.y; }
K dots_float(const __half2 *R a, const __half2 *R b, float *R y, int n) { float s = 0, t = 0; for (int k = 0; k < n; k += 2) { float2 u = __half22float2(a[k * 128 + T]), v = __half22float2(b[k]); s += u.x * v.x + u.y * v.y; u = __half22float2(a[k * 128 + 128 + T]), v = __half22float2(b[k + 1]); t += u.x * v.x + u.y * v.y; } y[AT] = s + t; }
// 23. Iterations over a ring of tiles: a cluster that reads its neighbours' memory, or CTAs that meet in global memory.
K __cluster_dims__(8, 1, 1) ring_cluster(const float *R x, float *R y, int rounds) {
    __shared__ float t[2][130]; u32 rank; asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    int base = blockIdx.x * 128; t[0][T + 1] = x[base + T]; asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    for (int k = 0; k < rounds; k++) {
        float(*p) = t[k & 1]; float l, r; u32 at;
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(place(p + 128)), "r"((rank + 7) & 7)); if (T == 0) asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(l) : "r"(at) : "memory"); else l = p[T];
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(place(p + 1)), "r"((rank + 1) & 7)); if (T == 127) asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(r) : "r"(at) : "memory"); else r = p[T + 2];
        t[~k & 1][T + 1] = .5f * p[T + 1] + .25f * (l + r); asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    }
    y[base + T] = t[rounds & 1][T + 1];
}
K ring_global(const float *x, volatile float *y, u32 *count, int rounds) {
    int n = gridDim.x * 128, at = AT, l = at ? at - 1 : n - 1, r = at + 1 == n ? 0 : at + 1; volatile float *a = y, *b = y + n; a[at] = x[at];
    for (int k = 0; k < rounds; k++) {
        __syncthreads(); if (!T) { __threadfence(); atomicAdd(count, 1u); while (*(volatile u32 *)count < gridDim.x * (k + 1)) ; __threadfence(); } __syncthreads();
        b[at] = .5f * a[at] + .25f * (a[l] + a[r]); volatile float *c = a; a = b, b = c;
    }
}
// 24. Bytes of e5m2 and of s8 by a vector of halves.
K row_e5m2(const u32 *R w, const __half2 *R v, float *R y, int words) { const u32 *p = w + (size_t)(AT / 32) * words; float s = 0; for (int k = LANE; k < words; k += 32) { u32 q = p[k] & 0xbbbbbbbbu; __half2 lo(__nv_cvt_fp8x2_to_halfraw2(q & 0xffff, __NV_E5M2)), hi(__nv_cvt_fp8x2_to_halfraw2(q >> 16, __NV_E5M2)); float2 a = __half22float2(__hmul2(lo, v[2 * k])), b = __half22float2(__hmul2(hi, v[2 * k + 1])); s += a.x + a.y + b.x + b.y; } s = warp_sum(s); if (!LANE) y[AT / 32] = s; }
K row_s8(const u32 *R w, const __half2 *R v, float *R y, int words) { const u32 *p = w + (size_t)(AT / 32) * words; float s = 0; for (int k = LANE; k < words; k += 32) { u32 q = p[k]; float2 a = __half22float2(v[2 * k]), b = __half22float2(v[2 * k + 1]); s += (float)(signed char)q * a.x + (float)(signed char)(q >> 8) * a.y + (float)(signed char)(q >> 16) * b.x + (float)(signed char)(q >> 24) * b.y; } s = warp_sum(s); if (!LANE) y[AT / 32] = s; }
// 25. Gathers by places in order and at random.
K pick_four(const float4 *R x, const int *R where, float4 *R y, int n) { int i = AT; if (i < n) y[i] = x[where[i]]; }
// 26. Eight by eight matrices: a thread each, and eight lanes each.
K small_thread(const float *R a, float *R y, int n) { float m[8][8]; UNROLL for (int i = 0; i < 64; i++) m[i / 8][i % 8] = a[i * n + AT]; UNROLL for (int i = 0; i < 8; i++) { float p = 1.f / m[i][i]; UNROLL for (int j = i + 1; j < 8; j++) { float f = m[j][i] * p; UNROLL for (int k = i + 1; k < 8; k++) m[j][k] -= f * m[i][k]; } } float d = 1; UNROLL for (int i = 0; i < 8; i++) d *= m[i][i]; y[AT] = d; }
K small_lanes(const float *R a, float *R y, int n) { int g = AT / 8, l = LANE & 7; float m[8], d = 1; UNROLL for (int i = 0; i < 8; i++) m[i] = a[(l * 8 + i) * n + g]; UNROLL for (int i = 0; i < 8; i++) { float p = __shfl_sync(ALL, m[i], i, 8); float f = m[i] / p; d *= p; UNROLL for (int k = i + 1; k < 8; k++) { float q = __shfl_sync(ALL, m[k], i, 8); if (l > i) m[k] -= f * q; } } if (!l) y[g] = d; }
// 27. Adjacent lists in one warp a row, with the row's words spread over lanes by loads of 4 or 16 bytes.
K digest_words(const u32 *R x, u32 *R y, int words) { const u32 *p = x + (size_t)(AT / 32) * words; u32 h = 0; for (int k = LANE; k < words; k += 32) h = (h ^ p[k]) * 16777619u; h = __reduce_xor_sync(ALL, h); if (!LANE) y[AT / 32] = h; }
K digest_fours(const uint4 *R x, u32 *R y, int words) { const uint4 *p = x + (size_t)(AT / 32) * (words / 4); u32 h = 0; for (int k = LANE; k < words / 4; k += 32) { uint4 v = p[k]; h = (h ^ v.x) * 16777619u, h = (h ^ v.y) * 16777619u, h = (h ^ v.z) * 16777619u, h = (h ^ v.w) * 16777619u; } h = __reduce_xor_sync(ALL, h); if (!LANE) y[AT / 32] = h; }
// 28. A tile of floats out by stores, by a bulk copy.
K out_stores(const float *R x, float4 *R y, int n) { __shared__ __align__(16) float t[32][36]; for (int k = 0; k < n; k++) { int b = (blockIdx.x * n + k) * 1024; UNROLL for (int j = 0; j < 8; j++) t[LANE][WARP * 8 + j] = x[b + (WARP * 8 + j) * 32 + LANE]; __syncthreads(); UNROLL for (int j = 0; j < 2; j++) { int i = j * 128 + T; y[b / 4 + i] = *(float4 *)&t[i / 8][i % 8 * 4]; } __syncthreads(); } }
K out_bulk(const float *R x, float4 *R y, int n) { __shared__ __align__(128) float t[32][32]; for (int k = 0; k < n; k++) { int b = (blockIdx.x * n + k) * 1024; UNROLL for (int j = 0; j < 8; j++) t[LANE][WARP * 8 + j] = x[b + (WARP * 8 + j) * 32 + LANE]; asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); __syncthreads(); if (!T) asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 4096;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::"l"(y + b / 4), "r"(place(t)) : "memory"); __syncthreads(); } if (!T) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
// 29. Scores by mma and their exponentials: expf and ex2.
template <bool FAST> __device__ __forceinline__ void scores(const u32 *q, const u32 *k, float *y, int keys) {
    int w = AT / 32, g = LANE / 4, c = LANE % 4; u32 a[4][4]; UNROLL for (int s = 0; s < 4; s++) { const u32 *p = q + (w * 16 + g) * 32 + s * 8 + c; a[s][0] = p[0], a[s][1] = p[8 * 32], a[s][2] = p[4], a[s][3] = p[8 * 32 + 4]; }
    float l0 = 0, l1 = 0; for (int j = 0; j < keys; j += 8) { float d[4] = {}; UNROLL for (int s = 0; s < 4; s++) { const u32 *p = k + (j + g) * 32 + s * 8 + c; u32 b0 = p[0], b1 = p[4]; asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[s][0]), "r"(a[s][1]), "r"(a[s][2]), "r"(a[s][3]), "r"(b0), "r"(b1)); }
        if (FAST) l0 += exp2f(d[0] * .18f) + exp2f(d[1] * .18f), l1 += exp2f(d[2] * .18f) + exp2f(d[3] * .18f); else l0 += expf(d[0] * .125f) + expf(d[1] * .125f), l1 += expf(d[2] * .125f) + expf(d[3] * .125f); }
    UNROLL for (int m = 1; m < 4; m *= 2) l0 += __shfl_xor_sync(ALL, l0, m), l1 += __shfl_xor_sync(ALL, l1, m); if (!c) y[w * 16 + g] = l0, y[w * 16 + g + 8] = l1;
}
K scores_exp(const u32 *R q, const u32 *R k, float *R y, int keys) { scores<false>(q, k, y, keys); }
K scores_ex2(const u32 *R q, const u32 *R k, float *R y, int keys) { scores<true>(q, k, y, keys); }
// 30. Chains of products of 64 bits, and of 32.
K mix_wide(u64 *R y, int n) { u64 v = AT; for (int k = 0; k < n; k++) { v += 0x9e3779b97f4a7c15ull; v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9ull; v = (v ^ (v >> 27)) * 0x94d049bb133111ebull; v ^= v >> 31; } y[AT] = v; }
K mix_narrow(u32 *R y, int n) { u32 v = AT; for (int k = 0; k < n; k++) { v += 0x9e3779b9u; v = (v ^ (v >> 16)) * 0x7feb352du; v = (v ^ (v >> 15)) * 0x846ca68bu; v ^= v >> 16; } y[AT] = v; }
// 31. Products by a warpgroup, 64, 128 or 256 columns wide, the first factor from shared memory or from registers; waited for at once or one later.
__device__ __forceinline__ u64 desc(const void *p, u32 lead, u32 stride) { return (u64)((place(p) & 0x3ffff) >> 4) | (u64)(lead >> 4) << 16 | (u64)(stride >> 4) << 32; }
__device__ __forceinline__ void wg64s(float *d, u64 a, u64 b) { asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, 1, 1, 1, 0, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]) : "l"(a), "l"(b)); }
__device__ __forceinline__ void wg128s(float *d, u64 a, u64 b) { asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, %64, %65, 1, 1, 1, 0, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]) : "l"(a), "l"(b)); }
__device__ __forceinline__ void wg128r(float *d, const u32 *a, u64 b) { asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, {%64,%65,%66,%67}, %68, 1, 1, 1, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)); }
__device__ __forceinline__ void wg256s(float *d, u64 a, u64 b) { asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127}, %128, %129, 1, 1, 1, 0, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127]) : "l"(a), "l"(b)); }
K wide64(const u32 *R x, float *R y, int n) {
    extern __shared__ __align__(1024) u16 sm[]; u16 *a = sm, *b = sm + 4096; for (int k = T; k < 4096; k += 128) ((u32 *)sm)[k] = x[k] & 0x3fff3fff;  asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); __syncthreads();
    float d[32] = {}; for (int i = 0; i < n; i++) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); UNROLL for (int k = 0; k < 4; k++) wg64s(d, desc(a + k * 1024, 1024, 128), desc(b + k * 1024, 1024, 128)); asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory"); }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); float s = 0; UNROLL for (int k = 0; k < 32; k++) s += d[k]; y[AT] = s; }
K wide128(const u32 *R x, float *R y, int n) {
    extern __shared__ __align__(1024) u16 sm[]; u16 *a = sm, *b = sm + 4096; for (int k = T; k < 6144; k += 128) ((u32 *)sm)[k] = x[k] & 0x3fff3fff;  asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); __syncthreads();
    float d[64] = {}; for (int i = 0; i < n; i++) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); UNROLL for (int k = 0; k < 4; k++) wg128s(d, desc(a + k * 1024, 1024, 128), desc(b + k * 2048, 2048, 128)); asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory"); }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); float s = 0; UNROLL for (int k = 0; k < 64; k++) s += d[k]; y[AT] = s; }
K wide128_late(const u32 *R x, float *R y, int n) {
    extern __shared__ __align__(1024) u16 sm[]; u16 *a = sm, *b = sm + 4096; for (int k = T; k < 6144; k += 128) ((u32 *)sm)[k] = x[k] & 0x3fff3fff;  asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); __syncthreads();
    float d[64] = {}; for (int i = 0; i < n; i++) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); UNROLL for (int k = 0; k < 4; k++) wg128s(d, desc(a + k * 1024, 1024, 128), desc(b + k * 2048, 2048, 128)); asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 1;" ::: "memory"); }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); float s = 0; UNROLL for (int k = 0; k < 64; k++) s += d[k]; y[AT] = s; }
K wide128_regs(const u32 *R x, float *R y, int n) {
    extern __shared__ __align__(1024) u16 sm[]; u16 *a = sm, *b = sm + 4096; for (int k = T; k < 6144; k += 128) ((u32 *)sm)[k] = x[k] & 0x3fff3fff; u32 f[4][4]; UNROLL for (int k = 0; k < 16; k++) f[k / 4][k % 4] = x[T * 16 + k] & 0x3fff3fff; asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); __syncthreads();
    float d[64] = {}; for (int i = 0; i < n; i++) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); UNROLL for (int k = 0; k < 4; k++) wg128r(d, f[k], desc(b + k * 2048, 2048, 128)); asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory"); }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); float s = 0; UNROLL for (int k = 0; k < 64; k++) s += d[k]; y[AT] = s; }
K wide256(const u32 *R x, float *R y, int n) {
    extern __shared__ __align__(1024) u16 sm[]; u16 *a = sm, *b = sm + 4096; for (int k = T; k < 10240; k += 128) ((u32 *)sm)[k] = x[k] & 0x3fff3fff;  asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); __syncthreads();
    float d[128] = {}; for (int i = 0; i < n; i++) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); UNROLL for (int k = 0; k < 4; k++) wg256s(d, desc(a + k * 1024, 1024, 128), desc(b + k * 4096, 4096, 128)); asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory"); }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); float s = 0; UNROLL for (int k = 0; k < 128; k++) s += d[k]; y[AT] = s; }
