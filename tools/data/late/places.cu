// Where the warps of CTAs are put: the SM, the warp's number there, and when it began.
typedef unsigned u32;
extern "C" __global__ void t_place(uint4 *o, int n) { u32 sm, w, c; asm volatile("mov.u32 %0,%%clock;" : "=r"(c)); asm volatile("mov.u32 %0,%%smid;" : "=r"(sm)); asm volatile("mov.u32 %0,%%warpid;" : "=r"(w));
    u32 d; do asm volatile("mov.u32 %0,%%clock;" : "=r"(d)); while (d - c < n); if ((threadIdx.x & 31) == 0) o[(blockIdx.x * blockDim.x + threadIdx.x) / 32] = make_uint4(sm, w, c, blockIdx.x); }
