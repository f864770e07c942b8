// Copies of 16 bytes a lane from L2, eight a turn, by cp.async with so many groups under way and by loads: data of zeros or not, so many places in turn. Cycles per turn of the slowest CTA and the mean.
#include <cstdio>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>
__device__ __forceinline__ unsigned clk(){unsigned c;asm volatile("mov.u32 %0,%%clock;":"=r"(c)::"memory");return c;}
template<int HOW> __global__ void k(const char*g,int turns,int places,unsigned*out){
  extern __shared__ __align__(1024) char s[]; int lane=threadIdx.x&31,w=threadIdx.x>>5,nw=blockDim.x>>5; unsigned dep=0;
  unsigned base=(unsigned)__cvta_generic_to_shared(s)+w*4096; __syncthreads(); unsigned t0=clk();
  #pragma unroll 1
  for(int t=0;t<turns;t++){
    const char*src=g+((size_t)((t%places)*gridDim.x+blockIdx.x)*nw+w)*4096+lane*16;
    uint4 v[8];
    #pragma unroll
    for(int j=0;j<8;j++){ if(HOW<4) asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(base+j*512+lane*16),"l"(src+j*512));
      else if(HOW==4) asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3},[%4];":"=r"(v[j].x),"=r"(v[j].y),"=r"(v[j].z),"=r"(v[j].w):"l"(src+j*512));
      else asm volatile("ld.global.v4.u32 {%0,%1,%2,%3},[%4];":"=r"(v[j].x),"=r"(v[j].y),"=r"(v[j].z),"=r"(v[j].w):"l"(src+j*512)); }
    if(HOW<4) asm volatile("cp.async.commit_group;");
    if(HOW==1) asm volatile("cp.async.wait_group 0;"); if(HOW==2) asm volatile("cp.async.wait_group 1;"); if(HOW==3) asm volatile("cp.async.wait_group 2;");
    if(HOW>=4){
      #pragma unroll
      for(int j=0;j<8;j++) dep+=v[j].x+v[j].y+v[j].z+v[j].w; }
  }
  if(HOW<4) asm volatile("cp.async.wait_group 0;");
  __syncthreads(); unsigned t1=clk(); if(threadIdx.x==0) out[blockIdx.x]=t1-t0+(dep==12345u);
}
template<int HOW> void go(const char*g,unsigned*o,int zero){ static unsigned h[132];
  for(int w:{4,8,16}) for(int places:{2,8}) for(int grid:{1,132}){ cudaFuncSetAttribute(k<HOW>,cudaFuncAttributeMaxDynamicSharedMemorySize,65536);
    unsigned two[2],m=0; double mean=0;
    for(int n=0;n<2;n++){ for(int r=0;r<3;r++) k<HOW><<<grid,32*w,65536>>>(g,n?64:32,places,o); if(cudaDeviceSynchronize()){printf("error\n");return;} cudaMemcpy(h,o,grid*4,cudaMemcpyDeviceToHost); two[n]=0; double s=0; for(int c=0;c<grid;c++){two[n]=std::max(two[n],h[c]);s+=h[c];} mean=s/grid-mean; }
    printf("%d\t%d\t%d\t%d\t%d\t%.1f\t%.1f\t%u\n",HOW,zero,w,places,grid,(two[1]-two[0])/32.,mean/32,two[0]); } }
int main(){ char*g;unsigned*o; cudaMalloc(&g,128<<20);cudaMalloc(&o,4096); std::vector<unsigned> v(32<<20); unsigned x=1; for(auto&y:v){x=x*1664525u+1013904223u;y=x^(x>>13);}
  printf("how\tzero\twarps\tplaces\tctas\tmost\tmean\tcycles\n");
  for(int zero:{0,1}){ if(zero) cudaMemset(g,0,128<<20); else cudaMemcpy(g,v.data(),128<<20,cudaMemcpyHostToDevice); go<1>(g,o,zero);go<2>(g,o,zero);go<3>(g,o,zero);go<4>(g,o,zero);go<5>(g,o,zero);} }
