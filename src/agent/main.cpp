// berth-agent: turns a machine with a GPU into supply.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "agent/options.hpp"

namespace {

using namespace berth::agent;

int run(int count, char** words) {
    Options options;
    CLI::App program("The Berth host agent.", "berth-agent");
    program.require_subcommand(1);
    program.add_option("--state", options.state, "folder of identity, counters and jobs");
    CLI11_PARSE(program, count, words);
    return 0;
}

}  // namespace

int main(int count, char** words) { return run(count, words); }
