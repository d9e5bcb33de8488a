// SystemC's side of sim_vs_systemc. Processes of a scenario wait for its start event, wake by their period until the
// scenario's events are used up, and wait again, so that one elaborated model serves every scenario and repetition.
#include "bench/systemc_peer.h"

#include <memory>
#include <string>
#include <systemc>
#include <vector>

namespace bench {
namespace {

struct Scenario {
    sc_core::sc_event start;
    std::uint64_t left = 0;
    std::uint64_t done = 0;
};

class MethodProcess : public sc_core::sc_module {
public:
    SC_HAS_PROCESS(MethodProcess);
    MethodProcess(const sc_core::sc_module_name& name, Scenario& scenario, std::uint64_t period)
        : sc_module(name), scenario_(scenario), period_(static_cast<double>(period), sc_core::SC_PS) {
        SC_METHOD(step);
        dont_initialize();
        sensitive << scenario_.start;
    }

private:
    void step() {
        if (scenario_.left == 0) return;
        --scenario_.left;
        ++scenario_.done;
        next_trigger(period_);
    }
    Scenario& scenario_;
    sc_core::sc_time period_;
};

class ThreadProcess : public sc_core::sc_module {
public:
    SC_HAS_PROCESS(ThreadProcess);
    ThreadProcess(const sc_core::sc_module_name& name, Scenario& scenario, std::uint64_t period)
        : sc_module(name), scenario_(scenario), period_(static_cast<double>(period), sc_core::SC_PS) {
        SC_THREAD(loop);
        set_stack_size(64 * 1024);
    }

private:
    void loop() {
        for (;;) {
            wait(scenario_.start);
            while (scenario_.left > 0) {
                --scenario_.left;
                ++scenario_.done;
                wait(period_);
            }
        }
    }
    Scenario& scenario_;
    sc_core::sc_time period_;
};

struct Model {
    Scenario scenarios[2][2];  // by kind, by process count
    std::vector<std::unique_ptr<sc_core::sc_module>> modules;
};

Model& model() {
    static Model instance;
    return instance;
}

Scenario& scenario_of(Kind kind, unsigned processes) {
    return model().scenarios[kind == Kind::Fiber ? 1 : 0][processes == 1000 ? 1 : 0];
}

}  // namespace

void systemc_build() {
    sc_core::sc_set_time_resolution(1, sc_core::SC_PS);
    for (Kind kind : {Kind::Callback, Kind::Fiber}) {
        for (unsigned processes : {16u, 1000u}) {
            for (unsigned i = 0; i < processes; ++i) {
                std::string name = (kind == Kind::Fiber ? "thread_" : "method_") + std::to_string(processes) + "_" +
                                   std::to_string(i);
                Scenario& scenario = scenario_of(kind, processes);
                if (kind == Kind::Fiber) {
                    model().modules.push_back(std::make_unique<ThreadProcess>(name.c_str(), scenario, period_ps(i)));
                } else {
                    model().modules.push_back(std::make_unique<MethodProcess>(name.c_str(), scenario, period_ps(i)));
                }
            }
        }
    }
    sc_core::sc_start(sc_core::SC_ZERO_TIME);  // the threads reach their first wait
}

std::uint64_t systemc_run(Kind kind, unsigned processes, std::uint64_t events) {
    Scenario& scenario = scenario_of(kind, processes);
    scenario.left = events;
    scenario.done = 0;
    scenario.start.notify(sc_core::sc_time(1, sc_core::SC_PS));
    sc_core::sc_start();
    return scenario.done;
}

}  // namespace bench

int sc_main(int, char**) { return bench::bench_main(); }
