// A real sshd on a port of its own, with a host key of its own, for as long as it lives. It ends
// with the process that started it.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/folder.hpp"

namespace berth::test {

class SshServer {
public:
    explicit SshServer(int port) : port_(port) {
        const std::string key = folder_.path() + "/key";
        const pid_t made =
            start({"/usr/bin/ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key});
        int status = 0;
        if (::waitpid(made, &status, 0) != made || status != 0)
            throw std::runtime_error("ssh-keygen made no key");
        ::mkdir("/run/sshd", 0755);  // which root's sshd wants; others need none
        std::ofstream(folder_.path() + "/config")
            << "Port " << port_ << "\nListenAddress 127.0.0.1\nHostKey " << key
            << "\nPidFile none\nUsePAM no\nStrictModes no\n";
        server_ = start({"/usr/sbin/sshd", "-D", "-f", folder_.path() + "/config"});
    }
    ~SshServer() {
        ::kill(server_, SIGKILL);
        ::waitpid(server_, nullptr, 0);
    }
    SshServer(const SshServer&) = delete;
    SshServer& operator=(const SshServer&) = delete;

    int port() const { return port_; }
    std::string public_key_file() const { return folder_.path() + "/key.pub"; }

private:
    static pid_t start(const std::vector<std::string>& words) {
        std::vector<char*> arguments;
        for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
        arguments.push_back(nullptr);
        const pid_t child = ::fork();
        if (child != 0) return child;
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::execv(arguments[0], arguments.data());
        ::_exit(127);
    }

    TemporaryFolder folder_;
    int port_;
    pid_t server_ = -1;
};

}  // namespace berth::test
