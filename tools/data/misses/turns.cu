// Loads that miss L1: LINES lines of 32*V/LINES bytes by a load, four loads at once by each warp, T turns; cycles of a turn.
// MODE 0: .cg, the same lines each turn; 1: through L1, others each turn; 2: and stored to shared memory between barriers
#include <cstdio>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>
__device__ __forceinline__ unsigned clk(){unsigned c;asm volatile("mov.u32 %0,%%clock;":"=r"(c)::"memory");return c;}
template<int V,int CG> __device__ __forceinline__ void load(uint4&v,const char*a){
  if(V==16){ if(CG) asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3},[%4];":"=r"(v.x),"=r"(v.y),"=r"(v.z),"=r"(v.w):"l"(a)); else asm volatile("ld.global.v4.u32 {%0,%1,%2,%3},[%4];":"=r"(v.x),"=r"(v.y),"=r"(v.z),"=r"(v.w):"l"(a)); }
  else if(V==8){ if(CG) asm volatile("ld.global.cg.v2.u32 {%0,%1},[%2];":"=r"(v.x),"=r"(v.y):"l"(a)); else asm volatile("ld.global.v2.u32 {%0,%1},[%2];":"=r"(v.x),"=r"(v.y):"l"(a)); v.z=v.y;v.w=v.x; }
  else { if(CG) asm volatile("ld.global.cg.u32 %0,[%1];":"=r"(v.x):"l"(a)); else asm volatile("ld.global.u32 %0,[%1];":"=r"(v.x):"l"(a)); v.y=v.z=v.w=v.x; }
}
template<int V,int LINES,int MODE> __global__ void miss(const char*p,int turns,unsigned lines,unsigned apart,unsigned scatter,unsigned*out){
  __shared__ uint4 s[MODE==2?2048:1];
  unsigned lane=threadIdx.x&31,warp=threadIdx.x>>5,warps=blockDim.x>>5,dep=0;
  constexpr unsigned L=32/LINES;
  unsigned first=blockIdx.x*apart; 
  __syncthreads(); unsigned t0=clk();
  for(int i=0;i<turns;i++){
    uint4 v[4]; const char*a[4];
    #pragma unroll
    for(int k=0;k<4;k++){ unsigned n=(k*warps+warp)*LINES+lane/L+(MODE?i*warps*4*LINES:0); n=first+n; n=(n*scatter)&(lines-1); a[k]=p+(size_t)n*128+(lane%L)*V; }
    #pragma unroll
    for(int k=0;k<4;k++) load<V,MODE==0>(v[k],a[k]);
    #pragma unroll
    for(int k=0;k<4;k++) if(MODE==2){ if(V==16) s[(k*warps+warp)*32+lane]=v[k]; else ((unsigned*)s)[(k*warps+warp)*32+lane]=v[k].x; } else dep+=v[k].x+v[k].y+v[k].z+v[k].w;
    if(MODE==2){ __syncthreads(); } 
    asm volatile(""::"r"(dep):"memory");
    first+=dep;
  }
  __syncthreads(); unsigned t1=clk();
  if(threadIdx.x==0) out[blockIdx.x]=t1-t0+(dep==12345u);
}
typedef void(*K)(const char*,int,unsigned,unsigned,unsigned,unsigned*);
struct E{int v,l,m;K k;};
#define R(V,L) {V,L,0,miss<V,L,0>},{V,L,1,miss<V,L,1>},{V,L,2,miss<V,L,2>}
int main(){
  char*p;unsigned*o;cudaMalloc(&p,64<<20);cudaMemset(p,0,64<<20);cudaMalloc(&o,1<<20);
  std::vector<unsigned> h(1<<12);
  E es[]={R(4,1),R(4,2),R(4,4),R(4,8),R(4,32),R(8,2),R(8,4),R(8,8),R(16,4),R(16,8),R(16,16),R(16,32)};
  for(auto&e:es) for(int warps:{1,4,8,16}) for(int ctas:{1,16,66,132}) for(int same:{0,1}) for(unsigned scatter:{1u,16807u}){
    if(ctas==1&&same)continue; if(same&&scatter>1)continue;
    int turns=e.m?4:8; unsigned own=warps*4*e.l*(e.m?turns:1); if((size_t)own*128*(same?1:ctas)>(28u<<20))continue;
    unsigned lines=1<<19; while(lines>2&&(size_t)lines*128>(32u<<20))lines/=2;
    for(int r=0;r<3;r++){e.k<<<ctas,32*warps>>>(p,turns,lines,same?0:own,scatter,o);cudaError_t x=cudaDeviceSynchronize();if(x){printf("error %d\n",x);return 1;}}
    cudaMemcpy(h.data(),o,ctas*4,cudaMemcpyDeviceToHost);
    double s=0,mx=0;for(int k=0;k<ctas;k++){s+=h[k];mx=std::max(mx,(double)h[k]);}
    printf("%d\t%d\t%d\t%d\t%d\t%d\t%u\t%d\t%u\t%.0f\t%.0f\n",e.v,e.l,e.m,warps,ctas,same,scatter,turns,own,s/ctas,mx);
  }
}
