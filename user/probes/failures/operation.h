// What failures.cpp lets fail: an operation is a few calls that belong together, made by a child of the program.
#pragma once

#include "tests/check.h"

namespace failures {

struct Operation {
  const char* name;
  // Makes the calls: -1 and errno, or anything else when all went well. What it has made it takes away again, or `undo` does.
  long (*act)();
  void (*undo)() = nullptr;  // no allocation fails in it
  bool executes = false;  // it does not come back when it goes well: its exit status is 0 then
  void (*prepare)() = nullptr;  // before; no allocation fails in it either
  long settles_us = 0;  // after this time nothing is left of what it began
};

class Operations {
 public:
  template <int Count>
  Operations(const Operation (&of)[Count]) : begin_{of}, end_{of + Count} {}
  const Operation* begin() const { return begin_; }
  const Operation* end() const { return end_; }

 private:
  const Operation* begin_;
  const Operation* end_;
};

Operations process_operations();
Operations memory_operations();
Operations message_operations();
Operations event_operations();
Operations mount_operations();  // of the disk that the environment variable DISK names, on /mnt
Operations file_operations();  // in the working directory

// For the middle of an operation: answers -1 where a call did.
#define TRY_CALL(call) \
  if ((call) == -1) return -1

// The error of a call that returns it.
inline long from_error(int error) {
  errno = error;
  return error == 0 ? 0 : -1;
}

// Closes with errno kept.
struct Descriptor {
  explicit Descriptor(int its_number) : number{its_number} {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    const int error = errno;
    if (number >= 0) close(number);
    errno = error;
  }
  operator int() const { return number; }
  int number;
};

}  // namespace failures
