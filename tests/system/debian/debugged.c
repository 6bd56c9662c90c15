// What gdb looks into: functions that call one another, a variable that changes, threads that wait for one another.
#include <pthread.h>
#include <stdio.h>

static int total;
static const char* name = "debugged";
static pthread_barrier_t all_here;

__attribute__((noinline)) static int factorial(int n) {
  if (n < 2) return 1;
  return n * factorial(n - 1);
}

__attribute__((noinline)) static void leave(int number) {
  if (number < 0) *(volatile int*)0 = number;
  __atomic_fetch_add(&total, number, __ATOMIC_RELAXED);
}

static void* wait_for_all(void* number) {
  pthread_barrier_wait(&all_here);
  leave(*(int*)number);
  return NULL;
}

__attribute__((noinline)) static void everybody_waits(void) {}

// With an argument one of the threads makes a mistake.
int main(int argc, char** argv) {
  (void)argv;
  total = factorial(4);
  pthread_t thread[2];
  int number = argc > 1 ? -1 : 9;
  pthread_barrier_init(&all_here, NULL, 3);
  for (int i = 0; i < 2; ++i) pthread_create(&thread[i], NULL, wait_for_all, &number);
  everybody_waits();
  pthread_barrier_wait(&all_here);
  for (int i = 0; i < 2; ++i) pthread_join(thread[i], NULL);
  printf("%s: %d\n", name, total);
  return 3;
}
