// Loops that read the clock around loads of words that L1 does not have, some of which are of a sector or line that is on its way.
typedef unsigned u32; typedef unsigned long long u64;
#define K extern "C" __global__ void
// W words a load, U loads a turn, `apart` bytes from load to load; a lane's place is lane * lane_step, a warp's warp * warp_step, a CTA's cta * cta_step; `step` bytes from turn to turn
template <int W> struct V;
template <> struct V<1> { u32 v; __device__ u32 sum() { return v; } };
template <> struct V<2> { uint2 v; __device__ u32 sum() { return v.x ^ v.y; } };
template <> struct V<4> { uint4 v; __device__ u32 sum() { return v.x ^ v.y ^ v.z ^ v.w; } };
template <int W> __device__ __forceinline__ V<W> load(const char *p);
template <> __device__ __forceinline__ V<1> load<1>(const char *p) { V<1> r; asm volatile("ld.global.u32 %0, [%1];" : "=r"(r.v) : "l"(p)); return r; }
template <> __device__ __forceinline__ V<2> load<2>(const char *p) { V<2> r; asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(r.v.x), "=r"(r.v.y) : "l"(p)); return r; }
template <> __device__ __forceinline__ V<4> load<4>(const char *p) { V<4> r; asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(r.v.x), "=r"(r.v.y), "=r"(r.v.z), "=r"(r.v.w) : "l"(p)); return r; }
template <int W, int U> __device__ __forceinline__ void under(const char *x, u32 *out, u32 *t, int apart, int lane_step, int warp_step, int cta_step, int step, int n) {
  const char *p = x + (threadIdx.x & 31) * lane_step + (threadIdx.x >> 5) * warp_step + blockIdx.x * cta_step; u32 s = 0;
  __syncthreads();
  u32 b = clock();
  _Pragma("unroll 1") for (int i = 0; i < n; i++) {
    V<W> v[U]; const char *q = p;
    _Pragma("unroll") for (int k = 0; k < U; k++) { v[k] = load<W>(q); q += apart; }
    u32 a = 0; _Pragma("unroll") for (int k = 0; k < U; k++) a ^= v[k].sum();
    s += a; p += step + (a == 0x12345);
  }
  u32 e = clock(); out[blockIdx.x * blockDim.x + threadIdx.x] = s; t[blockIdx.x * blockDim.x + threadIdx.x] = e - b;
}
#define UNDER(W, U) K under_##W##_##U(const char *x, u32 *out, u32 *t, int apart, int lane_step, int warp_step, int cta_step, int step, int n) { under<W, U>(x, out, t, apart, lane_step, warp_step, cta_step, step, n); }
UNDER(1, 1) UNDER(1, 2) UNDER(1, 4) UNDER(1, 8) UNDER(1, 16) UNDER(2, 1) UNDER(2, 4) UNDER(2, 8) UNDER(4, 1) UNDER(4, 2) UNDER(4, 4) UNDER(4, 8)
// the same with one loop of cluster barriers of two CTAs: 0 none, 1 a store to the other, 2 a store of its own and a load of the other's, 3 a load of the other's alone, 4 a store of its own
template <int HOW> __device__ __forceinline__ void barred(u32 *out, u32 *t, int n) {
  __shared__ u32 a[2][1024]; u32 rank, mine = (u32)__cvta_generic_to_shared(&a[0][threadIdx.x]), far, v = threadIdx.x; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(far) : "r"(mine), "r"(rank ^ 1)); u32 turn = 0;
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  u32 b = clock();
  _Pragma("unroll 1") for (int i = 0; i < n; i++) {
    if (HOW == 1) asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(far + turn), "r"(v) : "memory");
    if (HOW == 2 || HOW == 4) asm volatile("st.shared.u32 [%0], %1;" ::"r"(mine + turn), "r"(v) : "memory");
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    u32 w = 0; if (HOW == 2 || HOW == 3) asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(w) : "r"(far + turn) : "memory"); if (HOW == 1) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(w) : "r"(mine + turn) : "memory");
    v = v * 3 + w; turn ^= 4096;
  }
  u32 e = clock(); asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory"); out[blockIdx.x * blockDim.x + threadIdx.x] = v; t[blockIdx.x * blockDim.x + threadIdx.x] = e - b;
}
#define BARRED(H) extern "C" __global__ __cluster_dims__(2, 1, 1) void barred_##H(u32 *out, u32 *t, int n) { barred<H>(out, t, n); }
BARRED(0) BARRED(1) BARRED(2) BARRED(3) BARRED(4)
// reductions of W floats a lane to `places` of 4 KB in turn, or (half2) words in turn
template <int W> __device__ __forceinline__ void reduced(float *y, u32 *t, int places, int skip, int n) {
  u32 at = blockIdx.x * skip % places; u32 b = clock();
  _Pragma("unroll 1") for (int i = 0; i < n; i++) {
    float *p = y + at * 1024 + threadIdx.x * (W == 4 ? 4 : W == 2 ? 2 : 1); float f = i;
    if (W == 1) { _Pragma("unroll") for (int k = 0; k < 8; k++) asm volatile("red.global.add.f32 [%0], %1;" ::"l"(p + k * 128), "f"(f) : "memory"); }
    if (W == 2) { _Pragma("unroll") for (int k = 0; k < 4; k++) asm volatile("red.global.add.v2.f32 [%0], {%1, %1};" ::"l"(p + k * 256), "f"(f) : "memory"); }
    if (W == 4) { _Pragma("unroll") for (int k = 0; k < 2; k++) asm volatile("red.global.add.v4.f32 [%0], {%1, %1, %1, %1};" ::"l"(p + k * 512), "f"(f) : "memory"); }
    if (W == 0) { _Pragma("unroll") for (int k = 0; k < 8; k++) asm volatile("red.global.add.noftz.f16x2 [%0], %1;" ::"l"(p + k * 128), "r"(i) : "memory"); }
    at += 3; at = at >= places ? at - places : at;
  }
  t[blockIdx.x * blockDim.x + threadIdx.x] = clock() - b;
}
#define REDUCED(W) K reduced_##W(float *y, u32 *t, int places, int skip, int n) { reduced<W>(y, t, places, skip, n); }
REDUCED(0) REDUCED(1) REDUCED(2) REDUCED(4)
