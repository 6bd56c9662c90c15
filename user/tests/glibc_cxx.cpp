// A static glibc program in ordinary modern C++: std::thread, mutexes, condition variables, barrier, latch, semaphore,
// atomic wait, async, thread_local, exceptions (across threads too), iostream, chrono and containers.

#include "tests/check.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <fstream>
#include <future>
#include <iostream>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <semaphore>
#include <shared_mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

template <typename Body>
void in_threads(int count, Body body) {
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(count));
  for (int index = 0; index < count; ++index) { threads.emplace_back(body, index); }
  for (auto& thread : threads) { thread.join(); }
}

void test_mutex() {
  std::mutex mutex;
  std::shared_mutex shared;
  std::recursive_timed_mutex timed;
  long counter = 0;
  std::map<int, std::string> names;
  in_threads(16, [&](int self) {
    for (long step = 0; step < 500 * check_effort; ++step) {
      const std::lock_guard lock(mutex);
      ++counter;
    }
    {
      const std::unique_lock lock(shared);
      names[self] = "thread " + std::to_string(self);
    }
    const std::shared_lock lock(shared);
    CHECK(names.at(self) == "thread " + std::to_string(self));
  });
  CHECK_EQ(counter, 16 * 500 * check_effort);
  CHECK_EQ(names.size(), 16);

  timed.lock();
  CHECK(timed.try_lock());
  in_threads(1, [&](int) { CHECK(!timed.try_lock_for(5ms)); });
  timed.unlock();
  timed.unlock();
}

void test_condition_variable() {
  std::mutex mutex;
  std::condition_variable not_empty;
  std::condition_variable not_full;
  std::deque<long> queue;
  std::atomic<long> sum = 0;
  const long each = 200 * check_effort;
  in_threads(8, [&](int self) {
    for (long value = 1; value <= each; ++value) {
      std::unique_lock lock(mutex);
      if (self % 2 == 0) {
        not_full.wait(lock, [&] { return queue.size() < 3; });
        queue.push_back(value);
        not_empty.notify_one();
      } else {
        not_empty.wait(lock, [&] { return !queue.empty(); });
        sum += queue.front();
        queue.pop_front();
        not_full.notify_one();
      }
    }
  });
  CHECK_EQ(sum.load(), 4 * each * (each + 1) / 2);

  std::unique_lock lock(mutex);
  const auto begin = std::chrono::steady_clock::now();
  CHECK(not_empty.wait_for(lock, 10ms) == std::cv_status::timeout);
  CHECK(std::chrono::steady_clock::now() - begin >= 10ms);
}

void test_barrier_latch_semaphore() {
  constexpr int members = 6;
  int completions = 0;
  std::atomic<int> arrived = 0;
  std::barrier barrier(members, [&]() noexcept { ++completions; });
  std::latch latch(members);
  std::counting_semaphore<2> semaphore(2);
  std::atomic<int> inside = 0;
  in_threads(members, [&](int) {
    for (int round = 1; round <= 20; ++round) {
      ++arrived;
      barrier.arrive_and_wait();
      CHECK_EQ(completions, 2 * round - 1);
      CHECK_EQ(arrived.load(), members * round);
      barrier.arrive_and_wait();
    }
    semaphore.acquire();
    CHECK(++inside <= 2);
    std::this_thread::sleep_for(1ms);
    --inside;
    semaphore.release();
    latch.arrive_and_wait();
  });
  CHECK_EQ(completions, 40);
  CHECK(latch.try_wait());

  std::atomic<int> word = 0;
  std::thread waiter([&] {
    word.wait(0);
    CHECK_EQ(word.load(), 1);
    word = 2;
    word.notify_all();
  });
  std::this_thread::sleep_for(1ms);
  word = 1;
  word.notify_all();
  word.wait(1);
  CHECK_EQ(word.load(), 2);
  waiter.join();
}

void test_async() {
  std::vector<std::future<long>> parts;
  for (long part = 0; part < 16; ++part) {
    parts.push_back(std::async(std::launch::async, [part] {
      std::vector<long> values(1000);
      std::iota(values.begin(), values.end(), part * 1000);
      return std::accumulate(values.begin(), values.end(), 0L);
    }));
  }
  long sum = 0;
  for (auto& part : parts) { sum += part.get(); }
  CHECK_EQ(sum, 16000L * 15999 / 2);

  auto deferred = std::async(std::launch::deferred, [] { return std::this_thread::get_id(); });
  CHECK(deferred.get() == std::this_thread::get_id());

  std::promise<std::string> promise;
  auto future = promise.get_future();
  CHECK(future.wait_for(1ms) == std::future_status::timeout);
  std::thread setter([&] { promise.set_value("kept"); });
  CHECK(future.get() == "kept");
  setter.join();
}

