// balance: threads that compute for a while, sleep for a while, and are placed anew each time they wake: what placements and
// migrations are compared by (paper 000, section 5.2.1).
//
//   balance THREADS [section KIB] [rounds N] [sleep US] [seed N]
//
// A global array of numbers has a section for each thread. A thread adds up the elements of its section plus a salt, which it
// raises by one from round to round, sleeps for a random time, and ends when its sum has passed a limit. The limit is such that a
// thread needs about N rounds (default 40), the ones a few more, the others a few less. Sections are of KIB kibibytes (default 8);
// a sleep lasts up to US microseconds (default 400), the same sequence of them each time with the same seed.
//
// Prints one line, "balance: runtime_us=… calculations=… moves=… wake_p50_ns=… wake_p99_ns=… wake_worst_ns=… checksum=…". moves: how
// often a thread was on another core than for its last calculation; wake: from the moment for which a sleep was set until the
// thread runs, without the slack that a system may give its timers otherwise. For the emulator's cache model the same is between the marks `reset` and `dump` (docs/cache-model.md). Static, so that
// the identical file runs on Linux.

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "region.h"

namespace {

constexpr int most_threads = 256, most_rounds = 4'000;
constexpr long most_kib = 1024;

struct Options {
  long threads = 0, section_kib = 8, rounds = 40, sleep_us = 400, seed = 1;
} options;

struct Account {
  long calculations = 0, moves = 0;
  uint64_t sum = 0;
  uint32_t* late_ns = nullptr;  // of each sleep
};

uint64_t* numbers;  // the sections, one after another
size_t per_section;
Account accounts[most_threads];
pthread_barrier_t everybody_is_there;

[[noreturn]] void wrong(const char* why) {
  fprintf(stderr, "balance: %s\nusage: balance THREADS [section KIB] [rounds N] [sleep US] [seed N]\n", why);
  exit(2);
}

long number_of(const char* text, long least, long most) {
  char* end = nullptr;
  const long value = strtol(text, &end, 10);
  if (*text == '\0' || *end != '\0' || value < least || value > most) wrong(text);
  return value;
}

void read_options(int argc, char** argv) {
  if (argc < 2 || argc % 2 != 0) wrong("a number is missing");
  options.threads = number_of(argv[1], 1, most_threads);
  for (int i = 2; i < argc; i += 2) {
    const char* const text = argv[i + 1];
    if (strcmp(argv[i], "section") == 0) {
      options.section_kib = number_of(text, 1, most_kib);
    } else if (strcmp(argv[i], "rounds") == 0) {
      options.rounds = number_of(text, 1, most_rounds / 2);
    } else if (strcmp(argv[i], "sleep") == 0) {
      options.sleep_us = number_of(text, 1, 1'000'000);
    } else if (strcmp(argv[i], "seed") == 0) {
      options.seed = number_of(text, 1, INT64_MAX);
    } else {
      wrong(argv[i]);
    }
  }
}

// Marsaglia's xorshift64: a period of 2^64 - 1, never 0.
uint64_t next_random(uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

int64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

// How late it was when it was over.
uint32_t sleep_for(int64_t duration_ns) {
  const int64_t until = now_ns() + duration_ns;
  const timespec moment{until / 1'000'000'000, until % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, nullptr) != 0) {}
  const int64_t late = now_ns() - until;
  return late < 0 ? 0 : late > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(late);
}

// A section holds numbers below 2^20, half of that on average.
uint64_t limit_of_sums() {
  const auto rounds = static_cast<uint64_t>(options.rounds);
  return per_section * (rounds * (uint64_t{1} << 19) + rounds * rounds / 2);
}

void* run(void* own) {
  auto& account = *static_cast<Account*>(own);
  const long number = &account - accounts;
  const uint64_t* const section = numbers + static_cast<size_t>(number) * per_section;
  const uint64_t limit = limit_of_sums();
  uint64_t random = static_cast<uint64_t>(options.seed) * 0x9e37'79b9'7f4a'7c15 + static_cast<uint64_t>(number) + 1;
  int last_core = -1;
  pthread_barrier_wait(&everybody_is_there);
  for (uint64_t salt = 0; account.sum <= limit && account.calculations < most_rounds; ++salt) {
    const int core = sched_getcpu();
    if (core != last_core && last_core >= 0) ++account.moves;
    last_core = core;
    for (size_t i = 0; i < per_section; ++i) account.sum += section[i] + salt;
    const auto longest = static_cast<uint64_t>(options.sleep_us) * 1000;
    account.late_ns[account.calculations++] = sleep_for(static_cast<int64_t>(next_random(random) % longest));
  }
  return nullptr;
}

int compare(const void* left, const void* right) {
  const uint32_t a = *static_cast<const uint32_t*>(left), b = *static_cast<const uint32_t*>(right);
  return a < b ? -1 : a > b;
}

void* room_for(size_t bytes) {
  void* const room = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (room == nullptr) wrong("not enough memory");
  memset(room, 0, bytes);
  return room;
}

void fill_array() {
  per_section = static_cast<size_t>(options.section_kib) * 1024 / sizeof *numbers;
  const size_t all = per_section * static_cast<size_t>(options.threads);
  numbers = static_cast<uint64_t*>(room_for(all * sizeof *numbers));
  uint64_t random = static_cast<uint64_t>(options.seed);
  for (size_t i = 0; i < all; ++i) numbers[i] = next_random(random) >> 44;
  for (long i = 0; i < options.threads; ++i) {
    accounts[i].late_ns = static_cast<uint32_t*>(room_for(most_rounds * sizeof(uint32_t)));
  }
}

void tell(int64_t took_ns) {
  long calculations = 0, moves = 0;
  uint64_t checksum = 0;
  for (long i = 0; i < options.threads; ++i) calculations += accounts[i].calculations;
  auto* const late = static_cast<uint32_t*>(room_for(static_cast<size_t>(calculations) * sizeof(uint32_t)));
  uint32_t* end = late;
  for (long i = 0; i < options.threads; ++i) {
    const Account& account = accounts[i];
    memcpy(end, account.late_ns, static_cast<size_t>(account.calculations) * sizeof *end);
    end += account.calculations;
    moves += account.moves;
    checksum = checksum * 31 + account.sum;
  }
  qsort(late, static_cast<size_t>(calculations), sizeof *late, compare);
  printf(
      "balance: runtime_us=%lld calculations=%ld moves=%ld wake_p50_ns=%u wake_p99_ns=%u wake_worst_ns=%u checksum=%016llx\n",
      static_cast<long long>(took_ns / 1000), calculations, moves, late[calculations / 2], late[calculations * 99 / 100],
      late[calculations - 1], static_cast<unsigned long long>(checksum));
}

}  // namespace

int main(int argc, char** argv) {
  read_options(argc, argv);
  fill_array();
  prctl(PR_SET_TIMERSLACK, 1);  // ns, of all threads: else Linux lets each sleep last 50 us longer
  static pthread_t threads[most_threads];
  const auto parties = static_cast<unsigned>(options.threads) + 1;
  if (pthread_barrier_init(&everybody_is_there, nullptr, parties) != 0) wrong("no barrier");
  for (long i = 0; i < options.threads; ++i) {
    if (pthread_create(&threads[i], nullptr, run, &accounts[i]) != 0) wrong("a thread could not be made");
  }
  REGION_RESET();
  const int64_t began = now_ns();
  pthread_barrier_wait(&everybody_is_there);
  for (long i = 0; i < options.threads; ++i) pthread_join(threads[i], nullptr);
  const int64_t took = now_ns() - began;
  REGION_DUMP(1);
  tell(took);
  return 0;
}
