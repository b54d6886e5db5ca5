// The test of this machine, as the server asks for it: every check with what was found, what is
// asked for and what to do about it. What was not measured is never passed; the server judges.
#pragma once

#include <boost/describe.hpp>
#include <mutex>
#include <thread>

#include "host_agent/core/host.hpp"
#include "host_agent/core/link.hpp"
#include "host_agent/core/shared_counters.hpp"
#include "http/server.hpp"

namespace berth::host_agent {

struct TestLimits {
    wire::Decimal min_vram_bytes;
    wire::Decimal min_ram_bytes;
    wire::Decimal min_disk_bytes;
};
BOOST_DESCRIBE_STRUCT(TestLimits, (), (min_vram_bytes, min_ram_bytes, min_disk_bytes))

struct QualifyOrder {
    std::string run_id;
    std::string seed;
    std::string endpoint_token;
    wire::Object limits;  // TestLimits
};
BOOST_DESCRIBE_STRUCT(QualifyOrder, (), (run_id, seed, endpoint_token, limits))

struct CheckSaid {
    std::string id;
    std::string status;  // pass, fail, warn, skipped
    std::optional<wire::Json> actual;
    std::optional<wire::Json> required;
    std::optional<std::string> unit;
    std::optional<std::string> summary;
    std::optional<std::string> remediation;
};
BOOST_DESCRIBE_STRUCT(CheckSaid, (), (id, status, actual, required, unit, summary, remediation))

struct MeasurementsSaid {
    std::optional<wire::Decimal> vram_bytes;
    std::optional<wire::Decimal> ram_bytes;
    std::optional<wire::Decimal> disk_bytes;
    std::optional<wire::Integer<1, 65536>> cpu_cores;
    std::optional<double> download_mbps;
    std::optional<double> upload_mbps;
    std::optional<double> gpu_mem_bw_gbps;
    std::optional<double> tflops;
    std::optional<double> pcie_gbps;
};
BOOST_DESCRIBE_STRUCT(MeasurementsSaid, (),
                      (vram_bytes, ram_bytes, disk_bytes, cpu_cores, download_mbps, upload_mbps,
                       gpu_mem_bw_gbps, tflops, pcie_gbps))

struct EndpointOfTest {
    std::string host;
    wire::Count port;
};
BOOST_DESCRIBE_STRUCT(EndpointOfTest, (), (host, port))

struct TestSaid {
    wire::Decimal fence;
    std::vector<CheckSaid> checks;
    MeasurementsSaid measurements;
    wire::Nullable<EndpointOfTest> endpoint;
};
BOOST_DESCRIBE_STRUCT(TestSaid, (), (fence, checks, measurements, endpoint))

// The checks of the cards alone, from what was found and measured: a pure function.
void judge_cards(const gpu::Inventory& inventory, const std::vector<gpu::User>& users,
                 const std::vector<gpu::Measurement>& measured, std::int64_t min_vram_bytes,
                 TestSaid& said);
CheckSaid judge_wipes(const std::vector<gpu::Wipe>& wipes);

class Qualification {
public:
    struct Parts {
        Link& link;
        SharedCounters& counters;
        gpu::Gpus& gpus;
        Runtime& runtime;
        Settings settings;
        std::string folder;  // whose disk jobs use
    };
    explicit Qualification(Parts parts) : parts_(std::move(parts)) {}

    // On a thread of its own. False while another run is in progress; the same one again is fine.
    bool begin(const QualifyOrder& order);
    // Closes the door that the server knocked at, once it has had the time to.
    void tidy();

private:
    class Door;
    void run(const QualifyOrder& order);
    void measure_host(const TestLimits& limits, TestSaid& said);
    void measure_network(TestSaid& said);
    std::optional<double> megabits(bool is_upload);
    void open_door(const QualifyOrder& order, TestSaid& said);
    void send(const QualifyOrder& order, const TestSaid& said);

    Parts parts_;
    std::mutex mutex_;
    std::string running_;  // its run_id
    std::shared_ptr<Door> door_;
};

}  // namespace berth::host_agent
