// Running the kernel's lock-free sources under the Relacy model checker, and the mutation gate over them.
//
// ModelAtomic has the interface of lib/atomic.h over rl::atomic. Each place in the source that names a memory order is
// known by its file, line and column, so one program can weaken one place at a time without being compiled again.
//
// The gate (check_and_mutate): first the structure as it is shipped must pass; then for each place each weaker
// order must make a model fail, or waivers.txt must say why not. A place that no model reaches, and a waiver that is
// no longer true, are failures too.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <ostream>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lib/atomic.h"
#include "lib/types.h"

#include <relacy/relacy.hpp>  // last: it redefines new, delete and assert as macros
#undef new
#undef delete
#undef assert

namespace corral::model {

struct Place {
  const char* file = "";
  unsigned line = 0;
  unsigned column = 0;
  int argument = 0;  // the second order of a compare-exchange is 1
  Order order = Order::relaxed;
  [[nodiscard]] bool same(const std::source_location& where, int which) const {
    return line == where.line() && column == where.column() && argument == which && std::string_view{file} == where.file_name();
  }
};

inline const char* name_of(Order order) {
  switch (order) {
    case Order::relaxed: return "relaxed";
    case Order::acquire: return "acquire";
    case Order::release: return "release";
    case Order::acq_rel: return "acq_rel";
    case Order::seq_cst: return "seq_cst";
  }
  return "?";
}

// Which places were met, and which one is weakened at the moment.
class Gate {
 public:
  static Gate& get() {
    static Gate gate;
    return gate;
  }
  rl::memory_order apply(Order order, const std::source_location& where, int argument) {
    if (order == Order::relaxed) return rl::mo_relaxed;
    size_t index = 0;
    while (index < count && !places[index].same(where, argument)) ++index;
    if (index == limit) throw std::length_error("more places with memory orders than the gate has room for");
    if (index == count) places[count++] = {where.file_name(), where.line(), where.column(), argument, order};
    if (index == mutant) order = weaker;
    switch (order) {
      case Order::relaxed: return rl::mo_relaxed;
      case Order::acquire: return rl::mo_acquire;
      case Order::release: return rl::mo_release;
      case Order::acq_rel: return rl::mo_acq_rel;
      case Order::seq_cst: break;
    }
    return rl::mo_seq_cst;
  }
  static constexpr size_t limit = 64;  // fixed: within an execution, new and delete are the model checker's
  Place places[limit] = {};
  size_t count = 0;
  size_t mutant = none;
  Order weaker = Order::relaxed;
  static constexpr size_t none = ~size_t{0};
};

inline rl::debug_info info_of(const std::source_location& where) {
  return rl::debug_info{where.function_name(), where.file_name(), where.line()};
}

template <class T>
class ModelAtomic {
  using Where = std::source_location;

 public:
  ModelAtomic() = default;
  explicit ModelAtomic(T value) : value_{value} {}

  T load(Order order, Where where = Where::current()) const {
    return value_.load(Gate::get().apply(order, where, 0), info_of(where));
  }
  void store(T value, Order order, Where where = Where::current()) {
    value_.store(value, Gate::get().apply(order, where, 0), info_of(where));
  }
  T exchange(T value, Order order, Where where = Where::current()) {
    return value_.rmw(rl::rmw_type_t<rl::rmw_type_swap>(), value, Gate::get().apply(order, where, 0), info_of(where));
  }
  bool compare_exchange(T& expected, T desired, Order success, Order failure, Where where = Where::current()) {
    const rl::memory_order good = Gate::get().apply(success, where, 0);
    const rl::memory_order bad = Gate::get().apply(failure, where, 1);
    return value_.compare_exchange(rl::bool_t<false>(), expected, desired, good, bad, info_of(where));
  }

 private:
  rl::atomic<T> value_;
};

// A plain variable: two accesses that are not ordered, one of them a write, are an error.
template <class T>
class Plain {
  using Where = std::source_location;

 public:
  Plain() = default;
  explicit Plain(T value) { set(value); }
  Plain(const Plain& other) { *this = other; }
  Plain& operator=(const Plain& other) {
    set(other.get());
    return *this;
  }
  Plain& operator=(T value) {
    set(value);
    return *this;
  }
  operator T() const { return get(); }  // to be used like a T
  [[nodiscard]] T get(Where where = Where::current()) const { return value_(info_of(where)).load(); }
  void set(T value, Where where = Where::current()) { value_(info_of(where)).store(value); }

 private:
  mutable rl::var<T> value_;
};

inline void pause() {
  rl::yield(1, info_of(std::source_location::current()));
}

struct Effort {
  rl::scheduler_type_e search = rl::sched_random;
  unsigned iterations = 20'000;
  unsigned context_bound = 2;
};

// Keeps the beginning of what is written, without allocating (see Gate::limit).
class Report final : public std::streambuf {
 public:
  Report() { setp(text_, text_ + sizeof text_); }
  [[nodiscard]] std::string text() const { return {pbase(), pptr()}; }

