// OpenMP of a static glibc program: the runtime must find as many cores as this process may use, and parallel loops,
// reductions, barriers, critical sections, ordered, single, sections and tasks must give the sequential answer.

#include "tests/check.h"

#include <omp.h>
#include <sched.h>

#include <vector>

int main(int argc, char** argv) {
  check_begin("openmp_sum", argc, argv);

  cpu_set_t allowed;
  CHECK_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  const int cores = CPU_COUNT(&allowed);
  const int threads = omp_get_max_threads();
  if (getenv("OMP_NUM_THREADS") == nullptr) { CHECK_EQ(threads, cores); }
  CHECK_EQ(omp_get_num_procs(), cores);
  printf("openmp_sum: threads=%d cores=%d\n", threads, cores);

  const long count = 200000 * check_effort;
  std::vector<long> values(static_cast<size_t>(count));
#pragma omp parallel for
  for (long index = 0; index < count; ++index) { values[static_cast<size_t>(index)] = index; }
  const long expected = count * (count - 1) / 2;

  long total = 0;
#pragma omp parallel for reduction(+ : total)
  for (long index = 0; index < count; ++index) { total += values[static_cast<size_t>(index)]; }
  CHECK_EQ(total, expected);

  total = 0;
#pragma omp parallel for schedule(dynamic, 64) reduction(+ : total)
  for (long index = 0; index < count; ++index) { total += values[static_cast<size_t>(index)]; }
  CHECK_EQ(total, expected);

  long largest = -1;
#pragma omp parallel for schedule(guided) reduction(max : largest)
  for (long index = 0; index < count; ++index) {
    if (values[static_cast<size_t>(index)] > largest) { largest = values[static_cast<size_t>(index)]; }
  }
  CHECK_EQ(largest, count - 1);

    // Also with more threads than cores: the team then waits in futexes, not only by spinning.
  const int team = threads < 4 ? 4 : threads;
  long in_critical = 0;
  long atomically = 0;
  int arrived = 0;
  int members = 0;
#pragma omp parallel num_threads(team)
  {
#pragma omp single
    members = omp_get_num_threads();
    for (int round = 1; round <= 5; ++round) {
#pragma omp atomic
      ++arrived;
#pragma omp barrier
      int seen = 0;
#pragma omp atomic read
      seen = arrived;
      CHECK_EQ(seen, round * members);
#pragma omp barrier
    }
    for (int step = 0; step < 200; ++step) {
#pragma omp critical
      ++in_critical;
#pragma omp atomic
      ++atomically;
    }
  }
  CHECK_EQ(members, team);
  CHECK_EQ(in_critical, 200L * team);
  CHECK_EQ(atomically, 200L * team);

  int next = 0;
#pragma omp parallel for ordered num_threads(team)
  for (int index = 0; index < 50; ++index) {
#pragma omp ordered
    {
      CHECK_EQ(next, index);
      ++next;
    }
  }

  int first = 0;
  int second = 0;
#pragma omp parallel sections num_threads(2)
  {
#pragma omp section
    first = 1;
#pragma omp section
    second = 2;
  }
  CHECK_EQ(first + second, 3);

  long tasks = 0;
#pragma omp parallel num_threads(team)
#pragma omp single
  for (int index = 0; index < 100; ++index) {
#pragma omp task firstprivate(index) shared(tasks)
    {
#pragma omp atomic
      tasks += index;
    }
  }
  CHECK_EQ(tasks, 4950);

  return check_done();
}
