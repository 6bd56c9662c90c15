// The copies of an operation that run together, as processes or as threads of one process, and what they measured.
#pragma once

#include "run.h"

inline constexpr int most_copies = 64;
inline constexpr int rounds = 7;

// Lives in memory that all copies share.
struct Team {
  int copies;
  long count;
  const Operation* operation;
  int cores[most_copies];        // where each copy runs
  int arrived;                   // at a round, of all copies and rounds together; atomic
  int ending;                    // a copy gives up: nobody waits for it; atomic
  Round measured[most_copies][rounds];
};

// Runs all copies to their end. 0, or the exit status of a copy that gave up.
int run_processes(Team& team);
int run_threads(Team& team);

enum : int { status_failed = 1, status_unsupported = 3 };
