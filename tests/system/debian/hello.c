// Compiled, linked with the shared C and thread libraries, and run in the guest.
#include <math.h>
#include <pthread.h>
#include <stdio.h>

static __thread int own = 1;

static void* work(void* argument) {
  own += *(int*)argument;
  return own == 42 ? argument : NULL;
}

int main(void) {
  int number = 41;
  void* answer = NULL;
  pthread_t thread;
  if (pthread_create(&thread, NULL, work, &number) != 0) return 1;
  pthread_join(thread, &answer);
  printf("compiled here: %d %.1f\n", answer == &number, sqrt(2.25));
  return own - 1;
}
