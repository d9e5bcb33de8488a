// fork(2) with two pipes, read with poll(2) until both are closed. The time limit is the child's own alarm(2).
#include "guest_harness/cli/child.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "sim/check.h"

namespace harness::cli {

namespace {

constexpr std::size_t kSaidBytesMax = 64 << 10;
struct Pipe {
    int ends[2] = {-1, -1};
    Pipe() {
        if (pipe(ends) != 0) throw sim::HostError(fmt::format("no pipe: {}", std::strerror(errno)));
    }
    ~Pipe() {
        close_end(0);
        close_end(1);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    void close_end(int end) {
        if (ends[end] >= 0) close(ends[end]);
        ends[end] = -1;
    }
};

[[noreturn]] void be_child(const std::function<std::string()>& body, u64 seconds_max, Pipe& answer, Pipe& said) {
    if (seconds_max != 0) alarm(static_cast<unsigned>(std::min<u64>(seconds_max, 1'000'000)));
    dup2(said.ends[1], STDERR_FILENO);
    const std::string text = body() + '\0';  // the last byte says that it is whole
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t wrote = write(answer.ends[1], text.data() + done, text.size() - done);
        if (wrote <= 0) break;
        done += static_cast<std::size_t>(wrote);
    }
    _exit(0);
}

}  // namespace

ChildEnd run_in_child(const std::function<std::string()>& body, u64 seconds_max) {
    Pipe answer, said;
    std::fflush(nullptr);
    const pid_t process = fork();
    if (process < 0) throw sim::HostError(fmt::format("no process: {}", std::strerror(errno)));
    if (process == 0) be_child(body, seconds_max, answer, said);
    answer.close_end(1);
    said.close_end(1);
    ChildEnd end;
    pollfd open[] = {{answer.ends[0], POLLIN, 0}, {said.ends[0], POLLIN, 0}};
    while (open[0].fd >= 0 || open[1].fd >= 0) {
        if (poll(open, 2, -1) < 0 && errno != EINTR) break;
        for (int i = 0; i < 2; ++i) {
            if (open[i].fd < 0 || open[i].revents == 0) continue;
            char buffer[4096];
            const ssize_t got = read(open[i].fd, buffer, sizeof buffer);
            if (got <= 0) {
                open[i].fd = -1;
                continue;
            }
            std::string& text = i == 0 ? end.answer : end.said;
            if (i == 0 || text.size() < kSaidBytesMax) text.append(buffer, static_cast<std::size_t>(got));
        }
    }
    int status = 0;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
    end.timed_out = end.signal == SIGALRM;
    if (WIFEXITED(status)) end.status = WEXITSTATUS(status);
    end.answered = !end.timed_out && !end.answer.empty() && end.answer.back() == '\0';
    if (end.answered) end.answer.pop_back();
    return end;
}

}  // namespace harness::cli
