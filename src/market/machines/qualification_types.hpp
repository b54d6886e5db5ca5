// What the owner reads of the test of a machine. What its agent is asked and reports is the
// protocol's.
#pragma once

#include "machines/types.hpp"

namespace berth::machines {

using agent_protocol::AnnouncedEndpoint;
using agent_protocol::Check;
using agent_protocol::checks_max;
using agent_protocol::CheckStatus;
using agent_protocol::Measurements;
using agent_protocol::QualifyPayload;
using agent_protocol::TestJudged;
using agent_protocol::TestResult;
using Outcome = agent_protocol::TestOutcome;

struct AutoQualify {
    QualifyState state = QualifyState::waiting;
    wire::Nullable<std::string> reason;
};
BOOST_DESCRIBE_STRUCT(AutoQualify, (), (state, reason))
constexpr auto wire_docs(const AutoQualify*) {
    return std::to_array<wire::Doc>({
        {"state", "How the automatic test stands."},
        {"reason", "Why it is tried again, or needs its owner; null otherwise.", "null"},
    });
}

struct Qualification {
    MachineId machine_id;
    AutoQualify auto_qualify;
    wire::Nullable<Time> next_attempt_at;
    wire::Nullable<RunId> run_id;
    wire::Nullable<Outcome> outcome;
    wire::Nullable<Time> started_at;
    wire::Nullable<Time> finished_at;
    std::vector<Check> checks;
    wire::Nullable<Measurements> measurements;
    std::vector<Finding> findings;
};
BOOST_DESCRIBE_STRUCT(Qualification, (),
                      (machine_id, auto_qualify, next_attempt_at, run_id, outcome, started_at,
                       finished_at, checks, measurements, findings))
constexpr auto wire_docs(const Qualification*) {
    return std::to_array<wire::Doc>({
        {"auto_qualify", "How the automatic test stands."},
        {"next_attempt_at", "When the next test may begin; null when none is planned.", "null"},
        {"run_id", "The last test; null before the first."},
        {"outcome", "Of that test; null before the first."},
        {"started_at", "Of that test."},
        {"finished_at", "Of that test; null while it runs.", "null"},
        {"checks", "Every check of it, those of the server too."},
        {"measurements", "What it measured; null while nothing was reported.", "null"},
        {"findings", "What failed or could be better, each with what to do."},
    });
}

struct RunPath {
    RunId run_id;
};
BOOST_DESCRIBE_STRUCT(RunPath, (), (run_id))

}  // namespace berth::machines
