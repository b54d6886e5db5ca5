// What operators watch of gates.
#pragma once

#include "db/census.hpp"

namespace berth::gates {

inline constexpr db::CensusQuestion census[] = {
    {.name = "berth_gates_live",
     .help = "Gates that could be given a door.",
     .by = "",
     .from = "gates",
     .where = "heard_at >= $1 - 15000000 AND draining = 0 AND drained_at IS NULL "
              "AND removed_at IS NULL",
     .at_time = true},
    {.name = "berth_gate_doors",
     .help = "Doors that are open.",
     .by = "kind",
     .from = "gate_doors",
     .where = "freed_at IS NULL"},
    {.name = "berth_gate_silent_seconds",
     .help = "Since a gate that is in use was last heard.",
     .by = "gate",
     .from = "gates JOIN (SELECT gate_id AS id, host AS gate FROM gates) AS named "
             "ON named.id = gates.gate_id",
     .where = "drained_at IS NULL AND removed_at IS NULL",
     .amount = "CAST(($1 - MIN(COALESCE(heard_at, added_at))) / 1000000 AS BIGINT)",
     .at_time = true},
    {.name = "berth_gate_ports_used_percent",
     .help = "How many of a gate's ports are doors.",
     .by = "gate",
     .from = "gates JOIN (SELECT g.gate_id AS id, g.host AS gate, COUNT(p.port) AS used "
             "FROM gates g LEFT JOIN gate_ports p ON p.gate_id = g.gate_id "
             "AND p.freed_at IS NULL GROUP BY g.gate_id, g.host) AS named "
             "ON named.id = gates.gate_id",
     .where = "drained_at IS NULL AND removed_at IS NULL",
     .amount = "CAST(MAX(used * 100 / (ports_to - ports_from + 1)) AS BIGINT)"},
};

}  // namespace berth::gates