struct Tracked {
  inline static std::atomic<int> alive = 0;
  std::string name;
  Tracked() : name("a name that is too long for the small string buffer") { ++alive; }
  ~Tracked() { --alive; }
};

thread_local Tracked tracked;
thread_local int number = 7;

void test_thread_local() {
  CHECK(!tracked.name.empty());
  in_threads(12, [](int self) {
    CHECK_EQ(number, 7);
    number += self;
    tracked.name = std::to_string(self);
    std::this_thread::yield();
    CHECK_EQ(number, 7 + self);
    CHECK(tracked.name == std::to_string(self));
  });
  CHECK_EQ(number, 7);
  CHECK_EQ(Tracked::alive.load(), 1);
}

[[noreturn]] void throw_deep(int depth) {
  const Tracked guard;
  if (depth == 0) { throw std::runtime_error("from the depth"); }
  throw_deep(depth - 1);
}

void test_exceptions() {
  const int before = Tracked::alive;
  bool caught = false;
  try {
    throw_deep(20);
  } catch (const std::exception& error) { caught = std::string(error.what()) == "from the depth"; }
  CHECK(caught);
  CHECK_EQ(Tracked::alive.load(), before);

    // Thrown in many threads at once, caught in another one.
  std::vector<std::future<int>> futures;
  for (int index = 0; index < 12; ++index) {
    futures.push_back(std::async(std::launch::async, [index]() -> int {
      for (int turn = 0; turn < 20; ++turn) {
        try {
          throw_deep(5);
        } catch (const std::runtime_error&) {}
      }
      throw std::out_of_range(std::to_string(index));
    }));
  }
  for (int index = 0; index < 12; ++index) {
    std::string message;
    try {
      futures[static_cast<size_t>(index)].get();
    } catch (const std::out_of_range& error) { message = error.what(); }
    CHECK(message == std::to_string(index));
  }
}

void test_chrono() {
  const auto steady = std::chrono::steady_clock::now();
  const auto system = std::chrono::system_clock::now();
  std::this_thread::sleep_for(5ms);
  std::this_thread::sleep_until(std::chrono::steady_clock::now() + 5ms);
  CHECK(std::chrono::steady_clock::now() - steady >= 10ms);
  CHECK(std::chrono::system_clock::now() - system >= 9ms);
}

void test_streams() {
  std::ostringstream text;
  text << 42 << ' ' << 2.5 << ' ' << std::hex << 255 << ' ' << std::boolalpha << true;
  CHECK(text.str() == "42 2.5 ff true");
  std::istringstream words("17 x 3.25");
  int whole = 0;
  char letter = 0;
  double real = 0;
  words >> whole >> letter >> real;
  CHECK(whole == 17 && letter == 'x' && real == 3.25);

  const std::string path = "/tmp/glibc_cxx." + std::to_string(getpid());
  {
    std::ofstream file(path);
    for (int line = 0; line < 1000; ++line) { file << "line " << line << '\n'; }
    CHECK(file.good());
  }
  std::ifstream file(path);
  std::string line;
  int lines = 0;
  while (std::getline(file, line)) {
    CHECK(line == "line " + std::to_string(lines));
    ++lines;
  }
  CHECK_EQ(lines, 1000);
  CHECK_EQ(unlink(path.c_str()), 0);
  CHECK(!std::ifstream("/nowhere/at/all").is_open());

  std::cout << "glibc_cxx: cores=" << std::thread::hardware_concurrency() << std::endl;
  CHECK(std::cout.good());
  CHECK(std::thread::hardware_concurrency() > 0);
}

void test_memory() {
  in_threads(8, [](int self) {
    std::vector<std::unique_ptr<std::vector<int>>> blocks;
    for (int round = 0; round < 200; ++round) {
      blocks.push_back(std::make_unique<std::vector<int>>(static_cast<size_t>(1 + round * 37 % 5000), self));
      if (round % 3 == 0) { blocks.erase(blocks.begin() + static_cast<long>(blocks.size() / 2)); }
    }
    for (const auto& block : blocks) {
      CHECK(std::ranges::all_of(*block, [self](int value) { return value == self; }));
    }
  });
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("glibc_cxx", argc, argv);
  test_mutex();
  test_condition_variable();
  test_barrier_latch_semaphore();
  test_async();
  test_thread_local();
  test_exceptions();
  test_chrono();
  test_streams();
  test_memory();
  return check_done();
}
