// Loops that read the clock around accesses to arrays of a thread's own in local memory (l_, p_, h_, k_) or in global memory (g_), each lane a row of its own choice.
typedef unsigned u32;
#define K extern "C" __global__ void
#define AT (blockIdx.x * blockDim.x + threadIdx.x)
// rows[0..31]: where a lane stores, rows[32..63]: where it loads
#define BODY(ARR, NAME, DO) K NAME(const int *rows, u32 *out, u32 *t, int n) { \
  u32 a[ARR]; int l = threadIdx.x & 31, s = rows[l], r = rows[32 + l]; bool on = rows[64 + l]; u32 v = l; \
  for (int k = 0; k < ARR; k++) a[k] = k + l; \
  u32 b = clock(); \
  _Pragma("unroll 1") for (int i = 0; i < n; i++) { DO } \
  u32 e = clock(); for (int k = 0; k < ARR; k++) v += a[k] * k; out[AT] = v; t[AT] = e - b; }
BODY(32, l_both, if (on) { a[s] = v; } if (on) { v = a[r] + v; })
BODY(32, l_store, if (on) a[s] = v + i;)
BODY(32, l_far, if (on) { a[s] = v; a[s ^ 1] = v; a[s ^ 2] = v; a[s ^ 3] = v; } if (on) v = a[r] + v;)
BODY(32, l_twice, if (on) { a[s] = v; } if (on) { v = a[r] + v; } if (on) { v = a[r ^ (v & 0)] + v; })
K g_both(const int *rows, u32 *out, u32 *t, int n, volatile u32 *g) { int l = threadIdx.x & 31; u32 *m = (u32 *)g + (AT / 32) * 1024 + l; int s = rows[l] * 32, r = rows[32 + l] * 32; bool on = rows[64 + l]; u32 v = l; u32 b = clock();
  _Pragma("unroll 1") for (int i = 0; i < n; i++) { if (on) { m[s] = v; } if (on) { v = m[r] + v; } } u32 e = clock(); out[AT] = v; t[AT] = e - b; }
K p_sl(const int *tab, u32 *out, u32 *t, int n) {
  u32 a[32]; int l = threadIdx.x & 31, s = tab[l], r = tab[32 + l], w = tab[128 + l]; bool son = tab[64 + l], lon = tab[96 + l], won = tab[160 + l]; u32 v = l;
  for (int k = 0; k < 32; k++) a[k] = k + l;
  u32 b = clock();
  _Pragma("unroll 1") for (int i = 0; i < n; i++) { if (son) a[s] = v; if (won) a[w] = v; if (lon) v = a[r] + v; }
  u32 e = clock(); for (int k = 0; k < 32; k++) v += a[k] * k; out[AT] = v; t[AT] = e - b; }
// rows by a hash; G lanes have the same; D dependent products after each change; HOW: 0 change, 1 write, 2 read, 3 write then read another, 4 read twice after a write
template <int W, int G, int D, int HOW> __device__ __forceinline__ void hash(u32 *out, u32 *t, int n) {
  u32 a[W]; u32 h = (AT / G) * 2654435761u, s = AT; float f = s;
  for (int k = 0; k < W; k++) a[k] = k + s;
  u32 b = clock();
  _Pragma("unroll 1") for (int i = 0; i < n; i++) {
    h = h * 1664525u + 1013904223u; u32 at = (h >> 16) % W;
    if (HOW == 0) { u32 x = a[at]; a[at] = x + 1; s += x; }
    if (HOW == 1) a[at] = h;
    if (HOW == 2) s += a[at];
    if (HOW == 3) { a[at] = s; s += a[(at + 1) % W]; }
    if (HOW == 4) { a[at] = s; s += a[(at + 1) % W]; s += a[(at + 2 + (s & 0)) % W]; }
    if (D) { f = s; _Pragma("unroll") for (int k = 0; k < D; k++) f = f * 1.0001f + 1.f; h += __float_as_uint(f) == 77; }
    h += s == 0x12345; }
  u32 e = clock(); for (int k = 0; k < W; k++) s += a[k] * k; out[AT] = s; t[AT] = e - b; }
#define H(W, G, D, HOW) K h_##W##_##G##_##D##_##HOW(const int *, u32 *out, u32 *t, int n) { hash<W, G, D, HOW>(out, t, n); }
H(16,1,0,0) H(16,8,0,0) H(32,1,0,1)
// a stack of each lane's own: pushed or popped by a hash, G lanes alike
template <int G> __device__ __forceinline__ void stack(u32 *out, u32 *t, int n) {
  u32 a[32]; u32 h = (AT / G) * 2654435761u, s = AT; int p = 16; for (int k = 0; k < 32; k++) a[k] = k + s;
  u32 b = clock();
  _Pragma("unroll 1") for (int i = 0; i < n; i++) { h = h * 1664525u + 1013904223u; bool push = h >> 31; if (p >= 31) push = false; if (p <= 1) push = true; if (push) a[p++] = s; else s += a[--p]; }
  u32 e = clock(); for (int k = 0; k < 32; k++) s += a[k] * k; out[AT] = s + p; t[AT] = e - b; }
K k_1(const int *, u32 *out, u32 *t, int n) { stack<1>(out, t, n); }
K k_8(const int *, u32 *out, u32 *t, int n) { stack<8>(out, t, n); }
K k_32(const int *, u32 *out, u32 *t, int n) { stack<32>(out, t, n); }
