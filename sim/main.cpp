// corral-sim FILE CORES ALGORITHM PLACEMENT MIGRATION GROUPS QUEUES SEED: simulates, and prints what it was like as JSON.
// `./corral simulate` is for people.
// CORES 0: as the file says. corral-sim --replay FILE: makes the decisions in a recording of the kernel's again (replay.h).
// Status 2: the file or a name is wrong, said on the standard error output.
#include <charconv>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

#include "replay.h"
#include "report.h"

namespace {

using namespace corral;

u64 number_of(const char* text, u64 highest) {
  u64 value = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc{} || stop != end || value > highest)
    throw std::invalid_argument{std::string{text} + ": no such number"};
  return value;
}

std::string content_of(const char* name) {
  std::ifstream file{name, std::ios::binary};
  if (!file) throw std::invalid_argument{"it cannot be read"};
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

int replay(const char* name) {
  const std::string content = content_of(name);
  std::vector<trace::Record> records(content.size() / sizeof(trace::Record));
  if (content.empty() || content.size() % sizeof(trace::Record) != 0)
    throw std::invalid_argument{"these are not whole records"};
  std::memcpy(records.data(), content.data(), content.size());
  sim::write_replay(std::cout, sim::replay(records));
  return 0;
}

int simulate(char** arguments) {
  const auto cores = static_cast<u32>(number_of(arguments[2], max_cores));
  const u64 seed = number_of(arguments[8], ~u64{0});
  const sim::Experiment experiment = sim::read_workload(content_of(arguments[1]), cores);
  const sim::PolicyNames names{arguments[3], arguments[4], arguments[5], arguments[6], arguments[7]};
  const auto begin = std::chrono::steady_clock::now();
  sim::Machine machine{experiment, names, seed};
  machine.run();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  sim::write_report(std::cout, machine, experiment, names, seed, took.count());
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const bool replays = count == 3 && std::strcmp(arguments[1], "--replay") == 0;
  if (!replays && count != 9) {
    std::cerr << "usage: corral-sim FILE CORES ALGORITHM PLACEMENT MIGRATION GROUPS QUEUES SEED, or corral-sim --replay FILE\n";
    return 2;
  }
  try {
    if (replays) return replay(arguments[2]);
    return simulate(arguments);
  } catch (const std::exception& problem) {
    std::cerr << problem.what() << '\n';
    return 2;
  }
}
