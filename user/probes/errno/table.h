// The table of system calls and arguments that errnotest tries: a row is a call with good arguments, and with the values
// that each argument takes in its turn while the others stay good.
#pragma once

#include <limits.h>
#include <stddef.h>

#include <initializer_list>

namespace errnotest {

// One value of an argument; a label says what it is, and without one the number does.
struct Value {
  const char* label;
  long value;
};

// What one argument takes.
struct Argument {
  const char* name = nullptr;
  long good = 0;
  const Value* values = nullptr;  // the others
  int count = 0;
};

constexpr int most_arguments = 6;

struct Row {
  long number = 0;
  const char* name = nullptr;
  bool changes = false;   // files or memory: put in order again before each case
  bool harmless = true;   // the call with good arguments alone may be made, too
  int arguments = 0;
  Argument argument[most_arguments];
};

class Table {
 public:
  // The row can be marked afterwards: `table.add(…).changes = true`.
  template <typename... A>
  Row& add(long number, const char* name, const A&... arguments) {
    Row& row = next();
    row.number = number;
    row.name = name;
    ((row.argument[row.arguments++] = arguments), ...);
    return row;
  }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] const Row& operator[](int index) const { return rows_[index]; }

 private:
  static constexpr int most = 800;
  Row& next();
  Row rows_[most];
  int size_ = 0;
};

// ---- kinds of arguments --------------------------------------------------------------------------------------------------

// Descriptors of the fixture, all non-blocking.
enum Descriptor : int {
  fd_file = 100,  // for reading and writing
  fd_reading,
  fd_writing,
  fd_directory,
  fd_path,  // O_PATH
  fd_pipe_end,  // to read from; 64 bytes are in it
  fd_pipe_begin,
  fd_socket,  // connected, stream
  fd_datagram,
  fd_listening,
  fd_event,
  fd_epoll,
  fd_timer,
  fd_null,
  fd_zero,
  fd_end,
};

Argument fd(int good);                   // an open file
Argument directory_fd();                 // AT_FDCWD is good
Argument path(const char* good);         // names of all sorts, and bad pointers
Argument in(const void* good);           // a pointer from which the kernel reads
Argument out();                          // one to which it writes, one page of room
Argument out_or_null();                  // the same, null is good
Argument length(long good);              // 0, negative, huge
Argument offset(long good);
Argument bits(long good);                // each bit alone
Argument process(long good);             // identities of processes
Argument signal_number(long good);
Argument size_of_set();                  // the size of a signal set: 8 is good
Argument area();                         // an address of a mapping, for calls about memory
Argument same(long good);                // never varied

// The good value first, then the others.
Argument numbers_of(const long* values, int count);
template <typename... N>
Argument choice(N... values) {
  const long all[] = {static_cast<long>(values)...};
  return numbers_of(all, static_cast<int>(sizeof...(values)));
}

// ---- the fixture ---------------------------------------------------------------------------------------------------------

void make_values();   // once, before the rows are added
void make_fixture();  // descriptors, files, memory: in each child

// Files, directory and memory as at the beginning.
void restore();

// ---- rows ----------------------------------------------------------------------------------------------------------------

void add_file_rows(Table& table);
void add_path_rows(Table& table);
void add_memory_rows(Table& table);
void add_process_rows(Table& table);
void add_time_rows(Table& table);
void add_event_rows(Table& table);

}  // namespace errnotest
