// Counts futex waits and wakes until its time is over, and checks that none is lost.
//
//   wakepairs SECONDS [RINGS [MEMBERS]]
//
// In each ring a token goes round that counts the laps: who holds it writes it into the next member's word and wakes that
// member. A number that comes twice, or is left out, ends the program; so does a wait of 60 s, which is a lost wake-up.
// Only wakes that found a waiter count as pairs (the others came before the wait had begun). By default there are as many
// rings as cores, of two to five members: threads share cores with others, and wakes go to the own core and to others.
// The last line: "wakepairs: PAIRS pairs, HANDOVERS handovers, SECONDS s". Runs on Linux as well.

#include "probes/argument.h"
#include "tests/futex_call.h"

#include <sched.h>

namespace {

using namespace futex_call;

constexpr char usage[] = "wakepairs SECONDS [RINGS [MEMBERS]]";
constexpr int most_rings = 64;
constexpr int most_members = 16;
constexpr timespec lost = {60, 0};

struct alignas(64) Seat {
  Word token;
  uint64_t pairs;  // wakes by this member that found a waiter
  uint64_t handovers;
  pthread_t thread;
};

struct Ring {
  Seat seats[most_members];
  int members;
};

Ring rings[most_rings];
bool time_is_over;

struct Member {
  Ring* ring;
  int index;
};
Member all_members[most_rings * most_members];

// Goes with the number of the last lap, and tells everybody to go.
constexpr Word farewell = 1u << 31;

void* take_part(void* argument) {
  const Member& self = *static_cast<Member*>(argument);
  Ring& ring = *self.ring;
  Seat& mine = ring.seats[self.index];
  Seat& next = ring.seats[(self.index + 1) % ring.members];
  const bool first = self.index == 0;
  const bool last = self.index + 1 == ring.members;
  Word lap = 0;
  for (;;) {
    while (load(&mine.token) == lap) {
      if (futex(&mine.token, wait_private, lap, &lost) != 0) { CHECK_EQ(errno, EAGAIN); }  // ETIMEDOUT: lost
    }
    const Word token = load(&mine.token);
    lap = (lap + 1) % farewell;
    if ((token & ~farewell) != lap) { CHECK_EQ(token & ~farewell, lap); }  // not counted: checks share a counter
    const bool over = (token & farewell) != 0 || (first && __atomic_load_n(&time_is_over, __ATOMIC_RELAXED));
    if (over && last) { return nullptr; }
    store(&next.token, (last ? (lap + 1) % farewell : lap) | (over ? farewell : 0));
    ++mine.handovers;
    const long woken = futex(&next.token, wake_private, 1);
    if (woken != 0 && woken != 1) { CHECK_EQ(woken, 1); }
    mine.pairs += static_cast<uint64_t>(woken);
    if (over) { return nullptr; }
  }
}

}  // namespace

int main(int argc, char** argv) {
  check_name = "wakepairs";
  cpu_set_t allowed;
  CHECK_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  const long seconds = number_of(argc > 1 ? argv[1] : "", 1000000, usage);
  const long count = argc > 2 ? number_of(argv[2], most_rings, usage) : CPU_COUNT(&allowed);
  const long members = argc > 3 ? number_of(argv[3], most_members, usage) : 0;
  const int64_t begin = check_now_ns();
  Member* member = all_members;
  for (long r = 0; r < count; ++r) {
    Ring& ring = rings[r];
    ring.members = static_cast<int>(members != 0 ? members : 2 + r % 4);
    for (int i = 0; i < ring.members; ++i, ++member) {
      *member = {&ring, i};
      ring.seats[i].thread = start(take_part, member);
    }
    store(&ring.seats[0].token, 1);
    futex(&ring.seats[0].token, wake_private, 1);
  }
  check_sleep_us(seconds * 1000000);
  __atomic_store_n(&time_is_over, true, __ATOMIC_RELAXED);
  uint64_t pairs = 0;
  uint64_t handovers = 0;
  for (long r = 0; r < count; ++r) {
    for (int i = 0; i < rings[r].members; ++i) {
      join(rings[r].seats[i].thread);
      pairs += rings[r].seats[i].pairs;
      handovers += rings[r].seats[i].handovers;
    }
  }
  printf("wakepairs: %llu pairs, %llu handovers, %lld s\n", static_cast<unsigned long long>(pairs),
         static_cast<unsigned long long>(handovers), static_cast<long long>((check_now_ns() - begin) / 1000000000));
  return 0;
}
