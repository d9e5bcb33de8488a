// One pipe a worker; an answer is a length of eight bytes and the text. The parent reads them in the order of seeds, so
// a worker that is far ahead waits for its pipe to drain.
#include "guest_harness/cli/seed_workers.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <vector>

#include "sim/check.h"

namespace harness::cli {

namespace {

constexpr u64 kAnswerBytesMax = 1 << 20;

bool write_all(int to, const char* bytes, std::size_t count) {
    while (count != 0) {
        const ssize_t wrote = write(to, bytes, count);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return false;
        bytes += wrote;
        count -= static_cast<std::size_t>(wrote);
    }
    return true;
}

bool read_all(int from, char* bytes, std::size_t count) {
    while (count != 0) {
        const ssize_t got = read(from, bytes, count);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        bytes += got;
        count -= static_cast<std::size_t>(got);
    }
    return true;
}

class Worker {
public:
    Worker() = default;
    ~Worker() { stop(); }
    Worker(Worker&& other) noexcept : process_(other.process_), from_(other.from_) {
        other.process_ = 0;
        other.from_ = -1;
    }
    Worker& operator=(const Worker&) = delete;
    Worker(const Worker&) = delete;

    // Works on the seeds at index, index + stride, ...
    void start(const SeedRange& seeds, u64 index, u64 stride, const std::function<std::string(u64)>& work,
               const std::vector<Worker>& others) {
        int ends[2];
        if (pipe(ends) != 0) throw sim::HostError(fmt::format("no pipe: {}", std::strerror(errno)));
        std::fflush(nullptr);
        const pid_t process = fork();
        if (process < 0) {
            close(ends[0]);
            close(ends[1]);
            throw sim::HostError(fmt::format("no process: {}", std::strerror(errno)));
        }
        if (process == 0) {
            for (const Worker& other : others)
                if (other.from_ >= 0) close(other.from_);
            close(ends[0]);
            for (u64 i = index; i < seeds.count; i += stride) {
                const std::string answer = work(seeds.at(i)).substr(0, kAnswerBytesMax);
                std::array<char, 8> length{};
                for (std::size_t b = 0; b < length.size(); ++b) length[b] = static_cast<char>(answer.size() >> (8 * b));
                if (!write_all(ends[1], length.data(), length.size()) ||
                    !write_all(ends[1], answer.data(), answer.size()))
                    break;
                if (seeds.count - i <= stride) break;
            }
            _exit(0);
        }
        close(ends[1]);
        process_ = process;
        from_ = ends[0];
    }
    bool running() const { return process_ != 0; }
    std::optional<std::string> next() {
        std::array<char, 8> bytes{};
        if (!read_all(from_, bytes.data(), bytes.size())) return std::nullopt;
        u64 length = 0;
        for (std::size_t b = 0; b < bytes.size(); ++b) length |= u64{static_cast<u8>(bytes[b])} << (8 * b);
        if (length > kAnswerBytesMax) return std::nullopt;
        std::string answer(length, '\0');
        return read_all(from_, answer.data(), answer.size()) ? std::optional<std::string>(std::move(answer))
                                                             : std::nullopt;
    }
    void stop() {
        if (process_ == 0) return;
        close(from_);
        kill(process_, SIGKILL);
        while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
        }
        process_ = 0;
        from_ = -1;
    }

private:
    pid_t process_ = 0;
    int from_ = -1;
};

}  // namespace

void run_seeds(const SeedRange& seeds, u64 workers, const std::function<std::string(u64)>& work,
               const std::function<void(u64, const std::optional<std::string>&)>& take) {
    SIM_CHECK(workers >= 1 && workers <= kWorkersMax, workers);
    const u64 used = std::min(workers, seeds.count);
    std::vector<Worker> pool(used);
    for (u64 i = 0; i < used; ++i) pool[i].start(seeds, i, used, work, pool);
    for (u64 i = 0; i < seeds.count; ++i) {
        Worker& worker = pool[i % used];
        if (!worker.running()) worker.start(seeds, i, used, work, pool);
        const std::optional<std::string> answer = worker.next();
        if (!answer) worker.stop();
        take(seeds.at(i), answer);
    }
}

}  // namespace harness::cli
