// The first process of a container whose product is SSH.
#pragma once

// Starts `command` (which may be empty) as a child, reaps whatever loses its parent, and hands
// SIGTERM on to everything. A command that ends with 0 within seconds was a shell that found no
// terminal: then we stay, for those who come by SSH, until we are told to end. What ends later, or
// with a fault, ends the container with its status.
int run_as_init(char** command);
