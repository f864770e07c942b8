// Lanes of a warp that leave one by one: from a loop (loop), through exits of straight code to one place (exits: with a value of their own each, plain: without),
// from a loop with a remainder as compilers unroll it (rest). WAYS: how many different lanes leave at different times (1: all at once, 0: none apart). Cycles of the longest warp.
#include <cstdio>
#include <cuda_runtime.h>
__device__ __forceinline__ unsigned clk(){unsigned c;asm volatile("mov.u32 %0,%%clock;":"=r"(c)::"memory");return c;}
__global__ void loop(const unsigned*n,unsigned*o,unsigned*y,int work){ unsigned m=n[threadIdx.x],x=threadIdx.x; unsigned t0=clk();
  #pragma unroll 1
  for(unsigned i=0;i<m;i++){ x=x*x+i; x=x*x+7; x=x*x+i; x=x*x+3; }
  __syncwarp(); unsigned t1=clk(); y[threadIdx.x]=x; if(threadIdx.x%32==0) o[threadIdx.x/32]=t1-t0; }
__global__ void exits(const unsigned*n,unsigned*o,unsigned*y,int work){ unsigned m=n[threadIdx.x],x=threadIdx.x,r=0; unsigned t0=clk();
  #pragma unroll 1
  for(int k=0;k<work;k++){ unsigned l=0; unsigned c=x&0;
    #pragma unroll
    for(int j=0;j<12;j++){ if(m+c<=j){l=j*4096;break;} c=(x*(j+3)+k)>>31&0; x=x*x+j; }
    r=max(r,l|k); }
  __syncwarp(); unsigned t1=clk(); y[threadIdx.x]=x+r; if(threadIdx.x%32==0) o[threadIdx.x/32]=t1-t0; }
__global__ void rest(const unsigned*n,unsigned*o,unsigned*y,int work){ unsigned m=n[threadIdx.x]; const unsigned*p=n+64+threadIdx.x; unsigned s=0; unsigned t0=clk();
  for(unsigned i=0;i<m;i++) s+=p[i*32];
  __syncwarp(); unsigned t1=clk(); y[threadIdx.x]=s; if(threadIdx.x%32==0) o[threadIdx.x/32]=t1-t0; }
// A warp's branch whose condition is a comparison of two bytes of shared memory, as matches in text have it.
__global__ void match(const unsigned*n,unsigned*o,unsigned*y,int work){ __shared__ unsigned char s[1024]; for(int k=threadIdx.x;k<1024;k+=32) s[k]=n[k]; __syncthreads();
  int at=512+threadIdx.x; unsigned best=0; unsigned t0=clk();
  #pragma unroll 1
  for(int d=1;d<=work;d++){ int l=0; while(l<16&&s[at+l]==s[at+l-d]) l++; best=max(best,(unsigned)(l<<12|d)); }
  unsigned t1=clk(); y[threadIdx.x]=best; if(threadIdx.x%32==0) o[threadIdx.x/32]=t1-t0; }
int main(){ unsigned h[4096],*n,*o,*y,r; cudaMalloc(&n,16384);cudaMalloc(&o,4096);cudaMalloc(&y,16384); typedef void(*F)(const unsigned*,unsigned*,unsigned*,int); F fs[]={loop,exits,rest,match}; const char*names[]={"loop","exits","rest","match"};
  printf("what\tways\tmost\tturns\tcycles\n");
  for(int f=0;f<4;f++) for(int ways:{1,2,4,8,16,32}) for(int most:{8,12,32,64}){
    if(f==1&&most!=12) continue; if(f==3&&most!=64) continue; if(f==2&&most>64) continue;
    for(int i=0;i<4096;i++) h[i]=f==3?(i*2654435761u>>13)%ways:0;
    if(f!=3) for(int t=0;t<32;t++){ int g=t*ways/32; h[t]=most-(g*most/ways)*(ways>1)*1; if(ways>1) h[t]=most-g*most/ways; }
    for(int k=0;k<3;k++){ cudaMemcpy(n,h,16384,cudaMemcpyHostToDevice); fs[f]<<<1,32>>>(n,o,y,64); if(cudaDeviceSynchronize()){printf("error\n");return 1;} }
    cudaMemcpy(&r,o,4,cudaMemcpyDeviceToHost); printf("%s\t%d\t%d\t%d\t%u\n",names[f],ways,most,64,r); } }