 private:
  int overflow(int character) override { return character; }  // the rest is dropped
  char text_[64 * 1024];
};

// Runs the model; true when no execution went wrong.
template <class Model>
bool passes(const Effort& effort, std::string* report = nullptr) {
  Report buffer;
  std::ostream output{&buffer};
  rl::test_params parameters;
  parameters.iteration_count = effort.iterations;
  parameters.search_type = effort.search;
  parameters.context_bound = effort.context_bound;
  parameters.execution_depth_limit = 4000;
  parameters.output_stream = &output;
  parameters.progress_stream = &output;
  parameters.progress_output_period = 1'000'000;
  const bool good = rl::simulate<Model>(parameters);
  if (report != nullptr) { *report = buffer.text() + "\nafter " + std::to_string(parameters.stop_iteration) + " executions"; }
  return good;
}

// Goes through all executions, or all with at most `context_bound` forced switches; how many there were.
template <class Model>
void search_all(rl::scheduler_type_e search, unsigned context_bound = 0) {
  constexpr unsigned limit = 5'000'000;
  std::string report;
  ASSERT_TRUE(passes<Model>({.search = search, .iterations = limit, .context_bound = context_bound}, &report)) << report;
  const std::string count = report.substr(report.rfind("after ") + 6);
  std::cout << "searched " << count << std::endl;
  ASSERT_LT(std::stoul(count), limit) << "the search did not come to its end";
}

// ---- the gate --------------------------------------------------------------------------------------------------

inline std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file{path};
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// The source line of a place, without indentation and comment.
inline std::string text_of(const Place& place) {
  const std::vector<std::string> lines = lines_of(place.file);
  std::string text = place.line >= 1 && place.line <= lines.size() ? lines[place.line - 1] : "";
  if (const size_t comment = text.find("  //"); comment != std::string::npos) text.erase(comment);
  text.erase(0, text.find_first_not_of(' '));
  return text;
}

inline std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

inline std::string describe(const Place& place, Order weaker) {
  return base_name(place.file) + " | " + text_of(place) + " | " + name_of(place.order) + " -> " + name_of(weaker);
}

// How many orders stronger than relaxed the code of a header names, comments left out.
inline size_t orders_in(const std::string& path) {
  size_t count = 0;
  for (std::string line : lines_of(path)) {
    if (const size_t comment = line.find("//"); comment != std::string::npos) line.erase(comment);
    for (const std::string strong : {"Order::acquire", "Order::release", "Order::acq_rel", "Order::seq_cst"}) {
      for (size_t at = line.find(strong); at != std::string::npos; at = line.find(strong, at + 1)) ++count;
    }
  }
  return count;
}

inline std::vector<Order> weaker_than(Order order) {
  switch (order) {
    case Order::acquire:
    case Order::release: return {Order::relaxed};
    case Order::acq_rel: return {Order::acquire, Order::release};
    case Order::seq_cst: return {Order::acq_rel};
    case Order::relaxed: break;
  }
  return {};
}

// `header`: path from the repository's root of the source under test. `models`: each says whether it passes, with
// the mutant that is set at the moment.
template <class... Models>
void check_and_mutate(const std::string& header, const Effort& shipped, const Effort& mutated) {
  Gate& gate = Gate::get();
  gate = {};
  std::string report;
  const auto check = [&]<class Model>() { ASSERT_TRUE(passes<Model>(shipped, &report)) << report; };
  (check.template operator()<Models>(), ...);
  if (testing::Test::HasFatalFailure()) return;

  const std::string path = std::string{CORRAL_ROOT} + "/" + header;
  size_t places_here = 0;
  std::vector<std::string> waivers;
  for (const std::string& line : lines_of(std::string{CORRAL_ROOT} + "/tests/host/relacy/waivers.txt")) {
    if (!line.empty() && line[0] != '#') waivers.push_back(line);
  }
  const std::vector<Place> places{gate.places, gate.places + gate.count};
  for (size_t i = 0; i < places.size(); ++i) {
    if (base_name(places[i].file) != base_name(header)) continue;  // another structure's, which has its own gate
    ++places_here;
    for (const Order weaker : weaker_than(places[i].order)) {
      gate.mutant = i;
      gate.weaker = weaker;
      const bool caught = !(passes<Models>(mutated) && ...);
      const std::string name = describe(places[i], weaker);
      const bool waived = std::ranges::any_of(waivers, [&](const std::string& w) { return w.starts_with(name + " | "); });
      EXPECT_TRUE(caught || waived) << "not caught by any model: " << name;
      EXPECT_FALSE(caught && waived) << "caught, so the waiver is no longer true: " << name;
      std::cout << (caught ? "caught: " : "not caught: ") << name << std::endl;
    }
  }
  gate.mutant = Gate::none;
  EXPECT_EQ(places_here, orders_in(path)) << "orders in " << header << " that no model reaches";
  EXPECT_GT(places_here, 0u);
}

}  // namespace corral::model
