// berth: the command line of renters, hosts, agents and operators.
#include "cli/context.hpp"

int main(int count, char** arguments) {
    return berth::cli::run({arguments + 1, arguments + count});
}
