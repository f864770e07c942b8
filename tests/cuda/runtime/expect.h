// What the programs of tests say of calls that do not do what they should.
#include <cstdio>

static int failures;
#define EXPECT(condition)                                        \
  do {                                                           \
    if (!(condition)) {                                          \
      printf("line %d: %s\n", __LINE__, #condition);             \
      ++failures;                                                \
    }                                                            \
  } while (0)
#define OK(call) EXPECT((call) == cudaSuccess)
#define FAILS(error, call)                                       \
  do {                                                           \
    EXPECT((call) == (error));                                   \
    EXPECT(cudaGetLastError() == (error));                       \
  } while (0)
