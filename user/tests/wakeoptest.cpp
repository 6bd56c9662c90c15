// FUTEX_WAKE_OP: one call changes a word, wakes waiters of another one, and perhaps of the word that it changed.

#include "tests/check.h"
#include "tests/futex_call.h"

namespace {

using namespace futex_call;

constexpr int wake_op = 5;

constexpr unsigned encode(unsigned operation, unsigned argument, unsigned comparison, unsigned compared) {
  return operation << 28 | comparison << 24 | (argument & 0xfff) << 12 | (compared & 0xfff);
}

unsigned one_word, other_word, woken_up;
void* wait_at_one(void*) {
  CHECK_EQ(futex(&one_word, FUTEX_WAIT, 0, &long_time), 0);
  __atomic_fetch_add(&woken_up, 1, __ATOMIC_SEQ_CST);
  return nullptr;
}
void* wait_at_other(void*) {
  CHECK_EQ(futex(&other_word, FUTEX_WAIT, 5, &long_time), 0);
  __atomic_fetch_add(&woken_up, 1, __ATOMIC_SEQ_CST);
  return nullptr;
}

void test_wake_op() {
  const timespec* two = as_timeout(2);
  one_word = 0;
  other_word = 5;
  CHECK_EQ(futex(&one_word, wake_op, 1, two, &other_word, encode(1, 3, 0, 5)), 0);
  CHECK_EQ(other_word, 8);
  CHECK_EQ(futex(&one_word, wake_op, 1, two, &other_word, encode(1, 0xffd, 0, 5)), 0);  // -3
  CHECK_EQ(other_word, 5);
  CHECK_EQ(futex(&one_word, wake_op, 1, two, &other_word, encode(2, 8, 0, 0)), 0);
  CHECK_EQ(other_word, 13);
  CHECK_EQ(futex(&one_word, wake_op, 1, two, &other_word, encode(3, 8, 0, 0)), 0);
  CHECK_EQ(other_word, 5);
  CHECK_EQ(futex(&one_word, wake_op, 1, two, &other_word, encode(4 | 8, 4, 0, 0)), 0);  // bit 4
  CHECK_EQ(other_word, 21);
  CHECK_EQ(futex(&one_word, wake_op, 1, two, &other_word, encode(0, 5, 0, 0)), 0);
  CHECK_EQ(other_word, 5);
  CHECK_ERRNO(futex(&one_word, wake_op, 1, two, &other_word, encode(5, 5, 0, 0)), ENOSYS);
  CHECK_ERRNO(futex(&one_word, wake_op, 1, two, nullptr, encode(0, 5, 0, 0)), EFAULT);

  woken_up = 0;
  const pthread_t threads[] = {start(wait_at_one, nullptr), start(wait_at_one, nullptr), start(wait_at_other, nullptr),
                               start(wait_at_other, nullptr)};
  check_sleep_us(300000);  // until they wait
  CHECK_EQ(futex(&one_word, wake_op, 1, two, &other_word, encode(1, 0, 1, 5)), 1);  // the second does not compare
  CHECK_EQ(futex(&one_word, wake_op, 1, two, &other_word, encode(1, 1, 0, 5)), 3);
  for (const pthread_t thread : threads) join(thread);
  CHECK_EQ(woken_up, 4);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("wakeoptest", argc, argv);
  test_wake_op();
  return check_done();
}
