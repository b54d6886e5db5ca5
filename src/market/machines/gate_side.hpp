// The interface by which machines asks about gates; gates implements it. A machine test may go by a
// gate, and only gates knows which of them live and where a door of theirs is dialled.
#pragma once

#include <optional>
#include <string>

#include "db/db.hpp"
#include "machines/types.hpp"

namespace berth::machines {

// A door as an agent names it.
struct TestDoor {
    MachineId machine_id;
    RunId run_id;
    std::string host;
    std::int64_t port = 0;
};

// Where it is dialled: an address of the operator's, never a name that a host chose.
struct DoorPlace {
    std::string host;
    std::int64_t port = 0;
};

class GateSide {
public:
    virtual ~GateSide() = default;

    // Whether any gate could be given a door now.
    virtual bool is_any_live(db::Transaction& tx, Time now) const = 0;
    // Nothing when it is not a door that was given to this machine for this test.
    virtual std::optional<DoorPlace> find_test_door(db::Transaction& tx, const TestDoor& door,
                                                    Time now) const = 0;
};

}  // namespace berth::machines
