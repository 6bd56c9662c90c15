// The numbers on a probe's command line.

#ifndef CORRAL_USER_PROBES_ARGUMENT_H
#define CORRAL_USER_PROBES_ARGUMENT_H

#include <stdio.h>
#include <stdlib.h>

// `text` as a number, 1 to `most`. Anything else ends the program with `usage`, such as "probe SECONDS", and status 2.
inline long number_of(const char* text, long most, const char* usage) {
  char* end = nullptr;
  const long value = strtol(text, &end, 10);
  if (*text == '\0' || *end != '\0' || value < 1 || value > most) {
    fprintf(stderr, "usage: %s\n", usage);
    exit(2);
  }
  return value;
}

#endif
