// Four threads that use the heap.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void* work(void* unused) {
  (void)unused;
  int* numbers = malloc(100 * sizeof(int));
  long sum = 0;
  for (int i = 0; i < 100; i++) numbers[i] = i;
  for (int i = 0; i < 100; i++) sum += numbers[i];
  free(numbers);
  return (void*)sum;
}

int main(void) {
  pthread_t threads[4];
  long sum = 0;
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 4; i++) {
    void* result;
    pthread_join(threads[i], &result);
    sum += (long)result;
  }
  printf("%ld\n", sum);
  return 0;
}
